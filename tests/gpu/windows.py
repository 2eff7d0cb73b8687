#!/usr/bin/env python3
"""Records programs that mark no steps, run on, pause, and come as several processes; windows by time and by signal.

usage: windows.py --ridgeline RIDGELINE --looper AGENT_LOOPER [--out DIR] [--json FILE] [CHECK...]

`--list` names the checks. The looper's step is 46 launches: one embed, 12 layers of 3, 9 updates.
"""
import json
import os
import re
import signal
import time

from common import Checks, Facts, Started, open_capture, options_of, run

STEP = 46
PAUSE_NS = 4_000_000  # of the looper with --sleep or --callback
SCHEDULE = "warmup=3,timeline=10,replay=2"


class Case:
    def __init__(self, options, name):
        self.options, self.capture = options, os.path.join(options.out, f"window-{name}.ridge")

    def command(self, looper, *record):
        return [self.options.ridgeline, "record", "--force", "-o", self.capture, "--schedule", SCHEDULE, *record, "--",
                self.options.looper, *looper]

    def record(self, looper, *record):
        return run(self.command(looper, *record), timeout=60)

    def rows(self, sql):
        db = open_capture(self.capture)
        try:
            return [dict(row) for row in db.execute(sql)]
        finally:
            db.close()

    def step_launches(self, process=None):
        """Launches of each whole step."""
        where = f"AND s.process_id = {process}" if process else ""
        return [row["n"] for row in self.rows(
            f"SELECT count(*) n FROM step s JOIN launch l ON l.step_id = s.id WHERE s.status = 'ok' {where} GROUP BY s.id")]


def expect(wrong, condition, text):
    if not condition:
        wrong.append(text)


def period(case):
    wrong, done = [], case.record(["4"])
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    expect(wrong, facts.sources == {"period"}, f"steps by {facts.sources}")
    expect(wrong, set(case.step_launches()) == {STEP}, f"launches of a step: {sorted(set(case.step_launches()))}")
    expect(wrong, facts.steps.get("replay") == 2, f"{facts.steps.get('replay', 0)} replay steps are ok")
    codes = case.rows("SELECT count(*) n, count(DISTINCT code_hash) codes FROM kernel")[0]
    expect(wrong, codes["n"] == codes["codes"] == 5, f"{codes['codes']} code hashes of {codes['n']} kernels")
    return wrong, f"{facts.step_text()}; {facts.counts()}; {codes['codes']} code hashes"


def graph(case):
    wrong, done = [], case.record(["3", "--graph"], "--tiers", "T0")
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    expect(wrong, facts.sources == {"period"}, f"steps by {facts.sources}")
    launches = set(case.step_launches())
    expect(wrong, launches == {STEP}, f"kernels of a step: {sorted(launches)}")
    return wrong, f"{facts.step_text()}; {facts.counts()}"


def contexts(case):
    wrong, done = [], case.record(["3", "--contexts"])
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    expect(wrong, set(case.step_launches()) == {2 * STEP}, f"launches of a step: {sorted(set(case.step_launches()))}")
    expect(wrong, "several contexts" in facts.tiers["T2"][1], f"T2 {facts.tiers['T2']}")
    return wrong, f"{facts.step_text()}; T2 {facts.tiers['T2'][0]}: {facts.tiers['T2'][1][:80]}"


def irregular(case):
    wrong, done = [], case.record(["2", "--irregular"])
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    expect(wrong, facts.sources == {"window"}, f"steps by {facts.sources}")
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    rank = run([case.options.ridgeline, "rank", case.capture], timeout=60)
    expect(wrong, rank.status == 0, f"rank exits {rank.status}: {rank.tail()}")
    return wrong, f"{facts.step_text()}; rank exits {rank.status}"


def children(case):
    wrong, done = [], case.record(["4", "--children", "2"])
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    ranks = sorted(row["rank"] for row in case.rows("SELECT rank FROM process WHERE rank IS NOT NULL"))
    expect(wrong, ranks == [0, 1], f"ranks {ranks}")
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    tiers = sorted(row["status"] for row in case.rows("SELECT status FROM tier_status WHERE tier = 'T2'"))
    expect(wrong, "ok" in tiers, f"no process got T2: {tiers}")
    return wrong, f"ranks {ranks}; {facts.counts()}; T2 {', '.join(tiers)}"


def longest_gap(case, looper):
    """What `steps` says of a step of the program: (what is wrong, its accounting)."""
    wrong, done = [], case.record(["3", looper], "--tiers", "T0")
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts = Facts(case.capture)
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    expect(wrong, facts.sources == {"period"}, f"steps by {facts.sources}")
    steps = run([case.options.ridgeline, "steps", "--format", "json", case.capture], timeout=60)
    accounting = json.loads(steps.out)["accounting"]
    gap = accounting["longest_gap"] or {}
    expect(wrong, PAUSE_NS <= gap.get("duration_ns", 0) < 1.3 * PAUSE_NS, f"the longest gap takes {gap.get('duration_ns')} ns")
    expect(wrong, gap.get("call") == "cudaStreamSynchronize", f"the call is {gap.get('call')}")
    expect(wrong, " in thread main, " in gap.get("cause", ""), f"the cause is '{gap.get('cause')}'")
    return wrong, accounting


