# SPDX-License-Identifier: MIT
"""Losses: values under every reduction, and gradients with respect to what is predicted."""

import torch
from torch.nn import functional as f

from layer_cases import draw, generator, put


def add(arrays, name, function, inputs, differentiated=1):
    """`inputs` by name; the first ones are predictions. Every reduction that PyTorch knows is kept."""
    for key, value in inputs.items():
        put(arrays, f"{name}/{key}", value)
    for reduction in ("mean", "sum", "none"):
        values = [value.clone() for value in inputs.values()]
        for value in values[:differentiated]:
            value.requires_grad_()
        loss = function(*values, reduction=reduction)
        put(arrays, f"{name}/{reduction}", loss)
        if reduction == "mean":
            loss.backward()
            for key, value in list(zip(inputs, values))[:differentiated]:
                put(arrays, f"{name}/gradient_{key}", value.grad)


def last_class(function):
    """A loss over classes along axis 1 for classes along the last one."""
    def of(x, t, **options):
        return function(x.movedim(-1, 1), t.movedim(-1, 1) if t.is_floating_point() and t.ndim == x.ndim else t,
                        **options)
    return of


def fill(arrays):
    random = generator("losses")

    def whole(high, *shape):
        return torch.tensor(random.integers(0, high, size=shape))

    def signs(*shape):
        return torch.tensor(random.integers(0, 2, size=shape) * 2.0 - 1)

    def fractions(*shape):
        return torch.sigmoid(draw(random, shape)).mul(64).round().clamp(1, 63) / 64

    x, t = draw(random, (4, 5)), draw(random, (4, 5))
    pair = {"x": x, "t": t}
    add(arrays, "squared_error", f.mse_loss, pair)
    add(arrays, "absolute_error", f.l1_loss, pair)
    add(arrays, "huber", lambda x, t, **o: f.huber_loss(x, t, delta=0.75, **o), pair)
    add(arrays, "smooth_l1", lambda x, t, **o: f.smooth_l1_loss(x, t, beta=0.5, **o), pair)
    counts = {"x": x, "t": whole(5, 4, 5).double()}
    add(arrays, "poisson_nll", f.poisson_nll_loss, counts)
    add(arrays, "poisson_nll_full", lambda x, t, **o: f.poisson_nll_loss(x, t, full=True, **o), counts)
    add(arrays, "poisson_nll_rate", lambda x, t, **o: f.poisson_nll_loss(x, t, log_input=False, **o),
        {"x": fractions(4, 5), "t": counts["t"]})
    variances = fractions(4, 5)
    variances[0, 0] = 0
    add(arrays, "gaussian_nll", lambda x, v, t, **o: f.gaussian_nll_loss(x, t, v, eps=0.125, **o),
        {"x": x, "v": variances, "t": t}, 2)
    add(arrays, "gaussian_nll_full", lambda x, v, t, **o: f.gaussian_nll_loss(x, t, v, full=True, **o),
        {"x": x, "v": variances + 0.5, "t": t}, 2)
    add(arrays, "hinge_embedding", lambda x, t, **o: f.hinge_embedding_loss(x, t, margin=0.8, **o),
        {"x": x, "t": signs(4, 5)})
    add(arrays, "margin_ranking", lambda a, b, t, **o: f.margin_ranking_loss(a, b, t, margin=0.3, **o),
        {"a": draw(random, (6,)), "b": draw(random, (6,)), "t": signs(6)}, 2)
    vectors = {"a": draw(random, (6, 3)), "b": draw(random, (6, 3))}
    add(arrays, "cosine_embedding", lambda a, b, t, **o: f.cosine_embedding_loss(a, b, t, margin=-0.2, **o),
        {**vectors, "t": signs(6)}, 2)
    triplet = {**vectors, "c": draw(random, (6, 3))}
    add(arrays, "triplet_margin", f.triplet_margin_loss, triplet, 3)
    add(arrays, "triplet_margin_swap", lambda a, b, c, **o: f.triplet_margin_loss(a, b, c, margin=0.5, swap=True, **o),
        triplet, 3)

    for name, p in {"one": 1.0, "three": 3.0, "largest": float("inf")}.items():
        add(arrays, f"triplet_margin_{name}",
            lambda a, b, c, p=p, **o: f.triplet_margin_loss(a, b, c, p=p, **o), triplet, 3)

    labels = whole(5, 4)
    ignoring = labels.clone()
    ignoring[1] = -100
    weights = fractions(5)
    classes = {"x": draw(random, (4, 5)), "t": labels}
    put(arrays, "class_weights/w", weights)
    add(arrays, "cross_entropy", f.cross_entropy, classes)
    add(arrays, "cross_entropy_weights", lambda x, t, **o: f.cross_entropy(x, t, weight=weights, **o), classes)
    add(arrays, "cross_entropy_smoothing", lambda x, t, **o: f.cross_entropy(x, t, label_smoothing=0.2, **o), classes)
    add(arrays, "cross_entropy_ignored", f.cross_entropy, {**classes, "t": ignoring})
    add(arrays, "cross_entropy_all",
        lambda x, t, **o: f.cross_entropy(x, t, weight=weights, label_smoothing=0.2, ignore_index=-100, **o),
        {**classes, "t": ignoring})
    picture = {"x": draw(random, (2, 3, 2, 5)), "t": whole(5, 2, 3, 2)}
    add(arrays, "cross_entropy_picture", last_class(f.cross_entropy), picture)
    soft = {"x": classes["x"], "t": torch.softmax(draw(random, (4, 5)), 1).float().double()}
    add(arrays, "cross_entropy_probabilities", f.cross_entropy, soft)
    add(arrays, "cross_entropy_probabilities_all",
        lambda x, t, **o: f.cross_entropy(x, t, weight=weights, label_smoothing=0.2, **o), soft)
    add(arrays, "nll", f.nll_loss, classes)
    add(arrays, "nll_all", lambda x, t, **o: f.nll_loss(x, t, weight=weights, **o), {**classes, "t": ignoring})
    add(arrays, "multi_margin", f.multi_margin_loss, classes)
    add(arrays, "multi_margin_squared", lambda x, t, **o: f.multi_margin_loss(x, t, p=2, margin=0.7, **o), classes)
    add(arrays, "multi_margin_weights", lambda x, t, **o: f.multi_margin_loss(x, t, p=2, weight=weights, **o), classes)
    add(arrays, "kl_divergence", f.kl_div, {"x": -fractions(4, 5), "t": soft["t"]})
    with_zero = soft["t"].clone()
    with_zero[0, 0] = 0
    add(arrays, "kl_divergence_zero", f.kl_div, {"x": -fractions(4, 5), "t": with_zero})
    add(arrays, "kl_divergence_log", lambda x, t, **o: f.kl_div(x, t, log_target=True, **o),
        {"x": -fractions(4, 5), "t": -fractions(4, 5)})
    put(arrays, "kl_divergence/rows", f.kl_div(arrays_tensor(arrays, "kl_divergence/x"),
                                               arrays_tensor(arrays, "kl_divergence/t"), reduction="batchmean"))

    binary = {"x": draw(random, (4, 3)) * 2, "t": fractions(4, 3)}
    chances = {"x": fractions(4, 3), "t": whole(2, 4, 3).double()}
    chances["x"][0, 0] = 0
    chances["t"][0, 0] = 1
    put(arrays, "binary_weights/w", weights[:3])
    add(arrays, "binary_cross_entropy_weights",
        lambda x, t, **o: f.binary_cross_entropy(x, t, weight=weights[:3], **o), {"x": fractions(4, 3), "t": binary["t"]})
    put(arrays, "binary_cross_entropy_limit/x", chances["x"])
    put(arrays, "binary_cross_entropy_limit/t", chances["t"])
    put(arrays, "binary_cross_entropy_limit/none", f.binary_cross_entropy(chances["x"], chances["t"], reduction="none"))
    add(arrays, "binary_cross_entropy_with_logits", f.binary_cross_entropy_with_logits, binary)
    add(arrays, "binary_cross_entropy_with_logits_weights",
        lambda x, t, **o: f.binary_cross_entropy_with_logits(x, t, weight=weights[1:4], pos_weight=weights[:3] * 2, **o),
        binary)
    put(arrays, "binary_weights/v", weights[1:4])
    add(arrays, "soft_margin", f.soft_margin_loss, {"x": x, "t": signs(4, 5)})
    add(arrays, "multi_label_soft_margin", f.multilabel_soft_margin_loss, {"x": x, "t": whole(2, 4, 5).double()})
    add(arrays, "multi_label_soft_margin_weights",
        lambda x, t, **o: f.multilabel_soft_margin_loss(x, t, weight=weights, **o),
        {"x": x, "t": torch.tensor(arrays["multi_label_soft_margin/t"])})

    several = torch.tensor([[2, 0, -1, 3, 3], [4, -1, 0, 0, 0], [-1, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
    add(arrays, "multi_label_margin", f.multilabel_margin_loss, {"x": x, "t": several})

    letters = torch.tensor([[1, 2, 2], [3, 1, 0], [1, 1, 1]])
    times, lengths = torch.tensor([6, 5, 4]), torch.tensor([3, 2, 3])

    def ctc(x, t, times, lengths, zero=True, **options):
        return f.ctc_loss(torch.log_softmax(x, -1).transpose(0, 1), t, times, lengths, zero_infinity=zero, **options)

    add(arrays, "ctc", ctc, {"x": draw(random, (3, 6, 4)), "t": letters, "times": times, "lengths": lengths})
    add(arrays, "ctc_blank", lambda *a, **o: ctc(*a, blank=3, **o),
        {"x": draw(random, (2, 5, 4)), "t": torch.tensor([[0, 1], [2, 2]]), "times": torch.tensor([5, 3]),
         "lengths": torch.tensor([2, 2])})

    # Functions that losses are made of.
    put(arrays, "distances/a", vectors["a"])
    put(arrays, "distances/b", vectors["b"])
    put(arrays, "distances/cosine_similarity", f.cosine_similarity(vectors["a"], vectors["b"], -1))
    put(arrays, "distances/pairwise_distance", f.pairwise_distance(vectors["a"], vectors["b"]))


def arrays_tensor(arrays, key):
    return torch.tensor(arrays[key]).double()
