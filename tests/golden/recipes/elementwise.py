# SPDX-License-Identifier: MIT
"""Element-wise operators: ranges, gradients, special values, integers, broadcasting, promotion, weak scalars, casts."""

import numpy as np
import scipy.special as special
import torch
import torch.nn.functional as nnf

from recipes.book import DTYPES, FLOATS, INTS, TAGS, WIDE_FLOATS, tensor, to_numpy


class Dawson(torch.autograd.Function):
    """Dawson's integral, which PyTorch lacks: its derivative is 1 - 2 x D(x)."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return torch.from_numpy(np.asarray(special.dawsn(x.detach().numpy()))).reshape(x.shape)

    @staticmethod
    def backward(context, cotangent):
        (x,) = context.saved_tensors
        return cotangent * (1 - 2 * x * Dawson.apply(x))


def log_gamma(x):
    """SciPy's gammaln, mended: it overflows for denormal x, and C's lgamma(-inf) is inf."""
    edge = np.where(np.isinf(x), np.inf, -np.log(np.abs(x)))
    return np.where((np.abs(x) < 1e-300) | np.isinf(x), edge, special.gammaln(x))


class Polygamma(torch.autograd.Function):
    """Polygamma of order n by SciPy, since PyTorch's trigamma is good to ten digits only; -1 stands for lgamma."""

    @staticmethod
    def forward(context, x, order):
        context.save_for_backward(x)
        context.order = order
        values = x.detach().numpy()
        result = log_gamma(values) if order < 0 else special.digamma(values) if order == 0 \
            else special.polygamma(order, values)
        return torch.from_numpy(np.asarray(result)).reshape(x.shape)

    @staticmethod
    def backward(context, cotangent):
        (x,) = context.saved_tensors
        return cotangent * Polygamma.apply(x, context.order + 1), None


def np_gelu(x):
    return 0.5 * x * (1 + special.erf(x / np.sqrt(2.0)))


