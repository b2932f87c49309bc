#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares assay's StableHLO with the same model as a plain jax function under jax.jit.

    bench/xla_lowering.py [--assay build/release/bin/assay] [--models resnet50 …] [--batch-sizes 1 8] [--pairs 10] [--threads 2]

Each pair is two processes in random order, with the same number of threads: `assay bench --engine xla`, and this script with
`--function`, which times the jax function in the same way: inputs in host memory, outputs readable there. Prints for each model and
batch the medians, and the ratio of assay to jax with its 95 % interval (bench/pairs.py).

The functions are written as flax's own models are: images and convolutions with channels last, statistics of batch normalisation as
they are, weights as arguments. Weights are random: they change no time. The number of weights is compared with assay's. Needs the packages of the set-up group xla
(ASSAY_DEPS_DIR/xla).
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import pairs

SEQUENCE = 128


# --- the functions ----------------------------------------------------------------------------------------------------


class Weights:
    """Random numbers for the weights of a function, in the order of its calls; the second time, the same arrays."""

    def __init__(self):
        import jax.numpy
        import numpy
        self.array, self.random, self.made, self.given = jax.numpy.asarray, numpy.random.default_rng(0), [], None

    def __call__(self, *shape):
        if self.given is not None:
            return next(self.given)
        scale = 1 / math.sqrt(math.prod(shape[:-1]) or 1)
        self.made.append((self.random.normal(size=shape) * scale).astype("float32"))
        return self.array(self.made[-1])


def dense(weights, x, outputs):
    return x @ weights(x.shape[-1], outputs) + weights(outputs)


def layer_norm(weights, x, epsilon):
    from jax import lax
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon) * weights(x.shape[-1]) + weights(x.shape[-1])


