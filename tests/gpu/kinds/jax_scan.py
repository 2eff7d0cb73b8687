"""A training step of a transformer's blocks in JAX: lax.scan over the layers, each under jax.checkpoint, as model code is written.

XLA runs what it can in command buffers (CUDA graphs), which it records by stream capture and updates as the program goes on.
"""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from loop import count, steps  # noqa: E402

WIDTH, HEADS, LAYERS, BATCH, LENGTH = 768, 12, 12, 8, 512


def norm(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def block(x, w):
    h = norm(x, w["n1"]) @ w["qkv"]
    q, k, v = (part.reshape(BATCH, LENGTH, HEADS, -1).transpose(0, 2, 1, 3) for part in jnp.split(h, 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k).astype(jnp.float32) / 8.0
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1).astype(x.dtype)
    x = x + jnp.einsum("bhqk,bhkd->bhqd", weights, v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH) @ w["out"]
    return x + jax.nn.gelu(norm(x, w["n2"]) @ w["up"]) @ w["down"]


def loss(params, x, y):
    x, _ = jax.lax.scan(lambda x, w: (jax.checkpoint(block)(x, w), None), x, params)
    return jnp.mean((x.astype(jnp.float32) - y) ** 2)


@jax.jit
def step(params, moments, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    moments = jax.tree.map(lambda m, g: (0.9 * m + 0.1 * g.astype(jnp.float32)), moments, gradient)
    params = jax.tree.map(lambda p, m: (p - 1e-3 * m).astype(p.dtype), params, moments)
    return params, moments, value


def initial(key):
    shapes = {"n1": (WIDTH,), "qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "n2": (WIDTH,), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    made = {}
    for name, shape in shapes.items():
        key, part = jax.random.split(key)
        scale = 1.0 if len(shape) == 1 else 0.02
        made[name] = (scale * jax.random.normal(part, (LAYERS, *shape))).astype(jnp.bfloat16) if len(shape) > 1 else jnp.ones((LAYERS, *shape), jnp.bfloat16)
    return made


params = initial(jax.random.key(1))
moments = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)
x = jax.random.normal(jax.random.key(2), (BATCH, LENGTH, WIDTH), jnp.bfloat16)
y = jax.random.normal(jax.random.key(3), (BATCH, LENGTH, WIDTH), jnp.float32)
for i in steps(count(300)):
    params, moments, value = step(params, moments, x, y)
    value.block_until_ready()
print("loss", float(value).hex())
