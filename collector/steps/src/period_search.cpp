#include "ridgeline/steps/period_search.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ridgeline::steps {
namespace {

constexpr std::uint32_t kMaxKeys = 4;  // of a row
// A launch that no step explains weighs as much as so many that one does: a run covers at least three quarters.
constexpr double kPenalty = 3;
constexpr double kSameScore = 0.003, kNearlySameScore = 0.02;
constexpr double kMinCoverage = 0.75;
// Once a period: a kernel that comes in bursts (an optimizer's chunks) is next to itself most of the time.
constexpr std::uint32_t kOncePart = 4, kOnceOf = 5;

// Steps that vary in length: by so much against their median, and the kernels of two that follow each other have so
// much in common.
constexpr double kShortest = 0.7, kLongest = 1.4;
constexpr double kInCommon = 0.5, kMinInCommon = 0.4;
constexpr std::uint32_t kMinVaryingRepeats = 4, kMinVaryingRows = 3;
// Of segments that are so many apart, the share that are equal where they come in turns.
constexpr double kInTurns = 0.7;
constexpr std::uint32_t kMaxParts = 64, kMinTurnPairs = 4;
// What grids change, the kernels alone explain; what steps of one kind explain must be much more than equal ones do.
constexpr double kExactWins = 0.9, kAlikeWins = 0.6;

// A step that stands inside a longer period (evaluations, requests), as against a part of one (a layer, a micro-step).
constexpr double kPartRatio = 1.5, kRunRatio = 0.6;
constexpr std::int64_t kMinStepNs = 500'000, kMinShortStepNs = 2'000'000;
constexpr std::uint32_t kShortStep = 8, kLongStep = 160;
constexpr std::int64_t kPauseRatio = 5;
constexpr double kSmallInsertion = 0.35, kMostlyNew = 0.6, kLargeShare = 0.12, kPartlyNew = 0.25;
// An odd step now and then (one that logs) leaves a step what it is; of fewer equal ones those are parts.
constexpr double kRareCoverage = 0.9, kOnceMore = 0.6;
// Less, and what was found is likely a part of a step whose other parts are still to come.
constexpr double kBelievedCoverage = 0.85;
constexpr std::uint32_t kFewInsertions = 3, kLongSince = 4;

std::uint32_t min_repeats(std::uint32_t launches) noexcept {
  return launches >= 128 ? 3 : launches >= 8 ? 4 : 8;
}

std::uint64_t median_of(std::uint64_t* values, std::size_t count) noexcept {
  if (count == 0) return 0;
  std::nth_element(values, values + count / 2, values + count);
  return values[count / 2];
}

constexpr std::size_t kLatestRepeats = 9;
// A repeat counts for no more medians than this: a pause in it is no evidence.
constexpr std::uint64_t kCapped = 4;

constexpr std::uint64_t kPositionBits = 24;
constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;

// Below so many entries the tables of a radix sort cost more than it saves.
constexpr std::size_t kMinRadixSorted = 512;

// Sorts entries whose positions rise by the hash in the bits above them; of equal ones the earlier stays first. A radix
// sort, for std::sort() was most of the search. `scratch`: room for as many.
void sort_by_hash(std::uint64_t* entries, std::uint64_t* scratch, std::size_t count) noexcept {
  constexpr int kDigitBits = 10;
  constexpr std::uint64_t kDigitMask = (1u << kDigitBits) - 1;
  static_assert((64 - kPositionBits) % (2 * kDigitBits) == 0);  // the last pass writes to `entries`
  if (count < kMinRadixSorted) return std::sort(entries, entries + count);
  std::uint64_t *from = entries, *to = scratch;
  for (int shift = kPositionBits; shift < 64; shift += kDigitBits) {
    std::uint32_t places[kDigitMask + 1] = {};
    for (std::size_t i = 0; i < count; ++i) ++places[from[i] >> shift & kDigitMask];
    std::uint32_t place = 0;
    for (std::uint32_t& digit : places) place += std::exchange(digit, place);
    for (std::size_t i = 0; i < count; ++i) to[places[from[i] >> shift & kDigitMask]++] = from[i];
    std::swap(from, to);
  }
}

}  // namespace

