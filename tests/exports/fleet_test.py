"""The questions of examples/fleet on the rows that `ridgeline export` writes, held against what `ridgeline ranks` says of the same
jobs. They run in SQLite, which has everything they use but `median`, and where a `duckdb` program is found in that, too."""
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

PROGRAM, GENERATE = (os.path.abspath(path) for path in sys.argv[1:3])
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/fleet"
VIEWS = ("job_step", "job_collective", "job_kernel")
RUNS = {"healthy": ["--ranks", "4"], "late": ["--ranks", "6", "--cause", "more-cycles", "--straggler", "4", "--late-ns", "900000"]}


class Median:
    def __init__(self):
        self.values = []

    def step(self, value):
        if value is not None:
            self.values.append(value)

    def finalize(self):
        return statistics.median(self.values) if self.values else None


def run(*arguments, cwd=None):
    return subprocess.run([str(argument) for argument in arguments], check=True, capture_output=True, text=True, cwd=cwd).stdout


def number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def make(folder, name, words):
    """A merged job, its rows below the fleet, and what `ranks` says of it."""
    run(GENERATE, "ranks", folder / name, "--hosts-of", "2", "--rank-steps", "8", "--layers", "4", "--clock-offset", "3000000", *words)
    job = folder / f"{name}.ridge"
    run(PROGRAM, "merge", *sorted((folder / name).glob("*.ridge")), "-o", job)
    for view in VIEWS:
        place = folder / "fleet" / view / f"run={name}"
        place.mkdir(parents=True)
        run(PROGRAM, "export", job, "--format", "csv", "--view", f"v_{view}", "-o", place / "rows.csv")
    return json.loads(run(PROGRAM, "ranks", job, "--format", "json"))


def load(folder):
    database = sqlite3.connect(":memory:")
    database.create_aggregate("median", 1, Median)
    for view in VIEWS:
        made = False
        for path in sorted((folder / "fleet" / view).glob("run=*/rows.csv")):
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            columns = ["run", *rows[0]]
            if not made:
                database.execute(f"CREATE TABLE {view} ({', '.join(columns)})")
                made = True
            name = path.parent.name.removeprefix("run=")
            database.executemany(f"INSERT INTO {view} VALUES ({', '.join('?' * len(columns))})",
                                 [[name, *(number(cell) if cell else None for cell in row)] for row in rows[1:]])
    return database


def ask(database, question):
    cursor = database.execute((EXAMPLES / question).read_text(encoding="utf-8"))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def near(value, expected, share):
    assert abs(value - expected) <= share * abs(expected), (value, expected)


def check(answers, said):
    late = answers["late-ranks.sql"]
    assert [(row["run"], row["rank"], row["host"]) for row in late] == [("late", 4, "host2")], late
    rank = next(row for row in said["late"]["ranks"] if row["rank"] == 4)
    assert late[0]["late_steps"] == rank["late_steps"] == len(said["late"]["job"]["steps"]), (late, rank)
    near(late[0]["late_ns"], rank["late_ns"] if "late_ns" in rank else rank["lateness_ns"], 0.05)

    for name, document in said.items():
        rows = [row for row in answers["collectives.sql"] if row["run"] == name]
        assert len(rows) == len(document["collectives"]) == 5, rows
        for row, expected in zip(rows, document["collectives"]):
            assert (row["function"], row["bytes"]) == (expected["function"], expected["bytes"]), (row, expected)
            near(row["transfer_ns"], expected["transfer_ns"], 0.001)
            near(row["bus_bytes_per_s"], expected["bus_bytes_per_s"], 0.001)

        kernels = {row["kernel"]: row for row in answers["kernels.sql"] if row["run"] == name}
        for expected in document["kernels"]:
            row = kernels[expected["kernel"]]
            near(row["median_ns"], expected["median_ns"], 0.01)
            near(row["worst_ns"], expected["worst_ns"], 0.01)
        slow = {row["worst_rank"] for row in kernels.values() if row["slow_hosts"] > 0}
        assert slow == ({4} if name == "late" else set()), kernels


def in_duckdb(folder, question):
    text = "".join(f".read {EXAMPLES / name}\n" if name == "load.sql" else f".mode json\n.read {EXAMPLES / name}\n" for name in ("load.sql", question))
    done = subprocess.run(["duckdb"], input=text, check=True, capture_output=True, text=True, cwd=folder)
    return json.loads(done.stdout or "[]")


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        said = {name: make(folder, name, words) for name, words in RUNS.items()}
        questions = sorted(path.name for path in EXAMPLES.glob("*.sql") if path.name not in ("load.sql", "parquet.sql"))
        assert len(questions) == 3, questions
        database = load(folder)
        check({question: ask(database, question) for question in questions}, said)
        if shutil.which("duckdb"):
            check({question: in_duckdb(folder, question) for question in questions}, said)
            print("asked in DuckDB, too")


if __name__ == "__main__":
    main()
