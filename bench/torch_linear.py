#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times three ways of PyTorch to compute a linear layer in float32: `linear`, `addmm` with the weights as ONNX has them, and oneDNN's
layer with packed weights. Each call reads weights that no call of the last 256 MB read, as in a model: the processor's cache has none of them.

    V/bin/python bench/torch_linear.py [--threads 2] [--rounds 14]

V is a virtual environment with the version of torch that assay uses (`assay engines libtorch`). The ways take turns in one process. Prints
their medians in ms: for layers of several sizes and numbers of rows, and for activations that are computed within oneDNN's layer and after it.
src/models/lower/torchscript/linear.cpp and engines/libtorch/torch_linear.cpp choose by these.
"""
import argparse
import statistics
import time

import torch
from torch.nn import functional

SIZES = [(768, 768), (768, 2304), (768, 3072), (3072, 768), (768, 50257)]
ROWS = [1, 2, 8, 32, 128, 256, 512, 1024, 1576]
EVICTED = 256 << 20  # bytes of weights that are read before the same ones again
ACTIVATIONS = {"relu": torch.relu, "gelu": functional.gelu, "swish": functional.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


def medians(ways, rounds):
    """Medians in ms. A way takes the number of the round."""
    samples = [[] for _ in ways]
    for number in range(rounds + 2):
        for times, way in zip(samples, ways):
            began = time.perf_counter_ns()
            way(number)
            if number > 1:
                times.append(time.perf_counter_ns() - began)
    return [statistics.median(times) / 1e6 for times in samples]


def onednn(x, packed, bias, activation="none"):
    return torch.ops.mkldnn._linear_pointwise(x, packed, bias, activation, [], "none" if activation == "gelu" else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=14)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {options.threads} threads\n")
    print("| layer | rows | linear ms | addmm ms | packed ms | packed / addmm |\n| --- | --- | --- | --- | --- | --- |")
    for inputs, outputs in SIZES:
        copies = -(-EVICTED // (4 * inputs * outputs))
        bias = torch.randn(outputs)
        weights = [torch.randn(outputs, inputs) for _ in range(copies)]
        transposed = [weight.t().contiguous() for weight in weights]
        packed = [torch.ops.mkldnn._reorder_linear_weight(weight, None) for weight in weights]
        for rows in ROWS:
            x = torch.randn(rows, inputs)
            times = medians([lambda i: functional.linear(x, weights[i % copies], bias), lambda i: torch.addmm(bias, x, transposed[i % copies]),
                             lambda i: onednn(x, packed[i % copies], bias)], options.rounds)
            print(f"| {inputs} to {outputs} | {rows} | {' | '.join(f'{time:.3f}' for time in times)} | {times[2] / times[1]:.2f} |")
    print("\n| activation after 768 to 3072 | rows | within ms | after ms | within / after |\n| --- | --- | --- | --- | --- |")
    weight, bias = torch.randn(3072, 768), torch.randn(3072)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    for name, function in ACTIVATIONS.items():
        for rows in (128, 1024):
            x = torch.randn(rows, 768)
            within, after = medians([lambda _: onednn(x, packed, bias, name), lambda _: function(onednn(x, packed, bias))], options.rounds)
            print(f"| {name} | {rows} | {within:.2f} | {after:.2f} | {within / after:.2f} |")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
