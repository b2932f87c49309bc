#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model with operators of the toy runtime: make_model.py FILE. Needs PYTHONPATH with onnx and NumPy."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = numpy.random.default_rng(1).standard_normal((16, 4)).astype(numpy.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"])], "layer",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])], [numpy_helper.from_array(weight, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