PeriodSearch::PeriodSearch(std::uint32_t max_launches) noexcept
    : most_(std::min<std::uint32_t>(max_launches, kPositionMask)) {
  const std::size_t words = std::size_t{most_} + 1;
  const std::size_t bytes =
      words * (5 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t)) + 64 +
      3 * kMaxCandidates * sizeof(Candidate);
  memory_ = new (std::nothrow) unsigned char[bytes];
  if (memory_ == nullptr) return;
  unsigned char* at = memory_;
  for (std::uint64_t** part : {&hash_, &power_, &rows_, &kinds_, &sorted_}) {
    *part = reinterpret_cast<std::uint64_t*>(at);
    at += words * sizeof(std::uint64_t);
  }
  candidates_ = reinterpret_cast<Candidate*>(at);
  at += 3 * kMaxCandidates * sizeof(Candidate);
  occurrences_ = reinterpret_cast<std::uint32_t*>(at);
  at += words * sizeof(std::uint32_t);
  keys_ = reinterpret_cast<std::uint16_t*>(at);
}

PeriodSearch::~PeriodSearch() {
  delete[] memory_;
}

// With hashes of the keys before each position, and powers of their base, any segment's hash is a subtraction.
void PeriodSearch::take_keys(bool exact) noexcept {
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ull;
  hash_[0] = 0;
  power_[0] = 1;
  for (std::uint32_t i = 0; i < n_; ++i) {
    keys_[i] = exact ? exact_part(launches_[i].key) : kernel_part(launches_[i].key);
    occurrences_[i] = 0;
    hash_[i + 1] = hash_[i] * kBase + scramble(keys_[i] + 1u);
    power_[i + 1] = power_[i] * kBase;
  }
}

std::uint64_t PeriodSearch::segment(std::uint32_t from, std::uint32_t to) const noexcept {
  return scramble(hash_[to] - hash_[from] * power_[to - from]) ^ (to - from);
}

std::size_t PeriodSearch::sort_rows(std::uint32_t length) noexcept {
  const std::uint64_t mask = Anchor{0, length, true}.mask();
  std::size_t count = 0;
  std::uint64_t row = 0;
  for (std::uint32_t i = 0; i < n_; ++i) {
    row = row << 16 | keys_[i];
    if (i + 1 >= length) rows_[count++] = scramble((row & mask) + length) << kPositionBits | i;
  }
  sort_by_hash(rows_, sorted_, count);
  return count;
}

void PeriodSearch::search(bool exact, Table* table) noexcept {
  take_keys(exact);
  for (std::uint32_t length = 1; length <= kMaxKeys && length < n_; ++length) {
    const std::size_t count = sort_rows(length);
    for (std::size_t first = 0, last = 0; first < count; first = last) {
      while (last < count && rows_[last] >> kPositionBits == rows_[first] >> kPositionBits) ++last;
      // A row that has become unique in its step by fewer keys says nothing new.
      const std::uint32_t occurrences = static_cast<std::uint32_t>(last - first);
      if (occurrences >= 4 && occurrences_[at(first)] != occurrences)
        judge(first, last, length, exact, table);
      for (std::size_t i = first; i < last; ++i) occurrences_[at(i)] = occurrences;
    }
  }
}

