#!/usr/bin/env python3
"""Several ranks of gpt2_train against one process: the same losses at the same global batch, checkpoints that go on with another number of
ranks, ranks that die, and what a second GPU is worth.

usage: ranks.py --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...] [--nccl-library FILE] [--speed MODEL:B,...] [--speed-steps N]

Cases: one (a communicator of one rank changes no bit; nor does ZeRO-2 beside ZeRO-1 there), losses (1 and 2 ranks, 20 steps, in four precisions, with
micro-batches, with ZeRO-1, with ZeRO-2 with and without micro-batches, with BF16 on the wire), bits (with --deterministic nothing that only moves work
changes a bit; ZeRO-2 has those of ZeRO-1, and both in FP8 the losses of ZeRO-0), gathers (parameters handed on beside the forward pass give the bits of those handed on beside the update: losses,
validation, samples, checkpoints and what goes on from one), memory (what 124M and 774M hold by ZeRO's stage, beside what is announced), launched (by a launcher's
variables), resume (from 2 ranks to 1, from 1 to 2, with ZeRO-1 and without), lost (a rank killed, a rank stopped), refused (more ranks than GPUs, a batch that cannot be
divided), sanitizer (two steps of two ranks of the tiny model under compute-sanitizer's memcheck, which must be in both: a minute at most), speed
(tokens/s of one rank and two, overlapped, not, with ZeRO-1 and its gathers beside the update and beside the forward pass, and with ZeRO-2: 124M at B = 4, 8, 32 a rank and 774M at 4 and 8, or what --speed says, as in
`--speed 774M:4`). All but `one` and `refused` need two GPUs: with one they are not run, which is said. About eight minutes.
"""
import filecmp
import json
import math
import os
import re
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
BEND = 10  # times the median norm: a step that stands where the loss bends most
PARAMETERS = {"124M": 124_475_904, "355M": 354_871_296, "774M": 774_090_240, "1558M": 1_557_686_400}  # as trained, vocabulary padded
SPEED = {"124M": (4, 8, 32), "774M": (4, 8)}  # batches of a rank
# A large all-reduce between two GPUs as NCCL's own model of NVLink has it, without multicast: what a step that hides nothing takes on top.
LINK_BYTES_PER_S = 343.6e9
EXPECTED_OVERLAPPED = 0.95
LEAST_EFFICIENCY = 0.75
MOST_OFF_MEMORY = 0.05  # of what ZeRO saves, and what the driver's own pieces of memory add to that
MEMORY_GRAIN_BYTES = 64e6
VARIANTS = (("one", 0, []), ("overlap", 2, []), ("no_overlap", 2, ["--no-overlap"]), ("zero1", 2, ["--zero", "1", "--gather", "update"]),
            ("forward", 2, ["--zero", "1", "--gather", "forward"]), ("zero2", 2, ["--zero", "2", "--gather", "update"]))
HEADS = {"one": "1 rank", "overlap": "2 overlapped", "no_overlap": "2 one after the other", "zero1": "2 ZeRO-1", "forward": "2 ZeRO-1, gathers forward", "zero2": "2 ZeRO-2"}
SANITIZER_S = 60  # for both ways of starting ranks
SANITIZER_STEPS = 2


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
        result = run(self.command(ranks, *arguments, "--log", self.log()), timeout=timeout)
        return result, logged(self.log(), "loss")

    def log(self):
        """Of the latest run."""
        return os.path.join(self.folder, f"run{self.runs}.jsonl")


def logged(log, key):
    """The rows of a log, where there is one, that have a value of that name."""
    if not os.path.exists(log):
        return []
    with open(log) as file:
        return [row for row in map(json.loads, file) if key in row]


def curve(rows):
    return [(row["step"], row["loss"], row["norm"]) for row in rows]


def deviation(mine, theirs, column):
    return max(abs(a[column] / b[column] - 1) for a, b in zip(mine, theirs))


