"""A transformer's block with attention by hyperbolic distance: Gulcehre et al. 2019, section 3."""

import geoopt
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.ball, self.heads = geoopt.PoincareBall(c=1.0), heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def attend(self, x):
        batch, n, width = x.shape
        split = lambda y: y.view(batch, n, self.heads, -1).transpose(1, 2)
        q, k = (self.ball.expmap0(split(f(x))) for f in (self.query, self.key))
        weights = torch.softmax(-self.ball.dist(q.unsqueeze(-2), k.unsqueeze(-3)), -1)
        heads = weights @ split(self.value(x))
        return self.output(heads.transpose(1, 2).reshape(batch, n, width))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        return x + self.feed_forward(self.norms[1](x))
