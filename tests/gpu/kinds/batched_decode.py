"""A server that writes for many requests at once: they come at random, each has a place in a cache of keys and values, and leaves when it has
its tokens. Every step writes one token for each that is there."""
import random

import torch
import torch.nn.functional as F

from loop import count, steps
from model import VOCABULARY, Model

LAYERS, WIDTH, HEADS, PLACES, LONGEST = 12, 1024, 16, 32, 512
random.seed(1)
torch.manual_seed(1)
model = Model(LAYERS, WIDTH, HEADS).cuda().to(torch.bfloat16).eval()
keys = torch.zeros(LAYERS, PLACES, LONGEST, HEADS, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16)
values = torch.zeros_like(keys)


def prompt(place, length):
    """Keys and values of a new request, and its first token."""
    logits, pasts = model(torch.randint(0, VOCABULARY, (1, length), device="cuda"))
    for layer, (k, v) in enumerate(pasts):
        keys[layer, place, :length] = k[0].transpose(0, 1)
        values[layer, place, :length] = v[0].transpose(0, 1)
    return int(logits[0, -1].argmax())


def write(places, tokens, lengths):
    """The next token of each place."""
    x, longest = model.tokens(tokens), int(lengths.max()) + 1
    mask = (torch.arange(longest, device="cuda") <= lengths[:, None])[:, None, None]
    for layer, block in enumerate(model.blocks):
        q, k, v = block.qkv(block.norm1(x)).view(len(tokens), 3, HEADS, -1).unbind(1)
        keys[layer, places, lengths], values[layer, places, lengths] = k, v
        known = [each[layer, places, :longest].transpose(1, 2) for each in (keys, values)]
        y = F.scaled_dot_product_attention(q[:, :, None], *known, attn_mask=mask)
        x = x + block.out(y.reshape(len(tokens), WIDTH))
        x = x + block.mlp(block.norm2(x))
    return (model.norm(x) @ model.tokens.weight.T).argmax(-1).tolist()


requests, free = {}, list(range(PLACES))  # by place: latest token, tokens so far, tokens at its end
with torch.inference_mode():
    for step in steps(count(600), torch.cuda.synchronize):
        while free and (random.random() < 0.15 or not requests):
            place, length = free.pop(), random.randrange(16, 128)
            requests[place] = [prompt(place, length), length, length + random.randrange(32, 256)]
        places = list(requests)
        tokens, lengths = ([requests[place][field] for place in places] for field in (0, 1))
        device = [torch.tensor(each, device="cuda") for each in (places, tokens, lengths)]
        for place, token in zip(places, write(*device)):
            requests[place][0] = token
            requests[place][1] += 1
            if requests[place][1] >= requests[place][2]:
                del requests[place]
                free.append(place)
