# SPDX-License-Identifier: MIT
"""Losses with drawn options: each gives a function of its inputs and a reduction, the inputs, and how many are predictions."""

import numpy as np
import torch
from torch.nn import functional as f

def pairs(function, **drawn):
    def make(d):
        shape = [d.integer(1, 6) for _ in range(d.integer(1, 3))]
        options = {name: of(d) for name, of in drawn.items()}
        d.say(**{{"delta": "number", "beta": "number"}.get(k, k): v for k, v in options.items()})
        return (lambda a, b, **o: function(a, b, **options, **o)), [d.array(*shape), d.array(*shape)], 1
    return make


def signs(d, *shape):
    return d.whole(2, *shape).double() * 2 - 1


def poisson(d):
    shape = [d.integer(1, 6) for _ in range(d.integer(1, 3))]
    log_input, full, epsilon = d.chance(), d.chance(), d.one(1e-8, 1e-3)
    d.say(log_input=log_input, full=full, epsilon=epsilon)
    x = d.array(*shape) if log_input else d.fractions(*shape)
    return (lambda a, b, **o: f.poisson_nll_loss(a, b, log_input, full, eps=epsilon, **o)), [
        x, d.whole(5, *shape).double()], 1


def gaussian(d):
    shape = [d.integer(1, 6) for _ in range(d.integer(1, 3))]
    full, epsilon = d.chance(), d.one(1e-6, 0.125)
    d.say(full=full, epsilon=epsilon)
    return (lambda x, v, t, **o: f.gaussian_nll_loss(x, t, v, full, epsilon, **o)), [
        d.array(*shape), d.fractions(*shape), d.array(*shape)], 2


def hinge_embedding(d):
    shape, margin = [d.integer(1, 6) for _ in range(d.integer(1, 3))], d.number(0, 2)
    d.say(margin=margin)
    return (lambda a, b, **o: f.hinge_embedding_loss(a, b, margin, **o)), [d.array(*shape), signs(d, *shape)], 1


def margin_ranking(d):
    n, margin = d.integer(1, 9), d.number(-1, 1)
    d.say(margin=margin)
    return (lambda a, b, t, **o: f.margin_ranking_loss(a, b, t, margin, **o)), [d.array(n), d.array(n), signs(d, n)], 2


def cosine_embedding(d):
    n, m, margin = d.integer(1, 9), d.integer(2, 9), d.number(-1, 1)
    d.say(margin=margin)
    return (lambda a, b, t, **o: f.cosine_embedding_loss(a, b, t, margin, **o)), [
        d.array(n, m), d.array(n, m), signs(d, n)], 2


def triplet(d):
    n, m, margin, swap = d.integer(1, 9), d.integer(1, 9), d.number(0.1, 2), d.chance()
    p = d.one(1.0, 2.0, 2.0, 3.0, 1.5)
    d.say(margin=margin, swap=swap, p=p)
    return (lambda a, b, c, **o: f.triplet_margin_loss(a, b, c, margin, p, swap=swap, **o)), [
        d.array(n, m), d.array(n, m), d.array(n, m)], 3


def cosine_similarity(d):
    # Where epsilon is the longer one, PyTorch takes the gradient as if it were not.
    shape, epsilon = [d.integer(2, 6) for _ in range(d.integer(1, 3))], d.one(1e-8, 1e-6)
    axis = d.integer(0, len(shape) - 1)
    d.say(axis=axis, number=epsilon)
    return (lambda a, b, reduction: f.cosine_similarity(a, b, axis, epsilon)), [d.array(*shape), d.array(*shape)], 2


def pairwise(d):
    n, m, epsilon = d.integer(1, 9), d.integer(1, 9), d.one(1e-6, 0.1)
    p = d.one(1.0, 2.0, 2.0, 3.0, 1.5)
    d.say(number=epsilon, p=p)
    return (lambda a, b, reduction: f.pairwise_distance(a, b, p, epsilon)), [d.array(n, m), d.array(n, m)], 2


def class_shape(d):
    return [d.integer(1, 5) for _ in range(d.integer(1, 3))], d.integer(2, 9)


def classes_first(x):
    return x.movedim(-1, 1).contiguous() if x.ndim > 1 else x


def cross_entropy(d):
    places, count = class_shape(d)
    options = {"label_smoothing": d.number(0, 1) if d.chance() else 0.0}
    d.say(smoothing=options["label_smoothing"])
    if d.chance():
        options["weight"] = d.fractions(count)
        d.arrays["weights"] = options["weight"]
    if d.chance(0.3):
        target = torch.softmax(d.array(*places, count), -1).float().double()
        return (lambda a, b, **o: f.cross_entropy(classes_first(a), classes_first(b), **options, **o)), [
            d.array(*places, count), target], 1
    target = d.whole(count, *places)
    if d.chance():
        ignored = d.one(-100, 0, count - 1, 255)
        options["ignore_index"] = ignored
        d.say(ignored=ignored)
        target = torch.where(torch.tensor(d.values.random(tuple(places)) < 0.3), ignored, target)
        target.reshape(-1)[0] = 1 if ignored != 1 else 0
    return (lambda a, b, **o: f.cross_entropy(classes_first(a), b, **options, **o)), [d.array(*places, count), target], 1


def nll(d):
    places, count = class_shape(d)
    options = {}
    if d.chance():
        options["weight"] = d.fractions(count)
        d.arrays["weights"] = options["weight"]
    target = d.whole(count, *places)
    if d.chance():
        options["ignore_index"] = 0
        d.say(ignored=0)
        target.reshape(-1)[0] = 1
    return (lambda a, b, **o: f.nll_loss(classes_first(a), b, **options, **o)), [d.array(*places, count), target], 1


