# SPDX-License-Identifier: MIT
"""Activations, recurrent layers and transformers with drawn options, as in drawn_spaces.py."""

import torch
from torch import nn

from drawing import CHANNELS, flat, same
from drawn_spaces import spatial

def activation(make):
    def drawn(d):
        shape = [d.integer(2, 9) for _ in range(d.integer(1, 3))]
        layer = make(d)
        return layer, d.array(*shape) * 3 + 1 / 512, flat
    return drawn


def say_a(d, value):
    d.say(a=value)
    return value


def say_axis(d):
    axis = -1 if d.chance() else 0
    d.say(axis=axis)
    return axis


def glu(d):
    axis = d.one(-1, 0)
    d.say(axis=axis)
    shape = [2 * d.integer(1, 4) for _ in range(d.integer(1, 3))]
    return nn.GLU(axis), tuple(shape), flat


def hard_tanh(d):
    low, high = d.number(-3, 0), d.number(0.1, 3)
    d.say(a=low, b=high)
    return nn.Hardtanh(low, high)


def threshold(d):
    a, b = d.number(-1, 1), d.number(-9, 9)
    d.say(a=a, b=b)
    return nn.Threshold(a, b)


def gelu(d):
    by_tanh = d.chance()
    d.say(tanh=by_tanh)
    return nn.GELU("tanh" if by_tanh else "none")


def prelu(d):
    count = d.one(1, 5)
    d.say(channels=count)
    return nn.PReLU(count), (d.integer(1, 3), *spatial(d, d.integer(0, 3)), 5)


ACTIVATIONS = {
    "relu": lambda d: nn.ReLU(), "relu6": lambda d: nn.ReLU6(), "selu": lambda d: nn.SELU(), "silu": lambda d: nn.SiLU(),
    "mish": lambda d: nn.Mish(), "sigmoid": lambda d: nn.Sigmoid(), "log_sigmoid": lambda d: nn.LogSigmoid(),
    "tanh": lambda d: nn.Tanh(), "softsign": lambda d: nn.Softsign(), "hard_sigmoid": lambda d: nn.Hardsigmoid(),
    "hard_swish": lambda d: nn.Hardswish(), "tanh_shrink": lambda d: nn.Tanhshrink(),
    "leaky_relu": lambda d: nn.LeakyReLU(say_a(d, d.number(0, 1))), "elu": lambda d: nn.ELU(say_a(d, d.number(0.1, 2))),
    "celu": lambda d: nn.CELU(say_a(d, d.number(0.1, 2))), "softplus": lambda d: nn.Softplus(say_a(d, d.number(0.2, 4)), 1e9),
    "hard_tanh": hard_tanh, "soft_shrink": lambda d: nn.Softshrink(say_a(d, d.number(0, 2))),
    "hard_shrink": lambda d: nn.Hardshrink(say_a(d, d.number(0, 2))), "threshold": threshold, "gelu": gelu,
    "softmax": lambda d: nn.Softmax(say_axis(d)), "log_softmax": lambda d: nn.LogSoftmax(say_axis(d)),
    "softmin": lambda d: nn.Softmin(say_axis(d)),
}


def recurrent(kind):
    def make(d):
        into, hidden, layers = d.one(1, 2, 3, 8, 17, 32), d.one(1, 2, 3, 8, 17, 32), d.integer(1, 3)
        both, bias = d.chance(), d.chance(0.7)
        d.say(**{"in": into}, hidden=hidden, layers=layers, bidirectional=both, bias=bias)
        options = {"num_layers": layers, "bidirectional": both, "bias": bias, "batch_first": True}
        if kind is nn.RNN and d.chance():
            options["nonlinearity"] = "relu"
            d.say(relu=True)
        size = hidden
        if kind is nn.LSTM and hidden > 1 and d.chance(0.3):
            size = options["proj_size"] = d.integer(1, hidden - 1)
            d.say(projection=size)
        layer = kind(into, hidden, **options)
        batch, time = d.integer(1, 4), d.integer(1, 7)
        start = None
        networks = layers * (2 if both else 1)
        if d.chance():
            start = d.array(networks, batch, size)
            d.arrays["h"] = start
            if kind is nn.LSTM:
                d.arrays["c"] = d.array(networks, batch, hidden)
                start = (start, d.arrays["c"])

        def call(m, x):
            y, states = m(x, start)
            states = states if kind is nn.LSTM else (states,)
            return torch.cat([y.reshape(-1), *[s.reshape(-1) for s in states]])
        return layer, (batch, time, into), {"enter": same, "leave": same, "call": call}
    return make


