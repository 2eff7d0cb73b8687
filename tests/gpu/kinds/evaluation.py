"""Training with an evaluation of four other batches every tenth step."""
import torch

from loop import count, steps
from model import Model, batch, loss_of

torch.manual_seed(1)
model = Model(layers=6).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(300), torch.cuda.synchronize):
    loss_of(model, batch(8, 512)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            sum(loss_of(model, batch(16, 512)) for _ in range(4)).item()
        model.train()
