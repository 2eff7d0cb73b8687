"""Stand-ins for torch, transformers, lightning and jax with the calls that the module makes, and for the agent's side of a control file."""
import enum
import math
import sys
import threading
import time
import types

from ridgeline import _recording


class Tensor:
    def __init__(self, *shape, size=4, requires_grad=False, grad_fn=None):
        self.shape, self._size, self.requires_grad, self.grad_fn = shape, size, requires_grad, grad_fn

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return self._size


class Node:
    """Of autograd: a name, what is below it, and hooks around its work."""

    def __new__(cls, name, *below):
        return object.__new__(type(name, (cls,), {}))

    def __init__(self, name, *below):
        self.next_functions = tuple((node, 0) for node in below)
        self.before, self.after = [], []

    def register_prehook(self, hook):
        self.before.append(hook)

    def register_hook(self, hook):
        self.after.append(hook)

    def run(self):
        for hook in self.before:
            hook(())
        for hook in self.after:
            hook((), ())


class _Handle:
    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        self._hooks.remove(self._hook)


class Module:
    def __init__(self, **fields):
        self.before, self.after, self.children = [], [], {}
        self.__dict__.update(fields)

    def named_modules(self):
        yield "", self
        for name, child in self.children.items():
            yield name, child

    def register_forward_pre_hook(self, hook):
        return _Handle(self.before, hook)

    def register_forward_hook(self, hook):
        return _Handle(self.after, hook)

    def __call__(self, *inputs):
        for hook in list(self.before):
            hook(self, inputs)
        output = self.forward(*inputs)
        for hook in list(self.after):
            hook(self, inputs, output)
        return output


class Linear(Module):
    def forward(self, x):
        compute = Node("AddmmBackward0")
        return Tensor(*x.shape[:-1], self.weight.shape[0], requires_grad=True, grad_fn=Node("ViewBackward0", compute))


class Conv2d(Module):
    def forward(self, x):
        return Tensor(1, requires_grad=True, grad_fn=Node("MkldnnStrangeBackward0"))


class Profiler(enum.Enum):  # torch.profiler.ProfilerAction
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def install_torch(autocast=False):
    """Puts a torch into sys.modules and says which functions were called."""
    torch = types.ModuleType("torch")
    torch.is_grad_enabled = lambda: True
    torch.is_autocast_enabled = lambda: autocast
    torch.compiler = types.SimpleNamespace(is_compiling=lambda: False)
    functional = types.SimpleNamespace()

    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
        return Tensor(*query.shape, requires_grad=True, grad_fn=Node("ScaledDotProductFlashAttentionBackward0"))
    functional.scaled_dot_product_attention = scaled_dot_product_attention
    torch.nn = types.SimpleNamespace(functional=functional)
    sys.modules["torch"] = torch
    return torch


class Tool:
    """A tool of NVTX that writes down what it is told."""

    def __init__(self):
        self.said = []

    def push(self, name):
        self.said.append(("push", name))

    def push_numbers(self, name, schema_id, numbers):
        self.said.append(("push", name, schema_id - (1 << 24), numbers))

    def pop(self):
        self.said.append(("pop",))

    def names(self):
        return [entry[1] for entry in self.said if entry[0] == "push"]


class Agent:
    """The agent's side of a spool directory's control file: follows commands as the window control of a process does."""

    def __init__(self, directory):
        self.control = _recording.Control(directory, create=True)
        self.commands, self.open, self._stop = [], False, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        seen = 0
        while not self._stop:
            sequence = self.control._word(12).value
            if sequence != seen:
                seen = sequence
                command = self.control._word(8).value
                self.commands.append("open" if command == 1 else "close")
                if (command == 1) != self.open:
                    self.open = command == 1
                    self.control._word(16 if self.open else 20).value += 1
            time.sleep(0.001)

    def stop(self):
        self._stop = True
        self._thread.join()
