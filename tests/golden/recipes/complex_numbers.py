# SPDX-License-Identifier: MIT
"""Complex numbers as pairs of real ones: functions, reductions, products, moves, transforms, eigenvalues.

Every input that is complex has its parts along the last axis, and so have complex results: gradients are then those of
real functions, and PyTorch's convention for complex ones is held to by its own views.
"""

import numpy as np
import scipy.signal
import torch

from recipes.book import WIDE_FLOATS, tensor, widen

R = torch.view_as_real


def C(pairs):
    """PyTorch's view, which does not take tensors without elements."""
    return torch.view_as_complex(pairs) if pairs.numel() else torch.complex(pairs[..., 0], pairs[..., 1])


def pairs(book, name, shape, tag, size=1.5):
    return tensor(np.round(book.random(name).normal(size=(*shape, 2)) * size, 3), tag)


def reals(book, name, shape, tag):
    return tensor(np.round(book.random(name).normal(size=shape), 3), tag)


def on_parts(function, parts=None):
    """The function of real tensors that `function` is of complex ones."""
    def applied(*values):
        given = [C(v) if v.is_floating_point() and (parts is None or i in parts) else v for i, v in enumerate(values)]
        found = function(*given)
        found = found if isinstance(found, tuple) else (found,)
        found = tuple(R(f.resolve_conj()) if f.is_complex() else f for f in found)
        return found if len(found) > 1 else found[0]
    return applied


def add(book, op, label, inputs, function, args=None, parts=None, gradient=True, second=True, name=None, condition=1.0,
        **more):
    """A case whose tolerance is relative to the largest element of the results, and as much wider as `condition` says."""
    real = on_parts(function, parts)
    results = real(*[widen(v) for v in inputs])
    results = results if isinstance(results, tuple) else (results,)
    largest = max([1.0] + [float(r[torch.isfinite(r)].abs().max()) for r in results
                           if r.is_floating_point() and r[torch.isfinite(r)].numel()])
    floating = any(r.is_floating_point() for r in results)
    args = dict(args or {}, **({"parts": sorted(parts)} if parts is not None else {}))
    book.case(name or f"complex_{op}", label, inputs, args=args, torch_fn=real,
              tolerance=more.pop("tolerance", "factorised"), scale=condition * largest / 8,
              gradient=gradient and floating, second=second and gradient and floating, gradient_scale=10 * largest, **more)


UNARY = {
    "negate": torch.negative, "abs": torch.abs, "sign": torch.sgn, "conj": torch.conj, "square": torch.square,
    "reciprocal": torch.reciprocal, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "exp": torch.exp, "expm1": torch.expm1,
    "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "sinh": torch.sinh,
    "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh,
    "real": torch.real, "imag": torch.imag, "angle": torch.angle,
}
BINARY = {"add": torch.add, "subtract": torch.subtract, "multiply": torch.multiply, "divide": torch.divide,
          "power": torch.pow}

