"""docs/guide/notebook.ipynb, executed by nbclient with a database: its outputs are the program's numbers."""
import json
import os
import re
import subprocess
import unittest

from package import FOLDER, PROGRAM, environment, synthetic_database, temporary_folder

NOTEBOOK = FOLDER.parent.parent / "docs/guide/notebook.ipynb"
EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
(parameters,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
parameters.source += f"\\ndatabase = {sys.argv[2]!r}"
nbclient.NotebookClient(notebook, timeout=120, startup_timeout=60, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[3])
"""


def printed(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=120).stdout


class Notebook(unittest.TestCase):
    @classmethod
    def addCleanup(cls, *arguments, **options):  # temporary_folder() serves tests and this class
        cls.addClassCleanup(*arguments, **options)

    @classmethod
    def setUpClass(cls):
        python = os.environ.get("DDPPROF_NOTEBOOK_PYTHON")
        if not python:
            if os.environ.get("DDPPROF_COMPLETE") == "1":
                raise AssertionError("DDPPROF_NOTEBOOK_PYTHON is not set, which scripts/setup.sh does")
            raise unittest.SkipTest("DDPPROF_NOTEBOOK_PYTHON is not set: scripts/test --all installs nbclient")
        cls.folder = temporary_folder(cls)
        cls.database = synthetic_database(cls.folder)
        executed = cls.folder / "executed.ipynb"
        variables = environment(IPYTHONDIR=str(cls.folder / "ipython"), JUPYTER_CONFIG_DIR=str(cls.folder / "jupyter"),
                                JUPYTER_RUNTIME_DIR=str(cls.folder / "run"))
        done = subprocess.run([python, "-B", "-c", EXECUTE, NOTEBOOK, cls.database, executed], capture_output=True, text=True,
                              timeout=300, cwd=cls.folder, env=variables)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cells = [cell for cell in json.loads(executed.read_text())["cells"] if cell["cell_type"] == "code"]
        cls.outputs = {"".join(cell["source"]): cell["outputs"] for cell in cells}
        if kept := os.environ.get("DDPPROF_NOTEBOOK_OUT"):  # to look at it
            executed.replace(kept)

    def html(self, source):
        """The HTML output of the cell that ends with a text."""
        (outputs,) = [outputs for text, outputs in self.outputs.items() if text.endswith(source)]
        (output,) = outputs
        return "".join(output["data"]["text/html"])

    def test_every_cell_but_the_parameters_shows_something(self):
        for source, outputs in self.outputs.items():
            self.assertEqual(len(outputs), 0 if source.startswith("database = ") else 1, source)
            self.assertTrue(all(output["output_type"] == "execute_result" for output in outputs), outputs)

    def test_the_report_is_a_page_with_figures(self):
        for source in ('db.report("summary")', "prediction"):
            page = self.html(source)
            self.assertTrue(page.startswith("<iframe srcdoc="))
            self.assertIn("&lt;svg", page)

    def test_its_numbers_are_the_programs(self):
        report = json.loads(printed("predict", self.database, "--workers", "8,16,32,64", "--format", "json"))
        rows = report["tables"][0]["rows"]
        cells = re.findall(r"<td>([^<]*)</td>", self.html('prediction["predictions"].frame()[columns]'))
        for row in rows:
            self.assertTrue(any(re.fullmatch(r"\d+\.\d+", cell) and abs(float(cell) - row["step_s"]) < 1e-6 for cell in cells),
                            (row["step_s"], cells))
        steps = json.loads(printed("report", self.database, "--report", "steps", "--format", "json"))["tables"][0]["rows"]
        counts = re.findall(r"<th>(\d+)</th>\s*<td>([\d.]+)</td>", self.html('"75%"]]'))
        kind = "untraced" if any(row["kind"] == "untraced" for row in steps) else "measured"
        expected = {}
        for row in steps:
            if row["kind"] == kind:
                expected[str(row["workers"])] = expected.get(str(row["workers"]), 0) + 1
        self.assertEqual({workers: int(float(count)) for workers, count in counts}, expected)

    def test_the_file_in_the_repository_has_no_outputs(self):
        for cell in json.loads(NOTEBOOK.read_text())["cells"]:
            self.assertFalse(cell.get("outputs"), cell["source"])


if __name__ == "__main__":
    unittest.main()
