# SPDX-License-Identifier: MIT
"""Linear algebra: systems of equations, factorisations, spectra, norms, and products of vectors."""

import numpy as np
import scipy.linalg
import torch

from recipes.book import WIDE_FLOATS, tensor, widen

L = torch.linalg


def operand(book, name, shape, tag):
    random = book.random(name)
    if tag in WIDE_FLOATS:
        return tensor(np.round(random.normal(size=shape), 3), tag)
    return tensor(random.integers(-5, 6, size=shape), tag)


def made(args, x):
    """The matrix that a case is about: the input made symmetric or positive definite, and moved away from singular ones."""
    if args.get("definite"):
        x = x @ x.mT
    if args.get("symmetric"):
        x = (x + x.mT) / 2
    if "shift" in args:
        x = x + args["shift"] * torch.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)
    if "spread" in args:
        steps = torch.arange(min(x.shape[-2:]), dtype=x.dtype)
        x = x + args["spread"] * torch.nn.functional.pad(
            torch.diag(steps), (0, x.shape[-1] - len(steps), 0, x.shape[-2] - len(steps)))
    return x


def factorised(book, op, label, inputs, function, args=None, gradient=True, second=False, scale=None, **more):
    """A case whose tolerance is relative to the largest element of the results."""
    wide = [widen(value) for value in inputs]
    results = function(*wide)
    results = results if isinstance(results, tuple) else (results,)
    largest = max([1.0] + [float(r[torch.isfinite(r)].abs().max()) for r in results
                           if r.is_floating_point() and r[torch.isfinite(r)].numel()])
    plain = function

    def function(*values):
        """Permutations and signs have no gradient in PyTorch; here they have a gradient of zero."""
        found = plain(*values)
        if not isinstance(found, tuple):
            return found
        nothing = sum(0 * value.sum() for value in values)
        return tuple(f + nothing if f.is_floating_point() else f for f in found)

    floating = all(value.dtype in (torch.float32, torch.float64) for value in inputs)
    book.case(op, label, inputs, args=args or {}, torch_fn=function, tolerance="factorised",
              scale=scale or largest, gradient=gradient and floating,
              second=second and all(value.dtype == torch.float64 for value in inputs), gradient_scale=40 * largest,
              **more)


SQUARES = [("one", (1, 1)), ("two", (2, 2)), ("five", (5, 5)), ("stack", (2, 3, 3)), ("stacks", (2, 1, 2, 2)),
           ("empty", (0, 0)), ("no_stack", (0, 2, 2))]


