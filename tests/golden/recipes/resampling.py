# SPDX-License-Identifier: MIT
"""Resampling: resizing, sampling along grids and in boxes, pads that repeat, windows beyond the end;
and operators that write several values to one place."""

import numpy as np
import torch
import torch.nn.functional as nnf

from recipes.book import INTS, WIDE_FLOATS, tensor
from recipes.convolution import channels_first, channels_last


def drawn(book, name, shape, tag, scale=1.0):
    return tensor(np.round(book.random(name).normal(size=shape) * scale, 3), tag)


# label, image, size, torch's mode and align_corners, ours
RESIZES = [
    ("linear_1d", (2, 5, 3), [8], "linear", False, "linear", "half_pixel"),
    ("linear_1d_corners", (1, 5, 2), [3], "linear", True, "linear", "corners"),
    ("bilinear_larger", (2, 4, 5, 3), [7, 9], "bilinear", False, "linear", "half_pixel"),
    ("bilinear_smaller", (1, 8, 7, 2), [3, 4], "bilinear", False, "linear", "half_pixel"),
    ("bilinear_corners", (1, 4, 5, 2), [6, 3], "bilinear", True, "linear", "corners"),
    ("bilinear_to_one", (1, 4, 5, 1), [1, 1], "bilinear", True, "linear", "corners"),
    ("bicubic", (1, 5, 6, 2), [8, 9], "bicubic", False, "cubic", "half_pixel"),
    ("bicubic_smaller", (1, 7, 6, 1), [3, 4], "bicubic", False, "cubic", "half_pixel"),
    ("bicubic_corners", (1, 5, 4, 1), [7, 3], "bicubic", True, "cubic", "corners"),
    ("trilinear", (1, 3, 4, 2, 2), [5, 2, 3], "trilinear", False, "linear", "half_pixel"),
    ("one_pixel", (1, 1, 1, 2), [3, 2], "bilinear", False, "linear", "half_pixel"),
    ("no_images", (0, 3, 3, 1), [2, 2], "bilinear", False, "linear", "half_pixel"),
]


def fill_resizes(book):
    for label, shape, size, mode, corners, method, coordinates in RESIZES:
        for tag in WIDE_FLOATS:
            args = {"size": size, "method": method, "coordinates": coordinates}
            book.case("resize", label, [drawn(book, label, shape, tag)], args=args, gradient=shape[0] > 0,
                      tolerance="sum" if shape[0] else "exact", scale=8,
                      torch_fn=lambda v: channels_last(nnf.interpolate(
                          channels_first(v), size=size, mode=mode, align_corners=corners)) if shape[0] else
                      torch.zeros((0, *size, shape[-1]), dtype=v.dtype))
    for mode, nearest, coordinates in (("nearest", "floor", "asymmetric"), ("nearest-exact", "round_up", "half_pixel")):
        for tag in WIDE_FLOATS + ("f16", "i32"):
            for size in ([7, 5], [2, 3], [4, 6]):
                x = drawn(book, f"nearest{size}", (1, 4, 6, 2), tag, 9)
                book.case("resize", f"{mode}_{size[0]}_{tag}", [x], gradient=tag in WIDE_FLOATS, out=tag,
                          args={"size": size, "method": "nearest", "nearest": nearest, "coordinates": coordinates},
                          torch_fn=lambda v: channels_last(nnf.interpolate(
                              channels_first(v.double()), size=size, mode=mode)))


def fill_grids(book):
    for mode, method in (("bilinear", "linear"), ("nearest", "nearest"), ("bicubic", "cubic")):
        for outside, ours in (("zeros", "zeros"), ("border", "edge"), ("reflection", "reflection")):
            for corners in (False, True):
                x = drawn(book, f"grid{mode}", (2, 4, 5, 3), "f64")
                grid = tensor(np.round(book.random(f"places{mode}").uniform(-1.6, 1.6, size=(2, 3, 4, 2)), 3), "f64")
                args = {"method": method, "outside": ours, "corners": corners}

                def sampled(v, places):
                    return channels_last(nnf.grid_sample(channels_first(v), places, mode=mode, padding_mode=outside,
                                                         align_corners=corners))
                book.case("grid_sample", f"{mode}_{outside}_{corners}", [x, grid], args=args, torch_fn=sampled,
                          tolerance="sum", scale=8, gradient=method == "linear" and ours != "reflection")
                book.case("grid_sample", f"{mode}_{outside}_{corners}_single", [x.float(), grid.float()], args=args,
                          torch_fn=sampled, tolerance="sum", scale=8)
    x, grid = drawn(book, "volume", (1, 3, 2, 4, 2), "f64"), tensor(
        np.round(book.random("volumes").uniform(-1.2, 1.2, size=(1, 2, 2, 3, 3)), 3), "f64")
    book.case("grid_sample", "volume", [x, grid], args={"method": "linear", "outside": "zeros", "corners": False},
              torch_fn=lambda v, p: channels_last(nnf.grid_sample(channels_first(v), p, align_corners=False)),
              tolerance="composed", gradient=True)


