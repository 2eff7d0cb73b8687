"""JAX programs with while and cond loops, donated buffers and a new shape in mid-run; prints what they computed."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from loop import count, steps  # noqa: E402

MODE = sys.argv[2] if len(sys.argv) > 2 else "while"


@jax.jit
def loop_while(x):
    return jax.lax.while_loop(lambda s: s[1] < 6, lambda s: (jnp.tanh(s[0] @ s[0]) * 0.5 + s[0], s[1] + 1), (x, 0))[0]


@jax.jit
def loop_cond(x):
    return jax.lax.cond(x[0, 0] > 0, lambda v: jnp.sin(v @ v), lambda v: jnp.cos(v) + v, x) * 0.9


donated = jax.jit(lambda x: jnp.tanh(x @ x.T) * 0.5 + x, donate_argnums=0)
call = {"while": loop_while, "cond": loop_cond, "donated": donated, "shapes": donated}[MODE]
x = jax.random.normal(jax.random.key(3), (512, 512), jnp.float32)
for i in steps(count(300)):
    x = call(x)
    if i % 10 == 9:
        x.block_until_ready()
    if MODE == "shapes" and i % 60 == 59:
        x = jnp.pad(x[:-16, :-16], 0)
print("result", float(jnp.sum(x)).hex())
