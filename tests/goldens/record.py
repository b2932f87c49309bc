#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py COLLECTION: writes zoo/goldens.json, the tolerances of the goldens that pass (passing.txt), by architecture and
class, and zoo/tiny.json, the configuration of one of them for each architecture. COLLECTION: the folder of all goldens
($ASSAY_GOLDENS_DIR)."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parents[1] / "zoo" / "goldens.json"
ABOUT = "goldens that pass, by architecture and class: absolute and relative tolerance (tests/goldens/passing.txt)"
TINY = FILE.with_name("tiny.json")
ABOUT_TINY = "the size tiny of each architecture: configurations of goldens that pass (tests/goldens/record.py)"
PARTS = {"metaclip_2_text_model": "MetaClip2TextModel", "metaclip_2_vision_model": "MetaClip2VisionModel"}
UNUSED = {"architectures", "transformers_version", "_diffusers_version", "dtype", "torch_dtype", "initializer_range",
          "initializer_factor", "use_cache", "return_dict", "_name_or_path"}


def passed(collection):
    """The widest tolerance of each architecture and class."""
    found = {}
    for name in (HERE / "passing.txt").read_text().split():
        meta = json.loads((pathlib.Path(collection) / name / "meta.json").read_text())
        tolerance = [float(f"{meta['tolerance_atol']:.3g}"), meta["tolerance_rtol"]]
        classes = found.setdefault(meta["model_type"], {})
        classes[meta["class"]] = max(tolerance, classes.get(meta["class"], tolerance))
    return {architecture: dict(sorted(found[architecture].items())) for architecture in sorted(found)}


def tiny(collection):
    """A configuration for each architecture of the zoo: that of the golden with its name, else of the first. What no graph
    depends on is left out."""
    built = {json.loads(path.read_text()).get("model_type") for path in FILE.parent.glob("*.json")}
    names = (HERE / "passing.txt").read_text().split()
    found = {}
    for name in sorted(names, key=lambda name: ("__" in name, name)):
        folder = pathlib.Path(collection) / name
        meta = json.loads((folder / "meta.json").read_text())
        if meta["model_type"] in found or meta["model_type"] not in built:
            continue
        config = json.loads((folder / "config.json").read_text())
        found[meta["model_type"]] = {"class": meta["class"], "config": shorter(config)}
        # A part that is an architecture of its own: the text model of a pair of towers.
        for part in (part for part in config.values() if isinstance(part, dict)):
            if part.get("model_type") in PARTS:
                found[part["model_type"]] = {"class": PARTS[part["model_type"]], "config": shorter(part)}
    return {architecture: found[architecture] for architecture in sorted(found)}


def shorter(config):
    def used(key, value):
        return value is not None and not key.endswith(("dropout", "_drop", "pdrop")) and key not in UNUSED

    return {key: shorter(value) if isinstance(value, dict) else value for key, value in config.items() if used(key, value)}


def tiny_text(configs):
    lines = ",\n".join(f"    {json.dumps(architecture)}: {json.dumps(entry)}" for architecture, entry in configs.items())
    return f'{{\n  "about": {json.dumps(ABOUT_TINY)},\n  "architectures": {{\n{lines}\n  }}\n}}\n'


def text(goldens):
    lines = ",\n".join(f"    {json.dumps(architecture)}: {json.dumps(classes)}" for architecture, classes in goldens.items())
    return f'{{\n  "about": {json.dumps(ABOUT)},\n  "goldens": {{\n{lines}\n  }}\n}}\n'


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FILE.write_text(text(passed(sys.argv[1])))
    TINY.write_text(tiny_text(tiny(sys.argv[1])))
