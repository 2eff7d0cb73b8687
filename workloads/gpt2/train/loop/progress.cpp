#include "gpt2/train/loop/progress.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpt2/common/errors.h"
#include "gpt2/model/parameters.h"
#include "gpt2/train/arguments/switch_options.h"
#include "gpt2/train/data/synthetic_stream.h"
#include "gpt2/train/files/run_log.h"
#include "gpt2/train/loop/step_statistics.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kUntimedSteps = 5;  // the first ones build plans and fill caches: not part of the statistics
constexpr double kGiB = 1 << 30;

// JSON has no NaN.
nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void Progress::say(const std::string& line) const {
  if (!job_.leads) return;
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

Progress::Progress(const Options& options, const ModelConfig& config, const GpuPeak& peak, int first_step,
                   const ProgressJob& job)
    : options_(options),
      config_(config),
      peak_(peak),
      first_step_(first_step),
      job_(job),
      tokens_per_step_(static_cast<std::int64_t>(options.batch) * options.sequence * options.grad_accum),
      flops_per_token_(flops_per_token(config, options.sequence)),
      last_validation_(std::numeric_limits<float>::quiet_NaN()) {}

void Progress::open_log() {
  if (options_.log.empty()) return;
  if (!options_.resume.empty()) cut_run_log(options_.log, first_step_);
  log_.open(options_.log, std::ios::app);
  if (!log_) throw InputError(fmt::format("log file {}: {}", options_.log, std::strerror(errno)));
}

double Progress::mfu(double time_ms) const {
  if (peak_.mfu_flops_per_s <= 0) return std::numeric_limits<double>::quiet_NaN();
  return tokens_per_s(time_ms) * flops_per_token_ / (peak_.mfu_flops_per_s * job_.ranks);
}

std::string Progress::mfu_text(double time_ms) const {
  const double value = mfu(time_ms);
  return std::isfinite(value) ? fmt::format("{:.1f} %", 100 * value) : "n/a";
}

void Progress::data_line(const DataIdentity& data) {
  if (data.synthetic) {
    say(fmt::format("data      synthetic, seed {}: uniform guess {:.3f} nats/token, entropy floor {:.3f}",
                    options_.seed, std::log(config_.vocab),
                    SyntheticStream::entropy_floor(config_.vocab, options_.seed)));
    return;
  }
  const double batches = static_cast<double>(options_.steps) * options_.grad_accum;
  say(fmt::format(
      "data      {} token file{} of {:.1f} M tokens, {} batches an epoch, {:.2f} epochs in {} steps; {}",
      data.shards, data.shards == 1 ? "" : "s", static_cast<double>(data.tokens) / 1e6, data.epoch_batches,
      batches / static_cast<double>(data.epoch_batches), options_.steps,
      data.shuffled ? fmt::format("shuffled, seed {}", options_.seed) : "in the order given"));
}

void Progress::ranks_line() {
  if (job_.nccl_version.empty()) return;
  const RankOptions& o = options_.ranks;
  const std::string ctas = o.ctas > 0 ? fmt::format(", at most {} blocks each", o.ctas) : std::string();
  const char* gathers = o.zero == 0                        ? ""
                        : o.gather == GatherPlace::forward ? ", gathers under the forward pass"
                                                           : ", gathers under the update";
  say(fmt::format(
      "ranks     {}, B={} each, ZeRO-{}, NCCL {}: gradients in {}, {} buckets of {} MiB at least, {} "
      "the backward "
      "pass{}{}",
      job_.ranks, job_.sequences, o.zero, job_.nccl_version, o.wire == WireType::fp32 ? "FP32" : "BF16",
      job_.buckets, o.bucket_mib, o.overlap ? "beside" : "after", gathers, ctas));
}

void Progress::header(const MemoryPlan& memory, const DataIdentity& data) {
  planned_bytes_ = memory.total_bytes();
  say(fmt::format("model     L={} NH={} C={} V={} (padded {}), {:.1f} M parameters", config_.layers,
                  config_.heads, config_.channels, config_.vocab, config_.padded_vocab,
                  static_cast<double>(ParameterLayout(config_).total()) / 1e6));
  say(fmt::format("step      B={} T={} x {} micro-batches = {} tokens; {}", options_.batch, options_.sequence,
                  options_.grad_accum, tokens_per_step_, name_of(options_.switches.precision)));
  ranks_line();
  const std::string differences = differences_from_fast(options_.switches);
  say(fmt::format("switches  {}", differences.empty() ? "preset fast" : "preset fast with " + differences));
  data_line(data);
  if (!options_.resume.empty()) {
    say(fmt::format("resume    after step {} of {}, {}", first_step_, options_.steps, options_.resume));
  }
  if (!options_.checkpoint_dir.empty() && !options_.switches.deterministic) {
    say("note      a resumed run repeats this one bit for bit only if both are --deterministic");
  }
  std::string rate = "peak not known";
  if (peak_.attribute_flops_per_s > 0) {
    rate = fmt::format("{} {:.1f} TFLOP/s ({} SMs x {:.0f} FLOP/clock x {:.3f} GHz, device attributes)",
                       name_of(options_.switches.precision), peak_.attribute_flops_per_s / 1e12,
                       peak_.sm_count, peak_.flop_per_clock_per_sm, peak_.max_clock_hz / 1e9);
  }
  say(fmt::format("GPU       {}, {}", peak_.name, rate));
  if (peak_.mfu_flops_per_s > 0) {
    say(fmt::format("MFU       (6N + 6LCT) = {:.1f} MFLOP a token, of {:.1f} TFLOP/s dense {} ({})",
                    flops_per_token_ / 1e6, peak_.mfu_flops_per_s / 1e12,
                    name_of(options_.switches.precision), peak_.mfu_source));
  } else {
    say(fmt::format("MFU       n/a: no peak known for this GPU; (6N + 6LCT) = {:.1f} MFLOP a token",
                    flops_per_token_ / 1e6));
  }
  say(fmt::format(
      "memory    {:.2f} GiB: parameters {:.2f}, gradients and moments {:.2f}, activations {:.2f}, workspaces "
      "{:.2f}",
      static_cast<double>(memory.total_bytes()) / kGiB, static_cast<double>(memory.parameters_bytes) / kGiB,
      static_cast<double>(memory.optimizer_bytes) / kGiB,
      static_cast<double>(memory.activations_bytes) / kGiB,
      static_cast<double>(memory.workspace_bytes) / kGiB));
}

void Progress::step(const StepReport& r) {
  last_ = r;
  if (r.step - first_step_ >= std::min(kUntimedSteps, (options_.steps - first_step_) / 2)) {
    times_ms_.push_back(r.time_ms);
    late_steps_ += r.host_late;
    energy_.step_ended(
        std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  say(fmt::format("step {:>5}/{} | loss {:.4f} | norm {:.4f} | lr {:.2e} | {:.2f} ms | {:.0f} tok/s | MFU {}",
                  r.step + 1, options_.steps, r.loss, r.norm, r.learning_rate, r.time_ms,
                  tokens_per_s(r.time_ms), mfu_text(r.time_ms)));
  if (!log_.is_open()) return;
  nlohmann::ordered_json switches;
  for (const auto& [option, value] : switch_values(options_.switches)) switches[option] = value;
  const nlohmann::ordered_json line = {{"step", r.step},
                                       {"loss", number(r.loss)},
                                       {"norm", number(r.norm)},
                                       {"lr", r.learning_rate},
                                       {"time_ms", r.time_ms},
                                       {"tokens_per_s", tokens_per_s(r.time_ms)},
                                       {"mfu_ratio", number(mfu(r.time_ms))},
                                       {"host_late", r.host_late}};
  log_ << line.dump() << '\n' << std::flush;
  if (!log_) throw InputError(fmt::format("log file {}: writing failed, is the disk full?", options_.log));
}

void Progress::validation(int step, float loss) {
  energy_.disturbed();
  last_validation_ = loss;
  say(fmt::format("val  {:>5}/{} | loss {:.4f}", step + 1, options_.steps, loss));
  if (log_.is_open()) {
    log_ << nlohmann::ordered_json{{"step", step}, {"val_loss", number(loss)}}.dump() << '\n' << std::flush;
  }
}

void Progress::sample(int steps_done, const TextSample& sample) {
  energy_.disturbed();
  const std::string shown =
      sample.text.empty() ? fmt::format("{}", fmt::join(sample.tokens, " ")) : printable(sample.text);
  say(fmt::format("sample {:>5} | {}", steps_done, shown));
  if (!log_.is_open()) return;
  nlohmann::ordered_json line = {{"step", steps_done - 1}, {"sample", sample.tokens}};
  if (!sample.text.empty()) line["text"] = sample.text;
  // A sample may end within a character.
  log_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n' << std::flush;
}

void Progress::checkpoint(const std::string& directory, int steps_done, double seconds) {
  energy_.disturbed();
  say(fmt::format("saved {:>5}/{} | checkpoint in {}, {:.1f} s", steps_done, options_.steps, directory,
                  seconds));
}

void Progress::summary(std::int64_t held_bytes) {
  if (times_ms_.empty()) return;
  const double median = quantile(times_ms_, 0.5);
  const double p10 = quantile(times_ms_, 0.1);
  const double p90 = quantile(times_ms_, 0.9);
  say(
      fmt::format("done      median {:.3f} ms/step (p10 {:.3f}, p90 {:.3f}, {} of {} steps) | {:.0f} tok/s | "
                  "MFU {} | final loss {:.4f}",
                  median, p10, p90, times_ms_.size(), options_.steps, tokens_per_s(median), mfu_text(median),
                  last_.loss));
  // The counter is of this rank's GPU.
  const std::optional<StepEnergy> measured = energy_.longest();
  const StepEnergy* energy = job_.ranks == 1 && measured ? &*measured : nullptr;
  if (energy != nullptr) {
    say(fmt::format("energy    {:.2f} J a step, {:.0f} W over {:.1f} s, by the GPU's own counter",
                    energy->joules_per_step, energy->watts(), energy->seconds));
  }
  if (late_steps_ > 0) {
    say(fmt::format("note      the GPU ran dry before the host had enqueued the step in {} of these steps",
                    late_steps_));
  }
  if (!options_.json) return;
  nlohmann::ordered_json switches;
  for (const auto& [option, value] : switch_values(options_.switches)) switches[option] = value;
  const nlohmann::ordered_json line = {
      {"version", 1},
      {"model", options_.model},
      {"batch", options_.batch},
      {"sequence", options_.sequence},
      {"grad_accum", options_.grad_accum},
      {"ranks", job_.ranks},
      {"nccl", job_.nccl_version.empty() ? nlohmann::ordered_json(nullptr)
                                         : nlohmann::ordered_json(job_.nccl_version)},
      {"zero", options_.ranks.zero},
      {"overlap", options_.ranks.overlap},
      {"wire", options_.ranks.wire == WireType::fp32 ? "fp32" : "bf16"},
      {"gather", options_.ranks.gather == GatherPlace::update ? "update" : "forward"},
      {"bucket_mib", options_.ranks.bucket_mib},
      {"buckets", job_.buckets},
      {"nccl_ctas", options_.ranks.ctas},
      {"memory_planned_bytes", planned_bytes_},
      {"memory_held_bytes", held_bytes},
      {"switches", switches},
      {"gpu", peak_.name},
      {"steps", options_.steps},
      {"timed_steps", times_ms_.size()},
      {"median_ms", number(median)},
      {"p10_ms", number(p10)},
      {"p90_ms", number(p90)},
      {"host_late_steps", late_steps_},
      {"tokens_per_s", number(tokens_per_s(median))},
      {"mfu_ratio", number(mfu(median))},
      {"mfu_peak_flops_per_s", peak_.mfu_flops_per_s},
      {"flops_per_token", flops_per_token_},
      {"joules_per_step", energy != nullptr ? number(energy->joules_per_step) : nullptr},
      {"energy_seconds", energy != nullptr ? number(energy->seconds) : nullptr},
      {"final_loss", number(last_.loss)},
      {"final_val_loss", number(last_validation_)}};
  say(line.dump());
}

}  // namespace ridgeline::gpt2
