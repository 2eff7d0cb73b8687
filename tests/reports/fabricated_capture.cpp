#include "fabricated_capture.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ridgeline/store/capture_writer.h"
#include "support/temporary_directory.h"

namespace ridgeline::testing {
namespace {

using store::CaptureWriter;
using store::Id;

constexpr double kDramPeak_bytes_per_s = 4.8e12;
constexpr double kBf16Peak_flops_per_s = 989.4e12;

// A kernel of the step. Utilisations are of peak, over the timeline's duration.
struct Op {
  const char* kernel;
  const char* range;
  double time_us;
  double dram;
  double tensor;
  double fma;
};

constexpr const char* kGemmForward = "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NTN";
constexpr const char* kGemmBias = "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_bias_TNN";
constexpr const char* kGemmGelu = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_gelu_aux_bias_TNT";
constexpr const char* kCutlass =
    "void "
    "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>(cutlass_80_"
    "tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8::Params)";
// What cuBLAS takes where a row has no multiple of eight elements.
constexpr const char* kUnaligned =
    "void "
    "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align1>(cutlass_80_"
    "tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align1::Params)";
constexpr double kUnalignedTensor = 0.28;
constexpr std::int64_t kTokens = 32'768, kVocabulary = 50'257, kChannels = 768;
constexpr const char* kFlashForward =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3i_64x128x64_4x1x1_kernel0_0";
constexpr const char* kFlashBackward =
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x64x64_1x4x1_kernel0_0";
constexpr const char* kFlashDot =
    "void cudnn::fusion::compute_dot_do_o_specialized<true, 64, 128, "
    "cutlass::bfloat16_t>(cudnn::fusion::dot_do_o_params_t)";
constexpr const char* kConvertDq =
    "void cudnn::fusion::convert_dq_to_16bits<true, 64>(cudnn::fusion::convert_dq_params_t)";
constexpr const char* kLayernormForward =
    "void ridgeline::gpt2::fused_residual_layernorm_forward_kernel<__nv_bfloat16, 768, 4>(__nv_bfloat16*, "
    "float*, float const*, int)";
constexpr const char* kLayernormBackward =
    "void ridgeline::gpt2::layernorm_backward_kernel<__nv_bfloat16>(__nv_bfloat16*, float*, float*, "
    "__nv_bfloat16 const*, int, int)";
constexpr const char* kGeluBackward =
    "void ridgeline::gpt2::(anonymous namespace)::gelu_backward_kernel<__nv_bfloat16>(__nv_bfloat16*, "
    "__nv_bfloat16 const*, int)";
constexpr const char* kBiasReduce =
    "void ridgeline::gpt2::bias_gradient_kernel<__nv_bfloat16, float, false>(float*, __nv_bfloat16 const*, "
    "int, int, ridgeline::gpt2::bool_constant<false>)";
constexpr const char* kReduceAdd =
    "ridgeline::gpt2::reduce_add_sum_kernel(__nv_bfloat16*, float const*, unsigned long, unsigned long)";
constexpr const char* kTranspose =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";

bool is_lm_head(const Op& op) {
  return std::string_view(op.range).ends_with("/ lm_head");
}

std::vector<Op> ops_of_step(const FabricatedCapture& options) {
  std::vector<Op> ops;
  ops.push_back(
      {"ridgeline::gpt2::embedding_forward_kernel(__nv_bfloat16*, int const*, __nv_bfloat16 const*)",
       "forward / encoder", 38.0, 0.66, 0, 0.05});
  for (int layer = 0; layer < options.layers; ++layer) {
    ops.push_back({kLayernormForward, "forward / layer / layernorm", 52.4, 0.71, 0, 0.11});
    ops.push_back({kGemmBias, "forward / layer / qkv", 192.0, 0.34, 0.62, 0.02});
    ops.push_back({kFlashForward, "forward / layer / attention", 214.0, 0.19, 0.47, 0.21});
    ops.push_back({kGemmForward, "forward / layer / projection", 71.5, 0.38, 0.56, 0.01});
    ops.push_back({kGemmGelu, "forward / layer / fc", 268.0, 0.36, 0.60, 0.03});
    ops.push_back({kGemmForward, "forward / layer / fc_projection", 241.0, 0.33, 0.67, 0.01});
  }
  ops.push_back({kGemmForward, "forward / lm_head", 3680.0, 0.42, 0.71, 0.01});
  ops.push_back(
      {"void ridgeline::gpt2::fused_classifier_kernel<__nv_bfloat16, true>(__nv_bfloat16*, float*, float, "
       "int const*, int, int, int)",
       "forward / classifier", 3010.0, 0.88, 0, 0.09});
  ops.push_back({kGemmForward, "backward / lm_head", 3720.0, 0.41, 0.70, 0.01});
  ops.push_back({kCutlass, "backward / lm_head", 3905.0, 0.39, 0.66, 0.01});
  for (int layer = options.layers; layer-- > 0;) {
    ops.push_back({kBiasReduce, "backward / layer / bias", 61.0, 0.42, 0, 0.06});
    ops.push_back({kReduceAdd, "backward / layer / bias", 3.1, 0.03, 0, 0.01});
    ops.push_back({kGemmForward, "backward / layer / fc_projection", 248.0, 0.31, 0.65, 0.01});
    ops.push_back({kCutlass, "backward / layer / fc_projection", 262.0, 0.29, 0.61, 0.01});
    ops.push_back({kGeluBackward, "backward / layer / gelu", 143.0, 0.88, 0, 0.13});
    ops.push_back({kGemmForward, "backward / layer / fc", 251.0, 0.30, 0.64, 0.01});
    ops.push_back({kLayernormBackward, "backward / layer / layernorm", 148.0, 0.37, 0, 0.17});
    ops.push_back({kFlashDot, "backward / layer / attention", 33.0, 0.58, 0, 0.08});
    ops.push_back({kFlashBackward, "backward / layer / attention", 561.0, 0.12, 0.41, 0.24});
    ops.push_back({kConvertDq, "backward / layer / attention", 29.0, 0.52, 0, 0.03});
    ops.push_back({kGemmBias, "backward / layer / qkv", 201.0, 0.33, 0.60, 0.02});
    ops.push_back({kTranspose, "backward / layer / residual", 46.0, 0.76, 0, 0.03});
  }
  ops.push_back({"ridgeline::gpt2::embedding_backward_kernel(float*, int const*, __nv_bfloat16 const*)",
                 "backward / encoder", 189.0, 0.21, 0, 0.02});
  ops.push_back(
      {"void ridgeline::gpt2::global_norm_squared_kernel<float>(float*, float const*, unsigned long)",
       "optimizer / norm", 118.0, 0.87, 0, 0.06});
  ops.push_back(
      {"ridgeline::gpt2::global_norm_finish_kernel(float*, int)", "optimizer / norm", 2.2, 0.001, 0, 0.001});
  ops.push_back(
      {"void ridgeline::gpt2::adamw_kernel<__nv_bfloat16, float>(__nv_bfloat16*, float*, float const*, "
       "float*, float*, unsigned long, float, float, float, float, float)",
       "optimizer / adamw", 548.0, 0.83, 0, 0.10});
  if (!options.extra_kernel.empty())
    ops.push_back({options.extra_kernel.c_str(), "optimizer / extra", 1000.0, 0.30, 0, 0.05});
  if (options.unpadded) {
    for (Op& op : ops) {
      if (!is_lm_head(op)) continue;
      op.time_us *= op.tensor / kUnalignedTensor;
      op.dram *= kUnalignedTensor / op.tensor;
      op.tensor = kUnalignedTensor;
      op.kernel = kUnaligned;
    }
  }
  if (options.fast) {
    for (Op& op : ops) (op.tensor > 0 ? op.tensor : op.dram) = 0.90;
  }
  return ops;
}

// Deterministic noise of about ± 0.5 %, so that medians and errors have something to do.
double jitter(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  x ^= x >> 31;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 29;
  return 1.0 + (static_cast<double>(x % 2001) - 1000.0) * 5e-6;
}

class Fabricator {
 public:
  Fabricator(const std::string& path, const FabricatedCapture& options)
      : options_(options), ops_(ops_of_step(options)), writer_(CaptureWriter::create(path).value()) {}

