// Recorded sequences, and what is right of a search's answer on any of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "corpus.h"
#include "ridgeline/steps/step_watch.h"

namespace ridgeline::steps::corpus {
namespace {

// As sequences.py writes it; empty if it cannot be read.
Sequence read(const std::string& path) {
  Sequence s;
  const std::string command = "gzip -dc '" + path + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(popen(command.c_str(), "r"), pclose);
  if (file == nullptr) return s;
  std::vector<Key> keys;
  std::int64_t now_us = 1'000'000;
  char line[128];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    unsigned kernel = 0, x = 0, y = 0, z = 0;
    std::size_t steady = 0, key = 0;
    unsigned long long graph = 0;
    long long us = 0;
    if (std::sscanf(line, "steady %zu", &steady) == 1) {
      s.steady = steady;
    } else if (std::sscanf(line, "k %u %u %u %u", &kernel, &x, &y, &z) == 4) {
      keys.push_back(key_of(kernel, x, y, z));
    } else if (std::sscanf(line, "g %llu", &graph) == 1) {
      keys.push_back(graph_key(graph));
    } else if (std::sscanf(line, "%zu %lld", &key, &us) == 2 && key < keys.size()) {
      now_us += us;
      if (std::strchr(line, '*') != nullptr) s.steps.push_back(s.launches.size());
      s.launches.push_back({keys[key], static_cast<std::uint32_t>(now_us)});
      s.times_ns.push_back(1000 * now_us);
    } else {
      return {};
    }
  }
  return s;
}

}  // namespace

std::vector<Kind> recorded(const std::string& directory) {
  constexpr std::string_view kEnding = ".txt.gz";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kEnding)) names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::sort(names.begin(), names.end());
  std::vector<Kind> found;
  for (const std::string& name : names) {
    auto whole = std::make_shared<Sequence>(read(directory + "/" + name + std::string(kEnding)));
    found.push_back({"recorded: " + name, [whole](std::uint32_t) { return *whole; }});
  }
  return found;
}

Sequence from(const Sequence& whole, std::size_t step, double part) {
  const std::size_t end = step + 1 < whole.steps.size() ? whole.steps[step + 1] : whole.launches.size();
  const std::size_t first =
      whole.steps[step] + static_cast<std::size_t>(part * static_cast<double>(end - whole.steps[step]));
  Sequence cut;
  cut.launches.assign(whole.launches.begin() + static_cast<std::ptrdiff_t>(first), whole.launches.end());
  cut.times_ns.assign(whole.times_ns.begin() + static_cast<std::ptrdiff_t>(first), whole.times_ns.end());
  for (const std::size_t at : whole.steps)
    if (at >= first) cut.steps.push_back(at - first);
  return cut;
}

namespace {

// Whether these boundaries, launches of the sequence in order, come once in each of the steps from `first` to before
// `last`, but for one in seven: beside an evaluation a boundary may be missed or come too often.
bool once_per_step(const Sequence& s, const std::vector<std::size_t>& boundaries, std::size_t first,
                   std::size_t last) {
  std::size_t right = 0;
  for (std::size_t step = first; step < last; ++step) {
    const std::size_t end = step + 1 < s.steps.size() ? s.steps[step + 1] : s.launches.size();
    const auto start_at = std::lower_bound(boundaries.begin(), boundaries.end(), s.steps[step]);
    const auto end_at = std::lower_bound(boundaries.begin(), boundaries.end(), end);
    right += end_at - start_at == 1;
  }
  return last > first && right * 7 >= (last - first) * 6;
}

std::vector<std::size_t> cut(const Sequence& s, const StepPeriodFound& found) {
  StepCutter cutter(found.period.anchor, found.periods);
  std::vector<std::size_t> boundaries;
  for (std::size_t i = 0; i < s.launches.size(); ++i)
    if (cutter.launch(s.launches[i].key)) boundaries.push_back(i);
  return boundaries;
}

}  // namespace

Verdict judge(const Sequence& s) {
  constexpr std::int64_t kTickNs = 50'000'000;
  Verdict verdict;
  const std::size_t steps = s.steps.size();
  if (steps < s.steady + 8) return verdict;
  const std::int64_t start_ns = s.times_ns[s.steps[s.steady]];
  const std::int64_t deadline_ns = std::max(start_ns + 300'000'000, s.times_ns[s.steps[s.steady + 5]]);
  // Steps judged for a period that was found there: those that follow, ten of them at least where the program has them.
  const auto right = [&](const StepPeriodFound& found, std::size_t step) {
    const std::size_t first = std::min(step, steps - 8), last = std::min(steps - 1, first + 20);
    return once_per_step(s, cut(s, found), first, last);
  };
  StepWatch watch;
  StepPeriodFound found, in_force;
  bool active = false, active_right = false, decided = false;
  std::int64_t last_tick_ns = s.times_ns.front();
  for (std::size_t i = 0; i < s.launches.size(); ++i) {
    const std::int64_t now = s.times_ns[i];
    if (!decided && now > deadline_ns) {
      decided = true;
      verdict.in_time = active && active_right;
    }
    if (now - last_tick_ns < kTickNs) continue;
    last_tick_ns = now;
    const std::size_t size = watch.wanted(i + 1, now);
    if (size == 0 || !watch.look(s.launches.data() + i + 1 - size, size, i + 1, now, &found)) continue;
    const std::size_t step =
        static_cast<std::size_t>(std::upper_bound(s.steps.begin(), s.steps.end(), i) - s.steps.begin());
    verdict.replaced += active;
    active = true;
    in_force = found;
    active_right = right(found, step);
    verdict.launches = found.step_launches();
    if (std::getenv("STEP_CORPUS_VERBOSE") != nullptr)
      std::printf(
          "  step %zu %.3f s: %u launches x %u, %.3f ms, seen %u, odd %u, coverage %.3f, own %.3f s, %s%s: "
          "%s\n",
          step, static_cast<double>(now - start_ns) / 1e9, found.period.launches, found.periods,
          static_cast<double>(found.period.ns) / 1e6, found.period.repeats, found.period.odd,
          found.period.coverage, static_cast<double>(found.period.own_ns) / 1e9,
          found.period.varies         ? "varying"
          : found.period.anchor.exact ? "exact"
                                      : "kernels",
          found.replaces ? ", replaces" : "", active_right ? "right" : "wrong");
    if (!active_right) verdict.ever_wrong = true;
    if (active_right && verdict.found_steps < 0)
      verdict.found_steps = static_cast<double>(step) - static_cast<double>(s.steady);
  }
  if (!decided) verdict.in_time = active && active_right;
  verdict.in_the_end = active && right(in_force, steps - 9);
  return verdict;
}

bool right_at_import(const Sequence& s) {
  PeriodSearch search(1u << 20);
  StepPeriodFound found;
  if (!search.find_anywhere(s.launches.data(), s.launches.size(), &found.period)) return false;
  // From where the steps begin that were found: a program that compiles anew has others before.
  const auto first = static_cast<std::size_t>(
      std::upper_bound(s.steps.begin(), s.steps.end(), found.period.begin) - s.steps.begin());
  if (first + s.steps.size() / 5 > s.steps.size()) return false;
  return once_per_step(s, cut(s, found), first, s.steps.size() - 1);
}

}  // namespace ridgeline::steps::corpus
