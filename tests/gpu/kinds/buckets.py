"""Sequences sorted into buckets by length: every step is of one of four lengths, in random order."""
import random

import torch

from loop import count, steps
from model import Model, batch, loss_of

random.seed(1)
model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(250), torch.cuda.synchronize):
    length = random.choice((128, 256, 512, 1024))
    loss_of(model, batch(8192 // length, length)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
