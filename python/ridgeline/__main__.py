"""python -m ridgeline VERB ...: the program `ridgeline`; and `python -m ridgeline record [OPTIONS] script.py ARGS...`, which
records the script under this interpreter."""
import os
import sys

from ._program import ProgramError, program_path


def command(arguments):
    """The words behind `ridgeline`: of `record [OPTIONS] script.py ARGS...` and `record [OPTIONS] -m MODULE ARGS...` the
    interpreter and `--` are put in, everything else is as it is."""
    if arguments[:1] == ["record"] and "--" not in arguments:
        for at, word in enumerate(arguments[1:], 1):
            if word == "-m" or word.endswith(".py"):
                return arguments[:at] + ["--", sys.executable] + arguments[at:]
    return list(arguments)


def main(arguments=None):
    """Becomes the program: its exit status is this process's."""
    try:
        program = program_path()
        words = command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        os.execv(program, [program] + words)
    except (ProgramError, OSError) as error:
        print(f"ridgeline: {error}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
