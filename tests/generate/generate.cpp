#include "generate/generate.h"

#include <algorithm>
#include <array>

namespace ridgeline::generate {

namespace {

constexpr std::int64_t kPairs = 20'000;
constexpr std::int64_t kGridsPerKernel = 10;
constexpr int kWarmupSteps = 2;
constexpr int kTimelineSteps = 12;  // of the shape `after`
constexpr std::int64_t kPathsOfOps = 48;

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // From 0 up to, but without, 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Base duration of a kernel with a grid, 3 to 200 µs, the same in every step.
// Programs whose CPU is the pace, like Hugging Face's GPT-2 and a Llama that writes a token.
constexpr std::int64_t kEagerLaunches = 1153;
constexpr std::int64_t kDecodeLaunches = 755;
constexpr std::size_t kLongLaunches = 11;
constexpr std::int64_t kDecodePause_ns = 38'700'000;

std::int64_t base_duration_ns(std::uint32_t kernel, std::uint32_t grid) {
  Random random(kernel * 1000003ULL + grid);
  const double u = random.uniform();
  return static_cast<std::int64_t>(3000 + 197'000 * u * u * u);
}

struct Plan {
  std::int64_t launches_per_step = 0;
  std::int64_t timeline_steps = 0;
  std::int64_t after_steps = 0;
};

Plan plan_of(const Options& options) {
  Plan plan;
  plan.launches_per_step = options.launches_per_step > 0      ? options.launches_per_step
                           : options.shape == Shape::one_step ? options.launches
                           : options.shape == Shape::pairs    ? std::min(kPairs, options.launches)
                           : options.shape == Shape::eager    ? kEagerLaunches
                           : options.shape == Shape::decode   ? kDecodeLaunches
                                                              : 300;
  plan.launches_per_step =
      std::clamp<std::int64_t>(plan.launches_per_step, 1, std::max<std::int64_t>(options.launches, 1));
  std::int64_t steps = (options.launches + plan.launches_per_step - 1) / plan.launches_per_step;
  if (options.shape == Shape::one_step) {
    plan.timeline_steps = 1;
    return plan;
  }
  steps = std::max<std::int64_t>(1, steps - kWarmupSteps - options.sample_steps - options.replay_steps);
  plan.timeline_steps = options.shape == Shape::after ? std::min<std::int64_t>(kTimelineSteps, steps) : steps;
  plan.after_steps = steps - plan.timeline_steps;
  return plan;
}

std::string mangled(const std::string& name) {
  return "_Z" + std::to_string(name.size()) + name + "PKfPfi";
}

Description describe(const Options& options, const Plan& plan) {
  static constexpr std::array kFamilies = {"gemm",       "layernorm_forward", "gelu",    "attention_forward",
                                           "reduce_sum", "adamw_update",      "encoder", "softmax"};
  Description description;
  description.options = options;
  const std::int64_t kernels =
      options.shape == Shape::pairs ? plan.launches_per_step / kGridsPerKernel + 1 : 32;
  for (std::int64_t i = 0; i < kernels; ++i) {
    const auto family = kFamilies[static_cast<std::size_t>(i) % kFamilies.size()];
    description.kernels.push_back(
        {static_cast<std::uint32_t>(i + 1), mangled(std::string(family) + "_kernel_" + std::to_string(i))});
  }
  description.paths.push_back({1, 0, "step"});
  for (std::uint32_t i = 0; i < kPathsOfOps; ++i)
    description.paths.push_back({i + 2, 1, "op " + std::to_string(i)});
  const bool one = options.shape == Shape::one_step;
  const auto add = [&](const char* phase, std::int64_t steps) {
    if (steps == 0) return;
    description.schedule +=
        (description.schedule.empty() ? "" : ",") + std::string(phase) + "=" + std::to_string(steps);
  };
  add("warmup", one ? 0 : kWarmupSteps);
  add("timeline", plan.timeline_steps);
  add("sample", one ? 0 : options.sample_steps);
  add("replay", one ? 0 : options.replay_steps);
  description.first_sample_step = static_cast<std::uint32_t>(kWarmupSteps + plan.timeline_steps);
  return description;
}

class Generator {
 public:
  Generator(const Description& description, const Plan& plan, int process)
      : description_(description),
        options_(description.options),
        plan_(plan),
        random_(options_.seed * 7919 + static_cast<std::uint64_t>(process)) {}

  std::int64_t run(Sink& sink) {
    const bool one = options_.shape == Shape::one_step;
    if (!one) emit(sink, Phase::warmup, kWarmupSteps);
    emit(sink, Phase::timeline, plan_.timeline_steps);
    if (!one) emit(sink, Phase::sample, options_.sample_steps);
    if (!one) emit(sink, Phase::replay, options_.replay_steps);
    emit(sink, Phase::after, plan_.after_steps);
    return launches_;
  }

 private:
  void emit(Sink& sink, Phase phase, std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool outlier = phase == Phase::timeline && options_.outlier_every > 0 &&
                           i % options_.outlier_every == options_.outlier_every - 1;
      const auto configuration = phase == Phase::replay ? static_cast<std::uint32_t>(i % 2 + 1) : 0;
      if (options_.shape == Shape::eager || options_.shape == Shape::decode) {
        fill_by_cpu(phase, configuration);
      } else {
        fill(phase, configuration, outlier ? 1.5 : 1.0);
      }
      sink.step(step_);
    }
  }

  void fill(Phase phase, std::uint32_t configuration, double slowness) {
    step_.index = next_index_++;
    step_.phase = phase;
    step_.configuration = configuration;
    step_.host_start_ns = now_;
    step_.copy_start_ns = now_ + 1000;
    step_.copy_end_ns = now_ + 3000;
    now_ += 5000;
    ++correlation_;  // the copy's
    step_.launches.resize(static_cast<std::size_t>(plan_.launches_per_step));
    std::int64_t host = step_.host_start_ns + 1000;
    for (std::size_t i = 0; i < step_.launches.size(); ++i) {
      GeneratedLaunch& launch = step_.launches[i];
      if (options_.shape == Shape::pairs) {
        launch.kernel = static_cast<std::uint32_t>(i / kGridsPerKernel + 1);
        launch.grid_x = static_cast<std::uint32_t>(64 * (i % kGridsPerKernel + 1));
      } else {
        launch.kernel = static_cast<std::uint32_t>((i * 7) % description_.kernels.size() + 1);
        launch.grid_x = static_cast<std::uint32_t>(64 * (i % 5 + 1));
      }
      launch.path = options_.ranges ? static_cast<std::uint32_t>(i % kPathsOfOps) + 2 : 1;
      launch.correlation_id = correlation_;
      launch.stream = 7;
      correlation_ += 3;  // other calls of the driver in between
      launch.host_start_ns = host;
      launch.host_end_ns = host + 2500 + static_cast<std::int64_t>(random_.next() % 1000);
      host = launch.host_end_ns + 500;
      const double noise = 1.0 + 0.02 * (random_.uniform() - 0.5);
      const auto duration = static_cast<std::int64_t>(
          static_cast<double>(base_duration_ns(launch.kernel, launch.grid_x)) * noise * slowness);
      launch.start_ns = std::max(now_, launch.host_end_ns + 1500);
      launch.end_ns = launch.start_ns + duration;
      now_ = launch.end_ns + 800 + static_cast<std::int64_t>(random_.next() % 400);
    }
    step_.host_end_ns = host;
    if (options_.order) order();
    launches_ += plan_.launches_per_step;
    now_ = std::max(now_, host) + 2000;
  }

  // Each tenth launch is the side stream's: it waits for the launch before it, and the one after it for it. One piece
  // of memory is taken for the step, another of twice the size for half of it.
  void order() {
    step_.order.clear();
    step_.memory.clear();
    const auto add = [&](const GeneratedLaunch& after, std::uint32_t offset, StreamCall call,
                         std::uint32_t stream, std::uint64_t event) {
      step_.order.push_back(
          {after.correlation_id + offset, after.host_end_ns + 100 * offset, call, stream, event});
    };
    for (std::size_t i = 5; i + 1 < step_.launches.size(); i += 10) {
      GeneratedLaunch& side = step_.launches[i];
      side.stream = kSideStream;
      add(step_.launches[i - 1], 1, StreamCall::event_record, 7, i);
      add(step_.launches[i - 1], 2, StreamCall::event_wait, kSideStream, i);
      add(side, 1, StreamCall::event_record, kSideStream, i + 1);
      add(side, 2, StreamCall::event_wait, 7, i + 1);
    }
    const auto memory = [&](const GeneratedLaunch& after, std::uint32_t offset, MemoryCall call,
                            std::uint64_t address, std::int64_t bytes) {
      step_.memory.push_back(
          {after.correlation_id + offset, after.host_end_ns + 100 * offset, call, address, bytes});
    };
    const GeneratedLaunch& first = step_.launches.front();
    const GeneratedLaunch& last = step_.launches.back();
    memory(first, 1, MemoryCall::allocate, 0x1000, 1 << 20);
    memory(first, 2, MemoryCall::allocate_async, 0x2000, 2 << 20);
    memory(last, 1, MemoryCall::free_async, 0x2000, 0);
    memory(last, 2, MemoryCall::free, 0x1000, 0);
  }

  // The CPU is the pace: the GPU has done each kernel long before the next comes, but for the last few.
  void fill_by_cpu(Phase phase, std::uint32_t configuration) {
    const bool eager = options_.shape == Shape::eager;
    step_.index = next_index_++;
    step_.phase = phase;
    step_.configuration = configuration;
    std::int64_t host = now_;
    step_.host_start_ns = host;
    step_.copy_start_ns = host + 1000;
    step_.copy_end_ns = host + 3000;
    std::int64_t idle = host + 4000;
    ++correlation_;
    step_.launches.resize(static_cast<std::size_t>(plan_.launches_per_step));
    for (std::size_t i = 0; i < step_.launches.size(); ++i) {
      GeneratedLaunch& launch = step_.launches[i];
      launch.kernel = static_cast<std::uint32_t>((i * 7) % description_.kernels.size() + 1);
      launch.grid_x = static_cast<std::uint32_t>(64 * (i % 5 + 1));
      launch.path = 1;
      launch.correlation_id = correlation_;
      correlation_ += 3;
      const std::int64_t pause = eager ? 27'000 : 12'000;
      host += pause + static_cast<std::int64_t>(random_.next() % 4000);
      launch.host_start_ns = host;
      launch.host_end_ns = host += 3000;
      const auto base = static_cast<double>(base_duration_ns(launch.kernel, launch.grid_x));
      const bool last = i + kLongLaunches >= step_.launches.size();
      launch.scale = !eager ? 0.05 : last ? 120'000 / base : 0.4;
      const double noise = 1.0 + 0.02 * (random_.uniform() - 0.5);
      launch.start_ns = std::max(idle + 1000, launch.host_start_ns + 5000);
      launch.end_ns = launch.start_ns + static_cast<std::int64_t>(base * launch.scale * noise);
      idle = launch.end_ns;
    }
    step_.wait_start_ns = host + 2000;
    step_.wait_end_ns = std::max(step_.wait_start_ns + 3000, idle + 8000);
    host = step_.wait_end_ns + 5000;
    step_.host_end_ns = host;
    launches_ += plan_.launches_per_step;
    now_ = host + (eager ? 20'000 : kDecodePause_ns);
  }

  const Description& description_;
  const Options& options_;
  Plan plan_;
  Random random_;
  GeneratedStep step_;
  std::int64_t now_ = kOrigin;
  std::uint32_t next_index_ = 0;
  std::uint32_t correlation_ = 1;
  std::int64_t launches_ = 0;
};

}  // namespace

Work work_of(const GeneratedLaunch& launch) {
  Random random(launch.kernel * 31ULL + launch.grid_x);
  const double base_ns = launch.scale * static_cast<double>(base_duration_ns(launch.kernel, launch.grid_x));
  const double bytes = base_ns * 4800 * (0.1 + 0.8 * random.uniform());  // of 4800 bytes a ns
  Work work;
  work.dram_read_bytes = 0.6 * bytes;
  work.dram_write_bytes = 0.4 * bytes;
  work.tensor_percent = launch.kernel % 8 == 1 ? 30 + 60 * random.uniform() : 0;
  work.declared_bytes = static_cast<double>(static_cast<std::int64_t>(0.9 * bytes));
  work.declared_flops = static_cast<double>(static_cast<std::int64_t>(base_ns * 10 * work.tensor_percent));
  return work;
}

std::int64_t generate(const Options& options, Sink& sink) {
  const Plan plan = plan_of(options);
  const Description description = describe(options, plan);
  std::int64_t launches = 0;
  for (int process = 0; process < options.processes; ++process) {
    sink.begin_process(process, description);
    launches += Generator(description, plan, process).run(sink);
    sink.end_process();
  }
  sink.finish();
  return launches;
}

}  // namespace ridgeline::generate
