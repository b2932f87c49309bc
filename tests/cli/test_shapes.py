# SPDX-License-Identifier: Apache-2.0
"""Shapes by name: --shape and --dim, and what says that they are needed."""
import json
import shutil

import onnx
from onnx import TensorProto, helper
import tool

FAST = ["--iterations", "5", "--warmup", "1", "--quiet"]


def save(path, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*each) for each in inputs],
                              [helper.make_tensor_value_info(*each) for each in outputs], list(initializers))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


class ShapesTest(tool.ToolTest):
    def setUp(self):
        super().setUp()
        f, i = TensorProto.FLOAT, TensorProto.INT64
        # No symbol says anything, as Paddle's exporter writes it; sides must be even, or the sum is of two sizes.
        kernel = helper.make_tensor("k", f, [3, 3, 2, 2], [0.1 * n for n in range(36)])
        save(self.folder / "ocr.onnx", [helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
                                        helper.make_node("ConvTranspose", ["half", "k"], ["whole"], strides=[2, 2]),
                                        helper.make_node("Add", ["x", "whole"], ["y"], name="sum")],
             [("x", f, ["DynamicDimension.0", 3, "DynamicDimension.1", "DynamicDimension.2"])], [("y", f, ["DynamicDimension.0", 3, "DynamicDimension.1", "DynamicDimension.2"])], [kernel])
        save(self.folder / "named.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", f, ["N", 3, "height", "width"])], [("y", f, ["N", 3, "height", "width"])])
        save(self.folder / "paddle.onnx", [helper.make_node("Relu", ["x"], ["y"])], [("x", f, ["N", 3, "?", "?"])], [("y", f, ["N", 3, "?", "?"])])
        # An extent that no rule of assay knows.
        save(self.folder / "voice.onnx", [helper.make_node("Tanh", ["chunk"], ["y"])], [("chunk", f, ["unk__1", "unk__2"])], [("y", f, ["unk__1", "unk__2"])])
        save(self.folder / "text.onnx", [helper.make_node("Cast", ["ids"], ["y"], to=f)], [("ids", i, ["batch", "length"])], [("y", f, ["batch", "length"])])

    def rows(self, model, *arguments, engine="null", expect=0):
        return self.run_json("bench", "--model", model, "--engine", engine, *FAST, *arguments, expect=expect)["results"]

    def refused(self, model, *arguments, expect=2):
        return self.run_tool("bench", "--model", model, "--engine", "null", *FAST, *arguments, expect=expect).stderr


