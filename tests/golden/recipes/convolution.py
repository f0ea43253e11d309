# SPDX-License-Identifier: MIT
"""Convolution, forward and both gradients, in one to three dimensions; its transpose; up-sampling.

Images are N, space..., channels; kernels are space..., channels in (of one group), channels out. SAME is TensorFlow's:
the output has ceil(n / stride) places, total = max((ceil(n / stride) - 1) * stride + (k - 1) * dilation + 1 - n, 0) is
padded, of which total / 2, rounded down, before.
"""

import numpy as np
import torch
import torch.nn.functional as nnf

from recipes.book import WIDE_FLOATS, tensor, widen

CONVOLVE = {1: nnf.conv1d, 2: nnf.conv2d, 3: nnf.conv3d}
TRANSPOSE = {1: nnf.conv_transpose1d, 2: nnf.conv_transpose2d, 3: nnf.conv_transpose3d}


def channels_first(x):
    return x.movedim(-1, 1)


def channels_last(x):
    return x.movedim(1, -1)


def widths_of(padding, sizes, kernel, stride, dilation):
    """Explicit [before, after] of each dimension."""
    if padding == "valid":
        return [[0, 0] for _ in sizes]
    if padding != "same":
        return padding
    totals = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(sizes, kernel, stride, dilation)]
    return [[total // 2, total - total // 2] for total in totals]


def pad_space(x, widths, value=0.0):
    """Pads the space of a channels-first image; PyTorch lists the last dimension first."""
    return nnf.pad(x, [w for pair in reversed(widths) for w in pair], value=value)


def convolve(x, kernel, stride, dilation, groups, padding):
    dims = x.dim() - 2
    widths = widths_of(padding, x.shape[1:-1], kernel.shape[:dims], stride, dilation)
    weight = kernel.permute(dims + 1, dims, *range(dims))
    out = CONVOLVE[dims](pad_space(channels_first(x), widths), weight, None, stride, 0, dilation, groups)
    return channels_last(out)


def convolve_transposed(x, kernel, stride, dilation, groups, padding, output_padding):
    """Every input element adds its multiple of the kernel to the output; padding crops; SAME gives n * stride."""
    dims = x.dim() - 2
    weight = kernel.permute(dims + 1, dims, *range(dims))
    full = TRANSPOSE[dims](channels_first(x), weight, None, stride, 0, 0, groups, dilation)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel.shape, dilation)]
    for axis, (n, extent, s, extra) in enumerate(zip(x.shape[1:-1], extents, stride, output_padding)):
        if padding == "same":
            before, count = max(extent - s, 0) // 2, n * s
        else:
            before, after = padding[axis] if padding != "valid" else (0, 0)
            count = (n - 1) * s + extent - before - after + extra
        missing = max(before + count - full.shape[axis + 2], 0)  # places that no input element reaches are zero
        full = pad_space(full, [[0, missing if i == axis else 0] for i in range(dims)])
        full = full.narrow(axis + 2, before, count)
    return channels_last(full)


