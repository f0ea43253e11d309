# SPDX-License-Identifier: MIT
"""Rules of descent, schedules and averages: parameters after each of several updates, rates after each count."""

import numpy as np
import torch
from torch.optim import lr_scheduler, swa_utils

from layer_cases import draw, generator, put

STEPS = 8
JOINED = (2, 3, 6, 7)


def descend(arrays, name, make, weights, gradients):
    """The parameter after each update."""
    w = weights.clone().requires_grad_()
    optimiser = make([w])
    values = []
    for gradient in gradients:
        w.grad = gradient.clone()
        optimiser.step()
        values.append(w.detach().clone())
    put(arrays, f"rule/{name}", torch.stack(values))


def descend_unevenly(arrays, name, make, weights, gradients):
    """Two parameters, the second of which has gradients in the updates of JOINED only and is a group of its own rate."""
    a, b = weights.clone().requires_grad_(), weights.clone().requires_grad_()
    optimiser = make([a])
    values = []
    for i, gradient in enumerate(gradients):
        if i == JOINED[0]:
            optimiser.add_param_group({"params": [b], "lr": 0.05})
        a.grad, b.grad = gradient.clone(), gradient.clone() if i in JOINED else None
        optimiser.step()
        values.append(torch.stack([a.detach(), b.detach()]))
    put(arrays, f"joining/{name}", torch.stack(values))


def lion(w, gradients, rate, beta1, beta2, decay):
    """Algorithm 2 of Chen et al. (2023)."""
    m = np.zeros_like(w)
    for g in gradients:
        c = beta1 * m + (1 - beta1) * g
        w = w - rate * (np.sign(c) + decay * w)
        m = beta2 * m + (1 - beta2) * g
        yield w


