#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/onnx/models.npz: small models, inputs, and what ONNX Runtime gives for them.

Needs onnx, onnxruntime and PyTorch; the build never runs it. Members are NAME|model (the file's bytes), NAME|in|INPUT and
NAME|out|OUTPUT. What ONNX's own node tests do not hold: quantised operators of each kind, ONNX Runtime's own domain,
recurrent networks in every direction, old versions of operators, networks of several operators.
"""
import io
import os
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from model_members import add, draw, f32, members, microsoft, numbers, one, small, weights8
from onnx import TensorProto, helper

warnings.filterwarnings("ignore")

# Quantised operators.
x8, w8 = small(np.uint8, 1, 4, 6, 6), weights8(np.int8, 6, 4, 3, 3)
channel_scale = np.linspace(0.01, 0.03, 6).astype(np.float32)
qconv = {"xs": f32(0.05), "xz": np.uint8(120), "w": w8, "ws": channel_scale, "wz": np.zeros(6, np.int8), "ys": f32(0.4),
         "yz": np.uint8(100), "b": draw.integers(-500, 500, 6).astype(np.int32)}
one("qlinear_conv", "QLinearConv", {"x": x8}, weights=qconv, pads=[1, 1, 1, 1], strides=[2, 1])
qdepth = dict(qconv, w=weights8(np.int8, 4, 1, 3, 3), ws=channel_scale[:4], wz=np.zeros(4, np.int8), b=qconv["b"][:4])
one("qlinear_conv_depthwise", "QLinearConv", {"x": x8}, weights=qdepth, group=4)
one("qlinear_matmul", "QLinearMatMul", {"a": small(np.uint8, 2, 5, 7)},
    weights={"as": f32(0.02), "az": np.uint8(128), "b": weights8(np.int8, 7, 3), "bs": f32(0.03), "bz": np.int8(0),
             "ys": f32(0.1), "yz": np.uint8(128)})
one("conv_integer", "ConvInteger", {"x": x8}, weights={"w": small(np.uint8, 2, 4, 3, 3), "xz": np.uint8(3), "wz": np.uint8(7)},
    pads=[0, 1, 1, 0])
one("matmul_integer", "MatMulInteger", {"a": small(np.uint8, 4, 300)},
    weights={"b": weights8(np.int8, 300, 5), "az": np.uint8(12), "bz": np.int8(-3)})
one("quantize_axis", "QuantizeLinear", {"x": 3 * numbers(2, 3, 4)},
    weights={"s": np.array([0.1, 0.02, 0.5], np.float32), "z": np.array([1, -5, 20], np.int8)}, axis=1)
one("dequantize_axis", "DequantizeLinear", {"x": small(np.int8, 2, 3, 4)},
    weights={"s": np.array([0.1, 0.02, 0.5, 0.7], np.float32), "z": np.array([1, -5, 20, 0], np.int8)}, axis=-1)
one("dynamic_quantize", "DynamicQuantizeLinear", {"x": numbers(3, 5)}, ("y", "s", "z"))
add("qdq_conv", [
    helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
    helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
    helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
    helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c"], ["r"]),
    helper.make_node("QuantizeLinear", ["r", "xs", "xz"], ["rq"]),
    helper.make_node("DequantizeLinear", ["rq", "xs", "xz"], ["y"])],
    {"x": numbers(1, 4, 5, 5)}, ["y"],
    {"xs": f32(0.02), "xz": np.uint8(128), "w": w8, "ws": channel_scale, "wz": np.zeros(6, np.int8)})

# ONNX Runtime's own domain.
hidden = numbers(2, 5, 8)
microsoft("gelu", "Gelu", {"x": hidden})
microsoft("bias_gelu", "BiasGelu", {"x": hidden}, weights={"b": numbers(8)})
microsoft("fast_gelu", "FastGelu", {"x": hidden}, weights={"b": numbers(8)})
microsoft("quick_gelu", "QuickGelu", {"x": hidden}, alpha=1.5)
microsoft("fused_matmul", "FusedMatMul", {"a": numbers(2, 4, 3), "b": numbers(2, 5, 4)}, transA=1, transB=1, alpha=0.25)
microsoft("fused_gemm", "FusedGemm", {"a": numbers(3, 4), "b": numbers(5, 4)}, weights={"c": numbers(5)}, transB=1, beta=0.5,
          activation="Relu")
microsoft("fused_conv", "FusedConv", {"x": numbers(1, 3, 6, 6)}, weights={"w": numbers(4, 3, 3, 3), "b": numbers(4)},
          activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1])
microsoft("skip_layer_norm", "SkipLayerNormalization", {"x": hidden, "s": numbers(2, 5, 8)}, ("y", "", "", "t"),
          weights={"g": numbers(8), "b": numbers(8), "c": numbers(8)}, epsilon=1e-5)
microsoft("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", {"x": hidden, "s": numbers(2, 5, 8)},
          weights={"g": numbers(8)}, epsilon=1e-5)
microsoft("attention", "Attention", {"x": hidden}, weights={"w": numbers(8, 24), "b": numbers(24)}, num_heads=2)
microsoft("attention_causal", "Attention", {"x": hidden}, weights={"w": numbers(8, 24), "b": numbers(24)}, num_heads=2,
          unidirectional=1)
microsoft("attention_masked", "Attention",
          {"x": hidden, "m": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)},
          weights={"w": numbers(8, 24), "b": numbers(24)}, num_heads=4, order=["x", "w", "b", "m"])
microsoft("multi_head_attention", "MultiHeadAttention", {"q": hidden, "k": numbers(2, 3, 8), "v": numbers(2, 3, 8)},
          weights={"b": numbers(24)}, num_heads=2)
microsoft("embed_layer_norm", "EmbedLayerNormalization",
          {"ids": draw.integers(0, 9, (2, 5)).astype(np.int32), "segments": draw.integers(0, 2, (2, 5)).astype(np.int32),
           "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)}, ("y", "n"),
          weights={"words": numbers(9, 8), "places": numbers(6, 8), "kinds": numbers(2, 8), "g": numbers(8), "b": numbers(8)},
          order=["ids", "segments", "words", "places", "kinds", "g", "b", "mask"], epsilon=1e-5)
pair = {"as": f32(0.0531), "az": np.uint8(120), "bs": f32(0.0317), "bz": np.uint8(90), "ys": f32(0.1), "yz": np.uint8(110)}
for op in ("QLinearAdd", "QLinearMul"):
    microsoft(op.lower(), op, {"a": small(np.uint8, 3, 4), "b": small(np.uint8, 3, 4)}, weights=pair,
              order=["a", "as", "az", "b", "bs", "bz", "ys", "yz"])
single = {"xs": f32(0.05), "xz": np.uint8(120), "ys": f32(0.02), "yz": np.uint8(20)}
microsoft("qlinear_sigmoid", "QLinearSigmoid", {"x": small(np.uint8, 3, 4)}, weights=single)
microsoft("qlinear_leaky_relu", "QLinearLeakyRelu", {"x": small(np.uint8, 3, 4)}, weights=single, alpha=0.1)
microsoft("qlinear_global_mean", "QLinearGlobalAveragePool", {"x": x8}, weights=single, channels_last=0)
microsoft("qlinear_concat", "QLinearConcat", {"a": small(np.uint8, 2, 3), "b": small(np.uint8, 2, 2)}, weights=pair,
          order=["ys", "yz", "a", "as", "az", "b", "bs", "bz"], axis=1)
microsoft("dynamic_quantize_matmul", "DynamicQuantizeMatMul", {"a": numbers(3, 6)},
          weights={"b": weights8(np.int8, 6, 4), "bs": f32(0.02), "bz": np.int8(3), "c": numbers(4)})
microsoft("matmul_integer_to_float", "MatMulIntegerToFloat", {"a": small(np.uint8, 3, 6)},
          weights={"b": weights8(np.int8, 6, 4), "as": f32(0.05), "bs": f32(0.02), "az": np.uint8(100), "bz": np.int8(3), "c": numbers(4)})

# Attention with a cache, with rotated positions, with shared heads.
past = numbers(2, 2, 2, 3, 4)
microsoft("attention_past", "Attention", {"x": hidden, "past": past}, ("y", "present"),
          weights={"w": numbers(8, 24), "b": numbers(24)}, num_heads=2, unidirectional=1, order=["x", "w", "b", "", "past"])
microsoft("attention_widths", "Attention", {"x": hidden, "m": np.array([4, 5, 1, 0], np.int32)},
          weights={"w": numbers(8, 28), "b": numbers(28)}, num_heads=2, qkv_hidden_sizes=[8, 8, 12], order=["x", "w", "b", "m"])
microsoft("multi_head_attention_past", "MultiHeadAttention",
          {"q": hidden, "k": numbers(2, 5, 8), "v": numbers(2, 5, 8), "pk": past[0], "pv": past[1]}, ("y", "k1", "v1"),
          num_heads=2, unidirectional=1, order=["q", "k", "v", "", "", "", "pk", "pv"])
microsoft("multi_head_attention_by_head", "MultiHeadAttention", {"q": hidden, "k": past[0], "v": past[1]}, num_heads=2, scale=0.3)
angles = draw.random((12, 2))
turns = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
wide = draw.random((12, 8))
wide_turns = {"cos": np.cos(wide).astype(np.float32), "sin": np.sin(wide).astype(np.float32)}
for name, ids, shape, rest in (
        ("ids", np.array([[3, 1, 0, 7, 8], [0, 1, 2, 3, 4]], np.int64), (2, 5, 8), {}),
        ("offset", np.array([4], np.int64), (2, 5, 8), {"interleaved": 1}),
        ("by_head", np.array([2], np.int64), (2, 3, 5, 4), {}),
        ("part", np.array([1], np.int64), (2, 5, 12), {"num_heads": 2, "rotary_embedding_dim": 4})):
    microsoft("rotary_" + name, "RotaryEmbedding", {"x": numbers(*shape), "ids": ids}, weights=turns, **rest)


def grouped(name, steps, before, total, ends, outputs=("y", "keys", "values"), packed=False, sequences=2, extra=None, **attributes):
    """4 heads of 16 features over 2 of keys; `ends` are the last places of the sequences."""
    data = {"q": numbers(sequences, steps, 128)} if packed else {
        "q": numbers(sequences, steps, 64), "k": numbers(sequences, steps, 32), "v": numbers(sequences, steps, 32)}
    order = ["q", "", ""] if packed else ["q", "k", "v"]
    if before:
        data.update(pk=numbers(sequences, 2, before, 16), pv=numbers(sequences, 2, before, 16))
    order += ["pk", "pv"] if before else ["", ""]
    data["ends"] = np.array(ends, np.int32)
    rotary = wide_turns if attributes.get("do_rotary") else {}
    order += ["ends", "total"] + (["cos", "sin"] if rotary else ["", ""])
    order += [""] * (9 - len(order)) + ["", *(extra or {})] if extra else []
    microsoft("grouped_" + name, "GroupQueryAttention", data, outputs,
              weights={"total": np.array([total], np.int32), **rotary, **{k: v for k, v in (extra or {}).items() if k}},
              order=order, num_heads=4, kv_num_heads=2, **attributes)


grouped("prompt", 5, 0, 5, [4, 4])
grouped("next", 1, 6, 7, [6, 6], do_rotary=1)
grouped("uneven", 1, 6, 7, [6, 3], do_rotary=1, rotary_interleaved=1)
grouped("shared_buffer", 1, 9, 6, [5, 2], packed=True, do_rotary=1)
grouped("chunk", 3, 4, 7, [6], sequences=1, softcap=2.0, scale=0.4)
grouped("window", 5, 0, 5, [4, 4], local_window_size=2, smooth_softmax=1)
grouped("bias", 2, 3, 5, [4], sequences=1, extra={"bias": numbers(1, 4, 2, 5), "sink": numbers(4)})
one("simplified_layer_norm", "SimplifiedLayerNormalization", {"x": hidden}, weights={"g": numbers(8)}, epsilon=1e-5)

# Weights of few bits.
for name, bits, columns, block, rest in (
        ("4", 4, 40, 16, {}), ("4_zeros", 4, 64, 32, {"zeros": 1}), ("8", 8, 32, 16, {"zeros": 1}),
        ("2", 2, 32, 16, {}), ("4_float_zeros", 4, 48, 16, {"zeros": 2, "bias": 1})):
    blocks = -(-columns // block)
    data = {"b": small(np.uint8, 6, blocks, block * bits // 8), "s": np.abs(numbers(6 * blocks)) + f32(0.1)}
    order = ["a", "b", "s"]
    if rest.get("zeros") == 1:
        data["z"] = small(np.uint8, 6 * (-(-blocks * bits // 8)))
    if rest.get("zeros") == 2:
        data["z"] = 3 + numbers(6 * blocks)
    order.append("z" if "z" in data else "")
    if rest.get("bias"):
        data["c"] = numbers(6)
        order += ["", "c"]
    microsoft("matmul_bits_" + name, "MatMulNBits", {"a": numbers(2, 3, columns)}, weights=data, order=order, K=columns, N=6,
              bits=bits, block_size=block)
microsoft("gather_blocks", "GatherBlockQuantized", {"data": small(np.uint8, 7, 32), "i": np.array([[3, 0], [6, 3]], np.int64)},
          weights={"s": numbers(7, 4), "z": small(np.uint8, 7, 2)}, block_size=16, bits=4, gather_axis=0, quantize_axis=1)


def narrow(values, kind):
    """A tensor of 4 bits."""
    return values.astype(helper.tensor_dtype_to_np_dtype(kind))


for kind, name, low, high in ((TensorProto.INT4, "int4", -8, 8), (TensorProto.UINT4, "uint4", 0, 16)):
    codes, zeros = draw.integers(low, high, (3, 7)), draw.integers(low, high, 7)
    scales = np.abs(numbers(7)) + f32(0.1)
    one("dequantize_" + name, "DequantizeLinear", {}, weights={"x": narrow(codes, kind), "s": scales, "z": narrow(zeros, kind)},
        version=21, axis=1)
    one("dequantize_blocks_" + name, "DequantizeLinear", {"s": np.abs(numbers(3, 2)) + f32(0.1)},
        weights={"x": narrow(draw.integers(low, high, (3, 8)), kind)}, version=21, axis=1, block_size=4, order=["x", "s"])
    add("quantize_" + name, [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1), helper.make_node("Transpose", ["q"], ["t"]),
        helper.make_node("DequantizeLinear", ["t", "s", "z"], ["y"], axis=0), helper.make_node("Cast", ["q"], ["n"], to=TensorProto.INT32)],
        {"x": 5 * numbers(3, 7)}, ["y", "n"], {"s": scales, "z": narrow(zeros, kind)}, version=21)
    add("cast_" + name, [
        helper.make_node("Cast", ["x"], ["q"], to=kind), helper.make_node("Cast", ["q"], ["y"], to=TensorProto.INT32)],
        {"x": np.arange(-20, 21, dtype=np.int32)}, ["y"], version=21)
microsoft("qgemm", "QGemm", {"a": small(np.uint8, 3, 6)},
          weights={"as": f32(0.05), "az": np.uint8(110), "b": weights8(np.int8, 4, 6), "bs": np.array([0.02, 0.03, 0.01, 0.04], np.float32),
                   "bz": np.array([1, -2, 0, 3], np.int8), "c": draw.integers(-900, 900, 4).astype(np.int32), "ys": f32(0.3), "yz": np.uint8(128)},
          transB=1, alpha=1.5)
microsoft("qgemm_float", "QGemm", {"a": small(np.uint8, 3, 6)},
          weights={"as": f32(0.05), "az": np.uint8(110), "b": small(np.uint8, 6, 4), "bs": f32(0.02), "bz": np.uint8(130)})
for name, last in (("", 0), ("_channels_last", 1)):
    microsoft("qlinear_average_pool" + name, "QLinearAveragePool", {"x": small(np.uint8, 1, 6, 7, 4)}, weights=single,
              kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 1], channels_last=last)
microsoft("qlinear_softmax", "QLinearSoftmax", {"x": small(np.uint8, 2, 3, 5)},
          weights={"xs": f32(0.02), "xz": np.uint8(120), "ys": f32(1 / 256), "yz": np.uint8(0)}, axis=-1, opset=13)
microsoft("qlinear_softmax_matrix", "QLinearSoftmax", {"x": small(np.int8, 2, 3, 5)},
          weights={"xs": f32(0.02), "xz": np.int8(-3), "ys": f32(1 / 256), "yz": np.int8(-128)}, axis=1, opset=12)
microsoft("qlinear_where", "QLinearWhere", {"c": draw.random((3, 4)) > 0.5, "a": small(np.uint8, 3, 4), "b": small(np.uint8, 3, 4)},
          weights=pair, order=["c", "a", "as", "az", "b", "bs", "bz", "ys", "yz"])
one("microsoft_quantize_16", "QuantizeLinear", {"x": 30 * numbers(3, 4)}, weights={"s": f32(0.001), "z": np.uint16(30000)},
    domain="com.microsoft")
for name, kind in (("", np.int8), ("_unsigned", np.uint8)):
    weights = {"w": weights8(kind, 2, 4, 24), "r": weights8(kind, 2, 6, 24), "b": 0.3 * numbers(2, 48), "ws": np.array([0.004, 0.003], np.float32),
               "wz": small(kind, 2) // 8, "rs": np.array([0.003, 0.002], np.float32), "rz": small(kind, 2) // 8}
    microsoft("dynamic_quantize_lstm" + name, "DynamicQuantizeLSTM", {"x": numbers(5, 1, 4)}, ("y", "yh", "yc"), weights=weights,
              order=["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"], hidden_size=6, direction="bidirectional")

# Recurrent networks.
steps, batch, inputs_, units = 5, 3, 4, 6
for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        weights = {"w": 0.3 * numbers(count, gates * units, inputs_), "r": 0.3 * numbers(count, gates * units, units),
                   "b": 0.3 * numbers(count, 2 * gates * units)}
        outputs = ("y", "yh") + (("yc",) if op == "LSTM" else ())
        data = {"x": numbers(steps, batch, inputs_), "lengths": np.array([5, 3, 1], np.int32)}
        extra = {"linear_before_reset": 1} if op == "GRU" and direction != "reverse" else {}
        one(f"{op.lower()}_{direction}_lengths", op, data, outputs, weights=weights,
            order=["x", "w", "r", "b", "lengths"], hidden_size=units, direction=direction, **extra)
states = {"h": numbers(1, batch, units), "c": numbers(1, batch, units), "p": 0.3 * numbers(1, 3 * units)}
one("lstm_peepholes", "LSTM", {"x": numbers(steps, batch, inputs_)}, ("y", "yh", "yc"),
    weights=dict(w=0.3 * numbers(1, 4 * units, inputs_), r=0.3 * numbers(1, 4 * units, units), b=0.3 * numbers(1, 8 * units), **states),
    order=["x", "w", "r", "b", "", "h", "c", "p"], hidden_size=units, clip=0.8)
one("gru_activations", "GRU", {"x": numbers(steps, batch, inputs_)}, ("y",),
    weights={"w": 0.3 * numbers(1, 3 * units, inputs_), "r": 0.3 * numbers(1, 3 * units, units)},
    hidden_size=units, activations=["HardSigmoid", "ScaledTanh"], activation_alpha=[0.3, 1.5], activation_beta=[0.4, 0.7])

# Windows: padding by rule, beyond the edge, dilated, counted.
picture = numbers(1, 3, 9, 7)
for rule in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    one("conv_" + rule.lower(), "Conv", {"x": picture}, weights={"w": numbers(4, 3, 4, 2)}, auto_pad=rule, strides=[2, 3])
    one("average_" + rule.lower(), "AveragePool", {"x": picture}, auto_pad=rule, kernel_shape=[4, 2], strides=[2, 3])
one("max_pool_ceil", "MaxPool", {"x": picture}, ("y", "i"), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 0, 0, 1])
one("max_pool_by_columns", "MaxPool", {"x": picture}, ("y", "i"), kernel_shape=[2, 3], storage_order=1, dilations=[2, 1])
one("average_ceil", "AveragePool", {"x": picture}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 0, 1, 0])
one("average_ceil_counted", "AveragePool", {"x": picture}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 0, 1, 0],
    count_include_pad=1)
one("lp_pool", "LpPool", {"x": picture}, version=18, kernel_shape=[3, 2], p=3, strides=[2, 1])
one("conv_1d", "Conv", {"x": numbers(2, 4, 11)}, weights={"w": numbers(6, 2, 3), "b": numbers(6)}, group=2, dilations=[2])
one("conv_3d", "Conv", {"x": numbers(1, 2, 4, 5, 6)}, weights={"w": numbers(3, 2, 2, 3, 2)}, pads=[1, 0, 1, 0, 1, 0])
one("conv_transpose_grouped", "ConvTranspose", {"x": numbers(1, 4, 3, 5)}, weights={"w": numbers(4, 3, 3, 2), "b": numbers(6)},
    group=2, strides=[2, 3], output_padding=[1, 2], pads=[1, 0, 0, 1])

# Old versions, attributes that later became inputs.
one("slice_1", "Slice", {"x": numbers(4, 5)}, version=9, starts=[1, -4], ends=[9, -1], axes=[0, 1])
one("pad_2", "Pad", {"x": numbers(2, 3)}, version=10, pads=[0, 1, 1, 0], mode="reflect")
one("squeeze_1", "Squeeze", {"x": numbers(1, 3, 1)}, version=11, axes=[0])
one("unsqueeze_1", "Unsqueeze", {"x": numbers(3, 2)}, version=11, axes=[0, 3])
one("split_2", "Split", {"x": numbers(6, 2)}, ("a", "b"), version=11, split=[2, 4])
one("clip_6", "Clip", {"x": numbers(5)}, version=9, min=-0.5, max=0.25)
one("softmax_11", "Softmax", {"x": numbers(2, 3, 4)}, version=11, axis=1)
one("topk_1", "TopK", {"x": numbers(3, 6)}, ("v", "i"), version=9, k=2)
one("upsample_9", "Upsample", {"x": numbers(1, 2, 3, 4)}, weights={"s": np.array([1, 1, 2, 3], np.float32)}, version=9)
one("upsample_9_linear", "Upsample", {"x": numbers(1, 2, 3, 4)}, weights={"s": np.array([1, 1, 2, 2], np.float32)}, version=9,
    mode="linear")
one("resize_10", "Resize", {"x": numbers(1, 2, 4, 6)}, weights={"s": np.array([1, 1, 0.5, 1.5], np.float32)}, version=10)
one("reduce_axes_attribute", "ReduceMean", {"x": numbers(2, 3, 4)}, version=13, axes=[-1, 0], keepdims=0)
one("gemm_7", "Gemm", {"a": numbers(4, 3), "b": numbers(5, 4)}, weights={"c": numbers(3, 1)}, version=7, transA=1, transB=1, alpha=0.5)
one("batch_norm_9", "BatchNormalization", {"x": picture}, version=9,
    weights={"s": numbers(3), "b": numbers(3), "m": numbers(3), "v": np.abs(numbers(3))}, epsilon=1e-3)
one("resize_antialias", "Resize", {"x": numbers(1, 1, 8, 9)}, weights={"r": np.zeros(0, np.float32), "s": np.array([1, 1, 0.4, 0.5], np.float32)},
    version=18, mode="cubic", antialias=1, cubic_coeff_a=-0.5)
one("integer_division", "Div", {"a": np.array([7, -7, 7, -7, 6], np.int32), "b": np.array([2, 2, -2, -2, 3], np.int32)})
one("nms", "NonMaxSuppression", {"boxes": np.sort(draw.random((1, 20, 4)).astype(np.float32), axis=2)[:, :, [0, 1, 2, 3]],
    "scores": draw.random((1, 2, 20)).astype(np.float32)},
    weights={"n": np.int64(4), "o": f32(0.3), "t": f32(0.2)})
one("einsum_dots", "Einsum", {"a": numbers(2, 3, 4), "b": numbers(2, 4, 5)}, equation="...ij,...jk->...ik")
one("lrn", "LRN", {"x": picture}, size=3, alpha=0.01, beta=0.6, bias=1.5)

# Networks whose parts meet: branches that are joined, channels that are split, shapes that are computed.
add("inception", [
    helper.make_node("Conv", ["x", "w1"], ["a"]),
    helper.make_node("Relu", ["a"], ["ar"]),
    helper.make_node("Pad", ["x", "pads"], ["p"]),
    helper.make_node("Conv", ["p", "w2", "b2"], ["b"]),
    helper.make_node("Clip", ["b", "low", "high"], ["br"]),
    helper.make_node("MaxPool", ["x"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
    helper.make_node("Concat", ["ar", "br", "m"], ["j"], axis=1),
    helper.make_node("Split", ["j"], ["j1", "j2"], axis=1),
    helper.make_node("Sigmoid", ["j1"], ["g"]),
    helper.make_node("Mul", ["g", "j2"], ["k"]),
    helper.make_node("GlobalAveragePool", ["k"], ["q"]),
    helper.make_node("Flatten", ["q"], ["f"]),
    helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1)],
    {"x": picture}, ["y", "k"],
    {"w1": numbers(4, 3, 1, 1), "w2": numbers(3, 3, 3, 3), "b2": numbers(3), "low": f32(0), "high": f32(6),
     "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "w3": numbers(7, 5), "b3": numbers(7)})
add("shuffle", [
    helper.make_node("Shape", ["x"], ["s"]),
    helper.make_node("Gather", ["s", "zero"], ["n"]),
    helper.make_node("Concat", ["n", "two_groups"], ["t"], axis=0),
    helper.make_node("Reshape", ["x", "t"], ["g"]),
    helper.make_node("Transpose", ["g"], ["h"], perm=[0, 2, 1, 3, 4]),
    helper.make_node("Reshape", ["h", "s"], ["i"]),
    helper.make_node("Conv", ["i", "w"], ["y"], group=4, pads=[1, 1, 1, 1])],
    {"x": numbers(2, 4, 5, 6)}, ["y"],
    {"zero": np.array([0], np.int64), "two_groups": np.array([2, 2, 5, -1], np.int64), "w": numbers(4, 1, 3, 3)})
add("transformer", [
    helper.make_node("LayerNormalization", ["x", "g", "b"], ["n"], axis=-1),
    helper.make_node("MatMul", ["n", "wqkv"], ["qkv"]),
    helper.make_node("Split", ["qkv"], ["q", "k", "v"], axis=-1),
    *[helper.make_node("Reshape", [a, "heads"], [a + "r"]) for a in "qkv"],
    helper.make_node("Transpose", ["qr"], ["qt"], perm=[0, 2, 1, 3]),
    helper.make_node("Transpose", ["kr"], ["kt"], perm=[0, 2, 3, 1]),
    helper.make_node("Transpose", ["vr"], ["vt"], perm=[0, 2, 1, 3]),
    helper.make_node("MatMul", ["qt", "kt"], ["scores"]),
    helper.make_node("Div", ["scores", "root"], ["scaled"]),
    helper.make_node("Softmax", ["scaled"], ["weights"]),
    helper.make_node("MatMul", ["weights", "vt"], ["mixed"]),
    helper.make_node("Transpose", ["mixed"], ["mt"], perm=[0, 2, 1, 3]),
    helper.make_node("Reshape", ["mt", "flat"], ["joined"]),
    helper.make_node("Add", ["joined", "x"], ["r"]),
    helper.make_node("Erf", ["r"], ["e"]),
    helper.make_node("Mul", ["r", "e"], ["y"])],
    {"x": hidden}, ["y"],
    {"g": numbers(8), "b": numbers(8), "wqkv": numbers(8, 24), "heads": np.array([0, 0, 2, 4], np.int64),
     "flat": np.array([0, 0, -1], np.int64), "root": f32(2)})

# Loops, scans and branches that data decides.


def body(name, nodes, inputs, outputs):
    """inputs and outputs: name -> (type, shape); inner tensors are those of the graph around it."""
    def infos(values):
        return [helper.make_tensor_value_info(n, t, s) for n, (t, s) in values.items()]
    return helper.make_graph(nodes, name, infos(inputs), infos(outputs))


FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
STEP = {"i": (INT64, []), "go": (BOOL, [])}
GOES_ON = helper.make_node("Identity", ["go"], ["goes"])
mix = body("mix", [GOES_ON, helper.make_node("MatMul", ["h", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["hn"])],
           {**STEP, "h": (FLOAT, [2, 3])}, {"goes": (BOOL, []), "hn": (FLOAT, [2, 3])})
add("loop_counted", [helper.make_node("Loop", ["n", "", "x"], ["y"], body=mix)],
    {"x": numbers(2, 3), "n": np.array(5, np.int64)}, ["y"], {"w": numbers(3, 3)})
add("loop_not_begun", [helper.make_node("Loop", ["n", "begin", "x"], ["y"], body=mix)],
    {"x": numbers(2, 3), "n": np.array(5, np.int64), "begin": np.array(False)}, ["y"], {"w": numbers(3, 3)})
root = body("root", [
    helper.make_node("Div", ["x", "h"], ["q"]), helper.make_node("Add", ["h", "q"], ["s"]),
    helper.make_node("Mul", ["s", "half"], ["hn"]), helper.make_node("Mul", ["hn", "hn"], ["square"]),
    helper.make_node("Sub", ["square", "x"], ["d"]), helper.make_node("Abs", ["d"], ["a"]),
    helper.make_node("ReduceMax", ["a"], ["worst"], keepdims=0), helper.make_node("Greater", ["worst", "small"], ["goes"])],
            {**STEP, "h": (FLOAT, [4])}, {"goes": (BOOL, []), "hn": (FLOAT, [4])})
add("loop_tested", [helper.make_node("Loop", ["", "begin", "x"], ["y"], body=root)],
    {"x": np.array([2, 9, 0.5, 7], np.float32), "begin": np.array(True)}, ["y"], {"half": f32(0.5), "small": f32(1e-3)})
rows = body("rows", [
    GOES_ON, helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Mul", ["h", "a"], ["m"]),
    helper.make_node("Add", ["m", "f"], ["hn"]), helper.make_node("Neg", ["h"], ["row"])],
            {**STEP, "h": (FLOAT, [3])}, {"goes": (BOOL, []), "hn": (FLOAT, [3]), "row": (FLOAT, [3])})
add("loop_rows", [helper.make_node("Loop", ["n", "", "x"], ["y", "r"], body=rows)], {"x": numbers(3), "a": np.array(0.75, np.float32)}, ["y", "r"],
    {"n": np.array(4, np.int64)})
add("loop_rows_by_data", [helper.make_node("Loop", ["n", "", "x"], ["y", "r"], body=rows)],
    {"x": numbers(3), "a": np.array(0.75, np.float32), "n": np.array(4, np.int64)}, ["y", "r"])
grow = body("grow", [GOES_ON, helper.make_node("Concat", ["h", "x"], ["hn"], axis=0)],
            {**STEP, "h": (FLOAT, None)}, {"goes": (BOOL, []), "hn": (FLOAT, None)})
add("loop_growing", [helper.make_node("Loop", ["n", "", "x"], ["y"], body=grow), helper.make_node("Neg", ["y"], ["z"])],
    {"x": numbers(2, 2), "n": np.array(3, np.int64)}, ["z"])
twice = body("twice", [helper.make_node("Add", ["h", "h"], ["t"])], {}, {"t": (FLOAT, [3])})
wane = body("wane", [helper.make_node("Sub", ["h", "a"], ["o"])], {}, {"o": (FLOAT, [3])})
choose = body("choose", [
    GOES_ON, helper.make_node("ReduceSum", ["h"], ["total"], keepdims=0), helper.make_node("Less", ["total", "a"], ["low"]),
    helper.make_node("If", ["low"], ["hn"], then_branch=twice, else_branch=wane)],
              {**STEP, "h": (FLOAT, [3])}, {"goes": (BOOL, []), "hn": (FLOAT, [3])})
add("loop_of_branches", [helper.make_node("Loop", ["n", "", "x"], ["y"], body=choose)],
    {"x": np.array([0.5, 1, 0.25], np.float32), "a": np.array(3, np.float32), "n": np.array(9, np.int64)}, ["y"])
up = body("up", [helper.make_node("MatMul", ["x", "w"], ["u"])], {}, {"u": (FLOAT, None)})
down = body("down", [helper.make_node("Neg", ["x"], ["d"])], {}, {"d": (FLOAT, None)})
for name, wide in (("branch", 3), ("branch_of_two_shapes", 5)):
    add(name, [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0), helper.make_node("Greater", ["s", "zero"], ["c"]),
               helper.make_node("If", ["c"], ["v"], then_branch=up, else_branch=down), helper.make_node("Abs", ["v"], ["y"])],
        {"x": np.abs(numbers(2, 3))}, ["y"], {"w": numbers(3, wide), "zero": f32(0)})
both = body("both", [
    helper.make_node("Add", ["h", "p"], ["hp"]), helper.make_node("Mul", ["hp", "q"], ["hn"]),
    helper.make_node("Sub", ["p", "q"], ["r1"]), helper.make_node("Identity", ["hn"], ["r2"])],
            {"h": (FLOAT, [2]), "p": (FLOAT, [2]), "q": (FLOAT, [2])},
            {"hn": (FLOAT, [2]), "r1": (FLOAT, [2]), "r2": (FLOAT, [2])})
for name, directions in (("scan", [0, 0]), ("scan_reverse", [1, 1]), ("scan_both_ways", [0, 1])):
    add(name, [helper.make_node("Scan", ["h0", "a", "b"], ["h", "y", "z"], body=both, num_scan_inputs=2, scan_input_axes=[1, -2],
                                scan_input_directions=directions, scan_output_axes=[0, 1], scan_output_directions=[1, 0])],
        {"h0": numbers(2), "a": numbers(2, 4), "b": numbers(4, 2)}, ["h", "y", "z"])
nested = body("nested", [
    GOES_ON, helper.make_node("Scan", ["h", "a", "b"], ["hs", "y", "z"], body=both, num_scan_inputs=2),
    helper.make_node("ReduceMean", ["y"], ["m"], axes=[0], keepdims=0), helper.make_node("Add", ["hs", "m"], ["ht"]),
    helper.make_node("Tanh", ["ht"], ["hn"])],
              {**STEP, "h": (FLOAT, [2])}, {"goes": (BOOL, []), "hn": (FLOAT, [2])})
add("loop_of_scans", [helper.make_node("Loop", ["n", "", "x"], ["y"], body=nested)],
    {"x": numbers(2), "a": numbers(4, 2), "b": numbers(4, 2), "n": np.array(3, np.int64)}, ["y"])

# Sequences inside of a model.
add("sequence_edited", [
    helper.make_node("SequenceConstruct", ["a", "b"], ["s0"]), helper.make_node("SequenceInsert", ["s0", "c"], ["s1"]),
    helper.make_node("SequenceInsert", ["s1", "b", "minus"], ["s2"]), helper.make_node("SequenceErase", ["s2", "zero"], ["s3"]),
    helper.make_node("SequenceAt", ["s3", "minus"], ["last"]), helper.make_node("SequenceLength", ["s3"], ["n"]),
    helper.make_node("ConcatFromSequence", ["s3"], ["y"], axis=-1), helper.make_node("Neg", ["last"], ["z"])],
    {"a": numbers(2, 1), "b": numbers(2, 3), "c": numbers(2, 2)}, ["y", "z", "n"],
    {"minus": np.array(-1, np.int64), "zero": np.array(0, np.int64)})
for name, weights, attributes, joined in (
        ("uneven", {"l": np.array([1, 3, 2], np.int64)}, {"axis": 1}, {"axis": 1}),
        ("equal", {"l": np.array(4, np.int64)}, {"axis": -1}, {"axis": 1}),
        ("single", {}, {"axis": 1, "keepdims": 0}, {"axis": 0, "new_axis": 1})):
    add("sequence_split_" + name, [
        helper.make_node("SplitToSequence", ["x", *weights], ["s"], **attributes),
        helper.make_node("SequenceErase", ["s", "one"], ["rest"]),
        helper.make_node("ConcatFromSequence", ["rest"], ["y"], **joined)],
        {"x": numbers(2, 6)}, ["y"], {**weights, "one": np.array(1, np.int64)})
carried = helper.make_tensor_sequence_value_info
collect = body("collect", [
    GOES_ON, helper.make_node("Mul", ["h", "a"], ["hn"]), helper.make_node("SequenceInsert", ["s", "hn"], ["t"]),
    helper.make_node("ReduceSum", ["hn"], ["row"], keepdims=0)],
               {**STEP, "h": (FLOAT, [3])}, {"goes": (BOOL, []), "hn": (FLOAT, [3]), "row": (FLOAT, [])})
collect.input.append(carried("s", FLOAT, None))
collect.output.insert(2, carried("t", FLOAT, None))
collecting = [helper.make_node("SequenceEmpty", [], ["none"]),
              helper.make_node("Loop", ["n", "", "x", "none"], ["h", "all", "r"], body=collect),
              helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0)]
add("sequence_collected", collecting, {"x": numbers(3), "a": numbers(3)}, ["h", "r", "y"], {"n": np.array(4, np.int64)})
add("sequence_collected_by_data", collecting, {"x": numbers(3), "a": numbers(3), "n": np.array(4, np.int64)}, ["h", "r", "y"])

microsoft("transposed_product", "TransposeMatMul", {"a": numbers(2, 4, 3), "b": numbers(2, 5, 4)}, transA=1, transB=1, alpha=0.5)
# Blocks by number: neighbouring columns belong to different ones. (With numbers, the runtime disregards zero points.)
microsoft("matmul_bits_4_by_number", "MatMulNBits", {"a": numbers(2, 3, 32)},
          weights={"b": small(np.uint8, 6, 2, 8), "s": np.abs(numbers(12)) + f32(0.1),
                   "g": draw.integers(0, 2, 32).astype(np.int32)},
          order=["a", "b", "s", "", "g"], K=32, N=6, bits=4, block_size=16)

# What is like the result of a cast is of that type, whole or cut to its bits.
for name, kind in (("float", TensorProto.FLOAT), ("int16", TensorProto.INT16), ("int8", TensorProto.INT8), ("int4", TensorProto.INT4)):
    add("cast_like_a_cast_to_" + name, [
        helper.make_node("Cast", ["k"], ["like"], to=kind), helper.make_node("CastLike", ["x", "like"], ["z"]),
        helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)],
        {"x": np.arange(-9, 10, dtype=np.int32), "k": np.array([1, 2], np.int32)}, ["y"], version=21)

# N-grams of integers: skipped members, places out of order and shared, rows shorter than an n-gram.
grams = {"ngram_counts": [0, 3], "ngram_indexes": [4, 0, 1, 5, 3, 2, 1], "pool_int64s": [2, 3, 5, 5, 4, 5, 6, 7, 8, 6, 7]}
weights = [0.5, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0]
words = np.array([[1, 1, 3, 3, 3, 7, 5, 4], [8, 6, 7, 5, 6, 8, 6, 7]], np.int32)
for name, x, mode, more in (
        ("tf", words, "TF", {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 5}),
        ("idf", words, "IDF", {"min_gram_length": 2, "max_gram_length": 2, "max_skip_count": 1}),
        ("tfidf", words, "TFIDF", {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}),
        ("of_one_row", words[1].astype(np.int64), "TFIDF", {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 2}),
        ("of_a_short_row", words[:, :1], "TF", {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 3})):
    attributes = {**more, **grams, "mode": mode} if mode == "TF" else {**more, **grams, "mode": mode, "weights": weights}
    add("ngrams_" + name, [helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attributes)], {"x": x}, ["y"])

# Operators as the oldest sets have them.
one("upsample_7", "Upsample", {"x": numbers(1, 2, 3, 4)}, version=7, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
one("upsample_7_linear", "Upsample", {"x": numbers(1, 2, 3, 4)}, version=8, scales=[1.0, 1.0, 2.0, 2.0], mode="linear")
one("max_roi_pool", "MaxRoiPool", {"x": numbers(2, 3, 9, 7),
                                   "r": np.array([[0, 1, 1, 9, 14], [1, 0, 0, 3, 2], [1, 10, 12, 30, 40], [0, 5, 5, 2, 2]], np.float32)},
    version=8, pooled_shape=[3, 2], spatial_scale=0.5)


def exported(name, network, *inputs, version):
    """A network as PyTorch exports it in an old operator set."""
    network.eval()
    file = io.BytesIO()
    torch.onnx.export(network, tuple(torch.from_numpy(i) for i in inputs), file, opset_version=version, dynamo=False,
                      input_names=[f"x{i}" for i in range(len(inputs))], output_names=["y"])
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    given = {f"x{i}": a for i, a in enumerate(inputs)}
    members[f"old_{name}_{version}|model"] = np.frombuffer(file.getvalue(), np.uint8)
    for n, a in given.items():
        members[f"old_{name}_{version}|in|{n}"] = a
    members[f"old_{name}_{version}|out|y"] = session.run(["y"], given)[0]


class Gated(torch.nn.Module):
    """Slices, padding, reductions, products of matrices, choices and comparisons."""

    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(5, 8)

    def forward(self, x, h):
        y = torch.tanh(self.f(torch.nn.functional.pad(x[:, 1:3], (1, 2)).unsqueeze(1)).squeeze(1))
        z = torch.sigmoid(y[:, :4]) * torch.nn.functional.elu(y[:, 4:]) + h.mean(1, keepdim=True)
        best, _ = torch.topk(z, 2, dim=1)
        return torch.cat([z, best, torch.clamp(z, -0.1, 0.2), torch.logsumexp(z, 1, keepdim=True), z.matmul(h[0].view(4, 1))], 1)


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.f = kind(3, 4, num_layers=2, bidirectional=True)
        self.h = torch.nn.Parameter(torch.randn(4, 2, 4))

    def forward(self, x):
        return self.f(x, (self.h, -self.h) if isinstance(self.f, torch.nn.LSTM) else self.h)[0]


torch.manual_seed(20261126)
n = torch.nn
for version in (7, 8):
    exported("convolutions", n.Sequential(
        n.Conv2d(3, 6, 3, padding=1, bias=False), n.BatchNorm2d(6), n.LeakyReLU(0.1), n.MaxPool2d(3, 2, 1), n.Conv2d(6, 6, 3, groups=6),
        n.ReLU6(), n.ConvTranspose2d(6, 4, 2, stride=2), n.PReLU(4), n.AvgPool2d(2, 2, 1), n.Dropout(), n.Flatten(), n.Linear(100, 5),
        n.LogSoftmax(1)), numbers(2, 3, 11, 11), version=version)
    exported("normalised", n.Sequential(n.InstanceNorm2d(3, affine=True), n.Softplus(), n.LocalResponseNorm(3), n.AdaptiveAvgPool2d(1),
                                        n.Flatten(), n.Linear(3, 4), n.SELU(), n.Softmax(1)), numbers(2, 3, 5, 6), version=version)
    exported("gated", Gated(), numbers(3, 4), numbers(3, 4), version=version)
    for kind in (n.LSTM, n.GRU, n.RNN):
        exported(kind.__name__.lower(), Recurrent(kind), numbers(5, 2, 3), version=version)

# Each convolution between transposes, as converters from channels last write it; a residual and a pool in between.
w = {"w0": numbers(8, 3, 3, 3), "b0": numbers(8), "w1": numbers(8, 1, 3, 3), "w2": numbers(8, 8, 1, 1), "b2": numbers(8)}


def wrapped(x, y, op, *rest, **attributes):
    return [helper.make_node("Transpose", [x], [x + y], perm=[0, 3, 1, 2]),
            helper.make_node(op, [x + y, *rest], ["in_" + y], **attributes),
            helper.make_node("Transpose", ["in_" + y], [y], perm=[0, 2, 3, 1])]


for version in (8, 13):
    add(f"wrapped_convolutions_{version}", [
        *wrapped("x", "a", "Conv", "w0", "b0", pads=[0, 0, 1, 1], strides=[2, 2]), helper.make_node("Relu", ["a"], ["ar"]),
        *wrapped("ar", "c", "Conv", "w1", pads=[1, 1, 1, 1], group=8), helper.make_node("Relu", ["c"], ["cr"]),
        *wrapped("cr", "d", "Conv", "w2", "b2"), helper.make_node("Add", ["d", "ar"], ["e"]),
        *wrapped("e", "p", "MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ReduceMean", ["p"], ["y"], axes=[1, 2], keepdims=0)], {"x": numbers(1, 12, 10, 3)}, ["y"], w, version=version)

# Weights of 16 bits with 8 of them in the exponent.
half = {n: helper.make_tensor(n, TensorProto.BFLOAT16, a.shape, a.flatten().tolist()) for n, a in (("w", numbers(5, 4)), ("b", numbers(4)))}
graph = helper.make_graph(
    [helper.make_node("Cast", ["w"], ["wf"], to=FLOAT), helper.make_node("Cast", ["b"], ["bf"], to=FLOAT),
     helper.make_node("Gemm", ["x", "wf", "bf"], ["z"]), helper.make_node("Cast", ["z"], ["zh"], to=TensorProto.BFLOAT16),
     helper.make_node("Cast", ["zh"], ["y"], to=FLOAT)], "bf16",
    [helper.make_tensor_value_info("x", FLOAT, [3, 5])], [helper.make_tensor_value_info("y", FLOAT, None)], list(half.values()))
data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10).SerializeToString()
x = numbers(3, 5)
members["bf16_weights|model"], members["bf16_weights|in|x"] = np.frombuffer(data, np.uint8), x
members["bf16_weights|out|y"] = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(["y"], {"x": x})[0]

# Weights of few bits: every width, blocks of every size, zero points of both kinds, columns that end within a block, and as
# many rows as are multiplied in panels.
for bits, block, rows, k, n, zeros in (
        (4, 16, 1, 16, 1, None), (4, 32, 1, 96, 5, "u8"), (4, 32, 7, 70, 33, "f32"), (4, 64, 64, 130, 70, "u8"),
        (4, 128, 2, 200, 3, None), (4, 256, 20, 300, 9, "u8"), (8, 16, 1, 48, 7, "u8"), (8, 32, 19, 45, 66, None),
        (8, 128, 3, 256, 2, "u8"), (2, 16, 2, 64, 4, None), (2, 32, 24, 96, 17, "u8"), (2, 128, 1, 256, 3, "u8")):
    blocks = -(-k // block)
    data = {"b": small(np.uint8, n, blocks, block * bits // 8), "s": np.abs(numbers(n, blocks)) + f32(0.1)}
    if zeros == "u8":
        data["z"] = small(np.uint8, n, -(-blocks * bits // 8))
    elif zeros:
        data["z"] = 2 ** (bits - 1) + numbers(n, blocks)
    microsoft(f"matmul_bits_{bits}_{block}_{rows}x{k}x{n}", "MatMulNBits", {"a": numbers(rows, k)}, weights=data,
              order=["a", "b", "s"] + (["z"] if zeros else []), K=k, N=n, bits=bits, block_size=block)
# Inputs that are no constants.
microsoft("matmul_bits_given", "MatMulNBits",
          {"a": numbers(2, 40), "b": small(np.uint8, 3, 3, 8), "s": numbers(3, 3), "z": small(np.uint8, 3, 2)}, K=40, N=3, bits=4,
          block_size=16)

# What only some versions and sizes have: pieces of which the last is shorter, a softmax over all axes behind one, windows of
# channels without a middle, sums of halves, windows that begin in the padding or find no place.
one("split_uneven", "Split", {"x": numbers(7, 2)}, ("a", "b", "c"), version=18, num_outputs=3)
one("split_uneven_last_axis", "Split", {"x": numbers(2, 5)}, ("a", "b"), version=18, axis=-1, num_outputs=2)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    one(f"{op.lower()}_11_rank_3", op, {"x": numbers(2, 3, 4)}, version=11, axis=1)
    one(f"{op.lower()}_11_default", op, {"x": numbers(2, 2, 3)}, version=11)
# Of even windows, which the runtime does not take: channel c is divided by those from c - floor((size - 1) / 2) to
# c + ceil((size - 1) / 2).
for size in (2, 4):
    x = numbers(2, 5, 3, 2)
    node = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.3, beta=0.6, bias=1.5)
    graph = helper.make_graph([node], "lrn", [helper.make_tensor_value_info("x", FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    members[f"lrn_of_{size}|model"] = np.frombuffer(model.SerializeToString(), np.uint8)
    members[f"lrn_of_{size}|in|x"] = x
    squares = np.stack([(x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1] ** 2).sum(1) for c in range(5)], 1)
    members[f"lrn_of_{size}|out|y"] = x / (1.5 + 0.3 / size * squares) ** f32(0.6)
halves = {"g": (1 + 0.1 * numbers(16)).astype(np.float16), "b": numbers(16).astype(np.float16)}
one("layer_normalization_f16", "LayerNormalization", {"x": (100 + 3 * numbers(4, 16)).astype(np.float16)}, weights=halves)
one("layer_normalization_f16_axes", "LayerNormalization", {"x": (200 * numbers(3, 2, 8)).astype(np.float16)},
    weights={"g": halves["g"].reshape(2, 8), "b": halves["b"].reshape(2, 8)}, axis=1)
# Length 5 in steps of 3 or 4 with padding on both sides: rounded up, one more window would begin behind the input.
for op, more in (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}), ("LpPool", {})):
    for stride, pads in (([2, 3], [1, 1, 1, 1]), ([3, 2], [0, 1, 1, 1]), ([4, 4], [1, 0, 1, 1])):
        name = f"{op.lower()}_ceil_{''.join(map(str, stride + pads))}{'_counted' if more else ''}"
        one(name, op, {"x": numbers(1, 2, 5, 6)}, version=19, kernel_shape=[2, 2], strides=stride, pads=pads, ceil_mode=1, **more)
    if not more:
        one(f"{op.lower()}_of_nothing", op, {"x": numbers(2, 3, 2, 5)}, version=19, kernel_shape=[3, 2])
        one(f"{op.lower()}_of_no_batch", op, {"x": numbers(0, 3, 4, 5)}, version=19, kernel_shape=[3, 2])
one("maxpool_of_nothing_with_indices", "MaxPool", {"x": numbers(2, 3, 2, 5)}, ("y", "i"), kernel_shape=[3, 2])

# The forget gate of an LSTM coupled with its input gate.
for direction, count in (("forward", 1), ("bidirectional", 2)):
    gates = {"w": numbers(count, 16, 3), "r": numbers(count, 16, 4), "b": numbers(count, 32), "p": numbers(count, 12)}
    one(f"lstm_coupled_{direction}", "LSTM", {"x": numbers(5, 2, 3)}, ("y", "h", "c"), weights=gates,
        order=["x", "w", "r", "b", "", "", "", "p"], hidden_size=4, input_forget=1, direction=direction)
    one(f"lstm_coupled_{direction}_clipped", "LSTM", {"x": numbers(5, 2, 3)}, ("y", "h", "c"),
        weights={n: a for n, a in gates.items() if n != "p"}, hidden_size=4, input_forget=1, direction=direction, clip=0.5)

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.npz")
np.savez_compressed(out, **members)
print(sum(k.endswith("|model") for k in members), "models,", os.path.getsize(out), "bytes, ONNX Runtime", onnxruntime.__version__)
