#include "gpt2/train/trainer.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/model/errors.h"
#include "gpt2/model/parameters.h"
#include "gpt2/model/step_graph.h"
#include "gpt2/train/batch_pipeline.h"
#include "gpt2/train/progress.h"
#include "gpt2/train/token_source.h"

namespace ridgeline::gpt2 {
namespace {

constexpr double kGiB = 1 << 30;

void require_gpu() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    throw EnvironmentError(fmt::format("no usable GPU: {} (a driver for CUDA {}.{} or newer is needed)",
                                       code == cudaSuccess ? "none found" : cudaGetErrorString(code),
                                       CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  }
}

std::string out_of_memory_line(const MemoryPlan& plan, double free_bytes) {
  return fmt::format(
      "out of GPU memory: the run needs {:.2f} GiB (parameters {:.2f}, gradients and moments {:.2f}, "
      "activations {:.2f}, "
      "workspaces {:.2f}), {:.2f} GiB are free: lower -B or -T (activations grow with B*T) and raise "
      "--grad-accum",
      static_cast<double>(plan.total_bytes()) / kGiB, static_cast<double>(plan.parameters_bytes) / kGiB,
      static_cast<double>(plan.optimizer_bytes) / kGiB, static_cast<double>(plan.activations_bytes) / kGiB,
      static_cast<double>(plan.workspace_bytes) / kGiB, free_bytes / kGiB);
}

// Empty when no directory for it can be made: the search then starts anew each run.
std::string matmul_cache_path(const Options& options) {
  if (options.matmul_cache == "none") return {};
  if (!options.matmul_cache.empty()) return options.matmul_cache;
  std::filesystem::path directory;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') {
    directory = xdg;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    directory = std::filesystem::path(home) / ".cache";
  } else {
    return {};
  }
  directory /= "ridgeline";
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  return failed ? std::string() : (directory / "gpt2-matmul.json").string();
}

std::unique_ptr<TokenSource> training_source(const Options& options, int vocab, std::int64_t batch_tokens) {
  if (options.data.front() == "synthetic") return synthetic_source(vocab, options.seed, 0);
  return file_source(options.data, vocab, batch_tokens);
}

// The validation batches, on the device for the whole run.
class ValidationSet {
 public:
  ValidationSet(const Options& options, int vocab, std::int64_t batch_tokens)
      : batch_tokens_(batch_tokens),
        count_(options.val_batches),
        tokens_(2 * batch_tokens * options.val_batches) {
    const auto source = options.val_data.empty() ? synthetic_source(vocab, options.seed, 1)
                                                 : file_source(options.val_data, vocab, batch_tokens);
    std::vector<std::int32_t> host(static_cast<std::size_t>(tokens_.size()));
    const auto n = static_cast<std::size_t>(batch_tokens);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      source->next({host.data() + 2 * n * i, n}, {host.data() + 2 * n * i + n, n});
    }
    tokens_.upload(host);
  }

  // Synchronises: validation is outside the timed steps.
  float loss(GpuModel& model) {
    double sum = 0;
    for (int i = 0; i < count_; ++i) {
      const std::int32_t* inputs = tokens_.data() + 2 * batch_tokens_ * i;
      model.evaluate(inputs, inputs + batch_tokens_);
      StepResult result;
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(&result, model.device_result(), sizeof(result),
                                           cudaMemcpyDeviceToHost, model.stream()));
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(model.stream()));
      sum += result.loss;
    }
    return static_cast<float>(sum / count_);
  }

 private:
  std::int64_t batch_tokens_;
  int count_;
  DeviceBuffer<std::int32_t> tokens_;
};

struct PinnedFree {
  void operator()(StepResult* data) const noexcept { RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(data)); }
};

// The steps enqueued and not yet reported.
class StepRing {
 public:
  static constexpr int kSize = 4;

  StepRing() {
    void* host = nullptr;
    RIDGELINE_CUDA_CHECK(cudaMallocHost(&host, sizeof(StepResult) * kSize));
    results_.reset(static_cast<StepResult*>(host));
  }

