# SPDX-License-Identifier: Apache-2.0
"""Real data: outputs that come with a model, and inputs given with --data."""
import struct
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
import tool

FAST = ["--iterations", "5", "--warmup", "1", "--quiet"]


def pb(array, name):
    return numpy_helper.from_array(array, name).SerializeToString()


def png(pixels):
    """A PNG file of the array [height, width, 3]."""
    height, width, _ = pixels.shape
    chunk = lambda kind, content: struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class ImageFolder(tool.ToolTest):
    """Five images in two classes; the model computes each channel's mean of an image."""

    def setUp(self):
        super().setUp()
        value = lambda name, *extents: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *extents])
        graph = helper.make_graph([helper.make_node("ReduceMean", ["pixel_values"], ["mean"], axes=[2, 3], keepdims=0)], "mean",
                                  [value("pixel_values", 3, "height", "width")], [value("mean", 3)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(self.folder / "mean.onnx"))
        random = numpy.random.default_rng(0)
        for i in range(5):
            path = self.folder / "images" / ("b", "a")[i % 2] / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(random.integers(0, 256, (40, 50, 3), dtype=numpy.uint8)))

    def bench(self, *arguments, expect=0):
        answer = self.run_json("bench", "--model", "mean.onnx", "--engine", "onnxruntime", "--data-source", "images", *FAST, *arguments, expect=expect)
        return {row["batch_size"]: row for row in answer["results"]}, answer["notes"]

    def test_images_are_the_inputs_of_candidate_and_reference(self):
        rows, notes = self.bench("--batch-sizes", "1", "4", "--input-shape", "3,32,32")
        for batch in (1, 4):
            row = rows[batch]
            self.assertEqual((row["status"], row["verification"], row["data_source"], row["input_shape"]), ("completed", "verified", "images", f"({batch}, 3, 32, 32)"), row["message"])
        self.assertIn("mean.onnx: the inputs are images of 'images', the first 4 of 5 in the order of their paths, preprocessed as for ImageNet: the model has no "
                      "preprocessor_config.json", notes)
        self.assertEqual(self.bench("--batch-sizes", "4", "--input-shape", "3,32,32")[0][4]["input_hash"], rows[4]["input_hash"])

    def test_arrays_and_given_shapes_agree_or_are_refused(self):
        numpy.save(self.folder / "pixel_values.npy", numpy.ones((2, 3, 8, 6), "float32"))
        bench = lambda *arguments, expect: self.run_tool("bench", "--model", "mean.onnx", "--engine", "onnxruntime", "--data", "pixel_values.npy", *FAST, *arguments, expect=expect)
        bench("--shape", "pixel_values:Bx3x8x6", expect=0)
        for arguments in (["--shape", "pixel_values:Bx3x8x7"], ["--dim", "width=7"]):
            self.assertIn("contradicts --data: extent 4 of the input 'pixel_values' is 7, and its array is [2, 3, 8, 6]", bench(*arguments, expect=2).stderr)

    def test_too_few_and_damaged_images_cost_only_the_cells_that_need_them(self):
        damaged = self.folder / "images" / "b" / "2.png"  # the fourth: a/1, a/3, b/0, b/2, b/4
        damaged.write_bytes(damaged.read_bytes()[:500])
        rows, _ = self.bench("--batch-sizes", "2", "4", "8", expect=2)
        self.assertEqual((rows[2]["status"], rows[2]["verification"]), ("completed", "verified"))
        self.assertEqual(rows[4]["status"], "failed")
        self.assertIn("b/2.png cannot be read", rows[4]["message"].replace("'", ""))
        self.assertEqual(rows[8]["status"], "unsupported")
        self.assertIn("a batch of 8 needs as many images", rows[8]["message"])

    def test_a_folder_of_neither_arrays_nor_images_says_what_it_may_have(self):
        (self.folder / "images" / "b").rename(self.folder / "moved")
        (self.folder / "text").mkdir()
        result = self.run_tool("bench", "--model", "mean.onnx", "--data", "text", "--quiet", expect=2)
        self.assertIn("no .npy, .npz, .pb, .safetensors, .jpg or .png at all", result.stderr)