class Options(ShapesTest):
    def test_a_shape_follows_the_batch_sizes_or_fixes_the_batch(self):
        rows = self.rows("ocr.onnx", "--shape", "x:Bx3x48x320", "--batch-sizes", "1", "4")
        self.assertEqual([(row["batch_size"], row["input_shape"], row["given_shapes"]) for row in rows],
                         [(1, "(1, 3, 48, 320)", "x:Bx3x48x320"), (4, "(4, 3, 48, 320)", "x:Bx3x48x320")])
        for arguments in ([], ["--batch-sizes", "2"]):
            (row,) = self.rows("ocr.onnx", "--shape", "x:2x3x48x320", *arguments)
            self.assertEqual((row["batch_size"], row["input_shape"], row["given_shapes"]), (2, "(2, 3, 48, 320)", "x:Bx3x48x320"))

    def test_one_work_has_one_key_however_it_is_asked_for(self):
        keys = {self.rows("named.onnx", "--batch-sizes", "2", *arguments)[0]["task_key"]
                for arguments in (["--shape", "x:Bx3x48x320"], ["--shape", "x:2x3x48x320"], ["--dim", "height=48", "--dim", "width=320"], ["--dim", "height=48,width=320"])}
        self.assertEqual(len(keys), 1)
        other = self.rows("named.onnx", "--batch-sizes", "2", "--dim", "height=48,width=322")[0]
        self.assertNotIn(other["task_key"], keys)
        # What assay would have chosen anyway is the same work, with and without the option.
        self.assertEqual(self.rows("named.onnx", "--batch-sizes", "2")[0]["task_key"], self.rows("named.onnx", "--shape", "x:Bx3x224x224", "--batch-sizes", "2")[0]["task_key"])

    def test_a_sequence_length_may_be_given_by_the_shape(self):
        (row,) = self.rows("text.onnx", "--shape", "ids:Bx77", "--batch-sizes", "2")
        self.assertEqual((row["sequence_length"], row["input_shape"], row["given_shapes"]), (77, "(2, 77)", None))
        self.assertIn("--shape ids:Bx77 fixes the sequence length at 77, and --sequence-lengths requests 32", self.refused("text.onnx", "--shape", "ids:Bx77", "--sequence-lengths", "32"))
        rows = self.rows("text.onnx", "--shape", "ids:BxS", "--batch-sizes", "1", "--sequence-lengths", "16,32")
        self.assertEqual([row["input_shape"] for row in rows], ["(1, 16)", "(1, 32)"])

    def test_a_name_or_a_number_that_does_not_fit_ends_with_the_models_inputs(self):
        inputs = "the inputs: x float32 [N, 3, height, width]"
        for arguments, why in ((["--shape", "y:1x3x48x320"], "the model has no input 'y'"), (["--shape", "x:1x48x320"], "it has 3 extents, the input 'x' has 4"),
                               (["--shape", "x:1x1x48x320"], "extent 2 of the input 'x' is fixed at 3"), (["--shape", "x:1x3x48x320:int64"], "the input 'x' is float32"),
                               (["--dim", "widht=3"], "no open extent of the model is named 'widht'"),
                               (["--shape", "x:1x3x48x320", "--dim", "width=4"], "contradict each other: both are the extent 'width'")):
            message = self.refused("named.onnx", *arguments)
            self.assertIn(why, message)
            self.assertIn(inputs, message)
        self.assertIn("did you mean width?", self.refused("named.onnx", "--dim", "widht=3"))
        for arguments, why in ((["--shape", "x"], "give NAME:EXTENTS"), (["--shape", "x:0x3"], "the extent '0' is not valid"), (["--shape", "x:Bx3xHxW"], "'H' stands for a number"),
                               (["--shape", "x:9999999999999999999x3"], "is not valid"), (["--dim", "width=-1"], "give an integer from 1"), (["--dim", "width"], "give SYMBOL=N"),
                               (["--shape", "x:4x3x8x8", "--batch-sizes", "1", "8"], "--shape x:4x3x8x8 fixes the batch at 4, and --batch-sizes requests 1,8"),
                               (["--shape", "x:Bx3x8x8", "--input-shape", "3,8,8"], "cannot be combined")):
            self.assertIn(why, self.refused("named.onnx", *arguments))
        self.assertIn("more than this machine's memory", self.rows("named.onnx", "--shape", "x:1000000x3x1000000x1000", expect=2)[0]["message"])

    def test_an_extent_that_nothing_says_is_asked_for_with_an_option_to_copy(self):
        row = self.rows("voice.onnx", "--batch-sizes", "1", expect=1)[0]
        self.assertIn("the size of axis 1 (unk__2) is unknown", row["message"])
        self.assertIn("give it with --shape chunk:BxN", row["message"])
        (row,) = self.rows("voice.onnx", "--batch-sizes", "1", "--shape", "chunk:Bx512")
        self.assertEqual(row["input_shape"], "(1, 512)")

    def test_a_note_says_what_assay_chose_and_how_to_choose_otherwise(self):
        answer = self.run_json("bench", "--model", "named.onnx", "--engine", "null", "--batch-sizes", "1", *FAST)
        self.assertIn("named.onnx: the input 'x' has open extents; it is given [batch, 3, 224, 224]; other sizes: --shape x:Bx3xHxW, or --dim height=N --dim width=N",
                      answer["notes"])
        answer = self.run_json("bench", "--model", "named.onnx", "--engine", "null", "--batch-sizes", "1", "--shape", "x:Bx3x8x8", *FAST)
        self.assertNotIn("has open extents", " ".join(answer["notes"]))

    def test_two_shapes_of_one_model_in_a_custom_file_are_two_cells(self):
        (self.folder / "models.json").write_text(json.dumps({
            "narrow": {"name": "ocr.onnx", "family": "vision", "shape": "x:Bx3x48x320"},
            "wide": {"name": "ocr.onnx", "family": "vision", "shape": ["x:2x3x48x640"]},
            "dims": {"name": "named.onnx", "family": "vision", "dim": ["height=48", "width=320"]}}))
        self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engines", "null", "--batch-sizes", "2", "--launches", "1", "--iterations", "5",
                      "--output-dir", "out", "--quiet", expect=0)
        (file,) = (self.folder / "out").glob("*results*.json")
        vision = json.loads(file.read_text())["benchmarks"]["vision"]
        shapes = {model: list(next(iter(vision[model].values()))["benchmark_results"]) for model in vision}
        self.assertEqual(shapes, {"narrow": ["batch_2_shape_x-Bx3x48x320"], "wide": ["batch_2_shape_x-Bx3x48x640"], "dims": ["batch_2_shape_x-Bx3x48x320"]})
        (self.folder / "models.json").write_text(json.dumps({"wrong": {"name": "ocr.onnx", "family": "vision", "shape": "x:0"}}))
        result = self.run_tool("run", "--models-set", "custom", "--custom-models", "models.json", "--engines", "null", "--output-dir", "out", expect=2)
        self.assertIn('models.json: "wrong"', result.stderr)
        self.assertIn("the extent '0' is not valid", result.stderr)

    def test_a_suite_gives_shapes_in_its_configuration(self):
        config = {"model_families": {"vision": [{"name": "ocr.onnx", "shape": "x:Bx3x48x320"}, "named.onnx"]}, "engines": ["null"], "hardware_types": ["cpu"],
                  "batch_sizes": [1], "launches": 1, "benchmark_iterations": 5, "warmup_iterations": 1}
        (self.folder / "suite.json").write_text(json.dumps(config))
        answer = self.run_json("suite", "--config", "suite.json", "--output-dir", "out", "--no-plots", "--quiet")
        vision = answer["benchmarks"]["vision"]
        self.assertEqual(list(next(iter(vision["ocr.onnx"].values()))["benchmark_results"]), ["batch_1_shape_x-Bx3x48x320"])
        self.assertEqual(list(next(iter(vision["named.onnx"].values()))["benchmark_results"]), ["batch_1"])
        config["model_families"]["vision"][0]["shape"] = "x:Bx3x0x320"
        (self.folder / "suite.json").write_text(json.dumps(config))
        self.assertIn("the extent '0' is not valid", self.run_tool("suite", "--config", "suite.json", "--output-dir", "out", expect=2).stderr)

    def test_show_and_specialise_take_shapes(self):
        facts = self.run_json("zoo", "show", "ocr.onnx", "--shape", "x:4x3x48x320")
        self.assertEqual((facts["batch_size"], facts["input_shapes"]), (4, {"x": [4, 3, 48, 320]}))
        written = self.run_json("zoo", "specialise", "named.onnx", "-o", "fixed.onnx", "--dim", "height=48", "--dim", "width=320")
        self.assertEqual(written["inputs"], [{"name": "x", "shape": [1, 3, 48, 320]}])
        error = self.run_tool("zoo", "show", "ocr.onnx", "--shape", "x:1x3x47x320", expect=2).stderr
        self.assertIn("other sizes: --shape x:Bx3xHxW", error)


