#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden files of the operator suite: what NumPy, SciPy and PyTorch say every operator computes.

Run it from anywhere, with NumPy >= 2, SciPy >= 1.11 and PyTorch >= 2.13 (the CPU build is enough):

    python3 tests/golden/make_goldens.py            # rewrite every family and the manifest
    python3 tests/golden/make_goldens.py --check    # write nothing; fail if the committed files differ

The build never runs this script: it reads the committed `cases.json` and `<family>.npz` beside it, through
`golden.hpp`. README.md here explains the manifest and names the arguments of each operator. The output depends on
nothing but the recipes (every random number is seeded by the identifier of its case), so a second run on the same
library versions changes no byte.
"""

import argparse
import collections
import json
import pathlib
import sys

import numpy
import scipy
import torch

from recipes import (complex_linalg, complex_numbers, convolution, creation, elementwise, linalg, numerics, ordering, pooling, products,
                     reductions, resampling, shaping, softmax, unsigned)
from recipes.book import Book, TOLERANCE_REASONS

FAMILIES = {
    "elementwise": elementwise.fill,
    "creation": creation.fill,
    "reductions": reductions.fill,
    "shaping": shaping.fill,
    "ordering": ordering.fill,
    "products": products.fill,
    "linalg": linalg.fill,
    "softmax": softmax.fill,
    "convolution": convolution.fill,
    "pooling": pooling.fill,
    "resampling": resampling.fill,
    "numerics": numerics.fill,
    "complex_numbers": complex_numbers.fill,
    "unsigned": unsigned.fill,
    "complex_linalg": complex_linalg.fill,
}


def manifest_text(cases):
    """The manifest with one case a line, so that a changed case is a changed line in review."""
    head = {
        "format": 1,
        "made_with": {"numpy": numpy.__version__, "scipy": scipy.__version__, "torch": torch.__version__},
        "tolerance_reasons": TOLERANCE_REASONS,
    }
    lines = ",\n".join(json.dumps(case, separators=(",", ":"), allow_nan=False) for case in cases)
    return json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n' + lines + "\n]\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="make these again and keep the others; all, if none")
    parser.add_argument("--check", action="store_true", help="compare with the committed files; write nothing")
    options = parser.parse_args()
    unknown = set(options.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no family is called {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).resolve().parent
    committed = json.loads((folder / "cases.json").read_text())["cases"] if options.families else []

    cases, files = [], {}
    for family, fill in FAMILIES.items():
        if options.families and family not in options.families:
            cases += [case for case in committed if case["family"] == family]
            continue
        book = Book(family)
        fill(book)
        cases += book.cases
        files[f"{family}.npz"] = book.archive()
        print(f"{family:12s} {len(book.cases):5d} cases {len(files[f'{family}.npz']) / 1024:8.1f} KiB")
    files["cases.json"] = manifest_text(cases).encode()

    identifiers = collections.Counter(case["id"] for case in cases)
    twice = [name for name, count in identifiers.items() if count > 1]
    if twice:
        sys.exit(f"case identifiers used twice: {twice[:10]}")
    per_operator = collections.Counter(case["op"] for case in cases)
    print(f"{len(cases)} cases of {len(per_operator)} operators, {sum(map(len, files.values())) / 2**20:.2f} MiB")
    print("  ".join(f"{op}:{count}" for op, count in sorted(per_operator.items())))

    if options.check:
        stale = [name for name, data in files.items()
                 if not (folder / name).exists() or (folder / name).read_bytes() != data]
        sys.exit(f"differs from the committed files: {stale}" if stale else 0)
    for name, data in files.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
