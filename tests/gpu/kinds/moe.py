"""A mixture of experts: a router sends each token to one of eight, so that every expert's work depends on the data."""
import torch
import torch.nn.functional as F

from loop import count, steps
from model import VOCABULARY, Block

EXPERTS, WIDTH = 8, 1024


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.router = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, EXPERTS)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.GELU(), torch.nn.Linear(2 * WIDTH, WIDTH)) for _ in range(EXPERTS))

    def forward(self, x):
        flat = self.norm(x).flatten(0, 1)
        weight, chosen = torch.softmax(self.router(flat).float(), -1).max(-1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            mine = torch.nonzero(chosen == number).flatten()  # the host waits for how many
            if mine.numel():
                out = out.index_add(0, mine, (expert(flat[mine]) * weight[mine, None]).to(out.dtype))
        return x + out.view_as(x)


torch.manual_seed(1)
embedding = torch.nn.Embedding(VOCABULARY, WIDTH).cuda()
layers = torch.nn.ModuleList([torch.nn.ModuleList([Block(WIDTH, 16), Experts()]) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW([*embedding.parameters(), *layers.parameters()], lr=1e-4, fused=True)
for step in steps(count(150), torch.cuda.synchronize):
    tokens = torch.randint(0, VOCABULARY, (8, 513), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        x = embedding(tokens[:, :-1])
        for attention, experts in layers:
            x = experts(attention(x)[0])
        logits = x @ embedding.weight.T
    F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
