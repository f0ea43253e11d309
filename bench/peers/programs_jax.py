# SPDX-License-Identifier: MIT
"""The programs of programs_bench.cpp in JAX, compiled, on one thread: a line of name, microseconds, checksum each."""
import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.scipy.special import erf  # noqa: E402


def fastest(call):
    def seconds(calls):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - begin

    call()
    calls = int(min(max(0.05 / max(seconds(1), 1e-9), 1), 20000))
    return min(seconds(calls) for _ in range(8)) / calls


def spread(shape, low, high, offset=0.0):
    part = np.fmod((np.arange(int(np.prod(shape)), dtype=np.float64) + offset) * 0.6180339887498949, 1.0)
    return jnp.asarray((low + (high - low) * part).astype(np.float32).reshape(shape))


def report(name, function, arguments, checksum):
    seconds = fastest(lambda: jax.block_until_ready(function(*arguments)))
    print(name, 1e6 * seconds, float(checksum(function(*arguments))), flush=True)


def scalar_step():
    step = jax.jit(lambda x, a, b: x * a + b)
    a, b = spread((), 0.5, 0.5), spread((), 0.25, 0.25)
    state = [spread((), 1.5, 1.5)]

    def call():
        state[0] = step(state[0], a, b)

    seconds = fastest(call)
    print("scalar_step", 1e6 * seconds, float(state[0]), flush=True)


def normal_distribution(x):
    return 0.5 * (1.0 + erf(x * 0.7071067811865476))


@jax.jit
def prices(spot, strike, time, rate, volatility):
    spread_in_time = volatility * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread_in_time
    d2 = d1 - spread_in_time
    discounted = strike * jnp.exp(-rate * time)
    call = spot * normal_distribution(d1) - discounted * normal_distribution(d2)
    put = discounted * normal_distribution(-d2) - spot * normal_distribution(-d1)
    return call, put


@jax.jit
def attract(x, v, mass):
    apart = x[:, None] - x[None]
    squared = (apart * apart).sum(-1) + 1e-3
    weight = mass / (squared * jnp.sqrt(squared))
    faster = v - 0.01 * (apart * weight[:, :, None]).sum(1)
    return x + 0.01 * faster, faster


@jax.jit
def escape(real, imaginary):
    x = 0.0 * (real + imaginary)
    y = count = x
    for _ in range(30):
        xx, yy = x * x, y * y
        inside = xx + yy < 4.0
        next_x, next_y = xx - yy + real, 2.0 * x * y + imaginary
        x, y = jnp.where(inside, next_x, x), jnp.where(inside, next_y, y)
        count = count + inside.astype(jnp.float32)
    return count


scalar_step()
for n in 10000, 1000000:
    operands = [spread((n,), 10, 50), spread((n,), 10, 50, 0.3), spread((n,), 1, 2, 0.5),
                spread((n,), 0.01, 0.05, 0.7), spread((n,), 0.1, 0.4, 0.9)]
    report(f"option_prices_{n}", prices, operands, lambda result: jnp.mean(result[0] + result[1]))
for n in 100, 1000:
    operands = [spread((n, 3), -1, 1), spread((n, 3), -1, 1, 0.4), spread((n,), 0, 1, 0.2)]
    report(f"bodies_{n}", attract, operands, lambda result: jnp.mean(jnp.abs(result[1])))
for n in 64, 512:
    report(f"mandelbrot_{n}", escape, [spread((1, n), -2, 0.5), spread((n, 1), -1.25, 1.25)], jnp.mean)
