#!/usr/bin/env python3
"""Writes the ctest entries of a GoogleTest program: one for each case, named `<module>.<file>: Suite.Case` after the source it is in.

usage: list_cases.py PROGRAM OUTPUT --module NAME --label LABEL --timeout SECONDS [--cost SECONDS] [--text FILE...] [--by-file]
Sources FILE (without _test.cpp) compare a document with the source: their cases have the label LABEL-text.
--by-file: one entry for each source, `<module>.<file>`, which runs its cases in one process and leaves what became of each in
PROGRAM.FILE.cases.json beside the program. PROGRAM.files beside it has a line for each, the source and the filter of its cases, for a
machine where ctest's paths do not hold.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path


def quoted(text):
    return f"[==[{text}]==]"


def entry(options, file, name):
    label = options.label + ("-text" if file in options.text else "")
    properties = {"LABELS": label, "TIMEOUT": options.timeout, "SKIP_REGULAR_EXPRESSION": r"\[  SKIPPED \]"}
    if options.cost:
        properties["COST"] = options.cost
    if any(part.startswith("DISABLED_") for part in name.replace("/", ".").split(".")):
        properties["DISABLED"] = "TRUE"
    test = quoted(f"{options.module}.{file}: {name}")
    settings = " ".join(f"{key} {quoted(value)}" for key, value in properties.items())
    command = f"{quoted(options.program)} {quoted('--gtest_filter=' + name)} --gtest_also_run_disabled_tests"
    return f"add_test({test} {command})\nset_tests_properties({test} PROPERTIES {settings})\n"


def filter_of_file(names, files_of_suite):
    """Of a suite that other files have cases of too, each case is named: each runs once."""
    chosen = set()
    for name in names:
        suite = name.rsplit(".", 1)[0]
        chosen.add(name if len(files_of_suite[suite]) > 1 else suite + ".*")
    return ":".join(sorted(chosen))


def entry_of_file(options, file, names, cases):
    """Not skipped as a whole where one case is: what was skipped is in the JSON."""
    label = options.label + ("-text" if file in options.text else "")
    # No costs are known before the first run: sources with many cases begin early.
    properties = {"LABELS": label, "TIMEOUT": 3 * int(options.timeout), "COST": options.cost or len(names)}
    test = quoted(f"{options.module}.{file}")
    settings = " ".join(f"{key} {quoted(value)}" for key, value in properties.items())
    command = " ".join(quoted(word) for word in (options.program, f"--gtest_filter={cases}", "--gtest_brief=1",
                                                 f"--gtest_output=json:{options.program}.{file}.cases.json"))
    return f"add_test({test} {command})\nset_tests_properties({test} PROPERTIES {settings})\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--module", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--timeout", required=True)
    parser.add_argument("--cost")
    parser.add_argument("--text", nargs="*", default=[])
    parser.add_argument("--by-file", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "cases.json"
        listed = subprocess.run([options.program, "--gtest_list_tests", f"--gtest_output=json:{listing}"], stdout=subprocess.DEVNULL)
        document = json.loads(listing.read_text(errors="replace")) if listed.returncode == 0 else {"testsuites": []}
    lines = []
    if listed.returncode != 0:
        # It cannot start here, for want of a library perhaps: that is for ctest to say, not for the build.
        name = quoted(f"{options.program.name}: all of its cases")
        lines.append(f"add_test({name} {quoted(options.program)})\nset_tests_properties({name} PROPERTIES LABELS {options.label})\n")
    files, files_of_suite = {}, {}
    for suite in document["testsuites"]:
        for case in suite["testsuite"]:
            file = Path(case["file"]).stem.removesuffix("_test")
            files.setdefault(file, []).append(f"{suite['name']}.{case['name']}")
            files_of_suite.setdefault(suite["name"], set()).add(file)
    filters = {file: filter_of_file(names, files_of_suite) for file, names in files.items()}
    for file, names in files.items():
        lines += [entry_of_file(options, file, names, filters[file])] if options.by_file else [entry(options, file, name) for name in names]
    text = "".join(lines)
    if not options.output.is_file() or options.output.read_text() != text:
        options.output.write_text(text)
    beside = Path(f"{options.program}.files")
    beside.unlink(missing_ok=True)
    if options.by_file and filters:
        beside.write_text("".join(f"{file} {cases}\n" for file, cases in filters.items()))


if __name__ == "__main__":
    main()
