#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which runtime on this machine's processor: the small set, bert-base, resnet50, vit-base and gpt2 on every installed engine.

    bench/runtimes.py [--assay ./assay] [--db build/runtimes/runtimes.duckdb] [--batch-sizes 1 8] [--launches 3] [--max-time 20]
                      [--models small large]

Runs `assay run` for each group of models: every cell is verified, launches of the engines take turns. Models that generate have a static
KV cache on every engine, so that their rows can be compared. Prints medians in ms with half of their 95 % intervals in percent, and then, for
each model, the fastest engine and by how much, as `assay report optimal-hardware` says it. Another call adds to the database; with `--models`
alone it prints the table again. Needs an idle machine.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LARGE = {"bert-base": "bert-base-uncased", "resnet50": "resnet50", "vit-base": "google/vit-base-patch16-224", "gpt2": "gpt2"}


def run(command, accepted=(0,)):
    print("$ " + " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}  # weights are random: they change no time
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode not in accepted:
        sys.exit(f"it ended with status {done.returncode}")
    return done.stdout


def installed(assay):
    engines = json.loads(run([assay, "engines", "--output-format", "json"]))["engines"]
    return [engine["name"] for engine in engines if engine["available"] and engine["needs_model"] and "cpu" in engine["hardware"]]


def measure(options, engines, group):
    folder = options.db.parent
    models = ["--models-set", "small"]
    if group == "large":
        file = folder / "large.json"
        file.write_text(json.dumps({name: {"name": model} for name, model in LARGE.items()}))
        models = ["--models-set", "custom", "--custom-models", file]
    # 1: some cells failed; 3: some are wrong. The table says which.
    run([options.assay, "run", *models, "--hardware", "cpu", "--engines", *engines, "--batch-sizes", *options.batch_sizes,
         "--kv-cache", "static", "--launches", options.launches, "--max-time", options.max_time, "--db-path", options.db, "--output-dir", folder / group,
         "--no-plots", "--quiet"], accepted=(0, 1, 3))


ROWS = """SELECT model, batch_size, sequence_length, output_tokens, engine, status, verification, latency_p50_ms, latency_p50_low_ms,
  latency_p50_high_ms, tpot_ms, flags FROM benchmark_results
  QUALIFY row_number() OVER (PARTITION BY series_key ORDER BY timestamp DESC) = 1
  ORDER BY model, batch_size, sequence_length, output_tokens"""


def cell(row):
    """A median with the half-width of its interval, and for a generation the time of a token."""
    if row is None:
        return ""
    if row["status"] != "completed" or row["verification"] != "verified":
        return row["status"] if row["status"] != "completed" else row["verification"]
    text = f"{row['latency_p50_ms']:.4g}"
    if row["latency_p50_low_ms"] is not None:
        half = (row["latency_p50_high_ms"] - row["latency_p50_low_ms"]) / 2 / row["latency_p50_ms"]
        text += f" ± {100 * half:.1f} %"
    if row["tpot_ms"] is not None:
        text += f", {row['tpot_ms']:.3g} a token"
    disturbed = [flag for flag in ("noisy", "unsteady", "few_samples") if flag in (row["flags"] or "")]
    return text + (f" ({', '.join(disturbed)})" if disturbed else "")


def table(options, engines):
    database = ["--db-path", options.db]
    rows = json.loads(run([options.assay, "query", *database, "--format", "json", "--sql", ROWS]))
    rows = rows["rows"] if isinstance(rows, dict) else rows
    lines = ["| model | batch | tokens | " + " | ".join(engines) + " |", "| --- " * (3 + len(engines)) + "|"]
    cells = {}
    for row in rows:
        tokens = "" if row["sequence_length"] is None else str(row["sequence_length"])
        if row["output_tokens"]:
            tokens += f" + {row['output_tokens']}"
        cells.setdefault((row["model"], row["batch_size"], tokens), {})[row["engine"]] = row
    for (model, batch, tokens), by_engine in cells.items():
        lines.append(f"| {model} | {batch} | {tokens} | " + " | ".join(cell(by_engine.get(engine)) for engine in engines) + " |")
    report = run([options.assay, "report", "optimal-hardware", "--goal", "latency", *database, "--format", "md"])
    title = "## Per model, by latency"
    choice = title + report.split(title, 1)[1].split("\n## ", 1)[0] if title in report else ""
    return "\n".join(lines) + "\n\n" + choice.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", type=pathlib.Path, default=ROOT / "assay")
    parser.add_argument("--db", type=pathlib.Path, default=ROOT / "build" / "runtimes" / "runtimes.duckdb")
    parser.add_argument("--batch-sizes", nargs="+", default=["1", "8"])
    parser.add_argument("--launches", default="3")
    parser.add_argument("--max-time", default="20", help="seconds for all launches of a cell together")
    parser.add_argument("--models", nargs="*", choices=["small", "large"], default=["small", "large"])
    options = parser.parse_args()
    options.assay, options.db = options.assay.resolve(), options.db.resolve()
    options.db.parent.mkdir(parents=True, exist_ok=True)
    engines = installed(options.assay)
    for group in options.models:
        measure(options, engines, group)
    print(table(options, engines))


if __name__ == "__main__":
    main()
