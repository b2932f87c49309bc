#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py COLLECTION: writes zoo/goldens.json, the tolerances of the goldens that pass (passing.txt), by architecture and
class. COLLECTION: the folder of all goldens ($ASSAY_GOLDENS_DIR)."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parents[1] / "zoo" / "goldens.json"
ABOUT = "goldens that pass, by architecture and class: absolute and relative tolerance (tests/goldens/passing.txt)"


def passed(collection):
    """The widest tolerance of each architecture and class."""
    found = {}
    for name in (HERE / "passing.txt").read_text().split():
        meta = json.loads((pathlib.Path(collection) / name / "meta.json").read_text())
        tolerance = [float(f"{meta['tolerance_atol']:.3g}"), meta["tolerance_rtol"]]
        classes = found.setdefault(meta["model_type"], {})
        classes[meta["class"]] = max(tolerance, classes.get(meta["class"], tolerance))
    return {architecture: dict(sorted(found[architecture].items())) for architecture in sorted(found)}


def text(goldens):
    lines = ",\n".join(f"    {json.dumps(architecture)}: {json.dumps(classes)}" for architecture, classes in goldens.items())
    return f'{{\n  "about": {json.dumps(ABOUT)},\n  "goldens": {{\n{lines}\n  }}\n}}\n'


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FILE.write_text(text(passed(sys.argv[1])))
