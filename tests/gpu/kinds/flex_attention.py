"""torch.nn.attention.flex_attention, compiled, forward and backward and nothing else: three launches a step."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from loop import count, steps

LENGTH = 2048
attention = torch.compile(flex_attention)
q, k, v = (torch.randn(8, 16, LENGTH, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
mask = create_block_mask(lambda b, h, query, key: query >= key, None, None, LENGTH, LENGTH, device="cuda")
gradient = torch.randn_like(q)
attention(q, k, v, block_mask=mask).backward(gradient)  # compiles
for step in steps(count(1500), torch.cuda.synchronize):
    q.grad = k.grad = v.grad = None
    attention(q, k, v, block_mask=mask).backward(gradient)