def norm_deviation(precision, mine, theirs):
    """In FP32 every step counts, otherwise the median and the first steps (see loss_deviation)."""
    if precision == "fp32":
        return deviation(mine, theirs, 2)
    each = [abs(a[2] / b[2] - 1) for a, b in zip(mine, theirs)]
    return max(statistics.median(each), *each[:FIRST_STEPS])


def loss_deviation(precision, mine, theirs):
    """A step whose gradient is thirty times the others' stands where the loss bends most, and what was rounded before it decides how high it gets:
    two runs of one process differ there too. It is left out, but in FP32; the steps behind it are as near to each other as those before."""
    if precision == "fp32":
        return deviation(mine, theirs, 1)
    norms = [statistics.median(row[2] for row in rows) for rows in (mine, theirs)]
    kept = [(a, b) for i, (a, b) in enumerate(zip(mine, theirs)) if i < FIRST_STEPS or (a[2] < BEND * norms[0] and b[2] < BEND * norms[1])]
    return deviation(*zip(*kept), 1)


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
    (first, a), (second, b) = (trainer.run(1, *base, "--zero", stage) for stage in (1, 2))
    bad = failure(first, second)
    same = not bad and curve(a) == curve(b) and len(a) == STEPS
    checks.add("one-zero2", same, bad or f"one rank with ZeRO-2 beside it with ZeRO-1: losses and norms {'the same to the last bit' if same else 'differ'}")


def without_ranks_own(arguments):
    """A run of one process has no --zero, --wire and --gather."""
    own = {at + more for at, word in enumerate(arguments) if word in ("--zero", "--wire", "--gather") for more in (0, 1)}
    return tuple(word for at, word in enumerate(arguments) if at not in own)


def check_losses(checks, trainer):
    small = ["-T", "1024", "--steps", STEPS, "--warmup", "3"]
    alone_by = {}
    for name, precision, arguments in (
            ("losses-fp32", "fp32", ["--model", "124M", "-B", "4", "--precision", "fp32"]),
            ("losses-bf16", "bf16", ["--model", "124M", "-B", "8"]),
            ("losses-zero1", "fp32", ["--model", "124M", "-B", "4", "--precision", "fp32", "--zero", "1"]),
            ("losses-zero2", "fp32", ["--model", "124M", "-B", "4", "--precision", "fp32", "--zero", "2"]),
            ("losses-zero2-accum", "tf32", ["--model", "124M", "-B", "2", "--grad-accum", "3", "--precision", "tf32", "--zero", "2"]),
            ("losses-zero2-wire", "wire", ["--model", "124M", "-B", "4", "--precision", "fp32", "--zero", "2", "--wire", "bf16"]),
            ("losses-wire", "wire", ["--model", "124M", "-B", "4", "--precision", "fp32", "--wire", "bf16"]),
            ("losses-fp8", "fp8", ["--model", "124M", "-B", "8", "--precision", "fp8"]),
            ("losses-fp8-zero1", "fp8", ["--model", "124M", "-B", "8", "--precision", "fp8", "--zero", "1"]),
            ("losses-accum", "tf32", ["--model", "124M", "-B", "2", "--grad-accum", "3", "--precision", "tf32"])):
        plain = without_ranks_own(arguments)
        if plain not in alone_by:
            alone_by[plain] = trainer.run(0, *plain, *small)
        (alone, a), (two, b) = alone_by[plain], trainer.run(2, *arguments, *small)
        bad = failure(alone, two) or (f"{len(a)} and {len(b)} steps" if len(a) != STEPS or len(b) != STEPS else None)
        if bad:
            checks.add(name, False, bad)
            continue
        loss, norm = loss_deviation(precision, curve(b), curve(a)), norm_deviation(precision, curve(b), curve(a))
        max_loss, max_norm = TOLERANCE[precision]
        checks.add(name, loss <= max_loss and norm <= max_norm,
                   f"2 ranks beside 1 at the same global batch, {STEPS} steps: loss {a[0]['loss']:.4f} -> {a[-1]['loss']:.4f}, largest difference "
                   f"{loss:.1e} (at most {max_loss:.0e}), of the norm {norm:.1e} (at most {max_norm:.0e}{'' if precision == 'fp32' else ', median and first steps'})"
                   + ("" if precision == "fp32" else f", losses of steps without {BEND} times the median norm"))


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
    check_zero_bits(checks, trainer)
    check_fp8_bits(checks, trainer)


