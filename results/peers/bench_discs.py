#!/usr/bin/env python3
"""Random hyperbolic graphs by NetworKit and by ours in turns: edges a second, one JSON line a run.

Usage: bench_discs.py --ours GRAPH_TASKS [--nodes 100000,1000000] [--degree 10] [--alpha 0.95]
       [--threads 1,2] [--turns 3]

Needs NetworKit: pip install -r requirements-networkit.txt. Its HyperbolicGenerator is given the mean degree
and gamma = 2 alpha + 1, with temperature 0; ours factor 1 and the radius 2 ln(2 xi^2 n / (pi k)), where
xi = alpha/(alpha - 1/2), for which the mean degree is k (Krioukov et al. 2010). Every line has the degree
that came out. The time is that of drawing the points and finding the edges, in memory, without the start of
the program and without files.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile
import time

import networkit

parser = argparse.ArgumentParser()
parser.add_argument("--ours", required=True)
parser.add_argument("--nodes", default="100000,1000000")
parser.add_argument("--degree", type=float, default=10)
parser.add_argument("--alpha", type=float, default=0.95)
parser.add_argument("--threads", default="1,2")
parser.add_argument("--turns", type=int, default=3)
args = parser.parse_args()


def ours(nodes, threads, seed):
    """Edges and seconds of ours."""
    xi = args.alpha / (args.alpha - 0.5)
    radius = 2 * math.log(2 * xi * xi * nodes / (math.pi * args.degree))
    with tempfile.TemporaryDirectory() as out:
        command = [args.ours, "generate", "--nodes", nodes, "--alpha", args.alpha, "--factor", 1,
                   "--disc-radius", radius, "--seed", seed, "--threads", threads, "--out", out]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(out, "metrics.json")) as file:
            metrics = json.load(file)
    return metrics["edges"], metrics["seconds"]


def theirs(nodes, threads, seed):
    """Edges and seconds of NetworKit."""
    networkit.setNumberOfThreads(threads)
    networkit.setSeed(seed, False)
    start = time.perf_counter()
    graph = networkit.generators.HyperbolicGenerator(nodes, args.degree, 2 * args.alpha + 1, 0).generate()
    return graph.numberOfEdges(), time.perf_counter() - start


for nodes in map(int, args.nodes.split(",")):
    for turn in range(args.turns):
        for threads in map(int, args.threads.split(",")):
            for name, run in (("ours", ours), ("networkit " + networkit.__version__, theirs)):
                edges, seconds = run(nodes, threads, turn + 1)
                print(json.dumps({
                    "program": name, "nodes": nodes, "alpha": args.alpha, "threads": threads, "turn": turn,
                    "edges": edges, "mean_degree": round(2 * edges / nodes, 3), "s": round(seconds, 3),
                    "edges_s": round(edges / seconds),
                }), flush=True)
