# SPDX-License-Identifier: MIT
"""Layers: results and gradients in training, states after three steps of descent, results in inference after them."""

import zlib

import numpy as np
import torch
from torch import nn

RATE = 0.1


def generator(case):
    """A generator of its own for each case, so that adding a case changes no other."""
    return np.random.default_rng(zlib.crc32(case.encode()))


def draw(random, shape):
    """Multiples of 1/64, which f32 holds exactly and an archive packs well."""
    return torch.tensor(np.round(random.normal(size=shape) * 64) / 64)


def last(x):
    """Channels last."""
    return x.movedim(1, -1) if x.ndim > 2 else x


def first(x):
    """Channels first."""
    return x.movedim(-1, 1) if x.ndim > 2 else x


def put(arrays, key, value):
    """Results are computed in double precision and kept in single."""
    value = value.detach()
    arrays[key] = (value.float() if value.is_floating_point() else value).numpy().copy()


def joined(values):
    """All elements of named tensors, in the order of their names: one array instead of many."""
    return torch.cat([values[key].reshape(-1).double() for key in sorted(values)])


def same(x):
    return x


def draw_states(random, layer):
    """Parameters and running statistics that are not what they are at first."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(draw(random, tuple(parameter.shape)) * 0.5)
        for key, value in layer.named_buffers():
            if key.endswith("running_mean"):
                value.copy_(draw(random, tuple(value.shape)))
            elif key.endswith("running_var"):
                value.copy_(draw(random, tuple(value.shape)).abs() + 0.5)


def case(arrays, name, layer, shape, enter=first, leave=last, call=None, draw_x=draw):
    """`shape` is that of x as Tyto takes it; `enter` and `leave` go between the two layouts."""
    random = generator(name)
    draw_states(random, layer)
    kept = list(layer.state_dict())
    for key in kept:
        put(arrays, f"{name}/state/{key}", layer.state_dict()[key])
    call = call or (lambda module, x: module(x))
    x = draw_x(random, shape)
    put(arrays, f"{name}/x", x)
    floating = x.is_floating_point()
    x.requires_grad_(floating)
    layer.train()
    parameters = list(layer.parameters())
    descent = torch.optim.SGD(parameters, RATE) if parameters else None
    target = None
    for step in range(3 if parameters else 1):
        x.grad = None
        layer.zero_grad()
        y = leave(call(layer, enter(x)))
        if step == 0:
            target = draw(random, tuple(y.shape))
            put(arrays, f"{name}/target", target)
            put(arrays, f"{name}/y", y)
        torch.mean((y - target) ** 2).backward()
        if step == 0:
            if floating:
                put(arrays, f"{name}/gradient_x", x.grad)
            if parameters:
                put(arrays, f"{name}/gradients", joined({key: value.grad for key, value in layer.named_parameters()}))
        if descent:
            descent.step()
    if kept:
        put(arrays, f"{name}/after", joined({key: layer.state_dict()[key] for key in kept}))
    layer.eval()
    with torch.no_grad():
        used = leave(call(layer, enter(x)))
    if kept or not torch.equal(used, y):
        put(arrays, f"{name}/used", used)


class Block(nn.Module):
    """A residual block with a shortcut that changes the number of channels."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(3)
        self.conv2 = nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(3)
        self.downsample = nn.Sequential(nn.Conv2d(2, 3, 1, stride=2, bias=False), nn.BatchNorm2d(3))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.downsample(x))


class Pair(nn.Module):
    """Batch norm inside of a network with a flattened picture before a linear layer."""

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.fc = nn.Linear(3 * 2 * 2, 4)

    def forward(self, x):
        return self.fc(torch.flatten(self.block(x), 1))


class Gated(nn.Module):
    """Two branches of one input, multiplied."""

    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(3, 4), nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())

    def forward(self, x):
        return self.value(x) * self.gate(x)


class Unpooled(nn.Module):
    """Largest elements of windows put back to where they were."""

    def __init__(self, options):
        super().__init__()
        self.pool = nn.MaxPool2d(return_indices=True, **options)
        self.unpool = nn.MaxUnpool2d(**options)

    def forward(self, x):
        return self.unpool(*self.pool(x), output_size=x.shape[2:])


def normed(how, layer, **options):
    """A layer with a parametrised weight; vectors of power iterations are drawn by PyTorch."""
    torch.manual_seed(0)
    return how(layer, **options)


