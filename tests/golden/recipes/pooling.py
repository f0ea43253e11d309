# SPDX-License-Identifier: MIT
"""Maximum and average pooling in one to three dimensions, with gradients; padding as in convolution."""

import numpy as np
import torch
import torch.nn.functional as nnf

from recipes.book import WIDE_FLOATS, tensor
from recipes.convolution import channels_first, channels_last, pad_space, widths_of

MAXIMUM = {1: nnf.max_pool1d, 2: nnf.max_pool2d, 3: nnf.max_pool3d}
ADAPTIVE = {1: nnf.adaptive_avg_pool1d, 2: nnf.adaptive_avg_pool2d, 3: nnf.adaptive_avg_pool3d}
AVERAGE = {1: nnf.avg_pool1d, 2: nnf.avg_pool2d, 3: nnf.avg_pool3d}

# label, image, window, stride, padding
POOLS = [
    ("1d_valid", (2, 7, 3), [2], [2], "valid"), ("1d_same", (2, 7, 3), [3], [2], "same"),
    ("1d_overlap", (1, 6, 2), [3], [1], "same"), ("1d_explicit", (1, 6, 2), [3], [2], [[1, 2]]),
    ("2d_valid", (2, 6, 6, 3), [2, 2], [2, 2], "valid"), ("2d_valid_rest", (1, 7, 5, 2), [2, 2], [2, 2], "valid"),
    ("2d_same", (2, 5, 7, 3), [2, 2], [2, 2], "same"), ("2d_same_overlap", (1, 5, 5, 2), [3, 3], [1, 1], "same"),
    ("2d_overlap", (1, 6, 6, 2), [3, 2], [2, 1], "valid"),
    ("2d_explicit", (1, 5, 6, 2), [3, 3], [2, 2], [[1, 1], [2, 0]]),
    ("2d_window_is_image", (2, 4, 3, 2), [4, 3], [1, 1], "valid"), ("2d_gaps", (1, 7, 7, 1), [2, 2], [3, 3], "valid"),
    ("2d_channels17", (1, 4, 4, 17), [2, 2], [2, 2], "valid"), ("2d_no_images", (0, 4, 4, 2), [2, 2], [2, 2], "valid"),
    ("3d_valid", (1, 4, 4, 4, 2), [2, 2, 2], [2, 2, 2], "valid"),
    ("3d_same", (1, 3, 5, 4, 2), [2, 3, 2], [2, 2, 1], "same"),
    ("3d_explicit", (1, 3, 3, 4, 1), [2, 2, 3], [1, 2, 2], [[1, 0], [0, 1], [1, 1]]),
]


def padded(x, window, stride, padding, value=0.0):
    widths = widths_of(padding, x.shape[1:-1], window, stride, [1] * len(window))
    return pad_space(channels_first(x), widths, value)


def pool_maximum(x, window, stride, padding):
    return channels_last(MAXIMUM[len(window)](padded(x, window, stride, padding, -torch.inf), window, stride))


def pool_average(x, window, stride, padding, count_padding):
    sums = AVERAGE[len(window)](padded(x, window, stride, padding), window, stride)
    if not count_padding:
        sums = sums / AVERAGE[len(window)](padded(torch.ones_like(x), window, stride, padding), window, stride)
    return channels_last(sums)