class Runs(ShapesTest):
    ENGINES = ["onnxruntime", "openvino"]

    def verify(self, model, *arguments, expect=0):
        return self.run_json("verify", model, "--engines", *self.ENGINES, "--batch-sizes", "2", "--quiet", *arguments, expect=expect)["results"]

    def test_given_shapes_are_verified_on_both_runtimes(self):
        shape = ["--shape", "x:Bx3x48x320"]
        for arguments in (["ocr.onnx", *shape], ["named.onnx", "--dim", "height=48", "--dim", "width=320"], ["paddle.onnx", *shape], ["paddle.onnx", *shape, "--dynamic-shapes"]):
            rows = self.verify(*arguments)
            self.assertEqual([(row["engine"], row["verification"], row["input_shape"]) for row in rows], [(engine, "verified", "(2, 3, 48, 320)") for engine in self.ENGINES],
                             [row["message"] for row in rows])

    def test_shapes_that_contradict_each_other_in_the_graph_are_answered_with_the_option(self):
        for row in self.verify("ocr.onnx", "--shape", "x:Bx3x47x320", expect=2):
            self.assertEqual(row["status"], "failed", row["message"])
            self.assertIn("sum", row["message"])
            self.assertIn("the file leaves extents open, and the inputs were (2, 3, 47, 320); other sizes: --shape x:Bx3xHxW", row["message"])

    def test_a_model_runs_whatever_its_name(self):
        for name in ("model.bin", "model", "model.pt", "model.xml"):
            shutil.copy(self.folder / "named.onnx", self.folder / name)
            rows = self.verify("./" + name, "--shape", "x:Bx3x8x8")
            self.assertEqual([row["verification"] for row in rows], ["verified"] * 2, [name, *(row["message"] for row in rows)])


if __name__ == "__main__":
    tool.main()
