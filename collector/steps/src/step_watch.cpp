#include "ridgeline/steps/step_watch.h"

#include <algorithm>
#include <bitset>
#include <span>

namespace ridgeline::steps {
namespace {

// Launches that may be looked at: at once, and by the second. A million takes about a second of one core.
constexpr double kFirstAllowance = 600'000, kMaxAllowance = 600'000;
constexpr double kPerSecondAtFirst = 150'000, kPerSecond = 30'000, kPerSecondSettled = 6'000;
constexpr std::int64_t kAtFirstNs = 30'000'000'000, kSettledNs = 60'000'000'000;
constexpr std::int64_t kBetweenLooksNs = 40'000'000;
constexpr std::size_t kSmallLook = 1u << 14;
constexpr std::uint32_t kLargeLookEvery = 8;

// A period is silent if of so many passes due fewer than one in four came.
constexpr std::uint32_t kExpectedAnchors = 16, kSilentShare = 4;
// One that has gone silent gives way at once to one this many times as long, in launches and in time: what
// initialises a model repeats by parameter or by layer, its steps go over all of them.
constexpr std::uint32_t kMuchLonger = 8;
// And to one that is only longer, and most of whose kernels are others, once that has taken this share of the time in
// which the silent one came: autotuning repeats by candidate, for seconds. An evaluation's passes are shorter than the
// steps around it, and their kernels are among the steps'.
constexpr std::int64_t kShareOfSilent = 16;
constexpr std::uint32_t kLooksToReplace = 2;

// Steps in which the boundary in force comes once each, to be taken for its own whatever their length.
constexpr std::uint32_t kMinSameSteps = 3;

bool same_step(const Period& a, const Period& b) noexcept {
  const std::uint32_t difference =
      a.launches > b.launches ? a.launches - b.launches : b.launches - a.launches;
  const std::uint32_t allowed = a.varies || b.varies ? a.launches / 5 : 0;
  return difference <= allowed;
}

// The boundary in force comes once in each of these steps: however many launches they have by now, they are the same.
bool comes_once_in_each(const Anchor& in_force, const Period& period, std::span<const Launch> run) noexcept {
  StepCutter ours(in_force), theirs(period.anchor);
  std::uint32_t steps = 0, once = 0, came = 0;
  for (const Launch& launch : run) {
    came += ours.launch(launch.key);
    if (!theirs.launch(launch.key)) continue;
    // What lies before the first of them is no whole step.
    once += steps > 0 && came == 1;
    ++steps;
    came = 0;
  }
  return steps > kMinSameSteps && 8 * once >= 7 * (steps - 1);  // beside an evaluation one may be missed
}

// Most launches of `pass` are of kernels that `before` has not.
bool of_other_kernels(std::span<const Launch> pass, std::span<const Launch> before) noexcept {
  std::bitset<4096> known;
  const auto bit = [&](const Launch& launch) { return kernel_part(launch.key) % known.size(); };
  for (const Launch& launch : before) known.set(bit(launch));
  const auto others =
      std::count_if(pass.begin(), pass.end(), [&](const Launch& l) { return !known[bit(l)]; });
  return 2 * static_cast<std::size_t>(others) > pass.size();
}

}  // namespace

StepPeriodFound step_of(const Period& period) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(period.ns, 1000);
  const auto periods = std::max(static_cast<std::uint32_t>((kShortestStepNs + ns - 1) / ns), 1u);
  return {period, periods, ns * periods, false};
}

void StepWatch::restart(std::uint64_t count) noexcept {
  active_ = false;
  first_ns_ = last_ns_ = 0;
  first_ = last_count_ = count;
  challenger_looks_ = confirmed_ = looks_ = 0;
}

std::size_t StepWatch::wanted(std::uint64_t count, std::int64_t now_ns) noexcept {
  if (!search_.usable() || count - first_ < 16) return 0;
  if (first_ns_ == 0) {
    first_ns_ = last_ns_ = now_ns;
    allowance_ = kFirstAllowance;
  } else if (now_ns - last_ns_ < kBetweenLooksNs) {
    return 0;
  }
  const double per_second = active_ && now_ns - found_ns_ > kSettledNs ? kPerSecondSettled
                            : now_ns - first_ns_ > kAtFirstNs          ? kPerSecond
                                                                       : kPerSecondAtFirst;
  allowance_ =
      std::min(kMaxAllowance, allowance_ + per_second * static_cast<double>(now_ns - last_ns_) / 1e9);
  last_ns_ = now_ns;
  const std::size_t size = std::min<std::uint64_t>(count - first_, search_.max_launches());
  // What was confirmed again and again is looked at when there is much that is new.
  const std::size_t fresh = std::min(size / 8, size / 64 * (1 + std::size_t{confirmed_}));
  if (count - last_count_ < std::max<std::size_t>(8, fresh)) return 0;
  const std::size_t least = looks_ % kLargeLookEvery == 0 ? size : std::min(size, kSmallLook);
  if (allowance_ < static_cast<double>(least)) return 0;
  return std::min(size, static_cast<std::size_t>(allowance_));
}

