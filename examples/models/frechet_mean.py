"""The Fréchet mean of points whose curvature is learned with it."""

import geoopt
from torch import nn


class Mean(nn.Module):
    def __init__(self, kappa, mean):
        super().__init__()
        self.space = geoopt.Stereographic(k=kappa, learnable=True)
        self.mean = nn.Parameter(mean)

    def loss(self, v):
        """The mean squared distance of points, given as tangent vectors at the origin, [n, dim]."""
        x, mean = self.space.expmap0(v), self.space.expmap0(self.mean)
        return self.space.dist(mean, x).pow(2).mean()
