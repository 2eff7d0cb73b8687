"""Hugging Face transformers: RidgelineCallback marks and records the steps of a Trainer."""
from .. import _recording, _work


class RidgelineCallback:
    """trainer = Trainer(..., callbacks=[RidgelineCallback(steps="50:55", ranks="0")])

    A step is one update of the optimizer, whatever the micro-batches. With TrainingArguments(include_num_input_tokens_seen=True) each step
    says its tokens, so that a ranking has tokens/s. Make the callback before TrainingArguments, whose constructor initialises CUDA, or start
    the script by `python -m ridgeline record script.py`.

    output        as of ridgeline.record(): run-{rank}-{step}.ridge by default
    steps         "50:55": updates 50 to 54 of the run (the trainer's global_step before the update)
    schedule      instead of steps
    declare_work  declare the FLOPs and bytes of the model's layers (ridgeline.declare_work)
    Further arguments are those of ridgeline.record().
    """

    def __init__(self, output="run-{rank}-{step}.ridge", *, steps=None, schedule=None, ranks=None, declare_work=False, **options):
        self.recording = _recording.record(output, steps=steps, schedule=schedule, ranks=ranks, **options)
        self._declare, self._work, self._tokens = declare_work, None, None

    def __getattr__(self, name):
        # Events of later versions: a trainer calls all it knows.
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)

    @property
    def captures(self):
        """Files written so far."""
        return self.recording.captures

    def on_train_begin(self, args, state, control, model=None, **_):
        self.recording.step_num = int(state.global_step)  # of a run that was resumed
        self._tokens = getattr(state, "num_input_tokens_seen", None)
        if self._declare and model is not None and self._work is None:
            self._work = _work.declare_work(model)
        self.recording.start(first_step=False)

    def on_step_begin(self, args, state, control, **_):
        self.recording.begin_step()

    def on_step_end(self, args, state, control, **_):
        self.recording.end_step(tokens=self._tokens_of_step(args, state))
        self.recording.finish_step()

    def on_train_end(self, args, state, control, **_):
        self.recording.stop()
        if self._work is not None:
            self._work.remove()
            self._work = None

    # The trainer counts the tokens of all processes.
    def _tokens_of_step(self, args, state):
        seen = getattr(state, "num_input_tokens_seen", None)
        if not seen or self._tokens is None:
            return 0
        tokens, self._tokens = int(seen) - int(self._tokens), seen
        return max(0, tokens) // max(1, int(getattr(args, "world_size", 1) or 1))
