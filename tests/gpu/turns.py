"""Programs that are recorded side by side on one GPU take turns with it, since its counters serve one process at a time.

What a program does before it needs the device, loading its libraries mostly, goes on beside the others. It then makes
$TURN_FILE.ready and waits for $TURN_FILE.go (kinds/loop.py, agent_gauntlet); its turn ends when it makes $TURN_FILE.done (agent_gauntlet), or with
the program: what the recording makes of it afterwards takes no device.
"""
import os
import threading
import time

from common import Started, children

LONGEST_LOADING_S = 240
LEAST_WRITING_S = 60  # for the capture of a program that has ended
GONE_S = 0.5  # without a child the program has ended: a recorder has helpers of some milliseconds before it starts the program


class InOrder:
    """A lock of so many owners at once, who come in the order in which they asked: threading.Lock lets one wait for ever while others come and go."""

    def __init__(self, at_once=1):
        self.changed, self.next, self.may_come = threading.Condition(), 0, at_once

    def __enter__(self):
        with self.changed:
            mine = self.next
            self.next += 1
            self.changed.wait_for(lambda: mine < self.may_come)

    def __exit__(self, *_):
        with self.changed:
            self.may_come += 1
            self.changed.notify_all()


class Turn:
    """Of one GPU, on which so many programs run at once."""

    def __init__(self, at_once=1):
        self.lock = InOrder(at_once)

    def run(self, command, env, timeout_s, stem, waits):
        """Runs a recording, a list of words. `timeout_s`: from the begin of its turn. `waits`: its program waits for its turn by itself,
        by files whose names begin with `stem`. The seconds of what is given back are without those of waiting; `parts_s` has those until the
        program wanted the device, of waiting for it, of its turn, and after it."""
        started, times = None, [time.monotonic()]
        if waits:
            started = self.loaded(command, {**env, "TURN_FILE": stem}, stem)
        times.append(time.monotonic())
        with self.lock:
            times.append(time.monotonic())
            if waits:
                with open(stem + ".go", "w"):
                    pass
            started = started or Started(command, env)
            deadline = time.monotonic() + timeout_s
            done = None if self.program_ends(started, deadline, stem + ".done") else started.finish(0)
        times.append(time.monotonic())
        done = done or started.finish(max(deadline - time.monotonic(), LEAST_WRITING_S))
        times.append(time.monotonic())
        done.parts_s = [later - earlier for earlier, later in zip(times, times[1:])]
        if waits:
            done.seconds -= done.parts_s[1]
        for name in (stem + ".ready", stem + ".go", stem + ".done"):
            if os.path.exists(name):
                os.remove(name)
        return done

    @staticmethod
    def loaded(command, env, stem):
        """The recording, started, as soon as its program wants the device."""
        started = Started(command, env)
        by = time.monotonic() + LONGEST_LOADING_S
        while started.process.poll() is None and not os.path.exists(stem + ".ready") and time.monotonic() < by:
            time.sleep(0.02)
        return started

    @staticmethod
    def program_ends(started, deadline, done):
        """Waits until the recording's program, its child, has come and gone, or says by this file that it is done with the device; False if
        neither has happened by then."""
        last_seen = None
        while time.monotonic() < deadline:
            if started.process.poll() is not None or os.path.exists(done):
                return True
            if children(started.process.pid):
                last_seen = time.monotonic()
            elif last_seen is not None and time.monotonic() - last_seen > GONE_S:
                return True
            time.sleep(0.02)
        return False
