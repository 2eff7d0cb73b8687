#!/usr/bin/env python3
"""What orders a program's work, as a recording has it, beside what the program says of itself; and what recording it costs.

usage: dependencies.py --ridgeline RIDGELINE --orderer AGENT_ORDERER [--out DIR] [--json FILE] [--pairs 3]
Rows:
  record      the recording is complete
  waits       each wait of a stream is for the record that the program made it for: by the kernels before and after
  graphs      nodes and edges of graphs are those that the program built and captured, by the ids that kernels name
  streams     kinds of the program's streams; host functions
  memory      the most memory that the program held, and what it held at the end
  reach       the step is simulated from what was recorded, nothing concluded from its times
  cost        microseconds of the host that one call takes longer than unrecorded, medians of the pairs, interleaved; a call
              that is not recorded (event_query) at most 0.1 us, a launch at most 3 us, the others at most 3 us
"""
import json
import os
import re
from collections import Counter
from statistics import median

from common import Checks, Facts, kernel_base, open_capture, options_of, run

MOST_US = {"event_query": 0.1, "launch": 3.0, "graph_node": 3.0, "pooled_memory": 6.0, "memory": 12.0}
USUAL_MOST_US = 3.0


def declared(output):
    """What the program says: pairs of waits and edges, and numbers by name."""
    pairs = {kind: sorted(re.findall(rf"^{kind} (\S+) (\S+)$", output, re.MULTILINE)) for kind in ("wait", "edge")}
    numbers = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", output, re.MULTILINE)}
    memory = re.search(r"^memory peak (\d+) end (\d+)$", output, re.MULTILINE)
    return pairs, numbers, tuple(map(int, memory.groups())) if memory else None


def waits_of(db):
    """(kernel before the record, kernel after the wait) of each wait of a stream in a step, with how often."""
    launches = [(row["correlation_id"], row["stream_id"], kernel_base(row["kernel"])) for row in db.execute(
        "SELECT correlation_id, stream_id, kernel FROM v_launch WHERE graph_node_id IS NULL ORDER BY correlation_id")]
    seen = Counter()
    unresolved = 0
    for wait in db.execute("SELECT * FROM v_stream_wait WHERE step_index IS NOT NULL"):
        if wait["source_correlation_id"] is None:
            unresolved += 1
            continue
        before = [name for at, stream, name in launches
                  if stream == wait["source_stream_id"] and at < wait["source_correlation_id"]]
        after = [name for at, stream, name in launches if stream == wait["stream_id"] and at > wait["correlation_id"]]
        seen[(before[-1] if before else "?", after[0] if after else "?")] += 1
    return seen, unresolved


def edges_of(db):
    """(from, to) of each edge of a graph: a kernel by its name, another node by its kind; and kernels inside of nodes."""
    names = {row["graph_node_id"]: kernel_base(row["kernel"]) for row in db.execute(
        "SELECT DISTINCT graph_node_id, kernel FROM v_launch WHERE graph_node_id IS NOT NULL")}
    edges = sorted((names.get(row["from_node_id"], f"[{row['from_kind']}]"), names.get(row["to_node_id"], f"[{row['to_kind']}]"))
                   for row in db.execute("SELECT * FROM v_graph_edge"))
    inside = sorted(names.get(row["node_id"], "?") for row in db.execute("SELECT node_id FROM graph_node WHERE parent_node_id IS NOT NULL"))
    return edges, inside


def node_ids(db):
    """What there is to join by, where it was not joined."""
    ran = sorted({(row["graph_node_id"], row["graph_id"], kernel_base(row["kernel"])) for row in db.execute(
        "SELECT graph_node_id, graph_id, kernel FROM v_launch WHERE graph_node_id IS NOT NULL")})
    nodes = [tuple(row) for row in db.execute("SELECT node_id, graph, kind, parent_node_id FROM graph_node ORDER BY graph, node_id")]
    return f"executed (node, executable, kernel) {ran}; nodes (node, graph, kind, parent) {nodes}"


