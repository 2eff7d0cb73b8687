"""Empty libraries in the place of cuBLAS, cuBLASLt and cuDNN: without a GPU nothing of them is called, and loading them is 0.55 of the
0.6 s of a start, of which the tests of the command line make a hundred."""
import functools
import os
import re
import subprocess
import tempfile

FOLDER = tempfile.TemporaryDirectory(prefix="ridgeline-libraries-")


def _make(program):
    described = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
    versions = dict(re.findall(r"required from (\S+):\n\s+0x\w+ 0x\w+ \d+ (\S+)", described))
    for library in re.findall(r"NEEDED\s+(lib(?:cublas|cudnn)\S*)", described):
        script = os.path.join(FOLDER.name, "versions")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"{versions.get(library, library)} {{ }};\n")
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", os.path.join(FOLDER.name, library), f"-Wl,-soname,{library}",
                        f"-Wl,--version-script={script}"], check=True, capture_output=True)


@functools.cache
def variables(program):
    """Of the environment that `program` is started in: the empty libraries, or none where they cannot be made or do not do."""
    found = {"LD_LIBRARY_PATH": ":".join(filter(None, [FOLDER.name, os.environ.get("LD_LIBRARY_PATH")]))}
    try:
        _make(program)
    except (OSError, subprocess.CalledProcessError):
        return {}
    begun = subprocess.run([program, "--help"], env=dict(os.environ, **found), capture_output=True, check=False)
    return found if begun.returncode == 0 and not begun.stderr else {}