  // The next step's time starts here instead of at the end of the step before.
  void restart_clock(int step, cudaStream_t stream) {
    begin_[slot(step)].record(stream);
    restarted_[slot(step)] = true;
  }

  void end(int step, const GpuModel& model) {
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(results_.get() + slot(step), model.device_result(),
                                         sizeof(StepResult), cudaMemcpyDeviceToHost, model.stream()));
    const bool follows = step > 0 && !restarted_[slot(step)];
    late_[slot(step)] = follows && cudaEventQuery(end_[slot(step - 1)].get()) == cudaSuccess;
    (void)cudaGetLastError();  // "not ready" is an answer, not a fault for the next launch check to find
    end_[slot(step)].record(model.stream());
  }

  // Waits for the step. Call in order, before kSize - 1 more have ended.
  StepReport report(int step) {
    const std::size_t at = slot(step);
    end_[at].synchronize();
    const Event& begin = restarted_[at] ? begin_[at] : end_[slot(step - 1)];
    const StepResult& result = results_.get()[at];
    StepReport report{.step = step,
                      .loss = result.loss,
                      .norm = result.gradient.norm,
                      .time_ms = end_[at].elapsed_ms_since(begin),
                      .host_late = late_[at]};
    restarted_[at] = false;
    return report;
  }

 private:
  static std::size_t slot(int step) { return static_cast<std::size_t>(step) % kSize; }
  static std::array<Event, kSize> events() {
    // Blocking: the waiting host leaves its core to the loader.
    return {Event(cudaEventBlockingSync), Event(cudaEventBlockingSync), Event(cudaEventBlockingSync),
            Event(cudaEventBlockingSync)};
  }

  std::unique_ptr<StepResult, PinnedFree> results_;
  std::array<Event, kSize> begin_ = events();
  std::array<Event, kSize> end_ = events();
  std::array<bool, kSize> restarted_{};
  std::array<bool, kSize> late_{};
};

void print_choices(Matmul& matmul) {
  fmt::print("{:<16} {:<14} {:>8} {:>6} {:>6} {:>4} {:>9} {:>9} {:>8}  {}\n", "product", "epilogue", "n", "c",
             "oc", "acc", "us", "first us", "TFLOP/s", "algorithm (source)");
  for (const MatmulChoice& c : matmul.choices()) {
    fmt::print("{:<16} {:<14} {:>8} {:>6} {:>6} {:>4} {:>9.1f} {:>9.1f} {:>8.1f}  {} ({})\n", c.op,
               c.epilogue, c.n, c.c, c.oc, c.accumulate ? "yes" : "no", c.time_ns / 1e3,
               c.default_time_ns / 1e3, c.flops_per_s / 1e12, c.algorithm, c.source);
  }
  std::fflush(stdout);
}

void check_finite(const StepReport& report) {
  if (std::isfinite(report.loss) && std::isfinite(report.norm)) return;
  throw DivergedError(fmt::format(
      "step {}: loss {} and gradient norm {} are not finite: training diverged; lower --lr or raise --warmup",
      report.step + 1, report.loss, report.norm));
}

std::vector<float> initial_parameters(const Options& options, const ModelConfig& config) {
  if (options.init == "random") return random_parameters(config, options.seed);
  const ModelFile file = read_model_file(options.init);
  return repad_vocabulary(file.parameters, file.config, config);
}

