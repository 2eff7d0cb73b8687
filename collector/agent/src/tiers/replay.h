// T2, and T3 with cold caches: counters of every kernel of a step, one configuration a step, on the running
// program.
//
// CUPTI's range profiler in its automatic range mode measures each kernel launch by itself; in user replay it
// saves and restores nothing, so that a one-pass configuration costs about a millisecond a launch and the
// program goes on with its own data. The kernels run one at a time: one that waits for a kernel launched
// later would never end. Such kernels run unmeasured (exclusions.h), and nothing is measured until they are
// over.
//
// Lifecycle of the object:
// 1. prepare() once, on the agent's own thread, when the program has launched its first kernel: what this
//    machine can count, the metric sets resolved for the chip. No permission shows here.
// 2. For each replay step: arm() when the step begins; launch_enter() and launch_exit() at each launch,
//    inside the driver call, where the context is current; step_end() stops and decodes. If the step ends on
//    a thread that launched nothing in it, the next launch does that. The session stays enabled if another
//    such step follows.
// 3. evaluate() on the agent's own thread: values and the step's verdict go into the spool.
//    None of this happens beside a stream capture (capture_watch.h): a session that is running pauses before one
//    begins, and what has to be stopped or closed waits until it is over. Nor while a stream may wait for the host: the
//    calls of CUPTI wait for the device, and so for the very thread they are made on.
// 4. At process exit what was collected is evaluated if there is time; a session still open is reported as failed by
//    abandon() and left alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "call_gate.h"
#include "cupti/capture_watch.h"
#include "cupti/cupti_api.h"
#include "cupti/device_launches.h"
#include "cupti/driver_api.h"
#include "cupti/host_waits.h"
#include "cupti/timeline.h"
#include "messages.h"
#include "ridgeline/counting/count_plan.h"
#include "ridgeline/counting/place_times.h"
#include "ridgeline/spool/writer.h"
#include "steps/step_tracker.h"
#include "tiers/counter_session.h"
#include "tiers/eviction.h"
#include "tiers/exclusions.h"
#include "tiers/launch_watch.h"
#include "tiers/metric_sets.h"
#include "tiers/shared_budget.h"

namespace ridgeline::agent {

/// Which sets the steps of a phase take in turn.
struct CounterPlan {
  std::vector<MetricSet> replay;
  std::vector<MetricSet> flops;
  std::int64_t budget_ns = 0;  // of the replay phase, on top of the program
  /// Cold steps take the first of the replay sets: durations, bytes, pipes.
  static constexpr std::uint32_t kColdSets = 2;
};

/// A launch as its callbacks see it.
struct LaunchCall {
  CUcontext context = nullptr;
  CUstream stream = nullptr;  // never 0: the default streams by their special handles
  std::uint32_t thread_id = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t kernel_id = 0;
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0;
  const char* name = nullptr;  // mangled; valid during the call
  bool graph = false;
  bool several_devices = false;    // a cooperative launch over several devices
  bool waits_for_nothing = false;  // outside of steps: as the timeline has shown so far
};

/// What became of a launch in a replay step.
enum class Verdict : std::uint8_t { not_asked, measured, unmeasured, excluded };

class Replay {
 public:
  Replay(const CuptiApi& api, const DriverApi& driver, spool::Writer& writer, StepTracker& steps,
         CounterIntervals& intervals, Exclusions& exclusions, const CallGate& gate, CaptureWatch& captures,
         HostWaits& host_waits, const counting::ProgramTimes& times, SharedBudget& budget, CounterPlan plan);

