# SPDX-License-Identifier: MIT
"""Convolutions, norms, pooling and their kin with drawn options: each gives PyTorch's layer, x or its shape as Tyto takes
it, and how else it is called."""

import math

import torch
from torch import nn
from torch.nn import functional as f

from drawing import CHANNELS, flat, same

def spatial(d, axes, low=4, high=11):
    return [d.integer(low, high if axes < 3 else 6) for _ in range(axes)]


def per_axis(d, axes, *of):
    return [d.one(*of)] * axes if d.chance(0.4) else [d.one(*of) for _ in range(axes)]


def windows(d, axes, tries=200):
    """Space, window, stride, dilation and padding that fit."""
    for _ in range(tries):
        space = spatial(d, axes)
        window, stride = per_axis(d, axes, 1, 2, 3, 3, 5), per_axis(d, axes, 1, 1, 2, 3)
        dilation, padding = per_axis(d, axes, 1, 1, 2, 3), per_axis(d, axes, 0, 1, 2, 3)
        if all(n + 2 * p >= s * (w - 1) + 1 for n, p, s, w in zip(space, padding, dilation, window)):
            return space, window, stride, dilation, padding
    return spatial(d, axes), [1] * axes, [1] * axes, [1] * axes, [0] * axes


def channels(d):
    groups = d.one(1, 1, 1, 2, 3, 4)
    if groups == 1:
        return d.one(*CHANNELS), d.one(*CHANNELS), 1
    return groups * d.one(1, 2, 4, 8), groups * d.one(1, 2, 3, 8), groups


def convolution(axes):
    def make(d):
        space, window, stride, dilation, padding = windows(d, axes)
        into, out, groups = channels(d)
        bias, same = d.chance(0.7), d.chance(0.2)
        if same:
            stride = [1] * axes
        d.say(**{"in": into, "out": out}, window=window, stride=stride, dilation=dilation, groups=groups, bias=bias,
              padding="same" if same else padding)
        layer = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1](
            into, out, window, stride, "same" if same else padding, dilation, groups, bias)
        return layer, (d.integer(1, 3), *space, into)
    return make


def transposed(axes):
    def make(d):
        while True:
            space = [d.integer(1, 6 if axes < 3 else 4) for _ in range(axes)]
            window, stride = per_axis(d, axes, 1, 2, 3, 4), per_axis(d, axes, 1, 1, 2, 3)
            dilation, padding = per_axis(d, axes, 1, 1, 2, 3), per_axis(d, axes, 0, 0, 1, 2)
            extra = [d.integer(0, max(s, e) - 1) if d.chance(0.4) else 0 for s, e in zip(stride, dilation)]
            sizes = [(n - 1) * s - 2 * p + e * (w - 1) + o + 1
                     for n, s, p, e, w, o in zip(space, stride, padding, dilation, window, extra)]
            if min(sizes) > 0:
                break
        into, out, groups = channels(d)
        bias = d.chance(0.7)
        d.say(**{"in": into, "out": out}, window=window, stride=stride, dilation=dilation, groups=groups, bias=bias,
              padding=padding, output_padding=extra)
        layer = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[axes - 1](
            into, out, window, stride, padding, extra, groups, bias, dilation)
        return layer, (d.integer(1, 3), *space, into)
    return make


def depthwise(d):
    space, window, stride, dilation, padding = windows(d, 2)
    count, multiplier, bias = d.one(*CHANNELS), d.integer(1, 3), d.chance(0.7)
    d.say(channels=count, multiplier=multiplier, window=window, stride=stride, dilation=dilation, padding=padding,
          bias=bias)
    return nn.Conv2d(count, count * multiplier, window, stride, padding, dilation, count, bias), (
        d.integer(1, 3), *space, count)


def normed_convolution(how, kind):
    def make(d):
        layer, shape = kind(d)
        options = {}
        if how is nn.utils.parametrizations.spectral_norm:
            options["n_power_iterations"] = d.integer(1, 3)
            d.say(iterations=options["n_power_iterations"])
        torch.manual_seed(0)
        return how(layer, **options), shape
    return make


