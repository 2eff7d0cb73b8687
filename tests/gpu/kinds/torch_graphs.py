"""PyTorch that captures graphs in mid-run, recompiles for new shapes and loads batches with worker processes; prints what it computed."""
import sys

import torch

from loop import count, steps

MODE = sys.argv[2] if len(sys.argv) > 2 else "graphs"


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        return torch.full((256,), float(index % 7))


torch.manual_seed(1)
torch.use_deterministic_algorithms(False)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
call = torch.compile(model, dynamic=False) if MODE == "recompile" else model


def train(x):
    optimizer.zero_grad()
    loss = (call(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss


loader = None
if MODE == "workers":
    loader = iter(torch.utils.data.DataLoader(Batches(), batch_size=16, num_workers=2, pin_memory=True))
still = torch.ones(16, 256, device="cuda")
graph = None
with torch.random.fork_rng():
    for i in steps(count(200), done=torch.cuda.synchronize):
        if MODE == "graphs" and i % 20 == 10:  # a new graph in mid-run, the one before goes
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = model(still) * 2
        if graph is not None:
            graph.replay()
        if loader is not None:
            batch = next(loader).cuda(non_blocking=True)
        else:
            batch = torch.ones(16 if MODE != "recompile" else 8 + 4 * (i // 50), 256, device="cuda") * (i % 5)
        loss = train(batch)
print("result", float(loss).hex(), float(sum(p.double().sum() for p in model.parameters())).hex())