def fill(arrays):
    def add(name, layer, shape, **options):
        case(arrays, name, layer, shape, **options)

    plain = {"enter": same, "leave": same}
    image = (2, 5, 4, 3)
    add("linear", nn.Linear(3, 4), (5, 3), **plain)
    add("linear_without_bias", nn.Linear(3, 4, bias=False), (2, 3, 3), **plain)
    add("embedding", nn.Embedding(6, 3), (2, 4), draw_x=integers(6), **plain)
    add("embedding_padding", nn.Embedding(6, 3, padding_idx=2), (3, 4), draw_x=integers(6), **plain)
    add("embedding_max_norm", nn.Embedding(6, 3, max_norm=0.7), (2, 4), draw_x=integers(6), **plain)
    add("embedding_by_count", nn.Embedding(6, 3, padding_idx=1, max_norm=0.9, norm_type=1.0, scale_grad_by_freq=True),
        (3, 5), draw_x=integers(6), **plain)
    for mode in ("mean", "sum", "max"):
        add(f"bag_{mode}", nn.EmbeddingBag(6, 3, mode=mode), (3, 4), draw_x=integers(6), **plain)
        add(f"bag_{mode}_padding", nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2), (5, 4), draw_x=integers(6), **plain)
        add(f"bag_{mode}_offsets", nn.EmbeddingBag(6, 3, mode=mode, padding_idx=0), (9,), draw_x=integers(6),
            call=lambda m, x: m(x, torch.tensor([0, 3, 3, 7])), **plain)
    # Its EmbeddingBag divides by the count of another index on CPUs, Embedding by the right one.
    add("bag_by_count", nn.Embedding(6, 3, max_norm=0.8, norm_type=3.0, scale_grad_by_freq=True), (3, 4),
        draw_x=integers(6), call=lambda m, x: m(x).mean(1), **plain)
    add("bag_weights", nn.EmbeddingBag(6, 3, mode="sum"), (6,), draw_x=integers(6),
        call=lambda m, x: m(x, torch.tensor([0, 4]), torch.tensor([0.5, -1, 2, 0.25, 1, 1.5])), **plain)
    add("bilinear", nn.Bilinear(3, 2, 4), (5, 5), call=lambda m, x: m(x[:, :3].contiguous(), x[:, 3:].contiguous()),
        **plain)

    add("conv1d", nn.Conv1d(3, 4, 3, padding=1), (2, 6, 3))
    add("conv2d", nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=1), image)
    add("conv3d", nn.Conv3d(2, 3, 2), (1, 3, 4, 3, 2))
    add("conv2d_groups", nn.Conv2d(4, 6, 3, groups=2, dilation=2, bias=False), (1, 6, 6, 4))
    add("depthwise", nn.Conv2d(3, 6, 3, groups=3, padding=1), image)
    add("separable", nn.Sequential(nn.Conv2d(3, 3, 3, groups=3, padding=1, bias=False), nn.Conv2d(3, 4, 1)), image)
    add("conv_transpose1d", nn.ConvTranspose1d(3, 4, 3, stride=2), (2, 4, 3))
    add("conv_transpose2d", nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1), (2, 3, 2, 3))
    add("conv_transpose2d_groups", nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2), (1, 3, 2, 4))
    add("conv_transpose2d_dilated", nn.ConvTranspose2d(4, 6, (3, 2), stride=(1, 2), padding=(1, 0), groups=2,
                                                       dilation=(3, 2), output_padding=(2, 1)), (2, 3, 2, 4))
    add("conv_transpose3d", nn.ConvTranspose3d(2, 2, 2, stride=2), (1, 2, 2, 2, 2))

    add("batch_norm1d", nn.BatchNorm1d(3), (6, 3))
    add("batch_norm1d_length", nn.BatchNorm1d(3), (2, 5, 3))
    add("batch_norm2d", nn.BatchNorm2d(3), image)
    add("batch_norm2d_momentum", nn.BatchNorm2d(3, momentum=0.3, eps=1e-3), image)
    add("batch_norm2d_cumulative", nn.BatchNorm2d(3, momentum=None), image)
    add("batch_norm2d_plain", nn.BatchNorm2d(3, affine=False), image)
    add("batch_norm2d_without_bias", nn.BatchNorm2d(3, bias=False), image)
    add("batch_norm2d_untracked", nn.BatchNorm2d(3, track_running_stats=False), image)
    add("batch_norm3d", nn.BatchNorm3d(2), (2, 3, 2, 2, 2))
    add("instance_norm", nn.InstanceNorm2d(3), image)
    add("instance_norm_affine", nn.InstanceNorm1d(3, affine=True), (2, 5, 3))
    add("instance_norm_tracked", nn.InstanceNorm2d(3, affine=True, track_running_stats=True), image)
    add("instance_norm_without_bias", nn.InstanceNorm2d(3, affine=True, bias=False), image)
    add("group_norm_without_bias", nn.GroupNorm(2, 4, bias=False), (2, 3, 2, 4))
    add("group_norm", nn.GroupNorm(2, 4), (2, 3, 2, 4))
    add("group_norm_flat", nn.GroupNorm(3, 6), (4, 6))
    add("layer_norm", nn.LayerNorm(5), (2, 3, 5), **plain)
    add("layer_norm_axes", nn.LayerNorm((3, 4)), (2, 3, 4), **plain)
    add("layer_norm_without_bias", nn.LayerNorm(5, bias=False), (3, 5), **plain)
    add("rms_norm", nn.RMSNorm(5), (2, 3, 5), **plain)
    add("rms_norm_epsilon", nn.RMSNorm((3, 4), eps=1e-2), (2, 3, 4), **plain)

    add("max_pool", nn.MaxPool2d(2), image)
    add("average_pool", nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False), image)
    add("adaptive_average_pool", nn.AdaptiveAvgPool2d((2, 3)), image)
    add("adaptive_max_pool", nn.AdaptiveMaxPool2d((2, 3)), image)
    add("adaptive_max_pool_equal", nn.AdaptiveMaxPool2d((2, 3)), (2, 6, 4, 3), draw_x=few)
    add("global_max_pool_equal", nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten()), (2, 3, 4, 3), draw_x=few)
    add("adaptive_max_pool1d", nn.AdaptiveMaxPool1d(3), (2, 7, 3))
    add("global_average_pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), image)
    add("global_max_pool", nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten()), image)
    add("upsample_nearest", nn.Upsample(scale_factor=2), image)
    add("upsample_bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), (1, 3, 2, 2))
    add("pad_zero", nn.ZeroPad2d((1, 2, 0, 1)), image)
    add("pad_value", nn.ConstantPad2d(1, 2.5), image)
    add("pad_reflect", nn.ReflectionPad2d(2), image)
    add("pad_edge", nn.ReplicationPad2d(1), image)
    add("local_response_norm", nn.LocalResponseNorm(3, alpha=0.5, beta=0.6, k=2.0), (2, 3, 2, 5))
    add("local_response_norm_even", nn.LocalResponseNorm(4, alpha=2.0), (2, 4, 6))
    add("power_pool", nn.LPPool2d(2, 2), image)
    add("power_pool_cubes", nn.LPPool1d(3, 3, stride=1), (2, 7, 3), draw_x=lambda r, s: draw(r, s).abs() + 1 / 64)
    add("unfold", nn.Unfold((3, 2), dilation=(1, 2), padding=1, stride=(2, 1)), (2, 5, 4, 3))
    add("fold", nn.Fold((5, 4), (3, 2), dilation=(1, 2), padding=1, stride=(2, 1)), (2, 12, 18))
    add("unpooled", Unpooled({"kernel_size": 2}), (2, 4, 6, 3))
    add("unpooled_padded", Unpooled({"kernel_size": 3, "stride": 3, "padding": 1}), (2, 7, 6, 3))
    pooled_indices(arrays)
    add("reshape", nn.Unflatten(1, (3, 2)), (4, 6), **plain)
    add("parallel", Gated(), (5, 3), **plain)

    norms = nn.utils.parametrizations
    add("weight_norm_linear", normed(norms.weight_norm, nn.Linear(3, 4)), (5, 3), **plain)
    add("weight_norm_convolution", normed(norms.weight_norm, nn.Conv2d(3, 4, (3, 2))), image)
    add("weight_norm_transposed", normed(norms.weight_norm, nn.ConvTranspose1d(3, 4, 3)), (2, 4, 3))
    add("spectral_norm_linear", normed(norms.spectral_norm, nn.Linear(3, 4)), (5, 3), **plain)
    add("spectral_norm_convolution", normed(norms.spectral_norm, nn.Conv2d(3, 4, (3, 2)), n_power_iterations=2), image)

    add("pixel_shuffle", nn.PixelShuffle(2), (1, 2, 3, 8))
    add("pixel_unshuffle", nn.PixelUnshuffle(2), (1, 4, 2, 3))
    add("flatten_channels_first", nn.Flatten(), image)

    activations = {
        "relu": nn.ReLU(), "relu6": nn.ReLU6(), "leaky_relu": nn.LeakyReLU(0.2), "elu": nn.ELU(0.7), "selu": nn.SELU(),
        "celu": nn.CELU(0.7), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "mish": nn.Mish(),
        "sigmoid": nn.Sigmoid(), "log_sigmoid": nn.LogSigmoid(), "tanh": nn.Tanh(), "softplus": nn.Softplus(),
        "softplus_beta": nn.Softplus(2), "softsign": nn.Softsign(), "hard_tanh": nn.Hardtanh(-1, 2),
        "hard_sigmoid": nn.Hardsigmoid(), "hard_swish": nn.Hardswish(), "tanh_shrink": nn.Tanhshrink(),
        "soft_shrink": nn.Softshrink(0.3), "hard_shrink": nn.Hardshrink(0.3), "threshold": nn.Threshold(0.1, -2.5),
        "softmax": nn.Softmax(-1), "log_softmax": nn.LogSoftmax(-1), "softmin": nn.Softmin(-1), "glu": nn.GLU(-1),
        "rrelu": nn.LeakyReLU((1 / 8 + 1 / 3) / 2), "prelu": nn.PReLU(),
    }
    for name, layer in activations.items():
        add(name, layer, (4, 6), draw_x=wide, **plain)
    add("prelu_channels", nn.PReLU(3), image)

    add("rnn", nn.RNN(3, 4, batch_first=True), (2, 5, 3), call=outputs, **plain)
    add("rnn_relu", nn.RNN(3, 2, num_layers=2, nonlinearity="relu", bias=False, batch_first=True), (2, 4, 3),
        call=outputs, **plain)
    add("lstm", nn.LSTM(3, 4, batch_first=True), (2, 5, 3), call=outputs, **plain)
    add("lstm_both", nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), (2, 4, 3), call=outputs, **plain)
    add("lstm_projection", nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2, batch_first=True), (2, 4, 3),
        call=outputs, **plain)
    add("gru", nn.GRU(3, 4, batch_first=True), (2, 5, 3), call=outputs, **plain)
    add("gru_both", nn.GRU(3, 2, num_layers=2, bidirectional=True, batch_first=True), (2, 4, 3), call=outputs, **plain)
    states(arrays, "lstm_states", nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), True)
    states(arrays, "lstm_projection_states", nn.LSTM(3, 4, num_layers=2, proj_size=3, batch_first=True), True)
    states(arrays, "gru_states", nn.GRU(3, 4, batch_first=True), False)

    add("attention", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4), call=to_itself(), **plain)
    add("attention_causal", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4),
        call=to_itself(attn_mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)), **plain)
    add("attention_padding", nn.MultiheadAttention(4, 2, bias=False, batch_first=True), (2, 3, 4),
        call=to_itself(key_padding_mask=torch.tensor([[False, False, True], [False, True, True]])), **plain)
    add("attention_additive", nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4),
        call=to_itself(attn_mask=torch.tensor([[0.0, 0.5, -1.0], [0.25, 0.0, 1.0], [2.0, -0.5, 0.0]])), **plain)
    add("attention_across", nn.MultiheadAttention(4, 2, kdim=3, vdim=2, batch_first=True), (2, 3, 9),
        call=lambda m, x: m(x[..., :4], x[..., 4:7], x[..., 7:], need_weights=False)[0], **plain)
    add("attention_extra", nn.MultiheadAttention(4, 2, add_bias_kv=True, batch_first=True), (2, 3, 4),
        call=to_itself(attn_mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)), **plain)
    add("attention_zero", nn.MultiheadAttention(4, 2, add_zero_attn=True, batch_first=True), (2, 3, 4),
        call=to_itself(key_padding_mask=torch.tensor([[False, False, True], [True, True, True]])), **plain)
    add("attention_extra_across",
        nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, bias=False, kdim=3, vdim=2, batch_first=True),
        (2, 3, 9), call=lambda m, x: m(
            x[..., :4], x[..., 4:7], x[..., 7:], need_weights=False,
            attn_mask=torch.tensor([[0.0, 0.5, -1.0], [0.25, 0.0, 1.0], [2.0, -0.5, 0.0]]))[0], **plain)
    attention_weights(arrays, "attention_weights")
    attention_weights(arrays, "attention_weights_extra", add_bias_kv=True, add_zero_attn=True)
    add("encoder", nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, batch_first=True), (2, 3, 4), **plain)
    add("encoder_norm_first", nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, activation="gelu", norm_first=True,
                                                         batch_first=True), (2, 3, 4),
        call=lambda m, x: m(x, src_mask=torch.triu(torch.full((3, 3), float("-inf")), 1), is_causal=True), **plain)
    add("decoder", nn.TransformerDecoderLayer(4, 2, 5, dropout=0.0, batch_first=True), (2, 3, 8),
        call=lambda m, x: m(x[..., :4], x[..., 4:]), **plain)
    functional_attention(arrays)

    add("residual_block", Block(), (2, 4, 4, 2))
    add("residual_network", Pair(), (3, 4, 4, 2), leave=same)


