"""What a recording of several processes on several GPUs must say: each process its device, each collective its reason.

Collectives wait for each other across processes: run one at a time, as replay steps run kernels, they would never end. So
their time comes from the timeline, their counters from samples alone, and the capture says why.
"""
import os
import statistics
import subprocess

from common import open_capture

COLLECTIVE = "k.mangled_name LIKE '%nccl%'"
LEAST_MEASURED = 0.95  # of the kernel time that is no collectives': of kernels whose launches were counted, by name and grid
LONGEST_TIMELINE_STEP = 2  # times the median
OWN_LONGEST_STEP = 1.3  # times the longest step of the program alone, whose host may collect its garbage now and then
HELD_UP_MS = 500  # where that is not known: a peer that samples, counts or decodes holds a step up by as much at least
REPLAY_OF_RANKS = 2  # times the replay steps of the same program in one process


def all_gpus():
    """UUIDs as nvidia-smi lists them, which is by PCI bus; none if there is no driver."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.startswith("GPU-")]


def visible_gpus(every, visible):
    """Those that CUDA_VISIBLE_DEVICES (None: unset) leaves to a program."""
    if visible is None:
        return every
    found = []
    for word in (word.strip() for word in visible.split(",")):
        match = [every[int(word)]] if word.isdigit() and int(word) < len(every) else [u for u in every if word and u.startswith(word)]
        if len(match) != 1:
            break  # as CUDA does: what follows an unknown device is not seen
        found += match
    return found


def gpus():
    return visible_gpus(all_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def judge_devices(db, processes, uuids, wrong):
    """Each process launches on one device, another than its neighbours', and that device is one of this machine."""
    texts, taken = [], set()
    for process in processes:
        name = f"rank {process['rank']}" if process["rank"] is not None else f"process {process['pid']}"
        devices = db.execute("""SELECT d.uuid, d.device_index, count(*) n FROM launch l JOIN device d ON d.id = l.device_id
                                WHERE l.process_id = ? GROUP BY d.id""", (process["id"],)).fetchall()
        if len(devices) != 1:
            wrong.append(f"{name} launched on {len(devices)} devices")
            continue
        device = devices[0]
        if device["uuid"] not in uuids:
            wrong.append(f"{name} ran on {device['uuid']}, which this machine has not")
        if device["uuid"] in taken:
            wrong.append(f"{name} ran on the device of another process")
        taken.add(device["uuid"])
        if process["rank"] is None:
            wrong.append(f"{name} has no rank")
        elif process["rank"] != device["device_index"]:
            wrong.append(f"{name} ran on device {device['device_index']}")
        if not db.execute("""SELECT count(*) FROM clock_sample c JOIN device d ON d.id = c.device_id
                             WHERE d.uuid = ? AND c.power_mw > 0""", (device["uuid"],)).fetchone()[0]:
            wrong.append(f"no clocks of {device['uuid']}")
        texts.append(f"{name} on device {device['device_index']} ({str(device['uuid'])[:12]})")
    return texts


def phase_lengths(db, process_id):
    """Of the steps of a process that are ok and whose end is known, by phase: how many, the median and the longest in ms (v_step)."""
    lengths = {}
    for phase, ns in db.execute("SELECT phase, duration_ns FROM v_step WHERE process_id = ? AND status = 'ok' AND duration_ns IS NOT NULL", (process_id,)):
        lengths.setdefault(phase, []).append(ns / 1e6)
    return {phase: {"steps": len(ms), "median_ms": statistics.median(ms), "longest_ms": max(ms)} for phase, ms in lengths.items()}


def judge_phases(name, phases, own_longest_ms, wrong):
    """No step of the timeline waited for a peer that was being sampled or counted, or was decoding. `own_longest_ms`: of the program's
    steps without a recording; None: not known."""
    timeline, replay = phases.get("timeline"), phases.get("replay")
    if not timeline:
        return f"{name}: no timeline steps"
    allowed = OWN_LONGEST_STEP * own_longest_ms if own_longest_ms else timeline["median_ms"] + HELD_UP_MS
    if timeline["longest_ms"] > max(LONGEST_TIMELINE_STEP * timeline["median_ms"], allowed):
        wrong.append(f"{name}: a timeline step of {timeline['longest_ms']:.0f} ms, {timeline['median_ms']:.0f} in the median")
    return (f"{name}: timeline steps {timeline['median_ms']:.1f} ms, {timeline['longest_ms']:.1f} at most"
            + (f", replay steps {replay['median_ms']:.0f} ms, {replay['longest_ms']:.0f} at most" if replay else ""))


def judge_replay(ranks, alone, wrong):
    """`ranks`: phase_lengths() of every rank; `alone`: those of the same program in one process."""
    if not alone.get("replay") or not all(rank.get("replay") for rank in ranks):
        wrong.append("no replay steps to compare")
        return ""
    ratios = [rank["replay"]["median_ms"] / alone["replay"]["median_ms"] for rank in ranks]
    if max(ratios) > REPLAY_OF_RANKS:
        wrong.append(f"replay steps of a rank take {max(ratios):.2f} times those of one process")
    return f"replay steps of the ranks take {', '.join(f'{ratio:.2f}' for ratio in ratios)} times those of one process"