def check_fp8_bits(checks, trainer):
    """Weights that ranks cast in parts are those that each casts by itself: without clipping, whose norm is summed in another order, no loss differs."""
    base = ["--model", "124M", "-B", "4", "-T", "256", "--steps", STEPS, "--warmup", "3", "--deterministic", "--precision", "fp8", "--clip", "0"]
    for ranks in (1, 2):
        first, expected = trainer.run(ranks, *base)
        differ, bad = [], failure(first)
        for stage, place in (("1", "update"), ("1", "forward"), ("2", "forward")):
            result, rows = trainer.run(ranks, *base, "--zero", stage, "--gather", place)
            bad = bad or failure(result)
            if [row["loss"] for row in rows] != [row["loss"] for row in expected]:
                differ.append(f"--zero {stage} --gather {place}")
        checks.add(f"bits-fp8-{ranks}", not bad and not differ and len(expected) == STEPS, bad or f"{ranks} rank{'s' * (ranks > 1)}, deterministic, FP8: " + (
            f"losses differ from ZeRO-0 with {', '.join(differ)}" if differ else "ZeRO-1 and ZeRO-2 have the losses of ZeRO-0 to the last bit"))


def check_zero_bits(checks, trainer):
    """What ZeRO-2 adds up is what ZeRO-1 does, bucket for bucket, where each step has one micro-batch."""
    base = ["--model", "tiny", "-B", "8", "-T", "128", "--steps", 30, "--warmup", "3", "--deterministic"]
    first, expected = trainer.run(2, *base, "--zero", "1")
    if bad := failure(first):
        return checks.add("bits-zero2", False, bad)
    differ = []
    for name, more in (("--zero 2", []), ("--no-overlap", ["--no-overlap"]), ("--no-cuda-graph", ["--no-cuda-graph"]), ("--bucket-mib 1", ["--bucket-mib", "1"])):
        result, rows = trainer.run(2, *base, "--zero", "2", *more)
        if bad := failure(result):
            differ.append(f"{name}: {bad}")
        elif curve(rows) != curve(expected):
            differ.append(name)
    checks.add("bits-zero2", not differ and len(expected) == 30, f"2 ranks, deterministic: ZeRO-2 " + (
        f"differs from ZeRO-1 with {', '.join(differ)}" if differ else "has the bits of ZeRO-1, also without overlap, without a graph and with other buckets"))


# Arguments of pairs that differ in --gather alone, and whether they leave files that are compared too.
GATHERS = (
    ("gathers-graph", ["--zero", "1", "--cuda-graph"], True),
    ("gathers-launches", ["--zero", "1", "--no-cuda-graph"], False),
    ("gathers-no-overlap", ["--zero", "1", "--no-overlap"], False),
    ("gathers-buckets", ["--zero", "1", "--bucket-mib", "100"], False),
    ("gathers-accum", ["--zero", "1", "--grad-accum", "3"], False),
    ("gathers-zero2", ["--zero", "2", "--grad-accum", "2"], True),
    ("gathers-fp32", ["--zero", "1", "--precision", "fp32"], True),
    ("gathers-fp8", ["--zero", "1", "--precision", "fp8"], True),
    ("gathers-fp8-layers", ["--zero", "2", "--precision", "fp8", "--fp8-classifier", "none", "--no-overlap", "--bucket-mib", "100"], False),
)
# What reads parameters between steps, in all ranks or in rank 0 alone.
BETWEEN = ["--val-every", "3", "--val-batches", "2", "--sample-every", "4", "--sample-tokens", "5"]


