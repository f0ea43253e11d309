# SPDX-License-Identifier: MIT
"""Whole networks in Tyto, PyTorch (eager, channels last, compiled), ONNX Runtime, OpenVINO and JAX, by turns.

models_peers.py PATH/models_bench [--threads 1,2] [--seconds 6] [--rounds 3] [--only TEXT,TEXT] [--folder DIR]
                [--peers torch,channels_last,compiled,onnx,openvino,jax]

TEXT is a row's name, or a part of several. All have equal weights. DIR keeps them and the inputs, so that the next call
need not make them again. Each system runs in a process of its own. A line a network and number of threads: milliseconds of the best run of all
rounds, the growth of each process's peak memory, and Tyto's time, memory and seconds until the first result over those
of the best peer. What the systems compute (inference: results; training: the losses of the first steps) is compared first.
Needs numpy and torch; onnxscript, onnxruntime and openvino for inferences, jax for decoding."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy

SYMBOLS, LENGTH, FEATURES, HEADS, BLOCKS = 256, 128, 256, 8, 4
COMPARED_STEPS = 4


def convolution(into, out, window, stride, groups=1):
    from torch import nn

    return nn.Conv2d(into, out, window, stride, window // 2, groups=groups, bias=False)


def layers():
    """The networks' parts, which only a process that has PyTorch defines."""
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, body, shortcut=None):
            super().__init__()
            self.body, self.shortcut = body, shortcut

        def forward(self, x):
            return self.body(x) + (x if self.shortcut is None else self.shortcut(x))

    class Bottleneck(nn.Module):
        def __init__(self, into, width, stride):
            super().__init__()
            self.conv1, self.bn1 = convolution(into, width, 1, 1), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = convolution(width, 4 * width, 1, 1), nn.BatchNorm2d(4 * width)
            self.downsample = None
            if stride != 1 or into != 4 * width:
                self.downsample = nn.Sequential(convolution(into, 4 * width, 1, stride), nn.BatchNorm2d(4 * width))

        def forward(self, x):
            shortcut = x if self.downsample is None else self.downsample(x)
            y = torch.relu(self.bn1(self.conv1(x)))
            y = torch.relu(self.bn2(self.conv2(y)))
            return torch.relu(self.bn3(self.conv3(y)) + shortcut)

    class ResNet50(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
            self.pool = nn.MaxPool2d(3, 2, 1)
            into = 64
            for i, (width, blocks, stride) in enumerate(((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))):
                stage = []
                for block in range(blocks):
                    stage.append(Bottleneck(into, width, stride if block == 0 else 1))
                    into = 4 * width
                setattr(self, f"layer{i + 1}", nn.Sequential(*stage))
            self.fc = nn.Linear(2048, 1000)

        def forward(self, x):
            x = self.pool(torch.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean((2, 3)))

    class GlobalAveragePool(nn.Module):
        def forward(self, x):
            return x.mean((2, 3))

    def mobilenet_v2():
        steps, into = [convolution(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU6()], 32
        for expansion, out, blocks, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                     (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for block in range(blocks):
                stride, wide = first_stride if block == 0 else 1, into * expansion
                body = [] if expansion == 1 else [convolution(into, wide, 1, 1), nn.BatchNorm2d(wide), nn.ReLU6()]
                body += [convolution(wide, wide, 3, stride, wide), nn.BatchNorm2d(wide), nn.ReLU6(),
                         convolution(wide, out, 1, 1), nn.BatchNorm2d(out)]
                body = nn.Sequential(*body)
                steps.append(Residual(body) if stride == 1 and into == out else body)
                into = out
        steps += [convolution(into, 1280, 1, 1), nn.BatchNorm2d(1280), nn.ReLU6(), GlobalAveragePool(),
                  nn.Linear(1280, 1000)]
        return nn.Sequential(*steps)

    def resnet(depth=18, width=64):
        """As examples/resnet makes them: 18 layers in four stages, or 8, 14, 20, ... in three."""
        steps, into = [convolution(3, width, 3, 1), nn.BatchNorm2d(width), nn.ReLU()], width
        for stage in range(4 if depth == 18 else 3):
            for block in range(2 if depth == 18 else (depth - 2) // 6):
                out, stride = width << stage, 2 if stage > 0 and block == 0 else 1
                body = nn.Sequential(convolution(into, out, 3, stride), nn.BatchNorm2d(out), nn.ReLU(),
                                     convolution(out, out, 3, 1), nn.BatchNorm2d(out))
                shortcut = None
                if stride != 1 or into != out:
                    shortcut = nn.Sequential(convolution(into, out, 1, stride), nn.BatchNorm2d(out))
                steps.append(nn.Sequential(Residual(body, shortcut), nn.ReLU()))
                into = out
        return nn.Sequential(*steps, GlobalAveragePool(), nn.Linear(into, 10))

    def mnist():
        """As examples/mnist, without its dropout: every system would draw its own."""
        return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(14 * 14 * 32, 1024), nn.ReLU(), nn.Linear(1024, 10))

    class SequenceClassifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(40, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    def encoder(features=512, heads=8, hidden=2048, dropout=0.1, norm_first=False):
        return nn.TransformerEncoderLayer(features, heads, hidden, dropout, "gelu", batch_first=True,
                                          norm_first=norm_first)

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.symbols, self.places = nn.Embedding(SYMBOLS, FEATURES), nn.Embedding(LENGTH, FEATURES)
            self.blocks = nn.ModuleList(encoder(FEATURES, HEADS, 4 * FEATURES, 0.0, True) for _ in range(BLOCKS))
            self.norm, self.head = nn.LayerNorm(FEATURES), nn.Linear(FEATURES, SYMBOLS)

        def forward(self, sequence):
            x = self.symbols(sequence) + self.places(torch.arange(sequence.shape[1]))
            mask = nn.Transformer.generate_square_subsequent_mask(sequence.shape[1])
            for block in self.blocks:
                x = block(x, mask, is_causal=True)
            return self.head(self.norm(x))

        def next(self, symbol, place, caches):
            """One place more, of a batch of one; caches are (keys, values), (1, heads, LENGTH, features) each."""
            from torch.nn import functional

            x = (self.symbols(symbol) + self.places.weight[place])[:, None]
            for block, (keys, values) in zip(self.blocks, caches):
                y, attention = block.norm1(x), block.self_attn
                query, key, value = functional.linear(y, attention.in_proj_weight, attention.in_proj_bias).view(
                    1, 3, HEADS, 1, FEATURES // HEADS).unbind(1)
                keys[:, :, place:place + 1], values[:, :, place:place + 1] = key, value
                seen = functional.scaled_dot_product_attention(query, keys[:, :, :place + 1], values[:, :, :place + 1])
                x = x + attention.out_proj(seen.reshape(1, 1, FEATURES))
                x = x + block.linear2(functional.gelu(block.linear1(block.norm2(x))))
            return self.head(self.norm(x))[:, 0]

    return {"resnet50": ResNet50, "mobilenet_v2": mobilenet_v2, "mnist_step": mnist, "resnet18_step": resnet, "encoder": encoder,
            "gpt_step": Gpt, "gpt_decoding": Gpt, "lstm_step": SequenceClassifier}


def pictures(count, side, channels=3):
    return numpy.random.default_rng(1).standard_normal((count, side, side, channels), dtype=numpy.float32)


def sequences(shape, below):
    return numpy.random.default_rng(2).integers(0, below, shape)


def values(*shape):
    return numpy.random.default_rng(3).standard_normal(shape, dtype=numpy.float32)


# Name: the network, its inputs; `t` is what a training step shall learn.
ROWS = {
    "resnet50_b1": ("resnet50", lambda: {"x": pictures(1, 224)}),
    "resnet50_b16": ("resnet50", lambda: {"x": pictures(16, 224)}),
    "mobilenet_v2": ("mobilenet_v2", lambda: {"x": pictures(1, 224)}),
    "encoder": ("encoder", lambda: {"x": values(8, 128, 512)}),
    "mnist_step": ("mnist_step", lambda: {"x": pictures(100, 28, 1), "t": sequences(100, 10)}),
    "resnet18_step": ("resnet18_step", lambda: {"x": pictures(64, 32), "t": sequences(64, 10)}),
    "gpt_step": ("gpt_step", lambda: {"x": sequences((8, LENGTH), SYMBOLS), "t": sequences((8, LENGTH), SYMBOLS)}),
    "gpt_decoding": ("gpt_decoding", lambda: {"x": sequences(LENGTH, SYMBOLS)}),
    "lstm_step": ("lstm_step", lambda: {"x": values(100, 50, 40), "t": sequences(100, 10)}),
}


def network_of(row):
    """The seeded network, running statistics not what they begin with, so that folding them has to be right."""
    import torch

    torch.manual_seed(0)
    network = layers()[ROWS[row][0]]()
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
            layer.weight.data.uniform_(0.5, 1.5)
            layer.bias.data.normal_(0, 0.1)
    return network


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measured(run, seconds, kept, agreed=lambda runs: runs):
    """The first results, seconds of each run, the first apart, and processor seconds of one; `agreed` says how many."""
    results, times, start = [], [], time.perf_counter()
    before = start

    def one():
        nonlocal before
        result = run()
        now = time.perf_counter()
        times.append(now - before)
        if len(results) < kept:
            results.append(result)
        before = now

    for _ in range(kept + 2):
        one()
    runs = int(agreed(max(1.0, (seconds - (before - start)) / times[-1])))
    busy, before = time.process_time(), time.perf_counter()
    for _ in range(runs):
        one()
    return results, times[0], times[1:], (time.process_time() - busy) / runs


def tell(first, times, busy, before):
    print(first, min(times) * 1e3, sorted(times)[len(times) // 2] * 1e3, peak() - before, peak(), busy * 1e3)


def training_step(row, forward, parameters, x, t):
    import torch

    rules = {"mnist_step": lambda p: torch.optim.Adagrad(p, 0.005),
             "resnet18_step": lambda p: torch.optim.SGD(p, 0.01, 0.9)}
    rule = rules.get(row, lambda p: torch.optim.Adam(p, 0.001))(parameters)

    def step():
        rule.zero_grad()
        scores = forward(x)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, -2), t.flatten())
        loss.backward()
        rule.step()
        return loss.item()

    return step


def run_torch(system, row, folder, seconds, threads):
    import torch

    torch.set_num_threads(threads)
    if system != "torch":
        torch.backends.mha.set_fastpath_enabled(False)
    inputs = {name: torch.from_numpy(value) for name, value in numpy.load(f"{folder}/{row}.inputs.npz").items()}
    x = inputs["x"]
    if x.dim() == 4:
        x = x.permute(0, 3, 1, 2)  # channels-last memory, channels-first axes
        if system == "torch":
            x = x.contiguous()
    before = peak()
    network = network_of(row)
    if system != "torch":
        network = network.to(memory_format=torch.channels_last)
    forward = torch.compile(network) if system == "compiled" else network
    if "t" in inputs:
        network.train()
        step = training_step(row, forward, network.parameters(), x, inputs["t"])
        results, *timing = measured(step, seconds, COMPARED_STEPS)
        result = numpy.array(results, numpy.float32)
    else:
        network.eval()
        with torch.inference_mode():
            if row == "gpt_decoding":

                def decode():
                    caches = [[torch.zeros(1, HEADS, LENGTH, FEATURES // HEADS) for _ in range(2)]
                              for _ in network.blocks]
                    return torch.cat([network.next(x[i:i + 1], i, caches) for i in range(LENGTH)])

                results, *timing = measured(decode, seconds, 1)
            else:
                results, *timing = measured(lambda: forward(x), seconds, 1)
        result = results[0].numpy()
    numpy.save(f"{folder}/{row}.{system}.npy", result)
    tell(*timing, before)


def run_onnx(row, folder, seconds, threads):
    import onnxruntime

    x = numpy.load(f"{folder}/{row}.inputs.npz")["x"]
    if x.ndim == 4:
        x = numpy.ascontiguousarray(x.transpose(0, 3, 1, 2))
    before = peak()
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(f"{folder}/{row}.onnx", options, providers=["CPUExecutionProvider"])
    made = time.perf_counter() - start
    name = session.get_inputs()[0].name
    results, first, *timing = measured(lambda: session.run(None, {name: x})[0], seconds, 1)
    numpy.save(f"{folder}/{row}.onnx.npy", results[0])
    tell(made + first, *timing, before)


def run_openvino(row, folder, seconds, threads):
    import openvino

    x = numpy.load(f"{folder}/{row}.inputs.npz")["x"]
    if x.ndim == 4:
        x = numpy.ascontiguousarray(x.transpose(0, 3, 1, 2))
    before = peak()
    start = time.perf_counter()
    core = openvino.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(f"{folder}/{row}.onnx", "CPU", hints).create_infer_request()
    made = time.perf_counter() - start
    results, first, *timing = measured(lambda: request.infer([x], share_inputs=True)[0], seconds, 1)
    numpy.save(f"{folder}/{row}.openvino.npy", results[0])
    tell(made + first, *timing, before)


def run_jax(row, folder, seconds, threads):
    """Decoding: one compiled function a place, caches as donated arguments."""
    import jax
    from jax import numpy as jnp

    symbols = numpy.load(f"{folder}/{row}.inputs.npz")["x"]
    before = peak()
    weights = {name: jnp.asarray(value) for name, value in numpy.load(f"{folder}/{row}.weights.npz").items()}

    def linear(w, name, x):
        return x @ w[name + "weight"].T + w[name + "bias"]

    def norm(w, name, x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w[name + "weight"] + w[
            name + "bias"]

    def step(w, symbol, place, caches):
        x = w["symbols.weight"][symbol] + w["places.weight"][place]
        seen, after = jnp.arange(LENGTH) <= place, []
        for i, (keys, values) in enumerate(caches):
            block = f"blocks.{i}."
            query, key, value = linear(w, block + "self_attn.in_proj_", norm(w, block + "norm1.", x)).reshape(
                3, HEADS, FEATURES // HEADS)
            keys, values = keys.at[:, place].set(key), values.at[:, place].set(value)
            after.append((keys, values))
            scores = jnp.einsum("hf,hlf->hl", query, keys) / (FEATURES // HEADS)**0.5
            shares = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
            x = x + linear(w, block + "self_attn.out_proj.", jnp.einsum("hl,hlf->hf", shares, values).reshape(-1))
            inside = jax.nn.gelu(linear(w, block + "linear1.", norm(w, block + "norm2.", x)), approximate=False)
            x = x + linear(w, block + "linear2.", inside)
        return linear(w, "head.", norm(w, "norm.", x)), after

    compiled = jax.jit(step, donate_argnums=3)

    def decode():
        caches = [tuple(jnp.zeros((HEADS, LENGTH, FEATURES // HEADS)) for _ in range(2)) for _ in range(BLOCKS)]
        scores = []
        for place in range(LENGTH):
            score, caches = compiled(weights, symbols[place], place, caches)
            scores.append(score)
        return numpy.stack(scores)

    results, *timing = measured(decode, seconds, 1)
    numpy.save(f"{folder}/{row}.jax.npy", results[0])
    tell(*timing, before)


def prepare(row, folder):
    """Weights, inputs and, of an inference, an ONNX file; in a process of its own, whose memory counts for nobody."""
    import torch

    inputs = ROWS[row][1]()
    numpy.savez(f"{folder}/{row}.inputs.npz", **inputs)
    network = network_of(row).eval()
    numpy.savez(f"{folder}/{row}.weights.npz", **{name: value.numpy() for name, value in network.state_dict().items()})
    if "t" in inputs or row == "gpt_decoding":
        return
    x = torch.from_numpy(inputs["x"])
    torch.backends.mha.set_fastpath_enabled(False)
    torch.onnx.export(network, (x.permute(0, 3, 1, 2).contiguous() if x.dim() == 4 else x,), f"{folder}/{row}.onnx",
                      dynamo=True)


def is_exported(row, folder):
    return os.path.exists(f"{folder}/{row}.onnx")


# The rows that each peer runs.
PEERS = {
    "torch": lambda row, folder: True,
    "channels_last": lambda row, folder: ROWS[row][0] in ("resnet50", "mobilenet_v2", "mnist_step",
                                                               "resnet18_step"),
    "compiled": lambda row, folder: True,
    "onnx": is_exported,
    "openvino": is_exported,
    "jax": lambda row, folder: row == "gpt_decoding",
}


def call(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TYTO_THREADS=str(threads))
    if threads == "1":
        environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["failed"]
    return [float(word) for word in done.stdout.split()[-6:]], None


def compare(row, systems, folder):
    """The largest difference of Tyto's results from the first peer's, over the largest of these."""
    want = numpy.load(f"{folder}/{row}.{systems[0]}.npy").astype(numpy.float64)
    got = numpy.load(f"{folder}/{row}.tyto.npy").reshape(want.shape)
    return numpy.abs(got - want).max() / numpy.abs(want).max()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--threads", default="1,2")
    arguments.add_argument("--seconds", type=float, default=6)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--folder")
    arguments.add_argument("--peers", default="torch,channels_last,compiled,onnx,openvino,jax")
    given = arguments.parse_args()
    this = [sys.executable, os.path.abspath(__file__)]
    print("| network | threads | tyto ms | peers ms | time ratio | tyto MiB | others MiB | memory ratio | "
          "first result ratio | difference |\n|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        os.makedirs(folder, exist_ok=True)
        wanted = given.only.split(",")
        for row in (row for row in ROWS if any(text == row or text in row and text not in ROWS for text in wanted)):
            if not os.path.exists(f"{folder}/{row}.weights.npz"):
                subprocess.run([*this, "--prepare", row, folder], check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
            for threads in given.threads.split(","):
                commands = {"tyto": [given.program, row, folder, str(given.seconds)]}
                for peer in given.peers.split(","):
                    if PEERS[peer](row, folder):
                        commands[peer] = [*this, "--child", peer, row, folder, str(given.seconds), threads]
                figures = {}
                for _ in range(given.rounds):
                    for system, command in list(commands.items()):
                        figure, fault = call(command, threads)
                        if figure is None:
                            print(f"{row}: {system} is left out: {fault[0]}", file=sys.stderr)
                            del commands[system]
                        else:
                            figures.setdefault(system, []).append(figure)
                # Times at their best, memory and first results as the median round has them.
                ours = figures.pop("tyto")

                def best(rounds):
                    return min(figure[1] for figure in rounds)

                def median(rounds, column):
                    return sorted(figure[column] for figure in rounds)[len(rounds) // 2]

                fastest = min(figures, key=lambda system: best(figures[system]))
                memory = min(median(rounds, 3) for rounds in figures.values())
                first = min(median(rounds, 0) for rounds in figures.values())
                others = ", ".join(f"{system} {best(rounds):.2f}" for system, rounds in figures.items())
                sizes = ", ".join(f"{system} {median(rounds, 3) / 2**20:.0f}" for system, rounds in figures.items())
                print(f"| {row} | {threads} | {best(ours):.2f} | {others} | {best(ours) / best(figures[fastest]):.2f} | "
                      f"{median(ours, 3) / 2**20:.0f} | {sizes} | {median(ours, 3) / memory:.2f} | "
                      f"{median(ours, 0) / first:.2f} | "
                      f"{compare(row, list(figures), folder):.1e} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        prepare(*sys.argv[2:])
    elif sys.argv[1:2] == ["--child"]:
        system, row, folder, seconds, threads = sys.argv[2:]
        others = {"onnx": run_onnx, "openvino": run_openvino, "jax": run_jax}
        if system in others:
            others[system](row, folder, float(seconds), int(threads))
        else:
            run_torch(system, row, folder, float(seconds), int(threads))
    else:
        main()
