#!/usr/bin/env python3
"""Trainers of Poincaré embeddings in turns: positive pairs trained a second, one JSON line a run.

Usage: bench_embeddings.py EDGES --ours POINCARE [--shirakawa PROGRAM] [--lateral PROGRAM] [--dim 10]
       [--negatives 50] [--shared N ...] [--only TEXT] [--threads 1,2] [--epochs 1] [--turns 3]

PROGRAM is the built trainer of TatsuyaShirakawa/poincare-embedding or lateral/poincare-embeddings. EDGES is a
TSV of child and ancestor. Every speed is the difference of two runs, of `epochs` and of twice as many, so that
reading and start do not count. In all of these trainers the threads share the pairs of an epoch. They differ in
what they compute: Shirakawa's draws negatives by degree and keeps true neighbours among them, in f64; lateral's
computes in long double. bench_gensim.py measures gensim, which has one worker.
"""
import argparse
import json
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("edges")
parser.add_argument("--ours", required=True)
parser.add_argument("--shirakawa")
parser.add_argument("--lateral")
parser.add_argument("--dim", type=int, default=10)
parser.add_argument("--negatives", type=int, default=50)
parser.add_argument("--shared", type=int, nargs="*", default=[], help="other numbers of shared negatives")
parser.add_argument("--only", default="", help="only trainers whose name has this text")
parser.add_argument("--threads", default="1,2")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--turns", type=int, default=3)
args = parser.parse_args()
with open(args.edges) as file:
    PAIRS = sum(1 for _ in file)


def commands(out, epochs, threads):
    """The command of each trainer."""
    ours = [args.ours, "train", "--quiet", "--edges", args.edges, "--dim", args.dim, "--negatives",
            args.negatives, "--precision", "f32", "--burn-in", 0, "--evaluate-nodes", 1, "--epochs", epochs,
            "--threads", threads, "--out", out]
    shared = ours + ["--batch", 50, "--shared-negatives", args.negatives]
    found = {
        "ours, batch 10": ours,
        "ours, batch 50": ours + ["--batch", 50],
        "ours, lock-free": ours + ["--lock-free"],
        "ours, shared negatives, batch 50": shared,
        "ours, shared negatives, batch 50, lock-free": shared + ["--lock-free"],
    }
    found |= {f"ours, {count} shared negatives, batch 50, lock-free":
              ours + ["--batch", 50, "--shared-negatives", count, "--lock-free"] for count in args.shared}
    if args.shirakawa:
        found["shirakawa"] = [args.shirakawa, args.edges, out + "/embedding", "-d", args.dim, "-t", threads,
                              "-e", epochs, "-n", args.negatives, "-s", 0]
    if args.lateral:
        found["lateral"] = [args.lateral, "-graph", args.edges, "-output-vectors", out + "/embedding",
                            "-dimension", args.dim, "-number-negatives", args.negatives, "-epochs", epochs,
                            "-threads", threads]
    return found


def seconds(trainer, epochs, threads):
    """How long a run takes."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(word) for word in commands(out, epochs, threads)[trainer]]
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{trainer}: {done.stderr.strip()}")
        return time.perf_counter() - start


for turn in range(args.turns):
    for threads in map(int, args.threads.split(",")):
        for trainer in filter(lambda name: args.only in name, commands("", 1, 1)):
            short, long = (seconds(trainer, epochs, threads) for epochs in (args.epochs, 2 * args.epochs))
            print(json.dumps({
                "trainer": trainer, "turn": turn, "threads": threads, "dim": args.dim,
                "negatives": args.negatives, "pairs": PAIRS, "epochs": args.epochs,
                "short_s": round(short, 2), "long_s": round(long, 2),
                "pairs_s": round(args.epochs * PAIRS / max(long - short, 1e-9)),
            }), flush=True)
