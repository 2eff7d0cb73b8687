#!/usr/bin/env python3
"""Several ranks of gpt2_train against one process: the same losses at the same global batch, checkpoints that go on with another number of
ranks, ranks that die, and what a second GPU is worth.

usage: ranks.py --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...] [--nccl-library FILE]

Cases: one (a communicator of one rank changes no bit), losses (1 and 2 ranks, 20 steps, in four precisions, with micro-batches, with ZeRO-1, with
BF16 on the wire), bits (with --deterministic nothing that only moves work changes a bit), launched (by a launcher's variables), resume (from 2
ranks to 1, from 1 to 2, with ZeRO-1 and without), lost (a rank killed, a rank stopped), refused (more ranks than GPUs, a batch that cannot be
divided), speed (tokens/s at B = 4, 8, 32 a rank). All but `one` and `refused` need two GPUs: with one they are not run, which is said. About
three minutes.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import time

from common import Checks, Started, children, chosen, options_of, run

STEPS = 20
# Largest relative difference of a step's loss, and of its gradient norm, between one process and two ranks at the same global batch. In FP32 only
# the order of sums differs; narrower types round what differs, and 20 updates carry it on.
TOLERANCE = {"fp32": (1e-5, 1e-3), "tf32": (1e-4, 1e-2), "bf16": (1e-3, 5e-2), "fp8": (5e-3, 2e-1), "wire": (2e-3, 5e-2)}
WITHIN_S = 10
FIRST_STEPS = 5  # before what is rounded has had time to grow


def gpus():
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return len(names) if visible is None else len([d for d in visible.split(",") if d.strip()])


class Trainer:
    def __init__(self, options):
        self.program = options.trainer
        self.folder = os.path.join(options.out, "ranks")
        self.nccl = ["--nccl-library", options.nccl_library] if options.nccl_library else []
        self.runs = 0

    def command(self, ranks, *arguments):
        more = ["--ranks", str(ranks), *self.nccl] if ranks else []
        return [self.program, "--matmul-cache", "none", *map(str, arguments), *more]

    def run(self, ranks, *arguments, timeout=120):
        """A run of `ranks` (0: one process without any) and the rows of its log."""
        self.runs += 1
        log = os.path.join(self.folder, f"run{self.runs}.jsonl")
        result = run(self.command(ranks, *arguments, "--log", log), timeout=timeout)
        rows = []
        if os.path.exists(log):
            with open(log) as file:
                rows = [row for row in map(json.loads, file) if "loss" in row]
        return result, rows


def curve(rows):
    return [(row["step"], row["loss"], row["norm"]) for row in rows]


def deviation(mine, theirs, column):
    return max(abs(a[column] / b[column] - 1) for a, b in zip(mine, theirs))


def norm_deviation(precision, mine, theirs):
    """A step whose gradient is thirty times the others' stands where the loss bends most, and what was rounded before it decides how high it gets:
    two runs of one process differ there too. In FP32 every step counts, otherwise the median and the first steps."""
    if precision == "fp32":
        return deviation(mine, theirs, 2)
    each = [abs(a[2] / b[2] - 1) for a, b in zip(mine, theirs)]
    return max(statistics.median(each), *each[:FIRST_STEPS])


def failure(*results):
    for result in results:
        if result.status != 0:
            return f"exit {result.status}: {result.tail()}"
    return None


def check_one(checks, trainer):
    base = ["--model", "124M", "-B", "4", "-T", "256", "--steps", STEPS, "--warmup", "3", "--deterministic"]
    (alone, a), (one, b) = trainer.run(0, *base), trainer.run(1, *base)
    bad = failure(alone, one)
    same = not bad and curve(a) == curve(b) and len(a) == STEPS
    checks.add("one", same, bad or f"{STEPS} steps through a communicator of one rank: losses and norms "
               f"{'the same to the last bit' if same else 'differ'}, {a[0]['loss']:.4f} -> {a[-1]['loss']:.4f}")


def check_losses(checks, trainer):
    small = ["-T", "1024", "--steps", STEPS, "--warmup", "3"]
    alone_by = {}
    for name, precision, arguments in (
            ("losses-fp32", "fp32", ["--model", "124M", "-B", "4", "--precision", "fp32"]),
            ("losses-bf16", "bf16", ["--model", "124M", "-B", "8"]),
            ("losses-zero1", "fp32", ["--model", "124M", "-B", "4", "--precision", "fp32", "--zero", "1"]),
            ("losses-wire", "wire", ["--model", "124M", "-B", "4", "--precision", "fp32", "--wire", "bf16"]),
            ("losses-fp8", "fp8", ["--model", "124M", "-B", "8", "--precision", "fp8"]),
            ("losses-accum", "tf32", ["--model", "124M", "-B", "2", "--grad-accum", "3", "--precision", "tf32"])):
        plain = tuple(arguments[:6] if {"--zero", "--wire"} & set(arguments) else arguments)  # without what only ranks have
        if plain not in alone_by:
            alone_by[plain] = trainer.run(0, *plain, *small)
        (alone, a), (two, b) = alone_by[plain], trainer.run(2, *arguments, *small)
        bad = failure(alone, two) or (f"{len(a)} and {len(b)} steps" if len(a) != STEPS or len(b) != STEPS else None)
        if bad:
            checks.add(name, False, bad)
            continue
        loss, norm = deviation(curve(b), curve(a), 1), norm_deviation(precision, curve(b), curve(a))
        max_loss, max_norm = TOLERANCE[precision]
        checks.add(name, loss <= max_loss and norm <= max_norm,
                   f"2 ranks beside 1 at the same global batch, {STEPS} steps: loss {a[0]['loss']:.4f} -> {a[-1]['loss']:.4f}, largest difference "
                   f"{loss:.1e} (at most {max_loss:.0e}), of the norm {norm:.1e} (at most {max_norm:.0e}{'' if precision == 'fp32' else ', median and first steps'})")


def check_bits(checks, trainer):
    """Work that is only moved: a sum of two ranks has one order, whatever the buckets."""
    base = ["--model", "tiny", "-B", "8", "-T", "128", "--steps", 30, "--warmup", "3", "--deterministic", "--grad-accum", "2"]
    first, expected = trainer.run(2, *base)
    if bad := failure(first):
        return checks.add("bits", False, bad)
    differ = []
    for name, more in (("again", []), ("--no-overlap", ["--no-overlap"]), ("--no-cuda-graph", ["--no-cuda-graph"]),
                       ("--bucket-mib 1", ["--bucket-mib", "1"]), ("--nccl-ctas 4", ["--nccl-ctas", "4"])):
        result, rows = trainer.run(2, *base, *more)
        if bad := failure(result):
            differ.append(f"{name}: {bad}")
        elif curve(rows) != curve(expected):
            differ.append(name)
    checks.add("bits", not differ and len(expected) == 30,
               f"2 ranks, deterministic: {'differs with ' + ', '.join(differ) if differ else 'the same bits again, without overlap, without a graph, with other buckets and fewer blocks'}")


def check_launched(checks, trainer):
    """Two processes with torchrun's variables, beside two that were forked."""
    base = ["--model", "tiny", "-B", "8", "-T", "128", "--steps", 30, "--warmup", "3", "--deterministic"]
    forked, expected = trainer.run(2, *base)
    log = os.path.join(trainer.folder, "launched.jsonl")
    started = [Started(trainer.command(0, *base, *(["--log", log] if rank == 0 else []), *trainer.nccl),
                       env={"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29617"})
               for rank in range(2)]
    results = [one.finish(60) for one in started]
    bad = failure(forked, *results)
    rows = []
    if not bad:
        with open(log) as file:
            rows = [row for row in map(json.loads, file) if "loss" in row]
    same = not bad and curve(rows) == curve(expected) and len(rows) == 30 and not results[1].out
    checks.add("launched", same, bad or f"two processes by RANK and WORLD_SIZE: {'the bits of two that were forked' if same else 'differ'}; rank 1 printed "
               f"{len(results[1].out)} bytes")


