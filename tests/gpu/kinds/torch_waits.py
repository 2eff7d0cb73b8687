"""Work of some milliseconds and then a wait for it, of another kind each time, so that the thread is nearly always inside a call that waits; prints
what it computed, to the bit."""
import torch

from loop import count, steps

x = torch.arange(1 << 26, device="cuda", dtype=torch.int32)
small = torch.zeros(1000, device="cuda", dtype=torch.int32)
event, blocking = torch.cuda.Event(), torch.cuda.Event(blocking=True)
for i in steps(count(1200), torch.cuda.synchronize):
    for k in range(8):
        small += k
    for k in range(20):
        x.mul_(1103515245).add_(i + k)
    event.record()
    blocking.record()
    if i % 5 == 0:
        torch.cuda.synchronize()
    elif i % 5 == 1:
        torch.cuda.current_stream().synchronize()
    elif i % 5 == 2:
        event.synchronize()
    elif i % 5 == 3:
        blocking.synchronize()
    else:
        small[0].item()
print("result", int(x.sum()), int(small.sum()))
