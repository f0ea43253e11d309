# SPDX-License-Identifier: MIT
"""Operators that compare elements with each other: sorting, searching, counting."""

import numpy as np
import torch

from recipes.book import DTYPES, FLOATS, INTS, WIDE_FLOATS, tensor


def shuffled(book, name, shape, tag):
    """Distinct values in random order, exact in every type."""
    count = int(np.prod(shape))
    low = 0 if tag == "u8" else -(count // 2)
    return tensor(book.random(name).permutation(np.arange(low, low + count)).reshape(shape), tag)


def repeated(book, name, shape, tag):
    return tensor(book.random(name).integers(0, 2 if tag == "bool" else 5, size=shape), tag)


def torch_sort(x, axis, descending):
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def fill_sorts(book):
    for tag in FLOATS + INTS:
        for axis in (0, -1):
            for down in (False, True):
                label = f"axis{axis}" + ("_down" if down else "")
                x = shuffled(book, f"sort.{tag}", (4, 5), tag)
                args = {"axis": axis, "descending": down}
                book.case("sort", label, [x], args=args, torch_fn=lambda v: torch_sort(v, axis, down).values,
                          gradient=tag in WIDE_FLOATS, second=tag == "f64")
                book.case("argsort", label, [x], args=args, torch_fn=lambda v: torch_sort(v, axis, down).indices)
    for down in (False, True):  # equal elements keep their order, upwards and downwards
        for tag in ("f32", "i32", "bool"):
            x = repeated(book, f"ties.{tag}", (3, 11), tag)
            args = {"axis": 1, "descending": down}
            book.case("sort", f"ties_{down}", [x], args=args, torch_fn=lambda v: torch_sort(v, 1, down).values)
            book.case("argsort", f"ties_{down}", [x], args=args, torch_fn=lambda v: torch_sort(v, 1, down).indices)
    args = {"axis": 0, "descending": False}
    for tag in WIDE_FLOATS:
        x = tensor([3, np.nan, -np.inf, 0.0, np.inf, np.nan, -1], tag)  # NaN sorts after everything
        book.case("sort", "special", [x], args=args, numpy=np.sort)
        book.case("argsort", "special", [x], args=args, numpy=lambda v: np.argsort(v, kind="stable"))
    for label, shape in (("empty", (0,)), ("one", (1,)), ("long", (300,)), ("empty_rows", (0, 3))):
        x = shuffled(book, label, shape, "f32")
        book.case("sort", label, [x], args=args, numpy=lambda v: np.sort(v, axis=0))
        book.case("argsort", label, [x], args=args, numpy=lambda v: np.argsort(v, axis=0, kind="stable"))
    for tag in FLOATS + INTS:
        for axis in (0, -1):
            for largest in (True, False):
                x = shuffled(book, f"topk.{tag}", (4, 6), tag)
                book.case("topk", f"axis{axis}_{'largest' if largest else 'smallest'}", [x],
                          args={"k": 3, "axis": axis, "largest": largest}, out=[tag, "i64"],
                          torch_fn=lambda v: tuple(torch.topk(v, 3, dim=axis, largest=largest, sorted=True)),
                          gradient=tag in WIDE_FLOATS)
    x = shuffled(book, "topk.all", (5,), "f32")
    for k in (0, 1, 5):
        book.case("topk", f"k{k}", [x], args={"k": k, "axis": -1, "largest": True}, out=["f32", "i64"],
                  torch_fn=lambda v: tuple(torch.topk(v, k)), gradient=True)


def order_in_parts(rows, kth):
    """The order of each row with those below the kth first, then its equals, then those above; NaN is above all."""
    ranks = np.argsort(np.argsort(rows, kind="stable"), kind="stable")
    middle = np.sort(rows)[..., kth:kth + 1]
    equal = (rows == middle) | (np.isnan(rows) & np.isnan(middle))
    return np.argsort(np.where(equal, 1, np.where(ranks < kth, 0, 2)), kind="stable")


def in_parts(rows, kth):
    return torch.take_along_dim(rows, torch.from_numpy(order_in_parts(rows.detach().numpy(), kth)), -1)


def fill_partitions(book):
    special = tensor([3, np.nan, -np.inf, 0.0, np.inf, np.nan, -1], "f64")
    cases = [(f"k{kth}", repeated(book, f"partition.{tag}", (3, 40), tag), kth)
             for tag in FLOATS + INTS for kth in (0, 7, 39)]
    for label, x, kth in [*cases, ("special2", special, 2), ("special6", special, 6)]:
        args = {"kth": kth, "axis": -1}
        book.case("argpartition", label, [x], args=args, numpy=lambda v: order_in_parts(v, kth))
        book.case("partition", label, [x], args=args, torch_fn=lambda v: in_parts(v, kth),
                  gradient=x.dtype == torch.float64 and label.startswith("k"))


def count_between(x, edges):
    return np.histogram(x, bins=edges)[0].astype(np.int64)


def fill_searches(book):
    for tag in FLOATS + INTS:
        edges = tensor([1, 2, 2, 4, 7, 9], tag)
        values = tensor([[0, 1, 2], [3, 9, 10]], tag)
        for side in ("left", "right"):
            book.case("searchsorted", f"{side}", [edges, values], args={"side": side},
                      numpy=lambda e, v: np.searchsorted(e, v, side=side).astype(np.int64))
    sorted_values = tensor([-1.5, 0, 2.5], "f32")
    for side in ("left", "right"):
        args = {"side": side}
        book.case("searchsorted", f"{side}_special", [sorted_values, tensor([np.inf, -np.inf, np.nan, -0.0], "f32")],
                  args=args, numpy=lambda e, v: np.searchsorted(e, v, side=side).astype(np.int64))
        book.case("searchsorted", f"{side}_0d", [sorted_values, tensor(0.5, "f32")], args=args,
                  numpy=lambda e, v: np.asarray(np.searchsorted(e, v, side=side), dtype=np.int64))
        book.case("searchsorted", f"{side}_empty", [torch.zeros(0), tensor([1.0, 2.0], "f32")], args=args,
                  numpy=lambda e, v: np.searchsorted(e, v, side=side).astype(np.int64))
    for tag in DTYPES:
        x = repeated(book, f"unique.{tag}", (3, 4), tag)
        book.case("unique", "values", [x], numpy=np.unique)
        book.case("nonzero", "matrix", [x], numpy=lambda v: np.stack(np.nonzero(v), axis=1).astype(np.int64))
    for label, values in (("one", [3.0]), ("empty", []), ("all_same", [2.0] * 5), ("zeros", [0.0, -0.0, 0.0])):
        x = tensor(np.array(values, dtype=np.float64), "f32")
        book.case("unique", label, [x], numpy=lambda v: np.unique(v))
        book.case("nonzero", label, [x], numpy=lambda v: np.stack(np.nonzero(v), axis=1).astype(np.int64))
    x = tensor([[0, 1, 0], [np.nan, 0, 2]], "f32")
    book.case("nonzero", "nan", [x], numpy=lambda v: np.stack(np.nonzero(v), axis=1).astype(np.int64))
    book.case("nonzero", "cube", [repeated(book, "cube", (2, 3, 2), "i32")],
              numpy=lambda v: np.stack(np.nonzero(v), axis=1).astype(np.int64))

    for tag in FLOATS + INTS:
        x = tensor(book.random(f"histogram.{tag}").integers(0, 9, size=(5, 8)), tag)
        for label, edges in (("whole", [0, 2, 4, 6, 8]), ("part", [2, 3, 5, 7]),
                             ("one", [1, 7]), ("empty_bin", [1, 1, 3])):
            book.case("histogram", label, [x, tensor(edges, tag)], numpy=count_between)
    x = tensor([np.nan, np.inf, -np.inf, 0, 1, 2, 2, -5, 7], "f32")
    book.case("histogram", "outside", [x, tensor([0, 0.5, 2], "f32")],
              numpy=lambda v, e: count_between(v[np.isfinite(v)], e))
    book.case("histogram", "no_elements", [torch.zeros(0), tensor([0, 0.5, 1], "f32")], numpy=count_between)


def fill(book):
    fill_sorts(book)
    fill_partitions(book)
    fill_searches(book)
