# SPDX-License-Identifier: MIT
"""Boxes, masks and pyramids: the formulas of torchvision and the loops of COCO's evaluation, written out."""

import math

import numpy as np
import torch
from torch.nn import functional as f

from layer_cases import draw, generator, put


def iou(a, b):
    """The overlap of one box with another."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = width * height
    either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / either if either > 0 else 0.0


def encode(box, anchor, weights):
    """torchvision.models.detection._utils.encode_boxes."""
    width, height = anchor[2] - anchor[0], anchor[3] - anchor[1]
    x, y = anchor[0] + 0.5 * width, anchor[1] + 0.5 * height
    own_width, own_height = box[2] - box[0], box[3] - box[1]
    own_x, own_y = box[0] + 0.5 * own_width, box[1] + 0.5 * own_height
    return [weights[0] * (own_x - x) / width, weights[1] * (own_y - y) / height,
            weights[2] * math.log(own_width / width), weights[3] * math.log(own_height / height)]


def decode(offsets, anchor, weights):
    """torchvision.models.detection._utils.BoxCoder.decode_single."""
    width, height = anchor[2] - anchor[0], anchor[3] - anchor[1]
    x, y = anchor[0] + 0.5 * width, anchor[1] + 0.5 * height
    dx, dy, dw, dh = (o / w for o, w in zip(offsets, weights))
    largest = math.log(1000.0 / 16)
    x, y = dx * width + x, dy * height + y
    width, height = math.exp(min(dw, largest)) * width, math.exp(min(dh, largest)) * height
    return [x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height]


def paste(mask, box, height, width):
    """As detectron2 pastes: grid_sample at the pixels' centres, zeros outside."""
    x, y = torch.arange(width) + 0.5, torch.arange(height) + 0.5
    x = (x - box[0]) / (box[2] - box[0]) * 2 - 1
    y = (y - box[1]) / (box[3] - box[1]) * 2 - 1
    grid = torch.stack([x[None, :].expand(height, width), y[:, None].expand(height, width)], -1)
    return f.grid_sample(mask[None, None], grid[None], align_corners=False)[0, 0]


def match(overlap, threshold):
    """COCOeval.evaluateImg without crowds: detections in order, each the best object that is left."""
    taken, right = set(), []
    for row in overlap:
        best, chosen = -1.0, None
        for number, value in enumerate(row):
            if number not in taken and value >= threshold and value > best:
                best, chosen = value, number
        if chosen is not None:
            taken.add(chosen)
        right.append(chosen is not None)
    return right


def average_precision(scores, right, objects):
    """COCOeval.accumulate, with recalls compared as fractions."""
    order = np.argsort(-scores, kind="stable")
    order = [i for i in order if scores[i] > -np.inf]
    hits, precisions, recalls = 0, [], []
    for rank, i in enumerate(order):
        hits += int(right[i])
        precisions.append(hits / (rank + 1))
        recalls.append(hits)
    for i in range(len(precisions) - 1, 0, -1):
        precisions[i - 1] = max(precisions[i - 1], precisions[i])
    total = 0.0
    for point in range(101):
        at = next((i for i, h in enumerate(recalls) if 100 * h >= point * objects), None)
        total += precisions[at] if at is not None else 0.0
    return total / 101


