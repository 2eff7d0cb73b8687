"""record(): a recording of this process, switched on and off by step.

CUDA loads a profiler when it is initialised, and then only. Either the process was started by `ridgeline record` (or `python -m ridgeline
record script.py`), and this module opens and closes its windows; or CUDA is not initialised yet, and this module leaves in the environment
what `ridgeline record` would have, so that the agent is loaded with CUDA. After that it is too late, and one line says so.
"""
import atexit
import ctypes
import functools
import json
import mmap
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from . import _nvtx, _program, _schedule
from ._schedule import ScheduleAction

# collector/spool/include/ridgeline/spool/environment.h, control.h and manifest.h say what these are.
_SPOOL, _WAIT, _SCHEDULE = "RIDGELINE_SPOOL_DIR", "RIDGELINE_WAIT", "RIDGELINE_SCHEDULE"
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
_CONTROL_BYTES, _CONTROL_MAGIC = 4096, 0x4C525443
_COMMAND_AT, _SEQUENCE_AT, _OPENED_AT, _CLOSED_AT = 8, 12, 16, 20
_OPEN, _CLOSE = 1, 2
_NOT_INITIALISED = 3  # CUDA_ERROR_NOT_INITIALIZED
# The agent looks at the control file every 20 ms; it closes a window with the step it falls in, when what was recorded is read: tens of
# seconds at worst (collector/agent/src/session/window_control.cpp).
_OPEN_PATIENCE_S, _CLOSE_PATIENCE_S = 5.0, 40.0
_RECORDED = (ScheduleAction.WARMUP, ScheduleAction.RECORD, ScheduleAction.RECORD_AND_SAVE)


class RecordingUnavailable(_program.EnvironmentFailure):
    """Nothing can be recorded here: the message says why, and what to do."""


class Control:
    """The control file of a spool directory: windows of the recorded processes."""

    def __init__(self, directory, create=False):
        path = os.path.join(directory, "control")
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        file = os.open(path, flags, 0o600)
        try:
            if create:
                os.posix_fallocate(file, 0, _CONTROL_BYTES)
            self._memory = mmap.mmap(file, _CONTROL_BYTES)
        finally:
            os.close(file)
        if create:
            self._word(0).value = _CONTROL_MAGIC
        elif self._word(0).value != _CONTROL_MAGIC:
            raise OSError(f"{path} is no control file")

    def _word(self, at):
        # One aligned word, written and read at once: the agent uses it as an atomic.
        return ctypes.c_uint32.from_buffer(self._memory, at)

    def command(self, command):
        """Opens or closes windows, and waits until a process has. False: none did, because none uses CUDA yet or one is in a long step."""
        counter = _OPENED_AT if command == _OPEN else _CLOSED_AT
        before = self._word(counter).value
        self._word(_COMMAND_AT).value = command
        self._word(_SEQUENCE_AT).value += 1
        until = time.monotonic() + (_OPEN_PATIENCE_S if command == _OPEN else _CLOSE_PATIENCE_S)
        while self._word(counter).value == before:
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def set(self, command):
        """As command(), and waits for nobody."""
        self._word(_COMMAND_AT).value = command
        self._word(_SEQUENCE_AT).value += 1


def cuda_initialised():
    """Whether this process has initialised CUDA. False where there is no driver."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            if "libcuda.so" not in maps.read():
                return False
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        return driver.cuDeviceGetCount(ctypes.byref(count)) != _NOT_INITIALISED
    except (OSError, AttributeError):
        return False


def has_driver():
    """Whether NVIDIA's driver is there; nothing is initialised by asking."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def rank():
    """Of this process among those of its job; 0 where nothing says."""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def world_size():
    for name in ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"):
        if os.environ.get(name, "").isdigit():
            return max(1, int(os.environ[name]))
    return 1


