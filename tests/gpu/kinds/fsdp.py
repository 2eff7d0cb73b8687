"""FSDP2: a model sharded over the processes that torchrun starts, one a GPU.

usage: fsdp.py [STEPS [group]]
With `group` the mesh is a group of the same processes that the program makes itself, whose communicator is split off that of all.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from loop import count, steps
from model import Model, batch
import torch.nn.functional as F

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
torch.manual_seed(1)
model = Model(layers=16, width=2048, heads=16).cuda()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
if sys.argv[2:] == ["group"]:
    mesh = DeviceMesh.from_group(dist.new_group(list(range(dist.get_world_size()))), "cuda")
else:
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
for block in model.blocks:
    fully_shard(block, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(200), torch.cuda.synchronize):
    tokens = batch(8, 512)
    logits, _ = model(tokens[:, :-1])
    F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
dist.destroy_process_group()
