#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/onnx/classical_models.npz: models of ai.onnx.ml, inputs, and what ONNX Runtime gives for them.

Needs onnx, onnxruntime, scikit-learn and skl2onnx; the build never runs it. Members are those of make_models.py. Models that
scikit-learn learned, as skl2onnx writes them; trees drawn at random in every mode, over inputs that meet their splits; and each
other operator. A map from classes to probabilities is stored as the matrix of its values, and text as lines in NAME|words|OUTPUT.
"""
import os
import warnings

import numpy as np
import onnx
import onnxruntime
import skl2onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn import datasets, ensemble, impute, linear_model, neighbors, neural_network, pipeline, preprocessing, svm, tree

warnings.filterwarnings("ignore")
draw = np.random.default_rng(20261128)
members = {}
FLOAT, DOUBLE, INT64, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
nan, inf = np.nan, np.inf


def store(name, model, inputs, run=None, mend=lambda results: None):
    """`run` is given to ONNX Runtime in the model's place, where it reads something in another way than ONNX says; `mend` changes
    what it leaves unwritten."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession((run or model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in model.graph.output]
    results = session.run(names, inputs)
    mend(results)
    assert name + "|model" not in members, name
    members[name + "|model"] = np.frombuffer(data, np.uint8)
    for n, a in inputs.items():
        members[f"{name}|in|{n}"] = a
    for n, a in zip(names, results):
        if isinstance(a, list):  # one map a row
            members[f"{name}|out|{n}"] = np.array([list(row.values()) for row in a], np.float32)
        elif a.dtype == object:
            members[f"{name}|words|{n}"] = np.frombuffer("\n".join(a.flatten()).encode(), np.uint8)
        else:
            members[f"{name}|out|{n}"] = a


def one(name, op, x, outputs=(("y", FLOAT),), version=3, more=(), mend=lambda results: None, **attributes):
    """A model of one node, whose inputs are x and `more`."""
    inputs = {"x": x, **{f"x{i + 1}": a for i, a in enumerate(more)}}
    node = helper.make_node(op, list(inputs), [n for n, _ in outputs], domain="ai.onnx.ml", **attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()]
    graph = helper.make_graph([node], name, infos, [helper.make_tensor_value_info(n, t, None) for n, t in outputs])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    store(name, helper.make_model(graph, opset_imports=sets, ir_version=10), inputs, mend=mend)


def classifier(name, op, x, label=INT64, **rest):
    one(name, op, x, (("label", label), ("scores", FLOAT)), **rest)


# Models that scikit-learn trained.
x, y = datasets.load_iris(return_X_y=True)
x = x.astype(np.float32)[draw.permutation(150)]
y = y[np.random.default_rng(20261128).permutation(150)]
names = np.array(["setosa", "versicolor", "virginica"])
learners = {
    "logistic": lambda: linear_model.LogisticRegression(),
    "forest": lambda: ensemble.RandomForestClassifier(7, max_depth=4, random_state=1),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=6, random_state=1),
    "tree": lambda: tree.DecisionTreeClassifier(random_state=1),
    "scaled": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    "neighbours": lambda: neighbors.KNeighborsClassifier(3),
    "perceptron": lambda: neural_network.MLPClassifier(hidden_layer_sizes=(6,), max_iter=60, random_state=1),
    "vectors": lambda: svm.SVC(),
    "vectors_polynomial": lambda: pipeline.make_pipeline(
        preprocessing.StandardScaler(), svm.SVC(kernel="poly", degree=2, coef0=1.0, probability=True, random_state=1)),
    "vectors_probable": lambda: svm.SVC(probability=True, random_state=1),
    "vectors_linear": lambda: svm.LinearSVC(),
    "normalised": lambda: pipeline.make_pipeline(preprocessing.Normalizer("l1"), linear_model.LogisticRegression()),
}
regressors = {
    "linear": lambda: linear_model.LinearRegression(),
    "forest": lambda: ensemble.RandomForestRegressor(7, max_depth=4, random_state=1),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=6, random_state=1),
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=5, random_state=1),
    "neighbours": lambda: neighbors.KNeighborsRegressor(3),
    "perceptron": lambda: neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=60, random_state=1),
    "vectors": lambda: svm.SVR(),
}
few = x[:60]
for key, make in learners.items():
    for classes, labels in (("three", y[:60]), ("named", names[y[:60]]), ("two", np.where(y[:60] == 1, 7, 3)),
                            ("two_named", np.where(y[:60] == 1, "yes", "no"))):
        model = make().fit(few, labels)
        options = {} if key == "vectors_linear" or "named" in classes else {"zipmap": False}
        store(f"learned_{key}_{classes}", skl2onnx.to_onnx(model, x[:1], options=options or None), {"X": x[60:90]})
