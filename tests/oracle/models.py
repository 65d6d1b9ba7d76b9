"""The worker's models in Python: same layers, same registration order."""

import torch
from torch import nn


def mlp(*widths):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += ([nn.ReLU()] if i else []) + [nn.Linear(a, b)]
    return nn.Sequential(*layers)


class Block(nn.Module):
    """ResNet-18's block: two 3x3 convolutions and the shortcut (He et al. 2016)."""

    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        if stride != 1 or width_in != width:
            self.downsample = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


def resnet18(classes):
    def group(width_in, width, stride):
        return nn.Sequential(Block(width_in, width, stride), Block(width, width, 1))

    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         group(64, 64, 1), group(64, 128, 2), group(128, 256, 2), group(256, 512, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def load(model, values):
    parameters = list(model.parameters())
    assert [list(p.shape) for p in parameters] == [list(v.shape) for v in values]
    with torch.no_grad():
        for parameter, value in zip(parameters, values):
            parameter.copy_(value)
