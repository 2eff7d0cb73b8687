#!/usr/bin/env python3
"""Loss curves of gpt2_train's fast preset, of the same in FP8 and of PyTorch, from the same weights on the same tokens.

usage: loss_curves.py --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--steps 500] [--model 124M] [-B 32] [-T 1024]
                      [--curves pytorch,fast,fp8] [--only NAME,...]

PyTorch: BF16 parameters and gradients, FP32 master weights and moments, fused AdamW, cuDNN's attention, torch.compile (eager
where the compiler fails; the result says which). Both: cosine schedule with warmup, decay of the matrices, clipping at 1.
The tokens are written to shards in the public format, the weights to a model file. Each curve is kept in DIR/loss-curves as
soon as it is complete, and a later call with the same arguments goes on with those that are missing: --only names the ones to run
now. When all are there: loss-curves.json (all curves) and loss-curves.svg in DIR, with FP8 loss-curves-fp8.svg. Verdicts of
the fast preset beside PyTorch: both learn; the curves agree over the last fifth, on average within 1 % of the loss; no step
there is off by more than 3 %; so do the first ten steps within 0.5 %. Of FP8 beside both: the means of the last hundred losses
differ by 0.3 % at most.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpt2"))
from common import Checks, run  # noqa: E402
import curve_plot  # noqa: E402

MODELS = {"tiny": (2, 2, 128), "124M": (12, 12, 768), "355M": (24, 16, 1024), "774M": (36, 20, 1280)}
VOCAB = 50257
BETAS, EPSILON, WEIGHT_DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 1.0
SHARDS = 2
FP8 = ["--precision", "fp8"]
OWN = {"fast": [], "cudnn": ["--attention", "cudnn"], "fp8": FP8, "fp8_layers": [*FP8, "--fp8-classifier", "none", "--fp8-hidden", "bf16"],
       "fp8_bf16_hidden": [*FP8, "--fp8-hidden", "bf16"]}
FP8_LAST, FP8_ALLOWED = 100, 0.003


def learning_rate(a, step):
    """train/loop/schedule.cpp's cosine."""
    if step < a.warmup:
        return a.lr * (step + 1) / a.warmup
    done = min(1.0, (step - a.warmup) / max(1, a.steps - 1 - a.warmup))
    return a.lr / 10 + 0.5 * (1 + math.cos(math.pi * done)) * (a.lr - a.lr / 10)


def make_tokens(a):
    """Zipf-distributed tokens, six in ten followed by a fixed successor: unigrams and bigrams to learn."""
    import torch

    g = torch.Generator().manual_seed(a.seed + 1)
    count = a.B * a.T * a.steps + 1
    ranks = torch.arange(VOCAB, dtype=torch.float64)
    sums = torch.cumsum(1.0 / (ranks + 2.7) ** 1.05, 0)
    tokens = torch.searchsorted(sums / sums[-1], torch.rand(count, generator=g, dtype=torch.float64)).clamp_(max=VOCAB - 1)
    follows = torch.rand(count, generator=g) < 0.6
    follows[0] = False
    waiting = follows.nonzero().flatten()
    done = ~follows
    while len(waiting):  # one link of all chains at a time
        ready = done[waiting - 1]
        now = waiting[ready]
        tokens[now] = (tokens[now - 1] * 31 + 7) % VOCAB
        done[now] = True
        waiting = waiting[~ready]
    return tokens


def write_shards(a, tokens, folder):
    import compare_pytorch

    paths, per_shard = [], math.ceil(a.steps / SHARDS) * a.B * a.T
    for begin in range(0, len(tokens) - 1, per_shard):
        paths.append(os.path.join(folder, f"tokens_{len(paths)}.bin"))
        compare_pytorch.write_tokens(paths[-1], tokens[begin:begin + per_shard + 1])
    return paths


class MasterAdamw:
    """FP32 copies of BF16 parameters, and fused AdamW over them."""

    def __init__(self, torch, model, a):
        self.torch, self.narrow = torch, list(model.parameters())
        self.master = [p.detach().float().clone().requires_grad_(True) for p in self.narrow]
        for p in self.master:
            p.grad = torch.empty_like(p)
        decayed = [p for p in self.master if p.dim() >= 2]
        rest = [p for p in self.master if p.dim() < 2]
        self.adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": WEIGHT_DECAY},
                                        {"params": rest, "weight_decay": 0.0}], lr=a.lr, betas=BETAS, eps=EPSILON, fused=True)

    def step(self, rate):
        with self.torch.no_grad():
            self.torch._foreach_copy_([p.grad for p in self.master], [p.grad for p in self.narrow])
            norm = self.torch.nn.utils.get_total_norm([p.grad for p in self.master])
            self.torch._foreach_mul_([p.grad for p in self.master], self.torch.clamp(CLIP / (norm + 1e-6), max=1.0))
            for group in self.adamw.param_groups:
                group["lr"] = rate
            self.adamw.step()
            self.torch._foreach_copy_(self.narrow, self.master)
            for p in self.narrow:
                p.grad = None
        return norm


