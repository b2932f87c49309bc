# SPDX-License-Identifier: Apache-2.0
"""--output-format json: one document on stdout, also of what fails and of commands that measure nothing."""
import json
import pathlib
import tool


class Failures(tool.ToolTest):
    """The document says what stderr says, and the exit status is the same as without it."""

    def failed(self, *arguments, code, says, status):
        plain = self.run_tool(*arguments, expect=status)
        self.assertEqual(plain.stdout, "")
        result = self.run_tool(*arguments, "--output-format", "json", expect=status)
        document = json.loads(result.stdout)
        self.assertEqual(sorted(document), ["error", "schema_version"])
        error = document["error"]
        self.assertEqual(sorted(error), ["code", "context", "hint", "message"])
        self.assertEqual(error["code"], code)
        self.assertIn(says, error["message"])
        self.assertIn(f"error[{code}]: {error['message']}", result.stderr)
        return error

    def test_an_unknown_model(self):
        error = self.failed("bench", "--model", "resnet51", "--engine", "null", "--quiet", code="invalid_argument", says="resnet51", status=2)
        self.assertIn("resnet50", error["hint"])
        self.assertIn("while preparing resnet51", error["context"])

    def test_a_spool_that_does_not_exist_is_not_an_empty_one(self):
        new = ("--db-path", "new.duckdb")
        self.failed("db", "ingest", "--spool", "tpyo", *new, code="not_found", says="there is no spool 'tpyo'", status=2)
        self.assertFalse((self.folder / "new.duckdb").exists())
        self.assertEqual(self.run_json("db", "ingest", *new)["bundles"], 0)  # the default one may be absent

    def test_an_unknown_hardware(self):
        self.failed("run", "--hardware", "gpu9", "--quiet", code="invalid_argument", says="gpu9", status=2)

    def test_wrong_options(self):
        self.failed("bench", "--wings", code="invalid_argument", says="--wings", status=2)
        self.failed("run", "--models-set", "tiny", code="invalid_argument", says="tiny", status=2)
        self.failed("fly", code="invalid_argument", says="unknown command 'fly'", status=2)

    def test_what_is_not_built(self):
        self.failed("variants", code="not_built", says="variants", status=2)

    def test_a_missing_database(self):
        self.failed("db", "info", code="not_found", says="benchmark_db.duckdb", status=2)

    def test_the_other_spelling_of_the_option(self):
        result = self.run_tool("db", "info", "--output-format=json", expect=2)
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "not_found")


class Database(tool.ToolTest):
    def test_every_command_answers(self):
        made = self.run_json("db", "init")
        self.assertEqual((made["database"], made["moved_aside"]), ("benchmark_db.duckdb", []))
        self.assertEqual(made["schema_version"], "1.0")
        rows = self.null("--save", batch="1 2")
        saved = self.run_tool("bench", "--engine", "null", "--iterations", "5", "--save", "--db-path", "other.duckdb", expect=0)
        self.assertIn("saved in the database 'other.duckdb'", saved.stderr)
        info = self.run_json("db", "info")
        self.assertEqual((info["runs"], info["results"], info["bundles"]), (1, 2, 2))
        self.assertEqual(info["samples"], sum(row["iterations"] for row in rows))
        self.assertGreater(info["database_bytes"], 0)
        self.assertTrue((self.folder / "benchmark_db.snapshot.duckdb").is_file(), "readers get it while a run writes")
        self.assertEqual(self.run_json("db", "ingest"), {"schema_version": "1.0", "database": "benchmark_db.duckdb", "bundles": 0,
                                                         "samples": 0, "known": 2, "refused": []})
        self.assertEqual(self.run_json("db", "verify")["findings"], [])
        rebuilt = self.run_json("db", "rebuild")
        self.assertEqual((rebuilt["bundles"], rebuilt["samples"], rebuilt["kept"]), (2, info["samples"], None))
        again = self.run_json("db", "init", "--overwrite")
        self.assertEqual(len(again["moved_aside"]), 2)

    def test_damage_is_a_finding(self):
        self.null("--save")
        (bundle,) = self.spool_bundles()
        (bundle / "manifest.json").write_text("{}")
        (finding,) = self.run_json("db", "verify", expect=3)["findings"]
        self.assertEqual(finding["code"], "mismatch")
        (refused,) = self.run_json("db", "rebuild", expect=1)["refused"]
        self.assertIn("manifest.json", refused["message"])


