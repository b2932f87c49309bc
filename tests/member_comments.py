#!/usr/bin/env python3
"""member_comments.py CHECKOUT [--list]: comments after members (`///<`) are phrases that stand alone.

A comment that begins with a preposition or a relative word is half a sentence: the reader has to put it together with
the name before it. A better name needs no comment; otherwise a noun phrase or a sentence says it.
Fails if more than 5 % of the comments begin so.
"""
import pathlib
import re
import subprocess
import sys

HALF = set(
    "of in by with without for from to at on as into onto over under per than what where when whose which how that"
    " after before between beside since until till if unless only not but and or because while against among".split()
)
MOST = 0.05


def comments(root):
    files = subprocess.run(["git", "ls-files", "*.hpp", "*.cpp"], cwd=root, capture_output=True, text=True, check=True)
    for name in files.stdout.split():
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            found = re.search(r"///<\s*(.*)", line)
            if found and not line.lstrip().startswith("///<"):
                yield name, number, found.group(1)


def main():
    root = pathlib.Path(sys.argv[1])
    all_comments = list(comments(root))
    half = [each for each in all_comments if re.match(r"[a-zA-Z]*", each[2]).group().lower() in HALF]
    if "--list" in sys.argv:
        for name, number, text in half:
            print(f"{name}:{number}: {text}")
    share = len(half) / max(1, len(all_comments))
    print(f"{len(half)} of {len(all_comments)} member comments begin with half a sentence: {share:.1%}")
    return 1 if share > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