  void write() {
    write_run();
    if (!options_.tier_refused && options_.replay_steps > 0)
      replay_ = {writer_.add(store::CounterConfiguration{.name = "R1"}),
                 writer_.add(store::CounterConfiguration{.name = "R2"})};
    if (options_.cold_steps > 0) cold_ = writer_.add(store::CounterConfiguration{.name = "R1 cold"});
    std::int64_t end_ns = 0;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      write_process(rank);
      end_ns = std::max(end_ns, now_ns_);
    }
    run_.end_ns = end_ns;
    run_.exit_status = 0;
    writer_.set_run(run_);
    writer_.finish();
  }

 private:
  static constexpr std::int64_t kOrigin_ns = 1'795'222'442'000'000'000;  // 2026-11-21
  static constexpr std::int64_t kGraph = 3;
  static constexpr std::int64_t kCopyNs = 130'000;

  void write_process(int rank) {
    begin_process(rank);
    now_ns_ = kOrigin_ns;
    launches_ = graph_launches_ = graph_nodes_ = 0;
    first_sample_ns_ = last_sample_ns_ = 0;
    int index = 0;
    for (int i = 0; i < options_.warmup_steps; ++i) write_step(Phase::warmup, index++, std::nullopt);
    for (int i = 0; i < options_.timeline_steps; ++i) write_step(Phase::timeline, index++, std::nullopt);
    for (int i = 0; i < options_.sample_steps; ++i) {
      sampled_ = i > 0;
      write_step(Phase::sample, index++, std::nullopt);
    }
    sampled_ = false;
    for (std::size_t i = 0; !replay_.empty() && i < static_cast<std::size_t>(options_.replay_steps); ++i)
      write_step(Phase::replay, index++, replay_[i % replay_.size()]);
    for (int i = 0; i < options_.cold_steps; ++i) write_step(Phase::cold, index++, cold_);
    for (int i = 0; i < options_.after_steps; ++i) write_step(Phase::after, index++, std::nullopt);
    write_completeness();
  }

