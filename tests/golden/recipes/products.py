# SPDX-License-Identifier: MIT
"""Matrix products of every rank, and the contractions built on them."""

import numpy as np
import torch

from recipes.book import DTYPES, FLOATS, WIDE_FLOATS, tensor, widen


def operand(book, name, shape, tag):
    random = book.random(name)
    if tag in FLOATS:
        return tensor(np.round(random.normal(size=shape), 3), tag)
    return tensor(random.integers(0 if tag in ("u8", "bool") else -5, 2 if tag == "bool" else 6, size=shape), tag)


def product(book, op, label, inputs, function, args=None, second=False, gradient=True, **more):
    """A case whose tolerance is relative to the same product of magnitudes."""
    wide = [widen(value).abs() if value.is_floating_point() else value for value in inputs]
    sizes = function(*wide)
    scale = float(sizes.max()) if sizes.numel() and inputs[0].is_floating_point() else 1
    floating = all(value.dtype in (torch.float32, torch.float64) for value in inputs)
    book.case(op, label, inputs, args=args or {}, torch_fn=function, tolerance="sum", scale=max(scale, 1),
              gradient=gradient and floating, second=second and inputs[0].dtype == torch.float64, **more)


MATMULS = [
    ("vectors", (4,), (4,)), ("matrix_vector", (3, 4), (4,)), ("vector_matrix", (4,), (4, 3)),
    ("matrices", (3, 4), (4, 5)), ("row_column", (1, 6), (6, 1)), ("column_row", (6, 1), (1, 6)),
    ("batched", (2, 3, 4), (2, 4, 5)), ("batch_left", (2, 3, 4), (4, 5)), ("batch_right", (3, 4), (2, 4, 5)),
    ("broadcast", (2, 1, 3, 4), (5, 4, 2)), ("broadcast_both", (1, 3, 2, 2), (2, 1, 2, 3)),
    ("batch_vector", (2, 3, 4), (4,)), ("vector_batch", (3,), (2, 3, 4)),
    ("five_ranks", (1, 2, 1, 2, 3), (2, 1, 2, 3, 2)),
    ("no_inner", (3, 0), (0, 2)), ("no_rows", (0, 3), (3, 2)), ("no_batch", (0, 2, 3), (3, 2)),
]


def fill_matmul(book):
    for tag in tuple(DTYPES):
        if tag in ("bool", "i8", "u8", "i16"):
            chosen = [MATMULS[0], MATMULS[3], MATMULS[6]] if tag != "bool" else []
        else:
            chosen = MATMULS
        for label, left, right in chosen:
            a, b = operand(book, f"a{left}{tag}", left, tag), operand(book, f"b{right}{tag}", right, tag)
            product(book, "matmul", label, [a, b], torch.matmul, second=True)
    for tag in FLOATS:
        for label, left, right, turn in (("turned_left", (4, 3), (4, 5), (True, False)),
                                         ("turned_right", (3, 4), (5, 4), (False, True)),
                                         ("turned_both", (4, 3), (5, 4), (True, True)),
                                         ("turned_batch", (2, 4, 3), (2, 5, 4), (True, True))):
            a, b = operand(book, f"a{left}{tag}", left, tag), operand(book, f"b{right}{tag}", right, tag)
            product(book, "matmul", label, [a, b], second=True,
                    args={"transpose_a": turn[0], "transpose_b": turn[1]},
                    function=lambda x, y: torch.matmul(x.mT if turn[0] else x, y.mT if turn[1] else y))
    for label, left, right in (("odd", (17, 19), (19, 13)), ("tall", (70, 3), (3, 2)), ("deep", (2, 150), (150, 3)),
                               ("wide", (2, 3), (3, 66))):
        for tag in ("f32", "f64", "bf16"):
            a, b = operand(book, f"a{left}{tag}", left, tag), operand(book, f"b{right}{tag}", right, tag)
            product(book, "matmul", label, [a, b], torch.matmul, gradient=label != "wide")
    for left, right in (("f32", "f64"), ("i32", "f32"), ("f16", "f32"), ("bf16", "f16")):
        a, b = operand(book, f"mixed{left}", (2, 3), left), operand(book, f"mixed{right}", (3, 2), right)
        product(book, "matmul", f"mixed_{right}", [a, b], lambda x, y: torch.matmul(x.double(), y.double()),
                gradient=False)
    special = [tensor([[np.inf, 1], [0, 2]], "f32"), tensor([[0.0, 1], [np.nan, 3]], "f32")]
    book.case("matmul", "special", special, torch_fn=torch.matmul)


def fill_pairs(book):
    for tag in FLOATS + ("i32", "i64"):
        a, b = operand(book, f"dot{tag}", (5,), tag), operand(book, f"tod{tag}", (5,), tag)
        product(book, "dot", "vectors", [a, b], torch.dot, second=True)
        a, b = operand(book, f"dm{tag}", (2, 3), tag), operand(book, f"md{tag}", (3, 4), tag)
        product(book, "dot", "matrices", [a, b], torch.matmul, second=True)
        for label, left, right in (("vectors", (3,), (4,)), ("empty", (0,), (4,))):
            a, b = operand(book, f"o{left}{tag}", left, tag), operand(book, f"p{right}{tag}", right, tag)
            product(book, "outer", label, [a, b], torch.outer, second=True)
    for label, left, right in (("matrices", (2, 3), (3, 2)), ("vectors", (3,), (2,)), ("mixed", (2, 2), (3,))):
        for tag in ("f32", "f64", "i32", "bf16"):
            a, b = operand(book, f"k{left}{tag}", left, tag), operand(book, f"l{right}{tag}", right, tag)
            product(book, "kron", label, [a, b], torch.kron, second=True)
    for label, left, right, axes in (("two", (2, 3, 4), (3, 4, 5), 2), ("one", (2, 3), (3, 4), 1),
                                     ("none", (2,), (3,), 0),
                                     ("pairs", (2, 3, 4), (4, 5, 2), [[2, 0], [0, 2]]),
                                     ("negative", (2, 3, 4), (4, 5), [[-1], [0]]), ("all", (2, 3), (2, 3), 2)):
        for tag in ("f32", "f64", "i32"):
            a, b = operand(book, f"t{left}{tag}", left, tag), operand(book, f"u{right}{tag}", right, tag)
            pairs = axes if isinstance(axes, int) else [[x % len(shape) for x in side]
                                                        for side, shape in zip(axes, (left, right))]
            product(book, "tensordot", label, [a, b], lambda x, y: torch.tensordot(x, y, pairs), args={"axes": axes},
                    second=True)


EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("ij->i", [(2, 3)]), ("ij->j", [(2, 3)]), ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]), ("iij->ij", [(3, 3, 2)]), ("i,i->", [(4,), (4,)]), ("i,j->ij", [(3,), (4,)]),
    ("i,j->ji", [(3,), (4,)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("bij,bjk->ik", [(2, 3, 4), (2, 4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...i->...", [(2, 3, 4)]), ("i...->...i", [(2, 3, 4)]), ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ji->", [(2, 3), (3, 2)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("i,ij,j->", [(2,), (2, 3), (3,)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
    ("ij,k->ijk", [(2, 3), (4,)]), ("ij,jk->ki", [(2, 3), (3, 4)]), (",i->i", [(), (3,)]),
    ("ab,cd,ef->fdb", [(2, 2), (3, 2), (2, 4)]),
    ("ijkl->lkji", [(2, 1, 3, 2)]), ("ba", [(2, 3)]), ("bij,bij->b", [(2, 3, 4), (2, 3, 4)]),
    ("ij,j->i", [(3, 0), (0,)]),
    ("...,...->...", [(2, 3), (3,)]), ("bi,bo,io->b", [(2, 3), (2, 4), (3, 4)]),
]


def fill_einsum(book):
    for index, (equation, shapes) in enumerate(EINSUMS):
        for tag in ("f32", "f64") + (("i32", "bf16") if index in (0, 13, 20) else ()):
            inputs = [operand(book, f"e{i}{shape}{tag}", shape, tag) for i, shape in enumerate(shapes)]
            product(book, "einsum", f"{index}", inputs, lambda *v: torch.einsum(equation, *v),
                    args={"equation": equation}, second=True)


def unpacked(packed, bits):
    """Numbers of `bits` bits along the last axis, the lowest bits of a byte first."""
    apart = packed.to(torch.int64)[..., None] >> torch.arange(0, 8, bits) & 2**bits - 1
    return apart.reshape(*packed.shape[:-1], packed.shape[-1] * 8 // bits)


def few_bits_product(bits):
    def function(a, packed, scales, zero=None):
        if zero is None:
            zero = torch.tensor(2 ** (bits - 1))
        else:
            zero = (unpacked(zero, bits)[:, :scales.shape[1]] if zero.dtype == torch.uint8 else zero)[..., None]
        weights = ((unpacked(packed, bits).double() - zero) * scales[..., None])
        return a @ weights.reshape(scales.shape[0], scales.shape[1] * weights.shape[2])[:, :a.shape[-1]].T
    return function


def fill_quantised(book):
    for label, bits, block, rows, columns, depth, zeros in (
            ("four", 4, 16, 3, 5, 40, None), ("four_zeros", 4, 32, 2, 3, 33, "u8"), ("four_float_zeros", 4, 16, 4, 2, 17, "a"),
            ("two", 2, 16, 1, 4, 16, "u8"), ("eight", 8, 16, 2, 3, 37, "u8"), ("many", 4, 32, 19, 20, 65, None),
            ("many_zeros", 2, 64, 17, 6, 70, "u8"), ("no_rows", 4, 16, 0, 3, 5, None), ("no_depth", 8, 16, 2, 3, 0, None)):
        blocks = -(-depth // block)
        for tag in FLOATS if rows < 17 else ("f32", "bf16"):
            random = book.random(f"few_bits{label}{tag}")

            def numbers(shape):
                return tensor(random.integers(0, 256, size=shape), "u8")

            inputs = [operand(book, f"few_bits_a{label}{tag}", (rows, depth), tag), numbers((columns, blocks, block * bits // 8)),
                      tensor(np.round(random.normal(size=(columns, blocks)), 3), tag)]
            if zeros == "u8":
                inputs.append(numbers((columns, -(-blocks * bits // 8))))
            elif zeros:
                inputs.append(tensor(np.round(random.normal(size=(columns, blocks)) + 2 ** (bits - 1), 2), tag))
            largest = widen(inputs[2]).abs().max().item() * 2**bits if blocks else 1
            scale = widen(inputs[0]).abs().sum(1).max().item() * largest if rows and depth else 1
            wide = tag in WIDE_FLOATS
            book.case("quantised_matmul", label, inputs, args={"bits": bits}, torch_fn=few_bits_product(bits), tolerance="sum",
                      scale=max(scale, 1), gradient=wide and depth > 0 and rows > 0, second=tag == "f64" and depth > 0 and rows > 0)


def fill(book):
    fill_matmul(book)
    fill_quantised(book)
    fill_pairs(book)
    fill_einsum(book)
