# SPDX-License-Identifier: Apache-2.0
"""What the plug-in calls. The modules of this folder are embedded in it; they run outside of the timed call."""
from jaxlib import _jax as jl  # noqa: F401

from xla_compiled import Compiled, measure, overrides  # noqa: F401
from xla_device import bind, client_of  # noqa: F401
from xla_model import Model  # noqa: F401
from xla_plugins import note_for, notes  # noqa: F401
