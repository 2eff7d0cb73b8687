"""What `ridgeline export` writes, read by others: protoc decodes the traces, and counts, sums, counters and arrows are held
against the capture by SQL."""
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM, FABRICATE, PROTOC = (os.path.abspath(path) for path in sys.argv[1:4])
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace.proto")
COMPUTE_TAB = ["sm__throughput.avg.pct_of_peak_sustained_elapsed",
               "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
               "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "lts__throughput.avg.pct_of_peak_sustained_elapsed",
               "sm__warps_active.avg.pct_of_peak_sustained_active", "gpu__time_duration.sum"]


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stderr[-500:])
    return done


def export(capture, out, *more):
    run("export", capture, "-o", out, *more)
    with open(out, "rb") as file:
        return file.read()


def sql(capture, query):
    document = json.loads(run("sql", capture, query, "--format", "json", "--max-rows", "0").stdout)
    return [tuple(row.values()) for row in document["rows"]]


def parsed(text):
    """The text format of protoc: a message is a dict of lists."""
    top, stack = collections.defaultdict(list), []
    current = top
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = collections.defaultdict(list)
            current[line[:-1].strip()].append(inner)
            stack.append(current)
            current = inner
        elif line == "}":
            current = stack.pop()
        else:
            key, value = line.split(": ", 1)
            current[key].append(value)
    return top


