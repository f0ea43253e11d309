# SPDX-License-Identifier: MIT
"""Reductions over every choice of axes, and the cumulative operators."""

import numpy as np
import scipy.special as special
import torch

from recipes.book import FLOATS, INTS, WIDE_FLOATS, tensor, to_numpy

AXES = [None, [0], [1], [-1], [0, 2], [-2, -3], [0, 1, 2]]


def name_of(axes, keepdims):
    return ("all" if axes is None else "axes" + "_".join(map(str, axes))) + ("_keep" if keepdims else "")


def every(x, axes):
    return tuple(range(x.ndim)) if axes is None else tuple(a % x.ndim for a in axes)


def torch_prod(x, axes, keep):
    for axis in sorted(every(x, axes), reverse=True):
        x = torch.prod(x, dim=axis, keepdim=True)
    return x if keep else x.squeeze(every(x, axes))


def torch_norm1(x, axes, keep):
    return x.abs().sum(every(x, axes), keepdim=keep)


def np_logsumexp(x, axes, keep):
    return special.logsumexp(x, axis=every(x, axes), keepdims=keep) if every(x, axes) else x


# name: (numpy, torch, tolerance); the magnitude of a "sum" is found below
FLOAT_REDUCTIONS = {
    "sum": (lambda x, a, k: np.sum(x, axis=every(x, a), keepdims=k),
            lambda x, a, k: torch.sum(x, every(x, a), keepdim=k), "sum"),
    "prod": (lambda x, a, k: np.prod(x, axis=every(x, a), keepdims=k), torch_prod, "composed"),
    "mean": (lambda x, a, k: np.mean(x, axis=every(x, a), keepdims=k),
             lambda x, a, k: torch.mean(x, every(x, a), keepdim=k), "sum"),
    "min": (lambda x, a, k: np.min(x, axis=every(x, a), keepdims=k),
            lambda x, a, k: torch.amin(x, every(x, a), keepdim=k), "exact"),
    "max": (lambda x, a, k: np.max(x, axis=every(x, a), keepdims=k),
            lambda x, a, k: torch.amax(x, every(x, a), keepdim=k), "exact"),
    "l1_norm": (lambda x, a, k: np.sum(np.abs(x), axis=every(x, a), keepdims=k), torch_norm1, "sum"),
    "l2_norm": (lambda x, a, k: np.sqrt(np.sum(x * x, axis=every(x, a), keepdims=k)),
                lambda x, a, k: torch.linalg.vector_norm(x, 2, every(x, a), keepdim=k), "composed"),
    "l2_norm_sqr": (lambda x, a, k: np.sum(x * x, axis=every(x, a), keepdims=k),
                    lambda x, a, k: torch.sum(x * x, every(x, a), keepdim=k), "composed"),
    "logsumexp": (np_logsumexp, lambda x, a, k: torch.logsumexp(x, every(x, a), keepdim=k), "composed"),
}
LOGICAL = {"any": np.any, "all": np.all}
CUMULATIVE = {
    "cumsum": (np.cumsum, torch.cumsum, "sum"),
    "cumprod": (np.cumprod, torch.cumprod, "composed"),
    "cummin": (np.minimum.accumulate, lambda x, axis: torch.cummin(x, axis).values, "exact"),
    "cummax": (np.maximum.accumulate, lambda x, axis: torch.cummax(x, axis).values, "exact"),
}


def distinct(book, name, shape, tag):
    """Values with no ties and no zero, whose products stay near one."""
    random = book.random(name)
    count = int(np.prod(shape))
    values = np.linspace(0.5, 1.75, max(count, 1))[:count] * random.choice([-1, 1], size=count)
    return tensor(random.permutation(values).reshape(shape), tag)