# label, image, kernel, stride, dilation, groups, padding
CONVOLUTIONS = [
    ("1d_valid", (2, 7, 3), (3, 3, 4), [1], [1], 1, "valid"), ("1d_same", (2, 7, 3), (3, 3, 4), [1], [1], 1, "same"),
    ("1d_same_stride", (1, 8, 2), (3, 2, 3), [2], [1], 1, "same"),
    ("1d_even_kernel", (1, 6, 2), (4, 2, 2), [1], [1], 1, "same"),
    ("1d_dilated", (1, 9, 2), (3, 2, 2), [1], [2], 1, "valid"),
    ("1d_dilated_same", (1, 9, 2), (3, 2, 2), [1], [3], 1, "same"),
    ("1d_explicit", (1, 6, 2), (3, 2, 2), [2], [1], 1, [[2, 1]]),
    ("1d_groups", (1, 6, 4), (3, 2, 6), [1], [1], 2, "same"),
    ("1d_depthwise", (2, 6, 3), (3, 1, 3), [1], [1], 3, "same"),
    ("1d_one_output", (1, 3, 2), (3, 2, 1), [1], [1], 1, "valid"),
    ("2d_valid", (2, 5, 6, 3), (3, 2, 3, 4), [1, 1], [1, 1], 1, "valid"),
    ("2d_same", (2, 5, 6, 3), (3, 3, 3, 4), [1, 1], [1, 1], 1, "same"),
    ("2d_same_stride", (1, 7, 8, 2), (3, 3, 2, 3), [2, 2], [1, 1], 1, "same"),
    ("2d_same_stride3", (1, 7, 8, 2), (2, 5, 2, 2), [3, 2], [1, 1], 1, "same"),
    ("2d_valid_stride", (1, 8, 7, 2), (3, 2, 2, 3), [2, 3], [1, 1], 1, "valid"),
    ("2d_pointwise", (2, 3, 4, 5), (1, 1, 5, 3), [1, 1], [1, 1], 1, "same"),
    ("2d_pointwise_stride", (1, 5, 5, 3), (1, 1, 3, 4), [2, 2], [1, 1], 1, "same"),
    ("2d_dilated", (1, 7, 8, 2), (3, 2, 2, 2), [1, 1], [2, 3], 1, "valid"),
    ("2d_dilated_same", (1, 6, 7, 2), (3, 3, 2, 2), [1, 1], [2, 2], 1, "same"),
    ("2d_dilated_stride", (1, 9, 9, 2), (3, 3, 2, 2), [2, 2], [2, 2], 1, "same"),
    ("2d_explicit", (1, 5, 5, 2), (3, 3, 2, 3), [1, 2], [1, 1], 1, [[0, 2], [1, 3]]),
    ("2d_groups", (2, 5, 5, 4), (3, 3, 2, 6), [1, 1], [1, 1], 2, "same"),
    ("2d_depthwise", (1, 6, 6, 4), (3, 3, 1, 4), [1, 1], [1, 1], 4, "same"),
    ("2d_depthwise_double", (1, 5, 5, 3), (3, 3, 1, 6), [2, 2], [1, 1], 3, "valid"),
    ("2d_kernel_is_image", (2, 4, 4, 3), (4, 4, 3, 5), [1, 1], [1, 1], 1, "valid"),
    ("2d_kernel_beyond_image", (1, 2, 3, 2), (5, 5, 2, 2), [1, 1], [1, 1], 1, "same"),
    ("2d_channels17", (1, 4, 4, 17), (3, 3, 17, 19), [1, 1], [1, 1], 1, "same"),
    ("2d_no_images", (0, 4, 4, 2), (3, 3, 2, 3), [1, 1], [1, 1], 1, "same"),
    ("3d_valid", (1, 4, 5, 4, 2), (2, 3, 2, 2, 3), [1, 1, 1], [1, 1, 1], 1, "valid"),
    ("3d_same", (1, 3, 4, 5, 2), (3, 3, 3, 2, 2), [1, 1, 1], [1, 1, 1], 1, "same"),
    ("3d_same_stride", (1, 4, 5, 4, 2), (3, 2, 3, 2, 2), [2, 1, 2], [1, 1, 1], 1, "same"),
    ("3d_dilated", (1, 5, 5, 5, 1), (2, 2, 2, 1, 2), [1, 1, 1], [2, 1, 3], 1, "valid"),
    ("3d_explicit", (1, 3, 3, 4, 2), (2, 2, 2, 2, 2), [1, 2, 1], [1, 1, 1], 1, [[1, 0], [0, 1], [1, 1]]),
    ("3d_groups", (1, 3, 4, 3, 4), (2, 2, 2, 2, 4), [1, 1, 1], [1, 1, 1], 2, "same"),
]

