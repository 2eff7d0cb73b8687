"""The wheel: built twice with the same bytes, a record that holds, and installed without an index into a clean environment, where program,
module and agent find each other.

usage: wheel_test.py SCRIPT BUILD_DIR CAPTURE [options of scripts/wheel]
"""
import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

CODE = """
import ridgeline, os
from ridgeline import _program
capture = ridgeline.open({capture!r})
print(ridgeline.program_path(), _program.agent_path(), len(capture.rank()), ridgeline.version())
"""


def check_record(path):
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = [item.filename for item in wheel.infolist()]
        record, = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(names), "RECORD does not list what is inside"
        for name, digest, size in rows:
            if name == record:
                assert (digest, size) == ("", "")
                continue
            data = wheel.read(name)
            made = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={made}", len(data)), name
        modes = {item.filename: item.external_attr >> 16 for item in wheel.infolist()}
        assert modes["ridgeline/native/bin/ridgeline"] == 0o100755 and modes["ridgeline/__init__.py"] == 0o100644, modes
        assert not [name for name in names if "__pycache__" in name or name.startswith("/")], names


def main():
    script, build, capture, *options = sys.argv[1:]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RIDGELINE_", "PYTHON", "PIP_"))}
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for out in ("a", "b"):
            done = subprocess.run([sys.executable, "-B", script, "--build-dir", build, "--out", f"{folder}/{out}", *options],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made.append(Path(done.stdout.strip()))
        assert made[0].read_bytes() == made[1].read_bytes(), "two builds differ"
        check_record(made[0])

        home = Path(folder) / "environment"
        venv.create(home, with_pip=True)
        python, program = home / "bin/python", home / "bin/ridgeline"
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--no-index", "--no-deps", made[0]], check=True, env=clean)
        clean["PATH"] = f"{home}/bin:/usr/bin:/bin"
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, env=clean, cwd=folder).stdout
        number = made[0].name.split("-")[1]
        assert said == f"ridgeline {number}\n", said
        ranked = subprocess.run(["ridgeline", "rank", capture, "--top", "1"], capture_output=True, text=True, env=clean, cwd=folder,
                                check=True)
        assert "attention_hopper_backward" in ranked.stdout, ranked.stdout
        # The exit code is the program's own.
        assert subprocess.run([program, "rank", "/nowhere.ridge"], capture_output=True, env=clean, check=False).returncode == 4
        done = subprocess.run([python, "-c", CODE.format(capture=capture)], capture_output=True, text=True, env=clean, cwd=folder,
                              check=True)
        path, agent, rows, version = done.stdout.split()
        assert Path(path).is_relative_to(home) and (rows, version) == ("31", number), done.stdout
        assert (agent == "None") == ("--no-agent" in options) and (agent == "None" or Path(agent).is_relative_to(home)), done.stdout
        subprocess.run([*pip, "uninstall", "-y", "ridgeline"], check=True, env=clean)
        assert not program.exists() and not list(home.glob("lib/python*/site-packages/ridgeline*")), "the wheel leaves something behind"
        print(f"{made[0].name}: {made[0].stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
