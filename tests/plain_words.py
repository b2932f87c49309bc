#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks names, comments, messages and pages for phrases that CONTRIBUTING.md ("Words") replaces: plain_words.py ROOT"""
import pathlib
import re
import sys

PHRASES = {
    r"\btell(s|ing)?\b|\btold\b": "write says, reports, prints, states or is given by",
    r"(?<!there )(?<!There )\bis no\b(?! longer\b)": "write is not a …, or there is no …",
    r"^\s*(///?|#|--|\*) Of [a-z]": "write For …, or The … of …",
    r"made a mistake": "write internal error: please report it",
    r"\ba batch of 0\b": "write batch size 0 is invalid",
    r"\bis none it\b|\bthat is none\b": "write does not match, or is not a …",
}
FOLDERS = ("src", "include", "engines", "zoo", "cmake", "bench", "tests", "docs", "setup")
SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".cmake", ".txt", ".md", ".sql", ".def", ".json", ""}
# Data, recorded text, and the table of these phrases.
EXEMPT = ("CONTRIBUTING.md", "tests/plain_words.py", "tests/goldens/", "src/store/testdata/", "src/store/migrations/0004", "zoo/")


def findings(path, text):
    """Yields a sentence for each phrase in a file."""
    for number, line in enumerate(text.splitlines(), 1):
        for phrase, instead in PHRASES.items():
            match = re.search(phrase, line)
            if match:
                yield f'{path}:{number}: "{match[0].strip()}": {instead}'


def main(root):
    example = "/// Tells it.\n// Of a row.\nthere is no file\nit is no file, as told\nit is no longer\n"
    assert len(list(findings("a", example))) == 3, list(findings("a", example))
    files = [file for file in sorted(root.iterdir()) if file.is_file() and file.suffix in SUFFIXES - {""} | {".md"}]
    files += [root / "assay", root / "test"]
    for folder in FOLDERS:
        files += sorted(file for file in (root / folder).rglob("*") if file.is_file() and file.suffix in SUFFIXES)
    wrong = []
    for file in files:
        path = file.relative_to(root).as_posix()
        if not path.startswith(EXEMPT):
            wrong += findings(path, file.read_text(encoding="utf-8", errors="replace"))
    print("\n".join(wrong) or f"{len(files)} files have plain words")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
