"""What `cmake --install` and CPack make of a build: components, a consumer of the analysis library, Debian packages in a clean root, manual
pages and completion.

usage: install_test.py components|consumer|packages|pages --build DIR --capture FILE [--cmake CMAKE] [--compiler CXX]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(ridgeline VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("RIDGELINE_", "PYTHON"))}


def run(*words, status=0, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=more.pop("env", CLEAN), **more)
    assert done.returncode == status, f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


def files(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file() or path.is_symlink()}


def has_agent(options):
    return (options.build / "lib/libridgeline_agent.so").is_file()


def module_answers(options, folder, program=None):
    """The installed module finds the installed program, as the program finds the agent."""
    where, = Path(folder).rglob("ridgeline/_program.py")
    code = (f"import ridgeline\nfrom ridgeline import _program\nprint(ridgeline.__file__, ridgeline.program_path(), _program.agent_path(), "
            f"len(ridgeline.open({str(options.capture)!r}).rank()))")
    environment = {**CLEAN, "PYTHONPATH": str(where.parents[1]), "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{program}:/usr/bin:/bin"}
    module, found, agent, rows = run(sys.executable, "-c", code, env=environment, cwd="/").split()
    assert Path(module).is_relative_to(folder) and Path(found).is_relative_to(folder) and rows == "31", (module, found, rows)
    assert (Path(agent).is_relative_to(folder) if has_agent(options) else agent == "None"), agent


def components(options, folder):
    """Each component brings its own files and nobody else's, and what was moved as a whole still works."""
    seen = {}
    for component in ("ridgeline", "python", "dev"):
        run(options.cmake, "--install", options.build, "--prefix", folder / component, "--component", component)
        seen[component] = files(folder / component)
    assert "bin/ridgeline" in seen["ridgeline"] and "share/doc/ridgeline/CHANGELOG.md" in seen["ridgeline"], sorted(seen["ridgeline"])
    assert ("lib/ridgeline/libridgeline_agent.so" in seen["ridgeline"]) == has_agent(options)
    assert all(name.endswith((".py", ".ipynb", "python3-ridgeline/copyright")) for name in seen["python"]), sorted(seen["python"])
    assert all("include/ridgeline/" in name or name.endswith((".a", ".cmake")) for name in seen["dev"]), sorted(seen["dev"])
    for one in seen:
        assert not [name for other in seen if other != one for name in seen[one] & seen[other]], one
    moved = folder / "moved"
    for component in ("ridgeline", "python"):
        shutil.copytree(folder / component, moved, dirs_exist_ok=True, symlinks=True)
    assert run(moved / "bin/ridgeline", "--version") == f"ridgeline {VERSION}\n"
    module_answers(options, moved, moved / "bin")


def consumer(options, folder):
    """find_package(Ridgeline), one source, and an answer."""
    run(options.cmake, "--install", options.build, "--prefix", folder / "installed", "--component", "dev")
    run(options.cmake, "-S", SOURCE / "tests/consumer", "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={folder / 'installed'}",
        f"-DCMAKE_CXX_COMPILER={options.compiler}")
    run(options.cmake, "--build", folder / "build")
    assert run(folder / "build/consumer", options.capture) == "31 kernels, 47993971 ns\n"
    exported = "\n".join(path.read_text() for path in (folder / "installed").rglob("*.cmake"))
    assert str(SOURCE) not in exported and str(options.build) not in exported, "the package names the tree that it was built in"