for key, make in regressors.items():
    store(f"learned_{key}_regressor", skl2onnx.to_onnx(make().fit(few[:, :3], few[:, 3]), x[:1, :3]), {"X": x[60:90, :3]})
store("learned_linear_regressor_two", skl2onnx.to_onnx(linear_model.LinearRegression().fit(few[:, :2], few[:, 2:]), x[:1, :2]),
      {"X": x[60:70, :2]})
store("learned_forest_double", skl2onnx.to_onnx(learners["forest"]().fit(few, y[:60]), x[:1].astype(np.float64),
                                                options={"zipmap": False}), {"X": x[60:90].astype(np.float64)})
with_gaps = few.copy()
with_gaps[::5, 1] = nan
store("learned_imputed", skl2onnx.to_onnx(pipeline.make_pipeline(
    impute.SimpleImputer(), preprocessing.StandardScaler(), preprocessing.Binarizer(threshold=0.2))
    .fit(with_gaps), x[:1]), {"X": with_gaps[:20]})

# Trees drawn at random, over inputs that lie at their splits, beside them, at infinity, or are no numbers.
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
GRID = [-1.0, -0.5, 0.0, 0.5, 1.0]


def drawn_inputs(dtype, rows, features):
    if dtype in (np.int32, np.int64):
        return draw.integers(-2, 3, (rows, features)).astype(dtype)
    return draw.choice(GRID + [-0.25, 0.3, nan, inf, -inf, -0.0], (rows, features)).astype(dtype)


def drawn_trees(prefix, features, targets, count, modes, missing, weigh, all_targets):
    lists = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                             "missing_value_tracks_true")}
    weights = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}

    def grow(t, depth, nodes):
        at = len(nodes)
        nodes.append(None)
        if depth == 0 or (depth < 4 and draw.random() < 0.2):
            nodes[at] = ("LEAF", 0, 0.0, 0, 0, 0)
            chosen = range(targets) if all_targets else draw.permutation(targets)[:draw.integers(0, min(targets, 2) + 1)]
            for k in chosen:
                weights["treeids"].append(t), weights["nodeids"].append(at), weights["ids"].append(int(k))
                weights["weights"].append(float(weigh()))
            return at
        children = [grow(t, depth - 1, nodes), grow(t, depth - 1, nodes)]
        nodes[at] = (str(draw.choice(modes)), int(draw.integers(features)), float(draw.choice(GRID)), *children,
                     int(missing and draw.random() < 0.5))
        return at

    for t in range(count):
        nodes = []
        grow(t, int(draw.integers(0, 5)), nodes)
        for i, (mode, feature, value, if_true, if_false, track) in enumerate(nodes):
            for k, v in zip(lists, (t, i, feature, value, mode, if_true, if_false, track)):
                lists[k].append(v)
    if not missing:
        del lists["missing_value_tracks_true"]
    if not weights["ids"]:
        weights = {"treeids": [0], "nodeids": [lists["modes"].index("LEAF")], "ids": [0], "weights": [0.5]}
    return {**{f"nodes_{k}": v for k, v in lists.items()}, **{f"{prefix}_{k}": v for k, v in weights.items()}}


def conditioned(transform):
    """Leaves models out whose probits are near zero, where ONNX Runtime's approximation has lost half of its digits."""
    def check(results):
        if transform == "PROBIT" and np.any(np.abs(results[-1]) < 0.1):
            raise ValueError("probits near zero")
    return check


TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
def drawn(name, make, *arguments, **rest):
    """ONNX Runtime fails, too, where a row meets none of three classes."""
    try:
        make(name, *arguments, **rest)
    except Exception as error:  # pylint: disable=broad-except
        print("left out:", name, str(error).replace("\n", " ")[-100:])


