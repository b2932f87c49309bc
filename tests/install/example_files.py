#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that a document shows: example_files.py DOCUMENT FOLDER

A file is a code block below a line with its name alone: **`engine.json`**. So the example that is tested is the one that
authors read.
"""
import pathlib
import re
import sys

document, folder = map(pathlib.Path, sys.argv[1:])
files = re.findall(r"^\*\*`([^`\n]+)`\*\*\n\n```\w*\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
assert len(files) == len(dict(files)) > 0, files
folder.mkdir(parents=True)
for name, text in files:
    (folder / name).write_text(text)
