# SPDX-License-Identifier: MIT
"""Random options and arrays of which layers_oracle.py makes cases."""

import pathlib
import random
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/nn/goldens"))

from layer_cases import first  # noqa: E402

CHANNELS = (1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 48)


class Draw:
    """One case: numbers of its own, and the options that the program is told."""

    def __init__(self, seed):
        self.random, self.values = random.Random(seed), np.random.default_rng(seed)
        self.options = {"dtype": self.one("f32", "f64")}
        self.arrays = {}

    def one(self, *of):
        return self.random.choice(of)

    def chance(self, of=0.5):
        return self.random.random() < of

    def number(self, low, high):
        return round(self.random.uniform(low, high), 3)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def array(self, *shape):
        """Numbers that f32 holds."""
        return torch.tensor(self.values.normal(size=shape).astype(np.float32).astype(np.float64))

    def coarse(self, *shape):
        """Many of them equal: results of a relu, counts."""
        return torch.tensor(np.round(self.values.normal(size=shape)).clip(-2, 2))

    def fractions(self, *shape):
        return torch.tensor(self.values.uniform(0.05, 0.95, size=shape).astype(np.float32).astype(np.float64))

    def whole(self, high, *shape):
        return torch.tensor(self.values.integers(0, high, size=shape))

    def say(self, **options):
        for name, value in options.items():
            if isinstance(value, (tuple, list)):
                value = ",".join(str(each) for each in value)
            elif isinstance(value, bool):
                value = int(value)
            self.options[name] = value


def same(x):
    return x


def dense(x):
    """Channels first, without gaps: PyTorch 2.13's InstanceNorm3d differentiates one sample wrongly where it, or the
    gradient that comes to it, has channels last in memory."""
    return first(x).contiguous()


def rows(x):
    return x.transpose(1, 2)


flat = {"enter": same, "leave": same}
