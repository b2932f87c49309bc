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
        engines = [each["name"] for each in self.run_json("engines")["engines"]
                   if each["available"] and each["needs_model"] and "onnx" in each["formats"]]
        self.assertIn("onnxruntime", engines)
        for engine in engines:
            with self.subTest(engine=engine):
                result = self.run_json("zoo", "check", tool.GOLDENS, "--engine", engine, expect=None, timeout=1500)
                status = {each["name"]: each["status"] for each in result["results"]}
                self.assertEqual({name: status.get(name) for name in names()}, {name: "passed" for name in names()})
                self.assertEqual(result["failed"], 0, [r for r in result["results"] if r["status"] == "failed"])
                for each in result["results"]:
                    if each["status"] == "unsupported":
                        self.assertIn("unsupported", each["message"])


class ForLoweredModels(tool.ToolTest):
    """Engines that read no ONNX: assay lowers the models for them."""

    def check(self, names):
        goldens = self.folder / "goldens"
        goldens.mkdir()
        for name in names:
            (goldens / name).symlink_to(pathlib.Path(tool.GOLDENS) / name)
        engines = [each["name"] for each in self.run_json("engines")["engines"] if each["available"] and each["lowered_to"]]
        for engine in engines:
            with self.subTest(engine=engine):
                yield engine, self.run_json("zoo", "check", goldens, "--engine", engine, expect=None, timeout=3000)


class Lowered(ForLoweredModels):
    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_a_golden_of_each_kind_of_model_passes(self):
        for engine, result in self.check(LOWERED):
            status = {each["name"]: each["message"] for each in result["results"] if each["status"] != "passed"}
            self.assertEqual(status, {}, engine)
            self.assertEqual(result["passed"], len(LOWERED))


class EveryLowered(ForLoweredModels):
    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_120_goldens_pass_and_the_others_are_refused_by_name(self):
        for engine, result in self.check(names()):
            self.assertEqual(result["failed"], 0, [r for r in result["results"] if r["status"] == "failed"])
            self.assertGreaterEqual(result["passed"], 120, engine)
            for each in result["results"]:
                if each["status"] == "unsupported":
                    self.assertIn("not supported", each["message"])


if __name__ == "__main__":
    tool.main()