# name: (numpy, torch, low, high, tolerance, what integers give: same, float, bool or None)
UNARY = {
    "negate": (np.negative, torch.neg, -4, 4, "exact", "same"),
    "abs": (np.abs, torch.abs, -4, 4, "exact", "same"),
    "sign": (np.sign, torch.sign, -4, 4, "exact", "same"),
    "conj": (np.conj, lambda x: x * 1, -4, 4, "exact", "same"),
    "square": (np.square, torch.square, -4, 4, "exact", "same"),
    "floor": (np.floor, torch.floor, -4, 4, "exact", "same"),
    "ceil": (np.ceil, torch.ceil, -4, 4, "exact", "same"),
    "round": (np.round, torch.round, -4, 4, "exact", "same"),
    "trunc": (np.trunc, torch.trunc, -4, 4, "exact", "same"),
    "relu": (lambda x: np.maximum(x, np.zeros_like(x)), torch.relu, -4, 4, "exact", "same"),
    "reciprocal": (lambda x: 1 / x, torch.reciprocal, 0.2, 4, "exact", "float"),
    "sqrt": (np.sqrt, torch.sqrt, 0.1, 9, "exact", "float"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), torch.rsqrt, 0.1, 9, "relative", "float"),
    "cbrt": (np.cbrt, None, 0.1, 9, "relative", "float"),
    "exp": (np.exp, torch.exp, -4, 4, "relative", "float"),
    "exp2": (np.exp2, torch.exp2, -4, 4, "relative", "float"),
    "exp10": (lambda x: np.power(10.0, x), lambda x: torch.pow(10.0, x), -3, 3, "relative", "float"),
    "expm1": (np.expm1, torch.expm1, -2, 2, "relative", "float"),
    "log": (np.log, torch.log, 0.1, 9, "relative", "float"),
    "log2": (np.log2, torch.log2, 0.1, 9, "relative", "float"),
    "log10": (np.log10, torch.log10, 0.1, 9, "relative", "float"),
    "log1p": (np.log1p, torch.log1p, -0.8, 4, "relative", "float"),
    "sin": (np.sin, torch.sin, -7, 7, "elementary", "float"),
    "cos": (np.cos, torch.cos, -7, 7, "elementary", "float"),
    "tan": (np.tan, torch.tan, -1.3, 1.3, "elementary", "float"),
    "asin": (np.arcsin, torch.asin, -0.95, 0.95, "relative", "float"),
    "acos": (np.arccos, torch.acos, -0.95, 0.95, "elementary", "float"),
    "atan": (np.arctan, torch.atan, -5, 5, "relative", "float"),
    "sinh": (np.sinh, torch.sinh, -4, 4, "relative", "float"),
    "cosh": (np.cosh, torch.cosh, -4, 4, "relative", "float"),
    "tanh": (np.tanh, torch.tanh, -4, 4, "relative", "float"),
    "asinh": (np.arcsinh, torch.asinh, -4, 4, "relative", "float"),
    "acosh": (np.arccosh, torch.acosh, 1.1, 9, "relative", "float"),
    "atanh": (np.arctanh, torch.atanh, -0.9, 0.9, "relative", "float"),
    "sigmoid": (special.expit, torch.sigmoid, -6, 6, "relative", "float"),
    "softplus": (lambda x: np.logaddexp(0.0, x), lambda x: torch.logaddexp(torch.zeros_like(x), x), -6, 6,
                 "elementary", "float"),
    "log_sigmoid": (special.log_expit, nnf.logsigmoid, -6, 6, "elementary", "float"),
    "softsign": (lambda x: x / (1 + np.abs(x)), nnf.softsign, -4, 4, "composed", "float"),
    "silu": (lambda x: x * special.expit(x), nnf.silu, -6, 6, "composed", "float"),
    "gelu": (np_gelu, nnf.gelu, -4, 4, "special", "float"),
    "erf": (special.erf, torch.erf, -3, 3, "relative", "float"),
    "erfc": (special.erfc, torch.erfc, -3, 3, "special", "float"),
    "erfinv": (special.erfinv, torch.erfinv, -0.95, 0.95, "special", "float"),
    "dawsn": (special.dawsn, Dawson.apply, -5, 5, "special", "float"),
    "lgamma": (log_gamma, lambda x: Polygamma.apply(x, -1), 0.2, 9, "special", "float"),
    "digamma": (special.digamma, lambda x: Polygamma.apply(x, 0), 0.2, 9, "special", "float"),
    "trigamma": (lambda x: special.polygamma(1, x), lambda x: Polygamma.apply(x, 1), 0.2, 9, "special",
                 "float"),
    "frexp_mantissa": (lambda x: np.frexp(x)[0], lambda x: torch.frexp(x)[0], 1.1, 1.9, "exact", "float"),
    "frexp_exponent": (lambda x: np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.frexp(x)[0].dtype), None,
                       -9, 9, "exact", "float"),
    "isnan": (np.isnan, torch.isnan, -4, 4, "exact", "bool"),
    "isinf": (np.isinf, torch.isinf, -4, 4, "exact", "bool"),
    "isfinite": (np.isfinite, torch.isfinite, -4, 4, "exact", "bool"),
    "logical_not": (np.logical_not, torch.logical_not, -4, 4, "exact", "bool"),
}
SCIPY = {"sigmoid", "log_sigmoid", "silu", "erf", "erfc", "erfinv", "dawsn", "lgamma", "digamma", "trigamma",
         "gelu"}
KINKS = {"abs": 1, "sign": 1, "relu": 1, "softsign": 1}  # kept away from a kink at zero, where gradients are a choice
PIECEWISE = {"floor", "ceil", "round", "trunc"}
NO_GRADIENT = {"isnan", "isinf", "isfinite", "logical_not"}

