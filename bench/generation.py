#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the generation of tokens: the KV caches that assay calls `runtime` against the runtimes' own exports and generators.

  generation.py make --folder F --assay BUILD     writes decoders with random weights and all graphs below F
  generation.py compare --folder F MODEL…         for each model a table of each form against the first of its runtime
  generation.py fidelity --folder F --assay BUILD MODEL…
                                                  the medians that assay makes of its worker's samples against a bare loop's
  generation.py operators --folder F MODEL…       operators of the ONNX Runtime forms after its optimiser

Forms: openvino (assay's stateful model), optimum (optimum-intel's stateful export), genai (OpenVINO GenAI's LLMPipeline on
that export), onnxruntime (assay's graph with the cache of ONNX Runtime), ortgenai (onnxruntime-genai on its own builder's
graph). Each runs in a fresh process per pair, float32, --threads threads; all processes of a pair have loaded their model
and take turns of one generation each, in random order. The loops use no code of assay. A token's time lasts from one id
to the next one. Requires: pip install openvino openvino-genai openvino-tokenizers optimum-intel transformers onnxruntime
onnxruntime-genai onnx onnx-ir, of the versions that assay uses.
"""
import argparse
import collections
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library starts

STRICT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "PERFORMANCE_HINT": "LATENCY"}
FORMS = {"openvino": ["openvino", "optimum", "genai"], "onnxruntime": ["onnxruntime", "ortgenai"]}
ASSAY = "assay's worker on "  # before the name of a bare loop that runs the same graph
GPT2_HAS_NO = {"ortgenai"}  # onnxruntime-genai's builder does not know it


# ---- the bare loops: each returns generate(prompt, tokens) -> (ids, nanoseconds of each token) ----

def loop(step, prompt, tokens):
    ids, times, last = [], [], time.perf_counter_ns()
    new = prompt
    for _ in range(tokens):
        ids.append(step(new))
        new = ids[-1:]
        now = time.perf_counter_ns()
        times.append(now - last)
        last = now
    return ids, times


def load_stateful(file, threads):
    import numpy
    import openvino
    core = openvino.Core()
    model = core.read_model(file)
    names = [value.get_any_name() for value in model.inputs]
    model.reshape({name: [1] if name == "beam_idx" else [1, -1] for name in names})
    request = core.compile_model(model, "CPU", {**STRICT, "INFERENCE_NUM_THREADS": str(threads)}).create_infer_request()
    view = lambda array: openvino.Tensor(array, shared_memory=True)
    ones, places = numpy.ones((1, 4096), numpy.int64), numpy.arange(4096)[None]
    token = numpy.zeros((1, 1), numpy.int64)
    token_view, beam_view = view(token), view(numpy.zeros(1, numpy.int32))
    if "beam_idx" in names:
        request.set_tensor("beam_idx", beam_view)

    def generate(prompt, tokens):
        request.reset_state()
        request.set_tensor("input_ids", view(numpy.array([prompt])))
        lengths = range(len(prompt), len(prompt) + tokens)
        masks = iter([view(ones[:, :length]) for length in lengths])
        positions = iter([view(places[:, :len(prompt)]), *(view(places[:, length - 1:length]) for length in lengths[1:])])

        def step(new):
            if new is not prompt:
                token[0, 0] = new[0]
                request.set_tensor("input_ids", token_view)
            request.set_tensor("attention_mask", next(masks))
            if "position_ids" in names:
                request.set_tensor("position_ids", next(positions))
            request.infer(share_outputs=True)
            return int(request.get_output_tensor(0).data[0, -1].argmax())
        return loop(step, prompt, tokens)
    return generate


def load_genai(folder, threads):
    import numpy
    import openvino
    import openvino_genai
    pipeline = openvino_genai.LLMPipeline(str(folder), "CPU", ATTENTION_BACKEND="SDPA", INFERENCE_NUM_THREADS=threads, **STRICT)
    config = openvino_genai.GenerationConfig(ignore_eos=True, do_sample=False)

    def generate(prompt, tokens):
        ids = numpy.array([prompt])
        config.max_new_tokens = tokens
        result = pipeline.generate(openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids))), config)
        raw = result.perf_metrics.raw_metrics
        return list(result.tokens[0]), [int(us * 1000) for us in [raw.m_times_to_first_token[0], *raw.m_durations]]
    return generate


def load_native(file, threads):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    states = [value for value in session.get_inputs() if value.name.startswith("past")]
    vocabulary_size = next(value.shape[2] for value in session.get_outputs() if value.name == "logits")
    ones = numpy.ones((1, 4096), numpy.int64)
    value_of = onnxruntime.OrtValue.ortvalue_from_numpy

    def generate(prompt, tokens):
        binding = session.io_binding()
        for state in states:
            cache = value_of(numpy.zeros((1, state.shape[1], len(prompt) + tokens, state.shape[3]), numpy.float32))
            binding.bind_ortvalue_input(state.name, cache)
            binding.bind_ortvalue_output(state.name.replace("past_key_values", "present"), cache)
        logits = numpy.zeros((1, 1, vocabulary_size), numpy.float32)
        binding.bind_output("logits", "cpu", 0, numpy.float32, logits.shape, logits.ctypes.data)
        length = 0

        def step(new):
            nonlocal length
            length += len(new)
            binding.bind_cpu_input("input_ids", numpy.array([new]))
            binding.bind_cpu_input("attention_mask", ones[:, :length])
            session.run_with_iobinding(binding)
            return int(logits.argmax())
        return loop(step, prompt, tokens)
    return generate


def load_ortgenai(folder, threads):
    import onnxruntime_genai
    config = json.loads((folder / "genai_config.json").read_text())
    config["model"]["decoder"]["session_options"]["intra_op_num_threads"] = threads
    config["model"]["eos_token_id"] = config["model"]["vocab_size"] - 1
    (folder / "genai_config.json").write_text(json.dumps(config, indent=1))
    model = onnxruntime_genai.Model(str(folder))

    def generate(prompt, tokens):
        options = onnxruntime_genai.GeneratorParams(model)
        options.set_search_options(max_length=len(prompt) + tokens, do_sample=False)
        generator = onnxruntime_genai.Generator(model, options)

        def step(new):
            if len(new) == len(prompt):
                generator.append_tokens(new)
            generator.generate_next_token()
            return int(generator.get_next_tokens()[0])
        return loop(step, prompt, tokens)
    return generate


def load(folder, form, threads):
    return {"openvino": lambda: load_stateful(folder / "openvino/model.xml", threads),
            "optimum": lambda: load_stateful(folder / "optimum/openvino_model.xml", threads),
            "genai": lambda: load_genai(folder / "optimum", threads),
            "onnxruntime": lambda: load_native(folder / "runtime/model.onnx", threads),
            "ortgenai": lambda: load_ortgenai(folder / "ortgenai", threads)}[form]()


def serve(arguments):
    """A process of a pair: one generation for each line of its input."""
    generate = load(arguments.folder, arguments.form, arguments.threads)
    prompt = [random.Random(7).randrange(arguments.vocabulary) for _ in range(arguments.prompt)]
    for _ in sys.stdin:
        ids, times = generate(prompt, arguments.tokens)
        print(json.dumps({"ids": ids, "times": times}), flush=True)


# ---- pairs ----

class Process:
    def __init__(self, folder, form, arguments):
        if form.startswith(ASSAY):
            command = [arguments.assay / "bin/generation_worker", folder, form.removeprefix(ASSAY)]
        else:
            command = [sys.executable, __file__, "serve", "--folder", folder, "--form", form, "--vocabulary", vocabulary(folder)]
        for name in ("threads", "prompt", "tokens"):
            command += [f"--{name}", getattr(arguments, name)]
        self.form, self.runs, self.messages = form, [], tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.messages, text=True)

    def fail(self):
        code = self.process.wait()
        self.messages.seek(0)
        sys.exit(f"the process of {self.form} ended with status {code}; its last messages:\n" + "".join(self.messages.readlines()[-20:]))

    def turn(self):
        time.sleep(0.1)  # threads of the other process may still spin
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail()
        line = self.process.stdout.readline()
        if not line:
            self.fail()
        self.runs.append(json.loads(line))

    def close(self, median):
        """{"tpot": ms, "ttft": ms}: of assay's worker what assay makes of its samples, else the medians of the loop's times."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        if self.process.wait():
            self.fail()
        self.messages.close()
        self.runs = self.runs[1:]  # the first one warms up
        if self.form.startswith(ASSAY):
            reported = json.loads(rest)
            return {"tpot": reported["tpot_p50_ms"], "ttft": reported["ttft_p50_ms"]}
        return {"tpot": tpot(self.runs, median), "ttft": ttft(self.runs, median)}


