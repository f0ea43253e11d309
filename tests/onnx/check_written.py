#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the models that the tests wrote in ONNX Runtime, and compares. Needs onnx and onnxruntime.

TYTO_WRITTEN=FOLDER onnx_test --source-file='*writing*,*layers*,*networks*' (operators, loops, every layer, the networks of
examples/) and TYTO_WRITTEN=FOLDER golden_test --source-file='*onnx*' (every golden of every operator) write NAME.onnx and
NAME.onnx.safetensors into a folder: the inputs by name, and the results as out0, out1, ... This takes the folder. What ONNX
Runtime has no kernel for is counted, by operator and type; everything else is to be equal: whole networks, in which rounding
grows with depth, within 1e-3 |want| + 1e-4 max|want|.
"""
import collections
import glob
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime

TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U64": "u8", "U32": "u4",
         "U16": "u2", "U8": "u1", "BOOL": "?"}
ALLOWED = {"float64": 1e-6, "float32": 1e-4, "float16": 1e-2}  # relative; a tenth of it absolute


def stored_arrays(path):
    """Those of a safetensors file; None for one of a type that NumPy does not have."""
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + int.from_bytes(content[:8], "little")
    arrays = {}
    for name, entry in json.loads(content[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        known = entry["dtype"] in TYPES
        data = content[start + begin:start + end]
        arrays[name] = np.frombuffer(data, TYPES[entry["dtype"]]).reshape(entry["shape"]) if known else None
    return arrays


def fault(path):
    """What is wrong with a model; nothing when its results are equal."""
    onnx.checker.check_model(path, full_check=True)
    values = stored_arrays(path + ".safetensors")
    if any(value is None for value in values.values()):
        raise NotImplementedError("no arrays of bfloat16")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    results = session.run(None, {each.name: values[each.name] for each in session.get_inputs()})
    for i, got in enumerate(results):
        want = values[f"out{i}"]
        allowed = ALLOWED.get(str(want.dtype), 0)
        absolute = allowed / 10
        if os.path.basename(path).startswith("network_"):
            allowed, absolute = 1e-3, 1e-4 * np.abs(want).max(initial=0)
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"output {i} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        if not np.allclose(got, want, allowed, absolute, equal_nan=True):
            worst = np.unravel_index(np.argmax(~np.isclose(got, want, allowed, absolute, equal_nan=True)), got.shape)
            return f"output {i} differs at {worst}: {got[worst]}, not {want[worst]}"
    return ""


def main():
    equal, wrong, lacking = 0, 0, collections.Counter()
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
        name = os.path.basename(path)[:-5]
        try:
            found = fault(path)
        except NotImplementedError as error:
            lacking[str(error)] += 1
            continue
        except Exception as error:  # of onnx and onnxruntime: neither has a common base
            if "NOT_IMPLEMENTED" in str(error):
                lacking["no kernel: " + name.split(".")[0] + " " + name.rsplit(".", 1)[-1]] += 1
                continue
            found = str(error).strip().replace("\n", " ")
        equal += found == ""
        if found:
            wrong += 1
            print(f"{name}: {found[:300]}", flush=True)
    for what, count in sorted(lacking.items()):
        print(f"{count} not run: {what}")
    print(f"{equal} models equal in ONNX Runtime {onnxruntime.__version__}, {wrong} wrong, {sum(lacking.values())} not run")
    sys.exit(wrong != 0)


main()
