#include "ladder_runner.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "child.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"

namespace ridgeline::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLogBytes = 64u << 20;
// Counters take time and are the same in every run: a ladder is about the step.
const std::vector<std::string> kTimelineOnly = {"--tiers", "T0", "--schedule", "warmup=5,timeline=30"};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Every number that the pattern finds, in order.
std::vector<double> numbers_of(const std::string& text, const std::string& pattern) {
  std::vector<double> values;
  if (pattern.empty()) return values;
  const re2::RE2 expression(pattern, re2::RE2::Quiet);
  re2::StringPiece rest(text);
  re2::StringPiece found;
  while (re2::RE2::FindAndConsume(&rest, expression, &found)) {
    if (const auto value = number_in({found.data(), found.size()})) values.push_back(*value);
    if (found.empty() && !rest.empty()) rest.remove_prefix(1);
  }
  return values;
}

std::optional<double> last_number(const std::string& text, const std::string& pattern) {
  const std::vector<double> values = numbers_of(text, pattern);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::vector<double> step_times(const std::string& text, const LadderFile& file) {
  std::vector<double> times;
  for (const double value : numbers_of(text, file.output.step)) {
    if (value <= 0) continue;
    times.push_back(file.output.step_unit_ns > 0 ? value * file.output.step_unit_ns : 1e9 / value);
  }
  if (times.empty())
    throw Error(ErrorKind::no_data,
                fmt::format("printed no step: nothing in its output is '{}'", file.output.step));
  if (static_cast<std::int64_t>(times.size()) <= file.skip)
    throw Error(ErrorKind::no_data,
                fmt::format("printed {} steps, of which {} never count (skip)", times.size(), file.skip));
  times.erase(times.begin(), times.begin() + file.skip);
  return times;
}

std::string last_line_of(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return bounded_text(one_line(last), 300);
}

void remove_file(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

void read_output(const std::string& text, const LadderFile& file, comparison::LadderObservation& into) {
  comparison::LadderRun& run = into.run;
  if (file.source() == comparison::LadderSource::output) {
    run = comparison::observe_times(step_times(text, file));
    run.discarded += file.skip;
  }
  if (const auto loss = last_number(text, file.output.loss)) run.loss = loss;
  if (const auto memory = last_number(text, file.output.memory))
    run.peak_memory_bytes = *memory * file.output.memory_unit_bytes;
  if (const auto watts = last_number(text, file.output.power_w)) {
    run.power_w = watts;
    run.joules_per_step = *watts * run.step_ns * 1e-9;
  }
  if (const auto joules = last_number(text, file.output.joules_per_step)) run.joules_per_step = joules;
}

comparison::LadderObservation LadderRunner::run(const LadderCommand& command, const std::string& folder,
                                                const std::string& name, std::int64_t seed,
                                                bool keep_capture) {
  const bool recorded = file_.source() == comparison::LadderSource::recording;
  const std::string stem = directory_.claim(fmt::format("{}-{:02}", name, ++numbers_[name]));
  const std::string log = stem + ".log", capture = stem + ".ridge";
  ChildCommand child{.argv = {}, .directory = folder, .log = log};
  child.environment = command.environment;
  const auto add = [&](const std::vector<std::string>& words) {
    child.argv.insert(child.argv.end(), words.begin(), words.end());
  };
  if (recorded) {
    add(plan_.recorder);
    add({"-q", "-f", "-o", capture, "--directory", folder});
    add(!plan_.record.empty() ? plan_.record : !file_.record.empty() ? file_.record : kTimelineOnly);
    add({"--"});
  }
  add(with_seed(command.program, seed));
  try {
    const int status = run_child(child, interruption_).status;
    const std::string output = ridgeline::read_file(log, kMaxLogBytes).value();
    if (status != 0 || (recorded && !fs::exists(capture)))
      throw Error(ErrorKind::no_data,
                  fmt::format("ended with {}: {} ({})", status, last_line_of(output), log));
    comparison::LadderObservation observation;
    if (recorded) observation = comparison::observe_capture(capture).value();
    read_output(output, file_, observation);
    if (!keep_capture && !plan_.keep_captures) remove_file(capture);
    if (!keep_capture) remove_file(log);
    return observation;
  } catch (const Error& error) {
    remove_file(capture);
    if (error.kind() == ErrorKind::cancelled) remove_file(log);
    throw;
  }
}

}  // namespace ridgeline::experiment
