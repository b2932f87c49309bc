#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the operators that remain after each runtime's optimiser: graph_nodes.py MODEL.onnx...

One column per file. ONNX Runtime: the graph that it writes to optimized_model_filepath. OpenVINO: the layers that one
inference executes, with the kernel chosen, of a model reshaped to its inputs as the engine does. The last row is how far the
first output is from that of the first file. Run it with PYTHONPATH=$D/onnxruntime:$D/openvino:$D/onnx:$D/python, D being the
dependency folder (.deps).
"""
import argparse
import collections
import os
import tempfile
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library starts


def inputs_for(ports, arguments):
    """The same inputs for every file with these input names. `ports`: name, extents with None for open ones, whether it is a float."""
    import numpy

    inputs = {}
    for name, extents, real in ports:
        opened = [arguments.batch] + [arguments.sequence] * len(extents)
        shape = [opened[i] if extent is None else extent for i, extent in enumerate(extents)]
        random = numpy.random.default_rng(len(name))
        if real:
            inputs[name] = random.standard_normal(shape).astype(numpy.float32)
        else:
            inputs[name] = random.integers(0, 100, shape) if name == "input_ids" else numpy.ones(shape, numpy.int64)
    return inputs


def through_onnxruntime(path, arguments):
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/optimised.onnx"
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        model = onnx.load(options.optimized_model_filepath, load_external_data=False)
    ports = [(port.name, [dim if isinstance(dim, int) else None for dim in port.shape], "float" in port.type)
             for port in session.get_inputs()]
    return [node.op_type for node in model.graph.node], session.run(None, inputs_for(ports, arguments))[0]


def through_openvino(path, arguments):
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    ports = [(port.any_name, [dim.get_length() if dim.is_static else None for dim in port.partial_shape],
              port.element_type.is_real()) for port in model.inputs]
    inputs = inputs_for(ports, arguments)
    model.reshape({name: value.shape for name, value in inputs.items()})
    compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": arguments.threads,
                                                 "INFERENCE_PRECISION_HINT": "f32", "PERF_COUNT": True})
    request = compiled.create_infer_request()
    request.infer(inputs)
    outputs = request.infer(inputs)  # constants are folded in the first
    executed = openvino.ProfilingInfo.Status.EXECUTED
    nodes = [node for node in request.get_profiling_info() if node.status == executed]
    return [f"{node.node_type} {node.exec_type}" for node in nodes], outputs[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--engines", nargs="+", default=["onnxruntime", "openvino"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sequence", type=int, default=128)
    arguments = parser.parse_args()
    readers = {"onnxruntime": through_onnxruntime, "openvino": through_openvino}
    for engine in arguments.engines:
        results = [readers[engine](path, arguments) for path in arguments.models]
        counts = [collections.Counter(names) for names, _ in results]
        differences = [abs(output - results[0][1]).max() for _, output in results]
        print(f"{engine:48}" + "".join(f"{Path(path).parent.name:>24}" for path in arguments.models))
        for name in sorted(set().union(*counts)):
            print(f"{name:48}" + "".join(f"{count[name]:24}" for count in counts))
        print(f"{'all':48}" + "".join(f"{count.total():24}" for count in counts))
        print(f"{'difference':48}" + "".join(f"{difference:24.2e}" for difference in differences) + "\n")


if __name__ == "__main__":
    main()
