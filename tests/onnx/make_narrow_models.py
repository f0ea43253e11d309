#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/onnx/narrow_models.npz: models with elements of 8 bits and fewer, inputs, and the outputs that are right.

Needs onnx and ml_dtypes; the build never runs it. Members are NAME|model (the file's bytes), NAME|in|INPUT and
NAME|out|OUTPUT, arrays as Tyto holds them: floating-point numbers as f16 or, of exponents alone, as f32, integers as those
of 8 bits. ONNX's own node tests of such types, casts of every number and of what lies between two by ml_dtypes, and
quantisation in blocks by ONNX's reference evaluator.
"""
import os
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
draw = np.random.default_rng(20261128)
members = {}
FLOATS = {TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
          TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2, TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
          TensorProto.FLOAT4E2M1: ml_dtypes.float4_e2m1fn, TensorProto.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu}
INTEGERS = {TensorProto.INT4: (ml_dtypes.int4, np.int8), TensorProto.UINT4: (ml_dtypes.uint4, np.uint8),
            TensorProto.INT2: (ml_dtypes.int2, np.int8), TensorProto.UINT2: (ml_dtypes.uint2, np.uint8)}
NAMES = {number: name.lower() for name, number in TensorProto.DataType.items()}


def held(array):
    """As Tyto holds it."""
    for narrow in FLOATS.values():
        if array.dtype == narrow:
            return array.astype(np.float32 if narrow == ml_dtypes.float8_e8m0fnu else np.float16)
    for narrow, wide in INTEGERS.values():
        if array.dtype == narrow:
            return array.astype(wide)
    return array


def store(name, model, inputs, outputs):
    assert name + "|model" not in members, name
    members[name + "|model"] = np.frombuffer(model.SerializeToString(), np.uint8)
    for kind, arrays in (("in", inputs), ("out", outputs)):
        for n, a in arrays.items():
            members[f"{name}|{kind}|{n}"] = held(np.asarray(a))


def add(name, nodes, inputs, outputs, weights=(), right=None, version=25):
    """inputs: name -> (element type, array); outputs: name -> element type; `right`: outputs that are no other's to say."""
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(n, t, a.shape) for n, (t, a) in inputs.items()],
                              [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=12)
    given = {n: a for n, (_, a) in inputs.items()}
    if right is None:
        right = dict(zip(outputs, ReferenceEvaluator(model).run(list(outputs), given)))
    store(name, model, given, right)


# ONNX's own, but for those that are others written out.
for case in collect_testcases(None):
    values = [v.type.tensor_type.elem_type for v in (*case.model.graph.input, *case.model.graph.output)]
    if not any(t in FLOATS or t in INTEGERS for t in values) or case.name.endswith("_expanded"):
        continue
    arrays = [[numpy_helper.to_array(a) if isinstance(a, TensorProto) else np.asarray(a) for a in group]
              for group in case.data_sets[0]]
    store(case.name, case.model, *({v.name: a for v, a in zip(infos, group)}
                                   for infos, group in zip((case.model.graph.input, case.model.graph.output), arrays)))

# Casts: each number of a format, the middle to the next, what is a little more and less, and numbers of any size.
for kind, narrow in FLOATS.items():
    if kind == TensorProto.FLOAT8E8M0:
        numbers = np.array([0, *(2.0 ** np.arange(-126, 128)), *(1.5 * 2.0 ** np.arange(-126, 128))], np.float32)
    else:
        bits = 4 if kind == TensorProto.FLOAT4E2M1 else 8
        numbers = np.arange(2**bits, dtype=np.uint8).view(narrow).astype(np.float32)
        numbers = np.unique(numbers[np.isfinite(numbers)])
        numbers = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers[-1:] + (numbers[-1:] - numbers[-2:-1]) / 2])
    around = np.concatenate([numbers, np.nextafter(numbers, np.float32(np.inf)), np.nextafter(numbers, np.float32(-np.inf))])
    if kind == TensorProto.FLOAT8E8M0:
        around = around[around >= 2.0**-126]
    else:
        drawn = draw.standard_normal(200) * 2.0 ** draw.integers(-20, 20, 200)
        around = np.concatenate([around, drawn, [np.inf, -np.inf, 0.0, -0.0]]).astype(np.float32)
        if kind != TensorProto.FLOAT4E2M1:
            around = np.append(around, np.float32(np.nan))
    for saturate in (0, 1) if kind != TensorProto.FLOAT4E2M1 else (1,):
        for mode in ("up", "down", "nearest") if kind == TensorProto.FLOAT8E8M0 else ("",):
            if mode:
                right = numpy_helper.to_float8e8m0(around, bool(saturate), mode)
            else:
                right = numpy_helper.saturate_cast(around, np.dtype(narrow)) if saturate else around.astype(narrow)
            attributes = {"saturate": saturate, **({"round_mode": mode} if mode else {})}
            name = f"{NAMES[kind]}_{'saturated' if saturate else 'as_it_is'}{'_' + mode if mode else ''}"
            add(name, [helper.make_node("Cast", ["x"], ["y"], to=kind, **attributes)], {"x": (TensorProto.FLOAT, around)},
                {"y": kind}, right={"y": right})
    if kind in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2FNUZ):
        for wide, array in ((TensorProto.DOUBLE, around.astype(np.float64)), (TensorProto.FLOAT16, around.astype(np.float16)),
                            (TensorProto.BFLOAT16, around.astype(ml_dtypes.bfloat16))):
            if wide == TensorProto.BFLOAT16:  # no array of npz has that type
                continue
            add(f"{NAMES[kind]}_of_{NAMES[wide]}", [helper.make_node("Cast", ["x"], ["y"], to=kind)], {"x": (wide, array)},
                {"y": kind}, right={"y": numpy_helper.saturate_cast(array, np.dtype(narrow))})
        whole = np.array([*range(-600, 600, 7), 2**20, -2**31], np.int32)
        add(f"{NAMES[kind]}_of_int32", [helper.make_node("Cast", ["x"], ["y"], to=kind)], {"x": (TensorProto.INT32, whole)},
            {"y": kind}, right={"y": numpy_helper.saturate_cast(whole.astype(np.float64), np.dtype(narrow))})