def lamb(w, gradients, rate, beta1, beta2, epsilon, decay):
    """Algorithm 2 of You et al. (2020), the scaling function the identity."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        r = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon) + decay * w
        norm, other = np.linalg.norm(w), np.linalg.norm(r)
        w = w - rate * (norm / other if norm > 0 and other > 0 else 1.0) * r
        yield w


def muon(w, gradients, rate, momentum, decay, nesterov=True, factor=1.0):
    """Jordan (2024), with the singular values taken through the polynomial one by one instead of products."""
    m = np.zeros_like(w)
    for g in gradients:
        m = momentum * m + (1 - momentum) * g
        u, s, v = np.linalg.svd(momentum * m + (1 - momentum) * g if nesterov else m, full_matrices=False)
        s = s / np.linalg.norm(s)
        for _ in range(5):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        w = w - rate * (factor * (u * s) @ v + decay * w)
        yield w


def classify(arrays):
    """L-BFGS on a logistic regression: weights and bias after each update."""
    random = generator("lbfgs")
    pictures, signs = draw(random, (20, 5)), torch.sign(draw(random, (20,)))
    weights, bias = draw(random, (5,)).requires_grad_(), draw(random, ()).requires_grad_()
    put(arrays, "lbfgs/pictures", pictures)
    put(arrays, "lbfgs/signs", signs)
    put(arrays, "lbfgs/weights", weights.detach())
    put(arrays, "lbfgs/bias", bias.detach())
    optimiser = torch.optim.LBFGS([weights, bias], lr=0.8, max_iter=1, history_size=4)

    def closure():
        optimiser.zero_grad()
        margins = signs * (pictures @ weights + bias)
        loss = torch.nn.functional.softplus(-margins).mean() + 0.05 * weights.square().sum()
        loss.backward()
        return loss

    values = []
    for _ in range(12):
        optimiser.step(closure)
        values.append(torch.cat([weights.detach(), bias.detach().reshape(1)]))
    put(arrays, "lbfgs/values", torch.stack(values))


def schedule(arrays, name, make, rate, count=24):
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)
    scheduler = make(optimiser)
    rates = []
    for _ in range(count):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    arrays[f"rate/{name}"] = np.array(rates)


def fill(arrays):
    random = generator("descent")
    weights = draw(random, (3, 4))
    gradients = [draw(random, (3, 4)) for _ in range(STEPS)]
    put(arrays, "given/weights", weights)
    put(arrays, "given/gradients", torch.stack(gradients))

    optim = torch.optim
    rules = {
        "sgd": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
        "sgd_nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
        "adagrad": lambda p: optim.Adagrad(p, 0.1, weight_decay=0.01),
        "rmsprop": lambda p: optim.RMSprop(p, 0.01, alpha=0.9),
        "rmsprop_all": lambda p: optim.RMSprop(p, 0.01, alpha=0.9, centered=True, momentum=0.5, weight_decay=0.01),
        "adam": lambda p: optim.Adam(p, 0.1, weight_decay=0.01),
        "adam_amsgrad": lambda p: optim.Adam(p, 0.1, betas=(0.8, 0.9), amsgrad=True),
        "adamw": lambda p: optim.AdamW(p, 0.1, weight_decay=0.1),
        "adamax": lambda p: optim.Adamax(p, 0.1, weight_decay=0.01),
        "nadam": lambda p: optim.NAdam(p, 0.1, weight_decay=0.01),
        "radam": lambda p: optim.RAdam(p, 0.1, weight_decay=0.01),
        "sgd_dampening": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, dampening=0.25),
        "rprop": lambda p: optim.Rprop(p, 0.1),
        "asgd": lambda p: optim.ASGD(p, 0.1, lambd=0.05, t0=3, weight_decay=0.01),
        "adafactor": lambda p: optim.Adafactor(p, 0.1, weight_decay=0.01),
        "adafactor_clipped": lambda p: optim.Adafactor(p, 0.3, beta2_decay=-0.5, eps=(0.1, 0.5), d=1.5),
        "adagrad_begun": lambda p: optim.Adagrad(p, 0.1, initial_accumulator_value=0.5),
        "nadam_decoupled": lambda p: optim.NAdam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
        "radam_decoupled": lambda p: optim.RAdam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
        "adadelta": lambda p: optim.Adadelta(p, 1.0, weight_decay=0.01),
    }
    for name, make in rules.items():
        descend(arrays, name, make, weights, gradients)
    for name in ("sgd_dampening", "rprop", "adam", "adamw", "adamax", "nadam", "radam", "asgd", "adafactor"):
        descend_unevenly(arrays, name, rules[name], weights, gradients)
    classify(arrays)
    for name, shape in {"vector": (12,), "axes": (3, 2, 2)}.items():
        descend(arrays, f"adafactor_{name}", rules["adafactor"], weights.reshape(shape), [g.reshape(shape) for g in gradients])
    # PyTorch computes Muon's products in bfloat16, where they are right to 1 in 100. Its matrices are (out, in).
    rows = [gradient.T for gradient in gradients]
    descend(arrays, "muon_rounded", lambda p: optim.Muon(p, 0.1, weight_decay=0.1), weights.T, rows)
    wide = [gradient.numpy() for gradient in gradients]
    put(arrays, "rule/muon", torch.tensor(np.stack(list(muon(weights.numpy(), wide, 0.1, 0.95, 0.1,
                                                             factor=(4 / 3)**0.5)))))
    put(arrays, "rule/muon_plain", torch.tensor(np.stack(list(muon(weights.numpy(), wide, 0.1, 0.9, 0.0, False,
                                                                   0.2 * 4**0.5)))))
    plain = [gradient.numpy() for gradient in gradients]
    put(arrays, "rule/lion", torch.tensor(np.stack(list(lion(weights.numpy(), plain, 0.1, 0.9, 0.99, 0.01)))))
    put(arrays, "rule/lamb", torch.tensor(np.stack(list(lamb(weights.numpy(), plain, 0.1, 0.9, 0.999, 1e-6, 0.01)))))

    schedules = {
        "step": lambda o: lr_scheduler.StepLR(o, 5, 0.5),
        "multi_step": lambda o: lr_scheduler.MultiStepLR(o, [3, 7, 8], 0.5),
        "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
        "polynomial": lambda o: lr_scheduler.PolynomialLR(o, 10, 2.0),
        "linear": lambda o: lr_scheduler.LinearLR(o, 1.0, 0.25, 10),
        "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 23, 0.01),
        "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 7, 1, 0.01),
        "restarts_growing": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
        "one_cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.4, total_steps=25, cycle_momentum=False),
        "one_cycle_three": lambda o: lr_scheduler.OneCycleLR(o, 0.4, total_steps=25, cycle_momentum=False, pct_start=0.4,
                                                             three_phase=True, anneal_strategy="linear",
                                                             div_factor=10, final_div_factor=100),
        "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 3, 5, cycle_momentum=False),
        "cyclic_halved": lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, mode="triangular2", cycle_momentum=False),
        "cyclic_fading": lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4, mode="exp_range", gamma=0.9,
                                                         cycle_momentum=False),
        "sequence": lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.ConstantLR(o, 0.1, 4), lr_scheduler.ExponentialLR(o, 0.9)], [4]),
    }
    for name, make in schedules.items():
        schedule(arrays, name, make, 0.5)

    figures = np.array([5, 4, 4.0, 4.0001, 3.9999, 4.2, 3, 3, 3, 3, 3, 3, 2.9, 3.1, 3.2, 3.3, 3.4])
    arrays["plateau/figures"] = figures
    for name, options in {"plain": {"patience": 2, "factor": 0.5},
                          "all": {"patience": 1, "factor": 0.5, "threshold": 0.15, "threshold_mode": "abs",
                                  "cooldown": 2, "min_lr": 0.1},
                          "larger": {"patience": 2, "factor": 0.5, "mode": "max"}}.items():
        optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        scheduler = lr_scheduler.ReduceLROnPlateau(optimiser, **options)
        rates = []
        for figure in figures:
            scheduler.step(figure)
            rates.append(optimiser.param_groups[0]["lr"])
        arrays[f"plateau/{name}"] = np.array(rates)

    for name, options in {"mean": {}, "decay": {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)}}.items():
        model = torch.nn.Linear(4, 3, bias=False)
        averaged = swa_utils.AveragedModel(model, **options)
        values = []
        for gradient in gradients:
            with torch.no_grad():
                model.weight.copy_(gradient)
            averaged.update_parameters(model)
            values.append(averaged.module.weight.detach().clone())
        put(arrays, f"average/{name}", torch.stack(values))

    # A loss scale that grows after three finite updates; the fourth and the seventh gradient overflow.
    w = weights.clone().float().requires_grad_()
    optimiser = torch.optim.SGD([w], 0.125)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
    scales, values = [], []
    for i, gradient in enumerate(gradients):
        factor = float("inf") if i in (3, 6) else 1.0
        optimiser.zero_grad()
        scaler.scale((w * gradient.float() * factor).sum()).backward()
        scaler.step(optimiser)
        scaler.update()
        scales.append(scaler.get_scale())
        values.append(w.detach().clone())
    arrays["scale/scales"] = np.array(scales)
    put(arrays, "scale/weights", torch.stack(values))
