#!/usr/bin/env python3
"""Writes the terms of docs/glossary.md as C++ initializers for gui/window/glossary.cpp.

    glossary_entries.py GLOSSARY.md OUTPUT
"""
import json
import re
import sys


def terms(markdown):
    """Returns (term, meaning, source) of each row of the table."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in markdown.splitlines() if line.startswith("|")]
    if [cell.strip() for cell in rows[0]] != ["term", "meaning", "source"]:
        raise SystemExit("the glossary's table must have the columns term, meaning and source")
    return [tuple(cell.strip().replace("\\|", "|") for cell in row) for row in rows[2:]]


def main(arguments):
    source, output = arguments
    with open(source, encoding="utf-8") as file:
        found = terms(file.read())
    for row in found:
        if len(row) != 3 or not all(row):
            raise SystemExit(f"{source}: a row of the table needs a term, a meaning and a source: {row}")
    names = [term.lower() for term, _, _ in found]
    if len(set(names)) != len(names):
        raise SystemExit(f"{source}: a term occurs twice")
    with open(output, "w", encoding="utf-8") as file:
        for term, meaning, _ in found:
            file.write("{%s, %s},\n" % (json.dumps(term, ensure_ascii=False), json.dumps(meaning, ensure_ascii=False)))


if __name__ == "__main__":
    main(sys.argv[1:])
