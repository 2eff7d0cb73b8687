#include "ridgeline/counting/count_plan.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::counting {
namespace {

// How much utilisation differs within a kind, as long as too few were counted to know.
constexpr double kSpreadUnknown = 0.1, kMinSpread = 0.002;
constexpr std::uint32_t kKnownFrom = 3;
// So much of a budget is planned for: what closing takes is not known before.
constexpr double kPlanned = 0.95;
// A step in which fewer could be counted is not worth its session.
constexpr double kMinLaunches = 8, kFewLaunches = 48;
// A step counts, where it can, one launch of each of the kinds that have so much of the time, but not of more.
// Long kinds have more than one before short ones have their first.
constexpr double kCovered = 0.98, kMoreOfLong = 1.3, kMaxToCover = 400;
constexpr std::uint32_t kMaxChosen = 1u << 16;
// In a round after the first: of less that is not known yet nothing is counted, and of less than that not whole steps.
constexpr double kFreshShare = 0.02, kFreshForAll = 0.5;
// What is learned weighs so much against what was known before.
constexpr double kNew = 0.5;

}  // namespace

struct CountPlan::Slot {
  Kind kind;
  double expected;  // launches a step; 0: not known how many
  double time_ns;   // a step, or in all
  std::uint32_t quota, taken;
  double due;  // of a launch: one is counted whenever this reaches 1
  std::uint16_t counted[kMaxSets];
  struct Spread {
    std::uint32_t count;
    double mean, squares;
  } roofs[kRoofs];
  std::uint16_t known;  // a bit a set: counted in an earlier round
  bool divided;
};
static_assert(CountPlan::kMaxSets <= 16);

CountPlan::CountPlan(std::int64_t budget_ns, std::uint32_t sets)
    : budget_ns_(budget_ns),
      sets_(std::clamp(sets, 1u, kMaxSets)),
      slots_(new Slot[2 * kMaxKinds]()),
      heap_(new Candidate[2 * kMaxKinds]()) {}

CountPlan::~CountPlan() {
  delete[] slots_;
  delete[] heap_;
}

CountPlan::Slot* CountPlan::find(Kind kind, bool insert) noexcept {
  for (std::size_t i = kind % (2 * kMaxKinds);; i = (i + 1) % (2 * kMaxKinds)) {
    Slot& slot = slots_[i];
    if (slot.kind == kind) return &slot;
    if (slot.kind != 0) continue;
    if (!insert || kinds_ >= kMaxKinds) return nullptr;
    ++kinds_;
    slot.kind = kind;
    return &slot;
  }
}

const CountPlan::Slot* CountPlan::known(Kind kind) const noexcept {
  for (std::size_t i = kind % (2 * kMaxKinds);; i = (i + 1) % (2 * kMaxKinds)) {
    if (slots_[i].kind == kind) return &slots_[i];
    if (slots_[i].kind == 0) return nullptr;
  }
}

CountPlan::Slot* CountPlan::part(Kind kind, Kind before, bool insert) noexcept {
  Slot* whole = find(kind, insert);
  if (whole == nullptr || !whole->divided || !in_steps_ || before == 0) return whole;
  Slot* one = find(following(kind, before), insert);
  return one != nullptr ? one : whole;
}

void CountPlan::expect_nothing() noexcept {
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    Slot& slot = slots_[i];
    slot.expected = slot.time_ns = slot.due = 0;
    slot.quota = slot.taken = 0;
    if (!slot.divided && spread(slot) > kWideSpread) slot.divided = true;
  }
  expected_ns_ = expected_launches_ = 0;
  all_known_ = false;
}

void CountPlan::expect(Kind kind, Kind before, double duration_ns) noexcept {
  in_steps_ = true;
  ++expected_launches_;
  expected_ns_ += duration_ns;
  if (Slot* slot = part(kind, before, true)) {
    slot->expected += 1;
    slot->time_ns += duration_ns;
    if (const Slot* whole = first_round_ ? nullptr : known(kind)) slot->known |= whole->known;
  }
}

void CountPlan::begin_round(std::uint32_t sets) noexcept {
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i)
    for (std::uint32_t set = 0; set < sets_; ++set)
      if ((sets >> set & 1) != 0 && slots_[i].counted[set] > 0) {
        slots_[i].known = static_cast<std::uint16_t>(slots_[i].known | 1u << set);
        first_round_ = false;
      }
}

