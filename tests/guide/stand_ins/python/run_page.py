"""usage: run_page.py PROGRAM: runs a program of a page; `model`, `optimizer`, `loader`, `train` are made up, and torch is a stand-in."""
import runpy
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "python"))  # the module ridgeline

torch.ranges.clear()
batch = torch.Batch()
runpy.run_path(sys.argv[1], {"torch": torch, "loader": [batch, batch], "model": torch.Model(), "optimizer": torch.Optimizer(),
                               "train": lambda batch: None})
if torch.depth != 0:
    sys.exit("a range was pushed and never popped")
if torch.ranges and torch.ranges.count("step") != 2:
    sys.exit(f"ranges are {torch.ranges}, one named step for each of two batches was expected")
