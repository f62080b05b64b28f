#!/usr/bin/env python3
"""Turns the JSON lines of accuracy by radius into results/data/accuracy-by-radius.jsonl.

Usage: accuracy_record.py COMMIT DATE MACHINE FILE...

Each FILE is the output of `cargo bench --bench accuracy -- --json FILE`, or of accuracy.py. A line of the
record is an operation of a library, with the worst error at each k to one digit; null is "not finite".
"""
import json
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "accuracy-by-radius.jsonl"


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    commit, date, machine, *files = sys.argv[1:]
    rows = {}
    for place, file in enumerate(files):
        for line in map(json.loads, Path(file).read_text().splitlines()):
            operation, gradient = line["operation"].removesuffix(" gradient"), "gradient" in line["operation"]
            key = line["model"], line["type"] != "f64", gradient, operation, place
            label, figures = rows.setdefault(key, (line, {}))
            figures["cases"] = min(figures.get("cases", line["cases"]), line["cases"])
            worst = line["worst"]
            figures[f"k{line['k']}"] = None if worst is None else float(f"{worst:.0e}")
    with DATA.open("w") as data:
        for key in sorted(rows):
            (model, _, gradient, operation, _), (line, figures) = key, rows[key]
            here = line["library"] == "cotangent"
            library = "here" if here else f"{line['library']} {line['version']}"
            what = "gradient" if gradient else "value"
            print(json.dumps({
                "table": "accuracy-by-radius",
                "row": {"model": model, "type": line["type"], "what": what, "operation": operation,
                        "library": library},
                "commit": commit, "date": date, "machine": machine,
                "command": "cargo bench --bench accuracy" if here else f"accuracy.py {line['library']}",
                "seed": None, "figures": figures,
            }), file=data)


main()
