"""Token by token with a cache of keys and values that grows: 16 prompts of 128 tokens, 250 more each, no recomputation."""
import torch

from loop import count, steps
from model import Model, VOCABULARY

torch.manual_seed(1)
model = Model(layers=12).cuda().to(torch.bfloat16).eval()
with torch.inference_mode():
    logits, pasts = model(torch.randint(0, VOCABULARY, (16, 128), device="cuda"))
    tokens = logits[:, -1:].argmax(-1)
    for step in steps(count(250), torch.cuda.synchronize):
        logits, pasts = model(tokens, pasts)
        tokens = logits[:, -1:].argmax(-1)
