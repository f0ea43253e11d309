# SPDX-License-Identifier: MIT
"""Operators that move elements and compute nothing: shapes, slices, indices, joins, padding, diagonals."""

import numpy as np
import torch

from recipes.book import DTYPES, INTS, WIDE_FLOATS, tensor


def numbers(book, name, shape, tag="f32"):
    random = book.random(name)
    values = np.round(random.normal(size=shape) * 4, 2) if tag in ("f16", "bf16", "f32", "f64") \
        else random.integers(0, 2 if tag == "bool" else 100, size=shape)
    return tensor(values, tag)


class Shaper:
    """Adds a case of one input for f32 with its gradient, or for every type where `every` asks for it."""

    def __init__(self, book):
        self.book = book

    def __call__(self, op, label, shape, args, function, every=False, second=False):
        for tag in DTYPES if every else ("f32",):
            x = numbers(self.book, f"{shape}{tag}", shape, tag)
            self.book.case(op, label, [x], args=args, torch_fn=function, gradient=tag in WIDE_FLOATS,
                           second=second and tag == "f64")


def fill_shapes(book):
    add = Shaper(book)
    for label, shape, target in (("matrix", (2, 3, 4), [6, 4]), ("inferred", (2, 3, 4), [4, -1]),
                                 ("flat", (2, 3), [-1]),
                                 ("to_0d", (1, 1), []), ("from_0d", (), [1, 1]), ("empty", (0, 3), [3, 0, 2]),
                                 ("same", (2, 3), [2, 3]), ("ones", (2, 3), [1, 2, 1, 3, 1])):
        add("reshape", label, shape, {"shape": target}, lambda x: x.reshape(target), every=label == "matrix")
    for label, shape, axes in (("reversed", (2, 3, 4), None), ("cycle", (2, 3, 4), [1, 2, 0]),
                               ("negative", (2, 3, 4), [-1, 0, -2]), ("identity", (2, 3), [0, 1]), ("0d", (), None),
                               ("vector", (3,), None), ("four", (2, 3, 1, 4), [0, 3, 1, 2]), ("empty", (0, 3), None),
                               ("six", (2, 1, 3, 2, 1, 2), [5, 3, 1, 0, 2, 4])):
        order = axes if axes is not None else list(range(len(shape)))[::-1]
        add("transpose", label, shape, {"axes": axes}, lambda x: x.permute(order), every=label == "cycle")
    for label, shape, axes in (("all", (1, 3, 1, 2), None), ("one", (1, 3, 1, 2), [2]), ("negative", (1, 3, 1), [-1]),
                               ("two", (1, 3, 1, 2), [0, -2]), ("none", (2, 3), None)):
        chosen = [i for i, n in enumerate(shape) if n == 1] if axes is None else axes
        add("squeeze", label, shape, {"axes": axes}, lambda x: x.squeeze(tuple(chosen)), every=label == "two")
    for label, shape, axes in (("front", (2, 3), [0]), ("back", (2, 3), [-1]), ("middle", (2, 3), [1]),
                               ("several", (2, 3), [0, 2, -1]), ("0d", (), [0])):
        add("expand_dims", label, shape, {"axes": axes},
            lambda x: x.reshape(np.expand_dims(np.empty(tuple(x.shape)), tuple(axes)).shape), every=label == "several")
    for label, shape, target in (("row", (3,), [2, 3]), ("column", (2, 1), [2, 3]), ("0d", (), [2, 2]),
                                 ("middle", (2, 1, 3), [4, 2, 5, 3]), ("empty", (1, 3), [0, 3]), ("same", (2,), [2])):
        add("broadcast_to", label, shape, {"shape": target}, lambda x: x.broadcast_to(target), every=label == "column")


