#!/usr/bin/env python3
"""usage: documents_test.py RIDGELINE FABRICATE_CAPTURE [--only GROUP] [--accept]

Golden documents: every document of a bundled capture, of made ones that vary and of comparisons, byte by byte what tests/golden/documents/
holds. A change that was meant is taken over by scripts/accept-documents, and is then a diff that can be read and reviewed.

A group is a folder of documents: of one capture or of one comparison. commands.txt in it has the exit code and the messages of each command.
"""
import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import foreign

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests/golden/documents"
BUNDLED = ROOT / "examples/gpt2-h200.ridge"
CEILINGS = ROOT / "tests/ceilings/made.json"
WIDTHS = (80, 100, 160)
# Of the environment; the last two are scripts/mutate's, without which no document would notice a change.
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TMPDIR", "MUTANT_ON", "MUTANTS_REACHED")
SHOWN_LINES = 24  # of the difference of one document
SHOWN_DOCUMENTS = 6

# What fabricate_capture makes of each. All are small: what varies is what a recording can lack or hold.
CAPTURES = {
    "whole": ["samples", "cold", "declared", "codes", "disagree"],
    "refused": ["refused", "losses"],
    "ranks": ["ranks=2", "overlap", "samples", "exclude"],
    "graphs": ["graphs"],
    "hostile": ["hostile", "samples"],
    "nosteps": ["nosteps", "fast", "layers=1"],
}
WITH_SCOPES = ("whole", "nosteps")
WITH_ROOFS = ("whole", "hostile")
# Two sides, each of the runs that these words make.
COMPARISONS = {
    "slower": (["codes"], ["codes", "slow=layernorm_backward:1.5"], 5),
    "same": (["codes"], ["codes"], 5),
    "another-driver": ([], ["driver=590.1"], 3),
    "one-pair": ([], ["factor=1.1", "hostile"], 1),
    "many-changes": (["layers=3", "codes", "extra=gone_kernel"],
                     ["layers=3", "codes", "extra=came_kernel", "copies=3", *(f"slow={name}:{1.2 + 0.05 * k:.2f}" for k, name in enumerate((
                         "layernorm_backward", "adamw", "gelu_backward", "embedding_forward", "embedding_backward", "bias_gradient", "fused_residual",
                         "global_norm_squared", "convert_dq", "compute_dot", "CUDAFunctor_add", "aux_bias", "gelu_fp"))), "slow=reduce_add:0.5"], 5),
}
# Captures whose report is held as a page.
PAGES = {"plain": ["codes"], "sampled": ["samples", "cold", "declared", "disagree"], "two-ranks": ["ranks=2", "overlap", "graphs"], "refused": ["refused", "losses"]}
# What ridgeline_generate makes: shapes of steps with what T1 and T2 measure, and jobs with a cause for what makes a rank late.
SHAPES = ("after", "decode", "eager", "one-step", "pairs")
SHAPE = ["--launches", "400", "--step-launches", "40", "--replay", "1", "--sample", "1", "--outliers", "3", "--ranges", "--annotations", "--processes", "2"]
JOBS = {
    "more-work": ["--ranks", "3", "--cause", "more-work", "--straggler", "1", "--late-ns", "500000", "--bucket-bytes", "2000000"],
    "lower-clock": ["--ranks", "4", "--hosts-of", "2", "--cause", "lower-clock", "--straggler", "3", "--late-ns", "400000", "--sampled-steps", "3"],
    "host-gaps": ["--ranks", "3", "--cause", "host-gaps", "--straggler", "0", "--late-ns", "300000", "--embedding-bytes", "50000000"],
    "copies": ["--ranks", "3", "--cause", "copies", "--straggler", "2", "--late-ns", "300000", "--links", "2", "--free-transfers"],
    "contended": ["--ranks", "2", "--interference", "1.6", "--interference-of-collectives", "1.4", "--links", "0.3", "--embedding-bytes", "100000000"],
    "lost": ["--ranks", "4", "--lost", "2", "--cause", "more-cycles", "--rotating", "--late-ns", "200000"],
}
REPORT_FORMATS = {"html": "html", "markdown": "md", "json": "json", "csv": "csv", "junit": "xml", "github": "github.txt",
                  "gitlab-metrics": "metrics.txt", "bencher": "bencher.json"}
PROJECT = """[[budget]]
kernel = "*layernorm_backward*"
max_time_us = 5
reason = "agreed, in May: 100 %"
[[budget]]
kernel = "*adamw*"
max_time_us = 90000
[[budget]]
kernel = "no such kernel"
max_time_us = 1
"""


def tables(verb, *arguments):
    """A verb's table in every format, text at every width."""
    for width in WIDTHS:
        yield f"{verb}-{width}.txt", [verb, *arguments], width
    for form, suffix in (("json", "json"), ("csv", "csv"), ("markdown", "md")):
        yield f"{verb}.{suffix}", [verb, *arguments, "--format", form], 100


def reports(*arguments):
    for width in WIDTHS:
        yield f"report-{width}.txt", ["report", *arguments, "--format", "text"], width
    for form, suffix in REPORT_FORMATS.items():
        yield f"report.{suffix}", ["report", *arguments, "--format", form], 100


