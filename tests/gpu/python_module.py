#!/usr/bin/env python3
"""The Python module in a PyTorch loop on a GPU: a script that records itself, one that was started by `ridgeline record`, one that asks too
late, and, where they are installed, a real transformers.Trainer and a Lightning Trainer.

The module, the program and the agent are those of a wheel that scripts/wheel makes of the build.
usage: python_module.py --build-dir DIR --out DIR [--local] [--json FILE]
"""
import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from common import Checks

SOURCE = Path(__file__).resolve().parents[2]
LAYERS, BATCH, WIDTH = 8, 4096, 2048
MODEL = f"""
import sys, warnings, ridgeline
mode = sys.argv[1]
if mode == "late":
    import torch
    torch.zeros(1, device="cuda")
steps = ridgeline.schedule(wait=5, warmup=2, active=17, repeat=1)
prof = ridgeline.record(sys.argv[2], schedule=steps)
import torch
model = torch.nn.Sequential(*[torch.nn.Linear({WIDTH}, {WIDTH}) for _ in range({LAYERS})]).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
x = torch.randn({BATCH}, {WIDTH}, device="cuda", dtype=torch.bfloat16)
with ridgeline.declare_work(model) as work, prof:
    for _ in range(34):
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        prof.step(tokens={BATCH})
torch.cuda.synchronize()
print("state", prof.state, "captures", prof.captures, "forward", work.forward_calls, "backward", work.backward_calls,
      "unknown", work.unknown_backward)
"""
TRAINER = """
import sys
from ridgeline.integrations.transformers import RidgelineCallback
callback = RidgelineCallback(sys.argv[2], steps="8:20")
import torch, transformers
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4096
    def __getitem__(self, i): return {"input_ids": torch.full((128,), i % 512), "labels": torch.full((128,), i % 512)}
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=512, n_layer=4, n_head=8, n_embd=512, n_positions=128))
args = transformers.TrainingArguments("trainer-out", max_steps=30, per_device_train_batch_size=16, gradient_accumulation_steps=2, bf16=True,
                                      report_to=[], save_strategy="no", include_num_input_tokens_seen=True)
transformers.Trainer(model, args, train_dataset=Data(), callbacks=[callback]).train()
print("state", callback.recording.state, "captures", callback.captures)
"""
LIGHTNING = """
import sys
from ridgeline.integrations.lightning import RidgelineProfiler
profiler = RidgelineProfiler(dirpath=sys.argv[2], filename="lightning", steps="8:20")
import torch
try: import lightning.pytorch as pl
except ImportError: import pytorch_lightning as pl
class Model(pl.LightningModule):
    def __init__(self): super().__init__(); self.layer = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)])
    def training_step(self, batch, index): return self.layer(batch[0]).square().mean()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4096, 1024)), batch_size=128)
pl.Trainer(max_steps=30, profiler=profiler, logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(Model(), loader)
print("state", profiler.recording.state, "captures", profiler.captures)
"""