SLICES = [  # label, shape, index as the manifest writes it: an integer, {"slice": [start, stop, step]}, or a word
    ("middle", (5, 4), [{"slice": [1, 4, None]}, {"slice": [None, None, 2]}]),
    ("negative_bounds", (5, 4), [{"slice": [-4, -1, 1]}, {"slice": [None, -1, None]}]),
    ("reversed", (5, 4), [{"slice": [None, None, -1]}, {"slice": [3, 0, -2]}]),
    ("reversed_past_the_front", (5,), [{"slice": [3, None, -1]}]),
    ("integer", (5, 4, 3), [2]), ("integers", (5, 4, 3), [-1, 0]), ("to_0d", (5, 4), [1, 2]),
    ("ellipsis", (2, 3, 4), ["ellipsis", 1]), ("ellipsis_middle", (2, 3, 4, 2), [0, "ellipsis", {"slice": [0, 1, 1]}]),
    ("newaxis", (2, 3), ["newaxis", {"slice": [None, None, None]}, "newaxis", 1]),
    ("clamped", (5,), [{"slice": [2, 100, None]}]), ("clamped_both", (5,), [{"slice": [-100, 100, 3]}]),
    ("nothing", (5, 2), [{"slice": [3, 3, None]}]), ("crossed", (5, 2), [{"slice": [4, 1, None]}]),
    ("step_past_end", (5,), [{"slice": [0, None, 7]}]), ("of_empty", (0, 3), [{"slice": [0, 2, 1]}]),
    ("everything", (2, 3), ["ellipsis"]), ("mixed", (4, 5, 6), [{"slice": [None, None, -2]}, 3, {"slice": [5, 1, -3]}]),
]


def to_index(items):
    words = {"ellipsis": Ellipsis, "newaxis": None}
    return tuple(words[i] if isinstance(i, str) else slice(*i["slice"]) if isinstance(i, dict) else i for i in items)


def strided(x, items):
    """NumPy's basic index of a tensor through its positions, since PyTorch has no negative steps."""
    positions = np.arange(int(np.prod(x.shape))).reshape(tuple(x.shape))[to_index(items)]
    return x.reshape(-1)[torch.from_numpy(np.array(positions))]


def put(x, value, items):
    positions = np.arange(int(np.prod(x.shape))).reshape(tuple(x.shape))[to_index(items)]
    chosen = torch.from_numpy(np.array(positions)).reshape(-1)
    return x.reshape(-1).index_put((chosen,), value.broadcast_to(positions.shape).reshape(-1)).reshape(x.shape)


def fill_slices(book):
    add = Shaper(book)
    for label, shape, items in SLICES:
        add("slice", label, shape, {"index": items}, lambda x: strided(x, items),
            every=label in ("middle", "reversed"))
        selected = np.empty(shape)[to_index(items)].shape
        targets = {"": selected}
        if selected and "nothing" not in label:
            targets["_scalar"] = ()
            targets["_row"] = selected[-1:]
        for suffix, value_shape in targets.items():
            for tag in DTYPES if label == "mixed" and suffix == "" else ("f32",):
                x = numbers(book, f"{shape}{tag}", shape, tag)
                value = numbers(book, f"v{value_shape}{tag}", value_shape, tag)
                book.case("set_slice", label + suffix, [x, value], args={"index": items},
                          torch_fn=lambda a, v: put(a, v, items), gradient=tag in WIDE_FLOATS)


def fill_indices(book):
    def add(op, label, inputs, args, function, **more):
        book.case(op, label, inputs, args=args, torch_fn=function, gradient=inputs[0].is_floating_point() and
                  inputs[0].dtype in (torch.float32, torch.float64), **more)

    def positive(index, size):
        return torch.where(index < 0, index + size, index).long()

    def take(x, index, axis):
        if axis is None:
            return x.reshape(-1)[positive(index, x.numel())]
        axis %= x.dim()
        chosen = positive(index, x.shape[axis])
        out = torch.index_select(x, axis, chosen.reshape(-1))
        return out.reshape(x.shape[:axis] + chosen.shape + x.shape[axis + 1:])

    for kind in ("i64", "i32"):
        for label, values, axis in (("first", [2, 0, 2], 0), ("last", [0, -1, -4], -1), ("middle", [1], 1),
                                    ("matrix", [[0, 1], [1, 1]], 0), ("flat", [5, 0, -1], None), ("0d", 1, 1),
                                    ("none", np.zeros(0), 0)):
            x, index = numbers(book, "(3, 2, 4)", (3, 2, 4)), tensor(np.asarray(values), kind)
            add("take", f"{label}_{kind}", [x, index], {"axis": axis}, lambda v, i: take(v, i, axis))
    for tag in DTYPES:
        x, index = numbers(book, f"(3, 4){tag}", (3, 4), tag), tensor([2, 0, 0], "i64")
        add("take", f"every_{tag}", [x, index], {"axis": 0}, lambda v, i: take(v, i, 0))
        along = tensor([[0, 2, 1, 1], [2, 2, 0, 1]], "i64")
        add("take_along_axis", f"every_{tag}", [x, along], {"axis": 0},
            lambda v, i: torch.gather(v, 0, positive(i, 3)))
    for label, shape, index_shape, axis in (("first", (3, 4), (2, 4), 0), ("last", (3, 4), (3, 6), -1),
                                            ("cube", (2, 3, 4), (2, 5, 4), 1), ("vector", (5,), (3,), 0),
                                            ("broadcast", (3, 4), (3, 1), 1)):
        x = numbers(book, f"{shape}", shape)
        index = tensor(book.random(label).integers(-shape[axis], shape[axis], size=index_shape), "i64")
        add("take_along_axis", label, [x, index], {"axis": axis},
            lambda v, i: torch.gather(v, axis, positive(i, v.shape[axis])))
    for tag in (*INTS, "u16", "u32", "u64"):
        for label, values in (("vector", [4, 0, 2, 0]), ("matrix", [[1, 2], [3, 4]]), ("none", np.zeros(0))):
            book.case("check_bounds", f"{label}_{tag}", [tensor(np.asarray(values), tag)],
                      args={"low": 0, "high": 4}, numpy=lambda x: x)
    fill_coordinates(book)


