#!/usr/bin/env python3
"""A small language model in plain PyTorch, as a program that a job measures: nothing in it knows of a profiler.

make-repository puts it under version control with a regression planted in a later commit.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, channels))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    torch.manual_seed(1)
    vocabulary, channels, length = 50304, 768, 512
    model = nn.Sequential(nn.Embedding(vocabulary, channels), *[Block(channels, 12) for _ in range(6)], nn.LayerNorm(channels),
                          nn.Linear(channels, vocabulary)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    tokens = torch.randint(vocabulary, (options.batch, length + 1), device="cuda")
    for _ in range(options.steps):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
