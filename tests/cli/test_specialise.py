# SPDX-License-Identifier: Apache-2.0
"""Models written for one set of shapes: ONNX's own checker and ONNX Runtime, which runs them as it runs the originals."""
import os
import pathlib
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import tool

sys.path.insert(0, str(pathlib.Path(tool.DEPS) / "onnxruntime"))
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library starts
import onnxruntime  # noqa: E402

GOLDENS = tool.SOURCE / "tests" / "goldens"


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def extents(value):
    return [d.dim_value if d.HasField("dim_value") else -1 for d in value.type.tensor_type.shape.dim]


def values_for(name, value, random):
    """Ids that every table has, masks with padding, noise."""
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = extents(value)
    if "mask" in name:
        mask = numpy.ones(shape, dtype)
        if len(shape) == 2 and shape[0] > 1 and shape[1] > 2:
            mask[-1, -2:] = 0
        return mask
    if numpy.issubdtype(dtype, numpy.integer):
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


class Compared(tool.ToolTest):
    def assert_static(self, path):
        """Sound by ONNX's own rules, no Shape left, every value declared with all its extents. The graph."""
        onnx.checker.check_model(str(path), full_check=True)
        graph = onnx.load(str(path), load_external_data=False).graph
        self.assertNotIn("Shape", [node.op_type for node in graph.node], path)
        declared = {value.name: extents(value) for value in [*graph.input, *graph.output, *graph.value_info]}
        self.assertEqual(len(declared), len(graph.input) + len(graph.output) + len(graph.value_info), path)
        for name, shape in declared.items():
            self.assertTrue(all(extent >= 0 for extent in shape), (path, name, shape))
        for node in graph.node:
            for name in node.output:
                self.assertTrue(name == "" or name in declared, (path, node.name, name))
        used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
        for tensor in graph.initializer:
            self.assertIn(tensor.name, used, path)
        return graph

    def assert_same_outputs(self, path, original, constants={}):
        graph = self.assert_static(path)
        random = numpy.random.default_rng(7)
        inputs = {value.name: values_for(value.name, value, random) for value in graph.input}
        names = [value.name for value in graph.output]
        computed = session(path).run(names, inputs)
        expected = session(original).run(names, {**inputs, **constants})
        for name, value, wanted, output in zip(names, computed, expected, graph.output):
            self.assertEqual(list(value.shape), extents(output), (path, name))
            numpy.testing.assert_array_equal(value, wanted, err_msg=f"{path} {name}")


class Goldens(Compared):
    """All that the zoo is held to, prefill and decode too: the same bits as before, and Hugging Face's numbers."""

    def check(self, folder):
        with tempfile.TemporaryDirectory(prefix="assay-static-") as keep:
            result = self.run_json("zoo", "check", folder, "--static", "--keep", keep, expect=None, timeout=3600)
            lost = [(r["name"], r["status"], r["message"]) for r in result["results"] if r["status"] != "passed"]
            self.assertEqual(lost, [])
            written = sorted(pathlib.Path(keep).glob("*.static.onnx"))
            self.assertGreaterEqual(len(written), result["passed"])
            for path in written:
                with self.subTest(model=path.name):
                    self.assert_same_outputs(path, path.with_name(path.name.replace(".static", "")))

    def test_the_committed_ones(self):
        self.check(GOLDENS)

    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_those_of_the_large_collection_that_pass(self):
        collection = pathlib.Path(tool.GOLDENS).resolve()
        with tempfile.TemporaryDirectory(prefix="assay-goldens-") as folder:
            for name in (GOLDENS / "passing.txt").read_text().split():
                (pathlib.Path(folder) / name).symlink_to(collection / name)
            self.check(folder)


