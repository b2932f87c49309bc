# SPDX-License-Identifier: Apache-2.0
"""Writes the operator tests that the onnx package makes in memory as folders: onnx_node_tests.py OUT

Each has model.onnx and test_data_set_N/{input,output}_N.pb, as in ONNX's model zoo.
"""
import pathlib
import sys
import warnings

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

TO_MESSAGE = {
    "tensor_type": numpy_helper.from_array,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "map_type": numpy_helper.from_dict,
}


def write_values(folder, kind, values, infos):
    for i, (value, info) in enumerate(zip(values, infos)):
        message = value if isinstance(value, onnx.TensorProto) else TO_MESSAGE[info.type.WhichOneof("value")](value, info.name)
        (folder / f"{kind}_{i}.pb").write_bytes(message.SerializeToString())


def main(out):
    warnings.simplefilter("ignore")  # the cases divide by zero on purpose
    cases = collect_testcases(None)
    for case in cases:
        folder = out / case.name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for i, (inputs, outputs) in enumerate(case.data_sets or []):
            data = folder / f"test_data_set_{i}"
            data.mkdir()
            write_values(data, "input", inputs, case.model.graph.input)
            write_values(data, "output", outputs, case.model.graph.output)
    print(f"{len(cases)} tests")


main(pathlib.Path(sys.argv[1]))