def fill_systems(book):
    for tag in WIDE_FLOATS:
        for label, shape in SQUARES:
            a = operand(book, f"square{shape}{tag}", shape, tag)
            args = {"shift": 4}
            some = a.numel() > 0
            factorised(book, "inv", label, [a], lambda x: L.inv(made(args, x)), args, some, some)
            factorised(book, "det", label, [a], lambda x: L.det(made(args, x)), args, some, some)
            factorised(book, "slogdet", label, [a], lambda x: tuple(L.slogdet(made(args, x))), args, some, some)
            factorised(book, "lu", label, [a], lambda x: tuple(L.lu(made(args, x))), args, some, some)
        for label, left, right in (("vector", (3, 3), (3,)), ("matrix", (3, 3), (3, 2)), ("wide", (2, 2), (2, 5)),
                                   ("stack_vector", (2, 3, 3), (3,)), ("stack", (2, 3, 3), (2, 3, 2)),
                                   ("one_for_all", (3, 3), (2, 3, 2)), ("broadcast", (2, 1, 3, 3), (2, 3, 2)),
                                   ("no_columns", (2, 2), (2, 0)), ("empty", (0, 0), (0, 2))):
            a, b = operand(book, f"a{left}{tag}", left, tag), operand(book, f"b{right}{tag}", right, tag)
            args, some = {"shift": 4}, b.numel() > 0

            def columns(f, v):
                return f(v.unsqueeze(-1)).squeeze(-1) if v.dim() == 1 else f(v)

            factorised(book, "solve", label, [a, b], lambda x, v: columns(lambda w: L.solve(made(args, x), w), v), args,
                       some, some)
            for turned in (False, True):
                more = dict(args, transposed=turned)
                factorised(book, "lu_solve", f"{label}_{turned}", [a, b],
                           lambda x, v: columns(lambda w: L.solve(
                               made(args, x).mT if turned else made(args, x), w), v), more, some, some)
            for upper in (False, True):
                for unit in (False, True):
                    more = dict(args, upper=upper, unit=unit)

                    def triangular(x, v):
                        t = made(args, x)
                        return columns(lambda w: L.solve_triangular(t, w, upper=upper, unitriangular=unit), v)

                    factorised(book, "triangular_solve", f"{label}_{upper}_{unit}", [a, b], triangular, more, some, some)
                definite = {"definite": True, "shift": 1, "upper": upper}
                factorised(book, "cholesky_solve", f"{label}_{upper}", [a, b], lambda x, v: columns(
                    lambda w: L.solve(made(definite, x), w), v), definite, some, some)
        for label, shape in SQUARES:
            a = operand(book, f"definite{shape}{tag}", shape, tag)
            for upper in (False, True):
                args, some = {"definite": True, "shift": 1, "upper": upper}, a.numel() > 0
                factorised(book, "cholesky", f"{label}_{upper}", [a], lambda x: L.cholesky(made(args, x), upper=upper),
                           args, some, some)
        for label, shape in (("wide", (2, 4)), ("tall", (4, 2)), ("stack_wide", (2, 2, 3)), ("no_rows", (0, 2)),
                             ("no_columns", (3, 0))):
            a, some = operand(book, f"oblong{shape}{tag}", shape, tag), int(np.prod(shape)) > 0
            factorised(book, "lu", label, [a], lambda x: tuple(L.lu(made({"shift": 4}, x))), {"shift": 4}, some, some)
        a = operand(book, f"large{tag}", (37, 37), tag)
        factorised(book, "inv", "large", [a], lambda x: L.inv(made({"shift": 20}, x)), {"shift": 20}, False)
        factorised(book, "lu", "large", [a], lambda x: tuple(L.lu(x)), {}, False)
        factorised(book, "cholesky", "large", [a], lambda x: L.cholesky(made({"definite": True, "shift": 1}, x)),
                   {"definite": True, "shift": 1}, False)
        for label, rows in (("rank_one_less", [[1, 2], [2, 4]]), ("zero_column", [[0, 1], [0, 2]]),
                            ("rank_two_less", [[1, 2, 3], [2, 4, 6], [3, 6, 9]]), ("zeros", [[0, 0], [0, 0]])):
            # Cofactors, written out: PyTorch's first derivative at a singular matrix is that of a matrix nearby.
            cofactors = {2: lambda m: m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0], 3: lambda m: sum(
                m[0, i] * (m[1, (i + 1) % 3] * m[2, (i + 2) % 3] - m[1, (i + 2) % 3] * m[2, (i + 1) % 3])
                for i in range(3))}[len(rows)]
            factorised(book, "det", label, [tensor(rows, tag)], cofactors, {"singular": True})
    for tag in ("i32", "bool"):
        a = tensor([[2, 1], [1, 1]] if tag == "i32" else [[1, 1], [0, 1]], tag)
        factorised(book, "inv", "whole", [a], lambda x: L.inv(x.double()), out="f32")
        factorised(book, "det", "whole", [a], lambda x: L.det(x.double()), out="f32")


OBLONGS = [("one", (1, 1)), ("square", (3, 3)), ("tall", (4, 2)), ("wide", (2, 4)), ("column", (3, 1)), ("row", (1, 3)),
           ("stack", (2, 3, 2)), ("very_tall", (7, 2)), ("no_rows", (0, 2)), ("no_columns", (2, 0)), ("no_stack", (0, 3, 2))]


