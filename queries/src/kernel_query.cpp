#include "ridgeline/queries/kernel_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/why_text.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::queries {
namespace {

constexpr std::size_t kNamesListed = 6;
constexpr int kNameColumns = 60;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string listed(const analyzer::Ranking& ranking, const std::vector<std::size_t>& rows) {
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), kNamesListed); ++i) {
    text += fmt::format("{}#{} {}", i == 0 ? "" : ", ", rows[i] + 1,
                        reports::elide_kernel_name(ranking.rows[rows[i]].key, kNameColumns));
  }
  return rows.size() > kNamesListed ? fmt::format("{} and {} more", text, rows.size() - kNamesListed) : text;
}

template <typename Matches>
std::vector<std::size_t> rows_where(const analyzer::Ranking& ranking, Matches matches) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i)
    if (matches(ranking.rows[i])) rows.push_back(i);
  return rows;
}

// "3" and "#3".
std::optional<std::size_t> place_in(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  std::size_t place = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return place;
}

std::vector<std::string> sections_for(const analyzer::RankingRow& row) {
  std::vector<std::string> sections = {"SpeedOfLight", "LaunchStats", "Occupancy"};
  const auto add = [&](std::initializer_list<const char*> more) {
    sections.insert(sections.end(), more.begin(), more.end());
  };
  switch (row.bound) {
    case analyzer::KernelBound::memory:
      add({"MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables"});
      break;
    case analyzer::KernelBound::compute:
      add({"ComputeWorkloadAnalysis", "InstructionStats"});
      break;
    default:
      add({"SchedulerStats", "WarpStateStats", "SourceCounters", "MemoryWorkloadAnalysis"});
      break;
  }
  return sections;
}

// Launches of functions of one name in one process, in the order of their launch.
struct Counted {
  std::int64_t before = 0;
  std::int64_t all = 0;
};

Result<Counted> count_launches(const store::Capture& capture, const store::Launch& meant,
                               const std::set<store::Id>& kernels, const std::stop_token& stop) {
  const store::Activity activity(capture);
  Counted counted;
  std::map<store::Id, bool> matches;
  store::ActivityFilter filter;
  filter.process_id = meant.process_id;
  const auto count = [&](const store::LaunchRow& launch) {
    const auto [known, first] = matches.try_emplace(launch.site_id, false);
    if (first) known->second = kernels.contains(activity.launch_site(launch.site_id).kernel_id);
    if (!known->second) return;
    ++counted.all;
    if (std::tie(launch.correlation_id, launch.start_ns) < std::tie(meant.correlation_id, meant.start_ns))
      ++counted.before;
  };
  if (!activity.for_each_launch_row(filter, store::LaunchColumns::all, count, stop))
    return Failure{ErrorKind::cancelled, "stopped while counting launches"};
  return counted;
}

// The first that was launched.
store::Launch first_launch(const analyzer::Model& model, const analyzer::Analysis& analysis,
                           const analyzer::RankingRow& row) {
  std::optional<store::Launch> first;
  for (const std::uint32_t i : row.launches) {
    store::Launch launch = model.launches[analysis.utilisation.launches.row(i).launch];
    if (!first ||
        std::tie(launch.correlation_id, launch.start_ns) < std::tie(first->correlation_id, first->start_ns))
      first = launch;
  }
  if (!first) throw Error(ErrorKind::internal, "a row of the ranking without a launch");
  return *first;
}

void say_of_recording(const analyzer::Model& model, const analyzer::Analysis& analysis,
                      const store::Launch& meant, reports::NcuCommand& command) {
  if (model.run) {
    command.program = model.run->command_line;
    command.working_directory = model.run->working_directory;
  }
  command.processes = std::max<std::int64_t>(static_cast<std::int64_t>(model.process_totals.size()), 1);
  for (const store::Process& process : model.processes)
    if (process.id == meant.process_id) command.pid = process.pid;
  const auto window =
      std::find_if(model.recording_windows.begin(), model.recording_windows.end(),
                   [&](const store::RecordingWindow& w) { return w.process_id == meant.process_id; });
  command.begins_late = window != model.recording_windows.end() && window->cause != WindowCause::start;
  command.incomplete = analysis.quality.completeness_known && !analysis.quality.complete;
  const auto& step = analysis.steps.representative;
  if (step.scope == analyzer::ScopeKind::step && !step.whole_recording)
    command.step_index = step.summary.index;
}

}  // namespace