for i in range(90):
    dtype = draw.choice([np.float32, np.float32, np.float64])
    targets, transform = int(draw.integers(1, 4)), TRANSFORMS[i % 5]
    probabilities = transform == "PROBIT"
    attributes = drawn_trees("target", 3, targets, int(draw.integers(1, 6)), MODES if i % 2 else [MODES[i // 2 % 6]], i % 3 == 0,
                             (lambda: draw.uniform(0.04, 0.15)) if probabilities else (lambda: draw.uniform(-2, 2)), i % 4 < 2)
    if draw.random() < 0.5:
        attributes["base_values"] = [float(v) for v in draw.uniform(0.05, 0.1, targets)]
    drawn(f"trees_regressor_{i}", one, "TreeEnsembleRegressor", drawn_inputs(dtype, 9, 3), mend=conditioned(transform),
          post_transform=transform, n_targets=targets, aggregate_function=str(draw.choice(["SUM", "AVERAGE", "MIN", "MAX"])),
          version=int(draw.choice([1, 3])), **attributes)
for i in range(120):
    dtype = draw.choice([np.float32, np.float32, np.float64, np.int64, np.int32])
    classes, transform = int(draw.choice([1, 2, 2, 2, 3, 4])), TRANSFORMS[i % 5]
    # Weights of one of two classes; of both; and some below zero.
    lone = classes == 2 and draw.random() < 0.6
    low = 0.02 if transform == "PROBIT" else draw.choice([-1.0, 0.0])
    attributes = drawn_trees("class", 3, 1 if lone else classes, int(draw.integers(1, 6)), MODES if i % 2 else [MODES[i // 2 % 6]],
                             i % 3 == 0, lambda: draw.uniform(low, 0.15), i % 4 < 2)
    if lone and draw.random() < 0.4:
        attributes["class_ids"] = [1] * len(attributes["class_ids"])
    base = int(draw.choice([0, 0, 1, 2])) if classes <= 2 else int(draw.choice([0, classes]))
    base = min(base, classes)
    # Elements that ONNX Runtime does not write are not compared.
    if transform == "PROBIT" and lone:
        base = 2
    if classes == 2 and not lone and base == 1:
        base = 0
    if classes == 2 and not lone and transform == "PROBIT":
        base = 2
    if base:
        attributes["base_values"] = [float(v) for v in draw.uniform(0.05, 0.1, base)]
    texts = classes > 1 and i % 7 == 0
    labels = [f"class {k}" for k in range(classes)] if texts else [int(v) for v in draw.permutation(20)[:classes]]
    drawn(f"trees_classifier_{i}", classifier, "TreeEnsembleClassifier", drawn_inputs(dtype, 9, 3), STRING if texts else INT64,
          mend=conditioned(transform), version=int(draw.choice([1, 3])), post_transform=transform,
          **{"classlabels_strings" if texts else "classlabels_int64s": labels}, **attributes)


def stumps(prefix, weights, **rest):
    """Trees of one split at 0; weights: for each the (target, weight) of both leaves."""
    count = len(weights)
    listed = [(t, node, k, w) for t, leaves in enumerate(weights) for node, each in zip((1, 2), leaves) for k, w in each]
    return {"nodes_treeids": [t for t in range(count) for _ in range(3)], "nodes_nodeids": [0, 1, 2] * count,
            "nodes_featureids": [0] * 3 * count, "nodes_values": [0.0] * 3 * count, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * count,
            "nodes_truenodeids": [1, 0, 0] * count, "nodes_falsenodeids": [2, 0, 0] * count,
            f"{prefix}_treeids": [t for t, *_ in listed], f"{prefix}_nodeids": [n for _, n, *_ in listed],
            f"{prefix}_ids": [k for *_, k, _ in listed], f"{prefix}_weights": [w for *_, w in listed], **rest}


sides = np.array([[-1.0], [1.0], [nan]], np.float32)
for how in ("SUM", "AVERAGE", "MIN", "MAX"):
    # A target that has several weights at a leaf.
    twice = [([(0, 0.7), (0, 0.3), (1, 0.2)], [(1, -0.5), (1, 0.25), (1, 0.5)]), ([(0, 0.4)], [(0, 0.1), (0, -0.1)])]
    one(f"trees_twice_{how}", "TreeEnsembleRegressor", sides, **stumps("target", twice, n_targets=2, aggregate_function=how))
    one(f"trees_twice_alone_{how}", "TreeEnsembleRegressor", sides,
        **stumps("target", [([(0, 0.7), (0, 0.3)], [(0, 0.2)]), ([], [(0, 0.4)])], n_targets=1, aggregate_function=how))


def one_column(results):
    results[1][1:, 1] = 0  # which ONNX Runtime leaves unwritten


for transform in TRANSFORMS:
    classifier(f"trees_one_column_{transform}", "TreeEnsembleClassifier", sides, mend=one_column,
               **stumps("class", [([(0, 0.3), (1, 0.3)], [(0, 0.2)])], classlabels_int64s=[3, 7], base_values=[0.1], post_transform=transform))
    # Of three classes with base values, a row meets one.
    classifier(f"trees_absent_{transform}", "TreeEnsembleClassifier", sides,
               **stumps("class", [([(0, 0.3), (1, 0.4)], [(2, 0.05)])], classlabels_int64s=[3, 7, 9], base_values=[0.1, 0.2, 0.15],
                        post_transform=transform))

# Splits and weights of 64 bits, which 32 would not tell apart.
close = np.array([[1 + 1e-12], [1.0], [1 - 1e-12]])
one("trees_tensors_of_64_bits", "TreeEnsembleRegressor", close, n_targets=1, nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
    nodes_featureids=[0] * 3, nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], nodes_modes=["BRANCH_LT", "LEAF", "LEAF"],
    nodes_values_as_tensor=numpy_helper.from_array(np.array([1.0, 0.0, 0.0])), target_ids=[0, 0], target_nodeids=[1, 2],
    target_treeids=[0, 0], target_weights_as_tensor=numpy_helper.from_array(np.array([0.25, -0.5])),
    base_values_as_tensor=numpy_helper.from_array(np.array([1.0])))


# TreeEnsemble, with sets of members beside the modes of before.
def linked(features, targets, count, dtype, members_apart):
    nodes, leaves, roots, sets = [], [], [], []

    # The root of a tree is a node: ONNX Runtime takes another leaf than a root names both of whose children are one.
    def grow(depth):
        if depth == 0 or (depth < 3 and draw.random() < 0.2):
            leaves.append((int(draw.integers(targets)), float(draw.uniform(-1, 1))))
            return len(leaves) - 1, 1
        at = len(nodes)
        mode = int(draw.integers(7))
        nodes.append([mode, int(draw.integers(features)), float(draw.choice(GRID)), None, None, None, None, int(draw.random() < 0.3)])
        if mode == 6:
            values = draw.choice([-40.0, -3.0, 0.0, 1.0, 2.0, 5.0, 40.0, 50.0] if members_apart else [0.0, 1.0, 2.0, 3.0],
                                 int(draw.integers(1, 5)), replace=False)
            sets.extend([*values, nan])
        nodes[at][3], nodes[at][5] = grow(depth - 1)
        nodes[at][4], nodes[at][6] = grow(depth - 1)
        return at, 0

    for _ in range(count):
        roots.append(grow(3)[0])
    column = lambda k: [n[k] for n in nodes]
    tensor = lambda values: numpy_helper.from_array(np.array(values, dtype))
    attributes = {"nodes_modes": numpy_helper.from_array(np.array(column(0), np.uint8)), "nodes_featureids": column(1),
                  "nodes_splits": tensor(column(2)), "nodes_truenodeids": column(3), "nodes_falsenodeids": column(4),
                  "nodes_trueleafs": column(5), "nodes_falseleafs": column(6), "nodes_missing_value_tracks_true": column(7),
                  "tree_roots": roots, "leaf_targetids": [t for t, _ in leaves], "leaf_weights": tensor([w for _, w in leaves])}
    if sets:
        attributes["membership_values"] = tensor(sets)
    return attributes


i = stored = 0
while stored < 40:
    i += 1
    dtype = np.float64 if i % 3 == 0 else np.float32
    targets = int(draw.integers(1, 4))
    attributes = linked(3, targets, int(draw.integers(1, 5)), dtype, i % 2 == 0)
    # ONNX Runtime rounds what it looks for in sets.
    among = [-1.0, 0.0, 1.0, 2.0, 3.0, 40.0] if "membership_values" in attributes else GRID + [2.5, nan, inf]
    given = draw.choice(among, (9, 3)).astype(dtype)
    inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(given.dtype), given.shape)]
    output = [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(given.dtype), None)]

    def linked_model(transform):
        node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets, aggregate_function=i // 4 % 4,
                                post_transform=transform, **attributes)
        return helper.make_model(helper.make_graph([node], "linked", inputs, output), ir_version=10,
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5)])

    try:
        # ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX; in ONNX they are the other way round.
        transform = int(draw.integers(4))
        store(f"trees_linked_{i}", linked_model(transform), {"x": given}, run=linked_model([0, 2, 1, 3][transform]))
        stored += 1
    except Exception as error:  # pylint: disable=broad-except
        print("left out:", i, str(error).replace("\n", " ")[-300:])

