"""A diffusion sampler: thirty steps of a network of convolutions and attention that take noise away, then the picture is decoded."""
import torch
import torch.nn.functional as F

from loop import count, steps

CHANNELS, STEPS = 256, 30


class Part(torch.nn.Module):
    def __init__(self, channels, attends=False):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.GroupNorm(32, channels), torch.nn.GroupNorm(32, channels)
        self.conv1, self.conv2 = (torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = torch.nn.Linear(128, channels)
        self.qkv = torch.nn.Conv2d(channels, 3 * channels, 1) if attends else None

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        x = x + self.conv2(F.silu(self.norm2(h)))
        if self.qkv is not None:
            batch, channels, high, wide = x.shape
            q, k, v = self.qkv(x).view(batch, 3, 8, channels // 8, high * wide).transpose(3, 4).unbind(1)
            x = x + F.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(x.shape)
        return x


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.begin, self.end = torch.nn.Conv2d(4, CHANNELS, 3, padding=1), torch.nn.Conv2d(CHANNELS, 4, 3, padding=1)
        self.down = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1)
        self.up = torch.nn.ConvTranspose2d(CHANNELS, CHANNELS, 4, stride=2, padding=1)
        self.outer = torch.nn.ModuleList(Part(CHANNELS) for _ in range(4))
        self.inner = torch.nn.ModuleList(Part(CHANNELS, attends=True) for _ in range(6))

    def forward(self, x, time):
        x = self.begin(x)
        for part in self.outer[:2]:
            x = part(x, time)
        y = self.down(x)
        for part in self.inner:
            y = part(y, time)
        x = x + self.up(y)
        for part in self.outer[2:]:
            x = part(x, time)
        return self.end(x)


torch.manual_seed(1)
network = Network().cuda().to(torch.bfloat16).eval()
ups = [torch.nn.ConvTranspose2d(a, b, 4, stride=2, padding=1) for a, b in ((4, 64), (64, 32), (32, 3))]
decoder = torch.nn.Sequential(*ups).cuda().to(torch.bfloat16)
alphas = torch.linspace(0.05, 0.999, STEPS + 1).tolist()
x, frequencies = None, torch.exp(torch.linspace(0, 6, 64, device="cuda"))
with torch.inference_mode():
    for step in steps(count(60 * STEPS), torch.cuda.synchronize):
        number = step % STEPS
        if number == 0:
            x = torch.randn(4, 4, 64, 64, device="cuda", dtype=torch.bfloat16)
        angles = frequencies * (number / STEPS)
        time = torch.cat([angles.sin(), angles.cos()]).to(torch.bfloat16).expand(4, 128)
        noise = network(x, time)
        alpha, after = alphas[number], alphas[number + 1]
        clean = (x - (1 - alpha) ** 0.5 * noise) / alpha**0.5
        x = after**0.5 * clean.clamp(-3, 3) + (1 - after) ** 0.5 * noise
        if number == STEPS - 1:
            decoder(x).clamp(-1, 1).float().cpu()
