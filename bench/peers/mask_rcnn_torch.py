# SPDX-License-Identifier: MIT
"""examples/mask_rcnn in full size and its twin in PyTorch: the same weights and picture; what both find, time, memory.

mask_rcnn_torch.py BIN [--runs 3] [--threads 1] [--seed 42]

BIN holds the program mask_rcnn, which draws weights and picture and runs in both modes; the twin takes them from there.
Each system runs in a process of its own. Prints a line a system: processor seconds of a run after the first, the
largest size of its process, and how far what it finds is from the twin in f64. Needs numpy and torch; suppression and
regions, which PyTorch has no operators for, are written in tensors."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy

BLOCKS, WIDTHS, CHANNELS, SIDE = (3, 4, 23, 3), (64, 128, 256, 512), 256, 768
CANDIDATES, PROPOSALS, DETECTIONS, CLASSES = 6000, 1000, 100, 81
MOST_GROWTH = 4.135166556742356


def network():
    import torch
    from torch import nn
    from torch.nn.functional import avg_pool2d, grid_sample, interpolate, relu

    def convolution(into, out, window, stride=1, bias=False):
        return nn.Conv2d(into, out, window, stride, window // 2, bias=bias)

    class Residual(nn.Module):
        def __init__(self, into, width, stride):
            super().__init__()
            out = 4 * width
            self.body = nn.Sequential(convolution(into, width, 1), nn.BatchNorm2d(width), nn.ReLU(),
                                      convolution(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(),
                                      convolution(width, out, 1), nn.BatchNorm2d(out))
            self.shortcut = nn.Identity() if into == out else nn.Sequential(convolution(into, out, 1, stride),
                                                                            nn.BatchNorm2d(out))

        def forward(self, x):
            return self.body(x) + self.shortcut(x)

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner_blocks = nn.ModuleList(convolution(4 * width, CHANNELS, 1, bias=True) for width in WIDTHS)
            self.layer_blocks = nn.ModuleList(convolution(CHANNELS, CHANNELS, 3, bias=True) for _ in WIDTHS)

        def forward(self, maps):
            levels, above = [], None
            for x, inner, layer in reversed(list(zip(maps, self.inner_blocks, self.layer_blocks))):
                x = inner(x)
                above = x if above is None else x + interpolate(above, scale_factor=2)
                levels.insert(0, layer(above))
            return levels + [levels[-1][:, :, ::2, ::2]]

    def anchors(dtype):
        boxes = []
        for stride, size in zip((4, 8, 16, 32, 64), (32, 64, 128, 256, 512)):
            at = (torch.arange(SIDE // stride, dtype=torch.float64) + 0.5) * stride
            ratio = torch.tensor([0.5, 1, 2], dtype=torch.float64)
            y, x, ratio = torch.meshgrid(at, at, ratio.sqrt(), indexing="ij")
            width, height = size / ratio / 2, size * ratio / 2
            boxes.append(torch.stack([x - width, y - height, x + width, y + height], -1).reshape(-1, 4))
        return torch.cat(boxes).to(dtype)

    def decoded(offsets, boxes, weights):
        length = boxes[:, 2:] - boxes[:, :2]
        middle = offsets[:, :2] / weights[0] * length + boxes[:, :2] + length / 2
        half = (offsets[:, 2:] / weights[1]).clamp(max=MOST_GROWTH).exp() * length / 2
        return torch.cat([middle - half, middle + half], 1).clamp(0, SIDE)

    def nms(boxes, scores, overlap, most):
        """`boxes` of falling scores: the numbers of those that are kept."""
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        left, kept = torch.arange(len(boxes)), []
        while len(left) > 0 and len(kept) < most:
            kept.append(left[0])
            own, other = boxes[left[0]], boxes[left]
            both = ((torch.minimum(own[2:], other[:, 2:]) - torch.maximum(own[:2], other[:, :2])).clamp(min=0)).prod(1)
            left = left[1:][(both <= overlap * (area[left[0]] + area[left] - both))[1:]]
        return torch.stack(kept)

    def roi_align(x, boxes, size, scale):
        height, width = x.shape[2:]
        parts = []
        for some in (boxes * scale - 0.5).split(128):
            at = (torch.arange(2 * size, dtype=x.dtype) + 0.5) / (2 * size)
            across = some[:, None, 0] + at * (some[:, None, 2] - some[:, None, 0])
            down = some[:, None, 1] + at * (some[:, None, 3] - some[:, None, 1])
            across, down = (2 * across + 1) / width - 1, (2 * down + 1) / height - 1
            grid = torch.stack(torch.broadcast_tensors(across[:, None, :], down[:, :, None]), -1)
            samples = grid_sample(x, grid.reshape(1, -1, 2 * size, 2), padding_mode="border", align_corners=False)
            parts.append(avg_pool2d(samples, 2)[0].reshape(CHANNELS, len(some), size, size).transpose(0, 1))
        return torch.cat(parts)

    class MaskRcnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
            self.stages = nn.ModuleList()
            into = 64
            for stage, (width, blocks) in enumerate(zip(WIDTHS, BLOCKS)):
                parts = []
                for block in range(blocks):
                    parts.append(nn.Sequential(Residual(into, width, 2 if stage > 0 and block == 0 else 1), nn.ReLU()))
                    into = 4 * width
                self.stages.append(nn.Sequential(*parts))
            self.pyramid = Pyramid()
            self.proposal = convolution(CHANNELS, CHANNELS, 3, bias=True)
            self.proposal_score = convolution(CHANNELS, 3, 1, bias=True)
            self.proposal_offsets = convolution(CHANNELS, 12, 1, bias=True)
            self.hidden1, self.hidden2 = nn.Linear(49 * CHANNELS, 1024), nn.Linear(1024, 1024)
            self.add_module("class", nn.Linear(1024, CLASSES))
            self.offsets = nn.Linear(1024, 4 * CLASSES)
            masks = []
            for _ in range(4):
                masks += [convolution(CHANNELS, CHANNELS, 3, bias=True), nn.ReLU()]
            self.mask_layers = nn.Sequential(*masks, nn.ConvTranspose2d(CHANNELS, CHANNELS, 2, 2), nn.ReLU())
            self.mask = convolution(CHANNELS, CLASSES, 1, bias=True)

        def regions(self, levels, boxes, size):
            side = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).clamp(min=1e-12).sqrt()
            level = (2 + 1e-6 + (side / 224).log2()).floor().clamp(0, 3)
            found = boxes.new_empty(len(boxes), CHANNELS, size, size)
            for i, x in enumerate(levels[:4]):
                own = (level == i).nonzero()[:, 0]
                if len(own) > 0:
                    found[own] = roi_align(x, boxes[own], size, 0.25 / 2**i)
            return found

        def forward(self, x):
            maps = []
            x = self.stem(x)
            for stage in self.stages:
                maps.append(x := stage(x))
            levels, scores, offsets = self.pyramid(maps), [], []
            for level in levels:
                hidden = relu(self.proposal(level))
                scores.append(self.proposal_score(hidden).permute(0, 2, 3, 1).reshape(-1))
                offsets.append(self.proposal_offsets(hidden).permute(0, 2, 3, 1).reshape(-1, 4))
            scores, best = torch.cat(scores).topk(CANDIDATES)
            boxes = decoded(torch.cat(offsets)[best], anchors(x.dtype)[best], (1, 1))
            boxes = boxes[nms(boxes, scores, 0.7, PROPOSALS)]
            boxes = boxes[boxes[:, 2] > boxes[:, 0]]  # the picture's edge leaves no more of some
            parts = self.regions(levels, boxes, 7).permute(0, 2, 3, 1).flatten(1)
            hidden = relu(self.hidden2(relu(self.hidden1(parts))))
            scores, labels = self.get_submodule("class")(hidden).softmax(-1)[:, 1:].max(-1)
            labels = labels + 1
            own = self.offsets(hidden).reshape(-1, CLASSES, 4)[torch.arange(len(labels)), labels]
            boxes = decoded(own, boxes, (10, 5))
            scores, best = scores.sort(descending=True, stable=True)
            boxes, labels = boxes[best], labels[best]
            kept = nms(boxes + labels[:, None] * (2 * SIDE), scores, 0.3, DETECTIONS)
            boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
            masks = self.mask(self.mask_layers(self.regions(levels, boxes, 14)))
            return boxes, scores, labels, masks[torch.arange(len(labels)), labels].sigmoid()

    return MaskRcnn().eval()


def run_twin(arrays, found, runs, dtype="f32"):
    import torch

    dtype = torch.float64 if dtype == "f64" else torch.float32
    given = numpy.load(arrays)
    model = network().to(dtype).to(memory_format=torch.channels_last)
    axes = {4: (3, 2, 0, 1), 2: (1, 0)}
    for name, state in model.state_dict().items():
        value = given[name]
        state.copy_(torch.from_numpy(value.transpose(axes.get(value.ndim, range(value.ndim))).copy()))
    x = torch.from_numpy(given["picture"]).to(dtype).permute(0, 3, 1, 2)
    with torch.inference_mode():
        for _ in range(int(runs)):
            results = [each.numpy() for each in model(x)]
    numpy.savez(found, **dict(zip(("boxes", "scores", "labels", "masks"), results)))


def call(command, threads):
    """Processor seconds of the process, and its largest size in MiB."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TYTO_THREADS=str(threads))
    process = subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def distance(found, truth):
    """How many detections have a box and label of the truth's, and how far their scores and masks are off."""
    found, truth = (numpy.load(each) for each in (found, truth))
    boxes, scores, masks = (found[name].reshape(truth[name].shape) for name in ("boxes", "scores", "masks"))
    near = numpy.abs(boxes[:, None] - truth["boxes"]).max(-1)
    near[found["labels"].reshape(-1)[:, None] != truth["labels"]] = numpy.inf
    same = near.argmin(1)
    own = near.min(1) < 0.1  # pixels
    return own.sum(), *(numpy.abs(each - truth[name][same])[own].max() for name, each in
                        (("scores", scores), ("masks", masks)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bin")
    for name, value in {"runs": 3, "threads": 1, "seed": 42}.items():
        arguments.add_argument("--" + name, type=int, default=value)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        own = [f"{given.bin}/mask_rcnn", "--size", "full", "--seed", given.seed]
        twin = [sys.executable, __file__, "twin", f"{folder}/lazy.npz"]
        systems = {}
        for mode in ("lazy", "eager"):
            call([*own, "--mode", mode, "--runs", 1, "--arrays", f"{folder}/{mode}.npz"], given.threads)
            systems[f"tyto, {mode}"] = [*own, "--mode", mode, "--runs"], f"{folder}/{mode}.npz"
        call([*twin, f"{folder}/exact.npz", 1, "f64"], given.threads)
        systems["PyTorch"] = [*twin, f"{folder}/twin.npz"], f"{folder}/twin.npz"
        print("| system | s | process MiB | detections as in f64 | scores off | masks off |\n|---|---|---|---|---|---|")
        for name, (command, found) in systems.items():
            first, _ = call([*command, 1], given.threads)
            all_runs, size = call([*command, 1 + given.runs], given.threads)
            seconds = (all_runs - first) / given.runs
            same, scores, masks = distance(found, f"{folder}/exact.npz")
            print(f"| {name} | {seconds:.2f} | {size:.0f} | {same} of {DETECTIONS} | {scores:.1e} | {masks:.1e} |",
                  flush=True)


if sys.argv[1:2] == ["twin"]:
    run_twin(*sys.argv[2:])
else:
    main()
