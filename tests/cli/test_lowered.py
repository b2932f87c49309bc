# SPDX-License-Identifier: Apache-2.0
"""Models on the engines for which assay lowers them: each model of the sets is verified, tokens are generated, and what is not verified
is listed here with its reason."""
import csv
import json

import tool

# The rows that are not `verified`: by engine, precision, set and model, the status, the verdict and what the message says.
ROUNDED = ("completed", "ill_conditioned", "the error of honest arithmetic")
EXCEPTIONS = {
    ("libtorch", "bfloat16", "key", "t5"): ROUNDED,
    ("libtorch", "bfloat16", "small", "t5"): ROUNDED,
}
VERIFIED = ("completed", "verified", "")


class Lowered(tool.ToolTest):
    def lowered(self):
        return self.engines(lambda each: each["lowered_to"])


class Sets(Lowered):
    """All models of a set, one shape each, with a prompt of 32 tokens and 4 further tokens where they generate."""

    def check(self, models, engines, precision="float32", size=()):
        done = self.run_tool("run", "--models-set", models, *size, "--hardware", "cpu", "--engines", *engines, "--precision", precision, "--batch-sizes", 2,
                             "--sequence-lengths", 32, "--output-tokens", 4, "--verify-only", "--timeout", 3000, "--output-dir", "out", "--quiet", timeout=10000)
        tables = list((self.folder / "out").glob("benchmark_results_*.csv"))
        self.assertEqual(len(tables), 1, done.stderr)
        with tables[0].open(encoding="utf-8") as table:
            rows = {(row["engine"], row["model"]): row for row in csv.DictReader(table)}
        names = [each["name"] for each in json.loads((tool.SOURCE / "zoo" / "sets.json").read_text())[models]]
        self.assertEqual(set(rows), {(engine, name) for engine in engines for name in names})
        for (engine, name), row in rows.items():
            status, verdict, reason = EXCEPTIONS.get((engine, precision, models, name), VERIFIED)
            with self.subTest(engine=engine, model=name):
                said = f"{row['reason_code']}: {row['message']}; error {row['max_abs_error']}, limit {row['error_limit']}"
                self.assertEqual((row["status"], row["verification"]), (status, verdict), said)
                self.assertIn(reason, row["message"])
                self.assertEqual((row["effective_precision"], row["reference"]), (precision, "onnxruntime-noopt"))
                if row["output_tokens"]:
                    self.assertEqual((row["output_tokens"], row["kv_cache"]), ("4", "static"))
        self.assertEqual(done.returncode, 0, done.stdout)


class KeyModels(Sets):
    def test_every_key_model_is_verified_in_float32(self):
        self.check("key", self.lowered(), size=("--size", "tiny"))


class SmallSet(Sets):
    def test_every_model_of_the_small_set_is_verified_in_float32(self):
        self.check("small", self.lowered())


class SetsInBfloat16(Sets):
    def test_every_key_model_is_verified_in_bfloat16(self):
        self.check("key", ["libtorch"], "bfloat16", ("--size", "tiny"))

    def test_every_model_of_the_small_set_is_verified_in_bfloat16(self):
        self.check("small", ["libtorch"], "bfloat16")


class Goldens(Lowered):
    """Small models: seconds for each."""

    def rows(self, golden, *arguments, precision="float32"):
        rows = self.run_json("bench", "--model-id", tool.SOURCE / "tests" / "goldens" / golden, "--hardware", "cpu", "--iterations", 4, "--warmup", 1,
                             "--precision", precision, *arguments)["results"]
        for row in rows:
            self.assertEqual((row["status"], row["verification"], row["effective_precision"]), ("completed", "verified", precision), row)
        return rows


class Generation(Goldens):
    def test_a_decoder_and_an_encoder_decoder_generate_tokens(self):
        for golden in ("llama", "t5"):
            engines = self.lowered()
            rows = self.rows(golden, "--engines", *engines, "--batch-sizes", 2, "--sequence-lengths", 4, "--output-tokens", 1, 7)
            self.assertEqual(len(rows), len(engines) * 2)
            for row in rows:
                self.assertEqual((row["kv_cache"], row["reference"]), ("static", "onnxruntime-noopt"))
                compared = {1: "0", 7: "0, 3, 6"}[row["output_tokens"]]
                self.assertTrue(row["checked"].startswith(f"4 sets, 1 padded; logits after {compared} tokens; again after sampling; "), row["checked"])
                self.assertRegex(row["checked"], r" token ids of \d+ generations$")
                self.assertGreater(row["ttft_ms"], 0)
                self.assertEqual(row["tpot_ms"] is None, row["output_tokens"] == 1)

    def test_a_decoder_generates_tokens_in_several_streams(self):
        for engine in self.lowered():
            (row,) = self.rows("llama", "--engine", engine, "--batch-sizes", 2, "--sequence-lengths", 4, "--output-tokens", 7, "--streams", 2)
            self.assertEqual((row["streams"], row["kv_cache"]), (2, "static"))


class SixteenBits(Goldens):
    def test_a_model_is_verified_in_float16(self):
        (row,) = self.rows("bert", "--engine", "libtorch", "--batch-sizes", 2, "--sequence-lengths", 16, precision="float16")
        self.assertGreater(row["max_abs_error"], 0, "float16 leaves a trace")

    def test_models_are_verified_in_bfloat16(self):
        for golden in ("bert", "whisper"):
            for row in self.rows(golden, "--engine", "libtorch", "--batch-sizes", 2, "--sequence-lengths", 16, "--output-tokens", 3, precision="bfloat16"):
                self.assertGreater(row["max_abs_error"], 0, "bfloat16 leaves a trace")


if __name__ == "__main__":
    tool.main()
