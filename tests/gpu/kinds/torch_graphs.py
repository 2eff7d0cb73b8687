"""PyTorch in eager mode, with graphs that are captured in mid-run, or with batches from worker processes; prints what it computed."""
import sys

import torch

from loop import count, steps

MODE = sys.argv[2] if len(sys.argv) > 2 else "graphs"


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.full((256,), float(index % 7))


torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def train(x):
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


loader = None
if MODE == "workers":
    loader = iter(torch.utils.data.DataLoader(Batches(), batch_size=16, num_workers=2, pin_memory=True))
still = torch.ones(16, 256, device="cuda")
graph, seen = None, torch.zeros((), device="cuda", dtype=torch.float64)
for i in steps(count(1500), done=torch.cuda.synchronize):
    if MODE == "graphs" and i % 50 == 10:  # a new graph in mid-run, the one before goes
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(still) * 2
    if graph is not None:
        graph.replay()
        seen += out.double().sum()
    if loader is not None:
        batch = next(loader).cuda(non_blocking=True)
    else:
        batch = torch.ones(16, 256, device="cuda") * (i % 5)
    loss = train(batch)
print("result", float(loss).hex(), float(seen).hex(), float(sum(p.double().sum() for p in model.parameters())).hex())
