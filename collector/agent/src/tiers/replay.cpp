#include "tiers/replay.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "cupti/counter_availability.h"
#include "cupti/permission.h"
#include "messages.h"

namespace ridgeline::agent {
namespace {

// What a recording takes besides counting: CUPTI's start and the end of the capture, and of a launch its callback, its
// record and its row (docs/results/collector.md, on top of programs with 13,000 to 660,000 launches): some 6 us, and
// more for those that are still to come. Neither is ever more than a part of the budget: a long program has its
// timeline, however short the budget.
constexpr std::int64_t kBesideNs = 3000 * 1'000'000LL, kBesideKernelNs = 10'000;
constexpr double kMaxBesideShare = 0.3, kMaxBesideKernelsShare = 0.25;
constexpr std::int64_t kMillisecond = 1'000'000;
// The first replay step may come before prepare() is through; it waits in the launch, this long at most.
constexpr std::chrono::seconds kReadyTimeout{10};
constexpr std::chrono::milliseconds kReadyLook{20};
// For those that are under way when this device is asked what it can count.
constexpr std::chrono::seconds kAvailabilityPatience{10};
// Of somebody else, when it is asked which counters there are: 60 s in all, half a second apart.
constexpr int kAsksWhileInUse = 120;
// After another failure.
constexpr int kAsksAfterFailure = 6;

std::string permission_remedy() {
  return with_permission_remedy("timeline only: this user may not read GPU counters");
}

std::string seconds(std::int64_t ns) {
  const std::int64_t tenths = (ns + 50 * kMillisecond) / (100 * kMillisecond);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string budget_used(const counting::CountPlan& plan) {
  const std::int64_t elsewhere_ns = plan.spent_ns() - plan.own_spent_ns();
  return "of the " + seconds(plan.budget_ns()) +
         " that recording may take on top of the program counting has used " + seconds(plan.spent_ns()) +
         (elsewhere_ns >= kMillisecond
              ? " (" + seconds(elsewhere_ns) + " in processes that share the GPU or wait for this one)"
              : std::string()) +
         ", and " + seconds(plan.aside_ns()) +
         " are for its start, its records and writing the capture: --budget allows more";
}

// Why a plan has nothing for a step: what a few launches cost is still there, and would tell nothing.
std::string why_nothing(const counting::CountPlan& plan) {
  constexpr double kFewLaunches = 8, kPlanned = 0.95;
  const double left_ns =
      (kPlanned * static_cast<double>(plan.spendable_ns()) - static_cast<double>(plan.spent_ns())) /
      plan.sharers();
  if (left_ns >= plan.costs().step_ns + kFewLaunches * plan.costs().launch_ns)
    return "what counting more launches would tell is too little";
  return budget_used(plan);
}

std::vector<MetricSet> joined(const CounterPlan& plan) {
  std::vector<MetricSet> all = plan.replay;
  all.insert(all.end(), plan.flops.begin(), plan.flops.end());
  return all;
}

}  // namespace

Replay::Replay(const CuptiApi& api, const DriverApi& driver, spool::Writer& writer, StepTracker& steps,
               CounterIntervals& intervals, Exclusions& exclusions, const CallGate& gate,
               CaptureWatch& captures, HostWaits& host_waits, const counting::ProgramTimes& times,
               SharedBudget& budget, CounterPlan plan)
    : api_(api),
      driver_(driver),
      writer_(writer),
      steps_(steps),
      intervals_(intervals),
      exclusions_(exclusions),
      gate_(gate),
      captures_(captures),
      host_waits_(host_waits),
      times_(times),
      budget_(budget),
      replay_sets_(static_cast<std::uint32_t>(plan.replay.size())),
      flops_sets_(static_cast<std::uint32_t>(plan.flops.size())),
      sets_(joined(plan)),
      count_plan_(plan.budget_ns, replay_sets_),
      session_(api),
      eviction_(driver) {}

void Replay::message(Severity severity, spool::Topic topic, const std::string& text,
                     Refusal refusal) noexcept {
  put_message(writer_, api_.now_ns(), severity, topic, text, refusal);
}

void Replay::rule_out(spool::Topic topic, const std::string& reason, Refusal refusal) noexcept {
  message(Severity::warning, topic, reason, refusal);
  {
    std::lock_guard<std::mutex> guard(mutex_);
    readiness_ = Readiness::ruled_out;
    ruled_out_reason_ = reason;
  }
  ready_.notify_all();
}

bool Replay::ask_availability(CUcontext context, std::uint32_t device_id, const std::string& chip) noexcept {
  if (!api_.has_range_profiler) {
    rule_out(spool::Topic::counters_refused,
             "timeline only: this CUPTI has no range profiler; use the CUPTI of CUDA 12.6 or later",
             {RefusalCause::not_available});
    return false;
  }
  const QuietHold hold(captures_, host_waits_, kAvailabilityPatience);
  if (!hold && hold.stream_waits() && ++failed_requests_ <= kAsksWhileInUse) {
    in_use_at_start_.store(true, std::memory_order_relaxed);
    return false;
  }
  if (!hold && hold.stream_waits()) {
    in_use_at_start_.store(false, std::memory_order_relaxed);
    rule_out(
        spool::Topic::counters_refused,
        "timeline only: whenever it was to be asked which counters are available, a stream of the program "
        "waited for the host, beside which it cannot be asked");
    return false;
  }
  if (!hold) {
    rule_out(spool::Topic::counters_refused,
             "timeline only: a stream capture of the program lasted for more than 10 s, and which counters "
             "are available "
             "cannot be asked beside one",
             {RefusalCause::stream_capture});
    return false;
  }
  std::vector<std::uint8_t> availability;
  const CUptiResult result = ask_counter_availability(api_, context, &availability);
  const bool in_use =
      may_pass(result) &&
      ++failed_requests_ <= (result == CUPTI_ERROR_HARDWARE_BUSY ? kAsksWhileInUse : kAsksAfterFailure);
  in_use_at_start_.store(in_use, std::memory_order_relaxed);
  if (in_use) return false;
  if (result != CUPTI_SUCCESS) {
    rule_out(
        spool::Topic::counters_refused,
        is_permission(result)
            ? permission_remedy()
            : "timeline only: CUPTI cannot tell which counters are available: " + api_.error_text(result) +
                  "; another recording or profiler may hold them, wait for it to end (DCGM: dcgmi profile "
                  "--pause)",
        refusal_of(result));
    return false;
  }
  std::lock_guard<std::mutex> guard(mutex_);
  chip_ = chip;
  if (device_id < kMaxDevices) devices_.fetch_or(std::uint64_t{1} << device_id);
  availability_ = std::move(availability);
  return true;
}

void Replay::add_device(std::uint32_t device_id, const std::string& chip) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (device_id < kMaxDevices && devices_.load() != 0 && chip == chip_)
    devices_.fetch_or(std::uint64_t{1} << device_id);
}

void Replay::prepare() noexcept {
  std::vector<CounterConfig> configs;
  std::vector<std::uint32_t> metric_ids;
  std::vector<std::size_t> first_metric;
  std::map<std::string, std::uint32_t> ids;
  std::size_t usable = 0;
  std::vector<ResolvedSet> all = resolve_metric_sets(api_, chip_, availability_.data(), sets_, &gate_);
  if (gate_.closed()) return;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const MetricSet& set = sets_[s];
    ResolvedSet& resolved = all[s];
    for (const std::string& left : resolved.left_out)
      message(Severity::warning, spool::Topic::metric_unavailable, set.name + " without " + left);
    first_metric.push_back(metric_ids.size());
    for (const CounterConfig::Metric& m : resolved.config.metrics()) {
      const auto [it, fresh] = ids.emplace(m.name, static_cast<std::uint32_t>(ids.size()) + 1);
      metric_ids.push_back(it->second);
      if (fresh) put_metric(writer_, it->second, m);
    }
    spool::CounterConfigRecord record{};
    record.config_id = static_cast<std::uint32_t>(configs.size()) + 1;
    record.name = writer_.intern(set.name);
    record.passes = resolved.config.passes();
    record.metric_count = static_cast<std::uint32_t>(resolved.config.metrics().size());
    writer_.put(record);
    for (std::size_t i = first_metric.back(); i < metric_ids.size(); ++i) {
      spool::CounterConfigMetricRecord member{};
      member.config_id = record.config_id;
      member.metric_id = metric_ids[i];
      writer_.put(member);
    }
    if (record.metric_count > 0) ++usable;
    configs.push_back(std::move(resolved.config));
  }
  if (usable == 0)
    return rule_out(spool::Topic::counters_refused, "timeline only: no metric is available on chip " + chip_,
                    {RefusalCause::not_available});
  {
    std::lock_guard<std::mutex> guard(mutex_);
    configs_ = std::move(configs);
    for (std::uint32_t i = 0; i < replay_sets_; ++i)
      if (!configs_[i].metrics().empty()) rotation_.push_back(&configs_[i]);
    for (std::uint32_t i = 0; i < replay_sets_; ++i)
      if (!configs_[i].metrics().empty()) stretch_configs_.push_back(i + 1);
    if (rotation_.size() > 1) joined_ = join_in_passes(api_, chip_, availability_.data(), rotation_);
    metric_ids_ = std::move(metric_ids);
    first_metric_ = std::move(first_metric);
    readiness_ = Readiness::ready;
    stretch_sets_.store(static_cast<std::uint32_t>(stretch_configs_.size()), std::memory_order_release);
  }
  ready_.notify_all();
}