def bilinear_at(image, y, x):
    """One place of an image (height, width, channels), as torchvision reads it."""
    height, width = image.shape[:2]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(image.shape[2])
    y, x = max(y, 0.0), max(x, 0.0)
    low_y, low_x = int(y), int(x)
    high_y, high_x = low_y + 1, low_x + 1
    if low_y >= height - 1:
        low_y = high_y = height - 1
        y = float(low_y)
    if low_x >= width - 1:
        low_x = high_x = width - 1
        x = float(low_x)
    ly, lx = y - low_y, x - low_x
    return ((1 - ly) * (1 - lx) * image[low_y, low_x] + (1 - ly) * lx * image[low_y, high_x]
            + ly * (1 - lx) * image[high_y, low_x] + ly * lx * image[high_y, high_x])


def roi_align(images, boxes, numbers, size, scale, samples, aligned, maximum):
    """The definition of torchvision.ops.roi_align, loop by loop."""
    out = np.zeros((len(boxes), *size, images.shape[3]))
    offset = 0.5 if aligned else 0.0
    for k, (box, number) in enumerate(zip(boxes, numbers)):
        x1, y1, x2, y2 = box * scale - offset
        height, width = y2 - y1, x2 - x1
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        for i in range(size[0]):
            for j in range(size[1]):
                found = [bilinear_at(images[number], y1 + height / size[0] * (i + (a + 0.5) / samples),
                                     x1 + width / size[1] * (j + (b + 0.5) / samples))
                         for a in range(samples) for b in range(samples)]
                out[k, i, j] = np.max(found, axis=0) if maximum else np.mean(found, axis=0)
    return out


def fill_boxes(book):
    for tag in WIDE_FLOATS:
        images = drawn(book, "roi", (2, 6, 7, 2), tag)
        boxes = tensor([[0, 0, 6, 5], [1.5, 0.5, 4.25, 5.5], [-2, -3, 9, 8], [3, 3, 3, 3]], tag)
        numbers = tensor([0, 1, 1, 0], "i64")
        for aligned in (False, True):
            for maximum in (False, True):
                args = {"size": [3, 2], "scale": 0.75, "samples": 2, "aligned": aligned, "maximum": maximum}
                book.case("roi_align", f"{aligned}_{maximum}", [images, boxes, numbers], args=args, out=tag,
                          numpy=lambda v, b, n: roi_align(v, b, n, (3, 2), 0.75, 2, aligned, maximum),
                          tolerance="composed")

        def kept(boxes, scores, count, overlap, score):
            order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > score]
            chosen = []
            for i in order:
                def part(j):
                    width = max(min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0]), 0)
                    height = max(min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1]), 0)
                    areas = [np.prod(boxes[k, 2:] - boxes[k, :2]) for k in (i, j)]
                    return width * height / (sum(areas) - width * height)
                if len(chosen) < count and all(part(j) <= overlap for j in chosen):
                    chosen.append(i)
            return np.array(chosen + [-1] * (count - len(chosen)), dtype=np.int64), np.int64(len(chosen))

        random = book.random(f"nms{tag}")
        corners = np.round(random.uniform(0, 8, size=(20, 2)), 2)
        boxes = tensor(np.concatenate([corners, corners + np.round(random.uniform(1, 5, size=(20, 2)), 2)], 1), tag)
        scores = tensor(np.round(random.uniform(size=20), 1), tag)
        for count, overlap, score in ((20, 0.5, -1.0), (5, 0.3, 0.25), (30, 0.0, -1.0), (3, 1.0, 0.9)):
            book.case("nms", f"{count}", [boxes, scores], args={"count": count, "overlap": overlap, "score": score},
                      out=["i64", "i64"], numpy=lambda b, s: kept(b, s, count, overlap, score))
        book.case("nms", "no_boxes", [tensor(np.zeros((0, 4)), tag), tensor(np.zeros(0), tag)], out=["i64", "i64"],
                  args={"count": 2, "overlap": 0.5, "score": 0.0},
                  numpy=lambda b, s: (np.array([-1, -1]), np.int64(0)))