def check_gathers(checks, trainer):
    """124M, whose layers are in several buckets."""
    half = STEPS // 2
    base = ["--model", "124M", "-B", "4", "-T", "256", "--steps", STEPS, "--warmup", "3", "--deterministic", *BETWEEN]
    for name, more, leaves in GATHERS:
        seen = {}
        for place in ("update", "forward"):
            path = os.path.join(trainer.folder, f"{name}-{place}")
            files = ["--checkpoint-dir", path, "--checkpoint-every", half, "--keep", "2", "--save", f"{path}.bin"] if leaves else []
            result, rows = trainer.run(2, *base, *more, "--gather", place, *files)
            seen[place] = (result, curve(rows), logged(trainer.log(), "val_loss"), logged(trainer.log(), "sample"))
        checks.add(name, *gathers_verdict(seen, differing_files(trainer.folder, name, half) if leaves else None))
        remove(trainer.folder, name)
    resumed = [*base, "--zero", "1", "--cuda-graph"]
    check_gathers_resume(checks, trainer, "gathers-resume", [*resumed, "--stochastic-rounding"], half)
    check_gathers_resume(checks, trainer, "gathers-resume-fp8", [*resumed, "--precision", "fp8"], half)


def differing_files(folder, name, half):
    """What a pair has left in `folder` that is not the same in both, and what one of them lacks."""
    files = [f"{name}-{{}}.bin", *(os.path.join(f"{name}-{{}}", f"step_{step:08}", file) for step in (half, STEPS) for file in ("model.bin", "state.bin"))]
    differ = []
    for file in files:
        pair = [os.path.join(folder, file.format(place)) for place in ("update", "forward")]
        if not all(map(os.path.exists, pair)) or not filecmp.cmp(*pair, shallow=False):
            differ.append(file.format("forward"))
    return differ


def remove(folder, name):
    for place in ("update", "forward"):
        shutil.rmtree(os.path.join(folder, f"{name}-{place}"), ignore_errors=True)
        if os.path.exists(model := os.path.join(folder, f"{name}-{place}.bin")):
            os.remove(model)


def gathers_verdict(seen, files):
    """`seen`: of each place the run, losses with norms, validations and samples; `files`: those that differ, None: they leave none."""
    (first, *expected), (second, *got) = seen["update"], seen["forward"]
    if bad := failure(first, second):
        return False, bad
    differ = [what for what, a, b in zip(("losses", "validations", "samples"), expected, got) if a != b] + (files or [])
    empty = [what for what, a in zip(("losses", "validations", "samples"), expected) if not a]
    if differ or empty or len(expected[0]) != STEPS:
        return False, "; ".join([f"differs: {', '.join(differ)}"] * bool(differ) + [f"none: {', '.join(empty)}"] * bool(empty)) or f"{len(expected[0])} steps"
    return True, (f"2 ranks, gathers beside the forward pass and beside the update: the same bits in {STEPS} losses, {len(expected[1])} validations, "
                  f"{len(expected[2])} samples{'' if files is None else ', two checkpoints and the model that is saved'}")


def check_gathers_resume(checks, trainer, name, base, half):
    """A run that is resumed from its middle, where parameters are no function of the master weights: rounded at random, or scaled by what steps before had."""
    kept, other = (os.path.join(trainer.folder, f"{name}-{part}") for part in ("forward", "update"))
    whole, a = trainer.run(2, *base, "--gather", "forward", "--checkpoint-dir", kept, "--checkpoint-every", half, "--keep", "2")
    resumed, b = trainer.run(2, *base, "--gather", "forward", "--checkpoint-dir", other, "--resume", os.path.join(kept, f"step_{half:08}"))
    bad = failure(whole, resumed)
    same = not bad and len(b) == STEPS - half and curve(a)[half:] == curve(b) and all(
        filecmp.cmp(*(os.path.join(folder, f"step_{STEPS:08}", file) for folder in (kept, other)), shallow=False) for file in ("model.bin", "state.bin"))
    checks.add(name, same, bad or f"gathers beside the forward pass: {half} steps, then resumed: losses, norms and the last checkpoint "
               f"{'are those of the run that went on, to the last bit' if same else 'differ'}")
    remove(trainer.folder, name)