# label, image, kernel (window..., out of one group, in), stride, padding, and what is not 1, 1 and 0 of the others
TRANSPOSED = [
    ("1d_valid", (2, 4, 3), (3, 2, 3), [1], "valid", {}),
    ("1d_valid_stride", (1, 4, 2), (3, 3, 2), [2], "valid", {}),
    ("1d_same", (1, 5, 2), (3, 2, 2), [1], "same", {}),
    ("1d_same_stride", (1, 4, 2), (3, 2, 2), [2], "same", {}),
    ("1d_same_even", (1, 4, 2), (4, 2, 2), [2], "same", {}),
    ("1d_stride_beyond_kernel", (1, 3, 2), (2, 2, 2), [3], "same", {}),
    ("1d_explicit", (1, 5, 2), (4, 2, 2), [2], [[1, 2]], {}),
    ("2d_valid", (2, 3, 4, 2), (3, 2, 3, 2), [1, 1], "valid", {}),
    ("2d_valid_stride", (1, 3, 3, 2), (3, 2, 3, 2), [2, 3], "valid", {}),
    ("2d_same", (1, 4, 5, 3), (3, 3, 2, 3), [1, 1], "same", {}),
    ("2d_same_stride", (1, 3, 4, 2), (3, 3, 4, 2), [2, 2], "same", {}),
    ("2d_same_uneven", (1, 3, 4, 2), (5, 2, 2, 2), [3, 1], "same", {}),
    ("2d_explicit", (1, 4, 4, 2), (3, 4, 2, 2), [2, 1], [[1, 0], [2, 1]], {}),
    ("3d_valid", (1, 2, 3, 2, 2), (2, 3, 2, 2, 2), [1, 1, 1], "valid", {}),
    ("3d_same_stride", (1, 2, 2, 3, 2), (3, 2, 3, 2, 2), [2, 2, 1], "same", {}),
    ("3d_explicit", (1, 3, 2, 3, 1), (2, 2, 3, 2, 1), [1, 2, 1], [[1, 0], [0, 1], [1, 1]], {}),
    ("1d_dilated", (1, 4, 2), (3, 3, 2), [1], "valid", {"dilation": [2]}),
    ("1d_groups", (1, 4, 4), (3, 3, 4), [2], "same", {"groups": 2}),
    ("2d_dilated_same", (1, 3, 4, 2), (2, 3, 3, 2), [2, 1], "same", {"dilation": [2, 2]}),
    ("2d_depthwise", (1, 3, 3, 3), (3, 3, 1, 3), [2, 2], "same", {"groups": 3}),
    ("2d_output_padding", (1, 3, 3, 2), (3, 3, 2, 2), [2, 2], [[1, 1], [1, 1]], {"output_padding": [1, 1]}),
    ("2d_output_padding_valid", (1, 2, 3, 2), (2, 2, 2, 2), [3, 2], "valid", {"output_padding": [2, 1]}),
    ("3d_groups_dilated", (1, 2, 2, 3, 4), (2, 2, 2, 1, 4), [1, 2, 1], "valid", {"groups": 2, "dilation": [2, 1, 1]}),
]


def operand(book, name, shape, tag):
    return tensor(np.round(book.random(name).normal(size=shape), 3), tag)


def add(book, op, label, shapes, function, args, tag, second):
    inputs = [operand(book, f"{i}{shape}{tag}", shape, tag) for i, shape in enumerate(shapes)]
    magnitude = function(*[widen(value).abs() for value in inputs])
    book.case(op, label, inputs, args=args, torch_fn=function, tolerance="sum",
              scale=max(float(magnitude.max()) if magnitude.numel() else 0, 1), gradient=tag in WIDE_FLOATS,
              second=second and tag == "f64")