  /// Asks what this machine can count, for 0.1 s or so, in which `context` must not be destroyed; false if it
  /// cannot: replay steps are then reported as failed.
  bool ask_availability(CUcontext context, std::uint32_t device_id, const std::string& chip) noexcept;
  /// After that: another device that the program uses. Steps on it are measured if its chip is the same, since the
  /// metric sets are resolved for one. The agent's own thread.
  void add_device(std::uint32_t device_id, const std::string& chip) noexcept;
  /// After that. May take a second, less if the process ends. Errors become messages, after which replay steps
  /// are reported as failed.
  void prepare() noexcept;
  /// ask_availability() found the counters in use by somebody else, or a stream that waits for the host: it is to be
  /// asked again.
  bool waits_for_counters() const noexcept { return in_use_at_start_.load(std::memory_order_relaxed); }
  /// `put_off`: the counters of the step that is about to be counted are in use by somebody else; true if a step to
  /// come tries again, so that nothing is reported of this one.
  void put_off_by(std::function<bool()> put_off) { put_off_ = std::move(put_off); }
  /// `trace`: switches the records of kernels off (false) and on, for counters beside which there are none.
  void trace_kernels_by(std::function<CUptiResult(bool on)> trace) { trace_kernels_ = std::move(trace); }
  /// A session is open, or a step waits for one.
  bool holds_counters() const noexcept {
    return state_.load(std::memory_order_acquire) != State::idle ||
           session_open_.load(std::memory_order_acquire);
  }
  /// The gate was closed: whoever waits in here goes on.
  void wake() noexcept { ready_.notify_all(); }
  /// Tells that prepare() will never be called, and why.
  void rule_out(spool::Topic topic, const std::string& reason, Refusal refusal = {}) noexcept;

  /// True for the phases whose steps this object measures.
  static bool measures(Phase phase) noexcept {
    return phase == Phase::replay || phase == Phase::cold || phase == Phase::flops;
  }
  /// What is to become of a step of a counting phase, before it is armed.
  enum class Worth : std::uint8_t {
    counts,
    nothing,  ///< the budget is used, or what counting more would tell is too little
    known,    ///< as it was counted in steps that gave way to those of now
  };
  Worth worth(const StepTracker::Step& step) noexcept;
  /// The program's steps are others from now on: what was counted is not counted again.
  void begin_round() noexcept;
  /// Gives the id of the configuration that the step takes. `counts`: of worth(); else nothing is counted, whatever the
  /// plan says by now. `keep`: the next step is measured too; the session stays enabled, in case it serves that one.
  /// `usual_ns`: how long a step takes otherwise; 0: not known.
  std::uint32_t arm(const StepTracker::Step& step, bool counts, std::uint32_t thread_id, bool keep,
                    std::int64_t usual_ns) noexcept;
  /// Setting samples up and reading them kept the program from then to now: out of the same budget. Any thread.
  void pay_for_samples(std::int64_t since_ns) noexcept;
  /// Besides counting a recording takes time for its start, for each kernel on its timeline and for writing the
  /// capture, out of the same budget: so many kernels are on the timeline by now. Any thread.
  void set_aside(std::uint64_t kernels) noexcept;
  /// So much of the budget is left, as far as can be told now. The agent's own thread.
  bool affords(std::int64_t ns) noexcept;
  /// How many sets there are for stretches (session/stretches.h); 0: not ready.
  std::uint32_t stretch_sets() const noexcept { return stretch_sets_.load(std::memory_order_acquire); }
  /// Of the stretch's set more is worth knowing than it costs. The agent's own thread.
  bool pays_off(std::uint32_t stretch) noexcept;
  /// Of the open stretch all has come.
  bool stretch_done() const noexcept { return stretch_done_.load(std::memory_order_relaxed); }
  std::uint32_t failures_in_a_row() const noexcept { return failures_.load(std::memory_order_relaxed); }
  /// True if launch_enter() has something to do. One relaxed load.
  bool wants_launch() const noexcept { return measuring() || left_over_.load(std::memory_order_relaxed); }
  /// A step is measured, or was and is not dealt with.
  bool measuring() const noexcept { return state_.load(std::memory_order_relaxed) != State::idle; }
  Verdict launch_enter(const LaunchCall& call) noexcept;
  /// After every launch_enter() whose verdict is not kNotAsked.
  void launch_exit(const LaunchCall& call, Verdict verdict) noexcept;
  /// The program is about to begin a capture; no hold is given any more. Counters that are running pause.
  void on_capture_begin() noexcept;
  /// The program is about to make a stream wait for the host (host_waits.h), which is announced there: nothing is
  /// started on any thread any more. Counters that are running pause.
  void stream_will_wait() noexcept;
  /// A step that is not measured begins: a session that was kept for it, since another schedule was in force, is
  /// closed.
  void close_kept() noexcept;
  /// A session that was kept for a step that does not come is closed at the next launch. The agent's own thread.
  void tend(std::int64_t now_ns) noexcept;
  /// True if the step is dealt with; false if the next launch has to finish it, and last() must stay as it
  /// is.
  bool step_end(std::uint32_t thread_id) noexcept;
  /// A new step begins and no launch came since: finish the one before here and now.
  void finish_pending() noexcept;
  /// The context goes away: close a session on it.
  void context_destroyed(CUcontext context) noexcept;
  void abandon() noexcept;