def sleeping(case):
    wrong, accounting = longest_gap(case, "--sleep")
    host, gap = accounting["gap_host_bound_ns"], accounting["longest_gap"] or {}
    expect(wrong, gap.get("kind") == "host_bound", f"the longest gap is {gap.get('kind')}")
    expect(wrong, host >= PAUSE_NS, f"CPU-bound gaps take {host} ns")
    expect(wrong, accounting["gap_tail_ns"] == 0, f"{accounting['gap_tail_ns']} ns of gaps are a tail")
    expect(wrong, accounting["gap_synchronisation_ns"] < PAUSE_NS / 10,
           f"synchronisation takes {accounting['gap_synchronisation_ns']} ns")
    return wrong, f"step {accounting['step_ns'] / 1e6:.2f} ms, CPU-bound {host / 1e6:.2f} ms: {gap.get('cause')}"


def waiting(case):
    wrong, accounting = longest_gap(case, "--callback")
    waits, gap = accounting["gap_synchronisation_ns"] or 0, accounting["longest_gap"] or {}
    expect(wrong, gap.get("kind") == "synchronisation", f"the longest gap is {gap.get('kind')}")
    expect(wrong, waits >= PAUSE_NS, f"synchronisation takes {waits} ns")
    expect(wrong, gap.get("call_ns") and gap["call_ns"] >= PAUSE_NS, f"the call takes {gap.get('call_ns')} ns")
    expect(wrong, accounting["gap_host_bound_ns"] < PAUSE_NS / 10, f"CPU-bound gaps take {accounting['gap_host_bound_ns']} ns")
    named = case.rows("SELECT DISTINCT name FROM thread t JOIN synchronisation w USING (process_id, thread_id)")
    expect(wrong, [row["name"] for row in named] == ["main"], f"threads that wait: {named}")
    return wrong, f"step {accounting['step_ns'] / 1e6:.2f} ms, synchronisation {waits / 1e6:.2f} ms: {gap.get('cause')}"


def medians(out):
    """(seconds since the program's start, median microseconds of a step) four times a second."""
    return [(float(m[1]), float(m[2])) for m in re.finditer(r"at ([\d.]+) median_us ([\d.]+)", out)]


def duration(case):
    wrong, done = [], case.record(["6", "--report"], "--after", "2s", "--duration", "1500ms", "--tiers", "T0")
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts, windows = Facts(case.capture), case.rows("SELECT * FROM recording_window")
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    expect(wrong, len(windows) == 1 and windows[0]["cause"] == "delay", f"windows {windows}")
    length = (windows[0]["end_ns"] - windows[0]["start_ns"]) / 1e9 if windows and windows[0]["end_ns"] else 0
    expect(wrong, 1.4 < length < 2, f"the window is {length:.2f} s long")
    expect(wrong, facts.steps.get("timeline", 0) == 10, f"{facts.step_text()}")
    expect(wrong, any("is written, the program goes on" in line for line in done.said()), "the early capture was not announced")
    points = medians(done.out)
    before = [us for at, us in points if 1.2 < at < 1.9]
    after = [us for at, us in points if at > 4.5]
    if before and after:
        cost = (sum(before) + sum(after)) / (len(before) + len(after))
        inside = [us for at, us in points if 2.6 < at < 3.3]
        return wrong, f"window {length:.2f} s; step {cost:.0f} us outside, {sum(inside) / max(len(inside), 1):.0f} us inside; {facts.counts()}"
    return wrong + ["the program reported no step times"], ""


def by_signal(case):
    wrong = []
    started = Started(case.command(["7"], "--wait"))
    time.sleep(2.5)
    for wait in (1.2, 1.2, 1.2):
        started.process.send_signal(signal.SIGUSR2)
        time.sleep(wait)
    started.process.send_signal(signal.SIGUSR2)
    done = started.finish(60)
    expect(wrong, done.status == 0, f"exit {done.status}: {done.tail()}")
    facts, windows = Facts(case.capture), case.rows("SELECT * FROM recording_window")
    expect(wrong, [w["cause"] for w in windows] == ["signal", "signal"], f"windows {windows}")
    expect(wrong, all(w["end_ns"] for w in windows), "a window was not closed")
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    outside = case.rows("SELECT count(*) n FROM launch l WHERE NOT EXISTS (SELECT 1 FROM recording_window w WHERE "
                        "l.host_start_ns >= w.start_ns AND l.host_start_ns <= w.end_ns)")[0]["n"]
    expect(wrong, outside == 0, f"{outside} launches outside the windows")
    return wrong, f"{len(windows)} windows; {facts.step_text()}; {facts.counts()}"


def stop(case):
    wrong, done = [], case.record(["30"], "--duration", "1500ms", "--stop-program", "--tiers", "T0")
    expect(wrong, done.status == 128 + signal.SIGTERM, f"exit {done.status}: {done.tail()}")
    expect(wrong, done.seconds < 10, f"it took {done.seconds:.0f} s")
    facts = Facts(case.capture)
    expect(wrong, facts.complete(), f"records are missing: {facts.completeness}")
    return wrong, f"ended after {done.seconds:.1f} s; {facts.counts()}"


CHECKS = {"period": period, "graph": graph, "contexts": contexts, "irregular": irregular, "children": children,
          "sleep": sleeping, "wait": waiting, "duration": duration, "signal": by_signal, "stop": stop}


def main():
    parser = options_of(__doc__, "ridgeline", "looper")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CHECKS))
        return
    unknown = [name for name in options.checks if name not in CHECKS]
    if unknown:
        parser.error(f"no such check: {unknown[0]}; there are {', '.join(CHECKS)}")
    checks = Checks(options.json)
    for name in options.checks or CHECKS:
        try:
            wrong, detail = CHECKS[name](Case(options, name))
        except Exception as error:  # a check that breaks off has failed
            wrong, detail = [f"{type(error).__name__}: {error}"], ""
        checks.add(name, not wrong, detail + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))
    checks.finish()


if __name__ == "__main__":
    main()
