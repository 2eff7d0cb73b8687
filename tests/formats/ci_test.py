#!/usr/bin/env python3
"""usage: ci_test.py RIDGELINE FABRICATE_CAPTURE

The examples for continuous integration: YAML of the shape that GitHub and GitLab document, shell that parses, and only verbs, options and
formats that the program has; what they do with an exit code and with files is run with a stand-in for the program. The action and the
component measure a repository, in a container: of this machine they see its system, the program and the repository, and no network. Only
the GPU is missing: a stand-in records."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import parsers  # says which packages are missing
import yaml

RIDGELINE, FABRICATE = (os.path.abspath(program) for program in sys.argv[1:3])
EXAMPLES = os.path.join(parsers.ROOT, "examples", "ci")

# docs.github.com, "Workflow syntax for GitHub Actions"; docs.gitlab.com, "CI/CD YAML syntax reference".
GITHUB_TOP = {"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
GITHUB_JOB = {"name", "permissions", "needs", "if", "runs-on", "environment", "concurrency", "outputs", "env", "defaults", "steps", "timeout-minutes",
              "strategy", "continue-on-error", "container", "services", "uses", "with", "secrets"}
GITHUB_STEP = {"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error", "timeout-minutes"}
GITLAB_JOB = {"after_script", "allow_failure", "artifacts", "before_script", "cache", "coverage", "dependencies", "environment", "extends", "image",
              "interruptible", "needs", "parallel", "release", "resource_group", "retry", "rules", "script", "secrets", "services", "stage", "tags",
              "timeout", "trigger", "variables", "when"}
# docs.github.com, "Metadata syntax for GitHub Actions"; docs.gitlab.com, "CI/CD components" and "spec:inputs".
ACTION_TOP = {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
ACTION_STEP = {"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error"}
INPUT = {"description", "default", "required", "deprecationMessage"}
SPEC_INPUT = {"description", "default", "options", "regex", "type"}
GITLAB_REPORTS = {"junit", "metrics", "codequality", "coverage_report", "dotenv", "performance", "load_performance"}

# Notes its options, writes what --write and -o name, and ends with the code asked for.
STAND_IN = """#!/bin/bash
printf '%s\\n' "$@" > "$CALLED"
while [ $# -gt 0 ]; do
  case $1 in --write) mkdir -p "$(dirname "${2#*=}")"; echo "of ${2%%=*}" > "${2#*=}"; shift ;; --) break ;; esac
  shift
done
exit "$CODE"
"""

# A container of the kernel's namespaces, in a file system of its own: CONTAINER ROOT FOLDER... -- COMMAND...
CONTAINER = """set -e
root=$1; shift
mount -t tmpfs none "$root"
mkdir "$root/proc" "$root/dev" "$root/tmp"
mount -t proc proc "$root/proc"
for file in null zero urandom; do touch "$root/dev/$file"; mount --bind /dev/$file "$root/dev/$file"; done
folders=(/usr /etc)
for link in bin sbin lib lib64; do if [ -L /$link ]; then ln -s "$(readlink /$link)" "$root/$link"; else folders+=(/$link); fi; done
while [ "$1" != -- ]; do folders+=("$1"); shift; done
shift
for folder in "${folders[@]}"; do mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder"; done
exec chroot "$root" "$@"
"""


def contained(folders, command):
    """The command that runs another in a container that sees these folders; the command itself where no namespaces are to be had."""
    root = os.path.join(folders[0], "root")
    os.makedirs(root, exist_ok=True)
    start = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", CONTAINER, "container", root]
    if subprocess.run([*start, *folders, "--", "true"], capture_output=True).returncode != 0:
        print("ci_test.py: this machine gives no namespaces: outside of a container", file=sys.stderr)
        return command
    return [*start, *folders, "--", *command]


def loaded(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def action_step(inputs):
    """The composite action's own step: its script, and its variables where the action is given these inputs."""
    action = loaded("action/action.yml")
    step = action["runs"]["steps"][0]
    values = {f"inputs.{name}": str(given.get("default", "")) for name, given in action["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()}
    values |= {"github.base_ref": "main", "github.server_url": "https://example.org", "github.repository": "a/b", "github.run_id": "7"}
    assert "${{" not in step["run"], "what a pull request says would be a command"
    return step["run"], {name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: values[found[1]], value) for name, value in step["env"].items()}


def component_parts():
    """The GitLab component's specification and its job, as text."""
    with open(os.path.join(EXAMPLES, "component", "gpu-performance.yml"), encoding="utf-8") as file:
        text = file.read()
    spec, _ = yaml.safe_load_all(text)
    return spec["spec"]["inputs"], text.split("\n---\n")[1]


def component_job(inputs):
    """The component's job and its variables, given these inputs."""
    specified, job = component_parts()
    values = {name: given.get("default", "") for name, given in specified.items()} | inputs
    (job,) = yaml.safe_load(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: str(values[found[1]]), job)).values()
    return job, {name: str(value or "") for name, value in job["variables"].items()}


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_script(self, script, code, variables):
        """The script as the runner runs it, with a stand-in for ridgeline: its status, and the stand-in's arguments."""
        self.assertEqual(subprocess.run(["bash", "-n"], input=script, text=True).returncode, 0)
        for name, text in {"ridgeline": STAND_IN, "git": "#!/bin/bash\necho 1234567\n"}.items():
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(self.path(name), 0o755)
        environment = {"PATH": self.folder.name + ":/usr/bin:/bin", "HOME": self.folder.name, "CALLED": self.path("called"), "CODE": str(code), **variables}
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=self.folder.name, env=environment, capture_output=True, text=True)
        with open(self.path("called"), encoding="utf-8") as file:
            return done, file.read().splitlines()

    def check_call(self, arguments):
        """Verb, options and formats of a call are the program's."""
        verb = arguments[0]
        own = arguments[:arguments.index("--")] if "--" in arguments else arguments
        shown = subprocess.run([RIDGELINE, verb, "--help"], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, verb)
        known = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown.stdout))
        for word in own:
            if word.startswith("--"):
                self.assertIn(word.split("=")[0], known, f"{verb} has no such option")
        for before, word in zip(own, own[1:]):
            if before == "--write":
                refused = subprocess.run([RIDGELINE, "report", "none.ridge", "--write", word], capture_output=True, text=True)
                self.assertNotIn("no format", refused.stderr)
                self.assertEqual(refused.returncode, 4, "the format is known, the capture is not there: " + refused.stderr)

    def test_github(self):
        workflow = loaded("github.yml")
        self.assertLessEqual({str(key).replace("True", "on") for key in workflow}, GITHUB_TOP)
        self.assertIn("pull_request", workflow[True])  # YAML 1.1 reads `on` as true; GitHub does not
        (job,) = workflow["jobs"].values()
        self.assertLessEqual(set(job), GITHUB_JOB)
        self.assertIn("self-hosted", job["runs-on"])
        for step in job["steps"]:
            self.assertLessEqual(set(step), GITHUB_STEP)
            self.assertEqual(("uses" in step) + ("run" in step), 1, step)
            self.assertRegex(step["uses"], r"^([\w.-]+/[\w.-]+@v\d+|\./\.github/actions/gpu-performance)$")
        action = loaded("action/action.yml")
        (own,) = [step for step in job["steps"] if step["uses"].startswith("./")]
        self.assertLessEqual(set(own["with"]), set(action["inputs"]))
        self.assertLessEqual({name for name, given in action["inputs"].items() if given.get("required")}, set(own["with"]))
        uploads = next(step for step in job["steps"] if "upload-artifact" in step["uses"])
        for name in uploads["with"]["path"].split("\n")[:-1]:
            self.assertIn(os.path.basename(name), action["runs"]["steps"][0]["run"], f"{name} is uploaded, and not written")

    def test_action(self):
        action = loaded("action/action.yml")
        self.assertLessEqual(set(action), ACTION_TOP)
        self.assertEqual(action["runs"]["using"], "composite")
        for given in action["inputs"].values():
            self.assertLessEqual(set(given), INPUT)
            self.assertTrue(given["description"])
        for step in action["runs"]["steps"]:
            self.assertLessEqual(set(step), ACTION_STEP)
            self.assertEqual(step["shell"], "bash", "a composite action's step names its shell")
        for code in (0, 1, 3, 4):
            script, variables = action_step({"program": "python train.py --steps 40", "build": "make -j4", "recorder": "srun rec"})
            for name in ("summary.md", "output.txt"):
                with open(self.path(name), "w", encoding="utf-8") as file:
                    file.write("before\n")
            os.makedirs(self.path("temp"), exist_ok=True)
            variables |= {"RUNNER_TEMP": self.path("temp"), "GITHUB_STEP_SUMMARY": self.path("summary.md"), "GITHUB_OUTPUT": self.path("output.txt")}
            done, called = self.run_script(script, code, variables)
            self.assertEqual(done.returncode, code, done.stderr)
            self.check_call(called)
            self.assertEqual(called[1:3], ["1234567", "HEAD"], "merge base and head")
            self.assertEqual(called[called.index("--") + 1:], ["python", "train.py", "--steps", "40"])
            self.assertEqual(called[called.index("--build") + 1], "make -j4")
            self.assertEqual(called[called.index("--recorder") + 1], "srun rec")
            self.assertEqual(called[called.index("--link") + 1], "https://example.org/a/b/actions/runs/7")
            self.assertIn("of github", done.stdout, "annotations are printed")
            with open(self.path("summary.md"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "before\nof markdown\n", "the summary is appended to")
            with open(self.path("output.txt"), encoding="utf-8") as file:
                self.assertEqual(file.read(), f"before\ncode={code}\ndirectory={self.folder.name}/temp/ridgeline\n")
            for name in ("html", "json", "xml"):
                self.assertTrue(os.path.exists(self.path("temp/ridgeline/ridgeline." + name)))
        comment = action["runs"]["steps"][1]
        self.assertIn("failure()", comment["if"], "silent when all is well")
        with open(self.path("gh"), "w", encoding="utf-8") as file:
            file.write('#!/bin/bash\nprintf "%s\\n" "$@" > "$CALLED"\n')
        os.chmod(self.path("gh"), 0o755)
        environment = {"PATH": self.folder.name + ":/usr/bin:/bin", "CALLED": self.path("commented"), "RUNNER_TEMP": self.path("temp"), "NUMBER": "12"}
        subprocess.run(["bash", "-eo", "pipefail", "-c", comment["run"]], env=environment, check=True)
        with open(self.path("commented"), encoding="utf-8") as file:
            commented = file.read().splitlines()
        self.assertEqual(commented[:3], ["pr", "comment", "12"])
        with open(commented[commented.index("--body-file") + 1], encoding="utf-8") as file:
            self.assertEqual(file.read(), "of comment\n")

    def test_gitlab(self):
        included = loaded("gitlab.yml")["include"]
        inputs, _ = component_parts()
        for given in inputs.values():
            self.assertLessEqual(set(given), SPEC_INPUT)
        needed = {name for name, given in inputs.items() if "default" not in given}
        self.assertLessEqual(set(included[0]["inputs"]), set(inputs))
        self.assertLessEqual(needed, set(included[0]["inputs"]))
        job, variables = component_job({"program": "python train.py --steps 40", "recorder": "srun rec"})
        self.assertLessEqual(set(job), GITLAB_JOB)
        reports = job["artifacts"]["reports"]
        self.assertLessEqual(set(reports), GITLAB_REPORTS)
        for code in (0, 1, 3, 4):
            done, called = self.run_script("\n".join(job["script"]), code, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "1234567", **variables})
            self.assertEqual(done.returncode, code, done.stderr)
            self.check_call(called)
            self.assertEqual(called[called.index("--") + 1:], ["python", "train.py", "--steps", "40"])
            self.assertEqual(called[called.index("--recorder") + 1], "srun rec")
            self.assertNotIn("--build", called)
        for name in [*reports.values(), *job["artifacts"]["paths"]]:
            self.assertTrue(os.path.exists(self.path(name)), f"{name} is an artifact, and not written")
        self.assertEqual(job["allow_failure"]["exit_codes"], [3])