def check_memory(checks, trainer):
    """What a rank's device holds by ZeRO's stage, beside what was announced: differences of the two must agree, since libraries hold memory too."""
    for model, batch in (("124M", 8), ("774M", 4)):
        held, planned, bad = {}, {}, None
        for stage in (0, 1, 2):
            result, _ = trainer.run(2, "--model", model, "-B", batch, "-T", "1024", "--steps", 4, "--json", "--zero", stage, "--matmul-search", "off")
            summary = result.last_json()
            if result.status != 0 or not summary:
                bad = bad or f"--zero {stage}: exit {result.status}: {result.tail()}"
                continue
            held[stage], planned[stage] = summary["memory_held_bytes"], summary["memory_planned_bytes"]
        checks.add(f"memory-{model.lower()}", *memory_verdict(held, planned, bad))


def memory_verdict(held, planned, bad):
    if bad:
        return False, bad
    wrong = []
    for stage in (1, 2):
        saved, announced = held[stage - 1] - held[stage], planned[stage - 1] - planned[stage]
        if announced <= 0 or abs(saved - announced) > MOST_OFF_MEMORY * announced + MEMORY_GRAIN_BYTES:
            wrong.append(f"ZeRO-{stage} saves {saved / 1e6:.0f} MB beside ZeRO-{stage - 1}, announced {announced / 1e6:.0f}")
    return not wrong, ("; ".join(wrong) + "; " if wrong else "") + "held (announced) by a rank: " + ", ".join(
        f"ZeRO-{stage} {held[stage] / 1e6:.0f} ({planned[stage] / 1e6:.0f}) MB" for stage in (0, 1, 2))


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
    rows = [] if bad else logged(log, "loss")
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


def traced_ranks(root, program):
    """Processes below `root` that are ranks (the program, and no process of it has started others) and have the tool's library in them. A rank that is
    forked may be left out by a tool that sees programs start: so it is looked at."""
    found = set()
    for pid in children(root):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
            with open(f"/proc/{pid}/maps") as file:
                maps = file.read()
        except OSError:
            continue
        own = program in words and not any(os.path.basename(word) == "compute-sanitizer" for word in words)
        if own and "libsanitizer-" in maps and not children(pid):
            found.add(pid)
    return found