def vocabulary(folder):
    return json.loads((folder / "checkpoint/config.json").read_text())["vocab_size"]


def tpot(runs, median):
    return median([time for run in runs for time in run["times"][1:]]) / 1e6


def ttft(runs, median):
    return median([run["times"][0] for run in runs]) / 1e6


def t_quantile(freedom):
    """Student's 97.5 % quantile, by bisection of its distribution function (Simpson's rule)."""
    density = lambda x: math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi) * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    below = lambda t: 0.5 + t / 600 * sum((1 if i in (0, 200) else 4 if i % 2 else 2) * density(t * i / 200) for i in range(201))
    low, high = 0.0, 20.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.975 else (low, middle)
    return low


def row(cells, name, ours, theirs):
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    mean = statistics.mean(logs)
    half = t_quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    cells = [*cells, name, len(logs), f"{statistics.median(theirs):.3f}", f"{math.exp(mean):.4f}", f"{math.exp(mean - half):.4f} to {math.exp(mean + half):.4f}"]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def times_in_turns(name, forms, arguments, order, median):
    """For each form the medians of its processes, one of each pair: {form: {"tpot": [ms…], "ttft": [ms…]}}."""
    times = {form: {"tpot": [], "ttft": []} for form in forms}
    for _ in range(arguments.pairs):
        processes = [Process(arguments.folder / name, form, arguments) for form in forms]
        for _ in range(1 + arguments.turns):
            for process in order.sample(processes, len(processes)):
                process.turn()
        for process in processes:
            for statistic, value in process.close(median).items():
                times[process.form][statistic].append(value)
        ids = {process.form: process.runs[0]["ids"] for process in processes if "ids" in process.runs[0]}
        if len({tuple(value) for value in ids.values()}) > 1:
            print(f"{name}: the ids differ: {ids}", file=sys.stderr)
    return times


