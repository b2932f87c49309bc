# SPDX-License-Identifier: Apache-2.0
"""Custom calls of a module: functions outside of StableHLO, which XLA finds by their names. A compilation fails for a name that is not
registered, and its error has that name."""
import re

from jaxlib import xla_client as xc
from jaxlib.mlir import ir

from xla_library import Refusal, first_line

LAPACK = re.compile("lapack_[sdcz][a-z0-9]+(_ffi)?")
SPARSE = re.compile("cpu_csr_[a-z_]+")
# jax passes these the place of a Python function in the process that made the module.
CALLBACK = re.compile("xla_.*python.*callback")


def targets_of(module):
    """The names of the functions that a module calls, in order, each once."""
    names = []

    def visit(operation):
        if operation.name == "stablehlo.custom_call":
            name = ir.StringAttr(operation.attributes["call_target_name"]).value
            if name not in names:
                names.append(name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names


def provide_targets(module, name):
    """Registers the functions of jaxlib that the module of the file `name` calls. They are not loaded before: SciPy, whose LAPACK
    jaxlib uses, takes as long to import as all the rest. Errors: unsupported, for functions of the program that made the module."""
    targets = targets_of(module)
    for target in targets:
        if CALLBACK.fullmatch(target):
            raise Refusal("unsupported", f"'{name}' calls a Python function of the program that made it (custom call '{target}')",
                          "write the function with operations of jax, or without jax.pure_callback and jax.debug.print")
    register("lapack", [target for target in targets if LAPACK.fullmatch(target)], name)
    register("sparse", [target for target in targets if SPARSE.fullmatch(target)], name)


def register(library, targets, name):
    """Registers all functions of one of jaxlib's libraries if there are targets, once."""
    if not targets or library in register.done:
        return
    try:
        if library == "lapack":
            from jaxlib import lapack as functions
            functions._lapack.initialize()
        else:
            from jaxlib import cpu_sparse as functions
    except ImportError as problem:
        raise Refusal("unsupported", f"'{name}' calls '{targets[0]}', and the library of jaxlib with this function cannot be opened: "
                                     f"{first_line(str(problem))}",
                      "install SciPy beside jaxlib: LAPACK is a part of it" if library == "lapack" else "install jaxlib again") from problem
    for target, function, api_version in functions.registrations()["cpu"]:
        xc.register_custom_call_target(target, function, platform="cpu", api_version=api_version)
    register.done.add(library)


register.done = set()