def fill(arrays):
    random = generator("boxes")

    def boxes(*shape, side=40.0):
        """Corners on a grid, so that ties and touching boxes are among them; sides of at least 1."""
        low = random.integers(0, int(side) - 8, size=(*shape, 2))
        return torch.tensor(np.concatenate([low, low + random.integers(1, 20, size=(*shape, 2))], -1) * 1.0)

    def each(function, *given):
        return torch.tensor([function(*rows) for rows in zip(*(g.tolist() for g in given))], dtype=torch.float64)

    a, b = boxes(2, 7), boxes(2, 5)
    a[0, 0] = b[0, 0]
    a[0, 1, 2:] = a[0, 1, :2]  # without an area
    put(arrays, "iou/a", a)
    put(arrays, "iou/b", b)
    put(arrays, "iou/out", torch.tensor([[[iou(p, q) for q in b[i].tolist()] for p in a[i].tolist()] for i in range(2)]))

    for name, weights in {"plain": (1, 1, 1, 1), "weighted": (10, 10, 5, 4)}.items():
        own, anchors = boxes(9), boxes(9)
        offsets = draw(random, (9, 4)) * torch.tensor(weights)
        offsets[0, 2:] = 1000.0  # grows no more than the limit
        put(arrays, f"coding_{name}/boxes", own)
        put(arrays, f"coding_{name}/from", anchors)
        put(arrays, f"coding_{name}/offsets", offsets)
        put(arrays, f"coding_{name}/encoded", each(lambda p, q: encode(p, q, weights), own, anchors))
        put(arrays, f"coding_{name}/decoded", each(lambda p, q: decode(p, q, weights), offsets, anchors))

    masks, places = torch.tensor(np.round(random.random((3, 5, 4)) * 64) / 64), torch.tensor(
        [[2.0, 3.0, 10.0, 9.0], [-3.5, 1.25, 4.75, 20.0], [6.5, 6.5, 7.0, 7.5]], dtype=torch.float64)
    put(arrays, "paste/masks", masks)
    put(arrays, "paste/boxes", places)
    put(arrays, "paste/out", torch.stack([paste(m, p, 12, 14) for m, p in zip(masks, places)]))

    overlap = np.round(random.random((6, 8, 3)) * 20) / 20  # ties between rows and with thresholds
    for i in range(6):  # none between the objects of a detection, which COCO breaks by the order of its files
        for row in overlap[i]:
            row += np.arange(3) * 0.001
    thresholds = [0.25, 0.5, 0.75]
    put(arrays, "match/iou", torch.tensor(overlap))
    put(arrays, "match/out", torch.tensor([[match(o, t) for o in overlap] for t in thresholds]).double())

    scores = np.round(random.random(60) * 25) / 25  # with ties
    scores[[3, 17, 40]] = -np.inf
    right = random.random((3, 60)) < np.array([[0.7], [0.4], [0.05]])
    put(arrays, "average_precision/scores", torch.tensor(scores))
    put(arrays, "average_precision/right", torch.tensor(right).double())
    put(arrays, "average_precision/out", torch.tensor([average_precision(scores, r, 50) for r in right]))

    torch.manual_seed(5)
    channels, sizes = (3, 4, 2), ((7, 8), (4, 4), (2, 2))
    maps = [torch.randn(2, c, *s) for c, s in zip(channels, sizes)]
    inner = [torch.nn.Conv2d(c, 3, 1) for c in channels]
    layer = [torch.nn.Conv2d(3, 3, 3, padding=1) for _ in channels]
    above, levels = None, [None] * 3
    for i in (2, 1, 0):
        own = inner[i](maps[i])
        if above is not None:
            own = own + f.interpolate(above, size=own.shape[-2:], mode="nearest")
        levels[i], above = layer[i](own), own
    levels.append(f.max_pool2d(levels[-1], 1, 2))
    for i in range(3):
        put(arrays, f"pyramid/map{i}", maps[i].movedim(1, -1))
        for name, convolution in {"inner_blocks": inner[i], "layer_blocks": layer[i]}.items():
            put(arrays, f"pyramid/{name}.{i}.weight", convolution.weight)
            put(arrays, f"pyramid/{name}.{i}.bias", convolution.bias)
    for i, level in enumerate(levels):
        put(arrays, f"pyramid/level{i}", level.movedim(1, -1))

    some = boxes(12) * torch.tensor(np.exp2(random.integers(0, 7, size=(12, 1))))
    some[0] = torch.tensor([3.0, 5.0, 227.0, 229.0])  # 224 x 224 exactly
    sides = torch.sqrt((some[:, 2] - some[:, 0]) * (some[:, 3] - some[:, 1]))
    put(arrays, "levels/boxes", some)
    put(arrays, "levels/out", torch.clamp(torch.floor(4 + torch.log2(sides / 224) + 1e-6), 2, 5).long() - 2)
