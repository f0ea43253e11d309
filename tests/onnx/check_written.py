#!/usr/bin/env python3
"""Runs the models that the tests wrote in ONNX Runtime, and compares: TYTO_WRITTEN=FOLDER onnx_test -sf='*writing*' writes
NAME.onnx and NAME.npz (in, out0, out1, ...) into a folder; this takes the folder. Needs onnx and onnxruntime."""
import glob
import os
import sys

import numpy as np
import onnx
import onnxruntime

wrong = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
    onnx.checker.check_model(path, full_check=True)
    values = np.load(path[:-5] + ".npz")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    results = session.run(None, {"x": values["in"]})
    for i, got in enumerate(results):
        want = values[f"out{i}"]
        if got.dtype != want.dtype or got.shape != want.shape or not np.allclose(got, want, 1e-4, 1e-5, equal_nan=True):
            wrong += 1
            print(f"{os.path.basename(path)}: output {i} differs: {got.dtype}{got.shape}, not {want.dtype}{want.shape}")
    print(f"{os.path.basename(path)}: {len(results)} outputs compared with ONNX Runtime {onnxruntime.__version__}")
sys.exit(wrong != 0)