bool StepWatch::silent(const Launch* history, std::size_t size, std::size_t* heard) const noexcept {
  const std::uint64_t due = std::uint64_t{current_.launches} * kExpectedAnchors;
  if (due > size) return false;
  StepCutter cutter(current_.anchor);
  std::uint32_t came = 0;
  std::size_t previous = 0;
  *heard = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!cutter.launch(history[i].key)) continue;
    const std::size_t launches = i - previous;
    previous = i;
    if (current_.varies ? launches * 2 < current_.launches || launches > 2 * std::size_t{current_.launches}
                        : launches != current_.launches)
      continue;
    *heard = i;
    came += i >= size - due;
  }
  return came * kSilentShare < kExpectedAnchors;
}

bool StepWatch::look(const Launch* history, std::size_t size, std::uint64_t count, std::int64_t now_ns,
                     StepPeriodFound* found) noexcept {
  if (size == 0) return false;
  last_count_ = count;
  ++looks_;
  allowance_ -= static_cast<double>(size);
  Period best;
  // Of a period that has fallen silent the rest is of no interest: what goes on since then?
  std::size_t heard = 0;
  const bool over = active_ && silent(history, size, &heard);
  const std::span<const Launch> last_pass(history + heard - std::min<std::size_t>(heard, current_.launches),
                                          history + heard);
  if (over) {
    history += heard;
    size -= heard;
  }
  if (!search_.find(history, size, kEvidenceNs, &best)) return false;
  const std::uint64_t begin = count - size + best.begin;
  const std::int64_t start_ns =
      now_ns - std::int64_t{history[size - 1].time_us - history[best.begin].time_us} * 1000;
  if (!active_) {
    enforce(best, start_ns, begin, now_ns, found);
    return true;
  }
  const std::span<const Launch> run(history + best.begin, size - best.begin);
  if (same_step(best, current_) || comes_once_in_each(current_.anchor, best, run)) {
    challenger_looks_ = 0;
    ++confirmed_;
    if (!over) {
      note_pace(best);
      return false;
    }
    enforce(best, start_ns, begin, now_ns, found);  // of other kernels, since it was compiled anew
    found->replaces = false;
    return true;
  }
  confirmed_ = 0;
  if (!same_step(best, challenger_)) challenger_looks_ = 0;
  challenger_ = best;
  ++challenger_looks_;
  const bool much_longer =
      best.launches >= kMuchLonger * current_.launches && best.ns >= kMuchLonger * current_.ns;
  // It explains what the period in force was found in, or has lasted longer than that one had until it came: an
  // evaluation between steps has a period of its own, autotuning before them too.
  const bool explains_all = begin <= current_start_ + best.launches;
  const std::int64_t came_ns = start_ns - current_start_ns_;
  const bool lasts = best.own_ns >= came_ns;
  const bool longer = best.launches > current_.launches && best.ns > current_.ns;
  const bool follows_silence =
      over && (much_longer || (longer && best.own_ns >= came_ns / kShareOfSilent &&
                               of_other_kernels({history + best.begin, best.launches}, last_pass)));
  if (!follows_silence && !explains_all && !lasts) return false;
  if (challenger_looks_ < kLooksToReplace) return false;
  enforce(best, start_ns, begin, now_ns, found);
  return true;
}

// Steps that vary become shorter or longer by and by: a router that sends its tokens to fewer and fewer experts.
void StepWatch::note_pace(const Period& latest) noexcept {
  if (latest.launches == current_.launches) return;
  current_.launches = latest.launches;
  current_.ns = latest.ns;
  current_.varies = true;
}

void StepWatch::enforce(const Period& period, std::int64_t start_ns, std::uint64_t begin, std::int64_t now_ns,
                        StepPeriodFound* found) noexcept {
  *found = step_of(period);
  found->replaces = active_;
  active_ = true;
  current_ = period;
  current_start_ns_ = start_ns;
  current_start_ = begin;
  found_ns_ = now_ns;
  challenger_looks_ = confirmed_ = 0;
}

}  // namespace ridgeline::steps
