"""A pair of networks that are trained against each other, with an optimizer each."""
import torch
import torch.nn.functional as F

from loop import count, steps


def layers(kind, *widths):
    return [layer for a, b in zip(widths, widths[1:])
            for layer in (kind(a, b, 4, stride=2, padding=1), torch.nn.BatchNorm2d(b), torch.nn.LeakyReLU(0.2))]


torch.manual_seed(1)
generator = torch.nn.Sequential(*layers(torch.nn.ConvTranspose2d, 128, 256, 128, 64), torch.nn.Conv2d(64, 3, 3, padding=1), torch.nn.Tanh()).cuda()
critic = torch.nn.Sequential(*layers(torch.nn.Conv2d, 3, 64, 128, 256), torch.nn.Flatten(), torch.nn.Linear(256 * 8 * 8, 1)).cuda()
optimizers = [torch.optim.Adam(network.parameters(), lr=2e-4, betas=(0.5, 0.999)) for network in (generator, critic)]
real, one, zero = torch.rand(64, 3, 64, 64, device="cuda"), torch.ones(64, 1, device="cuda"), torch.zeros(64, 1, device="cuda")
for step in steps(count(400), torch.cuda.synchronize):
    fake = generator(torch.randn(64, 128, 8, 8, device="cuda"))
    optimizers[1].zero_grad(set_to_none=True)
    (F.binary_cross_entropy_with_logits(critic(real), one) + F.binary_cross_entropy_with_logits(critic(fake.detach()), zero)).backward()
    optimizers[1].step()
    optimizers[0].zero_grad(set_to_none=True)
    F.binary_cross_entropy_with_logits(critic(fake), one).backward()
    optimizers[0].step()
