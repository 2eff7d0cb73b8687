#!/usr/bin/env python3
"""`ridgeline commits` over four commits of a PyTorch program, and the trainer against itself twenty times: are the verdicts right?

usage: commits.py --ridgeline RIDGELINE --out DIR [--trainer GPT2_TRAIN] [--only NAME,...] [--seconds 580] [--budget 150]
                  [--recorder COMMAND] [--json FILE]

The program is examples/ci/pytorch/train.py with its GELU written out, in a repository made here. Its commits:
  comment  nothing but a comment: the same
  copies   eight copies of 134 MB within the device a step: slower, and the copies are named, no kernel is
  fused    PyTorch's own GELU in place of the one written out: faster, with fewer launches
  batch    24 sequences a step in place of 32: other work, which is said, and faster
  a-a      --trainer against itself in runs of their own, in windows of three pairs: at most one alarm, of 20 windows if time allows
Each pair of commits has --budget seconds, or its share of what --seconds leave if that is less; what all of them leave is for a-a, which needs about
230 s. A row a check; DIR gets commits.md (every comparison as the program prints it), commits-comparisons.json, and a-a.json. --recorder is
given to `commits`: a stand-in in tests without a GPU.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from common import Checks, chosen, run

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "examples", "ci", "pytorch", "train.py")

GELU = 'F.gelu(self.up(self.norm2(x)), approximate="tanh")'
WRITTEN_OUT = "self.gelu(self.up(self.norm2(x)))"
DEFINITION = """    def gelu(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def forward(self, x):
"""
FORWARD = "    def forward(self, x):\n"
LOOP = "    for _ in range(options.steps):\n"
KEPT = "    kept = [torch.empty(1 << 25, device=\"cuda\") for _ in range(9)]\n" + LOOP + "        for copy in kept[1:]:\n            copy.copy_(kept[0])\n"
# Of each commit: its name, and what it replaces by what. The copies are gone again with the next.
COMMITS = [
    ("base", [(GELU, WRITTEN_OUT), (FORWARD, DEFINITION), ("default=8", "default=32")]),
    ("comment", [("    torch.manual_seed(1)\n", "    torch.manual_seed(1)  # so that runs do the same work\n")]),
    ("copies", [(LOOP, KEPT)]),
    ("without", [(KEPT, LOOP)]),
    ("fused", [(WRITTEN_OUT, GELU), (DEFINITION, FORWARD)]),
    ("batch", [("default=32", "default=24")]),
]
CASES = {"comment": ("base", "comment"), "copies": ("comment", "copies"), "fused": ("without", "fused"), "batch": ("fused", "batch")}
COPIES = 8
AA_SECONDS = 235
AA_PROGRAM = "--model 124M -B 8 -T 1024"


def git(repository, *arguments):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", repository, "-c", "user.name=Example", "-c", "user.email=example@example.org", *arguments], env=environment,
                          check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_repository(directory):
    """The commits by name."""
    os.makedirs(directory)
    git(directory, "init", "-q", "-b", "main")
    with open(PROGRAM, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(directory, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("ridgeline-commits/\n")
    commits = {}
    for name, replacements in COMMITS:
        for old, new in replacements:
            if text.count(old) != 1:
                raise SystemExit(f"commits.py: {PROGRAM} has {text.count(old)} times what {name} replaces: {old!r}")
            text = text.replace(old, new)
        with open(os.path.join(directory, "train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        git(directory, "add", "-A")
        git(directory, "commit", "-qm", name)
        commits[name] = git(directory, "rev-parse", "HEAD")
    return commits


def blamed(comparison):
    return [row for row in comparison["rows"] if row["outcome"] in ("regressed", "improved")]


def wrong_comment(comparison):
    if comparison["verdict"] != "same":
        return f"verdict {comparison['verdict']}, not same"
    return "blamed: " + blamed(comparison)[0]["kernel"] if blamed(comparison) else ""


def wrong_copies(comparison):
    if comparison["verdict"] != "regressed":
        return f"verdict {comparison['verdict']}, not regressed"
    if blamed(comparison):
        return "a kernel is blamed: " + blamed(comparison)[0]["kernel"]
    more = [row for row in comparison["transfers"] if row["calls_b"] - row["calls_a"] == COPIES and row["outcome"] in ("added", "regressed")]
    if not more:
        return f"no row of transfers has {COPIES} copies more"
    return "" if "cop" in " ".join(comparison["blame"]).lower() else "no line blames the copies"


def wrong_fused(comparison):
    if comparison["verdict"] != "improved":
        return f"verdict {comparison['verdict']}, not improved"
    if comparison["b"]["launches"] >= comparison["a"]["launches"]:
        return "no launches fewer"
    return "" if [row for row in comparison["rows"] if row["outcome"] in ("removed", "improved")] else "no kernel is faster or gone"


def wrong_batch(comparison):
    if comparison["verdict"] != "improved":
        return f"verdict {comparison['verdict']}, not improved"
    if not any("do other work" in line for line in comparison["blame"]):
        return "no line says that the sides do other work"
    shaped = [row for row in blamed(comparison) if row["cause"] == "shapes"]
    return "" if shaped else "no kernel is faster by its shapes"


WRONG = {"comment": wrong_comment, "copies": wrong_copies, "fused": wrong_fused, "batch": wrong_batch}


def compare_commits(options, repository, commits, name, budget_s, checks):
    """A row, and the comparison as JSON and Markdown."""
    files = {form: os.path.join(repository, f"../{name}.{form}") for form in ("json", "markdown")}
    base, head = (commits[each] for each in CASES[name])
    command = [options.ridgeline, "commits", base, head, "--budget", f"{budget_s:.0f}s", "--fail-on", "none", "--directory",
               os.path.join(repository, "..", "captures-" + name), *[word for form, file in files.items() for word in ("--write", f"{form}={file}")]]
    if options.recorder:
        command += ["--recorder", options.recorder]
    # `commits` finds its repository in the folder it is started in.
    done = run(["env", "-C", repository, *command, "--", "python3", "train.py"], timeout=budget_s + 90, last_words_s=10)
    if done.status != 0 or not os.path.exists(files["json"]):
        checks.add(name, False, f"exit status {done.status} after {done.seconds:.0f} s: {done.tail()}")
        return None
    with open(files["json"], encoding="utf-8") as file:
        comparison = json.load(file)
    with open(files["markdown"], encoding="utf-8") as file:
        markdown = file.read()
    left = git(repository, "worktree", "list").splitlines()[1:]
    wrong = WRONG[name](comparison) or ("checkouts are left behind" if left else "")
    late = f"{done.seconds:.0f} s of {budget_s:.0f}" if done.seconds > 1.1 * budget_s + 5 else ""
    step = comparison["parts"][0]
    checks.add(name, not wrong and not late, "; ".join(part for part in (wrong, late) if part) or
               f"{comparison['verdict']}, {comparison['pairs']} pairs in {done.seconds:.0f} s, step {100 * step['change_ratio']:+.2f} %: "
               + " ".join(comparison["blame"])[:160])
    return {"seconds": done.seconds, "budget_s": budget_s, "comparison": comparison, "markdown": markdown}


def against_itself(options, folder, seconds, checks):
    """A row: windows of three pairs of the trainer against itself."""
    runs, said = os.path.join(folder, "a-a"), os.path.join(options.out, "a-a.json")
    script = [sys.executable, "-B", os.path.join(HERE, "compare_runs.py")]
    recorded = run([*script, "record", "--ridgeline", options.ridgeline, "--trainer", options.trainer, "--out", runs, "--planted", "", "--seconds",
                    f"{seconds:.0f}", "--program-arguments", AA_PROGRAM], timeout=seconds + 60)
    if recorded.status != 0:
        checks.add("a-a", False, f"no runs: {recorded.tail()}")
        return
    judged = run([*script, "judge", runs, "--ridgeline", options.ridgeline, "--window", "3", "--json", said], timeout=240)
    if not os.path.exists(said):
        checks.add("a-a", False, f"not judged: {judged.tail()}")
        return
    with open(said, encoding="utf-8") as file:
        windows = json.load(file)["a_a"]
    alarms = [window for window in windows if window["verdict"] in ("regressed", "improved") or window["blamed"]]
    same = sum(window["verdict"] == "same" for window in windows)
    checks.add("a-a", len(windows) >= 10 and len(alarms) <= 1, f"{len(windows)} of three pairs each, {same} the same, {len(alarms)} with an alarm"
               + "".join(f"; {window['verdict']} {window['blamed'][:2]}" for window in alarms))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--trainer")
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=float, default=580)
    parser.add_argument("--budget", type=float, default=150)
    parser.add_argument("--recorder")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.ridgeline, options.out = os.path.abspath(options.ridgeline), os.path.abspath(options.out)
    names = chosen(parser, options.only, [*CASES, "a-a"])
    if "a-a" in names and not options.trainer:
        parser.error("a-a needs --trainer; --only has the others")
    begin, checks, documents = time.monotonic(), Checks(), {}
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        repository = os.path.join(folder, "lm")
        commits = make_repository(repository)
        pairs = [name for name in names if name in CASES]
        if pairs and not options.recorder:  # the first import reads gigabytes, which is no part of what a pair takes
            run(["env", "-C", repository, "python3", "train.py", "--steps", "2"], timeout=120)
        for i, name in enumerate(pairs):
            left = options.seconds - (time.monotonic() - begin) - (AA_SECONDS if "a-a" in names else 0)
            budget_s = min(options.budget, left / (len(pairs) - i))
            if document := compare_commits(options, repository, commits, name, budget_s, checks):
                documents[name] = document
        with open(os.path.join(options.out, "commits.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(f"# {name}\n{document.pop('markdown')}" for name, document in documents.items()))
        with open(os.path.join(options.out, "commits-comparisons.json"), "w", encoding="utf-8") as file:
            json.dump(documents, file)
        if "a-a" in names:
            against_itself(options, folder, max(30, options.seconds - (time.monotonic() - begin) - 15), checks)
    checks.finish(options.json)


if __name__ == "__main__":
    main()
