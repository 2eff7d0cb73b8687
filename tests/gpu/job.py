#!/usr/bin/env python3
"""What `ridgeline ranks` says of several ranks in one capture: who is late and why, what is exposed, what collectives carry.

usage: job.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...] [--nccl-library FILE]

Cases: ways (gpt2_train with NCCL_ALGO=Ring NCCL_PROTO=Simple: its all-reduces say so, and its losses are to the last bit those of the same
recording with NCCL_PROFILER_PLUGIN=none, which knows neither), trainer (gpt2_train --ranks 2, with and without overlap: the bytes of its all-reduces are those of its gradients, overlap hides what the
run without it exposes, nobody is late; here and in the next of each collective algorithm and protocol are known,
and the ordinal of a call is that of the same call in the other rank), healthy (PyTorch's DistributedDataParallel: nobody is late; the bus bandwidth of a large all-reduce is
the program's own), host-gaps, more-work, copies (the same with a rank that is late by a known time: named, with its cause and that time; after
`healthy`, how the kernels of both ranks differ from those there), fsdp2 (PyTorch's FSDP2 by torchrun: gathers and scatters joined across the
ranks, their bytes and bus bandwidth, exposed and hidden), split (the same over a group that the program makes, whose communicator is split off that of all processes), curve (all-reduces from 64 KiB to 8 GiB with nothing beside them: the bus bandwidth of
each is the program's own), windows (gathers that the copy engines do, launched and in a graph: a collective with its bytes, its copies and a bandwidth, and right sums), merge (a capture of ranks merged by itself says the same; with another run's it is
refused), traffic (NVLink and PCIe bytes of healthy's program, sampled: what was
sent while a collective ran beside what it has a rank send), sweep (the trainer with buckets of 1 MiB; what `ranks --what-if` says of larger ones beside runs with them). All need two GPUs. About
190 seconds, and 70 more for sweep.
"""
import collections
import json
import os
import sqlite3
import statistics
import sys
import time

from common import Checks, chosen, options_of, run
from ranks import gpus

HERE = os.path.dirname(os.path.abspath(__file__))
PARAMETERS = 124_475_904  # of the model 124M as it is trained, vocabulary padded
LEAST_BUS_BYTES_PER_S = 300e9  # of a large all-reduce between two GPUs with all their NVLinks
CAUSES = {"host-gaps": "host_gaps", "more-work": "more_work", "copies": "copies"}
CASES = ["ways", "trainer", "healthy", *CAUSES, "fsdp2", "split", "curve", "traffic", "windows", "merge", "sweep"]
LATE_MS = 6.0
CURVE_MIB = (0.0625, 0.25, 1, 4, 16, 64, 256, 1024, 2048, 4096, 8192)
MOST_OFF_BUS = 0.1
CURVE_FROM_BYTES = 64 << 20  # of smaller ones the time between two events is also that of their launches
MOST_OFF_PLANTED = 0.1  # what is said of the planted cause alone
# Of the lateness in all, which is less than what was planted: while rank 0 waits, its kernels run beside a collective that spins, and so its
# own part is longer, by 0.9 of 14.6 ms on an H200; and a rank that pauses has the higher clock after it.
LATE_OVER_PLANTED = (0.7, 1.15)
SWEEP_MIB = (8, 25, 60, 128, 500)
MOST_OFF = 0.05  # of the measured step
MOST_OFF_BEST = 0.03
MOST_LINK_BYTES_PER_S = 450e9  # one way over all NVLinks of a GPU: no collective's bus bandwidth is beyond
SENT_OVER_DUE = (0.97, 1.15)  # bytes of data on NVLink for each that a collective has a rank send: above one by the flags of NCCL's protocol
TRAFFIC_MIN_BYTES = 20e6  # smaller ones are few samples long
MOST_OFF_PARTS = 0.05  # medians over steps of parts need not add up to the median of the whole
FSDP_STEPS = 70
MIN_STEPS = 5
SHOWN_KERNELS = 8
WINDOW_MIB = 16
OF_ALL = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")  # no rank leaves before the last is there: the root of a broadcast does
LEAST_NUMBERED = 8  # calls whose ordinal both ranks know
LEAST_COPIED_BYTES_PER_S = 250e9  # of a gather of WINDOW_MIB by the copy engines
MOST_BETWEEN_CARDS = 0.05  # of a step: so much two cards with equal work may differ by, which is then said, and no fault


