"""Speculative decoding: a small model proposes four tokens, the large one looks at all of them at once and keeps some."""
import random

import torch

from loop import count, steps
from model import VOCABULARY, Model

random.seed(1)
torch.manual_seed(1)
small = Model(layers=2, width=512, heads=8).cuda().to(torch.bfloat16).eval()
large = Model(layers=16).cuda().to(torch.bfloat16).eval()


def cut(pasts, length):
    return [(k[:, :, :length], v[:, :, :length]) for k, v in pasts]


with torch.inference_mode():
    length = 0
    for step in steps(count(300), torch.cuda.synchronize):
        if length == 0 or length > 700:  # a new prompt
            tokens, length = torch.randint(0, VOCABULARY, (8, 128), device="cuda"), 128
            (_, proposals), (logits, pasts) = small(tokens), large(tokens)
            latest = logits[:, -1:].argmax(-1)
        proposed = [latest]
        for _ in range(4):
            logits, proposals = small(proposed[-1], proposals)
            proposed.append(logits[:, -1:].argmax(-1))
        logits, pasts = large(torch.cat(proposed[:4], 1), pasts)
        kept = random.randrange(1, 5)
        latest = logits[:, kept - 1 : kept].argmax(-1)
        length += kept
        pasts, proposals = cut(pasts, length), cut(proposals, length)
