#!/usr/bin/env python3
"""Checks the links between documents, and the document paths that code and messages name.

    links.py ROOT        exit code 1 and a line per broken link

A link `[text](path#heading)` must lead to a tracked file or folder, and to a heading of it. A path `docs/….md` in any
tracked text file must exist, and so must each path of the sources that ARCHITECTURE.md and CONTRIBUTING.md name.
"""
import posixpath
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_PATH = re.compile(r"`([\w.+-]+/[\w./+-]*)`")
NAMES_CODE = ("ARCHITECTURE.md", "CONTRIBUTING.md")
DOCUMENT_PATH = re.compile(r"(?<![\w./-])docs/[\w./-]+\.(?:md|yaml|sbatch)\b")


def tracked_files(root):
    try:
        output = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True).stdout
        names = output.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):  # a copy of the sources without git's folder
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.relative_to(root).parts[0] != "build"]
    return [name for name in names if name and (root / name).is_file()]


def anchors(text):
    """The anchors that GitHub gives to the headings of a Markdown text."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    found, counts = set(), {}
    for heading in re.findall(r"(?m)^#+ +(.+?)\s*$", text):
        heading = LINK.sub("]", heading).replace("[", "").replace("]", "")
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = counts.get(anchor, 0)
        counts[anchor] = number + 1
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def broken_links(root, name, text):
    for target in LINK.findall(re.sub(r"(?ms)^```.*?^```", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if not (root / full).exists():
            yield f"{name}: the link {target} leads to no file"
        elif anchor and full.endswith(".md") and anchor not in anchors((root / full).read_text()):
            yield f"{name}: the link {target} leads to no heading of {full}"


def missing_paths(root, text, tracked):
    """The paths in a text, below a folder of the sources, that lead to nothing. A path may lack its extension."""
    folders = {name.split("/")[0] for name in tracked if "/" in name}
    for path in CODE_PATH.findall(text):
        known = (root / path).exists() or any(name.startswith(path + ".") for name in tracked)
        if path.split("/")[0] in folders and not known:
            yield path


def main(arguments):
    if len(arguments) != 1:
        print("usage: links.py ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[0])
    problems, links = [], 0
    tracked = tracked_files(root)
    for name in tracked:
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        if name.endswith(".md"):
            links += len(LINK.findall(text))
            problems += broken_links(root, name, text)
        if name in NAMES_CODE:
            problems += [f"{name}: {path} does not exist" for path in missing_paths(root, text, tracked)]
        for path in DOCUMENT_PATH.findall(text):
            if not (root / path).exists():
                problems.append(f"{name}: {path} does not exist")
    print("\n".join(problems) if problems else f"{links} links and every document path lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