def binary(logits):
    def make(d):
        shape, options = [d.integer(1, 6) for _ in range(d.integer(1, 3))], {}
        if d.chance():
            options["weight"] = d.fractions(*(shape[-1:] if d.chance() else shape))
            d.arrays["weights"] = options["weight"]
        if logits and d.chance():
            options["pos_weight"] = d.fractions(shape[-1]) * 3
            options["pos_weight"] = options["pos_weight"].float().double()
            d.arrays["positive_weights"] = options["pos_weight"]
        function = f.binary_cross_entropy_with_logits if logits else f.binary_cross_entropy
        return (lambda a, b, **o: function(a, b, **options, **o)), [
            d.array(*shape) * 4 if logits else d.fractions(*shape), d.fractions(*shape)], 1
    return make


def divergence(d):
    shape, log_target, batch_mean = [d.integer(1, 6) for _ in range(d.integer(1, 3))], d.chance(), d.chance(0.3)
    d.say(log_target=log_target, batch_mean=batch_mean)
    target = torch.log_softmax(d.array(*shape), -1) if log_target else torch.softmax(d.array(*shape), -1)
    target = target.float().double()
    if not log_target and d.chance():
        target.reshape(-1)[0] = 0

    def function(a, b, reduction):
        return f.kl_div(a, b, reduction="batchmean" if batch_mean else reduction, log_target=log_target)
    return function, [torch.log_softmax(d.array(*shape), -1).float().double(), target], 1


def soft_margin(d):
    shape = [d.integer(1, 6) for _ in range(d.integer(1, 3))]
    return f.soft_margin_loss, [d.array(*shape), signs(d, *shape)], 1


def multi_label_soft_margin(d):
    n, m, options = d.integer(1, 6), d.integer(1, 6), {}
    if d.chance():
        options["weight"] = d.arrays["weights"] = d.fractions(m)
    return (lambda a, b, **o: f.multilabel_soft_margin_loss(a, b, **options, **o)), [
        d.array(n, m), d.whole(2, n, m).double()], 1


def multi_margin(d):
    n, m, margin, squared = d.integer(1, 6), d.integer(2, 6), d.number(0, 2), d.chance()
    d.say(margin=margin, squared=squared)
    options = {"p": 2 if squared else 1, "margin": margin}
    if d.chance():
        options["weight"] = d.arrays["weights"] = d.fractions(m)
    return (lambda a, b, **o: f.multi_margin_loss(a, b, **options, **o)), [
        d.array(n, m), d.whole(m, n)], 1


def multi_label_margin(d):
    n, m = d.integer(1, 6), d.integer(2, 6)
    target = d.values.integers(-1, m, size=(n, m))
    return f.multilabel_margin_loss, [d.array(n, m), torch.tensor(target)], 1


def ctc(d):
    n, time, count = d.integer(1, 4), d.integer(3, 9), d.integer(2, 6)
    blank, length, zero = d.integer(0, count - 1), d.integer(1, 4), d.chance()
    target = d.values.integers(0, count - 1, size=(n, length))
    target = torch.tensor(np.where(target >= blank, target + 1, target))
    lengths = torch.tensor(d.values.integers(1, length + 1, size=n))
    # Times are long enough for repeated letters: PyTorch's gradients of an infinite loss are NaN.
    times = torch.clamp(torch.tensor(d.values.integers(2 * length, max(time, 2 * length) + 1, size=n)), max=99)
    time = int(times.max())
    d.say(blank=blank, zero_infinity=zero)
    d.arrays["times"], d.arrays["lengths"] = times, lengths

    def function(a, b, **o):
        return f.ctc_loss(torch.log_softmax(a, -1).transpose(0, 1), b, times, lengths, blank, zero_infinity=zero, **o)
    return function, [d.array(n, time, count), target], 1


LOSSES = {
    "squared_error": pairs(f.mse_loss), "absolute_error": pairs(f.l1_loss),
    "huber": pairs(f.huber_loss, delta=lambda d: d.number(0.1, 2)),
    "smooth_l1": pairs(f.smooth_l1_loss, beta=lambda d: d.one(0.0, d.number(0.1, 2))),
    "poisson_nll": poisson, "gaussian_nll": gaussian, "hinge_embedding": hinge_embedding,
    "margin_ranking": margin_ranking, "cosine_embedding": cosine_embedding, "triplet_margin": triplet,
    "cosine_similarity": cosine_similarity, "pairwise_distance": pairwise, "cross_entropy": cross_entropy, "nll": nll,
    "binary_cross_entropy": binary(False), "binary_with_logits": binary(True), "kl_divergence": divergence,
    "soft_margin": soft_margin, "multi_label_soft_margin": multi_label_soft_margin, "multi_margin": multi_margin,
    "multi_label_margin": multi_label_margin, "ctc": ctc,
}


def run_loss(d, kind, folder, name):
    function, inputs, predictions = LOSSES[kind](d)
    reduction = d.one("mean", "sum", "none")
    d.say(reduction=reduction, predictions=predictions)
    d.arrays.update(zip("abc", inputs))
    values = [value.clone().requires_grad_(i < predictions) for i, value in enumerate(inputs)]
    y = function(*values, reduction=reduction)
    y.sum().backward()
    return {"y": y, **{f"gradient{i}": values[i].grad for i in range(predictions)}}
