"""Declared work of PyTorch models, by hooks on their modules: what each layer must compute and move at least."""
import functools
import math
import sys
from dataclasses import dataclass

from . import _nvtx


@dataclass(frozen=True)
class Cost:
    """Of one call of a layer: bytes when each input is read once and each output written once, FLOPs (a multiply-add counts 2), and of one
    GEMM [m, k] x [k, n] its sizes. `backward_*`: of the gradients of its inputs and weights together, 0 if none is wanted."""
    bytes: int
    flops: int
    backward_bytes: int = 0
    backward_flops: int = 0
    gemm: tuple = (0, 0, 0)


def _bytes(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


def _wanted(*tensors):
    return [t for t in tensors if t is not None and getattr(t, "requires_grad", False)]


def _grad_enabled():
    asked = getattr(sys.modules.get("torch"), "is_grad_enabled", None)
    return asked() if asked else True


def _result_bytes(x):
    """Of one element of a layer's output: autocast makes it one of 16 bits."""
    asked = getattr(sys.modules.get("torch"), "is_autocast_enabled", None)
    return 2 if asked and asked() else x.element_size()


# One product in the forward pass: as many FLOPs again for the gradient of each side that wants one. All that the forward pass moved is
# read, and what is wanted is written.
def _with_gradients(flops, moved, x, weight, bias, gemm=(0, 0, 0)):
    sides = len(_wanted(x, weight)) if _grad_enabled() else 0
    written = _bytes(*_wanted(x, weight, bias))
    return Cost(moved, flops, moved + written if sides else 0, sides * flops, gemm)


def linear_cost(module, x):
    """Of torch.nn.Linear on x [..., K]."""
    n, k = module.weight.shape
    m = x.numel() // k
    moved = _bytes(x, module.weight, module.bias) + m * n * _result_bytes(x)
    return _with_gradients(2 * m * n * k, moved, x, module.weight, module.bias, (m, n, k))


def _convolved(module, x, transposed):
    """Elements of a convolution's output."""
    axes = len(module.kernel_size)
    extents = []
    for axis in range(axes):
        extent, kernel, stride = x.shape[axis - axes], module.kernel_size[axis], module.stride[axis]
        reach = module.dilation[axis] * (kernel - 1)
        padding = module.padding if isinstance(module.padding, str) else module.padding[axis]
        if padding == "same":
            extents.append(extent)
        elif transposed:
            extents.append((extent - 1) * stride - 2 * padding + reach + module.output_padding[axis] + 1)
        else:
            extents.append((extent + (0 if padding == "valid" else 2 * padding) - reach - 1) // stride + 1)
    return math.prod(x.shape[:-axes - 1]) * module.out_channels * math.prod(extents)


def convolution_cost(module, x):
    """Of torch.nn.Conv1d to 3d and their transposes: each element of the output, of a transposed one each of the input, meets the kernel
    of its group."""
    transposed = type(module).__name__.startswith("ConvTranspose")
    results = _convolved(module, x, transposed)
    flops = 2 * (x.numel() if transposed else results) * math.prod(module.weight.shape[1:])
    moved = _bytes(x, module.weight, module.bias) + results * _result_bytes(x)
    return _with_gradients(flops, moved, x, module.weight, module.bias)


def attention_cost(q, k, v, causal=False):
    """Of softmax(q k^T) v with q [..., L, D], k [..., S, D], v [..., S, Dv]; a causal mask leaves row i the first i + 1 keys. Gradients
    take 2.5 times the FLOPs: no kernel keeps the scores, so that they are computed again."""
    rows, keys = q.shape[-2], k.shape[-2]
    pairs = rows * keys
    if causal:
        corner = min(rows, keys)
        pairs = corner * (corner + 1) // 2 + (rows - corner) * keys
    flops = 2 * math.prod(q.shape[:-2]) * pairs * (q.shape[-1] + v.shape[-1])
    moved = _bytes(q, k, v) + math.prod(q.shape[:-1]) * v.shape[-1] * q.element_size()
    wanted = _wanted(q, k, v) if _grad_enabled() else []
    return Cost(moved, flops, moved + _bytes(*wanted) if wanted else 0, flops * 5 // 2 if wanted else 0)


COSTS = {"Linear": linear_cost, "Conv1d": convolution_cost, "Conv2d": convolution_cost, "Conv3d": convolution_cost,
         "ConvTranspose1d": convolution_cost, "ConvTranspose2d": convolution_cost, "ConvTranspose3d": convolution_cost}
# Parts of names of autograd's nodes that compute: those around them change shapes and types only.
_COMPUTING = ("mm", "linear", "conv", "attention")


def _computing_node(output):
    """The node of autograd that computes the gradients of a layer: that of its output, or one below views of it."""
    node = getattr(output, "grad_fn", None)
    for _ in range(4):
        if node is None:
            return None
        if any(word in type(node).__name__.lower() for word in _COMPUTING):
            return node
        node = node.next_functions[0][0] if getattr(node, "next_functions", ()) else None
    return None


def _compiling():
    asked = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", None)
    return bool(asked and asked())


def declare_work(model, *, attention=True, backward=True, costs=None):
    """Declares the work of a PyTorch model's layers from now on, as ranges with the numbers of Cost: Linear, Conv1d to 3d and their
    transposes by the shapes that they are called with, and with `attention` every torch.nn.functional.scaled_dot_product_attention of
    the process. With `backward` their gradients are declared too. `costs` adds to it or replaces, by the name of a class:
    {"MyLinear": function(module, first_input) -> ridgeline.Cost}.

    Compiled regions are left out: their kernels are no module's. Layers that are computed again (activation checkpoints) are declared
    again. Returns a DeclaredWork. While no tool listens a call costs about a microsecond."""
    return DeclaredWork(model, attention, backward, {**COSTS, **(costs or {})})


class DeclaredWork:
    """Hooks that declare, until remove(). Counts: `forward_calls`, `backward_calls`, and `unknown_backward`, calls whose gradients are
    computed by nodes that are not known here, so that they are not declared."""

    def __init__(self, model, attention, backward, costs):
        self.forward_calls, self.backward_calls, self.unknown_backward = 0, 0, 0
        self._backward, self._handles, self._attention = backward, [], None
        for name, module in model.named_modules():
            cost = costs.get(type(module).__name__)
            if cost is not None:
                self._hook(name or type(module).__name__, module, cost)
        if attention:
            self._wrap_attention()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        """Takes the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if self._attention is not None:
            functional, original, wrapped = self._attention
            if functional.scaled_dot_product_attention is wrapped:
                functional.scaled_dot_product_attention = original
            self._attention = None

    def _push(self, tool, name, cost):
        _nvtx.push_work(tool, name, cost.bytes, cost.flops, *cost.gemm)
        self.forward_calls += 1

    def _hook(self, name, module, cost_of):
        running = []  # a module may call itself

        def before(module, inputs):
            tool = None if _compiling() or not inputs else _nvtx.client()
            cost = cost_of(module, inputs[0]) if tool else None
            running.append((tool, cost))
            if tool:
                self._push(tool, name, cost)

        def after(module, inputs, output):
            tool, cost = running.pop() if running else (None, None)
            if tool:
                tool.pop()
                self._declare_backward(tool, name, cost, output)

        self._handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]

    # The node's hooks run on autograd's thread, right before and after its kernels are launched; they go with the graph.
    def _declare_backward(self, tool, name, cost, output):
        if not self._backward or not cost.backward_flops or getattr(output, "grad_fn", None) is None:
            return
        node = _computing_node(output)
        if node is None:
            self.unknown_backward += 1
            return
        # A GEMM's sizes are of one product; here there are several.
        node.register_prehook(lambda *_: _nvtx.push_work(tool, f"{name} backward", cost.backward_bytes, cost.backward_flops))

        def done(*_):
            tool.pop()
            self.backward_calls += 1
        node.register_hook(done)

    def _wrap_attention(self):
        functional = getattr(getattr(sys.modules.get("torch"), "nn", None), "functional", None)
        original = getattr(functional, "scaled_dot_product_attention", None)
        if original is None:
            return

        @functools.wraps(original)
        def wrapped(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **others):
            tool = None if _compiling() else _nvtx.client()
            if not tool:
                return original(query, key, value, attn_mask, dropout_p, is_causal, **others)
            cost = attention_cost(query, key, value, is_causal)
            self._push(tool, "attention", cost)
            try:
                output = original(query, key, value, attn_mask, dropout_p, is_causal, **others)
            finally:
                tool.pop()
            self._declare_backward(tool, "attention", cost, output)
            return output

        functional.scaled_dot_product_attention = wrapped
        self._attention = (functional, original, wrapped)
