"""Array expressions in NumPy and in Tyto's eager mode on one thread, by turns: arrays_numpy.py PATH/arrays_bench [NAME...].

A line an expression: microseconds of the processor for both, and Tyto's over NumPy's, at each size; the least of several turns."""
import math
import os
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

SIZES = (10**4, 10**6)
TURNS = 4


def numbers(count):
    return ((np.arange(count) * 7919 % count).astype(np.float32) - np.float32(count / 2)) / np.float32(100)


def matrix(count):
    side = math.isqrt(count)
    return numbers(side * side).reshape(side, side)


def mask_write(x):
    x = x.copy()
    x[x > 0] = 0
    return x


generator = np.random.default_rng(1)
hundred = np.arange(100)
EXPRESSIONS = {
    "clip": (numbers, lambda x: np.clip(x, -1, 1)), "sort": (numbers, np.sort),
    "sort_rows": (matrix, lambda x: np.sort(x, 1)), "argsort": (numbers, np.argsort),
    "mask_read": (numbers, lambda x: x[x > 0]), "mask_write": (numbers, mask_write),
    "nonzero": (numbers, lambda x: np.argwhere(x > 0)), "roll": (numbers, lambda x: np.roll(x, 5)),
    "roll_rows": (matrix, lambda x: np.roll(x, 5, 1)), "median": (numbers, np.median), "unique": (numbers, np.unique),
    "flip_copy": (numbers, lambda x: np.flip(x).copy()), "gram": (matrix, lambda x: x.T @ x),
    "matvec": (matrix, lambda x: x @ x[0]),
    "normal": (numbers, lambda x: generator.standard_normal(x.shape, dtype=np.float32)),
    "max_axis0": (matrix, lambda x: x.max(0)), "any": (numbers, lambda x: np.any(x > 1e9)), "sum": (numbers, np.sum),
    "diff": (numbers, np.diff), "interp": (numbers, lambda x: np.interp(x, hundred, hundred)),
    "cumsum": (numbers, np.cumsum), "where": (numbers, lambda x: np.where(x > 0, x, -x)),
}


def fastest(call):
    def seconds(calls):
        begin = time.process_time()
        for _ in range(calls):
            call()
        return time.process_time() - begin

    call()
    calls = int(min(max(0.01 / max(seconds(1), 1e-9), 1), 10000))
    return min(seconds(calls) for _ in range(4)) / calls


def main(program, names):
    tyto = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    logs = []
    for name in names or EXPRESSIONS:
        make, function = EXPRESSIONS[name]
        cells = []
        for size in SIZES:
            x = make(size)
            ours = theirs = math.inf
            for _ in range(TURNS):
                print(name, size, file=tyto.stdin, flush=True)
                ours = min(ours, float(tyto.stdout.readline()) * 1e-9)
                theirs = min(theirs, fastest(lambda: function(x)))
            logs.append(math.log(ours / theirs))
            cells.append(f"{size:>9d}: {theirs * 1e6:10.1f} {ours * 1e6:10.1f} {ours / theirs:6.2f}")
        print(f"{name:12s}", "   ".join(cells), flush=True)
    print(f"geometric mean of the ratios: {math.exp(sum(logs) / len(logs)):.2f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
