#include "session/interventions.h"

#include "cupti/launch_params.h"

namespace ridgeline::agent {
namespace {

constexpr std::size_t kMaxSeen = LaunchSequence::kCapacity;

bool is_cooperative(CUpti_CallbackId id) noexcept {
  return id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
         id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz ||
         id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice;
}

}  // namespace

Interventions::Interventions(SessionState& parts)
    : session_(parts), requests_(parts.settings.interventions), kernel_(parts.driver) {
  seed_ = parts.settings.intervention_seed;
  if (seed_ == 0) seed_ = static_cast<std::uint64_t>(realtime_ns()) >> 10 | 1;
}

// The schedule's last phase, if it is of warm-up and another came before it. By the numbers of warm-up steps: steps
// beside the schedule move all indices.
bool Interventions::is_own_step(const StepTracker::Step& step) const noexcept {
  const Schedule& schedule = session_.settings.schedule;
  if (schedule.phase_count < 2 || step.phase != Phase::warmup) return false;
  const ScheduledPhase& last = schedule.phases[schedule.phase_count - 1];
  return last.phase == Phase::warmup && step.phase_steps == last.steps &&
         step.number_in_phase + step.steps_left == step.steps_in_phase &&
         step.number_in_phase + std::uint64_t{last.steps} >= step.steps_in_phase;
}

void Interventions::on_step_begin(const StepTracker::Step& step, std::int64_t usual_step_ns) noexcept {
  if (!asked() || given_up_.load(std::memory_order_relaxed)) return;
  if (step.phase == Phase::timeline && step.phase_steps == 0) return begin_step_of_block();
  if (!is_own_step(step)) return;
  // One thing at a time: counters and samples want the device for themselves.
  if (session_.counters_in_use()) return;
  try {
    if (!plan_ && seen_.empty()) {
      doing_.store(Doing::looking, std::memory_order_release);
      return;
    }
    if (!plan_) make_plan(usual_step_ns);
    if (!plan_) return;
    drawn_ = !drawn_;
    draw_ = drawn_ ? plan_->next() : InterventionPlan::Draw{};
    doing_.store(Doing::delaying, std::memory_order_release);
  } catch (...) {
    give_up("no memory is left");
  }
}

void Interventions::begin_step_of_block() noexcept {
  const std::uint32_t blocks = session_.settings.intervention_blocks;
  if (!plan_ || block_ >= blocks || session_.counters_in_use()) return;
  const std::int64_t now_ns = session_.now_ns();
  if (block_start_ns_ == 0) {
    block_delayed_ = plan_->first_block_is_delayed();
    block_start_ns_ = now_ns;
  } else if (now_ns - block_start_ns_ >= std::int64_t{session_.settings.intervention_block_ms} * 1'000'000) {
    if (++block_ >= blocks) return;
    block_delayed_ = !block_delayed_;
    block_start_ns_ = now_ns;
  }
  drawn_ = false;
  draw_ = block_delayed_ ? plan_->delay_of_blocks() : InterventionPlan::Draw{};
  doing_.store(Doing::delaying, std::memory_order_release);
}

void Interventions::make_plan(std::int64_t usual_step_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<std::string> missed;
  std::vector<InterventionTarget> targets =
      InterventionPlan::targets(requests_, seen_, usual_step_ns, &missed);
  for (const std::string& pattern : missed) {
    std::string text = "no launch is delayed for '";
    text.append(pattern).append(
        "': no kernel of the step that may be delayed has such a part of its mangled name");
    session_.message(Severity::warning, spool::Topic::configuration, text);
  }
  if (targets.empty()) {
    give_up("no launch of the step may be delayed");
    return;
  }
  plan_.emplace(std::move(targets), seed_);
  // Names are the program's, and are not looked at again.
  seen_.clear();
  seen_.shrink_to_fit();
}

bool Interventions::may_delay(const ThreadState& thread, CUpti_CallbackId id,
                              std::uint32_t kernel_id) const noexcept {
  return kernel_id != 0 && !thread.launch_collective && !is_graph_launch(id) && !is_cooperative(id) &&
         !session_.exclusions.added(kernel_id);
}

void Interventions::look_at(const ThreadState& thread, CUpti_CallbackId id,
                            const CUpti_CallbackData& data) noexcept {
  if (data.symbolName == nullptr || !may_delay(thread, id, thread.launch_kernel_id)) return;
  const LaunchArguments& launch = thread.launch;
  const SequenceEntry entry{thread.launch_kernel_id, launch.grid_x, launch.grid_y, launch.grid_z};
  try {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (seen_.size() < kMaxSeen)
      seen_.push_back({session_.steps.current().count(), thread.launch_kernel_id, data.symbolName,
                       session_.times.by_grid.of(entry.kind()).mean_ns()});
    if (!kernel_.ready()) prepare(data.context);
  } catch (...) {
    give_up("no memory is left");
  }
}

// With the mutex held. False: not now, or never if it was given up.
bool Interventions::prepare(CUcontext context) noexcept {
  const QuietHold quiet(session_.captures, session_.host_waits);
  if (!quiet) return false;
  std::string why;
  if (!kernel_.prepare(&why)) {
    give_up(why);
    return false;
  }
  context_ = context;
  return true;
}

void Interventions::launch_enter(ThreadState& thread, CUpti_CallbackId id,
                                 const CUpti_CallbackData& data) noexcept {
  thread.delay_target = 0;
  const Doing doing = doing_.load(std::memory_order_acquire);
  if (doing == Doing::nothing || session_.steps.active() == spool::kNoStep) return;
  const AgentCall call{session_.gate, thread};
  if (!call) return;
  if (doing == Doing::looking) {
    look_at(thread, id, data);
    return;
  }
  const std::uint32_t position = session_.steps.current().count();
  const auto& targets = plan_->targets();
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    if (targets[i].position != position || targets[i].kernel_id != thread.launch_kernel_id) continue;
    if (!may_delay(thread, id, thread.launch_kernel_id)) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!kernel_.ready() && !prepare(data.context)) return;
    if (data.context == context_) delay(thread, i, thread.launch.stream);
    return;
  }
}

