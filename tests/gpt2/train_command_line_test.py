#!/usr/bin/env python3
"""gpt2_train without a GPU: what checkpoints, data, sampling and the schedule refuse, with one line and exit code 2, and
that all of it is told before a GPU is needed (exit code 4)."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import light_libraries

PROGRAM = sys.argv.pop(1)
TINY = ("--model", "tiny", "--attention", "own", "-B", "2", "-T", "16")
CONFIG = dict(T=256, V=97, L=2, NH=2, C=128, Vp=128)


def parameters():
    c, layers = CONFIG["C"], CONFIG["L"]
    per_layer = 2 * c + 3 * c * c + 3 * c + c * c + c + 2 * c + 4 * c * c + 4 * c + 4 * c * c + c
    return CONFIG["Vp"] * c + CONFIG["T"] * c + layers * per_layer + 2 * c


def words(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def hash_words(data):
    """hash_bytes of train/data/random.cpp, for whole words."""
    value = 0
    for (word,) in struct.iter_unpack("<Q", data):
        value = (((value << 29 | value >> 35) & (2**64 - 1)) ^ word) * 0x9e3779b97f4a7c15 % 2**64
    return value


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_program(self, *arguments, variables=None):
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", XDG_CACHE_HOME=self.path("cache"), **light_libraries.variables(PROGRAM),
                           **(variables or {}))
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=60)

    def refused(self, says, *arguments, code=2, variables=None):
        result = self.run_program(*arguments, variables=variables)
        self.assertEqual(result.returncode, code, result)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertTrue(result.stderr.startswith("gpt2_train: "), result.stderr)

    def accepted(self, *arguments):
        """Nothing is wrong but that there is no GPU."""
        self.refused("no usable GPU", *arguments, code=4)

    def tokens(self, name, count=100, vocab=97, magic=20240520):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(struct.pack("<256i", magic, 1, count, *[0] * 253))
            file.write(struct.pack(f"<{count}H", *(i % vocab for i in range(count))))
        return path

    def tokenizer(self, count=97):
        path = self.path(f"tokenizer{count}.bin")
        with open(path, "wb") as file:
            file.write(struct.pack("<256i", 20240328, 2, count, count - 1, *[0] * 252))
            file.write(b"".join(bytes([1, 32 + i % 95]) for i in range(count)))
        return path

    def checkpoint(self, steps=10, precision=2, batch=2, sequence=16, grad_accum=1, seed=1337, **config):
        """A checkpoint as an FP32 run of the synthetic stream writes it; its contents are zeros."""
        sizes = {**CONFIG, **config}
        order = [sizes[name] for name in ("T", "V", "L", "NH", "C", "Vp")]
        folder = self.path("checkpoints", f"step_{steps:08}")
        os.makedirs(folder)
        with open(os.path.join(folder, "model.bin"), "wb") as file:
            file.write(struct.pack("<256i", 20240326, 3, *order, *[0] * 248))
            file.truncate(1024 + 4 * parameters())
        head = words(int.from_bytes(b"RIDGEGPT", "little"), 1, *order, precision, steps, batch, sequence, grad_accum, seed,
                     0, 0, 0, 0, 0, 0, 0, 4 * parameters(), 0, 0, 0)
        with open(os.path.join(folder, "state.bin"), "wb") as file:
            file.write(head + words(hash_words(head)))
            file.truncate(1024 + 8 * parameters())
        return folder

    def test_numbers(self):
        for option in ("--temperature", "--weight-decay", "--clip", "--lr"):
            for value in ("nan", "inf", "1e300"):
                self.refused(f"{option} {'1e+300' if value == '1e300' else value}: must be 0 or more", *TINY, option, value,
                             *(("--steps", "0") if option == "--temperature" else ()))
        self.refused("--weight-decay -1", *TINY, "--weight-decay=-1")
        self.refused("--sample-every", *TINY, "--sample-every", "-1")
        self.refused("--keep", *TINY, "--checkpoint-dir", self.path("c"), "--keep", "0")
        self.refused("--top-k", *TINY, "--steps", "0", "--top-k", "1e9")
        self.refused("--grad-accum", *TINY, "--grad-accum", "0")
        self.refused("T=257", "--model", "tiny", "--attention", "own", "-T", "257")

    def test_schedule(self):
        wsd = (*TINY, "--schedule", "wsd", "--steps", "100")
        self.accepted(*wsd)
        self.accepted(*wsd, "--warmup", "10", "--decay-steps", "90")
        self.refused("--warmup 10 and --decay-steps 91 are longer than the run of 100 steps", *wsd, "--warmup", "10",
                     "--decay-steps", "91")
        self.refused("--decay-steps needs --schedule wsd", *TINY, "--decay-steps", "5")
        self.refused("--schedule", *TINY, "--schedule", "triangle")

    def test_data(self):
        a, b = self.tokens("train_0.bin"), self.tokens("train_1.bin")
        self.accepted(*TINY, "--data", a, b, "--shuffle")
        self.accepted(*TINY, "--data", self.path("train_*.bin"))
        self.refused("val_*.bin: no file matches", *TINY, "--data", self.path("val_*.bin"))
        self.refused("--shuffle needs --data FILES", *TINY, "--shuffle")
        self.refused("--val-data needs --val-every", *TINY, "--val-data", a)
        self.refused("--val-every needs --val-data", *TINY, "--data", a, "--val-every", "2")
        self.refused("No such file", *TINY, "--data", a, "--val-every", "2", "--val-data", self.path("none.bin"))
        self.refused("token 97 at 97 is outside the model's vocabulary of 97", *TINY, "--data", a,
                     self.tokens("wide.bin", vocab=98))
        self.refused("this is no token file", *TINY, "--data", self.tokens("odd.bin", magic=1))
        os.truncate(b, 1024 + 150)
        self.refused("1174 bytes, but its header counts 100 tokens", *TINY, "--data", a, b)
        self.refused("shorter than its", *TINY, "--data", self.folder)

    def test_ranks(self):
        self.refused("-B 3 cannot be divided among 2 ranks", *TINY[:-4], "-B", "3", "-T", "16", "--ranks", "2")
        self.refused("--zero 1 needs --ranks N", *TINY, "--zero", "1")
        self.refused("--zero 2 needs --ranks N", *TINY, "--zero", "2")
        self.refused("no usable GPU", *TINY, "--ranks", "2", "--zero", "2", "--precision", "fp8", code=4)
        self.refused("--zero 2 cannot go with --optimizer per-tensor", *TINY, "--ranks", "2", "--zero", "2", "--optimizer", "per-tensor")
        self.refused("--zero 1 cannot go with --optimizer per-tensor", *TINY, "--ranks", "2", "--zero", "1", "--optimizer", "per-tensor")
        self.refused("--ranks", *TINY, "--ranks", "-1")
        self.refused("No such file", *TINY, "--ranks", "2", "--data", self.path("none.bin"))
        for ranks in ("1", "2"):
            self.refused(f" of {ranks}: no usable GPU", *TINY, "--ranks", ranks, code=4)

    def test_ranks_of_a_launcher(self):
        launcher = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        self.refused("this process is already rank 1 of 2 by torchrun", *TINY, "--ranks", "2", variables=launcher)
        self.refused("RANK=2: must be a number from 0 to 1", *TINY, variables={**launcher, "RANK": "2"})
        self.refused("no usable GPU", *TINY, variables={**launcher, "RANK": "0", "WORLD_SIZE": "1"}, code=4)

    def test_outputs_that_cannot_be_written_are_told_before_the_run(self):
        for option, what in (("--save", "model file"), ("--log", "log file")):
            self.refused(f"{what} {self.path('no', 'such')}: its directory does not exist", *TINY, option,
                         self.path("no", "such"))
            self.refused(f"{what} {self.folder}: is a directory", *TINY, option, self.folder)
        self.refused("model file /dev/null: is no regular file", *TINY, "--save", "/dev/null")
        self.accepted(*TINY, "--log", "/dev/null")
        with open(self.path("file"), "w"):
            pass
        self.refused(f"checkpoint {self.path('file', 'c')}: Not a directory", *TINY, "--checkpoint-dir", self.path("file", "c"))
        self.accepted(*TINY, "--checkpoint-dir", self.path("new", "folder"))
        self.assertEqual(os.listdir(self.path("new", "folder")), [])

    def test_sampling(self):
        sample = (*TINY, "--steps", "0")
        self.accepted(*sample)
        self.accepted(*sample, "--sample-prompt", "1,2 3", "--top-k", "97", "--temperature", "0")
        self.accepted(*sample, "--tokenizer", self.tokenizer(), "--sample-text", "abc")
        self.accepted(*TINY, "--sample-every", "10", "--sample-tokens", "1000")
        self.refused("--top-k 98: the model's vocabulary has 97", *sample, "--top-k", "98")
        self.refused("token 97 is outside", *sample, "--sample-prompt", "97")
        self.refused("expected token ids", *sample, "--sample-prompt", "once upon")
        self.refused("the sampling prompt has 17 tokens, a sequence T=16", *sample, "--sample-prompt", "1," * 17)
        self.refused("--sample-text needs --tokenizer", *sample, "--sample-text", "abc")
        self.refused("begin of no token", *sample, "--tokenizer", self.tokenizer(), "--sample-text", "a\tb")
        self.refused("give one", *sample, "--tokenizer", self.tokenizer(), "--sample-text", "a", "--sample-prompt", "1")
        self.refused("90 tokens, the model has 97", *sample, "--tokenizer", self.tokenizer(90))
        self.refused("this is no tokenizer file", *sample, "--tokenizer", self.tokens("tokens.bin"))
        self.refused("--sample-prompt needs --sample-every N, or --steps 0", *TINY, "--sample-prompt", "1")

    def test_resume(self):
        folder = self.checkpoint()
        fp32 = ("--precision", "fp32", "-B", "2", "-T", "16", "--resume")
        for name in (folder, os.path.dirname(folder), os.path.join(folder, "state.bin")):
            self.accepted(*fp32, name)
        self.accepted(*fp32, folder, "--model", "tiny")
        self.accepted(*fp32, folder, "--steps", "0")
        self.accepted(*fp32, folder, "--steps", "11", "--lr", "1e-5")
        self.refused("holds the state after 10 steps and the run ends at --steps 10", *fp32, folder, "--steps", "10")
        self.refused("leave --model out", *fp32, folder, "--model", "124M")
        self.refused("leave --init out", *fp32, folder, "--init", os.path.join(folder, "model.bin"))
        self.refused("with --precision fp32, this run has tf32", "--precision", "tf32", "-B", "2", "-T", "16", "--resume", folder)
        self.refused("with -B 2, this run has 4", "--precision", "fp32", "-B", "4", "-T", "16", "--resume", folder)
        self.refused("with --seed 1337, this run has 1", *fp32, folder, "--seed", "1")
        self.refused("with --data synthetic, this run has token files", *fp32, folder, "--data", self.tokens("t.bin"))
        self.refused("--profile-steps begins at step 9, the resumed run at step 10", *fp32, folder, "--profile-steps", "9:12")
        self.refused("no such file or directory", *fp32, self.path("none"))
        self.refused("neither a checkpoint nor", *fp32, self.folder)
        state = os.path.join(folder, "state.bin")
        size = os.path.getsize(state)
        os.truncate(state, size - 1)
        self.refused(f"{size - 1} bytes, its header needs {size}", *fp32, folder)
        with open(state, "r+b") as file:
            file.seek(9 * 8)
            file.write(b"\x07")
        self.refused("its header is damaged", *fp32, folder)

    def test_checkpoint_options(self):
        self.refused("--checkpoint-every needs --checkpoint-dir", *TINY, "--checkpoint-every", "5")
        self.refused("--keep needs --checkpoint-dir", *TINY, "--keep", "5")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