# Activations with a parameter: name, arguments, numpy, torch, tolerance.
PARAMETRIC = [
    ("leaky_relu", {"slope": 0.25}, lambda x: np.where(x > 0, x, 0.25 * x), lambda x: nnf.leaky_relu(x, 0.25), "exact"),
    ("leaky_relu", {"slope": 0.0625}, lambda x: np.where(x > 0, x, 0.0625 * x), lambda x: nnf.leaky_relu(x, 0.0625),
     "exact"),
    ("elu", {"alpha": 1.0}, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), lambda x: nnf.elu(x, 1.0),
     "relative"),
    ("elu", {"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0))), lambda x: nnf.elu(x, 0.5),
     "relative"),
]

SPECIAL_VALUES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1e-3, -1e-3, 3.0,
                  10.0, -10.0, 20.5, -20.5, 88.5, -100.0, 104.0, 700.0, -740.0, 1e4, 1e10, -1e10]


def special_values(tag):
    """Special values, with the edges of the type: smallest normal, two denormals, and the largest."""
    info = torch.finfo(DTYPES[tag])
    denormal = info.tiny * 2.0 ** -4
    return SPECIAL_VALUES + [info.tiny, -info.tiny, denormal, -denormal, info.max, -info.max]


def agreeing(columns, first, second, keep_disagreement=False):
    """Keeps the columns where two libraries give the same value in f64: where they differ there is no one truth."""
    if first is None or second is None or keep_disagreement:
        return columns
    with np.errstate(all="ignore"):
        one = np.asarray(first(*[to_numpy(c) for c in columns]), dtype=np.float64)
    two = np.asarray(second(*[c.to(torch.float64) for c in columns]).detach().numpy(), dtype=np.float64)
    with np.errstate(all="ignore"):
        same = np.isclose(one, two, rtol=1e-9, atol=1e-290, equal_nan=True)
    return [column[torch.from_numpy(same)] for column in columns]


def spread(book, name, low, high, shape, tag, margin=0.0):
    """Uniform values of a storage type, seeded by `name`, no closer to zero than `margin`."""
    values = book.random(name).uniform(low, high, size=shape)
    if margin:
        values = np.where(np.abs(values) < margin, np.copysign(margin, values) + values, values)
    return tensor(values, tag)


def unary_floats(book, op, reference, torch_fn, low, high, tolerance, args, suffix, source):
    differentiable = op not in NO_GRADIENT and torch_fn is not None
    margin = 0.1 if op in KINKS or op in ("leaky_relu", "elu") else 0.0
    common = {"args": args, "numpy": reference, "torch_fn": torch_fn, "tolerance": tolerance, "source": source}
    for tag in FLOATS:
        x = spread(book, "unary" + str((low, high)), low, high, (4, 5), tag, margin)
        if op in PIECEWISE:
            x = tensor(np.round(to_numpy(x) * 2) / 2 if tag in ("f16", "bf16") else to_numpy(x), tag)
        book.case(op, "range" + suffix, [x], gradient=differentiable and tag in WIDE_FLOATS,
                  second=tag == "f64", **common)
        values = tensor(special_values(tag), tag)
        (values,) = agreeing([values], reference, torch_fn, op in ("sign",))
        book.case(op, "special" + suffix, [values], **common)
    x = spread(book, "scalar", max(low, 0.3), min(high, 2), (), "f32")
    book.case(op, "0d" + suffix, [x], gradient=differentiable, **common)
    book.case(op, "empty" + suffix, [torch.zeros((0, 3))], gradient=differentiable, **common)
    long = spread(book, "long" + str((low, high)), low, high, (131,), "f32", margin)
    book.case(op, "tail" + suffix, [long], **common)


def torch_cbrt(x):
    return torch.sign(x) * torch.pow(torch.abs(x), 1 / 3)


