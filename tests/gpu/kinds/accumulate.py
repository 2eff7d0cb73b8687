"""Gradient accumulation over four micro-batches, an evaluation every tenth step."""
import torch

from loop import count, steps
from model import Model, batch, loss_of

model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(150), torch.cuda.synchronize):
    for _ in range(4):
        (loss_of(model, batch(4, 512)) / 4).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 10 == 9:
        with torch.no_grad():
            print(f"step {step}: {sum(loss_of(model, batch(8, 512)) for _ in range(6)).item() / 6:.4f}", flush=True)
