"""A classifier of sequences by a hyperbolic GRU: Ganea et al. 2018, sections 3.1 and 3.3."""

import geoopt
import torch
from torch import nn

from hyperbolic_mlr import LogisticRegression


class GRU(nn.Module):
    def __init__(self, ball, u, w, b):
        super().__init__()
        self.ball = ball
        self.u = nn.Parameter(u)
        self.w = nn.Parameter(w)
        self.b = geoopt.ManifoldParameter(b, manifold=ball)

    def gate(self, k, h, x):
        wh = self.ball.mobius_matvec(self.w[k], h)
        ux = self.ball.mobius_matvec(self.u[k], x)
        return self.ball.logmap0(self.ball.mobius_add(self.ball.mobius_add(wh, ux), self.b[k]))

    def forward(self, x):
        h = torch.zeros(x.shape[1], self.w.shape[1], dtype=x.dtype)
        for x_t in x:
            r = torch.sigmoid(self.gate(0, h, x_t))
            z = torch.sigmoid(self.gate(1, h, x_t))
            candidate = torch.tanh(self.gate(2, self.ball.mobius_pointwise_mul(r, h), x_t))
            step = self.ball.mobius_add(-h, self.ball.expmap0(candidate))
            h = self.ball.mobius_add(h, self.ball.mobius_pointwise_mul(z, step))
        return h


class Classifier(nn.Module):
    def __init__(self, u, w, b, points, normals):
        super().__init__()
        self.gru = GRU(geoopt.PoincareBall(c=1.0), u, w, b)
        self.classes = LogisticRegression(points, normals)

    def loss(self, x, labels):
        """The loss of sequences of points of the ball, [length, batch, n]."""
        return nn.functional.cross_entropy(self.classes(self.gru(x)), labels)