def recorded(options, name, program, warm, steps, env=None, sampled=0):
    """Records and asks; the run, the capture and the answer, or why there is none. `sampled` steps (T1) come behind."""
    capture = os.path.join(options.out, f"job-{name}.ridge")
    how = ["--tiers", "T0,T1", "--schedule", f"warmup={warm},timeline={steps},sample={sampled}"] if sampled else [
        "--tiers", "T0", "--schedule", f"warmup={warm},timeline={steps}"]
    done = run([options.ridgeline, "record", "-q", "--force", "--nccl-profiler", *how, "-o", capture, "--", *program], env=env, timeout=90)
    if done.status != 0:
        return done, capture, f"exit {done.status}: {done.tail()}"
    asked = run([options.ridgeline, "ranks", capture, "--format", "json"], timeout=60)
    if asked.status != 0:
        return done, capture, f"ranks: exit {asked.status}: {asked.tail()}"
    with open(os.path.join(options.out, f"job-{name}.json"), "w") as file:
        file.write(asked.out)
    text = run([options.ridgeline, "ranks", capture, "--by", "collective"], timeout=60)
    print(f"--- {name}\n{text.out}", flush=True)
    return done, capture, json.loads(asked.out)


def part_ns(answer, part):
    return next(row["time_ns"] for row in answer["account"] if row["part"] == part)


def communication_ns(answer, key):
    """Of a step: sums over its collectives."""
    return sum(row[key] or 0 for row in answer["collectives"])


def invented(answer):
    """What is said of ranks with equal work that cards' differences do not account for."""
    job = answer["job"]
    if job["recurrence"] == "nobody":
        return None
    late = max((row["late_ns"] or 0 for row in answer["ranks"]), default=0)
    return answer["said"][1] if late > MOST_BETWEEN_CARDS * part_ns(answer, "duration") else None


def account_adds_up(answer):
    parts = sum(row["time_ns"] for row in answer["account"] if row["part"] != "duration")
    return abs(parts - part_ns(answer, "duration")) <= 2


def collective_problems(answer, functions, ranks=2):
    """What is wrong with the collectives of a job whose steps have these functions: joined across ranks, with bytes and bandwidth, and their time either
    hidden or exposed."""
    wrong, job = [], answer["job"]
    if job["ranks"] != ranks or job["world_size"] != ranks or job["missing"]:
        wrong.append(f"{job['ranks']} ranks of {job['world_size']}, {len(job['missing'])} missing")
    if len(job["steps"]) < MIN_STEPS:
        wrong.append(f"{len(job['steps'])} steps that all ranks have, at least {MIN_STEPS}")
    rows = answer["collectives"]
    for function in functions:
        of = [row for row in rows if row["function"] == function]
        if not of:
            wrong.append(f"no {function}")
        elif without := sum(not row["bytes"] or not row["bus_bytes_per_s"] for row in of):
            wrong.append(f"{without} of {len(of)} {function} have no bus bandwidth")
    wrong += unknown_ways(answer, functions)
    step_ns = max((rank["duration_ns"] for rank in answer["rows"]), default=0)
    if any((row["skew_ns"] or 0) > step_ns for row in rows):
        wrong.append("ranks enter a collective more than a step apart: steps of other numbers are joined")
    if any((row["bus_bytes_per_s"] or 0) > MOST_LINK_BYTES_PER_S for row in rows):
        wrong.append(f"a bus bandwidth beyond the links' {MOST_LINK_BYTES_PER_S / 1e9:.0f} GB/s")
    if apart := sum(row["ranks"] != ranks for row in rows):
        wrong.append(f"{apart} of {len(rows)} collectives are not joined across ranks")
    if answer["mismatches"]:
        first = answer["mismatches"][0]
        wrong.append(f"{len(answer['mismatches'])} mismatches, first: rank {first['rank']}, step {first['step_index']}, {first['kind']}")
    for whole, parts in (("duration_ns", ("exposed_ns", "hidden_ns")), ("exposed_ns", ("exposed_wait_ns", "exposed_transfer_ns"))):
        total, added = communication_ns(answer, whole), sum(communication_ns(answer, part) for part in parts)
        if abs(added - total) > MOST_OFF_PARTS * communication_ns(answer, "duration_ns"):
            wrong.append(f"{' + '.join(parts)} are {added / 1e6:.3f} ms a step, {whole} {total / 1e6:.3f}")
    if not account_adds_up(answer):
        wrong.append("the account does not add up")
    return wrong


def unknown_ways(answer, functions):
    """Of which collectives NCCL's profiler plugin did not say how they are done."""
    of = [row for row in answer["collectives"] if row["function"] in functions]
    return [f"{without} of {len(of)} have no {what}" for key, what in (("algorithm", "algorithm"), ("protocol", "protocol"), ("element_type", "type"))
            if (without := sum(row[key] is None for row in of))]


def numbered_calls(capture):
    """(rank, communicator, ordinal, function, bytes, start, end) of each kernel that is a collective and has an ordinal."""
    with sqlite3.connect(f"file:{capture}?mode=ro", uri=True) as db:
        return db.execute("SELECT rank, communicator, ordinal_in_communicator, function, bytes, start_ns, end_ns FROM v_collective "
                          "WHERE ordinal_in_communicator IS NOT NULL AND rank IS NOT NULL").fetchall()