  /// Writes what finished steps collected. The agent's own thread.
  void evaluate() noexcept;
  /// True while evaluate() has something left to write.
  bool evaluating() const noexcept { return jobs_open_.load(std::memory_order_acquire) > 0; }

  /// The launch under way has not come back for `limit_ns`: what to say about it, once; empty otherwise. The
  /// agent's own thread; takes no lock, since the launch may hold it for ever.
  std::string overdue(std::int64_t now_ns, std::int64_t limit_ns) noexcept;

  /// CUPTI gives no records of kernels at present: the step counts instructions.
  bool untraced() const noexcept { return untraced_.load(std::memory_order_relaxed); }
  /// Counters are being collected: do not flush activity records meanwhile.
  bool collecting() const noexcept {
    const State s = state_.load(std::memory_order_relaxed);
    return s == State::collecting || s == State::to_finish || s == State::to_close;
  }

 private:
  /// to_finish: the step is over, its counters are still to be read. to_close: it was given up, and the session is
  /// still to be closed. Both as soon as CUPTI may be called.
  static constexpr char kNotNow[] =
      "a stream was being captured, or waited for the host, when the counters had to be read";
  static constexpr char kPutOff[] =
      "a stream was being captured, or waited for the host, whenever the counters could have been started";

  enum class State { idle, armed, collecting, to_finish, to_close };
  enum class Readiness { pending, ready, ruled_out };
  struct Job {
    StepTracker::Step step{};
    spool::CounterStepRecord record{};
    std::string reason;
    std::vector<CounterSession::Segment> segments;
    std::vector<SequenceEntry> launches;
    std::vector<std::uint32_t> graph_correlation_ids;  // of measured graph launches, by position in the step
    std::set<std::uint32_t> in_doubt;                  // numbers among the measured launches
    bool graphs = false;
    bool marked = false;  // by ranges that are longer than their kernels
    bool by_size = false;
    std::uint32_t unevaluated = 0;
  };