def check_resume(checks, trainer):
    half = STEPS // 2
    for before, after, precision in ((2, 0, "tf32"), (0, "zero", "tf32"), ("zero", 2, "bf16")):
        base = ["--model", "124M", "-B", "4", "-T", "256", "--steps", STEPS, "--warmup", "3", "--precision", precision]
        name = "resume-" + "-".join("zero1" if ranks == "zero" else str(max(ranks, 1)) for ranks in (before, after))
        kept, other = (os.path.join(trainer.folder, f"{name}-{part}") for part in ("whole", "resumed"))

        def run_with(ranks, *more, base=base):
            return trainer.run(2, *base, "--zero", "1", *more) if ranks == "zero" else trainer.run(ranks, *base, *more)

        whole, a = run_with(before, "--checkpoint-dir", kept, "--checkpoint-every", half, "--keep", 2)
        if bad := failure(whole):
            checks.add(name, False, bad)
            continue
        resumed, b = run_with(after, "--checkpoint-dir", other, "--resume", os.path.join(kept, f"step_{half:08}"))
        bad = failure(resumed) or (f"{len(a)} and {len(b)} steps" if (len(a), len(b)) != (STEPS, STEPS - half) else None)
        if bad:
            checks.add(name, False, bad)
            continue
        loss = deviation(curve(b), curve(a)[half:], 1)
        sizes = [os.path.getsize(os.path.join(folder, f"step_{STEPS:08}", "state.bin")) for folder in (kept, other)]
        most = TOLERANCE[precision][0]
        checks.add(name, loss <= most and sizes[0] == sizes[1],
                   f"{half} steps, then the rest by others (ranks, or two of ZeRO-1): losses beside those of the run that went on {loss:.1e} "
                   f"(at most {most:.0e}), checkpoints of {sizes[0]} and {sizes[1]} bytes")
        for folder in (kept, other):
            shutil.rmtree(folder, ignore_errors=True)


