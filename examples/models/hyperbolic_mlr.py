"""Hyperbolic multinomial logistic regression: Ganea et al. 2018, section 3.1."""

import geoopt
from torch import nn


class LogisticRegression(nn.Module):
    def __init__(self, points, normals):
        super().__init__()
        self.ball = geoopt.PoincareBall(c=1.0)
        self.points = geoopt.ManifoldParameter(points, manifold=self.ball)
        self.normals = nn.Parameter(normals)

    def forward(self, x):
        normals = self.ball.transp0(self.points, self.normals)
        distance = self.ball.dist2plane(x.unsqueeze(1), self.points, normals, signed=True, scaled=True)
        return self.ball.lambda_x(self.points) * distance

    def loss(self, features, labels):
        """The loss of features [rows, n], which are taken as tangent vectors at the origin."""
        return nn.functional.cross_entropy(self.forward(self.ball.expmap0(features)), labels)
