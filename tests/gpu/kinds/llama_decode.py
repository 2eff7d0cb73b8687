"""A Llama of Hugging Face's transformers that writes token by token, with sampling and a new prompt every hundred tokens."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from loop import count, steps

torch.manual_seed(1)
config = LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=22, num_attention_heads=16,
                     num_key_value_heads=8, max_position_embeddings=2048)
model = LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()
past, tokens = None, None
with torch.inference_mode():
    for step in steps(count(500), torch.cuda.synchronize):
        if step % 100 == 0:
            past, tokens = None, torch.randint(0, 32000, (16, 96), device="cuda")
        out = model(tokens, past_key_values=past, use_cache=True)
        past = out.past_key_values
        chances = torch.softmax(out.logits[:, -1].float() / 0.8, -1)
        tokens = torch.multinomial(chances, 1)
