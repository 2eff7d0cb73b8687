#include "ncu/ncu_report.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/base/program.h"
#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

// Python Report Interface of Nsight Compute: contexts have ranges, these actions, these metrics. It does not say the
// process, so the order in the report is the number of a launch. Nothing is taken from the working directory.
constexpr const char* kScript = R"py(
import sys
sys.path = [folder for folder in sys.path if folder]
import csv, os, shutil
ncu = shutil.which("ncu")
if ncu:
    folder = os.path.dirname(os.path.realpath(ncu))
    while True:
        sys.path.append(os.path.join(folder, "extras", "python"))
        above = os.path.dirname(folder)
        if above == folder or len(sys.path) > 64:
            break
        folder = above
import ncu_report

def value_of(action, name):
    metric = action.metric_by_name(name)
    return None if metric is None else metric.value()

def written(value):
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, float):
        return format(value, ".9f") if value == value and abs(value) < 1e300 else ""
    return str(value)

def dimensions(action, what):
    return "(%s)" % ", ".join(str(int(value_of(action, "launch__%s_dim_%s" % (what, axis)) or 0)) for axis in "xyz")

launches, units = [], {}
for report in sys.argv[1:]:
    context = ncu_report.load_report(report)
    for i in range(context.num_ranges()):
        actions = context.range_by_idx(i)
        for j in range(actions.num_actions()):
            action = actions.action_by_idx(j)
            values = {}
            for name in action.metric_names():
                metric = action.metric_by_name(name)
                if metric is None:
                    continue
                value = metric.value()
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    values[name] = written(value)
                    units.setdefault(name, metric.unit() or "")
            try:
                kernel = action.name(action.NameBase_DEMANGLED)
            except (AttributeError, TypeError):
                kernel = action.name()
            launches.append([str(len(launches)), "", "", "", kernel, written(value_of(action, "launch__context_id")),
                             written(value_of(action, "launch__stream_id")), dimensions(action, "block"),
                             dimensions(action, "grid"), "", "", values])
names = sorted(units)
table = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
table.writerow(["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
                "Grid Size", "Device", "CC"] + names)
table.writerow([""] * 11 + [units[name] for name in names])
for launch in launches:
    table.writerow(launch[:11] + [launch[11].get(name, "") for name in names])
)py";

std::string ncu_by_hand(const std::string& report) {
  return "LC_ALL=C " + shell_quoted({"ncu", "--import", report, "--csv", "--page", "raw"}) + " > " +
         shell_quoted({std::filesystem::path(report).replace_extension(".csv").string()});
}

}  // namespace

bool is_ncu_report(const std::string& path) {
  return path.ends_with(".ncu-rep") || path.ends_with(".ncu-repz");
}

Result<void> export_ncu_report(const std::string& report, const std::string& output) {
  const std::string path = report.starts_with('-') ? "./" + report : report;
  // -B: nothing is written beside the module.
  const ProgramEnd by_module = run_program(
      {.words = {"python3", "-B", "-c", kScript, path}, .output_file = output, .plain_locale = true});
  if (by_module.succeeded()) return {};
  const ProgramEnd ran =
      run_program({.words = {"ncu", "--import", path, "--csv", "--page", "raw", "--print-units", "base"},
                   .output_file = output,
                   .plain_locale = true});
  if (!ran.started())
    return Failure{
        ErrorKind::environment,
        fmt::format("{} is a report that the Python module ncu_report or ncu alone can read: python3 has no "
                    "such module that reads it, and no ncu is in PATH ({}): run {} where there is one, and "
                    "import what it writes",
                    report, ran.why, ncu_by_hand(report))};
  if (!ran.succeeded())
    return Failure{
        ErrorKind::environment,
        fmt::format("neither the Python module ncu_report nor ncu could read {}: see what ncu says "
                    "with {}",
                    report, ncu_by_hand(report))};
  return {};
}

}  // namespace ridgeline::import
