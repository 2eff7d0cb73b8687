"""One process that works on two GPUs at once: a half of the model's layers on each, as pipelines by hand do."""
import torch
import torch.nn.functional as F

from loop import count, steps
from model import Block

torch.manual_seed(1)
devices = [torch.device("cuda", i) for i in range(2)]
halves = [torch.nn.ModuleList(Block(1024, 16) for _ in range(4)).to(device) for device in devices]
optimizer = torch.optim.AdamW([p for half in halves for p in half.parameters()], lr=1e-4, fused=True)


def done():
    for device in devices:
        torch.cuda.synchronize(device)


for step in steps(count(120), done):
    x = torch.randn(16, 512, 1024, device=devices[0])
    with torch.autocast("cuda", torch.bfloat16):
        for device, half in zip(devices, halves):
            x = x.to(device)
            for block in half:
                x, _ = block(x)
    F.mse_loss(x.float(), torch.zeros_like(x)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