def train_pytorch(a, model, start, tokens):
    """(how it ran, losses, norms, median ms a step), from the weights in `start`."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def loss_of(x, y):
        return F.cross_entropy(model(x).float().view(-1, VOCAB), y.view(-1))

    def attempt(function):
        model.load_state_dict(start)
        optimizer = MasterAdamw(torch, model, a)  # from the FP32 weights before they are rounded
        model.to(torch.bfloat16)
        optimizer.narrow = list(model.parameters())
        losses, norms, marks = [], [], [torch.cuda.Event(enable_timing=True)]
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            marks[0].record()
            for step in range(a.steps):
                at = step * a.B * a.T
                x = tokens[at:at + a.B * a.T].view(a.B, a.T).cuda()
                y = tokens[at + 1:at + a.B * a.T + 1].view(a.B, a.T).cuda()
                loss = function(x, y)
                loss.backward()
                norms.append(optimizer.step(learning_rate(a, step)))
                losses.append(loss.detach())
                marks.append(torch.cuda.Event(enable_timing=True))
                marks[-1].record()
        torch.cuda.synchronize()
        times = [b.elapsed_time(e) for b, e in zip(marks, marks[1:])]
        return [float(v) for v in losses], [float(v) for v in norms], statistics.median(times[len(times) // 2:])

    model.cuda().train()
    version = f"PyTorch {torch.__version__}"
    if not a.eager:
        try:
            return (f"{version}, compiled", *attempt(torch.compile(loss_of)))
        except Exception as error:  # no compiler on this machine, or one that fails: the arithmetic is the same
            print(f"loss_curves: torch.compile failed ({type(error).__name__}): eager instead", file=sys.stderr)
            model.float()
    return (f"{version}, eager", *attempt(loss_of))


def train_own(a, name, init, shards, folder):
    log = os.path.join(folder, f"log-{name}.jsonl")
    if os.path.exists(log):
        os.remove(log)
    done = run([a.trainer, "--init", init, "--data", *shards, "-B", a.B, "-T", a.T, "--steps", a.steps, "--lr", a.lr,
                "--warmup", a.warmup, "--schedule", "cosine", "--weight-decay", WEIGHT_DECAY, "--clip", CLIP, "--preset", "fast",
                *OWN[name], *a.trainer_options.split(), "--matmul-cache", os.path.join(a.out, "matmul-cache"), "--json", "--log", log], timeout=500)
    if done.status != 0:
        raise RuntimeError(f"gpt2_train ended with {done.status}: {done.tail()}")
    with open(log) as file:
        rows = [json.loads(line) for line in file]
    return {"name": f"gpt2_train, {name}", "loss": [row["loss"] for row in rows], "norm": [row["norm"] for row in rows],
            "median_ms": done.last_json()["median_ms"]}


def judge(checks, mine, theirs):
    """Adds the verdicts on two curves of as many losses."""
    steps = len(theirs)
    if len(mine) != steps or not all(math.isfinite(v) for v in (*mine, *theirs)):
        return checks.add("curves", False, f"{len(mine)} and {steps} losses, or some that are not finite")
    off = [m / t - 1 for m, t in zip(mine, theirs)]
    begin = max(abs(v) for v in off[:10])
    checks.add("first-steps", begin <= 0.005, f"the first {min(10, steps)} losses agree within {100 * begin:.3f} % (allowed 0.5 %)")
    last = off[-max(1, steps // 5):]
    mean, worst = statistics.mean(last), max(abs(v) for v in last)
    checks.add("last-steps", abs(mean) <= 0.01 and worst <= 0.03,
               f"over the last {len(last)} steps the curves differ by {100 * mean:+.3f} % on average (allowed 1 %), "
               f"by {100 * worst:.3f} % at most (allowed 3 %)")
    tail = max(1, steps // 20)
    ends = [statistics.mean(curve[-tail:]) for curve in (mine, theirs)]
    checks.add("learned", all(end < 0.9 * curve[0] for end, curve in zip(ends, (mine, theirs))),
               f"gpt2_train {mine[0]:.4f} -> {ends[0]:.4f}, PyTorch {theirs[0]:.4f} -> {ends[1]:.4f} (mean of the last {tail})")


def judge_fp8(checks, curves, narrow="fp8"):
    """Adds the verdicts on a curve in FP8 beside every one that is not."""
    mine = curves[narrow]["loss"]
    for name, curve in curves.items():
        if name.startswith("fp8"):
            continue
        theirs = curve["loss"]
        if len(mine) != len(theirs) or not all(math.isfinite(v) for v in (*mine, *theirs)):
            checks.add(f"{narrow}-{name}", False, f"{len(mine)} and {len(theirs)} losses, or some that are not finite")
            continue
        means = [statistics.mean(losses[-FP8_LAST:]) for losses in (mine, theirs)]
        off = means[0] / means[1] - 1
        checks.add(f"{narrow}-{name}", abs(off) <= FP8_ALLOWED,
                   f"mean loss of the last {min(FP8_LAST, len(mine))} steps: {narrow} {means[0]:.4f}, {name} {means[1]:.4f}: {100 * off:+.3f} % "
                   f"(allowed {100 * FP8_ALLOWED:.1f} %)")


class Kept:
    """Curves that are complete, of runs with the same arguments; those of other arguments are thrown away."""

    def __init__(self, a, folder):
        self.folder = folder
        identity = {"model": a.model, "B": a.B, "T": a.T, "steps": a.steps, "lr": a.lr, "warmup": a.warmup, "seed": a.seed,
                    "trainer_options": a.trainer_options}
        path = os.path.join(folder, "arguments.json")
        if self.read(path) != identity:
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            self.write(path, identity)

    @staticmethod
    def read(path):
        try:
            with open(path) as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    @staticmethod
    def write(path, content):
        with open(path + ".new", "w") as file:
            json.dump(content, file)
        os.replace(path + ".new", path)

    def get(self, name):
        return self.read(os.path.join(self.folder, f"curve-{name}.json"))

    def put(self, name, curve):
        self.write(os.path.join(self.folder, f"curve-{name}.json"), curve)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trainer", required=True)
    p.add_argument("--out", default=".")
    p.add_argument("--json")
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--model", choices=MODELS, default="124M")
    p.add_argument("-B", type=int, default=32)
    p.add_argument("-T", type=int, default=1024)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--warmup", type=int, help="[a tenth of --steps]")
    p.add_argument("--seed", type=int, default=1337)
    p.add_argument("--curves", default="pytorch,fast", help="of pytorch, fast, cudnn (its attention), fp8, fp8_layers (only the layers' products in it) and fp8_bf16_hidden "
                   "(GELU's argument and its gradient in BF16) [%(default)s]")
    p.add_argument("--only", help="these of --curves now, the others in another call")
    p.add_argument("--trainer-options", default="", help="more options of gpt2_train, for all of its curves")
    p.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    a = p.parse_args()
    a.layers, a.heads, a.channels = MODELS[a.model]
    a.max_t = 1024
    a.warmup = a.steps // 10 if a.warmup is None else a.warmup
    checks = Checks(a.json)
    names = a.curves.split(",")
    now = a.only.split(",") if a.only else names
    if unknown := [name for name in (*names, *now) if name not in ("pytorch", *OWN)]:
        p.error(f"no curve '{unknown[0]}'")

    import torch
    import compare_pytorch

    if not torch.cuda.is_available():
        sys.exit("loss_curves: needs a GPU")
    torch.set_float32_matmul_precision("high")
    folder = os.path.join(a.out, "loss-curves")
    kept = Kept(a, folder)
    begin = time.monotonic()
    if any(kept.get(name) is None for name in now):
        tokens = make_tokens(a)
        shards = write_shards(a, tokens, folder)
        torch.manual_seed(a.seed)
        model = compare_pytorch.PlainGpt2(a.layers, a.heads, a.channels, a.max_t)
        start = {name: value.clone() for name, value in model.state_dict().items()}
        init = os.path.join(folder, "init.bin")
        compare_pytorch.write_model(init, model, a)
        for name in (n for n in now if kept.get(n) is None):
            if name == "pytorch":
                how, losses, norms, median_ms = train_pytorch(a, model, start, tokens)
                model.cpu()
                torch.cuda.empty_cache()
                kept.put(name, {"name": how, "loss": losses, "norm": norms, "median_ms": median_ms})
            else:
                kept.put(name, train_own(a, name, init, shards, folder))
            print(f"{name}: {a.steps} steps, {kept.get(name)['median_ms']:.2f} ms a step", file=sys.stderr, flush=True)
    curves = {name: kept.get(name) for name in names}
    if missing := [name for name, curve in curves.items() if curve is None]:
        print(f"{', '.join(missing)}: still to be run", flush=True)
        return
    title = f"GPT-2 {a.model}, B = {a.B}, T = {a.T}, {torch.cuda.get_device_name()}: the same weights, the same tokens"

    def legend(name):
        return f"{curves[name]['name']} ({curves[name]['median_ms']:.1f} ms a step)", curves[name]["loss"]

    if "fast" in curves and "pytorch" in curves:
        judge(checks, curves["fast"]["loss"], curves["pytorch"]["loss"])
        curve_plot.draw(os.path.join(a.out, "loss-curves.svg"), title, legend("fast"), legend("pytorch"))
    for narrow in (name for name in curves if name.startswith("fp8")):
        judge_fp8(checks, curves, narrow)
        if "fast" in curves:
            picture = f"loss-curves-{narrow.replace('_', '-')}.svg"
            curve_plot.draw(os.path.join(a.out, picture), title, legend(narrow), legend("fast"))
    result = {"version": 2, "model": a.model, "batch": a.B, "sequence": a.T, "steps": a.steps, "lr": a.lr, "warmup": a.warmup,
              "device": torch.cuda.get_device_name(), "seconds": round(time.monotonic() - begin, 1), "curves": curves}
    with open(os.path.join(a.out, "loss-curves.json"), "w") as file:
        json.dump(result, file)
        file.write("\n")
    shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
