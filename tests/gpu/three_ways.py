#!/usr/bin/env python3
"""One PyTorch step recorded by Ridgeline, by torch.profiler and by Nsight Compute: the three as captures, kernel by kernel.

torch.profiler's trace becomes a capture by `ridgeline import`, Nsight Compute's CSV becomes counters of our recording by `import --onto`.
Prints a table of kernel and grid with launches, times and bytes side by side, and verdicts. Ninety seconds on an H200.
usage: three_ways.py --ridgeline RIDGELINE --out DIR [--layers N] [--batch N] [--json FILE]
"""
import argparse
import csv
import json
import os
import statistics
import sys
import time
from pathlib import Path

import ncu
from common import Checks, kernel_base, open_capture, run

SHOWN = 25
MOST_TIME_DIFFERENCE = 0.05  # of the step's kernel time: other runs, at other clocks
MOST_BYTES_DIFFERENCE = 0.03  # of the step's DRAM bytes
LEAST_MATCHED = 0.95  # of the kernel time, by `ridgeline compare`
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PROGRAM = r"""
import sys
import torch
how, path, steps, layers, batch, examples = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6]
sys.path.insert(0, examples)
import pytorch_gpt2 as gpt2
gpt2.SIZES["three"] = (layers, 12, 768)
torch.manual_seed(1)
model = gpt2.Gpt2("three", 1024).cuda()
optimizer = gpt2.Optimizer(model, 3e-4, 0.0, False)
generator = torch.Generator().manual_seed(1)

def one():
    with torch.cuda.nvtx.range("step"):
        inputs, targets = gpt2.synthetic_batch(generator, batch, 1024, "cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(inputs, targets)
        loss.backward()
        optimizer.step()

profiler = None
if how == "torch":
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    profiler = torch.profiler.profile(activities=kinds, record_shapes=True,
                                      schedule=torch.profiler.schedule(wait=5, warmup=3, active=4, repeat=1),
                                      on_trace_ready=lambda done: done.export_chrome_trace(path))
    profiler.start()
for step in range(steps):
    if how == "ncu" and step == steps - 1:
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
    one()
    if profiler:
        profiler.step()
torch.cuda.synchronize()
if how == "ncu":
    torch.cuda.profiler.stop()
if profiler:
    profiler.stop()
print("done", torch.__version__)
"""
NCU = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "none", "--metrics",
       "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum", "--csv", "--page", "raw", "--print-units", "base"]


def per_step(path):
    """{(kernel, grid): [launches a step, ns a launch]} of the timeline steps that have the usual number of launches."""
    db = open_capture(path)
    steps = db.execute("SELECT s.step_index, s.launches FROM v_step s WHERE s.phase = 'timeline' AND s.status = 'ok'").fetchall()
    if not steps:
        return {}, 0
    usual = statistics.mode(row["launches"] for row in steps)
    chosen = [row["step_index"] for row in steps if row["launches"] == usual]
    found = {}
    for row in db.execute(f"SELECT kernel, grid_x, grid_y, grid_z, count(*) n, sum(duration_ns) ns FROM v_launch WHERE step_index IN "
                          f"({','.join(map(str, chosen))}) AND duration_ns IS NOT NULL GROUP BY 1, 2, 3, 4"):
        key = (kernel_base(row["kernel"]), f"{row['grid_x']}x{row['grid_y']}x{row['grid_z']}")
        entry = found.setdefault(key, [0, 0])
        entry[0] += row["n"] / len(chosen)
        entry[1] += row["ns"] / len(chosen)
    return found, len(chosen)


def counted_bytes(path, phase):
    """{(kernel, grid): DRAM bytes of a step} as counted (T2) of launches of that phase, means over its steps. Our own replays are steps
    apart; what is joined is of a step of the timeline."""
    db = open_capture(path)
    found, launches = {}, {}
    for row in db.execute("SELECT v.kernel, v.grid_x || 'x' || v.grid_y || 'x' || v.grid_z grid, v.step_index, v.ordinal_in_step o, "
                          "sum(t.value) bytes FROM launch_metric t JOIN v_launch v ON v.launch_id = t.launch_id JOIN metric n ON n.id = "
                          "t.metric_id WHERE t.tier = 'T2' AND n.name IN ('dram__bytes_read.sum', 'dram__bytes_write.sum') AND v.phase = ? "
                          "GROUP BY v.launch_id", (phase,)):
        launches.setdefault((row["o"], kernel_base(row["kernel"]), row["grid"]), []).append(row["bytes"])
    for (_, kernel, grid), values in launches.items():
        found[(kernel, grid)] = found.get((kernel, grid), 0) + statistics.fmean(values)
    return found


