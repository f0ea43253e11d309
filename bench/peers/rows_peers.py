# SPDX-License-Identifier: MIT
"""Every line of docs/numpy.md with large operands, in Tyto's eager mode and in its peers, on one thread, by turns.

rows_peers.py PATH/rows_bench [--sizes 10000,1000000] [--kinds integers,floats] [--peers numpy,torch,jax] [--only TEXT]
              [--rows 100:200] [--turns 2]

A line an expression: microseconds of the processor for each, and Tyto's time over that of the fastest peer; then geometric
means and what is above 1.1. Lines are read from docs/generate/numpy_rows.inc. A peer runs a line if it has functions of
these names that give as many elements; a line that takes none such operands, or too long, is left out. What is not timed:
lines about files, printing, what a tensor is and random numbers' sequences, and those that change a tensor."""
import argparse
import math
import os
import re
import subprocess
import sys
import threading
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNTIMED = ("What a tensor is", "Reading", "Files", "Printing", "Functions as values")
LONGEST = 20  # seconds for one line, its operands included


def lines_of_page():
    """The NumPy expressions with their sections, in the order in which rows_bench numbers them."""
    section, lines = "", []
    with open(os.path.join(ROOT, "docs", "generate", "numpy_rows.inc"), encoding="utf-8") as file:
        for line in file:
            if title := re.match(r'SECTION\("(.*)"\)', line):
                section = title[1]
            elif row := re.match(r'(?:ROW|EAGER)\("((?:[^"\\]|\\.)*)"', line):
                lines.append((section, row[1].replace('\\"', '"')))
    return lines


def scattered(np, count):
    i = np.arange(count, dtype=np.int64) * 2654435761 % 2**32
    return (i ^ (i >> 15)) * 1103515245 % 2**32


def operands(np, count, kind):
    side = math.isqrt(count)

    def reals(n):
        return (scattered(np, n).astype(np.float32) - np.float32(2**31)) / np.float32(2**24)

    def numbers(n):
        return reals(n) if kind == "floats" else scattered(np, n) % n - n // 2

    a = reals(side * side).reshape(side, side) / np.float32(128)
    return {"x": numbers(side * side).reshape(side, side), "a": a, "b": reals(side),
            "c": (a.T @ a) / np.float32(side) + np.eye(side, dtype=np.float32), "v": numbers(count),
            "m": scattered(np, count) % 2 == 0, "z": reals(count).astype(np.complex64) * np.complex64(1 + 2j)}


def peer(name):
    """What names mean to a peer, how its operands are made of NumPy's, and what waits for a result."""
    import numpy
    if name == "numpy":
        return numpy, lambda array: array, lambda result: result
    if name == "torch":
        import torch
        torch.set_num_threads(1)
        return torch, torch.from_numpy, lambda result: result
    import jax
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return jax.numpy, jax.numpy.asarray, jax.block_until_ready


def seconds_of(call, calls):
    begin = time.process_time()
    for _ in range(calls):
        call()
    return time.process_time() - begin


def fastest(call):
    first = seconds_of(call, 1)
    if first > 0.5:
        return first
    calls = int(min(max(0.01 / max(seconds_of(call, 1), 1e-9), 1), 10000))
    return min(seconds_of(call, calls) for _ in range(4)) / calls


def work_as(name):
    """Answers as rows_bench does, for a peer."""
    import resource
    import warnings

    import numpy
    warnings.simplefilter("ignore")
    module, given, finished = peer(name)
    if name != "jax":  # which reserves more than it uses
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    codes = [expression for _, expression in lines_of_page()]
    made_for, names = None, {}
    print("ready", flush=True)
    for line in sys.stdin:
        row, count, kind = line.split()
        if made_for != (count, kind):
            made_for = (count, kind)
            names = {key: given(value) for key, value in operands(numpy, int(count), kind).items()}
            names["np"] = module
        try:
            code = compile(codes[int(row)], "line", "eval")
            result = finished(eval(code, names))
            shape = getattr(result, "shape", None)
            elements = math.prod(shape) if isinstance(shape, tuple) else -1
            print(fastest(lambda: finished(eval(code, names))) * 1e9, elements, flush=True)
        except Exception as error:  # a peer that lacks a function, or reads it otherwise, does not take part
            print("-", repr(error).replace("\n", " ")[:80], flush=True)


class Racer:
    """A process that answers, begun anew where one line kept it too long or ended it."""

    def __init__(self, command, greets):
        self.command, self.greets, self.process = command, greets, None

    def ask(self, row, count, kind):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            stderr=subprocess.DEVNULL)
            if self.greets:
                self.process.stdout.readline()
        watch = threading.Timer(LONGEST, self.process.kill)
        watch.start()
        try:
            print(row, count, kind, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline().split()
        except BrokenPipeError:
            answer = []
        watch.cancel()
        if not answer:
            self.process.wait()
            self.process = None
        return (float(answer[0]), int(answer[1])) if answer and answer[0] != "-" else None


def race(racers, peers, row, count, kind, turns):
    best, elements = {}, {}
    for turn in range(turns):
        for name in ["tyto", *peers]:
            if turn > 0 and name not in best:
                continue
            answer = racers[name].ask(row, count, kind)
            if answer is None:
                if name == "tyto":
                    return {}
                best.pop(name, None)
                continue
            best[name] = min(best.get(name, math.inf), answer[0])
            elements[name] = answer[1]
    return {name: took for name, took in best.items() if -1 in (elements[name], elements["tyto"]) or
            elements[name] == elements["tyto"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--sizes", default="10000,1000000")
    parser.add_argument("--kinds", default="integers,floats")
    parser.add_argument("--peers", default="numpy,torch,jax")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", default="0:", help="from which line to which: a race in pieces")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    peers = options.peers.split(",")
    rows = range(len(lines_of_page()))[slice(*(int(end) if end else None for end in options.rows.split(":")))]
    racers = {name: Racer([sys.executable, os.path.abspath(__file__), "--as", name], True) for name in peers}
    racers["tyto"] = Racer([options.program], False)
    for count in map(int, options.sizes.split(",")):
        logs, slow, expressions = [], [], 0
        for kind in options.kinds.split(","):
            for row, (section, expression) in enumerate(lines_of_page()):
                if row not in rows or section in UNTIMED or options.only not in expression:
                    continue
                best = race(racers, peers, row, count, kind, options.turns)
                if len(best) < 2 or "tyto" not in best:
                    continue
                name, took = min((pair for pair in best.items() if pair[0] != "tyto"), key=lambda pair: pair[1])
                ratio = best["tyto"] / took
                expressions += 1
                logs.append(math.log(ratio))
                times = "  ".join(f"{each} {best[each] * 1e-3:.1f}" for each in ["tyto", *peers] if each in best)
                print(f"{ratio:6.2f}  {count} {kind:8s} {expression:50s} {times}", flush=True)
                if ratio > 1.1:
                    slow.append((ratio, f"{kind} {expression} ({name})"))
        if logs:
            print(f"\n{expressions} expressions of {count} elements: geometric mean of the ratios "
                  f"{math.exp(sum(logs) / len(logs)):.2f}; above 1.1:")
            for ratio, expression in sorted(slow, reverse=True):
                print(f"{ratio:8.2f}  {expression}")
            print(flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as"]:
        work_as(sys.argv[2])
    else:
        main()
