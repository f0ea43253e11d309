# SPDX-License-Identifier: MIT
"""Softmax, its logarithm, cross-entropy, the mean squared error, and attention."""

import numpy as np
import scipy.special as special
import torch
import torch.nn.functional as nnf

from recipes.book import FLOATS, WIDE_FLOATS, tensor


def attention(q, k, v, mask=None, causal=False, scale=1.0):
    scores = scale * q @ k.transpose(-1, -2)
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if causal:
        scores = torch.where(torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), scores, -torch.inf)
    return torch.softmax(scores, -1) @ v


def fill_attention(book):
    for tag in FLOATS:
        random = book.random(f"attention.{tag}")
        q, k, v = (tensor(np.round(random.normal(size=(2, rows, columns)), 2), tag)
                   for rows, columns in ((4, 3), (5, 3), (5, 2)))
        for name, inputs, causal in (("plain", [], False), ("causal", [], True),
                                     ("masked", [tensor(np.arange(20).reshape(4, 5) % 3 != 1, "bool")], False),
                                     ("added", [tensor(np.round(random.normal(size=(4, 5)), 2), tag)], True)):
            book.case("scaled_dot_product_attention", name, [q, k, v, *inputs], args={"causal": causal, "scale": 0.7},
                      torch_fn=lambda *given, c=causal: attention(*given, causal=c, scale=0.7), tolerance="composed",
                      gradient=tag in WIDE_FLOATS, second=tag == "f64")
    long = [tensor(book.random("attention.long").normal(size=(1, rows, 4)), "f32") for rows in (100, 300, 300)]
    book.case("scaled_dot_product_attention", "long", long, args={"causal": False, "scale": 0.5}, tolerance="composed",
              torch_fn=lambda q, k, v: attention(q, k, v, scale=0.5), gradient=True)


def fill(book):
    fill_attention(book)
    for op, reference, torch_fn in (("softmax", special.softmax, torch.softmax),
                                    ("log_softmax", special.log_softmax, torch.log_softmax)):
        for tag in FLOATS:
            x = tensor(np.round(book.random(f"logits.{tag}").normal(size=(2, 3, 4)) * 2, 2), tag)
            for axis in (0, 1, -1):
                book.case(op, f"axis{axis}", [x], args={"axis": axis}, numpy=lambda v: reference(v, axis=axis),
                          torch_fn=lambda v: torch_fn(v, axis), tolerance="composed", source="scipy",
                          gradient=tag in WIDE_FLOATS, second=tag == "f64")
            large = tensor([[1000, 1001, 999], [-1000, -1001, -999], [0, 1e4, -1e4]], tag)
            book.case(op, "large", [large], args={"axis": 1}, torch_fn=lambda v: torch_fn(v, 1), tolerance="composed",
                      gradient=tag in WIDE_FLOATS)
            special_rows = tensor([[0, -np.inf, 1], [np.nan, 1, 2], [-np.inf, -np.inf, 3]], tag)
            book.case(op, "special", [special_rows], args={"axis": 1}, torch_fn=lambda v: torch_fn(v, 1),
                      tolerance="composed")
        book.case(op, "one", [tensor([[3.0], [-2.0]], "f32")], args={"axis": 1}, torch_fn=lambda v: torch_fn(v, 1),
                  tolerance="composed", gradient=True)
        book.case(op, "long", [tensor(book.random("long").normal(size=(2, 131)), "f32")], args={"axis": -1},
                  torch_fn=lambda v: torch_fn(v, 1), tolerance="composed", gradient=True)
        book.case(op, "empty", [torch.zeros((0, 3))], args={"axis": 1}, torch_fn=lambda v: torch_fn(v, 1),
                  tolerance="composed", gradient=True)

    for tag in FLOATS:
        x = tensor(np.round(book.random(f"entropy.{tag}").normal(size=(4, 5)) * 2, 2), tag)
        for kind in ("i64", "i32"):
            labels = tensor([1, 0, 4, 1], kind)
            book.case("cross_entropy", f"labels_{kind}", [x, labels], tolerance="composed", second=tag == "f64",
                      torch_fn=lambda v, t: nnf.cross_entropy(v, t.long()), gradient=tag in WIDE_FLOATS)
        target = tensor(special.softmax(book.random("target").normal(size=(4, 5)), axis=1), tag)
        book.case("cross_entropy", "probabilities", [x, target], tolerance="composed",
                  torch_fn=lambda v, t: -(t * torch.log_softmax(v, 1)).sum(1).mean(), gradient=tag in WIDE_FLOATS,
                  second=tag == "f64")
        large = tensor([[1000, -1000, 0], [0, 500, -500]], tag)
        book.case("cross_entropy", "large", [large, tensor([0, 2], "i64")], tolerance="composed",
                  torch_fn=lambda v, t: nnf.cross_entropy(v, t), gradient=tag in WIDE_FLOATS)
        book.case("mean_squared_error", "matrix", [x, target], tolerance="composed", torch_fn=nnf.mse_loss,
                  gradient=tag in WIDE_FLOATS, second=tag == "f64")
    book.case("cross_entropy", "one_row", [tensor([[0.5, 1.5]], "f32"), tensor([1], "i64")], tolerance="composed",
              torch_fn=nnf.cross_entropy, gradient=True)
