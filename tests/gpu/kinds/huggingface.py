"""GPT-2 of Hugging Face's transformers, trained in eager mode with autocast."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from loop import count, steps

model = GPT2LMHeadModel(GPT2Config(vocab_size=50304, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in steps(count(200), torch.cuda.synchronize):
    tokens = torch.randint(0, 50257, (8, 512), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
