"""What advice.py and carried_out.py share: a program recorded and asked for advice, and what a change gains, measured unrecorded."""
import json
import os
import sys
from statistics import median, stdev

from common import run

FACTOR = 2.0  # between what is promised and what is gained


class Recorder:
    """Captures and what was advised of them are left in --out as PREFIX-NAME.ridge and .json, whatever the verdict."""

    def __init__(self, options, prefix, schedule, budget_s=3):
        self.options, self.prefix, self.schedule, self.budget_s = options, prefix, schedule, budget_s

    def path(self, name, ending):
        return os.path.join(self.options.out, f"{self.prefix}-{name}{ending}")

    def advised(self, name, command):
        """The cases, most first; None and why."""
        capture = self.path(name, ".ridge")
        done = run([self.options.ridgeline, "record", "-q", "--force", "--schedule", self.schedule, "--budget", self.budget_s, "-o", capture, "--",
                    *command], timeout=100)
        if not os.path.exists(capture):
            return None, f"record exited {done.status}: {done.tail()}"
        said = self.keep(name, ".json", "advise", "--all", "--format", "json")
        if said.status != 0:
            return None, f"advise exited {said.status}: {said.tail()}"
        return json.loads(said.out)["advice"]["cases"], ""

    def keep(self, name, ending, verb, *options):
        """The answer of a verb to the capture, left in --out."""
        said = run([self.options.ridgeline, verb, self.path(name, ".ridge"), *options], timeout=60)
        with open(self.path(name, ending), "w") as file:
            file.write(said.out)
        return said


def measured_in_turn(program, names, timeout, *options):
    """ms a step of these changes with and without, by name, as far as the program came; and why if there are fewer."""
    done = run([sys.executable, *program, "--measure", ",".join(names), *options], timeout=timeout)
    series = {}
    for line in done.out.splitlines():
        if line.startswith("{"):
            series.update(json.loads(line))
    missing = [name for name in names if name not in series]
    return series, f"{program[0]} --measure exited {done.status}: {done.tail()}" if missing else ""


def differences(series, slow, fast):
    return [a - b for a, b in zip(series[slow], series[fast])]


def gain_ms(series, slow, fast):
    """The median of the rounds' differences."""
    return median(differences(series, slow, fast))


def interval_ms(series, slow, fast):
    """Half of the 95 % interval of the mean of the rounds' differences; infinite with fewer than two rounds."""
    values = differences(series, slow, fast)
    if len(values) < 2:
        return float("inf")
    student = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36}.get(len(values) - 1, 2.3)
    return student * stdev(values) / len(values) ** 0.5


def promise_of(cases, rule):
    """low, mid, high in ms of all cases of the rule: carrying it out ends them all."""
    return [sum(case["net"][key] for case in cases if case["rule"] == rule) / 1e6 for key in ("low_ns", "mid_ns", "high_ns")]


def within_factor(told_ms, measured_ms):
    return measured_ms > 0 and measured_ms / FACTOR <= told_ms <= measured_ms * FACTOR


def certain(measured_ms, interval):
    """Whether the rounds agree well enough that a factor of two means anything."""
    return interval <= measured_ms / 2


def words_of(cases, count=5):
    return ", ".join(f"{case['rule']} {case['net']['mid_ns'] / 1e6:.2f} ms" for case in cases[:count]) or "nothing"