def of_capture(capture):
    """(document, arguments, width) of all documents of one capture."""
    for verb in ("info", "rank", "check", "steps", "roofline"):
        yield from tables(verb, capture)
    yield from tables("advise", capture, "--all")
    yield "advise.txt", ["advise", capture], 100
    yield "advise-rule.txt", ["advise", capture, "--rule", "occupancy"], 80
    for by in ("kernel-grid", "family", "class", "nvtx", "phase", "layer", "layer,phase"):
        yield f"rank-by-{by.replace(',', '-')}.txt", ["rank", capture, "--by", by], 160
    yield "rank-by-launch-80.txt", ["rank", capture, "--by", "launch", "--top", "12"], 80
    yield "rank-long-80.txt", ["rank", capture, "--by", "layer,kernel", "--min-share", "1%", "--sort", "dram_utilisation"], 80
    yield "rank-by-launch.csv", ["rank", capture, "--by", "launch", "--top", "30", "--format", "csv"], 100
    for columns in ("tiers", "bounds", "clock", "power", "sms", "shape", "caches", "cold", "work"):
        yield f"rank-{columns}.txt", ["rank", capture, "--columns", columns], 160
    yield "rank-all-columns.csv", ["rank", capture, "--columns", "all", "--format", "csv"], 100
    yield "rank-verbose.txt", ["rank", capture, "--verbose"], 100
    yield "steps-verbose.txt", ["steps", capture, "--verbose"], 100
    kernels = "*layernorm*" if capture != "bundled.ridge" else "layernorm*"
    yield from tables("what-if", capture, f"{kernels}=1.5x", "--at-roof", "85")
    yield "what-if-range.txt", ["what-if", capture, f"{kernels}=2", "--range", "forward"], 100
    yield "what-if-graph.txt", ["what-if", capture, "--graph"], 100
    yield "what-if-none.txt", ["what-if", capture, "no_such_kernel=2x"], 100
    # The first of the ranking: a name would be another in each capture.
    yield "explain-80.txt", ["explain", capture, "1"], 80
    yield "explain.json", ["explain", capture, "1", "--format", "json"], 100
    yield "explain.md", ["explain", capture, "1", "--format", "markdown"], 100
    yield "ncu-command.txt", ["ncu-command", capture, "1"], 100
    for form, suffix in (("json", "json"), ("csv", "csv"), ("markdown", "md")):
        yield f"ncu-command.{suffix}", ["ncu-command", capture, "2", "--format", form], 100
    yield "info-verify.txt", ["info", capture, "--verify"], 100
    yield "sql.txt", ["sql", capture, "SELECT phase, status, count(*) AS steps, min(step_index) AS first FROM v_step GROUP BY 1, 2"], 100
    yield from reports(capture)
    for form, suffix in (("junit", "xml"), ("github", "github.txt")):
        yield f"report-failing.{suffix}", ["report", capture, "--project", "project.toml", "--fail-on", "budget,target,unmeasured", "--format", form], 100
    yield "report-warning.github.txt", ["report", capture, "--project", "project.toml", "--format", "github"], 100


def of_roofs(capture):
    """Pictures, and what measured roofs change."""
    yield "roofline.svg", ["roofline", capture, "--format", "svg"], 100
    yield "roofline-time.svg", ["roofline", capture, "--format", "svg", "--time"], 100
    yield "roofline.html", ["roofline", capture, "--format", "html"], 100
    yield "roofline-all-columns.csv", ["roofline", capture, "--columns", "all", "--format", "csv"], 100
    yield "roofline-match.txt", ["roofline", capture, "--match", "*norm*", "--by", "kernel-grid"], 100
    yield "roofline-no-match.txt", ["roofline", capture, "--match", "no such kernel"], 100
    yield "roofline-dark.svg", ["roofline", capture, "--format", "svg", "--theme", "dark"], 100
    for name, roof in (("default", []), ("burst", ["--roof", "burst"]), ("spec", ["--roof", "spec"])):
        yield f"measured-rank-{name}.txt", ["rank", capture, "--ceilings", "ceilings.json", *roof], 160
        yield f"measured-roofline-{name}.txt", ["roofline", capture, "--ceilings", "ceilings.json", *roof], 160
    yield "measured-rank-power.txt", ["rank", capture, "--ceilings", "ceilings.json", "--columns", "power"], 160
    yield "measured-steps.txt", ["steps", capture, "--ceilings", "ceilings.json"], 100
    yield "measured-check.json", ["check", capture, "--ceilings", "ceilings.json", "--format", "json"], 100


def of_scopes(capture):
    """Likewise of an NVTX range and of a window of time."""
    for name, scope in (("range", ["--range", "forward / layer"]), ("window", ["--window", "100ms..160ms"])):
        yield f"{name}-rank.txt", ["rank", capture, *scope], 100
        yield f"{name}-rank.json", ["rank", capture, *scope, "--format", "json"], 100
        yield f"{name}-check.txt", ["check", capture, *scope], 100
        yield f"{name}-advise.txt", ["advise", capture, *scope], 100
        yield f"{name}-steps.txt", ["steps", capture, *scope], 100
        yield f"{name}-report.md", ["report", capture, *scope, "--format", "markdown"], 100
    yield "range-of-step.txt", ["rank", capture, "--range", "forward", "--step", "3"], 100
    yield "range-none.txt", ["rank", capture, "--range", "no such"], 100
    yield "range-none-of-step.txt", ["rank", capture, "--range", "no such", "--step", "3"], 100
    yield "window-none.txt", ["rank", capture, "--window", "1000s..1001s"], 100
    yield "window-empty.txt", ["rank", capture, "--window", "59s..60s"], 100
    yield "window-by-kernel.txt", ["rank", capture, "--window", "100ms..160ms", "--by", "kernel"], 100


