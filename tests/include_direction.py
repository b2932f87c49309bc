#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that modules include in one direction only: include_direction.py ROOT

The order is the one in which the root's CMakeLists.txt adds them. CMake itself allows cycles between static libraries.
Engines and the installed headers know nothing of src/.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"/]+)/[^"]*"', re.MULTILINE)


def wrong_includes(order, path, text):
    """Yields a sentence for each include in `text`, the file at `path` below the root, that its place does not allow."""
    top, module = pathlib.PurePath(path).parts[:2]
    allowed = order[: order.index(module) + 1] if top == "src" and module in order else []
    for match in INCLUDE.finditer(text):
        if match[1] in order and match[1] not in allowed:
            line = text.count("\n", 0, match.start(1)) + 1
            yield f"{path}:{line}: {module if allowed else top} must not include {match[1]}/"


def main(root):
    order = re.search(r"foreach\(module ([a-z ]+)\)", (root / "CMakeLists.txt").read_text())[1].split()
    assert not list(wrong_includes(["a", "b"], "src/b/x.cpp", '#include "a/y.hpp"\n#include "b/z.hpp"\n#include "c/d.h"'))
    assert len(list(wrong_includes(["a", "b"], "src/a/x.cpp", '#include <b>\n  # include "b/z.hpp"'))) == 1
    assert len(list(wrong_includes(["a", "b"], "engines/e/x.cpp", '#include "a/y.hpp"'))) == 1

    files = [f for top in ("src", "engines", "include") for f in sorted((root / top).rglob("*.[ch]*")) if f.is_file()]
    unknown = sorted({f.relative_to(root).parts[1] for f in files if f.is_relative_to(root / "src")} - set(order))
    wrong = [f"src/{name}: not in the order of modules" for name in unknown]
    for file in files:
        wrong += wrong_includes(order, file.relative_to(root).as_posix(), file.read_text())
    print("\n".join(wrong) or f"{len(files)} files include in the direction {' '.join(order)}")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