std::uint32_t Replay::arm(const StepTracker::Step& step, bool counts, std::uint32_t thread_id, bool keep,
                          std::int64_t usual_ns) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  step_ = step;
  armed_ns_ = api_.now_ns();
  usual_ns_ = usual_ns;
  plan_step();
  if (!counts) way_ = counting::CountPlan::Way::nothing;
  stretch_done_.store(false, std::memory_order_relaxed);
  const std::uint32_t config = config_id(step);
  if (state_.load(std::memory_order_relaxed) == State::to_close && !close_given_up(thread_id)) {
    report(spool::CounterStatus::failed, kNotNow);
    return config;
  }
  keep_ = keep;
  left_over_.store(false, std::memory_order_relaxed);
  session_thread_ = thread_id;
  open_ns_ = in_calls_ns_ = closing_ns_ = 0;
  put_off_launches_ = 0;
  graph_launches_ = 0;
  graph_correlation_ids_.clear();
  in_doubt_.clear();
  under_way_.clear();
  graph_thread_ = 0;
  measured_ = 0;
  // What this thread keeps in events_ is not asked for again: a new step starts with a clean slate only as
  // far as the kernels are over, which the first launch finds out.
  peer_wait_exhausted_ = false;
  state_.store(State::armed, std::memory_order_release);
  return config;
}

