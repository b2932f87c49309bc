# SPDX-License-Identifier: Apache-2.0
"""The part of the plug-in that its embedded interpreter runs: everything but the timed call.

It uses jaxlib without jax: importing jax costs half a second and 50 MB, and only other devices than the processor need
it. jaxlib's interface is private to jax, so only the series that was tested is accepted (TESTED).
"""
import importlib.metadata
import json
import math
import os
import re
import sys
import weakref

TESTED = "0.10"
FORMAT_VERSION = 1
ALIGNMENT = 64  # XLA reads memory of others without a copy if it is aligned so


class Refusal(Exception):
    """An error with one of assay's codes."""

    def __init__(self, code, message, hint=""):
        super().__init__(message.encode("utf-8", "backslashreplace").decode())  # names of files may be any bytes
        self.code = code
        self.hint = hint


# --- the library ------------------------------------------------------------------------------------------------------


def start(site):
    """Imports jaxlib from the folder `site`. Returns its version."""
    global np, ml_dtypes, jl, xc, ir
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
        version = str(found.version)
    except Exception as problem:  # no METADATA, or not as an e-mail's header
        raise Refusal("incompatible_plugin", f"the jaxlib-VERSION.dist-info in '{site}' is not complete: it has no version",
                      "install jaxlib again") from problem
    if version.split(".")[:2] != TESTED.split("."):
        raise Refusal("incompatible_plugin", f"jaxlib in '{site}' is version {version}, "
                                             f"but this plug-in was tested with {TESTED}",
                      f"`pip install --target FOLDER jaxlib=={TESTED}.*` installs it; set ASSAY_XLA_HOME to FOLDER")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's own threads are not used
    try:
        import numpy as np
        import ml_dtypes
        from jaxlib import _jax as jl
        from jaxlib import xla_client as xc
        from jaxlib.mlir import ir
    except Exception as problem:  # a source that was cut short is a SyntaxError
        raise Refusal("incompatible_plugin", f"jaxlib in '{site}' is not complete: {first_line(str(problem))}",
                      "install jaxlib again, with numpy and ml_dtypes") from problem
    return version


# Element types: ONNX's number; assay's name, which NumPy or ml_dtypes has, too; MLIR's name.
TYPES = [
    (1, "float32", "f32"), (2, "uint8", "ui8"), (3, "int8", "i8"), (4, "uint16", "ui16"), (5, "int16", "i16"),
    (6, "int32", "i32"), (7, "int64", "i64"), (9, "bool", "i1"), (10, "float16", "f16"), (11, "float64", "f64"),
    (12, "uint32", "ui32"), (13, "uint64", "ui64"), (14, "complex64", "complex<f32>"),
    (15, "complex128", "complex<f64>"), (16, "bfloat16", "bf16"), (17, "float8_e4m3fn", "f8E4M3FN"),
    (18, "float8_e4m3fnuz", "f8E4M3FNUZ"), (19, "float8_e5m2", "f8E5M2"), (20, "float8_e5m2fnuz", "f8E5M2FNUZ"),
    (24, "float8_e8m0fnu", "f8E8M0FNU"),
]
NUMBERS = {name: number for number, name, _ in TYPES}
OF_MLIR = {mlir: number for number, _, mlir in TYPES}
TO_MLIR = {number: mlir for number, _, mlir in TYPES}


def dtype_of(number):
    """NumPy's type of an element type of ONNX."""
    if not hasattr(dtype_of, "table"):
        dtype_of.table = {key: np.dtype(getattr(np if hasattr(np, name) else ml_dtypes, name)) for key, name, _ in TYPES}
    return dtype_of.table[number]


# --- a device ---------------------------------------------------------------------------------------------------------


def tasks():
    """Names of the threads of this process."""
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except OSError:  # it ended
            pass
    return names


class Aval:
    """What jaxlib asks of an array."""

    weak_type = False

    def __init__(self, dtype, shape):
        self.dtype, self.shape, self.ndim = dtype, tuple(shape), len(shape)