def ordinal_problems(calls, ranks=2):
    """Of two ranks of one host: the same ordinal on the same communicator is the same call, and it is not over in one rank before another is in it."""
    by_call = collections.defaultdict(list)
    for rank, communicator, ordinal, *call in calls:
        by_call[communicator, ordinal].append((rank, *call))
    wrong = [f"{len(twice)} ordinals are there twice in a rank"] if (twice := [
        key for key, of in by_call.items() if len({rank for rank, *_ in of}) < len(of)]) else []
    shared = [of for of in by_call.values() if len({rank for rank, *_ in of}) == ranks]
    if len(shared) < LEAST_NUMBERED:
        wrong.append(f"{len(shared)} calls have an ordinal in both ranks, at least {LEAST_NUMBERED}")
    if other := sum(len({(function, size) for _, function, size, *_ in of}) > 1 for of in shared):
        wrong.append(f"{other} of {len(shared)} ordinals are of different calls")
    of_all = [of for of in shared if of[0][1] in OF_ALL]
    if apart := sum(max(start for *_, start, _ in of) > min(end for *_, end in of) for of in of_all):
        wrong.append(f"{apart} of {len(of_all)} calls are over in one rank before the other is in them")
    return wrong


def ways_problems(forced, without, forced_losses, without_losses):
    """`forced`, `without`: answers with NCCL's algorithm given, and without the plugin; the losses of both runs."""
    of = [row for row in forced["collectives"] if row["function"] == "all_reduce"]
    wrong = unknown_ways(forced, ("all_reduce",)) if of else ["no all_reduce"]
    wrong += [f"{len(others)} of {len(of)} {key} are {', '.join(sorted(others))}" for key, given in (("algorithm", "ring"), ("protocol", "simple"))
              if (others := [row[key] for row in of if row[key] not in (given, None)])]
    if any(row["algorithm"] or row["protocol"] for row in without["collectives"]):
        wrong.append("an algorithm or protocol without the plugin")
    if not forced_losses or forced_losses != without_losses:
        wrong.append("losses differ with the plugin" if forced_losses else "no losses")
    return wrong


def check_ways(checks, options):
    nccl = ["--nccl-library", options.nccl_library] if options.nccl_library else []
    answers, losses = [], []
    for name, plugin in (("ways", {}), ("ways-without", {"NCCL_PROFILER_PLUGIN": "none"})):
        log = os.path.join(options.out, f"job-{name}.jsonl")
        program = [options.trainer, "--model", "124M", "-B", "4", "-T", "256", "--steps", "40", "--ranks", "2", "--deterministic", "--matmul-cache", "none",
                   "--log", log, *nccl]
        _, _, answer = recorded(options, name, program, 10, 20, env={"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", **plugin})
        if isinstance(answer, str):
            return checks.add("ways", False, f"{name}: {answer}")
        answers.append(answer)
        with open(log) as file:
            losses.append([(row["step"], row["loss"], row["norm"]) for row in map(json.loads, file) if "loss" in row])
    wrong = ways_problems(*answers, *losses)
    seen = sorted({(row["function"], row["algorithm"], row["protocol"], row["element_type"], row["blocks"]) for row in answers[0]["collectives"]}, key=str)
    checks.add("ways", not wrong, ("; ".join(wrong) + "; " if wrong else "") + f"{len(losses[0])} losses; " + ", ".join(
        f"{function} by {algorithm}/{protocol}, {kind}, {blocks} blocks" for function, algorithm, protocol, kind, blocks in seen))


