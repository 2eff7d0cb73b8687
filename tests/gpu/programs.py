#!/usr/bin/env python3
"""Records programs of all kinds as they are, and holds each capture to what a recording promises.

usage: programs.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --exiter AGENT_EXITER --python-program pytorch_gpt2.py [--out DIR]
                   [--json FILE] [--limit SECONDS] [--no-overhead] [PROGRAM...]

For each: the program ends as it should, every launch seen has its record, steps are found, and their timeline is there. A table says
how much of the kernel time of the ranked step has a time (T0), samples (T1) and counters (T2), what the timeline costs a step (the
program's own figure for the last third of its steps, recorded against the mean of a run alone before and one after it; in brackets
by how much those two differ; nothing if the schedule reached into that third) and what the ranking puts first; below 95 % it says
why. Of the Python programs only the one of `collectives` marks its steps. `--list` names the programs; those in kinds/ are small
programs of kinds that people run, and know of no profiler.

Every GPU of the machine takes a program at a time. Those of two processes take two GPUs and NCCL between them, and their captures
must show it (collectives.py); `second-gpu` sees the last one alone, as its device 0. With one GPU, what needs two says so and runs
nothing; `torchrun` then shares it.

What a program prints is in program-NAME.log while it runs. One that has not ended within its limit is ended with all its
processes and fails; Python's then print where they are.
"""
import argparse
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import collectives
from common import Checks, Facts, end_in_order, kernel_base, open_capture, run
from power import PowerWatch

# What is printed comes at once; a process that is told to abort says where it is; NCCL tells how far it came.
TALKATIVE = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "NCCL_DEBUG": "INFO"}
LAST_WORDS_S = 15  # for the tracebacks, and for the capture of what happened until then
LEAST_CORRELATION = 0.3  # of samples and kernels; the import warns below it
GOOD_COVERAGE = 0.95


class Program:
    """How a program is started and what its capture must hold."""

    def __init__(self, command, processes=1, source="period", graphs=False, takes_gpus=1, ranks=0, samples=True, watched=False,
                 limit_s=120, least_steps=5, status=0, sampled_devices=0):
        self.command, self.limit_s, self.status = command, limit_s, status
        self.watched = watched  # sees one GPU of several, and whether the clocks are that one's is looked at
        self.processes = processes  # that use the GPU
        self.source = source  # where its steps come from; None: anywhere
        self.least_steps = least_steps  # of the timeline, a process
        self.graphs = graphs  # must kernels come out of graphs
        self.takes_gpus = takes_gpus
        self.sampled_devices = sampled_devices  # of a process that works on several at once
        self.ranks, self.samples = ranks, samples  # with so many GPUs: what collectives.judge() is asked


