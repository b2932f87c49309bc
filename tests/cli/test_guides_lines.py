# SPDX-License-Identifier: Apache-2.0
"""Every command line that the guides print works as printed, under its name without folder and ".py", and as assay's own command."""
import csv
import json
import pathlib
import re
import shlex
import shutil
import unittest

import guide_lines
import tool
from guide_lines import LINES, NAMED

EXAMPLES = tool.SOURCE / "tests" / "exchange"
# What of a line would take long, and what a test has in its place: a tiny model, three iterations.
SMALL = {"--batch-sizes": "1", "--sequence-lengths": "16", "--iterations": "3", "--warmup": "1"}
AGE = {"--older-than": "0"}  # results that a test has just made
CUT = {"--specific-models": "bert", "--model-families": "embedding", "--models": "bert-base-uncased"}


def forms(line):
    """The words of a line, typed in three ways."""
    script, *words = shlex.split(line.text)
    short = pathlib.PurePosixPath(script).stem
    ways = [[script, *words], [short, *words], [*guide_lines.own_words(script), *words]]
    return [way for i, way in enumerate(ways) if way not in ways[:i]]


def own_command(line):
    return guide_lines.own_words(line.script)[0]


OF_THE_GUIDES = ("my_models.json", "my_benchmark_config.json", "custom_benchmark_config.json")  # their own text


def chosen(kind):
    return [line for line in LINES + NAMED if line.kind == kind and (tool.GUIDES or not any(file in line.text for file in OF_THE_GUIDES))]


def replaced(words, values):
    """The words with these values of options, those that the line has."""
    out, drop = [], False
    for word in words:
        if word.startswith("-"):
            drop = word in values
            out += [word, values[word]] if drop else [word]
        elif not drop:
            out.append(word)
    return out


def cut(words, own):
    """The line with one small model."""
    words = replaced(words, CUT)
    if own == "run" and "custom" not in words:
        words += [] if "small" in words or "--small-models-only" in words else ["--models-set", "small"]
        words += [] if "--specific-models" in words or "--model-families" in words else ["--specific-models", "bert"]
    if own == "coverage" and "--model" not in words:
        words += ["--model", "bert"]
    if own == "suite" and "custom_benchmark_config.json" not in words and "--models" not in words:
        words += ["--models", "bert-base-uncased"]
    return words


def short(words, own):
    """The line with one small model and three iterations."""
    words = replaced(cut(words, own), {**SMALL, **AGE})
    if own == "verify":
        return [*words, "prajjwal1/bert-tiny", "--sequence-lengths", "16"]
    for option, value in SMALL.items():
        if option not in words and not (option in ("--iterations", "--warmup") and "--verify-only" in words):
            words += [option, value]
    return words + (["--launches", "1", "--no-plots"] if own in ("run", "suite") else []) + (["--size", "tiny"] if own == "suite" else [])


class GuideTest(tool.ToolTest):
    def write_files(self):
        """The files that the guides' lines read, as the guides describe them."""
        if tool.GUIDES:
            text = {path.name[:3]: path.read_text() for path in pathlib.Path(tool.GUIDES).glob("*.md")}
            (self.folder / "my_models.json").write_text(guide_lines.code_after(text["000"], "#### Custom Models", "json"))
            config = json.loads(guide_lines.code_after(text["001"], "### Configuration File", "json"))
            (self.folder / "my_benchmark_config.json").write_text(json.dumps(config))
            custom = json.loads(guide_lines.file_in_place(text["001"], "custom_benchmark_config.json"))
            custom["model_families"]["embedding"] = ["prajjwal1/bert-tiny"]  # the guide has a path of its reader's own
            (self.folder / "custom_benchmark_config.json").write_text(json.dumps(custom))
        for folder in ("20250302_123456", "run1", "run2", "before", "after"):
            place = self.folder / "benchmark_results" / folder
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(EXAMPLES / "guide.json", place / "benchmark_results.json")
        shutil.copy(EXAMPLES / "guide.json", self.folder / "benchmark_results" / "gpt2_cuda_float16_20250410_120000.json")

    def fill_database(self):
        """Results of the model that the guides' lines name."""
        rows = self.null("--launches", "3", "--output-dir", "made", batch="1 4")
        for row in rows:
            row.update(model="bert-base-uncased", model_id="bert-base-uncased", architecture="bert", family="embedding", category="text_encoders")
        made = self.folder / "made" / "rows.json"
        made.write_text(json.dumps({"schema_version": "1.0", "results": rows}))
        self.run_tool("db", "import", made, expect=0)
        shutil.rmtree(made.parent)