  /// What of the step is counted, and with which configuration.
  void plan_step() noexcept;
  std::uint32_t config_id(const StepTracker::Step& step) const noexcept;
  void expect_launches(const LaunchSequence& reference) noexcept;
  void take_noted_values() noexcept;
  /// The kind of the latest launch of the open step.
  counting::Kind kind_before() const noexcept;
  void expect_program() noexcept;
  /// What counters took in the step so far.
  std::int64_t in_step_ns() const noexcept { return open_ns_ + in_calls_ns_ + closing_ns_; }
  static bool is_stretch(const StepTracker::Step& step) noexcept {
    return step.index >= spool::kFirstStretch;
  }
  /// The latest timeline step; a stretch is like none.
  const LaunchSequence* reference() const noexcept {
    return is_stretch(step_) ? nullptr : steps_.reference();
  }
  /// A launch as a plan tells it from others, and how long it takes; 0: not known.
  struct Planned {
    counting::Kind kind;
    double usual_ns;
  };
  static counting::Kind size_kind_of(const SequenceEntry& launch) noexcept {
    return counting::size_kind_of(launch.kernel_id, launch.grid_x, launch.grid_y, launch.grid_z);
  }
  /// `by_size`: launches of every size come, wherever; else of this place in steps that are alike.
  Planned planned(bool by_size, const SequenceEntry& launch, std::uint32_t place) const noexcept;
  bool within_budget() noexcept {
    if (step_.phase != Phase::replay) return true;
    look_at_budget();
    return count_plan_.affords(in_step_ns());
  }
  /// What the others who share it have spent by now, and how many there are.
  void look_at_budget() noexcept { count_plan_.shared(budget_.spent_ns(), count_plan_.sharers()); }
  /// The step is over, or is given up: it is paid for.
  void pay(bool whole) noexcept;
  void report_plan() noexcept;
  /// Whether there are counters, as far as that can be waited for. With `lock` on mutex_.
  enum class Awaited { decided, put_off, too_late };
  Awaited await_readiness(std::unique_lock<std::mutex>& lock);
  bool open(const LaunchCall& call, std::string* why, spool::CounterStatus* status);
  bool takes_turns() const noexcept;
  bool may_rotate(const StepTracker::Step& step) const noexcept;
  bool counts_graphs(const StepTracker::Step& step) const noexcept;
  Ranges counting_mode(const StepTracker::Step& step) const noexcept;
  bool leaves_out(const LaunchSequence& step) const noexcept;
  Verdict measure(const LaunchCall& call);
  /// measure() under a hold, which stays if the launch is measured.
  Verdict measure_held(const LaunchCall& call);
  /// An event after what was just launched into the stream tells when it is over. False: it cannot.
  bool watch(CUstream stream) noexcept;
  /// CUPTI may wait for the device: what waits for the host is over.
  bool host_waits_over(std::uint32_t thread_id) noexcept;
  /// The launch itself may: of a graph, once the program has made one with a node that waits for the host. Closing a
  /// range around it would wait for what this very thread is to do next.
  bool makes_stream_wait(const LaunchCall& call) const noexcept;
  bool comes_back(const LaunchCall& call) noexcept;
  void note_under_way(std::uint32_t thread_id, double usual_ns, std::int64_t since_ns);
  bool settled(std::uint32_t thread_id) noexcept;
  void fail_step(const CounterSession::Failure& failure) noexcept;
  void give_up_step(std::string_view why) noexcept;
  void note_failure(CUptiResult result) noexcept;
  void give_up_counting(std::string_view why) noexcept;
  void settle_what_is_due() noexcept;
  /// In state to_close: closes what is open, if CUPTI may be called. True if it is closed.
  bool close_given_up(std::uint32_t thread_id) noexcept;
  /// A session between two steps, if CUPTI may be called.
  void close_left_over(std::uint32_t thread_id) noexcept;
  void finish() noexcept;
  void collect(Job* job);
  void close_session() noexcept;
  void forget_events() noexcept;
  void stop_tracing() noexcept;
  CUptiResult trace_kernels(bool on) noexcept;
  void close() noexcept;
  void report(spool::CounterStatus status, std::string_view reason) noexcept;
  void message(Severity severity, spool::Topic topic, const std::string& text, Refusal refusal = {}) noexcept;
  void write_values(Job& job);
  /// `next_launch` among the step's launches, `measured` among those with a range: moved on past the segment.
  bool write_kernels(Job& job, const CounterSession::Segment& segment, std::uint32_t* next_launch,
                     std::uint32_t* measured);
  bool write_graphs(Job& job, const CounterSession::Segment& segment);
  /// How near to its roofs a counted launch came, for the plan.
  void note_values(const Job& job, std::uint32_t ordinal, const CounterConfig& config, const double* values);
  /// Numbers in the names of a segment's ranges, by range; false if CUPTI names one otherwise.
  bool range_numbers(const CounterSession::Segment& segment, std::size_t ranges,
                     std::vector<std::uint32_t>* numbers);

  const CuptiApi& api_;
  const DriverApi& driver_;
  spool::Writer& writer_;
  StepTracker& steps_;
  CounterIntervals& intervals_;
  Exclusions& exclusions_;
  const CallGate& gate_;
  CaptureWatch& captures_;
  HostWaits& host_waits_;
  const counting::ProgramTimes& times_;
  SharedBudget& budget_;
  const std::uint32_t replay_sets_, flops_sets_;
  const std::vector<MetricSet> sets_;  // of all phases; configuration id - 1

