#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the program prints the messages that docs/errors.md quotes: quoted_messages.py ROOT

A quote (`…` in a line that begins with >) must consist of strings of the sources, in which {} stands for one value: an example
without spaces, another string of the sources, or the sign …. Not checked: messages of runtimes and of the system."""
import errno
import os
import pathlib
import re
import sys

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
VALUE = re.compile(r"'?\S*'?|[\d.]+ \w+|(\w+, )+…|\w+ \[[^\]]*\]")  # onnxruntime, 'a.onnx', 600 s, a, b, …, float32 [1, 128]
SYSTEM = {os.strerror(number) for number in errno.errorcode}
FEWEST = 4  # fixed letters of a string: shorter strings match anything


def strings_of(text):
    """The string literals of C++ code; adjacent ones are one."""
    text = re.sub(r'"\s*\n\s*"', "", text)
    for match in LITERAL.finditer(text):
        yield re.sub(r"\\(.)", r"\1", match[1])


def patterns_of(strings):
    """Regular expressions of format strings with a group for each value, the longest first."""
    for string in sorted(set(strings), key=lambda s: (-len(s), s)):
        fixed = re.split(r"\{[^{}]*\}", string)
        if len(re.findall(r"[A-Za-z]", "".join(fixed))) >= FEWEST:
            yield re.compile("(.*?)".join(map(re.escape, fixed)), re.DOTALL)


def quotes_of(page):
    """The quoted messages and hints of a page with their line numbers. A code such as error[internal] is not a part of them."""
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith(">"):
            for quote in re.findall(r"`([^`]+)`", line):
                yield number, re.sub(r"^error\[\w+\]: ", "", quote)


def is_printed(quote, patterns, depth=3):
    """Whether the quote is a value, or matches a pattern whose values, and what stands before and after it, are printed."""
    quote = quote.strip(" :;,")
    if VALUE.fullmatch(quote) or quote in SYSTEM:
        return True
    return depth > 0 and any(
        all(is_printed(part, patterns, depth - 1) for part in (quote[:m.start()], quote[m.end():], *m.groups()))
        for pattern in patterns if (m := pattern.search(quote)))


def check_itself():
    patterns = list(patterns_of(["{} did not answer within {}", "the {} worker", "cannot write '{}': {}", "disk full"]))
    assert is_printed("the onnxruntime worker did not answer within 600 s", patterns)
    assert not is_printed("the worker of onnxruntime did not answer within 600 s", patterns)
    assert is_printed("cannot write '…/a.json': disk full", patterns) and is_printed("cannot write 'a': Permission denied", patterns)
    assert not is_printed("cannot write 'a': the disk has no room", patterns)


def main(root):
    check_itself()
    files = [file for folder in ("src", "engines") for file in (root / folder).rglob("*.[ch]pp") if "_test" not in file.name]
    patterns = list(patterns_of(string for file in files for string in strings_of(file.read_text(encoding="utf-8"))))
    page = root / "docs" / "errors.md"
    quotes = list(quotes_of(page.read_text(encoding="utf-8")))
    wrong = [f"{page}:{number}: no message of the program is like `{quote}`" for number, quote in quotes if not is_printed(quote, patterns)]
    print("\n".join(wrong) or f"{len(quotes)} quoted messages are those of the program")
    return 1 if wrong or not quotes else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
