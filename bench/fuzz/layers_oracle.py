# SPDX-License-Identifier: MIT
"""Draws layers, losses, rules of descent and schedules with all their options, computes them in PyTorch in f64, and
compares what Tyto gives in both modes: values, gradients, states after three steps.

layers_oracle.py PROGRAM [--cases 500] [--seed 1] [--only KIND,KIND] [--device cpu] [--folder DIR]

PROGRAM is layers_oracle. Prints a line for each case that differs by more than rounding, with all its options, and at
the end how many of each kind were compared. Cases in f32 differ by what the network makes of a rounding."""

import argparse
import collections
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

from drawing import Draw
from drawn_layers import LAYERS, MANY_OPTIONS, run_layer
from drawn_losses import LOSSES, run_loss
from drawn_rules import run_plateau, run_rule, run_schedule

ALLOWED = {"f64": 1e-9, "f32": 3e-4}

KINDS = {**{kind: run_layer for kind in LAYERS}, **{kind: run_loss for kind in LOSSES}, "rule": run_rule,
         "schedule": run_schedule, "plateau": run_plateau}


def difference(want, got):
    """The largest one, over the largest element; of NaN and infinity that both have nothing."""
    if want.shape != got.shape:
        return math.inf
    if want.size == 0:
        return 0.0
    equal = (want == got) | (np.isnan(want) & np.isnan(got))
    apart = np.where(equal, 0.0, np.abs(want - got))
    if np.isnan(apart).any():
        return math.inf
    finite = np.abs(want[np.isfinite(want)])
    return float(apart.max() / max(finite.max() if finite.size else 0, 1e-3))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--cases", type=int, default=500)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--folder")
    given = arguments.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    warnings.simplefilter("ignore")
    only = [kind for kind in given.only.split(",") if kind]
    kinds = only or [*KINDS, *MANY_OPTIONS, *MANY_OPTIONS, *["rule"] * 20, *["schedule"] * 8, *["plateau"] * 4,
                     *["cross_entropy"] * 4]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        os.makedirs(folder, exist_ok=True)
        wanted, lines = {}, []
        for i in range(given.cases):
            name, seed = f"case{i}", given.seed * 1000003 + i
            d = Draw(seed)
            kind = d.one(*kinds)
            try:
                want = KINDS[kind](d, kind, folder, name)
            except Exception as fault:  # what PyTorch refuses is no case
                print(f"{kind}: PyTorch refuses {d.options}: {fault}", file=sys.stderr)
                continue
            np.savez(f"{folder}/{name}.npz", **{key: value.numpy() for key, value in d.arrays.items()})
            lines.append(" ".join([name, kind, *[f"{key}={value}" for key, value in d.options.items()]]))
            wanted[name] = (kind, lines[-1], {key: value.detach().numpy() for key, value in want.items()})
        pathlib.Path(folder, "cases.txt").write_text("\n".join(lines) + "\n")
        done = subprocess.run([given.program, folder, given.device], stdout=subprocess.PIPE, text=True)
        faults = {tuple(line.split(" ", 2)[:2]): line for line in done.stdout.splitlines()}
        counts, apart, worst = collections.Counter(), 0, collections.defaultdict(float)
        for name, (kind, line, want) in wanted.items():
            allowed = ALLOWED["f32" if "dtype=f32" in line else "f64"]
            for mode in ("eager", "lazy"):
                if (name, mode + ":") in faults:
                    print(f"FAILS {line}\n      {faults[name, mode + ':']}")
                    apart += 1
                    continue
                if not os.path.exists(f"{folder}/{name}.{mode}.npz"):
                    print(f"NO RESULT ({mode}) {line}")
                    apart += 1
                    continue
                got = np.load(f"{folder}/{name}.{mode}.npz")
                differences = {key: difference(value, got[key]) if key in got else math.inf
                               for key, value in want.items()}
                if kind in ("hard_sigmoid", "celu"):  # whose slopes PyTorch takes with constants of f32 in f64 too
                    differences.pop("gradient_x")
                far = {key: f"{value:.1e}" for key, value in differences.items() if not value <= allowed}
                worst[kind, line.split("dtype=")[1][:3]] = max(worst[kind, line.split("dtype=")[1][:3]],
                                                               *[v for v in differences.values() if v <= allowed], 0.0)
                if far:
                    print(f"DIFFERS ({mode}) {line}\n      {far}")
                    apart += 1
            counts[kind] += 1
        for kind, count in sorted(counts.items()):
            print(f"{kind:30s} {count:5d}  f64 {worst[kind, 'f64']:.1e}  f32 {worst[kind, 'f32']:.1e}")
        print(f"{sum(counts.values())} cases in both modes, {apart} apart")
        sys.exit(1 if apart else 0)


if __name__ == "__main__":
    main()
