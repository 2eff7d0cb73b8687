"""Nsight Compute's rows (`ncu --csv --page raw --print-units base`), and how they lie beside a step of a capture."""
import csv

from common import kernel_base

def read(path):
    """ncu's rows in order of launch: name and the three metrics. Columns by header name; units are base units."""
    with open(path, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    launches = []
    for row in csv.DictReader(lines):
        try:
            launches.append({
                "name": row["Kernel Name"],
                "read": float(row["dram__bytes_read.sum"].replace(",", "")),
                "write": float(row["dram__bytes_write.sum"].replace(",", "")),
                "ns": float(row["gpu__time_duration.sum"].replace(",", "")),
            })
        except ValueError:
            continue  # the line of units under the header
    return launches


def align(names, rows):
    """ncu's rows as one step: {ordinal in the step: row}, and how many ordinals have a row of their name.

    `names` are the step's kernels in order of launch. Any window of as many launches of a program that repeats its step
    is a rotation of it: the one that fits best is taken.
    """
    wanted = [kernel_base(name) for name in names]
    got = [kernel_base(row["name"]) for row in rows]
    if not wanted or not got:
        return {}, 0

    def matches(shift):
        return sum(got[i] == wanted[(i + shift) % len(wanted)] for i in range(len(got)))

    shift = max(range(len(wanted)), key=matches)
    found = {}
    for i, row in enumerate(rows):
        ordinal = (i + shift) % len(wanted)
        if got[i] == wanted[ordinal]:
            found.setdefault(ordinal, row)
    return found, len(found)
