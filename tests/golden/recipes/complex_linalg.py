# SPDX-License-Identifier: MIT
"""Linear algebra of complex matrices, with parts along the last axis as in complex_numbers."""

import torch

from recipes.book import WIDE_FLOATS, tensor
from recipes.complex_numbers import add, pairs
from recipes.linalg import OBLONGS, SQUARES

L = torch.linalg


def made(args, x):
    """The matrix that a case is about: the input made Hermitian or positive definite, moved away from singular ones."""
    if args.get("definite"):
        x = x @ x.mH
    if args.get("hermitian"):
        x = (x + x.mH) / 2
    if "shift" in args:
        x = x + args["shift"] * torch.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)
    if "spread" in args:
        count = min(x.shape[-2:])
        steps = torch.diag(torch.arange(count, dtype=x.real.dtype))
        x = x + args["spread"] * torch.nn.functional.pad(steps, (0, x.shape[-1] - count, 0, x.shape[-2] - count))
    return x


def differentiable(function):
    """Permutations have no gradient in PyTorch; here they have a gradient of zero."""
    def applied(*values):
        found = function(*values)
        found = found if isinstance(found, tuple) else (found,)
        nothing = sum((0 * value).abs().sum() for value in values)
        return tuple(f + nothing for f in found)
    return applied


def fill_systems(book, tag):
    def case(op, label, inputs, function, args, some):
        add(book, op, label, inputs, differentiable(function), args, gradient=some, second=some, name=f"complex_{op}")

    for label, shape in SQUARES:
        a, args, some = pairs(book, f"square{shape}{tag}", shape, tag), {"shift": 4}, 0 not in shape
        case("inv", label, [a], lambda x: L.inv(made(args, x)), args, some)
        case("det", label, [a], lambda x: L.det(made(args, x)), args, some)
        case("slogdet", label, [a], lambda x: tuple(L.slogdet(made(args, x))), args, some)
        case("lu", label, [a], lambda x: tuple(L.lu(made(args, x))), args, some)
        for power in (0, 2, 3, -2):
            case("matrix_power", f"{label}_{power}", [a],
                 lambda x: L.matrix_power(L.inv(made(args, x)) if power < 0 else made(args, x), abs(power)) + 0 * x,
                 dict(args, power=power), some and power != 0)
        for upper in (False, True):
            definite = {"definite": True, "shift": 1, "upper": upper}
            case("cholesky", f"{label}_{upper}", [a], lambda x: L.cholesky(made(definite, x), upper=upper), definite,
                 some)
    for label, left, right in (("matrix", (3, 3), (3, 2)), ("stack", (2, 3, 3), (2, 3, 2)),
                               ("one_for_all", (3, 3), (2, 3, 2)), ("no_columns", (2, 2), (2, 0))):
        a, b = pairs(book, f"a{left}{tag}", left, tag), pairs(book, f"b{right}{tag}", right, tag)
        args, some = {"shift": 4}, 0 not in right
        case("solve", label, [a, b], lambda x, v: L.solve(made(args, x), v), args, some)
        for turned in (False, True):
            case("lu_solve", f"{label}_{turned}", [a, b],
                 lambda x, v: L.solve(made(args, x).mT if turned else made(args, x), v),
                 dict(args, transposed=turned), some)
        for upper in (False, True):
            for unit in (False, True):
                case("triangular_solve", f"{label}_{upper}_{unit}", [a, b],
                     lambda x, v: L.solve_triangular(made(args, x), v, upper=upper, unitriangular=unit),
                     dict(args, upper=upper, unit=unit), some)
            definite = {"definite": True, "shift": 1, "upper": upper}
            case("cholesky_solve", f"{label}_{upper}", [a, b], lambda x, v: L.solve(made(definite, x), v), definite,
                 some)
    for label, shape in (("wide", (2, 4)), ("tall", (4, 2))):
        a = pairs(book, f"oblong{shape}{tag}", shape, tag)
        case("lu", label, [a], lambda x: tuple(L.lu(made({"shift": 4}, x))), {"shift": 4}, True)
    a = pairs(book, f"large{tag}", (37, 37), tag)
    case("inv", "large", [a], lambda x: L.inv(made({"shift": 20}, x)), {"shift": 20}, False)
    case("lu", "large", [a], lambda x: tuple(L.lu(made({"shift": 6}, x))), {"shift": 6}, False)
    case("cholesky", "large", [a], lambda x: L.cholesky(made({"definite": True, "shift": 1}, x)),
         {"definite": True, "shift": 1}, False)
    singular = tensor([[[1, 0], [0, 1]], [[0, 1], [-1, 0]]], tag)
    add(book, "det", "singular", [singular], lambda m: m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0], {},
        second=False)


