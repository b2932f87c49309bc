#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that OpenVINO computes attention wrongly where the sequence is as long as there are heads.

openvino_attention.py [--heads 4] [--extent 8]     exit status 1 if an output is wrong, 0 if none is

The graph is attention without a mask: three inputs [1, T, heads x extent] are split into heads (Reshape, Transpose), then
MatMul, Div, Softmax, MatMul; "joined" also joins the heads again. The expected output is computed in float64. Needs the Python packages
openvino, onnx, numpy and ml_dtypes (ASSAY_DEPS_DIR/openvino, /onnx, /python). Why `assay verify` calls the golden xclip wrong in bfloat16:
its video has 4 frames, and its attention over frames 4 heads.
"""
import argparse
import sys

import ml_dtypes
import numpy as np
import openvino
from onnx import TensorProto, helper

TYPES = {"float32": (TensorProto.FLOAT, np.float32), "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}


def graph(tokens, heads, extent, kind, joined):
    """The model as bytes; its first axis is static only after a reshape."""
    dtype, numpy_type = TYPES[kind]
    scale = np.array(np.sqrt(extent), numpy_type)
    constants = [helper.make_tensor("split", TensorProto.INT64, [4], [0, 0, heads, extent]),
                 helper.make_tensor("join", TensorProto.INT64, [3], [0, 0, heads * extent]),
                 helper.make_tensor("scale", dtype, [], scale.tobytes(), raw=True)]
    nodes = []
    for name, axes in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [helper.make_node("Reshape", [name, "split"], [name + "_split"]),
                  helper.make_node("Transpose", [name + "_split"], [name + "_heads"], perm=axes)]
    nodes += [helper.make_node("MatMul", ["q_heads", "k_heads"], ["products"]), helper.make_node("Div", ["products", "scale"], ["scores"]),
              helper.make_node("Softmax", ["scores"], ["shares"], axis=-1), helper.make_node("MatMul", ["shares", "v_heads"], ["y"])]
    output = [None, heads, None, extent]
    if joined:
        nodes += [helper.make_node("Transpose", ["y"], ["y_tokens"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["y_tokens", "join"], ["z"])]
        output = [None, None, heads * extent]
    inputs = [helper.make_tensor_value_info(name, dtype, ["batch", "tokens", heads * extent]) for name in "qkv"]
    outputs = [helper.make_tensor_value_info("z" if joined else "y", dtype, output)]
    model = helper.make_model(helper.make_graph(nodes, "attention", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)])
    return model.SerializeToString()


def expected(q, k, v, heads, joined):
    split = [x.astype(np.float64).reshape(1, x.shape[1], heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v)]
    scores = split[0] @ split[1].transpose(0, 1, 3, 2) / np.sqrt(split[0].shape[-1])
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    y = shares / shares.sum(-1, keepdims=True) @ split[2]
    return y.transpose(0, 2, 1, 3).reshape(q.shape) if joined else y


def computed(model, inputs, kind, static, options):
    """On OpenVINO's processor plug-in, in the arithmetic of the graph."""
    core = openvino.Core()
    read = core.read_model(model)
    if static:
        read.reshape({port.any_name: list(x.shape) for port, x in zip(read.inputs, inputs)})
    precision = {"float32": "f32", "bfloat16": "bf16"}[kind]
    request = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": precision, **options}).create_infer_request()
    for i, x in enumerate(inputs):
        tensor = openvino.Tensor(read.inputs[i].element_type, list(x.shape))
        raw = {2: np.uint16, 4: np.uint32}[x.dtype.itemsize]
        tensor.data.view(raw)[...] = x.view(raw)
        request.set_input_tensor(i, tensor)
    request.infer()
    output = request.get_output_tensor(0)
    data = output.data if kind == "float32" else output.data.view(np.uint16).view(ml_dtypes.bfloat16)
    return np.array(data, np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--extent", type=int, default=8, help="of a head")
    arguments = parser.parse_args()
    heads, extent = arguments.heads, arguments.extent
    lengths = [heads - 1, heads, heads + 1, 2 * heads]
    ways = [("static", True, {}), ("static, SNIPPETS_MODE=DISABLE", True, {"SNIPPETS_MODE": "DISABLE"}), ("dynamic", False, {})]
    print(f"OpenVINO {openvino.__version__}, {heads} heads of {extent}: root mean square of the error over that of the output\n")
    print("| graph | output | shapes | " + " | ".join(f"{n} tokens" for n in lengths) + " |\n| --- | --- | --- |" + " --- |" * len(lengths))
    wrong = 0
    for kind, (_, numpy_type) in TYPES.items():
        for joined in (False, True):
            for name, static, options in ways:
                cells = []
                for tokens in lengths:
                    random = np.random.default_rng(tokens)
                    inputs = [random.normal(size=(1, tokens, heads * extent)).astype(numpy_type) for _ in range(3)]
                    right = expected(*inputs, heads, joined)
                    try:
                        found = computed(graph(tokens, heads, extent, kind, joined), inputs, kind, static, options)
                    except RuntimeError as problem:
                        cells.append(str(problem).strip().splitlines()[-1][:40])
                        continue
                    error = np.sqrt(np.mean((found - right) ** 2) / np.mean(right**2))
                    wrong += error > 0.02
                    cells.append(f"**{error:.2g}**" if error > 0.02 else f"{error:.2g}")
                print(f"| {kind} | {'joined' if joined else 'of each head'} | {name} | " + " | ".join(cells) + " |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
