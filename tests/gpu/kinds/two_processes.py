"""Two processes that train on one GPU at the same time, each a model of its own."""
import os
import subprocess
import sys

if os.environ.get("TWO_PROCESSES_CHILD") is None:
    children = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], env={**os.environ, "TWO_PROCESSES_CHILD": str(i)}) for i in range(2)]
    sys.exit(max(child.wait() for child in children))

import torch  # noqa: E402

from loop import count, steps  # noqa: E402
from model import Model, batch, loss_of  # noqa: E402

torch.manual_seed(int(os.environ["TWO_PROCESSES_CHILD"]))
model = Model(layers=4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(400), torch.cuda.synchronize):
    loss_of(model, batch(8, 512)).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