void Replay::pay(bool whole) noexcept {
  if (armed_ns_ == 0) return;
  const std::int64_t took_ns = api_.now_ns() - armed_ns_;
  armed_ns_ = 0;
  std::int64_t cost_ns = in_step_ns();
  if (is_stretch(step_)) {
    // A call that counts waits for what the program had launched before, which it would have waited for later.
    double own_ns = 0;
    const LaunchSequence& launches = steps_.last();
    for (std::uint32_t i = 0; i < std::min(launches.count(), LaunchSequence::kCapacity); ++i)
      own_ns += planned(by_size_, launches[i], i).usual_ns;
    cost_ns = std::min(cost_ns, std::max<std::int64_t>(took_ns - static_cast<std::int64_t>(own_ns), 0));
  } else if (usual_ns_ > 0) {
    // Of a step that is given up the rest still comes.
    cost_ns = whole ? took_ns - usual_ns_ : std::max(cost_ns, took_ns - usual_ns_);
  }
  if (step_.phase != Phase::replay) return;
  count_plan_.spent(cost_ns);
  const std::int64_t now_ns = api_.now_ns();
  budget_.spend(cost_ns, now_ns - took_ns, now_ns);
}

void Replay::pay_for_samples(std::int64_t since_ns) noexcept {
  const std::int64_t now_ns = api_.now_ns();
  budget_.spend(now_ns - since_ns, since_ns, now_ns);
  const std::lock_guard<std::mutex> guard(mutex_);
  count_plan_.spent(now_ns - since_ns);
}

bool Replay::affords(std::int64_t ns) noexcept {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);  // whose holder may hang
  if (!lock.owns_lock()) return true;
  look_at_budget();
  return count_plan_.spent_ns() + ns <= count_plan_.spendable_ns();
}

void Replay::set_aside(std::uint64_t kernels) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::uint64_t of_all = budget_.kernels_of_all(kernels);
  const auto part_ns = [&](std::int64_t ns, double max_share) {
    return std::min(ns, static_cast<std::int64_t>(max_share * static_cast<double>(count_plan_.budget_ns())));
  };
  count_plan_.set_aside(part_ns(kBesideNs, kMaxBesideShare) +
                        part_ns(static_cast<std::int64_t>(of_all) * kBesideKernelNs, kMaxBesideKernelsShare));
}