def judge(checks, capture, output):
    pairs, numbers, memory = declared(output)
    with open_capture(capture) as db:
        seen, unresolved = waits_of(db)
        steps = db.execute("SELECT count(*) FROM step").fetchone()[0]
        counts = set(seen.values())
        checks.add("waits", sorted(seen) == pairs["wait"] and counts == {steps} and unresolved == 0 and bool(pairs["wait"]),
                   f"{dict(seen)} in {steps} steps, {unresolved} for nothing; the program's: {pairs['wait']}")
        edges, inside = edges_of(db)
        wanted = sorted(re.findall(r"^inside (\S+)$", output, re.MULTILINE))
        good = edges == pairs["edge"] and inside == wanted and bool(edges)
        checks.add("graphs", good, f"edges {edges}, inside of nodes {inside}; the program's: {pairs['edge']}, {wanted}"
                   + ("" if good else f"; {node_ids(db)}"))
        kinds = Counter(row["kind"] for row in db.execute("SELECT kind FROM v_stream"))
        functions = db.execute("SELECT count(*) FROM v_host_function WHERE call = 'host_function'").fetchone()[0]
        checks.add("streams", kinds == {"non_blocking": 3, "blocking": 1, "legacy": 1}
                   and functions == numbers.get("host_functions_a_step", -1) * steps,
                   f"{dict(kinds)}, {functions} host functions in {steps} steps")
        held = db.execute("SELECT max(allocated_bytes) AS peak, (SELECT allocated_bytes FROM v_memory_use ORDER BY correlation_id "
                          "DESC LIMIT 1) AS last, count(*) AS calls FROM v_memory_use").fetchone()
        checks.add("memory", memory == (held["peak"], held["last"]),
                   f"at most {held['peak']} bytes, {held['last']} at the end, {held['calls']} calls; the program's: {memory}")


def judge_reach(checks, ridgeline, capture):
    ranked = run([ridgeline, "rank", capture, "--format", "json"])
    reach = json.loads(ranked.out).get("totals", {}).get("reach") if ranked.status == 0 else None
    checks.add("reach", bool(reach) and reach.get("known") and reach.get("order_recorded") and reach.get("streams_joined") == 0,
               f"{reach if reach else ranked.tail()}")


def judge_cost(checks, options):
    capture = os.path.join(options.out, "dependencies-cost.ridge")
    alone, recorded = [], []
    plain = [options.orderer, "--cost"]
    tool = [options.ridgeline, "record", "-q", "--force", "-o", capture, "--schedule", "warmup=1,timeline=1000", "--", *plain]
    for pair in range(options.pairs):
        for series, command in ((alone, plain), (recorded, tool)) if pair % 2 == 0 else ((recorded, tool), (alone, plain)):
            done = run(command, timeout=60)
            if done.status != 0 or not done.last_json():
                checks.add("cost", False, f"exit {done.status}: {done.tail()}")
                return {}
            series.append(done.last_json())
    extra = {call: median(r[call] for r in recorded) - median(a[call] for a in alone) for call in alone[0]}
    within = all(us <= MOST_US.get(call, USUAL_MOST_US) for call, us in extra.items())
    checks.add("cost", within, ", ".join(f"{call} {median(a[call] for a in alone):.2f} {us:+.2f} us" for call, us in extra.items()))
    return extra


def main():
    parser = options_of(__doc__, "ridgeline", "orderer")
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    checks = Checks(options.json)
    capture = os.path.join(options.out, "dependencies.ridge")
    done = run([options.ridgeline, "record", "--force", "-o", capture, "--schedule", "warmup=2,timeline=100", "--", options.orderer],
               timeout=60)
    if done.status != 0:
        checks.add("record", False, f"exit {done.status}: {done.tail()}")
        checks.finish()
    facts = Facts(capture)
    checks.add("record", facts.complete() and facts.problem is None, f"{facts.step_text()}; {facts.counts()}; {facts.tier_text()}")
    judge(checks, capture, done.out)
    judge_reach(checks, options.ridgeline, capture)
    extra = judge_cost(checks, options)
    checks.finish(cost_us=extra)


if __name__ == "__main__":
    main()
