#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes checkpoint.pt and module.pt, as torch.save writes them. Needs PyTorch; the build never runs it."""
import collections
import os

import torch

folder = os.path.dirname(os.path.abspath(__file__))
base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
types = {
    "bool": torch.tensor([True, False, True]), "u8": torch.tensor([0, 1, 255], dtype=torch.uint8),
    "i8": torch.tensor([-128, 0, 127], dtype=torch.int8), "i16": torch.tensor([-32768, 0, 32767], dtype=torch.int16),
    "i32": torch.tensor([-2**31, 0, 2**31 - 1], dtype=torch.int32), "i64": torch.tensor([-2**63, 0, 2**63 - 1]),
    "f16": torch.tensor([-1.5, 0, 65504], dtype=torch.float16), "bf16": torch.tensor([-1.5, 0, 3], dtype=torch.bfloat16),
    "f32": torch.tensor([-1.5, 0, 3.25]), "f64": torch.tensor([-1.5, 0, 0.1], dtype=torch.float64)}
layer = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.BatchNorm2d(2))
with torch.no_grad():
    for parameter in layer.parameters():
        parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape))
optimiser = torch.optim.Adam(layer.parameters(), lr=0.25)
layer(torch.ones(1, 1, 3, 3)).sum().backward()
optimiser.step()
torch.save({"epoch": 7, "rate": 0.5, "note": "text", "none": None, "types": types, "views": [base.T, base[1:, 2], base[0, 0]],
            "model": layer.state_dict(), "parameter": torch.nn.Parameter(torch.ones(2)), "optimiser": optimiser.state_dict(),
            "empty": torch.zeros(0, 3), "ordered": collections.OrderedDict(a=torch.tensor(5))}, folder + "/checkpoint.pt")
torch.save(layer, folder + "/module.pt")
