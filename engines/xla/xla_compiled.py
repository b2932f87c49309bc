# SPDX-License-Identifier: Apache-2.0
"""A compiled program, and what the arithmetic of the runtime really is."""
import numpy as np
from jaxlib import _jax as jl
from jaxlib.mlir import ir

from xla_device import Aval, dtype_of, host_array
from xla_mlir import mlir_context


class Compiled:
    """A program for the device. Arguments: inputs, weights, then the memory of those outputs that no input gives its own.

    XLA would allocate its outputs in each run. Instead, a run is given the memory of the outputs of the run before, in
    arguments that the program does not read (donation): outputs stay where they are, and are allocated once.
    """

    def __init__(self, model, overrides):
        self.client = model.client
        self.outputs = model.outputs
        self.spare = model.spare
        with mlir_context():
            self.executable = self.client.compile(model.module, overrides)
        model.module = None  # it is not compiled again
        self.execute = self.executable.execute_sharded
        self.handlers = [jl.array_result_handler(Aval(dtype_of(number), shape), self.client.sharding, True, True)
                         for _, number, shape in model.outputs]
        self.donated = list(model.donated.items())
        self.held = model.weights
        self.weights = [weight.array for weight in model.weights]

    def memory(self, output):
        """New memory for an output."""
        _, number, shape = self.outputs[output]
        return self.client.put(np.zeros(shape, dtype_of(number)), copied=True)


PROBE = """module { func.func public @main(%x: tensor<64x64xf32>, %small: tensor<f32>) -> (tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %small, %small : tensor<f32>
  %2 = stablehlo.convert %x : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %3 = stablehlo.convert %2 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  return %0, %1, %3 : tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>
} }"""


def overrides(strict):
    """XLA's options of a compilation, besides its defaults."""
    return [("xla_allow_excess_precision", False)] if strict else []


def measure(client, overrides):
    """What the client's arithmetic is with these options; computed once."""
    key = tuple(overrides)
    if key not in client.measured:
        client.measured[key] = measured(client, overrides)
    return client.measured[key]


def measured(client, overrides):
    """Computes with numbers that show it: ("float32" or "unknown", "kept" or "flushed", "exact" or "excess")."""
    single = np.dtype("float32")
    with mlir_context():
        executable = client.compile(ir.Module.parse(PROBE), overrides)
    value = np.float32(1 + 2.0 ** -12)  # no bfloat16 and no number of TF32 is nearer than 2 ** -12
    shapes = [(64, 64), (), (64, 64)]
    handlers = [jl.array_result_handler(Aval(single, shape), client.sharding, True, True) for shape in shapes]
    x, small = np.full((64, 64), value, single), np.array(1e-40, single)
    arrays = executable.execute_sharded([client.put(x), client.put(small)]).consume_with_handlers(handlers)
    product, total, rounded = (host_array(array, single, shape) for array, shape in zip(arrays, shapes))
    right = abs(product[5, 5] / (64 * float(value) ** 2) - 1) < 1e-6
    return ("float32" if right else "unknown", "flushed" if total == 0 else "kept",
            "exact" if rounded[0, 0] != value else "excess")
