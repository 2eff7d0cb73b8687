"""When a recording is on, by step: torch.profiler.schedule's meaning, without torch."""
import enum


class ScheduleAction(enum.Enum):
    """What is done with a step."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """Calling it with a step number, from 0, says what is done with that step."""

    def __init__(self, wait, warmup, active, repeat, skip_first, skip_first_wait):
        for name, value, least in (("wait", wait, 0), ("warmup", warmup, 0), ("active", active, 1), ("repeat", repeat, 0),
                                   ("skip_first", skip_first, 0), ("skip_first_wait", skip_first_wait, 0)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"schedule: {name} is {value!r}, a whole number of {least} or more is needed")
        self.wait, self.warmup, self.active, self.repeat = wait, warmup, active, repeat
        self.skip_first, self.skip_first_wait = skip_first, skip_first_wait

    def __call__(self, step):
        if step < 0:
            raise ValueError(f"schedule: step {step} is negative")
        step -= self.skip_first
        if step < 0:
            return ScheduleAction.NONE
        if self.skip_first_wait:
            step += self.wait
        cycle = self.wait + self.warmup + self.active
        if self.repeat and step >= self.repeat * cycle:
            return ScheduleAction.NONE
        at = step % cycle
        if at < self.wait:
            return ScheduleAction.NONE
        if at < self.wait + self.warmup:
            return ScheduleAction.WARMUP
        return ScheduleAction.RECORD_AND_SAVE if at == cycle - 1 else ScheduleAction.RECORD

    def phases(self, tiers=("T0", "T1", "T2")):
        """The agent's schedule of one cycle, as "warmup=1,timeline=3,sample=1,replay=1". From three active steps on, the default
        shares of timeline, sample and replay (20 to 6 to 8) are kept; below that, or without T1 and T2, all are timeline."""
        sample = round(self.active * 6 / 34) if "T1" in tiers else 0
        replay = round(self.active * 8 / 34) if "T2" in tiers else 0
        if self.active >= 3:
            sample, replay = max(sample, int("T1" in tiers)), max(replay, int("T2" in tiers))
        else:
            sample = replay = 0
        words = [("warmup", self.warmup), ("timeline", self.active - sample - replay), ("sample", sample), ("replay", replay)]
        return ",".join(f"{name}={steps}" for name, steps in words if steps)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """As torch.profiler.schedule: `skip_first` steps are left alone, then in each cycle `wait` steps are, `warmup` steps settle and
    `active` steps are recorded; `repeat` cycles, 0: until the end. With `skip_first_wait` other than 0 the first cycle has no wait."""
    return Schedule(wait, warmup, active, repeat, skip_first, skip_first_wait)


def steps(text):
    """"50:55" as a schedule that records steps 50 to 54, with the step before as warm-up if there is one."""
    first, colon, last = str(text).partition(":")
    if not colon or not first.isdigit() or not last.isdigit() or int(last) <= int(first):
        raise ValueError(f"steps: {text!r} is not FIRST:END, as 50:55 for steps 50 to 54")
    first, last = int(first), int(last)
    warmup = min(first, 1)
    return schedule(wait=0, warmup=warmup, active=last - first, repeat=1, skip_first=first - warmup)
