"""The Python module: answers of a capture, schedules, NVTX into the real agent, windows, declared work, integrations.

usage: module_test.py [unittest arguments]; RIDGELINE_PROGRAM names the program, RIDGELINE_SPOOL_DUMP and RIDGELINE_TEST_AGENT the spool
dump and the agent where they are built.
"""
import importlib
import os
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

SOURCE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/python")]

import fakes  # noqa: E402
import ridgeline  # noqa: E402
from ridgeline import _nvtx, _recording, _schedule, _work  # noqa: E402
from ridgeline.__main__ import command  # noqa: E402
from ridgeline.integrations.jax import JaxSteps  # noqa: E402
from ridgeline.integrations.lightning import RidgelineProfiler  # noqa: E402
from ridgeline.integrations.transformers import RidgelineCallback  # noqa: E402

CAPTURE = SOURCE / "examples/gpt2-h200.ridge"
AGENT = os.environ.get("RIDGELINE_TEST_AGENT")
DUMP = os.environ.get("RIDGELINE_SPOOL_DUMP")


class CaptureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.capture = ridgeline.open(CAPTURE)

    def test_rank_has_rows_with_error_and_coverage(self):
        rows = self.capture.rank()
        self.assertEqual(len(rows), 31)
        self.assertEqual(rows[0]["bound"], "latency")
        self.assertAlmostEqual(rows[0]["limiter_error_ratio"], 0.0005959, places=6)
        self.assertEqual(sum(row["time_ns"] for row in rows), 47993971)
        self.assertEqual(rows.coverage_ratio, 1.0)
        self.assertIs(rows.complete, True)
        short = [row for row in rows if row["limiter"] == "launch"]
        self.assertTrue(short and all(row["coverage_ratio"] == 0 and row["limiter_utilisation_ratio"] is None for row in short))

    def test_options_are_those_of_the_command_line(self):
        rows = self.capture.rank(by="layer,phase", sort="-time_ns", top=3, min_share="1%")
        self.assertEqual(len(rows), 3)
        self.assertIn("by_layer", rows[0])
        self.assertEqual(rows.document["options"]["by"], "layer,phase")

    def test_steps_and_advice_and_roofs(self):
        steps = self.capture.steps()
        self.assertEqual([row["step_index"] for row in steps if row["representative"]], [15])
        self.assertEqual(steps.document["accounting"]["kernel_busy_ns"], 47992657)
        self.assertIn("tail-wave", [row["rule"] for row in self.capture.advise()])
        self.assertTrue(all({"rule", "verdict", "net_low_ns"} <= row.keys() for row in self.capture.advise()))
        self.assertEqual(len(self.capture.roofline()), 31)
        self.assertEqual(self.capture.check().document["verdict"]["overall"], "missed")

    def test_one_kernel_changes_and_traces(self):
        one = self.capture.explain(1)
        self.assertEqual((one["format"], one["kernel"]["class"]), ("ridgeline.explain", "attention"))
        self.assertEqual(self.capture.explain("layernorm_forward")["kernel"]["rank"], 4)
        with self.assertRaisesRegex(ridgeline.UsageError, "nosuch"):
            self.capture.explain("nosuch")
        gains = [self.capture.what_if(f"attention*={times}").document["together"]["simulated"]["value_ns"] for times in ("1.5", "3")]
        self.assertTrue(0 < gains[0] < gains[1] < 6888540, gains)
        with tempfile.TemporaryDirectory() as folder:
            self.capture.export(f"{folder}/steps.csv", format="csv", view="v_step")
            self.assertEqual(len(Path(folder, "steps.csv").read_text().splitlines()), 39)

    def test_sql_has_typed_values_and_says_what_it_left_out(self):
        rows = self.capture.sql("SELECT step_index, phase, reason FROM step ORDER BY step_index", max_rows=2)
        self.assertEqual(rows, [{"step_index": 0, "phase": "warmup", "reason": None}, {"step_index": 1, "phase": "warmup", "reason": None}])
        self.assertIs(rows.document["truncated"], True)
        self.assertEqual(self.capture.sql("SELECT -1 AS n")[0], {"n": -1})

    def test_summary(self):
        summary = self.capture.summary()
        self.assertEqual(summary["step_ns"], 48657659)
        self.assertAlmostEqual(summary["mfu_ratio"], 0.5503, places=4)
        self.assertEqual(summary["device"], "NVIDIA H200")
        self.assertTrue(summary["advice"] and summary["findings"])

    def test_failures_are_exceptions_with_the_exit_code_and_one_line(self):
        for ask, kind, part in ((lambda: ridgeline.open("/nowhere.ridge"), ridgeline.EnvironmentFailure, "/nowhere.ridge"),
                                (lambda: ridgeline.open(SOURCE / "README.md"), ridgeline.DataError, "not a Ridgeline capture"),
                                (lambda: self.capture.rank(bye="kernel"), ridgeline.UsageError, "--bye"),
                                (lambda: self.capture.sql("DELETE FROM step"), ridgeline.UsageError, "SELECT")):
            with self.assertRaises(kind) as caught:
                ask()
            self.assertIn(part, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(caught.exception.exit_code, kind.exit_code)

    def test_pandas_is_taken_where_it_is(self):
        pandas = types.ModuleType("pandas")

        class DataFrame:
            def __init__(self, data, columns):
                self.data, self.columns, self.attrs = data, columns, {}
        pandas.DataFrame = DataFrame
        rows = self.capture.sql("SELECT 1 AS a, 2 AS b WHERE 0")
        with mock.patch.dict(sys.modules, {"pandas": pandas}):
            frame = rows.to_pandas()
        self.assertEqual((frame.data, list(frame.columns)), ([], ["a", "b"]))
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaisesRegex(ImportError, "needs pandas"):
            rows.to_pandas()

    def test_program_is_named_or_said_to_be_missing(self):
        with mock.patch.dict(os.environ, {"RIDGELINE_PROGRAM": "/nowhere"}), self.assertRaisesRegex(ridgeline.ProgramError, "/nowhere"):
            ridgeline.program_path()
        self.assertEqual(ridgeline.version(), ridgeline.__version__)


class ScheduleTest(unittest.TestCase):
    def test_meaning_is_that_of_torch(self):
        letters = {ridgeline.ScheduleAction.NONE: ".", ridgeline.ScheduleAction.WARMUP: "w", ridgeline.ScheduleAction.RECORD: "r",
                   ridgeline.ScheduleAction.RECORD_AND_SAVE: "S"}
        for arguments, meant in ((dict(wait=1, warmup=1, active=2), ".wrS.wrS.wrS"),
                                 (dict(wait=1, warmup=1, active=2, repeat=1), ".wrS........"),
                                 (dict(wait=1, warmup=1, active=2, repeat=2, skip_first=3), "....wrS.wrS."),
                                 (dict(wait=2, warmup=0, active=1, skip_first=1, skip_first_wait=1), ".S..S..S..S."),
                                 (dict(wait=0, warmup=0, active=1, repeat=3), "SSS.........")):
            plan = ridgeline.schedule(**arguments)
            self.assertEqual("".join(letters[plan(step)] for step in range(12)), meant, arguments)

    def test_steps_and_phases(self):
        plan = _schedule.steps("50:55")
        self.assertEqual([plan(step).name for step in (48, 49, 50, 53, 54, 55, 105)],
                         ["NONE", "WARMUP", "RECORD", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"])
        self.assertEqual(plan.phases(), "warmup=1,timeline=3,sample=1,replay=1")
        self.assertEqual(_schedule.steps("0:34").phases(), "timeline=20,sample=6,replay=8")
        self.assertEqual(_schedule.steps("0:2").phases(), "timeline=2")
        self.assertEqual(_schedule.steps("1:5").phases(("T0",)), "warmup=1,timeline=4")
        for bad in ("5", "5:5", "a:b", "7:3", "-1:3"):
            with self.assertRaisesRegex(ValueError, "FIRST:END"):
                _schedule.steps(bad)
        with self.assertRaisesRegex(ValueError, "active is 0"):
            ridgeline.schedule(wait=0, warmup=0, active=0)

    def test_script_is_put_behind_the_interpreter(self):
        self.assertEqual(command(["record", "-o", "x.ridge", "train.py", "--lr", "1"]),
                         ["record", "-o", "x.ridge", "--", sys.executable, "train.py", "--lr", "1"])
        self.assertEqual(command(["record", "-m", "pkg", "-o", "y"]), ["record", "--", sys.executable, "-m", "pkg", "-o", "y"])
        self.assertEqual(command(["record", "--", "./a.py"]), ["record", "--", "./a.py"])
        self.assertEqual(command(["rank", "a.py"]), ["rank", "a.py"])


def attached(folder, **more):
    return mock.patch.dict(os.environ, {"RIDGELINE_SPOOL_DIR": folder, **more})


class RecordingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(suffix=".spool")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.agent = fakes.Agent(self.folder)
        self.addCleanup(self.agent.stop)
        self.tool = fakes.Tool()
        for patch in (mock.patch.object(_nvtx, "client", lambda: self.tool),
                      mock.patch.object(_recording, "cuda_initialised", lambda: True)):
            patch.start()
            self.addCleanup(patch.stop)

    def windows(self, prof, steps):
        """For each step whether its window is open while it runs."""
        seen = []
        with prof:
            for _ in range(steps):
                seen.append(self.agent.open)
                prof.step()
        return seen

    def test_windows_follow_the_schedule_step_by_step(self):
        with attached(self.folder):
            prof = ridgeline.record(schedule=ridgeline.schedule(wait=1, warmup=1, active=2, repeat=2))
        self.assertEqual(prof.state, "attached")
        self.assertEqual(self.windows(prof, 10), [False, True, True, True, False, True, True, True, False, False])
        self.assertEqual(self.agent.commands, ["open", "close", "open", "close"])
        self.assertEqual(self.tool.names(), ["step"] * 11)
        self.assertEqual(self.tool.said[-1], ("pop",))

    def test_cycles_without_wait_have_a_window_each(self):
        with attached(self.folder):
            prof = ridgeline.record(schedule=ridgeline.schedule(wait=0, warmup=0, active=2, repeat=2))
        self.windows(prof, 5)
        self.assertEqual(self.agent.commands, ["open", "close", "open", "close"])

    def test_schedule_of_torch_is_taken(self):
        with attached(self.folder):
            prof = ridgeline.record(schedule=lambda step: fakes.Profiler.RECORD_AND_SAVE if step == 1 else fakes.Profiler.NONE)
        self.assertEqual(self.windows(prof, 3), [False, True, False])

    def test_only_the_first_process_of_a_machine_commands(self):
        with attached(self.folder, LOCAL_RANK="1"):
            prof = ridgeline.record(steps="1:2")
            self.windows(prof, 3)
        self.assertEqual(self.agent.commands, [])
        self.assertEqual(self.tool.names(), ["step"] * 4)

    def test_other_ranks_are_idle(self):
        with attached(self.folder, RANK="1"):
            prof = ridgeline.record(steps="1:2", ranks="0,2")
        self.assertEqual((prof.state, self.windows(prof, 3)), ("idle", [False] * 3))
        with self.assertRaisesRegex(ValueError, "ranks"):
            _recording.read_ranks("first")

    def test_decorator_records_the_call(self):
        with attached(self.folder):
            prof = ridgeline.record()
        seen = []
        self.assertEqual(prof(lambda: seen.append(self.agent.open) or 7)(), 7)
        self.assertEqual((seen, self.agent.commands), ([True], ["open", "close"]))

    def test_an_exception_closes_the_window_and_goes_on(self):
        with attached(self.folder):
            prof = ridgeline.record(steps="0:9")
        with self.assertRaises(KeyError), prof:
            raise KeyError
        self.assertEqual(self.agent.commands, ["open", "close"])
        with self.assertRaisesRegex(RuntimeError, "inside"):
            prof.step()

    def test_without_gpu_one_line_and_no_harm(self):
        recorded = (*_recording._INJECTIONS, "RIDGELINE_SPOOL_DIR")
        environment = {name: value for name, value in os.environ.items() if name not in recorded}
        cases = ((dict(cuda_initialised=lambda: True), "before the first CUDA call"),
                 (dict(cuda_initialised=lambda: False, has_driver=lambda: False), "no NVIDIA driver"))
        for functions, part in cases:
            with mock.patch.dict(os.environ, environment, clear=True), mock.patch.multiple(_recording, **functions):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    prof = ridgeline.record("x.ridge", steps="0:1")
                    self.assertEqual(self.windows(prof, 3), [False] * 3)
                self.assertEqual([part in str(w.message) for w in said], [True])
                self.assertNotIn("\n", str(said[0].message))
                self.assertEqual((prof.state, prof.captures), ("off", []))
                self.assertEqual(dict(os.environ), environment)
                with self.assertRaisesRegex(ridgeline.RecordingUnavailable, part):
                    ridgeline.record("x.ridge", required=True)
        with mock.patch.dict(os.environ, {**environment, "CUDA_INJECTION64_PATH": "/nsys.so"}, clear=True), \
                mock.patch.multiple(_recording, cuda_initialised=lambda: False, has_driver=lambda: True), \
                self.assertRaisesRegex(ridgeline.RecordingUnavailable, "one profiler at a time"):
            ridgeline.record("x.ridge", required=True)

    def test_commit_is_that_of_the_working_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual(_recording.working_tree(), {})
                Path("train.py").write_text("1")
                author = ["-c", "user.name=a", "-c", "user.email=a@b"]
                for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "first"]):
                    subprocess.run(["git", *words], check=True)
                tree = _recording.working_tree()
                self.assertRegex(tree["git_commit"], "^[0-9a-f]{40}$")
                self.assertIs(tree["git_dirty"], False)
                Path("train.py").write_text("2")
                self.assertIs(_recording.working_tree()["git_dirty"], True)
            finally:
                os.chdir(before)

    def test_file_names_have_rank_and_step(self):
        with attached(self.folder, RANK="3", WORLD_SIZE="8"):
            prof = ridgeline.record("run-{rank}-of-{world_size}-{step}.ridge")
            self.assertEqual(prof._named(50), "run-3-of-8-50.ridge")
            with self.assertRaisesRegex(ValueError, "epoch"):
                ridgeline.record("run-{epoch}.ridge")._named(0)

    def test_huggingface_trainer(self):
        args = types.SimpleNamespace(world_size=2)
        state = types.SimpleNamespace(global_step=0, num_input_tokens_seen=0)
        with attached(self.folder):
            callback = RidgelineCallback(steps="1:2")
        callback.on_init_end(args, state, None, model=None)
        callback.on_train_begin(args, state, None, model=None, train_dataloader=[])
        opened = []
        for step in range(3):
            callback.on_step_begin(args, state, None, model=None)
            opened.append(self.agent.open)
            callback.on_substep_end(args, state, None)
            callback.on_some_event_of_a_later_version(args, state, None, new=1)
            state.num_input_tokens_seen += 1000
            state.global_step += 1
            callback.on_step_end(args, state, None)
        callback.on_train_end(args, state, None)
        # steps="1:2" has the step before as warm-up; no step is marked but the trainer's.
        self.assertEqual(self.tool.names().count("step"), 3)
        self.assertEqual(opened, [True, True, False])
        sizes = [entry for entry in self.tool.said if entry[0] == "push" and entry[1] == "step size"]
        self.assertEqual([entry[2:] for entry in sizes], [(0x524D, [500, 0])] * 3)
        # Each size is inside its step, and nothing is left open.
        depth, inside = 0, []
        for entry in self.tool.said:
            depth += 1 if entry[0] == "push" else -1
            if entry[0] == "push" and entry[1] == "step size":
                inside.append(depth)
        self.assertEqual((inside, depth), ([2, 2, 2], 0))
        self.assertRaises(AttributeError, lambda: callback.nothing)

    def test_lightning(self):
        with attached(self.folder):
            profiler = RidgelineProfiler(steps="1:2")
        profiler.setup(stage="fit", local_rank=0, log_dir=None)
        opened = []
        for _ in range(3):
            with profiler.profile("run_training_batch"):
                opened.append(self.agent.open)
                with profiler.profile("[LightningModule]Model.optimizer_step"), profiler.profile("[Strategy]Single.training_step"):
                    with profiler.profile("[Callback]Bar.on_before_backward"):
                        pass
        profiler.describe()  # Lightning 2 calls this; teardown() comes from within it, of its own profilers
        self.assertFalse(profiler.recording._started)
        profiler.teardown(stage="fit")
        self.assertEqual(opened, [True, True, False])
        self.assertEqual(self.tool.names(), ["step", "optimizer", "forward"] * 3)
        self.assertEqual(sum(1 if entry[0] == "push" else -1 for entry in self.tool.said), 0)

    def test_jax(self):
        named = []

        class Annotation:
            def __init__(self, name, step_num):
                named.append((name, step_num))

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass
        jax = types.SimpleNamespace(profiler=types.SimpleNamespace(StepTraceAnnotation=Annotation))
        with attached(self.folder), mock.patch.dict(sys.modules, {"jax": jax}):
            opened = []
            with JaxSteps(steps="1:2") as prof:
                for _ in range(3):
                    with prof.step(tokens=7):
                        opened.append(self.agent.open)
        self.assertEqual(self.tool.names(), ["step", "step size"] * 3)
        self.assertEqual((opened, named), ([True, True, False], [("train", 0), ("train", 1), ("train", 2)]))
        self.assertEqual(sum(1 if entry[0] == "push" else -1 for entry in self.tool.said), 0)


class DeclaredWorkTest(unittest.TestCase):
    def setUp(self):
        self.tool = fakes.Tool()
        for patch in (mock.patch.object(_nvtx, "client", lambda: self.tool), mock.patch.dict(sys.modules)):
            patch.start()
            self.addCleanup(patch.stop)
        self.torch = fakes.install_torch()

    def test_linear_layer_and_its_gradients(self):
        layer = fakes.Linear(weight=fakes.Tensor(6, 4, requires_grad=True), bias=fakes.Tensor(6, requires_grad=True))
        model = fakes.Module()
        model.children = {"mlp.up": layer}
        with ridgeline.declare_work(model) as work:
            output = layer(fakes.Tensor(2, 5, 4, requires_grad=True))
            output.grad_fn.next_functions[0][0].run()
        moved = 4 * (40 + 24 + 6 + 60)
        self.assertEqual(self.tool.said, [
            ("push", "mlp.up", 0x524C, [moved, 2 * 10 * 6 * 4, 10, 6, 4]), ("pop",),
            ("push", "mlp.up backward", 0x524C, [moved + 4 * (40 + 24 + 6), 2 * 2 * 10 * 6 * 4, 0, 0, 0]), ("pop",)])
        self.assertEqual((work.forward_calls, work.backward_calls, work.unknown_backward), (1, 1, 0))
        layer(fakes.Tensor(1, 4))
        self.assertEqual(len(self.tool.said), 4)

    def test_input_that_wants_no_gradient_saves_a_product(self):
        layer = fakes.Linear(weight=fakes.Tensor(6, 4, requires_grad=True), bias=None)
        self.assertEqual(_work.linear_cost(layer, fakes.Tensor(3, 4)).backward_flops, 2 * 3 * 6 * 4)

    def test_convolutions(self):
        layer = fakes.Conv2d(weight=fakes.Tensor(8, 3, 3, 3), bias=None, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(1, 1),
                             out_channels=8)
        cost = _work.convolution_cost(layer, fakes.Tensor(2, 3, 9, 9))
        self.assertEqual((cost.flops, cost.bytes), (2 * 2 * 8 * 25 * 27, 4 * (486 + 216 + 400)))
        layer.padding = "same"
        layer.stride = (1, 1)
        self.assertEqual(_work.convolution_cost(layer, fakes.Tensor(2, 3, 9, 9)).flops, 2 * 2 * 8 * 81 * 27)
        transposed = type("ConvTranspose1d", (fakes.Module,), {})(
            weight=fakes.Tensor(4, 2, 3), bias=None, kernel_size=(3,), stride=(2,), padding=(1,), dilation=(1,), output_padding=(1,),
            out_channels=2)
        cost = _work.convolution_cost(transposed, fakes.Tensor(1, 4, 5))
        self.assertEqual((cost.flops, cost.bytes), (2 * 20 * 6, 4 * (20 + 24 + 20)))

    def test_attention_by_pairs_of_rows_and_keys(self):
        q = fakes.Tensor(2, 3, 8, 16, size=2, requires_grad=True)
        self.assertEqual(_work.attention_cost(q, q, q).flops, 4 * 6 * 64 * 16)
        causal = _work.attention_cost(q, q, q, causal=True)
        self.assertEqual((causal.flops, causal.backward_flops), (4 * 6 * 36 * 16, 10 * 6 * 36 * 16))
        short, long = fakes.Tensor(1, 4, 16, size=2), fakes.Tensor(1, 6, 16, size=2)
        self.assertEqual(_work.attention_cost(long, short, short, causal=True).flops, 4 * (10 + 8) * 16)
        original = self.torch.nn.functional.scaled_dot_product_attention
        with ridgeline.declare_work(fakes.Module()):
            self.torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).grad_fn.run()
        self.assertIs(self.torch.nn.functional.scaled_dot_product_attention, original)
        self.assertEqual(self.tool.names(), ["attention", "attention backward"])

    def test_unknown_gradients_are_counted_and_compiled_code_is_left_alone(self):
        layer = fakes.Conv2d(weight=fakes.Tensor(1, 1, 1, 1, requires_grad=True), bias=None, kernel_size=(1, 1), stride=(1, 1),
                             padding=(0, 0), dilation=(1, 1), out_channels=1)
        model = fakes.Module()
        model.children = {"odd": layer}
        work = ridgeline.declare_work(model)
        layer(fakes.Tensor(1, 1, 2, 2))
        self.assertEqual((work.forward_calls, work.unknown_backward), (1, 1))
        self.torch.compiler.is_compiling = lambda: True
        layer(fakes.Tensor(1, 1, 2, 2))
        self.assertEqual(work.forward_calls, 1)

    def test_autocast_writes_16_bits(self):
        fakes.install_torch(autocast=True)
        layer = fakes.Linear(weight=fakes.Tensor(6, 4), bias=None)
        self.assertEqual(_work.linear_cost(layer, fakes.Tensor(1, 4)).bytes, 4 * (4 + 24) + 2 * 6)