one("trees_linked_leaf", "TreeEnsemble", np.zeros((4, 1), np.float32), (("y", FLOAT),), 5, n_targets=1, tree_roots=[0],
    nodes_featureids=[0], nodes_truenodeids=[0], nodes_falsenodeids=[0], nodes_trueleafs=[1], nodes_falseleafs=[1],
    nodes_modes=numpy_helper.from_array(np.zeros(1, np.uint8)), nodes_splits=numpy_helper.from_array(np.zeros(1, np.float32)),
    leaf_targetids=[0], leaf_weights=numpy_helper.from_array(np.full(1, 0.25, np.float32)))

# Linear models and support vectors, in each transform.
rows = draw.uniform(-1, 1, (7, 3)).astype(np.float32)


def numbers(count, low=-1.0, high=1.0):
    return [float(v) for v in draw.uniform(low, high, count)]


for transform in TRANSFORMS:
    # Scores between 0 and 1 for PROBIT; ONNX Runtime writes one of two columns for it.
    near = dict(low=-0.1, high=0.1) if transform == "PROBIT" else {}
    offset = (lambda n: numbers(n, 0.4, 0.6)) if transform == "PROBIT" else numbers
    one(f"linear_regressor_{transform}", "LinearRegressor", rows, coefficients=numbers(3, **near), intercepts=offset(1), targets=1,
        post_transform=transform)
    one(f"linear_regressor_two_{transform}", "LinearRegressor", rows, coefficients=numbers(6, **near), intercepts=offset(2), targets=2,
        post_transform=transform)
    if transform != "PROBIT":
        classifier(f"linear_two_{transform}", "LinearClassifier", rows, coefficients=numbers(3), intercepts=numbers(1),
                   classlabels_ints=[3, 7], post_transform=transform)
        classifier(f"vectors_two_{transform}", "SVMClassifier", rows, kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0],
                   support_vectors=numbers(12), coefficients=numbers(4), vectors_per_class=[3, 1], rho=numbers(1),
                   classlabels_ints=[3, 7], post_transform=transform)
    classifier(f"linear_three_{transform}", "LinearClassifier", rows, STRING, coefficients=numbers(9, **near),
               intercepts=offset(3), classlabels_strings=["a", "b", "c"], post_transform=transform)
    classifier(f"vectors_linear_{transform}", "SVMClassifier", rows, coefficients=numbers(9, **near), rho=offset(1),
               kernel_params=[1.0, 0.0, 3.0], classlabels_ints=[9, 8, 7], post_transform=transform)
    classifier(f"vectors_probable_{transform}", "SVMClassifier", rows, kernel_type="SIGMOID", kernel_params=[0.7, 0.1, 3.0],
               support_vectors=numbers(15), coefficients=numbers(15), vectors_per_class=[2, 0, 2, 1], rho=numbers(6), prob_a=numbers(6),
               prob_b=numbers(6), classlabels_ints=[9, 8, 7, 6], post_transform=transform) if transform != "PROBIT" else None
