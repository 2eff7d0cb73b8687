"""An inference server: requests of random sizes come after random pauses, and are answered one by one."""
import random
import time

import torch

from loop import count, steps
from model import Model, VOCABULARY

random.seed(3)
torch.manual_seed(3)
model = Model(layers=12).cuda().to(torch.bfloat16).eval()
with torch.inference_mode():
    for step in steps(count(300), torch.cuda.synchronize):
        time.sleep(random.expovariate(1 / 0.015))
        tokens = torch.randint(0, VOCABULARY, (random.randrange(1, 33), random.randrange(16, 512)), device="cuda")
        logits, _ = model(tokens)
        logits[:, -1].argmax(-1).tolist()
