"""A model trained by PyTorch Lightning's Trainer, with its callbacks and its own loop."""
import logging
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl

from loop import count, steps

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(pl.LightningModule):
    def __init__(self, ticks):
        super().__init__()
        self.ticks = ticks
        self.net = nn.Sequential(
            nn.Conv2d(3, 64, 7, stride=2, padding=3), nn.BatchNorm2d(64), nn.ReLU(),
            *(layer for _ in range(6) for layer in (nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 100))

    def training_step(self, batch, index):
        next(self.ticks, None)
        images, labels = batch
        loss = F.cross_entropy(self.net(images), labels)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class Images(torch.utils.data.IterableDataset):
    def __iter__(self):
        images, labels = torch.randn(64, 3, 112, 112), torch.randint(0, 100, (64,))
        while True:
            yield images, labels


total = count(250)
ticks = steps(total, torch.cuda.synchronize)
trainer = pl.Trainer(max_steps=total, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Classifier(ticks), torch.utils.data.DataLoader(Images(), batch_size=None))
for _ in ticks:
    time.sleep(0)
