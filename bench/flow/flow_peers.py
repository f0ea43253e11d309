# SPDX-License-Identifier: MIT
"""Times the programs of flow_bench in JAX and ONNX Runtime, on one thread: flow_peers.py [SECTION ...]

Sections: lstm (50 steps), long (1,000 steps), unrolled (50 steps without a loop; compiles for a minute), iterations,
onnxruntime.
"""

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

BATCH, FEATURES, CELLS = 100, 40, 128


def best(run, rounds=5):
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def lstm(steps, unrolled=False):
    import jax
    import jax.numpy as jnp
    from jax import lax

    keys = jax.random.split(jax.random.PRNGKey(0), 9)
    gates = [(jax.random.normal(keys[2 * k], (FEATURES, CELLS)) * 0.1,
              jax.random.normal(keys[2 * k + 1], (CELLS, CELLS)) * 0.1, jnp.zeros(CELLS)) for k in range(4)]
    xs = jax.random.normal(keys[8], (steps, BATCH, FEATURES))
    zero = jnp.zeros((BATCH, CELLS))

    def cell(weights, state, x):
        h, c = state
        i, f, o, g = (x @ a + h @ b + d for a, b, d in weights)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def forward(weights, xs, checkpoint=False):
        step = lambda state, x: (cell(weights, state, x), None)
        if unrolled:
            state = (zero, zero)
            for t in range(steps):
                state = cell(weights, state, xs[t])
            return state[0]
        return lax.scan(jax.checkpoint(step) if checkpoint else step, (zero, zero), xs)[0][0]

    def loss(weights, xs, checkpoint=False):
        return jnp.sum(forward(weights, xs, checkpoint) ** 2)

    functions = {"forward": forward, "gradient": jax.grad(loss)}
    if not unrolled:
        functions["gradient, each step again"] = jax.grad(lambda w, x: loss(w, x, True))
    for name, function in functions.items():
        start = time.process_time()
        compiled = jax.jit(function).lower(gates, xs).compile()
        ready = time.process_time() - start
        taken = best(lambda: jax.block_until_ready(compiled(gates, xs)))
        memory = compiled.memory_analysis().temp_size_in_bytes / 1e6
        kind = "unrolled" if unrolled else "scan"
        print(f"JAX LSTM {steps} steps, {kind}, {name}: run {taken * 1e3:.3f} ms, to compile {ready * 1e3:.0f} ms, "
              f"{memory:.3f} MB", flush=True)


def iterations():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def line(name, count, function, *given):
        compiled = jax.jit(function).lower(*given).compile()
        taken = best(lambda: jax.block_until_ready(compiled(*given)))
        print(f"JAX {name}: {taken / count * 1e9:.1f} ns an iteration", flush=True)

    def counted(count, body):
        return lambda x: lax.fori_loop(0, count, lambda i, c: body(c), x)

    draw = lambda *shape: jax.random.normal(jax.random.PRNGKey(1), shape)
    many, some, few = 200_000, 100_000, 20_000
    matrix = draw(4, 4) * 0.1
    line("scalar x * a + b, counted", many, counted(many, lambda c: c * 0.999 + 0.5), jnp.float32(0.5))
    line("scalar, while on a value", many,
         lambda limit: lax.while_loop(lambda c: c < limit, lambda c: c + 1, jnp.float32(0)), jnp.float32(many))
    line("f32[128] tanh", some, counted(some, jnp.tanh), draw(128))
    line("f32[4,4] product", some, lambda x, m: lax.fori_loop(0, some, lambda i, c: c @ m, x), matrix, matrix)
    shift = lambda i, c: (c[1], c[2], jnp.tanh(c[0]))
    for size in (1024, 4096):
        line(f"f32[{size}] tanh", few, counted(few, jnp.tanh), draw(size))
        line(f"f32[{size}] tanh, delayed by 3", few, lambda x: lax.fori_loop(0, few, shift, (x, x + 1, x + 2))[2],
             draw(size))
    line("f32[4096] tanh on even, passed through on odd iterations", few, lambda x: lax.fori_loop(
        0, few, lambda i, c: lax.cond(i % 2 == 0, jnp.tanh, lambda c: c, c), x), draw(4096))
    for rows in (256, 10_000):
        line(f"scan f32[128], {rows} rows in and out", rows,
             lambda x, xs: lax.scan(lambda c, row: (jnp.tanh(c + row), c), x, xs)[1], draw(128), draw(rows, 128))


def onnxruntime():
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    count = 50_000
    info = helper.make_tensor_value_info

    def session(nodes, inputs, outputs, constants=()):
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(constants))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def line(name, run):
        print(f"ONNX Runtime {name}: {best(run) / count * 1e9:.1f} ns an iteration", flush=True)

    def loop(name, shape, nodes, start, constants=()):
        floating = TensorProto.FLOAT
        body = helper.make_graph(
            [*nodes, helper.make_node("Identity", ["go"], ["on"])], "body",
            [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("x", floating, shape)],
            [info("on", TensorProto.BOOL, []), info("y", floating, shape)], initializer=list(constants))
        made = session([helper.make_node("Loop", ["trips", "true", "start"], ["end"], body=body)],
                       [info("start", floating, shape)], [info("end", floating, shape)],
                       [numpy_helper.from_array(np.array(count), "trips"), numpy_helper.from_array(np.array(True), "true")])
        line(name, lambda: made.run(None, {"start": start}))

    numbers = [numpy_helper.from_array(np.array(x, np.float32), n) for x, n in ((0.999, "a"), (0.5, "b"))]
    loop("scalar x * a + b, counted", [],
         [helper.make_node("Mul", ["x", "a"], ["t"]), helper.make_node("Add", ["t", "b"], ["y"])],
         np.array(1, np.float32), numbers)
    loop("f32[128] tanh", [128], [helper.make_node("Tanh", ["x"], ["y"])], np.ones(128, np.float32))
    matrix = numpy_helper.from_array(np.eye(4, dtype=np.float32), "m")
    loop("f32[4,4] product", [4, 4], [helper.make_node("MatMul", ["x", "m"], ["y"])], np.eye(4, dtype=np.float32), [matrix])
    floating = TensorProto.FLOAT
    body = helper.make_graph(
        [helper.make_node("Add", ["c", "x"], ["t"]), helper.make_node("Tanh", ["t"], ["next"]),
         helper.make_node("Identity", ["c"], ["y"])], "body",
        [info("c", floating, [128]), info("x", floating, [128])], [info("next", floating, [128]), info("y", floating, [128])])
    made = session([helper.make_node("Scan", ["c0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1)],
                   [info("c0", floating, [128]), info("xs", floating, [count, 128])],
                   [info("last", floating, [128]), info("ys", floating, [count, 128])])
    given = {"c0": np.ones(128, np.float32), "xs": np.ones((count, 128), np.float32)}
    line("scan f32[128], rows in and out", lambda: made.run(None, given))


SECTIONS = {
    "lstm": lambda: lstm(50), "long": lambda: lstm(1000), "unrolled": lambda: lstm(50, unrolled=True),
    "iterations": iterations, "onnxruntime": onnxruntime,
}

if __name__ == "__main__":
    for section in sys.argv[1:] or ["lstm", "long", "iterations", "onnxruntime"]:
        SECTIONS[section]()