def fill_unary(book):
    for op, (reference, torch_fn, low, high, tolerance, integers) in UNARY.items():
        source = "scipy" if op in SCIPY else "numpy"
        torch_fn = torch_cbrt if op == "cbrt" else torch_fn
        unary_floats(book, op, reference, torch_fn, low, high, tolerance, {}, "", source)
        if integers == "same":
            for tag in INTS:
                x = integer_edges(tag)
                book.case(op, "integers", [x], numpy=lambda a, f=reference: np.asarray(f(a)).astype(a.dtype))
        elif integers == "float":
            for tag in ("i32", "i64", "u8", "bool"):
                x = tensor([1, 0, 1] if tag == "bool" else [2, 3, 1, 7, 0], tag)
                (x,) = agreeing([x], lambda a, f=reference: f(a.astype(np.float64)), torch_fn)
                book.case(op, "integers", [x], numpy=lambda a, f=reference: f(a.astype(np.float64)), out="f32",
                          tolerance="relative" if tolerance == "exact" else tolerance, source=source)
        elif integers == "bool":
            for tag in ("i32", "u8", "bool"):
                book.case(op, "integers", [tensor([0, 1, 1, 0, 1], tag)], numpy=reference)
    for tag in WIDE_FLOATS:
        for op in ("abs", "relu"):
            book.case(op, "kink", [tensor([-1, 0, 1], tag)], torch_fn=UNARY[op][1], gradient=True)
    for op, args, reference, torch_fn, tolerance in PARAMETRIC:
        suffix = "_" + str(next(iter(args.values())))
        unary_floats(book, op, reference, torch_fn, -4, 4, tolerance, args, suffix,
                     "numpy")
    for tag in INTS + ("bool",):
        x = tensor([0, 1, 1], tag) if tag == "bool" else integer_edges(tag)
        book.case("bitwise_not", "integers", [x], numpy=np.invert)
        if tag != "bool":
            book.case("popcount", "integers", [x], numpy=lambda a: np.bitwise_count(a).astype(a.dtype))


def integer_edges(tag):
    info = torch.iinfo(DTYPES[tag])
    values = [info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max] + ([-1, -2, -7] if info.min else [200])
    return torch.tensor(values, dtype=DTYPES[tag])


# name: (numpy, torch, (low, high) of a, (low, high) of b, tolerance)
BINARY = {
    "add": (np.add, torch.add, (-4, 4), (-4, 4), "exact"),
    "subtract": (np.subtract, torch.sub, (-4, 4), (-4, 4), "exact"),
    "multiply": (np.multiply, torch.mul, (-4, 4), (-4, 4), "exact"),
    "divide": (np.divide, torch.div, (-4, 4), (0.3, 4), "exact"),
    "floor_divide": (np.floor_divide, torch.floor_divide, (-9, 9), (0.3, 4), "exact"),
    "remainder": (np.remainder, torch.remainder, (-9, 9), (0.3, 4), "composed"),
    "fmod": (np.fmod, torch.fmod, (-9, 9), (0.3, 4), "exact"),
    "power": (np.power, torch.pow, (0.2, 4), (-2, 3), "relative"),
    "maximum": (np.maximum, torch.maximum, (-4, 4), (-4, 4), "exact"),
    "minimum": (np.minimum, torch.minimum, (-4, 4), (-4, 4), "exact"),
    "fmax": (np.fmax, torch.fmax, (-4, 4), (-4, 4), "exact"),
    "fmin": (np.fmin, torch.fmin, (-4, 4), (-4, 4), "exact"),
    "atan2": (np.arctan2, torch.atan2, (-4, 4), (-4, 4), "relative"),
    "hypot": (np.hypot, torch.hypot, (-4, 4), (0.3, 4), "relative"),
    "logaddexp": (np.logaddexp, torch.logaddexp, (-4, 4), (-4, 4), "elementary"),
    "copysign": (np.copysign, torch.copysign, (-4, 4), (-4, 4), "exact"),
}
COMPARISONS = {
    "equal": (np.equal, torch.eq), "not_equal": (np.not_equal, torch.ne), "less": (np.less, torch.lt),
    "less_equal": (np.less_equal, torch.le), "greater": (np.greater, torch.gt),
    "greater_equal": (np.greater_equal, torch.ge), "logical_and": (np.logical_and, torch.logical_and),
    "logical_or": (np.logical_or, torch.logical_or), "logical_xor": (np.logical_xor, torch.logical_xor),
}
BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
SHIFTS = {"left_shift": np.left_shift, "right_shift": np.right_shift}
INTEGER_BINARY = ("add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "maximum", "minimum", "fmax",
                  "fmin")