def of_job(job, captures, alone):
    """Many ranks: every view, every format, the page, and what merging says."""
    yield from tables("ranks", job)
    for view in ("step", "collective", "kernel", "account"):
        yield f"ranks-by-{view}.txt", ["ranks", job, "--by", view], 100
        yield f"ranks-by-{view}.csv", ["ranks", job, "--by", view, "--columns", "all", "--format", "csv"], 100
    yield "ranks-alone.txt", ["ranks", job, "--by", "account", "--alone", alone], 100
    yield "ranks-alone.json", ["ranks", job, "--by", "account", "--alone", alone, "--format", "json"], 100
    yield "ranks-alone.md", ["ranks", job, "--alone", alone, "--format", "markdown"], 100
    changes = [word for change in ("overlap", "links=2", "links=0.5", "no-skew,links=2", "bucket=1MB", "bucket=55MB") for word in ("--what-if", change)]
    for extension, name in (("txt", "text"), ("json", "json"), ("csv", "csv"), ("md", "markdown")):
        yield f"ranks-what-if.{extension}", ["ranks", job, *changes, "--format", name], 100
    yield "ranks-what-if-misread.txt", ["ranks", job, "--what-if", "bucket=25"], 100
    yield "ranks.html", ["ranks", job, "--format", "html"], 100
    yield "ranks-of-one.txt", ["ranks", captures[0]], 100
    yield "merge-some.txt", ["merge", captures[0], captures[3], "-o", "some.ridge"], 100
    yield "merge-twice.txt", ["merge", captures[1], captures[1], "-o", "twice.ridge"], 100
    yield "merge-other.txt", ["merge", captures[1], alone, "-o", "other.ridge"], 100
    yield "info.txt", ["info", job], 100


# What an import writes, table by table.
IMPORTED_ROWS = ("run", "process", "thread", "device", "device_peak", "kernel", "step", "launch_site", "launch", "memcpy", "memset", "nvtx_range",
                 "synchronisation", "annotation", "communicator", "collective", "completeness", "message", "reason", "reason_value", "recording_window",
                 "tier_status", "launch_sequence", "ordinal_sum", "site_total", "table_rows", "v_process", "v_step")


def of_import(capture, more=()):
    """Every row, and what is concluded from them."""
    for table in (*IMPORTED_ROWS, *more):
        yield f"{capture}.{table}.csv", ["sql", f"{capture}.ridge", f"SELECT * FROM {table}", "--format", "csv", "--max-rows", "150"], 100
    for verb in ("info", "steps", "check", "advise"):
        yield f"{capture}-{verb}.txt", [verb, f"{capture}.ridge"], 100
    yield f"{capture}-rank.csv", ["rank", f"{capture}.ridge", "--columns", "all", "--format", "csv"], 100
    yield f"{capture}-rank-by-nvtx.txt", ["rank", f"{capture}.ridge", "--by", "nvtx"], 160
    yield f"{capture}-what-if.txt", ["what-if", f"{capture}.ridge", "*gemm*=2x"], 100


def of_comparison(a, b):
    yield from tables("compare", *a, "--against", *b)
    yield from reports(*a, "--against", *b)
    yield "report-budgets.xml", ["report", *a, "--against", *b, "--project", "project.toml", "--format", "junit"], 100


def ladder_runs():
    """The runs of a ladder of four rungs: one helps, one shares its effect, one does nothing, one does not run."""
    saved = (0.30, 0.08, 0.0, 0.05)
    arms = [0, 1, 3, 7, 15, 2, 4, 8, 14, 13, 11]  # bits of rungs, as the design has them
    state, runs = 12345, []
    for number in range(1, 7):
        for program, rungs in enumerate(arms):
            state = state * 1103515245 % 2**31
            noise = (state / 2**31 - 0.5) * 0.006
            if rungs & 8:
                continue
            total = sum(value for i, value in enumerate(saved) if rungs >> i & 1)
            shared = 0.06 if rungs & 3 == 3 else 0
            ms = 50 * (1 - total + shared + noise)
            runs.append({"program": program, "round": number, "seed": 1 + number % 3, "step_ns": round(ms * 1e6), "steps": 25, "discarded": 5,
                         "settled": program != 8 or number > 1, "sm_clock_hz": 1.98e9 - 1e7 * program, "power_w": 690.0 + program,
                         "joules_per_step": round(ms * 0.69, 4), "peak_memory_bytes": 10e9 + 1e8 * program, "launches": 300 - 10 * program,
                         "loss": 3.5 + 0.01 * (number % 3) + (0.1 if rungs & 4 else 0.0001 * number if rungs & 2 else 0), "device": "NVIDIA H200"})
    names = ("TF32 products", "fused <bias> | 128-bit", "CUDA graph", "a rung whose kernel is missing")
    return {"format": "ridgeline.ladder-runs", "version": 1, "name": "a made ladder", "begun": "2026-11-25 20:00:00", "source": "recording", "end": "budget",
            "order_seed": 1, "rounds": 6, "seconds": 421.5, "alpha": 0.05, "equivalence_alpha": 0.05, "margin_ratio": 0.003, "loss_margin_ratio": 0.005,
            "least_rounds": 3, "look_alpha": 0.05, "look_equivalence_alpha": 0.05, "alone": True, "left_out": True, "shapley": False,
            "rungs": [{"name": name, "change": f"set={i}", "needs": [], **({"choices": [{"name": "one", "step_ns": [4e7, 4.1e7]}, {"name": "two", "step_ns": [
                3.5e7, 3.6e7]}], "chosen": 1} if i == 1 else {})} for i, name in enumerate(names)],
            "arms": [{"rungs": [i for i in range(4) if rungs >> i & 1], "program": program} for program, rungs in enumerate(arms)],
            "programs": [{"command": f"./train {rungs}", "kernels": {"gemm": 12, **({"fused": 12} if rungs & 2 else {"bias": 12, "gelu": 12})},
                          **({"failure": "ended with 3: no such kernel"} if rungs & 8 else {})} for rungs in arms],
            "runs": runs}


