# SPDX-License-Identifier: MIT
"""Runs the programs of oracle_programs by JAX, in f64, and compares: oracle.py programs.jsonl

Results, gradients and states after each of two calls have to agree to 1e-9. Where they do not, the program runs again
on inputs moved by a few last places; what differs by no more than a thousand times what that changes is ill-conditioned
and counted apart.
"""

import json
import os
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)

PLAIN = {
    "tanh": jnp.tanh, "sin": jnp.sin, "cos": jnp.cos, "sigmoid": jax.nn.sigmoid, "negate": jnp.negative,
    "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "matmul": jnp.matmul,
    "cumsum": lambda x: jnp.cumsum(x, 0), "sum": lambda x: jnp.sum(x, 0), "transpose": jnp.transpose,
    "is_even": lambda x: x % 2 == 0, "where": jnp.where,
}


class Runner:
    def __init__(self, program):
        self.n = program["length"]
        self.differentiated = program["differentiated"]

    def region(self, region, values, states, arguments=()):
        """Results and states after it. States go through every region as carries."""
        values = dict(values)
        values.update(zip(region["parameters"], arguments))
        for line in region["lines"]:
            run = self.nested if line["regions"] else self.plain
            made, states = run(line, values, states)
            values.update(zip(line["out"], made))
        return [values[i] for i in region["results"]], states

    def plain(self, line, values, states):
        op, numbers = line["op"], line["numbers"]
        given = [values[i] for i in line["in"]]
        if op in PLAIN:
            return [PLAIN[op](*given)], states
        if op == "row":
            return [given[0][given[1] % self.n]], states
        if op == "set_row":
            return [given[0].at[given[1] % self.n].set(given[2])], states
        if op == "number":
            return [jnp.float64(numbers[0])], states
        if op == "whole":
            return [jnp.int64(int(numbers[0]))], states
        if op == "spread_line":
            return [jnp.broadcast_to(given[0], (self.n,))], states
        if op == "spread_page":
            return [jnp.broadcast_to(given[0], (self.n, self.n))], states
        if op == "whole_step":
            times, plus, modulo = (int(x) for x in numbers)
            return [(given[0] * times + plus) % modulo], states
        if op == "less":
            return [given[0] < numbers[0]], states
        which = int(numbers[0])
        if op == "read":
            return [states[which]], states
        assert op == "assign", op
        states = list(states)
        states[which] = given[0]
        return [], states

    def nested(self, line, values, states):
        op, numbers, regions = line["op"], line["numbers"], line["regions"]
        given = [values[i] for i in line["in"]]

        def body(arguments, states):
            return self.region(regions[-1], values, states, arguments)

        if op == "cond":
            arms = [lambda s, arm=arm: self.region(arm, values, s) for arm in regions]
            return lax.cond(given[0], arms[0], arms[1], states)
        if op == "switch":
            arms = [lambda s, arm=arm: self.region(arm, values, s) for arm in regions]
            return lax.switch(given[0], arms, states)
        if op == "while":
            def go_on(carry):
                return self.region(regions[0], values, carry[1], carry[0])[0][0]
            return self.bounded(go_on, lambda carry: body(*carry), (given, states), int(numbers[0]))
        if op == "fori":
            first, trips, most = (int(x) for x in numbers)
            step = lambda i, carry: body([jnp.int64(i), *carry[0]], carry[1])
            return lax.fori_loop(first, first + min(trips, most), step, (given, states))
        if op == "fori_data":
            first, most = int(numbers[0]), int(numbers[2])
            def step(carry):
                i, inner = carry
                return i + 1, body([i, *inner[0]], inner[1])
            start = (jnp.int64(first), (given[1:], states))
            return self.bounded(lambda carry: carry[0] < given[0], step, start, most)[1]
        rows, carries = given[0], given[1:]
        if op == "scan":
            def step(carry, row):
                made, after = body([*carry[0], row], carry[1])
                return (made[:-1], after), made[-1]
            (last, states), ys = lax.scan(step, (carries, states), rows, reverse=numbers[0] != 0)
            return [*last, ys], states
        assert op == "scan_until", op
        count = rows.shape[0]
        shape = jax.eval_shape(lambda c, s: body([*c, rows[0]], s), carries, states)[0][-2]

        def go_on(carry):
            return (carry[0] < count) & ~carry[1]

        def step(carry):
            i, _, ys, (inner, before) = carry
            made, after = body([*inner, rows[i]], before)
            return i + 1, made[-1], ys.at[i].set(made[-2]), (made[:-2], after)

        start = (jnp.int64(0), jnp.bool_(False), jnp.zeros((count, *shape.shape)), (carries, states))
        i, _, ys, (last, states) = lax.while_loop(go_on, step, start)
        return [*last, ys, i], states

    def bounded(self, go_on, step, start, most):
        """A loop of at most so many iterations; where gradients are wanted, which JAX's while_loop lacks, a scan whose
        later iterations do nothing."""
        if self.differentiated:
            def once(carry, _):
                going = carry[0] & go_on(carry[1])
                return (going, lax.cond(going, step, lambda c: c, carry[1])), None
            return lax.scan(once, (jnp.bool_(True), start), None, length=most)[0][1]
        last = lax.while_loop(lambda c: (c[0] < most) & go_on(c[1]), lambda c: (c[0] + 1, step(c[1])), (0, start))
        return last[1]


