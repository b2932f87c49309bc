#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that modules, and the folders of a module, include in one direction only: include_direction.py ROOT

The order of modules is the one in which the root's CMakeLists.txt adds them, the order of a module's folders is in its
CMakeLists.txt ("set(folders a b c)"). CMake itself allows cycles between static libraries. Engines and the installed
headers include nothing of src/. A module's own tests follow the order of modules, but not that of the module's folders.

Not checked: tests/ and bench/, whose programs may use every module; includes with <>; what CMake links.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def folders(path):
    """The folders of a path: "zoo/text/x.hpp" has "zoo" and "text"."""
    return pathlib.PurePath(path).parts[:-1]


# An engine whose runtime is a module of assay's own.
OWN_RUNTIME = {("engines", "evaluator"): "evaluate"}


def is_allowed(order, inner, place, included):
    """Whether a file in the folders `place` below the root may include a file of the folders `included` below src/."""
    if not included or included[0] not in order:
        return True
    if OWN_RUNTIME.get(place[:2]) == included[0]:
        return True
    if place[0] != "src" or place[1] not in order:
        return False
    module = place[1]
    if included[0] != module:
        return order.index(included[0]) < order.index(module)
    own = place[2] if len(place) > 2 else None
    if own not in inner.get(module, []):
        return True
    other = included[1] if len(included) > 1 else None
    return other in inner[module] and inner[module].index(other) <= inner[module].index(own)


def wrong_includes(order, inner, path, text):
    """Yields a sentence for each include in `text`, the file at `path` below the root, that its place does not allow."""
    if path.endswith("_test.cpp"):
        inner = {}
    for match in INCLUDE.finditer(text):
        if not is_allowed(order, inner, folders(path), folders(match[1])):
            line = text.count("\n", 0, match.start(1)) + 1
            yield f"{path}:{line}: {'/'.join(folders(path))} must not include {match[1]}"


def check_itself():
    order = ["a", "b"]
    inner = {"b": ["low", "high"]}
    count = lambda path, text: len(list(wrong_includes(order, inner, path, text)))
    assert count("src/b/x.cpp", '#include "a/y.hpp"\n#include "b/z.hpp"\n#include "c/d.h"\n#include "b/high/z.hpp"') == 0
    assert count("src/a/x.cpp", '#include <b>\n  # include "b/z.hpp"') == 1
    assert count("engines/e/x.cpp", '#include "a/y.hpp"') == 1
    assert count("engines/evaluator/x.cpp", '#include "evaluate/y.hpp"') == 0
    assert count("src/b/high/x.cpp", '#include "b/low/y.hpp"\n#include "b/high/y.hpp"\n#include "a/y.hpp"') == 0
    assert count("src/b/low/x.cpp", '#include "b/low/y.hpp"\n#include "b/high/y.hpp"') == 1
    assert count("src/b/high/x.cpp", '#include "b/z.hpp"') == 1
    assert count("src/b/low/x_test.cpp", '#include "b/z.hpp"') == 0
    assert count("src/a/x_test.cpp", '#include "b/z.hpp"') == 1


def main(root):
    check_itself()
    order = re.search(r"foreach\(module ([a-z ]+)\)", (root / "CMakeLists.txt").read_text())[1].split()
    inner = {}
    wrong = []
    for file in sorted((root / "src").glob("*/CMakeLists.txt")):
        if stated := re.search(r"set\(folders ([a-z_ ]+)\)", file.read_text()):
            inner[file.parent.name] = stated[1].split()
            found = {f.parent.name for f in file.parent.glob("*/*.[ch]pp")}
            wrong += [f"src/{file.parent.name}/{w}: not in the order of folders" for w in sorted(found - set(stated[1].split()))]

    files = [f for top in ("src", "engines", "include") for f in sorted((root / top).rglob("*.[ch]*")) if f.is_file()]
    unknown = sorted({f.relative_to(root).parts[1] for f in files if f.is_relative_to(root / "src")} - set(order))
    wrong += [f"src/{name}: not in the order of modules" for name in unknown]
    for file in files:
        wrong += wrong_includes(order, inner, file.relative_to(root).as_posix(), file.read_text())
    print("\n".join(wrong) or f"{len(files)} files include in the direction {' '.join(order)}")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