def check_lost(checks, trainer):
    for name, number, says in (("lost-killed", signal.SIGKILL, "rank 1 of 2 was killed by signal 9"),
                               ("lost-stopped", signal.SIGSTOP, "rank 1 of 2 has not answered for")):
        log = os.path.join(trainer.folder, name + ".txt")
        started = Started(trainer.command(2, "--model", "124M", "-B", "8", "-T", "1024", "--steps", "100000"), log=log)
        until = time.monotonic() + 60
        while time.monotonic() < until and "step    20/" not in started.texts()[0] and started.process.poll() is None:
            time.sleep(0.05)
        ranks = [pid for pid in children(started.process.pid)]
        if len(ranks) < 2 or started.process.poll() is not None:
            result = started.finish(1)
            checks.add(name, False, f"did not reach step 20: {result.tail()}")
            continue
        # Forked in this order, and ranks start no processes of their own.
        begin = time.monotonic()
        os.kill(ranks[1], number)
        result = started.finish(30)
        seconds = time.monotonic() - begin
        left = [pid for pid in ranks if os.path.exists(f"/proc/{pid}")]
        last = result.out.strip().splitlines()[-1] if result.out.strip() else "no output"
        checks.add(name, result.status == 6 and says in last and seconds <= WITHIN_S and not left,
                   f"exit {result.status} after {seconds:.1f} s: {last}" + (f"; left over: {left}" if left else ""))


def check_refused(checks, trainer, count):
    for name, code, says, ranks, more in (
            ("refused-gpus", 4, f"this host shows {count}", count + 1, ["-B", str(2 * (count + 1))]),
            ("refused-batch", 2, "-B 3 cannot be divided among 2 ranks", 2, ["-B", "3"])):
        result, _ = trainer.run(ranks, "--model", "tiny", "-T", "64", "--steps", "2", *more)
        lines = [line for line in result.err.splitlines() if line.strip()]
        checks.add(name, result.status == code and len(lines) == 1 and says in lines[0], f"exit {result.status}: {' / '.join(lines)}")


