# SPDX-License-Identifier: MIT
"""Rules of descent, schedules and plateaus with drawn options, loss scaling and averages among them."""

import math

import torch
from torch import nn

def schedule(d, rate):
    """A function from an optimiser to PyTorch's schedule, or none for a constant rate."""
    s = torch.optim.lr_scheduler
    kind = d.one("none", "step", "multi_step", "exponential", "inverse", "polynomial", "cosine", "restarts", "one_cycle",
                 "cyclic")
    factor, steps = d.number(0.3, 0.99), d.integer(1, 40)
    d.say(rate=rate)
    if kind == "none":
        return None
    d.say(schedule=kind)
    if kind in ("step", "exponential", "inverse", "multi_step"):
        d.say(factor=factor)
    if kind == "step":
        d.say(steps=steps)
        return lambda o: s.StepLR(o, steps, factor)
    if kind == "multi_step":
        counts = sorted(d.integer(1, 45) for _ in range(d.integer(1, 4)))
        d.say(counts=counts)
        return lambda o: s.MultiStepLR(o, counts, factor)
    if kind == "exponential":
        return lambda o: s.ExponentialLR(o, factor)
    if kind == "inverse":
        return lambda o: s.LambdaLR(o, lambda n: 1 / (1 + factor * n))
    if kind == "polynomial":
        power = d.one(1.0, 2.0, 0.5)
        d.say(steps=steps, power=power)
        return lambda o: s.PolynomialLR(o, steps, power)
    if kind == "cosine":
        low = d.number(0, rate)
        steps = 50
        d.say(steps=steps, last=low)
        return lambda o: s.CosineAnnealingLR(o, steps, low)
    if kind == "restarts":
        low, growth = d.number(0, rate), d.integer(1, 3)
        d.say(steps=steps, last=low, growth=growth)
        return lambda o: s.CosineAnnealingWarmRestarts(o, steps, growth, low)
    if kind == "one_cycle":
        rising, first_factor, last_factor = d.number(0.15, 0.45), d.number(2, 30), d.number(2, 1000)
        three, straight, steps = d.chance(), d.chance(), 51
        d.say(steps=steps, rising=rising, first_factor=first_factor, last_factor=last_factor, three_phases=three,
              linear=straight)
        return lambda o: s.OneCycleLR(o, rate, steps, pct_start=rising, anneal_strategy="linear" if straight else "cos",
                                      cycle_momentum=False, div_factor=first_factor, final_div_factor=last_factor,
                                      three_phase=three)
    high, up, down = d.number(rate, 3 * rate), d.integer(1, 20), d.integer(1, 20) if d.chance() else None
    d.say(last=high, rising_steps=up)
    if down is not None:
        d.say(falling_steps=down)
    mode = d.one("triangular", "triangular2", "exp_range")
    gamma = d.number(0.8, 0.99)
    if mode == "triangular2":
        d.say(cycle_factor=0.5)
    if mode == "exp_range":
        d.say(update_factor=gamma)
    return lambda o: s.CyclicLR(o, rate, high, up, down, mode, gamma, cycle_momentum=False)


def optimiser(d, rate):
    o, rule = torch.optim, d.one("sgd", "adagrad", "rmsprop", "adam", "adamw", "adamax", "nadam", "radam", "adadelta",
                                 "rprop", "asgd", "adafactor")
    d.say(rule=rule)
    given = {"lr": rate}

    def maybe(theirs, ours, value):
        if d.chance():
            given[theirs] = value
            d.say(**{ours: value})

    if rule != "rprop":
        maybe("weight_decay", "weight_decay", d.number(0, 0.3))
        if rule == "adamw" and "weight_decay" not in given or rule == "adafactor" and "weight_decay" not in given:
            given["weight_decay"] = 0
    if rule in ("adam", "adamw", "adamax", "nadam", "radam") and d.chance():
        given["betas"] = (d.one(0.0, d.number(0, 0.99)), d.number(0.5, 0.9999))
        d.say(beta1=given["betas"][0], beta2=given["betas"][1])
    if rule in ("adagrad", "rmsprop", "adam", "adamw", "adamax", "nadam", "radam", "adadelta"):
        given["eps"] = d.one(1e-8, 1e-6, 0.1)
        d.say(epsilon=given["eps"])
    if rule in ("adam", "adamw") and d.chance():
        given["amsgrad"] = True
        d.say(amsgrad=True)
    if rule == "sgd" and d.chance(0.7):
        given["momentum"] = d.number(0.1, 0.99)
        d.say(momentum=given["momentum"])
        if d.chance():
            given["nesterov"] = True
            d.say(nesterov=True)
        else:
            maybe("dampening", "dampening", d.number(0, 0.9))
    if rule == "rmsprop":
        maybe("alpha", "decay", d.number(0.1, 0.999))
        maybe("momentum", "momentum", d.number(0.1, 0.99))
        maybe("centered", "centred", True)
    if rule == "nadam":
        maybe("momentum_decay", "momentum_decay", d.number(0.0, 0.1))
    if rule in ("nadam", "radam"):
        maybe("decoupled_weight_decay", "decoupled", True)
    if rule == "adagrad":
        maybe("initial_accumulator_value", "first_squares", d.number(0, 2))
    if rule == "adadelta":
        maybe("rho", "decay", d.number(0.1, 0.99))
    if rule == "rprop":
        shrink, grow, small, large = d.number(0.1, 0.9), d.number(1.05, 2), d.number(1e-3, 0.01), d.number(0.1, 2)
        given.update(etas=(shrink, grow), step_sizes=(small, large))
        d.say(shrink=shrink, grow=grow, smallest_step=small, largest_step=large)
    if rule == "asgd":
        maybe("lambd", "decay", d.number(0, 0.1))
        maybe("alpha", "power_of_step", d.number(0.1, 1))
        maybe("t0", "average_from", d.integer(0, 20))
    if rule == "adafactor":
        maybe("beta2_decay", "decay_power", -d.number(0.1, 1))
        maybe("d", "clip", d.number(1, 3))
        if d.chance():
            given["eps"] = (d.number(0.01, 0.2), d.number(0.01, 0.5))
            d.say(epsilon1=given["eps"][0], epsilon2=given["eps"][1])
    classes = {"sgd": o.SGD, "adagrad": o.Adagrad, "rmsprop": o.RMSprop, "adam": o.Adam, "adamw": o.AdamW,
               "adamax": o.Adamax, "nadam": o.NAdam, "radam": o.RAdam, "adadelta": o.Adadelta, "rprop": o.Rprop,
               "asgd": o.ASGD, "adafactor": o.Adafactor}
    return rule, lambda parameters: classes[rule](parameters, **given)


