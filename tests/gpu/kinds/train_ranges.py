"""A training loop that marks its steps for whoever looks: an NVTX range "Train step 17" round each."""
import torch

from loop import count, steps
from model import Model, batch, loss_of

torch.manual_seed(1)
model = Model(layers=6).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(300), torch.cuda.synchronize):
    torch.cuda.nvtx.range_push(f"Train step {step}")
    loss_of(model, batch(8, 512)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.nvtx.range_pop()