def drawn_masks(d, heads, queries, keys, batch, options):
    """PyTorch's arguments; a query always has somewhere to look."""
    how = d.one("none", "none", "causal", "mask", "added", "each", "each_added")
    if how == "causal" and queries == keys:
        d.say(causal=True)
        options["attn_mask"] = torch.ones(queries, keys, dtype=torch.bool).triu(1)
    elif how in ("mask", "each"):
        allowed = torch.tensor(d.values.random((batch, queries, keys) if how == "each" else (queries, keys)) < 0.6)
        allowed[..., 0] = True
        d.arrays["mask"] = allowed
        options["attn_mask"] = ~(allowed.repeat_interleave(heads, 0) if how == "each" else allowed)
    elif how in ("added", "each_added"):
        added = d.array(*((batch, queries, keys) if how == "each_added" else (queries, keys)))
        d.arrays["mask"] = added
        options["attn_mask"] = added.repeat_interleave(heads, 0) if how == "each_added" else added
    if d.chance(0.4):
        words = torch.tensor(d.values.random((batch, keys)) < 0.7)
        words[:, 0] = True
        d.arrays["key_mask"] = words
        padding = ~words
        mask = options.get("attn_mask")
        if mask is not None and mask.is_floating_point():
            padding = torch.zeros(padding.shape).masked_fill(padding, float("-inf"))
        options["key_padding_mask"] = padding


def attention(d):
    heads = d.integer(1, 4)
    features, batch, queries, bias = heads * d.one(1, 2, 4, 8, 16), d.integer(1, 3), d.integer(1, 9), d.chance(0.7)
    d.say(features=features, heads=heads, bias=bias)
    options = {}
    across, keys = d.chance(), queries
    kinds = {}
    if across:
        keys = d.integer(1, 9)
        d.say(across=True)
        if d.chance():
            kinds = {"kdim": d.integer(1, 9), "vdim": d.integer(1, 9)}
            d.say(key_features=kinds["kdim"], value_features=kinds["vdim"])
        d.arrays["keys"] = d.array(batch, keys, kinds.get("kdim", features))
        d.arrays["values"] = d.array(batch, keys, kinds.get("vdim", features))
    drawn_masks(d, heads, queries, keys, batch, options)
    k, v = d.arrays.get("keys"), d.arrays.get("values")
    extra, zero = d.chance(0.3), d.chance(0.3)
    d.say(extra_key=extra, zero_key=zero)
    kinds.update(add_bias_kv=extra, add_zero_attn=zero)
    return nn.MultiheadAttention(features, heads, bias=bias, batch_first=True, **kinds), (batch, queries, features), {
        "enter": same, "leave": same,
        "call": lambda m, x: m(x, k if across else x, v if across else x, need_weights=False, **options)[0]}


def transformer(kind):
    def make(d):
        heads = d.integer(1, 4)
        features, batch, length = heads * d.one(2, 4, 8), d.integer(1, 3), d.integer(1, 7)
        hidden, gelu_, before, bias = d.one(*CHANNELS), d.chance(), d.chance(), d.chance(0.7)
        epsilon = d.one(1e-5, 1e-2)
        d.say(features=features, heads=heads, hidden=hidden, gelu=gelu_, norm_first=before, bias=bias, epsilon=epsilon)
        layer = kind(features, heads, hidden, 0.0, "gelu" if gelu_ else "relu", epsilon, True, before, bias)
        masks = {}
        drawn_masks(d, heads, length, length, batch, masks)
        if kind is nn.TransformerEncoderLayer:
            masks = {{"attn_mask": "src_mask", "key_padding_mask": "src_key_padding_mask"}[k]: v for k, v in masks.items()}
            return layer, (batch, length, features), {"enter": same, "leave": same, "call": lambda m, x: m(x, **masks)}
        memory = d.array(batch, d.integer(1, 6), features)
        d.arrays["memory"] = memory
        masks = {{"attn_mask": "tgt_mask", "key_padding_mask": "tgt_key_padding_mask"}[k]: v for k, v in masks.items()}
        if d.chance(0.4):
            words = torch.tensor(d.values.random(memory.shape[:2]) < 0.7)
            words[:, 0] = True
            d.arrays["memory_key_mask"] = words
            masks["memory_key_padding_mask"] = ~words
        return layer, (batch, length, features), {
            "enter": same, "leave": same, "call": lambda m, x: m(x, memory, **masks)}
    return make
