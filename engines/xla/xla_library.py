# SPDX-License-Identifier: Apache-2.0
"""The installed jaxlib.

It is used without jax: importing jax costs half a second and 50 MB, and only other devices than the processor need it.
jaxlib's interface is private to jax, so only the series that was tested is accepted (TESTED). The modules after this one
import it at their beginning.
"""
import importlib.metadata
import os
import re
import sys

TESTED = "0.10"


class Refusal(Exception):
    """An error with one of assay's codes."""

    def __init__(self, code, message, hint=""):
        super().__init__(message.encode("utf-8", "backslashreplace").decode())  # names of files may be any bytes
        self.code = code
        self.hint = hint


def first_line(text):
    return text.strip().split("\n", 1)[0]


def start(site):
    """Checks jaxlib in the folder `site` and imports it. Returns its version."""
    site = os.fsdecode(site)
    sys.path.insert(0, site)
    found = next(iter(importlib.metadata.distributions(name="jaxlib", path=[site])), None)
    if found is None:
        raise Refusal("incompatible_plugin", f"'{site}' has a folder jaxlib, but not the jaxlib-VERSION.dist-info of its version")
    tags = re.findall(r"^Tag: cp(\d)(\d+)-", found.read_text("WHEEL") or "", re.M)
    own = (str(sys.version_info.major), str(sys.version_info.minor))
    if tags and own not in tags:
        raise Refusal("incompatible_plugin", f"jaxlib in '{site}' is for Python {'.'.join(tags[0])}, "
                                             f"but this plug-in starts Python {'.'.join(own)}")
    try:
        version = found.version
    except Exception:  # METADATA is not as the header of an e-mail
        version = None
    if not version:
        raise Refusal("incompatible_plugin", f"the jaxlib-VERSION.dist-info in '{site}' is not complete: it has no version",
                      "install jaxlib again")
    if version.split(".")[:2] != TESTED.split("."):
        raise Refusal("incompatible_plugin", f"jaxlib in '{site}' is version {version}, "
                                             f"but this plug-in was tested with {TESTED}",
                      f"`pip install --target FOLDER jaxlib=={TESTED}.*` installs it; set ASSAY_XLA_HOME to FOLDER")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's own threads are not used
    try:
        import ml_dtypes  # noqa: F401: the other modules import these
        import numpy  # noqa: F401
        from jaxlib import _jax, xla_client  # noqa: F401
        from jaxlib.mlir import ir  # noqa: F401
    except Exception as problem:  # a source that was cut short is a SyntaxError
        raise Refusal("incompatible_plugin", f"jaxlib in '{site}' is not complete: {first_line(str(problem))}",
                      "install jaxlib again, with numpy and ml_dtypes") from problem
    return version
