# SPDX-License-Identifier: MIT
"""NumPy's functions that are made of operators: statistics, differences, curves, choices, special functions; and
distributions."""

import numpy as np
import scipy.special
import scipy.stats
import torch

from recipes.book import DTYPES, WIDE_FLOATS, tensor


def drawn(book, name, shape, tag, scale=1.0, low=None):
    random = book.random(name)
    values = random.normal(size=shape) * scale if low is None else random.uniform(low, low + scale, size=shape)
    return tensor(np.round(values, 3), tag)


def with_gaps(book, name, shape, tag):
    """Numbers, some of them NaN, one row nothing but NaN."""
    x = np.round(book.random(name).normal(size=shape), 3)
    x[book.random(name + "gaps").uniform(size=shape) < 0.3] = np.nan
    x[0] = np.nan
    return tensor(x, tag)


def fill_statistics(book):
    plain = {"nansum": np.nansum, "nanprod": np.nanprod, "nanmean": np.nanmean, "nanvar": np.nanvar,
             "nanstd": np.nanstd, "nanmin": np.nanmin, "nanmax": np.nanmax, "nanmedian": np.nanmedian}
    import warnings
    warnings.simplefilter("ignore")
    for op, function in plain.items():
        for tag in WIDE_FLOATS:
            x = with_gaps(book, "gaps", (4, 6), tag)
            for axes, keepdims in ((None, False), ([1], False), ([0], True), ([0, 1], False)):
                given = None if axes is None else tuple(axes)
                book.case(op, f"{axes}_{keepdims}", [x], args={"axes": axes, "keepdims": keepdims}, tolerance="sum",
                          scale=16, numpy=lambda v: function(v, axis=given, keepdims=keepdims), out=tag)
        x = tensor(book.random(op).integers(-3, 4, size=(2, 3)), "i32")
        book.case(op, "integers", [x], args={"axes": [1], "keepdims": False}, tolerance="composed",
                  out=None if op in ("nansum", "nanprod", "nanmin", "nanmax") else "f32",
                  numpy=lambda v: function(v.astype(np.int64) if op in ("nansum", "nanprod") else v, axis=1))
    for tag in WIDE_FLOATS:
        x = with_gaps(book, "quantiles", (3, 7), tag)
        for q in (0.0, 0.3, 1.0):
            book.case("nanquantile", f"{q}", [x], args={"q": q, "axes": [1], "keepdims": False}, tolerance="composed",
                      numpy=lambda v: np.nanquantile(v, q, axis=1))
    for tag in WIDE_FLOATS:
        x = drawn(book, "order", (5, 8, 3), tag)
        for axes in (None, [1], [0, 2]):
            given = None if axes is None else tuple(axes)
            book.case("median", f"{axes}", [x], args={"axes": axes}, tolerance="composed",
                      numpy=lambda v: np.median(v, axis=given))
        for q in (0.0, 0.25, 0.9, 1.0):
            book.case("quantile", f"{q}", [x], args={"q": q, "axes": [1]}, tolerance="composed", gradient=True,
                      torch_fn=lambda v: torch.quantile(v, q, dim=1))
    book.case("median", "nan", [tensor([[3, np.nan, 1], [np.inf, -np.inf, 2]], "f64")], args={"axes": [1]},
              numpy=lambda v: np.median(v, axis=1))
    x = tensor(np.where(np.isnan(np.array([[1.5, np.nan, -2], [np.nan, 3, 0.5]])), np.nan,
                        np.array([[1.5, 0, -2], [0, 3, 0.5]])), "f64")
    for op, function in (("nansum", torch.nansum), ("nanmean", torch.nanmean)):
        book.case(op, "gradient", [x], args={"axes": [1], "keepdims": False}, gradient=True, tolerance="composed",
                  torch_fn=lambda v: function(v, dim=1))
    book.case("nanmedian", "gradient", [x], args={"axes": [1], "keepdims": False}, gradient=True,
              torch_fn=lambda v: torch.nanquantile(v, 0.5, dim=1), tolerance="composed")
    for tag in WIDE_FLOATS:
        x, w = drawn(book, "average", (3, 4), tag), drawn(book, "weights", (4,), tag, 1.0, 0.2)
        book.case("average", "axis", [x, w], args={"axes": [1]}, tolerance="sum", scale=4, gradient=True,
                  torch_fn=lambda v, u: (v * u).sum(1) / u.sum())
        book.case("average", "all", [x, drawn(book, "full", (3, 4), tag, 1.0, 0.2)], args={"axes": None}, gradient=True,
                  tolerance="sum", scale=8, torch_fn=lambda v, u: (v * u).sum() / u.sum())
        book.case("ptp", "axis", [x], args={"axes": [0]}, gradient=True,
                  torch_fn=lambda v: v.amax(0) - v.amin(0), tolerance="composed")
    for tag in WIDE_FLOATS:
        x = drawn(book, "moving", (3, 7, 2), tag)
        for label, before, after, axis in (("middle", 1, 1, 1), ("uneven", 3, 0, -2), ("wide", 9, 20, 0), ("one", 0, 0, 2)):
            book.case("moving_sum", label, [x], args={"before": before, "after": after, "axis": axis}, gradient=True,
                      tolerance="sum", scale=8,
                      torch_fn=lambda v, b=before, a=after, at=axis: torch.stack(
                          [v.narrow(at, max(i - b, 0), min(i + a, v.shape[at] - 1) - max(i - b, 0) + 1).sum(at)
                           for i in range(v.shape[at])], at))
    book.case("moving_sum", "whole", [tensor([1, 5, -2, 7], "i32")], args={"before": 1, "after": 2, "axis": 0},
              numpy=lambda v: np.convolve(v, np.ones(4, v.dtype))[2:6])
    counts = tensor([0, 3, 1, 1, 7, -1, 3], "i64")
    book.case("bincount", "plain", [counts], args={"length": 5},
              numpy=lambda v: np.bincount(v[(v >= 0) & (v < 5)], minlength=5).astype(np.int64))
    weights = drawn(book, "bincount", (7,), "f64")
    book.case("bincount", "weighted", [counts, weights], args={"length": 5}, tolerance="sum", scale=4, gradient=True,
              torch_fn=lambda v, w: torch.zeros(6, dtype=w.dtype).index_add(0, torch.where((v < 0) | (v > 4), 5, v), w)[:5])
    for label, edges in (("up", [-1.0, 0.0, 0.5, 2.0]), ("down", [2.0, 0.5, 0.0, -1.0]), ("none", [])):
        for right in (False, True):
            x = tensor([[-2, -1, -0.5], [0, 0.5, 3]], "f64")
            book.case("digitize", f"{label}_{right}", [x, tensor(np.array(edges), "f64")], args={"right": right},
                      numpy=lambda v, e: np.digitize(v, e, right=right).astype(np.int64))


