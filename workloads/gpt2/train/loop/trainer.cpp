#include "gpt2/train/loop/trainer.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/errors.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/model/parameters.h"
#include "gpt2/model/step_graph.h"
#include "gpt2/ranks/place.h"
#include "gpt2/train/data/batch_pipeline.h"
#include "gpt2/train/data/batch_slice.h"
#include "gpt2/train/data/token_source.h"
#include "gpt2/train/data/validation_set.h"
#include "gpt2/train/files/checkpoint.h"
#include "gpt2/train/files/run_log.h"
#include "gpt2/train/loop/failure.h"
#include "gpt2/train/loop/progress.h"
#include "gpt2/train/loop/step_ring.h"
#include "gpt2/train/machine/device_memory.h"
#include "gpt2/train/text/text_sampler.h"

namespace ridgeline::gpt2 {
namespace {

// The rank's own becomes the current one.
void require_gpu(const RankPlace& place) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    throw EnvironmentError(fmt::format("no usable GPU: {} (a driver for CUDA {}.{} or newer is needed)",
                                       code == cudaSuccess ? "none found" : cudaGetErrorString(code),
                                       CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  }
  RIDGELINE_CUDA_CHECK(cudaSetDevice(device_of(place, count)));
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

std::unique_ptr<TokenSource> training_source(const Options& o, int vocab) {
  if (o.data.front() == "synthetic") return synthetic_source(vocab, o.seed, 0);
  return file_source({.paths = o.data,
                      .vocab = vocab,
                      .batch = o.batch,
                      .sequence = o.sequence,
                      .shuffle = o.shuffle,
                      .seed = o.seed});
}

std::unique_ptr<TokenSource> validation_source(const Options& o, int vocab) {
  if (o.val_data.empty()) return synthetic_source(vocab, o.seed, 1);
  return file_source({.paths = o.val_data, .vocab = vocab, .batch = o.batch, .sequence = o.sequence});
}

void print_choices(MatmulLibrary library, Matmul& matmul) {
  if (library == MatmulLibrary::cublas) {
    fmt::print("products: cuBLAS chooses each algorithm by itself and does not say which\n");
    std::fflush(stdout);
    return;
  }
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

// RunIdentity's numbers, which files keep.
int checkpoint_code(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 0;
    case Precision::tf32:
      return 1;
    case Precision::fp32:
      return 2;
    case Precision::fp8:
      return 3;
  }
  return -1;
}

// What a run is made of before it needs a GPU, so that every fault of arguments and files is reported first.
struct Prepared {
  Options options;  // with what they leave open filled in
  RankPlace place;
  BatchSlice slice;  // of each micro-batch of options.batch sequences
  ModelConfig config;
  GpuModelOptions model;
  std::unique_ptr<TokenSource> data;
  std::unique_ptr<TokenSource> validation;  // null: none is asked for
  std::optional<TextSampler> sampler;
  std::string checkpoint;   // to resume from; empty: a new run
  CheckpointHeader header;  // of this run; steps_done: where it begins

  int first_step() const { return static_cast<int>(header.steps_done); }
  bool leads() const { return place.rank == 0; }  // prints, and writes files
};

// The model's sizes, and where the run begins when it goes on from a checkpoint.
ModelConfig settle_model(Prepared& p) {
  const Options& o = p.options;
  if (o.resume.empty()) {
    return o.init == "random" ? model_config(o.model) : read_model_header(o.init).config;
  }
  p.checkpoint = find_checkpoint(o.resume);
  const CheckpointHeader written = read_checkpoint_header(p.checkpoint);
  const ModelConfig& config = written.run.config;
  if (o.model_given) {
    ModelConfig named = model_config(o.model);
    named.padded_vocab = config.padded_vocab;  // --vocabulary's matter
    if (!(named == config)) {
      throw InputError(
          fmt::format("checkpoint {}: its model has L={} C={}, --model {} has L={} C={}: leave "
                      "--model out",
                      p.checkpoint, config.layers, config.channels, o.model, named.layers, named.channels));
    }
  }
  if (o.steps > 0 && written.steps_done >= o.steps) {
    throw InputError(
        fmt::format("checkpoint {}: it holds the state after {} steps and the run ends at --steps {}: "
                    "raise --steps",
                    p.checkpoint, written.steps_done, o.steps));
  }
  if (o.profile_first >= 0 && o.profile_first < written.steps_done) {
    throw InputError(fmt::format("--profile-steps begins at step {}, the resumed run at step {}",
                                 o.profile_first, written.steps_done));
  }
  p.header.steps_done = written.steps_done;
  return config;
}

Prepared prepare(const Options& given, const RankPlace& place) {
  Prepared p{.options = given, .place = place};
  Options& o = p.options;
  p.slice = slice_of_batch(o.batch, place.rank, place.size);
  p.config = with_vocabulary(settle_model(p), o.switches.vocabulary);
  if (!o.resume.empty()) {
    o.resume = p.checkpoint;
    if (!o.model_given) o.model = p.checkpoint;
  }
  if (o.init != "random") o.model = o.init;
  if (o.sequence == 0) o.sequence = p.config.max_t;

  p.model = {.config = p.config,
             .batch = p.slice.count,
             .sequence = o.sequence,
             .grad_accum = o.grad_accum,
             .switches = o.switches,
             .rounding_seed = o.seed,
             .ranks = place.size,
             .reduction = {.overlap = o.ranks.overlap,
                           .zero = o.ranks.zero,
                           .wire = o.ranks.wire,
                           .gather = o.ranks.gather,
                           .bucket_bytes = static_cast<std::int64_t>(o.ranks.bucket_mib) << 20}};
  p.model.matmul.search = o.matmul_search;
  p.model.matmul.cache_path = matmul_cache_path(o);
  GpuModel::check(p.model);

  p.data = training_source(o, p.config.vocab);
  if (o.val_every > 0) p.validation = validation_source(o, p.config.vocab);
  if (o.sample_every > 0 || o.steps == 0) {
    Options own = o;
    own.batch = p.slice.count;  // the model's
    p.sampler.emplace(own, p.config);
  }
  const Switches& s = o.switches;
  p.header.run = {.config = p.config,
                  .precision = checkpoint_code(s.precision),
                  .batch = o.batch,
                  .sequence = o.sequence,
                  .grad_accum = o.grad_accum,
                  .seed = o.seed,
                  .stochastic_rounding = s.stochastic_rounding,
                  .data = p.data->identity()};
  if (!p.checkpoint.empty()) {
    require_same_run(p.checkpoint, read_checkpoint_header(p.checkpoint).run, p.header.run);
  }
  if (place.size > 1) {
    p.data = sliced_source(std::move(p.data), o.batch, p.slice);
    if (p.validation) p.validation = sliced_source(std::move(p.validation), o.batch, p.slice);
  }
  return p;
}

// That what the run is to write can be written.
void prepare_files(const Options& o) {
  if (!o.save.empty()) require_replaceable("model file", o.save);
  if (!o.log.empty()) require_writable("log file", o.log);
  if (!o.checkpoint_dir.empty()) prepare_checkpoint_directory(o.checkpoint_dir);
}

void save_checkpoint(const Options& o, CheckpointHeader header, int steps_done,
                     const std::vector<std::byte>& position, const GpuModel& model, Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  header.steps_done = steps_done;
  write_checkpoint(o.checkpoint_dir, o.keep, header, position, model);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  progress.checkpoint(o.checkpoint_dir, steps_done, seconds.count());
}

// What a step enqueues: micro-steps and the update, kernel by kernel or as the graph they are captured in.
class Steps {
 public:
  Steps(const Options& options, int sequences, GpuModel& model, std::unique_ptr<TokenSource> data)
      : options_(options),
        model_(model),
        sequences_(sequences),
        batch_tokens_(std::int64_t{sequences} * options.sequence),
        batches_(std::move(data), batch_tokens_) {
    if (options.switches.cuda_graph) graph_.emplace(model, batch_tokens_, options.grad_accum);
  }

  void enqueue(int step, StepRing& ring) {
    const std::int64_t micro_steps = options_.grad_accum;
    const NvtxRange range(
        StepSize{.tokens = batch_tokens_ * micro_steps, .samples = sequences_ * micro_steps}, "step");
    for (int micro = 0; micro < options_.grad_accum; ++micro) micro_step(micro);
    OptimizerOptions optimizer;
    optimizer.adamw.learning_rate = static_cast<float>(options_.schedule.at(step));
    optimizer.adamw.step = step + 1;
    optimizer.weight_decay = static_cast<float>(options_.weight_decay);
    optimizer.decay_embeddings = options_.decay_embeddings;
    optimizer.clip = static_cast<float>(options_.clip);
    if (graph_) {
      graph_->step(optimizer);
    } else {
      model_.optimizer_step(optimizer);
    }
    ring.end(step, model_);
  }

  // Of the data, after the steps that were enqueued.
  const std::vector<std::byte>& position() const { return batches_.position(); }

 private:
  void micro_step(int micro) {
    cudaStream_t stream = model_.stream();
    const DeviceBatch batch = batches_.acquire(stream);
    if (graph_) {  // it reads where it was captured to read, whichever slot the batch came in
      const std::size_t bytes = 2 * static_cast<std::size_t>(batch_tokens_) * sizeof(std::int32_t);
      RIDGELINE_CUDA_CHECK(
          cudaMemcpyAsync(graph_->tokens(micro), batch.inputs, bytes, cudaMemcpyDeviceToDevice, stream));
    } else {
      model_.micro_step(batch.inputs, batch.targets, micro);
    }
    batches_.release(stream);
  }

  const Options& options_;
  GpuModel& model_;
  std::int64_t sequences_;  // of this rank's micro-batch
  std::int64_t batch_tokens_;
  BatchPipeline batches_;
  std::optional<StepGraph> graph_;
};

// Tells the link, if there is one, where a rank is.
class Place {
 public:
  Place(RankLink* link, int first_step) : link_(link), first_step_(first_step) {}

  void enter(RankPhase phase) const {
    if (link_ != nullptr) link_->enter(phase);
  }
  // Steps in which the libraries build their plans, and the graph's capture, may take longer in one rank.
  void step(int step) {
    if (link_ == nullptr) return;
    link_->step(step);
    if (step == first_step_ + kFirstSteps) enter(RankPhase::training);
  }
  void back(int step) const {
    enter(step < first_step_ + kFirstSteps ? RankPhase::preparing : RankPhase::training);
  }

 private:
  static constexpr int kFirstSteps = 2;

  RankLink* link_;
  int first_step_;
};

void run(Prepared& prepared, GpuModel& model, Progress& progress, RankLink* link) {
  Place place(link, prepared.first_step());
  place.enter(RankPhase::preparing);
  const Options& options = prepared.options;
  const int first = prepared.first_step();
  if (prepared.checkpoint.empty()) {
    model.load(initial_parameters(options, prepared.config));
  } else {
    prepared.data->restore(load_checkpoint(prepared.checkpoint, model));
  }
  if (prepared.leads())
    progress.open_log();  // not before: a checkpoint that turns out damaged must not cost the log its end
  std::optional<ValidationSet> validation;
  if (prepared.validation) {
    validation.emplace(std::move(prepared.validation), std::int64_t{prepared.slice.count} * options.sequence,
                       options.val_batches);
  }
  if (options.steps == 0) {
    if (validation) progress.validation(-1, validation->loss(model));
    model.complete_parameters();
    if (prepared.leads()) progress.sample(first, prepared.sampler->write(model, first));
    return;
  }
  Steps steps(options, prepared.slice.count, model, std::move(prepared.data));
  StepRing ring;
  cudaStream_t stream = model.stream();
  int reported = first;
  const auto finish_all = [&](int next) {
    for (; reported < next; ++reported) {
      StepReport report = ring.report(reported);
      report.learning_rate = options.schedule.at(reported);
      progress.step(report);
      check_finite(report);
    }
  };
  const auto due = [&](int every, int step) {
    return every > 0 && ((step + 1) % every == 0 || step + 1 == options.steps);
  };

  ring.restart_clock(first, stream);
  for (int step = first; step < options.steps; ++step) {
    if (step == options.profile_first) {
      finish_all(step);
      RIDGELINE_CUDA_CHECK(cudaProfilerStart());
      ring.restart_clock(step, stream);
    }
    place.step(step);
    steps.enqueue(step, ring);
    finish_all(step);  // the GPU works on `step` meanwhile
    if (step == options.profile_last) {
      finish_all(step + 1);
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
      RIDGELINE_CUDA_CHECK(cudaProfilerStop());
      ring.restart_clock(step + 1, stream);
    }
    // Samples and checkpoints come after the step has been found finite: a checkpoint is worth going on from.
    const bool validates = validation && due(options.val_every, step);
    const bool samples = due(options.sample_every, step);
    const bool saves =
        !options.checkpoint_dir.empty() && (step + 1 == options.steps || due(options.checkpoint_every, step));
    if (!validates && !samples && !saves) continue;
    finish_all(step + 1);
    place.enter(RankPhase::aside);
    if (validates) progress.validation(step, validation->loss(model));
    if (samples || saves) model.complete_parameters();
    if (samples && prepared.leads()) progress.sample(step + 1, prepared.sampler->write(model, step + 1));
    if (saves && prepared.leads()) {
      save_checkpoint(options, prepared.header, step + 1, steps.position(), model, progress);
    } else if (saves) {
      follow_checkpoint(model);
    }
    place.back(step + 1);
    ring.restart_clock(step + 1, stream);
  }
  finish_all(options.steps);
  place.enter(RankPhase::aside);
}

NcclOptions nccl_options(const Options& o) {
  return {.library = o.ranks.nccl_library, .ctas = o.ranks.ctas, .deterministic = o.switches.deterministic};
}

// The communicator of this rank and the others; waits for them.
std::unique_ptr<Communicator> join(const Options& options, RankLink& link) {
  const NcclOptions nccl = nccl_options(options);
  link.enter(RankPhase::joining);
  const RankPlace& place = link.place();
  if (place.rank == 0) {
    const CommunicatorId id = Communicator::make_id();
    link.publish(id);
    return std::make_unique<Communicator>(0, place.size, id, nccl);
  }
  return std::make_unique<Communicator>(place.rank, place.size, link.published(), nccl);
}

ProgressJob progress_job(const Prepared& p, RankLink* link) {
  ProgressJob job{.leads = p.leads(), .ranks = p.place.size};
  if (link == nullptr) return job;
  job.nccl_version = load_nccl(nccl_options(p.options));
  job.sequences = p.slice.count;
  job.buckets =
      gradient_buckets(DeviceLayout(p.config), p.config.layers, p.model.reduction.bucket_bytes, p.place.size)
          .size();
  return job;
}

// Everything that needs the model's memory. `link`: null without other ranks.
void train_model(Prepared& prepared, Progress& progress, RankLink* link, std::int64_t free_bytes) {
  const Options& options = prepared.options;
  std::unique_ptr<GpuModel> model;
  try {
    model = GpuModel::create(prepared.model);
    run(prepared, *model, progress, link);
    progress.summary(held_since(free_bytes));
    if (options.matmul_report && prepared.leads()) print_choices(options.switches.matmul, model->matmul());
    if (!options.save.empty()) {
      model->complete_parameters();
      const std::vector<float> parameters = model->download_parameters();
      if (prepared.leads()) write_model_file(options.save, prepared.config, options.save_type, parameters);
    }
  } catch (const CudaError& error) {
    if (error.code() == cudaErrorMemoryAllocation) throw_out_of_memory(prepared.model, free_bytes);
    throw;
  }
}

void train_prepared(Prepared& prepared, RankLink* link) {
  const Options& options = prepared.options;
  if (prepared.leads()) prepare_files(options);
  require_gpu(prepared.place);
  prepared.options.switches = prepared.model.switches = switches_on_device(prepared.model);
  Progress progress(options, prepared.config, gpu_peak(options.switches.precision), prepared.first_step(),
                    progress_job(prepared, link));
  progress.header(GpuModel::memory_plan(prepared.model), prepared.data->identity());
  const std::int64_t free_bytes = require_memory(prepared.model);
  if (link == nullptr) {
    train_model(prepared, progress, nullptr, free_bytes);
    return;
  }
  const std::unique_ptr<Communicator> communicator = join(options, *link);
  link->watch([&nccl = *communicator] {
    const std::string error = nccl.async_error();
    return error.empty() ? error : fmt::format("NCCL has lost another rank: {}", error);
  });
  prepared.model.communicator = communicator.get();
  try {
    train_model(prepared, progress, link, free_bytes);
  } catch (...) {  // here, since the communicator's end waits for the other ranks
    const Failure failure = failure_of(std::current_exception());
    link->fail(failure.exit_code, failure.text);
  }
  link->watch({});
}

}  // namespace

void check_run(const Options& options, int ranks) {
  (void)prepare(options, {.size = ranks});
}

void train(const Options& options) {
  Prepared prepared = prepare(options, {});
  train_prepared(prepared, nullptr);
}

void train_rank(const Options& options, RankLink& link) {
  Prepared prepared = prepare(options, link.place());
  train_prepared(prepared, &link);
}

}  // namespace ridgeline::gpt2