def fill_floats(book):
    for op, (reference, torch_fn, tolerance) in FLOAT_REDUCTIONS.items():
        source = "scipy" if op == "logsumexp" else "numpy"

        def add(label, x, axes, keep, gradient=False, second=False, gradient_scale=None):
            scale = float(np.nansum(np.abs(np.where(np.isfinite(to_numpy(x)), to_numpy(x), 0)))) + 1e-30
            book.case(op, label, [x], args={"axes": axes, "keepdims": keep}, source=source,
                      numpy=lambda v: reference(v, axes, keep), torch_fn=lambda v: torch_fn(v, axes, keep),
                      tolerance=tolerance, scale=scale, gradient=gradient, second=second, gradient_scale=gradient_scale)

        for tag in FLOATS:
            x = distinct(book, f"reduce.{tag}", (2, 3, 4), tag)
            for axes in AXES:
                for keep in ((False, True) if tag == "f32" else (False,)):
                    add(name_of(axes, keep), x, axes, keep, tag in WIDE_FLOATS, tag == "f64")
        scalar = distinct(book, "scalar", (), "f32")
        add("0d", scalar, None, False, True)
        add("0d_noaxes", scalar, [], False, True)
        add("wide", distinct(book, "wide", (3, 70), "f32"), [1], False, True)
        add("tall", distinct(book, "tall", (70, 3), "f32"), [0], False, True)
        add("ones", distinct(book, "ones", (1, 4, 1), "f32"), [0, 2], True, True)
        rows = tensor([[np.nan, 1, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 0], [0, -0.0, 0],
                       [-np.inf] * 3, [np.inf] * 3], "f32")
        add("special", rows, [1], False)
        big = tensor([[1000.0, 1001.0], [-1000.0, -1001.0]], "f32")
        if op == "logsumexp":
            # exp(x - y) is allowed, and y near 1000 is known to 3e-5 only.
            add("large", big, [1], False, True, gradient_scale=32.0)
            add("large", tensor(to_numpy(big), "f64"), [1], False, True, True)
        empty = torch.zeros((0, 3))
        if op not in ("min", "max", "mean", "logsumexp"):
            add("empty_axis", empty, [0], False, True)
            add("empty_all", empty, None, False, True)
        add("empty_other", empty, [1], False, True)
    for op, torch_fn, reference in (("var", torch.var, np.var), ("std", torch.std, np.std)):
        for tag in FLOATS:
            x = distinct(book, f"reduce.{tag}", (2, 3, 4), tag)
            for axes in AXES:
                for ddof in (0, 1):
                    for keep in ((False, True) if tag == "f32" else (False,)):
                        book.case(op, f"{name_of(axes, keep)}_ddof{ddof}", [x], tolerance="composed",
                                  args={"axes": axes, "keepdims": keep, "ddof": ddof},
                                  numpy=lambda v: reference(v, axis=every(v, axes), keepdims=keep, ddof=ddof),
                                  torch_fn=lambda v: torch_fn(v, every(v, axes), correction=ddof, keepdim=keep),
                                  gradient=tag in WIDE_FLOATS, second=tag == "f64")
        shifted = tensor(1000 + np.arange(8.0).reshape(2, 4), "f32")  # a one-pass formula cancels here
        book.case(op, "far_from_zero", [shifted], args={"axes": [1], "keepdims": False, "ddof": 0},
                  numpy=lambda v: reference(v, axis=1), tolerance="composed")


def fill_integers(book):
    for tag in INTS + ("bool",):
        random = book.random(f"integers.{tag}")
        x = tensor(random.integers(0 if tag in ("u8", "bool") else -3, 2 if tag == "bool" else 9, size=(2, 3, 4)), tag)
        for axes in (None, [1], [0, 2]):
            label = "integers_" + name_of(axes, False)
            args = {"axes": axes, "keepdims": False}
            book.case("sum", label, [x], args=args, numpy=lambda v: np.sum(v, every(v, axes), dtype=np.int64))
            book.case("prod", label, [x], args=args, numpy=lambda v: np.prod(v, every(v, axes), dtype=np.int64))
            book.case("min", label, [x], args=args, numpy=lambda v: np.min(v, every(v, axes)))
            book.case("max", label, [x], args=args, numpy=lambda v: np.max(v, every(v, axes)))
            book.case("mean", label, [x], args=args, out="f32", tolerance="composed",
                      numpy=lambda v: np.mean(v, every(v, axes), dtype=np.float64))
    large = torch.full((3,), 120, dtype=torch.int8)
    book.case("sum", "does_not_wrap", [large], args={"axes": None, "keepdims": False},
              numpy=lambda v: np.sum(v, dtype=np.int64))
    for op, reference in LOGICAL.items():
        for tag in ("bool", "i32", "u8", "f32", "f64", "f16", "bf16"):
            x = tensor((book.random(f"{op}.{tag}").integers(0, 4, size=(2, 3, 4)) > (1 if op == "all" else 2)), tag)
            for axes in AXES:
                for keep in (False, True):
                    book.case(op, name_of(axes, keep), [x], args={"axes": axes, "keepdims": keep},
                              numpy=lambda v: reference(v, axis=every(v, axes), keepdims=keep))
        book.case(op, "empty_axis", [torch.zeros((0, 3))], args={"axes": [0], "keepdims": False},
                  numpy=lambda v: reference(v, axis=0))
        book.case(op, "nan", [tensor([[np.nan, 0.0], [0.0, -0.0]], "f32")], args={"axes": [1], "keepdims": False},
                  numpy=lambda v: reference(v, axis=1))