void Replay::report_plan() noexcept try {
  if (chosen_in_all_ == 0) return;
  const auto summary = count_plan_.summary(0);
  message(Severity::info, spool::Topic::replay,
          std::to_string(chosen_in_all_) + " launches were counted, chosen from " +
              std::to_string(summary.kinds) + " kinds of launch within a budget of " +
              seconds(count_plan_.budget_ns()) + ", of which counting used " +
              seconds(count_plan_.own_spent_ns()) + "; the others of a kind have its values");
  chosen_in_all_ = 0;
} catch (...) {
}

void Replay::report(spool::CounterStatus status, std::string_view reason) noexcept {
  spool::CounterStepRecord record{};
  record.config_id = config_id(step_);
  record.step_index = step_.index;
  record.status = status;
  record.reason = writer_.intern_reserved(reason);
  record.launches_expected = steps_.last().count();
  record.open_ns = open_ns_;
  writer_.put_reserved(record);
  failures_.fetch_add(1, std::memory_order_relaxed);
  pay(false);
}

Verdict Replay::launch_enter(const LaunchCall& call) noexcept try {
  std::unique_lock<std::mutex> lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::to_close) {
    close_given_up(call.thread_id);
    return Verdict::not_asked;
  }
  if (state_.load(std::memory_order_relaxed) == State::to_finish) {
    const CaptureHold hold(captures_);
    if (!hold || !host_waits_over(call.thread_id)) return Verdict::not_asked;
    finish();
    steps_.release();
    return Verdict::not_asked;
  }
  if (state_.load(std::memory_order_relaxed) == State::idle) {
    if (left_over_.load(std::memory_order_relaxed)) close_left_over(call.thread_id);
    return Verdict::not_asked;
  }
  // A launch into a stream that is being captured becomes part of a graph, and so would calls of ours.
  if (driver_.captures(call.stream)) return Verdict::not_asked;

  watch_.begin({call.name, call.kernel_id, step_.index}, call.thread_id, api_.now_ns());
  Verdict verdict = Verdict::not_asked;
  const bool armed = state_.load(std::memory_order_relaxed) == State::armed;
  if (armed && makes_stream_wait(call)) {
    ++put_off_launches_;  // another launch opens the session
  } else if (armed) {
    std::string why;
    auto status = spool::CounterStatus::failed;
    bool later = false;  // a launch to come opens the session
    const Awaited awaited = await_readiness(lock);
    watch_.restart(call.thread_id, api_.now_ns());
    if (awaited == Awaited::put_off) {
      later = true;
    } else if (awaited == Awaited::too_late) {
      why = "the counters were not ready after 10 s; give the schedule more warm-up steps";
    } else if (gate_.closed()) {
      why = "the program ended inside this step";
    } else if (readiness_ == Readiness::ruled_out) {
      why = ruled_out_reason_;
      status = spool::CounterStatus::not_available;
    } else if (state_.load(std::memory_order_relaxed) == State::armed) {
      const CaptureHold hold(captures_);
      later = !hold || !host_waits_over(call.thread_id);
      if (!later && open(call, &why, &status)) {
        session_thread_ = call.thread_id;
        state_.store(State::collecting, std::memory_order_release);
      }
    }
    if (later) ++put_off_launches_;
    // Another thread may have been let in while this one waited.
    if (!later && state_.load(std::memory_order_relaxed) == State::armed) {
      close();
      if (std::exchange(in_use_elsewhere_, false) && put_off_ && put_off_()) {
        armed_ns_ = 0;
      } else {
        report(status, why);
      }
      state_.store(State::idle, std::memory_order_release);
    }
  }
  if (state_.load(std::memory_order_relaxed) == State::collecting) verdict = measure(call);
  if (verdict != Verdict::measured) watch_.end(call.thread_id);
  return verdict;
} catch (...) {  // out of memory
  watch_.end(call.thread_id);
  std::lock_guard<std::mutex> guard(mutex_);
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::armed || state == State::collecting) give_up_step("out of memory while counting");
  return Verdict::not_asked;
}

// Not while a stream waits for the host: for this very thread, it may be, and so would the agent's own.
Replay::Awaited Replay::await_readiness(std::unique_lock<std::mutex>& lock) {
  const auto decided = [&] { return readiness_ != Readiness::pending || gate_.closed(); };
  const auto until = std::chrono::steady_clock::now() + kReadyTimeout;
  while (!decided()) {
    if (host_waits_.coming() || host_waits_.pending()) return Awaited::put_off;
    if (std::chrono::steady_clock::now() >= until) return Awaited::too_late;
    ready_.wait_for(lock, kReadyLook, decided);
  }
  return Awaited::decided;
}

