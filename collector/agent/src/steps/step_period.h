// Steps of a program that marks none: found in the sequence of its launches.
//
// A training step launches the same kernels each time. What repeats is looked for between two launches that
// are alike: a key (kernel and grid; for a graph the executable graph), or up to four keys in a row, makes a
// border if the launches between one of it and the next are mostly the same sequence. Of all borders that
// explain the recent history as well as the best does, the shortest period counts, and of its launches the
// one that the host paused longest before. An inner loop (the layers of a model) explains less than the
// step: what comes between two passes of the loop is in no segment of it.
//
// Lifecycle: 1. launch() at each launch, on the program's threads. 2. analyse() now and then on one thread of
// the agent's, until it finds a period. From then on launch() tells when a step begins. 3. analyse() goes on
// for a while: what it found may have been autotuning, or the micro-steps of a step, and gives way to what
// explains more, or to what is much longer and comes in its place.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace ridgeline::agent {

class StepPeriod {
 public:
  /// Launches remembered; a period may have a sixth of it.
  static constexpr std::uint32_t kHistory = 1u << 17;
  /// A step shorter than this is made of several periods.
  static constexpr std::int64_t kShortestStepNs = 1'000'000;
  /// What is looked at must have taken this long: the first pass through the layers of a model looks like a
  /// period, but is over soon. Many repeats will do sooner.
  static constexpr std::int64_t kShortestEvidenceNs = 400'000'000;
  static constexpr std::uint32_t kManyRepeats = 128;
  static constexpr std::int64_t kShortestEvidenceOfManyNs = 50'000'000;
  /// Steps of a few launches after a start of many (compilation, capture of graphs) are a small part of the
  /// history: where its later half shows nothing, less of it is looked at, if it still took this long and
  /// repeats this often.
  static constexpr std::int64_t kShortestRecentNs = 1'000'000'000;
  static constexpr std::uint32_t kRecentRepeats = 32;
  /// A period that has gone silent gives way at once to one this many times as long, in launches and in time:
  /// what initialises a model repeats by parameter or by layer, its steps go over all of them.
  static constexpr std::uint32_t kMuchLonger = 8;

  /// A launch as the search sees it: low half kernel and grid, high half the kernel alone.
  using Key = std::uint32_t;
  static Key key_of(std::uint32_t kernel_id, std::uint32_t grid_x, std::uint32_t grid_y,
                    std::uint32_t grid_z) noexcept;
  static Key graph_key(const void* executable_graph) noexcept;

  struct Found {
    std::uint32_t launches = 0;  // of a period
    std::uint32_t periods = 1;   // of a step
    std::uint32_t repeats = 0;   // seen when it was found
    std::int64_t step_ns = 0;    // median, of a step
    double coverage = 0;         // share of the launches looked at that it explains, 0..1
    bool replaces = false;       // another period was in force before
  };

  StepPeriod();
  ~StepPeriod();
  StepPeriod(const StepPeriod&) = delete;
  StepPeriod& operator=(const StepPeriod&) = delete;

  /// Notes a launch; true if a step begins with it. Any thread; takes no lock.
  bool launch(Key key, std::int64_t now_ns) noexcept;
  /// Looks for a period if enough has come since the last time; true if a new one was found, which
  /// activate() puts in force. One thread; may take some milliseconds; throws if memory runs out.
  bool analyse(std::int64_t now_ns, Found* found);
  void activate() noexcept { active_.store(true, std::memory_order_release); }
  /// Forgets everything: what comes next is another window.
  void restart() noexcept;

  bool active() const noexcept { return active_.load(std::memory_order_acquire); }
  /// Launches noted since the last border that launch() told of, against those of a step.
  std::uint64_t launches_since_border() const noexcept;
  std::uint32_t launches_of_step() const noexcept { return step_launches_.load(std::memory_order_relaxed); }
  std::uint64_t launches() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  struct Candidate {
    std::uint64_t gram = 0;  // keys in a row, the last in the low bits
    std::uint32_t length = 0;
    std::uint32_t period = 0;  // launches
    std::uint32_t repeats = 0;
    double coverage = 0;
    std::int64_t period_ns = 0;  // median
    std::int64_t pause_ns = 0;   // median, of the host before the launch
    bool exact = true;
  };
  struct View {  // the part of the history that is looked at
    std::vector<std::uint16_t> keys;
    std::vector<std::uint32_t> times_us;
    std::int64_t span_ns = 0;
  };
  View view(std::uint64_t from, std::uint64_t to, bool exact) const;
  static std::vector<Candidate> candidates(const View& view, bool exact);
  /// `often_will_do`: a period that covers less counts too if it repeats often.
  static bool choose(const std::vector<Candidate>& all, bool often_will_do, Candidate* best);
  /// Whether the period in force has mostly stopped; moves heard_ along while it has not.
  bool silent(std::uint64_t count);
  /// What has repeated since the period in force fell silent, if it is much longer.
  bool successor(std::uint64_t count, std::int64_t now_ns, Found* found);
  void enforce(const Candidate& c, std::int64_t now_ns, Found* found);
  /// Of the period in force; 0 before there is one.
  std::uint32_t launches_of_period() const noexcept {
    return step_launches_.load(std::memory_order_relaxed) / periods_.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t>* ring_;  // time in us << 32 | key
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> recent_exact_{0}, recent_kernels_{0};  // the last four keys

  std::atomic<bool> active_{false};
  std::atomic<std::uint64_t> anchor_{0}, mask_{0};
  std::atomic<bool> exact_{true};
  std::atomic<std::uint32_t> periods_{1}, hits_{0}, step_launches_{0};
  std::atomic<std::uint64_t> last_border_{0};
  /// Anchors that came just a period behind the one before: what repeats may contain the same launches elsewhere.
  std::atomic<std::uint64_t> last_anchor_{0}, regular_{0};

  /// analyse() only.
  std::uint64_t first_ = 0, next_count_ = 16;
  std::int64_t next_ns_ = 0, active_since_ns_ = 0, first_launch_ns_ = 0;
  bool often_ = false;            // the period in force was taken for repeating often
  std::uint64_t challenger_ = 0;  // what explains more than the period in force
  std::int64_t challenger_since_ns_ = 0;
  std::int64_t period_ns_ = 0;  // median of the period in force
  std::uint64_t heard_ = 0,
                heard_regular_ = 0;  // launches and regular anchors when it was last seen to go on
  std::int64_t next_listen_ns_ = 0;
};

}  // namespace ridgeline::agent
