"""Lightning: RidgelineProfiler for Trainer(profiler=...)."""
import contextlib

from .. import _nvtx, _recording

# Actions of Lightning 2 ("[Strategy]DDPStrategy.backward") by their last word, and the phase that a ranking knows them as.
_PHASES = {"training_step": "forward", "backward": "backward", "optimizer_step": "optimizer", "train_dataloader_next": "data"}
_STEP = "run_training_batch"


class RidgelineProfiler:
    """trainer = Trainer(profiler=RidgelineProfiler(dirpath=".", filename="run", steps="50:55"))

    A step is one training batch. Ranges named forward, backward, optimizer and data are in it, so that `rank --by phase` has rows. Make it
    before the Trainer, which may initialise CUDA. Further arguments are those of ridgeline.record().
    """

    def __init__(self, dirpath=None, filename="run", *, steps=None, schedule=None, ranks=None, **options):
        self.dirpath, self.filename = dirpath, filename
        output = f"{dirpath}/" if dirpath else ""
        self.recording = _recording.record(output + filename + "-{rank}-{step}.ridge", steps=steps, schedule=schedule, ranks=ranks,
                                           **options)
        self._open = []

    @property
    def captures(self):
        """Files written so far."""
        return self.recording.captures

    def setup(self, stage=None, local_rank=None, log_dir=None):
        if stage in (None, "fit"):
            self.recording.start(first_step=False)

    def teardown(self, stage=None):
        if stage in (None, "fit"):
            self.recording.stop()

    def start(self, action_name):
        if action_name == _STEP:
            self.recording.begin_step()
            return
        tool, name = _nvtx.client(), self._phase(action_name)
        if tool and name:
            tool.push(name)
            self._open.append(action_name)

    def stop(self, action_name):
        if action_name == _STEP:
            self.recording.end_step()
            self.recording.finish_step()
        elif self._open and self._open[-1] == action_name:
            self._open.pop()
            tool = _nvtx.client()
            if tool:
                tool.pop()

    @contextlib.contextmanager
    def profile(self, action_name):
        self.start(action_name)
        try:
            yield action_name
        finally:
            self.stop(action_name)

    def summary(self):
        return "\n".join(f"Ridgeline capture: {path}" for path in self.captures)

    def describe(self):
        """What Lightning calls when a fit, a validation or a test is over; of its own profilers this calls teardown() too."""
        self.recording.stop()
        text = self.summary()
        if text:
            print(text)

    @staticmethod
    def _phase(action_name):
        return _PHASES.get(action_name.rpartition(".")[2])
