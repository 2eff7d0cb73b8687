"""A kernel whose grid depends on the data: as many blocks as tokens pass a filter, another number in every step."""
import torch
import triton
import triton.language as tl

from loop import count, steps
from model import Model, batch, loss_of


@triton.jit
def scatter_rows(rows, index, out, width: tl.constexpr):
    row = tl.program_id(0)
    at = tl.load(index + row)
    columns = tl.arange(0, width)
    tl.atomic_add(out + at * width + columns, tl.load(rows + row * width + columns))


model = Model(layers=6).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
rows, table = torch.randn(8192, 1024, device="cuda"), torch.zeros(4096, 1024, device="cuda")
for step in steps(count(300), torch.cuda.synchronize):
    tokens = batch(8, 512)
    loss_of(model, tokens).backward()
    chosen = torch.nonzero(tokens.flatten() % 7 < 3).flatten()
    scatter_rows[(chosen.numel(),)](rows, chosen % 4096, table, 1024)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