bool Replay::open(const LaunchCall& call, std::string* why, spool::CounterStatus* status) {
  const std::int64_t start_ns = api_.now_ns();
  const std::uint32_t id = config_id(step_);
  if (id == 0 || configs_[id - 1].metrics().empty()) {
    *why = "no metric of this configuration is available on " + chip_;
    *status = spool::CounterStatus::not_available;
    return false;
  }
  if (way_ == counting::CountPlan::Way::nothing) {
    *why = why_nothing(count_plan_);
    *status = spool::CounterStatus::not_available;
    return false;
  }
  const LaunchSequence* reference = this->reference();
  if (reference != nullptr) {
    *why = why_not_replayable(*reference);
    if (!why->empty()) {
      *status = spool::CounterStatus::not_available;
      return false;
    }
  }
  std::uint32_t device_id = 0;
  if (api_.get_device_id(call.context, &device_id) != CUPTI_SUCCESS || device_id >= kMaxDevices ||
      (devices_.load() >> device_id & 1) == 0) {
    *why = "the step launches on device " + std::to_string(device_id) + ", and counters were prepared for " +
           chip_ + " alone";
    *status = spool::CounterStatus::not_available;
    return false;
  }
  if (step_.phase == Phase::cold && !eviction_.prepare(why)) {
    message(Severity::warning, spool::Topic::replay, name_of_step(step_.index) + ", cold caches: " + *why);
    *status = spool::CounterStatus::not_available;
    return false;
  }
  const Ranges way = counting_mode(step_);
  if (session_.enabled() && (context_ != call.context || !session_.serves(configs_[id - 1], way) ||
                             (session_.rotates() && !may_rotate(step_))))
    close_session();
  context_ = call.context;
  CounterSession::Failure failure;
  intervals_.open(start_ns);
  bool opened = session_.enabled();
  if (!opened) {
    std::uint32_t expected = 0;
    if (reference != nullptr)
      expected = way == Ranges::graphs ? reference->graph_launches() : steps_.max_launches();
    if (way_ == counting::CountPlan::Way::some) expected = count_plan_.chosen();
    if (configs_[id - 1].instrumented()) stop_tracing();
    // A rotation begins with its first set; broken, it begins anew when that comes round.
    if (may_rotate(step_) && joined_.passes() > 1 && rotation_.front() == &configs_[id - 1])
      opened = session_.enable_rotation(call.context, joined_, rotation_, expected, &failure);
    else
      opened = session_.enable(call.context, configs_[id - 1], way, expected, &failure);
  }
  if (opened && session_.rotates()) session_.begin(configs_[id - 1]);
  // Started here and not at the first measured launch: permission shows now.
  if (opened && settled(call.thread_id)) opened = session_.run(&failure);
  open_ns_ = api_.now_ns() - start_ns;
  session_open_.store(session_.enabled(), std::memory_order_release);
  if (opened) return true;
  const bool permission = is_permission(failure.result);
  *why = permission ? permission_remedy()
                    : std::string(failure.what) + " failed: " + api_.error_text(failure.result);
  in_use_elsewhere_ = failure.result == CUPTI_ERROR_HARDWARE_BUSY;
  if (in_use_elsewhere_) *why += "; another process or profiler has the counters";
  if (!in_use_elsewhere_)
    message(Severity::warning, permission ? spool::Topic::counters_refused : spool::Topic::replay,
            permission ? *why : name_of_step(step_.index) + ": " + *why, refusal_of(failure.result));
  if (permission) {
    readiness_ = Readiness::ruled_out;
    ruled_out_reason_ = *why;
  }
  if (!in_use_elsewhere_) note_failure(failure.result);
  return false;
}

Verdict Replay::measure(const LaunchCall& call) {
  if (call.context != context_) return Verdict::unmeasured;  // the step's end says so
  // The capture under way has paused the session, or will before it begins.
  if (!captures_.hold_launch()) return session_.running() ? Verdict::not_asked : Verdict::unmeasured;
  struct Held {
    CaptureWatch* captures;
    ~Held() {
      if (captures != nullptr) captures->release_launch();
    }
  } held{&captures_};
  const Verdict verdict = measure_held(call);
  if (verdict == Verdict::measured) held.captures = nullptr;  // launch_exit() gives it back
  return verdict;
}