void CountPlan::known_by(Kind kind, Kind before, Kind like) noexcept {
  const Slot* other = known(like);
  if (other == nullptr || other->known == 0) return;
  if (Slot* slot = part(kind, before, false)) slot->known |= other->known;
}

bool CountPlan::known_before(const Slot& slot) const noexcept {
  return (slot.known >> set_ & 1) != 0;
}

double CountPlan::fresh_share() const noexcept {
  double all_ns = 0, fresh_ns = 0;
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    const Slot& slot = slots_[i];
    if (slot.kind == 0 || slot.time_ns <= 0) continue;
    all_ns += slot.time_ns;
    if (!known_before(slot)) fresh_ns += slot.time_ns;
  }
  return all_ns > 0 ? fresh_ns / all_ns : 1;
}

void CountPlan::expect_time(Kind kind, double time_ns) noexcept {
  in_steps_ = false;
  expected_ns_ += time_ns;
  if (Slot* slot = find(kind, true)) slot->time_ns += time_ns;
}

double CountPlan::spread(const Slot& slot) const noexcept {
  double widest = -1;
  for (const auto& roof : slot.roofs)
    if (roof.count >= kKnownFrom)
      widest = std::max(widest, std::sqrt(std::max(0.0, roof.squares / (roof.count - 1))));
  return widest;
}

double CountPlan::error(const Slot& slot, std::uint32_t counted) const noexcept {
  if (expected_ns_ <= 0) return 0;
  const double share = slot.time_ns / expected_ns_;
  if (counted == 0) return share;
  const double known = spread(slot);
  return share * std::max(known < 0 ? kSpreadUnknown : known, kMinSpread) / std::sqrt(counted);
}

double CountPlan::gain(const Slot& slot, std::uint32_t counted) const noexcept {
  return error(slot, counted) - error(slot, counted + 1);
}

// One of each kind that was not counted yet, the longest first.
double CountPlan::launches_to_cover() noexcept {
  if (!in_steps_) return 0;
  std::size_t size = 0;
  double covered_ns = 0;
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    const Slot& slot = slots_[i];
    if (slot.kind == 0 || slot.time_ns <= 0) continue;
    if (slot.counted[set_] > 0 || known_before(slot))
      covered_ns += slot.time_ns;
    else
      heap_[size++] = {slot.time_ns, static_cast<std::uint32_t>(i)};
  }
  std::sort(heap_, heap_ + size, [](const Candidate& a, const Candidate& b) { return b < a; });
  std::size_t kinds = 0;
  while (kinds < size && covered_ns < kCovered * expected_ns_) covered_ns += heap_[kinds++].gain;
  return std::min(kMoreOfLong * static_cast<double>(kinds), kMaxToCover);
}

// The launch that helps most, then the next.
void CountPlan::give_out(std::uint32_t launches) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    Slot& slot = slots_[i];
    if (slot.kind == 0 || slot.time_ns <= 0 || known_before(slot)) continue;
    const double first = gain(slot, slot.counted[set_]);
    if (first < kMinGain) continue;
    heap_[size++] = {first, static_cast<std::uint32_t>(i)};
  }
  std::make_heap(heap_, heap_ + size);
  while (size > 0 && chosen_ < launches) {
    std::pop_heap(heap_, heap_ + size);
    Candidate& best = heap_[size - 1];
    Slot& slot = slots_[best.slot];
    ++slot.quota;
    ++chosen_;
    best.gain = gain(slot, slot.counted[set_] + slot.quota);
    const bool more = slot.expected <= 0 || slot.quota < slot.expected;
    if (best.gain < kMinGain || !more)
      --size;
    else
      std::push_heap(heap_, heap_ + size);
  }
}

