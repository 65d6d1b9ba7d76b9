"""ddpprof completion: each shell sources its script and completes words; groff and man read the manual pages."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
from tiers import LONG  # noqa: E402: found by the line above

PROGRAM = pathlib.Path(os.environ["DDPPROF_PROGRAM"])
COMPLETE = os.environ.get("DDPPROF_COMPLETE") == "1"  # scripts/test: what scripts/setup.sh installs must not be missing


def run(*words, check=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def need(program):
    if shutil.which(program) is None:
        if COMPLETE:
            raise AssertionError(f"{program} is missing, which scripts/setup.sh installs")
        raise unittest.SkipTest(f"{program} is not installed")


def subcommands():
    """The names in the table of --help."""
    listed = run(PROGRAM, "--help").stdout.split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def options(command):
    """The options in the table of COMMAND --help, which names all forms of an option in one line: -h,--help."""
    lines = re.findall(r"^  (-[\w,-]+)", run(PROGRAM, command, "--help").stdout, re.MULTILINE)
    return {word for line in lines for word in line.split(",") if word.startswith("--")}


class Shell(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "job one.db").touch()
        (self.folder / "traces").mkdir()

    def check_words(self, complete):
        """`complete` returns the shell's proposals for a line that ends at the cursor."""
        self.assertEqual(set(complete("ddpprof re")), {"record", "report"})
        self.assertLessEqual({*subcommands(), "help"}, set(complete("ddpprof ")))
        self.assertEqual(set(complete("ddpprof help va")), {"validate"})
        for command in subcommands() if LONG or isinstance(self, Bash) else ("record", "predict"):
            with self.subTest(command):
                proposed = set(complete(f"ddpprof {command} --"))
                self.assertEqual(proposed, options(command))
        self.assertEqual(set(complete("ddpprof report job.db --format ")), {"table", "csv", "json", "markdown", "html"})
        self.assertEqual(set(complete("ddpprof export job.db --format c")), {"chrome", "csv"})
        self.assertEqual(set(complete("ddpprof completion z")), {"zsh"})
        self.assertEqual([word.rstrip("/") for word in complete("ddpprof import tr")], ["traces"])
        self.assertEqual([word.rstrip("/") for word in complete("ddpprof import --out tr")], ["traces"])


