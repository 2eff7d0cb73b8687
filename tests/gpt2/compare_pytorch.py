#!/usr/bin/env python3
"""Ten training steps of gpt2_train beside PyTorch, from the same random weights on the same tokens.

The reference is Hugging Face's GPT2LMHeadModel (random init, no download, no dropout) in FP32; where transformers is
not installed, the same network written in plain PyTorch (the table says which). gpt2_train runs in fp32, tf32, bf16 and fp8;
loss and gradient norm of every step must agree:

  precision  loss (relative)  norm (relative)   why
  fp32       1e-5             5e-4              sums in another order; AdamW amplifies it over the steps
  tf32       1e-3             1e-2              10-bit mantissas in every product
  bf16       1e-2             5e-2              7-bit mantissas; PyTorch's own bf16 autocast is shown beside it
  fp8        2e-2             2e-1              3 and 2 bits in the layers' products

and in fp32 the first step, before any update, must agree to 1e-6 and 1e-5. Needs a GPU. Exit 0: all within; 1: not.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, PADDED = 50257, 50304
TOLERANCE = {"fp32": (1e-5, 5e-4), "tf32": (1e-3, 1e-2), "bf16": (1e-2, 5e-2), "fp8": (2e-2, 2e-1)}
FIRST_STEP_FP32 = (1e-6, 1e-5)
BETAS, EPSILON, WEIGHT_DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0


class Conv1D(nn.Module):
    """weight (in, out), as Hugging Face stores it."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, C, NH):
        super().__init__()
        self.NH = NH
        self.c_attn, self.c_proj = Conv1D(C, 3 * C), Conv1D(C, C)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.NH, C // self.NH).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Mlp(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(C, 4 * C), Conv1D(4 * C, C)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, C, NH):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(C), Attention(C, NH), nn.LayerNorm(C), Mlp(C)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class PlainGpt2(nn.Module):
    """Stands in for GPT2LMHeadModel, with its names of parameters."""

    def __init__(self, L, NH, C, max_t):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(VOCAB, C), wpe=nn.Embedding(max_t, C),
            h=nn.ModuleList(Block(C, NH) for _ in range(L)), ln_f=nn.LayerNorm(C)))
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, 0.0, 0.02 / (math.sqrt(2 * L) if name.endswith("c_proj.weight") else 1.0))

    def forward(self, tokens):
        t = self.transformer
        x = t["wte"](tokens) + t["wpe"](torch.arange(tokens.size(1), device=tokens.device))
        for block in t["h"]:
            x = block(x)
        return t["ln_f"](x) @ t["wte"].weight.T


def build_model(a):
    torch.manual_seed(a.seed)
    try:
        if a.reference == "plain":
            raise ImportError
        import transformers
    except ImportError:
        if a.reference == "huggingface":
            sys.exit("compare_pytorch: transformers is not installed: pip install transformers, or --reference plain")
        return PlainGpt2(a.layers, a.heads, a.channels, a.max_t), f"plain PyTorch {torch.__version__}", lambda m, x: m(x)
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=a.max_t, n_embd=a.channels, n_layer=a.layers, n_head=a.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager", use_cache=False)
    model = transformers.GPT2LMHeadModel(config)
    return (model, f"transformers {transformers.__version__} GPT2LMHeadModel, PyTorch {torch.__version__}",
            lambda m, x: m(x).logits)


def write_model(path, model, a):
    state = {k.removeprefix("transformer."): v.detach().float().cpu() for k, v in model.state_dict().items()}
    wte = torch.zeros(PADDED, a.channels)
    wte[:VOCAB] = state["wte.weight"]

    def stack(name, transpose=False):
        parts = [state[f"h.{l}.{name}"] for l in range(a.layers)]
        return torch.stack([p.T.contiguous() if transpose else p for p in parts])

    tensors = [wte, state["wpe.weight"], stack("ln_1.weight"), stack("ln_1.bias"), stack("attn.c_attn.weight", True),
               stack("attn.c_attn.bias"), stack("attn.c_proj.weight", True), stack("attn.c_proj.bias"),
               stack("ln_2.weight"), stack("ln_2.bias"), stack("mlp.c_fc.weight", True), stack("mlp.c_fc.bias"),
               stack("mlp.c_proj.weight", True), stack("mlp.c_proj.bias"), state["ln_f.weight"], state["ln_f.bias"]]
    header = [20240326, 3, a.max_t, VOCAB, a.layers, a.heads, a.channels, PADDED]
    with open(path, "wb") as f:
        f.write(struct.pack("<256i", *header, *[0] * (256 - len(header))))
        for tensor in tensors:
            f.write(tensor.contiguous().numpy().tobytes())


def make_tokens(a):
    """Zipf-distributed tokens, each followed half of the time by a fixed successor: something to learn in ten steps."""
    g = torch.Generator().manual_seed(a.seed + 1)
    count = a.B * a.T * a.steps + 1
    weights = 1.0 / (torch.arange(VOCAB, dtype=torch.float64) + 3.0)
    tokens = torch.multinomial(weights, count, replacement=True, generator=g)
    follow = torch.rand(count, generator=g) < 0.5
    for i in range(1, count):
        if follow[i]:
            tokens[i] = (tokens[i - 1] * 31 + 7) % VOCAB
    return tokens


