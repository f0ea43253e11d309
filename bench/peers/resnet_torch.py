# SPDX-License-Identifier: MIT
"""examples/resnet and its twin in PyTorch: the same first weights, batches, rule and schedule; accuracy after each epoch.

resnet_torch.py BIN DATA [--depth 20] [--width 16] [--epochs 10] [--batch 128] [--seed 42] [--rate 0.8]
                [--smoothing 0.1] [--padding 2] [--threads 1] [--steps 0] [--device cpu] [--twin-device cpu]

BIN holds the programs resnet and resnet_batches, DATA is a folder of CIFAR-10. The weights are those that the example
draws (a checkpoint after no step); the batches are read from resnet_batches. Both trainings run at once. Prints a line
an epoch: the mean loss and the share of the test pictures that are named right, Tyto's and the twin's. Tyto computes on
--device, such as opencl, the twin on --twin-device, such as cuda.

With --steps N the first N steps alone are taken, one by one, beside twins in f32 and in f64: a line a step with the loss
of each, and at the end how far the states of Tyto and of the twin in f32 are from those in f64."""
import argparse
import copy
import csv
import glob
import gzip
import os
import re
import subprocess
import tempfile

import numpy
import torch

from models_peers import layers

DECAY = 5e-4  # as examples/resnet has it
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def test_set(folder):
    data = b"".join((gzip.open if path.endswith(".gz") else open)(path, "rb").read()
                    for path in sorted(glob.glob(f"{folder}/test_batch*")))
    records = numpy.frombuffer(data, numpy.uint8).reshape(-1, 3073)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) / 255)
    return (images - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(DEVIATION).view(3, 1, 1), torch.from_numpy(
        records[:, 0].astype(numpy.int64))


def load(model, checkpoint):
    """A checkpoint's weights in PyTorch's layouts: OIHW and (out, in)."""
    axes = {4: (3, 2, 0, 1), 2: (1, 0)}
    states = {name: checkpoint["model/" + name] for name in model.state_dict()}
    model.load_state_dict({name: torch.from_numpy(value.transpose(axes.get(value.ndim, range(value.ndim))).copy())
                           for name, value in states.items()})


def next_batch(batches, given):
    x = numpy.frombuffer(batches.read(given.batch * 32 * 32 * 3 * 4), numpy.float32)
    t = numpy.frombuffer(batches.read(given.batch), numpy.uint8).astype(numpy.int64)
    return (torch.from_numpy(x.reshape(-1, 32, 32, 3).copy()).permute(0, 3, 1, 2).to(given.twin_device),
            torch.from_numpy(t).to(given.twin_device))


def step_of(model, given):
    rule = torch.optim.SGD(model.parameters(), given.rate, momentum=0.9, nesterov=True, weight_decay=DECAY)
    steps = given.epochs * (given.samples // given.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(rule, given.rate, steps, cycle_momentum=False)

    def step(x, t):
        rule.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), t, label_smoothing=given.smoothing)
        loss.backward()
        rule.step()
        schedule.step()
        return loss.item()

    return step


def compare_steps(resnet, batches, model, folder, given, quiet):
    """The example is called for a step at a time and goes on from its checkpoint, which holds all that a step depends on."""
    twins = [model.train(), copy.deepcopy(model).double().train()]
    steps = [step_of(twin, given) for twin in twins]
    print("| step | tyto | PyTorch | PyTorch, f64 | tyto from f64 | PyTorch from f64 |\n|---|---|---|---|---|---|")
    for number in range(1, given.steps + 1):
        said = subprocess.run([*resnet, "--steps", "1", "--checkpoint", f"{folder}/start.npz"], check=True,
                              env=quiet["env"], stdout=subprocess.PIPE, text=True).stdout
        x, t = next_batch(batches, given)
        narrow, exact = steps[0](x, t), steps[1](x.double(), t)
        own = float(re.search(r"last loss ([0-9.]+)", said)[1])
        print(f"| {number} | {own:.6f} | {narrow:.6f} | {exact:.6f} | {abs(own - exact) / exact:.1e} | "
              f"{abs(narrow - exact) / exact:.1e} |", flush=True)
    ours = copy.deepcopy(model)
    load(ours, numpy.load(f"{folder}/start.npz"))
    states = [torch.cat([value.double().flatten() for value in each.state_dict().values()
                         if value.is_floating_point()]) for each in (ours, *twins)]
    norm = states[2].norm()
    print(f"states after {given.steps} steps: tyto {(states[0] - states[2]).norm() / norm:.1e} from f64, "
          f"PyTorch {(states[1] - states[2]).norm() / norm:.1e}")


