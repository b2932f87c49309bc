#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times models that assay lowers for libtorch beside the same models in their authors' code, traced and frozen by PyTorch.

    V/bin/python bench/torch_lowering.py [--assay build/release/bin/assay] [--models resnet50 …] [--batch-sizes 1 8] [--pairs 10]

V is a virtual environment with torch, torchvision and transformers; torch must be the version that assay uses (`assay engines libtorch`).
Each pair is two fresh processes on the same input shape and number of threads, in random order: `assay bench --engine libtorch`
(the zoo's graph, lowered, in the worker's loop), and this script, which makes the model with random weights, traces it, freezes it
(torch.jit.freeze; with --theirs optimized torch.jit.optimize_for_inference, too) and calls it in torch.inference_mode. Prints the
medians over the pairs and the ratio assay / theirs with its 95 % interval (bench/pairs.py).
The time and memory of lowering itself: bench/lowering.cpp.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import pairs

SEQUENCE = 128
# The name for assay, and what makes the model here: (library, class or function).
MODELS = {
    "resnet50": ("resnet50", "torchvision", "resnet50"),
    "vit_b_16": ("vit_b_16", "torchvision", "vit_b_16"),
    "bert-base": ("bert-base-uncased", "transformers", "Bert"),
    "gpt2": ("gpt2", "transformers", "GPT2"),
}


def theirs(options):
    """In a process of its own: prints the median of the samples in ms."""
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(7)
    _, library, name = MODELS[options.models[0]]
    batch = options.batch_sizes[0]
    if library == "torchvision":
        import torchvision

        model = getattr(torchvision.models, name)(weights=None)
        inputs = (torch.randn(batch, 3, 224, 224),)
    else:
        import transformers

        config = getattr(transformers, name + "Config")()
        classes = {"Bert": "BertForMaskedLM", "GPT2": "GPT2LMHeadModel"}

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = getattr(transformers, classes[name])(config)

            def forward(self, ids, mask):
                more = {"use_cache": False} if name == "GPT2" else {}
                return self.model(input_ids=ids, attention_mask=mask, return_dict=True, **more).logits

        model = Logits()
        inputs = (torch.randint(0, 1000, (batch, SEQUENCE)), torch.ones(batch, SEQUENCE, dtype=torch.int64))
    model.eval()
    with torch.inference_mode(False), torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(model, inputs, check_trace=False))
        if options.theirs == "optimized":
            traced = torch.jit.optimize_for_inference(traced)
    samples = []
    with torch.inference_mode():
        for _ in range(options.warmup):
            traced(*inputs)
        for _ in range(options.iterations):
            began = time.perf_counter_ns()
            traced(*inputs)
            samples.append(time.perf_counter_ns() - began)
    print(statistics.median(samples) / 1e6)


def run_theirs(options, model, batch):
    command = [sys.executable, __file__, "theirs", "--models", model, "--batch-sizes", str(batch), "--threads", str(options.threads),
               "--warmup", str(options.warmup), "--iterations", str(options.iterations), "--theirs", options.theirs]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise pairs.Failed(done.stderr[-2000:])
    return float(done.stdout.split()[-1])


def run_ours(options, model, batch, folder):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "ASSAY_CACHE_DIR": str(folder / "cache")}
    command = [str(options.assay), "bench", "--model-id", MODELS[model][0], "--engine", "libtorch", "--batch-sizes", str(batch), "--threads",
               str(options.threads), "--warmup", str(options.warmup), "--iterations", str(options.iterations), "--sequence-lengths",
               str(SEQUENCE), "--quiet", "--output-format", "json"]
    if MODELS[model][1] == "transformers":
        command += ["--output-tokens", "0"]  # a forward pass, logits of all places
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise pairs.Failed(done.stderr + done.stdout)
    (row,) = json.loads(done.stdout)["results"]
    return row["latency_p50_ns"] / 1e6, row["verification"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["compare", "theirs"], default="compare")
    pairs.add_options(parser, MODELS, 30)
    parser.add_argument("--theirs", choices=["frozen", "optimized"], default="frozen")
    options = parser.parse_args()
    if options.what == "theirs":
        return theirs(options)
    with tempfile.TemporaryDirectory(prefix="assay-lowering-") as folder:
        cut_short = pairs.compare(options, options.theirs, lambda model, batch: run_ours(options, model, batch, pathlib.Path(folder)),
                                  lambda model, batch: run_theirs(options, model, batch))
    return 1 if cut_short else 0


if __name__ == "__main__":
    sys.exit(main())
