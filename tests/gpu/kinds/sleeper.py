"""A loop whose host does something else for 4 ms at the end of every step."""
import time

import torch

from loop import count, steps

a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
for step in steps(count(300), torch.cuda.synchronize):
    for _ in range(40):
        b = a @ a
    loss = b.float().sum()
    loss.item()
    time.sleep(0.004)