def packages(options, folder):
    """Debian packages, unpacked by dpkg into a root that holds nothing else."""
    run("cpack", "-G", "DEB", "--config", options.build / "CPackConfig.cmake", "-B", folder / "packages", "-D",
        "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=folder)
    made = {path.name.split("_")[0]: path for path in (folder / "packages").glob("*.deb")}
    wanted = {"ridgeline", "python3-ridgeline"} | ({"ridgeline-gui"} if (options.build / "bin/ridgeline-gui").is_file() else set())
    assert set(made) == wanted, sorted(made)
    depends = {}
    for name, path in made.items():
        fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", path).splitlines() if ": " in line and line[0] != " ")
        assert fields["Version"] == VERSION and fields["Maintainer"] and fields["Description"], fields
        depends[name] = fields.get("Depends", "")
    assert "libc6" in depends["ridgeline"], depends
    assert "libcublas" not in depends["ridgeline"] and "cuda" not in depends["ridgeline"], depends
    assert depends["python3-ridgeline"] == f"python3 (>= 3.8), ridgeline (= {VERSION})", depends
    if "ridgeline-gui" in made:
        assert f"ridgeline (= {VERSION})" in depends["ridgeline-gui"] and "libqt6" in depends["ridgeline-gui"], depends
    root = folder / "root"
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/status").write_text("")
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", f"--log={folder}/dpkg.log"]
    # What must come first is asked for: the module without the program is refused.
    done = subprocess.run([*dpkg, "--install", str(made["python3-ridgeline"])], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "depends on ridgeline" in done.stderr, done.stderr
    outside = ",".join(sorted({word.split()[0] for text in depends.values() for word in re.split(r"[,|]\s*", text)} - {"ridgeline", ""}))
    run(*dpkg, *(f"--ignore-depends={name}" for name in outside.split(",")), "--install", *made.values())
    listed = run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n").split("\n")
    assert sorted(filter(None, listed)) == sorted(f"{name} installed" for name in made), listed
    assert run(root / "usr/bin/ridgeline", "--version") == f"ridgeline {VERSION}\n"
    assert (root / "usr/share/man/man1/ridgeline-rank.1").is_file() or (root / "usr/share/man/man1/ridgeline-rank.1.gz").is_file()
    assert all((root / f"usr/share/doc/{name}/copyright").is_file() for name in made)
    module_answers(options, root, root / "usr/bin")
    modes = [path for path in root.rglob("usr/**/*") if not path.is_symlink() and path.stat().st_mode & 0o022]
    assert not modes, f"others may write {modes[:3]}"
    run(*dpkg, "--purge", *made)
    assert not {name for name in files(root / "usr")}, files(root / "usr")
    print(", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in made.values()))


def complete(script, *words):
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _ridgeline 2>/dev/null; " \
           f"printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return run("bash", "--norc", "-c", code, cwd=SOURCE / "examples").split()


def pages(options, folder):
    """Manual pages have each verb and option of the help, and completion offers them."""
    program = options.build / "bin/ridgeline"
    run(sys.executable, "-B", SOURCE / "scripts/help-pages", program, folder)
    said = run(program, "rank", "--help")
    page = (folder / "man/man1/ridgeline-rank.1").read_text()
    names = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", said, re.M))
    assert len(names) > 15 and all(name.replace("-", "\\-") in page for name in names), names
    verbs = re.findall(r"^  ([a-z-]+)  ", run(program, "--help").split("Subcommands:")[1], re.M)
    missing = [verb for verb in verbs if not (folder / f"man/man1/ridgeline-{verb}.1").is_file() and verb != "gui"]
    assert len(verbs) >= 20 and not missing, missing
    if shutil.which("man"):
        for path in (folder / "man/man1").glob("*.1"):
            done = subprocess.run(["man", "--warnings", "-l", str(path)], capture_output=True, text=True, check=False,
                                  env={**CLEAN, "MANPAGER": "cat"})
            assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    script = folder / "completion/ridgeline"
    assert complete(script, "ridgeline", "ro") == ["roofline"]
    assert complete(script, "ridgeline", "history", "a") == ["add", "accept"]
    assert complete(script, "ridgeline", "rank", "--sort") == ["--sort"]
    assert complete(script, "ridgeline", "rank", "--format", "m") == ["markdown"]
    assert complete(script, "ridgeline", "rank", "gpt2-h") == ["gpt2-h200.ridge"]
    assert complete(script, "ridgeline", "rank", "--no-such") == []
    for shell, name, words in (("zsh", "_ridgeline", ["-n"]), ("fish", "ridgeline.fish", ["--no-execute"])):
        text = (folder / "completion" / name).read_text()
        assert all(verb in text for verb in verbs) and "alone-steps" in text, name
        if shutil.which(shell):
            run(shell, *words, folder / "completion" / name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("components", "consumer", "packages", "pages"))
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--capture", required=True, type=Path)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--compiler", default="c++")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        globals()[options.what](options, Path(folder))


if __name__ == "__main__":
    main()
