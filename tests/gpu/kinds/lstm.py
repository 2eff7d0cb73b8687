"""Two layers of an LSTM that is written out cell by cell: thousands of launches a step, of few kinds."""
import torch

from loop import count, steps

LENGTH, BATCH, WIDTH = 128, 64, 512
cells = torch.nn.ModuleList([torch.nn.LSTMCell(WIDTH, WIDTH) for _ in range(2)]).cuda().half()
head = torch.nn.Linear(WIDTH, 256).cuda().half()
parameters = [*cells.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=1e-3)
for step in steps(count(120), torch.cuda.synchronize):
    inputs = torch.randn(LENGTH, BATCH, WIDTH, device="cuda", dtype=torch.float16)
    states = [None, None]
    losses = []
    for token in inputs:
        for layer, cell in enumerate(cells):
            states[layer] = cell(token, states[layer])
            token = states[layer][0]
        losses.append(head(token).float().square().mean())
    torch.stack(losses).mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