// The row whose occurrences are entries first to last: which sequence stands between them, and how far back.
void PeriodSearch::judge(std::size_t first, std::size_t last, std::uint32_t length, bool exact,
                         Table* table) noexcept {
  const std::size_t count = last - first - 1;  // segments
  for (std::size_t i = 0; i < count; ++i) {
    kinds_[i] = segment(at(first + i), at(first + i + 1));
    sorted_[i] = (kinds_[i] & ~kPositionMask) | i;
  }
  // The commonest kind of all, and that of the latest segments, by the launches they have.
  std::sort(sorted_, sorted_ + count);
  std::size_t references[2] = {0, 0};
  std::uint64_t most = 0;
  for (std::size_t i = 0, next = 0; i < count; i = next) {
    while (next < count && sorted_[next] >> kPositionBits == sorted_[i] >> kPositionBits) ++next;
    const std::size_t segment_at = sorted_[i] & kPositionMask;
    const std::uint64_t explained = (next - i) * (at(first + segment_at + 1) - at(first + segment_at));
    if (explained > most) most = explained, references[0] = segment_at;
  }
  most = 0;
  for (std::size_t i = count - std::min<std::size_t>(count, 8); i < count; ++i) {
    std::uint64_t same = 0;
    for (std::size_t j = count - std::min<std::size_t>(count, 8); j < count; ++j)
      same += kinds_[j] == kinds_[i];
    same *= at(first + i + 1) - at(first + i);
    if (same > most) most = same, references[1] = i;
  }
  for (int r = 0; r < 2; ++r) {
    const std::uint64_t kind = kinds_[references[r]];
    if (r == 1 && kind == kinds_[references[0]]) break;
    const std::uint32_t period = at(first + references[r] + 1) - at(first + references[r]);
    Candidate c;
    c.kind = kind;
    c.period.launches = period;
    c.period.anchor = {0, length, exact};
    double sum = 0, best = 0;
    std::uint64_t explained = 0, unexplained = 0;
    std::uint32_t repeats = 0, odd = 0, since_odd = 0, apart = 0, max_apart = 0;
    const std::uint32_t tail = n_ - at(last - 1);
    if (tail > period) {
      unexplained = tail - period;
      sum = -kPenalty * static_cast<double>(unexplained);
    }
    std::size_t begin = count;
    for (std::size_t i = count; i-- > 0;) {
      const std::uint32_t from = at(first + i), launches = at(first + i + 1) - from;
      const bool equal = kinds_[i] == kind;
      // One with something after it.
      const bool within = equal || (launches > period && segment(from, from + period) == kind);
      const std::uint32_t part = within ? period : 0;
      explained += part;
      unexplained += launches - part;
      sum += part - kPenalty * (launches - part);
      repeats += within;
      if (equal) {
        ++apart;
      } else {
        (odd++ == 0 ? since_odd : max_apart) = std::max(max_apart, apart);
        apart = 0;
      }
      if (!within || sum <= best) continue;
      best = sum;
      begin = i;
      c.period.repeats = repeats;
      c.period.odd = odd;
      c.since_odd = odd == 0 ? repeats : since_odd;
      c.max_apart = std::max(max_apart, apart);
      c.unexplained = static_cast<std::uint32_t>(unexplained);
      c.period.coverage = static_cast<double>(explained) / static_cast<double>(explained + unexplained);
    }
    if (begin == count || c.period.repeats < min_repeats(period) ||
        std::uint64_t{c.period.repeats} * kOnceOf < std::uint64_t(count - begin) * kOncePart)
      continue;
    c.period.begin = at(first + begin);
    // Parts of a step at either end are explained as well.
    c.score = best + common_before(c.period.begin, period) + common_after(at(last - 1), period);
    if (measure(first, &c, begin, count)) keep(c, table);
  }
}

