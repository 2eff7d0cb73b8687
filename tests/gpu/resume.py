#!/usr/bin/env python3
"""A run of gpt2_train that is killed and resumed against the run that was not: checkpoints and logs, bit by bit.

usage: resume.py --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...]

For each case: one run to the end; the same run killed (SIGKILL) when it has written its first checkpoint, then resumed
from its directory. Both files of the last checkpoint must be the same, and so must what the logs say: losses, norms, validation
losses, samples. Validation and samples run in between and must leave no trace.
"""
import filecmp
import json
import os
import random
import shutil
import signal
import struct
import subprocess

from common import Checks, chosen, options_of, run

# (steps, steps between checkpoints, arguments): enough steps behind the first checkpoint that the signal arrives in time
TINY = (600, 250, ["--model", "tiny", "-B", "6", "-T", "128"])
WHOLE = (12, 7, ["--model", "124M", "-B", "4", "-T", "256"])
BETWEEN = ["--val-every", "3", "--val-batches", "1", "--sample-every", "4", "--sample-tokens", "5"]


def write_shard(path, count, vocab, seed):
    generator = random.Random(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", 20240520, 1, count, *[0] * 253))
        file.write(struct.pack(f"<{count}H", *(generator.randrange(vocab) for _ in range(count))))


def cases(shards):
    files = ["--data", *shards, "--shuffle", "--val-data", shards[0]]
    return {
        "fast-124M": (WHOLE, BETWEEN),
        "graph-124M": (WHOLE, ["--cuda-graph", "--stochastic-rounding"]),
        "fp8-124M": (WHOLE, ["--precision", "fp8", *BETWEEN]),
        "fp8-layers": (TINY, ["--precision", "fp8", "--fp8-classifier", "none", "--fp8-hidden", "bf16", "--grad-accum", "2", *BETWEEN]),
        "fp8": (TINY, ["--precision", "fp8", "--grad-accum", "2", *BETWEEN]),
        "fast": (TINY, BETWEEN),
        "accumulate": (TINY, ["--grad-accum", "3", "--cuda-graph", *BETWEEN]),
        "separate-gelu": (TINY, ["--gelu", "separate", "--grad-accum", "2"]),
        "own-attention": (TINY, ["--attention", "own"]),
        "rounding": (TINY, ["--stochastic-rounding", "--recompute", "2"]),
        "shards": (TINY, [*files, *BETWEEN]),
        "fp32": (TINY, ["--precision", "fp32", "--cuda-graph"]),
        "naive": (TINY, ["--preset", "naive"]),
    }


def killed_after_a_checkpoint(command):
    """Runs until the first checkpoint is reported, then kills the program as a power cut would."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("saved"):
            process.send_signal(signal.SIGKILL)
            break
    _, errors = process.communicate(timeout=240)
    return process.returncode, errors.strip()


def log_of(path):
    """What a run found out, without its times: losses, norms, rates, validation losses, samples."""
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    return [{name: row[name] for name in ("step", "loss", "norm", "lr", "val_loss", "sample") if name in row} for row in rows]


def compare(checks, name, trainer, case, folder):
    (steps, every, base), more = case

    def command(which, *last):
        return [trainer, *base, *more, "--steps", str(steps), "--warmup", "3", "--deterministic", "--checkpoint-dir",
                os.path.join(folder, which), "--keep", "1", "--matmul-cache", os.path.join(folder, "matmul.json"), "--log",
                os.path.join(folder, which + ".jsonl"), *last]

    often = ("--checkpoint-every", str(every))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    straight = run(command("straight"))
    if straight.status != 0:
        return checks.add(name, False, f"exit {straight.status}: {straight.tail()}")
    status, errors = killed_after_a_checkpoint(command("resumed", *often))
    if status != -signal.SIGKILL:
        return checks.add(name, False, f"the run to be killed ended with {status}: {errors}")
    kept = os.listdir(os.path.join(folder, "resumed"))
    second = run(command("resumed", *often, "--resume", os.path.join(folder, "resumed")))
    if second.status != 0:
        return checks.add(name, False, f"resumed from {kept}: exit {second.status}: {second.tail()}")
    last = f"step_{steps:08}"
    differ = [file for file in ("model.bin", "state.bin")
              if not filecmp.cmp(*(os.path.join(folder, which, last, file) for which in ("straight", "resumed")), shallow=False)]
    mine, theirs = (log_of(os.path.join(folder, which + ".jsonl")) for which in ("resumed", "straight"))
    losses = [row["loss"] for row in theirs if "loss" in row]
    same = mine == theirs and len(losses) == steps
    left = os.listdir(os.path.join(folder, "resumed"))
    size = sum(os.path.getsize(os.path.join(folder, "straight", last, file)) for file in ("model.bin", "state.bin"))
    checks.add(name, not differ and same and left == [last],
               f"{steps} steps, killed after the first checkpoint: {', '.join(differ) + ' differ' if differ else 'both files the same'}"
               f" ({size / 1e6:.0f} MB), logs of {len(theirs)} lines {'the same' if same else 'differ'}, loss {losses[0]:.4f} -> {losses[-1]:.4f}"
               + ("" if left == [last] else f"; left over: {left}"))
    shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = options_of(__doc__, "trainer", only=cases([""]))
    options = parser.parse_args()
    names = chosen(parser, options.only, cases([""]))
    checks = Checks(options.json)
    folder = os.path.join(options.out, "resume")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shards = [os.path.join(folder, f"shard_{i}.bin") for i in range(3)]
    for i, path in enumerate(shards):
        write_shard(path, 6 * 128 * (2 + i) + 57, 97, i)
    for name in names:
        compare(checks, name, options.trainer, cases(shards)[name], os.path.join(folder, name))
    shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
