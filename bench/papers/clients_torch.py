# SPDX-License-Identifier: MIT
"""clients_torch.py SECONDS NETWORK N...: milliseconds per run in PyTorch, of the processor and of the wall, with N
threads that run one frozen model; papers.py runs it under jemalloc."""
import sys
import threading
import time

import torch
import torchvision


def model(name):
    if name == "dcgan":
        layers, channels = [], 100
        for out in (512, 256, 128, 64, 3):
            first = channels == 100
            layers.append(torch.nn.ConvTranspose2d(channels, out, 4, 1 if first else 2, 0 if first else 1, bias=False))
            layers += [torch.nn.Tanh()] if out == 3 else [torch.nn.BatchNorm2d(out), torch.nn.ReLU()]
            channels = out
        return torch.nn.Sequential(*layers), torch.rand(1, 100, 1, 1)
    options = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options |= {"aux_logits": False, "init_weights": False}
    if "_resnet50" in name and not name.startswith("wide"):
        options |= {"weights_backbone": None}
    return torchvision.models.get_model(name, **options), torch.rand(1, 3, 128, 128)


def measure(run, clients, seconds):
    start, stop, runs = threading.Barrier(clients + 1), threading.Event(), [0] * clients

    def work(number):
        start.wait()
        while True:
            run()
            runs[number] += 1
            if stop.is_set():
                return

    team = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for each in team:
        each.start()
    before, began = time.process_time(), time.perf_counter()
    start.wait()
    time.sleep(seconds)
    stop.set()
    for each in team:
        each.join()
    return [1e3 * each / sum(runs) for each in (time.process_time() - before, time.perf_counter() - began)]


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    network, picture = model(sys.argv[2])
    traced = torch.jit.freeze(torch.jit.trace(network.eval(), picture, strict=False))
    for _ in range(10):
        traced(picture)
    for clients in map(int, sys.argv[3:]):
        spent, wall = measure(lambda: traced(picture), clients, float(sys.argv[1]))
        print(f"{sys.argv[2]}\t{clients}\t{spent:.4f}\t{wall:.4f}", flush=True)


if __name__ == "__main__":
    main()