def counted_share(db, process):
    """Of the timeline's kernel time outside of collectives: that of kernels of which launches with the same grid were counted. Which are
    counted is chosen by kind, within a budget (docs/design/029)."""
    row = db.execute(f"""
        WITH counted AS (SELECT DISTINCT kernel_id, grid_x, grid_y, grid_z FROM v_launch
                         WHERE process_id = :process AND launch_id IN (SELECT launch_id FROM launch_metric WHERE tier = 'T2'))
        SELECT sum(v.duration_ns), sum(CASE WHEN (v.kernel_id, v.grid_x, v.grid_y, v.grid_z) IN counted THEN v.duration_ns ELSE 0 END)
        FROM v_launch v JOIN kernel k ON k.id = v.kernel_id
        WHERE v.process_id = :process AND v.phase = 'timeline' AND NOT ({COLLECTIVE})""", {"process": process["id"]}).fetchone()
    return row[1] / row[0] if row[0] else 1.0


def judge_process(db, process, samples, wrong):
    name = f"rank {process['rank']}"
    timed = db.execute(f"""SELECT count(*) n, avg(v.duration_ns) ns, count(DISTINCT v.step_index) steps, count(v.duration_ns) timed
                           FROM v_launch v JOIN kernel k ON k.id = v.kernel_id
                           WHERE v.process_id = ? AND v.phase = 'timeline' AND {COLLECTIVE}""", (process["id"],)).fetchone()
    if not timed["n"] or timed["timed"] != timed["n"]:
        wrong.append(f"{name}: {timed['timed']} of {timed['n']} collectives have a time")
    measured = """EXISTS (SELECT 1 FROM launch_metric m WHERE m.launch_id = l.id AND m.tier = '{}')"""
    replayed = db.execute(f"""SELECT {COLLECTIVE} collective, count(*) n, sum({measured.format('T2')}) measured
                              FROM launch l JOIN kernel k ON k.id = l.kernel_id JOIN step s ON s.id = l.step_id
                              WHERE l.process_id = ? AND s.phase = 'replay' AND s.status = 'ok' GROUP BY 1""",
                          (process["id"],)).fetchall()
    counts = {row["collective"]: (row["n"], row["measured"]) for row in replayed}
    alone, others = counts.get(1, (0, 0)), counts.get(0, (0, 0))
    if not alone[0] or alone[1]:
        wrong.append(f"{name}: {alone[1]} of {alone[0]} collectives in replay steps were measured alone")
    share = counted_share(db, process)
    if share < LEAST_MEASURED:
        wrong.append(f"{name}: of the other kernels {100 * share:.1f} % of the time was counted, {others[1]} of {others[0]} launches")
    reasons = {row[0] for row in db.execute(f"""
        SELECT coalesce(e.reason, 'none') FROM launch l JOIN kernel k ON k.id = l.kernel_id JOIN step s ON s.id = l.step_id
        LEFT JOIN replay_exclusion e ON e.process_id = l.process_id AND e.kernel_id = l.kernel_id
        WHERE l.process_id = ? AND s.phase = 'replay' AND s.status = 'ok' AND {COLLECTIVE}""", (process["id"],))}
    if reasons != {"name"}:
        wrong.append(f"{name}: reasons of the collectives left out: {', '.join(sorted(reasons)) or 'none'}")
    sampled = db.execute(f"""SELECT count(*) n, coalesce(sum({measured.format('T1')}), 0) measured FROM launch l
                             JOIN kernel k ON k.id = l.kernel_id JOIN step s ON s.id = l.step_id
                             WHERE l.process_id = ? AND s.phase = 'sample' AND {COLLECTIVE}""", (process["id"],)).fetchone()
    if samples and not sampled["measured"]:
        wrong.append(f"{name}: no collective of {sampled['n']} in the sampled steps has a value")
    return (f"{name}: {timed['n'] / max(timed['steps'], 1):.0f} collectives a step, {(timed['ns'] or 0) / 1e3:.0f} us each; in replay "
            f"{alone[1]} of {alone[0]} measured ({', '.join(sorted(reasons))}), of the others {others[1]} of {others[0]}, which stand for "
            f"{100 * share:.1f} % of their time; "
            f"T1 of {sampled['measured']} of {sampled['n']}")


def judge(path, uuids, samples=True, own_longest_ms=None):
    """(what is wrong, what was seen) of a capture of one process for each of `uuids`. `samples`: collectives must have T1 values,
    which processes can promise only if their sampled steps are the same."""
    db, wrong = open_capture(path), []
    processes = db.execute("""SELECT p.* FROM process p JOIN completeness c ON c.process_id = p.id
                              WHERE c.launches_seen > 0 ORDER BY p.rank, p.id""").fetchall()
    if len(processes) < 2:
        wrong.append(f"{len(processes)} processes used a GPU")
    texts = [", ".join(judge_devices(db, processes, uuids, wrong))]
    texts += [judge_process(db, process, samples, wrong) for process in processes]
    texts += [judge_phases(f"rank {process['rank']}", phase_lengths(db, process["id"]), own_longest_ms, wrong)
              for process in processes]
    db.close()
    return wrong, "; ".join(texts)
