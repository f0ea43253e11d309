#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peer's side of attention_bench: microseconds of PyTorch's scaled_dot_product_attention on one thread."""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)
torch.manual_seed(1)
attention = torch.nn.functional.scaled_dot_product_attention


def fastest(work):
    work()
    start = time.thread_time()
    work()
    calls = max(1, int(5e-4 / max(time.thread_time() - start, 1e-9)))
    best, spent, rounds = float("inf"), 0, 0
    while rounds < 5 or (spent < 0.15 and rounds < 300):
        start = time.thread_time()
        for _ in range(calls):
            work()
        seconds = time.thread_time() - start
        best, spent, rounds = min(best, seconds / calls), spent + seconds, rounds + 1
    return 1e6 * best


print(f"{'batch x 8 heads':28} {'forward':>10} {'gradients':>10}")
for batch in (1, 8):
    for features in (32, 64):
        for length in (16, 64, 128, 256, 512, 1024, 2048):
            for kind in ("plain", "causal", "mask", "bias"):
                name = f"b{batch} l{length} e{features} {kind}"
                if not all(word in name.split() for word in " ".join(sys.argv[1:]).split()):
                    continue
                if batch * length * length * 8 > 1 << 26:
                    continue
                q, k, v, g = (torch.randn(batch, 8, length, features) for _ in range(4))
                drawn = torch.randn(length, length)
                options = {
                    "plain": {},
                    "causal": {"is_causal": True},
                    "mask": {"attn_mask": (drawn > -0.5) | torch.eye(length, dtype=torch.bool)},
                    "bias": {"attn_mask": drawn},
                }[kind]
                leaves = [x.clone().requires_grad_() for x in (q, k, v)]
                with torch.no_grad():
                    forward = fastest(lambda: attention(q, k, v, **options))
                gradients = fastest(lambda: torch.autograd.grad(attention(*leaves, **options), leaves, g))
                print(f"{name:28} {forward:10.1f} {gradients:10.1f}", flush=True)
