"""CUDA C++ kernels called on torch tensors: compile with nvcc, load and launch with the driver on torch's current stream.

    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "copy_vector", defines={"TILE": "128"})
    kernel((blocks,), (256,), source, destination, i64(n))

`load_kernel` remembers what it loaded, so an implementation calls it inside `run` and never at import. The driver is called through
cuda.bindings, which torch's CUDA wheels for Linux depend on since 2.10.
"""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any

import torch

from .nvcc import compile_cubin, target_of

DEFAULT_SMEM_LIMIT_BYTES = 48 * 1024
"""Static plus dynamic shared memory of a block; above it a kernel must opt in (CUDA C++ Programming Guide, compute capabilities)."""
PORTABLE_CLUSTER_BLOCKS = 8
"""Larger clusters need the non-portable attribute (CUDA C++ Programming Guide, thread block clusters)."""
TENSOR_MAP_BYTES = 128
TENSOR_MAP_ALIGNMENT = 64
"""What cuTensorMapEncodeTiled asks of the descriptor's address; the Python object of cuda.bindings does not ensure it."""
TENSOR_MAP_TYPES = {torch.uint8: 0, torch.int8: 0, torch.int32: 3, torch.float16: 6, torch.float32: 7, torch.bfloat16: 9}
"""CUtensorMapDataType by torch dtype; the fp8 types travel as bytes."""
TENSOR_MAP_SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""CUtensorMapSwizzle."""
L2_PROMOTION_256B = 3
"""CUtensorMapL2promotion."""

_loaded: dict[tuple[Any, ...], CudaKernel] = {}


class i64(int):
    """A Python int to pass as a 64-bit argument."""


class TensorMap:
    """A TMA descriptor, passed by value as a `const __grid_constant__ CUtensorMap` argument."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._memory = ctypes.create_string_buffer(TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT)
        base = ctypes.addressof(self._memory)
        self.address = base + -base % TENSOR_MAP_ALIGNMENT
        self.tensor = tensor  # the descriptor holds its address: keep the memory


class CudaKernel:
    """A loaded kernel: `kernel(grid, block, *args, smem_bytes=0, cluster=None)`.

    Tensors pass as pointers, ints as int32 (`i64(x)` as int64), floats as float32, a TensorMap by value. The grid counts blocks, also
    with a cluster. Opting in to large shared memory is done once for each size, so that a launch costs a few microseconds of host time.

    Raises:
        LookupError: the cubin has no kernel of that name.
        RuntimeError: the driver refused the cubin, or there is no device.
    """

    def __init__(self, cubin: Path, name: str) -> None:
        from cuda.bindings import driver

        _enter_primary_context(driver)
        self.name = name
        self._driver = driver
        self._library = _check(driver.cuLibraryLoadFromFile(bytes(cubin), [], [], 0, [], [], 0), f"{name}: loading {cubin.name}")
        status, kernel = driver.cuLibraryGetKernel(self._library, name.encode())
        if status == driver.CUresult.CUDA_ERROR_NOT_FOUND:
            raise LookupError(f'the source has no extern "C" kernel "{name}"')
        self._function = _check(driver.cuKernelGetFunction(_check((status, kernel), name)), f"{name}: cuKernelGetFunction")
        static = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        self._smem_opted_in = DEFAULT_SMEM_LIMIT_BYTES - _check(driver.cuFuncGetAttribute(static, self._function), f"{name}: shared memory")
        self._cluster_opted_in = False

    def __call__(self, grid: Any, block: Any, *args: Any, smem_bytes: int = 0, cluster: Any = None) -> None:
        """Launch on torch's current stream.

        Raises:
            RuntimeError: the driver refused the launch (too many threads, registers or bytes of shared memory).
            TypeError, OverflowError: an argument that cannot be passed.
        """
        if smem_bytes > self._smem_opted_in:
            self._opt_in(smem_bytes)
        values = [_argument(value) for value in args]
        pointers = (ctypes.c_void_p * len(values))(*(v.address if type(v) is TensorMap else ctypes.addressof(v) for v in values))
        stream = torch._C._cuda_getCurrentRawStream(torch.cuda.current_device())  # as Triton does; the public way costs microseconds
        (gx, gy, gz), (bx, by, bz) = _dim3(grid), _dim3(block)
        driver = self._driver
        if cluster is None:
            result = driver.cuLaunchKernel(self._function, gx, gy, gz, bx, by, bz, smem_bytes, stream, ctypes.addressof(pointers), 0)
        else:
            config = self._cluster_config((gx, gy, gz), (bx, by, bz), smem_bytes, stream, _dim3(cluster))
            result = driver.cuLaunchKernelEx(config, self._function, ctypes.addressof(pointers), 0)
        _check(result, f"{self.name}: launch with grid {(gx, gy, gz)}, block {(bx, by, bz)}, {smem_bytes} B of dynamic shared memory")

    def _opt_in(self, smem_bytes: int) -> None:
        attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _check(self._driver.cuFuncSetAttribute(self._function, attribute, smem_bytes), f"{self.name}: {smem_bytes} B of shared memory")
        self._smem_opted_in = smem_bytes

    def _cluster_config(self, grid: tuple, block: tuple, smem_bytes: int, stream: int, cluster: tuple) -> Any:
        driver = self._driver
        if math.prod(cluster) > PORTABLE_CLUSTER_BLOCKS and not self._cluster_opted_in:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            _check(driver.cuFuncSetAttribute(self._function, attribute, 1), f"{self.name}: cluster of {cluster}")
            self._cluster_opted_in = True
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = cluster
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = smem_bytes
        config.hStream = driver.CUstream(stream)
        config.attrs = [attribute]
        config.numAttrs = 1
        return config