class Lines(GuideTest):
    @unittest.skipUnless(tool.GUIDES, "ASSAY_GUIDES_DIR is not set")
    def test_the_list_is_every_line_of_the_guides(self):
        printed = set()
        for guide in sorted(pathlib.Path(tool.GUIDES).glob("*.md")):
            for number, command in guide_lines.printed_commands(guide.read_text()):
                text = guide_lines.without_python(command)
                words = re.split(r"[ |]+", text)
                if not guide_lines.NOT_OURS.intersection(words):
                    printed.add((guide.name[:3], number, text))
        self.assertEqual(printed, {(line.guide, line.number, line.text) for line in LINES})
        text = "".join(guide.read_text() for guide in pathlib.Path(tool.GUIDES).glob("*.md"))
        for line in NAMED:
            self.assertIn(line.script, text)

    def test_other_lines_would_be_found(self):
        text = ("```bash\n# a comment\npython a.py \\\n  --b\ncat << EOF > x.json\npython not_a_command.py\nEOF\nA=1 python b.py\n```\n"
                "python c.py\n```bash\n$ python d.py\noutput\n```\n```python\npython e.py\n```\n")
        self.assertEqual(guide_lines.printed_commands(text), [(3, "python a.py --b"), (8, "A=1 python b.py"), (12, "$ python d.py"[2:])])
        self.assertEqual(guide_lines.without_python("A=1 python b.py --c"), "b.py --c")

    def test_each_name_of_the_guides_is_its_command(self):
        for line in LINES + NAMED:
            first, *others = (self.run_tool(*way[:2 if way[0] == "db" else 1], "--help", expect=0).stdout for way in reversed(forms(line)))
            for other in others:
                self.assertEqual(first, other, line)

    def test_what_is_not_built_says_so_precisely(self):
        for line in chosen("not yet"):
            for way in forms(line):
                with self.subTest(line=str(line), way=way):
                    result = self.run_tool(*way, expect=2)
                    self.assertIn(line.says, result.stdout + result.stderr)


class Plans(GuideTest):
    def plan(self, *words):
        """A plan without what may differ from one to the next: expected times and free memory."""
        result = self.run_tool(*words, "--plan")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("cells", result.stdout)
        return re.sub(r"[0-9.]+ (ms|s|min|h|GB are free)\b", "…", re.sub(r"  +", "  ", result.stdout))

    def test_lines_that_measure_can_be_planned_whole(self):
        self.write_files()
        before = sorted(self.folder.iterdir())
        for line in chosen("plan"):
            with self.subTest(line=str(line)):
                self.environment.update(line.environment)
                printed, *_, renamed = forms(line)
                own = own_command(line)
                if own == "verify":
                    printed, renamed = ([*words, "prajjwal1/bert-tiny"] for words in (printed, renamed))
                whole = self.plan(*printed)
                cut_plan = self.plan(*cut(printed, own))
                # A name is replaced before the rest of the line is read; the whole line again would take as long again.
                self.assertEqual(self.plan(*cut(renamed, own)), cut_plan)
                if cut(printed, own) == printed:
                    self.assertEqual(whole, cut_plan)
                for name in line.environment:
                    del self.environment[name]
        self.assertEqual(sorted(self.folder.iterdir()), before, "a plan writes nothing")


class Writes(GuideTest):
    def test_lines_that_write_files_do(self):
        self.write_files()
        self.fill_database()
        filled = self.folder
        for number, line in enumerate(chosen("write")):
            for way in (forms(line)[0], forms(line)[-1]):
                with self.subTest(line=str(line), way=way):
                    self.folder = filled / f"{number}-{len(way[0])}"
                    shutil.copytree(filled, self.folder, ignore=shutil.ignore_patterns("[0-9]*-*"))
                    if way[:2] == ["db", "init"] or "setup_benchmark_db" in way[0]:
                        for path in self.folder.glob("benchmark_db*") if "--overwrite" not in way else ():
                            shutil.rmtree(path) if path.is_dir() else path.unlink()
                    old = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*")}
                    result = self.run_tool(*way)
                    self.assertIn(result.returncode, (0, 4) if "--check" in way else (0,), result.stdout + result.stderr)
                    if line.makes:
                        made = [path for path in self.folder.glob(line.makes) if old.get(path) != path.stat().st_mtime_ns]
                        self.assertTrue(made, f"{line.makes}: {sorted(self.folder.rglob('*'))}")
                        for path in made:
                            self.assertGreater(path.stat().st_size, 300)
                    else:
                        self.assertGreater(len(result.stdout), 100)
                    shutil.rmtree(self.folder)
        self.folder = filled


