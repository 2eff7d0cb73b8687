#!/usr/bin/env python3
"""Records programs of all kinds as they are, and holds each capture to what a recording promises.

usage: programs.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --exiter AGENT_EXITER --python-program pytorch_gpt2.py [--out DIR]
                   [--json FILE] [--limit SECONDS] [--no-overhead] [--alone N] [--one-gpu] [--share K/N]
                   [--sequences DIR] [PROGRAM...]

For each: the program ends as it should, every launch seen has its record, steps are found, and their timeline is there. A table says
how much of what is ranked has a time (T0, of the launches seen), samples (T1, of the kernel time) and counters (T2, of the kernel time that
is in no CUDA graph and no collective), how many seconds the recording took on top of the program alone (how many of them after its end, and how many the timeline of all steps
together), what the timeline costs a step (the program's own figure for the last third of its steps, recorded against alone; with --alone 2 there is a run alone
after the recording too, and in brackets by how much the two differ; nothing if the schedule reached into that third) and what the
ranking puts first. A program passes if T0 is 100 %, T1 and T2 are 95 % and more and no more than ten points apart on the tensor pipe, at most 10 s are on top besides the timeline's, and the first row is the
one that adding up the launches' rows by hand puts first (and the kernel named here, where one is). What a program cannot have is
said where it is listed here; below its limits the table says why. `--list` names the programs; those in kinds/ are small programs of kinds
that people run, and know of no profiler. `--share 2/3` runs the second third of them. With --sequences the launches of
each program in kinds/ are written there, keys and times, with the steps as the program itself noted them (tests/steps/sequences.py).

Every GPU of the machine takes a program at a time. Those of two processes take two GPUs and NCCL between them, and their captures
must show it (collectives.py); `second-gpu` sees the last one alone, as its device 0. With one GPU, what needs two says so and runs
nothing; `torchrun` then shares it.

What a program prints is in program-NAME.log while it runs. One that has not ended within its limit is ended with all its
processes and fails; Python's then print where they are.
"""
import json
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "steps"))

import collectives
import sequences
from common import Checks, Facts, end_in_order, kernel_base, open_capture, options_of, run
from power import PowerWatch

# What is printed comes at once; a process that is told to abort says where it is; NCCL tells how far it came.
TALKATIVE = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "NCCL_DEBUG": "INFO"}
LAST_WORDS_S = 15  # for the tracebacks, and for the capture of what happened until then
LEAST_CORRELATION = 0.3  # of samples and kernels; the import warns below it
GOOD_COVERAGE = 0.95
TIERS_APART = 0.1  # of the tensor pipe's peak: samples against counters, on average
USES_PIPE = 0.1  # of its peak; and of the kernel time
OVERLAPS = 0.1  # of a launch's time: beside another one, whose work its samples have too
MOST_ON_TOP_S = 10.0
TARGET = 0.70  # of a roof: what the ranking's first column is about
AS_GOOD = 0.98  # of the most to win: rows as near to each other as that may change places
FILLED = 0.98  # kernels that take so much of a step, one after the other, leave no room to hide a saving in
REACH_NS = 1000  # the ranking tells what reaches the step apart by so much


class Program:
    """How a program is started and what its capture must hold."""

    def __init__(self, command, processes=1, source="period", graphs=False, takes_gpus=1, ranks=0, samples=True, watched=False,
                 limit_s=120, min_steps=5, status=0, sampled_devices=0, tiers=None, first=None, steps_in_all=0):
        self.command, self.limit_s, self.status = command, limit_s, status
        self.watched = watched  # sees one GPU of several, and whether the clocks are that one's is looked at
        self.processes = processes  # that use the GPU
        self.source = source  # where its steps come from; None: anywhere
        self.min_steps = min_steps  # of the timeline, a process
        self.steps_in_all = steps_in_all  # of all phases
        self.graphs = graphs  # must kernels come out of graphs
        self.takes_gpus = takes_gpus
        self.sampled_devices = sampled_devices  # of a process that works on several at once
        # Which the limits are asked of. A program that ends before it could be sampled has a timeline alone.
        self.tiers = tiers or ("T0", "T1", "T2")
        self.first = first  # what the name of the ranking's first kernel has in it, where that is known beforehand
        self.ranks, self.samples = ranks, samples  # with so many GPUs: what collectives.judge() is asked