def write_tokens(path, tokens):
    with open(path, "wb") as f:
        f.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
        f.write(tokens.to(torch.int32).numpy().astype("<u2").tobytes())


def run_pytorch(model, logits_of, tokens, a, autocast):
    model = model.cuda().train()
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": WEIGHT_DECAY}, {"params": rest, "weight_decay": 0.0}],
                                  lr=a.lr, betas=BETAS, eps=EPSILON)
    curve = []
    for step in range(a.steps):
        at = step * a.B * a.T
        x = tokens[at:at + a.B * a.T].view(a.B, a.T).cuda()
        y = tokens[at + 1:at + a.B * a.T + 1].view(a.B, a.T).cuda()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            logits = logits_of(model, x)
        loss = F.cross_entropy(logits.float().view(-1, VOCAB), y.view(-1))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        curve.append((float(loss.detach()), float(norm)))
    return curve


def run_trainer(a, precision, model_path, token_path, folder):
    log = os.path.join(folder, precision + ".jsonl")
    command = [a.trainer, "--init", model_path, "--data", token_path, "-B", str(a.B), "-T", str(a.T),
               "--steps", str(a.steps), "--lr", str(a.lr), "--schedule", "constant", "--weight-decay", str(WEIGHT_DECAY),
               "--clip", str(CLIP), "--precision", precision, "--log", log, "--matmul-search", "off",
               "--matmul-cache", "none"]
    if precision == "bf16":
        command += ["--attention", a.attention]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"compare_pytorch: {' '.join(command)} ended with {result.returncode}: {result.stderr.strip()}")
    with open(log) as f:
        rows = [json.loads(line) for line in f]
    if [r["step"] for r in rows] != list(range(a.steps)):
        sys.exit(f"compare_pytorch: {log} does not hold {a.steps} steps")
    return [(r["loss"], r["norm"]) for r in rows]


def deviation(got, want):
    return [tuple(abs(g - w) / abs(w) for g, w in zip(gs, ws)) for gs, ws in zip(got, want)]


def within(value, bound):
    return value <= bound  # NaN is not


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trainer", required=True, help="path of gpt2_train")
    p.add_argument("-B", type=int, default=4)
    p.add_argument("-T", type=int, default=512)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=1337)
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--heads", type=int, default=12)
    p.add_argument("--channels", type=int, default=768)
    p.add_argument("--max-t", type=int, default=1024)
    p.add_argument("--attention", choices=["hopper", "cudnn", "own"], default="hopper", help="of the bf16 run")
    p.add_argument("--reference", choices=["auto", "huggingface", "plain"], default="auto")
    p.add_argument("--json", help="write the result here")
    a = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("compare_pytorch: needs a GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False

    tokens = make_tokens(a)
    model, reference_name, logits_of = build_model(a)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        model_path, token_path = os.path.join(folder, "model.bin"), os.path.join(folder, "tokens.bin")
        write_model(model_path, model, a)
        write_tokens(token_path, tokens)
        want = run_pytorch(model, logits_of, tokens, a, autocast=False)
        model.load_state_dict(start)
        autocast = run_pytorch(model, logits_of, tokens, a, autocast=True)
        del model
        torch.cuda.empty_cache()
        got = {precision: run_trainer(a, precision, model_path, token_path, folder) for precision in TOLERANCE}

    print(f"reference: {reference_name}, FP32; B={a.B} T={a.T} lr={a.lr}, {torch.cuda.get_device_name()}")
    print("step   reference loss  norm     | deviation (relative): loss, norm of gpt2_train in")
    columns = [*TOLERANCE, "PyTorch bf16 autocast"]
    deviations = {**{k: deviation(v, want) for k, v in got.items()}, columns[-1]: deviation(autocast, want)}
    print(" " * 34 + "| " + "".join(f"{c:<22}" for c in columns))
    for step in range(a.steps):
        cells = "".join(f"{deviations[c][step][0]:.1e}, {deviations[c][step][1]:.1e}    "[:22].ljust(22) for c in columns)
        print(f"{step + 1:>4}   {want[step][0]:>12.5f}  {want[step][1]:>9.4f}  | {cells}")

    failures = []
    for precision, bounds in TOLERANCE.items():
        for step, values in enumerate(deviations[precision]):
            limits = FIRST_STEP_FP32 if precision == "fp32" and step == 0 else bounds
            for what, value, limit in zip(("loss", "norm"), values, limits):
                if not within(value, limit):
                    failures.append(f"{precision} step {step + 1}: {what} deviates by {value:.2e}, allowed {limit:.0e}")
    if not want[-1][0] < want[0][0] - 0.2:
        failures.append(f"the reference learned nothing: loss {want[0][0]:.3f} to {want[-1][0]:.3f}")
    for line in failures:
        print("FAIL " + line)
    print("PASS" if not failures else f"{len(failures)} values outside tolerance")
    if a.json:
        with open(a.json, "w") as f:
            json.dump({"version": 1, "pass": not failures, "failures": failures, "reference": reference_name,
                       "device": torch.cuda.get_device_name(), "batch": a.B, "sequence": a.T, "lr": a.lr,
                       "tolerance": TOLERANCE, "first_step_fp32": FIRST_STEP_FP32, "reference_curve": want,
                       "trainer_curves": got, "pytorch_bf16_autocast_curve": autocast}, f, indent=1)
            f.write("\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
