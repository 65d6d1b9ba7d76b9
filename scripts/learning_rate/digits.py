"""The handwritten digits that the scikit-learn package ships, as MNIST's files: 1,797 images of 8 x 8, of 43 writers.

    digits.py WHEEL FOLDER

WHEEL: a scikit-learn wheel, which holds them as sklearn/datasets/data/digits.csv.gz (E. Alpaydin, C. Kaynak, "Optical
Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998). Writes FOLDER/train-… and FOLDER/t10k-… in the
IDX format; every third sample is one of the test's. Values of 0 to 16 become bytes of 0 to 255.
"""

import gzip
import pathlib
import struct
import sys
import zipfile

SIDE, WHITE, SAMPLES = 8, 16, 1797
MEMBER = "sklearn/datasets/data/digits.csv.gz"


def read(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = gzip.decompress(archive.read(MEMBER)).decode("ascii")
    rows = [[int(float(value)) for value in line.split(",")] for line in text.splitlines() if line]
    wrong = [row for row in rows if len(row) != SIDE * SIDE + 1 or not all(0 <= v <= WHITE for v in row)]
    if len(rows) != SAMPLES or wrong:
        raise SystemExit(f"{wheel}: {MEMBER} has {len(rows)} rows, {len(wrong)} of them odd; expected {SAMPLES} rows of "
                         f"{SIDE * SIDE} values from 0 to {WHITE} and a class")
    return rows


def write(folder, prefix, rows):
    pixels = bytes(round(value * 255 / WHITE) for row in rows for value in row[:-1])
    images = struct.pack(">BBBBIII", 0, 0, 8, 3, len(rows), SIDE, SIDE) + pixels
    labels = struct.pack(">BBBBI", 0, 0, 8, 1, len(rows)) + bytes(row[-1] for row in rows)
    (folder / f"{prefix}-images-idx3-ubyte").write_bytes(images)
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(labels)


def main():
    wheel, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = read(wheel)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "train", [row for number, row in enumerate(rows) if number % 3 != 2])
    write(folder, "t10k", [row for number, row in enumerate(rows) if number % 3 == 2])


if __name__ == "__main__":
    main()