BROADCASTS = [((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (3,)), ((0, 3), (1, 3)), ((1,), ()), ((2, 3), (1, 1, 2, 1, 1))]


def special_grid(tag, reference, torch_fn, keep):
    info = torch.finfo(DTYPES[tag])
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.0, info.tiny / 16, info.max]
    a, b = (tensor(m.reshape(-1), tag) for m in np.meshgrid(values, values, indexing="ij"))
    return agreeing([a, b], reference, torch_fn, keep)


def fill_binary(book):
    for op, (reference, torch_fn, first, second, tolerance) in BINARY.items():
        common = {"numpy": reference, "torch_fn": torch_fn, "tolerance": tolerance}
        smooth = op != "floor_divide"
        for tag in FLOATS:
            a, b = (spread(book, f"binary{i}", *limits, (4, 5), tag) for i, limits in enumerate((first, second)))
            if tag == "f64":
                book.case(op, "range", [a, b], gradient=smooth, second=True, **common)
            else:
                book.case(op, "range", [a, b], gradient=smooth and tag in WIDE_FLOATS, **common)
            # PyTorch's vector loop gives NaN where a quotient overflows; NumPy's remainders, being C's, are exact.
            grid = special_grid(tag, reference, torch_fn, op in ("fmod", "remainder"))
            book.case(op, "special", grid, **common)
        for index, (left, right) in enumerate(BROADCASTS):
            a = spread(book, f"left{index}", *first, left, "f32")
            b = spread(book, f"right{index}", *second, right, "f32")
            book.case(op, f"broadcast{index}", [a, b], gradient=smooth, **common)
        a, b = (spread(book, f"tail{i}", *limits, (131,), "f32") for i, limits in enumerate((first, second)))
        book.case(op, "tail", [a, b], **common)
    for tag in WIDE_FLOATS:  # quotients that round up to an integer, where flooring the rounded quotient is wrong
        a, b = tensor([1, 0.3, 0.6, 0.7, 2, -1, 5, 1e6], tag), tensor([0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.1], tag)
        book.case("floor_divide", "rounded_quotient", [a, b], numpy=np.floor_divide)
        book.case("remainder", "rounded_quotient", [a, b], numpy=np.remainder)
        ties = [tensor([1, 2, 3, -1], tag), tensor([1, 0, 3, 4], tag)]
        for op in ("maximum", "minimum", "fmax", "fmin"):
            book.case(op, "ties", ties, numpy=BINARY[op][0], torch_fn=BINARY[op][1], gradient=True)
        base = tensor([-2, -2, -2, -0.5, -8, 0.0, 0.0, 2], tag)
        book.case("power", "negative_base", [base, tensor([3, 2, -1, 4, 1 / 3, 0, 2, 0], tag)], numpy=np.power,
                  tolerance="relative")
        book.case("power", "gradient_at_zero", [tensor([0, 0, 0, 3, -2], tag), tensor([0, 1, 2, 0, 2], tag)],
                  numpy=np.power, torch_fn=torch.pow, tolerance="relative", gradient=True)
    for op, (reference, torch_fn) in COMPARISONS.items():
        for tag in FLOATS:
            book.case(op, "special", special_grid(tag, reference, torch_fn, True), numpy=reference)
        for tag in INTS:
            book.case(op, "integers", integer_grid(tag), numpy=reference)
        book.case(op, "integers", [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")], numpy=reference)
        for index, (left, right) in enumerate(BROADCASTS):
            random = book.random(f"compare{index}")
            a, b = (tensor(random.integers(0, 3, size=shape), "f32") for shape in (left, right))
            book.case(op, f"broadcast{index}", [a, b], numpy=reference)


def integer_grid(tag):
    info = torch.iinfo(DTYPES[tag])
    values = [info.min, info.max, 0, 1, 3, 5] + ([-1, -3] if info.min else [254])
    column = torch.tensor(values, dtype=DTYPES[tag])
    return [column.repeat_interleave(len(values)), column.repeat(len(values))]


def fill_integers(book):
    for op in INTEGER_BINARY:
        for tag in INTS:
            book.case(op, "integers", integer_grid(tag), numpy=BINARY[op][0])
    for op in ("add", "multiply", "maximum", "minimum"):
        book.case(op, "integers", [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")], numpy=BINARY[op][0])
    for tag in INTS:
        info = torch.iinfo(DTYPES[tag])
        base = [0, 1, 2, 3, 7, info.max] + ([-1, -2, info.min] if info.min else [200])
        a = torch.tensor(base, dtype=DTYPES[tag]).repeat_interleave(6)
        b = torch.tensor([0, 1, 2, 3, 4, 5], dtype=DTYPES[tag]).repeat(len(base))
        book.case("power", "integers", [a, b], numpy=np.power)
        bits = info.bits
        a = torch.tensor(base, dtype=DTYPES[tag]).repeat_interleave(5)
        b = torch.tensor([0, 1, 3, bits - 1, bits], dtype=DTYPES[tag]).repeat(len(base))
        for op, reference in SHIFTS.items():
            book.case(op, "integers", [a, b], numpy=reference)
        for op, reference in BITWISE.items():
            book.case(op, "integers", integer_grid(tag), numpy=reference)
        a, b = tensor([7, 9, 1, 0, 5], tag), tensor([2, 3, 4, 5, 0], tag)
        book.case("divide", "integers", [a, b], numpy=lambda x, y: x.astype(np.float64) / y, out="f32")
        book.case("atan2", "integers", [a, b], numpy=lambda x, y: np.arctan2(x.astype(np.float64), y), out="f32",
                  tolerance="relative")
    for op, reference in {**BITWISE}.items():
        book.case(op, "integers", [tensor([0, 0, 1, 1], "bool"), tensor([0, 1, 0, 1], "bool")], numpy=reference)
        for index, (left, right) in enumerate(BROADCASTS):
            random = book.random(f"bits{index}")
            a, b = (tensor(random.integers(-9, 9, size=shape), "i32") for shape in (left, right))
            book.case(op, f"broadcast{index}", [a, b], numpy=reference)


def promoted(a, b):
    """The type two tensors meet in: PyTorch's promotion of arrays."""
    return torch.promote_types(a.dtype, b.dtype)


def fill_promotion(book):
    tags = list(DTYPES)
    fewer = [("i32", "f32"), ("i64", "f16"), ("u8", "i8"), ("u8", "i32"), ("bool", "i16"), ("bool", "f32"),
             ("f16", "bf16"), ("f32", "bf16"), ("f32", "f64"), ("i64", "f64"), ("i16", "bf16"), ("i32", "i64")]
    table = {"add": torch.add, "multiply": torch.mul, "divide": torch.div, "subtract": torch.sub,
             "maximum": torch.maximum, "power": torch.pow, "less": torch.lt, "equal": torch.eq,
             "floor_divide": torch.floor_divide, "remainder": torch.remainder}
    for op, function in table.items():
        pairs = [(a, b) for i, a in enumerate(tags) for b in tags[i + 1:]] if op == "add" else fewer
        for left, right in pairs:
            if op == "subtract" and "bool" in (left, right):
                continue
            a = tensor([1, 0, 1], left) if left == "bool" else tensor([1, 5, 3], left)
            b = tensor([2, 4, 1], right)
            meet = promoted(a, b)
            out = None
            if op in ("less", "equal"):
                out = "bool"
            else:
                out = TAGS[meet] if meet.is_floating_point or op != "divide" else "f32"
            wide = torch.float64 if meet.is_floating_point or op == "divide" else meet
            book.case(op, f"promotion_{right}", [a, b], out=out, source="torch",
                      torch_fn=lambda x, y, f=function, w=wide: f(x.to(w), y.to(w)),
                      tolerance="relative" if op == "power" else "exact")
    for left, right in (("f32", "f64"), ("f64", "f32"), ("i32", "f32"), ("f64", "i64"), ("bool", "f32")):
        a, b = tensor([1, 0, 1] if left == "bool" else [1, 5, 3], left), tensor([[2], [4]], right)
        for op in ("add", "multiply", "divide"):  # each gradient has the type and the shape of its own operand
            book.case(op, f"mixed_gradient_{right}", [a, b], source="torch", out=TAGS[promoted(a, b)], gradient=True,
                      torch_fn=lambda x, y, f=table[op]: f(x.double(), y.double()))
    for left, right in fewer:
        a, b = tensor([1, 5, 3], left), tensor([2, 4, 1], right)
        book.case("where", f"promotion_{left}_{right}", [tensor([1, 0, 1], "bool"), a, b], source="torch",
                  out=TAGS[promoted(a, b)], torch_fn=lambda c, x, y: torch.where(c, x.double(), y.double()))


def fill_weak_scalars(book):
    table = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "power": torch.pow,
             "floor_divide": torch.floor_divide, "remainder": torch.remainder, "maximum": torch.maximum,
             "minimum": torch.minimum, "less": torch.lt, "greater_equal": torch.ge, "equal": torch.eq}
    for op, function in table.items():
        for tag in ("f16", "bf16", "f32", "f64", "i32", "i64", "u8", "bool"):
            x = tensor([1, 0, 1], tag) if tag == "bool" else tensor([1, 4, 3], tag)
            for scalar in (2, 2.5):
                for side in ("right", "left"):
                    meet = torch.result_type(x, scalar)
                    out = None if op in ("less", "greater_equal", "equal") else TAGS[meet]
                    if op == "divide" and not meet.is_floating_point:
                        out = "f32"
                    if op in ("floor_divide", "remainder") and side == "left" and tag == "bool":
                        continue
                    wide = torch.float64 if meet.is_floating_point or op == "divide" else meet

                    def apply(v, f=function, s=scalar, w=wide, first=side == "right"):
                        weak = torch.tensor(s, dtype=w).expand(v.shape)
                        return f(v.to(w), weak) if first else f(weak, v.to(w))

                    book.case(op, f"scalar_{side}_{scalar}", [x], args={"scalar": scalar, "scalar_side": side},
                              torch_fn=apply, out=out, tolerance="relative" if op == "power" else "exact",
                              gradient=tag in WIDE_FLOATS and out is not None and op != "floor_divide"
                              and (op not in ("maximum", "minimum", "remainder") or scalar == 2.5))


def fill_ternary(book):
    for tag in tuple(DTYPES):
        random = book.random(f"where.{tag}")
        limit = 2 if tag == "bool" else 9
        a, b = (tensor(random.integers(0, limit, size=(3, 4)), tag) for _ in range(2))
        condition = tensor(random.integers(0, 2, size=(3, 4)), "bool")
        book.case("where", f"same_{tag}", [condition, a, b], gradient=tag in WIDE_FLOATS, second=False,
                  torch_fn=torch.where)
    for index, shapes in enumerate([((3, 1), (4,), ()), ((4,), (3, 1), (2, 1, 1)), ((), (3,), (3,)),
                                    ((0, 1), (1, 2), (2,))]):
        random = book.random(f"where{index}")
        condition = tensor(random.integers(0, 2, size=shapes[0]), "bool")
        a, b = (tensor(random.normal(size=shape), "f32") for shape in shapes[1:])
        book.case("where", f"broadcast{index}", [condition, a, b], torch_fn=torch.where, gradient=True)
    blocked = [tensor([1, 0], "bool"), tensor([1.0, np.nan], "f64"), tensor([np.inf, 2.0], "f64")]
    book.case("where", "unchosen_nan", blocked, torch_fn=torch.where, gradient=True)

    for tag in FLOATS:
        shapes = ((3, 4), (4,), (3, 1)) if tag == "f32" else ((3, 4),) * 3
        random = book.random(f"fma.{tag}")
        a, b, c = (tensor(random.uniform(-3, 3, size=shape), tag) for shape in shapes)
        book.case("fma", "range", [a, b, c], torch_fn=lambda x, y, z: x * y + z, gradient=tag in WIDE_FLOATS,
                  second=tag == "f64", tolerance="sum", scale=12)
        book.case("fma", "special", [tensor([np.inf, 0, np.nan, 1, 2], tag), tensor([0, np.inf, 1, np.inf, 3], tag),
                                     tensor([1, 1, 1, -np.inf, -6], tag)], torch_fn=lambda x, y, z: x * y + z)
    for tag in FLOATS + INTS:
        signed = tag != "u8"
        for index, (low, high) in enumerate([(1, 3), (None, 2), (2, None), (3, 1)]):
            values = [0, 1, 2, 3, 4, 9] + ([-5] if signed else [])
            x = tensor(values, tag)
            if tag in FLOATS:
                low, high = (None if v is None else v + 0.5 for v in (low, high))
            book.case("clip", f"bounds{index}", [x], args={"min": low, "max": high},
                      numpy=lambda v, l=low, h=high: np.clip(v, None if l is None else v.dtype.type(l),
                                                            None if h is None else v.dtype.type(h)),
                      torch_fn=lambda v, l=low, h=high: torch.clamp(v, l, h), gradient=tag in WIDE_FLOATS)
    for tag in FLOATS:
        random = book.random(f"clip.{tag}")
        x, low, high = (tensor(random.uniform(*limits, size=shape), tag)
                        for limits, shape in (((-4, 4), (3, 4)), ((-3, -1), (4,)), ((1, 3), (3, 1))))
        book.case("clip", "tensors", [x, low, high], numpy=np.clip, torch_fn=torch.clamp,
                  gradient=tag in WIDE_FLOATS)
        x = tensor([np.nan, np.inf, -np.inf, 0.0, -0.0], tag)
        book.case("clip", "special", [x], args={"min": -1.0, "max": 1.0}, numpy=lambda v: np.clip(v, -1.0, 1.0))


def fill_casts(book):
    for source in DTYPES:
        for target in DTYPES:
            values = [0, 1, 2, 7, 100]
            if source in FLOATS:
                values += [0.5, 1.75, 2.5, 0.1]
                values += [] if target in ("u8", "bool") else [-1, -2.5, -100]
                values += [np.inf, -np.inf, np.nan, 1e6, 1e-6, -0.0] if target in FLOATS or target == "bool" else []
            elif source != "bool" and source != "u8":
                values += [-1, -2, -100] + ([300, -300, 1000] if source != "i8" else [])
            elif source == "u8":
                values += [255, 200, 128]
            x = tensor([1, 0, 1] if source == "bool" else values, source)
            book.case("cast", f"to_{target}", [x], args={"dtype": target}, out=target,
                      torch_fn=lambda v, t=target: v.to(DTYPES[t]) if t not in FLOATS else v.double(),
                      gradient=source in WIDE_FLOATS and target in WIDE_FLOATS)


def fill(book):
    fill_unary(book)
    fill_binary(book)
    fill_integers(book)
    fill_promotion(book)
    fill_weak_scalars(book)
    fill_ternary(book)
    fill_casts(book)