def load_kernel(source: Path, name: str, *, defines: dict[str, str] | None = None, target: str | None = None) -> CudaKernel:
    """The `extern "C"` kernel `name` of `source`, compiled for the current device on first use.

    Raises:
        CompileError: nvcc rejects the source; its first error lines are the message.
    """
    device = torch.cuda.current_device()
    key = (source, name, tuple(sorted(defines.items())) if defines else (), target, device)
    kernel = _loaded.get(key)
    if kernel is None:
        cubin = compile_cubin(Path(source), target or target_of(torch.cuda.get_device_capability(device)), defines)
        kernel = _loaded[key] = CudaKernel(cubin.path, name)
    return kernel


def tensor_map_2d(tensor: torch.Tensor, box_rows: int, box_cols: int, swizzle: str = "128B") -> TensorMap:
    """The TMA descriptor of a (rows, cols) tensor whose last stride is 1; coordinates are (column, row), outside reads give 0.

    Args:
        box_rows: rows of the box that one instruction copies, at most 256.
        box_cols: its columns; with a swizzle their bytes must not exceed the swizzle width.
        swizzle: `none`, `32B`, `64B` or `128B`.

    Raises:
        ValueError: the tensor is not two-dimensional with contiguous rows.
        RuntimeError: the driver refuses the descriptor (address or row pitch not a multiple of 16 bytes, box too large).
    """
    if tensor.dim() != 2 or tensor.stride(1) != 1:
        raise ValueError(f"tensor_map_2d: shape {tuple(tensor.shape)}, strides {tensor.stride()}; give a 2-D tensor with stride 1 last")
    rows, cols = tensor.shape
    made = TensorMap(tensor)
    status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(made.address),
        ctypes.c_int(TENSOR_MAP_TYPES.get(tensor.dtype, 0)),
        ctypes.c_uint32(2),
        ctypes.c_void_p(tensor.data_ptr()),
        (ctypes.c_uint64 * 2)(cols, rows),  # innermost first
        (ctypes.c_uint64 * 1)(tensor.stride(0) * tensor.element_size()),
        (ctypes.c_uint32 * 2)(box_cols, box_rows),
        (ctypes.c_uint32 * 2)(1, 1),
        ctypes.c_int(0),  # no interleave
        ctypes.c_int(TENSOR_MAP_SWIZZLES[swizzle]),
        ctypes.c_int(L2_PROMOTION_256B),
        ctypes.c_int(0),  # out of bounds reads give 0
    )
    if status:
        what = f"{tuple(tensor.shape)} {tensor.dtype}, box {(box_rows, box_cols)}, swizzle {swizzle}"
        raise RuntimeError(f"tensor map of {what}: the driver answered {status}; pitch and address must be multiples of 16 bytes")
    return made


def _enter_primary_context(driver: Any) -> None:
    """Make the context that torch uses on its current device current in this thread, where torch may not have touched it yet.

    Raises:
        RuntimeError: there is no device.
    """
    torch.cuda.init()
    device = _check(driver.cuDeviceGet(torch.cuda.current_device()), "cuDeviceGet")
    context = _check(driver.cuDevicePrimaryCtxRetain(device), "cuDevicePrimaryCtxRetain")  # never released: kernels stay loaded
    _check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")


def _argument(value: Any) -> Any:
    """A ctypes value (or the TensorMap itself) to take the address of; the driver copies it during the launch."""
    kind = type(value)
    if kind is int:
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"{value} does not fit int32; pass i64({value}) and declare the parameter long long")
        return ctypes.c_int32(value)
    if kind is float:
        return ctypes.c_float(value)
    if kind is i64:
        return ctypes.c_int64(value)
    if kind is TensorMap:
        return value
    if kind is bool:
        return ctypes.c_bool(value)
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    raise TypeError(f"kernel argument {value!r}: pass a tensor, int, i64, float, bool or TensorMap")


def _dim3(size: Any) -> tuple[int, int, int]:
    if isinstance(size, int):
        return size, 1, 1
    return (*size, 1, 1)[:3]


def _check(result: tuple, what: str) -> Any:
    """The value of a driver call.

    Raises:
        RuntimeError: it failed.
    """
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(f"{what}: {status.name}")
    return values[0] if values else None