# On both sides of the branch cuts, told apart by the sign of zero; and far from and near to where squares overflow.
CUTS = [[x, y] for x in (-2.0, -0.5, 0.5, 2.0) for y in (0.0, -0.0)] + [[0.0, y] for y in (-2.0, -0.5, 0.5, 2.0)]
AT_CUTS = {"sqrt": np.sqrt, "log": np.log, "log1p": np.log1p, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
           "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "tanh": np.tanh, "exp": np.exp}
FAR = {"sqrt": np.sqrt, "log": np.log, "abs": np.abs, "sign": np.sign, "reciprocal": np.reciprocal, "tanh": np.tanh}


def numpy_on_parts(function):
    def applied(x):
        found = function(np.ascontiguousarray(x).view(np.complex128)[..., 0])
        return np.stack([found.real, found.imag], -1) if np.iscomplexobj(found) else found
    return applied


def fill_functions(book):
    for tag in WIDE_FLOATS:
        for op, function in UNARY.items():
            for label, shape in (("some", (2, 3)), ("one", ()), ("none", (0, 2))):
                x = pairs(book, f"{op}{label}{tag}", shape, tag)
                if x.numel() == 0 and op == "angle":
                    continue
                # Second derivatives of PyTorch's angle are not those of its definition at large.
                add(book, op, label, [x], function, second=x.numel() > 0, gradient=x.numel() > 0)
        for op, function in AT_CUTS.items():
            book.case(f"complex_{op}", "cuts", [tensor(CUTS, tag)], numpy=numpy_on_parts(function),
                      tolerance="factorised", scale=0.1)
        for op, function in FAR.items():
            top, bottom = (1e30, 1e-30) if tag == "f32" else (1e250, 1e-250)
            for label, size in (("large", top), ("small", bottom)):
                x = tensor([[3 * size, 4 * size], [-4 * size, 3 * size], [size, -size]], tag)
                results = numpy_on_parts(function)(widen(x).numpy())
                book.case(f"complex_{op}", label, [x], numpy=numpy_on_parts(function), tolerance="factorised",
                          scale=np.abs(results).max() / 8)
        zeros = tensor([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]], tag)
        for op in ("abs", "sign", "conj", "square", "sqrt", "exp", "sin", "tanh"):
            add(book, op, "zeros", [zeros], UNARY[op], gradient=op in ("conj", "square", "exp", "sin", "tanh", "abs", "sign"),
                second=op in ("conj", "square", "exp", "sin", "tanh"))
        for op, function in BINARY.items():
            for label, left, right in (("same", (2, 3), (2, 3)), ("stretched", (2, 1), (3,)), ("none", (0, 2), (2,))):
                a, b = pairs(book, f"{op}a{label}{tag}", left, tag), pairs(book, f"{op}b{label}{tag}", right, tag)
                some = a.numel() > 0
                add(book, op, label, [a, b], function, gradient=some, second=some)
            a, b = pairs(book, f"{op}c{tag}", (4,), tag), reals(book, f"{op}d{tag}", (4,), tag)
            add(book, op, "by_real", [a, b], function, parts=[0])
            add(book, op, "of_real", [b.abs() + 0.5, a], function, parts=[1])
        powers = tensor([[0, 0], [1, 0], [2, 0], [3, 0], [-1, 0], [0.5, 0]], tag)
        add(book, "power", "whole", [pairs(book, f"whole{tag}", (6,), tag), powers], torch.pow, second=False)
        a, b = pairs(book, f"equal{tag}", (4,), tag), pairs(book, f"equal{tag}", (4,), tag)
        b[1, 0] += 1
        b[2, 1] += 1
        for op, function in (("equal", torch.eq), ("not_equal", torch.ne)):
            add(book, op, "some", [a, b], function)
        odd = tensor([[np.nan, 0], [0, np.nan], [np.inf, 0], [1, -np.inf], [1, 2]], tag)
        for op, function in (("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite)):
            add(book, op, "some", [odd], function)
        truth = tensor([True, False, True, False], "bool")
        add(book, "where", tag, [truth, a, b], torch.where)
        c = pairs(book, f"addend{tag}", (4,), tag)
        add(book, "fma", "some", [a, b, c], lambda x, y, z: x * y + z)
        add(book, "round", "some", [pairs(book, f"round{tag}", (5,), tag, 4)],
            lambda x: torch.complex(x.real.round(), x.imag.round()), gradient=False)
        re, im = reals(book, f"re{tag}", (2, 3), tag), reals(book, f"im{tag}", (2, 3), tag)
        add(book, "of_parts", "some", [re, im], torch.complex, parts=[])
        add(book, "polar", "some", [re.abs(), im], torch.polar, parts=[])
        other = "c128" if tag == "f32" else "c64"
        wide = torch.complex128 if tag == "f32" else torch.complex64
        add(book, "cast", "width", [a], lambda x: x * 1, args={"dtype": other}, second=False, gradient=False,
            out="f64" if tag == "f32" else "f32", tolerance="relative")
        add(book, "cast", "real", [a], lambda x: x.real * 1, args={"dtype": "f64"}, out="f64", tolerance="relative",
            gradient=False)
        add(book, "cast", "truth", [zeros], lambda x: x != 0, args={"dtype": "bool"}, gradient=False)
        add(book, "logical_not", "some", [zeros], lambda x: x == 0, gradient=False)


def fill_reductions(book):
    for tag in WIDE_FLOATS:
        x = pairs(book, f"reduced{tag}", (3, 4), tag)
        for label, axes, keep in (("all", None, False), ("rows", [1], True), ("columns", [0], False)):
            args, dim = {"axes": axes, "keepdims": keep}, tuple(axes) if axes else (0, 1)
            add(book, "sum", label, [x], lambda v: v.sum(dim, keepdim=keep), args)
            add(book, "mean", label, [x], lambda v: v.mean(dim, keepdim=keep), args)
            add(book, "var", label, [x], lambda v: v.var(dim, keepdim=keep, correction=1), args)

            def product(v):
                for axis in sorted(dim, reverse=True):
                    v = v.prod(axis, keepdim=keep)
                return v
            add(book, "prod", label, [x], product, args)
        zero = x.clone()
        zero[0, 1] = 0
        add(book, "prod", "zero", [zero], lambda v: v.prod(1), {"axes": [1], "keepdims": False}, second=False)
        add(book, "cumsum", "rows", [x], lambda v: v.cumsum(1), {"axis": 1})
        add(book, "norm", "all", [x], torch.linalg.norm)
        y = pairs(book, f"second{tag}", (3, 4), tag)
        add(book, "vecdot", "rows", [x, y], torch.linalg.vecdot)
        add(book, "cov", "rows", [x], torch.cov)
        for label, left, right in (("matrices", (2, 3), (3, 4)), ("vector", (3,), (3,)), ("columns", (2, 3), (3,)),
                                   ("stack", (2, 2, 3), (3, 2)), ("stacks", (2, 1, 2, 3), (2, 3, 2)),
                                   ("none", (2, 0), (0, 3))):
            a, b = pairs(book, f"ma{label}{tag}", left, tag), pairs(book, f"mb{label}{tag}", right, tag)
            some = a.numel() > 0
            add(book, "matmul", label, [a, b], torch.matmul, gradient=some, second=some)
        real = reals(book, f"mr{tag}", (4, 2), tag)
        add(book, "matmul", "by_real", [x, real], lambda a, b: a @ b.to(a.dtype), parts=[0])
        add(book, "einsum", "traces", [x, y], lambda a, b: torch.einsum("ij,ij->i", a, b), {"equation": "ij,ij->i"})
        add(book, "einsum", "outer", [x, y], lambda a, b: torch.einsum("ij,kj->ki", a, b), {"equation": "ij,kj->ki"})


def fill_moves(book):
    for tag in WIDE_FLOATS:
        x, y = pairs(book, f"moved{tag}", (3, 4), tag), pairs(book, f"other{tag}", (2, 4), tag)
        add(book, "transpose", "some", [x], lambda v: v.T)
        add(book, "slice", "back", [x], lambda v: v[:, [3, 1]])
        add(book, "roll", "some", [x], lambda v: v.roll(1, 1))
        add(book, "concat", "some", [x, y], lambda a, b: torch.cat([a, b], 0))
        add(book, "pad", "some", [x], lambda v: torch.nn.functional.pad(v, (0, 2, 1, 0)))
        add(book, "tril", "some", [x], torch.tril)
        places = torch.tensor([2, 0, 2])
        add(book, "take", "repeated", [x, places], lambda v, i: v[i], parts=[0])
        along = torch.tensor([[0, 3], [1, 1], [2, 0]])
        add(book, "take_along_axis", "some", [x, along], lambda v, i: v.gather(1, i), parts=[0])
        values = pairs(book, f"added{tag}", (3, 4), tag)
        add(book, "scatter_add", "repeated", [x, places, values], lambda v, i, w: v.index_add(0, i, w), parts=[0, 2])


NORMS = ("backward", "ortho", "forward")


def fill_transforms(book):
    F = torch.fft
    for tag in WIDE_FLOATS:
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 32, 37, 49, 64, 67, 96):
            label, args = f"of{n}", {"n": None, "axis": -1}
            x, y = pairs(book, f"line{n}{tag}", (2, n), tag), reals(book, f"real{n}{tag}", (2, n), tag)
            few = n <= 17
            add(book, "fft", label, [x], F.fft, args, gradient=few, second=False)
            add(book, "ifft", label, [x], F.ifft, args, gradient=few, second=False)
            add(book, "rfft", label, [y], F.rfft, args, parts=[], gradient=few, second=False)
            half = pairs(book, f"half{n}{tag}", (2, n // 2 + 1), tag)
            # PyTorch's second half of a spectrum is NumPy's; imaginary parts of the ends count for nothing.
            whole = {"n": n, "axis": -1}
            add(book, "irfft", label, [half], lambda v: F.irfft(v, n), whole, gradient=few, second=False)
            add(book, "hfft", label, [half], lambda v: F.hfft(v, n), whole, gradient=few, second=False)
            add(book, "ihfft", label, [y], F.ihfft, args, parts=[], gradient=few, second=False)
        x, y = pairs(book, f"block{tag}", (3, 4, 5), tag), reals(book, f"box{tag}", (3, 4, 5), tag)
        for norm in NORMS:
            for axis, n in ((0, None), (1, 6), (2, 3)):
                args = {"n": n, "axis": axis, "norm": norm}
                label = f"{norm}{axis}"
                add(book, "fft", label, [x], lambda v: F.fft(v, n, axis, norm), args)
                add(book, "ifft", label, [x], lambda v: F.ifft(v, n, axis, norm), args)
                add(book, "rfft", label, [y], lambda v: F.rfft(v, n, axis, norm), args, parts=[])
                add(book, "irfft", label, [x], lambda v: F.irfft(v, n, axis, norm), args)
                add(book, "hfft", label, [x], lambda v: F.hfft(v, n, axis, norm), args)
                add(book, "ihfft", label, [y], lambda v: F.ihfft(v, n, axis, norm), args, parts=[])
            for label, s, axes in (("all", None, None), ("two", None, [0, 2]), ("sizes", [4, 7], [1, 2]),
                                   ("last", [5, 6], None)):
                args = {"s": s, "axes": axes, "norm": norm}
                name = f"{norm}_{label}"
                add(book, "fftn", name, [x], lambda v: F.fftn(v, s, axes, norm), args, second=False)
                add(book, "ifftn", name, [x], lambda v: F.ifftn(v, s, axes, norm), args, second=False)
                add(book, "rfftn", name, [y], lambda v: F.rfftn(v, s, axes, norm), args, parts=[], second=False)
                add(book, "irfftn", name, [x], lambda v: F.irfftn(v, s, axes, norm), args, second=False)
        # As many lines as fill vectors, along both axes.
        many = pairs(book, f"many{tag}", (20, 24), tag)
        for axis in (0, 1):
            add(book, "fft", f"many{axis}", [many], lambda v: F.fft(v, dim=axis), {"n": None, "axis": axis},
                gradient=False)
            add(book, "irfft", f"many{axis}", [many], lambda v: F.irfft(v, dim=axis), {"n": None, "axis": axis},
                gradient=False)
            add(book, "rfft", f"many{axis}", [reals(book, f"lots{tag}", (20, 24), tag)],
                lambda v: F.rfft(v, dim=axis), {"n": None, "axis": axis}, parts=[], gradient=False)
        for label, axes in (("all", None), ("last", [2]), ("two", [0, 1])):
            add(book, "fftshift", label, [x], lambda v: F.fftshift(v, axes), {"axes": axes}, second=False)
            add(book, "ifftshift", label, [x], lambda v: F.ifftshift(v, axes), {"axes": axes}, second=False)
        fill_signals(book, tag)


def fill_signals(book, tag):
    def convolved(a, b, mode, axes):
        """Sums of products, as scipy.signal.fftconvolve keeps them."""
        size = [a.shape[i] + b.shape[i] - 1 for i in axes]
        full = torch.fft.ifftn(torch.fft.fftn(a, size, axes) * torch.fft.fftn(b, size, axes), size, axes)
        full = full if a.is_complex() or b.is_complex() else full.real
        for i, axis in enumerate(axes):
            kept = {"full": size[i], "same": a.shape[axis], "valid": a.shape[axis] - b.shape[axis] + 1}[mode]
            full = full.narrow(axis, (size[i] - kept) // 2, kept)
        return full

    a, b = reals(book, f"signal{tag}", (6, 9), tag), reals(book, f"filter{tag}", (3, 4), tag)
    z, w = pairs(book, f"zsignal{tag}", (7,), tag), pairs(book, f"zfilter{tag}", (3,), tag)
    for mode in ("full", "same", "valid"):
        found = convolved(widen(a), widen(b), mode, [0, 1]).numpy()
        assert np.allclose(found, scipy.signal.fftconvolve(widen(a).numpy(), widen(b).numpy(), mode))
        add(book, "fftconvolve", mode, [a, b], lambda x, y: convolved(x, y, mode, [0, 1]), {"mode": mode, "axes": None},
            parts=[])
        add(book, "fftconvolve", f"{mode}_complex", [z, w], lambda x, y: convolved(x, y, mode, [0]),
            {"mode": mode, "axes": None})
    signal, window = reals(book, f"frames{tag}", (2, 40), tag), tensor(np.round(np.hanning(8) + 0.1, 3), tag)
    for label, center, normalized, onesided in (("plain", True, False, True), ("bare", False, False, True),
                                                ("normal", True, True, False)):
        args = {"n": 8, "hop": 3, "center": center, "normalized": normalized, "onesided": onesided, "length": None}
        options = {"hop_length": 3, "center": center, "normalized": normalized, "onesided": onesided}
        add(book, "stft", label, [signal, window],
            lambda x, v: torch.stft(x, 8, window=v, return_complex=True, pad_mode="reflect", **options), args, parts=[],
            second=False)
        spectra = R(torch.stft(widen(signal), 8, window=widen(window), return_complex=True, **options))
        # PyTorch refuses ends that no window covers, which frames that are not centred have.
        if center:
            for length in (None, 36):
                add(book, "istft", f"{label}_{length}", [tensor(spectra, tag), window],
                    lambda x, v: torch.istft(x, 8, window=v, length=length, return_complex=not onesided, **options),
                    dict(args, length=length),
                    parts=[0], second=False)


def fill_eigen(book):
    for tag in WIDE_FLOATS:
        for label, shape in (("one", (1, 1)), ("two", (2, 2)), ("five", (5, 5)), ("stack", (2, 3, 3))):
            x = pairs(book, f"eigen{shape}{tag}", shape, tag)
            y = reals(book, f"real_eigen{shape}{tag}", shape, tag)
            for kind, a, parts in (("complex", x, None), ("real", y, [])):
                if tag == "f32" and label == "five":
                    continue

                def sums(v):
                    w = torch.linalg.eigvals(v)
                    return w.sum(-1), (w * w).sum(-1), (w * w * w).sum(-1)

                def lengths(v):
                    w, u = torch.linalg.eig(v)
                    return ((w * w).unsqueeze(-2) * u.abs().square()).sum(-1)

                # By Bauer and Fike a rounding moves an eigenvalue by at most the condition of the eigenvectors.
                vectors = torch.linalg.eig(widen(a) if parts is not None else C(widen(a)))[1]
                condition = float(torch.linalg.cond(vectors).max())
                for name, function in (("eigvals", sums), ("eig", lengths)):
                    add(book, "", f"{label}_{kind}", [a], function, parts=parts, name=name, second=False,
                        condition=condition)


def fill(book):
    fill_functions(book)
    fill_reductions(book)
    fill_moves(book)
    fill_transforms(book)
    fill_eigen(book)