def unquoted(text):
    return text[1:-1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")


def packets(trace):
    decoded = subprocess.run([PROTOC, f"--proto_path={os.path.dirname(PROTO)}", "--decode=ridgeline.test.Trace", PROTO],
                             input=trace, capture_output=True, check=True).stdout.decode()
    assert not re.search(r"^\s*\d+(:| \{)", decoded, re.M), "a field that Perfetto does not have, or of another type"
    return parsed(decoded)["packet"]


class Trace:
    """A Perfetto trace, taken apart."""

    def __init__(self, data):
        self.stages, self.slices, self.calls, self.points = {}, [], [], []
        self.specs, self.tracks, self.processes, self.queues, self.kernels = {}, {}, {}, {}, {}
        open_slices = {}
        for packet in packets(data):
            assert packet["trusted_packet_sequence_id"] == ["1"]
            time = int(packet["timestamp"][0]) if packet["timestamp"] else None
            for interned in packet["interned_data"]:
                for kernel in interned["compute_kernels"]:
                    self.kernels[kernel["iid"][0]] = unquoted(kernel["demangled_name"][0])
                for spec in interned["gpu_specifications"]:
                    self.queues[spec["iid"][0]] = (unquoted(spec["name"][0]), spec["category"][0])
                for context in interned["graphics_contexts"]:
                    assert context["api"] == ["CUDA"]
                    self.processes.setdefault(context["pid"][0], "")
            for track in packet["track_descriptor"]:
                self.tracks[track["uuid"][0]] = track
                for process in track["process"]:
                    self.processes[process["pid"][0]] = unquoted(process["process_name"][0])
            for event in packet["track_event"]:
                uuid = event["track_uuid"][0]
                assert uuid in self.tracks, "a track is described before its events"
                if event["type"] == ["SLICE_BEGIN"]:
                    assert uuid not in open_slices, "slices of one track neither nest nor overlap"
                    open_slices[uuid] = (time, event)
                else:
                    begun, opened = open_slices.pop(uuid)
                    assert begun <= time
                    kind = unquoted(self.tracks[uuid]["name"][0])
                    ids = [int(i) for c in opened["gpu_correlation"] for i in c["render_stage_submission_event_ids"]]
                    self.slices.append((kind, begun, time, unquoted(opened["name"][0]), ids))
            for stage in packet["gpu_render_stage_event"]:
                identity = int(stage["event_id"][0])
                assert identity not in self.stages and identity > 0
                assert self.queues[stage["stage_iid"][0]] and self.queues[stage["hw_queue_iid"][0]]
                self.stages[identity] = (time, int(stage["duration"][0]), stage)
            for counter in packet["gpu_counter_event"]:
                for descriptor in counter["counter_descriptor"]:
                    for spec in descriptor["specs"]:
                        self.specs[spec["counter_id"][0]] = (unquoted(spec["name"][0]), spec["groups"][0])
                for value in counter["counters"]:
                    name, group = self.specs[value["counter_id"][0]]
                    self.points.append((name, group, time, float(value["double_value"][0])))
        assert not open_slices

    def launches(self):
        return {i: stage for i, stage in self.stages.items() if stage[2]["launch"]}

    def launch_values(self):
        """(name, end, value): the points of a launch are a 0 at its start and the value at its end."""
        points = [p for p in self.points if p[1] == "COMPUTE"]
        starts = {time for time, _, _ in self.launches().values()}
        ends = {time + duration for time, duration, _ in self.launches().values()}
        values = [(name, time, value) for name, _, time, value in points if time in ends]
        assert all(time in starts or time in ends for _, _, time, _ in points)
        return values


def check_perfetto(capture, trace, where="1"):
    """`where`: of v_launch."""
    launches = trace.launches()
    [(count, time_ns, grid, registers)] = sql(
        capture, f"SELECT count(*), sum(duration_ns), sum(grid_x), sum(registers_per_thread) FROM v_launch "
                 f"WHERE duration_ns IS NOT NULL AND ({where})")
    assert len(launches) == count and count > 0
    assert sum(duration for _, duration, _ in launches.values()) == time_ns
    assert sum(int(s["launch"][0]["grid_size"][0]["x"][0]) for _, _, s in launches.values()) == grid
    argument = sum(int(a["int_value"][0]) for _, _, s in launches.values() for a in s["launch"][0]["args"]
                   if a["name_iid"] == ["1"])
    assert argument == registers
    kernels = collections.Counter(unquoted(s["name"][0]) for _, _, s in launches.values())
    assert kernels == dict(sql(capture, f"SELECT kernel, count(*) FROM v_launch WHERE duration_ns IS NOT NULL AND "
                                        f"({where}) GROUP BY kernel"))
    for _, _, stage in launches.values():
        assert trace.kernels[stage["kernel_iid"][0]] == unquoted(stage["name"][0])
        assert trace.queues[stage["stage_iid"][0]] == ("Kernel", "COMPUTE")
    # Arrows: every launch whose call was recorded, once, from a call that began before it.
    [(with_call,)] = sql(capture, f"SELECT count(*) FROM v_launch WHERE duration_ns IS NOT NULL AND host_end_ns IS NOT NULL "
                                  f"AND host_start_ns IS NOT NULL AND ({where})")
    arrows = [(begun, i) for kind, begun, _, _, ids in trace.slices if kind == "Launches" for i in ids]
    assert len(arrows) == len({i for _, i in arrows}) <= with_call
    assert all(i in launches and begun <= launches[i][0] for begun, i in arrows)
    return launches


def check_counters(capture, trace):
    """What was measured of launches comes back to the last digit; what is joined to others fills the tab."""
    found = collections.Counter(trace.launch_values())
    measured = collections.Counter(sql(
        capture, "SELECT m.metric, l.end_ns, m.value FROM v_launch_metric m JOIN v_launch l USING (launch_id)"))
    missing = measured - found
    # A launch has one value of a counter: a tier that says the same metric twice is two rows and one track.
    assert not missing, list(missing.items())[:3]
    groups = dict(trace.specs.values())
    for name in COMPUTE_TAB:
        assert groups[name] == "COMPUTE", name
    joined = {name for name, _, _ in (found - measured)}
    assert set(COMPUTE_TAB[:4]) <= joined <= set(groups), joined
    [(samples,)] = sql(capture, "SELECT count(*) FROM v_pm_sample")
    sampled = [p for p in trace.points if p[1] == "MEMORY"]
    assert len(sampled) == samples and all(name.endswith(" (sampled)") for name, _, _, _ in sampled)


def check_chrome(capture, data):
    document = json.loads(data)
    events = document["traceEvents"]
    kernels = [e for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    [(count, time_ns, first)] = sql(
        capture, "SELECT count(*), sum(duration_ns), min(start_ns) FROM v_launch WHERE duration_ns IS NOT NULL")
    assert len(kernels) == count
    assert sum(round(e["dur"] * 1000) for e in kernels) == time_ns
    assert min(round(e["ts"] * 1000) for e in kernels) + document["baseTimeNanoseconds"] == first
    starts = collections.Counter(e["id"] for e in events if e["ph"] == "s")
    assert starts == collections.Counter(e["id"] for e in events if e["ph"] == "f") and max(starts.values()) == 1
    lines = collections.defaultdict(list)
    for event in kernels:
        lines[event["pid"], event["tid"]].append((round(event["ts"] * 1000), round(event["dur"] * 1000)))
    for line in lines.values():
        line.sort()
        assert all(a[0] + a[1] <= b[0] for a, b in zip(line, line[1:])), "events of one line do not overlap"


def check_strip(capture, folder):
    plain = export(capture, folder + "/plain.pftrace")
    hidden = export(capture, folder + "/hidden.pftrace", "--strip")
    secrets = [row[0] for row in sql(capture, "SELECT DISTINCT kernel FROM v_launch")]
    secrets += [row[0] for row in sql(capture, "SELECT command_line FROM run")]
    for secret in secrets:
        assert secret.encode() not in hidden, secret
    assert b"layernorm" in plain and b"layernorm" not in hidden
    assert b"forward" in plain and b"forward" not in hidden
    before, after = Trace(plain).launches(), Trace(hidden).launches()
    names = {(unquoted(before[i][2]["name"][0]), unquoted(after[i][2]["name"][0])) for i in before}
    assert len(names) == len({a for a, _ in names}) == len({b for _, b in names}), "one name, one hash"
    chrome = json.loads(export(capture, folder + "/hidden.json", "--format", "chrome", "--strip"))
    assert {e["name"] for e in chrome["traceEvents"] if e["ph"] == "X" and e["cat"] == "kernel"} == {b for _, b in names}
    rows = export(capture, folder + "/hidden.csv", "--format", "csv", "--strip")
    assert b"layernorm" not in rows and b"timeline" in rows


def check_parts(capture, folder):
    check_perfetto(capture, Trace(export(capture, folder + "/s.pftrace", "--steps", "3..4")), "step_index BETWEEN 3 AND 4")
    check_perfetto(capture, Trace(export(capture, folder + "/r.pftrace", "--range", "forward", "--steps", "3")),
                   "step_index = 3 AND nvtx_path LIKE '%forward%'")
    rows = list(csv.DictReader(io.StringIO(export(capture, folder + "/v.csv", "--format", "csv", "--view", "v_launch",
                                                  "--steps", "3").decode(), newline="")))
    [(count, time_ns)] = sql(capture, "SELECT count(*), sum(duration_ns) FROM v_launch WHERE step_index = 3")
    assert len(rows) == count and sum(int(row["duration_ns"]) for row in rows) == time_ns
    for view in ("v_step", "v_rank", "v_launch_metric"):
        [(count,)] = sql(capture, f"SELECT count(*) FROM {view}")
        read = csv.DictReader(io.StringIO(export(capture, folder + "/v.csv", "--format", "csv", "--view", view).decode(),
                                          newline=""))
        assert len(list(read)) == count, view


def check_refusals(capture, folder):
    out = folder + "/none"
    for arguments, code, said in [
            (("--format", "parquet"), 2, b"duckdb"), (("--format", "csv", "--view", "run"), 2, b"v_launch"),
            (("--format", "csv", "--view", "v_rank", "--steps", "1"), 2, b"of no step"),
            (("--format", "csv", "--range", "forward"), 2, b"not cut by range"), (("--steps", "4..3"), 2, b"before the first"),
            (("--steps", "a"), 2, b"FIRST..LAST"), (("--steps", "900..901"), 3, b"no step"),
            (("--range", "no such range"), 3, b"no such range")]:
        done = run("export", capture, "-o", out, *arguments, code=code)
        assert said in done.stderr and done.stderr.count(b"\n") == 1, done.stderr
        assert not os.path.exists(out), "nothing half written is left"
    run("export", capture, "-o", capture, code=2)
    run("export", PROTO, "-o", out, code=3)


def check_imported(capture, trace, folder):
    """What is written here is read here: an import of the trace has the same launches, steps' ranges and ranks."""
    back = folder + "/back.ridge"
    run("import", trace, "-o", back, "-f", "-q")
    if trace.endswith(".json"):
        for query in ("SELECT count(*), sum(host_end_ns - host_start_ns), min(host_start_ns), sum(static_smem_bytes), "
                      "sum(dynamic_smem_bytes), min(start_ns), max(end_ns) FROM v_launch WHERE duration_ns IS NOT NULL",
                      "SELECT count(*), sum(end_ns - start_ns) FROM nvtx_range", "SELECT count(DISTINCT graph_node_id) FROM v_launch"):
            assert sql(back, query) == sql(capture, query), (query, sql(back, query), sql(capture, query))
        # A copy is of the step that called it.
        query = ("SELECT s.step_index, count(m.id), sum(m.bytes) FROM step s LEFT JOIN memcpy m ON m.step_id = s.id "
                 "WHERE s.step_index < 12 GROUP BY s.id ORDER BY s.step_index")  # the last of a capture launches nothing that bounds it
        assert sql(back, query) == sql(capture, query), (query, sql(back, query)[:5], sql(capture, query)[:5])
        device = "SELECT name, sm_count, memory_bytes, compute_capability FROM device"
        assert sql(back, device) == sql(capture, device), sql(back, device)
    for query in ("SELECT kernel, grid_x, block_x, registers_per_thread, stream_id, count(*), sum(duration_ns) FROM v_launch "
                  "WHERE duration_ns IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
                  "SELECT p.rank, count(*) FROM v_launch l JOIN process p ON p.id = l.process_id WHERE l.duration_ns IS NOT NULL "
                  "GROUP BY 1 ORDER BY 1",
                  "SELECT sum(bytes), count(*) FROM memcpy", "SELECT sum(bytes), count(*) FROM memset"):
        assert sql(back, query) == sql(capture, query), (query, sql(back, query)[:3], sql(capture, query)[:3])


with tempfile.TemporaryDirectory() as made:
    small, ranks = made + "/c.ridge", made + "/ranks.ridge"
    subprocess.run([FABRICATE, small, "samples", "layers=2", "overlap", "copies=2"], check=True)
    subprocess.run([FABRICATE, ranks, "ranks=2", "layers=1", "graphs"], check=True)
    whole = Trace(export(small, made + "/whole.pftrace"))
    check_perfetto(small, whole)
    check_counters(small, whole)
    check_imported(small, made + "/whole.pftrace", made)
    check_chrome(small, export(small, made + "/whole.json", "--format", "chrome"))
    check_imported(small, made + "/whole.json", made)
    graphs = made + "/graphs.ridge"
    subprocess.run([FABRICATE, graphs, "layers=1", "graphs"], check=True)
    check_chrome(graphs, export(graphs, made + "/graphs.json", "--format", "chrome"))
    check_imported(graphs, made + "/graphs.json", made)
    check_strip(small, made)
    check_parts(small, made)
    check_refusals(small, made)
    several = Trace(export(ranks, made + "/ranks.pftrace"))
    check_perfetto(ranks, several)
    check_imported(ranks, made + "/ranks.pftrace", made)
    export(ranks, made + "/ranks.json", "--format", "chrome")
    refused = run("import", made + "/ranks.json", "-o", made + "/none.ridge", code=2)
    assert b"several processes" in refused.stderr and refused.stderr.count(b"\n") == 1, refused.stderr
    # What stands before the endings is the name, dots and all.
    names = {"a.1.json": "a.1.ridge", "a.2.json": "a.2.ridge", "host_7.1700.pt.trace.json": "host_7.1700.ridge"}
    for name, capture in names.items():
        shutil.copy(made + "/whole.json", made + "/" + name)
        subprocess.run([PROGRAM, "import", name, "-q"], cwd=made, check=True, capture_output=True)
        assert os.path.exists(made + "/" + capture), (name, os.listdir(made))
    assert sorted(name.split(":")[0] for name in several.processes.values()) == ["rank 0", "rank 1"], several.processes
    print(f"{len(whole.stages)} events, {len(whole.points)} counter points, {len(whole.slices)} slices read back")
