"""source_tree: what several checks of the sources know of the tree."""
from pathlib import PurePosixPath

# Libraries whose sources are compiled several at a time (ridgeline_unite in CMake), a folder each.
UNITED = ("base/", "store/", "import/", "analyzer/", "comparison/", "experiment/", "reports/", "queries/", "exports/", "mcp/", "cli/", "gui/",
          "collector/spool/", "collector/launch/", "workloads/gpt2/model/", "workloads/gpt2/libs/", "workloads/gpt2/ranks/",
          "workloads/gpt2/train/", "workloads/ceilings/core/")


def files_meant(include, by_name):
    """The files that an #include of this path may mean, by the ends of their paths, whatever the compiler's search path. `by_name`: the
    tree's files by the last part of their paths."""
    path = PurePosixPath(include)
    end = "/" + str(path).lstrip("./")
    return [file for file in by_name.get(path.name, []) if ("/" + file).endswith(end)]
