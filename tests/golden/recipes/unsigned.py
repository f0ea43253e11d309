# SPDX-License-Identifier: MIT
"""Unsigned integers of 16, 32 and 64 bits in every operator that takes integers, as NumPy computes them."""

import numpy as np

from recipes.book import tensor

BITS = {"u16": 16, "u32": 32, "u64": 64}
ARRAYS = {"u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16,
          "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
UNARY = {"negate": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "relu": lambda x: x,
         "floor": np.floor, "bitwise_not": np.invert}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "floor_divide": np.floor_divide,
          "remainder": np.remainder, "fmod": np.fmod, "maximum": np.maximum, "minimum": np.minimum,
          "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
          "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
          "greater": np.greater, "greater_equal": np.greater_equal}
SHIFTS = {"left_shift": np.left_shift, "right_shift": np.right_shift}
FLOATING = {"sqrt": np.sqrt, "exp": np.exp, "log1p": np.log1p, "sin": np.sin}


def edges(tag):
    """Both ends, and both sides of where a signed integer of the width would end."""
    top = 1 << BITS[tag]
    return [0, 1, 2, 3, 7, 200, top // 2 - 1, top // 2, top // 2 + 1, top - 2, top - 1]


def grid(tag, second=None):
    first, second = np.array(edges(tag)), np.array(edges(tag) if second is None else second)
    return [tensor(np.repeat(first, second.size), tag), tensor(np.tile(second, first.size), tag)]


def drawn(book, name, shape, tag, high=None):
    return tensor(book.random(name).integers(0, high or 1 << BITS[tag], size=shape, dtype=drawn_type(tag)), tag)


def drawn_type(tag):
    """What numbers are drawn in; the same numbers as ever for the narrow types."""
    return np.uint64 if tag == "u64" else np.int64


def sum_type(tag):
    return np.uint64 if tag == "u64" else np.int64


def downwards(values):
    """Keys that sort the other way round; NumPy negates no unsigned number."""
    return np.iinfo(values.dtype).max - values


def saturated(values, tag):
    """Towards zero, and the nearest end beyond the range, which NumPy leaves open."""
    most = (1 << BITS[tag]) - 1
    whole = [0 if np.isnan(v) else most if v >= most else int(v) if v > 0 else 0 for v in values]
    return np.array(whole, ARRAYS[tag])


def fill_elementwise(book, tag):
    x = tensor(edges(tag), tag)
    for op, reference in UNARY.items():
        book.case(op, "edges", [x], numpy=lambda v: np.asarray(reference(v)).astype(v.dtype))
    for op, reference in BINARY.items():
        book.case(op, "edges", grid(tag), numpy=reference)
    for op, reference in SHIFTS.items():
        book.case(op, "edges", grid(tag, [0, 1, 5, BITS[tag] - 1, BITS[tag], BITS[tag] + 3]), numpy=reference)
    book.case("power", "edges", grid(tag, [0, 1, 2, 3, 4, 5, 31]), numpy=np.power)
    for op, reference in FLOATING.items():
        book.case(op, "edges", [tensor([0, 1, 2, 5, 40], tag)], out="f32", tolerance="composed",
                  numpy=lambda v: reference(v.astype(np.float64)))
    book.case("divide", "edges", [tensor([0, 7, 40000], tag), tensor([1, 2, 3], tag)], out="f32",
              numpy=lambda v, u: (v.astype(np.float32) / u.astype(np.float32)))
    book.case("clip", "edges", [x], args={"min": 2, "max": 1 << (BITS[tag] - 1)},
              numpy=lambda v: np.clip(v, v.dtype.type(2), v.dtype.type(1 << (BITS[tag] - 1))))
    book.case("where", f"edges_{tag}", [tensor(np.arange(len(edges(tag))) % 2, "bool"), x, tensor(edges(tag)[::-1], tag)],
              numpy=np.where)
    for op, number in (("add", 3), ("subtract", 3), ("floor_divide", 7), ("remainder", 7), ("multiply", 65535)):
        book.case(op, f"scalar_{number}", [x], args={"scalar": number, "scalar_side": "right"},
                  numpy=lambda v: BINARY[op](v, v.dtype.type(number)))


def fill_promotion(book, tag):
    """With every other type: NumPy's meeting type, but that floating-point types meet integers in their own."""
    for other, dtype in ARRAYS.items():
        meet = np.promote_types(ARRAYS[tag], dtype)
        floating = np.issubdtype(dtype, np.floating)
        a, b = tensor([1, 5, 3], tag), tensor([1, 0, 1] if other == "bool" else [2, 4, 1], other)
        for op in ("add", "multiply", "maximum", "subtract"):
            book.case(op, f"unsigned_{other}", [a, b],
                      out=other if floating else "f64" if meet == np.float64 else None,
                      numpy=lambda v, u: BINARY[op](v, u.astype(meet)))
    for left, right in ((tag, "i8"), (tag, "i32"), ("i16", tag)):
        a, b = ([1 << (BITS[t] - 1), 3] if t == tag else [-7, 5] for t in (left, right))
        for op in ("add", "multiply", "floor_divide", "less", "minimum"):
            floating = tag == "u64" and op != "less"
            book.case(op, f"signs_{right}", [tensor(a, left), tensor(b, right)], numpy=BINARY[op],
                      out="f64" if floating else None)
    if tag == "u64":
        fill_comparisons(book)


def fill_comparisons(book):
    """No integer type holds both sides; NumPy compares them exactly all the same."""
    top = 1 << 63
    for signed, ends in (("i8", [-128, -1, 0, 127]), ("i64", [-top, -1, 0, 5, top - 1])):
        a, b = grid("u64", ends)
        b = tensor(np.tile(np.array(ends, ARRAYS[signed]), len(edges("u64"))), signed)
        for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            book.case(op, f"natural_{signed}", [a, b], numpy=BINARY[op])
            book.case(op, f"natural_{signed}_first", [b, a], numpy=BINARY[op])
    for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        for number, label in ((-1, "negative"), (2 * top - 1, "last"), (top, "large")):
            for side in ("left", "right"):
                sides = (lambda v, n: (n, v)) if side == "left" else (lambda v, n: (v, n))
                args = {"scalar": number, "scalar_side": side}
                book.case(op, f"{label}_{side}", [tensor(edges("u64"), "u64")], args=args,
                          numpy=lambda v: BINARY[op](*sides(v, number)))
                book.case(op, f"{label}_{side}", [tensor([-top, -1, 0, 7, top - 1], "i64")], args=args,
                          numpy=lambda v: BINARY[op](*sides(v, number)))


def fill_casts(book, tag):
    top = 1 << BITS[tag]
    for other, dtype in ARRAYS.items():
        floating = np.issubdtype(dtype, np.floating)
        if other != tag:
            book.case("cast", f"to_{other}", [tensor(edges(tag), tag)], args={"dtype": other}, out=other,
                      numpy=lambda v: v.astype(np.float64 if floating else dtype))
        if floating or other in ("bool", "u16", "u32", "u64"):
            continue
        x = tensor([0, 1, 100] + ([-1, -100] if other[0] == "i" else [255]), other)
        book.case("cast", f"to_{tag}", [x], args={"dtype": tag}, out=tag, numpy=lambda v: v.astype(ARRAYS[tag]))
    for source in ("f16", "f32", "f64"):  # towards zero; beyond the range, which NumPy leaves open, its nearest end
        ends = [float(top - 1), float(top), 5e9] + [float(top - 2048), 2.0**63] * (tag == "u64")
        x = tensor([0.5, 1.75, 300, 65504, -1, -3e4, np.inf, -np.inf, np.nan] + ends * (source == "f64"), source)
        book.case("cast", f"to_{tag}", [x], args={"dtype": tag}, out=tag, numpy=lambda v: saturated(v, tag))


def fill_reductions(book, tag):
    x = drawn(book, f"reductions.{tag}", (3, 4, 5), tag)
    for axes in (None, [1], [0, 2]):
        every, args = None if axes is None else tuple(axes), {"axes": axes, "keepdims": False}
        label = "unsigned_" + ("all" if axes is None else "_".join(map(str, axes)))
        book.case("sum", label, [x], args=args, numpy=lambda v: np.sum(v, every, dtype=sum_type(tag)))
        book.case("prod", label, [drawn(book, f"prod.{tag}", (3, 4, 5), tag, 3)], args=args,
                  numpy=lambda v: np.prod(v, every, dtype=sum_type(tag)))
        book.case("min", label, [x], args=args, numpy=lambda v: np.min(v, every))
        book.case("max", label, [x], args=args, numpy=lambda v: np.max(v, every))
        book.case("any", label, [x], args=args, numpy=lambda v: np.any(v, every))
        book.case("mean", label, [x], args=args, out="f32", tolerance="composed",
                  numpy=lambda v: np.mean(v, every, dtype=np.float64))
    for op, reference in (("argmin", np.argmin), ("argmax", np.argmax)):
        book.case(op, "unsigned", [x], args={"axis": 1, "keepdims": False},
                  numpy=lambda v: reference(v, axis=1).astype(np.int64))
    for op, reference in (("cumsum", np.cumsum), ("cummin", np.minimum.accumulate), ("cummax", np.maximum.accumulate)):
        kind = {"dtype": sum_type(tag)} if op == "cumsum" else {}
        book.case(op, "unsigned", [x], args={"axis": 1}, numpy=lambda v: reference(v, axis=1, **kind))


def fill_order(book, tag):
    x = drawn(book, f"order.{tag}", (4, 50), tag)
    for down in (False, True):
        args = {"axis": -1, "descending": down}
        turn = slice(None, None, -1 if down else 1)
        book.case("sort", f"unsigned_{down}", [x], args=args, numpy=lambda v: np.sort(v, -1)[:, turn].copy())
        book.case("argsort", f"unsigned_{down}", [x], args=args,
                  numpy=lambda v: np.argsort(downwards(v) if down else v, -1, kind="stable"))
    book.case("topk", "unsigned", [x], args={"k": 5, "axis": -1, "largest": True}, out=[tag, "i64"],
              numpy=lambda v: (np.sort(v, -1)[:, :-6:-1].copy(),
                               np.argsort(downwards(v), -1, kind="stable")[:, :5]))
    book.case("unique", "unsigned", [drawn(book, f"unique.{tag}", (60,), tag, 9)], numpy=np.unique)
    book.case("nonzero", "unsigned", [drawn(book, f"nonzero.{tag}", (3, 4), tag, 2)],
              numpy=lambda v: np.stack(np.nonzero(v), axis=1).astype(np.int64))
    sorted_values = tensor(sorted(edges(tag)), tag)
    for side in ("left", "right"):
        book.case("searchsorted", f"unsigned_{side}", [sorted_values, tensor(edges(tag)[::-1], tag)],
                  args={"side": side}, numpy=lambda e, v: np.searchsorted(e, v, side=side).astype(np.int64))
    book.case("histogram", "unsigned", [drawn(book, f"histogram.{tag}", (40,), tag, 9), tensor([0, 2, 5, 8], tag)],
              numpy=lambda v, e: np.histogram(v.astype(np.int64), bins=e.astype(np.int64))[0].astype(np.int64))
    book.case("bincount", "unsigned", [drawn(book, f"bincount.{tag}", (40,), tag, 9)], args={"length": 9},
              numpy=lambda v: np.bincount(v.astype(np.int64), minlength=9).astype(np.int64))


def fill_places(book, tag):
    x, places = drawn(book, f"places.{tag}", (6, 5), tag), tensor([4, 0, 4, 2], tag)
    book.case("take", "unsigned", [x, places], args={"axis": 0}, numpy=lambda v, p: np.take(v, p, axis=0))
    book.case("scatter_add", "unsigned", [x, places, drawn(book, f"added.{tag}", (4, 5), tag)],
              numpy=lambda v, p, u: added(v, p, u))
    book.case("one_hot", "unsigned", [places], args={"depth": 5, "dtype": tag}, out=tag,
              numpy=lambda p: np.eye(5, dtype=ARRAYS[tag])[p])
    book.case("matmul", "unsigned", [x, drawn(book, f"factor.{tag}", (5, 7), tag)], numpy=np.matmul)
    book.case("concat", "unsigned", [x, x], args={"axis": 1}, numpy=lambda v, u: np.concatenate([v, u], 1))


def added(x, places, values):
    out = x.copy()
    np.add.at(out, places, values)
    return out


def fill(book):
    for tag in BITS:
        for part in (fill_elementwise, fill_promotion, fill_casts, fill_reductions, fill_order, fill_places):
            part(book, tag)