# Values near zero keep their share of large powers.
one("linear_regressor_near_zero", "LinearRegressor", np.ones((1, 1), np.float32), coefficients=[1e-8, -20.0], targets=2,
    post_transform="SOFTMAX_ZERO")
one("linear_regressor_bare", "LinearRegressor", rows, coefficients=numbers(6), targets=2)
classifier("linear_plain", "LinearClassifier", rows, coefficients=numbers(3), intercepts=numbers(1))
for dtype in (np.float64, np.int64, np.int32):
    classifier(f"linear_{np.dtype(dtype).name}", "LinearClassifier", (5 * rows).astype(dtype), coefficients=numbers(9),
               intercepts=numbers(3), classlabels_ints=[4, 5, 6])
classifier("vectors_linear_two", "SVMClassifier", rows, coefficients=numbers(6), rho=numbers(1), kernel_params=[1.0, 0.0, 3.0],
           classlabels_ints=[3, 7])
classifier("vectors_linear_two_positive", "SVMClassifier", rows, coefficients=numbers(6, 0.0), rho=[0.3], kernel_params=[1.0, 0.0, 3.0],
           classlabels_ints=[3, 7])
classifier("vectors_linear_one", "SVMClassifier", rows, coefficients=numbers(3), rho=numbers(1), kernel_params=[1.0, 0.0, 3.0],
           classlabels_ints=[3])