def check_trainer(checks, options):
    nccl = ["--nccl-library", options.nccl_library] if options.nccl_library else []
    answers, wrong = {}, []
    for name, more in (("trainer", []), ("trainer-no-overlap", ["--no-overlap"])):
        program = [options.trainer, "--model", "124M", "-B", "16", "-T", "1024", "--steps", "40", "--ranks", "2", "--matmul-search", "off",
                   "--matmul-cache", "none", *nccl, *more]
        done, capture, answer = recorded(options, name, program, 10, 20)
        if isinstance(answer, str):
            return checks.add("trainer", False, f"{name}: {answer}")
        answers[name] = answer
        wrong += [f"{name}: {problem}" for problem in ordinal_problems(numbered_calls(capture))]
    for name, answer in answers.items():
        reduced = sum(row["bytes"] or 0 for row in answer["collectives"] if row["function"] == "all_reduce")
        if abs(reduced / (4 * PARAMETERS) - 1) > 0.03:
            wrong.append(f"{name}: all-reduces of {reduced / 1e6:.1f} MB a step, gradients of {4 * PARAMETERS / 1e6:.1f}")
        if answer["job"]["ranks"] != 2 or answer["job"]["world_size"] != 2:
            wrong.append(f"{name}: {answer['job']['ranks']} ranks of {answer['job']['world_size']}")
        wrong += [f"{name}: {problem}" for problem in unknown_ways(answer, ("all_reduce",))]
        if said := invented(answer):
            wrong.append(f"{name}: {said}")
        if not account_adds_up(answer):
            wrong.append(f"{name}: the account does not add up")
    exposed = {name: part_ns(answer, "exposed_wait") + part_ns(answer, "exposed_transfer") for name, answer in answers.items()}
    hidden = {name: communication_ns(answer, "hidden_ns") for name, answer in answers.items()}
    if not exposed["trainer"] < 0.5 * exposed["trainer-no-overlap"]:
        wrong.append("overlap does not halve what is exposed")
    if not hidden["trainer"] > 0.5 * communication_ns(answers["trainer"], "duration_ns"):
        wrong.append("less than half is hidden")
    checks.add("trainer", not wrong, ("; ".join(wrong) + "; " if wrong else "") + ", ".join(
        f"{name}: step {part_ns(answer, 'duration') / 1e6:.2f} ms, exposed {exposed[name] / 1e6:.3f} ms, hidden {hidden[name] / 1e6:.3f} ms"
        for name, answer in answers.items()))


def median_step_ns(answer):
    """As the prediction is: one step of forty that takes five times as long (the host was busy) makes a mean a tenth longer."""
    return statistics.median(row["duration_ns"] for row in answer["steps"])


def sweep_program(options, bucket_mib):
    nccl = ["--nccl-library", options.nccl_library] if options.nccl_library else []
    return [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--steps", "60", "--ranks", "2", "--matmul-search", "off", "--matmul-cache",
            "none", "--bucket-mib", str(bucket_mib), *nccl]


def check_sweep(checks, options):
    """What is predicted of larger buckets from a run with small ones, beside runs with those."""
    _, capture, small = recorded(options, "sweep-1", sweep_program(options, 1), 10, 40)
    if isinstance(small, str):
        return checks.add("sweep", False, small)
    changes = [word for mib in SWEEP_MIB for word in ("--what-if", f"bucket={mib}MiB")]
    asked = run([options.ridgeline, "ranks", capture, *changes, "--what-if", "overlap", "--what-if", "links=2", "--format", "json"], timeout=60)
    if asked.status != 0:
        return checks.add("sweep", False, f"ranks --what-if: exit {asked.status}: {asked.tail()}")
    answer = json.loads(asked.out)
    with open(os.path.join(options.out, "job-sweep.json"), "w") as file:
        file.write(asked.out)
    print("--- sweep\n" + run([options.ridgeline, "ranks", capture, *changes, "--what-if", "overlap", "--what-if", "links=2"], timeout=60).out, flush=True)
    wrong, lines, measured, predicted = [], [], {}, {}
    for mib, row in zip(SWEEP_MIB, answer["rows"]):
        _, _, run_anew = recorded(options, f"sweep-{mib}", sweep_program(options, mib), 10, 40)
        if isinstance(run_anew, str):
            wrong.append(f"{mib} MiB: {run_anew}")
            continue
        measured[mib] = median_step_ns(run_anew)
        if row["step_ns"] is None:
            lines.append(f"{mib} MiB {measured[mib] / 1e6:.2f} ms, refused ({row['refusal']})")
            continue
        predicted[mib] = row["step_ns"]
        off = predicted[mib] / measured[mib] - 1
        lines.append(f"{mib} MiB {measured[mib] / 1e6:.2f} ms, predicted {predicted[mib] / 1e6:.2f} ({100 * off:+.1f} %)")
        if abs(off) > MOST_OFF:
            wrong.append(f"{mib} MiB is {100 * off:+.1f} % off")
    if not predicted:
        wrong.append("nothing was predicted")
    elif measured[min(predicted, key=predicted.get)] > (1 + MOST_OFF_BEST) * min(measured[mib] for mib in predicted):
        wrong.append("the size that was predicted to be the best is not")
    replay = answer["replay"]
    checks.add("sweep", not wrong, ("; ".join(wrong) + "; " if wrong else "") + f"1 MiB {median_step_ns(small) / 1e6:.2f} ms, simulated "
               f"{100 * replay['replay_error_ratio']:.2f} % off, {replay['calls_without_ready']} of {replay['calls']} calls without readiness; " +
               ", ".join(lines))


def said_by(done):
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]


def program_answer(options, cause):
    program = [sys.executable, os.path.join(HERE, "rank_program.py"), "--cause", cause, "--late-ms", str(LATE_MS), "--late-rank", "1"]
    done, capture, answer = recorded(options, cause if cause != "none" else "healthy", program, 8, 24)
    return capture, said_by(done), answer