KernelWhy why_kernel(const ScopeAnswer& answer, std::size_t row) {
  const analyzer::RankingRow& of = answer.ranking->rows.at(row);
  KernelWhy why{.sentence = {}, .hold = analyzer::kernel_hold(*answer.model, *answer.utilisation, of)};
  why.sentence = reports::why_sentence(*answer.ranking, of, why.hold);
  return why;
}

Result<std::size_t> choose_kernel(const analyzer::Ranking& ranking, std::string_view text) {
  if (text.empty())
    return Failure{ErrorKind::usage, "give a kernel: a name, a part of it, or its number in rank"};
  if (const auto place = place_in(text)) {
    if (*place >= 1 && *place <= ranking.rows.size()) return *place - 1;
    return Failure{ErrorKind::usage, fmt::format("there is no kernel number {}: the ranking has {}", *place,
                                                 ranking.rows.size())};
  }
  const std::string wanted(text), small = lower(text);
  const auto shown = [](const analyzer::RankingRow& row) { return reports::kernel_display_name(row.kernel); };
  std::vector<std::size_t> rows;
  const auto try_next = [&](auto matches) {
    if (rows.empty()) rows = rows_where(ranking, matches);
  };
  try_next([&](const auto& row) { return row.key == wanted; });
  try_next([&](const auto& row) { return row.kernel == wanted; });
  try_next([&](const auto& row) { return shown(row) == wanted || function_name(row.kernel) == wanted; });
  try_next([&](const auto& row) {
    return analyzer::name_matches(wanted, shown(row)) ||
           analyzer::name_matches(wanted, function_name(row.kernel));
  });
  try_next([&](const auto& row) { return lower(row.key).find(small) != std::string::npos; });
  if (rows.size() == 1) return rows.front();
  if (rows.empty()) {
    std::vector<std::size_t> all(ranking.rows.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return Failure{ErrorKind::usage,
                   fmt::format("no kernel is called '{}': {}", reports::bounded(wanted, 200),
                               all.empty() ? "the ranking has none" : "there are " + listed(ranking, all))};
  }
  return Failure{ErrorKind::usage,
                 fmt::format("'{}' means {} kernels: {}: give more of the name, or the number",
                             reports::bounded(wanted, 200), rows.size(), listed(ranking, rows))};
}

std::string function_name(std::string_view demangled_name) {
  std::string name(demangled_name);
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.erase(at, kAnonymous.size());
  std::size_t begin = 0, end = name.size(), depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(' && depth == 0) {
      end = i;
      break;
    }
    if (c == '<' || c == '(' || c == '[') ++depth;
    if ((c == '>' || c == ')' || c == ']') && depth > 0) --depth;
    // A return type ends at a blank, a namespace at its colons.
    if (depth == 0 && (c == ' ' || c == ':') && i + 1 < name.size()) begin = i + 1;
  }
  const std::string function = name.substr(begin, end - begin);
  return function.substr(0, function.find('<'));
}

Result<reports::NcuCommand> ncu_command(const store::Capture& capture, const analyzer::Model& model,
                                        const analyzer::Analysis& analysis, std::size_t row,
                                        std::int64_t launches, const analyzer::QueryOptions& how) {
  const analyzer::RankingRow& of = analysis.ranking.rows.at(row);
  const store::Launch meant = first_launch(model, analysis, of);
  reports::NcuCommand command;
  command.kernel = of.kernel;
  command.function = function_name(of.kernel);
  if (command.function.empty()) command.function = of.kernel;
  command.launch_count = launches;
  command.sections = sections_for(of);
  command.graph = meant.graph_id.has_value();
  std::set<store::Id> kernels;
  for (const store::Kernel& kernel : capture.kernels())
    if (kernel.id == meant.kernel_id || function_name(kernel.demangled_name) == command.function)
      kernels.insert(kernel.id);
  command.same_function = static_cast<std::int64_t>(kernels.size());
  const Result<Counted> counted = count_launches(capture, meant, kernels, how.stop);
  if (!counted) return counted.failure();
  command.launch_skip = counted.value().before;
  command.recorded_launches = counted.value().all;
  say_of_recording(model, analysis, meant, command);
  return command;
}

}  // namespace ridgeline::queries
