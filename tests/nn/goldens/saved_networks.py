# SPDX-License-Identifier: MIT
"""Small networks as torch.save keeps them: state_dicts, and a checkpoint of a training with what the network gives."""

import torch
from torch import nn


def network():
    return make().state_dict()


def rows():
    """The network that the rows of docs/pytorch.md use."""
    torch.manual_seed(6)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).float().state_dict()


def run():
    model, x = make(), given()
    optimiser = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimiser.step()
    model.eval()
    return {"epoch": 3, "net": {f"module.{name}": value for name, value in model.state_dict().items()},
            "optimiser": optimiser.state_dict(), "x": x.permute(0, 2, 3, 1).contiguous(), "y": model(x).detach()}


def make():
    """Seeded; running statistics are not what they begin with, and no window is as high as it is wide."""
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(2, 3, (2, 1)), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2, bias=False)).float()
    model(given())
    return model


def given():
    return torch.linspace(-1, 2, 24, dtype=torch.float32).reshape(6, 2, 2, 1).sin()
