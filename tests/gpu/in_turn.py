"""Programs whose step can be changed by name: one run of them, or each change beside the step without it, in turn.

The command line that planted.py and first_version.py share:
  PROGRAM [--with NAME,...] [--steps N]             ms a step of the step with these changes
  PROGRAM --measure NAME,... [--rounds N]           for each change a JSON line, as soon as it is measured: its ms a step with and without
A step is an object with step(); `make(changes)` makes one.
"""
import argparse
import json
import os
import time


def ms(program, steps, warm):
    import torch

    for _ in range(warm):
        program.step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        program.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e3


def series_of(sides, rounds, steps, warm):
    """ms a step of both sides, in turn and in the other order each round, so that the clock drifts for both."""
    series = {"with": [], "without": []}
    for number in range(rounds):
        for name in ("with", "without")[:: 1 if number % 2 == 0 else -1]:
            series[name].append(ms(sides[name], steps, warm))
    return series


def names_of(parser, text, known):
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no change {', '.join(unknown)}: one of {', '.join(known)}")
    return names


def options_of(parser, known):
    parser.add_argument("--with", dest="changes", metavar="NAME,...", default="")
    parser.add_argument("--measure", metavar="NAME,...")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measured-steps", type=int, default=12, help="of each side in a round")
    options = parser.parse_args()
    options.changes = names_of(parser, options.changes, known)
    options.measure = names_of(parser, options.measure, known) if options.measure else []
    return options


def parser_of(doc):
    return argparse.ArgumentParser(description=doc.splitlines()[0])


def run(options, make, without, warm=6):
    """`make(changes)` makes a step, `without(name)` the step that a change is measured beside."""
    if not options.measure:
        print(json.dumps({"mean_ms": ms(make(options.changes), options.steps, warm)}), flush=True)
        return
    for name in options.measure:
        sides = {"without": without(name), "with": make([name])}
        print(json.dumps({name: series_of(sides, options.rounds, options.measured_steps, warm)}), flush=True)
        del sides
    # A graph that is destroyed while its library still has work of it ends in a warning that is none of the program's.
    os._exit(0)
