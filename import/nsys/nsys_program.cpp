#include "nsys/nsys_program.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/base/program.h"
#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

std::string by_hand(const std::string& report) {
  return shell_quoted({"nsys", "export", "--type", "sqlite", "--output",
                       std::filesystem::path(report).replace_extension(".sqlite").string(), report});
}

}  // namespace

Result<void> export_nsys_report(const std::string& report, const std::string& output) {
  const std::string path = report.starts_with('-') ? "./" + report : report;
  const ProgramEnd ran = run_program(
      {.words = {"nsys", "export", "--type", "sqlite", "--force-overwrite=true", "--output", output, path}});
  if (!ran.started())
    return Failure{
        ErrorKind::environment,
        fmt::format(
            "is a report that nsys alone can read, and there is none in PATH ({}): run {} where there is "
            "one, and import what it writes",
            ran.why, by_hand(report))};
  if (!ran.succeeded())
    return Failure{ErrorKind::environment,
                   fmt::format("could not be exported by nsys: see what it says with {}", by_hand(report))};
  return {};
}

}  // namespace ridgeline::import
