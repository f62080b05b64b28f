"""Losses and first gradients of the five models in PyTorch with geoopt: writes reference.json beside this file.

python -m venv VENV && VENV/bin/pip install torch geoopt && VENV/bin/python examples/models/reference.py
"""

import json
import pathlib

import geoopt
import torch

import distance_attention
import frechet_mean
import hyperbolic_gru
import hyperbolic_mlr
import poincare_embedding

torch.set_default_dtype(torch.float64)


def wave(shape, k, scale=0.3):
    """The values from which both programs start: scale sin(1.7 i + k)."""
    count = torch.Size(shape).numel()
    return (scale * torch.sin(1.7 * torch.arange(count) + k)).view(shape)


def record(loss, *parameters):
    """The loss, and all parameters and their gradients, one after the other."""
    loss.backward()
    flat = lambda tensors: torch.cat([t.detach().flatten() for t in tensors]).tolist()
    return {"loss": loss.item(), "start": flat(parameters), "gradient": flat([p.grad for p in parameters])}


words = poincare_embedding.Words(wave([10, 3], 0))
heads, candidates = torch.tensor([0, 4, 7]), torch.tensor([1, 2, 3, 5, 6, 9, 8, 0, 2])
words_record = record(words.loss(heads, candidates), words.points)

mlr = hyperbolic_mlr.LogisticRegression(wave([3, 5], 1), wave([3, 5], 2))
mlr_record = record(mlr.loss(wave([6, 5], 3), torch.tensor([0, 1, 2, 2, 1, 0])), mlr.points, mlr.normals)

u, w, b = wave([12, 3], 4), wave([12, 4], 5), wave([3, 4], 6)
gru = hyperbolic_gru.Classifier(u.view(3, 4, 3), w.view(3, 4, 4), b, wave([2, 4], 7), wave([2, 4], 8))
gru_record = record(
    gru.loss(wave([5, 2, 3], 9), torch.tensor([0, 1])),
    gru.gru.u, gru.gru.w, gru.gru.b, gru.classes.points, gru.classes.normals,
)

block = distance_attention.Block(4, 2, 6)
layers = [block.query, block.key, block.value, block.output, block.feed_forward[0], block.feed_forward[2]]
parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
parameters += [p for norm in block.norms for p in (norm.weight, norm.bias)]
for k, parameter in enumerate(parameters):
    parameter.data = wave(parameter.shape, 10 + k)
y = block(wave([2, 5, 4], 9, 1.0))
block_record = record((y * wave(y.shape, 8, 1.0)).sum(), *parameters)

mean = frechet_mean.Mean(-0.7, wave([1, 3], 30))
mean_record = record(mean.loss(wave([6, 3], 31, 1.0)), mean.space.k, mean.mean)

reference = {
    "versions": {"torch": torch.__version__, "geoopt": geoopt.__version__},
    "poincare_embedding": words_record,
    "hyperbolic_mlr": mlr_record,
    "hyperbolic_gru": gru_record,
    "distance_attention": block_record,
    "frechet_mean": mean_record,
}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in reference.items())
pathlib.Path(__file__).with_name("reference.json").write_text("{\n" + lines + "\n}\n")
