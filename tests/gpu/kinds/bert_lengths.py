"""An encoder trained with batches of every length from 64 to 512 and a gradient scaler: no two steps launch alike."""
import random

import torch

from loop import count, steps
from model import Model, batch, loss_of

random.seed(2)
torch.manual_seed(2)
model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
for step in steps(count(250), torch.cuda.synchronize):
    length = random.randrange(64, 512)
    loss = loss_of(model, batch(random.randrange(4, 17), length))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
