# SPDX-License-Identifier: MIT
"""The members of tests/onnx/models.npz: numbers drawn in order, and models with what ONNX Runtime gives for them."""
import itertools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

draw = np.random.default_rng(20261123)
members = {}


def numbers(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def small(dtype, *shape):
    return draw.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


def weights8(dtype, *shape):
    """Weights of products, of 7 bits: without VNNI the runtime's sums of two products of 8 bits saturate at 16."""
    return draw.integers(-63, 64, shape).astype(dtype) if dtype == np.int8 else draw.integers(0, 128, shape).astype(dtype)


def add(name, nodes, inputs, outputs, weights=None, version=17, microsoft=False):
    """inputs: name -> array; outputs: names; weights: name -> array."""
    types = {n: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()}
    sets = [helper.make_opsetid("", version)]
    if microsoft:
        sets.append(helper.make_opsetid("com.microsoft", 1))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()]
    # The runtime wants types of outputs, which it knows better: they are tried until it agrees.
    candidates = (TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64,
                  TensorProto.UINT16, TensorProto.FLOAT16)
    reason = None
    for guess in itertools.product(candidates, repeat=len(outputs)):
        infos = [helper.make_tensor_value_info(n, t, None) for n, t in zip(outputs, guess)]
        graph = helper.make_graph(nodes, name, list(types.values()), infos, stored)
        data = helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString()
        try:
            session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            break
        except Exception as error:  # pylint: disable=broad-except
            reason = reason or error
    else:
        raise RuntimeError(f"{name}: {reason}")
    results = session.run(outputs, inputs)
    assert name + "|model" not in members, name
    members[name + "|model"] = np.frombuffer(data, np.uint8)
    for n, a in inputs.items():
        members[f"{name}|in|{n}"] = a
    for n, a in zip(outputs, results):
        members[f"{name}|out|{n}"] = a


def one(name, op, inputs, outputs=("y",), weights=None, version=17, domain="", order=None, **attributes):
    """A model of one node; `order` are the node's inputs ('' for one left out), by default those named."""
    names = order if order is not None else list(inputs) + list(weights or {})
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    add(name, [node], inputs, [n for n in outputs if n], weights, version, domain != "")


def microsoft(name, op, inputs, outputs=("y",), **rest):
    one("ms_" + name, op, inputs, outputs, domain="com.microsoft", **rest)


def f32(value):
    return np.float32(value)