def fill_upsampling(book):
    for tag in ("f32", "f64", "bf16", "f16"):
        for label, shape, scale in (("two", (1, 2, 3, 2), [2, 2]), ("uneven", (2, 3, 2, 1), [1, 3]),
                                    ("one", (1, 1, 1, 2), [4, 4])):
            x = operand(book, f"up{shape}{tag}", shape, tag)
            for op, mode in (("upsample_nearest", "nearest"), ("upsample_bilinear", "bilinear")):
                more = {"align_corners": False} if mode == "bilinear" else {}
                book.case(op, f"2d_{label}", [x], args={"scale": scale}, tolerance="composed",
                          gradient=tag in WIDE_FLOATS,
                          torch_fn=lambda v: channels_last(nnf.interpolate(
                              channels_first(v), scale_factor=[float(s) for s in scale], mode=mode, **more)))
    for label, shape, scale in (("1d", (2, 3, 2), [3]), ("3d", (1, 2, 1, 2, 2), [2, 1, 3])):
        x = operand(book, f"up{shape}", shape, "f32")
        book.case("upsample_nearest", label, [x], args={"scale": scale}, gradient=True,
                  torch_fn=lambda v: channels_last(nnf.interpolate(
                      channels_first(v), scale_factor=[float(s) for s in scale], mode="nearest")))


def fill_channels_first(book):
    """The same on images N, channels, space... with kernels out, in, space...: PyTorch's own layout."""
    args = {"stride": [2, 1], "dilation": [1, 1], "groups": 1, "padding": [[1, 1], [0, 0]], "layout": "nchw"}
    for tag in WIDE_FLOATS:
        add(book, "convolution", "2d_channels_first", ((1, 3, 5, 4), (2, 3, 3, 2)),
            lambda x, k: nnf.conv2d(x, k, None, (2, 1), (1, 0)), args, tag, second=True)
        add(book, "convolution", "1d_channels_first", ((2, 3, 6), (4, 3, 3)),
            lambda x, k: nnf.conv1d(x, k), {"stride": [1], "dilation": [1], "groups": 1, "padding": "valid",
                                            "layout": "nchw"}, tag, second=True)
        add(book, "convolution", "3d_channels_first_groups", ((1, 2, 3, 3, 4), (4, 1, 2, 2, 2)),
            lambda x, k: nnf.conv3d(x, k, groups=2), {"stride": [1] * 3, "dilation": [1] * 3, "groups": 2,
                                                      "padding": "valid", "layout": "nchw"}, tag, second=True)
        add(book, "transposed_convolution", "2d_channels_first", ((1, 2, 3, 4), (2, 3, 3, 2)),
            lambda x, k: nnf.conv_transpose2d(x, k, None, 2, 1),
            {"stride": [2, 2], "dilation": [1, 1], "groups": 1, "padding": [[1, 1], [1, 1]], "output_padding": [0, 0],
             "layout": "nchw"}, tag, second=True)
    for op, mode in (("upsample_nearest", "nearest"), ("upsample_bilinear", "bilinear")):
        more = {"align_corners": False} if mode == "bilinear" else {}
        book.case(op, "2d_channels_first", [operand(book, "up_channels_first", (2, 3, 2, 4), "f32")],
                  args={"scale": [2, 3], "layout": "nchw"}, tolerance="composed", gradient=True,
                  torch_fn=lambda v: nnf.interpolate(v, scale_factor=[2.0, 3.0], mode=mode, **more))


def fill(book):
    for label, image, kernel, stride, dilation, groups, padding in CONVOLUTIONS:
        args = {"stride": stride, "dilation": dilation, "groups": groups, "padding": padding}
        narrow = ("bf16", "f16") if label in ("1d_same", "2d_same", "2d_groups", "3d_same") else ()
        for tag in WIDE_FLOATS + narrow:
            add(book, "convolution", label, (image, kernel), lambda x, k: convolve(x, k, **args), args, tag,
                second=label != "2d_channels17")
    for label, image, kernel, stride, padding, more in TRANSPOSED:
        ones = [1] * len(stride)
        args = {"stride": stride, "dilation": ones, "groups": 1, "padding": padding,
                "output_padding": [0] * len(stride), **more}
        narrow = ("bf16", "f16") if label in ("1d_same", "2d_same", "3d_valid") else ()
        for tag in WIDE_FLOATS + narrow:
            add(book, "transposed_convolution", label, (image, kernel), lambda x, k: convolve_transposed(x, k, **args),
                args, tag, second=True)
    fill_channels_first(book)
    fill_upsampling(book)
