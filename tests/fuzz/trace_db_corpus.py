#!/usr/bin/env python3
"""Writes the first inputs of the target trace_db: trace_db_corpus.py FOLDER. What the bytes mean: trace_db.cpp."""
import pathlib
import struct
import sys

PAGE = 4096


def overwrite(at, text):
    return b"\0" + at.to_bytes(3, "big") + bytes([len(text)]) + text


def flip(at, bits):
    return b"\1" + at.to_bytes(3, "big") + bytes([bits])


def record(page, source, other, at=0, bits=0):
    """Of a journal: which page, a copy of which one (other: 1) or its own (0), and which bits of it are flipped."""
    return struct.pack(">BBBHB", page - 1, source - 1, other, at, bits)


INPUTS = {
    "sound": b"d",
    "a-flipped-bit-in-a-row": b"d" + flip(3 * PAGE - 40, 1),
    "a-flipped-bit-in-a-seal": b"d" + flip(2 * PAGE - 3, 0x80),
    "no-reserved-bytes": b"d" + overwrite(20, b"\0"),
    "another-page-size": b"d" + overwrite(16, b"\x20\0"),
    "another-schema-version": b"d" + overwrite(60, b"\0\0\0\1"),
    "another-application": b"d" + overwrite(68, b"DDPE"),
    "fewer-pages": b"d" + overwrite(28, b"\0\0\0\5"),
    "cut-short": b"d\2" + (5 * PAGE).to_bytes(3, "big"),
    "cut-within-the-header": b"d\2" + (60).to_bytes(3, "big"),
    "a-page-over-another": b"d\3\2\4",
    "a-page-of-zeros": b"d\4\3",
    "bytes-behind-the-end": b"d\5\4more",
    "sealed-again-row": b"s" + flip(3 * PAGE - 40, 1),
    "sealed-again-cell-count": b"s" + overwrite(2 * PAGE + 3, b"\xff\xff"),
    "sealed-again-freelist": b"s" + overwrite(32, b"\0\0\0\3\0\0\0\x09"),
    "journal-of-its-own-pages": b"j\xff" + record(1, 1, 0) + record(3, 3, 0),
    "journal-of-another-page": b"j\x20" + record(3, 5, 1),
    "journal-of-a-changed-page": b"j\x20" + record(3, 3, 0, 500, 1),
    "journal-that-cuts": b"j\5" + record(1, 1, 0),
    "journal-without-records": b"j\0",
    "cut-within-a-page-beside-an-empty-journal": b"e\2" + (9 * PAGE + 1000).to_bytes(3, "big"),
    "cut-within-a-page-beside-a-journal": b"b\1\2" + (9 * PAGE + 1000).to_bytes(3, "big") + b"\xff" + record(3, 3, 0),
    "flipped-and-brought-back": b"b\1" + flip(3 * PAGE - 40, 1) + b"\xff" + record(3, 3, 0),
    "flipped-beside-another-pages-journal": b"b\1" + flip(3 * PAGE - 40, 1) + b"\xff" + record(5, 5, 0),
}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in INPUTS.items():
        (folder / f"{name}.bin").write_bytes(text)