def check_healthy(checks, options):
    """The capture and its answer, None where there is none."""
    capture, said, answer = program_answer(options, "none")
    if isinstance(answer, str):
        checks.add("healthy", False, answer)
        return None, None
    wrong = collective_problems(answer, ("all_reduce",)) + ordinal_problems(numbered_calls(capture))
    if said_late := invented(answer):
        wrong.append(said_late)
    own = said[0]["large_bus_bytes_per_s"] if said else 0
    large = [row for row in answer["collectives"] if row["bytes"] == said[0]["large_bytes"]] if said else []
    bus = large[0]["bus_bytes_per_s"] if large else None
    if not bus:
        wrong.append("the large all-reduce has no bus bandwidth")
    elif not (bus >= LEAST_BUS_BYTES_PER_S and abs(bus / own - 1) <= MOST_OFF_BUS):
        wrong.append("its bus bandwidth is another")
    if large and part_ns(answer, "exposed_transfer") < 0.8 * large[0]["transfer_ns"]:
        wrong.append("the large all-reduce is not among what is exposed")
    checks.add("healthy", not wrong, ("; ".join(wrong) + "; " if wrong else "") +
               f"large all-reduce {(bus or 0) / 1e9:.1f} GB/s on the bus (at least {LEAST_BUS_BYTES_PER_S / 1e9:.0f}), by the program's events "
               f"{own / 1e9:.1f}; a step of {part_ns(answer, 'duration') / 1e6:.2f} ms has {part_ns(answer, 'exposed_transfer') / 1e6:.3f} ms of exposed "
               f"transfer and {part_ns(answer, 'exposed_wait') / 1e6:.3f} ms of exposed wait; {answer['said'][1]} NCCL {said[0]['nccl'] if said else '?'}")
    return capture, answer


def curve_problems(own, rows):
    """`own`: bytes a second on the bus of each size, by the program's events; `rows`: of the answer, by size."""
    wrong = [f"{size / 1e6:.2f} MB: no bus bandwidth" for size in own if not rows.get(size, {}).get("bus_bytes_per_s")]
    return wrong + [f"{size / 1e6:.2f} MB: {row['bus_bytes_per_s'] / 1e9:.1f} GB/s, by the program's events {own[size] / 1e9:.1f}"
                    for size, row in rows.items() if row["bus_bytes_per_s"] and size >= CURVE_FROM_BYTES and
                    abs(row["bus_bytes_per_s"] / own[size] - 1) > MOST_OFF_BUS]


def check_curve(checks, options):
    program = [sys.executable, os.path.join(HERE, "rank_program.py"), "--steps", "20", "--large-mib", ",".join(map(str, CURVE_MIB))]
    done, _, answer = recorded(options, "curve", program, 8, 16)
    if isinstance(answer, str):
        return checks.add("curve", False, answer)
    said = said_by(done)
    own = {int(size): bus for size, bus in said[0]["bus_bytes_per_s"].items()} if said else {}
    rows = {row["bytes"]: row for row in answer["collectives"] if row["bytes"] in own}
    wrong = curve_problems(own, rows)
    checks.keep(curve=[{"bytes": size, "capture": rows[size]["bus_bytes_per_s"], "events": own[size], "transfer_ns": rows[size]["transfer_ns"]}
                       for size in sorted(rows)])
    checks.add("curve", not wrong and bool(own), ("; ".join(wrong) + "; " if wrong else "") + "GB/s on the bus by the capture (by events): " + ", ".join(
        f"{size / 1048576:g} MiB {(rows[size]['bus_bytes_per_s'] or 0) / 1e9:.1f} ({own[size] / 1e9:.1f})" for size in sorted(rows)))


def kernel_ns(row, rank):
    """Of two ranks: one has the most, the other the least; a kernel of one rank alone is none of the other's."""
    if row["worst_rank"] == rank:
        return row["worst_ns"]
    return row["best_ns"] if row["ranks"] == 2 else 0.0


def beside_healthy(healthy, answer, planted_ms):
    """How both ranks' own parts and kernels differ from those of the run in which nobody is late. A late rank's lateness is the difference of own parts:
    what rank 0 computes longer, beside collectives that spin for rank 1, is missing from it."""
    ranks = []
    for rank in range(2):
        before, now = (next(row for row in of["ranks"] if row["rank"] == rank) for of in (healthy, answer))
        ranks.append({key: now[f"{key}_ns"] - before[f"{key}_ns"] for key in ("own", "compute", "copy", "idle")})
    kernels = {}
    for which, of in (("healthy", healthy), ("here", answer)):
        for row in of["kernels"]:
            kernels.setdefault(row["kernel"], {"healthy": [0.0, 0.0], "here": [0.0, 0.0]})[which] = [kernel_ns(row, rank) for rank in range(2)]
    rows = [{"kernel": name, "rank0_healthy_ns": both["healthy"][0], "rank0_ns": both["here"][0], "rank1_healthy_ns": both["healthy"][1],
             "rank1_ns": both["here"][1]} for name, both in kernels.items()]
    rows.sort(key=lambda row: -abs(row["rank0_ns"] - row["rank0_healthy_ns"]))
    late = next(row for row in answer["ranks"] if row["rank"] == 1)["late_ns"]
    missing = None if late is None else 1e6 * planted_ms - late
    return {"missing_ns": missing, "rank0_more_ns": ranks[0], "rank1_more_ns": ranks[1], "rank1_beyond_planted_ns": ranks[1]["own"] - 1e6 * planted_ms,
            "kernels": rows}