def check_speed(checks, trainer):
    table, bad = [], None
    for batch in (4, 8, 32):
        row = {"batch_per_rank": batch}
        for name, ranks, more in (("one", 0, []), ("overlap", 2, []), ("no_overlap", 2, ["--no-overlap"]), ("zero1", 2, ["--zero", "1"])):
            result, rows = trainer.run(ranks, "--model", "124M", "-B", batch * max(ranks, 1), "-T", "1024", "--steps", 60 if batch < 32 else 40,
                                       "--json", *more)
            summary = result.last_json()
            if result.status != 0 or not summary:
                bad = bad or f"B={batch} {name}: exit {result.status}: {result.tail()}"
                continue
            row[name] = {key: summary[key] for key in ("median_ms", "p10_ms", "p90_ms", "tokens_per_s", "host_late_steps", "final_loss")}
        table.append(row)
    print("B a rank   1 rank ms   2 overlapped ms   2 one after the other ms   2 ZeRO-1 ms   tokens/s of each           efficiency of each pair")
    for row in table:
        if not all(name in row for name in ("one", "overlap", "no_overlap", "zero1")):
            continue
        one, on, off, zero = (row[name] for name in ("one", "overlap", "no_overlap", "zero1"))
        for name in ("overlap", "no_overlap", "zero1"):
            row[f"efficiency_{name}"] = one["median_ms"] / row[name]["median_ms"]
        print(f"{row['batch_per_rank']:>8}   {one['median_ms']:>9.2f}   {on['median_ms']:>15.2f}   {off['median_ms']:>24.2f}   {zero['median_ms']:>11.2f}   "
              f"{one['tokens_per_s']:.0f}, {on['tokens_per_s']:.0f}, {off['tokens_per_s']:.0f}, {zero['tokens_per_s']:.0f}   "
              f"{row['efficiency_overlap']:.3f}, {row['efficiency_no_overlap']:.3f}, {row['efficiency_zero1']:.3f}")
    worst = min((row.get("efficiency_overlap", 0) for row in table), default=0)
    gained = all(row.get("efficiency_overlap", 0) >= 0.98 * row.get("efficiency_no_overlap", 1) for row in table)
    checks.add("speed", not bad and worst >= 0.75 and gained,
               bad or f"124M: two ranks at {', '.join(format(row['efficiency_overlap'], '.3f') for row in table)} of twice one rank's tokens/s "
               f"(B = 4, 8, 32 each; at least 0.75), {', '.join(format(row['efficiency_no_overlap'], '.3f') for row in table)} without overlap, {', '.join(format(row['efficiency_zero1'], '.3f') for row in table)} with ZeRO-1")
    return table


def main():
    cases = ["one", "refused", "losses", "bits", "launched", "resume", "lost", "speed"]
    parser = options_of(__doc__, "trainer", only=cases)
    parser.add_argument("--nccl-library")
    options = parser.parse_args()
    names = chosen(parser, options.only, cases)
    checks, trainer, count = Checks(options.json), Trainer(options), gpus()
    shutil.rmtree(trainer.folder, ignore_errors=True)
    os.makedirs(trainer.folder)
    not_run, table, seconds = [], None, {}
    for name in names:
        if count < 2 and name not in ("one", "refused"):
            not_run.append(name)
            continue
        begin = time.monotonic()
        if name == "refused":
            check_refused(checks, trainer, count)
        elif name == "speed":
            table = check_speed(checks, trainer)
        else:
            {"one": check_one, "losses": check_losses, "bits": check_bits, "launched": check_launched, "resume": check_resume, "lost": check_lost}[name](checks, trainer)
        seconds[name] = round(time.monotonic() - begin, 1)
    if not_run:
        print(f"not run, since they need two GPUs and this host shows {count}: {', '.join(not_run)}")
    print("seconds: " + ", ".join(f"{name} {taken}" for name, taken in seconds.items()))
    checks.finish(gpus=count, not_run=not_run, speed=table, seconds=seconds,
                  versions={"nvls": os.environ.get("NCCL_NVLS_ENABLE", "0 (the trainer's default)")})


if __name__ == "__main__":
    main()
