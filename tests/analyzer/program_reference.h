// program_reference.h: a slow, plain model of how a program and a GPU work together. It runs what a program does, knows
// nothing of recorded times, and writes down what a recorder would have seen: a recording whose answers are known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "execution/recorded_step.h"

namespace ridgeline::analyzer::testing {

/// One step of a program, repeated for ever. Threads of the host take turns: what they do is one list.
struct Program {
  enum class Kind {
    work,          ///< the CPU is busy for `ns`
    launch,        ///< a kernel of `ns` on `stream`
    graph,         ///< one call; `nodes` follow one another on `stream`
    wait,          ///< for all that was launched
    stream_waits,  ///< what is launched on `stream` from now on waits for what is on `other` now
  };
  struct Operation {
    Kind kind = Kind::work;
    std::int64_t ns = 0;
    std::uint32_t stream = 0;
    std::uint32_t other = 0;
    std::int64_t thread = 1;
    std::vector<std::int64_t> nodes;
  };
  std::vector<Operation> operations;
  std::int64_t queue = 1 << 20;  ///< launches that may be ahead of the GPU

  void work(std::int64_t ns) { operations.push_back({Kind::work, ns, 0, 0, thread, {}}); }
  void launch(std::int64_t ns, std::uint32_t stream = 0) {
    operations.push_back({Kind::launch, ns, stream, 0, thread, {}});
  }
  void graph(std::vector<std::int64_t> nodes) {
    operations.push_back({Kind::graph, 0, 0, 0, thread, std::move(nodes)});
  }
  void wait() { operations.push_back({Kind::wait, 0, 0, 0, thread, {}}); }
  void stream_waits(std::uint32_t stream, std::uint32_t other) {
    operations.push_back({Kind::stream_waits, 0, stream, other, thread, {}});
  }
  std::int64_t thread = 1;  ///< of the operations that are added
};

inline constexpr std::int64_t kCall_ns = 3000;
inline constexpr std::int64_t kLatency_ns = 5000;
inline constexpr std::int64_t kPause_ns = 1200;
inline constexpr std::int64_t kReturn_ns = 7000;
inline constexpr std::int64_t kShortReturn_ns = 1500;

/// Runs the program and hands out the step after `warmup` of them. Works are in the order of launch.
class ProgramRun {
 public:
  explicit ProgramRun(const Program& program, int warmup = 40) : program_(program), warmup_(warmup) { run(); }

  [[nodiscard]] const RecordedStep& step() const { return step_; }
  /// Mean of the steps after the warm-up, from first start to first start.
  [[nodiscard]] double length_ns() const { return length_ns_; }

 private:
  static constexpr int kMeasured = 40;

  void run() {
    std::vector<std::int64_t> firsts;
    for (int repetition = 0; repetition <= warmup_ + kMeasured; ++repetition) {
      if (repetition == warmup_) step_.host_start_ns = host_ns_;
      if (repetition == warmup_ + 1) step_.host_end_ns = host_ns_;
      recorded_ = repetition == warmup_;
      first_ns_ = -1;
      for (const Program::Operation& operation : program_.operations) once(operation);
      firsts.push_back(first_ns_);
    }
    const auto at = static_cast<std::size_t>(warmup_);
    step_.start_ns = firsts[at];
    step_.end_ns = firsts[at + 1];
    step_.repeats = true;
    step_.first = 0;
    length_ns_ = static_cast<double>(firsts.back() - firsts[at]) / kMeasured;
  }

  void once(const Program::Operation& operation) {
    switch (operation.kind) {
      case Program::Kind::work:
        host_ns_ += operation.ns;
        break;
      case Program::Kind::stream_waits:
        held_ns_[operation.stream] = std::max(held_ns_[operation.stream], busy_ns_[operation.other]);
        break;
      case Program::Kind::wait: {
        std::int64_t last_ns = 0;
        for (const auto& [stream, busy_ns] : busy_ns_) last_ns = std::max(last_ns, busy_ns);
        const std::int64_t end_ns = last_ns > host_ns_
                                        ? std::max(last_ns + kReturn_ns, host_ns_ + kShortReturn_ns)
                                        : host_ns_ + kShortReturn_ns;
        if (recorded_) step_.calls.push_back({host_ns_, end_ns, operation.thread, true, true});
        host_ns_ = end_ns;
        break;
      }
      case Program::Kind::launch:
        issue(operation, {operation.ns});
        break;
      case Program::Kind::graph:
        issue(operation, operation.nodes);
        break;
    }
  }

  void issue(const Program::Operation& operation, const std::vector<std::int64_t>& nodes) {
    const std::int64_t called_ns = host_ns_;
    std::int64_t returned_ns = called_ns + kCall_ns;
    const auto issued = static_cast<std::int64_t>(starts_ns_.size());
    if (issued >= program_.queue)
      returned_ns =
          std::max(returned_ns, starts_ns_[static_cast<std::size_t>(issued - program_.queue)] + 500);
    const auto call = static_cast<RecordedStep::Index>(step_.calls.size());
    if (recorded_) step_.calls.push_back({called_ns, returned_ns, operation.thread, false});
    std::int64_t& busy_ns = busy_ns_[operation.stream];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::int64_t start_ns = called_ns + kLatency_ns;
      if (busy_ns > 0) start_ns = std::max(start_ns, busy_ns + kPause_ns);
      if (const std::int64_t held_ns = held_ns_[operation.stream]; held_ns > 0)
        start_ns = std::max(start_ns, held_ns + kPause_ns);
      if (i == 0) starts_ns_.push_back(start_ns);
      if (first_ns_ < 0) first_ns_ = start_ns;
      busy_ns = start_ns + nodes[i];
      if (recorded_)
        step_.works.push_back({start_ns, busy_ns, operation.stream, call, RecordedStep::kNone,
                               operation.kind == Program::Kind::graph});
    }
    host_ns_ = returned_ns;
  }

  const Program& program_;
  int warmup_;
  bool recorded_ = false;
  RecordedStep step_;
  double length_ns_ = 0;
  std::int64_t host_ns_ = 1'000'000;
  std::int64_t first_ns_ = -1;
  std::map<std::uint32_t, std::int64_t> busy_ns_, held_ns_;  // by stream
  std::vector<std::int64_t> starts_ns_;                      // of calls
};

}  // namespace ridgeline::analyzer::testing
