# SPDX-License-Identifier: MIT
"""Writes matrix_functions.inc: functions of matrices and matrix equations as SciPy computes them.

    python3 tests/ops/make_matrix_functions.py

Needs NumPy and SciPy; the build never runs it.
"""

import pathlib

import numpy as np
import scipy.linalg as sl

random = np.random.default_rng(47)


def normal(*shape):
    return np.round(random.normal(size=shape), 3)


def wide(*shape):
    return normal(*shape) + 1j * normal(*shape)


rotation = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
jordan = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
tall = normal(4, 3)
definite = tall.T @ tall + np.eye(3)
SQUARES = {
    "one": np.array([[2.5]]),
    "identity": np.eye(3),
    "zeros": np.zeros((3, 3)),
    "ones": np.ones((3, 3)),
    "rotation": rotation,
    "jordan": jordan,
    "definite": definite,
    "diagonal": np.diag([4.0, 1.0, 1.0]),
    "shifted": normal(5, 5) + 5 * np.eye(5),
    "large": 40 * (normal(3, 3) + 4 * np.eye(3)),
    "complex": wide(4, 4) + 3 * np.eye(4),
    "hermitian": definite + 1j * (tall.T[:, :3] - tall.T[:, :3].T),
}
REGULAR = [name for name in SQUARES if name not in ("zeros", "ones")]

cases = []


def add(function, label, inputs, expected):
    cases.append((function, label, [np.asarray(x) for x in inputs], np.asarray(expected)))


def by_size(w):
    """Eigenvalues in an order that rounding does not change."""
    w = np.asarray(w)
    return w[np.lexsort((np.round(w.imag, 6), np.round(w.real, 6)))].reshape(1, -1)


for label in REGULAR:
    a = SQUARES[label]
    add("sqrtm", label, [a], sl.sqrtm(a))
    add("logm", label, [a], sl.logm(a))
add("sqrtm", "zeros", [np.zeros((2, 2))], np.zeros((2, 2)))
for label, a in SQUARES.items():
    small = a / max(1.0, np.abs(a).max())
    for function in ("sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"):
        add(function, label, [small], getattr(sl, function)(small))
for label in ("one", "identity", "definite", "shifted", "complex", "rotation"):
    a = SQUARES[label].astype(complex)
    w, v = np.linalg.eig(a)
    add("funm", label, [a], v @ np.diag(1 / (1 + w * w)) @ np.linalg.inv(v) if label == "rotation"
        else sl.funm(a, lambda x: 1 / (1 + x * x)))
for label, a, b, c in (("real", normal(4, 4), normal(3, 3) + 6 * np.eye(3), normal(4, 3)),
                       ("one", normal(1, 1), normal(1, 1) + 3, normal(1, 1)),
                       ("jordan", jordan, jordan, normal(3, 3)), ("rotation", rotation, rotation, normal(3, 3)),
                       ("complex", wide(3, 3), wide(2, 2) + 5 * np.eye(2), wide(3, 2))):
    add("sylvester", label, [a, b, c], sl.solve_sylvester(a, b, c))
for label, a, q in (("real", normal(4, 4) - 3 * np.eye(4), normal(4, 4)), ("jordan", -jordan, np.ones((3, 3))),
                    ("complex", wide(3, 3) - 4 * np.eye(3), wide(3, 3)), ("one", np.array([[-2.0]]), np.array([[3.0]]))):
    add("lyapunov", label, [a, q], sl.solve_continuous_lyapunov(a, q))
for label, a, q in (("real", 0.3 * normal(4, 4), normal(4, 4)), ("zeros", np.zeros((2, 2)), normal(2, 2)),
                    ("minus_one_apart", np.array([[-1.0, 0.0], [0.0, 0.5]]) * 3, normal(2, 2)),
                    ("complex", 0.3 * wide(3, 3), wide(3, 3)), ("jordan", jordan / 4, np.ones((3, 3)))):
    add("discrete_lyapunov", label, [a, q], sl.solve_discrete_lyapunov(a, q, method="direct"))
riccati = [("real", normal(4, 4), normal(4, 2), (lambda m: m @ m.T)(normal(4, 4)), np.diag([1.0, 2.0])),
           ("one", np.array([[2.0]]), np.array([[1.0]]), np.array([[3.0]]), np.array([[0.5]])),
           ("integrators", np.diag([1.0, 1.0], 1), np.array([[0.0], [0.0], [1.0]]), np.eye(3), np.eye(1)),
           ("complex", wide(3, 3), wide(3, 2), np.eye(3), np.eye(2))]
for label, a, b, q, r in riccati:
    add("care", label, [a, b, q, r], sl.solve_continuous_are(a, b, q, r))
    add("dare", label, [a, b, q, r], sl.solve_discrete_are(a, b, q, r))
add("dare", "singular", [np.diag([0.0, 1.5]), np.array([[1.0], [1.0]]), np.eye(2), np.eye(1)],
    sl.solve_discrete_are(np.diag([0.0, 1.5]), np.array([[1.0], [1.0]]), np.eye(2), np.eye(1)))
for label, a, b in (("real", normal(5, 5), normal(5, 5)), ("complex", wide(4, 4), wide(4, 4)),
                    ("identity", normal(3, 3), np.eye(3)), ("one", np.array([[3.0]]), np.array([[2.0]]))):
    w = by_size(sl.eigvals(a, b))
    add("qzvals", label, [a, b], w)
    add("eigvals", label, [a, b], w)
for label, a, b in (("real", definite - 2 * np.eye(3), definite), ("hermitian", SQUARES["hermitian"], definite),
                    ("identity", np.diag([2.0, 1.0, 1.0]), np.eye(3))):
    add("eigvalsh", label, [a, b], sl.eigh(a, b, eigvals_only=True).reshape(1, -1))
for label, a, b in (("tall", normal(5, 3), normal(4, 3)), ("complex", wide(4, 3), wide(5, 3)),
                    ("wide", normal(2, 3), normal(3, 3))):
    add("gsvdvals", label, [a, b], np.append(np.linalg.svd(a @ np.linalg.pinv(b), compute_uv=False), 0)[:3].reshape(1, -1))
for label, a in (("row", np.array([[1.0, 2.0, 2.0]])), ("rank_one", np.outer([1.0, 2.0], [3.0, 0.0, 4.0])),
                 ("regular", definite), ("zeros", np.zeros((2, 3))), ("complex", np.array([[1.0, 1j], [1j, -1.0]]))):
    basis = sl.null_space(a)
    add("null_space", label, [a], basis @ basis.conj().T)


def number(x):
    return f"{{{float(x.real)!r}, {float(x.imag)!r}}}"


def matrix(a):
    kind = "true" if np.iscomplexobj(a) else "false"
    return f"{{{a.shape[0]}, {a.shape[1]}, {kind}, {{{', '.join(number(x) for x in a.astype(complex).ravel())}}}}}"


lines = ["// SPDX-License-Identifier: MIT", "// Written by make_matrix_functions.py: function, matrix, operands, result.",
         "// clang-format off"]
for function, label, inputs, expected in cases:
    assert np.isfinite(expected).all(), (function, label)
    operands = ",\n      ".join(matrix(a) for a in inputs)
    lines.append(f'    {{"{function}", "{label}",\n     {{{operands}}},\n     {matrix(expected)}}},')
lines.append("// clang-format on")
pathlib.Path(__file__).with_name("matrix_functions.inc").write_text("\n".join(lines) + "\n")
