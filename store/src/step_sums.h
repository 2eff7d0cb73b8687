// step_sums.h: what the rows of a step add up to, kept while rows are written, in bounded memory.
//
// A step is open while its rows come. The oldest is closed once kMaxPending launches are held: its totals are
// written and its launches' durations added to those of its sequence. Rows that come later still count in the
// totals; the sums of the sequence are then given up, since they would be of another one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

class StepSums {
 public:
  explicit StepSums(Database& database);

  void add_step(Id id, const Step& step);
  void add(const Launch& launch, Id id);  // with step_id
  void add_copy(Id step_id, std::int64_t start_ns, std::int64_t end_ns);
  void add_range(Id step_id, Id range_id);

  /// Writes the totals of what came until now.
  void checkpoint();
  /// Closes all steps and writes the sums of the sequences. Call once.
  void finish();

 private:
  struct Open {
    StepTotal total;
    std::int64_t first_launch_id = 0, last_launch_id = -1;
    std::int64_t first_range_id = 0, last_range_id = -1;
    std::vector<std::pair<std::uint32_t, std::int64_t>> durations;  // by ordinal
    bool summable = true;                                           // into its sequence
    bool reopened = false;
    bool dirty = false;  // differs from its row
  };
  struct SequenceSums {
    std::int64_t steps = 0;
    std::vector<OrdinalSum> sums;  // by ordinal
  };
  struct Kind {
    Id process_id = 0;
    Phase phase = Phase::timeline;
    bool ok = false;
  };
  using Key = std::tuple<Id, Phase, std::uint64_t>;

  Open& open(Id step_id);
  void write(Open& open);
  void close(Id step_id);
  void close_oldest();
  void sum_up(const Open& open);

  Statement read_;
  Statement write_;
  Statement insert_sequence_;
  Statement insert_sum_;
  std::vector<Kind> kinds_;  // by step id
  std::vector<bool> closed_;
  std::unordered_map<Id, Open> open_;
  std::deque<Id> order_;  // of opening
  Open* last_ = nullptr;
  Id last_id_ = 0;
  std::size_t pending_ = 0;  // durations held by open steps
  std::map<Key, SequenceSums> sequences_;
  std::deque<Key> sequence_order_;  // of their first steps
  std::set<Key> given_up_;
  std::size_t summed_ = 0;  // OrdinalSums held
  Database& database_;
};

}  // namespace ridgeline::store
