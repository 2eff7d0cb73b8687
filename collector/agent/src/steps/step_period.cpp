#include "steps/step_period.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kLongestGram = 4;
constexpr double kLeastCoverage = 0.9;  // a validation now and then, a kernel of another thread
// A validation every ten steps that is half as long as a step: what repeats often may cover less.
constexpr double kLeastCoverageOften = 0.75;
constexpr std::uint32_t kOften = 16, kLongPeriod = 32;
// Borders of one period differ by what their first and last segments cut off; an inner loop by more.
constexpr double kSameCoverage = 0.005;
constexpr double kClearlyBetter = 0.03;
constexpr std::int64_t kAnalysisPauseNs = 100'000'000;
// Grids that change from step to step (sequence lengths) hide the period; without them kernels alone decide,
// but not at once: after a time, or when they have repeated often.
constexpr std::int64_t kGridsMatterNs = 3'000'000'000;
constexpr std::uint32_t kRepeatsWithoutGrids = 16;
constexpr std::int64_t kSettledNs = 60'000'000'000;
// A period is silent if of so many passes due fewer than one in four came.
constexpr std::uint64_t kExpectedAnchors = 16, kSilentShare = 4;

std::uint64_t scramble(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

std::uint64_t mask_of(std::uint32_t length) noexcept {
  return length >= 4 ? ~std::uint64_t{0} : (std::uint64_t{1} << 16 * length) - 1;
}

std::uint32_t least_repeats(std::uint32_t period) noexcept {
  return period >= 32 ? 3 : period >= 8 ? 4 : 8;
}

template <typename T>
T median_of(std::vector<T>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

StepPeriod::StepPeriod() : ring_(new std::atomic<std::uint64_t>[kHistory]()) {}
StepPeriod::~StepPeriod() {
  delete[] ring_;
}

StepPeriod::Key StepPeriod::key_of(std::uint32_t kernel_id, std::uint32_t grid_x, std::uint32_t grid_y,
                                   std::uint32_t grid_z) noexcept {
  const std::uint64_t kernel = scramble(kernel_id + 0x9e3779b97f4a7c15ull);
  const std::uint64_t grid =
      scramble(kernel ^ (std::uint64_t{grid_x} << 32 | grid_y) ^ std::uint64_t{grid_z} << 16);
  return static_cast<std::uint32_t>(kernel & 0xffff) << 16 | static_cast<std::uint32_t>(grid & 0xffff);
}

StepPeriod::Key StepPeriod::graph_key(const void* executable_graph) noexcept {
  const std::uint64_t h = scramble(reinterpret_cast<std::uintptr_t>(executable_graph) ^ 0x67726170);
  return static_cast<std::uint32_t>(h & 0xffff) << 16 | static_cast<std::uint32_t>(h & 0xffff);
}

bool StepPeriod::launch(Key key, std::int64_t now_ns) noexcept {
  const std::uint64_t at = count_.fetch_add(1, std::memory_order_relaxed);
  ring_[at % kHistory].store((static_cast<std::uint64_t>(now_ns) / 1000) << 32 | key,
                             std::memory_order_relaxed);
  // Two threads at once may lose a key here: a border is missed, nothing worse.
  const std::uint64_t exact = recent_exact_.load(std::memory_order_relaxed) << 16 | (key & 0xffff);
  const std::uint64_t kernels = recent_kernels_.load(std::memory_order_relaxed) << 16 | key >> 16;
  recent_exact_.store(exact, std::memory_order_relaxed);
  recent_kernels_.store(kernels, std::memory_order_relaxed);
  if (!active_.load(std::memory_order_acquire)) return false;
  const std::uint64_t recent = exact_.load(std::memory_order_relaxed) ? exact : kernels;
  if ((recent & mask_.load(std::memory_order_relaxed)) != anchor_.load(std::memory_order_relaxed))
    return false;
  if (at - last_anchor_.exchange(at, std::memory_order_relaxed) == launches_of_period())
    regular_.fetch_add(1, std::memory_order_relaxed);
  if (hits_.fetch_add(1, std::memory_order_relaxed) % periods_.load(std::memory_order_relaxed) != 0)
    return false;
  last_border_.store(at, std::memory_order_relaxed);
  return true;
}

std::uint64_t StepPeriod::launches_since_border() const noexcept {
  const std::uint64_t border = last_border_.load(std::memory_order_relaxed);
  return count_.load(std::memory_order_relaxed) - border;
}

void StepPeriod::restart() noexcept {
  active_.store(false, std::memory_order_release);
  first_ = count_.load(std::memory_order_relaxed);
  next_count_ = first_ + 16;
  next_ns_ = first_launch_ns_ = active_since_ns_ = 0;
  challenger_ = 0;
}

StepPeriod::View StepPeriod::view(std::uint64_t from, std::uint64_t to, bool exact) const {
  View v;
  v.keys.reserve(to - from);
  v.times_us.reserve(to - from);
  for (std::uint64_t i = from; i < to; ++i) {
    const std::uint64_t entry = ring_[i % kHistory].load(std::memory_order_relaxed);
    v.keys.push_back(static_cast<std::uint16_t>(exact ? entry : entry >> 16));
    v.times_us.push_back(static_cast<std::uint32_t>(entry >> 32));
  }
  if (to > from)
    v.span_ns = std::int64_t{v.times_us.back() - v.times_us.front()} * 1000;  // modulo 71 minutes
  return v;
}

std::vector<StepPeriod::Candidate> StepPeriod::candidates(const View& view, bool exact) {
  const std::size_t n = view.keys.size();
  std::vector<Candidate> found;
  // Hash of the keys before each position, and powers of its base: any segment's hash is a subtraction.
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ull;
  std::vector<std::uint64_t> hash(n + 1), power(n + 1, 1);
  for (std::size_t i = 0; i < n; ++i) {
    hash[i + 1] = hash[i] * kBase + scramble(view.keys[i] + 1);
    power[i + 1] = power[i] * kBase;
  }
  const auto segment = [&](std::uint32_t from, std::uint32_t to) {
    return scramble(hash[to] - hash[from] * power[to - from]) ^ (to - from);
  };
  std::vector<std::pair<std::uint64_t, std::uint32_t>> grams;
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> kinds;  // count, first segment
  std::vector<std::int64_t> values;
  for (std::uint32_t length = 1; length <= kLongestGram && length < n; ++length) {
    grams.clear();
    std::uint64_t gram = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      gram = gram << 16 | view.keys[i];
      if (i + 1 >= length) grams.emplace_back(gram & mask_of(length), i);
    }
    std::sort(grams.begin(), grams.end());
    for (std::size_t first = 0, last = 0; first < grams.size(); first = last) {
      while (last < grams.size() && grams[last].first == grams[first].first) ++last;
      const auto at = [&](std::size_t i) { return grams[first + i].second; };
      const std::size_t count = last - first;
      if (count < 4 || at(count - 1) - at(0) < n / 2) continue;
      kinds.clear();
      for (std::uint32_t i = 0; i + 1 < count; ++i) {
        auto& kind = kinds.try_emplace(segment(at(i), at(i + 1)), 0, i).first->second;
        ++kind.first;
      }
      Candidate c;
      std::uint64_t explained = 0;
      for (const auto& [h, kind] : kinds) {
        const std::uint32_t period = at(kind.second + 1) - at(kind.second);
        if (std::uint64_t{kind.first} * period <= explained) continue;
        explained = std::uint64_t{kind.first} * period;
        c.period = period;
        c.repeats = kind.first;
      }
      if (c.repeats < least_repeats(c.period)) continue;
      // Once a period: a kernel that comes in bursts (an optimiser's chunks) is next to itself most of the
      // time.
      if (std::uint64_t{c.repeats} * 5 < (count - 1) * 4) continue;
      // Parts of a period at either end are nothing unexplained.
      const std::uint64_t head = std::min<std::uint64_t>(at(0), c.period);
      const std::uint64_t tail = std::min<std::uint64_t>(n - at(count - 1), c.period);
      c.coverage = static_cast<double>(explained) / static_cast<double>(n - head - tail);
      if (c.coverage < 0.5) continue;
      c.gram = grams[first].first;
      c.length = length;
      c.exact = exact;
      values.clear();
      for (std::uint32_t i = 0; i + 1 < count; ++i)
        values.push_back(std::int64_t{view.times_us[at(i + 1)] - view.times_us[at(i)]} * 1000);
      c.period_ns = median_of(values);
      values.clear();
      for (std::uint32_t i = 0; i < count; ++i)
        if (at(i) > 0) values.push_back(std::int64_t{view.times_us[at(i)] - view.times_us[at(i) - 1]} * 1000);
      c.pause_ns = median_of(values);
      found.push_back(c);
    }
  }
  return found;
}

bool StepPeriod::choose(const std::vector<Candidate>& all, bool often_will_do, Candidate* best) {
  double most = 0;
  bool enough = false;
  for (const Candidate& c : all) {
    most = std::max(most, c.coverage);
    enough = enough || c.coverage >= kLeastCoverage ||
             (often_will_do && c.coverage >= kLeastCoverageOften && c.repeats >= kOften &&
              c.period >= kLongPeriod);
  }
  if (!enough) return false;
  const Candidate* chosen = nullptr;
  for (const Candidate& c : all) {
    if (c.coverage < most - kSameCoverage) continue;
    if (chosen == nullptr || c.period < chosen->period ||
        (c.period == chosen->period && c.pause_ns > chosen->pause_ns))
      chosen = &c;  // shorter rows of keys come first: they win where the pause is the same
  }
  *best = *chosen;
  return true;
}

bool StepPeriod::silent(std::uint64_t count) {
  const std::uint64_t regular = regular_.load(std::memory_order_relaxed);
  const std::uint64_t expected = (count - heard_) / std::max(launches_of_period(), 1u);
  if (expected < kExpectedAnchors) return false;
  if ((regular - heard_regular_) * kSilentShare < expected) return true;
  heard_ = count;
  heard_regular_ = regular;
  return false;
}

bool StepPeriod::successor(std::uint64_t count, std::int64_t now_ns, Found* found) {
  const View seen = view(count - std::min<std::uint64_t>(count - heard_, kHistory / 2), count, true);
  // The longer it has been silent, the more there is to search and the less a wait matters.
  next_listen_ns_ = now_ns + seen.span_ns / 8 + kAnalysisPauseNs;
  if (seen.span_ns < kShortestEvidenceNs) return false;
  Candidate best;
  if (!choose(candidates(seen, true), false, &best)) return false;
  if (best.period < kMuchLonger * launches_of_period() || best.period_ns < kMuchLonger * period_ns_)
    return false;
  enforce(best, now_ns, found);
  found->replaces = true;
  return true;
}

bool StepPeriod::analyse(std::int64_t now_ns, Found* found) {
  const std::uint64_t count = count_.load(std::memory_order_relaxed);
  const bool was_active = active_.load(std::memory_order_relaxed);
  if (was_active && now_ns - active_since_ns_ > kSettledNs) return false;
  if (was_active && now_ns >= next_listen_ns_ && silent(count) && successor(count, now_ns, found))
    return true;
  if (count < next_count_ || now_ns < next_ns_) return false;
  next_ns_ = now_ns + kAnalysisPauseNs;
  // Checking a period that is in force may wait; while there is none, the pause below holds the cost down.
  const std::uint64_t share = was_active ? 4 : 64;
  next_count_ =
      count + std::max<std::uint64_t>(8, std::min<std::uint64_t>((count - first_) / share, kHistory / 4));
  if (first_launch_ns_ == 0) first_launch_ns_ = now_ns;
  // The later half: the first steps of a program differ from the rest.
  const std::uint64_t half = std::min<std::uint64_t>((count - first_) / 2, kHistory / 2);
  View seen = view(count - half, count, true);
  const bool long_enough = seen.span_ns >= kShortestEvidenceNs || half >= kHistory / 4;
  if (!long_enough && seen.span_ns < kShortestEvidenceOfManyNs) return false;
  std::vector<Candidate> all = candidates(seen, true);
  Candidate best;
  const bool patient = now_ns - first_launch_ns_ >= kGridsMatterNs;
  bool any = choose(all, seen.span_ns >= kShortestRecentNs, &best);
  if (!any && (long_enough || patient)) {
    seen = view(count - half, count, false);
    all = candidates(seen, false);
    any = choose(all, false, &best) && (best.repeats >= kRepeatsWithoutGrids || patient);
  }
  for (const std::uint64_t part : {8, 32, 128}) {
    if (any || was_active) break;
    const std::uint64_t recent = std::min<std::uint64_t>((count - first_) / part, kHistory / 2);
    seen = view(count - recent, count, true);
    if (seen.span_ns < kShortestRecentNs) break;
    all = candidates(seen, true);
    any = choose(all, false, &best) && best.repeats >= kRecentRepeats;
  }
  if (any && !long_enough && (best.repeats < kManyRepeats || best.period < 8)) return false;
  // Searching a long history that has no period is not free.
  if (!any) next_ns_ = now_ns + (now_ns - first_launch_ns_) / 8 + kAnalysisPauseNs;
  if (!any) return false;
  if (was_active) {
    double own = 0;
    for (const Candidate& c : all) {
      if (c.gram == anchor_.load(std::memory_order_relaxed) &&
          mask_of(c.length) == mask_.load(std::memory_order_relaxed) && c.exact == exact_.load())
        own = c.coverage;
    }
    // A validation every so many steps is no reason to take them all for one.
    if (own >= (often_ ? kLeastCoverageOften : kLeastCoverage) || best.coverage < own + kClearlyBetter) {
      challenger_ = 0;
      return false;
    }
    if (challenger_ != best.gram) {
      challenger_ = best.gram;
      challenger_since_ns_ = now_ns - seen.span_ns;
    }
    // It must explain more of the program than what is in force has done until it came: an evaluation
    // between steps has a period of its own, autotuning before them too.
    if (now_ns - challenger_since_ns_ < challenger_since_ns_ - active_since_ns_) return false;
  }
  enforce(best, now_ns, found);
  found->replaces = was_active;
  return true;
}

void StepPeriod::enforce(const Candidate& c, std::int64_t now_ns, Found* found) {
  active_.store(false, std::memory_order_release);
  const std::int64_t period_ns = std::max<std::int64_t>(c.period_ns, 1000);
  const auto periods = static_cast<std::uint32_t>((kShortestStepNs + period_ns - 1) / period_ns);
  anchor_.store(c.gram, std::memory_order_relaxed);
  mask_.store(mask_of(c.length), std::memory_order_relaxed);
  exact_.store(c.exact, std::memory_order_relaxed);
  periods_.store(std::max(periods, 1u), std::memory_order_relaxed);
  hits_.store(0, std::memory_order_relaxed);
  step_launches_.store(c.period * std::max(periods, 1u), std::memory_order_relaxed);
  last_border_.store(count_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  active_since_ns_ = now_ns;
  period_ns_ = period_ns;
  heard_ = count_.load(std::memory_order_relaxed);
  heard_regular_ = 0;
  regular_.store(0, std::memory_order_relaxed);
  next_listen_ns_ = now_ns + kAnalysisPauseNs;
  challenger_ = 0;
  often_ = c.coverage < kLeastCoverage;
  *found = {c.period, std::max(periods, 1u), c.repeats, period_ns * std::max(periods, 1u), c.coverage, false};
}

}  // namespace ridgeline::agent