def other_ladders():
    """Likewise with one thing otherwise: what is asked, how it ended, how many rounds, what was measured."""
    def changed(change):
        ladder = ladder_runs()
        change(ladder)
        return ladder

    def of_runs(change):
        return changed(lambda ladder: [change(run) for run in ladder["runs"]])

    def rounds(number):
        return changed(lambda ladder: ladder.update(rounds=number, runs=[run for run in ladder["runs"] if run["round"] <= number]))

    return {
        "by-output": changed(lambda ladder: ladder.update(source="output", end="decided")),
        "stopped": changed(lambda ladder: ladder.update(end="stopped", seconds=59.0)),
        "all-rounds": changed(lambda ladder: ladder.update(end="rounds", margin_ratio=0.05, alpha=0.01)),
        "one-round": rounds(1), "two-rounds": rounds(2), "three-rounds": rounds(3),
        "no-facts": of_runs(lambda run: [run.pop(key) for key in ("sm_clock_hz", "power_w", "joules_per_step", "peak_memory_bytes", "loss", "launches")]),
        "same-loss": of_runs(lambda run: run.update(loss=3.5)),
        "one-seed": of_runs(lambda run: run.update(seed=1, loss=3.5 + 0.01 * run["program"])),
        "unsettled": of_runs(lambda run: run.update(settled=False)),
        "noisy": of_runs(lambda run: run.update(step_ns=round(run["step_ns"] * (1 + 0.02 * (-1) ** run["round"] * (1 + run["program"] % 3))))),
        "slower": of_runs(lambda run: run.update(step_ns=round(80e6 - run["step_ns"]))),
    }