def torch_interp(x, places, values):
    below = torch.clamp(torch.searchsorted(places, x, right=True) - 1, 0, len(places) - 2)
    low, high = places[below], places[below + 1]
    line = values[below] + (values[below + 1] - values[below]) / (high - low) * (x - low)
    return torch.where(x < places[0], values[0], torch.where(x > places[-1], values[-1], line))


def divided(dividend, divisor):
    """Quotient and remainder by long division, the remainder as long as the divisor less one."""
    quotient, rest = [], dividend
    for _ in range(len(dividend) - len(divisor) + 1):
        quotient.append(rest[0] / divisor[0])
        rest = torch.cat([rest[1:len(divisor)] - quotient[-1] * divisor[1:], rest[len(divisor):]])
    return torch.stack(quotient), rest


def polynomial_of(zeros):
    product = zeros.new_ones(1)
    for zero in zeros:
        product = torch.cat([product, zero.new_zeros(1)]) - zero * torch.cat([zero.new_zeros(1), product])
    return product


def fill_curves(book):
    for tag in WIDE_FLOATS:
        x = drawn(book, "curve", (3, 6), tag)
        for order, axis in ((1, -1), (2, 1), (3, 0), (1, 0), (0, 1)):
            book.case("diff", f"{order}_{axis}", [x], args={"order": order, "axis": axis}, tolerance="composed",
                      gradient=True, torch_fn=lambda v: torch.diff(v, n=order, dim=axis) if order else v + 0.0)
        places = tensor(np.cumsum(np.round(book.random("steps").uniform(0.3, 1.5, size=6), 3)), tag)
        for edge in (1, 2):
            book.case("gradient", f"even_{edge}", [x], args={"axis": 1, "step": 0.5, "edge": edge}, gradient=True,
                      tolerance="sum", scale=8,
                      torch_fn=lambda v: torch.gradient(v, spacing=0.5, dim=1, edge_order=edge)[0])
            book.case("gradient", f"places_{edge}", [x, places], args={"axis": 1, "edge": edge}, tolerance="sum",
                      scale=32, numpy=lambda v, p: np.gradient(v, p, axis=1, edge_order=edge))
        book.case("gradient", "two", [drawn(book, "two", (2, 3), tag)], args={"axis": 0, "step": 1.0, "edge": 1},
                  torch_fn=lambda v: torch.gradient(v, dim=0)[0], gradient=True, tolerance="composed")
        book.case("trapezoid", "even", [x], args={"axis": 1, "step": 0.5}, gradient=True, tolerance="sum", scale=6,
                  torch_fn=lambda v: torch.trapezoid(v, dx=0.5, dim=1))
        book.case("trapezoid", "places", [x, places], args={"axis": 1}, gradient=True, tolerance="sum", scale=12,
                  torch_fn=lambda v, p: torch.trapezoid(v, p, dim=1))
        book.case("cumulative_trapezoid", "places", [x, places], args={"axis": 1}, gradient=True, tolerance="sum",
                  scale=12, torch_fn=lambda v, p: torch.cumulative_trapezoid(v, p, dim=1))
        at = tensor(np.array([-1.0, 0.1, 0.45, 2.2, 3.1, 5.05, 9.0]), tag)
        values = drawn(book, "heights", (6,), tag)
        book.case("interp", "inside_and_out", [at, places, values], gradient=True, tolerance="sum", scale=8,
                  torch_fn=torch_interp)
        book.case("interp", "at_points", [places, places, values], numpy=np.interp, tolerance="composed")
        a, b = drawn(book, "convolve", (7,), tag), drawn(book, "kernel", (3,), tag)

        def convolved(u, v):
            return torch.nn.functional.conv1d(u[None, None], v.flip(0)[None, None], padding=len(v) - 1)[0, 0]
        book.case("convolve", "full", [a, b], args={"overlap": "full"}, gradient=True, tolerance="sum", scale=8,
                  torch_fn=convolved)
        for overlap in ("full", "same", "valid"):
            for swapped in (False, True):
                pair = [b, a] if swapped else [a, b]
                for op, function in (("convolve", np.convolve), ("correlate", np.correlate)):
                    if (op, overlap, swapped) != ("convolve", "full", False):
                        book.case(op, f"{overlap}_{swapped}", pair, args={"overlap": overlap}, tolerance="sum", scale=8,
                                  numpy=lambda u, v: function(u, v, overlap))
        coefficients = drawn(book, "polynomial", (4,), tag)
        book.case("polyval", "cubic", [coefficients, x], gradient=True, tolerance="sum", scale=60,
                  torch_fn=lambda c, v: ((c[0] * v + c[1]) * v + c[2]) * v + c[3])
        y = drawn(book, "fitted", (6,), tag)
        book.case("polyfit", "quadratic", [places, y], args={"degree": 2}, tolerance="factorised", scale=30,
                  numpy=lambda v, u: np.polyfit(v, u, 2))
        book.case("polyint", "cubic", [coefficients], tolerance="composed", numpy=np.polyint)
        book.case("polyder", "cubic", [coefficients], tolerance="composed", numpy=np.polyder)
        for label, divisor in (("line", (2,)), ("cubic", (4,)), ("quintic", (6,)), ("longer", (8,))):
            pair = [drawn(book, "dividend", (6,), tag), drawn(book, "divisor" + label, divisor, tag, 0.5, low=1.0)]
            book.case("polydiv", label, pair, gradient=label != "longer", tolerance="sum", scale=400,
                      torch_fn=divided if label != "longer" else lambda u, v: (u.new_zeros(1), u))
        book.case("polydiv", "constant", [coefficients, tensor([2.0], tag)], tolerance="composed",
                  numpy=lambda u, v: np.polydiv(u, v))
        zeros = drawn(book, "zeros", (5,), tag)
        book.case("poly", "five", [zeros], tolerance="sum", scale=20, gradient=True, torch_fn=polynomial_of)
        book.case("poly", "none", [tensor(np.zeros(0), tag)], numpy=lambda v: np.ones(1), out=tag)
        book.case("poly", "matrix", [drawn(book, "matrix", (3, 3), tag)], tolerance="factorised", scale=20,
                  numpy=lambda v: np.poly(v).real)
    for op, function in (("polyadd", np.polyadd), ("polysub", np.polysub), ("polymul", np.polymul)):
        book.case(op, "integers", [tensor([1, 2, 3], "i64"), tensor([4, 5], "i64")], numpy=function)