def linear(d):
    into, out, bias = d.one(*CHANNELS), d.one(*CHANNELS), d.chance(0.7)
    d.say(**{"in": into, "out": out}, bias=bias)
    return nn.Linear(into, out, bias), (*[d.integer(1, 5) for _ in range(d.integer(0, 3))], into), flat


def normed_linear(d):
    layer, shape, how = linear(d)
    return nn.utils.parametrizations.weight_norm(layer), shape, how


def embedding(d):
    count, features = d.integer(1, 20), d.one(*CHANNELS)
    padding = d.integer(0, count - 1) if d.chance() else None
    d.say(count=count, features=features)
    if padding is not None:
        d.say(padding_index=padding)
    x = d.whole(count, *[d.integer(1, 5) for _ in range(d.integer(1, 3))])
    return nn.Embedding(count, features, padding, **table_options(d)), x, flat


def table_options(d):
    options = {}
    if d.chance(0.4):
        options = {"max_norm": d.number(0.2, 4), "norm_type": d.one(2.0, 2.0, 1.0, 3.0)}
        d.say(max_norm=options["max_norm"], p=options["norm_type"])
    if d.chance(0.4):
        options["scale_grad_by_freq"] = True
        d.say(share_by_count=True)
    return options


def embedding_bag(d):
    count, features, mode = d.integer(1, 20), d.one(*CHANNELS), d.one("mean", "sum", "max")
    options = table_options(d)
    # By the count of another index, on CPUs: embedding draws it.
    if options.pop("scale_grad_by_freq", False):
        d.say(share_by_count=False)
    padding = d.integer(0, count - 1) if d.chance() else None
    d.say(count=count, features=features, mode=mode)
    if padding is not None:
        d.say(padding_index=padding)
    layer = nn.EmbeddingBag(count, features, mode=mode, padding_idx=padding, **options)
    listed, bags = d.chance(), d.integer(1, 5)
    x = d.whole(count, d.integer(1, 12)) if listed else d.whole(count, bags, d.integer(1, 5))
    how = {}
    if listed:
        how["offsets"] = torch.tensor(sorted([0] + [d.integer(0, len(x)) for _ in range(bags - 1)]))
        d.arrays["offsets"] = how["offsets"]
    if mode == "sum" and d.chance():
        how["per_sample_weights"] = d.arrays["weights"] = d.array(*x.shape)
    return layer, x, {**flat, "call": lambda m, x: m(x, **how)}


def bilinear(d):
    left, right, out, bias = d.one(*CHANNELS), d.one(*CHANNELS), d.one(*CHANNELS), d.chance(0.7)
    d.say(left=left, right=right, out=out, bias=bias)
    return nn.Bilinear(left, right, out, bias), (*[d.integer(1, 4) for _ in range(d.integer(1, 2))], left + right), {
        "enter": same, "leave": same, "call": lambda m, x: m(x[..., :left].contiguous(), x[..., left:].contiguous())}


def say_bias(d):
    bias = d.chance(0.7)
    d.say(bias=bias)
    return bias


def batch_norm(axes):
    def make(d):
        count = d.one(*CHANNELS)
        affine, track, epsilon = d.chance(0.7), d.chance(0.7), d.one(1e-5, 1e-3, 0.1)
        momentum = None if d.chance(0.3) else d.one(0.1, 0.3, 0.01)
        d.say(channels=count, affine=affine, track=track, epsilon=epsilon)
        d.say(**({"cumulative": 1} if momentum is None else {"momentum": momentum}))
        space = [] if axes == 1 and d.chance() else spatial(d, axes)
        layer = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[axes - 1](
            count, epsilon, momentum, affine, track, bias=say_bias(d))
        return layer, (d.integer(3, 9), *space, count)
    return make


def instance_norm(d):
    axes, count = d.integer(1, 3), d.one(*CHANNELS)
    affine, track, epsilon, momentum = d.chance(), d.chance(), d.one(1e-5, 1e-3, 0.1), d.one(0.1, 0.3)
    d.say(channels=count, affine=affine, track=track, epsilon=epsilon, momentum=momentum)
    layer = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)[axes - 1](
        count, epsilon, momentum, affine, track, bias=say_bias(d))
    return layer, (d.integer(1, 4), *spatial(d, axes), count)


