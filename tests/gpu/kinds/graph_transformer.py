"""A transformer's whole training step as one CUDA graph, captured by hand, with a new batch before each launch of it."""
import torch

from loop import count, steps
from model import Block

torch.manual_seed(1)
blocks = torch.nn.ModuleList(Block(768, 12) for _ in range(12)).cuda().to(torch.bfloat16)
optimizer = torch.optim.SGD(blocks.parameters(), lr=1e-4)
batch = torch.randn(8, 256, 768, device="cuda", dtype=torch.bfloat16)


def train():
    x = batch
    for block in blocks:
        x, _ = block(x)
    x.float().square().mean().backward()
    optimizer.step()


stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        train()
torch.cuda.current_stream().wait_stream(stream)
optimizer.zero_grad(set_to_none=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    train()
for step in steps(count(1000), torch.cuda.synchronize):
    batch.normal_()
    graph.replay()