# label, shape of x, coordinates along its first axes
COORDINATES = [
    ("rows", (3, 4), [[2, 0]]), ("rows_repeated", (3, 4), [[1, 1, 1, 0]]),
    ("elements", (3, 4), [[2, 0, 1], [3, 0, -1]]),
    ("elements_repeated", (3, 4), [[2, 0, 2], [3, 0, 3]]), ("crossed", (3, 4), [[[0], [2]], [1, 3]]),
    ("negative", (3, 4), [[-1, -3]]), ("vectors_of_cube", (2, 3, 4), [[1, 0, 1], [2, 0, -2]]),
    ("whole_cube", (2, 3, 2), [[1, 0], [2, 1], [0, 1]]), ("one", (5,), [3]), ("none", (3, 2), [np.zeros(0)]),
]


def fill_coordinates(book):
    """gather, scatter and scatter_add: NumPy's x[c0, c1, ...], its assignment, and np.add.at."""
    for label, shape, lists in COORDINATES:
        for tag in ("f32", "f64", "i32", "f16") if label != "rows" else tuple(DTYPES):
            x = numbers(book, f"{shape}{tag}", shape, tag)
            coordinates = [tensor(np.asarray(values), "i32" if label == "crossed" else "i64") for values in lists]
            wide = tag in WIDE_FLOATS
            book.case("gather", f"{label}_{tag}", [x, *coordinates], gradient=wide,
                      torch_fn=lambda v, *c: v[tuple(i.long() for i in c)])
            selected = np.empty(shape)[tuple(np.asarray(values, dtype=np.int64) for values in lists)].shape
            for suffix, value_shape in (("", selected), ("_scalar", ())):
                values = numbers(book, f"place{value_shape}{tag}", value_shape, tag)
                # Where coordinates repeat the last one stays, which PyTorch's gradient does not know.
                book.case("scatter", f"{label}{suffix}_{tag}", [x, *coordinates, values],
                          gradient=wide and "repeated" not in label, numpy=np_scatter, torch_fn=torch_scatter(False))
                if tag == "bool":
                    continue
                book.case("scatter_add", f"{label}{suffix}_{tag}", [x, *coordinates, values], gradient=wide,
                          torch_fn=torch_scatter(True), tolerance="sum", scale=40)


def np_scatter(x, *rest):
    """Assigns in row-major order of the coordinates, one at a time, so that the last one stays."""
    *coordinates, values = rest
    places = np.broadcast_arrays(*coordinates)
    out = x.copy()
    values = np.broadcast_to(values, places[0].shape + x.shape[len(places):])
    for position in np.ndindex(places[0].shape):
        out[tuple(place[position] for place in places)] = values[position]
    return out


def torch_scatter(accumulate):
    def place(x, *rest):
        *coordinates, values = rest
        return x.index_put(tuple(c.long() for c in coordinates), values, accumulate=accumulate)
    return place