Verdict Replay::measure_held(const LaunchCall& call) {
  CounterSession::Failure failure;
  const auto pause = [&](Verdict verdict) {
    if (session_.marks_kernels() && !call.graph) return verdict;  // outside a range nothing is measured
    const std::int64_t start_ns = api_.now_ns();
    const bool paused = session_.pause(&failure);
    in_calls_ns_ += api_.now_ns() - start_ns;
    if (paused) return verdict;
    fail_step(failure);
    return Verdict::not_asked;
  };
  if (call.graph) {
    const std::uint32_t number = graph_launches_++;
    graph_correlation_ids_.push_back(0);
    if (makes_stream_wait(call) || !session_.counts_graphs() || !within_budget() || !settled(call.thread_id))
      return pause(Verdict::unmeasured);
    const std::int64_t since_ns = api_.now_ns();
    if (!session_.run(&failure) || !session_.push_range(std::to_string(number).c_str(), &failure)) {
      fail_step(failure);
      return Verdict::not_asked;
    }
    session_.count_launch();
    graph_correlation_ids_.back() = call.correlation_id;
    graph_thread_ = call.thread_id;
    watch_.runs(call.thread_id, api_.now_ns(), 0);
    in_calls_ns_ += api_.now_ns() - since_ns;
    return Verdict::measured;
  }
  std::optional<Exclusions::Reason> excluded = exclusions_.added(call.kernel_id);
  if (!excluded && call.name != nullptr) excluded = exclusions_.by_name(call.name);
  if (!excluded && call.several_devices) excluded = Exclusions::Reason::cooperative;
  if (excluded) {
    exclusions_.used(call.kernel_id, *excluded);
    return pause(Verdict::excluded);
  }
  // Between two ranges of graphs nothing is measured anyway.
  if (session_.counts_graphs()) return Verdict::unmeasured;
  if (session_.marks_kernels() && !under_way_.empty()) {  // inside another thread's range
    for (const UnderWay& other : under_way_) in_doubt_.insert(other.number);
    return Verdict::unmeasured;
  }
  if (is_stretch(step_) && !call.waits_for_nothing) return Verdict::not_asked;
  const SequenceEntry launch{call.kernel_id, call.grid_x, call.grid_y, call.grid_z};
  const auto [kind, usual_ns] = planned(by_size_, launch, steps_.last().count());
  const counting::Kind before = kind_before();
  if (way_ == counting::CountPlan::Way::some && !(within_budget() && count_plan_.wants(kind, before)))
    return Verdict::not_asked;  // outside a range nothing is measured
  if (!within_budget()) {
    if (!session_.rotates()) return pause(Verdict::unmeasured);
    give_up_step(budget_used(count_plan_));
    return Verdict::not_asked;
  }
  const std::int64_t since_ns = api_.now_ns();
  if (!settled(call.thread_id)) return pause(Verdict::unmeasured);
  if (!session_.run(&failure)) {
    fail_step(failure);
    return Verdict::not_asked;
  }
  if (step_.phase == Phase::cold && !eviction_.evict(call.stream)) {
    fail_step({"evicting the caches", CUPTI_ERROR_UNKNOWN});
    return Verdict::not_asked;
  }
  if (session_.marks_kernels() && !session_.push_range(std::to_string(measured_).c_str(), &failure)) {
    fail_step(failure);
    return Verdict::not_asked;
  }
  session_.count_launch();
  if (step_.phase == Phase::replay) {
    count_plan_.counted(kind, before);
    // A stretch to come need not count it again.
    if (!by_size_ && steps_.vary()) count_plan_.counted(size_kind_of(launch), 0);
  }
  if (way_ == counting::CountPlan::Way::some) ++chosen_in_all_;
  if (count_plan_.satisfied()) stretch_done_.store(true, std::memory_order_relaxed);
  note_under_way(call.thread_id, usual_ns, since_ns);
  watch_.runs(call.thread_id, api_.now_ns(), static_cast<std::int64_t>(usual_ns));
  return Verdict::measured;
}

// CUPTI numbers its ranges in the order in which the driver takes the launches, which of launches on several
// threads at once is not known: what is measured of those belongs to one of them, and nobody can say to which.
void Replay::note_under_way(std::uint32_t thread_id, double usual_ns, std::int64_t since_ns) {
  const std::uint32_t number = measured_++;
  if (!under_way_.empty()) {
    for (const UnderWay& other : under_way_) in_doubt_.insert(other.number);
    in_doubt_.insert(number);
  }
  under_way_.push_back({thread_id, number, usual_ns, since_ns});
}

