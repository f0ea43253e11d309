"""Nanoseconds an element of fused_bench's chains in PyTorch, eager and compiled: torch_chains.py [THREADS]."""
import sys
import time

import torch


def best(function, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def adagrad(w, s, g):
    s.add_(g * g)
    w.sub_(0.005 * g / (s.sqrt() + 1e-8))


CHAINS = {
    "a b + c": (3, lambda a, b, c: a * b + c),
    "tanh(a x + b) c + exp(-x x)": (4, lambda a, b, c, x: torch.tanh(a * x + b) * c + torch.exp(-x * x)),
    "sum((x - y)^2)": (2, lambda x, y: ((x - y) ** 2).sum()),
    "Adagrad": (3, adagrad),
    "softmax, rows of 1000": (1, lambda x: torch.softmax(x.view(-1, 1000), 1)),
    "layer norm, rows of 1000": (
        3,
        lambda x, g, b: torch.nn.functional.layer_norm(x.view(-1, 1000), (1000,), g[:1000], b[:1000]),
    ),
}


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    torch.set_num_threads(threads)
    print(f"{'chain':28} {'elements':>9} {'threads':>7} {'eager':>9} {'compiled':>9}")
    for count in (10_000, 100_000, 1_000_000, 10_000_000, 50_000_000):
        for name, (operands, chain) in CHAINS.items():
            tensors = [torch.rand(count) + 0.01 for _ in range(operands)]
            rounds = max(5, min(300, 20_000_000 // count))
            with torch.no_grad():
                eager = best(lambda: chain(*tensors), rounds)
                try:
                    compiled_chain = torch.compile(chain)
                    compiled_chain(*tensors)
                    compiled = best(lambda: compiled_chain(*tensors), rounds)
                except Exception:  # no compiler that Inductor can use
                    compiled = float("nan")
            print(f"{name:28} {count:9} {threads:7} {eager * 1e9 / count:9.4f} {compiled * 1e9 / count:9.4f}", flush=True)


main()