def printed_and_renamed(line):
    """The line as printed, and as assay's own command."""
    ways = forms(line)
    return ways[0], ways[-1]


class RunTest(GuideTest):
    def run_in_short(self, line, way, *more):
        """Runs it with one small model and three iterations, in a history of its own."""
        words = [*short(way, own_command(line)), *more]
        for path in self.folder.glob("benchmark_db*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.environment.update(line.environment)
        if "--update-benchmarks" in words:  # what it measures again
            self.run_tool(*["--incremental-benchmarks" if word == "--update-benchmarks" else word for word in words if word not in ("--older-than", "0")], expect=0)
        result = self.run_tool(*words, timeout=4 * tool.DEADLINE)
        for name in line.environment:
            del self.environment[name]
        return words, result

    def check_attempts(self, words):
        """Each of its attempts is right, and took as many samples as the line says now."""
        attempts = [json.loads((bundle / "manifest.json").read_text())["record"] for bundle in self.spool_bundles()]
        self.assertGreater(len(attempts), 1 if "--update-benchmarks" in words else 0, words)
        for record in attempts:
            self.assertEqual((record["status"], record["verification"]), ("completed", "verified"), record)
            if "--verify-only" not in words:
                self.assertRegex(record["measure_plan"], r"\biterations=3\b")


class Runs(RunTest):
    def test_lines_that_measure_run_as_printed_and_renamed(self):
        """With the null engine, but for hardware that is not here. A framework is an engine: its lines are in FrameworkRuns."""
        self.write_files()
        for line in chosen("plan"):
            if "--framework" in line.text:
                continue
            own = own_command(line)
            absent = own == "bench" or re.search(r"--hardware qnn( --|$)", line.text)
            for way in printed_and_renamed(line):
                with self.subTest(line=str(line), way=way):
                    words, result = self.run_in_short(line, way, *([] if absent else ["--engine", "null"]))
                    self.assertEqual(result.returncode, 4 if absent else 0, f"{words}\n{result.stdout}\n{result.stderr}")
                    self.assertRegex(result.stdout, "unavailable" if absent else "verified")
                    if not absent and own != "verify":  # which keeps nothing
                        self.check_attempts(words)


class FrameworkRuns(RunTest):
    def test_every_line_that_names_a_framework_runs_as_printed_and_renamed(self):
        both = {"--framework": ("pytorch", "jax"), "--model": ("resnet50", "vit_b_16")}
        for line in chosen("plan"):
            if "--framework" not in line.text:
                continue
            for way in printed_and_renamed(line):
                with self.subTest(line=str(line), way=way):
                    words, result = self.run_in_short(line, way, "--timeout", "3600")  # for a busy machine, too
                    self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
                    asked = {option: words[words.index(option) + 1] for option in both}
                    frameworks, models = (both[option] if word == "both" else (word,) for option, word in asked.items())
                    saved = re.search(r"Results saved to: (\S+\.csv)", result.stdout)
                    self.assertTrue(saved, result.stdout)
                    rows = list(csv.DictReader((self.folder / saved[1]).read_text().splitlines()))
                    self.assertEqual(sorted((row["framework"], row["model"], row["batch_size"]) for row in rows),
                                     sorted((framework, model, "1") for framework in frameworks for model in models))
                    for row in rows:
                        self.assertEqual((row["status"], row["verification"]), ("completed", "verified"), row)
                        self.assertEqual(row["measure_plan"], "warmup=1 iterations=3")
                        self.assertGreater(float(row["latency_p50_ms"]), 0)
                    if "--output-dir" in words:
                        self.assertEqual(pathlib.PurePath(saved[1]).parent, pathlib.PurePath(words[words.index("--output-dir") + 1]))


class RealRuns(RunTest):
    def test_one_line_of_each_script_runs_with_the_default_runtimes(self):
        """Those of bench/runner.py are in FrameworkRuns; the others of `bench` name hardware that is not here."""
        self.write_files()
        seen = set()
        for line in chosen("plan"):
            own = own_command(line)
            if line.script in seen or own == "bench":
                continue
            seen.add(line.script)
            for way in printed_and_renamed(line):
                with self.subTest(line=str(line), way=way):
                    words, result = self.run_in_short(line, way)
                    self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
                    self.assertRegex(result.stdout, r"verified")


if __name__ == "__main__":
    tool.main()
