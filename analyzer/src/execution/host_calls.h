// host_calls.h: what the threads of a process did on the host while the device was idle.
#pragma once

#include <optional>
#include <unordered_map>

#include "ridgeline/analyzer/execution/wait.h"
#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

/// A call that gave the device work.
struct HostCall {
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
  std::optional<std::int64_t> thread_id;
};

class HostCalls {
 public:
  /// Those that matter to a window of time. Keeps a reference to the model.
  HostCalls(const Model& model, store::Id process_id, const TimeWindow& window);

  /// The recording has what the host waited for in this time.
  [[nodiscard]] bool waits_recorded() const { return waits_recorded_; }
  [[nodiscard]] static std::optional<HostCall> of_launch(const Launches& launches, LaunchIndex index);
  /// Of a copy, if its call is among those that may wait and took long enough to be recorded.
  [[nodiscard]] std::optional<HostCall> of_copy(const store::Memcpy& copy) const;

  struct Waited {
    std::int64_t total_ns = 0;
    std::optional<Wait> longest;  // of the time asked about
  };
  /// What a thread spent inside calls that wait.
  [[nodiscard]] Waited waited(std::int64_t thread_id, const TimeWindow& time) const;

 private:
  const Model& model_;
  store::Id process_id_;
  bool waits_recorded_ = false;
  std::unordered_map<std::int64_t, std::size_t> by_correlation_;  // into the model's synchronisations
};

}  // namespace ridgeline::analyzer
