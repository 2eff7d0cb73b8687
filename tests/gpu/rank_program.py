#!/usr/bin/env python3
"""Data-parallel training by PyTorch's DistributedDataParallel on two GPUs, with one rank made late in a known way.

usage: rank_program.py [--ranks N] [--steps N] [--cause none|host-gaps|more-work|copies] [--late-rank R] [--late-ms MS] [--large-mib N,...]

Starts one process a GPU with the variables that torchrun sets. A step is forward, backward (buckets reduced beside it), one all-reduce of
each of --large-mib with nothing beside it, and the optimizer. What makes a rank late comes before its forward pass: the host sleeps while the device has
nothing to do, the same matrix product again and again, or copies from the host. Each rank prints one JSON line: what it was late by, as its own
events measured it, and the bus bandwidth of the largest all-reduce, and of each, where no rank is late, as nccl-tests define it.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WARM_STEPS = 8


def launch(options):
    """Processes of the ranks; the first exit code that is not zero."""
    environment = {**os.environ, "WORLD_SIZE": str(options.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29500 + os.getpid() % 400),
                   "NCCL_NVLS_ENABLE": "0"}
    started = [subprocess.Popen([sys.executable, *sys.argv], env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)})
               for rank in range(options.ranks)]
    codes = [process.wait() for process in started]
    sys.exit(next((code for code in codes if code), 0))


class Late:
    """What a late rank does more than the others in a step, and how long that took."""

    def __init__(self, torch, options, rank):
        self.torch, self.cause, self.ms = torch, options.cause if rank == options.late_rank else "none", options.late_ms
        self.taken_ms = []
        if self.cause == "more-work":
            self.a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
            self.times = max(1, round(self.ms / self.event_ms(lambda: self.a @ self.a, 20)))
        if self.cause == "copies":
            self.host = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True)
            self.device = torch.empty_like(self.host, device="cuda")
            self.times = max(1, round(self.ms / self.event_ms(lambda: self.device.copy_(self.host, non_blocking=True), 5)))

    def event_ms(self, work, times):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        work()
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / times

    def step(self):
        if self.cause == "none":
            return
        torch = self.torch
        if self.cause == "host-gaps":
            torch.cuda.synchronize()
            begin = time.perf_counter()
            time.sleep(self.ms / 1e3)
            self.taken_ms.append((time.perf_counter() - begin) * 1e3)
            return
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(self.times):
            if self.cause == "more-work":
                self.a @ self.a
            else:
                self.device.copy_(self.host, non_blocking=True)
        end.record()
        end.synchronize()
        self.taken_ms.append(begin.elapsed_time(end))


def train(options):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    layers = [module for _ in range(8) for module in (torch.nn.Linear(4096, 4096, bias=False), torch.nn.GELU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda().bfloat16())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
    numbers = [round(mib * (1 << 18)) for mib in options.large_mib]  # of FP32
    buffer = torch.zeros(max(numbers), device="cuda")
    large = [buffer[:count] for count in numbers]
    late = Late(torch, options, rank)
    large_ms, step_ms = [[] for _ in large], []
    for step in range(WARM_STEPS + options.steps):
        began = time.perf_counter()
        with torch.cuda.nvtx.range("step"):
            late.step()
            loss = model(batch).float().square().mean()
            loss.backward()
            times = [torch.cuda.Event(enable_timing=True) for _ in range(len(large) + 1)]
            times[0].record()
            for tensor, end in zip(large, times[1:]):
                dist.all_reduce(tensor)
                end.record()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
        if step >= WARM_STEPS:
            for taken, begin, end in zip(large_ms, times, times[1:]):
                taken.append(begin.elapsed_time(end))
            step_ms.append((time.perf_counter() - began) * 1e3)
    ranks = dist.get_world_size()
    sizes = [tensor.numel() * tensor.element_size() for tensor in large]
    shortest = torch.tensor([statistics.median(taken) for taken in large_ms], device="cuda")
    dist.all_reduce(shortest, op=dist.ReduceOp.MIN)
    bus = [2 * (ranks - 1) / ranks * size / (ms / 1e3) for size, ms in zip(sizes, shortest.tolist())]
    said = {"rank": rank, "ranks": ranks, "step_ms": statistics.median(step_ms), "large_bytes": max(sizes),
            "large_bus_bytes_per_s": bus[sizes.index(max(sizes))], "bus_bytes_per_s": dict(zip(sizes, bus)),
            "late_ms": statistics.median(late.taken_ms[WARM_STEPS:]) if late.taken_ms else 0, "torch": torch.__version__,
            "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    # In one piece: the ranks share a pipe, and print() may write the line's end by itself.
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--cause", default="none", choices=["none", "host-gaps", "more-work", "copies"])
    parser.add_argument("--late-rank", type=int, default=1)
    parser.add_argument("--late-ms", type=float, default=6.0)
    parser.add_argument("--large-mib", type=lambda words: [float(word) for word in words.split(",")], default=[1024.0])
    options = parser.parse_args()
    if "RANK" in os.environ:
        train(options)
    else:
        launch(options)


if __name__ == "__main__":
    main()
