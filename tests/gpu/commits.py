#!/usr/bin/env python3
"""`ridgeline commits` over four commits of a PyTorch program, and the trainer against itself twenty times: are the verdicts right?

usage: commits.py --ridgeline RIDGELINE --out DIR [--trainer GPT2_TRAIN] [--only NAME,...] [--seconds 900] [--budget 150]
                  [--recorder COMMAND] [--json FILE]

The program is examples/ci/pytorch/train.py with its GELU written out, in a repository made here. Its commits:
  comment  nothing but a comment: the same
  copies   eight copies of 268 MB within the device a step: slower, and the copies are named, no kernel is
  fused    PyTorch's own GELU in place of the one written out: faster, with fewer launches
  batch    24 sequences a step in place of 32: other work, which is said, and faster
  a-a      --trainer against itself in runs of their own, in windows of three pairs: at most one alarm, of 20 windows if time allows
Each pair of commits has --budget seconds, or its share of what --seconds leave if that is less; it may go beyond that share, not beyond --budget, for
the three pairs that `commits` records at least. a-a has what they leave, 300 s of it at most, of which 60 are kept for judging. What there is no
time left for is a row that fails and names what runs it. In two calls of less than ten minutes:
  --only comment,copies,fused,batch --seconds 580
  --only a-a --seconds 320
A row a check, as it comes. After each of them DIR has commits.md (every comparison as the program prints it) and commits-comparisons.json (with
what `commits` said while it ran) of the rows until then; a-a.json is of the last. --recorder is given to `commits`: a stand-in in tests without a
GPU.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from common import Checks, chosen, options_of, run

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
KEPT = "    kept = [torch.empty(1 << 26, device=\"cuda\") for _ in range(9)]\n" + LOOP + "        for copy in kept[1:]:\n            copy.copy_(kept[0])\n"
# Of each commit: its name, and what it replaces by what. The copies are gone again with the next. 90 steps of 30 ms and more are room for
# the steps to be found and for what `record` does of itself in the first pair, 44 steps.
COMMITS = [
    ("base", [(GELU, WRITTEN_OUT), (FORWARD, DEFINITION), ("default=8", "default=32"), ("default=60", "default=90")]),
    ("comment", [("    torch.manual_seed(1)\n", "    torch.manual_seed(1)  # so that runs do the same work\n")]),
    ("copies", [(LOOP, KEPT)]),
    ("without", [(KEPT, LOOP)]),
    ("fused", [(WRITTEN_OUT, GELU), (DEFINITION, FORWARD)]),
    ("batch", [("default=32", "default=24")]),
]
CASES = {"comment": ("base", "comment"), "copies": ("comment", "copies"), "fused": ("without", "fused"), "batch": ("fused", "batch")}
COPIES = 8
AA_SECONDS = 240
AA_WINDOWS, AA_PAIRS, AA_LEAST = 20, 3, 10  # asked for, pairs of each, and what is enough where time is short
JUDGING_SECONDS = 60
FEWEST_PAIRS = 3  # that `commits` records whatever the budget is
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


def too_late(options, seconds, budget_s, comparison):
    """Why the row took too long; "" if it did not."""
    if seconds > 1.1 * options.budget + 5:
        return f"{seconds:.0f} s of {options.budget:.0f}"
    # A share that is less than the fewest pairs take is no promise of `commits`.
    if comparison["pairs"] > FEWEST_PAIRS and seconds > 1.1 * budget_s + 5:
        return f"{seconds:.0f} s of {budget_s:.0f}, with {comparison['pairs']} pairs"
    return ""


def compare_commits(options, repository, commits, name, budget_s, checks):
    """A row, and the comparison as JSON and Markdown."""
    files = {form: os.path.join(repository, f"../{name}.{form}") for form in ("json", "markdown")}
    base, head = (commits[each] for each in CASES[name])
    command = [options.ridgeline, "commits", base, head, "--budget", f"{budget_s:.0f}s", "--fail-on", "none", "--directory",
               os.path.join(repository, "..", "captures-" + name), *[word for form, file in files.items() for word in ("--write", f"{form}={file}")]]
    if options.recorder:
        command += ["--recorder", options.recorder]
    # `commits` finds its repository in the folder it is started in.
    done = run(["env", "-C", repository, *command, "--", "python3", "train.py"], timeout=max(budget_s, options.budget) + 60, last_words_s=10)
    if done.status not in (0, 3) or not os.path.exists(files["json"]):  # 3: a verdict was not reached
        checks.add(name, False, f"exit status {done.status} after {done.seconds:.0f} s: {' '.join([*done.said()[-3:], done.tail()])}")
        return None
    with open(files["json"], encoding="utf-8") as file:
        comparison = json.load(file)
    with open(files["markdown"], encoding="utf-8") as file:
        markdown = file.read()
    left = git(repository, "worktree", "list").splitlines()[1:]
    wrong = WRONG[name](comparison) or ("checkouts are left behind" if left else "") or (f"exit status {done.status}" if done.status else "")
    late = too_late(options, done.seconds, budget_s, comparison)
    step = comparison["parts"][0]
    seen = f"{comparison['verdict']}, {comparison['pairs']} pairs in {done.seconds:.0f} s, step {100 * step['change_ratio']:+.2f} %: "
    checks.add(name, not wrong and not late, "; ".join(part for part in (wrong, late) if part) + ("; " if wrong or late else "") + seen
               + " ".join(comparison["blame"])[:160])
    return {"seconds": done.seconds, "budget_s": budget_s, "said": done.said(), "comparison": comparison, "markdown": markdown}


def write_documents(out, documents):
    """What there is so far: a call that is ended later on leaves it."""
    with open(os.path.join(out, "commits.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(f"# {name}\n{document['markdown']}" for name, document in documents.items()))
    with open(os.path.join(out, "commits-comparisons.json"), "w", encoding="utf-8") as file:
        json.dump({name: {key: value for key, value in document.items() if key != "markdown"} for name, document in documents.items()}, file)


def all_commits(options, repository, commits, names, left, checks):
    """A row a name. left(): seconds that are left for them."""
    documents, longest_s = {}, 30.0
    write_documents(options.out, documents)
    for i, name in enumerate(names):
        if left() < min(longest_s, options.budget):
            checks.add(name, False, f"{left():.0f} s are left, which is too little: --only {','.join(names[i:])}")
            continue
        budget_s = min(options.budget, left() / (len(names) - i))
        begin = time.monotonic()
        if document := compare_commits(options, repository, commits, name, budget_s, checks):
            documents[name] = document
        if not options.recorder:
            longest_s = max(longest_s, 0.8 * (time.monotonic() - begin))
        write_documents(options.out, documents)


def against_itself(options, folder, seconds, checks):
    """A row: windows of three pairs of the trainer against itself."""
    runs, said = os.path.join(folder, "a-a"), os.path.join(options.out, "a-a.json")
    script = [sys.executable, "-B", os.path.join(HERE, "compare_runs.py")]
    recorded = run([*script, "record", "--ridgeline", options.ridgeline, "--trainer", options.trainer, "--out", runs, "--planted", "", "--seconds",
                    f"{min(seconds, AA_SECONDS):.0f}", "--rounds", AA_WINDOWS * AA_PAIRS, "--program-arguments", AA_PROGRAM], timeout=seconds + 30)
    if not os.path.exists(os.path.join(runs, "runs.json")):
        checks.add("a-a", False, f"no runs: {recorded.tail()}")
        return
    judged = run([*script, "judge", runs, "--ridgeline", options.ridgeline, "--window", AA_PAIRS, "--kernel-step-share", "0.001", "--json", said],
                 timeout=240)
    if not os.path.exists(said):
        checks.add("a-a", False, f"not judged: {judged.tail()}")
        return
    with open(said, encoding="utf-8") as file:
        windows = json.load(file)["a_a"]
    alarms = [window for window in windows if window["verdict"] in ("regressed", "improved") or window["blamed"]]
    same = sum(window["verdict"] == "same" for window in windows)
    checks.add("a-a", len(windows) >= AA_LEAST and len(alarms) <= 1, f"{len(windows)} of {AA_PAIRS} pairs each in {recorded.seconds:.0f} s, {same} the "
               f"same, {len(alarms)} with an alarm" + "".join(f"; {window['verdict']} {window['blamed'][:2]}" for window in alarms))


def main():
    parser = options_of(__doc__, "ridgeline", only=[*CASES, "a-a"])
    parser.add_argument("--trainer")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--budget", type=float, default=150)
    parser.add_argument("--recorder")
    options = parser.parse_args()
    options.ridgeline, options.out = os.path.abspath(options.ridgeline), os.path.abspath(options.out)
    names = chosen(parser, options.only, [*CASES, "a-a"])
    if "a-a" in names and not options.trainer:
        parser.error("a-a needs --trainer; --only has the others")
    if not shutil.which("git"):
        parser.error("there is no git on this machine, and `commits` needs it")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each run compiles all of PyTorch's modules anew, which is most of its time
    begin, checks = time.monotonic(), Checks(options.json)
    os.makedirs(options.out, exist_ok=True)

    judging_s = min(JUDGING_SECONDS, options.seconds / 5)

    def left(kept=0.0):
        return options.seconds - (time.monotonic() - begin) - kept

    with tempfile.TemporaryDirectory() as folder:
        pairs = [name for name in names if name in CASES]
        if pairs:
            repository = os.path.join(folder, "lm")
            commits = make_repository(repository)
            if not options.recorder:  # the first import reads gigabytes, which is no part of what a pair takes
                first = run(["env", "-C", repository, "python3", "train.py", "--steps", "2"], timeout=180)
                if first.status != 0:
                    parser.error(f"the program does not run here: {first.tail()}")
            kept = AA_SECONDS + judging_s if "a-a" in names else 0
            all_commits(options, repository, commits, pairs, lambda: left(kept), checks)
        if "a-a" in names:
            against_itself(options, folder, max(20, left(judging_s)), checks)
    checks.finish()


if __name__ == "__main__":
    main()