def sanitizer_commands(trainer, tool, form, log):
    """`forked`: the ranks are children of the program under the tool; `launched`: each is a program of its own under a tool of its own. NCCL asks the driver for
    entries that it may lack, so errors of calls are left to the program itself, which checks its own."""
    under = [tool, "--tool", "memcheck", "--target-processes", "all", "--require-cuda-init", "no", "--report-api-errors", "no", "--error-exitcode", "9"]
    steps = ["--model", "tiny", "-B", "4", "-T", "64", "--steps", SANITIZER_STEPS, "--matmul-search", "off", "--rank-timeout", SANITIZER_S]
    if form == "forked":
        return [([*under, *trainer.command(2, *steps, "--log", log)], {})]
    return [([*under, *trainer.command(0, *steps, *(["--log", log] if rank == 0 else []), *trainer.nccl)],
             {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29618"}) for rank in range(2)]


def sanitized(trainer, tool, form, seconds):
    """Two ranks under the tool: which had it in them, how they ended, what the tool says."""
    log = os.path.join(trainer.folder, f"sanitizer-{form}.jsonl")
    begin, traced = time.monotonic(), set()
    started = [Started([str(word) for word in command], env=env, log=os.path.join(trainer.folder, f"sanitizer-{form}-{i}.txt"))
               for i, (command, env) in enumerate(sanitizer_commands(trainer, tool, form, log))]
    while time.monotonic() - begin < seconds and any(one.process.poll() is None for one in started):
        for one in started:
            traced |= traced_ranks(one.process.pid, trainer.program)
        time.sleep(0.05)
    results = [one.finish(0.1) for one in started]
    rows = logged(log, "loss")
    return {"form": form, "traced": len(traced), "status": [result.status for result in results], "text": "\n".join(result.out for result in results),
            "tail": " / ".join(result.tail() for result in results), "losses": [row["loss"] for row in rows], "seconds": time.monotonic() - begin}


def sanitizer_problems(ran):
    """What is wrong with such a run; nothing where both ranks ran their steps under the tool, and it found nothing."""
    wrong = []
    if any(ran["status"]):
        wrong.append(f"exit {', '.join(map(str, ran['status']))}: {ran['tail']}")
    if ran["traced"] != 2:
        wrong.append(f"the tool was in {ran['traced']} of 2 ranks")
    summaries = [int(count) for count in re.findall(r"ERROR SUMMARY: (\d+) error", ran["text"])]
    if not summaries:
        wrong.append("the tool gives no summary")
    elif any(summaries):
        where = re.findall(r"^=+\s+at (?:void )?([\w:]+)", ran["text"], re.MULTILINE)
        wrong.append(f"{sum(summaries)} errors" + (f", in {', '.join(sorted(set(where)))}" if where else ""))
    if len(ran["losses"]) != SANITIZER_STEPS or not all(math.isfinite(loss) for loss in ran["losses"]):
        wrong.append(f"{len(ran['losses'])} of {SANITIZER_STEPS} steps with a loss")
    return wrong


def check_sanitizer(checks, trainer):
    tool = shutil.which("compute-sanitizer")
    if not tool:
        return checks.add("sanitizer", False, "compute-sanitizer is not on the PATH: it comes with the CUDA toolkit")
    begin, ways = time.monotonic(), []
    for form in ("forked", "launched"):
        ran = sanitized(trainer, tool, form, SANITIZER_S - (time.monotonic() - begin))
        wrong = sanitizer_problems(ran)
        ways.append(f"{form}: {'; '.join(wrong) or 'memcheck in both ranks, 0 errors'}, {len(ran['losses'])} steps, {ran['seconds']:.0f} s")
        # What was found counts; where the tool was not in both ranks the other way may have it there.
        if ran["traced"] == 2 or time.monotonic() - begin > SANITIZER_S - 5:
            break
    checks.add("sanitizer", not wrong, ". ".join(ways))


def speed_wanted(parser, texts):
    """Models and batches of a rank that --speed names; all of SPEED without it."""
    if not texts:
        return SPEED
    wanted = {}
    for text in texts:
        model, _, batches = text.partition(":")
        if model not in PARAMETERS or not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", batches):
            parser.error(f"--speed {text}: MODEL:B,... with a model of {', '.join(PARAMETERS)}, as in 774M:4,8")
        wanted[model] = tuple(int(batch) for batch in batches.split(","))
    return wanted


def expected_one_after_the_other(model, one_ms):
    """Of twice one rank's tokens/s, when the all-reduce of all gradients in FP32 stands behind the backward pass."""
    return one_ms / (one_ms + 1e3 * 4 * PARAMETERS[model] / LINK_BYTES_PER_S)


def measure_speed(trainer, model, batch, steps):
    """A row of the table, and what went wrong."""
    row, bad = {"model": model, "batch_per_rank": batch}, None
    for name, ranks, more in VARIANTS:
        result, _ = trainer.run(ranks, "--model", model, "-B", batch * max(ranks, 1), "-T", "1024", "--steps", steps, "--json", *more)
        summary = result.last_json()
        if result.status != 0 or not summary:
            bad = bad or f"{name}: exit {result.status}: {result.tail()}"
            continue
        row[name] = {key: summary[key] for key in ("median_ms", "p10_ms", "p90_ms", "tokens_per_s", "host_late_steps", "final_loss")}
    if "one" in row:
        row["expected_no_overlap"] = expected_one_after_the_other(model, row["one"]["median_ms"])
        for name in HEADS:
            if name in row and name != "one":
                row[f"efficiency_{name}"] = row["one"]["median_ms"] / row[name]["median_ms"]
    return row, bad


def judge_speed(checks, row, bad):
    name = f"speed-{row['model'].lower()}-b{row['batch_per_rank']}"
    if bad:
        return checks.add(name, False, bad)
    on, off = row["efficiency_overlap"], row["efficiency_no_overlap"]
    update, forward = row["efficiency_zero1"], row["efficiency_forward"]
    checks.add(name, on >= LEAST_EFFICIENCY and on >= 0.98 * off and forward >= 0.98 * update,
               f"two ranks at {on:.3f} of twice one rank's tokens/s (at least {LEAST_EFFICIENCY}, and no less than without overlap; expected {EXPECTED_OVERLAPPED}), "
               f"{off:.3f} without overlap (expected {row['expected_no_overlap']:.3f}), {update:.3f} with ZeRO-1, {forward:.3f} with its gathers beside the forward pass (no less), {row['efficiency_zero2']:.3f} with ZeRO-2; one rank {row['one']['median_ms']:.2f} ms")


def print_speed(table):
    print(f"model  B a rank   {'   '.join(f'{head} ms' for head in HEADS.values())}   tokens/s of each   efficiency of each pair   expected: overlapped, not")
    for row in table:
        if not all(name in row for name in HEADS):
            continue
        print(f"{row['model']:<5}  {row['batch_per_rank']:>8}   " + "   ".join(f"{row[name]['median_ms']:>{len(head) + 3}.2f}" for name, head in HEADS.items()) + "   "
              + ", ".join(f"{row[name]['tokens_per_s']:.0f}" for name in HEADS) + "   "
              + ", ".join(f"{row[f'efficiency_{name}']:.3f}" for name in HEADS if name != "one") + f"   {EXPECTED_OVERLAPPED}, {row['expected_no_overlap']:.3f}")


def check_speed(checks, trainer, wanted, steps, table):
    """Adds to `table` as it goes, for a check that is cut off."""
    for model, batches in wanted.items():
        for batch in batches:
            row, bad = measure_speed(trainer, model, batch, steps or (20 if model not in ("124M", "355M") else 60 if batch < 32 else 40))
            table.append(row)
            judge_speed(checks, row, bad)


def main():
    cases = ["one", "refused", "losses", "bits", "gathers", "memory", "launched", "resume", "lost", "sanitizer", "speed"]
    parser = options_of(__doc__, "trainer", only=cases)
    parser.add_argument("--nccl-library")
    parser.add_argument("--speed", action="append", metavar="MODEL:B,...", help="what `speed` measures: a model at these batches of a rank; may be repeated")
    parser.add_argument("--speed-steps", type=int, metavar="N", help="steps of a run of `speed`")
    options = parser.parse_args()
    names, wanted, table = chosen(parser, options.only, cases), speed_wanted(parser, options.speed), []
    checks = Checks(options.json, lambda: print_speed(table) if table else None, {"speed": table})
    trainer, count = Trainer(options), gpus()
    shutil.rmtree(trainer.folder, ignore_errors=True)
    os.makedirs(trainer.folder)
    not_run, seconds = [], {}
    for name in names:
        if count < 2 and name not in ("one", "refused"):
            not_run.append(name)
            continue
        begin = time.monotonic()
        if name == "refused":
            check_refused(checks, trainer, count)
        elif name == "speed":
            check_speed(checks, trainer, wanted, options.speed_steps, table)
        else:
            {"one": check_one, "losses": check_losses, "bits": check_bits, "gathers": check_gathers, "memory": check_memory, "launched": check_launched, "resume": check_resume, "lost": check_lost,
             "sanitizer": check_sanitizer}[name](checks, trainer)
        seconds[name] = round(time.monotonic() - begin, 1)
    if not_run:
        print(f"not run, since they need two GPUs and this host shows {count}: {', '.join(not_run)}")
    print("seconds: " + ", ".join(f"{name} {taken}" for name, taken in seconds.items()))
    checks.finish(gpus=count, not_run=not_run, seconds=seconds,
                  versions={"nvls": os.environ.get("NCCL_NVLS_ENABLE", "0 (the trainer's default)")})


if __name__ == "__main__":
    main()