def programs(options):
    trainer = [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--json"]
    python = [sys.executable, options.python_program, "-B", "8", "-T", "512", "--json"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")

    def kind(name, **more):
        return Program([sys.executable, os.path.join(here, name + ".py")], **more)

    return {
        "trainer": Program([*trainer, "--no-cuda-graph", "--steps", "150"], source="nvtx"),
        "trainer-graph": Program([*trainer, "--cuda-graph", "--steps", "60"], source="nvtx", graphs=True),
        "eager": Program([*python, "--mode", "eager", "--steps", "200"]),
        "compile": Program([*python, "--mode", "compile", "--steps", "300"], limit_s=180),
        "cudagraph": Program([*python, "--mode", "cudagraph", "--steps", "800"], graphs=True),
        "huggingface": kind("huggingface"),
        "jax": kind("jax_step", source=None),
        "triton": kind("triton_kernels"),
        "cupy": kind("cupy_solver"),
        "lightning": kind("lightning_fit"),
        "data-grid": kind("data_grid"),
        "accumulate": kind("accumulate"),
        "buckets": kind("buckets", source=None, least_steps=0),
        "decode": kind("decode", source=None, least_steps=0),
        "threads": kind("threads", source=None, least_steps=0),
        "sleeper": kind("sleeper"),
        "short": Program([options.exiter, "--how", "return", "--after", "50"], source="nvtx", least_steps=0, status=7, limit_s=60),
        "torchrun": Program([*torchrun, options.python_program, "--json", "-B", "8", "-T", "512", "--steps", "200"], processes=2, ranks=2,
                            takes_gpus=2, limit_s=180),
        "collectives": Program([*torchrun, options.python_program, "--json", "-B", "8", "-T", "512", "--steps", "100", "--nvtx"],
                               processes=2, source="nvtx", takes_gpus=2, ranks=2, limit_s=180),
        "fsdp": Program([*torchrun, os.path.join(here, "fsdp.py")], processes=2, takes_gpus=2, ranks=2, limit_s=180),
        # Hardly more steps than the schedule has, behind an initialisation that launches more than all of them.
        "fsdp-short": Program([*torchrun, os.path.join(here, "fsdp.py"), "70"], processes=2, takes_gpus=2, ranks=2, limit_s=180),
        "fsdp-one": Program([*torchrun[:-1], "1", os.path.join(here, "fsdp.py"), "100"], limit_s=120),
        "two-devices": kind("two_devices", takes_gpus=2, sampled_devices=2),
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


def start(name, program, options, gpus, say, capture=None):
    """Runs it, recorded if there is a capture to make, with what it prints in program-NAME.log as it comes."""
    limit_s = min(program.limit_s, options.limit)
    say(f"row {name}{'' if capture else ' alone'}: begins at {time.monotonic() - options.begin:.0f} s, {limit_s:g} s at most")
    record = [options.ridgeline, "record", "--force", "-o", capture, "--"] if capture else []
    env = {**TALKATIVE, **({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})}
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


def coverage(ridgeline, capture, process):
    """Of the kernel time of the ranked step: the shares with a time, with samples, with counters; why the rest has none; the first row."""
    rows = {}
    for by in ("launch", "kernel"):
        done = run([ridgeline, "rank", capture, "--process", str(process), "--by", by, "--format", "json"], timeout=120)
        if done.status != 0:
            return None
        rows[by] = json.loads(done.out)
    launches = rows["launch"]["rows"]
    total = sum(row["time_ns"] for row in launches) or 1
    shares = {"T0": rows["launch"]["quality"]["kernel_records"] / max(rows["launch"]["quality"]["launches_seen"], 1)}
    reasons = {}
    for tier, key in (("T1", "dram_t1_utilisation_ratio"), ("T2", "dram_t2_utilisation_ratio")):
        shares[tier] = sum(row["time_ns"] for row in launches if row.get(key) is not None) / total
    for row in launches:
        if row.get("dram_t2_utilisation_ratio") is None:
            why = row.get("reason") or row.get("missing") or "no reason"
            reasons[why] = reasons.get(why, 0) + row["time_ns"]
    why = max(reasons, key=reasons.get) if reasons else ""
    first = rows["kernel"]["rows"][0] if rows["kernel"]["rows"] else {}
    return {"shares": shares, "why": f"{why} ({100 * reasons[why] / total:.0f} %)" if reasons else "",
            "first": kernel_base(first.get("kernel", "none"))[:40], "first_ms_less": (first.get("saved_target_ns") or 0) / 1e6,
            "step_ms": rows["launch"]["step"]["duration_ns"] / 1e6}


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
    if facts.steps.get("timeline", 0) < program.least_steps * program.processes:
        wrong.append(f"{facts.steps.get('timeline', 0)} timeline steps")
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
    recorded = step_ms(done)
    own_longest_ms = max((said_of_steps(each).get("longest_ms", 0) for each in alone), default=0)
    alone = [ms for ms in map(step_ms, alone) if ms]
    if alone and recorded and ends_in_timeline(said_of_steps(done), facts.steps):
        table["alone_ms"], table["recorded_ms"] = alone, recorded
        table["overhead_ratio"] = recorded / (sum(alone) / len(alone)) - 1
        table["alone_spread_ratio"] = (max(alone) - min(alone)) / min(alone)
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
    checks.add(name, not wrong, f"{facts.step_text()} (by {', '.join(sorted(facts.sources))}); {facts.counts()}; {facts.tier_text()}; "
               + (more + "; " if more else "") + f"{done.seconds:.0f} s{said}" + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))
    return table


def percent(share):
    return "100" if share > 0.9995 else f"{100 * share:.1f}"


def overhead_text(table):
    """What the timeline costs, and by how much the two runs alone differ: a host that is shared has its own ideas of a launch's cost."""
    return f"{100 * table['overhead_ratio']:+.1f} ({100 * table['alone_spread_ratio']:.1f}) %"


def print_table(tables):
    print(f"\n{'program':<14} {'T0 %':>6} {'T1 %':>6} {'T2 %':>6} {'step ms':>9} {'timeline':>15}  the ranking's first row")
    for table in tables:
        for number, rank in enumerate(table["ranks"]):
            overhead = overhead_text(table) if "overhead_ratio" in table and number == 0 else ""
            shares = " ".join(f"{percent(rank['shares'][tier]):>6}" for tier in ("T0", "T1", "T2"))
            low = [tier for tier in ("T1", "T2") if rank["shares"][tier] < GOOD_COVERAGE]
            why = "; ".join(filter(None, [*(table["tiers"].get(tier, ("", ""))[1] for tier in low), rank["why"] if "T2" in low else ""]))
            print(f"{table['program'] if number == 0 else '':<14} {shares} {rank['step_ms']:>9.3f} {overhead:>15}  {rank['first']}, "
                  f"{rank['first_ms_less']:.3f} ms at 70 %" + (f"  [{why[:200]}]" if why else ""))



def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--exiter", required=True)
    parser.add_argument("--python-program", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a program at most; each has its own limit besides")
    parser.add_argument("--no-overhead", action="store_true", help="do not run each program alone before and after it is recorded")
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
    checks, tables, names = Checks(), {}, list(options.programs or every)

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
            if compared:
                alone.append(start(name, program, options, seen, say))
            tables[name] = judge(checks, name, options.ridgeline, capture, done, program, seen, watch, alone)
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
    rows = [tables[name] for name in names if tables.get(name)]
    print_table(rows)
    checks.finish(options.json, programs=rows)


if __name__ == "__main__":
    main()