void Interventions::delay(ThreadState& thread, std::uint32_t target, CUstream stream) noexcept {
  const bool chosen = draw_.target == target;
  const std::int64_t level_ns = chosen ? draw_.level_ns : 0;
  thread.delay_correlation_id = 0;
  thread.delaying = true;
  const CUresult result = kernel_.launch(stream, static_cast<std::uint64_t>(level_ns));
  thread.delaying = false;
  if (result != CUDA_SUCCESS) {
    give_up("the driver refuses to launch the kernel that delays (CUDA error " +
            std::to_string(static_cast<int>(result)) + ")");
    return;
  }
  thread.delay_target = target + 1;
  thread.delay_level_ns = level_ns;
  thread.delay_drawn = drawn_;
}

void Interventions::launch_exit(ThreadState& thread, const spool::LaunchRecord& launch,
                                bool failed) noexcept {
  if (thread.delay_target == 0) return;
  const std::uint32_t target = thread.delay_target - 1;
  thread.delay_target = 0;
  if (failed || launch.step_index == spool::kNoStep) return;
  spool::InterventionRecord record{};
  if (thread.delay_drawn) record.header.flags |= spool::kInterventionDrawn;
  record.launch_correlation_id = launch.correlation_id;
  record.delay_correlation_id = thread.delay_correlation_id;
  record.step_index = launch.step_index;
  record.step_ordinal = launch.step_ordinal;
  record.kernel_id = thread.launch_kernel_id;
  record.target = target;
  record.level_ns = thread.delay_level_ns;
  record.seed = seed_;
  session_.writer.put(record);
}

void Interventions::context_destroyed(CUcontext context) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (context != context_) return;
  context_ = nullptr;
  kernel_.forget();
}

void Interventions::give_up(const std::string& why) noexcept {
  doing_.store(Doing::nothing, std::memory_order_release);
  if (given_up_.exchange(true)) return;
  try {
    session_.message(Severity::warning, spool::Topic::steps, "launches are not delayed any more: " + why);
  } catch (...) {
    session_.totals.add(&Count::callback_errors);
  }
}

}  // namespace ridgeline::agent