def tensor(name, kind, array, raw=True):
    """An initialiser; not raw, its bytes are listed as integers, two numbers of four bits in each."""
    stored = numpy_helper.from_array(array, name)
    assert stored.data_type == kind
    if not raw:
        stored.int32_data.extend(stored.raw_data)
        stored.ClearField("raw_data")
    return stored


# Stored in either way, moved, given out; then what they stand for.
for kind, narrow in [*FLOATS.items(), *((k, n) for k, (n, _) in INTEGERS.items())]:
    numbers = (draw.integers(0, 256, 15) if kind in FLOATS and kind != TensorProto.FLOAT4E2M1 else np.arange(15)).astype(np.uint8)
    array = numbers.view(narrow) if kind in FLOATS and kind != TensorProto.FLOAT4E2M1 else (
        np.linspace(-6, 6, 15).astype(narrow) if kind in FLOATS else (numbers % (4 if "2" in NAMES[kind] else 16) -
                                                                     (0 if "u" in NAMES[kind] else 2)).astype(narrow))
    array = array.reshape(3, 5)
    for raw in (True, False):
        add(f"stored_{NAMES[kind]}_{'raw' if raw else 'listed'}",
            [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("Concat", ["t", "t"], ["y"], axis=0),
             helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT)], {}, {"y": kind, "z": TensorProto.FLOAT},
            [tensor("w", kind, array, raw)], {"y": np.concatenate([array.T, array.T]),
                                              "z": np.concatenate([array.T, array.T]).astype(np.float32)})

# Quantised in blocks, along axes and as a whole, and back.
x = (3 * draw.standard_normal((4, 8))).astype(np.float32)
for kind in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ,
             TensorProto.FLOAT4E2M1, TensorProto.INT4, TensorProto.UINT4):
    for place, attributes, shape in (("blocks", {"axis": 1, "block_size": 4}, (4, 2)), ("rows", {"axis": 0}, (4,)), ("whole", {}, ())):
        scale = (0.05 + draw.random(shape)).astype(np.float32)
        scales = numpy_helper.from_array(scale, "s")
        add(f"quantised_{NAMES[kind]}_{place}",
            [helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=kind, **attributes),
             helper.make_node("DequantizeLinear", ["q", "s"], ["y"], **attributes)],
            {"x": (TensorProto.FLOAT, x)}, {"q": kind, "y": TensorProto.FLOAT}, [scales])
    if kind in INTEGERS:
        zero = np.array([[1, 2], [0, 3], [2, 2], [1, 0]]).astype(INTEGERS[kind][0])
        scale = (0.3 + draw.random((4, 2))).astype(np.float32)
        add(f"quantised_{NAMES[kind]}_zero_points",
            [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1, block_size=4),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1, block_size=4)],
            {"x": (TensorProto.FLOAT, x)}, {"q": kind, "y": TensorProto.FLOAT},
            [numpy_helper.from_array(scale, "s"), tensor("z", kind, zero)])

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "narrow_models.npz")
np.savez_compressed(out, **members)
print(sum(k.endswith("|model") for k in members), "models,", os.path.getsize(out), "bytes, onnx", onnx.__version__)
