#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the goldens of layers, losses, boxes and rules of descent: what PyTorch computes, in double precision.

Run it from anywhere, with NumPy >= 2 and PyTorch >= 2.13 (the CPU build is enough):

    python3 tests/nn/goldens/make_goldens.py            # rewrite the archives
    python3 tests/nn/goldens/make_goldens.py --check    # write nothing; fail if the committed files differ

The build never runs it: the tests read the committed archives. Names inside are "CASE/WHAT" or "CASE/WHAT/STATE". Inputs
and outputs have channels last, as Tyto's layers take them; states are in PyTorch's own names and layouts, so that the
tests load them as users load a model trained with PyTorch.
"""

import argparse
import io
import pathlib
import sys
import zipfile

import numpy
import torch

import box_cases
import descent_cases
import layer_cases
import loss_cases
import saved_networks

ARCHIVES = {"boxes.npz": box_cases.fill, "layers.npz": layer_cases.fill, "losses.npz": loss_cases.fill,
            "descent.npz": descent_cases.fill}


# The bytes of torch.save may change with its version: these are written where they are missing, and not compared.
SAVED = {"network.pt": saved_networks.network, "run.pt": saved_networks.run, "rows.pt": saved_networks.rows}


def archive(arrays):
    """The .npz bytes: deflated, with a fixed date, so that equal arrays make an equal file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for key, value in sorted(arrays.items()):
            member = io.BytesIO()
            value = numpy.asarray(value)
            numpy.lib.format.write_array(member, numpy.ascontiguousarray(value).reshape(value.shape), version=(1, 0))
            info = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, member.getvalue())
    return buffer.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files; write nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    folder = pathlib.Path(__file__).resolve().parent
    stale = []
    for name, fill in ARCHIVES.items():
        arrays = {}
        fill(arrays)
        data = archive(arrays)
        cases = {key.split("/")[0] for key in arrays}
        print(f"{name:12s} {len(cases):4d} cases {len(data) / 1024:8.1f} KiB")
        if not options.check:
            (folder / name).write_bytes(data)
        elif not (folder / name).exists() or (folder / name).read_bytes() != data:
            stale.append(name)
    for name, make in SAVED.items():
        if not (folder / name).exists() and not options.check:
            torch.save(make(), folder / name)
    sys.exit(f"differs from the committed files: {stale}" if stale else 0)


if __name__ == "__main__":
    main()
