#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks names, comments, messages and pages for phrases that CONTRIBUTING.md ("Words") replaces: plain_words.py ROOT

The phrases come from the table "write | not" of that page, in all forms of a verb, and from OWN, for those that need a pattern."""
import pathlib
import re
import sys

# Words of the table that are right in another sense, so that only a reader can judge them ("in turn", "moved to the spool").
CONTEXT = {"for", "holds", "lies", "moved", "room", "takes", "turn"}
OWN = {
    r"\btelling\b": "says, reports, prints",
    r"(?<!there )(?<!There )\bis no\b(?! longer\b)": "is not a …; there is no …",
    r"^\s*(///?|#|--|\*) Of [a-z]": "For X: …; the Y of X …",
    r"made a mistake": "internal error: please report it",
    r"\ba batch of 0\b": "batch size 0 is invalid",
    r"\bis none it\b|\bthat is none\b": "does not match; is not a …",
}
FOLDERS = ("src", "include", "engines", "zoo", "cmake", "bench", "tests", "docs", "setup")
SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".cmake", ".txt", ".md", ".sql", ".def", ".json", ""}
# Data, recorded text, and the table of these phrases.
EXEMPT = ("CONTRIBUTING.md", "tests/plain_words.py", "tests/goldens/", "src/history/store/testdata/", "zoo/")


def forms_of(phrase):
    """A regular expression for a phrase: "tells" stands for "tell", too, and "asks for" for "asked for" and "asking for"."""
    first, space, rest = phrase.partition(" ")
    verb = re.fullmatch(r"([a-z]{3,})s", first)
    endings = "(s|ed|ing)?" if rest else "s?"
    pattern = verb[1] + endings if verb else re.escape(first)
    return rf"\b{pattern}{re.escape(space + rest)}(?![\w(])"


def table_phrases(page):
    """Pattern → what to write, from the rows of the table. Conditions in brackets and phrases with … are left to readers and OWN."""
    table = page[page.index("| write | not |"):].split("\n\n")[0]
    phrases = {}
    for row in table.splitlines()[2:]:
        write, instead = [cell.strip() for cell in row.strip("|").split(" | ")]
        for phrase in re.split(r"[;,] *", instead):
            if phrase not in CONTEXT and not re.search(r"[(…]", phrase):
                phrases[forms_of(phrase)] = write
    return phrases


def findings(path, text, phrases):
    """Yields a sentence for each phrase in a file."""
    for number, line in enumerate(text.splitlines(), 1):
        for phrase, write in phrases.items():
            match = re.search(phrase, line)
            if match:
                yield f'{path}:{number}: "{match[0].strip()}": write {write}'


def check_itself(phrases):
    example = "/// Tells it.\n// Of a row.\nthere is no file\nit is no file, as told\nit is no longer\nwe asked for it\nit carries it\ninputs.wants(name)\n"
    found = list(findings("a", example.lower().replace("// of", "// Of"), phrases))
    assert [int(each.split(":")[1]) for each in found] == [1, 2, 4, 4, 6, 7], found


def main(root):
    phrases = {**table_phrases((root / "CONTRIBUTING.md").read_text(encoding="utf-8")), **OWN}
    check_itself(phrases)
    files = [file for file in sorted(root.iterdir()) if file.is_file() and file.suffix in SUFFIXES - {""} | {".md"}]
    files += [root / "assay", root / "test"]
    for folder in FOLDERS:
        files += sorted(file for file in (root / folder).rglob("*") if file.is_file() and file.suffix in SUFFIXES)
    wrong = []
    for file in files:
        path = file.relative_to(root).as_posix()
        if not path.startswith(EXEMPT):
            wrong += findings(path, file.read_text(encoding="utf-8", errors="replace"), phrases)
    print("\n".join(wrong) or f"{len(files)} files have plain words; {len(phrases)} phrases were checked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
