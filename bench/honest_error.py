#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of right engines beside the honest error, for all goldens: the evidence for the factors of the limits.

honest_error.py run --output FILE.jsonl --goldens FOLDER [--assay PROGRAM] [--seconds N] [--half choose|test|all] [--precisions …]
honest_error.py report FILE.jsonl          tables in Markdown; exit status 1 if a right engine is called wrong

`run` verifies each golden of tests/goldens/passing.txt (its configuration and weights, random inputs, batch sizes 1 and 3) on each
engine in each precision, and adds what FILE.jsonl does not have yet: it can be repeated after --seconds are over. The goldens at even
places of the list are the half that the factors were chosen on (input seed 0); the others test them (input seed 1).
No error is planted here: a `wrong` is a false alarm unless it is one of FINDINGS, which are faults of a runtime. A ratio is an output's error over its
honest error, without floors.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISIONS = ["float32", "float16", "bfloat16"]
# Right verdicts on wrong numbers: golden, precision, engine -> what shows it.
FINDINGS = {("xclip", "bfloat16", "openvino"): "bench/openvino_attention.py"}
NUMBER = r"([-+.\deinfa]+|none)"
LINE = re.compile(
    rf"(?P<model>\S+) on (?P<engine>\S+), batch (?P<batch>\d+), (?P<precision>\w+): output (?P<output>.*?): (?P<verdict>\w+), rms "
    rf"{NUMBER} row {NUMBER} element {NUMBER} top1 {NUMBER} ratio {NUMBER}; honest (?P<method>\w+) of \d+: moves {NUMBER} rms {NUMBER} "
    rf"row {NUMBER} element {NUMBER} top1 {NUMBER} correlation {NUMBER} changed {NUMBER}")
FIELDS = ["rms", "row", "element", "top1", "ratio", "h_moves", "h_rms", "h_row", "h_element", "h_top1", "h_correlation", "h_changed"]


def verify(arguments, golden, precision, seed, folder):
    """The rows of one golden in one precision, and the errors of each output."""
    environment = {**os.environ, "ASSAY_CACHE_DIR": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [str(arguments.assay), "verify", str(arguments.goldens / golden), "--engines", arguments.engines, "--precision", precision,
               "--batch-sizes", "1,3", "--sequence-lengths", "16", "--output-tokens", "4", "--seed", str(seed), "--debug",
               "--output-format", "json", "--db-path", str(folder / "db")]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    try:
        rows = json.loads(result.stdout)["results"]
    except (ValueError, KeyError):
        return [{"status": "failed", "message": (result.stderr or result.stdout)[-300:]}], []
    keep = ["engine", "batch_size", "status", "verification", "message", "effective_precision", "rms_error", "rms_limit", "honest_error",
            "worst_output", "worst_element", "max_abs_error", "error_limit", "top1_agreement"]
    outputs = []
    for match in LINE.finditer(result.stderr):
        groups = match.groups()
        numbers = [None if group == "none" else float(group) for group in groups[6:11] + groups[12:]]
        named = match.groupdict()
        outputs.append({**{k: named[k] for k in ("engine", "batch", "output", "verdict", "method")}, **dict(zip(FIELDS, numbers))})
    return [{k: row.get(k) for k in keep} for row in rows], outputs


def run(arguments):
    names = (ROOT / "tests/goldens/passing.txt").read_text().split()
    done = set()
    if arguments.output.exists():
        done = {(r["golden"], r["precision"]) for r in map(json.loads, arguments.output.read_text().splitlines())}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(names):
            half = "test" if place % 2 else "choose"
            if arguments.half not in (half, "all"):
                continue
            for precision in arguments.precisions:
                if (name, precision) in done:
                    continue
                if time.monotonic() - began > arguments.seconds:
                    return 3
                rows, outputs = verify(arguments, name, precision, place % 2 + arguments.seed, pathlib.Path(folder))
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"golden": name, "half": half, "precision": precision, "rows": rows, "outputs": outputs}) + "\n")
    return 0


