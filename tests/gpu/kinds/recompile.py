"""Compiled training whose sequences grow twice in the run: the compiler makes the step anew each time."""
import torch

from loop import count, steps
from model import Model, batch, loss_of

torch.manual_seed(1)
model = Model(layers=4).cuda()
compiled = torch.compile(model, dynamic=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
total = count(450)
for step in steps(total, torch.cuda.synchronize):
    loss_of(compiled, batch(8, 256 * (1 + 3 * step // total))).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