def fill(book):
    for label, shape, window, stride, padding in POOLS:
        args = {"window": window, "stride": stride, "padding": padding}
        narrow = ("bf16", "f16") if label in ("1d_same", "2d_valid", "2d_explicit", "3d_same") else ()
        for tag in WIDE_FLOATS + narrow:
            random = book.random(f"pool{shape}")
            count = int(np.prod(shape))  # distinct integers: no ties, and exact in every type up to 256
            values = random.permutation(np.arange(count) - count // 2).reshape(shape)
            x = tensor(values / (4 if tag in WIDE_FLOATS else 1), tag)
            book.case("max_pool", label, [x], args=args, gradient=tag in WIDE_FLOATS, second=False,
                      torch_fn=lambda v: pool_maximum(v, window, stride, padding))
            for counted in ((False, True) if padding != "valid" else (False,)):
                book.case("average_pool", label + ("_counted" if counted else ""), [x], tolerance="composed",
                          args={**args, "count_padding": counted}, gradient=tag in WIDE_FLOATS, second=tag == "f64",
                          torch_fn=lambda v: pool_average(v, window, stride, padding, counted))
            if len(window) == 2 and tag == "f64":
                args_nchw = {**args, "layout": "nchw"}
                book.case("max_pool", label + "_channels_first", [tensor(channels_first(x), tag)], args=args_nchw,
                          gradient=True, torch_fn=lambda v: channels_first(
                              pool_maximum(channels_last(v), window, stride, padding)))
                book.case("average_pool", label + "_channels_first", [tensor(channels_first(x), tag)],
                          args={**args_nchw, "count_padding": False}, gradient=True, tolerance="composed",
                          torch_fn=lambda v: channels_first(
                              pool_average(channels_last(v), window, stride, padding, False)))
    for label, shape, window, dilation in (("1d_dilated", (1, 8, 2), [3], [2]),
                                           ("2d_dilated", (1, 6, 7, 2), [2, 3], [3, 2])):
        for tag in WIDE_FLOATS:
            x = tensor(book.random(label).permutation(int(np.prod(shape))).reshape(shape), tag)
            book.case("max_pool", label, [x], gradient=True,
                      args={"window": window, "stride": [1] * len(window), "padding": "valid", "dilation": dilation},
                      torch_fn=lambda v: channels_last(MAXIMUM[len(window)](channels_first(v), window, 1, 0, dilation)))
    for label, shape in (("1d", (2, 5, 3)), ("2d", (2, 3, 4, 2)), ("3d", (1, 2, 2, 3, 2))):
        for keepdims in (False, True):
            for tag in ("f32", "f64", "bf16"):
                x = tensor(np.round(book.random(f"global{tag}").normal(size=shape), 2), tag)
                space = tuple(range(1, len(shape) - 1))
                book.case("global_average_pool", label + "_keep" * keepdims, [x], args={"keepdims": keepdims},
                          tolerance="composed", gradient=tag in WIDE_FLOATS, second=tag == "f64",
                          torch_fn=lambda v: v.mean(space, keepdim=keepdims))
    shapes = (("1d", (2, 5, 3), [3]), ("2d", (2, 7, 4, 2), [3, 2]), ("wider", (1, 2, 3, 1), [5, 3]),
              ("3d", (1, 2, 5, 3, 2), [1, 2, 2]))
    for label, shape, size in shapes:
        for tag in ("f32", "f64", "bf16"):
            x = tensor(np.round(book.random(f"adaptive{tag}").normal(size=shape), 2), tag)
            pool = ADAPTIVE[len(size)]
            book.case("adaptive_average_pool", label, [x], args={"size": size}, tolerance="composed",
                      gradient=tag in WIDE_FLOATS, second=tag == "f64",
                      torch_fn=lambda v: channels_last(pool(channels_first(v), size)))
            if tag == "bf16":
                continue
            x = tensor(np.round(book.random(f"adaptive{tag}").normal(size=(shape[0], shape[-1], *shape[1:-1])), 2), tag)
            book.case("adaptive_average_pool", label + "_channels_first", [x], args={"size": size, "layout": "nchw"},
                      tolerance="composed", gradient=True, torch_fn=lambda v: pool(v, size))
    x = tensor([[[1.0], [np.nan], [2.0], [3.0], [-np.inf], [-np.inf]]], "f32")
    book.case("adaptive_average_pool", "special", [x], args={"size": [4]},
              torch_fn=lambda v: channels_last(ADAPTIVE[1](channels_first(v), [4])))
    args = {"window": [2], "stride": [2], "padding": "valid"}
    book.case("max_pool", "special", [x], args=args, torch_fn=lambda v: pool_maximum(v, [2], [2], "valid"))