void run(const Options& options, const ModelConfig& config, GpuModel& model, Progress& progress) {
  const std::int64_t batch_tokens = static_cast<std::int64_t>(options.batch) * options.sequence;
  BatchPipeline batches(training_source(options, config.vocab, batch_tokens), batch_tokens);
  std::optional<ValidationSet> validation;
  if (options.val_every > 0) validation.emplace(options, config.vocab, batch_tokens);
  model.load(initial_parameters(options, config));
  std::optional<StepGraph> graph;
  if (options.switches.cuda_graph) graph.emplace(model, batch_tokens, options.grad_accum);
  const std::size_t batch_bytes = 2 * static_cast<std::size_t>(batch_tokens) * sizeof(std::int32_t);

  StepRing ring;
  cudaStream_t stream = model.stream();
  const auto finish = [&](int step) {
    StepReport report = ring.report(step);
    report.learning_rate = options.schedule.at(step);
    progress.step(report);
    check_finite(report);
  };
  int reported = 0;
  const auto finish_all = [&](int next) {
    for (; reported < next; ++reported) finish(reported);
  };

  ring.restart_clock(0, stream);
  for (int step = 0; step < options.steps; ++step) {
    if (step == options.profile_first) {
      finish_all(step);
      RIDGELINE_CUDA_CHECK(cudaProfilerStart());
      ring.restart_clock(step, stream);
    }
    {
      const NvtxRange range("step");
      for (int micro = 0; micro < options.grad_accum; ++micro) {
        const DeviceBatch batch = batches.acquire(stream);
        if (graph) {  // it reads where it was captured to read, whichever slot the batch came in
          RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(graph->tokens(micro), batch.inputs, batch_bytes,
                                               cudaMemcpyDeviceToDevice, stream));
        } else {
          model.micro_step(batch.inputs, batch.targets, micro);
        }
        batches.release(stream);
      }
      OptimizerOptions optimizer;
      optimizer.adamw.learning_rate = static_cast<float>(options.schedule.at(step));
      optimizer.adamw.step = step + 1;
      optimizer.weight_decay = static_cast<float>(options.weight_decay);
      optimizer.clip = static_cast<float>(options.clip);
      if (graph) {
        graph->step(optimizer);
      } else {
        model.optimizer_step(optimizer);
      }
      ring.end(step, model);
    }
    finish_all(step);  // the GPU works on `step` meanwhile
    if (step == options.profile_last) {
      finish_all(step + 1);
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
      RIDGELINE_CUDA_CHECK(cudaProfilerStop());
      ring.restart_clock(step + 1, stream);
    }
    if (validation && ((step + 1) % options.val_every == 0 || step + 1 == options.steps)) {
      finish_all(step + 1);
      progress.validation(step, validation->loss(model));
      ring.restart_clock(step + 1, stream);
    }
  }
  finish_all(options.steps);
}

}  // namespace

void train(const Options& given) {
  Options options = given;
  ModelConfig config =
      options.init == "random" ? model_config(options.model) : read_model_header(options.init).config;
  config = with_vocabulary(config, options.switches.vocabulary);
  if (options.init != "random") options.model = options.init;
  if (options.sequence == 0) options.sequence = config.max_t;

  GpuModelOptions model_options{.config = config,
                                .batch = options.batch,
                                .sequence = options.sequence,
                                .grad_accum = options.grad_accum,
                                .switches = options.switches,
                                .rounding_seed = options.seed};
  model_options.matmul.search = options.matmul_search;
  model_options.matmul.cache_path = matmul_cache_path(options);
  const MemoryPlan plan = GpuModel::memory_plan(model_options);
  if (options.data.front() != "synthetic") {  // bad files are told before gigabytes are allocated
    file_source(options.data, config.vocab, static_cast<std::int64_t>(options.batch) * options.sequence);
  }

  require_gpu();
  Progress progress(options, config, gpu_peak(options.switches.precision));
  progress.header(plan);
  std::size_t free_bytes = 0, total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (static_cast<double>(plan.total_bytes()) > static_cast<double>(free_bytes)) {
    throw EnvironmentError(out_of_memory_line(plan, static_cast<double>(free_bytes)));
  }
  try {
    const std::unique_ptr<GpuModel> model = GpuModel::create(model_options);
    run(options, config, *model, progress);
    progress.summary();
    if (options.matmul_report) print_choices(model->matmul());
    if (!options.save.empty())
      write_model_file(options.save, config, options.save_type, model->download_parameters());
  } catch (const CudaError& error) {
    if (error.code() == cudaErrorMemoryAllocation)
      throw EnvironmentError(out_of_memory_line(plan, static_cast<double>(free_bytes)));
    throw;
  }
}

}  // namespace ridgeline::gpt2
