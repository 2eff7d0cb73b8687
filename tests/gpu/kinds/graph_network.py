"""A graph network of PyTorch Geometric, trained on the whole of a random graph."""
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

from loop import count, steps

torch.manual_seed(1)
NODES, EDGES = 100_000, 1_000_000
edges = torch.randint(0, NODES, (2, EDGES), device="cuda")
x, labels = torch.randn(NODES, 128, device="cuda"), torch.randint(0, 40, (NODES,), device="cuda")
layers = torch.nn.ModuleList([GCNConv(128, 256), GCNConv(256, 256), GCNConv(256, 40)]).cuda()
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-3)
for step in steps(count(200), torch.cuda.synchronize):
    h = x
    for layer in layers[:-1]:
        h = F.relu(layer(h, edges))
    F.cross_entropy(layers[-1](h, edges), labels).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
