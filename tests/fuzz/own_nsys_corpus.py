#!/usr/bin/env python3
"""Writes the first inputs of the target own_nsys: own_nsys_corpus.py FOLDER. What the bytes mean: own_nsys.cpp."""
import pathlib
import struct
import sys

# Of the tables that have rows, by name, and of their columns.
KERNEL, MEMSET, EXPORT, META, STEP = 1, 3, 5, 9, 13
START, DEMANGLED_NAME, VALUE, KEY = 0, 8, 1, 0
FORMAT, MEASUREMENTS = 0, 5  # rows of DDPPROF_EXPORT


def delete(table, row):
    return bytes([table, row, 0])


def double(table, row):
    return bytes([table, row, 1])


def drop(table):
    return bytes([table, 0, 2])


def set_number(table, row, column, value):
    return bytes([table, row, 3, column, 3]) + struct.pack("<q", value)


def set_text(table, row, column, text):
    return bytes([table, row, 3, column, 7, len(text)]) + text


INPUTS = {
    "sound": b"e",
    "no-database": b"fnot one",
    "a-row-is-missing": b"e" + delete(STEP, 0),
    "a-row-twice": b"e" + double(KERNEL, 0),
    "a-table-is-missing": b"e" + drop(STEP),
    "another-format": b"e" + set_number(EXPORT, FORMAT, VALUE, 7),
    "a-name-that-is-not-there": b"e" + set_number(KERNEL, 0, DEMANGLED_NAME, 9999),
    "a-time-too-far-from-the-others": b"e" + set_number(MEMSET, 0, START, -2**63),
    "part-of-a-larger-database": b"e" + set_number(EXPORT, MEASUREMENTS, VALUE, 3),
    "a-row-that-exports-leave-out": b"e" + set_text(META, 0, KEY, b"nsys_part_of"),
    "twice-part-of-a-larger-database": b"e" + set_number(EXPORT, MEASUREMENTS, VALUE, 3) + set_text(META, 0, KEY, b"nsys_part_of"),
}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in INPUTS.items():
        (folder / f"{name}.bin").write_bytes(text)