def fill_bits_and_boxes(book):
    for tag in ("bool", "u8", "i64"):
        x = tensor(book.random("bits" + tag).integers(0, 2, size=(3, 11)), tag)
        for axis in (None, 0, 1):
            for order in ("big", "little"):
                book.case("packbits", f"{axis}_{order}", [x], args={"axis": axis, "order": order},
                          numpy=lambda v: np.packbits(v, axis=axis, bitorder=order))
    book.case("packbits", "empty", [tensor(np.zeros((2, 0)), "u8")], args={"axis": 1, "order": "big"},
              numpy=lambda v: np.packbits(v, axis=1))
    x = tensor(book.random("bytes").integers(0, 256, size=(2, 3)), "u8")
    for axis in (None, 0, 1):
        for order in ("big", "little"):
            for count in (None, 5, 60, -3):
                book.case("unpackbits", f"{axis}_{order}_{count}", [x], args={"axis": axis, "order": order, "count": count},
                          numpy=lambda v: np.unpackbits(v, axis=axis, count=count, bitorder=order))
    for tag in WIDE_FLOATS:
        points = drawn(book, "points", (40, 3), tag)
        points[3, 1] = np.nan
        edges = [tensor(e, tag) for e in ([-1.0, 0.0, 1.0], [-2.0, -0.25, 0.5, 2.5], [-0.5, 0.5])]
        points[5] = torch.stack([e[-1] for e in edges])  # upper edges belong to the last box
        book.case("histogramdd", "three", [points, *edges],
                  numpy=lambda v, *e: np.histogramdd(v[~np.isnan(v).any(1)], e)[0].astype(np.int64))
    a, b = (tensor(book.random(n).integers(-3, 4, size=shape), "i64") for n, shape in (("a", (2, 3, 4)), ("b", (4,))))
    book.case("matvec", "integers", [a, b], numpy=np.matvec)
    book.case("vecmat", "integers", [tensor([1, -2, 3], "i64"), a], numpy=np.vecmat)
    for tag in WIDE_FLOATS:
        a, x, y = drawn(book, "a", (2, 3, 4), tag), drawn(book, "x", (5, 1, 4), tag), drawn(book, "y", (3,), tag)
        book.case("matvec", "stack", [a, x], tolerance="sum", scale=12, gradient=True,
                  torch_fn=lambda u, v: (u @ v[..., None])[..., 0])
        book.case("vecmat", "stack", [y, a], tolerance="sum", scale=12, gradient=True, torch_fn=lambda v, u: v @ u)
        equations = drawn(book, "equations", (2, 3, 6), tag) + 3 * torch.eye(6).reshape(2, 3, 6).to(DTYPES[tag])
        known = drawn(book, "known", (2, 3), tag)
        book.case("tensorsolve", "last", [equations, known], args={"axes": []}, tolerance="factorised", scale=10,
                  gradient=True, torch_fn=torch.linalg.tensorsolve)
        book.case("tensorsolve", "named", [equations.permute(2, 0, 1).contiguous(), known], args={"axes": [0]},
                  tolerance="factorised", scale=10, numpy=lambda u, v: np.linalg.tensorsolve(u, v, axes=(0,)))
        book.case("tensorsolve", "two_named", [equations.reshape(2, 3, 3, 2).permute(2, 0, 3, 1).contiguous(), known],
                  args={"axes": [0, 2]}, tolerance="factorised", scale=10,
                  numpy=lambda u, v: np.linalg.tensorsolve(u, v, axes=(0, 2)))
        book.case("tensorinv", "two", [equations], args={"axes": 2}, tolerance="factorised", scale=10, gradient=True,
                  torch_fn=torch.linalg.tensorinv)
        book.case("tensorinv", "one", [equations.reshape(6, 3, 2).contiguous()], args={"axes": 1},
                  tolerance="factorised", scale=10, numpy=lambda v: np.linalg.tensorinv(v, 1))


