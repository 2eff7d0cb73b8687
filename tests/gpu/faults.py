#!/usr/bin/env python3
"""What a recording does when something goes wrong, one row a fault.

usage: faults.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --exerciser AGENT_EXERCISER [--out DIR] [--json FILE] [FAULT...]

Each fault must end in a valid capture of what happened (read here with SQL, and by `ridgeline info`), or in none where
nothing could happen, and in one clear line. Rows say what was seen. `--list` names the faults.
"""
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from common import Checks, Facts, Started, children, options_of, run


def steps_of_5_ms(count):
    return ("--model", "124M", "-B", "1", "-T", "512", "--no-cuda-graph", "--steps", str(count), "--matmul-search", "off", "--matmul-cache", "none")


ENDLESS = steps_of_5_ms(100_000)  # what is recorded is what was running when the fault came
TIMELINE = ("--schedule", "warmup=2,timeline=1000000")


class Faults:
    def __init__(self, options):
        self.o = options
        self.checks = Checks(options.json)
        os.makedirs(options.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.o.out, f"fault-{name}.ridge")

    def record(self, name, program, *options, env=None, limits=None, prefix=(), timeout=120):
        return run([*prefix, self.o.ridgeline, "record", "--force", "-o", self.path(name), *options, "--", *program],
                   env=env, limits=limits, timeout=timeout)

    def log(self, name, done):
        with open(os.path.join(self.o.out, f"fault-{name}.log"), "w") as file:
            file.write(done.out + done.err)

    def start(self, name, program, *options, env=None):
        return Started([self.o.ridgeline, "record", "--force", "-o", self.path(name), *options, "--", *program], env)

    def exerciser(self, *arguments):
        return [self.o.exerciser, *[str(a) for a in arguments]]

    def facts(self, name, wrong, path=None):
        """The capture, read twice; what is wrong with it goes to `wrong`."""
        path = path or self.path(name)
        if not os.path.exists(path):
            wrong.append("there is no capture")
            return None
        facts = Facts(path)
        if facts.problem:
            wrong.append(facts.problem)
        info = run([self.o.ridgeline, "info", path], timeout=60)
        if info.status != 0:
            wrong.append(f"info exits {info.status}: {info.tail()}")
        if facts.steps.get("timeline"):
            rank = run([self.o.ridgeline, "rank", path], timeout=60)
            if rank.status != 0:
                wrong.append(f"rank exits {rank.status}: {rank.tail()}")
        return facts

    def verdict(self, name, wrong, seen, done=None, lines=1):
        """`done` must have said exactly `lines` lines; None: any number."""
        if done is not None and lines is not None and len(done.said()) != lines:
            wrong.append(f"{len(done.said())} lines were said, {lines} expected: " + " | ".join(line[:160] for line in done.said()[:4]))
        line = f'; said: "{done.said()[0][:200]}"' if done is not None and done.said() else ""
        self.checks.add(name, not wrong, seen + line + ("" if not wrong else " -- WRONG: " + "; ".join(wrong)))

    def wait_for(self, started, what, seconds=40):
        """The recorded program's pid once `what(pid)` holds; None if that does not come."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and started.process.poll() is None:
            for pid in children(started.process.pid):
                if what(pid):
                    return pid
            time.sleep(0.1)
        return None

    def spool_of(self, name, megabytes=9):
        """True once the spool has grown twice, 4 MiB each time: some hundred steps."""
        def grown(_):
            files = glob.glob(os.path.join(self.o.out, f"fault-{name}-*.spool", "*.spool"))
            return any(os.stat(f).st_blocks * 512 > megabytes * 1e6 for f in files)
        return grown

    # -- the faults -----------------------------------------------------------------------------------------------

    def sigkill_program(self):
        name, wrong = "sigkill-program", []
        started = self.start(name, [self.o.trainer, *ENDLESS], *TIMELINE)
        pid = self.wait_for(started, self.spool_of(name))
        time.sleep(2)
        if pid is None:
            wrong.append("the program never recorded anything")
            started.kill()
        else:
            os.kill(pid, signal.SIGKILL)
        done = started.finish(60)
        facts = self.facts(name, wrong)
        if done.status != 128 + 9:
            wrong.append(f"record exits {done.status}, not 137")
        if facts and facts.run["exit_signal"] != 9:
            wrong.append(f"the capture says exit signal {facts.run['exit_signal']}")
        if facts and facts.steps.get("timeline", 0) < 20:
            wrong.append(f"only {facts.steps.get('timeline', 0)} timeline steps were kept")
        self.verdict(name, wrong, f"capture of {facts.step_text()}, {facts.counts()}; exit 137" if facts else "-", done)

    def sigkill_launcher(self):
        name, wrong = "sigkill-launcher", []
        program = [self.o.trainer, *steps_of_5_ms(500)]
        started = self.start(name, program, *TIMELINE)
        pid = self.wait_for(started, self.spool_of(name))
        os.kill(started.process.pid, signal.SIGKILL)
        if pid is None:
            wrong.append("the program never recorded anything")
        else:
            deadline = time.monotonic() + 60
            while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
                time.sleep(0.1)
            if os.path.exists(f"/proc/{pid}"):
                wrong.append("the program outlived its steps")
        started.kill()
        started.finish(30)
        spools = [d for d in glob.glob(os.path.join(self.o.out, f"fault-{name}-*.spool")) if os.path.isdir(d)]
        if len(spools) != 1:
            wrong.append(f"{len(spools)} spool directories are left")
            return self.verdict(name, wrong, "-")
        done = run([self.o.ridgeline, "import", spools[0], "--force", "-o", self.path(name)], timeout=120)
        facts = self.facts(name, wrong)
        if done.status != 0:
            wrong.append(f"import exits {done.status}")
        if facts and facts.steps.get("timeline", 0) < 490:
            wrong.append(f"{facts.steps.get('timeline', 0)} of 498 timeline steps are there")
        shutil.rmtree(spools[0], ignore_errors=True)
        self.verdict(name, wrong, f"the program ran to its end; import of its spool: {facts.step_text()}, {facts.counts()}" if facts else "-",
                     done)

    def full_disk(self):
        name, wrong = "full-disk", []
        small = os.path.join(self.o.out, "small-disk")
        os.makedirs(small, exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", small], capture_output=True).returncode == 0
        program = [self.o.trainer, *steps_of_5_ms(300)]
        try:
            if mounted:
                how = "spool on a tmpfs of 10 MB"
                done = self.record(name, program, *TIMELINE, "--spool-directory", small)
            else:
                how = "spool limited to 10 MB (no right to mount a small disk here)"
                done = self.record(name, program, *TIMELINE, env={"RIDGELINE_SPOOL_LIMIT_BYTES": str(10 << 20)})
        finally:
            if mounted:
                subprocess.run(["umount", small], capture_output=True)
        facts = self.facts(name, wrong)
        if done.status != 0:
            wrong.append(f"record exits {done.status}: the program was disturbed, or no capture was made")
        if facts and facts.total("lost_spool_records") == 0:
            wrong.append("no record was lost: the disk was not full")
        if facts and facts.tiers.get("T0", ("", ""))[0] != "partial":
            wrong.append(f"tier T0 is {facts.tiers.get('T0')}")
        self.verdict(name, wrong, f"{how}: {facts.counts()}, {facts.total('lost_spool_records')} records counted as lost" if facts else how, done)

    def file_size_limit(self):
        name, wrong = "file-size", []

        def limits():  # beyond it the system sends SIGXFSZ, which must end neither the program nor the launcher
            resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, 6 << 20))

        program = [self.o.trainer, *steps_of_5_ms(300)]
        done = self.record(name, program, *TIMELINE, limits=limits)
        # The capture itself may be too large for the limit as well: then the spool stays and says so.
        if os.path.exists(self.path(name)):
            facts = self.facts(name, wrong)
            self.verdict(name, wrong, f"files of 6 MB at most: {facts.counts()}, {facts.total('lost_spool_records')} lost", done, None)
            return
        spool = re.search(r"ridgeline import '?([^\s']+)'?", done.err)
        if not spool:
            wrong.append(f"no capture and no kept spool: {done.tail()}")
            return self.verdict(name, wrong, "-", done)
        later = run([self.o.ridgeline, "import", spool.group(1), "--force", "-o", self.path(name)], timeout=120)
        if later.status != 0:
            wrong.append(f"import exits {later.status}")
        facts = self.facts(name, wrong)
        shutil.rmtree(spool.group(1), ignore_errors=True)
        self.verdict(name, wrong, f"files of 6 MB at most: the spool was kept, imported later: {facts.counts()}" if facts else "-", done)

    def unwritable(self):
        name, wrong = "unwritable", []
        mark = os.path.join(self.o.out, "program-ran")
        done = run([self.o.ridgeline, "record", "-o", "/proc/capture.ridge", "--", "touch", mark])
        if done.status != 4:
            wrong.append(f"record exits {done.status}, not 4")
        if os.path.exists(mark):
            wrong.append("the program was started all the same")
            os.unlink(mark)
        self.verdict(name, wrong, "output in /proc: refused before the program started, exit 4", done)

    def crash(self):
        for how, status in (("segv", 128 + 11), ("abort", 128 + 6), ("_exit", 0)):
            name, wrong = f"ends-by-{how}", []
            done = self.record(name, self.exerciser(800, "--end", how), "--schedule", "warmup=2,timeline=1000")
            facts = self.facts(name, wrong)
            if done.status != status:
                wrong.append(f"record exits {done.status}, not {status}")
            if facts and status and facts.run["exit_signal"] != status - 128:
                wrong.append(f"the capture says exit signal {facts.run['exit_signal']}")
            if facts and facts.steps.get("timeline", 0) < 100:
                wrong.append(f"{facts.steps.get('timeline', 0)} of 798 timeline steps were kept")
            # A process that ends by _exit gives no last flush: what is missing must be said, and nothing else.
            lines = None if how == "_exit" else 1
            if how == "_exit" and facts and facts.complete() != (not done.said()):
                wrong.append("complete and warned, or incomplete and silent")
            self.verdict(name, wrong, f"{facts.step_text()}, {facts.counts()}" if facts else "-", done, lines)

    def under_ncu(self):
        if not shutil.which("ncu"):
            return self.checks.add("ncu", False, "ncu is not on the PATH")
        program = self.exerciser(10)
        for name, seen, command in (
                ("under-ncu", "record started by ncu", ["ncu", "--target-processes", "all", "--launch-count", "1", self.o.ridgeline, "record",
                                                        "--force", "-o", self.path("under-ncu"), "--", *program]),
                ("round-ncu", "ncu started by record", [self.o.ridgeline, "record", "--force", "-o", self.path("round-ncu"), "--",
                                                        "ncu", "--launch-count", "1", *program])):
            wrong = []
            done = run(command, timeout=120)
            self.log(name, done)
            done.err = done.out + done.err  # ncu mixes the two
            if name == "round-ncu" and done.status != 4:
                wrong.append(f"record exits {done.status}, not 4")
            if not any("one profiler at a time" in line for line in done.said()):
                wrong.append("the cause is not named")
            if os.path.exists(self.path(name)):
                wrong.append("a capture was made of nothing")
            self.verdict(name, wrong, f"{seen}: refused before the program started", done)

    def torch_profiler(self):
        name, wrong = "torch-profiler", []
        if not self.o.python_program:
            return self.checks.add(name, False, "no PyTorch program was given")
        kernels = os.path.join(self.o.out, "fault-torch-kernels.json")
        if os.path.exists(kernels):
            os.unlink(kernels)
        done = self.record(name, [sys.executable, self.o.python_program, "--mode", "eager", "-B", "2", "-T", "256", "--steps", "30", "--nvtx",
                                  "--torch-profiler", kernels], "--schedule", "warmup=2,timeline=1000", timeout=180)
        facts = self.facts(name, wrong)
        if done.status != 0:
            wrong.append(f"record exits {done.status}: {done.tail()}")
        got = None
        if os.path.exists(kernels):
            with open(kernels) as file:
                got = len(json.load(file)["kernels"])
        else:
            wrong.append("PyTorch's profiler wrote nothing")
        if facts and facts.complete() != (not done.said()):
            wrong.append("complete and warned, or incomplete and silent")
        if len(done.said()) > 1:
            wrong.append(f"{len(done.said())} lines")
        self.verdict(name, wrong, f"PyTorch's profiler over five steps of the recorded program: {facts.counts()}, {facts.step_text()}; "
                     f"PyTorch's profiler itself has {got} device events" if facts else "-", done, None)

    def no_capability(self):
        name, wrong = "no-capability", []
        prefix = None
        if shutil.which("setpriv"):
            prefix = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--"]
        elif shutil.which("capsh"):
            prefix = ["capsh", "--drop=cap_sys_admin", "--", "-c", 'exec "$@"', "sh"]
        if not prefix:
            return self.checks.add(name, False, "neither setpriv nor capsh is here")
        done = self.record(name, self.exerciser(40), "--schedule", "warmup=2,timeline=8,sample=4,replay=8", prefix=prefix)
        facts = self.facts(name, wrong)
        if not facts:
            return self.verdict(name, wrong, "-", done)
        counters = {tier: facts.tiers.get(tier, ("absent", "")) for tier in ("T1", "T2")}
        refused = [tier for tier, (status, _) in counters.items() if status == "refused"]
        if done.status != 0:
            wrong.append(f"record exits {done.status}")
        if not facts.complete():
            wrong.append(f"the timeline is not complete: {facts.counts()}")
        for tier in refused:
            if "ermi" not in counters[tier][1]:
                wrong.append(f"{tier} is refused without a word on permission")
        seen = ("refused: " + ", ".join(refused)) if refused else "this card gives counters to everybody: " + ", ".join(
            f"{tier} {status}" for tier, (status, _) in counters.items())
        self.verdict(name, wrong, f"CAP_SYS_ADMIN dropped; {seen}; {facts.counts()}", done, None)

    def tiny_buffers(self):
        name, wrong = "tiny-buffers", []
        done = self.record(name, self.exerciser(200, "--tiny", 400), "--schedule", "warmup=2,timeline=1000",
                           env={"RIDGELINE_BUFFER_BYTES": "4096", "RIDGELINE_BUFFER_COUNT": "1"})
        facts = self.facts(name, wrong)
        if done.status != 0:
            wrong.append(f"record exits {done.status}")
        if facts:
            dropped = facts.total("dropped_records")
            missing = facts.total("launches_seen") - facts.total("kernel_records")
            if dropped == 0 or missing == 0:
                wrong.append("nothing was dropped: the fault did not happen")
            if facts.tiers.get("T0", ("", ""))[0] != "partial":
                wrong.append(f"tier T0 is {facts.tiers.get('T0')}")
            self.verdict(name, wrong, f"one buffer of 4 KB: {facts.counts()}, {dropped} dropped by the driver and counted", done)
        else:
            self.verdict(name, wrong, "-", done)

    def two_recordings(self):
        wrong, names = [], ("two-at-once-1", "two-at-once-2")
        both = [self.start(name, self.exerciser(150), "--schedule", "warmup=2,timeline=20,sample=4,replay=8") for name in names]
        done = [each.finish(120) for each in both]
        seen = []
        for name, each in zip(names, done):
            facts = self.facts(name, wrong)
            if each.status != 0:
                wrong.append(f"{name} exits {each.status}: {each.tail()}")
            if facts:
                if not facts.complete():
                    wrong.append(f"{name}: {facts.counts()}")
                if len(each.said()) > 1:
                    wrong.append(f"{name} says {len(each.said())} lines: " + " | ".join(line[:120] for line in each.said()))
                seen.append(f"{facts.counts()}, {facts.tier_text()}" + (f' ("{each.said()[0][:150]}")' if each.said() else ""))
        self.checks.add("two-at-once", not wrong, "; ".join(seen) + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))


FAULTS = {
    "sigkill-program": Faults.sigkill_program, "sigkill-launcher": Faults.sigkill_launcher, "full-disk": Faults.full_disk,
    "file-size": Faults.file_size_limit, "unwritable": Faults.unwritable, "crash": Faults.crash, "ncu": Faults.under_ncu,
    "torch-profiler": Faults.torch_profiler, "no-capability": Faults.no_capability, "tiny-buffers": Faults.tiny_buffers,
    "two-at-once": Faults.two_recordings,
}


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", "exerciser")
    parser.add_argument("--python-program", help="examples/pytorch_gpt2.py, for the fault with PyTorch's profiler")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("faults", nargs="*", metavar="FAULT")
    options = parser.parse_args()
    if options.list:
        print("\n".join(FAULTS))
        return
    unknown = [name for name in options.faults if name not in FAULTS]
    if unknown:
        parser.error(f"no such fault: {unknown[0]}; there are {', '.join(FAULTS)}")
    faults = Faults(options)
    for name in options.faults or FAULTS:
        try:
            FAULTS[name](faults)
        except Exception as error:  # a checker that dies half-way fails its row
            faults.checks.add(name, False, f"the check itself failed: {type(error).__name__}: {error}")
    faults.checks.finish()


if __name__ == "__main__":
    main()
