#!/usr/bin/env python3
"""Measures the roofs of the GPU twice, and with three faults planted.

usage: ceilings.py --ridgeline RIDGELINE --benchmarks RIDGELINE_CEILINGS [--out DIR] [--json FILE] [--only NAME,...]

  twice     the first run, of everything, ends within 60 s (it is recorded too, which is not part of it); a second one of device memory, L2,
            BF16, FP32 and launches agrees with it within 2 % (launches 10 %)
  counters  of the first run: what counters saw of each benchmark of device memory and of arithmetic is within 2 % of what it declares
  bands     on an H200 at 700 W: figures that others have published of the same board
  captured  the roofs of the first run are in a recording of the benchmarks, and each stream through device memory stands at 97 to 103 % of the
            roof of its own mix (needs `twice`; 25 s)
  halved    half of the operations counted: void by the counters, whatever else is wrong with a reading (a burst may be void for its clock too)
  resident  "device memory" that L2 holds: void, for the bus carries less
  foreign   another process computes meanwhile: void
About 150 s: 55 and 15 (recorded) for the first run, 15 for the second, 20 for what is captured, 20, 8 and 12 for the faults. Every reading that is void is printed
with all its rules.
"""
import json
import os
import shutil
import time

from common import Checks, Started, chosen, options_of, run

NAMES = ("twice", "captured", "halved", "resident", "foreign")
AGAIN = ("dram", "l2", "compute.bf16", "compute.fp32", "launch")  # in the second run
MOST_APART = 0.02
MOST_APART_LINKS = 0.10
LINKS = ("launch", "pcie", "nvlink")
MOST_SECONDS = 60.0
# Roof and state: from, to. Public figures of H200 SXM boards at 700 W, within what boards and drivers differ by. None: a kernel that moves
# more bytes, or a launch that takes less, than others published is none the worse for it; what the bus carries bounds the former.
BANDS = {
    ("dram.read", "sustained"): (4.365e12, None),
    ("dram.write", "sustained"): (4.152e12, None),
    ("dram.triad", "sustained"): (3.919e12, None),
    ("dram.copy", "sustained"): (3.812e12, None),
    ("l2.read", "burst"): (9.38e12, 11.02e12),
    ("compute.bf16", "sustained"): (650e12, 760e12),
    ("compute.bf16", "burst"): (730e12, 850e12),
    ("compute.fp8", "sustained"): (1200e12, 1370e12),
    ("launch.stream_64kb", "burst"): (None, 3000),
    ("launch.graph_64kb", "burst"): (None, 1632),
}


def roofs(document):
    """Value by roof and state, of those that are roofs."""
    return {(row["roof"], row["state"]): row["value"] for row in document["rows"] if row["verdict"] == "roof"}


def void_rules(document, roof):
    """The rules that each reading of a roof breaks, a set a reading."""
    return [set(row["verdict"].removeprefix("void: ").split(", ")) if row["verdict"] != "roof" else set()
            for row in document["rows"] if row["roof"] == roof]


def measured_again(roof, names):
    return roof in names or roof.split(".")[0] in names


def apart(first, second, names=None):
    """(difference of the first, roof and state) of what both have, the largest first; and what only one has. Of roofs and levels of
    those names; None: of all."""
    a, b = ({key: value for key, value in roofs(d).items() if names is None or measured_again(key[0], names)}
            for d in (first, second))
    both = sorted(((abs(b[key] / a[key] - 1), key) for key in a.keys() & b.keys()), reverse=True)
    return both, sorted(a.keys() ^ b.keys())


def too_far(differences):
    return [(ratio, key) for ratio, key in differences
            if ratio > (MOST_APART_LINKS if key[0].split(".")[0] in LINKS else MOST_APART)]


def counted(document):
    return {row["roof"]: row["counted_ratio"] for row in document["rows"] if row["counted_ratio"] is not None}