class Checker:
    def __init__(self, options):
        self.options, self.checks = options, Checks(options.json)
        self.environment = None

    def install(self):
        """The wheel, unpacked as pip would: an interpreter's environment need not have pip. False: there is none."""
        home = self.options.out / "python-wheel"
        shutil.rmtree(home, ignore_errors=True)
        path = self.options.wheel
        if path is None:
            words = [sys.executable, "-B", str(SOURCE / "scripts/wheel"), "--build-dir", str(self.options.build_dir), "--out", str(home)]
            done = subprocess.run(words + ["--local"] * self.options.local, capture_output=True, text=True, check=False)
            self.checks.add("python-wheel", done.returncode == 0, (done.stdout + done.stderr).strip())
            if done.returncode != 0:
                return False
            path = done.stdout.strip()
        with zipfile.ZipFile(path) as wheel:
            for item in wheel.infolist():
                os.chmod(wheel.extract(item, home), item.external_attr >> 16)
        # One GPU: on several the trainers of the frameworks would start a process for each, and their collectives are not counted.
        device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        self.environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": device}
        sys.path.insert(0, str(home))
        return True

    def run(self, name, code, arguments, before=()):
        script = self.options.out / f"python-{name}.py"
        script.write_text(code)
        done = subprocess.run([*(before or [sys.executable]), str(script), *arguments], env=self.environment, cwd=self.options.out,
                              capture_output=True, text=True, timeout=240, check=False)
        (self.options.out / f"python-{name}.log").write_text(done.stdout + done.stderr)
        return done

    def look_at(self, name, path, done, active, tokens=None, flops=None):
        """One row on a capture: recorded steps, tiers, tokens and declared work."""
        import ridgeline
        if not Path(path).is_file():
            lines = (done.stdout + done.stderr).strip().splitlines()
            self.checks.add(name, False, f"exit {done.returncode}, no capture {path}: {' | '.join(lines[-4:])}")
            return
        capture = ridgeline.open(path)
        summary, steps = capture.summary(), capture.steps()
        recorded = [row for row in steps if row["phase"] in ("timeline", "sample", "replay")]
        size = capture.rank(top=1).document["throughput"] or {}
        faults = [text for text, wrong in (
            (f"exit {done.returncode}", done.returncode != 0),
            (f"{len(recorded)} recorded steps, {active} expected", len(recorded) != active),
            (f"steps from {sorted({row['source'] for row in steps})}", {row["source"] for row in steps} != {"nvtx"}),
            (f"tiers {summary['tiers']}", any(summary["tiers"].get(tier) != "ok" for tier in ("T0", "T1", "T2"))),
            (f"tokens {size.get('tokens')}, {tokens} expected", tokens is not None and size.get("tokens") != tokens),
            (f"declared FLOPs {size.get('declared_flops')}, {flops} expected",
             flops is not None and size.get("declared_flops") != flops),
            ("records are missing", summary["complete"] is not True)) if wrong]
        detail = (f"{len(recorded)} of {len(steps)} steps recorded, step {summary['step_ns'] / 1e6:.3f} ms, "
                  f"coverage {summary['coverage_ratio']}, "
                  f"tokens {size.get('tokens')}, MFU {summary['mfu_ratio']}, tensor ops ÷ declared "
                  f"{(size.get('tensor_ops') or 0) / size['declared_flops'] if size.get('declared_flops') else None}")
        self.checks.add(name, not faults, "; ".join([*faults, detail]))

    def own(self, name, before=()):
        path = self.options.out / f"python-{name}.ridge"
        path.unlink(missing_ok=True)
        done = self.run(name, MODEL, [name, str(path)], before)
        # Forward, and backward of weights; of inputs in all layers but the first.
        flops = 2.0 * BATCH * WIDTH * WIDTH * (3 * LAYERS - 1)
        return done, path, flops

    def all(self):
        if not self.install():
            return
        done, path, flops = self.own("own")
        self.look_at("python-own", path, done, 17, BATCH, flops)
        said = [line for line in done.stdout.splitlines() if line.startswith("state ")]
        counts = f"forward {34 * LAYERS} backward {34 * LAYERS} unknown 0"
        seen = said[0] if said else done.stderr.strip()[-300:].replace("\n", " | ")
        self.checks.add("python-hooks", bool(said) and counts in said[0], seen)

        path = self.options.out / "python-launched.ridge"
        done, _, flops = self.own("launched", [sys.executable, "-m", "ridgeline", "record", "-f", "-q", "--wait", "--schedule",
                                               "warmup=2,timeline=10,sample=3,replay=4", "-o", str(path)])
        self.look_at("python-launched", path, done, 17, BATCH, flops)

        done, path, _ = self.own("late")
        lines = [line for line in done.stderr.splitlines() if "before the first CUDA call" in line]
        self.checks.add("python-late", done.returncode == 0 and len(lines) == 1 and not path.exists() and "state off" in done.stdout,
                        lines[0] if lines else (done.stdout + done.stderr).strip()[-300:].replace("\n", " | "))
        self.framework("transformers", ("transformers", "accelerate"), TRAINER, self.options.out / "python-trainer.ridge", 12, 2 * 16 * 128)
        self.framework("lightning", ("lightning",), LIGHTNING, self.options.out / "lightning-0-7.ridge", 12)

    def framework(self, name, modules, code, path, active, tokens=None):
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            print(f"python-{name}: {', '.join(missing)} is not installed, so that it is not looked at", flush=True)
            return
        Path(path).unlink(missing_ok=True)
        done = self.run(name, code, ["own", str(path if name != "lightning" else self.options.out)])
        self.look_at(f"python-{name}", path, done, active, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--out", required=True, type=lambda text: Path(text).resolve())
    parser.add_argument("--local", action="store_true", help="of a build that is not portable")
    parser.add_argument("--wheel", help="one that was made elsewhere")
    parser.add_argument("--json")
    options = parser.parse_args()
    checker = Checker(options)
    checker.all()
    checker.checks.finish()


if __name__ == "__main__":
    main()
