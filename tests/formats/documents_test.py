#!/usr/bin/env python3
"""usage: documents_test.py RIDGELINE FABRICATE_CAPTURE

Every format of `report`, of one capture and of two sides, by parsers that are not ours: the same kernels with the same outcomes in all
of them, whatever the kernels are called."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import parsers

RIDGELINE, FABRICATE = (os.path.abspath(path) for path in sys.argv[1:3])
FORMATS = ("html", "markdown", "comment", "text", "json", "csv", "junit", "github", "gitlab-metrics", "bencher")
BUDGETS = """[[budget]]
kernel = "*layernorm_backward*"
max_time_us = 5
reason = "agreed, in May: 100 %"
[[budget]]
kernel = "*adamw*"
max_time_us = 90000
[[budget]]
kernel = 'gone "for" <good>'
max_time_us = 1
"""


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, words in {"a": [], "same": [], "slow": ["slow=layernorm_backward:1.5"], "driver": ["driver=590,<b>:%"], "hostile": ["hostile"]}.items():
            for i in (1, 2, 3):
                run = i + 10 * (name != "a")
                subprocess.run([FABRICATE, cls.path(f"{name}{i}.ridge"), "codes", f"run={run}", *words], check=True)
        for name, words in {"plain": [], "refused": ["refused"], "losses": ["losses"], "cold": ["cold", "samples"], "nosteps": ["nosteps"]}.items():
            subprocess.run([FABRICATE, cls.path(name + ".ridge"), *words], check=True)
        with open(cls.path("budgets.toml"), "w", encoding="utf-8") as file:
            file.write(BUDGETS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def documents(self, *arguments):
        """Format -> text, all of one call."""
        writes = [word for kind in FORMATS[1:] for word in ("--write", f"{kind}={self.path('out.' + kind)}")]
        done = subprocess.run([RIDGELINE, "report", *arguments, "--format", "html", "-o", "-", *writes], cwd=self.folder.name, capture_output=True)
        self.assertIn(done.returncode, (0, 1, 3, 4), done.stderr)
        self.assertEqual(done.stderr, b"")
        out = {"html": done.stdout.decode("utf-8", errors="strict")}
        for kind in FORMATS[1:]:
            with open(self.path("out." + kind), "rb") as file:
                out[kind] = file.read().decode("utf-8", errors="strict")
        return out


class Comparisons(Folder):
    def compared(self, b, *more, runs=3):
        sides = [f"a{i + 1}.ridge" for i in range(runs)], [f"{b}{i + 1}.ridge" for i in range(runs)]
        return self.documents(*sides[0], "--against", *sides[1], *more)

    def check(self, documents):
        """What all formats must agree on; the JSON document."""
        document = parsers.against("compare", documents["json"])
        self.assertEqual(set(document), set(parsers.schema("compare")["properties"]))
        described = parsers.schema("compare")["properties"]
        for part in ("rows", "kernels", "parts", "transfers", "budgets", "environment"):
            for row in document[part]:
                self.assertEqual(set(row), set(described[part]["items"]["properties"]), part)
        rows = document["rows"]

        cases = parsers.junit(documents["junit"])
        kernels = [case for case in cases if case[0] == "kernel"]
        self.assertEqual(len(kernels), len(rows))
        self.assertEqual([case[1] for case in cases if case[0] == "step"], [part["part"] for part in document["parts"]])
        comparable = document["verdict"] != "invalid_environment"
        for case, row in zip(kernels, rows):
            expected = "skipped" if not comparable else {"regressed": "failure", "same": "passed", "improved": "passed"}.get(row["outcome"], "skipped")
            self.assertEqual(case[2], expected, case)

        metrics = parsers.openmetrics(documents["gitlab-metrics"])
        counted = {labels["outcome"]: value for labels, value in metrics["ridgeline_kernels"]}
        self.assertEqual(counted, {key: document["counts"][key] for key in counted})
        self.assertEqual(len(metrics["ridgeline_kernel_verdict"]), sum(row["outcome"] in ("regressed", "improved") for row in rows))

        commands = parsers.github(documents["github"])
        slower = [command for command in commands if command[0] == "error" and command[1].startswith("Slower: ")]
        self.assertEqual(len(slower), min(9, document["counts"]["regressed"]) if comparable else 0)
        self.assertTrue(any(command[1] == "Ridgeline: step" and command[2] == document["text"] for command in commands), commands)

        values = parsers.against("bencher", documents["bencher"])
        self.assertEqual(len(values), sum((part["time_b_ns"] or 0) > 0 for part in document["parts"]) + sum((row["time_b_ns"] or 0) > 0 for row in rows))
        self.assertEqual(values["step / step"]["latency"]["value"], document["parts"][0]["time_b_ns"])

        table = parsers.rows_of_csv(documents["csv"])
        self.assertEqual(table[0], list(rows[0]))
        self.assertEqual(len(table) - 1, len(rows))
        for line, row in zip(table[1:], rows):
            self.assertEqual(line[table[0].index("outcome")], row["outcome"])

        self.assertEqual(metrics["ridgeline_step_verdict"][0][1], {"regressed": 1, "improved": -1}.get(document["verdict"], 0))
        self.assertLessEqual(documents["comment"].count("\n"), 15)
        self.assertIn(document["verdict"].split("_")[0].upper().replace("INVALID", "NOT COMPARABLE"), documents["comment"].splitlines()[0])
        parsers.markdown(documents["comment"])
        self.assertLess(len(documents["markdown"].encode()), 65536)
        tables = parsers.markdown(documents["markdown"])
        seen, charts = parsers.html(documents["html"])
        self.assertGreaterEqual(charts, 1)
        parsers.text(documents["text"])
        for name in ("layernorm_backward", "adamw"):
            self.assertIn(name, seen)
        return document, cases, commands, tables, metrics

    def test_a_kernel_made_slower(self):
        document, cases, commands, tables, metrics = self.check(self.compared("slow"))
        self.assertEqual(document["verdict"], "regressed")
        failed = [case for case in cases if case[2] == "failure" and case[0] == "kernel"]
        self.assertEqual(len(failed), 1)
        self.assertIn("layernorm_backward", failed[0][1])
        self.assertIn("other machine code", failed[0][3])
        self.assertTrue(any("layernorm_backward" in command[1] for command in commands))
        self.assertEqual(metrics["ridgeline_step_verdict"][0][1], 1)
        self.assertIn("layernorm_backward_kernel", tables[1][1][0])

    def test_nothing_changed(self):
        documents = self.compared("same")
        document, cases, commands, tables, _ = self.check(documents)
        self.assertEqual(document["verdict"], "same")
        step = document["parts"][0]
        self.assertLess(max(abs(step["low_ratio"]), abs(step["high_ratio"])), document["options"]["step_ratio"])
        self.assertEqual(tables, [])
        self.assertLess(len(documents["markdown"]), 400)
        self.assertEqual([command[0] for command in commands], ["notice"])
        self.assertFalse([case for case in cases if case[2] in ("failure", "error")])

    def test_one_run_a_side(self):
        document, cases, *_ = self.check(self.compared("slow", runs=1))
        self.assertEqual(document["verdict"], "inconclusive")
        self.assertFalse([case for case in cases if case[2] == "failure"])
        self.assertTrue(document["rows"][0]["interval"] is None)

    def test_other_drivers_are_no_comparison(self):
        document, cases, commands, *_ = self.check(self.compared("driver"))
        self.assertEqual(document["verdict"], "invalid_environment")
        self.assertTrue(all(case[2] == "skipped" for case in cases))
        self.assertTrue(any(command[0] == "warning" and "590,<b>:%" in command[2] for command in commands))

    def test_names_that_mean_harm(self):
        document, cases, _, tables, _ = self.check(self.compared("hostile"))
        self.assertTrue(any("<script>" in case[1] for case in cases if case[0] == "kernel"))
        self.assertTrue(any("<script>" in cell for row in tables[1] for cell in row))
        self.assertGreaterEqual(document["counts"]["added"], 1)

    def test_budgets(self):
        documents = self.compared("same", "--project", "budgets.toml")
        document, cases, commands, _, metrics = self.check(documents)
        of_budgets = {case[1]: case for case in cases if case[0] == "budget"}
        self.assertEqual(len(of_budgets), len(document["budgets"]))
        self.assertEqual(of_budgets["gone \"for\" <good>"][2], "error")
        missed = [case for case in of_budgets.values() if case[2] == "failure"]
        self.assertTrue(missed and all("agreed, in May: 100 %" in case[3] for case in missed))
        self.assertEqual(sum(value for _, value in metrics["ridgeline_budget_missed"]), len(missed))
        self.assertIn("passed", [case[2] for case in of_budgets.values()])
        self.assertTrue(any(command[0] == "error" and command[1] == "Budget: *layernorm_backward*" for command in commands))
        self.assertIn("budget", document["text"])


class Captures(Folder):
    def check(self, name, *more):
        documents = self.documents(name + ".ridge", *more)
        document = json.loads(documents["json"])
        self.assertEqual(document["format"], "ridgeline.report")
        cases = parsers.junit(documents["junit"])
        commands = parsers.github(documents["github"])
        metrics = parsers.openmetrics(documents["gitlab-metrics"])
        values = parsers.against("bencher", documents["bencher"])
        judged = [row for row in document["check"] if row["verdict"] != "below_min_share"]
        self.assertEqual(len([case for case in cases if case[0] == "kernel"]), len(judged))
        self.assertEqual(len(values), len(judged) + 1)
        counted = {labels["verdict"]: value for labels, value in metrics["ridgeline_kernels"]}
        for verdict, count in counted.items():
            self.assertEqual(count, sum(row["verdict"] == verdict for row in judged), verdict)
        self.assertEqual(commands[-1], ("notice", "Ridgeline: step", document["sentence"]))
        table = parsers.rows_of_csv(documents["csv"])
        self.assertEqual(len(table) - 1, len(document["check"]))
        self.assertGreaterEqual(len(parsers.markdown(documents["markdown"])), 3)
        self.assertLess(len(documents["markdown"].encode()), 1024 * 1024, "a job summary takes 1 MiB")
        self.assertGreaterEqual(parsers.html(documents["html"])[1], 1)
        parsers.text(documents["text"])
        return document, cases, commands

    def test_whatever_the_recording_lacks(self):
        for name in ("plain", "refused", "losses", "cold", "nosteps", "hostile1"):
            with self.subTest(name):
                document, cases, commands = self.check(name)
                self.assertFalse([case for case in cases if case[2] in ("failure", "error")])
                self.assertFalse([command for command in commands if command[0] == "error"])
                warned = [finding for finding in document["quality"]["findings"] if finding["severity"] != "info"]
                self.assertEqual(sum(case[0] == "finding" for case in cases), len(warned))

    def test_targets_fail_when_asked(self):
        document, cases, commands = self.check("plain", "--fail-on", "target")
        missed = [row for row in document["check"] if row["verdict"] == "missed"]
        self.assertEqual(sum(case[2] == "failure" for case in cases), len(missed))
        self.assertEqual(sum(command[0] == "error" for command in commands), len(missed))

    def test_budgets(self):
        _, cases, commands = self.check("plain", "--project", "budgets.toml")
        self.assertEqual([case[1] for case in cases if case[2] == "error"], ['gone "for" <good>'])
        failed = [case for case in cases if case[2] == "failure"]
        self.assertEqual(len(failed), 1)
        self.assertIn("layernorm_backward", failed[0][1])
        self.assertIn("agreed, in May: 100 %", failed[0][3])
        self.assertIn(("error", "Budget: gone \"for\" <good>"), [command[:2] for command in commands])


class History(Folder):
    def test_page_and_tables(self):
        store = self.path("results.db")
        for i in range(12):
            words = ["slow=layernorm_backward:1.5"] if i >= 6 else []
            capture = self.path(f"h{i}.ridge")
            subprocess.run([FABRICATE, capture, "codes", f"run={i + 1}", f"start={3600 * i}", f"commit={i:040x}", *words], check=True)
            subprocess.run([RIDGELINE, "history", "add", store, capture], check=True, stdout=subprocess.DEVNULL)
        page = self.path("trends.html")
        shown = subprocess.run([RIDGELINE, "history", "show", store, "--html", page, "--format", "json"], check=True, capture_output=True, text=True)
        rows = json.loads(shown.stdout)["rows"]
        changed = [row for row in rows if row["commit"] is not None]
        self.assertIn(f"{6:040x}"[:12], {row["commit"] for row in changed if "layernorm_backward" in row["series"]})
        with open(page, encoding="utf-8") as file:
            seen, charts = parsers.html(file.read())
        self.assertGreaterEqual(charts, 2)
        self.assertIn("layernorm_backward", seen)
        table = parsers.rows_of_csv(subprocess.run([RIDGELINE, "history", "show", store, "--format", "csv"], check=True, capture_output=True, text=True).stdout)
        self.assertEqual(len(table) - 1, len(rows))
        parsers.markdown(subprocess.run([RIDGELINE, "history", "show", store, "--format", "markdown"], check=True, capture_output=True, text=True).stdout)


class Parsers(unittest.TestCase):
    """They refuse what is wrong: a parser that takes everything would show nothing."""

    def refused(self, parse, *arguments):
        with self.assertRaises(Exception):
            parse(*arguments)

    def test_each_refuses_what_is_wrong(self):
        suite = '<testsuites tests="{0}" failures="0" errors="0"><testsuite name="s" tests="{0}" failures="0" errors="0" skipped="0">{1}</testsuite></testsuites>'
        case = '<testcase classname="c" name="n" time="0.1"/>'
        self.assertEqual(parsers.junit(suite.format(1, case)), [("c", "n", "passed", "")])
        self.refused(parsers.junit, suite.format(2, case))
        self.refused(parsers.junit, suite.format(1, case).replace('errors="0"', 'errors="0" skipped="0"', 1))
        self.refused(parsers.junit, suite.format(2, case + case))
        self.refused(parsers.openmetrics, "# TYPE a gauge\n# HELP a b\na 1\n")
        self.refused(parsers.openmetrics, '# TYPE a gauge\n# HELP a b\na{x="y""} 1\n# EOF\n')
        self.refused(parsers.github, "::error title=a,b::c")
        self.refused(parsers.github, "::error title=a::100 %")
        self.refused(parsers.github, "::error title=a::b\n" * 11)
        self.refused(parsers.against, "bencher", '{"a": {"latency": {"value": "fast"}}}')
        self.refused(parsers.against, "bencher", "{}")
        self.refused(parsers.against, "compare", '{"format": "ridgeline.compare"}')
        self.refused(parsers.markdown, "| a | b |\n| --- | --- |\n| <b>x</b> | y |\n")
        self.refused(parsers.rows_of_csv, "a,b\nc\n")
        page = "<!DOCTYPE html><html><head><title>t</title></head><body>{}</body></html>"
        self.assertEqual(parsers.html(page.format("<p>x</p>")), ("x", 0))
        for wrong in ("<p>x</b></p>", "<script></script>", '<p onclick="x">y</p>', '<a href="http://x">y</a>', "<svg></svg>"):
            self.refused(parsers.html, page.format(wrong))
        self.refused(parsers.text, "\x1b[31m")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