class Zoo(tool.ToolTest):
    def test_build_tells_what_it_built(self):
        built = self.run_json("zoo", "build", "prajjwal1/bert-tiny", "-o", "tiny.onnx")
        self.assertEqual((built["architecture"], built["class"], built["seeded"]), ("bert", "BertModel", True))
        self.assertEqual(built["parameter_count"], 4385920)
        self.assertEqual(built["outputs"], ["last_hidden_state", "pooler_output"])
        self.assertTrue((self.folder / built["path"]).is_file())

    def test_show_tells_without_building(self):
        facts = self.run_json("zoo", "show", "resnet50")
        self.assertEqual((facts["architecture"], facts["class"], facts["source"]), ("resnet", "ResNetForImageClassification", "seeded"))
        self.assertEqual(facts["parameter_count"], 25557032)
        self.assertEqual(facts["input_shapes"], {"pixel_values": [1, 3, 224, 224]})
        self.assertEqual(facts["flops_counted"], 1.0)
        self.assertAlmostEqual(facts["flops"] / 1e9, 8.2, delta=0.1)  # 4.1 G multiply-adds
        self.assertEqual(self.run_json("zoo", "show", "resnet50", "--batch-sizes", "8")["flops"], 8 * facts["flops"])
        llama = self.run_json("zoo", "show", "meta-llama/Llama-2-7b-hf")
        self.assertEqual(llama["parameter_count"], 6738415616)
        self.assertLess(sum(path.stat().st_blocks for path in self.folder.rglob("*")) * 512, 1 << 24, "no weights were made")
        self.assertEqual(self.run_json("zoo", "show", "xlstm", expect=2)["error"]["code"], "not_built")

    def test_show_takes_as_many_tokens_as_the_model_has_positions_for(self):
        facts = self.run_json("zoo", "show", "clip")
        self.assertEqual((facts["sequence_length"], facts["input_shapes"]["input_ids"]), (77, [1, 77]))
        error = self.run_json("zoo", "show", "clip", "--sequence-lengths", "78", expect=1)["error"]
        self.assertEqual(error["message"], "sequence length 78 is beyond the 77 positions of the model")

    def test_a_model_is_classified_by_its_configuration(self):
        facts = self.run_json("zoo", "show", "prajjwal1/bert-tiny", "--class", "BertForMaskedLM")
        self.assertEqual([facts[key] for key in ("family", "category", "task", "classified_by")],
                         ["embedding", "text_encoders", "fill-mask", "configuration"])
        self.run_tool("zoo", "build", "prajjwal1/bert-tiny", "--class", "BertForMaskedLM", "-o", "tiny.onnx", expect=0)
        again = self.run_json("zoo", "show", "tiny.onnx")
        self.assertEqual((again["source"], again["task"], again["classified_by"]), ("file", "fill-mask", "configuration"))
        (row,) = self.null("--model", "tiny.onnx")
        self.assertEqual((row["family"], row["category"]), ("embedding", "text_encoders"))

    def test_a_file_of_others_is_classified_by_its_graph(self):
        file = pathlib.Path(tool.DEPS) / "onnx" / "onnx" / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
        facts = self.run_json("zoo", "show", file)
        self.assertEqual([facts[key] for key in ("family", "category", "task", "classified_by")],
                         ["vision", "vision", "image-classification", "graph"])
        self.assertIn("task           image-classification (family vision, category vision), classified by its graph\n", self.run_tool("zoo", "show", file).stdout)
        (row,) = self.null("--model", file)
        self.assertEqual((row["family"], row["category"]), ("vision", "vision"))


if __name__ == "__main__":
    tool.main()
