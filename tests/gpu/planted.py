#!/usr/bin/env python3
"""A PyTorch step with one defect planted, or none.

usage: planted.py [--with DEFECT] [--fp32] [--light] [--steps N]
       planted.py --measure DEFECT,... [--rounds 3]   (in_turn.py)

Without a defect the step is: a batch that was copied from pinned memory beside the step before, some milliseconds of GEMMs, a chain of
small kernels as one CUDA graph, a reduction by as many blocks as the device can hold, half a millisecond of Python while the GPU is
busy, and a fused optimizer. No elementwise kernel could be folded into another: the gradient of the output is given. Each defect changes one
of these. Launches cost nothing while the CPU is ahead of the GPU: their defect is planted into a light step (--light), with a tenth of the
GEMMs and five times the small kernels.
"""
import time

import torch
import triton
import triton.language as tl

import in_turn

DEFECTS = ("sync-in-step", "pageable-copy", "loader-wait", "ugly-dimension", "launch-overhead", "optimiser", "copy-exposed",
           "too-few-blocks", "fp32-gemm")
ROWS, WIDTH, HIDDEN, LAYERS = 8192, 2048, 8192, 4
BATCH_BYTES = 64 << 20
SMALL, SMALL_TENSORS = 300, 120


@triton.jit
def add_up(source, target, count, BLOCK: tl.constexpr):
    begin = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for block in range(begin, tl.cdiv(count, BLOCK), tl.num_programs(0)):
        offsets = block * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(source + offsets, mask=offsets < count, other=0.0)
    tl.store(target + begin, tl.sum(total))


def busy(seconds):
    """Python that does something: a sleep would give the processor away."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Step:
    def __init__(self, defect=None, fp32=False, light=False):
        self.defect, self.fp32, self.light = defect, fp32 or defect == "fp32-gemm", light or defect == "launch-overhead"
        torch.manual_seed(1)
        kind = torch.float32 if self.fp32 else torch.bfloat16
        hidden = HIDDEN - 1 if defect == "ugly-dimension" else HIDDEN
        rows = ROWS // 4 if self.fp32 else ROWS // 10 if self.light else ROWS
        self.small_count = 5 * SMALL if self.light else SMALL
        device = torch.device("cuda")
        self.layers = torch.nn.ModuleList()
        for _ in range(LAYERS):
            self.layers.append(torch.nn.Linear(WIDTH, hidden, bias=False))
            self.layers.append(torch.nn.Linear(hidden, WIDTH, bias=False))
        self.layers.to(device=device, dtype=kind)
        self.small_parameters = [torch.nn.Parameter(torch.randn(64, 64, device=device, dtype=kind)) for _ in range(SMALL_TENSORS)]
        for parameter in self.small_parameters:
            parameter.grad = torch.randn_like(parameter)
        how = {"foreach": False, "fused": False} if defect == "optimiser" else {"fused": True}
        self.small_optimizer = torch.optim.AdamW(self.small_parameters, lr=1e-4, **how)
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=1e-6, fused=True)
        self.input = torch.randn(rows, WIDTH, device=device, dtype=kind)
        self.gradient = torch.randn(rows, WIDTH, device=device, dtype=kind)
        pinned = defect != "pageable-copy"
        self.host = torch.zeros(BATCH_BYTES, dtype=torch.uint8, pin_memory=pinned)
        self.batch = torch.empty(BATCH_BYTES, dtype=torch.uint8, device=device)
        self.copying = torch.cuda.Stream()
        self.small = torch.randn(4096, device=device)
        self.many = torch.randn(64 << 20, device=device)
        self.blocks = 8 if defect == "too-few-blocks" else 8 * torch.cuda.get_device_properties(0).multi_processor_count
        self.sums = torch.empty(self.blocks, device=device)
        self.graph = None
        if defect != "launch-overhead":
            self.graph = torch.cuda.CUDAGraph()
            beside = torch.cuda.Stream()
            beside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(beside):
                self.small_kernels()
            torch.cuda.current_stream().wait_stream(beside)
            with torch.cuda.graph(self.graph):
                self.small_kernels()

    def small_kernels(self):
        for _ in range(self.small_count):
            self.small.mul_(0.999)

    def take_batch(self):
        if self.defect == "loader-wait":
            torch.cuda.nvtx.range_push("dataloader")
            busy(self.loading_s)
            torch.cuda.nvtx.range_pop()
        if self.defect in ("pageable-copy", "copy-exposed"):
            self.batch.copy_(self.host, non_blocking=True)
            return
        with torch.cuda.stream(self.copying):
            self.batch.copy_(self.host, non_blocking=True)

    loading_s = 0.030

    def step(self):
        torch.backends.cuda.matmul.allow_tf32 = self.defect != "fp32-gemm"
        torch.cuda.nvtx.range_push("step")
        self.take_batch()
        x = self.input
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number == LAYERS:
                if self.defect == "sync-in-step":
                    torch.cuda.synchronize()
                busy(0.0005)
        x.backward(self.gradient)
        add_up[(self.blocks,)](self.many, self.sums, self.many.numel(), BLOCK=1024)
        if self.graph is not None:
            self.graph.replay()
        else:
            self.small_kernels()
        self.small_optimizer.step()
        self.optimizer.step()
        self.optimizer.zero_grad()
        torch.cuda.nvtx.range_pop()


def main():
    parser = in_turn.parser_of(__doc__)
    parser.add_argument("--fp32", action="store_true")
    parser.add_argument("--light", action="store_true")
    options = in_turn.options_of(parser, DEFECTS)
    if len(options.changes) > 1:
        parser.error("one defect at a time")
    clean = {}

    def make(defects):
        return Step(defects[0] if defects else None, options.fp32, options.light)

    def without(defect):
        """The step that has all but the defect; kept for the next that is of the same kind."""
        kind = (defect == "fp32-gemm" or options.fp32, defect == "launch-overhead" or options.light)
        if kind not in clean:
            clean[kind] = Step(None, *kind)
        return clean[kind]

    in_turn.run(options, make, without)


if __name__ == "__main__":
    main()
