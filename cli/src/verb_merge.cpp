// verb_merge.cpp: the captures of a job's ranks become one.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "output.h"
#include "ridgeline/base/units.h"
#include "ridgeline/queries/ranks_query.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
  bool quiet = false;
};

std::string merge_summary(const queries::MergeAnswer& answer, const std::string& output) {
  std::string out = fmt::format("Merged {}", counted(answer.ranks, "rank"));
  if (answer.world_size) out.append(fmt::format(" of {}", *answer.world_size));
  out.append(fmt::format(" on {} into {}.\n", counted(answer.hosts, "host"), output));
  if (!answer.missing.empty()) {
    out.append("Missing:");
    for (std::size_t i = 0; i < answer.missing.size() && i < 16; ++i)
      out.append(fmt::format("{} {}", i == 0 ? "" : ",", answer.missing[i]));
    if (answer.missing.size() > 16) out.append(fmt::format(" and {} more", answer.missing.size() - 16));
    out.append(".\n");
  }
  std::int64_t widest = 0;
  for (const store::JobClock& clock : answer.clocks) {
    if (clock.status == ClockStatus::aligned)
      widest = std::max({widest, -clock.low_ns.value_or(0), clock.high_ns.value_or(0)});
    if (clock.status == ClockStatus::contradicts || clock.status == ClockStatus::unknown)
      out.append(fmt::format("The clock of {} is not aligned.\n", clock.host));
  }
  if (widest > 0)
    out.append(fmt::format("Clocks are aligned to within {}.\n", time_text(static_cast<double>(widest))));
  return out;
}

int run_merge(const MergeArguments& arguments) {
  require_replaceable(arguments.output, store::KeptKind::capture);
  std::error_code code;
  if (std::filesystem::exists(arguments.output, code)) {
    if (!arguments.force)
      throw Error(ErrorKind::usage,
                  fmt::format("{} is there already: give --force to replace it", arguments.output));
    for (const std::string& file : arguments.files) {
      if (std::filesystem::equivalent(file, arguments.output, code))
        throw Error(ErrorKind::usage, fmt::format("{} is one of the captures that are to be merged", file));
    }
  }
  const std::string making = arguments.output + ".merging";
  std::filesystem::remove(making, code);
  const auto answer = queries::merge_ranks(arguments.files, making);
  if (!answer.ok()) {
    std::filesystem::remove(making, code);
    throw Error(answer.failure().kind, answer.failure().message);
  }
  std::filesystem::rename(making, arguments.output, code);
  if (code) throw Error(ErrorKind::io, fmt::format("{}: {}", arguments.output, code.message()));
  if (!arguments.quiet) write_standard_output(merge_summary(answer.value(), arguments.output));
  return 0;
}

}  // namespace

Verb add_merge(Command program) {
  auto arguments = std::make_shared<MergeArguments>();
  const Command app = program.add_subcommand(
      "merge", "Put the captures of a job's ranks into one, their clocks aligned, for `ranks`");
  app.add_option("CAPTURE", arguments->files, "Captures of ranks of one job, or jobs merged before")
      .required()
      .type_name("");
  app.add_option("-o,--output", arguments->output, "Capture to write").required().type_name("FILE");
  app.add_flag("-f,--force", arguments->force, "Replace an existing capture");
  app.add_flag("-q,--quiet", arguments->quiet, "Print nothing but errors");
  return {app, [arguments] { return run_merge(*arguments); }};
}

}  // namespace ridgeline::cli
