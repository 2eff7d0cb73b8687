#!/usr/bin/env python3
"""Training steps as people first write them, and each remedy as a switch.

usage: first_version.py gpt2|resnet50 [--with RULE,...] [--steps N]
       first_version.py gpt2|resnet50 --measure RULE,... [--rounds 4]   (in_turn.py)

gpt2: Hugging Face's GPT-2 124M, eager, autocast to BF16, AdamW by its defaults, the loss read in each step. resnet50: ResNet-50 in FP32,
channels first, SGD by its defaults, images from pageable memory, the loss read in each step. Nothing in them knows of a profiler. A remedy
goes by the name of the rule of `ridgeline advise` that asks for it.
"""
import torch
from torch import nn

import in_turn
from carried_out import REMEDIES

IMAGES, TOKENS = (64, 3, 224, 224), (8, 512)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.branch = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.end = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.end(self.branch(x) + self.shortcut(x))


def resnet50():
    layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for number in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if number == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class Program:
    """A model, its data on the host and a step; `remedies` are the rules whose advice is carried out."""

    def __init__(self, remedies):
        self.remedies = set(remedies)
        torch.manual_seed(1)
        self.copying = torch.cuda.Stream()
        self.graph = None
        self.total = 0.0

    def has(self, *rules):
        return bool(self.remedies & set(rules))

    def prepare(self):
        """Host memory, the device's copy of it, and the step's graph if it is to be one."""
        if self.has("pageable-copy", "copy-exposed"):
            self.batch = [each.pin_memory() for each in self.batch]
        self.on_device = [torch.empty_like(each, device="cuda") for each in self.batch]
        self.next_on_device = [torch.empty_like(each) for each in self.on_device]
        if self.has("launch-overhead"):
            self.capture()

    def capture(self):
        self.take_batch()
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(3):
                self.train()
        torch.cuda.current_stream().wait_stream(beside)
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.train()

    def take_batch(self):
        if not self.has("copy-exposed"):
            for target, source in zip(self.on_device, self.batch):
                target.copy_(source, non_blocking=True)
            return
        # Copied beside the step before, on a stream of its own.
        torch.cuda.current_stream().wait_stream(self.copying)
        for target, source in zip(self.on_device, self.next_on_device):
            target.copy_(source)
        self.copying.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copying):
            for target, source in zip(self.next_on_device, self.batch):
                target.copy_(source, non_blocking=True)

    def train(self):
        loss = self.loss_of()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def step(self):
        # Of the process, which measures two programs in turn.
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = self.has("fp32-gemm")
        torch.backends.cudnn.benchmark = self.has("faster-library")
        self.take_batch()
        if self.graph is not None:
            self.graph.replay()
            loss = self.loss
        else:
            loss = self.train()
        if not self.has("sync-in-step"):
            self.total += loss.item()

    def optimizer_options(self):
        options = {"fused": True} if self.has("optimiser") else {}
        return {**options, "capturable": True} if self.has("launch-overhead") and self.adaptive else options


class Gpt2(Program):
    adaptive = True

    def __init__(self, remedies):
        super().__init__(remedies)
        from transformers import GPT2Config, GPT2LMHeadModel

        model = GPT2LMHeadModel(GPT2Config(vocab_size=50304, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)).cuda()
        if self.has("casts"):
            model = model.to(torch.bfloat16)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **self.optimizer_options())
        self.model = torch.compile(model) if self.has("fold-elementwise", "bias-kernel", "unfused-attention", "faster-library") else model
        self.batch = [torch.randint(0, 50257, TOKENS)]
        self.prepare()

    def loss_of(self):
        with torch.autocast("cuda", torch.bfloat16, enabled=not self.has("casts")):
            return self.model(self.on_device[0], labels=self.on_device[0]).loss


class Resnet50(Program):
    adaptive = False

    def __init__(self, remedies):
        super().__init__(remedies)
        model = resnet50().cuda()
        self.channels_last = self.has("casts", "faster-library")
        if self.channels_last:
            model = model.to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **self.optimizer_options())
        self.model = torch.compile(model) if self.has("fold-elementwise", "bias-kernel") else model
        self.batch = [torch.randn(IMAGES), torch.randint(0, 1000, IMAGES[:1])]
        self.prepare()

    def loss_of(self):
        images, labels = self.on_device
        if self.channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        return nn.functional.cross_entropy(self.model(images), labels)


PROGRAMS = {"gpt2": Gpt2, "resnet50": Resnet50}


def main():
    parser = in_turn.parser_of(__doc__)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    options = in_turn.options_of(parser, REMEDIES)
    made = {}

    def without(_):
        if not made:
            made["first"] = PROGRAMS[options.program]([])
        return made["first"]

    in_turn.run(options, PROGRAMS[options.program], without, warm=8)


if __name__ == "__main__":
    main()