def group_norm(d):
    groups = d.integer(1, 4)
    count, affine, epsilon = groups * d.integer(2, 8), d.chance(0.7), d.one(1e-5, 1e-3, 0.1)
    d.say(channels=count, groups=groups, affine=affine, epsilon=epsilon)
    return nn.GroupNorm(groups, count, epsilon, affine, bias=say_bias(d)), (d.integer(1, 4), *spatial(d, d.integer(0, 3)), count)


def layer_norm(d):
    shape = [d.integer(2, 9) for _ in range(d.integer(1, 3))]
    affine, bias, epsilon = d.chance(0.7), d.chance(0.7), d.one(1e-5, 1e-3, 0.1)
    d.say(shape=shape, affine=affine, bias=bias, epsilon=epsilon)
    return nn.LayerNorm(shape, epsilon, affine, bias), (*[d.integer(1, 4) for _ in range(d.integer(0, 2))], *shape), flat


def rms_norm(d):
    shape, affine = [d.integer(2, 9) for _ in range(d.integer(1, 3))], d.chance(0.7)
    epsilon = d.one(1e-5, 0.1)
    d.say(shape=shape, affine=affine, epsilon=epsilon)
    return nn.RMSNorm(shape, epsilon, affine), (*[d.integer(1, 4) for _ in range(d.integer(0, 2))], *shape), flat


def local_response_norm(d):
    size, alpha, beta, k = d.integer(1, 7), d.number(1e-4, 2), d.number(0.3, 1.5), d.number(0.5, 2)
    d.say(size=size, alpha=alpha, beta=beta, k=k)
    return nn.LocalResponseNorm(size, alpha, beta, k), (d.integer(1, 3), *spatial(d, d.integer(1, 2)), d.one(*CHANNELS))


