# SPDX-License-Identifier: Apache-2.0
"""Every model that the guides name is known without a network: `assay zoo show` says what it is, or that it is not built yet."""
import json
import pathlib
import re
import unittest

import tool

# As the guides print them: ids and names to be typed as they are.
TYPED = """
    bert bert-base-uncased clap clip detr distilbert-base-uncased facebook/wav2vec2-base google/flan-t5-small
    google/t5-efficient-tiny google/vit-base-patch16-224 gpt2 llama llava llava_next microsoft/resnet-50
    openai/clip-vit-base-patch32 openai/whisper-tiny prajjwal1/bert-tiny qwen2 resnet50 roberta-base t5 t5-small vit vit_b_16
    wav2vec2 whisper xclip
""".split()
# Architectures as prose spells them, with the name to type. Flamingo's published weights are IDEFICS, Stable Diffusion
# is its U-Net.
SPELLED = {
    "ALBERT": "albert", "BART": "bart", "BEiT": "beit", "BERT": "bert", "BLIP": "blip", "BLIP-2": "blip-2", "BLOOM": "bloom",
    "CLIP": "clip", "ConvNeXT": "convnext", "DeiT": "deit", "DistilBERT": "distilbert", "Flamingo": "idefics", "GIT": "git",
    "GPT": "openai-gpt", "GPT-2": "gpt2", "GPT-J": "gptj", "HuBERT": "hubert", "LLaVA": "llava", "OPT": "opt",
    "Pegasus": "pegasus", "ResNet-50": "resnet-50", "RoBERTa": "roberta", "Speech-T5": "speecht5",
    "SpeechToText": "speech_to_text", "Stable Diffusion": "unet2d_condition", "Swin": "swin", "T5": "t5", "ViT": "vit",
    "VideoMAE": "videomae", "Wav2Vec2": "wav2vec2", "Whisper": "whisper", "XCLIP": "xclip",
}
# What looks like one of them and is none.
OTHERS = {
    "both",  # of bench/runner.py: all its models
    "CI/CD", "GPU/device", "JIT/XLA", "WebNN/WebGPU", "accuracy/speed", "images/sec", "img/s", "items/sec", "throughput/latency",
    "data/imagenet100", "profile_results/model_torch_trace_1234567890", "results/raw",
    "Git", "git_commit",
}
FILE = re.compile(r"\.(csv|duckdb|html|json|md|pt|py|service|timer|[0-9]+)$")


def architectures():
    """The names of all architectures, built and planned."""
    zoo = tool.SOURCE / "zoo"
    built = [json.loads(path.read_text()).get("model_type") for path in zoo.glob("*.json")]
    return [name for name in built if name] + list(json.loads((zoo / "planned.json").read_text())["architectures"])


def models_in(text):
    """Everything in a guide that is a model's name, by its spelling or its place."""
    word = r"[A-Za-z0-9][\w.-]*"
    found = set(re.findall(rf"(?<![\w./:-]){word}/{word}(?!/)\b", text))  # ORGANISATION/NAME
    names = "|".join(sorted(map(re.escape, architectures()), key=len, reverse=True))
    found |= set(re.findall(rf"(?<![\w./-])(?:{names})(?:[-_.]?\d[\w.-]*|[-_][\w.-]+)?(?![\w/])", text, re.IGNORECASE))
    # Where only a model can stand: options, settings, the families of a configuration, tables, the lists of categories.
    for place in (rf"--model(?:-id)? +({word})(?![\w/])", rf"model_name['\"]?[=:] *['\"]({word})['\"]", rf"\['model'\] == '({word})'",
                  rf"\"name\": \"({word})\"", rf"^\| ({word}) \|(?: [\d.]+ \|)+$"):
        found |= set(re.findall(place, text, re.MULTILINE))
    for separator, place in ((" ", r"--specific-models((?: [a-z][\w./-]*)+)"), (",", r"^ +models=\[([^]]*)\]"),
                             (",", r"^    \"\w+\": \[(\"[^]]*)\]"),
                             (",", r"^\d+\. \*\*[^*]+\*\* \(\d+ architectures\): (.*), etc\.$")):
        for listed in re.findall(place, text, re.MULTILINE):
            found |= {each.strip(" '\"") for each in listed.strip().split(separator)}
    found = {each.rstrip(".,") for each in found}
    return {each for each in found if each not in OTHERS and each.count("/") < 2 and not FILE.search(each)}


class Guides(tool.ToolTest):
    @unittest.skipUnless(tool.GUIDES, "ASSAY_GUIDES_DIR is not set")
    def test_the_list_is_what_the_guides_name(self):
        guides = sorted(pathlib.Path(tool.GUIDES).glob("*.md"))
        self.assertTrue(guides, tool.GUIDES)
        self.assertEqual(set().union(*(models_in(guide.read_text()) for guide in guides)), {*TYPED, *SPELLED})

    def test_new_names_would_be_found(self):
        text = ('assay bench --model-id acme/tiny_net-2 and `deit-small`\n| minilm | 1.0 | 2 |\n    "vision": ["acme/a", "yolo"],\n'
                "1. **Text** (2 architectures): Mamba, H-Net, etc.\nsee path/to/model, docs/guide.md and ./data/x")
        self.assertEqual(models_in(text), {"acme/tiny_net-2", "deit-small", "minilm", "acme/a", "yolo", "Mamba", "H-Net"})

    def test_every_model_is_known_without_a_network(self):
        sets = json.loads((tool.SOURCE / "zoo" / "sets.json").read_text())
        of_sets = {each["model_id"] for models in sets.values() for each in models}
        for name in sorted({*TYPED, *SPELLED.values(), *of_sets}):
            with self.subTest(model=name):
                result = self.run_tool("zoo", "show", name, "--output-format", "json")
                answer = json.loads(result.stdout)
                if result.returncode == 0:
                    self.assertNotIn("unknown", (answer["family"], answer["category"], answer["task"]))
                else:
                    self.assertEqual((result.returncode, answer["error"]["code"]), (2, "not_built"), result.stderr)
                    self.assertIn(name, answer["error"]["message"])


if __name__ == "__main__":
    tool.main()
