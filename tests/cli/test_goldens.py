# SPDX-License-Identifier: Apache-2.0
"""The goldens of the large collection that passed once: none may stop passing, on any engine that is here, and no
other may fail."""
import importlib.util
import json
import pathlib
import unittest

import tool

LIST = tool.SOURCE / "tests" / "goldens" / "passing.txt"
# One of each kind of model; decoders have a step with a past.
LOWERED = ["albert", "bart", "bert", "clip", "convnext", "deberta-v2", "detr", "distilbert", "electra", "gpt2", "llama", "regnet", "resnet",
           "roberta", "segformer", "swin", "t5", "vit", "wav2vec2", "whisper"]


def names():
    return [line for line in LIST.read_text().split("\n") if line]


class Passing(tool.ToolTest):
    def test_the_list_is_sorted_and_without_doubles(self):
        self.assertEqual(names(), sorted(set(names())))

    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_rows_name_the_goldens_that_pass(self):
        spec = importlib.util.spec_from_file_location("record", LIST.parent / "record.py")
        record = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(record)
        kept = json.loads((tool.SOURCE / "zoo" / "goldens.json").read_text())["goldens"]
        self.assertEqual(kept, record.passed(tool.GOLDENS), "run tests/goldens/record.py $ASSAY_GOLDENS_DIR")

    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_every_golden_of_the_list_passes_on_each_engine_and_none_fails(self):
        engines = self.engines(lambda each: each["needs_model"] and "onnx" in each["formats"])
        self.assertIn("onnxruntime", engines)
        check_all(self, engines)


def check_all(test, engines):
    """All goldens, also those that are not in the list: they are refused by name."""
    for engine in engines:
        result = test.run_json("zoo", "check", tool.GOLDENS, "--engine", engine, expect=None, timeout=5000)
        with test.subTest(engine=engine):
            found = {each["name"]: each for each in result["results"]}
            test.assertEqual({name: found.get(name) for name in names() if found.get(name, {}).get("status") != "passed"}, {})
            test.assertEqual(result["failed"], 0, [each for each in result["results"] if each["status"] == "failed"])
            for each in result["results"]:
                if each["status"] == "unsupported":
                    test.assertIn("unsupported", each["message"])


@unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
class Lowered(tool.ToolTest):
    """Engines that read no ONNX: assay lowers the models for them."""

    def test_a_golden_of_each_kind_of_model_passes(self):
        goldens = self.folder / "goldens"
        goldens.mkdir()
        for name in LOWERED:
            (goldens / name).symlink_to(pathlib.Path(tool.GOLDENS) / name)
        for engine in self.engines(lambda each: each["lowered_to"]):
            result = self.run_json("zoo", "check", goldens, "--engine", engine, expect=None, timeout=3000)
            with self.subTest(engine=engine):
                self.assertEqual({each["name"]: each["message"] for each in result["results"] if each["status"] != "passed"}, {})
                self.assertEqual(result["passed"], len(LOWERED))


@unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
class EveryLowered(tool.ToolTest):
    def test_every_golden_of_the_list_passes_on_each_engine_and_none_fails(self):
        self.assertGreaterEqual(len(names()), 120)
        check_all(self, self.engines(lambda each: each["lowered_to"]))


if __name__ == "__main__":
    tool.main()
