# SPDX-License-Identifier: Apache-2.0
"""What a person reads first: the help, and what is said of words that assay does not know."""
import json
import re
import tool

COMMANDS = ["run", "bench", "verify", "hardware", "engines", "doctor", "zoo", "zoo list", "zoo build", "zoo show", "zoo specialise", "zoo check",
            "db", "db init", "db rebuild", "db ingest", "db verify", "db info", "db import", "db export", "cache"]
GROUPS = ["Model:", "Matrix of cells (each combination is measured):", "Measuring:", "Output:", "Storage:"]


class Help(tool.ToolTest):
    def help(self, *command):
        return self.run_tool(*command, "--help", expect=0).stdout

    def test_it_fits_80_columns(self):
        for command in ["", *COMMANDS]:
            for line in self.help(*command.split()).splitlines():
                self.assertLessEqual(len(line), 80, f"{command}: {line}")
        self.assertLess(len(self.help().splitlines()), 43)

    def test_the_first_screen_has_three_commands_with_an_example_each(self):
        lines = self.help().splitlines()
        start = lines.index("Start with:")
        self.assertLess(start, 10)
        first = lines[start + 1:start + 7]
        self.assertEqual([line.split()[0] for line in first[::2]], ["run", "bench", "verify"])
        for command, example in zip(first[::2], first[1::2]):
            self.assertTrue(example.strip().startswith(f"$ assay {command.split()[0]} "), example)
        rest = "\n".join(lines[start + 7:])
        for group in ("This machine:", "Models:", "Results and files:"):
            self.assertIn(group, rest)

    def test_options_are_in_groups(self):
        for command in ("run", "bench", "verify"):
            lines = self.help(command).splitlines()
            places = [lines.index(group) for group in GROUPS]
            self.assertEqual(places, sorted(places), command)

    def test_values_have_names(self):
        for command in COMMANDS:
            for kind in ("TEXT", "INT", "UINT", "FLOAT", "BOOLEAN", "ENUM", "..."):
                self.assertNotIn(kind, self.help(*command.split()).replace("[TEXT]", "").replace("  TEXT ", ""), command)
        text = self.help("bench")
        for shown in ("--batch-sizes, --batch-size N[,N…]", "--precision float32|float16|bfloat16|runtime|as_is", "--kv-cache growing|static|runtime",
                      "--output-dir, --csv-output-dir FOLDER", "--timeout SECONDS", "--db-path, --db FILE", "--output-format text|json"):
            self.assertIn(shown, text)

    def default_of(self, command, option):
        lines = iter(self.help(command).splitlines())
        entry = next(line for line in lines if re.match(rf"  (--[a-z-]+, )*{option}[ ,]", line))
        for line in lines:
            if not line.startswith(" " * 20):
                break
            entry += " " + line.strip()
        return re.search(r"Default: (.*)\.$", entry).group(1)

    def test_defaults_are_those_of_the_command(self):
        self.assertEqual(self.default_of("run", "--batch-sizes"), "1,4,8")
        self.assertEqual(self.default_of("bench", "--batch-sizes"), "1,8,32,128")
        self.assertEqual(self.default_of("verify", "--batch-sizes"), "1")
        self.assertEqual(self.default_of("run", "--hardware"), "all that this machine has")
        self.assertEqual(self.default_of("bench", "--hardware"), "the first of cuda, rocm, mps, cpu that this machine has and a runtime can use")
        self.assertEqual(self.default_of("run", "--iterations"), "adaptive, until the 95 % interval of the median is within ± 0.5 %")
        self.assertEqual(self.default_of("bench", "--iterations"), "50")
        self.assertEqual(self.default_of("run", "--launches"), "3")
        self.assertEqual(self.default_of("bench", "--launches"), "1")
        self.assertEqual(self.default_of("run", "--max-time"), "10")
        self.assertEqual(self.default_of("bench", "--max-time"), "30 s of sampling in each launch")
        self.assertEqual(self.default_of("run", "--budget"), "none")
        self.assertEqual(self.default_of("bench", "--output-dir"), "results/raw")
        rows = self.null(batch="1")
        plain = self.run_json("bench", "--engine", "null", "--model", "prajjwal1/bert-tiny", "--quiet")["results"]
        self.assertEqual(sorted({row["batch_size"] for row in plain}), [1, 8, 32, 128])
        self.assertEqual({row["iterations"] for row in plain}, {50})
        self.assertEqual(len(rows), 1)

    def test_the_examples_are_valid(self):
        """Each example is a command line that the parser accepts: no part of it is unknown."""
        for command in COMMANDS:
            for example in re.findall(r"^ *\$? *assay (.*)$", self.help(*command.split()), re.MULTILINE):
                result = self.run_tool(*example.split(), "--no-such-option", expect=2)
                self.assertIn("unknown option '--no-such-option'", result.stderr, example)