def sharding_on(device):
    class OneDevice(jl.SingleDeviceSharding):
        memory_kind = None

        def _to_xla_hlo_sharding(self, _):
            return xc.HloSharding.replicate()

        @property
        def _device_assignment(self):
            return (self._device,)

    return OneDevice(device)


class Client:
    """The processor, with a number of threads; 0: XLA's choice, one for each processor that this process may use.

    Programs of one client share the weights that are the same part of the same file.
    """

    def __init__(self, threads):
        self.weights = weakref.WeakValueDictionary()
        self.measured = {}  # by XLA's options
        before = tasks().count("tf_XLAEigen")
        given = os.environ.get("NPROC")
        if threads > 0:
            os.environ["NPROC"] = str(threads)
        try:
            # Not asynchronous: the caller's thread computes, instead of waiting for another one.
            self.client = xc.make_cpu_client(asynchronous=False)
        finally:
            if threads > 0:
                os.environ.pop("NPROC")
                if given is not None:
                    os.environ["NPROC"] = given
        self.device = self.client.devices()[0]
        self.devices = jl.DeviceList((self.device,))
        self.sharding = sharding_on(self.device)
        self.pool = tasks().count("tf_XLAEigen") - before

    def put(self, array, copied=False):
        """An array on the device. Without `copied`, memory that is aligned is used as it is, and kept alive."""
        return jl.batched_device_put(Aval(array.dtype, array.shape), self.sharding, [array], [self.device],
                                     enable_x64=True, force_copy=copied)

    def weight(self, item, folder):
        """The Weight of a StoredWeight whose file is relative to `folder`."""
        path = os.path.join(folder, item.file)
        try:
            status = os.stat(path)
        except (OSError, ValueError) as problem:
            raise unreadable(item, path, problem) from problem
        if item.offset + item.bytes > status.st_size:
            raise Refusal("invalid_argument", f"'{path}' is too short for the weight '{item.name}': it has {status.st_size} bytes, "
                                              f"the weight is at {item.offset} to {item.offset + item.bytes}")
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, item.offset, item.number, tuple(item.shape),
               tuple(item.permutation or ()))
        held = self.weights.get(key)
        if held is None:
            held = self.weights[key] = Weight(self.put(read_weight(item, path)))
        return held

    def compile(self, module, overrides):
        options = xc.CompileOptions()
        options.num_replicas = options.num_partitions = 1
        options.executable_build_options.debug_options.xla_cpu_enable_fast_math = False
        options.env_option_overrides = overrides
        return self.client.compile_and_load(module, self.devices, options)


CLIENTS = {}  # by the number of threads and the processors of this thread; kept for later programs


def client_of(threads):
    key = (threads, frozenset(os.sched_getaffinity(0)))
    client = CLIENTS.get(key)
    if client is None:
        client = CLIENTS[key] = Client(threads)
    return client


class Weight:
    """An array on the device that programs share; it is freed with the last one."""

    def __init__(self, array):
        self.array = array


def first_line(text):
    return text.strip().split("\n", 1)[0]


# --- a module ---------------------------------------------------------------------------------------------------------


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


def parse(content, name):
    """The module of a text, or of MLIR's or StableHLO's binary form. Needs the context."""
    from jaxlib.mlir.dialects import stablehlo
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


# --- the file beside a module (docs/lowering.md) ---------------------------------------------------------------------

JSON_NAMES = {str: "a string", int: "an integer", list: "an array", dict: "an object"}


def entry(owner, key, kind, what):
    """The value of `key` in an object of the file, of the type `kind`; `what` names the object in messages."""
    if type(owner) is not dict:
        raise ValueError(f"{what} is {shown_value(owner)}, not an object")
    if key not in owner:
        raise ValueError(f'{what} has no "{key}"')
    value = owner[key]
    if type(value) is not kind:  # true is no integer
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