  void write_run() {
    run_.command_line = options_.command_line;
    run_.working_directory = "/home/user/gpt2";
    run_.git_commit = options_.git_commit;
    run_.git_dirty = true;
    run_.host_name = "gpu-host";
    run_.os = "Linux 6.1.0";
    run_.ridgeline_version = "0.1.0";
    run_.clock = "cupti";
    run_.start_ns = kOrigin_ns + options_.start_offset_s * 1'000'000'000;
    run_.schedule = "warmup=2,timeline=7,replay=4";
    run_.step_range = "step";
    writer_.set_run(run_);
    writer_.add_version("driver", options_.driver);
    writer_.add_version("cuda_runtime", "13.0");
    writer_.add_version("cupti", "13.0.85");
    writer_.add_version("cublas", "13.1.0");
    writer_.add_version("cudnn", "9.19.0");
    writer_.add_environment("CUDA_VISIBLE_DEVICES", "0");
  }

  void begin_process(int rank) {
    rank_ = rank;
    store::Process process;
    process.pid = 4242 + rank;
    if (options_.ranks > 1) process.rank = rank;
    process.command = options_.command_line;
    process.start_ns = kOrigin_ns;
    process_ = writer_.add(process);
    store::Device device;
    device.device_index = rank;
    device.name = "NVIDIA H200";
    device.uuid = "GPU-01234567-89ab-cdef-0123-456789abcde" + std::string(1, static_cast<char>('f' - rank));
    device.chip = "GH100";
    device.compute_capability = "9.0";
    device.sm_count = 132;
    device.max_sm_clock_hz = 1'980'000'000;
    device.max_memory_clock_hz = 3'201'000'000;
    device.memory_bus_bits = 6144;
    device.memory_bytes = 150'754'820'096;
    device.l2_bytes = 62'914'560;
    device_ = writer_.add(device);
    if (options_.device_peaks) {
      writer_.add(store::DevicePeak{device_, Quantity::dram_bytes_per_s, PeakSource::spec,
                                    kDramPeak_bytes_per_s, "NVIDIA H200 SXM datasheet"});
      writer_.add(store::DevicePeak{device_, Quantity::bf16_flops_per_s, PeakSource::spec,
                                    kBf16Peak_flops_per_s, "NVIDIA H200 SXM datasheet, dense"});
      writer_.add(store::DevicePeak{device_, Quantity::tf32_flops_per_s, PeakSource::spec, 494.7e12,
                                    "NVIDIA H200 SXM datasheet, dense"});
      writer_.add(store::DevicePeak{device_, Quantity::fp32_flops_per_s, PeakSource::spec, 66.9e12,
                                    "NVIDIA H200 SXM datasheet"});
    }
  }

