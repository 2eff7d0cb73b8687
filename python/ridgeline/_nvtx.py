"""NVTX without the toolkit: ranges and payloads by the interface that NVTX's header uses to reach a tool.

The header hands the tool named by NVTX_INJECTION64_PATH a table of function pointers, which the tool fills; this module does the same
by ctypes. Any tool that can be injected sees the ranges: Ridgeline's agent, Nsight Systems. Where the variable is not set, every function
here does nothing.
"""
import builtins
import contextlib
import ctypes
import os
import threading

# nvToolsExt.h, nvToolsExtPayload.h and nvtxDetail of NVTX 3.
_EXPORT_CALLBACKS = 1
_MODULE_CORE = 1
_CORE_SIZE = 16
_CORE_RANGE_PUSH_EX, _CORE_RANGE_PUSH_A, _CORE_RANGE_POP = 8, 9, 11
_VERSION = 3
_MESSAGE_ASCII = 1
_PAYLOAD_EXT = 0xDFBD0009 - (1 << 32)  # int32

# What a range must do at least: bytes, FLOPs and, of a GEMM [M, K] x [K, N], M, N, K; what a step works through: tokens and samples.
# The same ids as in docs/cli.md, "Declared work".
_COST_SCHEMA = (1 << 24) + 0x524C
_SIZE_SCHEMA = (1 << 24) + 0x524D


class _Payload(ctypes.Structure):
    _fields_ = [("schema_id", ctypes.c_uint64), ("size", ctypes.c_size_t), ("payload", ctypes.c_void_p)]


class _Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32), ("color_type", ctypes.c_int32),
                ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32), ("message", ctypes.c_char_p)]


class _Callbacks(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("get_module_function_table", ctypes.c_void_p)]


_Slot = ctypes.c_void_p
_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
_GetExport = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class Client:
    """One NVTX client of one tool. It lives as long as the process: the tool may keep what it was given."""

    def __init__(self, library):
        self._slots = (_Slot * _CORE_SIZE)()
        size = ctypes.sizeof(_Slot)
        self._table = (ctypes.c_void_p * _CORE_SIZE)(
            *[ctypes.addressof(self._slots) + i * size for i in builtins.range(_CORE_SIZE)])
        self._get_table = _GetTable(self._give_table)
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), ctypes.cast(self._get_table, ctypes.c_void_p).value)
        self._get_export = _GetExport(lambda which: ctypes.addressof(self._callbacks) if which == _EXPORT_CALLBACKS else None)
        tool = ctypes.CDLL(library)
        initialise = tool.InitializeInjectionNvtx2
        initialise.argtypes, initialise.restype = [_GetExport], ctypes.c_int
        if initialise(self._get_export) != 1:
            raise OSError(f"{library} does not take NVTX")
        self._push_ex = self._function(_CORE_RANGE_PUSH_EX, ctypes.c_int, ctypes.POINTER(_Attributes))
        self._push_a = self._function(_CORE_RANGE_PUSH_A, ctypes.c_int, ctypes.c_char_p)
        self._pop = self._function(_CORE_RANGE_POP, ctypes.c_int)

    def _give_table(self, module, table, size):
        if module != _MODULE_CORE:
            return 0
        table[0] = ctypes.addressof(self._table)
        size[0] = _CORE_SIZE
        return 1

    def _function(self, index, result, *arguments):
        address = self._slots[index]
        return ctypes.CFUNCTYPE(result, *arguments)(address) if address else lambda *_: -2

    def push(self, name):
        self._push_a(name.encode("utf-8", "replace"))

    def push_numbers(self, name, schema_id, numbers):
        values = (ctypes.c_int64 * len(numbers))(*numbers)
        data = _Payload(schema_id, ctypes.sizeof(values), ctypes.addressof(values))
        attributes = _Attributes(version=_VERSION, size=ctypes.sizeof(_Attributes), payload_type=_PAYLOAD_EXT, reserved=1,
                                 payload=ctypes.addressof(data), message_type=_MESSAGE_ASCII,
                                 message=name.encode("utf-8", "replace"))
        self._push_ex(ctypes.byref(attributes))

    def pop(self):
        self._pop()


_lock = threading.Lock()
_clients = {}


def client():
    """The client of the tool that NVTX_INJECTION64_PATH names now, or None: none is named, or it cannot be loaded."""
    library = os.environ.get("NVTX_INJECTION64_PATH")
    if not library:
        return None
    if library not in _clients:
        with _lock:
            if library not in _clients:
                try:
                    _clients[library] = Client(library)
                except (OSError, AttributeError):
                    _clients[library] = None
    return _clients[library]


@contextlib.contextmanager
def range(name):
    """An NVTX push/pop range on this thread, also as a decorator."""
    tool = client()
    if tool:
        tool.push(name)
    try:
        yield
    finally:
        if tool:
            tool.pop()


def push_work(tool, name, bytes=0, flops=0, m=0, n=0, k=0):
    tool.push_numbers(name, _COST_SCHEMA, [int(bytes), int(flops), int(m), int(n), int(k)])


@contextlib.contextmanager
def declare(name, *, bytes=0, flops=0, m=0, n=0, k=0):
    """A range that declares what the launches in it must do at least: bytes moved when each input is read once and each output
    written once, and floating-point operations (a multiply-add counts 2); of a GEMM [m, k] x [k, n] also m, n, k.
    `ridgeline rank --columns work` holds what was measured against it, and MFU comes of it."""
    tool = client()
    if tool:
        push_work(tool, name, bytes, flops, m, n, k)
    try:
        yield
    finally:
        if tool:
            tool.pop()


def size(*, tokens=0, samples=0):
    """Says inside a step what it works through; several add up. Numbers of this process, not of all ranks."""
    tool = client()
    if tool and (tokens > 0 or samples > 0):
        tool.push_numbers("step size", _SIZE_SCHEMA, [int(tokens), int(samples)])
        tool.pop()
