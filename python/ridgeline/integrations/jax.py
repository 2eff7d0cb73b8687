"""JAX: steps for a recording."""
import contextlib
import sys

from .. import _recording


class JaxSteps:
    """prof = JaxSteps("x.ridge", steps="50:55") before the first JAX call; then

        with prof:
            for batch in loader:
                with prof.step(tokens=batch.size):
                    state = train_step(state, batch)

    Each step is a range for Ridgeline and, where JAX is loaded, a jax.profiler.StepTraceAnnotation. JAX launches asynchronously: kernels
    belong to the step that launched them. jax.profiler.start_trace() and a recording exclude each other: CUDA takes one profiler at a time.
    """

    def __init__(self, output="jax-{rank}.ridge", **options):
        self.recording = _recording.record(output, **options)

    @property
    def captures(self):
        """Files written so far."""
        return self.recording.captures

    def __enter__(self):
        self.recording.start(first_step=False)
        return self

    def __exit__(self, *_):
        self.recording.stop()

    @contextlib.contextmanager
    def step(self, tokens=0, samples=0, name="train"):
        jax = sys.modules.get("jax")
        annotation = contextlib.nullcontext()
        if jax is not None:
            annotation = jax.profiler.StepTraceAnnotation(name, step_num=self.recording.step_num)
        with annotation:
            self.recording.begin_step()
            try:
                yield self.recording.step_num
            finally:
                self.recording.end_step(tokens, samples)
        self.recording.finish_step()