class GivenOutputs(tool.ToolTest):
    """y = 2x, with the test data that the ONNX model zoo keeps beside a model."""

    def setUp(self):
        super().setUp()
        row = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])
        two = numpy_helper.from_array(numpy.array([2], numpy.float32), "two")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "two"], ["y"])], "double", [row("x")], [row("y")], [two])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        folder = self.folder / "double"
        (folder / "test_data_set_0").mkdir(parents=True)
        onnx.save(model, str(folder / "model.onnx"))
        self.model, self.set = folder / "model.onnx", folder / "test_data_set_0"
        self.given(factor=2)

    def given(self, factor):
        x = numpy.array([[1, -2, 3.5]], numpy.float32)
        (self.set / "input_0.pb").write_bytes(pb(x, "x"))
        (self.set / "output_0.pb").write_bytes(pb((factor * x).astype(numpy.float32), "y"))

    def rows(self, *arguments, expect=0):
        rows = self.run_json("bench", "--model", self.model, "--engine", "onnxruntime", *FAST, *arguments, expect=expect)["results"]
        return {row["batch_size"]: row for row in rows}

    def test_they_are_the_reference_at_their_own_batch_and_other_rows_say_why_not(self):
        rows = self.rows("--batch-sizes", "1", "4")
        self.assertEqual((rows[1]["reference"], rows[1]["verification"], rows[1]["message"]), ("given", "verified", None))
        self.assertEqual(rows[1]["data_source"], str(self.set))
        self.assertEqual((rows[4]["reference"], rows[4]["verification"]), ("onnxruntime-noopt", "verified"))
        self.assertEqual(rows[4]["data_source"], "synthetic")
        self.assertEqual(rows[4]["message"], "the outputs given with the model are for (1, 3), not for this shape; "
                                             "compared with onnxruntime-noopt")

    def test_they_are_what_counts_where_they_differ(self):
        self.given(factor=3)
        rows = self.rows("--batch-sizes", "1", "4", expect=3)
        self.assertEqual((rows[1]["status"], rows[1]["reference"]), ("wrong", "given"))
        self.assertEqual((rows[4]["status"], rows[4]["reference"]), ("completed", "onnxruntime-noopt"))

    def quantise(self, error):
        """A model with quantised activations. The given outputs rounded one number in 16 to the next step, and are `error` times as large."""
        random = numpy.random.default_rng(0)
        weights, x = random.normal(size=(64, 8)).astype(numpy.float32), random.normal(size=(1, 64)).astype(numpy.float32)
        constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(numpy.float32(0.05), "step"),
                     numpy_helper.from_array(numpy.int8(0), "zero")]
        nodes = [helper.make_node("QuantizeLinear", ["x", "step", "zero"], ["q"]),
                 helper.make_node("DequantizeLinear", ["q", "step", "zero"], ["d"]), helper.make_node("MatMul", ["d", "w"], ["y"])]
        value = lambda name, extent: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", extent])
        graph = helper.make_graph(nodes, "quantised", [value("x", 64)], [value("y", 8)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(self.model))
        steps = numpy.round(x / numpy.float32(0.05))
        steps[0, ::16] += 1
        (self.set / "input_0.pb").write_bytes(pb(x, "x"))
        (self.set / "output_0.pb").write_bytes(pb((error * 0.05 * steps @ weights).astype(numpy.float32), "y"))

    def test_those_of_a_quantised_model_are_judged_by_what_quantising_costs(self):
        for error, verdict, status in ((1.0, "verified", 0), (1.3, "wrong", 3)):
            self.quantise(error)
            row = self.rows("--batch-sizes", "1", expect=status)[1]
            self.assertEqual((row["reference"], row["verification"]), ("given", verdict), row["message"])
            self.assertGreater(row["honest_error"], 0.005)
            self.assertEqual(row["honest_error"] * 3, row["rms_limit"])
            self.assertGreater(row["rms_error"], 0.002)

    def test_those_of_another_implementation_may_differ_in_the_last_places(self):
        for factor, verdict, status in ((2.00005, "verified", 0), (2.002, "wrong", 3)):
            self.given(factor)
            row = self.rows("--batch-sizes", "1", expect=status)[1]
            self.assertEqual((row["reference"], row["verification"]), ("given", verdict), row["message"])
            self.assertAlmostEqual(row["rms_limit"], 1e-4)
            self.assertLess(row["honest_error"], 1e-6)

    def test_damaged_ones_are_named_in_the_row(self):
        (self.set / "output_0.pb").write_bytes(b"\xff\xff")
        row = self.rows("--batch-sizes", "1")[1]
        self.assertEqual((row["reference"], row["verification"]), ("onnxruntime-noopt", "verified"))
        self.assertIn("the outputs given with the model are not used", row["message"])

    def test_data_of_the_users_own(self):
        data = self.folder / "data"
        data.mkdir()
        numpy.save(data / "x.npy", numpy.ones((2, 3), numpy.float32))
        rows = self.rows("--batch-sizes", "2", "--data", str(data))
        self.assertEqual((rows[2]["status"], rows[2]["data_source"]), ("completed", str(data)))

    def test_data_that_is_none_of_the_inputs_is_refused(self):
        for name, says in [("labels.npy", ["labels", "'x'"]), ("input_1.npy", ["input_1", "'x'"])]:
            data = self.folder / name[:-4]
            data.mkdir()
            numpy.save(data / "x.npy", numpy.ones((2, 3), numpy.float32))
            numpy.save(data / name, numpy.ones((2, 3), numpy.float32))
            refused = self.run_tool("bench", "--model", self.model, "--engine", "onnxruntime", "--data", data, *FAST, expect=2)
            for text in says:
                self.assertIn(text, refused.stderr)
            self.assertEqual(refused.stdout, "")

    def test_data_of_no_items_is_refused(self):
        numpy.save(self.folder / "x.npy", numpy.zeros((0, 3), numpy.float32))
        result = self.run_tool("bench", "--model", self.model, "--data", "x.npy", "--quiet", expect=2)
        self.assertIn("batch size 0", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_data_of_another_type_or_shape_is_refused(self):
        for name, array in [("type", numpy.ones((2, 3), numpy.int64)), ("shape", numpy.ones((2, 4), numpy.float32))]:
            data = self.folder / name
            data.mkdir()
            numpy.save(data / "x.npy", array)
            refused = self.run_tool("bench", "--model", self.model, "--engine", "onnxruntime", "--data", data, *FAST, expect=2)
            self.assertIn("input 'x' expects", refused.stderr)
        self.run_tool("bench", "--model", self.model, "--engine", "onnxruntime", "--data", "nowhere", *FAST, expect=2)


if __name__ == "__main__":
    tool.main()
