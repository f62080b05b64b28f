#!/usr/bin/env python3
"""PyTorch-BigGraph on a tree that `poincare tree` wrote: edges a second, and the memory of all its processes.

Usage: bench_biggraph.py TREE.tsv WORK --partitions P [--dim 10] [--threads 2] [--epochs 1] [--batch 1000]
       [--negatives 50]
Node n is number n // P of partition n % P. The edges are written in the program's own format first; that is not
timed. torchbiggraph 1.0.0 is of 2019 and imports pkg_resources: pip install torchbiggraph "setuptools<80".
"""
import argparse
import json
import os
import threading
import time
from pathlib import Path

import h5py
import numpy as np


def read(path):
    """The two columns: the names of such a tree are numbers."""
    return np.array(Path(path).read_bytes().split(), dtype=np.int64).reshape(-1, 2)


def prepare(edges, work, parts):
    """Writes entity counts and buckets of edges."""
    nodes = int(edges.max()) + 1
    work.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        (work / f"entity_count_node_{part}.txt").write_text(str(len(range(part, nodes, parts))))
    bucket = edges[:, 0] % parts * parts + edges[:, 1] % parts
    order = np.argsort(bucket, kind="stable")
    edges, bounds = edges[order] // parts, np.searchsorted(bucket[order], np.arange(parts * parts + 1))
    rng = np.random.default_rng(1)
    for i in range(parts):
        for j in range(parts):
            own = edges[bounds[i * parts + j]:bounds[i * parts + j + 1]]
            own = own[rng.permutation(len(own))]
            with h5py.File(work / f"edges_{i}_{j}.h5", "w") as file:
                file.attrs["format_version"] = 1
                file["lhs"], file["rhs"] = own[:, 0], own[:, 1]
                file["rel"] = np.zeros(len(own), dtype=np.int64)
    return nodes


def memory():
    """Bytes of this process and those below it; what they share is counted once."""
    total, wanted = 0, {os.getpid()}
    for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if int(path.name) in wanted or parent in wanted:
                wanted.add(int(path.name))
                lines = (path / "smaps_rollup").read_text().splitlines()
                total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        except (OSError, StopIteration):
            continue
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("tree")
    ap.add_argument("work")
    ap.add_argument("--partitions", type=int, default=1)
    ap.add_argument("--dim", type=int, default=10)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--batch", type=int, default=1000)
    ap.add_argument("--negatives", type=int, default=50)
    a = ap.parse_args()
    from torchbiggraph.config import parse_config
    from torchbiggraph.train import train
    from torchbiggraph.util import SubprocessInitializer

    work = Path(a.work)
    edges = read(a.tree)
    count, nodes = len(edges), prepare(edges, work / "graph", a.partitions)
    del edges
    config = parse_config({
        "entity_path": str(work / "graph"), "edge_paths": [str(work / "graph")],
        "checkpoint_path": str(work / "model"),
        "entities": {"node": {"num_partitions": a.partitions}},
        "relations": [{"name": "edge", "lhs": "node", "rhs": "node", "operator": "none"}],
        "dimension": a.dim, "global_emb": False, "comparator": "l2", "loss_fn": "softmax", "lr": 0.1,
        "num_epochs": a.epochs, "batch_size": a.batch, "num_batch_negs": a.negatives, "num_uniform_negs": a.negatives,
        "eval_fraction": 0.0, "workers": a.threads, "verbose": 0,
    })
    largest, done = [memory()], threading.Event()

    def watch():
        while not done.wait(0.5):
            largest[0] = max(largest[0], memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    train(config, subprocess_init=SubprocessInitializer())
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    print(json.dumps({"nodes": nodes, "edges": count, "partitions": a.partitions, "seconds": round(seconds, 1),
                      "edges_s": round(a.epochs * count / seconds), "memory_mb": round(largest[0] / 1e6)}))


if __name__ == "__main__":
    main()