def outside(document):
    """Figures outside their bands, in words."""
    found, values = [], roofs(document)
    for key, (low, high) in BANDS.items():
        value = values.get(key)
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            band = f"{low:.4g} to {high:.4g}" if None not in (low, high) else f"{low:.4g} or more" if high is None else f"{high:.4g} or less"
            found.append(f"{key[0]} {key[1]} {'is no roof' if value is None else f'{value:.4g}'}, not {band}")
    return found


def measured(options, name, *arguments):
    """(document or None, the run)"""
    done = run([options.ridgeline, "ceilings", *arguments, "--format", "json"], timeout=300)
    with open(os.path.join(options.out, f"ceilings-{name}.log"), "w") as log:
        log.write(done.err)
    if done.status not in (0, 3):
        return None, done
    with open(os.path.join(options.out, f"ceilings-{name}-document.json"), "w") as file:
        file.write(done.out)
    return json.loads(done.out), done


def twice(checks, options):
    first, done = measured(options, "first", "--verify", "--save", os.path.join(options.out, "ceilings-first.json"))
    if first is None:
        return checks.add("twice", False, f"exit {done.status}: {done.tail()}")
    second, done = measured(options, "second", "--only", ",".join(AGAIN), "--no-save")
    if second is None:
        return checks.add("twice", False, f"exit {done.status}: {done.tail()}")
    differences, alone = apart(first, second, AGAIN)
    far = too_far(differences)
    voids = [f"{v['roof']} {v['state']} {v['rule']} ({v['detail']})" for d in (first, second) for v in d["voids"]]
    seconds = first["duration_s"]
    worst = "; ".join(f"{key[0]} {key[1]} {100 * ratio:.2f} %" for ratio, key in (far or differences[:3]))
    checks.add("twice", not far and not alone and seconds <= MOST_SECONDS and differences,
               f"{len(differences)} roofs, furthest apart: {worst}; {seconds:.1f} and {second['duration_s']:.1f} s; void or in one run only: "
               f"{len(voids)}, {', '.join(f'{k[0]} {k[1]}' for k in alone) or 'none'}")
    for line in voids:
        print(f"  void: {line}")
    counts = counted(first)
    off = {name: ratio for name, ratio in counts.items() if abs(ratio - 1) > MOST_APART}
    missing = [row["roof"] for row in first["rows"] if row["roof"].split(".")[0] in ("dram", "compute") and row["roof"] not in counts]
    checks.add("counters", counts and not off and not missing,
               ", ".join(f"{name} {100 * ratio:.2f} %" for name, ratio in counts.items()) + f"; not counted: {sorted(set(missing)) or 'none'}")
    device = first["device"]
    if "H200" in device["name"] and device["power_limit_w"] == 700:
        found = outside(first)
        checks.add("bands", not found, "; ".join(found) or f"{len(BANDS)} figures within what is published")
    else:
        print(f"  no bands of {device['name']} at {device['power_limit_w']} W")


def reasons(document, rule):
    """What the rule says of the first reading that it voids; "" if it voids none."""
    return next((void["detail"] for void in document["voids"] if void["rule"] == rule), "")


def streams_off(rows):
    """Streams whose DRAM utilisation is not 97 to 103 % of the measured roof, in words; rows of `rank --by nvtx`."""
    found = []
    for mix in ("read", "write", "copy", "triad", "3:1"):
        row = next((row for row in rows if row["key"].endswith("dram." + mix)), None)
        ratio = row and row["dram_utilisation_ratio"]
        if ratio is None or not 0.97 <= ratio <= 1.03:
            found.append(f"dram.{mix} {'not measured' if ratio is None else f'{100 * ratio:.1f} %'}")
    return found