def module_environment(**more):
    return {**os.environ, "PYTHONPATH": str(SOURCE / "python"), **more}


class ImportTest(unittest.TestCase):
    def test_nothing_heavy_is_imported(self):
        code = ("import sys, ridgeline, ridgeline.integrations.transformers, ridgeline.integrations.lightning, ridgeline.integrations.jax\n"
                "print([m for m in ('torch', 'transformers', 'lightning', 'jax', 'pandas', 'numpy') if m in sys.modules])")
        done = subprocess.run([sys.executable, "-B", "-c", code], env=module_environment(), capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "[]\n")

    @unittest.skipUnless(AGENT and DUMP, "this build has no agent")
    def test_ranges_and_payloads_reach_the_agent(self):
        code = ("import ridgeline\n"
                "with ridgeline.range('step'):\n"
                "  with ridgeline.declare('fc', bytes=10, flops=20, m=1, n=2, k=3): pass\n"
                "  ridgeline.size(tokens=77)\n")
        with tempfile.TemporaryDirectory(suffix=".spool") as folder:
            subprocess.run([sys.executable, "-B", "-c", code], check=True,
                           env=module_environment(RIDGELINE_SPOOL_DIR=folder, NVTX_INJECTION64_PATH=AGENT))
            spool, = Path(folder).glob("*.spool")
            said = subprocess.run([DUMP, spool], capture_output=True, text=True, check=True).stdout
            raw = spool.read_bytes()
        self.assertIn("nvtx unbalanced 0 errors 0", said)
        self.assertIn("warmup steps: 1", said)
        for numbers in ([10, 20, 1, 2, 3], [77, 0]):
            self.assertIn(b"".join(n.to_bytes(8, "little") for n in numbers), raw)

    @unittest.skipUnless(AGENT, "this build has no agent")
    def test_own_recording_leaves_what_the_agent_and_the_importer_need(self):
        code = ("import json, os, ridgeline\n"
                "from ridgeline import _recording\n"
                "_recording.has_driver = lambda: True\n"
                "prof = ridgeline.record('own-{rank}.ridge', steps='1:3', required=True)\n"
                "print(prof.state, os.environ['RIDGELINE_SCHEDULE'], os.environ['CUDA_INJECTION64_PATH'])\n"
                "try:\n"
                "  with prof:\n"
                "    for _ in range(4): prof.step()\n"
                "except ridgeline.DataError as error: print(error)\n"
                "print('RIDGELINE_SPOOL_DIR' in os.environ, prof.captures)\n"
                "manifest = json.load(open(prof._directory + '/launch.json'))\n"
                "print(manifest['end_ns'] > manifest['start_ns'], manifest['window'], 'git_commit' in manifest)\n")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=True,
                                  env=module_environment(RIDGELINE_AGENT_LIBRARY=AGENT))
            left = os.listdir(folder)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], f"own warmup=1,timeline=2 {AGENT}")
        self.assertIn("ridgeline import:", lines[1])  # no kernel ran
        self.assertEqual(lines[2:], ["False []", "True --wait False"])
        self.assertEqual(left, [])


if __name__ == "__main__":
    importlib.invalidate_caches()
    unittest.main(verbosity=1)