// False if the step that measured it ended meanwhile: another may have begun, whose ranges are not this launch's.
bool Replay::comes_back(const LaunchCall& call) noexcept {
  if (call.graph) {
    const bool mine = graph_thread_ == call.thread_id;
    if (mine) graph_thread_ = 0;
    return mine;
  }
  const auto mine = std::find_if(under_way_.begin(), under_way_.end(),
                                 [&](const UnderWay& launch) { return launch.thread_id == call.thread_id; });
  if (mine == under_way_.end()) return false;
  // The kernel itself would have taken its time anyway.
  const auto own_ns = static_cast<std::int64_t>(mine->usual_ns);
  in_calls_ns_ += std::max<std::int64_t>(api_.now_ns() - mine->since_ns - own_ns, 0);
  under_way_.erase(mine);
  return true;
}

void Replay::launch_exit(const LaunchCall& call, Verdict verdict) noexcept {
  if (verdict == Verdict::measured) watch_.end(call.thread_id);
  if (verdict == Verdict::unmeasured) return;
  // The hold of measure() is given back last, when the range is closed.
  const struct Held {
    CaptureWatch* captures;
    ~Held() {
      if (captures != nullptr) captures->release_launch();
    }
  } held{verdict == Verdict::measured ? &captures_ : nullptr};
  std::lock_guard<std::mutex> guard(mutex_);
  const bool of_this_step = verdict == Verdict::measured && comes_back(call);
  if (state_.load(std::memory_order_relaxed) != State::collecting || call.context != context_) return;
  if (verdict == Verdict::measured) {
    CounterSession::Failure failure;
    if (of_this_step && (call.graph || session_.marks_kernels()) && !session_.pop_range(&failure))
      fail_step(failure);
    return;
  }
  // An excluded kernel is under way.
  const bool first = events_pending_ == 0;
  if (!watch(call.stream)) return fail_step({"watching an excluded kernel", CUPTI_ERROR_UNKNOWN});
  const bool collective = exclusions_.added(call.kernel_id) == Exclusions::Reason::name;
  collectives_pending_ = collective && (collectives_pending_ || first);
}

bool Replay::step_end(std::uint32_t thread_id) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  switch (state_.load(std::memory_order_relaxed)) {
    case State::idle:
    case State::to_finish:
    case State::to_close:
      return true;
    case State::armed:
      report(spool::CounterStatus::failed, put_off_launches_ > 0 ? kPutOff : "the step launched no kernel");
      state_.store(State::idle, std::memory_order_release);
      return true;
    case State::collecting:
      break;
  }
  // CUPTI wants the context current, which it is on the thread that launched.
  const CaptureHold hold(captures_);
  if (thread_id != session_thread_ || !hold || !host_waits_over(thread_id)) {
    state_.store(State::to_finish, std::memory_order_release);
    return false;
  }
  finish();
  return true;
}

void Replay::finish() noexcept {
  const std::int64_t start_ns = api_.now_ns();
  Job job;
  job.step = step_;
  job.record.status = spool::CounterStatus::ok;
  job.record.config_id = config_id(step_);
  job.record.step_index = step_.index;
  job.record.launches_expected = steps_.last().count();
  job.record.open_ns = open_ns_;
  try {
    collect(&job);
  } catch (...) {
    job.record.status = spool::CounterStatus::failed;
    job.reason = "out of memory while reading the counters";
  }
  job.graphs = session_.counts_graphs();
  job.marked = session_.marks_kernels();
  job.by_size = by_size_;
  const bool last = steps_.held();  // a recording window closes after this step
  if (!keep_ || last || job.record.status == spool::CounterStatus::failed) close();
  if (step_.next_phase != Phase::cold || last) eviction_.release();
  intervals_.close(api_.now_ns());
  job.record.finish_ns = closing_ns_ = api_.now_ns() - start_ns;
  finished_ns_ = api_.now_ns();
  if (job.record.status == spool::CounterStatus::ok) failures_of_cupti_ = 0;
  if (job.record.status == spool::CounterStatus::ok)
    failures_.store(0, std::memory_order_relaxed);
  else
    failures_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t fixed_ns = open_ns_ + closing_ns_;
  const std::int64_t spent_before_ns = count_plan_.own_spent_ns();
  pay(true);
  const std::int64_t cost_ns = count_plan_.own_spent_ns() - spent_before_ns;
  if (step_.phase == Phase::replay)
    count_plan_.learn(way_, measured_, static_cast<double>(fixed_ns),
                      static_cast<double>(cost_ns - fixed_ns));
  if (step_.next_phase != Phase::replay || last) report_plan();
  state_.store(State::idle, std::memory_order_release);
  try {
    std::lock_guard<std::mutex> guard(jobs_mutex_);
    jobs_.push_back(std::move(job));
    jobs_open_.fetch_add(1, std::memory_order_release);
  } catch (...) {
    report(spool::CounterStatus::failed, "out of memory while reading the counters");
  }
}