def quantile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p * len(values)))] if values else float("nan")


def report(arguments):
    records = [json.loads(line) for file in arguments.files for line in file.read_text().splitlines()]
    wrong = []
    print("| half | precision | engine | cells | verified | ill-conditioned | wrong | other | not run | honest error, median | rms: 50 % | 90 % "
          "| most | worst row: most | element: most |\n|" + " --- |" * 15)
    for half in ("choose", "test"):
        for precision in PRECISIONS:
            for engine in ("onnxruntime", "openvino"):
                mine = [r for r in records if r["half"] == half and r["precision"] == precision]
                rows = [(r["golden"], row) for r in mine for row in r["rows"] if row.get("engine") == engine]
                if not rows:
                    continue
                ran = [row for _, row in rows if row["status"] in ("completed", "wrong")]
                count = {v: sum(row["verification"] == v for row in ran) for v in ("verified", "ill_conditioned", "wrong")}
                wrong += [(golden, precision, row) for golden, row in rows if row["status"] == "wrong"]
                outputs = [o for r in mine for o in r["outputs"] if o["engine"] == engine and o["rms"] is not None]
                ratio = {k: [o[k] / o["h_" + k] for o in outputs if o["h_" + k]] for k in ("rms", "row", "element")}
                honest = quantile([o["h_moves"] for o in outputs if o["h_moves"]], 0.5)
                print(f"| {half} | {precision} | {engine} | {len(ran)} | {count['verified']} | {count['ill_conditioned']} | {count['wrong']} | "
                      f"{len(ran) - sum(count.values())} | {len(rows) - len(ran)} | {honest:.2g} | {quantile(ratio['rms'], 0.5):.2f} | "
                      f"{quantile(ratio['rms'], 0.9):.2f} | {max(ratio['rms'], default=0):.2f} | {max(ratio['row'], default=0):.2f} | "
                      f"{max(ratio['element'], default=0):.2f} |")
    print()
    for golden, precision, row in wrong:
        shown = FINDINGS.get((golden, precision, row["engine"]))
        because = f"a fault of the runtime, shown by {shown}: " if shown else ""
        print(f"- `{golden}`, {precision}, {row['engine']}, batch {row['batch_size']}: {because}{row['message']}")
    for r in records if arguments.largest else []:
        for o in r["outputs"]:
            if o["rms"] and o["h_rms"]:
                worst = max(o[k] / o["h_" + k] for k in ("rms", "row", "element") if o["h_" + k])
                if worst > arguments.largest:
                    print(f"{worst:8.2f} {r['golden']} {r['precision']} {o['engine']} batch {o['batch']} {o['output']} {o['method']}: "
                          + " ".join(f"{k} {o[k]:.3g}/{o['h_' + k]:.3g}" for k in ("rms", "row", "element"))
                          + f" ratio {o['ratio']:.3g} {o['verdict']}")
    return 1 if any((golden, precision, row["engine"]) not in FINDINGS for golden, precision, row in wrong) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--output", type=pathlib.Path, required=True)
    runs.add_argument("--goldens", type=lambda path: pathlib.Path(path).resolve(), required=True)
    runs.add_argument("--assay", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build/release/bin/assay")
    runs.add_argument("--engines", default="onnxruntime,openvino")
    runs.add_argument("--precisions", nargs="+", default=PRECISIONS)
    runs.add_argument("--half", default="all", choices=["choose", "test", "all"])
    runs.add_argument("--seed", type=int, default=0)
    runs.add_argument("--seconds", type=float, default=float("inf"))
    runs.set_defaults(act=run)
    reports = commands.add_parser("report")
    reports.add_argument("files", nargs="+", type=pathlib.Path)
    reports.add_argument("--largest", type=float, default=0, help="also list outputs whose ratio is larger")
    reports.set_defaults(act=report)
    arguments = parser.parse_args()
    return arguments.act(arguments)


if __name__ == "__main__":
    sys.exit(main())
