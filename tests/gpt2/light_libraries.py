"""Empty libraries in the place of cuBLAS, cuBLASLt and cuDNN: without a GPU nothing of them is called, and loading them is 0.55 of the
0.6 s of a start, of which the tests of the command line make a hundred."""
import os
import re
import subprocess
import tempfile

_folder = None


def _make(program, folder):
    described = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
    versions = dict(re.findall(r"required from (\S+):\n\s+0x\w+ 0x\w+ \d+ (\S+)", described))
    for library in re.findall(r"NEEDED\s+(lib(?:cublas|cudnn)\S*)", described):
        script = os.path.join(folder, "versions")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"{versions.get(library, library)} {{ }};\n")
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", os.path.join(folder, library), f"-Wl,-soname,{library}",
                        f"-Wl,--version-script={script}"], check=True, capture_output=True)


def variables(program):
    """Of the environment that `program` is started in: the empty libraries, or none where they cannot be made or do not do."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="ridgeline-libraries-")
        try:
            _make(program, _folder.name)
        except (OSError, subprocess.CalledProcessError):
            pass
    found = {"LD_LIBRARY_PATH": ":".join(filter(None, [_folder.name, os.environ.get("LD_LIBRARY_PATH")]))}
    if "works" not in vars(_folder):
        begun = subprocess.run([program, "--help"], env=dict(os.environ, **found), capture_output=True, check=False)
        _folder.works = begun.returncode == 0 and not begun.stderr
    return found if _folder.works else {}