def programs(options):
    trainer = [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--json"]
    python = [sys.executable, options.python_program, "-B", "8", "-T", "512", "--json"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")

    def kind(name, *arguments, **more):
        return Program([sys.executable, os.path.join(here, name + ".py"), *arguments], **more)

    # Over before there is time for samples and counters, which is said; the steps are found all the same.
    short = {"tiers": ("T0",), "min_steps": 0, "steps_in_all": 60, "limit_s": 90}

    return {
        "trainer": Program([*trainer, "--no-cuda-graph", "--steps", "150"], source="nvtx"),
        "trainer-graph": Program([*trainer, "--cuda-graph", "--steps", "60"], source="nvtx", graphs=True),
        "eager": Program([*python, "--mode", "eager", "--steps", "200"]),
        "compile": Program([*python, "--mode", "compile", "--steps", "300"], limit_s=180),
        "cudagraph": Program([*python, "--mode", "cudagraph", "--steps", "800"], graphs=True),
        "huggingface": kind("huggingface"),
        "jax": kind("jax_step", source=None),
        "jax-scan": kind("jax_scan", source=None),
        "triton": kind("triton_kernels"),
        "cupy": kind("cupy_solver", first="gemv"),
        "lightning": kind("lightning_fit"),
        "bert": kind("bert_lengths", source=None, min_steps=0),
        "server": kind("server", source=None, min_steps=0),
        "lstm": kind("lstm"),
        "llama": kind("llama_decode", source=None),
        "train-ranges": kind("train_ranges", source="nvtx"),
        "four-streams": kind("four_streams", first="elementwise_kernel"),
        "four-streams-70": kind("four_streams", "70", **short),
        "flex-attention": kind("flex_attention", limit_s=180, first="flex"),
        "flex-attention-70": kind("flex_attention", "70", **{**short, "limit_s": 180}),
        "graph-transformer": kind("graph_transformer", graphs=True),
        "graph-transformer-70": kind("graph_transformer", "70", graphs=True, **short),
        "two-processes": kind("two_processes", "1000", processes=2, limit_s=180),
        "moe": kind("moe", source=None, min_steps=0),
        "reinforcement": kind("reinforcement", source=None),
        "batched-decode": kind("batched_decode", source=None, min_steps=0),
        "speculative": kind("speculative", source=None, min_steps=0),
        "evaluation": kind("evaluation"),
        "diffusion": kind("diffusion"),
        "recompile": kind("recompile", limit_s=240),
        "gan": kind("gan"),
        "vision-workers": kind("vision_workers"),
        "graph-network": kind("graph_network"),
        "gaussian-process": kind("gaussian_process", source=None, min_steps=0),
        "data-grid": kind("data_grid"),
        "accumulate": kind("accumulate"),
        "buckets": kind("buckets", source=None, min_steps=0),
        "decode": kind("decode", source=None, min_steps=0),
        "threads": kind("threads", source=None, min_steps=0),
        "sleeper": kind("sleeper"),
        "short": Program([options.exiter, "--how", "return", "--after", "50"], source="nvtx", min_steps=0, status=7, limit_s=60, tiers=("T0",)),
        "torchrun": Program([*torchrun, options.python_program, "--json", "-B", "8", "-T", "512", "--steps", "200"], processes=2, ranks=2,
                            takes_gpus=2, limit_s=180),
        "collectives": Program([*torchrun, options.python_program, "--json", "-B", "8", "-T", "512", "--steps", "100", "--nvtx"],
                               processes=2, source="nvtx", takes_gpus=2, ranks=2, limit_s=180),
        "fsdp": Program([*torchrun, os.path.join(here, "fsdp.py")], processes=2, takes_gpus=2, ranks=2, limit_s=180),
        # Hardly more steps than the schedule has, behind an initialisation that launches more than all of them.
        "fsdp-short": Program([*torchrun, os.path.join(here, "fsdp.py"), "70"], processes=2, takes_gpus=2, ranks=2, limit_s=180),
        "fsdp-one": Program([*torchrun[:-1], "1", os.path.join(here, "fsdp.py"), "100"], limit_s=120),
        "two-devices": kind("two_devices", takes_gpus=2, sampled_devices=2, tiers=("T0", "T1")),  # counters of one device alone
        "second-device": kind("second_device", takes_gpus=2),
        "second-gpu": Program([*trainer, "--no-cuda-graph", "--steps", "200"], source="nvtx", takes_gpus=2, watched=True),
    }


class Gpus:
    """Which of the machine's GPUs are free."""

    def __init__(self, uuids):
        self.uuids, self.free, self.changed = uuids, set(uuids), threading.Condition()

    def take(self, number):
        with self.changed:
            self.changed.wait_for(lambda: len(self.free) >= number)
            taken = [u for u in self.uuids if u in self.free][-number:]
            self.free -= set(taken)
            return taken

    def give_back(self, taken):
        with self.changed:
            self.free |= set(taken)
            self.changed.notify_all()


def step_times_of(name, options):
    return os.path.abspath(os.path.join(options.out, f"program-{name}.steps"))


def export_sequence(name, program, options, capture, say):
    """Of a program with one process that noted its steps."""
    noted = step_times_of(name, options)
    if not options.sequences or program.processes > 1 or not os.path.exists(noted) or not os.path.exists(capture):
        return
    launches, steps = sequences.export(capture, name, options.sequences, noted)
    say(f"row {name}: sequence of {launches} launches, {steps} steps")


def start(name, program, options, gpus, say, capture=None):
    """Runs it, recorded if there is a capture to make, with what it prints in program-NAME.log as it comes."""
    limit_s = min(program.limit_s, options.limit)
    say(f"row {name}{'' if capture else ' alone'}: begins at {time.monotonic() - options.begin:.0f} s, {limit_s:g} s at most")
    record = [options.ridgeline, "record", "--force", "-o", capture, "--"] if capture else []
    env = {**TALKATIVE, **({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})}
    if capture and options.sequences:
        env["STEP_TIMES"] = step_times_of(name, options)
    return run([*record, *program.command], env=env, timeout=limit_s,
               log=os.path.join(options.out, f"program-{name}{'' if capture else '-alone'}.log"),
               last_words_s=min(LAST_WORDS_S, limit_s) if capture else 0)


def said_of_steps(done):
    """What the program says of its steps; nothing if it says nothing."""
    for line in reversed(done.out.splitlines()):
        at = line.find('{"')
        if at >= 0 and '"median_ms"' in line:
            try:
                return json.JSONDecoder().raw_decode(line[at:])[0]
            except ValueError:
                continue
    return {}


def step_ms(done):
    said = said_of_steps(done)
    return said.get("mean_ms", said.get("median_ms"))


def ends_in_timeline(said, phases):
    """True if the last third of the steps, which the program's mean is of, came after the schedule: with a replay step in it the mean
    says what counting takes."""
    return "mean_ms" not in said or phases.get("after", 0) >= said["steps"] / 3


def first_by_hand(launches):
    """By kernel, what its launches take above TARGET of the roof they are nearest to, added up: the most first. How much of that the
    step gets shorter by is another question, which has no answer by hand unless the GPU never waits (`may_hide`)."""
    saved = {}
    for row in launches:
        used = [row[key] for key in ("dram_utilisation_ratio", "compute_utilisation_ratio") if row.get(key) is not None]
        # What a collective takes is its peers' and the links' matter, not a roof's of this GPU.
        if used and not row.get("launch_bound_calls") and row.get("class") != "communication":
            saved[row["kernel"]] = saved.get(row["kernel"], 0) + max(0, row["time_ns"] * (1 - max(used) / TARGET))
    return sorted(saved.items(), key=lambda each: -each[1])


def may_hide(total_ns, step_ns):
    """Kernels do not fill the step one after the other: what one of them saves may end in a gap or behind another stream."""
    return not FILLED <= total_ns / step_ns <= 1.0 if step_ns else True


COUNTED_NEVER = "SELECT kernel_id FROM replay_exclusion WHERE process_id = ? AND reason = 'name'"


def countable_ns_of_step(capture, process, step_index):
    """Kernel time of a step that is in no CUDA graph, and in no collective: those wait for their peers and are never counted, which the
    capture says (replay_exclusion). How long they wait is the peers' doing."""
    db = open_capture(capture)
    row = db.execute(f"SELECT sum(duration_ns) FROM v_launch WHERE process_id = ? AND step_index = ? AND graph_id IS NULL "
                     f"AND kernel_id NOT IN ({COUNTED_NEVER})", (process, step_index, process)).fetchone()
    db.close()
    return row[0] or 0


def counted_never(capture, process):
    """Names of the process's collectives, as the ranking has them."""
    db = open_capture(capture)
    names = {row[0] for row in db.execute(f"SELECT demangled_name FROM kernel WHERE id IN ({COUNTED_NEVER})", (process,))}
    db.close()
    return names


def coverage(ridgeline, capture, process):
    """Of what is ranked: the shares with a time, with samples, with counters; why the rest has none; the first row, and by hand."""
    rows = {}
    for by in ("launch", "kernel"):
        done = run([ridgeline, "rank", capture, "--process", str(process), "--by", by, "--format", "json"], timeout=120)
        if done.status != 0:
            return None
        rows[by] = json.loads(done.out)
    launches, step = rows["launch"]["rows"], rows["launch"]["step"]
    total = sum(row["time_ns"] for row in launches) or 1
    quality = rows["launch"]["quality"]
    shares = {"T0": quality["kernel_records"] / quality["launches_seen"] if quality["launches_seen"] else 1.0}  # none: all in graphs
    known_ns = {tier: sum(row["time_ns"] for row in launches if row.get(key) is not None)
                for tier, key in (("T1", "dram_t1_utilisation_ratio"), ("T2", "dram_t2_utilisation_ratio"))}
    never = counted_never(capture, process)
    never_ns = sum(row["time_ns"] for row in launches if row["kernel"] in never)
    countable_ns = total - never_ns if step.get("whole_recording") else countable_ns_of_step(capture, process, step["step_index"])
    shares["T1"] = known_ns["T1"] / total
    shares["T2"] = min(known_ns["T2"] / countable_ns, 1.0) if countable_ns else None  # all of it is in graphs
    reasons = {}
    for row in launches:
        if row.get("dram_t2_utilisation_ratio") is None and row["kernel"] not in never:
            why = row.get("reason") or row.get("missing") or "no reason"
            reasons[why] = reasons.get(why, 0) + row["time_ns"]
    why = max(reasons, key=reasons.get) if reasons else ""
    first = rows["kernel"]["rows"][0] if rows["kernel"]["rows"] else {}
    reached_ns = {row["kernel"]: row.get("reached_target_ns") for row in rows["kernel"]["rows"]}
    return {"shares": shares, "why": f"{why} ({100 * reasons[why] / total:.0f} %)" if reasons else "",
            "first": kernel_base(first.get("kernel", "none"))[:40], "first_name": first.get("kernel", ""),
            "first_ms_less": (first.get("saved_target_ns") or 0) / 1e6,
            "by_hand": [[name, ns / 1e6, reached_ns.get(name)] for name, ns in first_by_hand(launches)[:3]],
            "first_reached_ns": first.get("reached_target_ns"), "may_hide": may_hide(total, step["duration_ns"]),
            "step_ms": step["duration_ns"] / 1e6, "tiers_apart": tiers_apart(launches)}


def tiers_apart(launches):
    """How far samples and counters are apart on the tensor pipe, as a ratio of its peak, by time over the launches that use it, have both
    and were alone on the device when sampled, as they are when counted; None: too few are. They are measured by different means, of which
    neither should know less than the other by much."""
    both = [(row["time_ns"], row["tensor_t1_utilisation_ratio"], row["tensor_t2_utilisation_ratio"]) for row in launches
            if row.get("tensor_t1_utilisation_ratio") is not None and row.get("tensor_t2_utilisation_ratio") is not None
            and row["t1_concurrent_time_ns"] <= OVERLAPS * row["t1_time_ns"]]
    both = [(ns, t1, t2) for ns, t1, t2 in both if max(t1, t2) >= USES_PIPE]
    time_ns = sum(ns for ns, _, _ in both)
    if time_ns < USES_PIPE * sum(row["time_ns"] for row in launches):
        return None
    return sum(ns * abs(t1 - t2) for ns, t1, t2 in both) / time_ns if time_ns else None


def reaches_more(found):
    """Where savings may hide: the ranking's first row shortens the step by more than what is first by hand, by REACH_NS at least."""
    first_ns, by_hand_ns = found["first_reached_ns"], found["by_hand"][0][2]
    return found["may_hide"] and first_ns is not None and by_hand_ns is not None and first_ns - by_hand_ns >= REACH_NS


def judge_limits(program, found, wrong):
    """What of a process is ranked against the limits of this file."""
    for tier in program.tiers:
        share, least = found["shares"][tier], 1.0 if tier == "T0" else GOOD_COVERAGE
        if share is not None and share < least:
            wrong.append(f"{tier} of {100 * share:.1f} %")
    if "T1" not in program.tiers:
        return
    if "T2" in program.tiers and (found["tiers_apart"] or 0) > TIERS_APART:
        wrong.append(f"T1 and T2 are {100 * found['tiers_apart']:.1f} points apart on the tensor pipe")
    by_hand = {name: ms for name, ms, _ in found["by_hand"]}
    if by_hand and by_hand.get(found["first_name"], 0) < AS_GOOD * found["by_hand"][0][1] and not reaches_more(found):
        wrong.append(f"the ranking puts {found['first']} first, by hand it is {kernel_base(found['by_hand'][0][0])[:40]}")
    if program.first and program.first not in found["first_name"]:
        wrong.append(f"the first row is {found['first']}, not a kernel with {program.first} in its name")


def program_ended_s(capture):
    """Seconds of the recorded program itself, from its begin to its end; None if it is not known."""
    db = open_capture(capture)
    row = db.execute("SELECT start_ns, end_ns FROM run").fetchone()
    db.close()
    return (row["end_ns"] - row["start_ns"]) / 1e9 if row and row["end_ns"] else None


def judge_one_gpu(capture, uuid, watch):
    """The device of a program that sees one GPU of several is that one, by counters and clocks too."""
    db, wrong = open_capture(capture), []
    seen = [row[0] for row in db.execute("SELECT uuid FROM device")]
    if seen != [uuid]:
        wrong.append(f"devices {', '.join(map(str, seen))}, not {uuid}")
    fits = [row[0] for row in db.execute("SELECT shift_correlation FROM pm_window WHERE sample_count > 0")]
    if not fits or min(fits) < LEAST_CORRELATION:
        wrong.append(f"samples fit the kernels with a correlation of {min(fits, default=0):.2f}")
    power_w = (db.execute("SELECT max(power_mw) FROM clock_sample").fetchone()[0] or 0) / 1e3
    db.close()
    said = watch.judge(uuid, power_w, wrong)
    return wrong, f"on {uuid[:12]}, samples correlate {min(fits, default=0):.2f}, {power_w:.0f} W at most ({said})"


def judge_price(table, done, alone, phases, ended_s, wrong):
    """What the recording took on top of the program: in all, after its end, and what its timeline added to every step of it, which grows
    with the program. The rest is what has a limit."""
    table["on_top_s"] = done.seconds - sum(each.seconds for each in alone) / len(alone)
    table["writing_s"] = done.seconds - ended_s if ended_s else None
    said, recorded = said_of_steps(done), step_ms(done)
    alone = [ms for ms in map(step_ms, alone) if ms]
    timeline_s = 0.0
    if alone and recorded and ends_in_timeline(said, phases):
        mean_ms = sum(alone) / len(alone)
        table["alone_ms"], table["recorded_ms"] = alone, recorded
        table["overhead_ratio"] = recorded / mean_ms - 1
        table["alone_spread_ratio"] = (max(alone) - min(alone)) / min(alone) if len(alone) > 1 else None
        timeline_s = table["timeline_s"] = max(recorded - mean_ms, 0) * said["steps"] / 1e3
    if table["on_top_s"] - timeline_s > MOST_ON_TOP_S:
        wrong.append(f"{table['on_top_s']:.1f} s on top of the program alone, {timeline_s:.1f} of them its timeline's")


def periods_of_a_step(capture):
    """How often the period comes in a step: more than once where a host is through with it in less than a millisecond."""
    with open_capture(capture) as db:
        of_import = db.execute("SELECT value FROM reason_value JOIN v_message USING (reason_id) WHERE name = 'periods'").fetchone()
        of_agent = db.execute("SELECT reason_text FROM v_message WHERE reason_code = 'steps' AND reason_text LIKE '%launch%' "
                              "ORDER BY time_ns DESC").fetchone()
    found = re.search(r"launch(?:es)?, (\d+) times", of_agent[0]) if of_agent else None
    return int(of_import[0]) if of_import else int(found.group(1)) if found else 1


def judge(checks, name, ridgeline, capture, done, program, uuids, watch, alone):
    if done.status != program.status or not os.path.exists(capture):
        checks.add(name, False, f"exit {done.status}: {done.tail()}")
        return
    facts, wrong, more = Facts(capture), [], ""
    if facts.problem:
        wrong.append(facts.problem)
    if not facts.complete():
        wrong.append("records are missing: " + str(facts.completeness))
    launching = [c["process_id"] for c in facts.completeness if c["launches_seen"] + c["graph_launches"] > 0]
    if len(launching) != program.processes:
        wrong.append(f"{facts.processes} processes, {program.processes} expected")
    if program.source and program.source not in facts.sources:
        wrong.append(f"steps come from {', '.join(sorted(facts.sources)) or 'nowhere'}, not {program.source}")
    if facts.steps.get("timeline", 0) < program.min_steps * program.processes:
        wrong.append(f"{facts.steps.get('timeline', 0)} timeline steps")
    periods = sum(facts.steps.values()) * periods_of_a_step(capture)
    if periods < program.steps_in_all:
        wrong.append(f"{periods} steps, {program.steps_in_all} expected")
    if program.graphs and facts.total("graph_kernel_records") == 0:
        wrong.append("no kernel of a CUDA graph")
    table = {"program": name, "steps": facts.steps, "sources": sorted(facts.sources), "ranks": []}
    db = open_capture(capture)
    sampled = db.execute("SELECT count(DISTINCT device_id) FROM pm_window WHERE sample_count > 0").fetchone()[0]
    if program.sampled_devices and sampled != program.sampled_devices:
        wrong.append(f"{sampled} devices were sampled, {program.sampled_devices} are used")
    table["phases"] = [collectives.phase_lengths(db, process) for process in launching]
    db.close()
    for process in launching:
        found = coverage(ridgeline, capture, process)
        if found is None:
            rank = run([ridgeline, "rank", capture, "--process", str(process)], timeout=60)
            wrong.append(f"rank --process {process} exits {rank.status}: {rank.tail()}")
        else:
            table["ranks"].append(found)
            judge_limits(program, found, wrong)
    own_longest_ms = max((said_of_steps(each).get("longest_ms", 0) for each in alone), default=0)
    if alone:
        judge_price(table, done, alone, facts.steps, program_ended_s(capture), wrong)
    if program.ranks and len(uuids) >= program.ranks:
        bad, more = collectives.judge(capture, uuids, program.samples, own_longest_ms)
        wrong += bad
    elif program.ranks:
        more = "one GPU: no collectives on devices"
    if watch:
        bad, more = judge_one_gpu(capture, uuids[-1], watch)
        wrong += bad
    said = f'; said: {len(done.said())} lines, first: "{done.said()[0][:160]}"' if done.said() else ""
    table["tiers"] = {tier: list(verdict) for tier, verdict in facts.tiers.items()}
    table["passed"] = not wrong
    checks.add(name, not wrong, f"{facts.step_text()} (by {', '.join(sorted(facts.sources))}); {facts.counts()}; {facts.tier_text()}; "
               + (more + "; " if more else "") + f"{done.seconds:.0f} s{said}" + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))
    return table


def percent(share):
    return "100" if share > 0.9995 else f"{100 * share:.1f}"


def overhead_text(table):
    """What the timeline costs, and by how much the runs alone differ: a host that is shared has its own ideas of a launch's cost."""
    spread = table["alone_spread_ratio"]
    return f"{100 * table['overhead_ratio']:+.1f}" + ("" if spread is None else f" ({100 * spread:.1f})") + " %"


def on_top_text(table):
    if "on_top_s" not in table:
        return ""
    parts = [f"{table[part]:.1f}" if table.get(part) is not None else "-" for part in ("writing_s", "timeline_s")]
    return f"{table['on_top_s']:.1f} ({', '.join(parts)})"


def print_table(tables):
    print(f"\n{'program':<20} {'':<4} {'T0 %':>6} {'T1 %':>6} {'T2 %':>6} {'on top, s':>16} {'step ms':>9} {'timeline':>15}  the ranking's first row")
    for table in tables:
        for number, rank in enumerate(table["ranks"]):
            begin = [table["program"], "pass" if table["passed"] else "FAIL", on_top_text(table)] if number == 0 else ["", "", ""]
            overhead = overhead_text(table) if "overhead_ratio" in table and number == 0 else ""
            shares = " ".join(f"{'-' if rank['shares'][tier] is None else percent(rank['shares'][tier]):>6}" for tier in ("T0", "T1", "T2"))
            low = [tier for tier in ("T1", "T2") if (rank["shares"][tier] or 0) < GOOD_COVERAGE]
            why = "; ".join(filter(None, [*(table["tiers"].get(tier, ("", ""))[1] for tier in low), rank["why"] if "T2" in low else ""]))
            print(f"{begin[0]:<20} {begin[1]:<4} {shares} {begin[2]:>16} {rank['step_ms']:>9.3f} {overhead:>15}  {rank['first']}, "
                  f"{rank['first_ms_less']:.3f} ms at 70 %" + (f"  [{why[:200]}]" if why else ""))


def share_of(names, share):
    """Of the names those whose turn it is: --share K/N."""
    number, parts = (int(word) for word in share.split("/"))
    if not 1 <= number <= parts:
        raise ValueError
    return names[number - 1::parts]


def main(argv=None):
    parser = options_of(__doc__, "ridgeline", "trainer", "exiter", "python-program")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a program at most; each has its own limit besides")
    parser.add_argument("--no-overhead", action="store_true", help="do not run each program alone")
    parser.add_argument("--alone", type=int, choices=(1, 2), default=1, help="runs alone of each program: before its recording, and after")
    parser.add_argument("--sequences", metavar="DIR", help="where the programs' launches are written, for the search for steps")
    parser.add_argument("--one-gpu", action="store_true", help="only programs that take one GPU")
    parser.add_argument("--share", metavar="K/N", help="of the programs those whose turn is K of N, so that N calls run all")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args(argv)
    options.begin = time.monotonic()
    gpus = Gpus(collectives.gpus())
    every = programs(options)
    if options.list:
        print("\n".join(every))
        return
    unknown = [name for name in options.programs if name not in every]
    if unknown:
        parser.error(f"no such program: {unknown[0]}; there are {', '.join(every)}")
    signal.signal(signal.SIGTERM, end_in_order)  # Started would, but not on the threads of the pool
    tables, names, figures = {}, list(options.programs or every), []
    checks = Checks(options.json, lambda: print_table([tables[name] for name in names if tables.get(name)]), {"programs": figures})
    if options.one_gpu:
        names = [name for name in names if every[name].takes_gpus == 1]
    if options.share:
        try:
            names = share_of(names, options.share)
        except ValueError:
            parser.error(f"--share {options.share}: K/N with K from 1 to N")

    def say(line):
        print(line, file=sys.stderr, flush=True)

    def one(name):
        program = every[name]
        if max(len(gpus.uuids), 1) < program.takes_gpus and name != "torchrun":
            return checks.add(name, True, f"not run: it takes {program.takes_gpus} GPUs, this machine shows {len(gpus.uuids)}")
        taken = gpus.take(min(program.takes_gpus, len(gpus.uuids)) if gpus.uuids else 0)
        seen = taken[-1:] if program.watched else taken
        capture = os.path.join(options.out, f"program-{name}.ridge")
        try:
            alone, compared = [], not options.no_overhead and not program.watched and program.status == 0
            if compared:
                alone.append(start(name, program, options, seen, say))
            watch = PowerWatch() if program.watched else None
            if watch:
                watch.start()
            try:
                done = start(name, program, options, seen, say, capture)
            finally:
                if watch:
                    watch.stop()
            export_sequence(name, program, options, capture, say)
            if compared and options.alone > 1:
                alone.append(start(name, program, options, seen, say))
            tables[name] = judge(checks, name, options.ridgeline, capture, done, program, seen, watch, alone)
            if tables[name]:
                figures.append(tables[name])
        except Exception as error:  # a checker that dies half-way fails its row
            checks.add(name, False, f"the check itself failed: {type(error).__name__}: {error}")
        finally:
            gpus.give_back(taken)

    # Those that take two GPUs first, so that they do not wait for two to be free at once; the watched one when nothing else runs.
    together = sorted((n for n in names if not every[n].watched), key=lambda n: -every[n].takes_gpus)
    with ThreadPoolExecutor(max(len(gpus.uuids), 1)) as pool:
        list(pool.map(one, together))
    for name in names:
        if every[name].watched:
            one(name)
    for name in ("fsdp", "fsdp-short"):
        if tables.get(name) and tables.get("fsdp-one"):
            wrong = []
            text = collectives.judge_replay(tables[name]["phases"], tables["fsdp-one"]["phases"][0], wrong)
            checks.add(f"{name}-replay", not wrong, "; ".join([text, *wrong]))
    figures.sort(key=lambda table: names.index(table["program"]))
    checks.finish()


if __name__ == "__main__":
    main()
