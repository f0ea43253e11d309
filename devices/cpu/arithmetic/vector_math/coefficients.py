#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the polynomial coefficients of the vector mathematics: interpolation at Chebyshev nodes in 60-digit arithmetic.

Needs mpmath. The numbers in the headers beside this file were made by it: `python3 coefficients.py [name]`."""
import sys
import mpmath as mp

mp.mp.dps = 60


def nodes(low, high, count):
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def fit(function, low, high, count):
    """Coefficients, lowest power first, of the polynomial with `count` terms near the best one on [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    points = nodes(low, high, count)
    matrix = mp.matrix(count, count)
    for i, x in enumerate(points):
        for j in range(count):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([function(x) for x in points])))


def remainder(function, leading, power):
    """(function(x) - its leading terms) / x^power, by its Taylor series near 0 where the difference cancels."""
    def g(x):
        with mp.workdps(120):
            return (function(x) - leading(x)) / x**power
    return g


half_ln2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -12)
quarter_pi = mp.pi / 4 * (1 + mp.mpf(2) ** -10)
low_m, high_m = mp.sqrt(mp.mpf(1) / 2) - 1 - mp.mpf(10) ** -5, mp.sqrt(2) - 1 + mp.mpf(10) ** -5
s_max = (mp.mpf(high_m) / (2 + high_m)) ** 2
tiny = mp.mpf(10) ** -18


def odd(function, power=3):
    """R(z), z = x^2, with function(x) = x + x^3 R(z)."""
    def g(z):
        with mp.workdps(120):
            x = mp.sqrt(z)
            return (function(x) - x) / x**power
    return g


tan_pi_8 = mp.tan(mp.pi / 8) * (1 + mp.mpf(2) ** -10)


def cos_rest(z):
    with mp.workdps(120):
        x = mp.sqrt(z)
        return (mp.cos(x) - 1 + z / 2) / z**2


def log_series(z):
    with mp.workdps(120):
        s = mp.sqrt(z)
        return (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3


def log_series_tail(z):
    with mp.workdps(120):
        return (log_series(z) - mp.mpf(2) / 3) / z


def erf_rest(z):
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1


def erf_exponent(a):
    return mp.log(mp.erfc(a)) / a


def scaled_erfc(t):
    a = 4 * (1 + t) / (1 - t)
    return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)


def lgamma_rest(z):
    with mp.workdps(120):
        return mp.loggamma(2 + z) / (z * (1 + z))


with mp.workdps(120):
    digamma_root = mp.findroot(mp.digamma, mp.mpf('1.46163214496836234'))


def digamma_rest(z):
    with mp.workdps(120):
        return mp.digamma(mp.mpf('1.5') + z) / (mp.mpf('1.5') + z - digamma_root)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def dawson_tail(u):
    x = 1 / mp.sqrt(u)
    with mp.workdps(200):
        return 2 * x * dawson(x)


exp_rest = remainder(mp.exp, lambda x: 1 + x, 2)
log_rest = remainder(lambda f: mp.log(1 + f), lambda f: f - f * f / 2, 3)

table = {
    'exp_f32': (exp_rest, -half_ln2 - mp.mpf(10) ** -9, half_ln2, 5),
    'exp_f64': (exp_rest, -half_ln2, half_ln2, 10),
    'exp_wide': (exp_rest, -half_ln2, half_ln2, 6),
    'log_f32': (log_rest, low_m, high_m, 9),
    'log_f64': (log_series, tiny, s_max, 8),
    'log_wide': (log_series, tiny, s_max, 5),
    'log_tail': (log_series_tail, tiny, s_max, 8),
    'sin_f32': (odd(mp.sin), tiny, quarter_pi**2, 4),
    'sin_f64': (odd(mp.sin), tiny, quarter_pi**2, 6),
    'cos_f32': (cos_rest, tiny, quarter_pi**2, 3),
    'cos_f64': (cos_rest, tiny, quarter_pi**2, 6),
    'atan_f32': (odd(mp.atan), tiny, tan_pi_8**2, 5),
    'atan_f64': (odd(mp.atan), tiny, tan_pi_8**2, 12),
    'asin_f32': (odd(mp.asin), tiny, mp.mpf('0.2501'), 6),
    'asin_f64': (odd(mp.asin), tiny, mp.mpf('0.2501'), 13),
    'sinh_f32': (odd(mp.sinh), tiny, mp.mpf('1.0001'), 4),
    'sinh_f64': (odd(mp.sinh), tiny, mp.mpf('1.0001'), 7),
    'erf_small_f32': (erf_rest, tiny, 1, 7),
    'erf_large_f32': (erf_exponent, 1, mp.mpf('3.95'), 9),
    'erf_small_f64': (erf_rest, tiny, 1, 13),
    'scaled_erfc_wide': (scaled_erfc, -1 + tiny, mp.mpf('0.45'), 11),
    'scaled_erfc_f64': (scaled_erfc, -1 + tiny, mp.mpf('0.745'), 24),
    'lgamma': (lgamma_rest, mp.mpf('-0.5'), mp.mpf('0.500001'), 18),
    'digamma': (digamma_rest, mp.mpf('-0.5'), mp.mpf('0.500001'), 22),
    'dawson_0': (lambda z: dawson(mp.sqrt(z)) / mp.sqrt(z), tiny, 1, 19),
    'dawson_1': (lambda t: dawson(mp.mpf('1.5') + t), mp.mpf('-0.5'), mp.mpf('0.500001'), 19),
    'dawson_2': (lambda t: dawson(mp.mpf('2.5') + t), mp.mpf('-0.5'), mp.mpf('0.500001'), 19),
    'dawson_3': (lambda t: dawson(mp.mpf('3.5') + t), mp.mpf('-0.5'), mp.mpf('0.500001'), 19),
    'dawson_4': (lambda t: dawson(mp.mpf('4.5') + t), mp.mpf('-0.5'), mp.mpf('0.500001'), 19),
    'dawson_5': (dawson_tail, mp.mpf(10)**-4, mp.mpf(1) / 25, 19),
}


def show(name, coefficients):
    single = name.endswith('f32')
    print(name + ':')
    print('  ' + ', '.join(mp.nstr(c, 10 if single else 18, min_fixed=0, max_fixed=0) + ('f' if single else '') for c in coefficients))


def error(function, coefficients, low, high):
    worst = mp.mpf(0)
    for k in range(201):
        x = low + (high - low) * (mp.mpf(k) + mp.mpf('0.37')) / 202
        worst = max(worst, abs(mp.polyval(coefficients[::-1], x) - function(x)))
    return worst


if __name__ == '__main__':
    for name, (function, low, high, count) in table.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        coefficients = fit(function, low, high, count)
        show(name, coefficients)
        print('  // worst error of the polynomial: 2^%.1f' % float(mp.log(error(function, coefficients, mp.mpf(low), mp.mpf(high)), 2)))
