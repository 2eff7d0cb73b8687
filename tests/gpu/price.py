#!/usr/bin/env python3
"""A capture's own figure of what recording costs, beside the same program alone.

usage: price.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--rounds 2] [--out DIR] [--json FILE] [--only NAME,...]
Five programs, each alone and recorded with the timeline alone, in turn. A row each: the capture says what a step takes alone and
recorded; its ratio agrees with that of the runs within 2 points, or within the capture's own error if that is more.
"""
import os
import sys
from statistics import mean

from common import Checks, Facts, chosen, open_capture, options_of, run

MOST_POINTS = 2.0


def programs(trainer):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")

    def kind(name, *arguments):
        return [sys.executable, os.path.join(here, name + ".py"), *arguments]

    return {
        "trainer": [trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none",
                    "--no-cuda-graph", "--steps", "150", "--json"],
        "lstm": kind("lstm", "150"),
        "huggingface": kind("huggingface", "150"),
        "accumulate": kind("accumulate", "160"),
        "triton": kind("triton_kernels"),
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
    """Of a program's runs and its captures' figures, in percent: by the runs, by the captures, the captures' error; and whether they agree."""
    runs = 100 * (mean(recorded) / mean(alone) - 1)
    said = 100 * mean(f["recorded_ns"] / f["alone_ns"] - 1 for f in own)
    error = 100 * max(f["error_ns"] / f["alone_ns"] for f in own)
    return runs, said, error, abs(said - runs) <= max(MOST_POINTS, error)


def step_ms(done):
    said = done.last_json() or {}
    return said.get("mean_ms") or said.get("median_ms")


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", only=programs(""))
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    figures = {}
    checks = Checks(options.json, figures={"programs": figures})
    all_of = programs(options.trainer)
    for name in chosen(parser, options.only, all_of):
        alone, recorded, own, problem = [], [], [], None
        for number in range(options.rounds):
            capture = os.path.join(options.out, f"price-{name}-{number}.ridge")
            with_tool = [options.ridgeline, "record", "--force", "--tiers", "T0", "--schedule", "warmup=10,timeline=60", "-o", capture, "--",
                         *all_of[name]]
            order = [(alone, all_of[name]), (recorded, with_tool)]
            for series, command in order if number % 2 == 0 else reversed(order):
                done = run(command, timeout=60)
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
        figures[name] = {"alone_ms": alone, "recorded_ms": recorded, "captures": own}
        checks.add(name, agree,
                   f"runs {mean(alone):.3f} and {mean(recorded):.3f} ms ({runs:+.1f} %); the capture " +
                   ", ".join(f"{f['alone_ns'] / 1e6:.3f} and {f['recorded_ns'] / 1e6:.3f} ms" for f in own) + f" ({said:+.1f} % +- {error:.1f})")
    checks.finish()


if __name__ == "__main__":
    main()
