# SPDX-License-Identifier: Apache-2.0
"""A loaded file: the module of its program, its signature, and its weights on the device."""
import os

from jaxlib.mlir import ir

from xla_custom_calls import provide_targets
from xla_library import Refusal
from xla_mlir import argument_names, attribute, check_one_device, location_name, main_of, mlir_context, parse, set_donations, value_of
from xla_signature import read_signature


class Model:
    """A loaded file: `inputs` and `outputs` (name, element type, extents), `index_limits` (of the inputs; 0: none),
    `weights`, `module`, `donated`, `spare`."""

    def __init__(self, client, path):
        path = os.fsdecode(path)
        self.client = client
        self.name = os.path.basename(path)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as problem:
            raise Refusal("not_found", f"cannot read '{path}': {problem.strerror}") from problem
        with mlir_context(), ir.Location.unknown():
            self.module = parse(content, self.name)
            check_one_device(self.module, self.name)
            if b"custom_call" in content:
                provide_targets(self.module, self.name)
            main = main_of(self.module, self.name)
            taken = [value_of(item.type, f"argument {i}") for i, item in enumerate(main.arguments)]
            given = [value_of(item, f"result {i}") for i, item in enumerate(main.type.results)]
            sidecar = path + ".json"
            if os.path.exists(sidecar):
                self.read_sidecar(sidecar, taken, given)
            else:
                self.read_names(main, content, taken, given)
            self.check_names()
            self.read_donations(main)
            set_donations(main, self.donated, [(i, *self.outputs[i][1:]) for i in self.spare])

    def check_names(self):
        for kind, values in (("argument", self.inputs), ("result", self.outputs)):
            if len({name for name, _, _ in values}) != len(values):
                raise Refusal("invalid_argument", f"'{self.name}': two values of main have the same {kind} name")

    def read_donations(self, main):
        """`donated`: the inputs whose memory an output takes, as main's attributes offer it: by input, the output.
        `spare`: the other outputs, which get memory of their own. An offer of a value with another type, or for an
        output that is taken already, cannot be accepted.
        """
        self.donated = {}
        attributes = main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else []
        for i, item in enumerate(list(attributes)[:len(self.inputs)]):
            output = attribute(ir.DictAttr(item), "tf.aliasing_output", ir.IntegerAttr)
            if (output is not None and 0 <= output < len(self.outputs) and output not in self.donated.values()
                    and self.inputs[i][1:] == self.outputs[output][1:]):
                self.donated[i] = output
        self.spare = [i for i in range(len(self.outputs)) if i not in self.donated.values()]

    def read_names(self, main, content, taken, given):
        """The signature of a file without a sidecar: all arguments are inputs."""
        written = {} if content.startswith(b"ML\xefR") else argument_names(content, len(taken))
        self.inputs = []
        for i, (number, shape) in enumerate(taken):
            name = written.get(i) or location_name(main.arguments[i].location) or f"arg{i}"
            self.inputs.append((name, number, shape))
        attributes = main.attributes["res_attrs"] if "res_attrs" in main.attributes else [{}] * len(given)
        self.outputs = []
        for i, (number, shape) in enumerate(given):
            info = attribute(ir.DictAttr(attributes[i]), "jax.result_info", ir.StringAttr) if len(attributes[i]) else None
            self.outputs.append((info or f"out{i}", number, shape))
        self.weights = []
        self.index_limits = [0] * len(taken)

    def read_sidecar(self, path, taken, given):
        """The signature and the weights, from the file beside the text (docs/lowering.md)."""
        shown = os.path.basename(path)
        self.inputs, self.outputs, stored, self.index_limits = read_signature(path)
        weights = [(item.name, item.number, item.shape) for item in stored]
        for kind, said, has in (("argument", self.inputs + weights, taken), ("result", self.outputs, given)):
            if len(said) != len(has):
                raise Refusal("invalid_argument", f"'{self.name}': main has {len(has)} {kind}s, '{shown}' has {len(said)}")
            for i, ((name, number, shape), actual) in enumerate(zip(said, has)):
                if (number, shape) != actual:
                    raise Refusal("invalid_argument", f"'{self.name}': {kind} {i} of main differs from '{name}' in '{shown}'")
        folder = os.path.dirname(os.path.abspath(path))
        self.weights = [self.client.weight(item, folder) for item in stored]
