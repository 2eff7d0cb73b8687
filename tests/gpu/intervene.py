#!/usr/bin/env python3
"""Delays in front of kernels whose place in the step is known: what they do to it, beside what the simulation says.

usage: intervene.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --slacker AGENT_SLACKER [--out DIR] [--json FILE] [--only NAME,...]

Four programs, each alone and recorded with `record --intervene`:
  trainer   a small batch of the trainer without a graph: its GPU is never idle, every kernel is critical
  streams   two streams of known length (tests/collector/gpu/slacker.cu): the side kernel has 2 ms of slack, the main one none
  host      a PyTorch program whose host is the limit (small kernels, one wait a step): no kernel is critical; left out without PyTorch
  power     the trainer with a batch at the board's power limit: 12 blocks of 6 s after single steps; two minutes, not
            alone, and not by default
Rows, for each:
  NAME.same      output and exit status are those alone, and no kernel of the program is missing in the capture
  NAME.delays    delay kernels were recorded, took what was asked for within 5 us and 5 %, and are in no table of launches
  NAME.slope     the measured slope is what the place says, within its error and 0.1
  NAME.simulated the simulation's slope is beside it, and agrees (of `host` it is said, not judged)
  streams.slack  the measured slack of the side kernel is 2 ms within 10 %
  power.blocks   blocks of both kinds came in turn, as many as were asked for, and what they say is known: what is left of a delay over seconds
                 lies within 0 and 1.1, with its interval
  power.expected that interval and the power term's of what-if, for pauses, have something in common
"""
import importlib.util
import json
import os
import re
import sys

from common import Checks, chosen, open_capture, options_of, run

SCHEDULE = "warmup=5,timeline=20"
POWER_STEPS = 25 + 241 + 3400  # 26 ms each on an H100, 22 at the least
TOLERANCE = 0.1
NAMES = ("trainer", "streams", "host", "power")
BY_DEFAULT = NAMES[:3]
BLOCKS, BLOCK_S = 12, 6

HOST_PROGRAM = r"""
import sys, torch
torch.manual_seed(1)
x = torch.randn(64, 64, device="cuda")
w = torch.randn(64, 64, device="cuda") / 8
total = 0.0
for step in range(int(sys.argv[1])):
    torch.cuda.nvtx.range_push("step")
    y = x
    for _ in range(100):
        y = torch.tanh(y @ w)
    total += y.sum().item()
    torch.cuda.nvtx.range_pop()
print(f"{total:.4f}")
"""


def programs(options):
    """name: command, steps of interventions, what is delayed, {part of a kernel's name: (slope, slack in ns or None)}; None: not judged."""
    host = os.path.join(options.out, "intervene-host.py")
    with open(host, "w") as file:
        file.write(HOST_PROGRAM)
    # A batch that leaves the GPU below its power limit, where a delay would also change the clock.
    trainer = [options.trainer, "--model", "124M", "-B", "4", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--no-cuda-graph",
               "--deterministic", "--steps", "560", "--json"]
    # As many steps as fit into the blocks on a fast board, and some.
    limited = [options.trainer, "--model", "124M", "-B", "16", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--no-cuda-graph",
               "--deterministic", "--steps", str(POWER_STEPS), "--json"]
    blocks = ["--intervene", "--intervene-blocks", str(BLOCKS), "--intervene-block-seconds", str(BLOCK_S)]
    return {
        "power": (limited, 241, blocks, {}),
        "trainer": (trainer, 481, ["--intervene"], {"": (1.0, None)}),
        "streams": ([options.slacker, "240"], 161,
                    ["--intervene-kernel", "slack_side=500,1000,1500,2500,3000,4000", "--intervene-kernel", "slack_main=200,400,800"],
                    {"slack_side": (None, 2e6), "slack_main": (1.0, None)}),
        "host": ([sys.executable, host, "240"], 161, ["--intervene-kernel", "tanh=40,80,120"], {"": (0.0, None)}),
    }


def without_times(text):
    """What a program prints, less what differs from run to run: times, rates, energy, memory."""
    if text.lstrip().startswith("{") or "\n{" in text:
        said = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [{key: value for key, value in each.items() if "loss" in key or key in ("steps", "model", "parameters")} for each in said]
    return re.sub(r"[ \t]+", " ", text.strip())


def capture_facts(path):
    db = open_capture(path)
    one = lambda sql: db.execute(sql).fetchone()[0]
    facts = {
        "rows": one("SELECT count(*) FROM intervention"),
        "unrecorded": one("SELECT count(*) FROM intervention WHERE start_ns IS NULL"),
        "as_kernels": one("SELECT count(*) FROM kernel WHERE demangled_name LIKE '%agent_delay%'"),
        "lost": one("SELECT sum(launches_seen - kernel_records) FROM completeness"),
        "levels": db.execute("SELECT level_ns, end_ns - start_ns FROM intervention WHERE start_ns IS NOT NULL").fetchall(),
    }
    db.close()
    return facts


def judge_delays(checks, name, facts):
    off = [(level, took) for level, took in facts["levels"] if level > 0 and not level - 2000 <= took <= level * 1.05 + 5000]
    shams = sorted(took for level, took in facts["levels"] if level == 0)
    delayed = sum(1 for level, _ in facts["levels"] if level > 0)
    sound = facts["rows"] > 0 and facts["unrecorded"] == 0 and facts["as_kernels"] == 0 and delayed > 0 and len(off) <= delayed // 50
    checks.add(f"{name}.delays", sound, f"{facts['rows']} delay kernels, {facts['unrecorded']} without a record, {delayed} not shams, {len(off)} of "
               f"another length {off[:3]}, shams {shams[len(shams) // 2] / 1000 if shams else 0:.1f} us, {facts['as_kernels']} among the program's")