// Launches before `end`, at most a period, that are those of a period later.
std::uint32_t PeriodSearch::common_before(std::uint32_t end, std::uint32_t period) const noexcept {
  std::uint32_t low = 0, high = std::min(end, period);
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (segment(end - middle, end) == segment(end + period - middle, end + period))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Launches from `from` on, at most a period, that are those of a period earlier.
std::uint32_t PeriodSearch::common_after(std::uint32_t from, std::uint32_t period) const noexcept {
  if (from < period) return 0;
  std::uint32_t low = 0, high = std::min(n_ - from, period);
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (segment(from, from + middle) == segment(from - period, from - period + middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Times of a candidate whose run begins with segment `begin` of `count`.
bool PeriodSearch::measure(std::size_t first, Candidate* c, std::size_t begin, std::size_t count) noexcept {
  const auto time_us = [&](std::uint32_t i) { return launches_[i].time_us; };
  const auto is_step = [&](std::size_t i) { return c->kind == 0 || kinds_[i] == c->kind; };
  std::size_t values = 0;
  for (std::size_t i = begin; i < count; ++i) {
    if (!is_step(i)) continue;
    sorted_[values++] = time_us(at(first + i + 1)) - time_us(at(first + i));
  }
  if (values == 0) return false;
  // A program that never waits is far ahead at first, as fast as it can enqueue, and then as slow as the device: what
  // its latest repeats took is what they will take.
  std::uint64_t latest[kLatestRepeats];
  const std::size_t late = std::min(values, kLatestRepeats);
  std::copy_n(sorted_ + values - late, late, latest);
  const std::uint64_t latest_us = late == kLatestRepeats ? median_of(latest, late) : 0;
  const std::uint64_t median_us = std::max(median_of(sorted_, values), latest_us);
  std::uint64_t own_us = 0;
  for (std::size_t i = 0; i < values; ++i)
    own_us += std::min(sorted_[i], kCapped * std::max<std::uint64_t>(median_us, 1));
  c->period.ns = static_cast<std::int64_t>(median_us) * 1000;
  c->period.own_ns = static_cast<std::int64_t>(own_us) * 1000;
  values = 0;
  for (std::size_t i = begin; i <= count; ++i) {
    const std::uint32_t boundary = at(first + i);
    if (boundary > 0) sorted_[values++] = time_us(boundary) - time_us(boundary - 1);
  }
  c->period.pause_ns = static_cast<std::int64_t>(median_of(sorted_, values)) * 1000;
  // Of the row itself: where its last occurrence ends.
  std::uint64_t row = 0;
  const std::uint32_t end = at(first + count);
  for (std::uint32_t i = end + 1 - c->period.anchor.length; i <= end; ++i) row = row << 16 | keys_[i];
  c->period.anchor.keys = row;
  return true;
}

// Of rows with one period the one that explains most, comes fewest times elsewhere, and has the longest pause before
// it: where a person would say the step begins. Rows of few keys come first, and win where all is the same.
void PeriodSearch::keep(const Candidate& c, Table* table) noexcept {
  const auto same = [&](const Candidate& other) {
    if (!c.period.varies) return other.period.launches == c.period.launches;
    const double ratio = static_cast<double>(other.period.launches) / c.period.launches;
    return ratio > 0.97 && ratio < 1.03;
  };
  for (std::size_t i = 0; i < table->count; ++i) {
    Candidate& known = table->entries[i];
    if (!same(known)) continue;
    ++known.rows;
    const double best = std::max(known.best_score, c.score);
    const double least = best * (1 - kNearlySameScore);
    const bool odder = c.period.odd > known.period.odd + 1, less_odd = c.period.odd + 1 < known.period.odd;
    if (c.score >= least &&
        (known.score < least || less_odd || (!odder && c.period.pause_ns > known.period.pause_ns))) {
      const std::uint32_t rows = known.rows;
      known = c;
      known.rows = rows;
    }
    known.best_score = best;
    return;
  }
  if (table->count == kMaxCandidates) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < table->count; ++i)
      if (table->entries[i].best_score < table->entries[least].best_score) least = i;
    if (table->entries[least].best_score >= c.score) return;
    table->entries[least] = table->entries[--table->count];
  }
  Candidate& fresh = table->entries[table->count++];
  fresh = c;
  fresh.best_score = c.score;
  fresh.rows = 1;
}

// The step among candidates whose keys are in keys_ and hash_.
const PeriodSearch::Candidate* PeriodSearch::choose(const Table& table) noexcept {
  double most = 0;
  for (std::size_t i = 0; i < table.count; ++i) most = std::max(most, table.entries[i].best_score);
  const Candidate* best = nullptr;
  for (std::size_t i = 0; i < table.count; ++i) {
    const Candidate& c = table.entries[i];
    if (c.best_score >= most * (1 - kSameScore) &&
        (best == nullptr || c.period.launches < best->period.launches))
      best = &c;
  }
  for (const Candidate* inner = best; inner != nullptr;) {
    inner = nullptr;
    for (std::size_t i = 0; i < table.count; ++i) {
      const Candidate& c = table.entries[i];
      if (inner != nullptr && c.best_score <= inner->best_score) continue;
      if (is_the_step(c, *best)) inner = &c;
    }
    if (inner != nullptr) best = inner;
  }
  return best;
}

// True if `inner` is the step and what is between its repeats, in the longer period `outer`, is something else:
// an evaluation, a request's prompt. False if it is a part of the step: a layer, or a micro-step before the
// optimizer.
bool PeriodSearch::is_the_step(const Candidate& inner, const Candidate& outer) noexcept {
  const Period& p = inner.period;
  if (p.coverage < kMinCoverage || p.odd == 0) return false;
  if (static_cast<double>(outer.period.launches) < kPartRatio * p.launches) return false;
  if (static_cast<double>(n_ - p.begin) < kRunRatio * static_cast<double>(n_ - outer.period.begin))
    return false;
  if (p.ns < kMinStepNs || !host_comes_back(p)) return false;
  if (p.coverage < kRareCoverage && repeats_vary(inner)) return false;
  const double news = news_between(inner);
  if (news < 0) return false;
  const double ratio = static_cast<double>(inner.unexplained) / p.odd / p.launches;
  if (ratio <= kSmallInsertion && news >= kMostlyNew) return false;
  return !(1 - p.coverage >= kLargeShare && news >= kPartlyNew);
}

// The host comes back to its loop: it takes longer there than between two launches elsewhere. Of very short and of long
// steps that is no sign.
bool PeriodSearch::host_comes_back(const Period& p) const noexcept {
  if (p.launches <= kShortStep) return p.ns >= kMinShortStepNs;
  return p.launches >= kLongStep || p.pause_ns >= kPauseRatio * std::max<std::int64_t>(gap_ns_, 1000);
}

// True if `inner` is the round of an iteration, whose number of rounds differs from one step of `outer` to the next, so
// that no two steps are equal and the rounds explain nearly all there is.
bool PeriodSearch::is_round_of(const Candidate& inner, const Candidate& outer) const noexcept {
  return !inner.period.varies && inner.period.odd > 0 && !host_comes_back(inner.period) &&
         outer.period.coverage >= kBelievedCoverage &&
         outer.period.pause_ns >= kPauseRatio * std::max<std::int64_t>(gap_ns_, 1000) &&
         outer.period.launches >= kPartRatio * inner.period.launches &&
         n_ - outer.period.begin >= kRunRatio * (n_ - inner.period.begin);
}

// Calls seen(from, to) for the launches from one boundary of the period's run to the next; stops if that is false.
template <typename Seen>
void PeriodSearch::each_segment(const Period& p, Seen&& seen) const noexcept {
  std::uint32_t previous = UINT32_MAX;
  std::uint64_t row = 0;
  for (std::uint32_t i = p.begin + 1 >= p.anchor.length ? p.begin + 1 - p.anchor.length : 0; i < n_; ++i) {
    row = row << 16 | keys_[i];
    if ((row & p.anchor.mask()) != p.anchor.keys || i < p.begin) continue;
    if (previous != UINT32_MAX && !seen(previous, i)) return;
    previous = i;
  }
}

bool PeriodSearch::is_repeat(const Candidate& c, std::uint32_t from, std::uint32_t to) const noexcept {
  return to - from == c.period.launches && segment(from, to) == c.kind;
}

// Where a repeat ends that the segment begins with; `from` if it begins with none.
std::uint32_t PeriodSearch::after_repeat(const Candidate& c, std::uint32_t from,
                                         std::uint32_t to) const noexcept {
  const std::uint32_t length = c.period.launches;
  return to - from > length && segment(from, from + length) == c.kind ? from + length : from;
}

// Whether most of what is between the repeats is the period once more, with other launches: the first micro-step, which
// sets gradients that the others add to, and the optimizer.
bool PeriodSearch::repeats_vary(const Candidate& c) const noexcept {
  constexpr std::uint32_t kBuckets = 256;
  const Period& p = c.period;
  std::uint32_t usual[kBuckets] = {}, between = 0, variants = 0;
  bool learned = false;
  const auto count = [&](std::uint32_t from, std::uint32_t to, std::uint32_t* counts) {
    for (std::uint32_t j = from; j < to; ++j) ++counts[scramble(kernel_part(launches_[j].key)) % kBuckets];
  };
  each_segment(p, [&](std::uint32_t from, std::uint32_t to) {
    learned = is_repeat(c, from, to);
    if (learned) count(from, to, usual);
    return !learned;
  });
  if (!learned) return false;
  each_segment(p, [&](std::uint32_t from, std::uint32_t to) {
    if (is_repeat(c, from, to)) return true;
    ++between;
    const std::uint32_t rest = after_repeat(c, from, to);
    if (to - rest < kShortest * p.launches || to - rest > kLongest * p.launches) return true;
    std::uint32_t counts[kBuckets] = {}, both = 0;
    count(rest, to, counts);
    for (std::uint32_t b = 0; b < kBuckets; ++b) both += std::min(counts[b], usual[b]);
    variants += both >= kOnceMore * std::max(to - rest, p.launches);
    return true;
  });
  return 2 * variants > between;
}

// Of the launches between the repeats of a period, the share whose kernels it does not have; negative without any.
double PeriodSearch::news_between(const Candidate& c) const noexcept {
  std::uint64_t known[1024] = {};
  std::uint32_t in_between = 0, fresh = 0;
  bool learned = false;
  each_segment(c.period, [&](std::uint32_t from, std::uint32_t to) {
    learned = is_repeat(c, from, to);
    for (std::uint32_t j = from; learned && j < to; ++j) {
      const std::uint16_t kernel = kernel_part(launches_[j].key);
      known[kernel >> 6] |= std::uint64_t{1} << (kernel & 63);
    }
    return !learned;
  });
  if (!learned) return -1;
  each_segment(c.period, [&](std::uint32_t from, std::uint32_t to) {
    if (is_repeat(c, from, to)) return true;
    for (std::uint32_t j = after_repeat(c, from, to); j < to; ++j) {
      const std::uint16_t kernel = kernel_part(launches_[j].key);
      ++in_between;
      fresh += (known[kernel >> 6] >> (kernel & 63) & 1) == 0;
    }
    return true;
  });
  return in_between > 0 ? static_cast<double>(fresh) / in_between : -1;
}

// False while more is to be seen: what is between the repeats may belong to the step.
bool PeriodSearch::is_whole(const Candidate& c) const noexcept {
  const Period& p = c.period;
  if (p.coverage < kBelievedCoverage) return false;
  if (p.varies || p.odd == 0 || p.odd > kFewInsertions) return true;
  if (c.since_odd > std::max(c.max_apart, kLongSince))
    return true;  // the first steps had it, or it came by chance
  const double ratio = static_cast<double>(c.unexplained) / p.odd / p.launches;
  return ratio > kSmallInsertion || news_between(c) < kMostlyNew;
}

// Steps of different lengths: launches that come once in each, by their kernels alone.
void PeriodSearch::search_varying(Table* table) noexcept {
  const std::size_t count = sort_rows(1);
  for (std::size_t first = 0, last = 0; first < count; first = last) {
    while (last < count && rows_[last] >> kPositionBits == rows_[first] >> kPositionBits) ++last;
    if (last - first > kMinVaryingRepeats) judge_varying(first, last, 1, table);
  }
}

void PeriodSearch::judge_varying(std::size_t first, std::size_t last, std::uint32_t length,
                                 Table* table) noexcept {
  const std::size_t count = last - first - 1;
  const std::size_t latest = std::min<std::size_t>(count, 16);
  for (std::size_t i = 0; i < latest; ++i) sorted_[i] = at(last - 1 - i) - at(last - 2 - i);
  const auto middle = static_cast<double>(median_of(sorted_, latest));
  Candidate c;
  c.period.anchor = {0, length, false};
  c.period.varies = true;
  double sum = 0, best = 0;
  std::uint64_t explained = 0, unexplained = 0;
  std::uint32_t repeats = 0, odd = 0;
  const std::uint32_t tail = n_ - at(last - 1);
  if (tail > kLongest * middle) {
    unexplained = tail;
    sum = -kPenalty * tail;
  }
  std::size_t begin = count;
  for (std::size_t i = count; i-- > 0;) {
    const std::uint32_t launches = at(first + i + 1) - at(first + i);
    const bool fits = launches >= kShortest * middle && launches <= kLongest * middle;
    (fits ? explained : unexplained) += launches;
    sum += fits ? static_cast<double>(launches) : -kPenalty * launches;
    repeats += fits;
    odd += !fits;
    if (!fits || sum <= best) continue;
    best = sum;
    begin = i;
    c.period.repeats = repeats;
    c.period.odd = odd;
    c.unexplained = static_cast<std::uint32_t>(unexplained);
    c.period.coverage = static_cast<double>(explained) / static_cast<double>(explained + unexplained);
    c.period.launches = static_cast<std::uint32_t>(explained / repeats);
  }
  if (begin == count || c.period.repeats < std::max(kMinVaryingRepeats, min_repeats(c.period.launches)) ||
      c.period.launches < 8 ||
      std::uint64_t{c.period.repeats} * kOnceOf < std::uint64_t(count - begin) * kOncePart)
    return;
  c.score = best;
  c.period.begin = at(first + begin);
  if (measure(first, &c, begin, count)) keep(c, table);
}

// Whether segments that follow each other have their kernels in common: a forward pass and a backward pass of the
// same length do not.
bool PeriodSearch::alike(const Candidate& c) noexcept {
  constexpr std::uint32_t kBuckets = 256;
  std::uint32_t counts[2][kBuckets] = {};
  int turn = 0;
  std::uint32_t lengths[2] = {}, previous = UINT32_MAX, pairs = 0, poor = 0;
  double in_common = 0;
  for (std::uint32_t i = c.period.begin; i < n_; ++i) {
    if (keys_[i] == c.period.anchor.keys) {
      if (previous != UINT32_MAX) {
        lengths[turn] = i - previous;
        if (lengths[turn ^ 1] > 0) {
          std::uint32_t both = 0;
          for (std::uint32_t b = 0; b < kBuckets; ++b) both += std::min(counts[0][b], counts[1][b]);
          const double share = static_cast<double>(both) / std::max(lengths[0], lengths[1]);
          in_common += share;
          poor += share < kMinInCommon;
          ++pairs;
        }
        turn ^= 1;
        std::memset(counts[turn], 0, sizeof counts[turn]);
      }
      previous = i;
    }
    if (previous != UINT32_MAX) ++counts[turn][scramble(keys_[i]) % kBuckets];
  }
  return pairs > 0 && in_common / pairs >= kInCommon && poor * 5 <= pairs;
}

// Whether its segments come in turns, first, second, second, last and again: micro-steps, of which the first sets
// gradients that the others add to and an optimizer follows the last. A step of several parts is no kind of step that
// varies.
bool PeriodSearch::takes_turns(const Candidate& c) noexcept {
  std::uint32_t count = 0;
  each_segment(c.period, [&](std::uint32_t from, std::uint32_t to) {
    kinds_[count++] = segment(from, to);
    return true;
  });
  const auto equal = [&](std::uint32_t apart) {
    std::uint32_t same = 0;
    for (std::uint32_t i = 0; i + apart < count; ++i) same += kinds_[i] == kinds_[i + apart];
    return static_cast<double>(same) / (count - apart);
  };
  if (count <= kMinTurnPairs || equal(1) >= kInTurns) return false;
  for (std::uint32_t parts = 2; parts <= kMaxParts && parts + kMinTurnPairs <= count; ++parts)
    if (equal(parts) >= kInTurns) return true;
  return false;
}

const PeriodSearch::Candidate* PeriodSearch::choose_varying(const Table& table) noexcept {
  double most = 0;
  for (std::size_t i = 0; i < table.count; ++i)
    if (table.entries[i].rows >= kMinVaryingRows) most = std::max(most, table.entries[i].best_score);
  const Candidate* best = nullptr;
  for (std::size_t i = 0; i < table.count; ++i) {
    const Candidate& c = table.entries[i];
    if (c.rows < kMinVaryingRows || c.best_score < 0.8 * most) continue;
    if (best != nullptr && c.period.launches >= best->period.launches) continue;
    if (alike(c) && !takes_turns(c)) best = &c;
  }
  return best;
}

bool PeriodSearch::find(const Launch* launches, std::size_t count, std::int64_t shortest_ns,
                        Period* found) noexcept {
  if (!usable()) return false;
  const std::size_t skipped = count - std::min<std::size_t>(count, most_);
  launches_ = launches + skipped;
  n_ = static_cast<std::uint32_t>(count - skipped);
  if (n_ < 8) return false;
  for (std::uint32_t i = 0; i + 1 < n_; ++i) sorted_[i] = launches_[i + 1].time_us - launches_[i].time_us;
  gap_ns_ = static_cast<std::int64_t>(median_of(sorted_, n_ - 1)) * 1000;

  Table exact{candidates_}, kernels{candidates_ + kMaxCandidates}, varying{candidates_ + 2 * kMaxCandidates};
  const auto most_of = [](const Table& table) {
    double most = 0;
    for (std::size_t i = 0; i < table.count; ++i) most = std::max(most, table.entries[i].best_score);
    return most;
  };
  search(true, &exact);
  const Candidate* best = choose(exact);
  bool whole = best != nullptr && is_whole(*best);
  double most = most_of(exact);
  search(false, &kernels);
  if (const double by_kernels = most_of(kernels); most < kExactWins * by_kernels) {
    best = choose(kernels);
    whole = best != nullptr && is_whole(*best);
    most = by_kernels;
  }
  search_varying(&varying);
  if (const Candidate* alike_ones = choose_varying(varying);
      alike_ones != nullptr &&
      (most < kAlikeWins * alike_ones->best_score || (best != nullptr && is_round_of(*best, *alike_ones))))
    best = alike_ones, whole = is_whole(*alike_ones);
  if (best == nullptr || !whole) return false;
  const Period& p = best->period;
  if (p.own_ns < shortest_ns) return false;
  *found = p;
  found->begin += static_cast<std::uint32_t>(skipped);
  return true;
}

bool PeriodSearch::find_anywhere(const Launch* launches, std::size_t count, Period* found) noexcept {
  constexpr std::size_t kEnds = 5;
  bool any = false;
  for (std::size_t k = 0; k < kEnds; ++k) {
    Period period;
    const std::size_t end = count - count * k / kEnds;
    if (!find(launches, end, 0, &period)) continue;
    // What came last is the program's step, unless much more of the program was before it, in steps no shorter: an
    // evaluation's passes are shorter than the steps around it, and so are autotuning's.
    if (any && (period.own_ns < 2 * found->own_ns || period.launches < found->launches)) continue;
    *found = period;
    any = true;
  }
  return any;
}

}  // namespace ridgeline::steps
