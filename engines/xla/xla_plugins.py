# SPDX-License-Identifier: Apache-2.0
"""jax's plug-ins of other devices than the processor. They are looked for where jax itself looks, in the folder of jaxlib: entry points
of the group `jax_plugins`, modules of the namespace package `jax_plugins`, and libtpu. Nothing is imported or run."""
import importlib.metadata
import os
import pkgutil
import re

GROUP = "jax_plugins"
# Hardware, the words of it in names of plug-ins, and what installs one.
HARDWARE = [("cuda", ("cuda",), "jax[cuda13]"), ("tpu", ("tpu",), "jax[tpu]")]


def plugins_in(site):
    """The names of the plug-ins, each with what has it."""
    found = {}
    for distribution in importlib.metadata.distributions(path=[site]):
        try:
            about = f"{distribution.name} {distribution.version}"
            points = [point for point in distribution.entry_points if point.group == GROUP]
            is_tpu = distribution.name == "libtpu"
        except Exception:  # its metadata are damaged
            continue
        for point in points:
            found.setdefault(point.value.split(":")[0].removeprefix(GROUP + "."), about)
        if is_tpu:
            found.setdefault("libtpu", about)
    for module in pkgutil.iter_modules([os.path.join(site, GROUP)]):
        found.setdefault(module.name, f"the folder {GROUP}")
    if os.path.exists(os.path.join(site, "libtpu", "libtpu.so")):
        found.setdefault("libtpu", "the folder libtpu")
    return found


def notes(site):
    """For each hardware that XLA has besides the processor: (its name, what was found)."""
    site = os.fsdecode(site)
    found = plugins_in(site)
    lines = []
    for hardware, words, install in HARDWARE:
        names = [f"{name} ({about})" for name, about in sorted(found.items()) if re.search("|".join(words), name.lower())]
        lines.append((hardware, f"found jax's plug-in {', '.join(names)}, which is not run in this version of assay" if names else
                      f"no plug-in of jax in '{site}': `pip install --target FOLDER \"{install}\"` beside jaxlib installs one, "
                      "which is not run in this version of assay"))
    return lines


def note_for(site, hardware):
    """That of one hardware; "": XLA does not have it."""
    return dict(notes(site)).get(hardware, "")
