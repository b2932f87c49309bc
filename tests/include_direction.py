#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that areas, modules, and the folders of a module include in one direction only: include_direction.py ROOT

An area is a folder of src/, a module is a folder of an area. Which areas an area may use stands in docs/architecture.md
("- `show` → core, history"). The order of an area's modules is the one in which the root's CMakeLists.txt adds them
("set(core_modules a b c)"), the order of a module's folders is in its CMakeLists.txt ("set(folders a b c)"). CMake itself
allows cycles between static libraries. Engines and the installed headers include nothing of src/. A module's own tests
follow the order of modules, but not that of the module's folders.

Not checked: tests/ and bench/, whose programs may use every module; includes with <>; what CMake links.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
ARROW = re.compile(r"^- `(\w+)` → (.*?)(?::|$)", re.MULTILINE)

# An engine whose runtime is a module of assay's own.
OWN_RUNTIME = {("engines", "evaluator"): ("models", "evaluate")}


class Layout:
    """Areas, their modules, and the folders of these."""

    def __init__(self, arrows, modules, inner):
        self.arrows = arrows  # by area: the areas that it may use
        self.modules = modules  # by area: its modules, in order
        self.inner = inner  # by (area, module): its folders, in order; a module without an order is not here

    @classmethod
    def read(cls, root):
        arrows = {area: set(re.findall(r"\w+", used)) - {"none"} for area, used in ARROW.findall((root / "docs" / "architecture.md").read_text())}
        listed = re.findall(r"set\((\w+)_modules ([a-z ]+)\)", (root / "CMakeLists.txt").read_text())
        inner = {}
        for file in sorted((root / "src").glob("*/*/CMakeLists.txt")):
            if stated := re.search(r"set\(folders ([a-z_ ]+)\)", file.read_text()):
                inner[file.parent.parent.name, file.parent.name] = stated[1].split()
        return cls(arrows, {area: modules.split() for area, modules in listed}, inner)

    def allows(self, place, included, is_test):
        """Whether a file in the folders `place` below the root may include a file of the folders `included` below src/."""
        if not included or included[0] not in self.modules:
            return True
        target = tuple(included[:2])
        if OWN_RUNTIME.get(place[:2]) == target:
            return True
        if place[0] != "src":
            return False
        own = tuple(place[1:3])
        if own[0] != target[0]:
            return target[0] in self.arrows.get(own[0], ())
        if own != target:
            modules = self.modules[own[0]]
            return modules.index(target[1]) < modules.index(own[1])
        folders = [] if is_test else self.inner.get(own, [])
        mine, other = (list(path[depth : depth + 1]) for path, depth in ((place, 3), (included, 2)))
        if not mine or mine[0] not in folders:
            return True
        return bool(other) and folders.index(other[0]) <= folders.index(mine[0])

    def misplaced(self, root):
        """What stands in no list."""
        for path in sorted((root / "src").glob("*/*")):
            area, module = path.parent.name, path.name
            if module not in self.modules.get(area, ()):
                yield f"src/{area}/{module}: not among the modules of CMakeLists.txt"
            for folder in sorted({f.parent.name for f in path.glob("*/*.[ch]pp")} - set(self.inner.get((area, module), ()))):
                if (area, module) in self.inner:
                    yield f"src/{area}/{module}/{folder}: not in the order of folders"
        for area in sorted(set(self.modules) ^ set(self.arrows)):
            yield f"{area}: an area has its modules in CMakeLists.txt and its arrows in docs/architecture.md"
        before = set()
        for area in self.modules:
            if late := self.arrows.get(area, set()) - before:
                yield f"{area} → {', '.join(sorted(late))}: not an area before it in CMakeLists.txt"
            before.add(area)


def folders_of(path):
    """The folders of a path: "models/zoo/text/x.hpp" has "models", "zoo" and "text"."""
    return pathlib.PurePath(path).parts[:-1]


def wrong_includes(layout, path, text):
    """Yields a sentence for each include in `text`, the file at `path` below the root, that its place does not allow."""
    for match in INCLUDE.finditer(text):
        if not layout.allows(folders_of(path), folders_of(match[1]), path.endswith("_test.cpp")):
            line = text.count("\n", 0, match.start(1)) + 1
            yield f"{path}:{line}: {'/'.join(folders_of(path))} must not include {match[1]}"


def check_itself():
    layout = Layout({"low": set(), "side": {"low"}, "high": {"low"}}, {"low": ["a", "b"], "side": ["c"], "high": ["d"]}, {("low", "b"): ["in", "out"]})
    count = lambda path, text: len(list(wrong_includes(layout, path, text)))
    assert count("src/low/b/x.cpp", '#include "low/a/y.hpp"\n#include "low/b/z.hpp"\n#include "z/d.h"\n#include "low/b/out/z.hpp"') == 0
    assert count("src/low/a/x.cpp", '#include <b>\n  # include "low/b/z.hpp"') == 1
    assert count("src/high/d/x.cpp", '#include "low/b/z.hpp"') == 0
    assert count("src/high/d/x.cpp", '#include "side/c/z.hpp"') == 1
    assert count("src/low/b/x.cpp", '#include "high/d/z.hpp"') == 1
    assert count("engines/e/x.cpp", '#include "low/a/y.hpp"') == 1
    assert count("engines/evaluator/x.cpp", '#include "models/evaluate/y.hpp"') == 0
    assert count("src/low/b/out/x.cpp", '#include "low/b/in/y.hpp"\n#include "low/b/out/y.hpp"\n#include "low/a/y.hpp"') == 0
    assert count("src/low/b/in/x.cpp", '#include "low/b/in/y.hpp"\n#include "low/b/out/y.hpp"') == 1
    assert count("src/low/b/out/x.cpp", '#include "low/b/z.hpp"') == 1
    assert count("src/low/b/in/x_test.cpp", '#include "low/b/z.hpp"') == 0
    assert count("src/low/a/x_test.cpp", '#include "low/b/z.hpp"') == 1


def main(root):
    check_itself()
    layout = Layout.read(root)
    wrong = list(layout.misplaced(root))
    files = [f for top in ("src", "engines", "include") for f in sorted((root / top).rglob("*.[ch]*")) if f.is_file()]
    for file in files:
        wrong += wrong_includes(layout, file.relative_to(root).as_posix(), file.read_text())
    arrows = "; ".join(f"{area} → {', '.join(sorted(used))}" for area, used in layout.arrows.items() if used)
    print("\n".join(wrong) or f"{len(files)} files include in one direction: {arrows}")
    return 1 if wrong or not files or not layout.modules else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