def list_of(read, sidecar, key):
    return [read(item, f"{key}[{i}]") for i, item in enumerate(entry(sidecar, key, list, "the file"))]


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


class Model:
    """A loaded file: the module of its program, its signature, and its weights on the device."""

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

    def read_sidecar(self, path, taken, given):
        """The signature and the weights, from the file beside the text (docs/lowering.md)."""
        shown = os.path.basename(path)
        try:
            with open(path, "rb") as file:
                sidecar = json.load(file)
            version = entry(sidecar, "format_version", int, "the file")
            if version != FORMAT_VERSION:
                raise Refusal("unsupported", f"'{shown}' has format version {version}; this assay reads {FORMAT_VERSION}")
            self.inputs, self.outputs = list_of(value_in, sidecar, "inputs"), list_of(value_in, sidecar, "outputs")
            stored = list_of(StoredWeight, sidecar, "weights") if "weights" in sidecar else []
        except (OSError, ValueError, RecursionError) as problem:
            raise Refusal("invalid_argument", f"'{shown}' is not the signature of a lowered model: {problem}") from problem
        weights = [(item.name, item.number, item.shape) for item in stored]
        for kind, said, has in (("argument", self.inputs + weights, taken), ("result", self.outputs, given)):
            if len(said) != len(has):
                raise Refusal("invalid_argument", f"'{self.name}': main has {len(has)} {kind}s, '{shown}' has {len(said)}")
            for i, ((name, number, shape), actual) in enumerate(zip(said, has)):
                if (number, shape) != actual:
                    raise Refusal("invalid_argument", f"'{self.name}': {kind} {i} of main differs from '{name}' in '{shown}'")
        folder = os.path.dirname(os.path.abspath(path))
        self.weights = [self.client.weight(item, folder) for item in stored]

    def compile(self, overrides):
        return Compiled(self, overrides)


def aligned(dtype, shape):
    """Memory for an array that XLA uses without a copy."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(count + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    return memory[begin:begin + count].view(dtype).reshape(shape)


def read_weight(item, path):
    """The elements of a StoredWeight from the file `path`, in an array of its shape."""
    dtype = dtype_of(item.number)
    stored = list(item.shape)
    for to, axis in enumerate(item.permutation or ()):
        stored[axis] = item.shape[to]
    array = aligned(dtype, stored)
    try:
        with open(path, "rb") as file:
            file.seek(item.offset)
            count = file.readinto(memoryview(array.reshape(-1).view(np.uint8)))
    except OSError as problem:
        raise unreadable(item, path, problem) from problem
    if count != array.nbytes:
        raise Refusal("invalid_argument", f"'{path}' became too short while the weight '{item.name}' was read")
    if item.permutation is None:
        return array
    turned = aligned(dtype, item.shape)
    turned[...] = array.transpose(item.permutation)
    return turned


def unreadable(item, path, problem):
    return Refusal("not_found", f"cannot read the weight '{item.name}' from '{path}': {getattr(problem, 'strerror', problem)}")


# --- a compiled program -----------------------------------------------------------------------------------------------


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


def bind(client, view, number, shape):
    """An array over the caller's memory, which is aligned; None: an empty one."""
    if view is None:
        return client.put(np.zeros(shape, dtype_of(number)))
    return client.put(np.frombuffer(view, dtype_of(number)).reshape(shape))


# --- what the runtime really does -------------------------------------------------------------------------------------

PROBE = """module { func.func public @main(%x: tensor<64x64xf32>, %small: tensor<f32>) -> (tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %small, %small : tensor<f32>
  %2 = stablehlo.convert %x : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %3 = stablehlo.convert %2 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  return %0, %1, %3 : tensor<64x64xf32>, tensor<f32>, tensor<64x64xf32>
} }"""


def host_array(array, dtype, shape):
    """A copy of an array on the processor, without jax."""
    import ctypes
    array.block_until_ready()
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(array.unsafe_buffer_pointer(), count), dtype).reshape(shape)


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