def fill_windows(book):
    """Windows beyond the end, as PyTorch's ceil_mode."""
    for label, shape, window, stride, padding in (
            ("1d", (1, 6, 2), [3], [2], [0]), ("1d_padded", (1, 7, 2), [3], [3], [1]),
            ("2d", (1, 5, 7, 2), [2, 3], [2, 2], [0, 1]),
            ("2d_far", (1, 4, 4, 1), [2, 2], [3, 3], [1, 1]), ("3d", (1, 3, 4, 5, 1), [2, 2, 2], [2, 2, 3], [0, 0, 1])):
        axes = len(window)
        maximum = {1: nnf.max_pool1d, 2: nnf.max_pool2d, 3: nnf.max_pool3d}[axes]
        average = {1: nnf.avg_pool1d, 2: nnf.avg_pool2d, 3: nnf.avg_pool3d}[axes]
        args = {"window": window, "stride": stride, "padding": [[p, p] for p in padding], "ceil_mode": True}
        x = tensor(book.random(label).permutation(np.arange(np.prod(shape)) - 9.0).reshape(shape), "f64")
        book.case("max_pool", f"ceil_{label}", [x], args=args, gradient=True, torch_fn=lambda v: channels_last(
            maximum(channels_first(v), window, stride, padding, ceil_mode=True)))
        for counted in (False, True):
            book.case("average_pool", f"ceil_{label}_{counted}", [x], args={**args, "count_padding": counted},
                      gradient=True, tolerance="composed", torch_fn=lambda v: channels_last(average(
                          channels_first(v), window, stride, padding, ceil_mode=True, count_include_pad=counted)))


def fill_pads(book):
    for mode in ("symmetric", "wrap"):
        for label, shape, widths in (("vector", (4,), [[2, 3]]), ("twice_round", (3,), [[7, 8]]),
                                     ("matrix", (3, 4), [[1, 2], [0, 5]]), ("one", (1, 2), [[2, 1], [0, 0]])):
            for tag in WIDE_FLOATS + ("i32", "bool"):
                x = tensor(book.random(label).integers(0, 2 if tag == "bool" else 90, size=shape), tag)
                numbers = torch.arange(x.numel()).reshape(shape)
                places = torch.from_numpy(np.pad(numbers.numpy(), widths, mode=mode).copy())
                book.case("pad", f"{label}_{mode}", [x], args={"widths": widths, "mode": mode, "value": 0},
                          torch_fn=lambda v: v.reshape(-1)[places], gradient=tag in WIDE_FLOATS)


def combined(how):
    def place(x, rows, columns, values):
        flat = (rows.long() % x.shape[0]) * x.shape[1] + columns.long() % x.shape[1]
        return torch.scatter_reduce(x.reshape(-1), 0, flat, values, how, include_self=True).reshape(x.shape)
    return place


def fill_scatters(book):
    rows, columns = tensor([0, 2, 0, -1, 0], "i64"), tensor([1, 0, 1, 0, 3], "i64")
    for op, how, ufunc in (("scatter_multiply", "prod", np.multiply), ("scatter_min", "amin", np.minimum),
                           ("scatter_max", "amax", np.maximum)):
        for tag in WIDE_FLOATS + INTS + ("f16", "bool"):
            random = book.random(f"combine{tag}")
            low, high = (0 if tag in ("u8", "bool") else -4), (2 if tag == "bool" else 5)
            x, values = (tensor(random.integers(low, high, size=n), tag) for n in ((3, 4), (5,)))

            def in_place(v, r, c, u):
                out = v.copy()
                ufunc.at(out, (r, c), u)
                return out
            book.case(op, f"points_{tag}", [x, rows, columns, values], numpy=in_place, torch_fn=combined(how),
                      gradient=tag in WIDE_FLOATS)
        x, values = drawn(book, op, (3, 2), "f64"), drawn(book, op + "rows", (2, 2), "f64")
        chosen = tensor([1, 1], "i64")
        book.case(op, "rows", [x, chosen, values], gradient=op != "scatter_multiply", second=False,
                  torch_fn=lambda v, i, u: torch.scatter_reduce(v, 0, i.reshape(-1, 1).expand(2, 2), u, how))
        book.case(op, "nothing", [x, tensor(np.zeros(0), "i64"), tensor(np.zeros((0, 2)), "f64")],
                  torch_fn=lambda v, i, u: v.clone())


def fill(book):
    fill_resizes(book)
    fill_grids(book)
    fill_boxes(book)
    fill_windows(book)
    fill_pads(book)
    fill_scatters(book)