def print_beside_healthy(cause, beside):
    missing = beside["missing_ns"]
    print(f"--- {cause} beside healthy: " + ("no lateness was said" if missing is None else f"{missing / 1e6:+.2f} ms of what was planted are missing from the lateness"))
    for rank in range(2):
        more = beside[f"rank{rank}_more_ns"]
        print(f"rank {rank} more than in healthy, ms: own {more['own'] / 1e6:+.2f}, of that computing {more['compute'] / 1e6:+.2f}, copies {more['copy'] / 1e6:+.2f}, "
              f"idle {more['idle'] / 1e6:+.2f}" + (f"; beyond what was planted {beside['rank1_beyond_planted_ns'] / 1e6:+.2f}" if rank else ""))
    print("rank 0, ms a step: healthy, here, more   rank 1: healthy, here, more   kernel")
    for row in beside["kernels"][:SHOWN_KERNELS]:
        print("   ".join(f"{row[f'rank{rank}_healthy_ns'] / 1e6:7.3f} {row[f'rank{rank}_ns'] / 1e6:7.3f} "
                         f"{(row[f'rank{rank}_ns'] - row[f'rank{rank}_healthy_ns']) / 1e6:+7.3f}" for rank in range(2)) + f"   {row['kernel'][:80]}", flush=True)


def check_late(checks, options, cause, healthy):
    """`healthy`: the answer of the run in which nobody is late, None without it."""
    capture, said, answer = program_answer(options, cause)
    if isinstance(answer, str):
        return checks.add(cause, False, answer)
    planted = max((line["late_ms"] for line in said), default=0)
    rank = next(row for row in answer["ranks"] if row["rank"] == 1)
    of_cause = (rank[f"{CAUSES[cause]}_ns"] or 0) / 1e6
    right = (answer["job"]["recurrence"] == "same_rank" and answer["job"]["straggler"] == 1 and rank["cause"] == CAUSES[cause]
             and planted > 0 and rank["late_ns"] is not None and abs(of_cause / planted - 1) <= MOST_OFF_PLANTED
             and LATE_OVER_PLANTED[0] <= rank["late_ns"] / 1e6 / planted <= LATE_OVER_PLANTED[1])
    waited = part_ns(answer, "exposed_wait") / 1e6  # mean of a rank that waits and of one that does not
    checks.add(cause, right and account_adds_up(answer) and waited > 0.3 * planted,
               f"rank 1 planted {planted:.2f} ms late; said: {answer['said'][1]} Of its cause {of_cause:.2f} ms; exposed wait {waited:.2f} ms, mean of the ranks" +
               (f"; {words_beside_healthy(checks, cause, healthy, answer, planted)}" if healthy else ""))
    return capture


def words_beside_healthy(checks, cause, healthy, answer, planted_ms):
    """Of the row; the table is printed and kept."""
    beside = beside_healthy(healthy, answer, planted_ms)
    print_beside_healthy(cause, beside)
    checks.keep(beside_healthy={**checks.figures.get("beside_healthy", {}), cause: beside})
    return (f"beside healthy rank 0 computes {beside['rank0_more_ns']['compute'] / 1e6:+.2f} ms, its own part is {beside['rank0_more_ns']['own'] / 1e6:+.2f} ms, "
            f"rank 1's {beside['rank1_more_ns']['own'] / 1e6:+.2f} ms")


def fsdp_problems(answer):
    """Blocks are gathered in BF16 for the forward pass and again for the backward pass, what is around them once; gradients are scattered once, in FP32: so as many
    bytes are gathered as scattered, less what is gathered once."""
    wrong = collective_problems(answer, ("all_gather", "reduce_scatter"))
    gathered, scattered = ([row["bytes"] or 0 for row in answer["collectives"] if row["function"] == function] for function in ("all_gather", "reduce_scatter"))
    if not 0 < len(scattered) < len(gathered) <= 2 * len(scattered):
        wrong.append(f"{len(gathered)} gathers and {len(scattered)} scatters a step")
    if not 0.5 * sum(scattered) < sum(gathered) <= 1.001 * sum(scattered):
        wrong.append(f"{sum(gathered) / 1e6:.1f} MB gathered and {sum(scattered) / 1e6:.1f} MB scattered a step")
    return wrong


