#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports the models that docs/performance.md compares the zoo's graphs with: export_torch.py [--folder FOLDER]

Hugging Face's own modules, made from a configuration with seeded random weights, written by torch.onnx. Into FOLDER go
  venv/                       torch, transformers and onnx from PyPI, at the versions below (2 GB)
  checkpoints/MODEL/          config.json and model.safetensors: `assay zoo build` makes its graph of the same weights
  EXPORTER-ATTENTION/MODEL.onnx
Needs a C compiler and nm. A development tool: neither assay nor its tests use it.
"""
import argparse
import ctypes
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ["transformers==5.23.0", "onnx==1.23.2", "onnxscript==0.7.2"]
# The packages for torch on a CPU: its own wheel without the 3 GB of CUDA libraries that it depends on.
WITHOUT_DEPENDENCIES = ["torch==2.15.0", "nvidia-cuda-runtime==13.2.86", "nvidia-cuda-cupti==13.2.86"]
TORCH_NEEDS = ["filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions"]
# The libraries of those that the wheel is linked with.
ABSENT = ["libcusparse.so.12", "libcufft.so.12", "libcufile.so.0", "libcusparseLt.so.0", "libnccl.so.2", "libcublas.so.13",
          "libcublasLt.so.13", "libcudnn.so.9", "libnvrtc.so.13", "libnvshmem_host.so.3"]
ABSENT_SYMBOL = re.compile(r"^(cublas|cudnn|cufft|cusparse|cusolver|nccl|nvrtc|nvshmem|cuFile|nvJitLink)\w*")

SEED = 7
# Name: class, class of the configuration and differences from its defaults, inputs. The defaults are those of the published
# bert-base-uncased, vit-base-patch16-224, resnet-50 and gpt2, which `assay zoo show` lists.
MODELS = {
    "bert-base": ("BertForMaskedLM", "BertConfig", {}, ["input_ids", "attention_mask", "token_type_ids"]),
    "vit-base": ("ViTForImageClassification", "ViTConfig", {"num_labels": 1000}, ["pixel_values"]),
    "resnet50": ("ResNetForImageClassification", "ResNetConfig", {"num_labels": 1000}, ["pixel_values"]),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {}, ["input_ids", "attention_mask"]),
}
EXPORTERS = ["dynamo", "torchscript"]
ATTENTIONS = ["default", "eager"]  # of transformers; the default is sdpa if a model has attention


def make_environment(folder):
    """Creates the virtual environment if it does not exist, and returns its Python."""
    python = folder / "venv/bin/python"
    done = folder / "venv/.complete"
    wanted = "\n".join(PACKAGES + WITHOUT_DEPENDENCIES)
    if not done.exists() or done.read_text() != wanted:
        venv.create(folder / "venv", with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir"]
        subprocess.run([*pip, *PACKAGES, *TORCH_NEEDS], check=True)
        subprocess.run([*pip, "--no-deps", *WITHOUT_DEPENDENCIES], check=True)
        done.write_text(wanted)
    return python


def load_stand_ins(folder):
    """Loads empty libraries in place of the absent ones, and one that defines the symbols bound when torch is loaded.

    The symbols stand in a library of another name: ld.so refuses unversioned ones in a library named by a version.
    """
    stand_ins = folder / "venv/stand-ins"
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o"]
    if not (stand_ins / ABSENT[-1]).exists():
        stand_ins.mkdir(exist_ok=True)
        libraries = (folder / "venv").glob("lib/python*/site-packages/torch/lib/libtorch_*.so")
        listing = subprocess.run(["nm", "-D", "--undefined-only", *libraries], check=True, capture_output=True, text=True).stdout
        names = {found.group() for word in listing.split() if (found := ABSENT_SYMBOL.match(word))}
        functions = "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in sorted(names))
        subprocess.run([*compiler, stand_ins / "symbols.so"], input=functions, check=True, text=True)
        for name in ABSENT:
            subprocess.run([*compiler, stand_ins / name, f"-Wl,-soname,{name}"], input="", check=True, text=True)
    for name in ["symbols.so", *ABSENT]:
        ctypes.CDLL(str(stand_ins / name), mode=ctypes.RTLD_GLOBAL)


def make_model(name, attention):
    """The same weights whatever `attention` is. Norms, biases and running statistics differ from their initial ones and
    zeros, because a runtime would fold those away, unlike the ones of a trained model."""
    import torch
    import transformers

    class_name, config_name, changes, _ = MODELS[name]
    torch.manual_seed(SEED)
    choice = {} if attention == "default" else {"attn_implementation": attention}
    model = getattr(transformers, class_name)._from_config(getattr(transformers, config_name)(**changes), **choice)
    with torch.no_grad():
        for value in [*model.parameters(), *model.buffers()]:
            if value.dim() == 1 and value.is_floating_point():
                value.add_(torch.rand_like(value) * 0.2)
    return model.eval()


def export(folder, name, exporter, attention):
    import torch

    class LogitsOnly(torch.nn.Module):
        def __init__(self, model, inputs):
            super().__init__()
            self.model, self.inputs = model, inputs
            self.options = {"use_cache": False} if name == "gpt2" else {}

        def forward(self, *values):
            return self.model(**dict(zip(self.inputs, values)), **self.options).logits

    inputs = MODELS[name][3]
    model = make_model(name, attention)
    checkpoint = folder / "checkpoints" / name
    if not checkpoint.exists():
        model.save_pretrained(checkpoint)

    images = inputs == ["pixel_values"]
    axes = {0: "batch"} if images else {0: "batch", 1: "sequence"}
    values = (torch.randn(2, 3, 224, 224),) if images else tuple(torch.ones(2, 16, dtype=torch.int64) for _ in inputs)
    options = {"input_names": inputs, "output_names": ["logits"]}
    if exporter == "dynamo":
        options.update(dynamo=True, external_data=False, dynamic_shapes=(tuple(axes for _ in inputs),))
    else:
        options.update(dynamo=False, dynamic_axes={value: axes for value in [*inputs, "logits"]})
    path = folder / f"{exporter}-{attention}" / f"{name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        torch.onnx.export(LogitsOnly(model, inputs).eval(), values, path, **options)
    print(path, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--folder", type=Path, default=root / "build/exporters")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--exporters", nargs="+", choices=EXPORTERS, default=EXPORTERS)
    parser.add_argument("--attention", nargs="+", choices=ATTENTIONS, default=ATTENTIONS[:1])
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    python = make_environment(folder)
    if Path(sys.prefix) != folder / "venv":
        os.execv(python, [python, *sys.argv])
    load_stand_ins(folder)
    for name in arguments.models:
        for exporter in arguments.exporters:
            for attention in arguments.attention:
                export(folder, name, exporter, attention)


if __name__ == "__main__":
    main()
