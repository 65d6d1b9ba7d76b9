"""The suite's results as a table for people, as JSON, and as Markdown for docs/internals/gpu-results.md."""

import json
import os
import pathlib

from suite.evidence import shortened
from suite.figures import shown

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
SHOWN = 3000  # characters of a message on the terminal
IN_TABLE = 200  # characters of a message in the table; a longer one follows the table as a whole


def status_of(figures):
    return FAILED if any(one["passed"] is False for one in figures) else PASSED


def counts(parts):
    return {status: sum(part["status"] == status for part in parts) for status in (PASSED, FAILED, SKIPPED)}


def exit_code(parts):
    """0: all passed; 1: some failed, or none was judged at all."""
    found = counts(parts)
    return 0 if found[FAILED] == 0 and found[PASSED] > 0 else 1


def mark(one):
    return {True: "ok", False: "FAILED", None: ""}[one["passed"]]


def part_text(part):
    """One part's lines for the terminal."""
    lines = [f"{part['status'].upper():8}{part['title']}  ({part['seconds']:.1f} s)"]
    if part.get("message"):
        lines.append("        " + shortened(part["message"].strip(), SHOWN).replace("\n", "\n        "))
    for one in part["figures"]:
        goal = f"  (goal {one['goal']})" if one["goal"] and one["passed"] is not True else ""
        note = f"  [{one['note']}]" if one["note"] else ""
        lines.append(f"  {mark(one):7}{one['name']}: {shown(one['value'])} {one['unit']}".rstrip() + goal + note)
    return "\n".join(lines)


def _cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def markdown(results):
    """Tables whose cells come from the results alone: equal results, equal bytes. Long messages follow the tables."""
    device = results["device"]
    facts = [(name, device.get(key)) for name, key in (
        ("device", "device"), ("driver", "driver"), ("CUDA", "cuda"), ("torch", "torch"), ("NCCL", "nccl"),
        ("CUPTI", "cupti"))]
    chosen = f", list {results['list']}" if results.get("list") else ""
    lines = [f"Device mode {results['mode']}{chosen}{', small' if results['small'] else ''}; commit "
             f"{results['commit']}; {results['started_utc']}; {results['seconds']:.0f} s.", ""]
    if not results.get("complete", True):
        lines += [f"Not complete: {len(results['parts'])} of {len(results['planned'])} parts have ended.", ""]
    lines += ["| what | version |", "|---|---|"]
    lines += [f"| {name} | {_cell(value if value is not None else 'none')} |" for name, value in facts]
    lines += ["", "| part | figure | value | goal | |", "|---|---|---|---|---|"]
    for part in results["parts"]:
        message = part.get("message") or ""
        lines.append(f"| **{_cell(part['title'])}** | {_cell(message[:IN_TABLE])} | {part['seconds']:.1f} s | | "
                     f"{part['status']} |")
        for one in part["figures"]:
            value = f"{shown(one['value'])} {one['unit']}".strip() + (f" ({one['note']})" if one["note"] else "")
            lines.append(f"| | {_cell(one['name'])} | {_cell(value)} | {_cell(one['goal'])} | {mark(one)} |")
    for title, message in [("run-all", results.get("message") or ""),
                           *((part["title"], part.get("message") or "") for part in results["parts"])]:
        if len(message) > IN_TABLE or (message and title == "run-all"):
            lines += ["", f"{title}:", "", *("    " + line for line in message.splitlines())]
    return "\n".join(lines) + "\n"


def write(folder, results):
    """results.json and results.md in the folder, each whole or not at all."""
    for name, text in (("results.json", json.dumps(results, indent=1) + "\n"), ("results.md", markdown(results))):
        partial = pathlib.Path(folder) / (name + ".partial")
        partial.write_text(text)
        os.replace(partial, pathlib.Path(folder) / name)