def train_twin(model, batches, given):
    images, labels = (each.to(given.twin_device) for each in test_set(given.data))
    per_epoch = given.samples // given.batch
    step = step_of(model, given)
    for _ in range(given.epochs):
        model.train()
        losses = sum(step(*next_batch(batches, given)) for _ in range(per_epoch)) / per_epoch
        model.eval()
        with torch.inference_mode():
            right = sum(int((model(part).argmax(1) == truth).sum())
                        for part, truth in zip(images.split(250), labels.split(250)))
        yield losses, right / len(labels)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bin")
    arguments.add_argument("data")
    for name, value in {"depth": 20, "width": 16, "epochs": 10, "batch": 128, "seed": 42, "padding": 2, "threads": 1,
                        "steps": 0}.items():
        arguments.add_argument("--" + name, type=int, default=value)
    for name, value in {"rate": 0.8, "smoothing": 0.1}.items():
        arguments.add_argument("--" + name, type=float, default=value)
    for name in ("--device", "--twin-device"):
        arguments.add_argument(name, default="cpu")
    given = arguments.parse_args()
    given.samples = sum(len((gzip.open if path.endswith(".gz") else open)(path, "rb").read()) // 3073
                        for path in glob.glob(f"{given.data}/data_batch*"))
    torch.set_num_threads(given.threads)
    torch.backends.cudnn.allow_tf32 = False
    environment = dict(os.environ, OMP_NUM_THREADS=str(given.threads), TYTO_THREADS=str(given.threads))
    with tempfile.TemporaryDirectory() as folder:
        resnet = [f"{given.bin}/resnet", "--data", given.data, "--decay", DECAY]
        for name in ("depth", "width", "epochs", "batch", "seed", "rate", "smoothing", "padding", "device"):
            resnet += ["--" + name, getattr(given, name)]
        resnet = [str(word) for word in resnet]
        quiet = {"env": environment, "stdout": subprocess.DEVNULL}
        subprocess.run([*resnet, "--steps", "0", "--checkpoint", f"{folder}/start.npz"], check=True, **quiet)
        model = layers()["resnet18_step"](given.depth, given.width).to(memory_format=torch.channels_last)
        load(model, numpy.load(f"{folder}/start.npz"))
        model = model.to(given.twin_device)
        words = [f"{given.bin}/resnet_batches", given.data, given.batch, given.epochs, given.seed, given.padding]
        batches = subprocess.Popen([str(word) for word in words], env=environment, stdout=subprocess.PIPE)
        if given.steps > 0:
            compare_steps(resnet, batches.stdout, model, folder, given, quiet)
            batches.kill()
            return
        ours = subprocess.Popen([*resnet, "--csv", f"{folder}/ours.csv"], **quiet)
        twin = []
        for loss, share in train_twin(model, batches.stdout, given):
            twin.append((loss, share))
            print(f"twin, epoch {len(twin)}: loss {loss:.4f}, {share:.1%} right", flush=True)
        if ours.wait() != 0:
            raise SystemExit("resnet failed")
        with open(f"{folder}/ours.csv") as file:
            rows = list(csv.DictReader(file))
    print("| epoch | loss | twin's loss | right | twin's | difference |\n|---|---|---|---|---|---|")
    for row, (loss, share) in zip(rows, twin):
        own = float(row["test accuracy"])
        print(f"| {row['epoch']} | {float(row['loss']):.4f} | {loss:.4f} | {own:.1%} | {share:.1%} | {own - share:+.1%} |")


main()