def compare(arguments):
    print("| model | form | against | statistic | pairs | its ms | ratio | 95 % interval |\n" + "| --- " * 8 + "|")
    order = random.Random(1)
    for name in arguments.models:
        for engine in arguments.engines:
            forms = [form for form in FORMS[engine] if not (name.startswith("gpt2") and form in GPT2_HAS_NO)]
            times = times_in_turns(name, forms, arguments, order, statistics.median)
            for form in forms[1:]:
                for statistic in ("tpot", "ttft"):
                    row([name, forms[0], form], statistic, times[forms[0]][statistic], times[form][statistic])


def fidelity(arguments):
    print("| model | engine | statistic | pairs | bare ms | ratio | 95 % interval |\n" + "| --- " * 7 + "|")
    order = random.Random(1)
    for name in arguments.models:
        for engine in arguments.engines:
            # The nearest rank, as assay's medians have it.
            times = times_in_turns(name, [ASSAY + engine, engine], arguments, order, statistics.median_low)
            for statistic in ("tpot", "ttft"):
                row([name, engine], statistic, times[ASSAY + engine][statistic], times[engine][statistic])


# ---- operators ----

def operators_of(file, folder):
    import onnx
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = f"{folder}/optimised.onnx"
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
    onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return collections.Counter(node.op_type for node in onnx.load(options.optimized_model_filepath, load_external_data=False).graph.node)