# Records nothing: makes a capture up that is slower where the checkout's train.py copies queries, keys and values.
RECORDER = """#!/bin/bash
echo "$*" >> "{folder}/calls"
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; --directory) dir=$2; shift ;; --) break ;; esac; shift; done
run=$(wc -l < "{folder}/calls")
slow=1.0
! grep -q 'part.clone()' "$dir/train.py" || slow=1.4
exec "{fabricate}" "$out" codes run=$run start=$((run * 60)) slow=layernorm_backward:$slow commit=$(git -C "$dir" rev-parse HEAD)
"""


class PyTorchRepository(unittest.TestCase):
    """A repository of a PyTorch program with a planted regression, and commands of any language: a stand-in records."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.repository = os.path.join(self.folder.name, "lm")
        subprocess.run([os.path.join(EXAMPLES, "pytorch", "make-repository"), self.repository], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
        self.recorder = os.path.join(self.folder.name, "recorder")
        with open(self.recorder, "w", encoding="utf-8") as file:
            file.write(RECORDER.format(folder=self.folder.name, fabricate=FABRICATE))
        os.chmod(self.recorder, 0o755)

    def run_verb(self, *arguments):
        done = subprocess.run([RIDGELINE, *arguments, "--recorder", self.recorder, "--", "python3", "train.py", "--steps", "60"], cwd=self.repository,
                              capture_output=True, text=True)
        with open(os.path.join(self.folder.name, "calls"), encoding="utf-8") as file:
            calls = file.read().splitlines()
        return done, calls

    def test_commits_and_bisect_find_the_planted_one(self):
        same, calls = self.run_verb("commits", "HEAD~3", "HEAD~2", "--pairs", "4", "--format", "comment")
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("SAME", same.stdout)
        self.assertTrue(all(call.endswith("-- python3 train.py --steps 60") for call in calls))
        slower, _ = self.run_verb("commits", "HEAD~2", "HEAD~1", "--pairs", "4", "--format", "comment", "--link", "https://example.org/page")
        self.assertEqual(slower.returncode, 1, slower.stdout + slower.stderr)
        self.assertIn("layernorm_backward", slower.stdout.replace("\\", ""))
        self.assertTrue(slower.stdout.endswith("[The whole page](https://example.org/page)\n"), slower.stdout)
        found, _ = self.run_verb("bisect", "HEAD~3", "HEAD", "--pairs", "3")
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertIn("(Give queries, keys and values memory of their own)", found.stdout)
        left = subprocess.run(["git", "-C", self.repository, "worktree", "list"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(left.splitlines()), 1, "checkouts are left behind")

    def run_step(self, script, variables):
        """A runner's step in the repository, in a container, with the program and nothing else of this machine's environment."""
        os.symlink(RIDGELINE, os.path.join(self.folder.name, "ridgeline"))
        environment = {"PATH": self.folder.name + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.folder.name, "LANG": "C.UTF-8", **variables}
        command = ["env", "-C", self.repository, "bash", "-eo", "pipefail", "-c", script]
        command = contained([self.folder.name, os.path.dirname(RIDGELINE), os.path.dirname(FABRICATE)], command)
        if command[0] == "unshare":
            hidden = f"[ ! -e {shlex.quote(os.path.join(parsers.ROOT, 'README.md'))} ] || {{ echo the machine is seen >&2; exit 99; }}\n"
            command[-1] = hidden + script
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def commit(self, name):
        return subprocess.run(["git", "-C", self.repository, "rev-parse", name], capture_output=True, text=True, check=True).stdout.strip()

    def read(self, *path):
        with open(os.path.join(*path), encoding="utf-8", newline="") as file:
            return file.read()

    def test_the_action_measures_the_planted_commit(self):
        script, variables = action_step({"program": "python3 train.py --steps 60", "base": self.commit("HEAD~2"), "head": self.commit("HEAD~1"), "pairs": "4",
                                         "recorder": self.recorder})
        temp, summary = os.path.join(self.folder.name, "temp"), os.path.join(self.folder.name, "summary.md")
        variables |= {"RUNNER_TEMP": temp, "GITHUB_STEP_SUMMARY": summary, "GITHUB_OUTPUT": os.path.join(self.folder.name, "output.txt")}
        done = self.run_step(script, variables)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        commands = parsers.github("".join(line + "\n" for line in done.stdout.splitlines() if line.lstrip().startswith("::")))
        self.assertEqual([kind for kind, _, _ in commands], ["error", "error"], "the verdict and the kernel")
        out = os.path.join(temp, "ridgeline")
        self.assertLessEqual(len(self.read(out, "comment.md").splitlines()), 15)
        self.assertIn("https://example.org/a/b/actions/runs/7", self.read(out, "comment.md"))
        self.assertIn("REGRESSED", self.read(summary))
        self.assertEqual(parsers.against("compare", self.read(out, "ridgeline.json"))["verdict"], "regressed")
        self.assertIn("failure", [kind for _, _, kind, _ in parsers.junit(self.read(out, "ridgeline.xml"))])
        parsers.html(self.read(out, "ridgeline.html"))

    def test_the_component_measures_the_planted_commit(self):
        job, variables = component_job({"program": "python3 train.py --steps 60", "pairs": "4", "recorder": self.recorder})
        subprocess.run(["git", "-C", self.repository, "checkout", "-q", self.commit("HEAD~1")], check=True)
        variables |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": self.commit("HEAD~1"), "CI_JOB_URL": "https://example.org/job"}
        done = self.run_step("\n".join(job["script"]), variables)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        reports = job["artifacts"]["reports"]
        self.assertIn("failure", [kind for _, _, kind, _ in parsers.junit(self.read(self.repository, reports["junit"]))])
        families = parsers.openmetrics(self.read(self.repository, reports["metrics"]))
        self.assertEqual(families["ridgeline_step_verdict"], [({}, 1.0)], "the overall verdict")
        for name in job["artifacts"]["paths"]:
            self.assertTrue(os.path.exists(os.path.join(self.repository, name)), name)

    def test_counters_are_recorded_in_the_first_pair_alone(self):
        done, calls = self.run_verb("commits", "HEAD~2", "HEAD~1", "--pairs", "3", "--budget", "10m", "--fail-on", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([("--tiers T0" in call) for call in calls], [False] * 2 + [True] * (len(calls) - 2))
        self.assertRegex(done.stderr, r"pair 1 took .* of the budget is left, enough for about 2 pairs more")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
