"""The loop of the programs here: counts its steps and prints what one takes, so that a run with and one without a recording
can be compared. It marks nothing and knows of no profiler."""
import json
import os
import statistics
import sys
import time


SETTLING = 10  # steps at the start that are no measure of the longest


def steps(count, done=None):
    """Yields 0 to count - 1. `done` waits for the device: at the end, and before the last third of the steps, which is timed. A recording with
    the default schedule has long returned to its timeline there. A host that is ahead of its device is so by as many launches as the driver
    takes, a thousand: without the wait before them, the device's time for those of the steps before would count for the last third. The
    mean goes to the device's end, the median from begin to begin on the host, which may run ahead of the device."""
    begins, third = [], max(count // 3, 1)
    for i in range(count):
        if i == count - third and done:
            done()
        begins.append(time.perf_counter())
        yield i
    if done:
        done()
    end = time.perf_counter()
    note_steps(begins)
    lengths = [1e3 * (b - a) for a, b in zip(begins, begins[1:])]
    waited = len(lengths) - third if done else -1  # the step that has the wait in it
    longest = max((i for i in range(SETTLING, len(lengths)) if i != waited), key=lambda i: lengths[i], default=None)
    print(json.dumps({"steps": count, "median_ms": round(statistics.median(lengths[len(lengths) - third + 1:] or lengths or [0]), 4),
                      "mean_ms": round(1e3 * (end - begins[-third]) / third, 4),
                      "longest_ms": 0 if longest is None else round(lengths[longest], 4), "longest_step": longest}), flush=True)


def note_steps(begins):
    """For the search for steps, which is judged by where they are: when each began (tests/steps/sequences.py), if somebody asks."""
    path = os.environ.get("STEP_TIMES")
    if path:
        with open(path, "w") as file:
            json.dump({"monotonic_ns": time.perf_counter_ns(), "realtime_ns": time.time_ns(), "begins_ns": [int(1e9 * begin) for begin in begins]}, file)


def wait_for_turn():
    """Where a check runs several programs side by side, they wait here for the device (turns.py): libraries are loaded, no kernel has run."""
    turn = os.environ.get("TURN_FILE")
    if turn and not os.path.exists(turn + ".go"):
        with open(turn + ".ready", "w"):
            pass
        for _ in range(60_000):
            if os.path.exists(turn + ".go"):
                break
            time.sleep(0.01)


wait_for_turn()


def count(default):
    """Steps, from the command line."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
