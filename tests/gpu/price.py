#!/usr/bin/env python3
"""A capture's own figure of what recording costs, beside the same program alone.

usage: price.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --python-program pytorch_gpt2.py [--rounds 4] [--seconds S] [--out DIR]
                [--json FILE] [--only NAME,...]
Thirteen programs, those whose device sets their pace first, each alone and recorded with the timeline alone, in turn. A row each: the capture
says what a step takes alone and recorded; its ratio agrees with that of the runs within 2 points, or within the capture's own error if that is
more. The last row says of which it agrees within 2 points; five are wanted. Cut off, it judges the programs that it came to.

The quickest run alone is held against the quickest that was recorded, and the capture of that one: where a host's cores are shared with others, a
process is quick or slow as a whole, by up to 1.4, and a mean of some runs is of how many of them were slow. So more rounds say more. After
--seconds no program begins another round but its first two.
"""
import os
import statistics
import sys
import time

from common import Checks, Facts, chosen, open_capture, options_of, run

MOST_POINTS = 2.0
LONGEST_RUN_S = 120  # compiling included
WANTED = 5  # programs of which the capture agrees as well as that


class Program:
    """A command, and how many of its steps the timeline has: of short ones more, so that there are many blocks of them. With the blocks' own
    steps on top (collector/agent/src/session/alone_steps.cpp) they end before the last third of the program, whose mean it prints."""

    def __init__(self, command, timeline, *options):
        self.command, self.timeline, self.options = command, timeline, options


def programs(trainer, python_program):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")

    def kind(name, steps, timeline, *options):
        return Program([sys.executable, os.path.join(here, name + ".py"), str(steps)], timeline, *options)

    return {
        "trainer": Program([trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none",
                            "--no-cuda-graph", "--steps", "180", "--json"], 60),
        "compiled": Program([sys.executable, python_program, "-B", "16", "-T", "1024", "--mode", "compile", "--steps", "240", "--json"], 60),
        "eager": Program([sys.executable, python_program, "-B", "16", "-T", "1024", "--mode", "eager", "--steps", "240", "--json"], 60),
        "triton": kind("triton_kernels", 700, 120),
        "sleeper": kind("sleeper", 300, 60),
        "gaussian-process": kind("gaussian_process", 400, 120),
        "graph-network": kind("graph_network", 400, 120),
        "flex-attention": kind("flex_attention", 3000, 300),
        "launches": kind("launches", 1000, 300, "--step-range", "round"),
        "cupy": kind("cupy_solver", 1500, 300),
        "huggingface": kind("huggingface", 300, 90),
        "accumulate": kind("accumulate", 190, 60),
        "lstm": kind("lstm", 180, 60),
    }


def own_figure(capture):
    """alone, recorded, error in ns, as the capture's message has them; None without."""
    db = open_capture(capture)
    row = db.execute("SELECT m.reason_id FROM message m JOIN reason r ON r.id = m.reason_id WHERE r.code = 'recording_price'").fetchone()
    if row is None:
        return None
    values = {name: float(value) for name, value in db.execute("SELECT name, value FROM reason_value WHERE reason_id = ?", (row[0],))}
    db.close()
    return values


def agreement(alone, recorded, own):
    """Of a program's runs, in ms, and the figures of their captures, in percent: by the quickest runs, by the capture of the quickest recorded one, its
    error; and whether they agree."""
    quickest, figure = min(zip(recorded, own), key=lambda run: run[0])
    runs = 100 * (quickest / min(alone) - 1)
    said = 100 * (figure["recorded_ns"] / figure["alone_ns"] - 1)
    error = 100 * figure["error_ns"] / figure["alone_ns"]
    return runs, said, error, abs(said - runs) <= max(MOST_POINTS, error)


def add_verdict(checks, figures):
    """A row of all programs. `figures`: of each that was judged, by name, how many points its capture says too much."""
    near = [name for name, of in figures.items() if abs(of["points"]) <= MOST_POINTS]
    checks.add("price", 0 < len(figures) and len(near) >= min(WANTED, len(figures)),
               f"within {MOST_POINTS:g} points of {len(near)} of {len(figures)} programs: {', '.join(near) or 'none'}")


def step_ms(done):
    """The mean of the last third of the steps, as the program says it or by the steps that it names; the median where it says that alone."""
    said = done.last_json() or {}
    each = said.get("step_ms")
    if isinstance(each, list) and len(each) >= 3:
        return statistics.mean(each[-(len(each) // 3):])
    return said.get("mean_ms") or said.get("median_ms")


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", "python-program", only=programs("", ""))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    begin = time.monotonic()
    figures = {}
    checks = Checks(options.json, lambda: add_verdict(checks, figures), {"programs": figures})
    all_of = programs(options.trainer, options.python_program)
    for name in chosen(parser, options.only, all_of):
        program = all_of[name]
        alone, recorded, own, problem = [], [], [], None
        for number in range(options.rounds):
            if number >= 2 and time.monotonic() - begin > options.seconds:
                break
            capture = os.path.join(options.out, f"price-{name}-{number}.ridge")
            with_tool = [options.ridgeline, "record", "--force", "--tiers", "T0", "--schedule", f"warmup=10,timeline={program.timeline}",
                         *program.options, "-o", capture, "--", *program.command]
            order = [(alone, program.command), (recorded, with_tool)]
            for series, command in order if number % 2 == 0 else reversed(order):
                done = run(command, timeout=LONGEST_RUN_S)
                if done.status != 0 or step_ms(done) is None:
                    problem = f"exit {done.status}: {done.tail()}"
                    break
                series.append(step_ms(done))
            if problem:
                break
            facts = Facts(capture)
            figure = own_figure(capture)
            if figure is None or not facts.complete():
                problem = f"{facts.counts()}; " + ("; ".join(text for _, text in facts.messages) or "no figure")
                break
            own.append(figure)
        if problem:
            checks.add(name, False, problem)
            continue
        runs, said, error, agree = agreement(alone, recorded, own)
        figures[name] = {"alone_ms": alone, "recorded_ms": recorded, "captures": own, "points": said - runs}
        checks.add(name, agree,
                   f"the quickest of {len(alone)} runs {min(alone):.3f} and {min(recorded):.3f} ms ({runs:+.1f} %), its capture says {said:+.1f} % +- "
                   f"{error:.1f}; runs alone " + ", ".join(f"{ms:.3f}" for ms in alone) + ", recorded " +
                   ", ".join(f"{ms:.3f} ({f['alone_ns'] / 1e6:.3f} and {f['recorded_ns'] / 1e6:.3f} by its capture)" for ms, f in zip(recorded, own)))
    checks.finish()


if __name__ == "__main__":
    main()