  void write_step(Phase phase, int index, std::optional<Id> configuration) {
    const bool replay = configuration.has_value();
    store::Step step;
    step.process_id = process_;
    step.step_index = index;
    step.phase = phase;
    step.configuration_id = configuration;
    const std::int64_t begin = now_ns_;
    step.host_start_ns = begin - 40'000;

    // Launches come after the step's row, which they refer to: times are worked out first.
    std::vector<store::Launch> launches;
    std::int64_t at = begin;
    const std::int64_t copy_start = at;
    at += 9'000;
    const std::int64_t copy_end = at;
    at += 3'000;
    const std::int64_t more_copies_start = at;
    at += options_.copies * kCopyNs;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      const double slow = (phase == Phase::warmup ? 1.04 : 1.0) * (1 + 0.01 * rank_);
      const auto duration = static_cast<std::int64_t>(op.time_us * 1000.0 * slow * of_run(op) *
                                                      jitter(static_cast<std::uint64_t>(index), i));
      const bool node =
          options_.graphs && std::string_view(op.range).find("ward / ") != std::string_view::npos;
      const bool beside = options_.overlap && std::string_view(op.kernel) == kBiasReduce;
      store::Launch launch;
      launch.process_id = process_;
      launch.device_id = device_;
      launch.context_id = 1;
      launch.stream_id = beside ? 13 : 7;
      if (node && i > 0 && launches[i - 1].graph_id) {
        launch.correlation_id = launches[i - 1].correlation_id;  // one call launches the whole graph
      } else {
        launch.correlation_id = ++correlation_;
        if (node) ++graph_launches_;
      }
      if (node) {
        launch.graph_id = kGraph;
        ++graph_nodes_;
        launch.graph_node_id = 100 + static_cast<std::int64_t>(i);
      }
      launch.kernel_id = writer_.kernel_id(op.kernel, code_of(op));
      launch.start_ns = at;
      launch.end_ns = at + duration;
      launch.host_start_ns = at - (op.time_us < 10 ? 4'000 : 400'000);
      launch.host_end_ns = *launch.host_start_ns + 3'000;
      launch.thread_id = 4242;
      launch.grid = {std::max<std::int64_t>(1, duration / 300), 1, 1};
      launch.grid.x = static_cast<std::int64_t>(options_.grid * (132 + op.time_us));
      launch.block = {op.tensor > 0 ? 384 : 512, 1, 1};
      launch.registers_per_thread = op.tensor > 0 ? 168 : 40;
      launch.dynamic_smem_bytes = op.tensor > 0 ? 213'000 : 0;
      launch.ordinal_in_step = static_cast<std::int64_t>(i);
      launch.nvtx_path_id = writer_.string_id(std::string("step / ") + op.range + options_.nvtx_suffix);
      launches.push_back(launch);
      if (beside && !replay) continue;
      at += duration + (replay ? 1'100'000 : op.time_us < 10 ? 2'400 : 900);
    }
    const std::int64_t work_end = launches.back().end_ns;
    at = work_end + (replay ? 2'000'000 : 210'000);  // the host reads the loss
    step.gpu_start_ns = begin;
    step.gpu_end_ns = work_end;
    step.host_end_ns = at - 45'000;
    std::optional<Id> step_id;
    if (options_.step_ranges) step_id = writer_.add(step);

    store::Memcpy copy;
    copy.process_id = process_;
    copy.device_id = device_;
    copy.context_id = 1;
    copy.stream_id = 7;
    copy.correlation_id = ++correlation_;
    copy.kind = CopyKind::host_to_device;
    copy.bytes = 32 * 1025 * 4;
    copy.start_ns = copy_start;
    copy.end_ns = copy_end;
    copy.step_id = step_id;
    writer_.add(copy);
    for (int i = 0; i < options_.copies; ++i) {
      copy.correlation_id = ++correlation_;
      copy.kind = CopyKind::device_to_device;
      copy.bytes = 1 << 27;
      copy.start_ns = more_copies_start + i * kCopyNs;
      copy.end_ns = copy.start_ns + kCopyNs;
      writer_.add(copy);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      launches[i].step_id = step_id;
      if (!step_id) launches[i].ordinal_in_step.reset();
      if (options_.declared && step_id) declare(launches[i], ops_[i], *step_id);
      const Id launch = writer_.add(launches[i]);
      if (sampled_) write_samples(launch, ops_[i], launches[i].end_ns - launches[i].start_ns, index, i);
      if (replay && launches[i].graph_id) continue;  // a graph is counted as a whole
      if (replay && (phase == Phase::cold || !excluded(ops_[i])))
        write_counters(launch, ops_[i], index, i, phase == Phase::cold);
    }
    if (replay && step_id && options_.graphs) write_graph(*step_id, launches);
    for (int i = 0; i < 3; ++i) {
      writer_.add(store::ClockSample{device_, begin + i * 15'000'000, 1'755'000'000 + i * 15'000'000,
                                     3'201'000'000, 612'000 + i * 9'000, 58 + i, i == 2 ? 0x4 : 0});
    }
    if (sampled_) {
      if (first_sample_ns_ == 0) first_sample_ns_ = begin;
      last_sample_ns_ = at;
    }
    launches_ += static_cast<std::int64_t>(launches.size());
    now_ns_ = at;
  }

  // What counters say of a graph: the bytes of all its nodes.
  void write_graph(Id step_id, const std::vector<store::Launch>& launches) {
    double bytes = 0;
    std::int64_t correlation_id = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (!launches[i].graph_id) continue;
      if (correlation_id == 0) correlation_id = launches[i].correlation_id;
      bytes += ops_[i].dram * kDramPeak_bytes_per_s * ops_[i].time_us * 1e-6;
    }
    writer_.add(store::GraphMetric{step_id, correlation_id, writer_.metric_id("dram__bytes_read.sum"),
                                   Tier::t2, 0.62 * bytes});
    writer_.add(store::GraphMetric{step_id, correlation_id, writer_.metric_id("dram__bytes_write.sum"),
                                   Tier::t2, 0.38 * bytes});
  }

  // How many times as long the kernel takes by another code; 1: it has none.
  [[nodiscard]] double slowness(const Op& op) const {
    const auto named = [&](const std::string& name) {
      return !name.empty() && std::string_view(op.kernel).find(name) != std::string_view::npos;
    };
    double factor = named(options_.slow_kernel) ? options_.slow_factor : 1;
    for (const auto& [name, times] : options_.more_slow) factor *= named(name) ? times : 1;
    return factor;
  }

  [[nodiscard]] double of_run(const Op& op) const {
    double factor = options_.factor * slowness(op);
    if (options_.run > 0) {
      std::uint64_t hash = static_cast<std::uint64_t>(options_.run);
      for (const char c : std::string_view(op.kernel))
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
      hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ULL;
      factor *= 1 + 0.004 * (static_cast<double>(hash >> 11) / 9007199254740992.0 - 0.5);
    }
    return factor;
  }

  [[nodiscard]] std::optional<std::string> code_of(const Op& op) const {
    if (!options_.codes) return std::nullopt;
    return (slowness(op) != 1 ? "new " : "code ") + std::string(op.kernel).substr(0, 40);
  }

  void declare(const store::Launch& launch, const Op& op, Id step_id) {
    store::NvtxRange range;
    range.process_id = process_;
    range.thread_id = 4242;
    range.path_id = *launch.nvtx_path_id;
    range.name_id = writer_.string_id(std::string(op.range) + options_.nvtx_suffix);
    range.step_id = step_id;
    range.start_ns = *launch.host_start_ns - 100;
    range.end_ns = *launch.host_start_ns + 100;
    const double seconds = op.time_us * 1e-6;
    store::Annotation work{.nvtx_range_id = writer_.add(range),
                           .name = "op_cost",
                           .bytes = 0.8 * op.dram * kDramPeak_bytes_per_s * seconds,
                           .flops = op.tensor * kBf16Peak_flops_per_s * seconds * 0.96};
    if (options_.unpadded && is_lm_head(op)) {
      work.m = kTokens;
      work.n = kVocabulary;
      work.k = kChannels;
    }
    writer_.add(work);
  }

  bool excluded(const Op& op) const {
    return options_.exclude_attention &&
           std::string_view(op.range).find("attention") != std::string_view::npos;
  }

  // As the samples of a window give them: rates over the launch, with an error that grows as it gets shorter.
  void write_samples(Id launch, const Op& op, std::int64_t duration_ns, int index, std::size_t i) {
    if (op.time_us < 3.0) return;  // too short to be told from its neighbours
    const double noise = jitter(static_cast<std::uint64_t>(index) * 77, i);
    const double error = 0.05 / op.time_us;  // of the peak
    double dram = op.dram + options_.t1_bias;
    if (std::string_view(op.range) == "optimizer / adamw") dram += options_.t1_outlier;
    const double full_bytes = kDramPeak_bytes_per_s * static_cast<double>(duration_ns) * 1e-9;
    const auto samples = std::max<std::int64_t>(1, static_cast<std::int64_t>(op.time_us / 5.0));
    const auto put = [&](const char* metric, double value, double deviation) {
      writer_.add(
          store::LaunchMetric{launch, writer_.metric_id(metric), Tier::t1, value, deviation, samples});
    };
    put("dram__bytes_read.sum", dram * full_bytes * 0.62 * noise, error * full_bytes * 0.8);
    put("dram__bytes_write.sum", dram * full_bytes * 0.38 * noise, error * full_bytes * 0.6);
    put("lts__t_bytes.sum", dram * full_bytes * 2.1 * noise, error * full_bytes);
    put("LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct", 55.0, 1.0);
    put("sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", op.tensor * 100.0 * noise,
        error * 100.0);
    put("TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
        op.fma * 100.0 * noise, error * 100.0);
  }

  void write_counters(Id launch, const Op& op, int index, std::size_t i, bool cold) {
    const double noise = jitter(static_cast<std::uint64_t>(index) * 31, i);
    const double seconds = op.time_us * 1e-6;
    const double bytes = op.dram * kDramPeak_bytes_per_s * seconds * noise * (cold ? 1.15 : 1.0);
    const auto put = [&](const char* metric, double value) {
      writer_.add(store::LaunchMetric{launch, writer_.metric_id(metric), cold ? Tier::t3 : Tier::t2, value,
                                      std::nullopt, std::nullopt});
    };
    put("gpu__time_duration.sum", op.time_us * 1000.0 * (cold ? 1.08 : 1.01) * noise);
    if (options_.sample_steps > 0 && !cold) {
      put("lts__t_bytes.sum", bytes * 2.0);
      put("lts__t_bytes.sum.peak_sustained_elapsed.per_second", 11.0e12);
      put("l1tex__t_bytes.sum", bytes * 3.0);
      put("lts__t_sectors_lookup_hit.sum", bytes / 32.0);
      put("lts__t_sectors_lookup_miss.sum", bytes / 32.0);
    }
    put("dram__bytes_read.sum", bytes * 0.62);
    put("dram__bytes_write.sum", bytes * 0.38);
    put("gpc__cycles_elapsed.max", op.time_us * 1770.0);
    put("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", op.tensor * 100.0 * noise);
    put("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", op.fma * 100.0);
    put("sm__ops_path_tensor_src_bf16_dst_fp32.sum", op.tensor * kBf16Peak_flops_per_s * seconds * 0.96);
  }

  void write_windows() {
    if (options_.sample_steps == 0) {
      writer_.add(store::TierStatus{process_, Tier::t1, TierOutcome::not_requested, std::nullopt});
      return;
    }
    store::PmWindow window;
    window.process_id = process_;
    window.device_id = device_;
    window.first_step_index = options_.warmup_steps + options_.timeline_steps + 1;
    window.last_step_index = options_.warmup_steps + options_.timeline_steps + options_.sample_steps - 1;
    window.interval_ns = 5000;
    window.start_ns = kOrigin_ns + 1'000'000;
    window.end_ns = kOrigin_ns + 101'000'000;
    window.sample_count = 20'000;
    window.buffer_bytes = 1'500'000'000;
    window.clock_shift_ns = 750;
    window.shift_correlation = 0.997;
    writer_.add(window);
    // 100 µs apart over the sampled steps, DRAM and tensor pipe in turn.
    for (std::int64_t at = first_sample_ns_; first_sample_ns_ > 0 && at < last_sample_ns_; at += 100'000) {
      const bool tensor = at / 1'000'000 % 2 == 0;
      const auto put = [&](const char* metric, double value) {
        writer_.add(store::PmSample{device_, at, writer_.metric_id(metric), value});
      };
      put("dram__bytes_read.sum", (tensor ? 0.1 : 0.5) * kDramPeak_bytes_per_s * 1e-4);
      put("dram__bytes_write.sum", 0.2 * kDramPeak_bytes_per_s * 1e-4);
      put("sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", tensor ? 80.0 : 2.0);
    }
    writer_.add(store::TierCoverage{process_, Tier::t1, writer_.metric_id("dram__bytes_read.sum"),
                                    100'000'000, 96'300'000});
    writer_.add(store::TierStatus{process_, Tier::t1, TierOutcome::ok, std::nullopt});
    if (options_.exclude_attention) {
      for (const char* name : {kFlashForward, kFlashBackward})
        writer_.add(store::ReplayExclusion{process_, writer_.kernel_id(name), ExclusionReason::user});
    }
    writer_.add(store::RecordingWindow{.process_id = process_,
                                       .start_ns = kOrigin_ns + 30'000'000'000,
                                       .end_ns = kOrigin_ns + 60'000'000'000,
                                       .cause = WindowCause::delay});
  }

  void write_completeness() {
    store::Completeness c;
    c.process_id = process_;
    c.launches_seen = launches_ - graph_nodes_ + (options_.losses ? 17 : 0);
    c.kernel_records = launches_ - graph_nodes_;
    c.graph_launches = graph_launches_;
    c.graph_kernel_records = graph_nodes_;
    c.profiler_records = 40;
    c.dropped_records = options_.losses ? 17 : 0;
    writer_.add(c);
    writer_.add(store::TierStatus{
        process_, Tier::t0, options_.losses ? TierOutcome::partial : TierOutcome::ok,
        options_.losses ? std::optional<std::string>("17 records were dropped by the driver")
                        : std::nullopt});
    write_windows();
    if (options_.tier_refused) {
      writer_.add(store::TierStatus{
          process_, Tier::t2, TierOutcome::refused,
          "counters are not permitted: run as root or set NVreg_RestrictProfilingToAdminUsers=0"});
    } else {
      writer_.add(store::TierStatus{process_, Tier::t2, TierOutcome::ok, std::nullopt});
    }
    writer_.add(store::Message{
        .process_id = process_, .severity = Severity::info, .what = "schedule finished, recording off"});
  }

  FabricatedCapture options_;
  std::vector<Op> ops_;
  CaptureWriter writer_;
  store::Run run_;
  std::vector<Id> replay_;  // configurations of counters, in turn
  Id cold_ = 0;
  int rank_ = 0;
  Id process_ = 0;
  Id device_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t correlation_ = 0;
  std::int64_t launches_ = 0;
  std::int64_t graph_launches_ = 0, graph_nodes_ = 0;
  bool sampled_ = false;
  std::int64_t first_sample_ns_ = 0, last_sample_ns_ = 0;
};

// What this process has written: most tests ask for the capture without options.
class WrittenCaptures {
 public:
  const std::string& file_of(const FabricatedCapture& options) {
    for (const auto& [written, file] : files_) {
      if (written == options) return file;
    }
    const std::string file = directory_.file(std::to_string(files_.size()) + ".ridge");
    Fabricator(file, options).write();
    return files_.emplace_back(options, file).second;
  }

 private:
  TemporaryDirectory directory_;
  std::vector<std::pair<FabricatedCapture, std::string>> files_;
};

}  // namespace

std::int64_t launches_per_step(const FabricatedCapture& options) {
  return static_cast<std::int64_t>(ops_of_step(options).size());
}

void write_fabricated_capture(const std::string& path, const FabricatedCapture& options) {
  static WrittenCaptures written;
  std::error_code failed;  // there is a file, or no folder: the writer says so
  if (!std::filesystem::copy_file(written.file_of(options), path, failed)) Fabricator(path, options).write();
}

}  // namespace ridgeline::testing
