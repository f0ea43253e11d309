# SPDX-License-Identifier: MIT
"""All layers, and what PyTorch makes of one: results, gradients, states after three steps, results in inference."""

import numpy as np
import torch
from torch import nn

from drawing import dense, rows, same
from drawn_sequences import ACTIVATIONS, activation, attention, glu, prelu, recurrent, transformer
from drawn_spaces import (
    adaptive, average_pool, batch_norm, bilinear, convolution, depthwise, embedding, embedding_bag, fold, group_norm,
    instance_norm, layer_norm, linear, local_response_norm, max_pool, normed_convolution, normed_linear,
    padded, pixel_shuffle, pixel_unshuffle, power_pool, resized, rms_norm, transposed, unfold, unpool,
    upsample)
from layer_cases import draw_states, first, last

LAYERS = {
    "conv1d": convolution(1), "conv2d": convolution(2), "conv3d": convolution(3), "conv_transpose1d": transposed(1),
    "conv_transpose2d": transposed(2), "conv_transpose3d": transposed(3), "depthwise": depthwise, "linear": linear,
    "weight_norm_linear": normed_linear,
    "weight_norm_conv2d": normed_convolution(nn.utils.parametrizations.weight_norm, convolution(2)),
    "weight_norm_conv_transpose2d": normed_convolution(nn.utils.parametrizations.weight_norm, transposed(2)),
    "spectral_norm_conv2d": normed_convolution(nn.utils.parametrizations.spectral_norm, convolution(2)),
    "embedding": embedding, "embedding_bag": embedding_bag, "bilinear": bilinear, "batch_norm1d": batch_norm(1), "batch_norm2d": batch_norm(2),
    "batch_norm3d": batch_norm(3), "instance_norm": instance_norm, "group_norm": group_norm, "layer_norm": layer_norm,
    "rms_norm": rms_norm, "local_response_norm": local_response_norm, "max_pool": max_pool,
    "average_pool": average_pool, "power_pool": power_pool,
    "adaptive_average_pool": adaptive((nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d), False),
    "adaptive_max_pool": adaptive((nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d), True),
    "upsample": upsample, "resize": resized, "pad": padded, "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle, "unfold": unfold, "fold": fold, "unpool": unpool, "glu": glu, "prelu": prelu,
    **{name: activation(make) for name, make in ACTIVATIONS.items()},
    "rnn": recurrent(nn.RNN), "lstm": recurrent(nn.LSTM), "gru": recurrent(nn.GRU), "attention": attention,
    "encoder": transformer(nn.TransformerEncoderLayer), "decoder": transformer(nn.TransformerDecoderLayer),
}
# Drawn three times as often as others.
MANY_OPTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "depthwise",
                "max_pool", "average_pool", "resize", "attention", "lstm", "gru", "encoder", "decoder", "embedding", "embedding_bag")


def run_layer(d, kind, folder, name):
    layer, x, *how = LAYERS[kind](d)
    how = how[0] if how else {}
    enter, leave, call = how.get("enter", dense), how.get("leave", last), how.get("call", lambda m, x: m(x))
    if kind == "unfold":
        leave = rows
    if kind == "fold":
        enter = rows
    draw_states(d.values, layer)
    # Recurrent layers multiply again and again, and large scores of attention tell keys apart by their roundings.
    if kind in ("rnn", "lstm", "gru", "attention", "encoder", "decoder"):
        with torch.no_grad():
            for value in layer.parameters():
                value.copy_((value * 0.25).float())
    states = {key: value.detach().clone() for key, value in layer.state_dict().items()}
    if states:
        np.savez(f"{folder}/{name}.states.npz", **{key: value.numpy() for key, value in states.items()})
    if isinstance(x, tuple):
        x = d.array(*x)
    d.arrays["x"] = x
    x = x.clone().requires_grad_(x.is_floating_point())
    layer.train()
    parameters = list(layer.parameters())
    rule = torch.optim.SGD(parameters, 0.1) if parameters else None
    want, target = {}, None
    for step in range(3 if parameters else 1):
        x.grad = None
        layer.zero_grad()
        y = call(layer, enter(x))
        if step == 0:
            want["y"] = leave(y)
            target = d.arrays["target"] = d.array(*want["y"].shape)
            target = {last: dense, rows: rows, same: same}[leave](target)
        torch.mean((y - target) ** 2).backward()
        if step == 0:
            if x.is_floating_point():
                want["gradient_x"] = x.grad
            for key, value in layer.named_parameters():
                want["gradient/" + key] = torch.zeros_like(value) if value.grad is None else value.grad.clone()
        if rule:
            rule.step()
    for key, value in layer.state_dict().items():
        want["after/" + key] = value.double().clone()
    layer.eval()
    with torch.no_grad():
        want["used"] = leave(call(layer, enter(x)))
    return want
