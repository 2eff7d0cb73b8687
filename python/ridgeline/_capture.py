"""A capture, asked: each answer is the program's JSON document (docs/json.md), its rows as plain dicts."""
import os

from . import _program


class Rows(list):
    """Rows of an answer: a list of dicts whose keys are those of docs/json.md, with the unit in the name. A value that the
    capture does not have is None, never 0.

    `document` is the answer they came in, without them. `coverage_ratio` is the share of the kernel time that has a
    utilisation, 0 to 1, and `complete` whether the recording lost nothing; None where the answer does not say.
    """

    def __init__(self, rows, document):
        super().__init__(rows)
        self.document = {key: value for key, value in document.items() if key != "rows"}
        quality = document.get("quality") or {}
        self.coverage_ratio = quality.get("coverage_ratio")
        self.complete = quality.get("complete")

    def to_pandas(self):
        """The rows as pandas.DataFrame, the document and the coverage in its `attrs`. Raises ImportError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas: the rows are plain dicts without it") from error
        columns = self.document.get("columns") or list(dict.fromkeys(key for row in self for key in row))
        frame = pandas.DataFrame(list(self), columns=columns)
        frame.attrs.update(document=self.document, coverage_ratio=self.coverage_ratio, complete=self.complete)
        return frame


def open(path):
    """The capture in a file. Raises DataError if it is none, EnvironmentFailure if it cannot be read, ProgramError without
    the program."""
    return Capture(path)


class Capture:
    """Questions to one capture. What is asked for is named as on the command line, with `_` for `-`: `rank(by="layer,phase",
    range="forward", top=5)` is `ridgeline rank --by layer,phase --range forward --top 5`. Every call reads the file anew."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.info()  # says at once what is wrong with the file

    def __repr__(self):
        return f"ridgeline.open({self.path!r})"

    @staticmethod
    def _options(options):
        words = []
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            if value is True:
                words.append(option)
            elif value is not None and value is not False:
                words.append(f"{option}={value}")  # one word: a value may begin with a dash
        return words

    def _ask(self, verb, options, answers=(0,), words=()):
        return _program.document(verb, self.path, *words, *self._options(options), answers=answers)

    def info(self):
        """What was recorded: the document of `ridgeline info`."""
        return self._ask("info", {})

    def rank(self, **options):
        """Kernels (or what `by` says) by what the step would gain from them. Beside each utilisation stand its standard error
        (`*_error_ratio`) and its tier; `coverage_ratio` is the share of the row's time that has a utilisation."""
        document = self._ask("rank", options)
        rows = Rows(document["rows"], document)
        for row in rows:
            time_ns, measured_ns = row.get("time_ns"), row.get("measured_time_ns")
            row["coverage_ratio"] = measured_ns / time_ns if time_ns and measured_ns is not None else None
        return rows

    def steps(self, **options):
        """The steps, one row per step; the accounting of the representative one is `.document["accounting"]`."""
        document = self._ask("steps", options)
        return Rows(document["rows"], document)

    def advise(self, **options):
        """Rules of advice, one row per finding with low, mid and high of what it would give (`net_*_ns`); sentences are in
        `.document["advice"]`."""
        document = self._ask("advise", options)
        return Rows(document["rows"], document)

    def roofline(self, **options):
        """Kernels under the roofs; the step and its roofs are `.document["roofline"]`."""
        document = self._ask("roofline", options)
        return Rows(document["rows"], document)

    def check(self, **options):
        """The verdict of `ridgeline check`: rows per kernel, `.document["verdict"]["overall"]` is "met" or "missed". Too little
        data raises DataError."""
        document = self._ask("check", options, answers=(0, 1))
        return Rows(document["rows"], document)

    def explain(self, kernel, **options):
        """One kernel, by its number in rank(), its name or a part of it: the document of `ridgeline explain` with what holds it, the
        evidence and what to do."""
        return self._ask("explain", options, words=(kernel,))

    def what_if(self, *changes, **options):
        """What the step would gain if kernels were faster: what_if("attention*=2") for twice as fast, what_if(graph=True). One row per
        change; `.document["together"]` has all of them at once."""
        document = self._ask("what-if", options, words=changes)
        return Rows(document["rows"], document)

    def export(self, path, **options):
        """Writes the capture for other programs: export("run.pftrace"), export("launches.csv", format="csv", strip=True)."""
        _program.run("export", self.path, *self._options(options), f"--output={os.fspath(path)}")

    def sql(self, query, max_rows=None):
        """One SELECT over the documented views (docs/schema.md). `.document["truncated"]` says whether rows were left out
        (`max_rows`, 10000 by default)."""
        document = self._ask("sql", {"max_rows": max_rows}, words=(query,))
        return Rows(document["rows"], document)

    def summary(self, **options):
        """One dict of what a reader asks first: the step, what it would gain at the targets, MFU and tokens/s if the program declared
        them, coverage, losses and findings. Values that the capture does not have are None."""
        document = self._ask("rank", dict(options, top=1))
        step, totals, quality = document["step"], document["totals"], document["quality"]
        throughput, reach = document.get("throughput") or {}, totals.get("reach") or {}
        devices = document["capture"].get("devices") or []
        return {
            "device": devices[0]["name"] if devices else None,
            "step_ns": totals.get("step_ns"),
            "step_median_ns": step.get("median_ns"),
            "step_p10_ns": step.get("p10_ns"),
            "step_p90_ns": step.get("p90_ns"),
            "steps_considered": step.get("steps_considered"),
            "launches": totals.get("calls"),
            "kernel_time_ns": totals.get("time_ns"),
            "reached_target_ns": reach.get("target_ns"),
            "reached_stretch_ns": reach.get("stretch_ns"),
            "mfu_ratio": throughput.get("mfu_ratio"),
            "tokens_per_s": throughput.get("tokens_per_s"),
            "samples_per_s": throughput.get("samples_per_s"),
            "coverage_ratio": quality.get("coverage_ratio"),
            "complete": quality.get("complete"),
            "dropped_records": quality.get("dropped_records"),
            "tiers": {tier["tier"]: tier["status"] for tier in quality.get("tiers") or []},
            "findings": [finding["text"] for finding in quality.get("findings") or []],
            "advice": list((document.get("advice") or {}).get("first") or []),
        }
