# SPDX-License-Identifier: Apache-2.0
"""The parameters of the bench-runner guide as options of `assay bench`, with the null engine."""
import tool

FAST = ["--engine", "null", "--iterations", "3", "--warmup", "0", "--quiet"]


class Parameters(tool.ToolTest):
    def rows(self, *arguments, expect=0):
        return self.run_json("bench", "--model", "resnet50", "--size", "tiny", *FAST, *arguments, expect=expect)["results"]

    def refused(self, *arguments):
        result = self.run_tool("bench", "--model", "resnet50", "--size", "tiny", *FAST, *arguments, expect=2)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_the_shape_of_the_input(self):
        shape, text = (3, 224, 224), "3,224,224"
        rows = self.rows("--input-shape", text, "--batch-sizes", "1", "2")
        self.assertEqual([row["input_shape"] for row in rows], [str((batch, *shape)) for batch in (1, 2)])
        rows = self.rows("--input-shape", "2," + text)  # its batch is the default one
        self.assertEqual([row["input_shape"] for row in rows], [str((2, *shape))])
        error = self.refused("--input-shape", "3,7,7")
        self.assertIn("--input-shape 3,7,7 does not fit the input 'pixel_values'", error)
        self.assertIn(f"valid: --input-shape {text}", error)
        self.assertIn("--input-shape: '0' is not valid", self.refused("--input-shape", "3,0,7"))

    def test_hardware_that_is_preferred_and_not_here_is_replaced_and_the_reason_printed(self):
        notes = self.run_json("bench", *FAST, "--device-prefer", "tpu")["notes"]
        self.assertIn("--device-prefer: tpu is not available (the engine 'null' does not support it); cpu of null is used", notes)
        rows = self.rows("--device-prefer", "cpu")
        self.assertEqual({row["hardware"] for row in rows}, {"cpu"})
        self.assertIn("--device-prefer tpu and --hardware cpu cannot be combined", self.refused("--device-prefer", "tpu", "--hardware", "cpu"))
        self.assertIn("unknown value 'gpu'", self.refused("--device-prefer", "gpu"))

    def test_the_folder_of_results_is_made_and_one_that_cannot_be_is_refused_before_anything_runs(self):
        self.rows("--csv-output-dir", "new/deep", "--batch-sizes", "1")
        self.assertEqual(len(list((self.folder / "new" / "deep").glob("*.csv"))), 1)
        (self.folder / "file").write_text("")
        error = self.refused("--csv-output-dir", "file/raw")
        self.assertIn("file/raw", error)

    def test_the_other_parameters_have_the_guides_names(self):
        rows = self.rows("--dtype", "float32", "--data-source", "synthetic", "--verbose", "--batch-sizes", "1")
        self.assertEqual([(row["dtype"], row["data_source"]) for row in rows], [("float32", "synthetic")])
        self.assertIn("unknown value 'float8'", self.refused("--dtype", "float8"))


if __name__ == "__main__":
    tool.main()