class Names(tool.ToolTest):
    """`assay help`, and the names that the guides use."""

    def aliases(self):
        text = (tool.SOURCE / "src" / "app" / "cli" / "aliases.def").read_text()
        return re.findall(r'^ALIAS\("([^"]+)", +"([^"]+)", +"([^"]+)", "([^"]+)"\)$', text, re.MULTILINE)

    def test_every_name_of_the_guides_is_a_command(self):
        self.assertGreater(len(self.aliases()), 10)
        for name, words, _, _ in self.aliases():
            command = [word for word in words.split() if not word.startswith("-")]
            command = command[:command.index("suite") + 1] if "suite" in command else command
            wanted = self.help_of(*command)
            for typed in (name, f"{name}.py", f"test/{name}.py", f"./test/{name}", f"bench/{name}.py"):
                self.assertEqual(self.help_of(typed), wanted, typed)

    def help_of(self, *command):
        return self.run_tool(*command, "--help", expect=0).stdout

    def test_a_command_is_no_name_of_a_folder(self):
        self.assertIn("unknown command 'other/runner.py'", self.run_tool("other/runner.py", expect=2).stderr)

    def test_help_shows_a_command_and_the_names_of_the_guides(self):
        self.assertEqual(self.run_tool("help", expect=0).stdout, self.run_tool("--help", expect=0).stdout)
        self.assertEqual(self.run_tool("help", "zoo", "list", expect=0).stdout, self.help_of("zoo", "list"))
        self.assertEqual(self.run_tool("help", "test/run_model_benchmarks.py", expect=0).stdout, self.help_of("run"))
        error = self.run_tool("help", "rnu", expect=2).stderr
        self.assertIn("did you mean run?", error)
        text = self.run_tool("help", "guides", expect=0).stdout
        for name, words, guide, meaning in self.aliases():
            self.assertIn(f"  {name}\n    assay {words}: {meaning}\n", text)
            self.assertIn(f"Guide {guide}:\n", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        self.assertIn("  assay coverage --profile-detailed\n    flame graphs and operator times are not part of this version", text)

    def test_one_table_lists_what_is_not_part_of_this_version(self):
        table = self.run_tool("help", "guides", expect=0).stdout.split("\nNot part of this version:\n")[1]
        for typed in ("assay variants", "assay profile", "assay coverage --profile-detailed", "assay compare", "assay suite --executor slurm",
                      "assay schedule, assay coverage --schedule-benchmarks, --frequency"):
            self.assertIn(f"  {typed}\n", table)
        helps = [self.help_of()] + [self.help_of(command) for command in ("coverage", "suite")]
        for word in ("variants", "  profile", "compare", "  schedule", "--profile-detailed", "--schedule-benchmarks", "--frequency", "--executor"):
            for text in helps[:1] if word[0] != "-" else helps:
                self.assertNotIn(word, text)

    def test_what_is_not_part_of_this_version_says_so(self):
        for command in ("variants", "profile", "compare", "schedule", "benchmark_models.py", "model_flamegraph.py"):
            result = self.run_tool(command, "--models", "x", expect=2)
            self.assertIn("error[not_built]", result.stderr)
            self.assertIn("not part of this version of assay", result.stderr)


class Nearest(tool.ToolTest):
    """Status 2; the message has the wrong word and what is valid, the hint the nearest."""

    def error(self, *arguments):
        return self.run_json(*arguments, expect=2)["error"]

    def nearest(self, *arguments, wrong, valid, near):
        error = self.error(*arguments)
        said = error["message"] + " " + (error["hint"] or "")
        self.assertIn(f"'{wrong}'", error["message"])
        self.assertIn(valid, said)
        self.assertIn(f"did you mean {near}", said)

    def test_commands(self):
        self.nearest("brnch", wrong="brnch", valid="run, bench, verify", near="bench?")
        self.nearest("zoo", "lits", wrong="lits", valid="list, build", near="list")
        self.assertIn("requires a command; valid: init", self.error("db")["message"])
        self.assertIn("requires a command; valid: run", self.error()["message"])

    def test_options(self):
        self.nearest("bench", "--batchsizes", "1", wrong="--batchsizes", valid="`assay bench --help` lists the options", near="--batch-sizes")
        self.nearest("zoo", "list", "--catgory=vision", wrong="--catgory", valid="`assay zoo list --help`", near="--category")
        self.assertIn("unexpected argument 'cpu'", self.error("doctor", "cpu")["message"])
        self.assertIn("unknown option '--wings'", self.error("--wings")["message"])

    def test_values(self):
        self.assertIn("--batch-sizes requires a value: N[,N…]\n", self.run_tool("bench", "--batch-sizes", expect=2).stderr)
        self.assertEqual(self.error("bench", "--seed", "1", "--seed", "2")["message"], "--seed is given more than once")
        self.assertEqual(self.error("zoo", "check", "x", "--timeout", "abc")["message"], "--timeout: 'abc' is not valid; give SECONDS")
        self.assertEqual(self.error("bench", "--quiet=maybe")["message"], "--quiet: 'maybe' is not valid; it has no value")
        self.assertEqual(self.error("verify")["message"], "MODEL is required")

    def test_a_key_of_an_engine_option_has_one_value(self):
        bench = ("bench", "--engine", "null", "--iterations", "3", "--warmup", "0", "--batch-sizes", "1", "--quiet")
        error = self.error(*bench, "--engine-option", "cost_ns=1", "--engine-option", "spread=0.5", "cost_ns=2")
        self.assertEqual(error["message"], "--engine-option: 'cost_ns' is given twice, as '1' and as '2'")
        (row,) = self.run_json(*bench, "--engine-option", "cost_ns=1000", "cost_ns=1000")["results"]
        self.assertEqual(row["status"], "completed")

    def test_words(self):
        bench = ("bench", "--engine", "null")
        self.nearest(*bench, "--precision", "flaot16", wrong="flaot16", valid="bfloat16, runtime", near="float16")
        self.nearest(*bench, "--kv-cache", "sttic", wrong="sttic", valid="growing, static, runtime", near="static")
        self.nearest("bench", "--engine", "opnvino", "--model", "bert", wrong="opnvino", valid="onnxruntime", near="openvino")
        self.nearest("bench", "--hardware", "cudda", "--model", "bert", wrong="cudda", valid="openvino", near="cuda")
        self.nearest("bench", "--framework", "pytroch", wrong="pytroch", valid="jax", near="pytorch")
        self.nearest("bench", "--model", "bert", "--engine", "null", "--size", "smal", wrong="smal", valid="reference", near="small")
        self.nearest("run", "--models-set", "smal", wrong="smal", valid="key, small, custom", near="small")
        self.nearest("run", "--models-set", "small", "--specific-models", "brt", wrong="brt", valid="whisper", near="bert")
        self.nearest("run", "--model-families", "vison", wrong="vison", valid="embedding", near="vision")
        self.nearest("engines", "opnvino", wrong="opnvino", valid="null", near="openvino")
        self.nearest(*bench, "--engine-option", "cost=1", wrong="cost", valid="cost_ns", near="cost_ns")
        self.nearest("zoo", "list", "--category", "visoin", wrong="visoin", valid="text_encoders", near="vision")
        self.nearest("zoo", "list", "--family", "visio", wrong="visio", valid="embedding", near="vision")
        self.nearest("zoo", "list", "--skeleton", "bert_encodr", wrong="bert_encodr", valid="decoder", near="bert_encoder")
        self.nearest("zoo", "build", "bert", "-o", "m.onnx", "--precision", "float17", wrong="float17", valid="bfloat16", near="float16")

    def test_models(self):
        self.nearest("bench", "--model", "resnet51", "--engine", "null", wrong="resnet51", valid="Hugging Face id", near="resnet")
        (self.folder / "models.json").write_text(json.dumps({"a": {"name": "bert", "famly": "vision"}}))
        self.nearest("run", "--models-set", "custom", "--custom-models", "models.json", wrong="famly", valid="name, family, size, modality", near="family")

    def test_architectures_and_classes(self):
        error = self.run_json("zoo", "show", "bert", "--class", "BertForMaskdLM", expect=2)["error"]
        self.assertIn("did you mean BertForMaskedLM", error["hint"])
        (self.folder / "config.json").write_text(json.dumps({"model_type": "brt"}))
        error = self.run_json("zoo", "show", ".", expect=1)["error"]
        self.assertIn("model_type = brt", error["message"])
        self.assertRegex(error["hint"], r"^did you mean [a-z ]*\bbert\b.*\? built are albert")

    def test_keys_of_a_configuration(self):
        (self.folder / "config.json").write_text(json.dumps({"model_type": "bert", "hiden_size": 32}))
        error = self.run_json("zoo", "show", ".", expect=1)["error"]
        self.assertIn("hiden_size = 32", error["message"])
        self.assertIn("did you mean hidden_size? assay does not know what this key changes", error["hint"])

    def test_a_misspelt_hugging_face_id_names_the_nearest(self):
        error = self.error("zoo", "show", "google-bert/bert-base-uncasd")
        self.assertIn("did you mean google-bert/bert-base-uncased", error["hint"])
        error = self.error("bench", "--model-id", "prajjwal1/bert-tny", "--engine", "null")
        self.assertIn("did you mean prajjwal1/bert-tiny", error["hint"])


if __name__ == "__main__":
    tool.main()
