#!/usr/bin/env python3
"""What gpt2_train says of a batch that does not fit: exit 4, one line, and the batch it names does fit.

usage: memory.py --trainer GPT2_TRAIN [--json FILE] [--only NAME,...]

For each set of switches a batch far too large is asked for; then two steps are run with the largest batch that the line
says fits, and with the batch and micro-batches that keep the step's tokens.
"""
import re

from common import Checks, chosen, options_of, run

ASKED = 4096
CASES = {
    "fast": [],
    "graph": ["--cuda-graph"],
    "deterministic": ["--deterministic"],
    "recompute": ["--recompute", "2"],
    "unfused": ["--attention", "unfused"],
    "fp8": ["--precision", "fp8"],
    "fp32": ["--precision", "fp32"],
    "naive": ["--preset", "naive"],
}
LINE = re.compile(r"the run needs ([0-9.]+) GiB .* ([0-9.]+) GiB are free: -B (\d+) --grad-accum (\d+) fits and keeps the step's tokens"
                  r"(?: \(-B (\d+) is the largest that fits\))?$")


def examine(checks, name, trainer, switches):
    command = [trainer, "--model", "124M", "-T", "1024", *switches, "--steps", "2", "--matmul-search", "off", "--matmul-cache", "none"]
    refused = run([*command, "-B", ASKED])
    said = refused.err.strip()
    found = LINE.search(said)
    if refused.status != 4 or "\n" in said or not found:
        return checks.add(name, False, f"-B {ASKED}: exit {refused.status}: {refused.tail()}")
    batch, micro = int(found[3]), int(found[4])
    largest = int(found[5] or batch)
    at_most = run([*command, "-B", largest])
    checks.add(name, at_most.status == 0 and batch * micro == ASKED and batch <= largest,
               f"-B {ASKED} needs {found[1]} GiB of {found[2]}: -B {batch} --grad-accum {micro} named; two steps of -B {largest}, the "
               f"largest that fits: " + ("done" if at_most.status == 0 else f"exit {at_most.status}: {at_most.tail()}"))


def main():
    parser = options_of(__doc__, "trainer", only=CASES)
    options = parser.parse_args()
    names = chosen(parser, options.only, CASES)
    checks = Checks(options.json)
    for name in names:
        examine(checks, name, options.trainer, CASES[name])
    checks.finish()


if __name__ == "__main__":
    main()