def pooled_indices(arrays):
    """Where largest elements are found; some lie in several windows, some are equal to others."""
    x = draw(generator("pooled_indices"), (2, 6, 5, 3)).round()
    put(arrays, "pooled_indices/x", x)
    for name, options in {"plain": {"kernel_size": 2}, "overlapping": {"kernel_size": 3, "stride": 2, "padding": 1},
                          "dilated": {"kernel_size": 2, "stride": 1, "dilation": 2}}.items():
        values, indices = nn.MaxPool2d(return_indices=True, **options)(first(x))
        put(arrays, f"pooled_indices/{name}/values", last(values))
        put(arrays, f"pooled_indices/{name}/indices", last(indices))


def integers(count):
    return lambda random, shape: torch.tensor(random.integers(0, count, size=shape))


def wide(random, shape):
    """Reaches the bends of every activation, and lies on none of them."""
    return torch.tensor(np.round(random.normal(size=shape) * 192) / 64 + 1 / 256)


def few(random, shape):
    """Many equal numbers, as a relu leaves them."""
    return torch.tensor(np.maximum(np.round(random.normal(size=shape)), 0.0))


def outputs(module, x):
    return module(x)[0]


def to_itself(**masks):
    return lambda module, x: module(x, x, x, need_weights=False, **masks)[0]


