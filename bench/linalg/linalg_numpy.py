#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy's side of linalg_bench: milliseconds on one thread, in f64 and f32, SciPy's for what NumPy lacks.

usage: linalg_numpy.py [SIZE...]
"""

import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import scipy.linalg


def fastest(work):
    best, spent = float("inf"), 0.0
    while spent < 0.5:
        start = time.process_time()
        work()
        seconds = time.process_time() - start
        best, spent = min(best, seconds), spent + seconds
    return 1e3 * best


for size in [int(argument) for argument in sys.argv[1:]] or [100, 300, 1000]:
    print(f"{size} rows      f64      f32")
    columns = {}
    for dtype in ("f8", "f4"):
        random = np.random.default_rng(1)
        general = random.standard_normal((size, size)).astype(dtype)
        symmetric, right = general + general.T, general[0].copy()
        definite = (general @ general.T + size * np.eye(size)).astype(dtype)
        for name, work in (
                ("lu", lambda: scipy.linalg.lu_factor(general)), ("solve", lambda: np.linalg.solve(general, right)),
                ("inv", lambda: np.linalg.inv(general)), ("det", lambda: np.linalg.det(general)),
                ("cholesky", lambda: np.linalg.cholesky(definite)), ("qr", lambda: np.linalg.qr(general)),
                ("eigh", lambda: np.linalg.eigh(symmetric)), ("eigvalsh", lambda: np.linalg.eigvalsh(symmetric)),
                ("eig", lambda: np.linalg.eig(general)), ("eigvals", lambda: np.linalg.eigvals(general)),
                ("svd", lambda: np.linalg.svd(general)), ("svdvals", lambda: np.linalg.svdvals(general)),
                ("pinv", lambda: np.linalg.pinv(general)), ("expm", lambda: scipy.linalg.expm(general))):
            columns.setdefault(name, []).append(fastest(work))
    for name, times in columns.items():
        print(f"{name:10s} " + " ".join(f"{value:8.2f}" for value in times), flush=True)