def working_tree():
    """Commit of the working directory and whether tracked files differ from it; empty where it is no repository. Looking writes nothing
    there, nor runs what its configuration names."""
    git = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]

    def ask(*words):
        done = subprocess.run(git + list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()
    try:
        tree = {"git_commit": ask("rev-parse", "--verify", "HEAD")}
        return {**tree, "git_dirty": bool(ask("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return {}


def read_ranks(ranks):
    """None for all, else the set of "0,2", [0, 2] or 0."""
    if ranks is None or ranks == "all":
        return None
    words = ranks.split(",") if isinstance(ranks, str) else [ranks] if isinstance(ranks, int) else list(ranks)
    try:
        return {int(word) for word in words}
    except ValueError:
        raise ValueError(f"ranks: {ranks!r} is not \"all\" or numbers, as \"0,2\"") from None


def _warn(line):
    warnings.warn(f"ridgeline: {line}", RuntimeWarning, stacklevel=4)


def record(output="recording-{rank}.ridge", *, schedule=None, steps=None, ranks=None, on_trace_ready=None, tiers=("T0", "T1", "T2"),
           phases=None, overwrite=True, required=False):
    """A recording of this process: a context manager, a decorator, or start() and stop().

    output          the capture; {rank}, {world_size}, {step} (the first recorded one), {pid} and {host} are put in
    schedule        ridgeline.schedule(...), or anything that torch.profiler.schedule returns; with it step() opens and closes windows.
                    Without it everything between start and stop is recorded
    steps           "50:55" instead of a schedule: steps 50 to 54
    ranks           "0,2": only these processes record, the others mark steps at no cost
    on_trace_ready  called with this object when a cycle's capture is written; without it one capture of all cycles is written at the end
    tiers           T0 timeline, T1 samples, T2 counters; T0 is always there
    phases          the agent's own schedule, as "warmup=2,timeline=10,replay=8", instead of the one that follows from `schedule`
    required        raise RecordingUnavailable instead of one warning where nothing can be recorded

    Call it before the first CUDA call of the process (before torch.cuda.is_available(), .to("cuda"), TrainingArguments(...)), or start the
    script by `python -m ridgeline record script.py`.
    """
    return Recording(output, schedule=schedule, steps=steps, ranks=ranks, on_trace_ready=on_trace_ready, tiers=tiers, phases=phases,
                     overwrite=overwrite, required=required)


class Recording:
    """What record() returns. `state` is "off" (nothing can be recorded, `reason` says why), "own" (the agent comes with CUDA),
    "attached" (the process was started by `ridgeline record`, which writes the capture) or "idle" (this rank records nothing).
    `step_num` counts step() calls, `captures` lists the files written."""

    def __init__(self, output, *, schedule, steps, ranks, on_trace_ready, tiers, phases, overwrite, required):
        if schedule is not None and steps is not None:
            raise ValueError("record: give a schedule or steps, not both")
        self.schedule = _schedule.steps(steps) if steps is not None else schedule
        self.output, self.on_trace_ready, self.overwrite, self.required = os.fspath(output), on_trace_ready, overwrite, required
        self.rank, self.world_size = rank(), world_size()
        wanted = read_ranks(ranks)
        self.state, self.reason = "off", None
        self.step_num, self.captures, self.first_step = 0, [], None
        self._control, self._directory, self._environment, self._manifest = None, None, {}, {}
        self._started, self._window, self._range_open, self._recorded = False, False, False, False
        self._phases = phases or self._default_phases(tiers)
        self._tiers = tiers
        if wanted is not None and self.rank not in wanted:
            self.state = "idle"
        elif os.environ.get(_SPOOL):
            self._attach()
        else:
            self._prepare()
        if self.state == "off" and required:
            raise RecordingUnavailable(self.reason)

    def _default_phases(self, tiers):
        if isinstance(self.schedule, _schedule.Schedule):
            return self.schedule.phases(tiers)
        return None

    def _off(self, reason):
        self.state, self.reason = "off", reason
        if not self.required:
            _warn(reason)

    def _attach(self):
        try:
            self._control = Control(os.environ[_SPOOL])
            self.state = "attached"
        except OSError as error:
            self._off(f"nothing is recorded: the recording that {_SPOOL} names is not there any more ({error})")

    def _prepare(self):
        if cuda_initialised():
            return self._off("nothing is recorded: CUDA is initialised in this process already, and loads a profiler only then. Call "
                             "ridgeline.record() before the first CUDA call, or start the script by: python -m ridgeline record -o "
                             f"x.ridge {Path(sys.argv[0] or 'script.py').name}")
        if not has_driver():
            return self._off("nothing is recorded: there is no NVIDIA driver here (libcuda.so.1)")
        taken = [name for name in _INJECTIONS if os.environ.get(name)]
        if taken:
            return self._off(f"nothing is recorded: another tool is to be loaded ({taken[0]} is set), and CUDA takes one "
                             "profiler at a time")
        try:
            agent = _program.agent_path()
        except _program.ProgramError as error:
            return self._off(f"nothing is recorded: {error}")
        if agent is None:
            return self._off("nothing is recorded: this build of Ridgeline has no agent (it was made without CUPTI)")
        try:
            self._make_spool(agent)
        except OSError as error:
            return self._off(f"nothing is recorded: no spool directory can be made: {error}")
        self.state = "own"

    def _make_spool(self, agent):
        target = Path(self._named(0)).absolute()
        parent = target.parent if os.access(target.parent, os.W_OK) else Path(tempfile.gettempdir())
        self._directory = tempfile.mkdtemp(prefix=f"{target.stem}-", suffix=".spool", dir=parent)
        self._control = Control(self._directory, create=True)
        cupti = _cupti_library()
        settings = {_SPOOL: self._directory, _WAIT: "1", "RIDGELINE_TIERS": ",".join(dict.fromkeys(("T0", *self._tiers))),
                    **dict.fromkeys(_INJECTIONS, agent)}
        if self._phases:
            settings[_SCHEDULE] = self._phases
        if cupti and "RIDGELINE_CUPTI_LIBRARY" not in os.environ:
            settings["RIDGELINE_CUPTI_LIBRARY"] = cupti
        self._environment = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)  # putenv too: the driver and the agent read it there
        self._manifest = {
            "manifest_version": 1, "ridgeline_version": _program.version(), "launcher_pid": os.getpid(), "start_ns": time.time_ns(),
            # Without its arguments: they may hold secrets.
            "program": [sys.executable, sys.argv[0]] if sys.argv and sys.argv[0] else [sys.executable],
            "working_directory": os.getcwd(), "output": str(target), "host_name": socket.gethostname(), "os": "", "environment": {},
            "schedule": self._phases or "", "step_range": "step", "tiers": list(dict.fromkeys(("T0", *self._tiers))),
            "window": "--wait", "redact": [], "warnings": [], "versions": {}, "ranks": [{"pid": os.getpid(), "rank": self.rank}],
            **working_tree()}
        self._write_manifest()
        # The agent writes to its mapped spool until the process ends; a folder that goes earlier costs nothing it needs.
        atexit.register(shutil.rmtree, self._directory, ignore_errors=True)

    def _write_manifest(self, **more):
        self._manifest.update(more)
        draft = os.path.join(self._directory, "launch.json.new")
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(self._manifest, file, indent=2)
        os.rename(draft, os.path.join(self._directory, "launch.json"))

    def _named(self, step):
        fields = {"rank": self.rank, "world_size": self.world_size, "step": step, "pid": os.getpid(), "host": socket.gethostname()}
        try:
            return self.output.format(**fields)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"record: output {self.output!r} has a field other than {', '.join(fields)} ({error})") from None

    # One process gives the commands of a recording that several share: they hold for all.
    def _commands(self):
        return self.state == "own" or (self.state == "attached" and int(os.environ.get("LOCAL_RANK") or 0) == 0)

    def _action(self, step):
        action = self.schedule(step)
        # torch's own enumeration has the same names.
        return action if isinstance(action, ScheduleAction) else ScheduleAction[action.name]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def __call__(self, function):
        @functools.wraps(function)
        def recorded(*arguments, **named):
            with self:
                return function(*arguments, **named)
        return recorded

    def start(self, first_step=True):
        """Opens a window if the first step is to be recorded, and with a schedule that step's range: step() divides what follows. Without
        `first_step` begin_step() says when it begins."""
        if self._started:
            return
        self._started = True
        if self.schedule is None:
            self._open_window()
            return
        self._follow(self._action(self.step_num))
        if first_step:
            self.begin_step()

    def stop(self):
        """Closes what is open and writes the capture."""
        if not self._started:
            return
        self._started = False
        self.end_step()
        self._close_window()
        try:
            if self._recorded:
                self._write()
        finally:
            self._restore_environment()

    def _restore_environment(self):
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._environment = {}

    def begin_step(self):
        """Opens the range of a step; step() does so by itself. Nested ones are one step."""
        tool = _nvtx.client() if not self._range_open else None
        if tool:
            tool.push("step")
        self._range_open = True

    def end_step(self, tokens=0, samples=0):
        """Closes the range of a step, and says before what it worked through."""
        if not self._range_open:
            return
        self._range_open = False
        _nvtx.size(tokens=tokens, samples=samples)
        tool = _nvtx.client()
        if tool:
            tool.pop()

    def step(self, tokens=0, samples=0):
        """The step ends here and the next one begins; `tokens` and `samples`: what the one that ends worked through in this process."""
        if not self._started:
            raise RuntimeError("ridgeline: step() outside of the recording: call it inside `with`, or between start() and stop()")
        self.end_step(tokens, samples)
        self.finish_step()
        self.begin_step()

    def finish_step(self):
        """Counts a step whose range was closed by end_step(), and opens or closes the window as the schedule says."""
        ended = self.step_num
        self.step_num += 1
        if self.schedule is None:
            return
        if self._action(ended) == ScheduleAction.RECORD_AND_SAVE:
            self._close_window()
            if self.on_trace_ready is not None:
                self._write()
                self.on_trace_ready(self)
        self._follow(self._action(self.step_num))

    def _follow(self, action):
        if action in _RECORDED and not self._window:
            self._open_window()
        elif action == ScheduleAction.NONE and self._window:
            self._close_window()

    def _open_window(self):
        if self.state not in ("own", "attached"):
            return
        self._window = self._recorded = True
        if self.first_step is None:
            self.first_step = self.step_num
        if self._commands():
            # A process that has not used CUDA yet follows the command once it does.
            self._control.command(_OPEN) if cuda_initialised() else self._control.set(_OPEN)

    def _close_window(self):
        if not self._window:
            return
        self._window = False
        if self._commands():
            self._control.command(_CLOSE) if cuda_initialised() else self._control.set(_CLOSE)

    def _write(self):
        if self.state != "own":
            return  # the launcher does
        path = self._named(self.first_step if self.first_step is not None else 0)
        replace = ["-f"] if self.overwrite or path in self.captures else []
        try:
            self._write_manifest(end_ns=time.time_ns())  # until now: the process goes on
            _program.run("import", self._directory, "-q", "-o", path, *replace)
        except (_program.RidgelineError, OSError) as error:
            if self.required:
                raise
            _warn(f"no capture was written: {error}")
            return
        if path not in self.captures:
            self.captures.append(path)


def _cupti_library():
    """CUPTI of this interpreter's environment, as the program finds it for one that it starts."""
    for folder in sys.path:
        found = sorted(Path(folder).glob("nvidia/*/lib/libcupti.so.1?"), reverse=True) if folder else []
        if found:
            return str(found[0])
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        found = sorted(Path(folder).glob("extras/CUPTI/lib64/libcupti.so.1?"), reverse=True) if folder else []
        if found:
            return str(found[0])
    return None
