#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no code compares names of engines: engine_names.py ROOT

engines/<name>/engine.json describes an engine; the rest of the program uses these traits. Therefore no string literal of src/
(except in tests) contains the name of an engine, in whatever case.
"""
import pathlib
import re
import sys

# A comment, a raw string, a string, a character.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)

ALLOWED = {
    "src/core/traits/engine_entry.hpp": {"onnxruntime"},  # kReferenceEngine, the only exception
    "src/core/result/hardware_words.hpp": {"openvino"},  # the name of the hardware
    "src/core/result/fields.def": {"openvino"},  # what rows of that engine meant before a field existed (core/result/keys.hpp)
    "src/models/model/names.cpp": {"openvino"},  # the name of the file format: OpenVINO IR
    "src/models/model/ways.cpp": {"openvino"},
}


def literals(text):
    """Yields line and content of each string literal."""
    for match in TOKEN.finditer(text):
        content = match[2] if match[2] is not None else match[3]
        if content is not None:
            yield text.count("\n", 0, match.start()) + 1, content


def wrong_literals(path, text, names):
    """Yields a sentence for each literal that contains one of the names as a separate word."""
    word = re.compile(r"(?<![\w-])(" + "|".join(names) + r")(?!\w)", re.IGNORECASE)
    for line, content in literals(text):
        for name in word.findall(content):
            if name.lower() not in ALLOWED.get(path, ()):
                yield f'{path}:{line}: names the engine "{name}"; use a trait of EngineEntry instead'


def main(root):
    # "null" is also a value of JSON.
    names = sorted({file.parent.name for file in root.glob("engines/*/engine.json")} - {"null"})
    assert names, "no engines"
    example = '// "xla"\nf("use xla!"); /* "xla" */ g(R"(a "xla" b)"); h("relaxla", "x-xla", \'"\', "xla", "XLA: x");'
    assert len(list(wrong_literals("src/a.cpp", example, ["xla"]))) == 4, list(wrong_literals("src/a.cpp", example, ["xla"]))
    files = [f for f in sorted((root / "src").rglob("*.*")) if f.suffix in (".cpp", ".hpp", ".def") and not f.stem.endswith("_test")]
    wrong = []
    for file in files:
        wrong += wrong_literals(file.relative_to(root).as_posix(), file.read_text(), names)
    print("\n".join(wrong) or f"{len(files)} files name none of the engines {' '.join(names)}")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
