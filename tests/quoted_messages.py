#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the program prints the messages that docs/errors.md quotes: quoted_messages.py ROOT

A quote (`…` in a line that begins with >) must match a string of the sources, in which {} stands for any text. The parts of a quote
that vary are examples or the sign …."""
import pathlib
import re
import sys

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
FEWEST = 8  # characters of a string that are not placeholders: shorter strings match anything


def strings_of(text):
    """The string literals of C++ code; adjacent ones are one."""
    text = re.sub(r'"\s*\n\s*"', "", text)
    for match in LITERAL.finditer(text):
        yield re.sub(r"\\(.)", r"\1", match[1])


def pattern_of(string):
    """The regular expression of a format string; None if too little of it is fixed."""
    fixed = re.split(r"\{[^{}]*\}", string)
    if sum(map(len, fixed)) < FEWEST:
        return None
    return re.compile(".*".join(map(re.escape, fixed)), re.DOTALL)


def quotes_of(page):
    """The quoted messages and hints of a page with their line numbers. A code such as error[internal] is not a part of them."""
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith(">"):
            for quote in re.findall(r"`([^`]+)`", line):
                yield number, re.sub(r"^error\[\w+\]: ", "", quote)


def is_printed(quote, patterns):
    return any(pattern.search(quote) and len(pattern.search(quote)[0]) * 2 >= len(quote) for pattern in patterns)


def main(root):
    patterns = [pattern_of("{} has no device '{}'"), pattern_of("disk full")]
    assert is_printed("openvino has no device 'GPU.9'", patterns) and not is_printed("openvino has a device 'GPU.9'", patterns)
    files = [file for folder in ("src", "engines") for file in (root / folder).rglob("*.[ch]pp") if "_test" not in file.name]
    patterns = [pattern for file in files for string in strings_of(file.read_text(encoding="utf-8"))
                if (pattern := pattern_of(string))]
    page = root / "docs" / "errors.md"
    quotes = list(quotes_of(page.read_text(encoding="utf-8")))
    wrong = [f"{page}:{number}: no message of the program is like `{quote}`" for number, quote in quotes if not is_printed(quote, patterns)]
    print("\n".join(wrong) or f"{len(quotes)} quoted messages are those of the program")
    return 1 if wrong or not quotes else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