class Group:
    """The documents of one group as the program makes them now, by name."""

    def __init__(self, name, folder, ridgeline, fabricate):
        self.name, self.folder, self.ridgeline, self.fabricate = name, folder, ridgeline, fabricate
        self.notes = []  # what was run before: (words, how it ended)
        self.written = []  # files that commands write, which are documents too

    def make(self, name, *words):
        subprocess.run([self.fabricate, self.folder / name, "layers=2", *words], check=True)
        return name

    def commands(self):
        if self.name == "bundled":
            shutil.copy(BUNDLED, self.folder / "bundled.ridge")
            shutil.copy(CEILINGS, self.folder / "ceilings.json")
            return list(of_capture("bundled.ridge")) + list(of_roofs("bundled.ridge"))
        if self.name == "damaged":
            whole = BUNDLED.read_bytes()
            (self.folder / "damaged.ridge").write_bytes(whole[: len(whole) * 6 // 10])
            (self.folder / "empty.ridge").write_bytes(b"")
            (self.folder / "text.ridge").write_text("no capture\n" * 100)
            return [(f"{verb}-{name}.txt", [verb, f"{name}.ridge"], 100) for name in ("damaged", "empty", "text", "missing")
                    for verb in ("info", "rank", "check", "steps", "report")]
        if self.name == "ceilings":
            shutil.copy(CEILINGS, self.folder / "ceilings.json")
            stopped = json.loads(CEILINGS.read_text()) | {"left_out": ["compute.fp64 burst", "energy of dram.read at a part of its rate"]}
            (self.folder / "stopped.json").write_text(json.dumps(stopped))
            return list(tables("ceilings", "--show", "ceilings.json")) + [
                *((f"stopped.{suffix}", ["ceilings", "--show", "stopped.json", *form], 100) for suffix, form in (("txt", []), ("json", ["--format", "json"]))),
                ("ceilings-all-columns.csv", ["ceilings", "--show", "ceilings.json", "--columns", "all", "--format", "csv"], 100)]
        if self.name == "ladder":
            (self.folder / "runs.json").write_text(json.dumps(ladder_runs()))
            others = other_ladders()
            for name, runs in others.items():
                (self.folder / f"{name}.json").write_text(json.dumps(runs))
            return [(f"{name}.{suffix}", ["ladder", "--show", f"{name}.json", *form], 120) for name in others
                    for suffix, form in (("txt", []), ("json", ["--format", "json"]))] + list(tables("ladder", "--show", "runs.json")) + [
                (f"ladder-{columns}.txt", ["ladder", "--show", "runs.json", "--columns", columns], 160) for columns in ("ways", "machine")] + [
                ("ladder-all-columns.csv", ["ladder", "--show", "runs.json", "--columns", "all", "--format", "csv"], 100)]
        if self.name == "window-help":
            return [(f"help-gui-{width}.txt", ["gui", "--help"], width) for width in WIDTHS]
        if self.name in ("imports", "broken", "exports", "shapes", "jobs", "pages", "help"):
            return list(getattr(self, self.name)())
        if self.name == "history":
            return list(self.history())
        if self.name == "job":
            return list(self.job())
        if self.name in CAPTURES:
            capture = self.make(f"{self.name}.ridge", *CAPTURES[self.name])
            shutil.copy(CEILINGS, self.folder / "ceilings.json")
            return (list(of_capture(capture)) + (list(of_scopes(capture)) if self.name in WITH_SCOPES else []) +
                    (list(of_roofs(capture)) if self.name in WITH_ROOFS else []))
        words_a, words_b, runs = COMPARISONS[self.name]
        a = [self.make(f"a{i}.ridge", f"run={i}", *words_a) for i in range(1, runs + 1)]
        b = [self.make(f"b{i}.ridge", f"run={i + 20}", *words_b) for i in range(1, runs + 1)]
        return list(of_comparison(a, b))

    def job(self):
        def generate(folder, *words):
            self.generate("ranks", folder, "--layers", "3", "--rank-steps", "6", *words)
            return sorted(str(path.relative_to(self.folder)) for path in (self.folder / folder).glob("*.ridge"))
        captures = generate("job", "--ranks", "4", "--hosts-of", "2", "--cause", "more-cycles", "--straggler", "2", "--late-ns", "600000",
                            "--clock-offset", "4000000", "--clock-drift", "20000")
        alone = generate("alone", "--ranks", "1")[0]
        self.run(["merge", *captures, "-o", "job.ridge"], 100)
        near = generate("near", "--ranks", "3", "--cause", "more-work", "--straggler", "1", "--late-ns", "300000")
        self.run(["merge", *near, "-o", "near.ridge"], 100)
        link = {"level": "nvlink", "unit": "bytes_per_s", "readings": [{"state": "burst", "value": 3.96e11, "spread_ratio": 0.001, "seconds": 0.1}]}
        machine = json.loads(CEILINGS.read_text())
        machine["roofs"] += [link | {"kind": kind} for kind in ("to_peer", "from_peer", "both")]
        (self.folder / "linked.json").write_text(json.dumps(machine))
        held = ["ranks", "near.ridge", "--by", "collective", "--ceilings", "linked.json"]
        return [*of_job("job.ridge", captures, alone), ("link.txt", held, 160), ("link-80.txt", held, 80), ("link.json", [*held, "--format", "json"], 100),
                ("link-hosts.txt", ["ranks", "job.ridge", "--by", "collective", "--ceilings", "linked.json"], 160)]

    def generate(self, kind, name, *words):
        subprocess.run([self.ridgeline.parent / "ridgeline_generate", kind, self.folder / name, *words], check=True, stdout=subprocess.DEVNULL)
        return name

    def shapes(self):
        """Recordings with all tiers: as captures, and two of them as the agent writes them, imported row by row."""
        for shape in SHAPES:
            capture = self.generate("capture", f"{shape}.ridge", "--shape", shape, *SHAPE)
            for verb in ("info", "steps", "check", "interventions"):
                yield f"{shape}-{verb}.txt", [verb, capture], 100
            yield f"{shape}-advise.txt", ["advise", capture, "--all"], 100
            for by in ("kernel", "kernel-grid", "nvtx", "launch"):
                yield f"{shape}-rank-by-{by}.csv", ["rank", capture, "--by", by, "--columns", "all", "--format", "csv", "--top", "20"], 100
            yield f"{shape}-roofline.csv", ["roofline", capture, "--columns", "all", "--format", "csv"], 100
            yield f"{shape}-explain.json", ["explain", capture, "1", "--format", "json"], 100
            for name, change in (("gemm", ["gemm*=2x"]), ("all", ["*=1.25x"]), ("graph", ["--graph"]), ("roof", ["--at-roof", "70"])):
                yield f"{shape}-what-if-{name}.json", ["what-if", capture, *change, "--format", "json"], 100
        for shape in ("eager", "decode"):
            spool = self.generate("spool", f"spool-{shape}", "--shape", shape, *SHAPE)
            self.notes.append((f"import {spool}", self.run(["import", spool, "-o", f"{spool}.ridge"], 100)))
            yield from of_import(spool, ("pm_window", "tier_coverage", "launch_metric", "metric", "range_work", "v_tier"))

    def broken(self):
        """Foreign recordings that are cut, lack a part or hold another value: what is said, and how much is read."""
        trace = foreign.kineto(steps=2)
        self.make("made.ridge", "layers=1", "declared")
        self.run(["export", "made.ridge", "--format", "perfetto", "--steps", "2..3", "-o", "made.pftrace"], 100)
        spool = self.generate("spool", "spool", "--shape", "eager", *SHAPE[:-2])
        files = {}
        for i in range(1, 24):
            files[f"cut-{i:02}.json"] = trace[: len(trace) * i // 24].encode()
        for key in ("deviceProperties", "distributedInfo", "baseTimeNanoseconds", "traceEvents", "schemaVersion"):
            files[f"without-{key}.json"] = trace.replace(f'"{key}"', '"other"').encode()
        for name, old, new in (("no-correlation", '"correlation"', '"other"'), ("no-dur", '"dur"', '"other"'), ("no-ts", '"ts"', '"other"'),
                               ("no-cat", '"cat"', '"other"'), ("no-name", '"name"', '"other"'), ("text-ts", '"ts": 1', '"ts": "1'), ("no-grid", '"grid"', '"other"'),
                               ("no-device", '"device"', '"other"'), ("no-stream", '"stream"', '"other"'), ("quote", "aten::add_", 'aten::"add_'),
                               ("no-tid", '"tid"', '"other"'), ("no-group", '"Process Group', '"Other'), ("array", '{"schemaVersion": 1', '[{"schemaVersion": 1')):
            files[f"{name}.json"] = trace.replace(old, new).encode()
        perfetto = (self.folder / "made.pftrace").read_bytes()
        for i in range(1, 12):
            files[f"cut-{i:02}.pftrace"] = perfetto[: len(perfetto) * i // 12]
            at = len(perfetto) * i // 12
            files[f"other-byte-{i:02}.pftrace"] = perfetto[:at] + bytes([perfetto[at] ^ 0x15]) + perfetto[at + 1:]
        raw = foreign.ncu_raw([("gemm(int)", 64, 256, 90_000, 9e6), ("add(int)", 32, 128, 9_000, 1e6)])
        lines = raw.splitlines(keepends=True)
        for i in range(len(lines)):
            files[f"without-line-{i}.csv"] = "".join(lines[:i] + lines[i + 1:]).encode()
        for i in range(1, 8):
            files[f"cut-{i}.csv"] = raw[: len(raw) * i // 8].encode()
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        for table in foreign.NSYS_TABLES:
            foreign.nsys(self.folder / f"without-{table}.sqlite", without=(table,), steps=2)
        foreign.nsys(self.folder / "bare.sqlite", without=("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_GPU", "META_DATA_EXPORT"), steps=2)
        names = [*files, *(f"without-{table}.sqlite" for table in foreign.NSYS_TABLES), "bare.sqlite"]
        for part in sorted(path.name for path in (self.folder / spool).iterdir()):
            data = (self.folder / spool / part).read_bytes()
            for i in range(1, 6):
                shutil.copytree(self.folder / spool, self.folder / f"{part}-cut-{i}")
                (self.folder / f"{part}-cut-{i}" / part).write_bytes(data[: len(data) * i // 6])
                names.append(f"{part}-cut-{i}")

        def imported(name):
            onto = ["--onto", "made.ridge"] if name.endswith(".csv") else []
            done = self.run(["import", name, *onto, "-o", f"{name}.ridge"], 160)
            read = self.run(["sql", f"{name}.ridge", "SELECT count(*) AS launches, count(DISTINCT kernel_id) AS kernels, sum(end_ns - start_ns) AS ns, count(DISTINCT step_id) "
                             "AS steps, count(host_start_ns) AS called, (SELECT count(*) FROM memcpy) AS copies, (SELECT count(*) FROM nvtx_range) AS ranges, "
                             "(SELECT count(*) FROM launch_metric) AS metrics FROM launch", "--format", "csv"], 100)
            done.stdout += read.stdout
            return f"import {name}", done

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.notes += pool.map(imported, names)
        return []

    def exports(self):
        """What other programs are given: traces as text, and views."""
        for name, words in (("plain", ["layers=1", "samples", "declared"]), ("ranks", ["layers=1", "ranks=2", "overlap"]), ("graphs", ["layers=1", "graphs"])):
            capture = self.make(f"{name}.ridge", *words)
            yield f"{name}-trace.json", ["export", capture, "--format", "chrome", "--steps", "3..3", "-o", "-"], 100
            yield f"{name}-stripped.json", ["export", capture, "--format", "chrome", "--steps", "2..2", "--range", "forward", "--strip", "-o", "-"], 100
            yield f"{name}-launches.csv", ["export", capture, "--format", "csv", "--steps", "2..3", "-o", "-"], 100
            for view in ("v_step", "v_tier", "v_synchronisation", "v_process", "v_rank", "v_launch_metric"):
                yield f"{name}.{view}.csv", ["sql", capture, f"SELECT * FROM {view}", "--format", "csv", "--max-rows", "60"], 100
            for number in (2, 5, 9):
                yield f"{name}-explain-{number}.json", ["explain", capture, str(number), "--format", "json"], 100
                yield f"{name}-explain-{number}.txt", ["explain", capture, str(number)], 80
                yield f"{name}-ncu-{number}.txt", ["ncu-command", capture, str(number)], 80
        yield "schema.txt", ["sql", "--schema"], 100
        yield "columns.json", ["columns", "--format", "json"], 100

    def jobs(self):
        """What makes a rank late, and what is said of it."""
        for cause, words in JOBS.items():
            self.generate("ranks", cause, "--layers", "3", "--rank-steps", "6", *words)
            captures = sorted(str(path.relative_to(self.folder)) for path in (self.folder / cause).glob("*.ridge"))
            self.notes.append((f"merge {cause}", self.run(["merge", *captures, "-o", f"{cause}.ridge"], 100)))
            yield f"{cause}.txt", ["ranks", f"{cause}.ridge"], 100
            yield f"{cause}.json", ["ranks", f"{cause}.ridge", "--format", "json"], 100
            for view in ("step", "collective", "kernel", "account"):
                yield f"{cause}-by-{view}.csv", ["ranks", f"{cause}.ridge", "--by", view, "--columns", "all", "--format", "csv"], 100
            changes = [word for change in ("overlap", "links=4", "links=0.25", "no-skew", "bucket=8MB", "bucket=100MB") for word in ("--what-if", change)]
            for form, suffix in (("text", "txt"), ("json", "json")):
                yield f"{cause}-what-if.{suffix}", ["ranks", f"{cause}.ridge", *changes, "--format", form], 100
            yield f"{cause}.html", ["ranks", f"{cause}.ridge", "--format", "html"], 100
            yield f"{cause}-info.txt", ["info", f"{cause}.ridge"], 100

    def imports(self):
        """Other profilers' recordings: what the import says, every row that it writes, and what is concluded."""
        for rank in (0, 1):
            (self.folder / f"rank{rank}.json").write_text(foreign.kineto(rank))
        foreign.nsys(self.folder / "nsys.sqlite")
        self.make("made.ridge", "layers=1", "declared")
        for form, name in (("perfetto", "made.pftrace"), ("chrome", "made.json")):
            self.run(["export", "made.ridge", "--format", form, "--steps", "2..4", "-o", name], 100)
        sources = {"kineto": ["rank0.json"], "kineto-ranks": ["rank0.json", "rank1.json"], "nsys": ["nsys.sqlite"], "perfetto": ["made.pftrace"],
                   "chrome": ["made.json"], "kineto-named": ["rank0.json", "--step-range", "forward"]}
        for capture, words in sources.items():
            done = self.run(["import", *words, "-o", f"{capture}.ridge"], 100)
            self.notes.append((f"import {' '.join(words)}", done))
        yield from (command for capture in ("kineto", "nsys", "perfetto", "chrome") for command in of_import(capture))
        foreign.nsys(self.folder / "more.sqlite", steps=2, more=True)
        self.notes.append(("import more.sqlite", self.run(["import", "more.sqlite", "-o", "nsys-more.ridge"], 100)))
        for table in ("run", "process", "thread", "device", "memcpy"):
            yield f"nsys-more.{table}.csv", ["sql", "nsys-more.ridge", f"SELECT * FROM {table}", "--format", "csv"], 100
        yield "nsys-more-info.txt", ["info", "nsys-more.ridge"], 100
        for capture in ("kineto-ranks", "kineto-named"):
            yield f"{capture}-info.txt", ["info", f"{capture}.ridge"], 100
            yield f"{capture}-steps.txt", ["steps", f"{capture}.ridge"], 100
            yield f"{capture}-collective.csv", ["sql", f"{capture}.ridge", "SELECT * FROM collective", "--format", "csv"], 100
        yield from self.joined()

    def joined(self):
        """Results of Nsight Compute put onto a capture: those of a step's launches, of some, and of none that is there."""
        shown = self.run(["sql", "made.ridge", "SELECT kernel, grid_x, block_x, duration_ns FROM v_launch WHERE step_index = 3 ORDER BY start_ns",
                          "--format", "json"], 100)
        launches = [(row["kernel"], row["grid_x"], row["block_x"], row["duration_ns"] * 1.1, 4e6 + 1e5 * i)
                    for i, row in enumerate(json.loads(shown.stdout)["rows"])]
        other = [('no_such_kernel<"quoted", 2>(int)', 1, 32, 1000, 1e6)]
        for name, results, comma in (("all.csv", launches, False), ("comma.csv", launches[5:15], True), ("some.csv", launches[3:9] + other, False),
                                     ("none.csv", other, False)):
            (self.folder / name).write_text(foreign.ncu_raw(results, comma))
        for name in ("all", "comma", "some", "none"):
            self.notes.append((f"import {name}.csv --onto made.ridge", self.run(["import", f"{name}.csv", "--onto", "made.ridge", "-o", f"{name}.ridge"], 100)))
        for form, suffix in (("text", "txt"), ("json", "json"), ("csv", "csv"), ("markdown", "md")):
            yield f"onto.{suffix}", ["import", "all.csv", "--onto", "made.ridge", "-o", f"again-{suffix}.ridge", "--format", form, "--all"], 160
        for name in ("all", "some"):
            yield f"onto-{name}-metrics.csv", ["sql", f"{name}.ridge", "SELECT * FROM launch_metric JOIN metric ON metric.id = metric_id WHERE launch_id > 80",
                                               "--format", "csv", "--max-rows", "400"], 100
            yield f"onto-{name}-rank.csv", ["rank", f"{name}.ridge", "--columns", "all", "--format", "csv"], 100
            yield f"onto-{name}-advise.txt", ["advise", f"{name}.ridge", "--all"], 100

    def pages(self):
        """Pages and pictures that are written as files: of captures with and without each part of a page, of comparisons, of ladders, of a history."""
        for name, words in PAGES.items():
            capture = self.make(f"{name}.ridge", "layers=1", *words)
            yield self.page(f"{name}.html", "report", capture, "--format", "html", "-o", f"{name}.html")
        for name, words in (("slower", ["run=30", "codes", "slow=layernorm_backward:1.5"]), ("other", ["run=31", "factor=1.1", "hostile", "driver=590.1"])):
            capture = self.make(f"{name}.ridge", "layers=1", *words)
            yield self.page(f"{name}-compared.html", "report", "plain.ridge", "--against", capture, "--format", "html", "-o", f"{name}-compared.html")
        # The same of a comparison that was kept as JSON.
        moved = [self.make(f"copying{i}.ridge", "layers=1", "codes", "copies=3", f"run={40 + i}") for i in range(3)]
        plain = [self.make(f"plain{i}.ridge", "layers=1", "codes", f"run={50 + i}") for i in range(3)]
        for name, sides in (("came", [*plain, "--against", *moved]), ("went", [*moved, "--against", *plain])):
            (self.folder / f"{name}.compared.json").write_bytes(self.run(["compare", *sides, "--format", "json"], 100).stdout)
            for form, suffix in (("text", "txt"), ("markdown", "md"), ("csv", "csv"), ("junit", "xml"), ("gitlab-metrics", "metrics.txt")):
                yield f"{name}-kept.{suffix}", ["report", f"{name}.compared.json", "--format", form], 100
            yield self.page(f"{name}-kept.html", "report", f"{name}.compared.json", "--format", "html", "-o", f"{name}-kept.html")
        for name, runs in {"ladder": ladder_runs(), **{name: runs for name, runs in other_ladders().items() if name in ("slower", "noisy", "one-round")}}.items():
            (self.folder / f"{name}.json").write_text(json.dumps(runs))
            self.written += [f"{name}/ladder.{suffix}" for suffix in ("html", "svg", "csv", "json")]
            yield f"{name}.txt", ["ladder", "--show", f"{name}.json", "-o", name], 100
        self.make_history()
        yield self.page("history.html", "history", "show", "results.db", "--html", "history.html")

    def page(self, file, *arguments):
        self.written.append(file)
        return f"{file}.txt", list(arguments), 100

    def help(self):
        """What the program says of itself, of every verb, at every width; and of what is no verb or no option."""
        def verbs(*before):
            text = self.run([*before, "--help"], 100).stdout.decode()
            return re.findall(r"^  ([a-z][\w-]*) ", text.partition("\nSubcommands:\n")[2], re.MULTILINE)

        words = [[], *([verb, *more] for verb in verbs() for more in ([], *([below] for below in verbs(verb))))]
        for width in WIDTHS:
            for each in words:
                if each == ["gui"]:  # the desktop program says that, which not every build has: group window-help
                    continue
                yield f"{'-'.join(['help', *each])}-{width}.txt", [*each, "--help"], width
        yield "version.txt", ["--version"], 100
        for number, wrong in enumerate(([], ["--first", "--second"], ["--first=1", "rank"], ["no-such-verb"], ["rnak"], ["rank", "--tpo", "3"], ["rank"], ["history"],
                                        ["rank", "a.ridge", "--top", "many"], ["rank", "a.ridge", "b.ridge"], ["rank", "missing.ridge", "--format", "pdf"])):
            yield f"wrong-{number}.txt", wrong, 100

    def make_history(self):
        for i in range(12):
            words = ["slow=layernorm_backward:1.5"] if i >= 6 else []
            capture = self.make(f"h{i}.ridge", "codes", f"run={i + 1}", f"start={3600 * i}", f"commit={i:040x}", *words)
            self.run(["history", "add", "results.db", capture], 100)

    def history(self):
        self.make_history()
        for width in WIDTHS:
            yield f"show-{width}.txt", ["history", "show", "results.db"], width
        for form, suffix in (("json", "json"), ("csv", "csv"), ("markdown", "md")):
            yield f"show.{suffix}", ["history", "show", "results.db", "--format", form], 100

    def run(self, arguments, width):
        environment = {**{k: v for k, v in os.environ.items() if k in PASSED_ON},
                       "COLUMNS": str(width), "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": str(self.folder), "SOURCE_DATE_EPOCH": "1795222442"}
        return subprocess.run([self.ridgeline, *arguments], cwd=self.folder, env=environment, capture_output=True)

    def documents(self):
        (self.folder / "project.toml").write_text(PROJECT)
        commands = self.commands()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda command: self.run(command[1], command[2]), commands))
        found, said = {}, []
        for words, ended in self.notes:
            said.append(f"$ ridgeline {words}: exit code {ended.returncode}\n".encode() + ended.stdout + ended.stderr)
        for (document, arguments, width), ended in zip(commands, done):
            found[document] = ended.stdout
            said.append(f"$ ridgeline {' '.join(arguments)}   # {document}, {width} columns: exit code {ended.returncode}\n".encode() + ended.stderr)
        for file in self.written:
            path = self.folder / file
            found[file.replace("/", "-")] = path.read_bytes() if path.is_file() else b"not written\n"
        found["commands.txt"] = b"".join(said)
        return {name: text for name, text in found.items() if text}


def difference(name, before, now):
    """The first lines of what changed, for people."""
    lines = [text.decode("utf-8", "replace").splitlines() for text in (before, now)]
    changed = list(difflib.unified_diff(*lines, "accepted", "now", n=1, lineterm=""))[2:]
    shown = [f"    {line[:200]!r}"[1:] if not line.isprintable() else f"    {line[:200]}" for line in changed[:SHOWN_LINES]]
    more = [f"    … and {len(changed) - SHOWN_LINES} lines more"] if len(changed) > SHOWN_LINES else []
    return "\n".join([f"{name}:", *shown, *more])


def compare(group, found):
    folder = GOLDEN / group
    accepted = {path.name: path.read_bytes() for path in sorted(folder.glob("*"))} if folder.is_dir() else {}
    changed = [name for name in sorted({**accepted, **found}) if accepted.get(name) != found.get(name)]
    for name in changed[:SHOWN_DOCUMENTS]:
        print(difference(f"{group}/{name}", accepted.get(name, b""), found.get(name, b"")))
    if len(changed) > SHOWN_DOCUMENTS:
        print("and in " + ", ".join(changed[SHOWN_DOCUMENTS:]))
    if changed:
        print(f"{len(changed)} of {len(found)} documents of {group} are not what was accepted. If that is meant: scripts/accept-documents")
    else:
        print(f"{group}: {len(found)} documents as accepted")
    return not changed


def accept(group, found):
    folder = GOLDEN / group
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*"):
        if path.name not in found:
            path.unlink()
    for name, text in found.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != text:
            (folder / name).write_bytes(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridgeline", type=Path)
    parser.add_argument("fabricate", type=Path)
    groups = ["bundled", *CAPTURES, "damaged", *COMPARISONS, "history", "ceilings", "ladder", "job", "imports", "broken", "exports", "shapes", "jobs", "pages", "help", "window-help"]
    parser.add_argument("--only", action="append", choices=groups, metavar="GROUP", help=", ".join(groups))
    parser.add_argument("--accept", action="store_true", help="write what the program makes now")
    options = parser.parse_args()
    good = True
    if not (options.ridgeline.resolve().parent / "ridgeline-gui").is_file():
        groups.remove("window-help")
    for name in options.only or groups:
        with tempfile.TemporaryDirectory() as folder:
            found = Group(name, Path(folder), options.ridgeline.resolve(), options.fabricate.resolve()).documents()
        if options.accept:
            accept(name, found)
        else:
            good &= compare(name, found)
    if not options.only and (stale := {path.name for path in GOLDEN.iterdir()} - set(groups) - {"window-help"}):
        if options.accept:
            for name in stale:
                shutil.rmtree(GOLDEN / name)
        else:
            print("no group makes " + ", ".join(sorted(stale)))
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
