# SPDX-License-Identifier: MIT
"""One table of fused_bench's chains beside PyTorch, eager and compiled: torch_chains.py FUSED_BENCH [LARGEST].

Nanoseconds an element, the best of several rounds. fused_bench runs first, alone; its program is the first argument.
"""
import os
import subprocess
import sys
import time

# Importing torch may bind this thread to one core; the benchmark's program gets all that there are.
cores = os.sched_getaffinity(0)

import torch  # noqa: E402


def adagrad(w, s, g):
    s.add_(g * g)
    w.sub_(0.005 * g / (s.sqrt() + 1e-8))


def row_sums(row):
    return lambda x, y: ((x - y) ** 2).view(-1, row).sum(1)


def softmax(row):
    return lambda x: torch.softmax(x.view(-1, row), 1)


def layer_norm(row):
    return lambda x, g, b: torch.nn.functional.layer_norm(x.view(-1, row), (row,), g[:row], b[:row])


CHAINS = {
    "a b + c": (3, lambda a, b, c: a * b + c),
    "tanh(a x + b) c + exp(-x x)": (4, lambda a, b, c, x: torch.tanh(a * x + b) * c + torch.exp(-x * x)),
    "sum((x - y)^2)": (2, lambda x, y: ((x - y) ** 2).sum()),
    "Adagrad": (3, adagrad),
}
for row in 1000, 80:
    CHAINS[f"(x - y)^2 summed, rows of {row}"] = 2, row_sums(row)
    CHAINS[f"softmax, rows of {row}"] = 1, softmax(row)
    CHAINS[f"layer norm, rows of {row}"] = 3, layer_norm(row)


def nanoseconds(function, count):
    """The best round of about a tenth of a second in all; short calls are timed several at a time."""
    function()
    start = time.perf_counter()
    function()
    once = max(time.perf_counter() - start, 1e-6)
    calls = max(1, int(2e-4 / once))
    best, end = float("inf"), time.perf_counter() + 0.1
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - start) / calls)
        rounds += 1
    return best * 1e9 / count


def torch_times(rows):
    """(eager, compiled) by (chain, elements, threads), largest first: the compiled code suits what it first sees."""
    times = {}
    for threads in sorted({row[2] for row in rows}):
        torch.set_num_threads(threads)
        for name, (operands, chain) in CHAINS.items():
            torch._dynamo.reset()
            compiled = torch.compile(chain, dynamic=True)
            for count in sorted({row[1] for row in rows}, reverse=True):
                tensors = [torch.rand(count) + 0.01 for _ in range(operands)]
                with torch.no_grad():
                    eager = nanoseconds(lambda: chain(*tensors), count)
                    try:
                        fused = nanoseconds(lambda: compiled(*tensors), count)
                    except Exception:  # no compiler that Inductor can use
                        fused = float("nan")
                times[name, count, threads] = eager, fused
    return times


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    lines = subprocess.run(sys.argv[1:3], check=True, capture_output=True, text=True,
                           preexec_fn=lambda: os.sched_setaffinity(0, cores)).stdout.splitlines()
    rows = []
    for line in lines[2:]:
        fields = line[34:].split()
        rows.append((line[:34].strip(), int(fields[0]), int(fields[1]), *map(float, fields[2:])))
    times = torch_times(rows)
    print(f"{lines[0]}, PyTorch {torch.__version__}")
    print(f"{'chain':34} {'elements':>9} {'threads':>7} {'fused':>8} {'one by 1':>8} {'by hand':>8} {'Eigen':>8} "
          f"{'eager':>8} {'compiled':>8} {'f/hand':>7} {'f/comp.':>7}")
    for name, count, threads, fused, single, hand, eigen, *_ in rows:
        eager, compiled = times[name, count, threads]
        print(f"{name:34} {count:9} {threads:7} {fused:8.4f} {single:8.4f} {hand:8.4f} {eigen:8.4f} {eager:8.4f} "
              f"{compiled:8.4f} {fused / hand:7.2f} {fused / compiled:7.2f}")


main()
