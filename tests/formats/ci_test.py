#!/usr/bin/env python3
"""usage: ci_test.py RIDGELINE

The examples for continuous integration: YAML of the shape that GitHub and GitLab document, shell that parses, and only verbs, options and
formats that the program has; what they do with an exit code and with files is run with a stand-in for the program."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import parsers  # says which packages are missing
import yaml

RIDGELINE = os.path.abspath(sys.argv[1])
EXAMPLES = os.path.join(parsers.ROOT, "examples", "ci")

# docs.github.com, "Workflow syntax for GitHub Actions"; docs.gitlab.com, "CI/CD YAML syntax reference".
GITHUB_TOP = {"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
GITHUB_JOB = {"name", "permissions", "needs", "if", "runs-on", "environment", "concurrency", "outputs", "env", "defaults", "steps", "timeout-minutes",
              "strategy", "continue-on-error", "container", "services", "uses", "with", "secrets"}
GITHUB_STEP = {"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error", "timeout-minutes"}
GITLAB_JOB = {"after_script", "allow_failure", "artifacts", "before_script", "cache", "coverage", "dependencies", "environment", "extends", "image",
              "interruptible", "needs", "parallel", "release", "resource_group", "retry", "rules", "script", "secrets", "services", "stage", "tags",
              "timeout", "trigger", "variables", "when"}
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


def loaded(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return yaml.safe_load(file)


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
            if "uses" in step:
                self.assertRegex(step["uses"], r"^[\w.-]+/[\w.-]+@v\d+$")
        measure = next(step for step in job["steps"] if "ridgeline" in step.get("run", ""))
        script = re.sub(r"\$\{\{ github\.base_ref \}\}", "main", measure["run"])
        self.assertNotIn("${{", script)
        for code in (0, 1, 3, 4):
            summary = self.path("summary.md")
            with open(summary, "w", encoding="utf-8") as file:
                file.write("before\n")
            done, called = self.run_script(script, code, {"RUNNER_TEMP": self.folder.name, "GITHUB_STEP_SUMMARY": summary})
            self.assertEqual(done.returncode, code, done.stderr)
            self.check_call(called)
            self.assertIn("of github", done.stdout, "annotations are printed")
            with open(summary, encoding="utf-8") as file:
                self.assertEqual(file.read(), "before\nof markdown\n", "the summary is appended to")
        uploads = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
        for name in uploads["with"]["path"].split():
            self.assertTrue(os.path.exists(self.path(name)), f"{name} is uploaded, and not written")
        comment = next(step for step in job["steps"] if "gh pr comment" in step.get("run", ""))
        self.assertIn("failure()", comment["if"], "silent when all is well")
        self.assertIn(shlex.split(comment["run"])[-1].replace("$RUNNER_TEMP", self.folder.name), [self.path("comment.md")])

    def test_gitlab(self):
        jobs = loaded("gitlab.yml")
        (job,) = jobs.values()
        self.assertLessEqual(set(job), GITLAB_JOB)
        reports = job["artifacts"]["reports"]
        self.assertLessEqual(set(reports), GITLAB_REPORTS)
        for code in (0, 1, 3, 4):
            done, called = self.run_script("\n".join(job["script"]), code, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "1234567"})
            self.assertEqual(done.returncode, code, done.stderr)
            self.check_call(called)
        for name in [*reports.values(), *job["artifacts"]["paths"]]:
            self.assertTrue(os.path.exists(self.path(name)), f"{name} is an artifact, and not written")
        self.assertEqual(job["allow_failure"]["exit_codes"], [3])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