def tensors(program, moved=0.0):
    n, chance = program["length"], np.random.default_rng(program["seed"])
    shapes = [(), (n,), (n, n), ()]
    inputs = []
    for kind, data in zip(program["kinds"], program["inputs"]):
        x = np.array(data).reshape(shapes[kind])
        x = x.astype(np.int64) if kind == 3 else x * (1 + moved * chance.standard_normal(x.shape))
        inputs.append(jnp.asarray(x))
    return inputs, [jnp.asarray(np.array(s) * (1 + moved * chance.standard_normal(n))) for s in program["states"]]


def compiled(program):
    runner = Runner(program)

    def run(inputs, states):
        return runner.region(program["body"], dict(enumerate(inputs)), list(states))

    def differentiated(inputs, states):
        floating = [i for i, x in enumerate(inputs) if x.dtype == jnp.float64]

        def loss(chosen):
            replaced = list(inputs)
            for i, x in zip(floating, chosen):
                replaced[i] = x
            results, after = run(replaced, states)
            return sum((jnp.sum(x * x) for x in results if x.dtype == jnp.float64), jnp.float64(0)), (results, after)

        slopes, (results, after) = jax.grad(loss, has_aux=True)([inputs[i] for i in floating])
        return results + slopes, after

    return jax.jit(differentiated if program["differentiated"] else run)


def calls_of(program, run, moved=0.0):
    inputs, states = tensors(program, moved)
    calls = []
    for _ in range(2):
        results, states = run(inputs, states)
        calls.append([np.ravel(np.asarray(x, np.float64)) for x in [*results, *states]])
    return calls


def distance(found, expected):
    """The largest difference beside the largest number of each array; infinite where shapes or NaN differ."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        for x, y in zip(one, other, strict=True):
            x, y = np.asarray(x), np.asarray(y)
            if x.shape != y.shape or (np.isfinite(x) != np.isfinite(y)).any():
                return np.inf
            if x.size:
                worst = max(worst, np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(y))))
    return worst


def main():
    programs = conditioned = differentiated = 0
    faults = []
    with open(sys.argv[1]) as file:
        for text in file:
            program = json.loads(text)
            programs += 1
            differentiated += program["differentiated"]
            if programs % 200 == 0:
                jax.clear_caches()
                print(f"{programs} programs, {len(faults)} faults", flush=True)
            run = compiled(program)
            expected = calls_of(program, run)
            for mode in ("eager", "lazy"):
                off = distance(program[mode], expected)
                if off <= 1e-9:
                    continue
                moved = max(distance(calls_of(program, run, 1e-14), expected) for _ in range(3))
                if off <= 1000 * moved < 1e-2:
                    conditioned += 1
                    continue
                faults.append(program["seed"])
                print(f"seed {program['seed']}, {mode}: off by {off:.3g}; moved inputs by {moved:.3g}", flush=True)
    print(f"{programs} programs, {differentiated} with gradients, {conditioned} ill-conditioned results: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
