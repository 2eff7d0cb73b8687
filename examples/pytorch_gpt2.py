#!/usr/bin/env python3
"""A small GPT-2 training run in plain PyTorch 2.x: a program for Ridgeline to record as it is.

  python3 examples/pytorch_gpt2.py --mode compile
  ridgeline record -o pytorch.ridge -- python3 examples/pytorch_gpt2.py --mode compile

Nothing in it knows of a profiler: without --nvtx it marks no steps. It trains on synthetic tokens, in BF16 autocast with
FP32 weights and fused AdamW. --master-weights keeps weights and gradients in BF16 instead, with FP32 master weights and
moments, as the bundled trainer does; --attention cudnn is the fastest attention on Hopper, which PyTorch does not choose by
itself. Modes: eager; compile (torch.compile, Triton kernels); cudagraph (torch.compile with
mode="reduce-overhead", which replays CUDA graphs). Started by torchrun, its processes train one model together.
"""
import argparse
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES = {  # layers, heads, channels
    "tiny": (2, 2, 128),
    "124M": (12, 12, 768),
    "355M": (24, 16, 1024),
    "774M": (36, 20, 1280),
}
VOCAB = 50304  # GPT-2's 50257, padded to whole tiles


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, channels))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Optimizer:
    """Fused AdamW, decay on matrices only, gradients clipped to a global norm; with FP32 master weights if asked for."""

    def __init__(self, model, lr, clip, master):
        self.model_params = [p for p in model.parameters() if p.requires_grad]
        self.params, self.clip, self.master = self.model_params, clip, master
        if master:
            self.params = [p.detach().float().requires_grad_(True) for p in self.model_params]
            for p in self.params:
                p.grad = torch.empty_like(p)
        groups = [{"params": [p for p in self.params if p.dim() >= 2], "weight_decay": 0.1},
                  {"params": [p for p in self.params if p.dim() < 2], "weight_decay": 0.0}]
        self.adamw = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=True)

    @torch.no_grad()
    def step(self):
        if self.master:
            torch._foreach_copy_([p.grad for p in self.params], [p.grad for p in self.model_params])
        if self.clip > 0:
            nn.utils.clip_grad_norm_(self.params, self.clip, foreach=True)
        self.adamw.step()
        if self.master:
            torch._foreach_copy_(self.model_params, self.params)
        for p in self.model_params:
            p.grad = None


def use_attention(name):
    if name == "auto":
        return
    torch.backends.cuda.enable_math_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_flash_sdp(name == "flash")
    torch.backends.cuda.enable_cudnn_sdp(name == "cudnn")


class Gpt2(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        layers, heads, channels = SIZES[size]
        self.tokens, self.positions = nn.Embedding(VOCAB, channels), nn.Embedding(length, channels)
        self.blocks = nn.ModuleList(Block(channels, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(channels)
        for p in self.parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight[: inputs.size(1)]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, VOCAB).float(), targets.view(-1))


def synthetic_batch(generator, batch, length, device):
    """Runs of counting tokens from random starts: something to learn, nothing to download."""
    start = torch.randint(0, 4096, (batch, 1), generator=generator)
    tokens = (start + torch.arange(length + 1)) % 4096
    tokens = tokens.pin_memory().to(device, non_blocking=True)
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--mode", choices=("eager", "compile", "cudagraph"), default="eager")
    parser.add_argument("--model", choices=sorted(SIZES), default="124M")
    parser.add_argument("-B", "--batch", type=int, default=16, help="sequences of a step")
    parser.add_argument("-T", "--sequence", type=int, default=1024, help="tokens of a sequence")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--clip", type=float, default=0.0, help="largest global gradient norm; 0: no clipping")
    parser.add_argument("--master-weights", action="store_true", help="BF16 weights and gradients with FP32 master weights")
    parser.add_argument("--attention", choices=("auto", "flash", "cudnn"), default="auto",
                        help="backend of scaled_dot_product_attention")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nvtx", action="store_true", help='mark each step with an NVTX range "step" and say how many tokens it has')
    parser.add_argument("--torch-profiler", metavar="FILE",
                        help="run PyTorch's own profiler over steps 10 to 14 and write its kernels as JSON")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    if min(options.batch, options.sequence) < 1 or options.steps < 2:
        parser.error("-B and -T must be at least 1, --steps at least 2")
    return options


class KernelList:
    """PyTorch's profiler over a few steps, and what it says of every kernel in them."""

    FIRST, LAST = 10, 14

    def __init__(self):
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        self.profiler = torch.profiler.profile(activities=activities)

    def before(self, step):
        if step == self.FIRST:
            torch.cuda.synchronize()
            self.profiler.start()

    def after(self, step):
        if step == self.LAST:
            torch.cuda.synchronize()
            self.profiler.stop()

    def write(self, path, step_ms):
        kernels = [{"name": e.name, "ns": e.device_time_total * 1e3, "start_ns": e.time_range.start * 1e3}
                   for e in self.profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        with open(path, "w") as file:
            json.dump({"steps": self.LAST - self.FIRST + 1, "step_ms": step_ms[self.FIRST:self.LAST + 1],
                       "kernels": kernels}, file)


def main():
    options = arguments()
    if not torch.cuda.is_available():
        sys.exit("pytorch_gpt2: PyTorch finds no CUDA device")
    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    torch.manual_seed(options.seed)
    use_attention(options.attention)
    model = Gpt2(options.model, options.sequence).to(device)
    if options.master_weights:
        model = model.to(torch.bfloat16)
    if ranks > 1:
        # NCCL wants a device for each process.
        torch.distributed.init_process_group("nccl" if torch.cuda.device_count() >= ranks else "gloo")
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    if options.mode != "eager":
        model = torch.compile(model, mode="reduce-overhead" if options.mode == "cudagraph" else None)
    optimizer = Optimizer(model, options.lr, options.clip, options.master_weights)
    generator = torch.Generator().manual_seed(options.seed + rank)

    kernels = KernelList() if options.torch_profiler else None
    events = [torch.cuda.Event(enable_timing=True) for _ in range(options.steps + 1)]
    events[0].record()
    begin = time.perf_counter()
    loss = None
    for step in range(options.steps):
        if kernels:
            kernels.before(step)
        with torch.cuda.nvtx.range("step") if options.nvtx else contextlib.nullcontext():
            inputs, targets = synthetic_batch(generator, options.batch, options.sequence, device)
            if options.nvtx:
                with torch.cuda.nvtx.range(f"tokens={inputs.numel()}"):
                    pass
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not options.master_weights):
                loss = model(inputs, targets)
            loss.backward()
            optimizer.step()
        events[step + 1].record()
        if kernels:
            kernels.after(step)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    step_ms = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
    timed = step_ms[options.steps // 3:]  # the first ones compile and fill caches
    summary = {"mode": options.mode, "model": options.model, "batch": options.batch, "sequence": options.sequence,
               "steps": options.steps, "rank": rank, "median_ms": round(statistics.median(timed), 4),
               "min_ms": round(min(timed), 4), "final_loss": round(loss.item(), 4), "seconds": round(seconds, 2),
               "master_weights": options.master_weights, "attention": options.attention, "clip": options.clip,
               "step_ms": [round(ms, 4) for ms in step_ms], "torch": torch.__version__}
    print(f"{options.mode}: median {summary['median_ms']:.3f} ms a step ({len(timed)} of {options.steps} steps), "
          f"loss {summary['final_loss']:.4f}, {torch.cuda.get_device_name(device)}", flush=True)
    if kernels:
        kernels.write(options.torch_profiler, step_ms)
    if options.json:
        print(json.dumps(summary), flush=True)
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
