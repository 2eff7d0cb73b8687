"""Ridgeline from Python: record a training loop, mark its steps, declare its work, and ask a capture.

Nothing here imports torch, transformers, lightning or jax, and nothing needs a GPU to be imported or called: where there is
none, recording says so in one line and the program goes on. docs/python.md has the whole.
"""
from ._capture import Capture, Rows, open
from ._nvtx import declare, range, size
from ._program import (DataError, EnvironmentFailure, InternalError, ProgramError, RidgelineError, UsageError, program_path,
                       version)
from ._recording import Recording, RecordingUnavailable, record
from ._schedule import Schedule, ScheduleAction, schedule
from ._work import Cost, DeclaredWork, declare_work

__version__ = "0.1.0"
__all__ = ["Capture", "Cost", "DataError", "DeclaredWork", "EnvironmentFailure", "InternalError", "ProgramError", "Recording",
           "RecordingUnavailable", "RidgelineError", "Rows", "Schedule", "ScheduleAction", "UsageError", "declare", "declare_work", "open",
           "program_path", "range", "record", "schedule", "size", "version"]
