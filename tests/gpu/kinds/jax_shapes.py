"""JAX programs with while and cond loops, donated buffers and a new shape in mid-run, on numbers that every algorithm computes alike: prints
what it computed, to the bit."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from loop import count, steps  # noqa: E402

MODE = sys.argv[2] if len(sys.argv) > 2 else "while"


def advance(x):
    """Whole numbers below 2^24 only where floats add them up, so that no order of summing and no kind of product shows."""
    small = (x & 3).astype(jnp.float32)
    product = small @ small.T
    return x * jnp.int32(1103515245) + product.astype(jnp.int32) + product.sum(1, keepdims=True).astype(jnp.int32)


@jax.jit
def loop_while(x):
    return jax.lax.while_loop(lambda s: s[1] < 6, lambda s: (advance(s[0]), s[1] + 1), (x, 0))[0]


@jax.jit
def loop_cond(x):
    return jax.lax.cond((x[0, 0] & 8) > 0, advance, lambda v: (v ^ (v >> 5)) + 12345, x)


donated = jax.jit(advance, donate_argnums=0)
call = {"while": loop_while, "cond": loop_cond, "donated": donated, "shapes": donated}[MODE]
total = count(3000)
x = jnp.arange(512 * 512, dtype=jnp.int32).reshape(512, 512)
for i in steps(total):
    x = call(x)
    if i % 10 == 9:
        x.block_until_ready()
    if MODE == "shapes" and i % (total // 4) == total // 4 - 1:
        x = x[:-64, :-64]
values = [int(v) for v in jax.device_get(x).astype("int64").ravel()]
print("result", sum(v * (at + 1) for at, v in enumerate(values)) % (1 << 64))
