# SPDX-License-Identifier: MIT
"""Operators that make tensors from attributes alone, and one_hot."""

import numpy as np

from recipes.book import DTYPES, FLOATS, TAGS, tensor

NUMPY = {"bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "f16": np.float64, "bf16": np.float64, "f32": np.float64, "f64": np.float64}


def fill(book):
    for tag in DTYPES:
        kind = {"dtype": tag}
        for op, function in (("zeros", np.zeros), ("ones", np.ones)):
            book.case(op, f"matrix_{tag}", [], args={"shape": [2, 3], **kind}, out=tag,
                      numpy=lambda f=function: f((2, 3)))
        value = True if tag == "bool" else 7 if tag not in FLOATS else 2.5
        book.case("full", f"matrix_{tag}", [], args={"shape": [3, 2], "value": value, **kind}, out=tag,
                  numpy=lambda v=value: np.full((3, 2), v))
        book.case("eye", f"square_{tag}", [], args={"rows": 3, "columns": 3, "k": 0, **kind}, out=tag,
                  numpy=lambda: np.eye(3))
        book.case("tri", f"square_{tag}", [], args={"rows": 3, "columns": 3, "k": 0, **kind}, out=tag,
                  numpy=lambda: np.tri(3))
    for name, shape in (("0d", []), ("empty", [0, 3]), ("deep", [2, 1, 3, 1, 2])):
        kind = {"shape": shape, "dtype": "f32"}
        book.case("zeros", name, [], args=kind, numpy=lambda s=shape: np.zeros(s), out="f32")
        book.case("ones", name, [], args=kind, numpy=lambda s=shape: np.ones(s), out="f32")
        book.case("full", name, [], args={**kind, "value": -1.5}, numpy=lambda s=shape: np.full(s, -1.5), out="f32")
    for rows, columns in ((2, 4), (4, 2), (3, 0)):
        for k in (-2, -1, 0, 1, 3):
            args = {"rows": rows, "columns": columns, "k": k, "dtype": "f32"}
            name = f"{rows}x{columns}_k{k}"
            book.case("eye", name, [], args=args, out="f32", numpy=lambda r=rows, c=columns, d=k: np.eye(r, c, d))
            book.case("tri", name, [], args=args, out="f32", numpy=lambda r=rows, c=columns, d=k: np.tri(r, c, d))

    ranges = [(0, 5, 1), (2, 11, 3), (2, 12, 3), (5, 0, -2), (0, 0, 1), (3, 1, 1), (-3, 4, 2)]
    for tag in ("i32", "i64", "i16", "i8", "f32", "f64", "f16", "bf16"):
        for index, (start, stop, step) in enumerate(ranges):
            book.case("arange", f"whole{index}_{tag}", [], out=tag,
                      args={"start": start, "stop": stop, "step": step, "dtype": tag},
                      numpy=lambda a=start, b=stop, c=step: np.arange(a, b, c))
    for tag in ("f32", "f64"):
        fractions = [(0.0, 1.0, 0.25), (0.0, 1.0, 0.1), (1.0, -1.0, -0.3), (0.5, 4.5, 1.5)]
        for index, (start, stop, step) in enumerate(fractions):
            book.case("arange", f"fraction{index}_{tag}", [], out=tag, tolerance="special",
                      args={"start": start, "stop": stop, "step": step, "dtype": tag},
                      numpy=lambda a=start, b=stop, c=step: np.arange(a, b, c))
    for tag in ("f16", "bf16", "f32", "f64"):
        for count in (0, 1, 2, 5, 11):
            args = {"start": -1.0, "stop": 2.0, "count": count, "dtype": tag}
            book.case("linspace", f"{count}_{tag}", [], args=args, out=tag, tolerance="special",
                      numpy=lambda n=count: np.linspace(-1.0, 2.0, n))
            book.case("logspace", f"{count}_{tag}", [], args={**args, "base": 10.0}, out=tag, tolerance="special",
                      numpy=lambda n=count: np.logspace(-1.0, 2.0, n, base=10.0))
        book.case("linspace", f"downwards_{tag}", [], out=tag, tolerance="special",
                  args={"start": 5.0, "stop": -5.0, "count": 7, "dtype": tag},
                  numpy=lambda: np.linspace(5.0, -5.0, 7))
        book.case("logspace", f"base2_{tag}", [], out=tag, tolerance="special",
                  args={"start": 0.0, "stop": 4.0, "count": 9, "base": 2.0, "dtype": tag},
                  numpy=lambda: np.logspace(0.0, 4.0, 9, base=2.0))

    for label in ("i32", "i64", "u8"):
        for tag in ("f32", "f64", "i32", "bool", "f16", "bf16"):
            book.case("one_hot", f"vector_{tag}", [tensor([0, 2, 3, 1, 2], label)], out=tag,
                      args={"depth": 4, "dtype": tag}, numpy=lambda x: np.eye(4)[x])
    book.case("one_hot", "out_of_range", [tensor([-1, 0, 2, 7], "i64")], args={"depth": 3, "dtype": "f32"}, out="f32",
              numpy=lambda x: (x[:, None] == np.arange(3)).astype(np.float64))
    for name, shape in (("0d", ()), ("matrix", (2, 3)), ("empty", (0,))):
        labels = tensor(np.arange(int(np.prod(shape))).reshape(shape) % 5, "i64")
        book.case("one_hot", name, [labels], args={"depth": 5, "dtype": "f32"}, out="f32", numpy=lambda x: np.eye(5)[x])
