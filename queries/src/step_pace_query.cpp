#include "ridgeline/queries/step_pace_query.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "ridgeline/store/statement_stop.h"

namespace ridgeline::queries {

namespace {

using Row = std::vector<store::Value>;

std::int64_t whole_of(const store::Value& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? *number : 0;
}

std::optional<double> amount_of(const store::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  return std::nullopt;
}

class PaceReader {
 public:
  PaceReader(const store::Capture& capture, const std::stop_token& stop) : capture_(capture), stop_(stop) {
    // A statement may compute for long without making a row.
    if (stop.stop_possible()) ends_.emplace(stop);
  }

  [[nodiscard]] Result<void> each(std::string_view sql, const std::function<void(const Row&)>& take) const {
    const Result<void> asked = capture_.query(
        sql, [](std::vector<std::string>&&) { return true; },
        [&](Row&& row) {
          take(row);
          return !stop_.stop_requested();
        });
    if (stop_.stop_requested()) return Failure{ErrorKind::cancelled, "stopped while reading the steps' pace"};
    return asked;
  }

  // Whether a statement has a row. A capture that is older than a table or a column has none, and is read as it is.
  [[nodiscard]] Result<bool> any(std::string_view sql) const {
    bool found = false;
    const Result<void> asked = each(sql, [&](const Row&) { found = true; });
    if (!asked && asked.failure().kind != ErrorKind::usage) return asked.failure();
    return found;
  }

 private:
  const store::Capture& capture_;
  std::stop_token stop_;
  std::optional<store::StatementStop> ends_;
};

constexpr std::string_view kAnySize =
    "SELECT 1 FROM declared_work WHERE tokens IS NOT NULL OR samples IS NOT NULL LIMIT 1";
constexpr std::string_view kSizedRanges =
    "SELECT r.step_id, r.thread_id, r.start_ns, coalesce(r.end_ns, r.start_ns), r.depth, a.tokens, a.samples "
    "FROM annotation a JOIN nvtx_range r ON r.id = a.nvtx_range_id "
    "WHERE r.step_id IS NOT NULL AND (a.tokens IS NOT NULL OR a.samples IS NOT NULL)";
constexpr std::string_view kAnyMemory = "SELECT 1 FROM memory_call LIMIT 1";
constexpr std::string_view kMemory =
    "SELECT process_id, device_id, time_ns, allocated_bytes FROM memory_call ORDER BY time_ns, "
    "correlation_id";
// Between steps the host belongs to the one before: what it takes there is there when the next begins.
constexpr std::string_view kHostSteps =
    "SELECT id, process_id, host_start_ns, coalesce(lead(host_start_ns) OVER (PARTITION BY process_id ORDER "
    "BY "
    "step_index), host_end_ns, host_start_ns) FROM step WHERE host_start_ns IS NOT NULL";

Result<std::vector<analyzer::SizedRange>> read_sizes(const PaceReader& reader) {
  std::vector<analyzer::SizedRange> ranges;
  const Result<bool> known = reader.any(kAnySize);
  if (!known) return known.failure();
  if (!known.value()) return ranges;
  const Result<void> asked = reader.each(kSizedRanges, [&](const Row& row) {
    ranges.push_back({.step_id = whole_of(row.at(0)),
                      .thread_id = whole_of(row.at(1)),
                      .start_ns = whole_of(row.at(2)),
                      .end_ns = whole_of(row.at(3)),
                      .depth = static_cast<int>(whole_of(row.at(4))),
                      .size = {amount_of(row.at(5)), amount_of(row.at(6))}});
  });
  if (!asked) return asked.failure();
  return ranges;
}

Result<std::vector<analyzer::HeldMemory>> read_memory(const PaceReader& reader) {
  std::vector<analyzer::HeldMemory> memory;
  const Result<bool> known = reader.any(kAnyMemory);
  if (!known) return known.failure();
  if (!known.value()) return memory;
  const Result<void> asked = reader.each(kMemory, [&](const Row& row) {
    memory.push_back({whole_of(row.at(0)), whole_of(row.at(1)), whole_of(row.at(2)), whole_of(row.at(3))});
  });
  if (!asked) return asked.failure();
  return memory;
}

// Of each process the devices that it was sampled on.
void read_links(const store::Capture& capture, const analyzer::StepAnalysis& steps,
                std::vector<analyzer::StepPace>& pace) {
  std::map<store::Id, std::set<store::Id>> devices;
  for (const store::PmWindow& window : capture.pm_windows())
    devices[window.process_id].insert(window.device_id);
  for (const auto& [process_id, ids] : devices) {
    std::vector<analyzer::LinkSamples> samples;
    for (const store::Id id : ids) {
      samples.push_back(analyzer::read_link_samples(capture, id));
      if (samples.back().empty()) samples.pop_back();
    }
    if (!samples.empty()) analyzer::add_links(steps.steps, process_id, samples, pace);
  }
}

}  // namespace

Result<std::vector<analyzer::StepPace>> ask_step_pace(const store::Capture& capture,
                                                      const analyzer::StepAnalysis& steps,
                                                      const std::stop_token& stop) {
  const PaceReader reader(capture, stop);
  Result<std::vector<analyzer::SizedRange>> sizes = read_sizes(reader);
  if (!sizes) return sizes.failure();
  Result<std::vector<analyzer::HeldMemory>> memory = read_memory(reader);
  if (!memory) return memory.failure();
  std::vector<analyzer::HostStep> hosts;
  if (!memory.value().empty()) {
    const Result<void> asked = reader.each(kHostSteps, [&](const Row& row) {
      hosts.push_back({whole_of(row.at(0)), whole_of(row.at(1)), whole_of(row.at(2)), whole_of(row.at(3))});
    });
    if (!asked) return asked.failure();
  }
  std::vector<analyzer::StepPace> pace =
      analyzer::step_pace(steps.steps, sizes.value(), std::move(memory).value(), hosts);
  read_links(capture, steps, pace);
  return pace;
}

}  // namespace ridgeline::queries
