"""Poincaré embeddings: Nickel & Kiela 2017, eq. 6."""

import geoopt
import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.ball = geoopt.PoincareBall(c=1.0)
        self.points = geoopt.ManifoldParameter(start, manifold=self.ball)

    def loss(self, heads, candidates):
        """The mean ranking loss of heads; candidates has for each its neighbour, then negatives."""
        u = self.points[heads].unsqueeze(1)
        v = self.points[candidates].view(len(heads), -1, self.points.shape[1])
        first = torch.zeros(len(heads), dtype=torch.long)
        return nn.functional.cross_entropy(-self.ball.dist(u, v), first)
