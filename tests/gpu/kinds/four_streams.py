"""Four streams with twelve kernels each, side by side, that meet in a last one: 49 launches a step."""
import torch

from loop import count, steps

main, streams = torch.cuda.current_stream(), [torch.cuda.Stream() for _ in range(4)]
parts = [torch.randn(1 << 21, device="cuda") for _ in streams]
total = torch.zeros_like(parts[0])
for step in steps(count(6000), torch.cuda.synchronize):
    for part, stream in zip(parts, streams):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            for _ in range(12):
                part.mul_(0.999)
        main.wait_stream(stream)
    total.add_(parts[0])