def ncu_rows(path):
    """{(kernel, grid): [launches, ns, bytes]} of Nsight Compute's CSV itself."""
    with open(path, newline="") as file:
        grids = [row["Grid Size"] for row in csv.DictReader(line for line in file if line.startswith('"')) if row["ID"]]
    found = {}
    for row, grid in zip(ncu.read(path), grids):
        key = (kernel_base(row["name"]), grid.strip("() ").replace(", ", "x").replace(",", "x"))
        entry = found.setdefault(key, [0, 0, 0])
        entry[0] += 1
        entry[1] += row["ns"]
        entry[2] += row["read"] + row["write"]
    return found


class Three:
    def __init__(self, options):
        self.options, self.checks, self.seconds = options, Checks(options.json), {}
        self.out = options.out
        self.program = self.out / "three_ways_program.py"
        self.program.write_text(PROGRAM)

    def path(self, name):
        return str(self.out / name)

    def step(self, name, command, timeout=150, fine=(0,)):
        begin = time.monotonic()
        done = run(command, env={"LC_ALL": "C"}, timeout=timeout)
        self.seconds[name] = time.monotonic() - begin
        if done.status not in fine:
            self.checks.add(f"three-{name}", False, f"exit {done.status}: {done.tail()}")
        return done

    def python(self, how, path, steps):
        return [sys.executable, str(self.program), how, path, str(steps), str(self.options.layers), str(self.options.batch), str(EXAMPLES)]

    def record(self):
        ridgeline = self.options.ridgeline
        steps = [("ours", [ridgeline, "record", "-f", "-q", "-o", self.path("three-ours.ridge"), "--schedule",
                           "warmup=4,timeline=10,sample=5,replay=2", "--", *self.python("plain", "-", 24)]),
                 ("torch", self.python("torch", self.path("three-torch.json"), 14)),
                 ("import", [ridgeline, "import", self.path("three-torch.json"), "-o", self.path("three-torch.ridge"), "-f"]),
                 ("ncu", [*NCU, "--log-file", self.path("three-ncu.csv"), *self.python("ncu", "-", 5)]),
                 ("onto", [ridgeline, "import", self.path("three-ncu.csv"), "--onto", self.path("three-ours.ridge"), "-o",
                           self.path("three-joined.ridge"), "-f", "--format", "json"])]
        done = {}
        for name, command in steps:
            done[name] = self.step(name, command)
            if done[name].status != 0:
                return None
        return done

    def judge(self, done):
        ours, our_steps = per_step(self.path("three-ours.ridge"))
        torch, torch_steps = per_step(self.path("three-torch.ridge"))
        theirs, joined = ncu_rows(self.path("three-ncu.csv")), counted_bytes(self.path("three-joined.ridge"), "timeline")
        counted = counted_bytes(self.path("three-ours.ridge"), "replay")
        rows = []
        for key in sorted(set(ours) | set(torch) | set(theirs), key=lambda k: -(ours.get(k) or torch.get(k) or [0, 0])[1]):
            none = [None, None, None]
            rows.append({"kernel": key[0], "grid": key[1], "launches": (ours.get(key) or none)[0], "ns": (ours.get(key) or none)[1],
                         "torch_launches": (torch.get(key) or none)[0], "torch_ns": (torch.get(key) or none)[1],
                         "ncu_launches": (theirs.get(key) or none)[0], "ncu_ns": (theirs.get(key) or none)[1],
                         "bytes": counted.get(key), "ncu_bytes": (theirs.get(key) or none)[2], "joined_bytes": joined.get(key)})
        self.show(rows)
        total = {name: sum(row[name] or 0 for row in rows) for name in rows[0] if name not in ("kernel", "grid")} if rows else {}
        for name in ("torch_launches", "ncu_launches"):
            wrong = [row for row in rows if row["launches"] != row[name]]
            self.checks.add("three-" + name.split("_")[0], bool(rows) and not wrong,
                            f"{len(rows)} kernels and grids, {total.get('launches', 0):g} launches a step of ours and {total.get(name, 0):g} of "
                            f"{name.split('_')[0]}; {len(wrong)} differ"
                            + "".join(f"; {row['kernel'][:40]} {row['grid']}: {row['launches']} and {row[name]}" for row in wrong[:3]))
        if not total.get("torch_ns") or not total.get("ncu_bytes") or not total.get("bytes"):
            self.checks.add("three-values", False, f"times or bytes are missing: {total}")
            return rows
        time_off = total["ns"] / total["torch_ns"] - 1
        self.checks.add("three-time", abs(time_off) <= MOST_TIME_DIFFERENCE,
                        f"kernel time of a step: ours {total['ns'] / 1e6:.3f} ms ({our_steps} steps), torch.profiler {total['torch_ns'] / 1e6:.3f} ms "
                        f"({torch_steps} steps, {100 * time_off:+.2f} %), ncu one by one {total['ncu_ns'] / 1e6:.3f} ms")
        bytes_off = total["bytes"] / total["ncu_bytes"] - 1
        self.checks.add("three-bytes", abs(bytes_off) <= MOST_BYTES_DIFFERENCE,
                        f"DRAM bytes of a step: ours {total['bytes'] / 1e9:.4f} GB (T2), ncu {total['ncu_bytes'] / 1e9:.4f} GB ({100 * bytes_off:+.2f} %)")
        joined_off = total["joined_bytes"] / total["ncu_bytes"] - 1
        self.checks.add("three-joined", abs(joined_off) <= 1e-9, f"bytes of the joined capture beside the CSV's: {100 * joined_off:+.6f} %")
        self.judge_captures(done)
        return rows

    # What the program itself says of the three.
    def judge_captures(self, done):
        ridgeline = self.options.ridgeline
        shown = json.loads(done["onto"].out[done["onto"].out.index("{"):])
        self.checks.add("three-replay", bool(shown.get("rows")), f"replay beside run: {len(shown.get('rows', []))} kernels and grids; said: "
                        + " | ".join(done["onto"].said())[:300])
        # One run a side has no verdict (3), and two tools' runs may differ (1): what is asked here is which kernels are the same.
        compared = self.step("compare", [ridgeline, "compare", self.path("three-torch.ridge"), self.path("three-ours.ridge"), "--format", "json"],
                             fine=(0, 1, 3))
        document = json.loads(compared.out) if compared.out.startswith("{") else None
        matched = (document or {}).get("matched_ratio")
        self.checks.add("three-compare", matched is not None and matched >= LEAST_MATCHED,
                        f"compare (exit {compared.status}) matches {matched} of the kernel time; verdict {(document or {}).get('verdict')}: {(document or {}).get('text')}")
        ranked = {name: json.loads(self.step(f"rank-{name}", [ridgeline, "rank", self.path(f"three-{name}.ridge"), "--format", "json"]).out or "{}")
                  for name in ("ours", "torch")}
        declared = (ranked["torch"].get("throughput") or {}).get("declared_flops")
        measured = (ranked["ours"].get("throughput") or {}).get("tensor_ops")
        ratio = declared / measured if declared and measured else None
        # Attention computes the scores that its mask hides too, tile by tile; a product's tiles go over its edges.
        self.checks.add("three-shapes", ratio is not None and 0.7 <= ratio <= 1.02,
                        f"FLOPs of a step by the trace's shapes {declared}, tensor operations counted {measured}: {ratio}")
        self.checks.add("three-cost", sum(self.seconds.values()) <= 150,
                        ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items()))

    def show(self, rows):
        def cell(value, scale, form):
            return f"{value / scale:{form}}" if value is not None else "-".rjust(int(form.split(".")[0].lstrip("+") or 1))

        print(f"{'kernel':<40} {'grid':>14} | {'n':>4} {'torch':>5} {'ncu':>4} | {'us':>8} {'torch us':>8} {'ncu us':>8} | {'T2 MB':>9} {'ncu MB':>9} "
              f"{'joined':>9}")
        for row in rows[:SHOWN]:
            print(f"{row['kernel'][:40]:<40} {row['grid']:>14} | {cell(row['launches'], 1, '4.0f')} {cell(row['torch_launches'], 1, '5.0f')} "
                  f"{cell(row['ncu_launches'], 1, '4.0f')} | {cell(row['ns'], 1e3, '8.1f')} {cell(row['torch_ns'], 1e3, '8.1f')} "
                  f"{cell(row['ncu_ns'], 1e3, '8.1f')} | {cell(row['bytes'], 1e6, '9.3f')} {cell(row['ncu_bytes'], 1e6, '9.3f')} "
                  f"{cell(row['joined_bytes'], 1e6, '9.3f')}")
        print(f"({max(0, len(rows) - SHOWN)} more in the JSON)\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--out", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    options.ridgeline = os.path.abspath(options.ridgeline)
    three = Three(options)
    done = three.record()
    rows = three.judge(done) if done else []
    three.checks.finish(kernels=rows, seconds=three.seconds)


if __name__ == "__main__":
    main()