CountPlan::Way CountPlan::choose(std::uint32_t set, std::uint64_t steps_left, bool all_begun) noexcept {
  set_ = std::min(set, sets_ - 1);
  chosen_ = left_ = 0;
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    slots_[i].quota = slots_[i].taken = 0;
    slots_[i].due = 0.5;
  }
  const double fresh = first_round_ ? 1 : fresh_share();
  all_known_ = fresh < kFreshShare;
  if (all_known_) return Way::nothing;
  const double left_ns =
      (kPlanned * static_cast<double>(spendable_ns()) - static_cast<double>(spent_ns())) / sharers_;
  const auto steps = static_cast<double>(std::max<std::uint64_t>(steps_left, 1));
  if (in_steps_ && expected_launches_ > 0 && fresh >= kFreshForAll) {
    const double all_ns = (all_begun ? 0 : costs_.first_of_all_ns) +
                          steps * (costs_.step_of_all_ns + expected_launches_ * costs_.launch_of_all_ns);
    if (all_ns <= left_ns) {
      chosen_ = static_cast<std::uint32_t>(expected_launches_);
      return Way::all;
    }
  }
  // Where each step's part is too little for a session, the sets that come first have it.
  const double few_ns = costs_.step_ns + std::max(kFewLaunches, launches_to_cover()) * costs_.launch_ns;
  const double here_ns = std::min(std::max(left_ns / steps, few_ns), left_ns);
  const double launches = std::min((here_ns - costs_.step_ns) / costs_.launch_ns, double{kMaxChosen});
  if (launches < kMinLaunches) return Way::nothing;
  const auto most = static_cast<std::uint32_t>(launches);
  newcomers_ = std::max(most / 8, 4u);
  give_out(most);
  left_ = chosen_;
  return expected_ns_ > 0 && chosen_ == 0 ? Way::nothing : Way::some;
}

bool CountPlan::wants(Kind kind, Kind before) noexcept {
  Slot* slot = part(kind, before, true);
  if (slot == nullptr) return false;
  if (slot->time_ns <= 0) {  // nobody expected it
    if (newcomers_ == 0 || slot->counted[set_] > 0) return false;
    --newcomers_;
    return true;
  }
  if (slot->taken >= slot->quota) return false;
  if (slot->expected <= 0) return true;
  // Spread over the step: what comes late in it may find other caches.
  slot->due += slot->quota / slot->expected;
  if (slot->due < 1) return false;
  slot->due -= 1;
  return true;
}

void CountPlan::counted(Kind kind, Kind before) noexcept {
  Slot* slot = part(kind, before, true);
  if (slot == nullptr) return;
  if (slot->counted[set_] < UINT16_MAX) ++slot->counted[set_];
  if (slot->taken < slot->quota && left_ > 0) --left_;
  ++slot->taken;
}

void CountPlan::value(Kind kind, Kind before, std::size_t roof, double utilisation) noexcept {
  if (roof >= kRoofs || !std::isfinite(utilisation)) return;
  const auto add = [&](Slot* slot) {
    if (slot == nullptr) return;
    auto& known = slot->roofs[roof];
    ++known.count;
    const double from_mean = utilisation - known.mean;
    known.mean += from_mean / known.count;
    known.squares += from_mean * (utilisation - known.mean);
  };
  Slot* whole = find(kind, false);
  add(whole);
  if (Slot* one = part(kind, before, false); one != whole) add(one);
}

void CountPlan::learn(Way way, std::uint32_t launches, double fixed_ns, double launches_ns) noexcept {
  const auto blend = [](double& known, double seen) {
    if (seen > 0) known += kNew * (seen - known);
  };
  if (launches < kMinLaunches) return;
  if (way == Way::all) {
    blend(costs_.launch_of_all_ns, launches_ns / launches);
  } else {
    blend(costs_.launch_ns, launches_ns / launches);
    blend(costs_.step_ns, fixed_ns);
  }
}

CountPlan::Summary CountPlan::summary(std::uint32_t set) const noexcept {
  Summary all;
  for (std::size_t i = 0; i < 2 * kMaxKinds; ++i) {
    const Slot& slot = slots_[i];
    if (slot.kind == 0 || slot.time_ns <= 0) continue;
    ++all.kinds;
    const std::uint32_t counted = slot.counted[std::min(set, sets_ - 1)];
    all.error += error(slot, counted);
    if (counted == 0) continue;
    ++all.counted_kinds;
    if (spread(slot) > kWideSpread) ++all.wide_kinds;
    if (expected_ns_ > 0) all.counted_share += slot.time_ns / expected_ns_;
  }
  return all;
}

}  // namespace ridgeline::counting