def fill_joins(book):
    for tag in DTYPES:
        parts = [numbers(book, f"join{i}{tag}", (2, n), tag) for i, n in enumerate((3, 1, 2))]
        book.case("concat", f"every_{tag}", parts, args={"axis": 1}, gradient=tag in WIDE_FLOATS,
                  torch_fn=lambda *v: torch.cat(v, 1))
        same = [numbers(book, f"stack{i}{tag}", (2, 3), tag) for i in range(3)]
        book.case("stack", f"every_{tag}", same, args={"axis": 1}, gradient=tag in WIDE_FLOATS,
                  torch_fn=lambda *v: torch.stack(v, 1))
    for label, shapes, axis in (("rows", [(2, 3), (1, 3), (4, 3)], 0), ("negative", [(2, 3, 1), (2, 3, 4)], -1),
                                ("with_empty", [(2, 0), (2, 3), (2, 0)], 1), ("single", [(2, 3)], 0),
                                ("middle", [(2, 1, 3), (2, 2, 3), (2, 1, 3)], 1), ("vectors", [(1,), (2,), (3,)], 0)):
        parts = [numbers(book, f"concat{label}{i}", shape) for i, shape in enumerate(shapes)]
        book.case("concat", label, parts, args={"axis": axis}, torch_fn=lambda *v: torch.cat(v, axis), gradient=True)
    mixed = [tensor([1, 2], "i32"), tensor([0.5, 1.5], "f32"), tensor([1, 0], "bool")]
    book.case("concat", "mixed_types", mixed, args={"axis": 0}, out="f32", torch_fn=lambda *v: torch.cat(v, 0))
    for label, shape, axis in (("front", (2, 3), 0), ("back", (2, 3), -1), ("0d", (), 0)):
        parts = [numbers(book, f"stack{label}{i}", shape) for i in range(4)]
        book.case("stack", label, parts, args={"axis": axis}, torch_fn=lambda *v: torch.stack(v, axis), gradient=True)
    for label, shape, axis, args in (("equal", (6, 2), 0, {"parts": 3}), ("one", (2, 3), 1, {"parts": 1}),
                                     ("positions", (2, 7), 1, {"positions": [1, 5]}),
                                     ("negative", (2, 3, 4), -1, {"parts": 2}),
                                     ("with_empty", (4, 2), 0, {"positions": [0, 2, 2]})):
        for tag in ("f32", "f64", "i32", "bool", "bf16"):
            x = numbers(book, f"{shape}{tag}", shape, tag)
            cuts = args.get("positions", args.get("parts"))
            book.case("split", f"{label}_{tag}", [x], args={"axis": axis, **args}, gradient=tag in WIDE_FLOATS,
                      torch_fn=lambda v: torch.tensor_split(v, cuts, axis))


def np_through_positions(x, function, fill=0):
    """Moves elements as a NumPy function moves their positions; a position of -1 reads `fill`."""
    positions = function(np.arange(int(np.prod(tuple(x.shape)))).reshape(tuple(x.shape)))
    padded = torch.cat([x.reshape(-1), torch.full((1,), fill, dtype=x.dtype)])
    return padded[torch.from_numpy(np.array(positions))]


