"""A training step under jax.jit, which XLA puts into command buffers (CUDA graphs)."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from loop import count, steps  # noqa: E402

WIDTH, LAYERS = 4096, 8


def forward(weights, x):
    for w, b in weights:
        x = jax.nn.gelu(x @ w + b)
    return x


def loss(weights, x, y):
    return jnp.mean((forward(weights, x).astype(jnp.float32) - y) ** 2)


@jax.jit
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, g: w - (1e-3 * g).astype(w.dtype), weights, gradient), value


keys = jax.random.split(jax.random.key(1), LAYERS)
weights = [(jax.random.normal(k, (WIDTH, WIDTH), jnp.bfloat16) / 64, jnp.zeros(WIDTH, jnp.bfloat16)) for k in keys]
x = jax.random.normal(jax.random.key(2), (8192, WIDTH), jnp.bfloat16)
y = jax.random.normal(jax.random.key(3), (8192, WIDTH), jnp.float32)
for i in steps(count(500)):
    weights, value = step(weights, x, y)
    value.block_until_ready()
