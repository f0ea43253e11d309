#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peers' side of fft_bench: microseconds on one thread of NumPy and, where it is installed, of PyTorch."""

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None

LINES = [(1, 256), (1, 1024), (1, 65536), (1, 1000000), (1000, 16), (1000, 64), (1000, 100), (100, 1024), (100, 997),
         (10, 10007)]


def fastest(work):
    """Of several runs of about 20 ms, in processor time, since other load disturbs that least."""
    start = time.thread_time()
    work()
    calls = max(1, min(100000, int(0.02 / max(time.thread_time() - start, 1e-9))))
    best = float("inf")
    for _ in range(7):
        start = time.thread_time()
        for _ in range(calls):
            work()
        best = min(best, (time.thread_time() - start) / calls)
    return 1e6 * best


def both(numpy_work, torch_work):
    return f"{fastest(numpy_work):10.1f}" + (f" {fastest(torch_work):10.1f}" if torch else "")


for name, kind, real in (("c64", np.complex64, np.float32), ("c128", np.complex128, np.float64)):
    print(f"{name}: lines, points; NumPy and PyTorch each for fft, rfft, irfft")
    for count, points in LINES:
        random = np.random.default_rng(1)
        x = random.standard_normal((count, points)).astype(real)
        z = (x + 1j * random.standard_normal((count, points))).astype(kind)
        half = np.fft.rfft(x)
        tz, tx, th = (torch.from_numpy(a) for a in (z, x, half)) if torch else (None, None, None)
        print(f"{count:6d} {points:8d}", both(lambda: np.fft.fft(z), lambda: torch.fft.fft(tz)),
              both(lambda: np.fft.rfft(x), lambda: torch.fft.rfft(tx)),
              both(lambda: np.fft.irfft(half, points), lambda: torch.fft.irfft(th, points)), flush=True)
    plane = np.random.default_rng(2).standard_normal((512, 512)).astype(kind)
    tp = torch.from_numpy(plane) if torch else None
    print("512 x 512:", both(lambda: np.fft.fft2(plane), lambda: torch.fft.fft2(tp)), "in both axes,",
          both(lambda: np.fft.fft(plane, axis=0), lambda: torch.fft.fft(tp, dim=0)), "in the first")

for count in (10000, 1000000):
    random = np.random.default_rng(1)
    a, b = ((random.standard_normal(count) + 1j * random.standard_normal(count)).astype(np.complex64) for _ in "ab")
    ta, tb = (torch.from_numpy(a), torch.from_numpy(b)) if torch else (None, None)
    print(f"c64 x {count}:")
    for name, numpy_work, torch_work in (
            ("add", lambda: a + b, lambda: ta + tb), ("multiply", lambda: a * b, lambda: ta * tb),
            ("divide", lambda: a / b, lambda: ta / tb), ("abs", lambda: np.abs(a), lambda: ta.abs()),
            ("exp", lambda: np.exp(a), lambda: ta.exp()), ("sqrt", lambda: np.sqrt(a), lambda: ta.sqrt()),
            ("log", lambda: np.log(a), lambda: ta.log()), ("tanh", lambda: np.tanh(a), lambda: ta.tanh()),
            ("asin", lambda: np.arcsin(a), lambda: ta.asin()), ("power", lambda: a ** b, lambda: ta ** tb),
            ("sum", lambda: a.sum(), lambda: ta.sum())):
        print(f"  {name:9s}", both(numpy_work, torch_work))
m = np.random.default_rng(1).standard_normal((512, 512)).astype(np.complex64)
tm = torch.from_numpy(m) if torch else None
print("matmul 512 x 512 c64:", both(lambda: m @ m, lambda: tm @ tm))
