"""Three threads that launch on streams of their own, side by side, and meet at each step's end."""
import threading

import torch

from loop import count, steps

THREADS = 3
total = count(6000)
start, stop = threading.Barrier(THREADS + 1), threading.Barrier(THREADS + 1)


def work(number):
    torch.cuda.set_device(0)
    stream = torch.cuda.Stream()
    a = torch.randn(2048 + 512 * number, 2048, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    x = torch.randn(1 << 24, device="cuda")
    for _ in range(total):
        start.wait()
        with torch.cuda.stream(stream):
            for _ in range(5):
                torch.mm(a, b)
                x.mul_(0.999).add_(0.001)
        stream.synchronize()
        stop.wait()


threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
for thread in threads:
    thread.start()
for step in steps(total):
    start.wait()
    stop.wait()
for thread in threads:
    thread.join()