def squares_of_svd(x, whole):
    u, s, vh = L.svd(x, full_matrices=whole)
    k = s.shape[-1]
    if whole:  # the last vectors are not determined, but what they span is
        rest, other = u[..., k:], vh[..., k:, :]
        return s, (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], rest @ rest.mT, other.mT @ other
    return s, u * u, vh * vh, (u * s.unsqueeze(-2)) @ vh


def squares_of_eigh(x):
    w, v = L.eigh(x)
    return w, v * v, (v * w.unsqueeze(-2)) @ v.mT


def fill_spectra(book):
    for tag in WIDE_FLOATS:
        for label, shape in OBLONGS:
            a = operand(book, f"oblong{shape}{tag}", shape, tag)
            some = a.numel() > 0
            args = {"spread": 2, "shift": 1}
            for whole in (False, True):
                mode = "complete" if whole else "reduced"
                defined = some and (not whole or shape[-2] <= shape[-1])
                factorised(book, "qr", f"{label}_{mode}", [a], lambda x: tuple(L.qr(made(args, x), mode=mode)),
                           dict(args, complete=whole), defined, defined)
                factorised(book, "svd", f"{label}_{mode}", [a], lambda x: squares_of_svd(made(args, x), whole),
                           dict(args, complete=whole), some and not whole, some and not whole)
            factorised(book, "svdvals", label, [a], lambda x: L.svdvals(made(args, x)), args, some, some)
            factorised(book, "pinv", label, [a], lambda x: L.pinv(made(args, x)), args, some, some)
            factorised(book, "matrix_rank", label, [a], lambda x: L.matrix_rank(x), {}, False)
        for label, shape in SQUARES:
            a = operand(book, f"symmetric{shape}{tag}", shape, tag)
            args, some = {"symmetric": True, "spread": 3}, a.numel() > 0
            factorised(book, "eigh", label, [a], lambda x: squares_of_eigh(made(args, x)), args, some, some)
            factorised(book, "eigvalsh", label, [a], lambda x: L.eigvalsh(made(args, x)), args, some, some)
        a = operand(book, f"large{tag}", (37, 37), tag)
        factorised(book, "qr", "large", [a], lambda x: tuple(L.qr(x)), {"complete": False}, False)
        factorised(book, "svdvals", "large", [a], L.svdvals, {}, False)
        factorised(book, "eigvalsh", "large", [a], lambda x: L.eigvalsh(made({"symmetric": True}, x)),
                   {"symmetric": True}, False)
        deficient = tensor([[1, 2, 3], [2, 4, 6], [1, 0, 1]], tag)
        # The case makes its matrix one of rank two, whatever the elements are that it is given.
        mix = torch.tensor([[1, 0, 1], [0, 1, 1], [0, 0, 0]], dtype=torch.float64)
        factorised(book, "pinv", "deficient", [operand(book, f"deficient{tag}", (3, 3), tag)],
                   lambda x: L.pinv(x @ mix), {"kept_rank": True})
        factorised(book, "matrix_rank", "deficient", [deficient], L.matrix_rank, {}, False)
        factorised(book, "matrix_rank", "tolerant", [tensor([[1, 0], [0, 0.01]], tag)],
                   lambda x: L.matrix_rank(x, rtol=0.1), {"rtol": 0.1}, False)
        for label, left, right in (("tall", (5, 2), (5, 3)), ("wide", (2, 4), (2, 3)), ("vector", (4, 2), (4,)),
                                   ("stack", (2, 4, 2), (2, 4, 1)), ("square", (3, 3), (3, 2))):
            a, b = operand(book, f"l{left}{tag}", left, tag), operand(book, f"r{right}{tag}", right, tag)
            args = {"spread": 2, "shift": 2}

            def solution(x, v):
                x = made(args, x)
                v = v.unsqueeze(-1) if len(right) == 1 else v
                found = L.pinv(x) @ v
                residuals = ((x @ found - v) ** 2).sum(-2)
                if len(right) == 1:
                    found, residuals = found.squeeze(-1), residuals.squeeze(-1)
                return found, residuals, L.matrix_rank(x), L.svdvals(x)

            factorised(book, "lstsq", label, [a, b], solution, args, out=[None, None, "i64", None], second=True)