  std::mutex mutex_;  // serialises everything below; never held while a launch of the program runs
  std::condition_variable ready_;
  Readiness readiness_ = Readiness::pending;
  std::string ruled_out_reason_;
  std::string chip_;
  std::atomic<std::uint64_t> devices_{0};  // a bit a device whose launches can be measured
  std::vector<std::uint8_t> availability_;
  /// Fixed once ready:
  std::vector<CounterConfig> configs_;          // by config id - 1; without metrics if not available
  std::vector<const CounterConfig*> rotation_;  // the replay phase's, those with metrics
  CounterConfig joined_;                        // rotation_ in passes; no passes: cannot be
  std::vector<std::uint32_t> metric_ids_;       // flattened, in the order of configs_
  std::vector<std::size_t> first_metric_;       // of a configuration in metric_ids_

  std::atomic<State> state_{State::idle};
  std::atomic<bool> untraced_{false};
  std::function<CUptiResult(bool on)> trace_kernels_;
  std::atomic<bool> left_over_{false};  // the session was kept for a step that did not come
  std::atomic<bool> session_open_{false}, in_use_at_start_{false};
  int failed_requests_ = 0;        // ask_availability(): the agent's thread
  bool in_use_elsewhere_ = false;  // open() was refused for that
  std::function<bool()> put_off_;
  StepTracker::Step step_{};
  counting::CountPlan count_plan_;
  counting::CountPlan::Way way_ = counting::CountPlan::Way::all;  // of step_
  bool by_size_ = false;  // likewise, how the plan tells launches apart
  std::int64_t armed_ns_ = 0, usual_ns_ = 0, in_calls_ns_ = 0,
               closing_ns_ = 0;                 // of step_; armed_ns_ 0: it is paid for
  std::atomic<std::uint32_t> sets_counted_{0};  // a bit each, by configuration: values came
  std::uint32_t chosen_in_all_ = 0;             // launches that were chosen, of all steps
  std::vector<std::uint32_t> stretch_configs_;  // ids, of those with metrics
  std::atomic<std::uint32_t> stretch_sets_{0}, failures_{0};
  std::atomic<bool> stretch_done_{false};
  bool keep_ = false;
  std::uint32_t session_thread_ = 0;
  CUcontext context_ = nullptr;  // that counters are open on
  CounterSession session_;
  Eviction eviction_;
  std::int64_t open_ns_ = 0;            // host time of opening, this step
  std::uint32_t put_off_launches_ = 0;  // of this step, at which the session could not be opened
  std::uint32_t graph_launches_ = 0;    // seen in this step
  std::vector<std::uint32_t> graph_correlation_ids_;  // 0: not measured
  struct UnderWay {
    std::uint32_t thread_id, number;
    double usual_ns;
    std::int64_t since_ns;
  };
  std::vector<UnderWay> under_way_;   // measured launches that have not come back
  std::uint32_t graph_thread_ = 0;    // has a graph launch under way in a range; 0: none has
  std::set<std::uint32_t> in_doubt_;  // numbers of those that ran beside another thread's
  std::uint32_t measured_ = 0;        // kernels, this step
  std::vector<CUevent> events_;       // of events_context_
  CUcontext events_context_ = nullptr;
  std::size_t events_pending_ = 0;    // the first so many: excluded kernels under way
  bool collectives_pending_ = false;  // all of them are collectives
  bool peer_wait_exhausted_ = false;
  std::uint32_t failures_of_cupti_ = 0;   // in a row
  std::int64_t finished_ns_ = 0;          // the latest step
  bool pauses_ = false;                   // steps of this program pause: no rotation
  bool waits_ = false;                    // and have waits for the host: kernels are marked
  std::int64_t waited_for_peers_ns_ = 0;  // in this recording, in vain or not

  /// From evaluate() to the plan: nobody waits for `mutex_` on the agent's thread, whose holder may hang.
  struct NotedValue {
    counting::Kind kind, before;
    std::size_t roof;
    double utilisation;
  };
  std::mutex noted_mutex_;
  std::vector<NotedValue> noted_;
  double max_bytes_per_ns_ = 1000;  // evaluate() only: of a launch so far, and of no device less

  std::mutex jobs_mutex_;
  std::deque<Job> jobs_;
  std::atomic<std::uint32_t> jobs_open_{0};

  LaunchWatch watch_;  // of a launch that is measured
};

}  // namespace ridgeline::agent