def judge_rows(checks, name, document, expected):
    simulated, slopes, detail = True, True, []
    for row in document["rows"]:
        meant = [value for part, value in expected.items() if part in row["kernel"]]
        text = (f"{row['kernel'][:40]} launch {row['ordinal']}: slope {row['slope']} ({row['slope_low']} to {row['slope_high']}), simulated "
                f"{row['simulated_slope']}, {row['verdict']}, slack {row['slack_ns']} ns, {row['delayed_steps']} delayed, {row['sham_steps']} shams")
        detail.append(text)
        simulated = simulated and row["verdict"] == "agree"
        slope, slack = meant[0] if meant else (None, None)
        if slope is not None:
            known = row["slope"] is not None
            slopes = slopes and known and row["slope_low"] - TOLERANCE <= slope <= row["slope_high"] + TOLERANCE and abs(row["slope"] - slope) < 0.35
        if slack is not None:
            known = row["slack_ns"] is not None and row["slack_reached"]
            checks.add(f"{name}.slack", known and abs(row["slack_ns"] - slack) <= 0.1 * slack,
                       f"{row['slack_ns']} ns ({row['slack_low_ns']} to {row['slack_high_ns']}), expected {slack:.0f}")
    said = "; ".join(detail) or "no launch was delayed"
    checks.add(f"{name}.slope", slopes and document["rows"], said)
    judged = name != "host"
    summary = document["summary"]
    checks.add(f"{name}.simulated", (simulated and bool(document["rows"])) or not judged,
               f"{summary['usable_steps']} of {summary['drawn_steps']} drawn steps, shams cost {summary['sham_cost_ns']}, simulation "
               f"{'known' if summary['simulation_known'] else summary['why']}{'' if judged else ' (not judged)'}; "
               + ", ".join(f"{row['slope']} / {row['simulated_slope']} {row['verdict']}" for row in document["rows"]))


def judge_blocks(checks, document):
    blocks = document["blocks"]
    if blocks is None:
        checks.add("power.blocks", False, "no blocks were recorded")
        return
    left, expected = blocks["left"], blocks["expected_left"]
    sides = [blocks["delayed"], blocks["alone"]]
    whole = all(side["blocks"] >= BLOCKS // 2 - 1 for side in sides)
    text = "; ".join(f"{name} {side['blocks']} blocks, {side['step_ns'] / 1e6:.3f} ms, {(side['clock_hz'] or 0) / 1e6:.0f} MHz, {side['power_w']} W, "
                     f"limited {side['limited_ratio']}" for name, side in zip(("delayed", "alone"), sides))
    checks.add("power.blocks", whole and blocks["verdict"] == "known" and left["low"] <= 1.1 and left["high"] >= 0,
               f"{blocks['verdict']}: {text}; delay {blocks['delay_ns'] / 1e3:.1f} us, slope {blocks['slope']}, left {left}")
    common = left is not None and expected is not None and left["low"] <= expected["high"] and expected["low"] <= left["high"]
    checks.add("power.expected", common, f"left {left}, what-if {expected}")


def check(checks, options, name, program):
    command, steps, asked, expected = program
    capture = os.path.join(options.out, f"intervene-{name}.ridge")
    alone = None if name == "power" else run(command, timeout=60)
    recorded = run([options.ridgeline, "record", "-q", "--force", "--tiers", "T0", "--schedule", SCHEDULE, *asked, "--intervene-steps", str(steps),
                    "--intervene-seed", "7", "-o", capture, "--", *command], timeout=240)
    if alone is None:
        alone = recorded  # too long to run twice: exit status, lost kernels and delays are looked at
    if not os.path.exists(capture):
        checks.add(f"{name}.same", False, f"no capture: exit {recorded.status}: {recorded.tail()}")
        return None
    facts = capture_facts(capture)
    same = recorded.status == alone.status and without_times(recorded.out) == without_times(alone.out)
    checks.add(f"{name}.same", same and facts["lost"] == 0,
               f"exit {alone.status} alone, {recorded.status} recorded, output {'the same' if without_times(recorded.out) == without_times(alone.out) else 'differs: ' + repr(without_times(alone.out))[:200] + ' / ' + repr(without_times(recorded.out))[:200]}, "
               f"{facts['lost']} kernels lost, {alone.seconds:.1f} and {recorded.seconds:.1f} s; {'; '.join(recorded.said()) or 'no message'}")
    judge_delays(checks, name, facts)
    answer = run([options.ridgeline, "interventions", capture, "--format", "json", "--columns", "all"], timeout=60)
    text = run([options.ridgeline, "interventions", capture], timeout=60)
    if answer.status != 0:
        checks.add(f"{name}.slope", False, f"interventions: exit {answer.status}: {answer.tail()}")
        return None
    document = json.loads(answer.out)
    if name == "power":
        judge_blocks(checks, document)
    else:
        judge_rows(checks, name, document, expected)
    return text.out


def print_answers(texts):
    for name, text in texts.items():
        print(f"program  {name}\n{text or '(nothing)'}")


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", "slacker", only=NAMES)
    options = parser.parse_args()
    texts = {}
    checks = Checks(options.json, lambda: print_answers(texts), {"documents": texts})
    all_of = programs(options)
    for name in chosen(parser, options.only, NAMES) if options.only else BY_DEFAULT:
        if name == "host" and importlib.util.find_spec("torch") is None:
            print("host: left out, there is no PyTorch")
            continue
        texts[name] = check(checks, options, name, all_of[name])
    checks.finish()


if __name__ == "__main__":
    main()