def fill_spectra(book, tag):
    """Of vectors, whose phases are free, what these do not change: sizes of elements, and the matrix again."""
    def singular(args):
        def found(x):
            u, s, vh = L.svd(made(args, x), full_matrices=False)
            return s, u.abs().square(), vh.abs().square(), (u * s.unsqueeze(-2)) @ vh
        return found

    def spectrum(args):
        def found(x):
            w, v = L.eigh(made(args, x))
            return w, v.abs().square(), (v * w.unsqueeze(-2)) @ v.mH
        return found

    for label, shape in OBLONGS:
        a, some = pairs(book, f"spectrum{shape}{tag}", shape, tag), 0 not in shape
        args = {"spread": 2, "shift": 1}
        kept = {"gradient": some, "second": False}
        for mode in ("reduced", "complete"):
            kinked = mode == "complete" and shape[-2] > shape[-1]
            add(book, "qr", f"{label}_{mode}", [a], lambda x: tuple(L.qr(made(args, x), mode=mode)),
                dict(args, complete=mode == "complete"), gradient=some and not kinked, second=some and not kinked)
        add(book, "svd", label, [a], singular(args), args, **kept)
        add(book, "svdvals", label, [a], lambda x: L.svdvals(made(args, x)), args, gradient=some, second=some)
        add(book, "pinv", label, [a], lambda x: L.pinv(made(args, x)), args, gradient=some, second=some)
    for label, shape in SQUARES:
        a, some = pairs(book, f"hermitian{shape}{tag}", shape, tag), 0 not in shape
        args = {"hermitian": True, "spread": 3}
        add(book, "eigh", label, [a], spectrum(args), args, gradient=some, second=False)
        add(book, "eigvalsh", label, [a], lambda x: L.eigvalsh(made(args, x)), args, gradient=some, second=some)
    a = pairs(book, f"large{tag}", (37, 37), tag)
    add(book, "qr", "large", [a], lambda x: tuple(L.qr(x)), {"complete": False}, gradient=False)
    add(book, "svdvals", "large", [a], L.svdvals, {}, gradient=False)
    add(book, "eigvalsh", "large", [a], lambda x: L.eigvalsh(made({"hermitian": True}, x)), {"hermitian": True},
        gradient=False)
    for label, left, right in (("tall", (5, 2), (5, 3)), ("wide", (2, 4), (2, 3)), ("stack", (2, 4, 2), (2, 4, 1))):
        a, b = pairs(book, f"l{left}{tag}", left, tag), pairs(book, f"r{right}{tag}", right, tag)
        args = {"spread": 2, "shift": 2}

        def solution(x, v):
            x = made(args, x)
            found = L.pinv(x) @ v
            return found, (x @ found - v).abs().square().sum(-2), L.matrix_rank(x), L.svdvals(x)

        add(book, "lstsq", label, [a, b], solution, args, second=False, out=[None, None, "i64", None])


def fill(book):
    for tag in WIDE_FLOATS:
        fill_systems(book, tag)
        fill_spectra(book, tag)
