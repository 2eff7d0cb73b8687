#!/usr/bin/env python3
"""gpt2_train without a GPU: help, usage errors and bad files end with one line and the right exit code."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import light_libraries

PROGRAM = sys.argv.pop(1)


def run(*arguments, own_libraries=False):
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", **({} if own_libraries else light_libraries.variables(PROGRAM)))
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=60)


class CommandLine(unittest.TestCase):
    def refused(self, code, says, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertTrue(result.stderr.startswith("gpt2_train: "))

    def test_help_lists_the_groups(self):
        result = run("--help", own_libraries=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for group in ("Model", "Batch", "Computation", "Optimizer", "Data", "Checkpoints", "Sampling", "Output"):
            self.assertIn(group + ":", result.stdout)
        self.assertNotIn("--help NAME", result.stdout)
        self.assertIn("--batch N ", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_impossible_arguments(self):
        self.refused(2, "--precision", "--precision", "fp64")
        self.refused(2, "unknown model '125M'", "--model", "125M")
        self.refused(2, "--batch", "-B", "0")
        self.refused(2, "--attention own", "--precision", "fp32", "--attention", "cudnn")
        self.refused(2, "--attention own", "--precision", "tf32", "--attention", "hopper")
        self.refused(2, "--min-lr", "--lr", "1e-5", "--min-lr", "1e-4")
        self.refused(2, "--warmup 100", "--steps", "10", "--warmup", "100")
        self.refused(2, "--lr", "--lr", "nan")
        self.refused(2, "T=2048", "-T", "2048", "--attention", "own")
        self.refused(2, "--profile-steps", "--profile-steps", "9:5")
        self.refused(2, "ends at step 50", "--profile-steps", "9:50")
        self.refused(2, "--matmul-search", "--matmul-search", "quick")
        self.refused(2, "--no-such-option", "--no-such-option")
        self.refused(2, "--preset", "--preset", "slow")
        self.refused(2, "--l2-persist", "--l2-persist", "everything")
        self.refused(2, "needs --no-cuda-graph", "--l2-persist", "residual", "--cuda-graph")
        self.refused(2, "needs --matmul cublaslt", "--matmul", "cublas", "--gelu", "fused")
        self.refused(2, "--bias separate", "--bias", "separate", "--gelu", "fused")
        self.refused(2, "--residual gemm needs --matmul cublaslt", "--matmul", "cublas", "--residual", "gemm")
        self.refused(2, "--residual gemm needs --matmul cublaslt", "--preset", "naive", "--residual", "gemm")
        self.refused(2, "--bias separate", "--bias", "separate", "--residual", "gemm")
        self.refused(2, "--residual", "--residual", "none")
        self.refused(2, "--gelu own computes in bf16", "--precision", "fp32", "--gelu", "own")
        self.refused(2, "needs --matmul cublaslt", "--matmul", "cublas", "--gelu", "own")
        self.refused(2, "--bias separate", "--bias", "separate", "--gelu", "own")
        self.refused(2, "--recompute", "--recompute", "3")
        self.refused(2, "use --gelu separate", "--recompute", "1", "--gelu", "own")
        self.refused(2, "--stochastic-rounding", "--precision", "fp32", "--stochastic-rounding")
        for option, value, instead in (("--gelu", "own", "separate"), ("--gelu", "fused", "separate"), ("--matmul", "cublas", "cublaslt"),
                                       ("--bias", "separate", "fused"), ("--kernels", "scalar", "packed"),
                                       ("--bias-gradient", "naive", "separate"), ("--recompute", "1", "0"),
                                       ("--l2-persist", "residual", "none")):
            self.refused(2, f"use {option} {instead}", "--precision", "fp8", option, value)
        self.refused(2, "needs --precision fp8", "--fp8-hidden", "fp8")
        self.refused(2, "needs --precision fp8", "--fp8-classifier", "all")
        self.refused(2, "multiples of 16", "--precision", "fp8", "--model", "tiny", "-B", "3", "-T", "40", "--attention", "own")

    def test_what_never_won_is_named_with_what_to_use(self):
        for says, *arguments in (
                ("--gelu mixed is gone: use --gelu own or separate", "--gelu", "mixed"),
                ("--gelu mixed is gone", "--gelu=mixed"),
                ("--matmul-search fast is gone: use --matmul-search off or full", "--matmul-search", "fast"),
                ("--fp8-classifier forward is gone", "--precision", "fp8", "--fp8-classifier", "forward"),
                ("--fp8-fast-accumulation is gone", "--fp8-fast-accumulation", "none"),
                ("--l2-persist weights is gone: use --l2-persist residual or none", "--l2-persist", "weights"),
                ("--l2-persist gradient is gone", "--l2-persist", "gradient"),
                ("--residual product is gone: use --residual gemm", "--residual", "product"),
                ("--slow-kernel is gone: tests/gpu/compare_runs.py", "--slow-kernel", "layernorm_forward=5")):
            self.refused(2, says, *arguments)

    def test_bad_files(self):
        own = ("--model", "tiny", "--attention", "own")
        self.refused(2, "No such file", *own, "--data", "/nonexistent/tokens.bin")
        self.refused(2, "No such file", *own, "--init", "/nonexistent/model.bin")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens.bin")
            with open(path, "wb") as f:
                f.write(struct.pack("<256i", 20240520, 1, 10, *[0] * 253) + struct.pack("<10H", *range(10)))
            self.refused(2, "one batch of B*T needs 33", *own, "-B", "2", "-T", "16", "--data", path)
            self.refused(2, "magic is 20240520", *own, "--init", path)
            self.refused(2, "either 'synthetic' or token files", *own, "--data", path, "synthetic")

    def test_without_a_gpu(self):
        own = ("--model", "tiny", "--attention", "own", "--steps", "1")
        self.refused(4, "no usable GPU", *own)
        for switches in (["--matmul", "cublas"], ["--bias", "separate"], ["--attention", "unfused"],
                         ["--vocabulary", "plain"], ["--recompute", "2"], ["--precision", "fp32"], ["--precision", "fp8"], ["--gelu", "own"],
                         ["--gelu", "fused"],
                         ["--residual", "gemm"], ["--residual", "fused"], ["--residual", "separate"],
                         ["--precision", "fp8", "--residual", "gemm"], ["--precision", "fp32", "--residual", "gemm"],
                         ["--matmul", "cublas", "--residual", "separate"],
                         ["--preset", "naive", "--matmul", "cublaslt", "--residual", "gemm"],
                         ["--recompute", "1", "--gelu", "separate"],
                         ["--l2-persist", "residual"], ["--l2-persist", "residual", "--no-cuda-graph"]):
            self.refused(4, "no usable GPU", *own[:2], *own[4:], *switches)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