def captured(checks, options):
    data = os.path.join(options.out, "ceilings-data")
    folder = os.path.join(data, "ridgeline", "ceilings")
    os.makedirs(folder, exist_ok=True)
    first = os.path.join(options.out, "ceilings-first.json")
    if not os.path.exists(first):
        return checks.add("captured", False, f"{first} is not there: run with twice")
    shutil.copy(first, os.path.join(folder, "card.json"))
    capture = os.path.join(options.out, "ceilings-captured.ridge")
    done = run([options.ridgeline, "record", "--force", "--quiet", "--step-range", "step", "-o", capture, "--", options.benchmarks,
                "--declare", "100", "--only", "dram,compute.bf16,compute.fp32"], env={"XDG_DATA_HOME": data}, timeout=120)
    if done.status != 0:
        return checks.add("captured", False, f"record: exit {done.status}: {done.tail()}")
    rows = run([options.ridgeline, "sql", capture, "SELECT count(*) AS n, min(conditions) AS c FROM v_ceiling", "--format", "json"])
    count = json.loads(rows.out)["rows"][0]["n"] if rows.status == 0 else 0
    ranked = run([options.ridgeline, "rank", capture, "--by", "nvtx", "--format", "json"])
    light = run([options.ridgeline, "roofline", capture, "--by", "nvtx", "--format", "json", "-o",
                 os.path.join(options.out, "ceilings-roofline.json")])
    run([options.ridgeline, "roofline", capture, "-o", os.path.join(options.out, "ceilings-roofline.svg")])
    if ranked.status != 0 or light.status != 0:
        return checks.add("captured", False, f"rank ended with {ranked.status}, roofline with {light.status}: {ranked.tail()} {light.tail()}")
    document = json.loads(ranked.out)
    off = streams_off(document["rows"])
    sources = sorted({peak["source"] for peak in document["peaks"] if peak["quantity"] == "dram_bytes_per_s"})
    with open(os.path.join(options.out, "ceilings-roofline.json")) as file:
        whole = json.load(file)
    for row in whole["rows"]:
        print(f"  {row['kernel']}: {row['time_ns'] / 1e6:.3f} ms, at roofs {(row['sol_ns'] or 0) / 1e6:.3f} ms, bound {row['bound']}, "
              f"DRAM {row['dram_ratio']}, pipe {row['pipe_ratio']}, operations {row['operations']}")
    print(f"  power: {json.dumps(document['power'])}")
    checks.add("captured", count > 0 and not off and sources == ["sustained"],
               f"{count} rows; DRAM roof {', '.join(sources) or 'none'}; " + ("; ".join(off) or "five streams at 97 to 103 % of their own mix"))


def all_void(document, names, rule):
    rules = [broken for name in names for broken in void_rules(document, name)]
    return bool(rules) and all(rule in broken for broken in rules)


def fault(checks, options, name, rule, names, *arguments):
    document, done = measured(options, name, "--only", ",".join(names), "--no-save", *arguments)
    if document is None:
        return checks.add(name, False, f"exit {done.status}: {done.tail()}")
    said = reasons(document, rule)
    counts = ", ".join(f"{roof} counted {100 * ratio:.1f} % of what is declared" for roof, ratio in counted(document).items())
    checks.add(name, all_void(document, names, rule),
               f"{', '.join(names)}: {said or 'no reading is void by ' + rule}" + (f"; {counts}" if counts else ""))
    for void in document["voids"]:
        print(f"  void: {void['roof']} {void['state']} {void['rule']} ({void['detail']})")
    if not said and done.err.strip():
        print(f"  {done.err.strip().splitlines()[-1]}")


def foreign(checks, options):
    load = Started([options.benchmarks, "--load", "40"])
    time.sleep(4)  # until it computes
    fault(checks, options, "foreign", "foreign_process", ["dram.read"])
    load.kill()
    load.finish()


def main():
    parser = options_of(__doc__, "ridgeline", "benchmarks", only=NAMES)
    options = parser.parse_args()
    checks = Checks(options.json)
    for name in chosen(parser, options.only, NAMES):
        if name == "twice":
            twice(checks, options)
        elif name == "captured":
            captured(checks, options)
        elif name == "halved":
            fault(checks, options, name, "counters_disagree", ["compute.fp32", "compute.bf16"], "--verify", "--plant", "half-operations")
        elif name == "resident":
            fault(checks, options, name, "above_possible", ["dram.read"], "--plant", "l2-resident")
        else:
            foreign(checks, options)
    checks.finish()


if __name__ == "__main__":
    main()