def attention(weights, x, heads, mask):
    import jax
    import jax.numpy as jnp
    batch, tokens, width = x.shape
    q, k, v = (dense(weights, x, width).reshape(batch, tokens, heads, -1) for _ in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q / math.sqrt(width // heads), k)
    if mask is not None:
        scores = scores + mask
    y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    return dense(weights, y.reshape(batch, tokens, width), width)


def feed_forward(weights, x, hidden, approximate):
    import jax
    return dense(weights, jax.nn.gelu(dense(weights, x, hidden), approximate=approximate), x.shape[-1])


def vit_b_16(weights, pixels):
    import jax.numpy as jnp
    from jax import lax
    x = lax.conv_general_dilated(pixels, weights(16, 16, 3, 768), (16, 16), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = (x + weights(768)).reshape(x.shape[0], -1, 768)
    x = jnp.concatenate([jnp.broadcast_to(weights(1, 1, 768), (x.shape[0], 1, 768)), x], 1)
    x = x + weights(1, x.shape[1], 768)
    for _ in range(12):
        x = x + attention(weights, layer_norm(weights, x, 1e-6), 12, None)
        x = x + feed_forward(weights, layer_norm(weights, x, 1e-6), 3072, False)
    return dense(weights, layer_norm(weights, x, 1e-6)[:, 0], 1000)


def bert_base(weights, ids, mask, kinds):
    import jax
    import jax.numpy as jnp
    words = weights(30522, 768)
    x = words[ids] + weights(2, 768)[kinds] + weights(512, 768)[None, :ids.shape[1]]
    x = layer_norm(weights, x, 1e-12)
    bias = jnp.where(mask[:, None, None, :] > 0, 0.0, -1e9)
    for _ in range(12):
        x = layer_norm(weights, x + attention(weights, x, 12, bias), 1e-12)
        x = layer_norm(weights, x + feed_forward(weights, x, 3072, False), 1e-12)
    x = layer_norm(weights, jax.nn.gelu(dense(weights, x, 768), approximate=False), 1e-12)
    return x @ words.T + weights(30522)


def gpt2(weights, ids, mask):
    import jax.numpy as jnp
    words = weights(50257, 768)
    places = jnp.clip(jnp.cumsum(mask, 1) - 1, 0)
    x = words[ids] + weights(1024, 768)[places]
    tokens = ids.shape[1]
    visible = jnp.tril(jnp.ones((tokens, tokens), bool))[None, None] & (mask[:, None, None, :] > 0)
    bias = jnp.where(visible, 0.0, -1e9)
    for _ in range(12):
        x = x + attention(weights, layer_norm(weights, x, 1e-5), 12, bias)
        x = x + feed_forward(weights, layer_norm(weights, x, 1e-5), 3072, True)
    return layer_norm(weights, x, 1e-5) @ words.T


def convolved(weights, x, outputs, size, stride):
    from jax import lax
    edge = (size - 1) // 2
    x = lax.conv_general_dilated(x, weights(size, size, x.shape[-1], outputs), (stride, stride), ((edge, edge), (edge, edge)),
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean, variance, scale, bias = (weights(outputs) for _ in range(4))
    return (x - mean) * (lax.rsqrt(abs(variance) + 1e-5) * scale) + bias


def resnet50(weights, pixels):
    import jax
    import jax.numpy as jnp
    from jax import lax
    x = jax.nn.relu(convolved(weights, pixels, 64, 7, 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = jax.nn.relu(convolved(weights, x, width, 1, 1))
            y = jax.nn.relu(convolved(weights, y, width, 3, stride))
            y = convolved(weights, y, 4 * width, 1, 1)
            if block == 0:
                x = convolved(weights, x, 4 * width, 1, stride)
            x = jax.nn.relu(x + y)
    return dense(weights, x.mean((1, 2)), 1000)


FUNCTIONS = {"resnet50": resnet50, "vit_b_16": vit_b_16, "bert-base-uncased": bert_base, "gpt2": gpt2}
IMAGES = ("resnet50", "vit_b_16")


def inputs_of(model, batch):
    import numpy
    source = numpy.random.default_rng(1)
    if model in IMAGES:
        return [source.normal(size=(batch, 224, 224, 3)).astype("float32")]
    ids = source.integers(1000, 30000, (batch, SEQUENCE)).astype("int32")
    ones = numpy.ones_like(ids)
    return [ids, ones, numpy.zeros_like(ids)] if model == "bert-base-uncased" else [ids, ones]


def time_function(options):
    """Prints the median time of the jitted function, in milliseconds."""
    import jax
    import numpy
    model, batch = options.function, options.batch_sizes[0]
    weights, inputs = Weights(), inputs_of(model, batch)
    jax.eval_shape(lambda *given: FUNCTIONS[model](weights, *given), *inputs)

    def function(made, *given):
        weights.given = iter(made)
        return FUNCTIONS[model](weights, *given)

    compiled = jax.jit(function)
    made = [jax.device_put(weight) for weight in weights.made]
    times = []
    for i in range(options.warmup + options.iterations):
        began = time.perf_counter_ns()
        output = numpy.asarray(compiled(made, *inputs))
        took = time.perf_counter_ns() - began
        if i >= options.warmup:
            times.append(took / 1e6)
    assert numpy.isfinite(output).all(), "the function computes no numbers"
    print(json.dumps({"median_ms": statistics.median(times), "parameters": sum(weight.size for weight in weights.made)}))


# --- the comparison ---------------------------------------------------------------------------------------------------


def output_of(command, environment, folder):
    result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise pairs.Failed(f"{' '.join(command)}\n{result.stderr[-2000:]}{result.stdout[-2000:]}")
    return json.loads(result.stdout)


def time_assay(options, model, batch, folder, parameters):
    command = [str(options.assay), "bench", "--engine", "xla", "--model", model, "--batch-sizes", str(batch), "--threads", str(options.threads),
               "--warmup", str(options.warmup), "--iterations", str(options.iterations), "--output-format", "json", "--quiet"]
    if model not in IMAGES:
        command += ["--sequence-lengths", str(SEQUENCE), "--output-tokens", "0"]  # a forward pass, logits of all places
    (row,) = output_of(command, {**os.environ, "HF_HUB_OFFLINE": "1", "ASSAY_CACHE_DIR": str(folder / "cache")}, folder)["results"]
    if row["status"] != "completed":
        raise pairs.Failed(f"{model}: {row['status']}: {row['message']}")
    parameters[model, "assay"] = row["parameter_count"]
    return row["latency_p50_ns"] / 1e6, row["verification"]


def time_jax(options, model, batch, folder, parameters):
    processors = sorted(os.sched_getaffinity(0))[:options.threads]
    command = ["taskset", "-c", ",".join(map(str, processors)), "/usr/bin/python3", str(pathlib.Path(__file__).resolve()), "--function", model, "--batch-sizes",
               str(batch), "--warmup", str(options.warmup), "--iterations", str(options.iterations)]
    packages = str(pathlib.Path(os.environ.get("ASSAY_DEPS_DIR", ".deps")).resolve() / "xla")
    environment = {**os.environ, "PYTHONPATH": packages, "NPROC": str(options.threads), "JAX_PLATFORMS": "cpu"}
    result = output_of(command, environment, folder)
    parameters[model, "jax"] = result["parameters"]
    return result["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    pairs.add_options(parser, FUNCTIONS, 20)
    parser.add_argument("--function", choices=FUNCTIONS, help="time this function in this process, and print its median")
    options = parser.parse_args()
    if options.function:
        return time_function(options)
    parameters = {}
    with tempfile.TemporaryDirectory(prefix="assay-lowering-") as name:
        folder = pathlib.Path(name)
        cut_short = pairs.compare(options, "jax.jit", lambda model, batch: time_assay(options, model, batch, folder, parameters),
                                  lambda model, batch: time_jax(options, model, batch, folder, parameters))
    for model in options.models:
        ours, theirs = parameters.get((model, "assay")), parameters.get((model, "jax"))
        print(f"{model}: {ours} weights in assay's model, {theirs} in the function")
        # Functions count the statistics of batch normalisation, too.
        if ours and theirs and abs(ours / theirs - 1) > 0.005:
            raise SystemExit(f"{model}: the function is another model: the ratio above means nothing")
    return 1 if cut_short else 0


if __name__ == "__main__":
    sys.exit(main())