class Command(Compared):
    def test_a_name(self):
        done = self.run_json("zoo", "specialise", "prajjwal1/bert-tiny", "-o", "static.onnx", "--batch-size", "2",
                             "--sequence-length", "16")
        self.assertEqual(done["dynamic"], [])
        self.assertIn({"name": "input_ids", "shape": [2, 16]}, done["inputs"])
        self.assertLess(done["nodes"], done["nodes_before"])
        self.run_tool("zoo", "build", "prajjwal1/bert-tiny", "-o", "dynamic.onnx", expect=0)
        self.assert_same_outputs(self.folder / "static.onnx", self.folder / "dynamic.onnx")

    def test_an_older_file_stays_where_it_fails(self):
        (self.folder / "old.onnx").write_text("older")
        self.run_tool("zoo", "specialise", "prajjwal1/bert-tiny", "-o", "old.onnx", "--constant", "nothing=1", expect=2)
        self.assertEqual((self.folder / "old.onnx").read_text(), "older")
        self.assertEqual([path.name for path in self.folder.glob(".specialise-*")], [])

    def user_model(self, **fixed):
        """The rows of x before `length`, and how many columns: as [length, columns / 2, 2]."""
        values = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
        integers = lambda name, *numbers: numpy_helper.from_array(numpy.array(numbers, numpy.int64), name)
        nodes = [helper.make_node("Slice", ["x", "zero", "length", "zero"], ["head"]),
                 helper.make_node("Shape", ["head"], ["shape"]),
                 helper.make_node("Gather", ["shape", "one"], ["columns"]),
                 helper.make_node("Div", ["columns", "two"], ["half"]),
                 helper.make_node("Concat", ["length", "half", "two"], ["target"], axis=0),
                 helper.make_node("Reshape", ["head", "target"], ["y"]),
                 helper.make_node("NonZero", ["x"], ["places"])]
        outputs = [values("y", TensorProto.FLOAT, ["length", "half", 2]), values("columns", TensorProto.INT64, [1])]
        if fixed.pop("places", False):
            outputs.append(values("places", TensorProto.INT64, [2, "found"]))
        graph = helper.make_graph(
            nodes, "rows", [values("x", TensorProto.FLOAT, ["batch", "width"]), values("length", TensorProto.INT64, [1])],
            outputs, [integers("zero", 0), integers("one", 1), integers("two", 2)])
        path = self.folder / "rows.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
        return path

    def test_a_file_with_an_input_as_constant(self):
        path = self.user_model()
        numpy.save(self.folder / "length.npy", numpy.array([2], numpy.int64))
        for constant in ("length=2", "length=length.npy"):
            done = self.run_json("zoo", "specialise", path, "-o", "out/rows.onnx", "--batch-size", "3", "--extent", "width=8",
                                 "--constant", constant)
            self.assertEqual(done["inputs"], [{"name": "x", "shape": [3, 8]}])
            self.assert_same_outputs(self.folder / "out" / "rows.onnx", path, {"length": numpy.array([2], numpy.int64)})

    def test_what_depends_on_data_is_told(self):
        path = self.user_model(places=True)
        arguments = ("zoo", "specialise", path, "-o", "rows.static.onnx", "--extent", "width=8", "--constant", "length=1")
        done = self.run_json(*arguments, expect=1)
        self.assertEqual(done["dynamic"], [{"node": "places", "operator": "NonZero"}])
        text = self.run_tool(*arguments, expect=1).stdout
        self.assertIn("not static: node 'places' (NonZero)", text)
        done = self.run_json("zoo", "specialise", path, "-o", "rows.static.onnx", "--extent", "width=8", expect=1)
        self.assertIn({"node": "head", "operator": "Slice"}, done["dynamic"])

    def test_wrong_use(self):
        path = self.user_model()
        for arguments, says in [(["--constant", "height=2"], "the model has no input 'height'; valid: x, length"),
                                (["--constant", "length=1,2"], "has 2 values; the input is [1]"),
                                (["--constant", "length=two"], "give integers joined by commas, or an .npy"),
                                (["--constant", "length"], "give NAME=VALUE"),
                                (["--extent", "width=8", "--extent", "width=9"], "given twice"),
                                (["--extent", "width=wide"], "give an integer"),
                                (["--extent", "height=8"], "the inputs of the model have no extent 'height'; valid: batch, width"),
                                (["--batch-size", "0"], "--batch-size: '0' is not valid")]:
            result = self.run_tool("zoo", "specialise", path, "-o", "out.onnx", *arguments, expect=2)
            self.assertIn(says, result.stderr)
            self.assertFalse((self.folder / "out.onnx").exists())


if __name__ == "__main__":
    tool.main()
