#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that EXCEPTIONS.md agrees with fingerprints.txt and with itself: exceptions_test.py FOLDER"""
import collections
import pathlib
import re
import sys

TOTAL = re.compile(r"^(\d+) graphs of (\d+) goldens and (\d+) published checkpoints changed", re.M)
SECTIONS = ("Goldens", "Checkpoints")


def entries(text, section):
    """The (name, number of changed graphs) pairs of a section, in its order."""
    found = re.search(rf"^## {section}\n\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    items = [item.split() for item in found[1].split(",")] if found else []
    return [(item[0], int(item[1])) for item in items if len(item) == 2 and item[1].isdigit()], len(items)


def findings(text, recorded):
    """Yields a sentence for each contradiction. `recorded`: the number of recorded graphs by model."""
    total = TOTAL.search(text)
    if not total:
        yield 'the sentence "N graphs of N goldens and N published checkpoints changed" is missing'
        return
    seen, changed = set(), 0
    for section, stated in zip(SECTIONS, total.groups()[1:]):
        models, count = entries(text, section)
        names = [name for name, _ in models]
        if len(models) != count:
            yield f"{section}: {count - len(models)} entries are not a name and a number"
        if count != int(stated):
            yield f"{section}: {count} models are listed, {stated} are stated"
        if names != sorted(names):
            yield f"{section}: the names are not sorted"
        for name, graphs in models:
            if name in seen:
                yield f"{name} is listed twice"
            if name not in recorded:
                yield f"{name} is not in fingerprints.txt"
            elif not 0 < graphs <= recorded[name]:
                yield f"{name}: {graphs} graphs changed, {recorded[name]} are recorded"
            seen.add(name)
            changed += graphs
    if changed != int(total[1]):
        yield f"the numbers of the models add up to {changed}, {total[1]} are stated"


def check_examples():
    recorded = {"a": 3, "b": 2, "x/y": 1}
    good = "4 graphs of 2 goldens and 1 published checkpoints changed; no more.\n\n## Goldens\n\na 2,\nb 1\n\n## Checkpoints\n\nx/y 1\n"
    assert not list(findings(good, recorded)), list(findings(good, recorded))
    for old, new in (("b 1", "c 1"), ("b 1", "a 1"), ("b 1", "b 3"), ("b 1", "b"), ("4 graphs", "5 graphs"),
                     ("2 goldens", "3 goldens"), ("1 published", "2 published"), ("a 2,\nb 1", "b 1, a 2"), ("changed", "differ")):
        assert list(findings(good.replace(old, new), recorded)), (old, new)


def main(folder):
    check_examples()
    lines = (folder / "fingerprints.txt").read_text(encoding="utf-8").splitlines()
    recorded = collections.Counter(line.split()[0] for line in lines)
    wrong = list(findings((folder / "EXCEPTIONS.md").read_text(encoding="utf-8"), recorded))
    print("\n".join(wrong) or "EXCEPTIONS.md agrees with fingerprints.txt")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
