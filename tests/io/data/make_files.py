#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Writes the files beside it with NumPy, ml_dtypes and safetensors: what the readers are held to.
import pathlib
import struct
import zlib

import ml_dtypes
import numpy as np
import safetensors.numpy

here = pathlib.Path(__file__).parent


def save(name, array, version=None):
    with open(here / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


types = {
    "bool": np.array([True, False, True]),
    "u8": np.array([0, 1, 255], np.uint8),
    "i8": np.array([-128, 0, 127], np.int8),
    "u16": np.array([0, 1, 2**16 - 1], np.uint16),
    "u32": np.array([0, 1, 2**32 - 1], np.uint32),
    "u64": np.array([0, 1, 2**64 - 1], np.uint64),
    "i16": np.array([-32768, 0, 32767], np.int16),
    "i32": np.array([-(2**31), 0, 2**31 - 1], np.int32),
    "i64": np.array([-(2**63), 0, 2**63 - 1], np.int64),
    "f16": np.array([-1.5, 0, 65504], np.float16),
    "bf16": np.array([-1.5, 0, 3], ml_dtypes.bfloat16),
    "f32": np.array([-1.5, 0, 3.25], np.float32),
    "f64": np.array([-1.5, 0, 0.1], np.float64),
}
np.savez(here / "types.npz", **types)
np.savez_compressed(here / "types_deflated.npz", **types)
np.savez(here / "empty.npz", none=np.zeros((0, 3), np.int32), one=np.ones(1, np.float32))
safetensors.numpy.save_file(types, here / "types.safetensors", metadata={"made by": "safetensors"})

grid = np.arange(6, dtype=np.float32).reshape(2, 3)
save("grid.npy", grid)
save("grid_version2.npy", grid, (2, 0))
save("grid_version3.npy", grid, (3, 0))
save("grid_fortran.npy", np.asfortranarray(grid))
save("grid_big_endian.npy", grid.astype(">f4"))
save("cube_fortran.npy", np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)))
save("number.npy", np.array(2.5))
save("empty.npy", np.zeros((0, 3), np.int32))
save("bf16.npy", types["bf16"])
save("complex.npy", np.array([1j]))
save("structured.npy", np.array([(1, 2.0)], [("a", "<i4"), ("b", "<f4")]))

# An archive whose directory speaks zip64 throughout, as one of more than 4 GiB would.
body = (here / "grid.npy").read_bytes()
name = b"grid.npy"
local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 33, zlib.crc32(body), 0xFFFFFFFF, 0xFFFFFFFF, len(name), 20)
local += name + struct.pack("<HHQQ", 1, 16, len(body), len(body)) + body
extra = struct.pack("<HHQQQ", 1, 24, len(body), len(body), 0)
entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 33, zlib.crc32(body), 0xFFFFFFFF, 0xFFFFFFFF,
                    len(name), len(extra), 0, 0, 0, 0, 0xFFFFFFFF) + name + extra
end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
end += struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(entry), 1)
end += struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
(here / "zip64.npz").write_bytes(local + entry + end)
