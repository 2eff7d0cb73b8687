#include "step_sums.h"

#include <algorithm>

#include "chunk.h"
#include "sequence_hash.h"

namespace ridgeline::store {

namespace {

constexpr std::size_t kMaxPending = 1'000'000;  // 16 MB
constexpr std::size_t kMaxOpenSteps = 4096;
constexpr std::uint32_t kMaxOrdinals = 1u << 18;  // of a step whose sequence is summed up
constexpr std::size_t kMaxSummed = 1'000'000;     // 32 MB

void extend(std::int64_t& start, std::int64_t& end, std::int64_t start_ns, std::int64_t end_ns) {
  start = start == 0 ? start_ns : std::min(start, start_ns);
  end = std::max(end, end_ns);
}

void include(std::int64_t& first, std::int64_t& last, Id id) {
  const bool none = last < first;
  first = none ? id : std::min(first, id);
  last = none ? id : std::max(last, id);
}

}  // namespace

StepSums::StepSums(Database& database)
    : read_(database.prepare(
          "SELECT launches, launches_without_time, kernel_time_ns, kernel_start_ns, kernel_end_ns, copies,"
          " copy_start_ns, copy_end_ns, sequence_hash, first_launch_id, last_launch_id, first_range_id,"
          " last_range_id FROM step WHERE id = ?")),
      write_(database.prepare(
          "UPDATE step SET launches = ?, launches_without_time = ?, kernel_time_ns = ?, kernel_start_ns = ?,"
          " kernel_end_ns = ?, copies = ?, copy_start_ns = ?, copy_end_ns = ?, sequence_hash = ?,"
          " first_launch_id = ?, last_launch_id = ?, first_range_id = ?, last_range_id = ? WHERE id = ?")),
      insert_sequence_(database.prepare(
          "INSERT INTO launch_sequence(process_id, phase, sequence_hash, steps) VALUES (?,?,?,?)")),
      insert_sum_(database.prepare("INSERT INTO ordinal_sum VALUES (?,?,?,?,?)")),
      database_(database) {}

void StepSums::add_step(Id id, const Step& step) {
  if (id < 0) return;
  const auto at = static_cast<std::size_t>(id);
  if (kinds_.size() <= at) kinds_.resize(at + 1);
  kinds_[at] = {step.process_id, step.phase, step.status == StepStatus::ok};
}

StepSums::Open& StepSums::open(Id step_id) {
  if (last_ != nullptr && last_id_ == step_id) return *last_;
  const auto [found, fresh] = open_.try_emplace(step_id);
  if (fresh) {
    Open& step = found->second;
    step.total.step_id = step_id;
    order_.push_back(step_id);
    const auto at = static_cast<std::size_t>(step_id);
    if (step_id >= 0 && at < closed_.size() && closed_[at]) {
      step.summable = false;
      step.reopened = at < kinds_.size();
      read_.bind_all(step_id);
      if (read_.step()) {
        step.total.launches = read_.int64(0);
        step.total.launches_without_time = read_.int64(1);
        step.total.kernel_time_ns = read_.int64(2);
        step.total.kernel_start_ns = read_.int64(3);
        step.total.kernel_end_ns = read_.int64(4);
        step.total.copies = read_.int64(5);
        step.total.copy_start_ns = read_.int64(6);
        step.total.copy_end_ns = read_.int64(7);
        step.total.sequence_hash = static_cast<std::uint64_t>(read_.int64(8));
        if (!read_.is_null(9)) step.first_launch_id = read_.int64(9), step.last_launch_id = read_.int64(10);
        if (!read_.is_null(11)) step.first_range_id = read_.int64(11), step.last_range_id = read_.int64(12);
      }
      read_.reset();
    }
    if (order_.size() > kMaxOpenSteps) {
      last_ = nullptr;
      close_oldest();
    }
  }
  last_ = &open_.at(step_id);
  last_id_ = step_id;
  return *last_;
}

void StepSums::add(const Launch& launch, Id id) {
  Open& step = open(*launch.step_id);
  if (step.reopened) {
    const Kind& kind = kinds_.at(static_cast<std::size_t>(*launch.step_id));
    given_up_.insert({kind.process_id, kind.phase, step.total.sequence_hash});
    step.reopened = false;
  }
  step.dirty = true;
  ++step.total.launches;
  step.total.sequence_hash += sequence_hash_part(launch);
  include(step.first_launch_id, step.last_launch_id, id);
  if (!has_usable_time(launch)) {
    ++step.total.launches_without_time;
    return;
  }
  const std::int64_t duration_ns = launch.end_ns - launch.start_ns;
  step.total.kernel_time_ns = wrapping_add(step.total.kernel_time_ns, duration_ns);
  extend(step.total.kernel_start_ns, step.total.kernel_end_ns, launch.start_ns, launch.end_ns);
  if (!step.summable || !launch.ordinal_in_step) return;
  if (*launch.ordinal_in_step < 0 || *launch.ordinal_in_step >= std::int64_t{kMaxOrdinals}) {
    pending_ -= step.durations.size();
    step.durations = {};
    step.summable = false;
    return;
  }
  step.durations.emplace_back(static_cast<std::uint32_t>(*launch.ordinal_in_step), duration_ns);
  if (++pending_ > kMaxPending) close_oldest();
}

void StepSums::add_copy(Id step_id, std::int64_t start_ns, std::int64_t end_ns) {
  Open& step = open(step_id);
  step.dirty = true;
  ++step.total.copies;
  if (start_ns > 0 && end_ns >= start_ns)
    extend(step.total.copy_start_ns, step.total.copy_end_ns, start_ns, end_ns);
}

void StepSums::add_range(Id step_id, Id range_id) {
  Open& step = open(step_id);
  step.dirty = true;
  include(step.first_range_id, step.last_range_id, range_id);
}

void StepSums::write(Open& step) {
  if (!step.dirty) return;
  const auto if_any = [](std::int64_t first, std::int64_t last, std::int64_t value) {
    return last < first ? std::nullopt : std::optional(value);
  };
  const StepTotal& total = step.total;
  write_.bind_all(total.launches, total.launches_without_time, total.kernel_time_ns, total.kernel_start_ns,
                  total.kernel_end_ns, total.copies, total.copy_start_ns, total.copy_end_ns,
                  static_cast<std::int64_t>(total.sequence_hash),
                  if_any(step.first_launch_id, step.last_launch_id, step.first_launch_id),
                  if_any(step.first_launch_id, step.last_launch_id, step.last_launch_id),
                  if_any(step.first_range_id, step.last_range_id, step.first_range_id),
                  if_any(step.first_range_id, step.last_range_id, step.last_range_id), total.step_id);
  write_.run();
  step.dirty = false;
}

void StepSums::sum_up(const Open& step) {
  const Id id = step.total.step_id;
  if (!step.summable || step.total.launches == 0 || id < 0 || static_cast<std::size_t>(id) >= kinds_.size())
    return;
  const Kind& kind = kinds_[static_cast<std::size_t>(id)];
  if (!kind.ok) return;
  const Key key{kind.process_id, kind.phase, step.total.sequence_hash};
  const auto [found, fresh] = sequences_.try_emplace(key);
  SequenceSums& sequence = found->second;
  ++sequence.steps;
  const std::size_t before = sequence.sums.size();
  for (const auto& [ordinal, duration_ns] : step.durations) {
    if (sequence.sums.size() <= ordinal) sequence.sums.resize(std::size_t{ordinal} + 1);
    OrdinalSum& sum = sequence.sums[ordinal];
    sum.ordinal_in_step = ordinal;
    ++sum.count;
    sum.sum_ns = wrapping_add(sum.sum_ns, duration_ns);
    sum.sum_of_squares_ns2 += static_cast<double>(duration_ns) * static_cast<double>(duration_ns);
  }
  summed_ += sequence.sums.size() - before;
  if (fresh) sequence_order_.push_back(key);
  if (summed_ <= kMaxSummed) return;
  // The oldest that only one step ever had go first; only then those of several.
  const std::size_t once_round = sequence_order_.size();
  for (std::size_t seen = 0; summed_ > kMaxSummed / 2 && sequence_order_.size() > 1; ++seen) {
    const auto oldest = sequences_.find(sequence_order_.front());
    sequence_order_.pop_front();
    if (oldest->second.steps > 1 && seen < once_round) {
      sequence_order_.push_back(oldest->first);
      continue;
    }
    if (oldest->second.steps > 1) given_up_.insert(oldest->first);
    summed_ -= oldest->second.sums.size();
    sequences_.erase(oldest);
  }
}

void StepSums::close(Id step_id) {
  const auto found = open_.find(step_id);
  if (found == open_.end()) return;
  if (last_id_ == step_id) last_ = nullptr;
  write(found->second);
  sum_up(found->second);
  pending_ -= found->second.durations.size();
  open_.erase(found);
  if (step_id < 0) return;
  if (closed_.size() <= static_cast<std::size_t>(step_id))
    closed_.resize(static_cast<std::size_t>(step_id) + 1);
  closed_[static_cast<std::size_t>(step_id)] = true;
}

void StepSums::close_oldest() {
  const Id oldest = order_.front();
  order_.pop_front();
  close(oldest);
}

void StepSums::checkpoint() {
  for (auto& [id, step] : open_) write(step);
}

void StepSums::finish() {
  while (!order_.empty()) close_oldest();
  for (const auto& [key, sequence] : sequences_) {
    if (sequence.steps < 2 || given_up_.contains(key)) continue;
    const auto& [process_id, phase, hash] = key;
    insert_sequence_.bind_all(process_id, phase, static_cast<std::int64_t>(hash), sequence.steps);
    insert_sequence_.run();
    const Id id = database_.last_insert_id();
    for (const OrdinalSum& sum : sequence.sums) {
      if (sum.count == 0) continue;
      insert_sum_.bind_all(id, sum.ordinal_in_step, sum.count, sum.sum_ns, sum.sum_of_squares_ns2);
      insert_sum_.run();
    }
  }
  sequences_.clear();
}

}  // namespace ridgeline::store