for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    one(f"vectors_regressor_{kernel}", "SVMRegressor", rows, kernel_type=kernel, kernel_params=[0.6, 0.2, 3.0], n_supports=5,
        support_vectors=numbers(15), coefficients=numbers(5), rho=numbers(1))
    classifier(f"vectors_{kernel}", "SVMClassifier", rows, kernel_type=kernel, kernel_params=[0.6, 0.2, 2.0], support_vectors=numbers(15),
               coefficients=numbers(10), vectors_per_class=[2, 2, 1], rho=numbers(3), classlabels_ints=[1, 2, 3])
one("vectors_regressor_plain", "SVMRegressor", rows, coefficients=numbers(3), rho=numbers(1), kernel_params=[1.0, 0.0, 3.0], n_supports=0)
one("vectors_regressor_one_class", "SVMRegressor", rows, kernel_type="RBF", kernel_params=[0.6, 0.2, 3.0], n_supports=4,
    support_vectors=numbers(12), coefficients=numbers(4), rho=numbers(1), one_class=1)

# Features.
odd = np.array([[-3, 1], [0, 0], [nan, 1], [-1, -2], [inf, 1], [2, 6]], np.float32)
for norm in ("MAX", "L1", "L2"):
    one(f"normalizer_{norm}", "Normalizer", odd, norm=norm)
    one(f"normalizer_{norm}_row", "Normalizer", odd[0], norm=norm)
    for dtype in (np.float64, np.int64, np.int32):
        one(f"normalizer_{norm}_{np.dtype(dtype).name}", "Normalizer", np.array([[3, -4], [0, 0], [5, 12]], dtype), norm=norm)
for dtype in (np.float32, np.float64, np.int64, np.int32):
    one(f"scaler_{np.dtype(dtype).name}", "Scaler", np.array([[3, -4, 9], [0, 0, 1]], dtype), offset=[0.5, 1.5, -2.0], scale=[2.0, 0.1, -1.0])
one("scaler_one", "Scaler", rows, offset=[0.5], scale=[3.0])
one("scaler_row", "Scaler", rows[0], offset=[0.5, 1.0, 2.0], scale=[3.0, 2.0, 1.0])
one("binarizer", "Binarizer", np.array([[0.3, 0.30001], [inf, -inf]], np.float32), threshold=0.3)
one("imputer_nan", "Imputer", odd, imputed_value_floats=[5.0, 6.0], replaced_value_float=nan)
one("imputer_number", "Imputer", odd, imputed_value_floats=[5.0], replaced_value_float=1.0)
one("imputer_integers", "Imputer", np.array([[1, 2], [3, 1]]), (("y", INT64),), imputed_value_int64s=[7, 8], replaced_value_int64=1)
for dtype, t in ((np.float32, FLOAT), (np.float64, DOUBLE), (np.int64, INT64), (np.int32, TensorProto.INT32)):
    one(f"extractor_{np.dtype(dtype).name}", "ArrayFeatureExtractor", (9 * rows).astype(dtype), (("y", t),), more=[np.array([2, 0, 2])])
one("extractor_vector", "ArrayFeatureExtractor", rows[0], more=[np.array([[1], [0]])])
one("extractor_three_axes", "ArrayFeatureExtractor", rows[:6].reshape(2, 3, 3), more=[np.array([2])])
one("feature_vectorizer", "FeatureVectorizer", rows, inputdimensions=[2, 4, 1], more=[(7 * rows[:, :2]).astype(np.float32), rows[:, :1]])
one("feature_vectorizer_rows", "FeatureVectorizer", rows[0], inputdimensions=[3, 2], more=[rows[1]])
for dtype in (np.int64, np.float32, np.float64):
    one(f"one_hot_{np.dtype(dtype).name}", "OneHotEncoder", np.array([[3.5, 5], [9, -1]]).astype(dtype), cats_int64s=[5, 3, -1])
one("one_hot_vector", "OneHotEncoder", np.array([3, 5]), cats_int64s=[5, 3], zeros=0)

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "classical_models.npz")
np.savez_compressed(out, **members)
print(sum(k.endswith("|model") for k in members), "models,", os.path.getsize(out), "bytes, ONNX Runtime", onnxruntime.__version__)