def borderline(tag):
    """Numbers whose distance is the tolerance of np.isclose, and up to three units in the last place beside it."""
    y = np.array([0, 1e-8, -3e-4, 0.7, 1, -1.5, 123.456, 7e5, -6e10, np.inf, np.nan], {"f32": "f4", "f64": "f8"}[tag])
    reach = y.dtype.type(1e-8) + y.dtype.type(1e-5) * abs(y)
    edges = []
    for edge in (y + reach, y - reach):
        for beside in range(-3, 4):
            moved = edge
            for _ in range(abs(beside)):
                moved = np.nextafter(moved, y.dtype.type(np.sign(beside) * np.inf))
            edges.append(moved)
    return [tensor(np.stack(edges), tag), tensor(y, tag)]


def fill_special(book):
    for tag in WIDE_FLOATS:
        ends = [0.0, 1, -2.5, 90, -90, np.inf, -np.inf, np.nan]
        pair = [tensor(grid.reshape(-1), tag) for grid in np.meshgrid(ends, ends)]
        book.case("logaddexp2", "ends", pair, numpy=np.logaddexp2, tolerance="composed")
        book.case("logaddexp2", "vectors", [drawn(book, "a", (9,), tag, 3.0), drawn(book, "b", (9,), tag, 3.0)],
                  torch_fn=torch.logaddexp2, gradient=True, tolerance="special")
        x = drawn(book, "special", (3, 5), tag, 3.0)
        book.case("sinc", "matrix", [x], numpy=np.sinc, torch_fn=torch.sinc, gradient=True, tolerance="special")
        book.case("i0", "matrix", [x], torch_fn=torch.special.i0, gradient=True, tolerance="special")
        book.case("i0", "large", [tensor([0, 24.9, 25.1, 60, -30], tag)], numpy=np.i0, tolerance="special")
        book.case("deg2rad", "matrix", [x], torch_fn=torch.deg2rad, gradient=True, tolerance="composed")
        book.case("signbit", "zeros", [tensor([0.0, -0.0, 1, -1, np.nan, -np.inf], tag)], numpy=np.signbit)
        special = tensor([np.nan, np.inf, -np.inf, 1.5, 0], tag)
        book.case("nan_to_num", "limits", [special], numpy=np.nan_to_num if tag == "f64" else
                  lambda v: np.nan_to_num(v, posinf=np.finfo("f4").max, neginf=np.finfo("f4").min))
        book.case("heaviside", "special", [special, tensor(0.25, tag)], numpy=np.heaviside)
        own = {"f32": "f4", "f64": "f8"}[tag]  # tolerances round as elements do
        book.case("isclose", "borderline", borderline(tag),
                  numpy=lambda x, y: np.isclose(x.astype(own), y.astype(own)))
        book.case("frexp", "numbers", [tensor([1, 8, -3.5, 0.49, 0, 1e-30, 1.0e30, 0.99999994], tag)],
                  numpy=lambda v: (np.frexp(v)[0], np.frexp(v)[1].astype(np.int32)), out=[tag, "i32"])
        book.case("ldexp", "numbers", [tensor([1, 0.75, -3, 0], tag), tensor([3, -5, 100, 7], "i32")],
                  numpy=lambda v, n: np.ldexp(v, n), out=tag)
    book.case("frexp", "tiny", [tensor([5e-324, 2.0 ** -1022, 1.7e308, np.inf, np.nan], "f64")],
              numpy=lambda v: (np.frexp(v)[0], np.where(np.isfinite(v), np.frexp(v)[1], 0).astype(np.int32)),
              out=["f64", "i32"])
    book.case("ldexp", "far", [tensor([1, 1, 2.0 ** -1000, 2.0 ** 1000], "f64"), tensor([-1074, 1023, 2000, -2000], "i32")],
              numpy=lambda v, n: np.ldexp(v, n))
    book.case("ldexp", "rounded_once", [tensor([1.0000000000000002, 1.9999999999999998, -1.5, 3, 0.7], "f64"),
                                         tensor([-1060, -1074, -1074, -1076, -1030], "i32")],
              numpy=lambda v, n: np.ldexp(v, n))
    for tag in ("f16", "bf16", "f32", "f64"):
        info = torch.finfo(DTYPES[tag])
        ends = [0.0, -0.0, 1, -1, 2, 0.75, -3, info.tiny, info.smallest_normal / 4, -info.smallest_normal / 2, info.max,
                -info.max, np.inf, -np.inf, np.nan]
        a, b = (torch.tensor(ends, dtype=DTYPES[tag])[i.reshape(-1)] for i in np.meshgrid(*[range(len(ends))] * 2))

        def neighbour(x, y, dtype=DTYPES[tag]):
            if dtype == torch.float16:  # which PyTorch lacks
                return torch.from_numpy(np.nextafter(x.to(dtype).numpy(), y.to(dtype).numpy()))
            return torch.nextafter(x.to(dtype), y.to(dtype))

        book.case("nextafter", "ends", [a, b], torch_fn=neighbour, out=tag)
    for tag in WIDE_FLOATS:
        angles = tensor(book.random("unwrap").uniform(-3, 3, size=(4, 9)) + np.arange(9), tag)
        book.case("unwrap", "rows", [angles], args={"axis": -1, "period": 2 * np.pi}, numpy=np.unwrap,
                  tolerance="sum", scale=60)
        book.case("unwrap", "columns", [angles], args={"axis": 0, "period": 4.0}, tolerance="sum", scale=60,
                  numpy=lambda x: np.unwrap(x, axis=0, period=4.0))
    book.case("unwrap", "half_periods", [tensor([0, 2, 0, 4, 1, -1], "f64")], args={"axis": 0, "period": 4.0},
              numpy=lambda x: np.unwrap(x, period=4.0))
    a, b = (tensor(book.random(f"gcd{i}").integers(-60, 61, size=(12,)), "i64") for i in range(2))
    for op, function in (("gcd", np.gcd), ("lcm", np.lcm)):
        for tag in ("i64", "i32", "i16", "i8"):
            limit = 100 if tag == "i8" and op == "lcm" else 10 ** 6
            u, v = (tensor(x.numpy() if limit > 100 else x.numpy() % 11, tag) for x in (a, b))
            book.case(op, f"pairs_{tag}", [u, v], numpy=function)
    book.case("gcd", "fibonacci", [tensor([7540113804746346429, 0], "i64"), tensor([4660046610375530309, 0], "i64")],
              numpy=np.gcd)
    book.case("bitwise_count", "wide", [tensor([0, 1, -1, 255, 2 ** 62, -5], "i64")], numpy=np.bitwise_count, out="u8")
    shapes = np.array([0.05, 0.5, 1, 2.5, 10, 60, 99, 101, 500, 1500])
    for tag in WIDE_FLOATS:
        a = np.repeat(shapes, 7)
        x = np.round(np.concatenate([s * np.array([0.01, 0.3, 0.8, 1, 1.1, 1.6, 4]) for s in shapes]), 4)
        book.case("gammainc", "grid", [tensor(a, tag), tensor(x, tag)], numpy=scipy.special.gammainc,
                  tolerance="sum" if tag == "f64" else "special", scale=4000)
        book.case("gammainc", "ends", [tensor([1.0, 2, 0.5, -1, 1], tag), tensor([0, np.inf, np.nan, 1, -1], tag)],
                  numpy=lambda v, u: np.where((v <= 0) | (u < 0), np.nan, scipy.special.gammainc(v, u)))
        pairs = np.array([(0.5, 0.5), (1, 1), (2, 5), (100, 0.5), (0.5, 100), (30, 40), (400, 300), (1000, 10), (5, 1200)])
        p, q = np.repeat(pairs[:, 0], 7), np.repeat(pairs[:, 1], 7)
        y = np.round(np.clip(np.repeat(pairs[:, 0] / pairs.sum(1), 7) * np.tile([0.05, 0.5, 0.9, 1, 1.05, 1.3, 5], 9),
                             0, 1), 5)
        book.case("betainc", "grid", [tensor(v, tag) for v in (p, q, y)], numpy=scipy.special.betainc,
                  tolerance="sum" if tag == "f64" else "special", scale=4000)