def fill_powers(book):
    for tag in WIDE_FLOATS:
        for label, shape in SQUARES:
            a = operand(book, f"power{shape}{tag}", shape, tag)
            some = a.numel() > 0
            for power in (0, 1, 2, 5, -1, -3):
                def raised(x):  # PyTorch's own negative powers cannot be differentiated twice
                    x = made({"shift": 3}, x)
                    return L.matrix_power(L.inv(x) if power < 0 else x, abs(power)) + 0 * x

                factorised(book, "matrix_power", f"{label}_{power}", [a], raised, {"shift": 3, "power": power},
                           some and power != 0, some and power not in (0, 1))
            if some:
                for size, name in ((0.004, "tiny"), (0.05, "small"), (0.2, "middle"), (1, "plain"), (4, "large")):
                    if name != "plain" and label not in ("two", "five"):
                        continue
                    factorised(book, "expm", f"{label}_{name}", [a], lambda x: torch.matrix_exp(x * size),
                               {"scale": size}, True, name == "plain", numpy=lambda x: scipy.linalg.expm(x * size))
        factorised(book, "expm", "empty", [torch.zeros((0, 0), dtype=torch.float64).to(widen(tensor(0, tag)).dtype)
                                           if tag == "f64" else torch.zeros((0, 0))], lambda x: x.clone(),
                   {"scale": 1}, False)
        factors = [operand(book, f"chain{shape}{tag}", shape, tag) for shape in ((2, 5), (5, 3), (3, 4), (4, 2))]
        factorised(book, "multi_dot", "four", factors, lambda *v: L.multi_dot(v), {}, second=True)
        factors = [operand(book, f"chain{shape}{tag}", shape, tag) for shape in ((3,), (3, 4), (4,))]
        factorised(book, "multi_dot", "vectors", factors, lambda *v: L.multi_dot(v), {}, second=True)
    a = operand(book, "power.i64", (3, 3), "i64")
    for power in (0, 3):
        book.case("matrix_power", f"whole_{power}", [a], args={"power": power},
                  numpy=lambda v: np.linalg.matrix_power(v, power))


def fill_norms(book):
    orders = [None, 0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf]

    def written(p):
        return None if p is None else {np.inf: "inf", -np.inf: "-inf"}.get(p, p)

    for tag in WIDE_FLOATS:
        x = operand(book, f"norm.{tag}", (3, 4), tag)
        for p in orders:
            smooth = p not in (0,)
            factorised(book, "norm", f"vectors_{p}", [x], lambda v: L.vector_norm(v, 2 if p is None else p, dim=1),
                       {"order": written(p), "axes": [1]}, smooth, smooth and p not in (1, np.inf, -np.inf))
            if p is not None:
                factorised(book, "vector_norm", f"all_{p}", [x], lambda v: L.vector_norm(v, p),
                           {"order": written(p), "axes": None}, smooth, smooth and p not in (1, np.inf, -np.inf))
        cube = operand(book, f"cube.{tag}", (2, 3, 3), tag)
        for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            factorised(book, "matrix_norm", f"stack_{p}", [cube], lambda v: L.matrix_norm(v, p),
                       {"order": written(p)}, second=p in ("fro", "nuc", 2, -2))
            factorised(book, "norm", f"matrices_{p}", [cube], lambda v: L.matrix_norm(v, p, dim=(2, 0)),
                       {"order": written(p), "axes": [2, 0]}, p != -np.inf)
        factorised(book, "norm", "whole", [cube], lambda v: L.vector_norm(v), {"order": None, "axes": None}, second=True)
        factorised(book, "norm", "keepdims", [cube], lambda v: L.matrix_norm(v, 1, dim=(0, 1), keepdim=True),
                   {"order": 1, "axes": [0, 1], "keepdims": True})
        zeros = tensor([[0, 0], [3, 4]], tag)
        for p in (2, 3):  # where nothing slopes one way more than another, PyTorch's gradient is zero
            factorised(book, "vector_norm", f"zeros_{p}", [zeros], lambda v: L.vector_norm(v, p, dim=1),
                       {"order": p, "axes": [1], "kink": True})
        for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
            def condition(v):
                v = made({"shift": 4, "spread": 3}, v)
                return L.cond(v, p) if p in (None, 2, -2) else L.matrix_norm(v, p) * L.matrix_norm(L.inv(v), p)

            factorised(book, "cond", f"{p}", [cube], condition, {"order": written(p), "shift": 4, "spread": 3})
        book.case("cond", "singular", [tensor([[1, 1], [1, 1]], tag)], args={"order": 1},
                  numpy=lambda v: np.asarray(np.inf))