def pooled_space(d, axes, dilated=True):
    """As windows, with the padding at most half of the window, which PyTorch asks for."""
    while True:
        space, window, stride, dilation, _ = windows(d, axes)
        if not dilated:
            dilation = [1] * axes
        padding = [d.integer(0, w // 2) for w in window]
        ceil = d.chance(0.3)
        if all(n + 2 * p >= e * (w - 1) + 1 for n, p, e, w in zip(space, padding, dilation, window)):
            return space, window, stride, dilation, padding, ceil


def pooled_x(d, shape):
    return d.coarse(*shape) if d.chance(0.4) else d.array(*shape)


def max_pool(d):
    axes = d.integer(1, 3)
    space, window, stride, dilation, padding, ceil = pooled_space(d, axes)
    d.say(window=window, stride=stride, dilation=dilation, padding=padding, ceil_mode=ceil)
    layer = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[axes - 1](window, stride, padding, dilation, ceil_mode=ceil)
    return layer, pooled_x(d, (d.integer(1, 3), *space, d.one(*CHANNELS)))


def average_pool(d):
    axes = d.integer(1, 3)
    space, window, stride, _, padding, ceil = pooled_space(d, axes, False)
    count = d.chance()
    d.say(window=window, stride=stride, padding=padding, ceil_mode=ceil, count_padding=count)
    layer = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[axes - 1](window, stride, padding, ceil, count)
    return layer, (d.integer(1, 3), *space, d.one(*CHANNELS))


def power_pool(d):
    axes = d.integer(1, 3)
    space, window, stride, _, _, _ = pooled_space(d, axes, False)
    space = [max(n, w) for n, w in zip(space, window)]
    power = d.one(1.0, 2.0, 3.0, 1.5)
    d.say(window=window, stride=stride, power=power)
    layer = (nn.LPPool1d, nn.LPPool2d, nn.LPPool3d)[axes - 1](power, window[0] if axes == 1 else window,
                                                              stride[0] if axes == 1 else stride)
    return layer, d.array(d.integer(1, 3), *space, d.one(*CHANNELS)).abs() + 1 / 64


def adaptive(layers, maximum):
    def make(d):
        axes = d.integer(1, 3)
        space = spatial(d, axes)
        size = [d.integer(1, n + 2) for n in space]
        d.say(size=size)
        shape = (d.integer(1, 3), *space, d.one(*CHANNELS))
        return layers[axes - 1](size), pooled_x(d, shape) if maximum else shape
    return make


def upsample(d):
    axes = d.integer(1, 3)
    bilinear = axes == 2 and d.chance()
    scale = per_axis(d, axes, 1, 2, 3)
    d.say(scale=scale, bilinear=bilinear)
    return nn.Upsample(scale_factor=tuple(float(s) for s in scale), mode="bilinear" if bilinear else "nearest"), (
        d.integer(1, 3), *spatial(d, axes, 1, 5), d.one(*CHANNELS))


def resized(d):
    axes = d.integer(1, 3)
    method = d.one("linear", "nearest", *(["cubic"] if axes == 2 else []))
    corners = method != "nearest" and d.chance()
    space = spatial(d, axes, 1, 7)
    size = [d.integer(1, 12) for _ in space]
    d.say(size=size, method=method, corners=corners)
    mode = {"linear": ("linear", "bilinear", "trilinear")[axes - 1], "cubic": "bicubic", "nearest": "nearest"}[method]
    return nn.Upsample(size=size, mode=mode, align_corners=None if method == "nearest" else corners), (
        d.integer(1, 3), *space, d.one(*CHANNELS))


def padded(d):
    axes, mode = d.integer(1, 3), d.one("constant", "reflect", "edge", "wrap")
    space = spatial(d, axes, 3, 7)
    most = [n - 1 if mode == "reflect" else n for n in space]
    before, after = [d.integer(0, m) for m in most], [d.integer(0, m) for m in most]
    value = d.number(-2, 2)
    d.say(mode=mode, value=value)
    d.options["padding"] = ",".join(map(str, before)) + ":" + ",".join(map(str, after))
    counts = [n for pair in zip(reversed(before), reversed(after)) for n in pair]
    name = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[mode]

    class Padded(nn.Module):
        def forward(self, x):
            return f.pad(x, counts, name, value) if mode == "constant" else f.pad(x, counts, name)
    return Padded(), (d.integer(1, 3), *space, d.one(*CHANNELS))


def pixel_shuffle(d):
    factor = d.integer(1, 3)
    d.say(factor=factor)
    return nn.PixelShuffle(factor), (d.integer(1, 3), d.integer(1, 4), d.integer(1, 4), factor * factor * d.integer(1, 4))


def pixel_unshuffle(d):
    factor = d.integer(1, 3)
    d.say(factor=factor)
    return nn.PixelUnshuffle(factor), (d.integer(1, 3), factor * d.integer(1, 4), factor * d.integer(1, 4), d.integer(1, 5))


def unfold(d):
    space, window, stride, dilation, padding = windows(d, 2)
    d.say(window=window, stride=stride, dilation=dilation, padding=padding)
    return nn.Unfold(window, dilation, padding, stride), (d.integer(1, 3), *space, d.integer(1, 5))


def fold(d):
    space, window, stride, dilation, padding = windows(d, 2)
    d.say(size=space, window=window, stride=stride, dilation=dilation, padding=padding)
    places = [(n + 2 * p - e * (w - 1) - 1) // s + 1
              for n, p, e, w, s in zip(space, padding, dilation, window, stride)]
    shape = (d.integer(1, 3), math.prod(places), math.prod(window) * d.integer(1, 4))
    return nn.Fold(space, window, dilation, padding, stride), shape


def unpool(d):
    axes = d.integer(1, 3)
    while True:
        space, window, stride, _, padding, _ = pooled_space(d, axes, False)
        sizes = [((n + 2 * p - w) // s) * s + w - 2 * p for n, p, w, s in zip(space, padding, window, stride)]
        if all(s == w and abs(n - m) < s for n, m, s, w in zip(space, sizes, stride, window)):
            break
    d.say(window=window, stride=stride, padding=padding)
    pool = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[axes - 1](window, stride, padding, return_indices=True)
    back = (nn.MaxUnpool1d, nn.MaxUnpool2d, nn.MaxUnpool3d)[axes - 1](window, stride, padding)

    class Unpooled(nn.Module):
        def forward(self, x):
            return back(*pool(x), output_size=x.shape[2:])
    return Unpooled(), (d.integer(1, 3), *space, d.integer(1, 5))
