"""The notebook of examples/: well-formed, and its cells run in order and draw what they say. Jupyter is not needed: the code is plain
Python.

usage: notebook_test.py NOTEBOOK
"""
import contextlib
import io
import json
import os
import re
import sys
import xml.dom.minidom
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))


def run(path):
    """What the cells print, and the names they leave."""
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5), "version of the notebook's format"
    identities = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identities)) == len(identities), "cells share an id"
    os.chdir(path.parent)
    names, said = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [] and cell["execution_count"] is None, f"{cell['id']} is kept with its output"
                exec(compile("".join(cell["source"]), f"{path.name}:{cell['id']}", "exec"), names)
    return said.getvalue(), names


def main():
    try:
        import nbformat
        nbformat.validate(nbformat.read(sys.argv[1], as_version=4))
    except ImportError:
        pass  # run() looks at what matters here
    said, names = run(Path(sys.argv[1]).resolve())
    assert "NVIDIA H200: 48.658 ms a step, MFU 55.0%" in said, said
    shown = int(re.search(r"(\d+) of 31 kernels have operations", said)[1])
    picture = xml.dom.minidom.parseString(names["picture"])
    circles = picture.getElementsByTagName("circle")
    assert len(circles) == shown > 10, (len(circles), shown)
    for circle in circles:  # inside the axes, and nobody above the highest roof
        assert 60 <= float(circle.getAttribute("cx")) <= 740 and 20 <= float(circle.getAttribute("cy")) <= 420, circle.toxml()
    assert len(picture.getElementsByTagName("polyline")) == len(names["roofline"].document["roofline"]["compute"]) == 2
    assert "'phase': 'replay', 'steps': 9" in said, said
    print(f"{shown} kernels drawn")


if __name__ == "__main__":
    main()
