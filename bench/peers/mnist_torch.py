# SPDX-License-Identifier: MIT
"""One side of peers_bench: the network of examples/mnist in PyTorch.

usage: mnist_torch.py DATA eager|compiled SECONDS [WARM-UP STEPS]

DATA holds images.npy (u8, n x 28 x 28 x 1) and labels.npy (i64). Prints one line that peers_bench reads: steps a
second, seconds of processor time a step, growth of the process's peak memory in bytes, planned bytes (0), first and
last loss.
"""

import resource
import sys
import time

import numpy
import torch

BATCH = 100


def network():
    from torch import nn

    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten(),
        nn.Linear(14 * 14 * 32, 1024), nn.ReLU(), nn.Linear(1024, 10))
    for layer in model:
        if hasattr(layer, "weight"):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return model


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def train(images, labels, compiled, seconds, warm_up):
    before = peak()
    model = network()
    descent = torch.optim.Adagrad(model.parameters(), lr=0.005)
    loss_of = torch.nn.functional.cross_entropy

    def forward(x, t):
        return loss_of(model(x.float() / 256), t)

    if compiled:
        forward = torch.compile(forward)
    batches = len(images) // BATCH

    def step(i):
        rows = slice(i % batches * BATCH, (i % batches + 1) * BATCH)
        descent.zero_grad()
        loss = forward(images[rows], labels[rows])
        loss.backward()
        descent.step()
        return loss.item()

    first = step(0)
    for i in range(1, warm_up):
        step(i)
    start, busy = time.perf_counter(), processor_seconds()
    done = 0
    while time.perf_counter() - start < seconds:
        last = step(warm_up + done)
        done += 1
    rate = done / (time.perf_counter() - start)
    print(rate, (processor_seconds() - busy) / done, peak() - before, 0, first, last)


def main():
    folder, mode, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    warm_up = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    torch.manual_seed(42)
    images = torch.from_numpy(numpy.load(folder + "/images.npy")).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(numpy.load(folder + "/labels.npy"))
    train(images, labels, mode == "compiled", seconds, warm_up)


main()