def run_rule(d, kind, folder, name):
    rate, updates = d.number(0.01, 0.3), d.integer(8, 50)
    d.options["dtype"] = "f64"
    rule, make = optimiser(d, rate)
    scheduled = schedule(d, rate) if rule not in ("asgd", "rprop") and d.chance(0.6) else None
    d.say(rate=rate, updates=updates)
    if d.chance():
        d.say(resume=d.integer(1, updates - 1))
    decay = d.number(0.1, 0.99) if d.chance() else None
    if decay is not None:
        d.say(average=decay)
    parameters = [d.array(*[d.integer(2, 5) for _ in range(d.integer(1, 3))]) for _ in range(d.integer(1, 3))]
    gradients = [d.array(updates, *w.shape) for w in parameters]
    scaling = d.chance(0.3)
    scaler = None
    if scaling:
        options = {"init_scale": float(2 ** d.integer(0, 12)), "growth_factor": 2.0, "backoff_factor": 0.5,
                   "growth_interval": d.integer(1, 6)}
        d.say(scaling=True, first_scale=options["init_scale"], growth_interval=options["growth_interval"])
        scaler = torch.amp.GradScaler("cpu", **options)
        scaler.scale(torch.ones(()))
        for i in range(updates):
            if d.chance(0.15):
                d.one(*gradients)[i].reshape(-1)[0] = d.one(math.inf, math.nan)
    for i, (w, g) in enumerate(zip(parameters, gradients)):
        d.arrays[f"w{i}"], d.arrays[f"g{i}"] = w.clone(), g
    holder = nn.ParameterList([nn.Parameter(w.clone()) for w in parameters])
    average = None
    rule_ = make(list(holder))
    steps = scheduled(rule_) if scheduled else None
    swa = torch.optim.swa_utils
    average = swa.AveragedModel(holder, multi_avg_fn=swa.get_ema_multi_avg_fn(decay) if decay is not None else None)
    values = [[] for _ in parameters]
    for i in range(updates):
        for w, g in zip(holder, gradients):
            w.grad = g[i].clone() * (scaler.get_scale() if scaler else 1)
        if scaler:
            before = scaler.get_scale()
            finite = all(torch.isfinite(g[i]).all() for g in gradients)
            scaler.step(rule_)
            scaler.update()
            if finite and steps:
                steps.step()
            del before
        else:
            rule_.step()
            if steps:
                steps.step()
        average.update_parameters(holder)
        for w, list_ in zip(holder, values):
            list_.append(w.detach().clone())
    want = {f"w{i}": torch.stack(list_) for i, list_ in enumerate(values)}
    if scaler:
        want["scale"] = torch.tensor(scaler.get_scale())
    for i, w in enumerate(average.module):
        want[f"average{i}"] = w.detach()
    return want


def run_schedule(d, kind, folder, name):
    rate = d.number(0.01, 0.5)
    d.options["dtype"] = "f64"
    scheduled = None
    while scheduled is None:
        d.options = {"dtype": "f64"}
        scheduled = schedule(d, rate)
    d.say(updates=50)
    rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)
    steps, rates = scheduled(rule), []
    for _ in range(50):
        rates.append(rule.param_groups[0]["lr"])
        rule.step()
        steps.step()
    return {"y": torch.tensor(rates)}


def run_plateau(d, kind, folder, name):
    rate, factor, patience, cooldown = d.number(0.1, 1), d.number(0.1, 0.9), d.integer(0, 4), d.integer(0, 4)
    threshold_, relative, larger, least = d.one(0.0, 1e-4, 0.1), d.chance(), d.chance(), d.one(1e-6, 0.05)
    d.options["dtype"] = "f64"
    d.say(rate=rate, factor=factor, patience=patience, cooldown=cooldown, threshold=threshold_, relative=relative,
          larger_is_better=larger, least=least)
    figures = d.array(50) * 0.3 + 2 - torch.arange(50) * d.one(0.0, 0.02, -0.02)
    figures = figures.float().double()
    d.arrays["figures"] = figures
    rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)
    steps = torch.optim.lr_scheduler.ReduceLROnPlateau(
        rule, "max" if larger else "min", factor, patience, threshold_, "rel" if relative else "abs", cooldown, least)
    rates = []
    for figure in figures.tolist():
        steps.step(figure)
        rates.append(rule.param_groups[0]["lr"])
    return {"y": torch.tensor(rates)}
