# SPDX-License-Identifier: Apache-2.0
"""The processor as a device of jaxlib: element types, arrays, weights, compilation."""
import os
import weakref

import ml_dtypes
import numpy as np
from jaxlib import _jax as jl
from jaxlib import xla_client as xc

from xla_library import Refusal

ALIGNMENT = 64  # XLA reads memory of others without a copy if it is aligned so

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


def bind(client, view, number, shape):
    """An array over the caller's memory, which is aligned; None: an empty one."""
    if view is None:
        return client.put(np.zeros(shape, dtype_of(number)))
    return client.put(np.frombuffer(view, dtype_of(number)).reshape(shape))


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


def host_array(array, dtype, shape):
    """A copy of an array on the processor, without jax."""
    import ctypes
    array.block_until_ready()
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(array.unsafe_buffer_pointer(), count), dtype).reshape(shape)
