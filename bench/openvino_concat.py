#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that OpenVINO computes a quantised convolution after a concatenation wrongly.

openvino_concat.py [--channels 16]     exit status 1 if an output is wrong, 0 if none is

The graph quantises and dequantises each of a few inputs [1, channels, 8, 8] with the same scale (QuantizeLinear, DequantizeLinear),
concatenates them along the channels, and convolves them with 8-bit weights (DequantizeLinear, Conv 1 x 1). The expected output is
computed in float64; nothing saturates. Needs the Python packages openvino, onnx and numpy (ASSAY_DEPS_DIR/openvino, /onnx, /python). Why
`assay verify` calls the quantised golden segformer (campaign.py, int8_qdq) wrong on OpenVINO.
"""
import argparse
import sys

import numpy as np
import openvino
from onnx import TensorProto, helper, numpy_helper

STEP, SIDE, OUTPUTS = 0.05, 8, 16


def graph(branches, channels, weights, step):
    """The model as bytes; `weights` [outputs, inputs] are integers."""
    constants = [numpy_helper.from_array(np.float32(STEP), "scale"), numpy_helper.from_array(np.int8(0), "zero"),
                 numpy_helper.from_array(weights.astype(np.int8)[:, :, None, None], "integers"),
                 numpy_helper.from_array(np.float32(step), "step")]
    nodes = [helper.make_node("DequantizeLinear", ["integers", "step", "zero"], ["weights"])]
    names = [f"x{i}" for i in range(branches)]
    for name in names:
        nodes += [helper.make_node("QuantizeLinear", [name, "scale", "zero"], [name + "_integers"]),
                  helper.make_node("DequantizeLinear", [name + "_integers", "scale", "zero"], [name + "_again"])]
    nodes += [helper.make_node("Concat", [name + "_again" for name in names], ["all"], axis=1),
              helper.make_node("Conv", ["all", "weights"], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, SIDE, SIDE]) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, OUTPUTS, SIDE, SIDE])
    return helper.make_model(helper.make_graph(nodes, "concat", inputs, [output], constants),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def error_of(branches, channels, options):
    random = np.random.default_rng(branches)
    weights, step = random.integers(-127, 128, (OUTPUTS, branches * channels)), 0.001
    inputs = [STEP * random.integers(-100, 101, (1, channels, SIDE, SIDE)).astype(np.float32) for _ in range(branches)]
    right = np.einsum("oi,bihw->bohw", weights * step, np.concatenate(inputs, 1).astype(np.float64))
    core = openvino.Core()
    model = core.read_model(graph(branches, channels, weights, step))
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **options})
    found = compiled({f"x{i}": x for i, x in enumerate(inputs)})[0]
    return float(np.sqrt(np.mean((found - right) ** 2) / np.mean(right**2)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=16, help="of each input")
    channels = parser.parse_args().channels
    print(f"OpenVINO {openvino.__version__}, {channels} channels: root mean square of the error over that of the output\n")
    counts = [1, 2, 3, 4]
    print("| low-precision transformations | " + " | ".join(f"{n} input{'s'[: n > 1]}" for n in counts) + " |\n| --- |" + " --- |" * len(counts))
    wrong = 0
    for name, options in (("on, the default", {}), ("LP_TRANSFORMS_MODE=OFF", {"LP_TRANSFORMS_MODE": "OFF"})):
        errors = [error_of(n, channels, options) for n in counts]
        wrong += sum(error > 0.01 for error in errors)
        print(f"| {name} | " + " | ".join(f"**{e:.2g}**" if e > 0.01 else f"{e:.2g}" for e in errors) + " |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