class Bash(Shell):
    def complete(self, line):
        """Calls the registered function as bash does."""
        words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith((" ", "=")) else [])
        quoted = " ".join("'" + word + "'" for word in words)
        script = f"""
            source <("$0" completion bash)
            [[ $(complete -p ddpprof) = *"-F _ddpprof "* ]] || exit 9
            COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
            _ddpprof
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = run("bash", "--norc", "-u", "-c", script, PROGRAM, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return [word for word in done.stdout.split("\n") if word]

    def test_words(self):
        self.check_words(self.complete)

    def test_a_value_after_an_equals_sign(self):
        self.assertEqual(self.complete("ddpprof report job.db --format=c"), ["csv"])
        self.assertEqual(len(self.complete("ddpprof report job.db --format=")), 5)

    def test_a_number_has_no_proposal(self):
        self.assertEqual(self.complete("ddpprof predict job.db --workers "), [])

    def test_names_of_files_keep_their_spaces(self):
        self.assertEqual(self.complete("ddpprof report job"), ["job one.db"])

    def test_after_two_dashes_the_users_command(self):
        self.assertIn("bash", self.complete("ddpprof record --out job.db -- bas"))
        self.assertEqual(self.complete("ddpprof record -- python --form tr"), ["traces"])

    def test_bash_parses_the_script(self):
        script = self.folder / "script"
        script.write_text(run(PROGRAM, "completion", "bash").stdout)
        self.assertEqual(run("bash", "-n", script).stderr, "")


class Fish(Shell):
    def test_words(self):
        need("fish")
        home = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "c"),
                "XDG_DATA_HOME": str(self.folder / "d"), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}

        def complete(line):
            script = f"'{PROGRAM}' completion fish | source; complete -C '{line}'"
            done = run("fish", "--no-config", "-c", script, cwd=self.folder, env=home)
            self.assertEqual(done.stderr, "")
            return [word.split("\t")[0].rstrip("=") for word in done.stdout.split("\n") if word]

        self.check_words(complete)


class Zsh(Shell):
    def test_words(self):
        need("zsh")
        # zsh completes only on a terminal: a pseudo terminal with one line of input, whose proposals compadd stores.
        driver = self.folder / "driver.zsh"
        driver.write_text(r"""
            zmodload zsh/zpty
            zpty z zsh -f -i
            w() { zpty -w z "$1" }
            w 'PROMPT= RPROMPT= ; unset zle_bracketed_paste; setopt no_beep; cd -- "$FOLDER"'
            w 'fpath=("$SITE" $fpath); autoload -Uz compinit; compinit -u -D'
            w 'zstyle ":completion:*" menu no; zstyle ":completion:*" format ""; LISTMAX=10000'
            w 'compadd() { if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi; local -a hits; builtin compadd -O hits "$@"; print -r -l -- $hits >>"$FOLDER/proposals"; builtin compadd "$@" }'
            w 'print -r "ready" >"$FOLDER/ready"'
            for i in {1..200}; do [ -e $FOLDER/ready ] && break; sleep 0.05; done
            zpty -w -n z "$LINE"$'\t'
            for i in {1..60}; do sleep 0.05; [ -s $FOLDER/proposals ] && break; done
            sleep 0.2
            zpty -d z
            """)
        site = self.folder / "site"
        site.mkdir()
        (site / "_ddpprof").write_text(run(PROGRAM, "completion", "zsh").stdout)

        def complete(line):
            for name in ("proposals", "ready"):
                (self.folder / name).unlink(missing_ok=True)
            run("zsh", "-f", driver, env={**os.environ, "FOLDER": str(self.folder), "SITE": str(site), "LINE": line})
            file = self.folder / "proposals"
            return [word.rstrip("=") for word in file.read_text().split("\n") if word] if file.exists() else []

        self.assertEqual(set(complete("ddpprof re")), {"record", "report"})
        self.assertLessEqual({*subcommands(), "help"}, set(complete("ddpprof ")))
        self.assertEqual(set(complete("ddpprof report job.db --format ")), {"table", "csv", "json", "markdown", "html"})
        self.assertLessEqual({"--full", "--format", "--quiet"}, set(complete("ddpprof report --")))
        self.assertEqual(set(complete("ddpprof completion z")), {"zsh"})

    def test_every_description_is_a_valid_specification(self):
        need("zsh")
        script = self.folder / "script"
        script.write_text(run(PROGRAM, "completion", "zsh").stdout)
        self.assertEqual(run("zsh", "-f", "-n", script).stderr, "")


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run(PROGRAM, "completion", "--folder", cls.folder)
        cls.pages = sorted((cls.folder / "man/man1").glob("*.1"))

    def test_there_is_a_page_for_each_subcommand(self):
        self.assertEqual({page.name for page in self.pages},
                         {"ddpprof.1", *(f"ddpprof-{name}.1" for name in subcommands())})

    def test_groff_has_no_warning(self):
        need("groff")
        for page in self.pages:
            with self.subTest(page.name):
                done = run("groff", "-man", "-ww", "-Tutf8", page, env={**os.environ, "GROFF_NO_SGR": "1"})
                self.assertEqual(done.stderr, "")

    def text(self, name):
        need("groff")
        plain = run("groff", "-man", "-Tutf8", "-P-cbou", "-rLL=3000n", self.folder / "man/man1" / name).stdout
        return re.sub(r"\s+", " ", plain)

    def test_pages_have_the_words_of_the_help(self):
        for name in subcommands():
            page = self.text(f"ddpprof-{name}.1")
            help_text = run(PROGRAM, name, "--help").stdout
            for option in options(name):
                self.assertIn(option, page, name)
            for example in help_text.split("Examples:\n")[1].strip().split("\n"):
                self.assertIn(re.sub(r"\s+", " ", example.strip()), page)
        predict = self.text("ddpprof-predict.1")
        self.assertIn("8 × 400 Gbit/s InfiniBand", predict)  # beyond ASCII, and over a line break of the help
        self.assertIn("--format FORMAT table, csv, json, markdown or html (docs/reference/report/formats.md describes them) "
                      "(default: table)", predict)

    def test_man_shows_a_page(self):
        need("man")
        for name in ("ddpprof", "ddpprof-run"):
            done = run("man", "-l", self.folder / f"man/man1/{name}.1", env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"})
            self.assertIn("SYNOPSIS", done.stdout)

    def test_completions_are_where_the_shells_look(self):
        for name, shell in (("bash-completion/completions/ddpprof", "bash"), ("zsh/site-functions/_ddpprof", "zsh"),
                            ("fish/vendor_completions.d/ddpprof.fish", "fish")):
            self.assertEqual((self.folder / name).read_text(), run(PROGRAM, "completion", shell).stdout)


class Errors(unittest.TestCase):
    def test_what_is_wrong_is_said(self):
        for words, text in ((["completion"], "what to print is not clear (expected one of bash, zsh, fish; or --folder)"),
                            (["completion", "bsh"], "SHELL: unknown value 'bsh' (expected one of bash, zsh, fish)"),
                            (["completion", "bash", "--folder", "x"], "what to print is not clear")):
            done = run(PROGRAM, *words, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("ddpprof completion: " + text, done.stderr)
        done = run(PROGRAM, "completion", "--folder", "/proc/nothing", check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("cannot write /proc/nothing/", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