class OnCircle:
    """SciPy's von Mises distribution as NumPy draws it: its angles lie in [-pi, pi]."""

    def __init__(self, mean, concentration):
        self.dist = self.whole = scipy.stats.vonmises(concentration, loc=mean)

    def logpdf(self, x):
        return self.whole.logpdf(x)

    def cdf(self, x):
        return self.whole.cdf(x) - self.whole.cdf(-np.pi)


# name, ours and torch's parameters, SciPy's distribution, places
CONTINUOUS = [
    ("normal", {"mean": 0.5, "stddev": 1.5}, scipy.stats.norm(0.5, 1.5), [-3, 0, 0.5, 4]),
    ("log_normal", {"mean": 0.2, "stddev": 0.8}, scipy.stats.lognorm(0.8, scale=np.exp(0.2)), [-1, 0.3, 1, 6]),
    ("half_normal", {"scale": 2.0}, scipy.stats.halfnorm(scale=2.0), [-1, 0, 1, 5]),
    ("uniform", {"low": -1.0, "high": 3.0}, scipy.stats.uniform(-1, 4), [-2, -1, 0.5, 3.5]),
    ("exponential", {"rate": 1.5}, scipy.stats.expon(scale=1 / 1.5), [-1, 0, 0.4, 7]),
    ("laplace", {"mean": 1.0, "scale": 2.0}, scipy.stats.laplace(1, 2), [-4, 1, 1.5, 9]),
    ("logistic", {"mean": 1.0, "scale": 0.5}, scipy.stats.logistic(1, 0.5), [-4, 1, 1.5, 9]),
    ("gumbel", {"location": 1.0, "scale": 2.0}, scipy.stats.gumbel_r(1, 2), [-3, 1, 2.5, 20]),
    ("cauchy", {"location": 1.0, "scale": 2.0}, scipy.stats.cauchy(1, 2), [-30, 1, 2.5, 200]),
    ("weibull", {"shape": 1.7, "scale": 2.0}, scipy.stats.weibull_min(1.7, scale=2), [-1, 0.2, 2, 6]),
    ("pareto", {"shape": 2.5, "scale": 1.5}, scipy.stats.pareto(2.5, scale=1.5), [0.5, 1.5, 2, 30]),
    ("gamma", {"shape": 2.5, "rate": 1.5}, scipy.stats.gamma(2.5, scale=1 / 1.5), [-1, 0.1, 1.5, 8]),
    ("chi_squared", {"freedom": 5.0}, scipy.stats.chi2(5), [-1, 0.5, 4, 20]),
    ("beta", {"a": 2.0, "b": 3.5}, scipy.stats.beta(2, 3.5), [-0.5, 0.1, 0.6, 1.5]),
    ("student_t", {"freedom": 4.0, "mean": 0.5, "scale": 2.0}, scipy.stats.t(4, 0.5, 2), [-6, 0.5, 1.5, 12]),
    ("fisher_f", {"numerator": 3.0, "denominator": 8.0}, scipy.stats.f(3, 8), [-1, 0.3, 1.5, 9]),
    ("bernoulli", {"probability": 0.3}, scipy.stats.bernoulli(0.3), [-1, 0, 1, 2]),
    ("binomial", {"count": 10.0, "probability": 0.3}, scipy.stats.binom(10, 0.3), [-1, 0, 4, 10, 11]),
    ("geometric", {"probability": 0.3}, scipy.stats.geom(0.3), [0, 1, 4, 30]),
    ("negative_binomial", {"count": 4.0, "probability": 0.4}, scipy.stats.nbinom(4, 0.4), [-1, 0, 5, 30]),
    ("poisson", {"rate": 3.5}, scipy.stats.poisson(3.5), [-1, 0, 3, 15]),
    ("rayleigh", {"scale": 1.5}, scipy.stats.rayleigh(scale=1.5), [-1, 0.2, 1.5, 6]),
    ("power", {"shape": 2.5}, scipy.stats.powerlaw(2.5), [-1, 0.2, 0.9, 1, 2]),
    ("triangular", {"low": -1.0, "mode": 0.5, "high": 3.0}, scipy.stats.triang(0.375, -1, 4), [-2, -0.5, 0.5, 2, 4]),
    ("wald", {"mean": 1.5, "scale": 2.0}, scipy.stats.invgauss(0.75, scale=2.0), [-1, 0.01, 0.2, 1.5, 12]),
    ("wald_of_thin_tails", {"mean": 0.5, "scale": 400.0}, scipy.stats.invgauss(0.5 / 400, scale=400.0),
     [0.4, 0.48, 0.5, 0.56]),
    ("von_mises", {"mean": 0.5, "concentration": 2.0}, OnCircle(0.5, 2.0), [-3, -1.5, 0.5, 2, 3.1]),
    ("von_mises_of_none", {"mean": 0.5, "concentration": 0.0}, scipy.stats.uniform(-np.pi, 2 * np.pi), [-3, -1.5, 0.5, 2, 3.1]),
    ("von_mises_of_much", {"mean": -1.0, "concentration": 40.0}, OnCircle(-1.0, 40.0), [-1.2, -1, -0.95, 3]),
    ("noncentral_chi_squared", {"freedom": 3.0, "noncentrality": 2.5}, scipy.stats.ncx2(3, 2.5), [-1, 0.2, 4, 20]),
    ("noncentral_chi_squared_of_many", {"freedom": 3.0, "noncentrality": 600.0}, scipy.stats.ncx2(3, 600),
     [400, 590, 620, 900]),
    ("noncentral_f", {"numerator": 3.0, "denominator": 8.0, "noncentrality": 2.5}, scipy.stats.ncf(3, 8, 2.5),
     [-1, 0.3, 1.5, 9]),
    ("noncentral_f_of_many", {"numerator": 4.0, "denominator": 12.0, "noncentrality": 300.0},
     scipy.stats.ncf(4, 12, 300), [30, 70, 90, 200]),
    ("hypergeometric", {"good": 12.0, "bad": 30.0, "drawn": 15.0}, scipy.stats.hypergeom(42, 12, 15),
     [-1, 0, 2, 4, 12, 13]),
    ("hypergeometric_of_many", {"good": 3000.0, "bad": 1000.0, "drawn": 800.0}, scipy.stats.hypergeom(4000, 3000, 800),
     [540, 590, 600, 640]),
    ("zipf", {"exponent": 2.5}, scipy.stats.zipf(2.5), [0, 1, 2, 30]),
    ("log_series", {"probability": 0.8}, scipy.stats.logser(0.8), [0, 1, 3, 30]),
]


