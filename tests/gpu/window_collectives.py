#!/usr/bin/env python3
"""Collectives of NCCL over registered windows of two GPUs: kernels of symmetric memory, and gathers that the copy engines do.

usage: window_collectives.py [--steps N] [--kind ring|symmetric|copy-engine] [--graph] [--mib N]

Starts one process a GPU. A step is a matrix product, an all-gather and an all-reduce of --mib, and waits for the device. `ring` registers nothing;
`symmetric` registers both buffers (ncclCommWindowRegister), so that NCCL takes its kernels of symmetric memory; `copy-engine` asks besides for
no blocks at all (NCCL_CTA_POLICY=2), so that a gather becomes copies. The first rank prints a JSON line: what was asked, NCCL's version, what a step takes,
and whether sums and gathered parts are right.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

RANKS = 2
ID_BYTES = 128
FLOAT32, SUM = 7, 0
COLLECTIVE_WINDOW = 1  # NCCL_WIN_COLL_SYMMETRIC: at the same offset in all ranks


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * ID_BYTES)]


def launch(options):
    """Processes of the ranks; the first exit code that is not zero."""
    environment = {**os.environ, "NCCL_NVLS_ENABLE": "0", "ID_FILE": f"/tmp/nccl-id-{os.getpid()}",
                   **({"NCCL_CTA_POLICY": "2"} if options.kind == "copy-engine" else {})}
    started = [subprocess.Popen([sys.executable, *sys.argv], env={**environment, "RANK": str(rank)}) for rank in range(RANKS)]
    sys.exit(next((code for code in [process.wait() for process in started] if code), 0))


class Nccl:
    """A communicator of all ranks, by the library that PyTorch has loaded."""

    def __init__(self, rank, id_file):
        self.library = ctypes.CDLL("libnccl.so.2")
        version, unique = ctypes.c_int(), UniqueId()
        self.call("ncclGetVersion", ctypes.byref(version))
        self.version = version.value
        if rank == 0:
            self.call("ncclGetUniqueId", ctypes.byref(unique))
            with open(id_file + ".part", "wb") as file:
                file.write(bytes(unique))
            os.rename(id_file + ".part", id_file)
        else:
            while not os.path.exists(id_file):
                time.sleep(0.01)
            with open(id_file, "rb") as file:
                unique = UniqueId.from_buffer_copy(file.read())
        self.communicator = ctypes.c_void_p()
        self.call("ncclCommInitRank", ctypes.byref(self.communicator), RANKS, unique, rank)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            sys.exit(f"{name} failed: {result}")

    def buffer(self, count, window):
        """FP32 of NCCL's own allocator, as an address; a window of all ranks if asked."""
        data = ctypes.c_void_p()
        self.call("ncclMemAlloc", ctypes.byref(data), ctypes.c_size_t(4 * count))
        if window:
            handle = ctypes.c_void_p()
            self.call("ncclCommWindowRegister", self.communicator, data, ctypes.c_size_t(4 * count), ctypes.byref(handle), COLLECTIVE_WINDOW)
        return data


def tensor_at(torch, data, count):
    class Memory:
        __cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (data.value, False), "version": 3}

    return torch.as_tensor(Memory(), device="cuda")


def train(options, rank):
    import torch

    torch.cuda.set_device(rank)
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    nccl = Nccl(rank, os.environ["ID_FILE"])
    count = options.mib << 18
    window = options.kind != "ring"
    part, gathered, sums = (nccl.buffer(n, window) for n in (count, RANKS * count, count))
    tensors = [tensor_at(torch, data, n) for data, n in ((part, count), (gathered, RANKS * count), (sums, count))]
    tensors[0].fill_(rank + 1)
    stream = torch.cuda.Stream()

    def step():
        a @ a
        handle = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        nccl.call("ncclAllGather", part, gathered, ctypes.c_size_t(count), FLOAT32, nccl.communicator, handle)
        nccl.call("ncclAllReduce", part, sums, ctypes.c_size_t(count), FLOAT32, SUM, nccl.communicator, handle)

    took = []
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        if options.graph:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                step()
        for _ in range(options.steps):
            began = time.perf_counter()
            with torch.cuda.nvtx.range("step"):
                graph.replay() if options.graph else step()
                torch.cuda.synchronize()
            took.append(1e3 * (time.perf_counter() - began))
    right = bool((tensors[2] == RANKS * (RANKS + 1) / 2).all()) and all(
        bool((tensors[1][r * count:(r + 1) * count] == r + 1).all()) for r in range(RANKS))
    if rank == 0:
        print(json.dumps({"kind": options.kind, "graph": options.graph, "nccl": nccl.version, "bytes": 4 * count,
                          "step_ms": round(statistics.median(took), 4), "right": right}), flush=True)
    if not right:
        sys.exit("the sums or the gathered parts are wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kind", choices=("ring", "symmetric", "copy-engine"), default="symmetric")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--mib", type=int, default=64)
    options = parser.parse_args()
    rank = os.environ.get("RANK")
    if rank is None:
        launch(options)
    train(options, int(rank))


if __name__ == "__main__":
    main()
