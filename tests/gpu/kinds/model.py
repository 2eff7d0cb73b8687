"""A small language model in PyTorch for the programs here, and its batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY = 16384


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, past=None):
        """`past`: keys and values of the tokens before; given back with those of `x` behind them."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x)), (k, v)


class Model(nn.Module):
    def __init__(self, layers=8, width=1024, heads=16):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, tokens, pasts=None):
        x, new = self.tokens(tokens), []
        for i, block in enumerate(self.blocks):
            x, past = block(x, pasts[i] if pasts else None)
            new.append(past)
        return self.norm(x) @ self.tokens.weight.T, new


def loss_of(model, tokens):
    with torch.autocast("cuda", torch.bfloat16):
        logits, _ = model(tokens[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def batch(sequences, length, device="cuda"):
    return torch.randint(0, VOCABULARY, (sequences, length + 1), device=device)
