#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes complex_specials.inc: complex functions at zeros, infinities and NaN from NumPy, whose functions are C's, and
at the ends of the range from mpmath. Run from anywhere: python3 tests/ops/make_complex_specials.py"""
import math
import pathlib

import mpmath
import numpy as np

np.seterr(all="ignore")
mpmath.mp.prec = 2400
inf, nan = math.inf, math.nan
PARTS = (-inf, -2.0, -0.0, 0.0, 2.0, inf, nan)

# Where C11, annex G, leaves a sign open, as a function of x + iy: of the real part and of the imaginary one.
LOST = {inf, "nan"}


def kind(x):
    return "nan" if math.isnan(x) else abs(x)


def sinh_open(x, y):
    return kind(x) in (0, inf) and kind(y) in LOST, False


def cosh_open(x, y):
    real = kind(x) == inf and kind(y) == inf
    return real, (kind(x) == 0 and kind(y) in LOST) or (kind(x) == "nan" and kind(y) == 0)


def tanh_open(x, y):
    return False, kind(x) == inf and kind(y) in LOST


def asinh_open(x, y):
    return kind(x) == "nan" and kind(y) == inf, False


def over_i(rule):  # f(z) = -i g(iz)
    def both(x, y):
        real, imaginary = rule(-y, x)
        return imaginary, real

    return both


def exp_open(x, y):
    lost = kind(x) == inf and kind(y) in LOST
    return lost, lost and x < 0


def none_open(x, y):
    return False, False


OPEN = {
    "exp": exp_open,
    "expm1": lambda x, y: (exp_open(x, y)[0] and x > 0, exp_open(x, y)[1]),
    "sinh": sinh_open, "cosh": cosh_open, "tanh": tanh_open, "asinh": asinh_open,
    "sin": over_i(sinh_open), "cos": lambda x, y: cosh_open(-y, x), "tan": over_i(tanh_open),
    "asin": over_i(asinh_open),
    "atanh": asinh_open, "atan": over_i(asinh_open),
    "acos": lambda x, y: (False, kind(x) == inf and kind(y) == "nan"),
    "acosh": lambda x, y: (False, kind(x) == 0 and kind(y) == "nan"),
    "sqrt": lambda x, y: (False, x == -inf and kind(y) == "nan"),
}


def reciprocal(z):
    """C's quotient 1 / z; of zero, and where a part is infinite and the other NaN, NumPy's. They, and PyTorch, differ in
    the signs of zeros, which are left open."""
    x, y = z.real, z.imag
    if math.isnan(x) or math.isnan(y):
        return complex(nan, nan)
    if x == 0 and y == 0:
        return complex(inf, nan)
    if math.isinf(x) or math.isinf(y):
        x, y = (math.copysign(1.0 if math.isinf(v) else 0.0, v) for v in (x, y))
        return complex(0.0 * (1 * x + 0 * y), 0.0 * (0 * x - 1 * y))
    size = x * x + y * y
    return complex((1 * x + 0 * y) / size, (0 * x - 1 * y) / size)


def expm1(z):
    """NumPy's, and at infinities and NaN, where C has no such function, C's exponential less one."""
    if math.isfinite(z.real) and math.isfinite(z.imag):
        return complex(np.expm1(np.array([z]))[0])
    found = complex(np.exp(np.array([z]))[0])
    return complex(found.real - 1, found.imag)


FUNCTIONS = {
    "exp": np.exp, "expm1": expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "square": np.square, "reciprocal": reciprocal,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}


def written(value, is_open):
    if math.isnan(value):
        return "nan"
    if is_open:
        return "some_zero" if value == 0 else "some_infinity" if math.isinf(value) else f"Some({abs(value)!r})"
    return ("-" if math.copysign(1, value) < 0 else "") + ("infinity" if math.isinf(value) else repr(abs(value)))


def special_rows():
    for name, function in FUNCTIONS.items():
        for x in PARTS:
            cells = []
            for y in PARTS:
                z = complex(x, y)
                value = complex(function(z) if function in (reciprocal, expm1) else function(np.array([z]))[0])
                opens = OPEN.get(name, none_open)(x, y)
                if name == "reciprocal":
                    opens = value.real == 0, value.imag == 0
                cells.append("{%s, %s}" % (written(value.real, opens[0]), written(value.imag, opens[1])))
            yield '    {"%s", %s, {%s}},' % (name, written(x, False), ", ".join(cells))


TRUE = {
    "exp": mpmath.exp, "expm1": lambda z: mpmath.exp(z) - 1, "log": mpmath.log, "log2": lambda z: mpmath.log(z, 2),
    "log10": lambda z: mpmath.log(z, 10), "log1p": lambda z: mpmath.log(1 + z), "sqrt": mpmath.sqrt,
    "square": lambda z: z * z, "reciprocal": lambda z: 1 / z, "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "asin": mpmath.asin, "acos": mpmath.acos,
    "atan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "asinh": mpmath.asinh,
    "acosh": mpmath.acosh, "atanh": mpmath.atanh, "sign": lambda z: z / abs(z),
}
GROWING = {"exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"}


def end_points(name, single):
    """Parts next to the smallest and the largest numbers, and where their squares and exponentials leave the range."""
    if name in GROWING:
        most = 88.9 if single else 709.9
        across = [(most, 0.8), (-most, 2.4), (most + 5, 1.5707), (most - 10, -3.0), (1e-30, 1e-20)]
        return across + [(y, x) for x, y in across]
    smallest, largest, root = (1.2e-38, 3.4e38, 1.85e19) if single else (2.3e-308, 1.79e308, 1.34e154)
    near_root = 5e-20 if single else 7e-155
    by_poles = {"atanh": [(x, y) for x in (1.0, -1.0) for y in (near_root / 8, -smallest, 1e-9)]}
    by_poles["atan"] = [(y, x) for x, y in by_poles["atanh"]]
    if name == "square":  # of the larger part leaves the range
        root = root if single else 1.345e154
        return [(root, 0.486 * root), (-0.48 * root, root), (root / 3, -root / 3), (1e-9 * root, 1e-30 * root)]
    return by_poles.get(name, []) + [(near_root, 0.0), (near_root, near_root),
            (-0.3 * near_root, 0.9 * near_root), (0.8 * near_root, -near_root), (smallest, 2 * smallest), (root, root / 2),
            (-root, root), (root * 1e3, -3.0), (largest / 4, largest / 3), (largest / 2, -largest / 2), (-largest, 1.5), (0.25, largest), (largest / 5, 1e-3 * largest)]


def true_rows(single):
    for name, function in TRUE.items():
        for x, y in end_points(name, single):
            if single:
                x, y = float(np.float32(x)), float(np.float32(y))
            value = function(mpmath.mpc(x, y))
            most, least = (3.4e38, mpmath.mpf(2) ** -126) if single else (1.79e308, mpmath.mpf(2) ** -1022)
            if max(abs(value.real), abs(value.imag)) > most or abs(value) < least:
                continue
            if name == "sign" and 0 < min(abs(value.real), abs(value.imag)) < least:
                continue
            yield '    {"%s", {%r, %r}, {%r, %r}},' % (name, x, y, float(value.real), float(value.imag))


def main():
    lines = ["// Made by make_complex_specials.py: f(x + iy) for one x a line and y of -infinity, -2, -0, 0, 2, infinity",
             "// and NaN; and f at the ends of the range of c64 and c128.", "// clang-format off",
             "const SpecialRow special_rows[] = {", *special_rows(), "};",
             "const TrueValue ends_of_c64[] = {", *true_rows(True), "};",
             "const TrueValue ends_of_c128[] = {", *true_rows(False), "};", "// clang-format on", ""]
    pathlib.Path(__file__).with_name("complex_specials.inc").write_text("\n".join(lines))


main()
