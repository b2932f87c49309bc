# SPDX-License-Identifier: Apache-2.0
"""The file beside a module: the signature and the weights (docs/lowering.md)."""
import json
import math
import os
import re

from xla_device import NUMBERS, dtype_of
from xla_library import Refusal

FORMAT_VERSION = 1
JSON_NAMES = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


def entry(owner, key, kind, what):
    """The value of `key` in an object of the file, of the type `kind`; `what` names the object in messages."""
    if type(owner) is not dict:
        raise ValueError(f"{what} is {shown_value(owner)}, not an object")
    if key not in owner:
        raise ValueError(f'{what} has no "{key}"')
    value = owner[key]
    if type(value) is not kind:  # true is not an integer
        raise ValueError(f'"{key}" of {what} is {shown_value(value)}, not {JSON_NAMES[kind]}')
    if kind is str and re.search("[\ud800-\udfff]", value):  # half of a pair, which no UTF-8 has
        raise ValueError(f'"{key}" of {what} is {shown_value(value)}, which is not a text')
    return value


def shown_value(value):
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:80] + "..."


def count_in(owner, key, what):
    value = entry(owner, key, int, what)
    if value < 0:
        raise ValueError(f'"{key}" of {what} is {value}; valid is 0 or more')
    return value


def value_in(item, what):
    """Name, element type and extents of an entry."""
    name = entry(item, "name", str, what)
    what = f"'{name}'"
    dtype, shape = entry(item, "dtype", str, what), entry(item, "shape", list, what)
    if dtype not in NUMBERS:
        raise ValueError(f"{what} has the dtype '{dtype}'; valid are {', '.join(NUMBERS)}")
    if any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError(f"{what} has the shape {shown_value(shape)}; all extents are integers of 0 or more")
    return name, NUMBERS[dtype], shape


def index_limit_in(item):
    """The rows of the table that an input selects from; 0: not stated."""
    limit = item.get("index_limit", 1)
    if type(limit) is not int or limit < 1:
        raise ValueError(f"\"index_limit\" of '{item['name']}' is {shown_value(limit)}, not an integer of 1 or more")
    return limit if "index_limit" in item else 0


def list_of(read, content, key):
    return [read(item, f"{key}[{i}]") for i, item in enumerate(entry(content, key, list, "the file"))]


class StoredWeight:
    """An entry of "weights": a value, and where its elements are."""

    def __init__(self, item, what):
        self.name, self.number, self.shape = value_in(item, what)
        what = f"the weight '{self.name}'"
        self.file = entry(item, "file", str, what)
        self.offset, self.bytes = count_in(item, "offset", what), count_in(item, "bytes", what)
        size = math.prod(self.shape) * dtype_of(self.number).itemsize
        if self.bytes != size:
            raise ValueError(f"{what} has {self.bytes} bytes, its type and shape need {size}")
        # Axis i of the weight is axis permutation[i] of the tensor in the file.
        self.permutation = entry(item, "permutation", list, what) if "permutation" in item else None
        if self.permutation is not None and (any(type(axis) is not int for axis in self.permutation)
                                             or sorted(self.permutation) != list(range(len(self.shape)))):
            raise ValueError(f'"permutation" of {what} is {shown_value(self.permutation)}; '
                             f"valid is each axis of {len(self.shape)} once, counted from 0")


def read_signature(path):
    """The inputs, the outputs, the StoredWeights, and the index limits of the inputs, of the file `path`."""
    try:
        with open(path, "rb") as file:
            content = json.load(file)
        version = entry(content, "format_version", int, "the file")
        if version != FORMAT_VERSION:
            raise Refusal("unsupported", f"'{os.path.basename(path)}' has format version {version}; this assay reads {FORMAT_VERSION}")
        inputs = list_of(value_in, content, "inputs")
        return (inputs, list_of(value_in, content, "outputs"),
                list_of(StoredWeight, content, "weights") if "weights" in content else [],
                [index_limit_in(item) for item in content["inputs"]])
    except (OSError, ValueError, RecursionError) as problem:
        raise Refusal("invalid_argument",
                      f"'{os.path.basename(path)}' is not the signature of a lowered model: {problem}") from problem
