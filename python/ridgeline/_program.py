"""The program `ridgeline`: where it is, how it is asked, and its failures as exceptions."""
import json
import os
import shutil
import subprocess
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


class RidgelineError(Exception):
    """What the program said. `exit_code` is its exit code: docs/cli.md, "Exit codes"."""

    exit_code = 5

    def __init__(self, message, exit_code=None):
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(RidgelineError):
    """An option or a query that does not hold (2)."""
    exit_code = 2


class DataError(RidgelineError):
    """No or too little data, or the file is no capture (3)."""
    exit_code = 3


class EnvironmentFailure(RidgelineError):
    """A file that cannot be read or written, no GPU, no agent, no permission (4)."""
    exit_code = 4


class ProgramError(EnvironmentFailure):
    """The program `ridgeline` itself is not there or does not answer."""


class InternalError(RidgelineError):
    """An error of Ridgeline's own (5)."""


_KINDS = {2: UsageError, 3: DataError, 4: EnvironmentFailure}


def program_path():
    """Absolute path of the program: RIDGELINE_PROGRAM, else the wheel's, else the build of the source tree that this file is in,
    else `ridgeline` on the PATH. Raises ProgramError."""
    given = os.environ.get("RIDGELINE_PROGRAM")
    candidates = [Path(given)] if given else [_PACKAGE / "native/bin/ridgeline", _PACKAGE.parents[1] / "build/bin/ridgeline"]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate.resolve())
    if given:
        raise ProgramError(f"RIDGELINE_PROGRAM names {given}, which is no program")
    # The module's own console script is no answer: it would start itself without end.
    for folder in os.get_exec_path():
        found = shutil.which("ridgeline", path=folder)
        if found and not _is_script(found):
            return found
    raise ProgramError("the program `ridgeline` is not there: install the wheel or the Debian package, or set RIDGELINE_PROGRAM to it")


def _is_script(path):
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def agent_path():
    """The agent's library beside the program, or None: a build without CUPTI has none."""
    given = os.environ.get("RIDGELINE_AGENT_LIBRARY")
    if given:
        return given if Path(given).is_file() else None
    folder = Path(program_path()).parent
    for relative in ("../lib", "../lib64", ".", "../lib/ridgeline"):
        candidate = folder / relative / "libridgeline_agent.so"
        if candidate.is_file():
            return os.path.normpath(candidate)
    return None


def version():
    """Of the program, as "0.1.0"."""
    return run("--version").split()[-1]


def run(*arguments, answers=(0,)):
    """Standard output of `ridgeline ARGUMENTS`. Exit codes that are not in `answers` raise what stands for them, with the
    program's own line."""
    done = subprocess.run([program_path(), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode in answers:
        return done.stdout.decode("utf-8", "replace")
    said = done.stderr.decode("utf-8", "replace").strip()
    line = said.splitlines()[-1] if said else f"ridgeline ended with {done.returncode} and said nothing"
    raise _KINDS.get(done.returncode, InternalError)(line, done.returncode)


def document(*arguments, answers=(0,)):
    """The JSON document that `ridgeline ARGUMENTS --format json` prints, as a dict (docs/json.md)."""
    return json.loads(run(*arguments, "--format", "json", answers=answers))
