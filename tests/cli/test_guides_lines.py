# SPDX-License-Identifier: Apache-2.0
"""Every command line that the guides print works as printed, under its name without folder and ".py", and as assay's own command."""
import json
import pathlib
import re
import shlex
import shutil
import unittest

import guide_lines
import tool
from guide_lines import LINES, NAMED, WAITING

# Numbers of a line that would take long, and what a test measures in their place.
SMALL = {"--batch-sizes": "1", "--sequence-lengths": "16", "--iterations": "3", "--warmup": "1"}
EXAMPLES = tool.SOURCE / "tests" / "exchange"


def forms(line):
    """The words of a line, typed in three ways."""
    script, *words = shlex.split(line.text)
    short = pathlib.PurePosixPath(script).stem
    ways = [[script, *words], [short, *words], [*guide_lines.own_words(script), *words]]
    return [way for i, way in enumerate(ways) if way not in ways[:i]]


def needs(line):
    """Words of WAITING that the line needs."""
    command = guide_lines.own_words(line.script)[0]
    return {command} & WAITING


def made_small(words):
    """The line with few and short measurements of the small set."""
    small, replaced = [], False
    for word in words:
        if word.startswith("-"):
            replaced = word in SMALL
            small += [word] + ([SMALL[word]] if replaced else [])
        elif not replaced:
            small.append(word)
    for option, value in SMALL.items():
        if option not in small and not (option in ("--iterations", "--warmup") and "--verify-only" in small):
            small += [option, value]
    return small


class Lines(tool.ToolTest):
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

    def test_what_is_waited_for_does_not_work_yet(self):
        """An entry of WAITING that is built must go, so that its lines are tested."""
        for word in sorted(WAITING - {"--plan"}):
            failure = self.run_json(word, expect=2)["error"]
            self.assertEqual(failure["code"], "not_built", f"{word} is built: remove it from WAITING")
        if "--plan" in WAITING:
            self.assertNotIn("--plan", self.run_tool("run", "--help", expect=0).stdout, "--plan is built: remove it from WAITING")

    def test_what_is_not_built_says_so_precisely(self):
        for line in LINES + NAMED:
            if line.kind == "not yet" and not needs(line):
                for way in forms(line):
                    with self.subTest(line=str(line), way=way):
                        result = self.run_tool(*way, expect=2)
                        self.assertIn(line.says, result.stdout + result.stderr)

    def test_lines_that_measure_can_be_planned_whole(self):
        if "--plan" in WAITING:
            self.skipTest("--plan is not built yet")
        self.write_files()
        for line in LINES + NAMED:
            if line.kind != "plan" or needs(line):
                continue
            plans = set()
            self.environment.update(line.environment)
            for way in forms(line):
                with self.subTest(line=str(line), way=way):
                    result = self.run_tool(*way, "--plan")
                    self.assertIn(result.returncode, (0, 4), result.stderr)
                    self.assertIn("cells", result.stdout)
                    # The expected time may differ from plan to plan.
                    plans.add(re.sub(r"[0-9.]+ (ms|s|min|h)\b", "TIME", result.stdout))
            self.assertEqual(len(plans), 1, line)
            for name in line.environment:
                del self.environment[name]
        self.assertEqual(list(self.folder.glob("*.duckdb*")), [], "a plan writes nothing")

    def test_lines_that_write_files_do(self):
        self.write_files()
        self.null("--save")
        for line in LINES:
            if line.kind != "write" or needs(line):
                continue
            for way in forms(line):
                with self.subTest(line=str(line), way=way):
                    self.write_files()
                    if "setup_benchmark_db.py" in line.text:
                        for path in self.folder.glob("benchmark_db*"):
                            shutil.rmtree(path) if path.is_dir() else path.unlink()
                    result = self.run_tool(*way)
                    self.assertIn(result.returncode, (0, 4) if "--check" in way else (0,), result.stdout + result.stderr)
                    if "--output" in way:
                        output = self.folder / way[way.index("--output") + 1]
                        output = output / "index.html" if output.is_dir() else output
                        self.assertGreater(output.stat().st_size, 500)
                        output.unlink()
                    if "setup_benchmark_db.py" in line.text:
                        self.null("--save")

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


class Runs(tool.ToolTest):
    """With a real runtime and models of a few megabytes."""

    write_files = Lines.write_files

    def test_lines_that_measure_run(self):
        self.write_files()
        for line in LINES + NAMED:
            if line.kind != "plan" or needs(line) or (not tool.GUIDES and "my_models.json" in line.text):
                continue
            with self.subTest(line=str(line)):
                own = guide_lines.own_words(line.script)[0]
                words = made_small(forms(line)[0])
                if own == "run":
                    words += ["--launches", "1", "--no-plots"]
                    if "custom" not in words:
                        words += [] if "small" in words or "--small-models-only" in words else ["--models-set", "small"]
                        words += [] if "--specific-models" in words or "--model-families" in words else ["--specific-models", "bert", "vit"]
                if own == "verify":
                    words = words[:1] + ["prajjwal1/bert-tiny"]
                self.environment.update(line.environment)
                result = self.run_tool(*words)
                unavailable = own == "bench" or re.search(r"--hardware qnn( --|$)", line.text)
                self.assertEqual(result.returncode, 4 if unavailable else 0, f"{words}\n{result.stdout}\n{result.stderr}")
                if unavailable:
                    self.assertIn("unavailable", result.stdout)
                else:
                    self.assertIn("verified", result.stdout)
                for name in line.environment:
                    del self.environment[name]


if __name__ == "__main__":
    tool.main()