def fill_moves(book):
    add = Shaper(book)

    def moved(op, label, shape, args, function, every=False):
        add(op, label, shape, args, lambda x: np_through_positions(x, function), every=every)

    for label, shape, counts in (("matrix", (2, 3), [2, 2]), ("longer", (2, 3), [2, 1, 2]), ("shorter", (2, 3), [3]),
                                 ("vector", (3,), [2]), ("zero", (2, 3), [0, 1]), ("0d", (), [3]), ("ones", (2,), [1])):
        moved("tile", label, shape, {"counts": counts}, lambda p: np.tile(p, counts), every=label == "matrix")
    for label, shape, counts, axis in (("rows", (2, 3), 2, 0), ("columns", (2, 3), 3, -1), ("flat", (2, 3), 2, None),
                                       ("zero", (2, 3), 0, 1)):
        moved("repeat", label, shape, {"count": counts, "axis": axis}, lambda p: np.repeat(p, counts, axis),
              every=label == "columns")
    for label, shape, shift, axis in (("vector", (5,), [2], [0]), ("back", (5,), [-2], [0]), ("past", (5,), [12], [0]),
                                      ("both", (3, 4), [1, -1], [0, 1]), ("flat", (3, 4), [5], None),
                                      ("negative_axis", (3, 4), [1], [-1]), ("empty", (0, 4), [1], [0])):
        moved("roll", label, shape, {"shift": shift, "axes": axis},
              lambda p: np.roll(p, shift[0] if axis is None else shift, axis), every=label == "both")
    for label, shape, axes in (("all", (2, 3), None), ("rows", (2, 3), [0]), ("columns", (2, 3, 2), [-2]),
                               ("two", (2, 3, 4), [0, 2]), ("0d", (), None), ("empty", (0, 3), [1])):
        moved("flip", label, shape, {"axes": axes}, lambda p: np.flip(p, axes), every=label == "two")
    for label, shape, widths in (("matrix", (3, 4), [[1, 2], [0, 1]]), ("vector", (5,), [[2, 3]]),
                                 ("nothing", (2, 3), [[0, 0], [0, 0]]), ("cube", (2, 3, 4), [[1, 0], [2, 1], [0, 3]])):
        for mode in ("constant", "edge", "reflect"):
            if mode == "reflect" and label == "cube":
                continue
            args = {"widths": widths, "mode": mode}
            if mode == "constant":
                for value in (0, 2):
                    for tag in DTYPES if label == "matrix" and value == 0 else ("f32",):
                        x = numbers(book, f"{shape}{tag}", shape, tag)
                        book.case("pad", f"{label}_constant{value}", [x], args={**args, "value": value},
                                  gradient=tag in WIDE_FLOATS, torch_fn=lambda v: np_through_positions(
                                      v, lambda p: np.pad(p, widths, constant_values=-1), value))
            else:
                moved("pad", f"{label}_{mode}", shape, {**args, "value": 0}, lambda p: np.pad(p, widths, mode=mode),
                      every=label == "matrix")
    book.case("pad", "reflect_twice_round", [numbers(book, "(3,)", (3,))],
              args={"widths": [[5, 4]], "mode": "reflect", "value": 0}, gradient=True,
              torch_fn=lambda v: np_through_positions(v, lambda p: np.pad(p, [[5, 4]], mode="reflect")))
    book.case("pad", "empty", [torch.zeros((0, 2))], gradient=True,
              args={"widths": [[1, 1], [0, 0]], "mode": "constant", "value": 0},
              torch_fn=lambda v: np_through_positions(v, lambda p: np.pad(p, [[1, 1], [0, 0]], constant_values=-1)))
    for k in (-2, 0, 1):
        for label, shape in (("build", (3,)), ("square", (3, 3)), ("wide", (3, 5)), ("tall", (4, 2))):
            def diag(p, k=k):
                out = np.diag(p + 1, k)  # zero, once one is taken off, is the position that reads zero
                return out - 1
            moved("diag", f"{label}_k{k}", shape, {"k": k}, diag, every=label == "build" and k == 1)
        for op, function in (("tril", np.tril), ("triu", np.triu)):
            for label, shape in (("square", (3, 3)), ("wide", (3, 5)), ("tall", (4, 2)), ("batch", (2, 3, 3))):
                moved(op, f"{label}_k{k}", shape, {"k": k}, lambda p: function(p + 1, k) - 1,
                      every=label == "wide" and k == 1)


def fill_planes(book):
    add = Shaper(book)
    for label, shape, k, first, second in (("matrix", (3, 4), 0, 0, 1), ("above", (3, 4), 2, 0, 1),
                                           ("below", (4, 3), -1, 0, 1),
                                           ("beyond", (2, 2), 5, 0, 1), ("planes", (2, 3, 4), 1, 1, 2),
                                           ("negative", (2, 3, 4), 0, -1, 0)):
        args = {"k": k, "axis1": first, "axis2": second}
        add("diagonal", label, shape, args, lambda x: torch.diagonal(x, k, first, second), every=label == "planes")
    for label, shape, k in (("square", (3, 3), 0), ("wide", (2, 4), 1), ("cube", (3, 2, 4), 0)):
        for tag in ("f32", "f64", "i32", "bf16"):
            x = numbers(book, f"{shape}{tag}", shape, tag)
            book.case("trace", f"{label}_{tag}", [x], args={"k": k}, tolerance="sum", scale=40,
                      gradient=tag in WIDE_FLOATS, torch_fn=lambda v: torch.diagonal(v, k, 0, 1).sum(-1))
    for label, shape, first, second in (("matrix", (2, 3), 0, 1), ("cube", (2, 3, 4), 0, -1)):
        add("swapaxes", label, shape, {"axis1": first, "axis2": second}, lambda x: x.swapaxes(first, second))
        add("moveaxis", label, shape, {"from": first, "to": second}, lambda x: x.movedim(first, second))
    add("matrix_transpose", "batch", (2, 3, 4), {}, lambda x: x.mT)
    for label, sizes in (("two", (2, 3)), ("three", (2, 1, 4)), ("one", (3,))):
        vectors = [numbers(book, f"grid{i}{n}", (n,)) for i, n in enumerate(sizes)]
        book.case("meshgrid", label, vectors, torch_fn=lambda *v: torch.meshgrid(*v, indexing="ij"), gradient=True)


def fill(book):
    fill_shapes(book)
    fill_slices(book)
    fill_indices(book)
    fill_joins(book)
    fill_moves(book)
    fill_planes(book)
