#!/usr/bin/env python3
"""Judges the HTML that ddpprof prints, with parsers that are not ours.

    html_page_test.py --program DDPPROF --writer WRITE_SYNTHETIC_RUN

Every report of the synthetic run, and of one whose texts are as bad as a database allows, is parsed as XML and as HTML.
"""
import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path

PROGRAM = WRITER = None
VOID = {"meta"}  # elements without an end tag, of those the page has
# Markup, quotes, a reference, a control character, U+FFFF and bytes that are not UTF-8.
HOSTILE = b"</td><script src='https://x.example/a.js'>&amp;\"--> url(http://y) \x01 \xef\xbf\xbf \xff\xc3(\n]]>"
SHOWN = "</td><script src='https://x.example/a.js'>&amp;\"--> url(http://y)   \ufffd \ufffd\ufffd( ]]>"


def report(file, name=None, form="html"):
    command = [PROGRAM, "report", str(file), "--format", form] + (["--report", name] if name else [])
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


class Strict(HTMLParser):
    """What HTML alone knows: every tag closed in turn, and no tag that loads or runs something."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image", "foreignobject"}:
            self.problems.append(f"<{tag}>")
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()
            # HTML reads <p/> as <p>; only inside of svg it ends there.
            if "svg" not in self.open:
                self.problems.append(f"<{tag}/> outside of svg")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> ends another element")

    def handle_data(self, data):
        self.text.append(data)


def number(element, name):
    return float(element.get(name))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = Path(cls.folder.name) / "run.db"
        subprocess.run([WRITER, str(cls.file)], check=True, timeout=60)
        cls.hostile = Path(cls.folder.name) / "hostile.db"
        subprocess.run([WRITER, str(cls.hostile)], check=True, timeout=60)
        os.environ["DDPPROF_SEALS"] = "ignore"  # what Python writes has no seal
        with sqlite3.connect(cls.hostile) as db:
            for table, column in [("measurement", "model"), ("measurement", "strategy"), ("measurement", "device"),
                                  ("scenario", "name"), ("shard", "host"), ("diagnostic", "message"),
                                  ("diagnostic", "severity"), ("fit", "name"), ("fit", "status"), ("fit", "strategy"),
                                  ("prediction", "strategy"), ("prediction", "note"), ("comm_point", "op")]:
                db.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT)", (HOSTILE,))
        db.close()
        known = subprocess.run([PROGRAM, "report", str(cls.file), "--report", "?"], capture_output=True, timeout=60)
        cls.names = re.search(r"one of ([a-z, -]+)", known.stderr.decode()).group(1).split(", ")
        assert "all" in cls.names and "summary" in cls.names, cls.names

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_report_parses_as_xml_and_as_html_and_refers_to_nothing(self):
        for file in (self.file, self.hostile):
            names = self.names if os.environ.get("DDPPROF_LONG_TESTS") else ["all", "answer"]
            for name in names:
                with self.subTest(file=file.name, report=name):
                    page = report(file, name).decode("utf-8")
                    xml.fromstring(page)
                    strict = Strict()
                    strict.feed(page)
                    strict.close()
                    self.assertEqual(strict.problems, [])
                    self.assertEqual(strict.open, [])
                    ids = [value for _, attribute, value in strict.attributes if attribute == "id"]
                    self.assertEqual(len(ids), len(set(ids)))
                    for tag, attribute, value in strict.attributes:
                        self.assertNotIn(attribute, {"src", "srcset", "action", "style", "xlink:href", "data"})
                        self.assertFalse(attribute.startswith("on"), attribute)
                        if attribute == "href":
                            self.assertTrue(value.startswith("#") and value[1:] in ids, value)
                        if attribute == "aria-labelledby":
                            self.assertLessEqual(set(value.split()), set(ids))

    def test_no_address_and_no_import_in_the_page(self):
        page = report(self.file).decode()
        for forbidden in ("http:", "https:", "src=", "url(", "@import", "<script"):
            self.assertNotIn(forbidden, page)

    def test_what_a_database_says_is_text_and_nothing_else(self):
        root = xml.fromstring(report(self.hostile))
        words = "".join(root.itertext())
        self.assertIn(SHOWN, words)
        # Beyond the texts themselves nothing of theirs is in the page.
        markup = report(self.hostile).decode()
        self.assertNotIn("<script", markup)

    def test_a_report_without_a_name_is_all_of_them_and_the_same_bytes_each_time(self):
        self.assertEqual(report(self.file), report(self.file, "all"))
        self.assertEqual(report(self.file), report(self.file))
        self.assertEqual(report(self.file, form="json"), report(self.file, "summary", form="json"))

    def test_all_has_every_table_that_has_rows(self):
        page = xml.fromstring(report(self.file))
        ids = {element.get("id") for element in page.iter()}
        for name in self.names:
            if name in ("steps", "answer"):  # single steps, and rows of the other tables on one screen
                continue
            for table in json.loads(report(self.file, name, "json"))["tables"]:
                if table["rows"]:
                    self.assertIn("table-" + table["name"], ids, name)

    def test_tables_hold_the_cells_of_the_text_formats(self):
        page = xml.fromstring(report(self.file, "efficiency"))
        markdown = report(self.file, "efficiency", "markdown").decode()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines()
                if line.startswith("| ")]
        found = []
        for table in page.iter("table"):
            for row in table.iter("tr"):
                found.append(["".join(cell.itertext()) for cell in row])
                self.assertEqual(len(row), len(next(table.iter("tr"))))
        self.assertEqual(found, rows)
        numbers = [cell for cell in page.iter("td") if cell.get("class", "").split()[:1] == ["n"]]
        self.assertTrue(any("".join(cell.itertext()) == "79.2" for cell in numbers))  # weak efficiency of 64 / 126.25 ms

    def test_figures_are_named_and_described(self):
        page = xml.fromstring(report(self.file))
        figures = [svg for svg in page.iter("svg") if svg.get("role") == "img"]
        self.assertGreaterEqual(len(figures), 4)
        for svg in figures:
            for child, tag in zip(svg, ("title", "desc")):
                self.assertEqual(child.tag, tag)
                self.assertTrue(child.text.strip())
                self.assertIn(child.get("id"), svg.get("aria-labelledby").split())
        for svg in page.iter("svg"):
            self.assertTrue(svg.get("role") == "img" or svg.get("aria-hidden") == "true")

    def test_measured_points_lie_where_the_axis_says(self):
        figure = self.figure("figure-efficiency")
        ticks = {t.text: number(t, "y") - 4 for t in figure.iter("text") if t.text.endswith(" %") and t.get("y")}
        zero, whole = ticks["0 %"], ticks["100 %"]
        measured = [r for r in self.rows("efficiency", "weak_scaling") if r["weak_efficiency"] is not None]
        dots = [c for c in figure.iter("circle") if "dot" in c.get("class")]
        self.assertEqual(len(dots), len(measured))
        heights = sorted((zero - number(c, "cy")) / (zero - whole) for c in dots)
        for height, row in zip(heights, sorted(measured, key=lambda r: r["weak_efficiency"])):
            self.assertAlmostEqual(height, row["weak_efficiency"], delta=0.001)

    def test_bars_are_as_long_as_their_share(self):
        figure = self.figure("figure-parts-0")  # ddp
        ticks = {t.text: number(t, "y") - 4 for t in figure.iter("text") if t.text.endswith(" %")}
        length = ticks["0 %"] - ticks["100 %"]
        seen = 0
        for rect in figure.iter("rect"):
            title = rect.find("title")
            if title is None:
                continue
            seen += 1
            share = float(re.search(r": ([0-9.]+) %", title.text).group(1))
            self.assertAlmostEqual(number(rect, "height") / length, share / 100, delta=0.005, msg=title.text)
        self.assertGreater(seen, 4)
        predicted = [r for r in self.rows("predictions", "predictions") if r["strategy"] == "ddp" and r["workers"] == 8]
        self.assertTrue(any("N = 8 (predicted), exposed communication: 55.0 %" in (t.text or "")
                            for t in figure.iter("title")), predicted)

    def figure(self, identifier):
        page = xml.fromstring(report(self.file))
        return next(svg for svg in page.iter("svg") if identifier + "-title" in svg.get("aria-labelledby", ""))

    def rows(self, name, table):
        return next(t for t in json.loads(report(self.file, name, "json"))["tables"] if t["name"] == table)["rows"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--writer", required=True)
    options = parser.parse_args()
    PROGRAM, WRITER = options.program, options.writer
    unittest.main(argv=sys.argv[:1])