# Sums of log-gamma functions of large numbers, where these are far above 200.
MAGNITUDES = {"noncentral_f_of_many": 4000, "hypergeometric_of_many": 60000}


def fill_distributions(book):
    for name, parameters, reference, places in CONTINUOUS:
        for tag in WIDE_FLOATS:
            given = [tensor(value, tag) for value in parameters.values()]
            x = tensor(np.array(places, dtype=np.float64), tag)
            density = reference.logpmf if hasattr(reference.dist, "pmf") else reference.logpdf
            for what, function in (("log_prob", density), ("cdf", reference.cdf)):
                book.case("distribution", f"{name}_{what}", [x, *given], args={"name": name, "what": what},
                          numpy=lambda v, *rest: np.asarray(function(v), dtype=np.float64), tolerance="sum",
                          scale=MAGNITUDES.get(name, 200), out=tag)
    vectors = [
        ("multinomial", [10.0, [0.2, 0.5, 0.3]], scipy.stats.multinomial(10, [0.2, 0.5, 0.3]).logpmf,
         [[2, 5, 3], [0, 10, 0], [2, 5, 4], [-1, 8, 3]]),
        ("multinomial_of_none", [3.0, [0.0, 1.0]], scipy.stats.multinomial(3, [0.0, 1.0]).logpmf, [[0, 3], [1, 2]]),
        ("multivariate_hypergeometric", [[5.0, 8.0, 3.0], 6.0],
         lambda x: scipy.stats.multivariate_hypergeom([5, 8, 3], 6).logpmf(x.astype(int)),
         [[2, 3, 1], [5, 1, 0], [0, 2, 4], [1, 1, 1]]),
        ("dirichlet", [[0.5, 2.0, 3.0]], lambda x: scipy.stats.dirichlet([0.5, 2, 3]).logpdf(x.T),
         [[0.25, 0.25, 0.5], [0.0625, 0.9375, 0.0], [0.5, 0.125, 0.375]]),
        ("multivariate_normal", [[0.5, -1.0], [[2.0, 0.5], [0.5, 1.0]]],
         scipy.stats.multivariate_normal([0.5, -1], [[2, 0.5], [0.5, 1]]).logpdf, [[0, 0], [0.5, -1], [4, -3]]),
    ]
    for name, parameters, reference, places in vectors:
        for tag in WIDE_FLOATS:
            given = [tensor(np.array(value), tag) for value in parameters]
            x = tensor(np.array(places, dtype=np.float64), tag)
            book.case("distribution", f"{name}_log_prob", [x, *given], args={"name": name, "what": "log_prob"},
                      numpy=lambda v, *rest: np.asarray(reference(np.asarray(v, np.float64)), dtype=np.float64),
                      tolerance="sum", scale=200, out=tag)


def fill(book):
    fill_statistics(book)
    fill_curves(book)
    fill_bits_and_boxes(book)
    fill_special(book)
    fill_distributions(book)