def split_problems(capture, ranks=2):
    """Each process has the communicator of all processes, on which the program begins, and one of as many ranks that is split off it."""
    with sqlite3.connect(f"file:{capture}?mode=ro", uri=True) as db:
        made = db.execute("SELECT sum(ranks IS ?) FROM communicator GROUP BY process_id", (ranks,)).fetchall()
    wrong = [count for count, in made if count < 2]
    return [f"{len(wrong)} of {len(made)} processes have less than two communicators of {ranks} ranks"] if wrong or len(made) != ranks else []


def check_fsdp2(checks, options, name="fsdp2"):
    """`split`: over a group that the program makes itself, whose communicator is split off that of all processes."""
    program = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", os.path.join(HERE, "kinds", "fsdp.py"), str(FSDP_STEPS),
               *(["group"] if name == "split" else [])]
    _, capture, answer = recorded(options, name, program, 10, 20, env={"NCCL_NVLS_ENABLE": "0"})
    if isinstance(answer, str):
        return checks.add(name, False, answer)
    wrong, texts = fsdp_problems(answer) + ordinal_problems(numbered_calls(capture)) + (split_problems(capture) if name == "split" else []), []
    for function in ("all_gather", "reduce_scatter"):
        of = [row for row in answer["collectives"] if row["function"] == function]
        if of:
            largest = max(of, key=lambda row: row["bytes"] or 0)
            texts.append(f"{len(of)} {function} a step, the largest {(largest['bytes'] or 0) / 1e6:.1f} MB at {(largest['bus_bytes_per_s'] or 0) / 1e9:.1f} GB/s on the bus")
    checks.add(name, not wrong, ("; ".join(wrong) + "; " if wrong else "") + "; ".join(texts) +
               f"; a step of {part_ns(answer, 'duration') / 1e6:.2f} ms has {communication_ns(answer, 'hidden_ns') / 1e6:.2f} ms of them hidden, exposed wait "
               f"{part_ns(answer, 'exposed_wait') / 1e6:.2f} ms and transfer {part_ns(answer, 'exposed_transfer') / 1e6:.2f} ms, {len(answer['job']['steps'])} steps")


def traffic_problems(answer, least=SENT_OVER_DUE[0], most=SENT_OVER_DUE[1]):
    """What is wrong with the bytes over links of a job whose collectives are large enough to be sampled."""
    wrong = []
    large = [row for row in answer["collectives"] if (row["bytes"] or 0) >= TRAFFIC_MIN_BYTES and row["link_calls"]]
    if not large:
        return ["no large collective was sampled alone"]
    for row in large:
        ratio = row["nvlink_ratio"]
        if ratio is None or not least <= ratio <= most:
            wrong.append(f"#{row['place']} of {row['bytes'] / 1e6:.1f} MB: {'no NVLink bytes' if ratio is None else f'{ratio:.2f} bytes sent for each that is due'}")
    for row in answer["ranks"]:
        if not row["nvlink_sent_bytes"] or not row["nvlink_received_bytes"]:
            wrong.append(f"rank {row['rank']} has no NVLink bytes in its sampled steps")
        if row["pcie_received_bytes"] is None or row["pcie_sent_bytes"] is None:
            wrong.append(f"rank {row['rank']} has no PCIe bytes")
    return wrong


def check_traffic(checks, options):
    program = [sys.executable, os.path.join(HERE, "rank_program.py"), "--steps", "44"]
    _, _, answer = recorded(options, "traffic", program, 8, 12, sampled=6)
    if isinstance(answer, str):
        return checks.add("traffic", False, answer)
    wrong = traffic_problems(answer)
    large = max((row for row in answer["collectives"] if row["link_calls"]), key=lambda row: row["bytes"] or 0, default=None)
    words = "" if large is None or large["nvlink_ratio"] is None else (
        f"while the all-reduce of {(large['bytes'] or 0) / 1e6:.1f} MB ran a device sent {large['nvlink_sent_bytes'] / 1e6:.1f} MB and received "
        f"{large['nvlink_received_bytes'] / 1e6:.1f} MB over NVLink, {large['nvlink_ratio']:.3f} for each byte that is due ({large['link_calls']} calls); ")
    checks.add("traffic", not wrong, ("; ".join(wrong) + "; " if wrong else "") + words + "a step, by rank: " + ", ".join(
        f"{row['rank']}: NVLink out {(row['nvlink_sent_bytes'] or 0) / 1e6:.1f} in {(row['nvlink_received_bytes'] or 0) / 1e6:.1f}, PCIe in "
        f"{(row['pcie_received_bytes'] or 0) / 1e6:.1f} out {(row['pcie_sent_bytes'] or 0) / 1e6:.1f} MB" for row in answer["ranks"]))