def fill_positions(book):
    for op, reference in (("argmin", np.argmin), ("argmax", np.argmax)):
        for tag in FLOATS + INTS:
            x = tensor(book.random(f"{op}.{tag}").integers(0, 5, size=(2, 3, 4)), tag)  # ties: the first one counts
            for axis in (None, 0, 1, -1):
                for keep in ((False, True) if tag == "f32" else (False,)):
                    label = ("all" if axis is None else f"axis{axis}") + ("_keep" if keep else "")
                    book.case(op, label, [x], args={"axis": axis, "keepdims": keep},
                              numpy=lambda v: reference(v, axis=axis, keepdims=keep))
        x = tensor([[1, np.nan, 3, np.nan], [np.inf, 1, -np.inf, 2], [0.0, -0.0, 0.0, -0.0]], "f32")
        book.case(op, "special", [x], args={"axis": 1, "keepdims": False}, numpy=lambda v: reference(v, axis=1))
        book.case(op, "bool", [tensor([0, 1, 1, 0], "bool")], args={"axis": 0, "keepdims": False},
                  numpy=lambda v: reference(v, axis=0))
        book.case(op, "0d", [tensor(3.0, "f32")], args={"axis": None, "keepdims": False},
                  numpy=lambda v: reference(v))


def fill_cumulative(book):
    for op, (reference, torch_fn, tolerance) in CUMULATIVE.items():
        for tag in FLOATS:
            x = distinct(book, f"cumulative.{tag}", (2, 3, 4), tag)
            for axis in (0, 1, -1):
                book.case(op, f"axis{axis}", [x], args={"axis": axis}, numpy=lambda v: reference(v, axis=axis),
                          torch_fn=lambda v: torch_fn(v, axis), tolerance=tolerance, scale=6,
                          gradient=tag in WIDE_FLOATS, second=tag == "f64")
        for tag in INTS + ("bool",):
            x = tensor(book.random(f"{op}.{tag}").integers(0, 2 if tag == "bool" else 4, size=(3, 4)), tag)
            wide = op in ("cumsum", "cumprod")
            book.case(op, "integers", [x], args={"axis": 1},
                      numpy=lambda v: reference(v, axis=1, **({"dtype": np.int64} if wide else {})))
        book.case(op, "special", [tensor([[1, np.nan, 3], [np.inf, 1, 2], [1, -np.inf, 0]], "f32")], args={"axis": 1},
                  numpy=lambda v: reference(v, axis=1), tolerance=tolerance, scale=6)
        book.case(op, "empty", [torch.zeros((2, 0))], args={"axis": 1}, numpy=lambda v: reference(v, axis=1),
                  torch_fn=lambda v: torch_fn(v, 1), tolerance=tolerance, scale=1, gradient=True)
        wide = op in ("cumsum", "cumprod")
        x = distinct(book, "directions", (3, 5), "f64")
        for exclusive, reverse in ((False, True), (True, False), (True, True)) if wide else ((False, True),):
            start = 0.0 if op == "cumsum" else 1.0

            def directed(v):
                v = v.flip(1) if reverse else v
                v = torch_fn(v, 1)
                if exclusive:
                    v = torch.cat([torch.full_like(v[:, :1], start), v[:, :-1]], 1)
                return v.flip(1) if reverse else v

            label = "_".join(["exclusive"] * exclusive + ["reverse"] * reverse)
            book.case(op, label, [x], args={"axis": 1, "exclusive": exclusive, "reverse": reverse}, tolerance=tolerance,
                      scale=6, torch_fn=directed, gradient=True, second=True)
        book.case(op, "long", [distinct(book, "longer", (2, 67), "f32")], args={"axis": 1},
                  numpy=lambda v: reference(v, axis=1), torch_fn=lambda v: torch_fn(v, 1), tolerance=tolerance,
                  scale=67, gradient=op != "cumprod")
    for tag in WIDE_FLOATS:  # a gradient that divides by its input fails here
        x = tensor([[2, 0, 3, 4], [0, 5, 0, 1], [1, 2, 3, 4]], tag)
        book.case("cumprod", "zeros", [x], args={"axis": 1}, torch_fn=lambda v: torch.cumprod(v, 1), gradient=True)
        book.case("prod", "zeros", [x], args={"axes": [1], "keepdims": False},
                  torch_fn=lambda v: torch.prod(v, 1), gradient=True)
        ties = tensor([[2, 2, 1], [0, 3, 3]], tag)
        for op in ("min", "max"):
            book.case(op, "ties", [ties], args={"axes": [1], "keepdims": False}, gradient=True,
                      torch_fn=lambda v: FLOAT_REDUCTIONS[op][1](v, [1], False))


def fill(book):
    fill_floats(book)
    fill_integers(book)
    fill_positions(book)
    fill_cumulative(book)
