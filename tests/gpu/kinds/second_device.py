"""Training on the second GPU of a process that has touched the first one before."""
import torch

from loop import count, steps
from model import Model, batch, loss_of

torch.manual_seed(1)
first = torch.randn(1024, 1024, device="cuda:0")
print(float((first @ first).sum()))
torch.cuda.set_device(1)
model = Model(layers=6).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(150), torch.cuda.synchronize):
    loss_of(model, batch(8, 512)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