def window_problems(own, answer, mib=WINDOW_MIB):
    """Of a program that gathers by copies and says of itself whether its sums are right."""
    wrong = [] if own.get("right") else ["the program's sums or gathered parts are wrong"]
    gathers = [row for row in answer["collectives"] if row["function"] == "all_gather"]
    if len(gathers) != 1 or not any(row["function"] == "all_reduce" for row in answer["collectives"]):
        return wrong + [f"{len(gathers)} all_gather a step and functions {', '.join(sorted({row['function'] for row in answer['collectives']}))}"]
    (row,) = gathers
    if row["bytes"] != 2 * mib << 20:
        wrong.append(f"the gather has {row['bytes']} bytes, not {2 * mib << 20}")
    if not row["copies"]:
        wrong.append("the gather is no copy")
    if row["ranks"] != 2 or row["steps"] != len(answer["job"]["steps"]):
        wrong.append(f"the gather is joined in {row['steps']} of {len(answer['job']['steps'])} steps, of {row['ranks']} ranks")
    if not LEAST_COPIED_BYTES_PER_S <= (row["bus_bytes_per_s"] or 0) <= MOST_LINK_BYTES_PER_S:
        wrong.append(f"the gather is at {(row['bus_bytes_per_s'] or 0) / 1e9:.1f} GB/s on the bus")
    return wrong


def check_windows(checks, options):
    for name, more in (("windows", []), ("windows-graph", ["--graph"])):
        program = [sys.executable, os.path.join(HERE, "window_collectives.py"), "--kind", "copy-engine", "--steps", "25", "--mib", str(WINDOW_MIB), *more]
        done, _, answer = recorded(options, name, program, 5, 15, env={"NCCL_NVLS_ENABLE": "0"})
        if isinstance(answer, str):
            checks.add(name, False, answer)
            continue
        own = next((json.loads(line) for line in done.out.splitlines() if line.startswith('{"kind"')), {})
        wrong = window_problems(own, answer)
        row = next((row for row in answer["collectives"] if row["function"] == "all_gather"), {})
        checks.add(name, not wrong, ("; ".join(wrong) + "; " if wrong else "") +
                   f"all_gather of {(row.get('bytes') or 0) / 1e6:.1f} MB in {row.get('copies') or 0} copies at {(row.get('bus_bytes_per_s') or 0) / 1e9:.1f} GB/s on the bus, "
                   f"{row.get('steps', 0)} steps")


def check_merge(checks, options, captures):
    if len(captures) < 2:
        return checks.add("merge", False, "no two captures to merge")
    job = os.path.join(options.out, "job-merged.ridge")
    merged = run([options.ridgeline, "merge", "-f", captures[0], "-o", job])
    same = [run([options.ridgeline, "ranks", path]).out for path in (captures[0], job)]
    refused = run([options.ridgeline, "merge", "-f", captures[0], captures[1], "-o", job + ".no"])
    lines = [line for line in refused.err.splitlines() if line.strip()]
    checks.add("merge", merged.status == 0 and same[0] == same[1] and same[0] and refused.status == 2 and len(lines) == 1,
               f"merged: exit {merged.status}, the same answer: {same[0] == same[1]}; with another run: exit {refused.status}: {' / '.join(lines)}")


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", only=CASES)
    parser.add_argument("--nccl-library")
    options = parser.parse_args()
    names = chosen(parser, options.only, CASES)
    checks, count = Checks(options.json), gpus()
    seconds, captures, healthy = {}, [], None
    if count < 2:
        print(f"not run, since it needs two GPUs and this host shows {count}: {', '.join(names)}")
        sys.exit(1)
    for name in names:
        begin = time.monotonic()
        if name == "ways":
            check_ways(checks, options)
        elif name == "trainer":
            check_trainer(checks, options)
        elif name == "healthy":
            capture, healthy = check_healthy(checks, options)
            captures.append(capture)
        elif name == "sweep":
            check_sweep(checks, options)
        elif name in CAUSES:
            captures.append(check_late(checks, options, name, healthy))
        elif name in ("fsdp2", "split"):
            check_fsdp2(checks, options, name)
        elif name == "curve":
            check_curve(checks, options)
        elif name == "traffic":
            check_traffic(checks, options)
        elif name == "windows":
            check_windows(checks, options)
        else:
            check_merge(checks, options, [capture for capture in captures if capture])
        seconds[name] = round(time.monotonic() - begin, 1)
    print("seconds: " + ", ".join(f"{name} {taken}" for name, taken in seconds.items()))
    checks.finish(gpus=count, seconds=seconds)


if __name__ == "__main__":
    main()