def operators(arguments):
    print("| model | form | operators | of which |\n" + "| --- " * 4 + "|")
    for name in arguments.models:
        counts = {}
        for form, file in {"onnxruntime": "runtime/model.onnx", "ortgenai": "ortgenai/model.onnx"}.items():
            if not (arguments.folder / name / file).exists():
                continue  # the builder does not know the model
            with tempfile.TemporaryDirectory() as folder:
                counts[form] = operators_of(arguments.folder / name / file, folder)
        for form, count in counts.items():
            different = {kind for kind in set().union(*counts.values()) if len({other[kind] for other in counts.values()}) > 1}
            listed = ", ".join(f"{count[kind]} {kind}" for kind in sorted(different)) or "all as in the other"
            print(f"| {name} | {form} | {count.total()} | {listed} |", flush=True)


# ---- models ----

def configurations():
    import transformers
    llama = {"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 2048}
    return {"gpt2": transformers.GPT2Config(),
            "llama": transformers.LlamaConfig(**llama, num_key_value_heads=4, intermediate_size=2048),
            "qwen2": transformers.Qwen2Config(**llama, num_key_value_heads=2, intermediate_size=2432, tie_word_embeddings=True),
            "qwen3": transformers.Qwen3Config(**llama, num_key_value_heads=4, head_dim=64, intermediate_size=2048, tie_word_embeddings=True),
            "phi": transformers.PhiConfig(**llama, intermediate_size=3072, partial_rotary_factor=0.5)}


def write_tokenizer(checkpoint, optimum):
    """Of single bytes: the generators do not load a model without one."""
    import openvino
    from openvino_tokenizers import convert_tokenizer
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=alphabet[0], bos_token=alphabet[0])
    fast.save_pretrained(checkpoint)
    for model, part in zip(convert_tokenizer(fast, with_detokenizer=True), ("tokenizer", "detokenizer")):
        openvino.save_model(model, optimum / f"openvino_{part}.xml")


def make(arguments):
    import torch
    import transformers
    from optimum.intel import OVModelForCausalLM
    for name, config in configurations().items():
        if arguments.models and name not in arguments.models:
            continue
        folder = arguments.folder / name
        if (folder / "done").exists():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        checkpoint, optimum = folder / "checkpoint", folder / "optimum"
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.02)  # no norm of ones or bias of zeros, which would be folded away
        model.save_pretrained(checkpoint)
        OVModelForCausalLM.from_pretrained(checkpoint, export=True, compile=False, load_in_8bit=False).save_pretrained(optimum)
        write_tokenizer(checkpoint, optimum)
        subprocess.run([arguments.assay / "bin/generation_graphs", checkpoint, folder], check=True)
        if name not in ("gpt2",):
            with tempfile.TemporaryDirectory() as cache:
                subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", checkpoint, "-o", folder / "ortgenai", "-p", "fp32", "-e", "cpu", "-c", cache], check=True, stderr=subprocess.DEVNULL)
        (folder / "done").touch()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "compare", "fidelity", "operators", "serve"])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--assay", type=Path, help="assay's build folder", default=Path(__file__).parent.parent / "build/bench")
    parser.add_argument("--engines", nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3, help="generations of each process after its first one")
    parser.add_argument("--prompt", type=int, default=32, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=32, help="tokens that are generated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--form", help=argparse.SUPPRESS)
    parser.add_argument("--vocabulary", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    {"make": make, "compare": compare, "fidelity": fidelity, "operators": operators, "serve": serve}[arguments.command](arguments)


if __name__ == "__main__":
    main()