def fill_products(book):
    for tag in WIDE_FLOATS:
        x, y = operand(book, f"x.{tag}", (2, 3), tag), operand(book, f"y.{tag}", (2, 3), tag)
        factorised(book, "cross", "rows", [x, y], lambda a, b: L.cross(a, b, dim=-1), {"axis": -1}, second=True)
        u, v = operand(book, f"u.{tag}", (3, 2), tag), operand(book, f"v.{tag}", (3, 1), tag)
        factorised(book, "cross", "columns", [u, v], lambda a, b: L.cross(a, b, dim=0), {"axis": 0}, second=True)
        factorised(book, "vecdot", "rows", [x, y], lambda a, b: L.vecdot(a, b), {"axis": -1}, second=True)
        factorised(book, "vecdot", "columns", [u, v], lambda a, b: L.vecdot(a, b, dim=0), {"axis": 0}, second=True)
        cube = operand(book, f"cube.{tag}", (2, 3, 4), tag)
        for k in (0, 1, -2):
            factorised(book, "matrix_trace", f"{k}", [cube],
                       lambda a: a.diagonal(k, -2, -1).sum(-1), {"k": k}, second=True)
        line = operand(book, f"line.{tag}", (4,), tag)
        for columns in (None, 0, 1, 3):
            for increasing in (False, True):
                def powers(a):
                    exponents = torch.arange(4 if columns is None else columns, dtype=a.dtype)
                    found = a.unsqueeze(1) ** (exponents if increasing else exponents.flip(0))
                    return found
                smooth = columns != 0
                factorised(book, "vander", f"{columns}_{increasing}", [line], powers,
                           {"columns": columns, "increasing": increasing}, smooth, smooth and columns != 1)
        table = operand(book, f"table.{tag}", (3, 6), tag)
        for ddof in (1, 0):
            factorised(book, "cov", f"ddof{ddof}", [table], lambda a: torch.cov(a, correction=ddof),
                       {"ddof": ddof, "rows": True}, second=True)
        factorised(book, "cov", "columns", [table], lambda a: torch.cov(a.mT), {"ddof": 1, "rows": False}, second=True)
        factorised(book, "cov", "vector", [line], torch.cov, {"ddof": 1, "rows": True}, second=True)
        factorised(book, "corrcoef", "rows", [table], torch.corrcoef, {"rows": True}, second=True)
        factorised(book, "corrcoef", "columns", [table], lambda a: torch.corrcoef(a.mT), {"rows": False})
    whole = operand(book, "whole", (2, 3), "i32")
    book.case("cross", "whole", [whole, whole.flip(1)], args={"axis": -1}, numpy=lambda a, b: np.cross(a, b))
    book.case("vander", "whole", [tensor([1, 2, 3], "i64")], args={"columns": None, "increasing": False},
              numpy=lambda a: np.vander(a))


def fill(book):
    fill_systems(book)
    fill_spectra(book)
    fill_powers(book)
    fill_norms(book)
    fill_products(book)
