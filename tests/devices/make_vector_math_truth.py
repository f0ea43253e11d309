#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints vector_math_truth.inc: values of functions that the C library lacks, computed with mpmath in 80 digits."""
import random
import struct

import mpmath as mp

mp.mp.dps = 80
random.seed(7)


def as_float(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def dawson(x):
    if abs(x) <= 50:
        return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    # The asymptotic series; its smallest term is far below the last digit printed.
    total, term = mp.mpf(0), 1 / (2 * x)
    for k in range(30):
        total += term
        term *= mp.mpf(2 * k + 1) / (2 * x * x)
    return total


def erfinv(x):
    """Newton's method on erfc, which keeps its digits near 1."""
    a = abs(x)
    y = mp.mpf('0.886') * a if a < 0.5 else mp.sqrt(-mp.log(1 - a))
    for _ in range(60):
        step = ((1 - a) - mp.erfc(y)) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y -= step
        if abs(step) < mp.mpf(10) ** -40 * y:
            break
    assert abs(mp.erf(y) - a) < mp.mpf(10) ** -38 * a
    return mp.sign(x) * y


def emit(name, function, arguments):
    print('static const TruePoint %s_points[] = {' % name)
    line = '   '
    for x in map(as_float, arguments):
        item = ' {%s, %s},' % (x.hex(), float(function(mp.mpf(x))).hex())
        if len(line) + len(item) > 118:
            print(line)
            line = '   '
        line += item
    print(line + '\n};')


def both_signs(arguments):
    return arguments + [-x for x in arguments[:60:3]]


def uniform(low, high, count):
    return [random.uniform(low, high) for _ in range(count)]


def magnitudes(low, high, count):
    return [10 ** random.uniform(low, high) for _ in range(count)]


print('// Values of functions that the C library lacks, from mpmath: {x, f(x)}. Made by make_vector_math_truth.py.')
print('// clang-format off')
emit('dawsn', dawson, both_signs(uniform(0, 1, 60) + uniform(1, 6, 120) + magnitudes(-30, 30, 60) + [k / 2 for k in range(1, 22)]))
emit('digamma', mp.digamma, uniform(0, 1, 40) + uniform(1, 2, 60) + uniform(2, 12, 80) + magnitudes(-30, 30, 60)
     + [1.46163, 1.4616321, 1.4616322, 1, 2, 3, 10, 0.5]
     + [-random.uniform(0.05, 0.45) - k for k in range(20)] + [-random.uniform(0.55, 0.95) - k for k in range(20)])
emit('erfinv', erfinv, both_signs(uniform(0, 0.5, 60) + uniform(0.5, 1, 60) + magnitudes(-30, -1, 40) + [1 - 2**-k for k in range(1, 25)]))
print('// clang-format on')