def states(arrays, name, layer, has_cell):
    """Initial states in, last states out, and the gradients of both."""
    random = generator(name)
    draw_states(random, layer)
    for key, value in layer.state_dict().items():
        put(arrays, f"{name}/state/{key}", value)
    networks = layer.num_layers * (2 if layer.bidirectional else 1)
    x = draw(random, (2, 4, 3)).requires_grad_()
    h = draw(random, (networks, 2, layer.proj_size or layer.hidden_size)).requires_grad_()
    c = draw(random, (networks, 2, layer.hidden_size)).requires_grad_()
    y, last_states = layer(x, (h, c) if has_cell else h)
    results = [y, *(last_states if has_cell else (last_states,))]
    sum(torch.mean(result ** 2) for result in results).backward()
    for key, value in (("x", x), ("h", h), ("c", c))[: 3 if has_cell else 2]:
        put(arrays, f"{name}/{key}", value)
        put(arrays, f"{name}/gradient_{key}", value.grad)
    for key, value in zip(("y", "last_h", "last_c"), results):
        put(arrays, f"{name}/{key}", value)
    put(arrays, f"{name}/gradients", joined({key: value.grad for key, value in layer.named_parameters()}))


def attention_weights(arrays, name, **options):
    """How much each head looks where."""
    random, layer = generator(name), nn.MultiheadAttention(6, 2, kdim=4, vdim=3, batch_first=True, **options)
    draw_states(random, layer)
    for key, value in layer.state_dict().items():
        put(arrays, f"{name}/state/{key}", value)
    q, k, v = draw(random, (2, 3, 6)), draw(random, (2, 5, 4)), draw(random, (2, 5, 3))
    words = torch.tensor([[True] * 5, [True, True, False, False, True]])
    put(arrays, f"{name}/q", q)
    put(arrays, f"{name}/k", k)
    put(arrays, f"{name}/words", words)
    put(arrays, f"{name}/weights", layer(q, k, v, key_padding_mask=~words, average_attn_weights=False)[1])


def functional_attention(arrays):
    random = generator("sdpa")
    mask = torch.tensor(random.integers(0, 2, size=(2, 1, 3, 4)) == 1)
    mask[..., 0] = True
    mask[1, 0, 2, :] = False  # a query that may look nowhere
    added = draw(random, (3, 4))
    cases = {"plain": {}, "causal": {"is_causal": True}, "mask": {"attn_mask": mask}, "added": {"attn_mask": added},
             "scale": {"scale": 0.3}}
    put(arrays, "sdpa/boolean_mask", mask)
    put(arrays, "sdpa/added_mask", added)
    q, k, v = draw(random, (2, 2, 3, 5)), draw(random, (2, 2, 4, 5)), draw(random, (2, 2, 4, 2))
    for key, value in (("q", q), ("k", k), ("v", v)):
        put(arrays, f"sdpa/{key}", value)
    for name, options in cases.items():
        inputs = [value.clone().requires_grad_() for value in (q, k, v)]
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            y = nn.functional.scaled_dot_product_attention(*inputs, **options)
        torch.mean(y ** 2).backward()
        put(arrays, f"sdpa/{name}/y", y)
        for key, value in zip("qkv", inputs):
            put(arrays, f"sdpa/{name}/gradient_{key}", value.grad)