void Replay::collect(Job* job) {
  auto fail = [&](spool::CounterStatus status, const std::string& why) {
    job->record.status = status;
    job->reason = why;
    session_.take_segments();
  };
  // A range that is cut short has not all of its kernel.
  for (const UnderWay& launch : under_way_) in_doubt_.insert(launch.number);
  CounterSession::Failure failure;
  if (!session_.end(&failure)) {
    note_failure(failure.result);
    return fail(spool::CounterStatus::failed,
                std::string(failure.what) + " failed: " + api_.error_text(failure.result));
  }
  const LaunchSequence& launches = steps_.last();
  if (std::string why = why_not_replayable(launches); !why.empty())
    return fail(spool::CounterStatus::not_available, why);
  if (session_.dropped() > 0)
    return fail(spool::CounterStatus::failed, std::to_string(session_.dropped()) + " ranges were dropped");
  job->launches.reserve(launches.count());
  for (std::uint32_t i = 0; i < launches.count(); ++i) job->launches.push_back(launches[i]);
  job->graph_correlation_ids = graph_correlation_ids_;
  job->in_doubt = std::exchange(in_doubt_, {});
  job->segments = session_.take_segments();
}

void Replay::close_session() noexcept {
  if (const CUptiResult r = session_.disable(); r != CUPTI_SUCCESS) {
    message(Severity::warning, spool::Topic::replay, "disabling counters failed: " + api_.error_text(r));
    give_up_counting("counters could not be switched off");
  }
  session_open_.store(false, std::memory_order_release);
  if (untraced_.exchange(false))
    if (const CUptiResult r = trace_kernels(true); r != CUPTI_SUCCESS)
      message(Severity::error, spool::Topic::timeline_refused,
              "kernels are no longer traced after counting instructions: " + api_.error_text(r));
}

// While kernels are traced, CUPTI runs their unpatched code: every count would be 0. What was launched before
// runs to its end first, so that its records are whole.
void Replay::stop_tracing() noexcept {
  if (driver_.ctx_synchronize != nullptr) driver_.ctx_synchronize();
  if (trace_kernels(false) == CUPTI_SUCCESS) untraced_.store(true);
}

CUptiResult Replay::trace_kernels(bool on) noexcept {
  try {
    return trace_kernels_ ? trace_kernels_(on) : CUPTI_ERROR_NOT_INITIALIZED;
  } catch (...) {
    return CUPTI_ERROR_UNKNOWN;
  }
}

void Replay::close() noexcept {
  close_session();
  session_.drop_spares();
  intervals_.close(api_.now_ns());
  eviction_.release();
  context_ = nullptr;
}

// They are of a context that is gone, or of another than counters are open on now.
void Replay::forget_events() noexcept {
  events_.clear();
  events_pending_ = 0;
  events_context_ = nullptr;
}

void Replay::context_destroyed(CUcontext context) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  if (context == events_context_) forget_events();  // also if no counters are open on it any more
  if (context != context_) return;
  const State state = state_.load(std::memory_order_relaxed);
  eviction_.forget();
  close();
  if (state == State::to_close) return state_.store(State::idle, std::memory_order_release);
  if (state != State::collecting && state != State::to_finish) return;
  report(spool::CounterStatus::failed, "the program destroyed its context inside the step");
  state_.store(State::idle, std::memory_order_release);
  if (state == State::to_finish) steps_.release();
}

void Replay::abandon() noexcept {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const State state = state_.load(std::memory_order_relaxed);
  report_plan();
  if (state == State::idle) return;
  if (state != State::to_close) report(spool::CounterStatus::failed, "the program ended inside this step");
  state_.store(State::idle, std::memory_order_release);
}

}  // namespace ridgeline::agent
