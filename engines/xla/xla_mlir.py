# SPDX-License-Identifier: Apache-2.0
"""Reads a module: its function main, the types of its arguments and results, their names, and offers of memory."""
import re

from jaxlib.mlir import ir

from xla_device import OF_MLIR, TO_MLIR
from xla_library import Refusal, first_line


def mlir_context():
    if not hasattr(mlir_context, "made"):
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, func, stablehlo  # noqa: F401: func makes its operations typed
        registry = ir.DialectRegistry()
        _jax_mlir_ext.register_dialects(registry)
        made = ir.Context()
        made.append_dialect_registry(registry)
        made.load_all_available_dialects()
        stablehlo.register_dialect(made)
        chlo.register_dialect(made)
        mlir_context.made = made
    return mlir_context.made


def use_dialects_of_shardings(content):
    """Registers the dialects that jax writes for shardings, if the file has them: no module of assay's does."""
    if b"sdy" in content:
        from jaxlib.mlir.dialects import sdy
        sdy.register_dialect(mlir_context())
    if b"mpmd" in content:
        from jaxlib.mlir.dialects import mpmd
        mpmd.register_dialect(mlir_context())


def parse(content, name):
    """The module of a text, or of MLIR's or StableHLO's binary form. Needs the context."""
    from jaxlib.mlir.dialects import stablehlo
    use_dialects_of_shardings(content)
    problems = []
    handler = mlir_context().attach_diagnostic_handler(
        lambda problem: problems.append(problem) or True)
    try:
        if content.startswith(b"ML\xefR"):
            try:
                return stablehlo.deserialize_portable_artifact(mlir_context(), content)
            except Exception:
                del problems[:]
                return ir.Module.parse(content)
        return ir.Module.parse(content.decode("utf-8", "replace"))
    except MemoryError:
        raise
    except Exception as problem:
        raise Refusal("invalid_argument", f"'{name}' is not a StableHLO module: {where(problems, problem)}") from problem
    finally:
        handler.detach()


def where(problems, exception):
    """The first error, with its line."""
    diagnostics = [(item.message, str(item.location)) for item in problems]
    diagnostics += [(item.message, str(item.location)) for item in getattr(exception, "error_diagnostics", [])]
    for message, location in diagnostics:
        place = re.search(r":(\d+):(\d+)", location)
        return f"line {place[1]}, column {place[2]}: {first_line(message)}" if place else first_line(message)
    return first_line(str(exception))


def check_one_device(module, name):
    """Refuses the program of several devices: what one of them computes is another program."""
    attributes = module.operation.attributes
    for key, parts in (("mhlo.num_partitions", "partitions"), ("mhlo.num_replicas", "replicas")):
        count = attribute(attributes, key, ir.IntegerAttr)
        if count is not None and count != 1:
            raise Refusal("unsupported", f"'{name}' is a program for several devices ({count} {parts}); this engine runs one processor",
                          "lower the function for one device: with a mesh of one, or without shardings")


def main_of(module, name):
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and ir.StringAttr(operation.attributes["sym_name"]).value == "main":
            if operation.is_external:
                raise Refusal("invalid_argument", f"the function main of '{name}' has no body")
            return operation
    raise Refusal("invalid_argument", f"'{name}' has no function main")


def value_of(mlir_type, what):
    """The element type and extents of an argument or result."""
    try:
        tensor = ir.RankedTensorType(mlir_type)
    except ValueError as problem:
        raise Refusal("unsupported", f"{what} of main has the type {mlir_type}, which is not a tensor") from problem
    if not tensor.has_static_shape:
        raise Refusal("unsupported", f"{what} of main has open extents: {mlir_type}")
    number = OF_MLIR.get(str(tensor.element_type))
    if number is None:
        raise Refusal("unsupported", f"{what} of main has elements of type {tensor.element_type}")
    return number, list(tensor.shape)


def argument_names(content, count):
    """Names of main's arguments in the text, unless they are what printers make up; by their places."""
    text = content.decode("utf-8", "replace")
    begin = re.search(r"func\.func\s+(?:public\s+)?@main\s*\(", text)
    if begin is None:
        return {}
    names, depth, place = [], 1, begin.end()
    token = re.compile(r'"(?:[^"\\]|\\.)*"|[()<>{}\[\]]|(%[A-Za-z0-9_$.-]+)\s*:|.', re.S)
    while depth > 0 and place < len(text):
        found = token.match(text, place)
        if found[0] in "(<{[":
            depth += 1
        elif found[0] in ")>}]":
            depth -= 1
        elif found[1] and depth == 1:
            names.append(found[1][1:])
        place = found.end()
    if len(names) != count:
        return {}
    return {i: name for i, name in enumerate(names) if not re.fullmatch(r"(arg)?\d+", name)}


def location_name(location):
    found = re.fullmatch(r'loc\("((?:[^"\\]|\\.)*)"(\(.*\))?\)', str(location))
    return found[1] if found else None


def attribute(attributes, name, kind):
    """The value of an attribute of this kind (a class of `ir`), or None."""
    found = attributes[name] if name in attributes else None
    return kind(found).value if isinstance(found, kind) else None


def set_donations(main, donated, memory):
    """Lets inputs be overwritten with outputs, and adds an argument for the memory of each further output."""
    block = main.entry_block
    number = ir.IntegerType.get_signless(32)
    attributes = []
    for i, old in enumerate(main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else [{}] * len(block.arguments)):
        # A program may offer more of its arguments to XLA; then these would not be valid after a run.
        kept = {item.name: item.attr for item in old if item.name not in ("tf.aliasing_output", "jax.buffer_donor")}
        if i in donated:
            kept["tf.aliasing_output"] = ir.IntegerAttr.get(number, donated[i])
        attributes.append(ir.DictAttr.get(kept))
    for output, element, shape in memory:
        block.add_argument(ir.RankedTensorType.get(shape, ir.Type.parse(TO_MLIR[element])), ir.Location.unknown())
        attributes.append(ir.DictAttr.get({"tf.aliasing_output": ir.IntegerAttr.get(number, output)}))
    main.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([item.type for item in block.arguments], list(main.type.results)))
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
