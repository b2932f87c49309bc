# SPDX-License-Identifier: Apache-2.0
"""ONNX's operator tests on real runtimes: a handful of each class, what the command prints, and all of them against
docs/conformance.md."""
import pathlib
import re
import shutil
import unittest

import tool

TESTS = pathlib.Path(tool.DEPS) / "onnx-node-tests"
PAGE = tool.SOURCE / "docs" / "conformance.md"
STATUSES = ["passed", "unsupported", "wrong", "failed"]


@unittest.skipUnless(TESTS.is_dir(), "the operator tests are not installed: setup/fetch dev")
class Some(tool.ToolTest):
    def some(self, *names):
        """A folder with these tests."""
        folder = self.folder / "tests"
        for name in names:
            shutil.copytree(TESTS / name, folder / name)
        return folder

    def check_counts(self, counts, tests):
        self.assertEqual(sum(counts[status] for status in STATUSES), tests)
        for status in STATUSES:
            self.assertEqual(sum(each[status] for each in counts["by_class"].values()), counts[status])

    def test_tests_of_each_class_on_every_engine(self):
        engines = self.engines(lambda each: each["needs_model"])
        folder = self.some("test_add", "test_softmax_axis_0", "test_reshape_one_dim", "test_dft", "test_attention_4d_causal_fp16",
                           "test_cast_INT4_to_FLOAT", "test_sequence_insert_at_back", "test_equal_string")
        document = self.run_json("conform", "--engine", ",".join(engines), folder)
        self.assertEqual(document["engine"], ",".join(engines))
        self.check_counts(document, 8)
        status = {test["name"]: test["engines"] for test in document["tests"]}
        for engine in engines:
            self.check_counts(document["engines"][engine], 8)
            self.assertRegex(document["engines"][engine]["version"], r"^\d+\.\d+")
            for name in ("test_add", "test_softmax_axis_0", "test_reshape_one_dim", "test_attention_4d_causal_fp16"):
                self.assertEqual(status[name][engine], "passed", name)
            for name in ("test_cast_INT4_to_FLOAT", "test_sequence_insert_at_back", "test_equal_string"):
                self.assertEqual(status[name][engine], "unsupported", name)
        kinds = {test["name"]: test["class"] for test in document["tests"]}
        self.assertEqual((kinds["test_add"], kinds["test_reshape_one_dim"], kinds["test_cast_INT4_to_FLOAT"], kinds["test_sequence_insert_at_back"]),
                         ("plain", "shapes_as_inputs", "types", "control_flow"))

    def test_specialised_models_have_shape_inputs_as_constants(self):
        folder = self.some("test_reshape_one_dim", "test_tile", "test_slice", "test_reduce_sum_keepdims_random", "test_resize_upsample_sizes_nearest")
        self.assertEqual(self.run_json("conform", "--static", folder)["passed"], 5)

    def test_expected_values_that_differ_are_found(self):
        folder = self.some("test_abs", "test_neg")
        shutil.copy(folder / "test_neg" / "test_data_set_0" / "output_0.pb", folder / "test_abs" / "test_data_set_0" / "output_0.pb")
        document = self.run_json("conform", folder, expect=3)
        self.assertEqual((document["passed"], document["wrong"]), (1, 1))
        message = next(test["message"] for test in document["tests"] if test["status"] == "wrong")
        self.assertRegex(message, r"^output 'y': element \d+ is .*, expected .*; \d+ of 60 elements differ$")
        text = self.run_tool("conform", folder, expect=3)
        self.assertIn("wrong on onnxruntime, test_abs: output 'y'", text.stdout)
        self.assertIn("2 tests, passed 1, unsupported 0, wrong 1, failed 0", text.stdout)
        self.assertIn("onnxruntime: 2 of 2 tests", text.stderr)
        page = self.run_tool("conform", folder, "--output-format", "md", expect=3)
        self.assertIn("| wrong | `test_abs` |", page.stdout)

    def test_a_damaged_test_fails_and_the_others_go_on(self):
        folder = self.some("test_abs", "test_neg")
        (folder / "test_abs" / "model.onnx").write_bytes(b"no model")
        document = self.run_json("conform", folder, expect=1)
        self.assertEqual((document["passed"], document["failed"]), (1, 1))

    def test_a_folder_without_tests_and_an_unknown_engine_are_errors(self):
        error = self.run_json("conform", self.folder, expect=2)["error"]
        self.assertEqual(error["code"], "not_found")
        self.assertIn("no operator tests in", error["message"])
        self.assertIn("there is no folder", self.run_json("conform", "nothing-here", expect=2)["error"]["message"])
        self.assertEqual(self.run_json("conform", "--engine", "onxruntime", self.some("test_abs"), expect=2)["error"]["code"], "not_found")


@unittest.skipUnless(TESTS.is_dir(), "the operator tests are not installed: setup/fetch dev")
class EveryLowered(tool.ToolTest):
    """All tests on the engines for which assay lowers: what differs there is a fault of assay, not of a runtime."""

    def counts_of_page(self, engine):
        """The version and the counts of an engine on the page: all, and of each class."""
        text = PAGE.read_text(encoding="utf-8")
        read = lambda numbers: dict(zip(STATUSES, map(int, numbers.split(" | "))))
        version, numbers = re.search(rf"^\| {engine} (\S+) \| ([\d |]+) \|$", text, re.MULTILINE).groups()
        section = text.partition(f"\n### {engine} {version}\n")[2].partition("\n### ")[0]
        return version, read(numbers), {kind: read(counts) for kind, counts in re.findall(r"^\| (\w+) \| ([\d |]+) \|$", section, re.MULTILINE)}

    def test_none_is_wrong_or_failed_and_the_counts_are_those_of_the_page(self):
        for engine in self.engines(lambda each: each["lowered_to"]):
            document = self.run_json("conform", "--engine", engine, TESTS, expect=None, timeout=3000)
            with self.subTest(engine=engine):
                differ = {each["name"]: each["message"] for each in document["tests"] if each["status"] in ("wrong", "failed")}
                self.assertEqual((document["wrong"], document["failed"], differ), (0, 0, {}))
                self.assertGreaterEqual(document["passed"], 1200)
                counts = {status: document[status] for status in STATUSES}
                self.assertEqual((document["version"], counts, document["by_class"]), self.counts_of_page(engine),
                                 "record the page again: tests/conformance/record.py")


if __name__ == "__main__":
    tool.main()
