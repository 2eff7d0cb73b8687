// drawn_recording.h: a small recording drawn by lot: a made-up program on a made-up machine, whose calls, streams,
// events, waits and graphs hold each other back as they do on a GPU, so that its steps can be simulated. What
// a recording may hold and what it may lack is drawn for each. Nothing in it was measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/order.h"
#include "support/lots.h"

namespace ridgeline::testing {

/// Each seed's own numbers.
inline Lots lots_of(std::uint64_t seed) {
  return Lots(seed * 7919 + 13);
}

inline constexpr std::int64_t kDrawnOrigin_ns = 1'795'000'000'000'000'000;
inline constexpr std::int64_t kDrawnPeak = 4'800;  // of DRAM, bytes per ns

inline constexpr const char* kDrawnKernels[] = {
    "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NTN",
    "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_bias_TNN",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align1>(cutlass_80_"
    "tensorop_bf16_s16816gemm_bf16_128x128_32x4_tn_align1::Params)",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align8>(cutlass_80_"
    "tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align8::Params)",
    "ampere_sgemm_128x64_tn",
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn",
    "void splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true>("
    "cublasSplitKParams<float>)",
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, "
    "false>(c10::BFloat16*, c10::BFloat16 const*, int, int, int)",
    "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda, "
    "at::native::memory::LoadWithCast<1> >(int, float*)",
    "void at::native::unrolled_elementwise_kernel<at::native::float16_copy_kernel_cuda, "
    "at::native::memory::StoreWithCast<1> >(int, float*)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
    "3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "bias_add_kernel(float*, float const*, int)",
    "void gelu_forward_kernel<__nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16 const*, int)",
    "void layernorm_forward_kernel<float, 768>(float*, float const*, int)",
    "reduce_sum_kernel(float*, float const*, int)",
    "void adamw_kernel<float>(float*, float const*, float*, float*, int)",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "embedding_forward_kernel(float*, int const*)",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3i_64x128x64_4x1x1_kernel0_0",
    "hopper_matmul_persistent_kernel(float*, float const*)",
    "triton_poi_fused_add_0",
    "fused_classifier_kernel(float*, int)",
    "somebodys_kernel",
};

/// A piece of the program's step.
struct DrawnOperation {
  enum class Kind { launch, graph, copy, set, wait, event, pause };
  Kind kind = Kind::launch;
  int thread = 0, stream = 0, device = 0;
  std::size_t kernel = 0;
  store::Dim3 grid, block;
  std::optional<store::Dim3> cluster;
  std::int64_t registers = 32, static_smem = 0, dynamic_smem = 0;
  std::int64_t own_ns = 1000;   // of the CPU before the call
  std::int64_t call_ns = 2500;  // of a launch call
  std::int64_t duration_ns = 10'000;
  std::int64_t bytes = 0;
  CopyKind copy = CopyKind::host_to_device;
  bool held = false;  // the call of a copy returns when the copy has ended
  SynchronisationCall call = SynchronisationCall::device;
  int other = 0;         // of an event: the stream that waits
  bool awaited = false;  // by a thread, not by a stream
  std::vector<std::string> path;
  /// Per mille: of the DRAM's peak read and written, of pipes' cycles.
  std::int64_t read = 0, written = 0, tensor = 0, fma = 0, fp64 = 0, alu = 0, issue = 0, active = 1000;
  std::int64_t replayed = 1000;  // of the time: what it takes alone
  std::optional<store::Annotation> work;
  /// Of a graph: kernels as launches, each with the nodes that it follows.
  struct Node {
    GraphNodeKind kind = GraphNodeKind::kernel;
    std::vector<std::size_t> after;
    std::optional<std::size_t> parent;
    std::size_t kernel = 0;
    std::int64_t duration_ns = 0;
  };
  std::vector<Node> nodes;
  std::int64_t graph = 0;
};

/// What is drawn for a recording as a whole.
struct DrawnPlan {
  explicit DrawnPlan(Lots& draw) {
    style = static_cast<int>(draw.below(4));
    operations = draw.percent(75) ? draw.between(3, 18) : draw.between(30, 60);
    noise_ppm = draw.percent(30) ? 0 : draw.percent(50) ? 5'000 : 60'000;
    threads = draw.percent(70) ? 1 : 2;
    streams = static_cast<int>(draw.between(1, 4));
    devices = draw.percent(80) ? 1 : 2;
    processes = draw.percent(75) ? 1 : 2;
    one_device = draw.percent(50);
    waits = draw.percent(85);
    order = draw.percent(60);
    ranges = draw.percent(80);
    declared = ranges && draw.percent(60);
    graphs = draw.percent(35);
    calls = !draw.percent(8);
    timeless = draw.percent(10);
    steps = !draw.percent(8);
    peaks = draw.percent(85);
    roofs = draw.percent(45);
    clocks = draw.percent(80);
    limited = draw.percent(40);
    warmup = draw.below(3);
    timeline = draw.percent(8) ? 0 : draw.between(1, 9);
    sample = draw.percent(45) ? draw.between(1, 3) : 0;
    replay = draw.percent(65) ? draw.between(1, 4) : 0;
    cold = draw.percent(20) ? 1 : 0;
    flops = draw.percent(20) ? 1 : 0;
    stalls = draw.percent(25) ? 1 : 0;
    after = draw.percent(50) ? draw.between(1, 5) : 0;
    if (timeline + warmup + sample + replay + after == 0) after = 2;
    other_kind_every = draw.percent(25) ? draw.between(2, 3) : 0;
    outlier_every = draw.percent(25) ? draw.between(3, 5) : 0;
    lost = draw.percent(12);
    price = draw.percent(35);
    imported = draw.percent(10);
    outside = draw.percent(10);
    source = draw.percent(85) ? StepSource::nvtx : draw.percent(60) ? StepSource::period : StepSource::window;
  }
  int style = 0;  // who sets the pace: GPU, CPU, either; kernels that are all brief
  std::int64_t operations = 10, noise_ppm = 0;
  int threads = 1, streams = 1, devices = 1, processes = 1;
  bool one_device = false;  // of both processes
  bool waits, order, ranges, declared, graphs, calls, timeless, steps, peaks, roofs, clocks, limited;
  std::int64_t warmup, timeline, sample, replay, cold, flops, stalls, after;
  std::int64_t other_kind_every, outlier_every;
  bool lost, price, imported, outside;
  StepSource source = StepSource::nvtx;
};

/// The operations of a step, by lot.
class DrawnProgram {
 public:
  DrawnProgram(const DrawnPlan& plan, Lots& draw) : plan_(plan), draw_(draw) {
    kernels_ = static_cast<std::size_t>(draw.between(2, 9));
    for (std::size_t i = 0; i < kernels_; ++i)
      kernel_of_.push_back(static_cast<std::size_t>(draw.below(std::size(kDrawnKernels))));
    layers_ = draw.between(1, 3);
    if (draw.percent(40)) add_batch();
    const std::int64_t count = plan.operations;
    for (std::int64_t i = 0; i < count; ++i) {
      add_one(i);
      // What follows each other on a stream is what most rules look at.
      if (draw.percent(25)) operations.push_back(operations.back());
    }
    const bool launches = std::any_of(operations.begin(), operations.end(), [](const DrawnOperation& one) {
      return one.kind == DrawnOperation::Kind::launch;
    });
    if (!launches) operations.push_back(launch(count));
    if (draw.percent(60)) add_wait();
  }

  std::vector<DrawnOperation> operations;

 private:
  using Kind = DrawnOperation::Kind;

  DrawnOperation one(Kind kind) {
    DrawnOperation made;
    made.kind = kind;
    made.thread = static_cast<int>(draw_.below(plan_.threads));
    made.stream = draw_.percent(60) ? 0 : static_cast<int>(draw_.below(plan_.streams));
    made.device = draw_.percent(80) ? 0 : static_cast<int>(draw_.below(plan_.devices));
    const bool slow = plan_.style == 1 || (plan_.style == 2 && draw_.percent(30));
    made.own_ns = slow ? draw_.between(8'000, 60'000) : draw_.between(300, 3'000);
    if (draw_.percent(3)) made.own_ns = draw_.between(100'000, 900'000);
    made.call_ns = draw_.percent(2) ? draw_.between(900'000, 2'000'000) : draw_.between(1'800, 4'500);
    return made;
  }

  std::vector<std::string> path_at(std::int64_t i) {
    if (!plan_.ranges || draw_.percent(8)) return {};
    static constexpr const char* kPhases[] = {"forward", "backward", "optimizer"};
    static constexpr const char* kOps[] = {"attention", "mlp", "norm", "adam"};
    std::vector<std::string> path = {"step"};
    path.emplace_back(
        kPhases[std::min<std::int64_t>(3 * i / std::max<std::int64_t>(plan_.operations, 1), 2)]);
    if (draw_.percent(70)) path.push_back("layer " + std::to_string(draw_.below(layers_)));
    if (draw_.percent(70)) path.emplace_back(draw_.of(kOps));
    return path;
  }

  DrawnOperation launch(std::int64_t i) {
    DrawnOperation made = one(Kind::launch);
    made.kernel = draw_.of(kernel_of_);
    static constexpr std::int64_t kGrids[] = {1, 16, 64, 99, 132, 133, 140, 264, 265, 396, 528, 1000, 5000};
    static constexpr std::int64_t kBlocks[] = {32, 64, 128, 256, 384, 512, 1024};
    static constexpr std::int64_t kRegisters[] = {16, 32, 40, 64, 128, 168, 255};
    static constexpr std::int64_t kShared[] = {0, 0, 0, 1024, 49'152, 100'000, 213'000};
    made.grid.x = draw_.of(kGrids);
    if (draw_.percent(20)) made.grid.y = draw_.between(2, 5);
    if (draw_.percent(10)) made.grid.z = draw_.between(2, 3);
    made.block.x = draw_.of(kBlocks);
    if (made.block.x == 32 && draw_.percent(50)) made.block.y = draw_.between(2, 8);
    if (draw_.percent(8)) made.cluster = store::Dim3{2, 1, 1};
    made.registers = draw_.of(kRegisters);
    made.dynamic_smem = draw_.of(kShared);
    if (draw_.percent(20)) made.static_smem = draw_.between(128, 8192);
    made.duration_ns = duration();
    made.path = path_at(i);
    made.read = draw_.between(0, 600);
    made.written = draw_.percent(15) ? 0 : draw_.between(0, 500);
    if (draw_.percent(5)) made.read = made.written = 0;
    const std::string name = kDrawnKernels[made.kernel];
    const bool gemm = name.find("gemm") != std::string::npos || name.starts_with("nvjet");
    made.tensor = gemm ? draw_.between(50, 980) : draw_.percent(10) ? draw_.between(1, 200) : 0;
    made.fma = draw_.between(0, 700);
    made.fp64 = draw_.percent(10) ? draw_.between(1, 900) : 0;
    made.alu = draw_.between(0, 400);
    made.issue = draw_.between(5, 900);
    made.active = draw_.percent(50) ? 1000 : draw_.between(300, 999);
    made.replayed = draw_.percent(70) ? draw_.between(970, 1040) : draw_.between(700, 1500);
    if (plan_.declared && draw_.percent(60)) made.work = declared(made, gemm);
    return made;
  }

  std::int64_t duration() {
    if (plan_.style == 3) return draw_.between(900, 7'000);
    if (plan_.style == 1) return draw_.between(1'500, 25'000);
    return draw_.percent(15) ? draw_.between(1'000, 9'000) : draw_.between(9'000, 250'000);
  }

  store::Annotation declared(const DrawnOperation& made, bool gemm) {
    store::Annotation work;
    work.name = gemm ? "matmul" : "op_cost";
    const std::int64_t moved = (made.read + made.written) * made.duration_ns * kDrawnPeak / 1000;
    const std::int64_t share = draw_.between(30, 110);
    work.bytes = static_cast<double>(moved * share / 100);
    if (draw_.percent(70)) work.flops = static_cast<double>(made.duration_ns * draw_.between(100, 900'000));
    if (gemm || draw_.percent(10)) {
      static constexpr std::int64_t kSizes[] = {64, 768, 1000, 1023, 3072, 4096, 50'257};
      work.m = draw_.of(kSizes);
      work.n = draw_.of(kSizes);
      work.k = draw_.of(kSizes);
    }
    return work;
  }

  void add_batch() {
    DrawnOperation pause = one(Kind::pause);
    pause.own_ns = draw_.between(20'000, 1'500'000);
    if (plan_.ranges && draw_.percent(60))
      pause.path = {"step", draw_.percent(50) ? "dataloader" : "next batch"};
    operations.push_back(pause);
    DrawnOperation copy = transfer();
    copy.copy = CopyKind::host_to_device;
    operations.push_back(copy);
  }

  DrawnOperation transfer() {
    static constexpr CopyKind kKinds[] = {CopyKind::host_to_device,   CopyKind::device_to_host,
                                          CopyKind::device_to_device, CopyKind::peer_to_peer,
                                          CopyKind::host_to_host,     CopyKind::unknown};
    DrawnOperation made = one(Kind::copy);
    made.copy = draw_.of(kKinds);
    made.duration_ns = draw_.between(1'000, 120'000);
    static constexpr std::int64_t kRates[] = {2, 8, 14, 15, 29, 31, 55};  // bytes per ns
    made.bytes = draw_.percent(20) ? draw_.between(4, 70'000) : made.duration_ns * draw_.of(kRates);
    made.held = draw_.percent(45);
    static constexpr SynchronisationCall kCalls[] = {
        SynchronisationCall::copy, SynchronisationCall::copy_to_device, SynchronisationCall::copy_to_host,
        SynchronisationCall::async_copy_to_device, SynchronisationCall::async_copy_to_host};
    made.call = draw_.of(kCalls);
    return made;
  }

  void add_wait() {
    DrawnOperation wait = one(Kind::wait);
    static constexpr SynchronisationCall kCalls[] = {SynchronisationCall::device, SynchronisationCall::stream,
                                                     SynchronisationCall::event,
                                                     SynchronisationCall::free_device};
    wait.call = draw_.of(kCalls);
    operations.push_back(wait);
  }

  void add_one(std::int64_t i) {
    const std::int64_t lot = draw_.below(100);
    if (lot < 66) {
      operations.push_back(launch(i));
    } else if (lot < 74) {
      operations.push_back(transfer());
      operations.back().path = path_at(i);
    } else if (lot < 79) {
      DrawnOperation set = one(Kind::set);
      set.duration_ns = draw_.between(800, 20'000);
      set.bytes = draw_.between(16, 1'000'000);
      set.path = path_at(i);
      operations.push_back(set);
    } else if (lot < 84) {
      add_wait();
    } else if (lot < 93) {
      DrawnOperation event = one(Kind::event);
      event.other = static_cast<int>(draw_.below(plan_.streams));
      event.awaited = draw_.percent(15);
      operations.push_back(event);
    } else if (plan_.graphs) {
      operations.push_back(graph(i));
    } else {
      DrawnOperation pause = one(Kind::pause);
      pause.own_ns = draw_.between(1'000, 200'000);
      operations.push_back(pause);
    }
  }

  DrawnOperation graph(std::int64_t i) {
    DrawnOperation made = launch(i);
    made.kind = Kind::graph;
    made.graph = ++graphs_;
    made.call_ns = draw_.between(4'000, 15'000);
    const std::int64_t count = draw_.between(2, 8);
    static constexpr GraphNodeKind kOthers[] = {GraphNodeKind::empty, GraphNodeKind::host,
                                                GraphNodeKind::copy,  GraphNodeKind::set,
                                                GraphNodeKind::graph, GraphNodeKind::conditional};
    for (std::int64_t n = 0; n < count; ++n) {
      DrawnOperation::Node node;
      node.kernel = draw_.of(kernel_of_);
      node.duration_ns = duration();
      if (draw_.percent(25)) node.kind = draw_.of(kOthers);
      if (n == 0) node.kind = GraphNodeKind::kernel;
      const std::int64_t sources = n == 0 ? 0 : draw_.between(0, 2);
      for (std::int64_t s = 0; s < sources; ++s)
        node.after.push_back(static_cast<std::size_t>(draw_.below(n)));
      for (std::size_t p = 0; p < made.nodes.size(); ++p) {
        const bool holds =
            made.nodes[p].kind == GraphNodeKind::graph || made.nodes[p].kind == GraphNodeKind::conditional;
        if (holds && draw_.percent(60)) node.parent = p;
      }
      made.nodes.push_back(node);
    }
    return made;
  }

  const DrawnPlan& plan_;
  Lots& draw_;
  std::size_t kernels_ = 0;
  std::vector<std::size_t> kernel_of_;
  std::int64_t layers_ = 1, graphs_ = 0;
};

/// Writes one.
class DrawnRecording {
 public:
  DrawnRecording(const std::string& path, std::uint64_t seed)
      : draw_(lots_of(seed)), plan_(draw_), writer_(store::CaptureWriter::create(path).value()) {}

  void write() {
    write_run();
    for (int i = 0; i < plan_.processes; ++i) write_process(i);
    run_.end_ns = last_ns_ + 1'000'000;
    if (draw_.percent(10)) run_.end_ns.reset();
    if (draw_.percent(8)) run_.exit_status = 3;
    if (draw_.percent(5)) run_.exit_signal = 9;
    writer_.set_run(run_);
    writer_.finish();
  }

 private:
  using Kind = DrawnOperation::Kind;
  using Id = store::Id;

  /// What ran, until its step has a row.
  struct Ran {
    store::Launch launch;
    const DrawnOperation* operation = nullptr;
    std::int64_t measured_ns = 0;  // as drawn, without what a step adds
  };
  struct OpenRange {
    std::string name, path;
    std::int64_t start_ns = 0;
    Id id = 0;
    std::optional<Id> parent;
    std::optional<store::Annotation> work;
  };

  void write_run() {
    run_.command_line = "./drawn";
    run_.ridgeline_version = "0.1.0";
    run_.clock = "cupti";
    if (!draw_.percent(15)) run_.start_ns = kDrawnOrigin_ns - draw_.between(0, 3'000'000);
    run_.schedule = "warmup=2,timeline=7";
    run_.step_range = "step";
    writer_.set_run(run_);
    configurations_ = {writer_.add(store::CounterConfiguration{.name = "R1"}),
                       writer_.add(store::CounterConfiguration{.name = "R2", .pass_count = 2})};
  }

  void add_device(int index) {
    store::Device device;
    device.device_index = index;
    static constexpr const char* kNames[] = {"NVIDIA H200", "NVIDIA A100-SXM4-80GB", "Some GPU"};
    const std::size_t model = draw_.percent(70) ? 0 : static_cast<std::size_t>(draw_.between(1, 2));
    device.name = kNames[model];
    device.uuid = "GPU-" + std::to_string(index);
    if (model < 2) device.compute_capability = model == 0 ? "9.0" : "8.0";
    if (!draw_.percent(10)) device.sm_count = model == 0 ? 132 : 108;
    if (!draw_.percent(10)) device.max_sm_clock_hz = model == 0 ? 1'980'000'000 : 1'410'000'000;
    if (!draw_.percent(20)) device.max_memory_clock_hz = 3'201'000'000;
    if (!draw_.percent(20)) device.memory_bus_bits = 6144;
    if (!draw_.percent(20)) device.l2_bytes = 62'914'560;
    const Id id = writer_.add(device);
    devices_.push_back(id);
    if (plan_.peaks) {
      writer_.add(store::DevicePeak{id, Quantity::dram_bytes_per_s, PeakSource::spec, 4.8e12, "data sheet"});
      writer_.add(store::DevicePeak{id, Quantity::bf16_flops_per_s, PeakSource::spec, 9.89e14, "data sheet"});
      if (draw_.percent(50))
        writer_.add(
            store::DevicePeak{id, Quantity::fp32_flops_per_s, PeakSource::spec, 66.9e12, "data sheet"});
      if (draw_.percent(30))
        writer_.add(store::DevicePeak{id, Quantity::l2_bytes_per_s, PeakSource::counter, 11e12, "counter"});
      if (draw_.percent(20))
        writer_.add(store::DevicePeak{id, Quantity::dram_bytes_per_s, PeakSource::measured, 4.2e12, "read"});
    }
    if (plan_.roofs) add_roofs(id);
  }

  void add_roofs(Id device) {
    const auto add = [&](CeilingLevel level, const char* kind, CeilingState state, double value,
                         std::optional<double> share = {}) {
      if (draw_.percent(15)) return;
      store::Ceiling row;
      row.device_id = device;
      row.level = level;
      row.kind = kind;
      row.state = state;
      row.value = value * static_cast<double>(draw_.between(90, 110)) / 100;
      row.read_share = share;
      row.unit = level == CeilingLevel::energy ? "J" : "1/s";
      if (draw_.percent(70)) row.spread_ratio = static_cast<double>(draw_.between(0, 40)) / 1000;
      if (draw_.percent(60)) row.sm_clock_hz = 1.7e9;
      row.conditions = "drawn";
      writer_.add(row);
    };
    for (const CeilingState state : {CeilingState::burst, CeilingState::sustained}) {
      if (draw_.percent(30)) continue;
      add(CeilingLevel::dram, "read", state, 4.3e12, 1.0);
      add(CeilingLevel::dram, "copy", state, 4.0e12, 0.5);
      add(CeilingLevel::dram, "write", state, 4.1e12, 0.0);
      add(CeilingLevel::l2, "read", state, 7e12);
      add(CeilingLevel::l1, "read", state, 28e12);
      add(CeilingLevel::compute, "bf16", state, 8e14);
      add(CeilingLevel::compute, "fp16", state, 8.1e14);
      add(CeilingLevel::compute, "fp32", state, 6e13);
      add(CeilingLevel::compute, "fp64", state, 5.9e13);
    }
    if (draw_.percent(50)) add(CeilingLevel::launch, "graph", CeilingState::burst, 1300);
    if (draw_.percent(60)) {
      add(CeilingLevel::energy, "idle", CeilingState::sustained, 120);
      add(CeilingLevel::energy, "dram_byte", CeilingState::sustained, 3e-11);
      add(CeilingLevel::energy, "l2_byte", CeilingState::sustained, 1e-11);
      add(CeilingLevel::energy, "l1_byte", CeilingState::sustained, 4e-12);
      add(CeilingLevel::energy, "bf16_op", CeilingState::sustained, 5e-13);
      add(CeilingLevel::energy, "fp32_op", CeilingState::sustained, 2e-12);
      add(CeilingLevel::energy, "fp64_op", CeilingState::sustained, 6e-12);
    }
  }

  void write_process(int number) {
    store::Process process;
    process.pid = 4000 + number;
    if (plan_.processes > 1 && draw_.percent(70)) process.rank = number;
    process.command = "./drawn";
    process.start_ns = kDrawnOrigin_ns;
    process_ = writer_.add(process);
    const int first = number == 0 || plan_.one_device ? 0 : static_cast<int>(devices_.size());
    for (int i = static_cast<int>(devices_.size()); i < first + plan_.devices; ++i) add_device(i);
    first_device_ = static_cast<std::size_t>(first);
    static constexpr std::int64_t kSizes[] = {0, 4096, 4097};
    step_size_ = draw_.of(kSizes);
    program_.emplace(plan_, draw_);
    streams_.clear();
    ready_.clear();
    events_ = 0;
    correlation_ = draw_.between(1, 500);
    threads_ns_.assign(static_cast<std::size_t>(plan_.threads), kDrawnOrigin_ns + draw_.below(400'000));
    launches_ = graph_launches_ = graph_nodes_ = 0;
    index_ = 0;
    first_sample_ = last_sample_ = -1;
    if (plan_.graphs && plan_.order) write_graphs();
    write_phase(Phase::warmup, plan_.warmup);
    write_phase(Phase::timeline, plan_.timeline);
    write_phase(Phase::sample, plan_.sample);
    write_phase(Phase::replay, plan_.replay);
    write_phase(Phase::cold, plan_.cold);
    write_phase(Phase::flops, plan_.flops);
    write_phase(Phase::stalls, plan_.stalls);
    write_phase(Phase::after, plan_.after);
    write_end(number);
  }

  void write_graphs() {
    for (const DrawnOperation& operation : program_->operations) {
      for (std::size_t n = 0; n < operation.nodes.size(); ++n) {
        const DrawnOperation::Node& node = operation.nodes[n];
        if (node_lost(operation, n)) continue;
        store::GraphNode row{process_, node_id(operation, n), operation.graph, node.kind, std::nullopt};
        if (node.parent) row.parent_node_id = node_id(operation, *node.parent);
        writer_.add(row);
        for (const std::size_t from : node.after)
          writer_.add(
              store::GraphEdge{process_, node_id(operation, from), node_id(operation, n), n % 5 == 4});
      }
    }
  }
  static std::int64_t node_id(const DrawnOperation& operation, std::size_t node) {
    return operation.graph * 100 + static_cast<std::int64_t>(node);
  }
  /// One that the recording does not have.
  static bool node_lost(const DrawnOperation& operation, std::size_t node) {
    return operation.graph % 5 == 4 && node == 1;
  }

  void write_phase(Phase phase, std::int64_t count) {
    if (count > 0) {
      for (std::int64_t& now : threads_ns_) now = latest() + draw_.between(100'000, 3'000'000);
    }
    for (std::int64_t i = 0; i < count; ++i) write_step(phase, i);
  }
  [[nodiscard]] std::int64_t latest() const {
    std::int64_t at = *std::max_element(threads_ns_.begin(), threads_ns_.end());
    for (const auto& [stream, end_ns] : streams_) at = std::max(at, end_ns);
    return at;
  }

  std::int64_t varied(std::int64_t ns) {
    if (plan_.noise_ppm == 0) return ns;
    return ns + ns * draw_.between(-plan_.noise_ppm, plan_.noise_ppm) / 1'000'000;
  }

  void write_step(Phase phase, std::int64_t number) {
    phase_ = phase;
    alone_ = phase == Phase::replay || phase == Phase::cold || phase == Phase::flops;
    slowness_ =
        plan_.outlier_every > 0 && number % plan_.outlier_every == plan_.outlier_every - 1 ? 150 : 100;
    const bool other_kind =
        plan_.other_kind_every > 0 && number % plan_.other_kind_every == plan_.other_kind_every - 1;
    const bool other_grid = draw_.percent(6);
    ran_.clear();
    copies_.clear();
    sets_.clear();
    waits_.clear();
    order_.clear();
    open_.assign(threads_ns_.size(), {});
    closed_.clear();
    ordinal_ = 0;
    store::Step step;
    step.process_id = process_;
    step.step_index = index_++;
    step.phase = phase;
    step.source = plan_.source;
    step.host_start_ns = threads_ns_.front();
    if (phase == Phase::replay) step.configuration_id = configurations_[static_cast<std::size_t>(number % 2)];
    if (phase == Phase::timeline && draw_.percent(2)) step.configuration_id = configurations_[0];
    draw_status(step);
    std::size_t count = program_->operations.size();
    if (other_kind) count = (count + 1) / 2;
    for (std::size_t i = 0; i < count; ++i) run(program_->operations[i], other_grid && i == count / 2);
    for (std::size_t thread = 0; thread < open_.size(); ++thread) close_to(thread, 0);
    step.host_end_ns = threads_ns_.front();
    if (draw_.percent(3)) step.host_start_ns.reset();
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max(), end_ns = 0;
    for (const Ran& one : ran_) {
      if (one.launch.start_ns == 0) continue;
      start_ns = std::min(start_ns, one.launch.start_ns);
      end_ns = std::max(end_ns, one.launch.end_ns);
    }
    if (end_ns > 0) {
      step.gpu_start_ns = start_ns;
      step.gpu_end_ns = end_ns;
    }
    write_rows(step, number);
    for (std::int64_t& now : threads_ns_) {
      if (draw_.percent(50)) now += draw_.between(500, 30'000);
    }
    last_ns_ = std::max(last_ns_, latest());
  }

  void draw_status(store::Step& step) {
    if (!draw_.percent(4)) return;
    static constexpr StepStatus kStatuses[] = {StepStatus::mismatch, StepStatus::failed,
                                               StepStatus::interrupted};
    step.status = draw_.of(kStatuses);
    if (draw_.percent(60)) step.reason = Reason("drawn so");
  }

  // --- the machine ------------------------------------------------------------------------------------------

  using StreamKey = std::pair<std::size_t, int>;
  StreamKey key_of(const DrawnOperation& operation) const {
    return {first_device_ + static_cast<std::size_t>(operation.device), operation.stream};
  }
  std::int64_t& stream_end(const StreamKey& key) { return streams_.try_emplace(key, 0).first->second; }
  std::int64_t& stream_ready(const StreamKey& key) { return ready_.try_emplace(key, 0).first->second; }

  /// The call of an operation: when it begins. Threads take turns where there are two.
  std::int64_t begin_call(const DrawnOperation& operation) {
    const auto thread = static_cast<std::size_t>(operation.thread);
    std::int64_t& now = threads_ns_[thread];
    if (threads_ns_.size() > 1) now = std::max(now, threads_ns_[1 - thread]);
    if (plan_.ranges) open_path(operation, thread, now);
    now += varied(operation.own_ns);
    if (alone_) now = std::max(now, latest() + 40'000);
    return now;
  }
  std::int64_t starts(const StreamKey& key, std::int64_t call_ns) {
    const std::int64_t latency = 3'000 + (draw_.percent(20) ? draw_.below(2'500) : 0);
    const std::int64_t pause = 700 + (draw_.percent(20) ? draw_.below(900) : 0);
    return std::max({call_ns + latency, stream_end(key) + pause, stream_ready(key)});
  }

  void run(const DrawnOperation& operation, bool other_grid) {
    switch (operation.kind) {
      case Kind::launch:
        return run_launch(operation, other_grid);
      case Kind::graph:
        return run_graph(operation);
      case Kind::copy:
      case Kind::set:
        return run_transfer(operation);
      case Kind::wait:
        return run_wait(operation);
      case Kind::event:
        return run_event(operation);
      case Kind::pause:
        (void)begin_call(operation);
        return;
    }
  }

  store::Launch launch_row(const DrawnOperation& operation, std::int64_t call_ns, std::int64_t call_end_ns) {
    store::Launch row;
    row.process_id = process_;
    row.device_id = devices_[first_device_ + static_cast<std::size_t>(operation.device)];
    row.context_id = 1;
    row.stream_id = 7 + operation.stream;
    row.correlation_id = correlation_;
    row.kernel_id = writer_.kernel_id(kDrawnKernels[operation.kernel]);
    if (plan_.calls && !draw_.percent(2)) {
      row.host_start_ns = call_ns;
      row.host_end_ns = call_end_ns;
      row.thread_id = 100 + operation.thread;
    }
    row.grid = operation.grid;
    row.block = operation.block;
    row.cluster = operation.cluster;
    row.registers_per_thread = operation.registers;
    row.static_smem_bytes = operation.static_smem;
    row.dynamic_smem_bytes = operation.dynamic_smem;
    row.ordinal_in_step = ordinal_++;
    if (!operation.path.empty()) row.nvtx_path_id = writer_.string_id(joined(operation.path));
    return row;
  }

  void run_launch(const DrawnOperation& operation, bool other_grid) {
    const std::int64_t call_ns = begin_call(operation);
    const StreamKey key = key_of(operation);
    const std::int64_t call_end_ns = call_ns + varied(operation.call_ns);
    ++correlation_;
    Ran one{launch_row(operation, call_ns, call_end_ns), &operation, operation.duration_ns};
    if (other_grid) one.launch.grid.x += 1;
    one.launch.start_ns = starts(key, call_ns);
    one.launch.end_ns = one.launch.start_ns + lasts(operation);
    stream_end(key) = one.launch.end_ns;
    if (plan_.timeless && draw_.percent(3)) one.launch.start_ns = one.launch.end_ns = 0;
    ran_.push_back(one);
    threads_ns_[static_cast<std::size_t>(operation.thread)] = call_end_ns;
    ++launches_;
  }
  std::int64_t lasts(const DrawnOperation& operation) {
    const std::int64_t ns = varied(operation.duration_ns) * slowness_ / 100;
    return std::max<std::int64_t>(alone_ ? ns * operation.replayed / 1000 : ns, 1);
  }

  void run_graph(const DrawnOperation& operation) {
    const std::int64_t call_ns = begin_call(operation), call_end_ns = call_ns + varied(operation.call_ns);
    const StreamKey key = key_of(operation);
    ++correlation_;
    ++graph_launches_;
    const std::int64_t start_ns = starts(key, call_ns);
    std::vector<std::int64_t> ends_ns;
    std::int64_t end_ns = start_ns;
    for (std::size_t n = 0; n < operation.nodes.size(); ++n) {
      const DrawnOperation::Node& node = operation.nodes[n];
      std::int64_t at_ns = start_ns;
      for (const std::size_t from : node.after) at_ns = std::max(at_ns, ends_ns[from] + 500);
      if (node.parent) at_ns = std::max(at_ns, ends_ns[*node.parent] + 500);
      const bool works = node.kind == GraphNodeKind::kernel || node.kind == GraphNodeKind::copy ||
                         node.kind == GraphNodeKind::set;
      const std::int64_t length_ns = works ? std::max<std::int64_t>(varied(node.duration_ns), 1) : 0;
      ends_ns.push_back(at_ns + length_ns);
      end_ns = std::max(end_ns, ends_ns.back());
      if (!works) continue;
      if (node.kind == GraphNodeKind::kernel) {
        Ran one{launch_row(operation, call_ns, call_end_ns), &operation, node.duration_ns};
        one.launch.kernel_id = writer_.kernel_id(kDrawnKernels[node.kernel]);
        one.launch.graph_id = operation.graph;
        one.launch.graph_node_id = node_id(operation, n);
        one.launch.start_ns = at_ns;
        one.launch.end_ns = at_ns + length_ns;
        ran_.push_back(one);
        ++graph_nodes_;
      } else {
        DrawnOperation transfer = operation;
        transfer.bytes = node.duration_ns * 20;
        transfer.copy = CopyKind::device_to_device;
        add_transfer(transfer, node.kind == GraphNodeKind::set, at_ns, at_ns + length_ns,
                     node_id(operation, n));
      }
    }
    stream_end(key) = end_ns;
    threads_ns_[static_cast<std::size_t>(operation.thread)] = call_end_ns;
  }

  void add_transfer(const DrawnOperation& operation, bool set, std::int64_t start_ns, std::int64_t end_ns,
                    std::optional<std::int64_t> node) {
    const Id device = devices_[first_device_ + static_cast<std::size_t>(operation.device)];
    std::optional<Id> path;
    if (!operation.path.empty()) path = writer_.string_id(joined(operation.path));
    if (set) {
      sets_.push_back({.process_id = process_,
                       .device_id = device,
                       .context_id = 1,
                       .stream_id = 7 + operation.stream,
                       .correlation_id = correlation_,
                       .bytes = operation.bytes,
                       .start_ns = start_ns,
                       .end_ns = end_ns,
                       .nvtx_path_id = path,
                       .graph_node_id = node});
      return;
    }
    copies_.push_back({.process_id = process_,
                       .device_id = device,
                       .context_id = 1,
                       .stream_id = 7 + operation.stream,
                       .correlation_id = correlation_,
                       .kind = operation.copy,
                       .bytes = operation.bytes,
                       .start_ns = start_ns,
                       .end_ns = end_ns,
                       .nvtx_path_id = path,
                       .graph_node_id = node});
  }

  void run_transfer(const DrawnOperation& operation) {
    const std::int64_t call_ns = begin_call(operation);
    const StreamKey key = key_of(operation);
    ++correlation_;
    const std::int64_t start_ns = starts(key, call_ns);
    const std::int64_t end_ns = start_ns + std::max<std::int64_t>(varied(operation.duration_ns), 1);
    stream_end(key) = end_ns;
    add_transfer(operation, operation.kind == Kind::set, start_ns, end_ns, std::nullopt);
    std::int64_t& now = threads_ns_[static_cast<std::size_t>(operation.thread)];
    now = call_ns + 2'000;
    if (operation.kind == Kind::set || !operation.held) return;
    now = end_ns + 3'000;
    add_wait_row(operation, call_ns, now);
  }
  void add_wait_row(const DrawnOperation& operation, std::int64_t start_ns, std::int64_t end_ns) {
    if (!plan_.waits || alone_) return;
    waits_.push_back({.process_id = process_,
                      .thread_id = 100 + operation.thread,
                      .start_ns = start_ns,
                      .duration_ns = end_ns - start_ns,
                      .call = operation.call,
                      .correlation_id = correlation_});
  }

  void run_wait(const DrawnOperation& operation) {
    const std::int64_t call_ns = begin_call(operation);
    const StreamKey key = key_of(operation);
    ++correlation_;
    std::int64_t ended_ns = 0;
    for (const auto& [stream, end_ns] : streams_) {
      if (operation.call == SynchronisationCall::device || stream == key)
        ended_ns = std::max(ended_ns, end_ns);
    }
    const std::int64_t end_ns = std::max(call_ns + 1'200, ended_ns > call_ns ? ended_ns + 2'500 : 0);
    add_wait_row(operation, call_ns, end_ns);
    if (operation.call == SynchronisationCall::stream)
      add_order(operation, StreamCall::stream_awaited, operation.stream, call_ns, std::nullopt, std::nullopt);
    threads_ns_[static_cast<std::size_t>(operation.thread)] = end_ns;
  }

  void add_order(const DrawnOperation& operation, StreamCall call, std::optional<int> stream,
                 std::int64_t time_ns, std::optional<std::int64_t> event,
                 std::optional<std::int64_t> source) {
    store::OrderingCall row;
    row.process_id = process_;
    row.correlation_id = correlation_;
    row.call = call;
    row.thread_id = 100 + operation.thread;
    row.time_ns = time_ns;
    row.context_id = 1;
    if (stream) row.stream_id = 7 + *stream;
    row.event = event;
    row.source_id = source;
    order_.push_back(row);
  }

  void run_event(const DrawnOperation& operation) {
    const std::int64_t call_ns = begin_call(operation);
    const StreamKey key = key_of(operation);
    const std::int64_t event = events_++ % 3 + 1;
    ++correlation_;
    add_order(operation, StreamCall::event_record, operation.stream, call_ns, event, std::nullopt);
    const std::int64_t record = correlation_++;
    const std::int64_t reached_ns = std::max(stream_end(key), stream_ready(key));
    std::int64_t& now = threads_ns_[static_cast<std::size_t>(operation.thread)];
    now = call_ns + 900;
    if (operation.awaited) {
      const std::int64_t end_ns = std::max(now + 1'000, reached_ns > now ? reached_ns + 2'000 : 0);
      add_order(operation, StreamCall::event_awaited, std::nullopt, now, event, record);
      DrawnOperation wait = operation;
      wait.call = SynchronisationCall::event;
      add_wait_row(wait, now, end_ns);
      now = end_ns;
      return;
    }
    add_order(operation, StreamCall::event_wait, operation.other, call_ns + 500, event, record);
    const StreamKey waits{key.first, operation.other};
    stream_ready(waits) = std::max(stream_ready(waits), reached_ns + 1'500);
  }

  // --- ranges -----------------------------------------------------------------------------------------------

  static std::string joined(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& name : path)
      text += (text.empty() ? "" : std::string(analyzer::kPathSeparator)) + name;
    return text;
  }

  void open_path(const DrawnOperation& operation, std::size_t thread, std::int64_t now) {
    std::vector<OpenRange>& open = open_[thread];
    std::size_t common = 0;
    while (common < open.size() && common < operation.path.size() &&
           open[common].name == operation.path[common] && (common < 3 || !operation.work))
      ++common;
    close_to(thread, common);
    for (std::size_t depth = common; depth < operation.path.size(); ++depth) {
      OpenRange range;
      range.name = operation.path[depth];
      range.path =
          (open.empty() ? "" : open.back().path + std::string(analyzer::kPathSeparator)) + range.name;
      range.start_ns = now + static_cast<std::int64_t>(depth);
      range.id = writer_.reserve_range_id();
      if (!open.empty()) range.parent = open.back().id;
      if (depth + 1 == operation.path.size()) range.work = operation.work;
      if (depth == 0 && plan_.declared && step_size_ > 0) {
        range.work = store::Annotation{.name = "step_size", .bytes = {}, .flops = {}};
        range.work->tokens = static_cast<double>(step_size_);
        if (step_size_ % 2 == 0) range.work->samples = static_cast<double>(step_size_ / 8);
      }
      open.push_back(std::move(range));
    }
  }
  void close_to(std::size_t thread, std::size_t depth) {
    std::vector<OpenRange>& open = open_[thread];
    while (open.size() > depth) {
      store::NvtxRange row;
      row.id = open.back().id;
      row.process_id = process_;
      row.thread_id = 100 + static_cast<std::int64_t>(thread);
      row.parent_id = open.back().parent;
      row.depth = static_cast<int>(open.size()) - 1;
      row.name_id = writer_.string_id(open.back().name);
      row.path_id = writer_.string_id(open.back().path);
      row.start_ns = open.back().start_ns;
      row.end_ns = threads_ns_[thread] + static_cast<std::int64_t>(20 - open.size());
      if (draw_.percent(1)) row.end_ns.reset();
      closed_.emplace_back(row, open.back().work);
      open.pop_back();
    }
  }

  // --- rows -------------------------------------------------------------------------------------------------

  void write_rows(const store::Step& step, std::int64_t number) {
    std::optional<Id> step_id;
    if (plan_.steps) step_id = writer_.add(step);
    for (auto& [row, work] : closed_) {
      row.step_id = step_id;
      writer_.add_reserved(row);
      if (!work) continue;
      work->nvtx_range_id = row.id;
      (void)writer_.add(*work);
    }
    for (store::Memcpy& row : copies_) {
      row.step_id = draw_.percent(95) ? step_id : std::nullopt;
      (void)writer_.add(row);
    }
    for (store::Memset& row : sets_) {
      row.step_id = step_id;
      (void)writer_.add(row);
    }
    for (store::Synchronisation& row : waits_) {
      row.step_id = step_id;
      writer_.add(row);
    }
    for (store::OrderingCall& row : order_) {
      row.step_id = step_id;
      if (plan_.order) writer_.add(row);
    }
    for (Ran& one : ran_) {
      one.launch.step_id = plan_.outside && draw_.percent(10) ? std::nullopt : step_id;
      if (!one.launch.step_id) one.launch.ordinal_in_step.reset();
      const Id id = writer_.add(one.launch);
      write_values(id, one, number);
    }
    if (phase_ == Phase::replay && step_id) write_graph_values(*step_id);
    write_clocks(step);
    if (phase_ == Phase::sample) {
      if (first_sample_ < 0) first_sample_ = step.step_index;
      last_sample_ = step.step_index;
      write_samples(step);
    }
  }

  void write_graph_values(Id step_id) {
    std::int64_t last = 0;
    for (const Ran& one : ran_) {
      if (!one.launch.graph_id || one.launch.correlation_id == last) continue;
      last = one.launch.correlation_id;
      const std::int64_t bytes = draw_.between(1'000'000, 90'000'000);
      writer_.add(store::GraphMetric{step_id, last, writer_.metric_id("dram__bytes_read.sum"), Tier::t2,
                                     static_cast<double>(bytes)});
      writer_.add(store::GraphMetric{step_id, last, writer_.metric_id("dram__bytes_write.sum"), Tier::t2,
                                     static_cast<double>(bytes / 3)});
    }
  }

  void write_values(Id id, const Ran& one, std::int64_t number) {
    if (phase_ == Phase::sample) return write_sampled_values(id, one);
    if (phase_ == Phase::flops) return write_counts(id, one);
    if ((phase_ != Phase::replay && phase_ != Phase::cold) || one.launch.graph_id || draw_.percent(3)) return;
    const DrawnOperation& op = *one.operation;
    const Tier tier = phase_ == Phase::cold ? Tier::t3 : Tier::t2;
    const std::int64_t length_ns = one.launch.end_ns - one.launch.start_ns;
    const std::int64_t read = op.read * op.duration_ns * kDrawnPeak / 1000;
    const std::int64_t written = op.written * op.duration_ns * kDrawnPeak / 1000;
    const auto put = [&](const char* metric, std::int64_t value, double scale = 1) {
      if (draw_.percent(3)) return;
      const std::int64_t near = value + value * draw_.between(-3, 3) / 1000;
      writer_.add(store::LaunchMetric{.launch_id = id,
                                      .metric_id = writer_.metric_id(metric),
                                      .tier = tier,
                                      .value = static_cast<double>(near) * scale,
                                      .error = {},
                                      .sample_count = {}});
    };
    const bool both = phase_ == Phase::cold || plan_.replay == 1;
    put("gpu__time_duration.sum", length_ns);
    put("gpc__cycles_elapsed.max", length_ns * 17 / 10);
    if (both || number % 2 == 0) {
      put("dram__bytes_read.sum", read);
      put("dram__bytes_write.sum", written);
      put("lts__t_bytes.sum", 2 * (read + written) + 5000);
      put("l1tex__t_bytes.sum", 3 * (read + written) + 9000);
      put("lts__t_bytes.sum.peak_sustained_elapsed.per_second", 11'000, 1e9);
      put("lts__t_sectors_lookup_hit.sum", read / 40);
      put("lts__t_sectors_lookup_miss.sum", read / 60);
      put("sm__cycles_elapsed.avg", length_ns * 165 / 100);
      put("sm__cycles_active.avg", length_ns * 165 * op.active / 100'000);
    }
    if (!both && number % 2 == 0) return;
    put("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", op.tensor, 0.1);
    put("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", op.fma, 0.1);
    put("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", op.alu, 0.1);
    put("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", op.fp64, 0.1);
    put("smsp__issue_active.avg.pct_of_peak_sustained_active", op.issue, 0.1);
    put("sm__warps_active.avg.pct_of_peak_sustained_active", op.active * 6 / 10, 0.1);
    put("l1tex__t_sectors_lookup_hit.sum", read / 20);
    put("l1tex__t_sectors_lookup_miss.sum", read / 30 + 1);
    if (op.tensor == 0) return;
    static constexpr const char* kTypes[] = {
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
        "sm__ops_path_tensor_src_tf32_dst_fp32.sum", "sm__ops_path_tensor_src_fp8.sum"};
    put(kTypes[op.kernel % 4], op.tensor * op.duration_ns, op.kernel % 4 == 2 ? 490 : 980);
    if (op.kernel % 3 == 0) put(kTypes[(op.kernel + 1) % 4], op.tensor * op.duration_ns / 5, 980);
  }

  void write_sampled_values(Id id, const Ran& one) {
    const DrawnOperation& op = *one.operation;
    const std::int64_t length_ns = one.launch.end_ns - one.launch.start_ns;
    if (length_ns < 2'500 || draw_.percent(5)) return;
    const bool beside = draw_.percent(6);
    const std::int64_t off = draw_.percent(20) ? draw_.between(-200, 200) : draw_.between(-15, 15);
    const auto put = [&](const char* metric, std::int64_t value, double scale = 1) {
      if (draw_.percent(4)) return;
      store::LaunchMetric row{.launch_id = id,
                              .metric_id = writer_.metric_id(metric),
                              .tier = Tier::t1,
                              .value = static_cast<double>(value + value * off / 1000) * scale,
                              .error = {},
                              .sample_count = std::max<std::int64_t>(length_ns / 5'000, 1),
                              .concurrent = beside};
      if (!draw_.percent(10)) row.error = static_cast<double>(value * draw_.between(1, 40) / 1000) * scale;
      writer_.add(row);
    };
    put("dram__bytes_read.sum", op.read * length_ns * kDrawnPeak / 1000);
    put("dram__bytes_write.sum", op.written * length_ns * kDrawnPeak / 1000);
    put("sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", op.tensor, 0.1);
    put("TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed", op.fma,
        0.1);
    put("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", op.active, 0.1);
    put("lts__t_bytes.sum", 2 * (op.read + op.written) * length_ns * kDrawnPeak / 1000);
    put("gpc__cycles_elapsed.avg.per_second", plan_.limited ? 1'400 : 1'900, 1e6);
  }

  void write_counts(Id id, const Ran& one) {
    const DrawnOperation& op = *one.operation;
    const auto put = [&](const char* metric, std::int64_t value) {
      if (draw_.percent(5)) return;
      writer_.add(store::LaunchMetric{.launch_id = id,
                                      .metric_id = writer_.metric_id(metric),
                                      .tier = Tier::t3,
                                      .value = static_cast<double>(value),
                                      .error = {},
                                      .sample_count = {}});
    };
    put("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", op.fma * op.duration_ns / 10);
    put("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", op.fma * op.duration_ns);
    put("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", op.fp64 * op.duration_ns);
    put("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", op.alu * op.duration_ns / 7);
  }

  void write_clocks(const store::Step& step) {
    if (!plan_.clocks || !step.gpu_start_ns || draw_.percent(20)) return;
    const std::int64_t count = draw_.between(1, 4);
    const std::int64_t length_ns = *step.gpu_end_ns - *step.gpu_start_ns;
    for (std::int64_t i = 0; i < count; ++i) {
      store::ClockSample row;
      row.device_id = devices_[first_device_ + static_cast<std::size_t>(draw_.below(plan_.devices))];
      row.time_ns = *step.gpu_start_ns + length_ns * i / count + process_;
      const std::int64_t usual = plan_.limited ? 1'455'000'000 : 1'950'000'000;
      if (!draw_.percent(8))
        row.sm_clock_hz = usual + draw_.between(-4, 4) * 15'000'000 - (slowness_ - 100) * 3'000'000;
      if (!draw_.percent(30)) row.memory_clock_hz = 3'201'000'000;
      if (!draw_.percent(10)) row.power_mw = (plan_.limited ? 690'000 : 350'000) + draw_.between(0, 9'000);
      if (!draw_.percent(30)) row.temperature_c = static_cast<int>(draw_.between(40, 80));
      static constexpr std::int64_t kReasons[] = {0, 1, 0x8, 0x20, 0x40, 0x100};
      if (!draw_.percent(15))
        row.throttle_reasons = plan_.limited && draw_.percent(75) ? 0x4 : draw_.of(kReasons);
      writer_.add(row);
    }
  }

  void write_samples(const store::Step& step) {
    if (!step.gpu_start_ns) return;
    const std::int64_t interval_ns =
        std::max<std::int64_t>((*step.gpu_end_ns - *step.gpu_start_ns) / 40, 1'000);
    static constexpr const char* kMetrics[] = {
        "dram__bytes_read.sum",
        "dram__bytes_write.sum",
        "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
        "nvltx__bytes_data_user.sum",
        "pcie__read_bytes.sum",
        "gpc__cycles_elapsed.avg.per_second",
        "some__unknown_metric.sum"};
    for (const char* metric : kMetrics) {
      if (draw_.percent(15)) continue;
      const std::string name = metric;
      const bool bytes = name.find("bytes") != std::string::npos;
      for (std::int64_t at = *step.gpu_start_ns; at < *step.gpu_end_ns; at += interval_ns) {
        if (draw_.percent(5)) continue;
        const std::int64_t value = bytes ? draw_.between(0, interval_ns * kDrawnPeak * 6 / 10)
                                   : name.starts_with("gpc") ? draw_.between(1'400, 1'950) * 1'000'000
                                                             : draw_.between(0, 100);
        writer_.add(store::PmSample{devices_[first_device_], at, writer_.metric_id(metric),
                                    static_cast<double>(value)});
      }
    }
    sampled_ns_ += *step.gpu_end_ns - *step.gpu_start_ns;
  }

  void write_end(int number) {
    for (int stream = 0; plan_.order && stream < plan_.streams; ++stream) {
      static constexpr StreamKind kKinds[] = {StreamKind::non_blocking, StreamKind::non_blocking,
                                              StreamKind::blocking, StreamKind::legacy,
                                              StreamKind::per_thread};
      if (!draw_.percent(95)) continue;
      writer_.add(store::Stream{process_, 1, 7 + stream, draw_.of(kKinds), stream % 2});
    }
    for (int thread = 0; thread < plan_.threads; ++thread) {
      if (draw_.percent(50))
        writer_.add(store::Thread{process_, 100 + thread, thread == 0 ? "main" : "worker"});
    }
    if (plan_.waits || plan_.order) {
      store::RecordingWindow window{.process_id = process_,
                                    .start_ns = kDrawnOrigin_ns - 500'000,
                                    .end_ns = std::nullopt,
                                    .cause = WindowCause::start,
                                    .synchronisation = plan_.waits,
                                    .stream_calls = plan_.order};
      if (draw_.percent(40)) window.end_ns = latest() + 200'000;
      (void)writer_.add(window);
    }
    if (plan_.order && draw_.percent(10))
      writer_.add(store::LeftOutCount{process_, LeftOut::stream_calls, 3});
    write_completeness();
    write_tiers(number);
    write_stalls();
    write_messages();
  }

  void write_completeness() {
    if (draw_.percent(6)) return;
    store::Completeness row;
    row.process_id = process_;
    row.kernel_records = launches_;
    row.launches_seen = launches_ + (plan_.lost ? 4 : 0);
    row.graph_launches = graph_launches_;
    row.graph_kernel_records = graph_nodes_;
    if (plan_.lost && draw_.percent(50)) row.dropped_records = 4;
    if (plan_.timeless) row.zero_timestamps = 1;
    if (plan_.lost && draw_.percent(30)) row.truncated_bytes = 100;
    writer_.add(row);
  }

  void write_tiers(int number) {
    const auto add = [&](Tier tier, bool ran) {
      static constexpr TierOutcome kBad[] = {TierOutcome::partial, TierOutcome::refused, TierOutcome::failed};
      store::TierStatus row{process_, tier, ran ? TierOutcome::ok : TierOutcome::not_requested, std::nullopt};
      if (draw_.percent(7)) row.status = draw_.of(kBad);
      if (row.status != TierOutcome::ok && draw_.percent(70)) row.reason = Reason("as drawn");
      if (plan_.imported && !ran && number == 0)
        row.reason = Reason(ReasonCode::not_asked_for, {{"source", std::string_view("trace")}});
      writer_.add(row);
    };
    add(Tier::t0, true);
    add(Tier::t1, plan_.sample > 0);
    add(Tier::t2, plan_.replay > 0);
    add(Tier::t3, plan_.cold + plan_.flops + plan_.stalls > 0);
    if (first_sample_ < 0) return;
    store::PmWindow window;
    window.process_id = process_;
    window.device_id = devices_[first_device_];
    window.first_step_index = first_sample_;
    window.last_step_index = last_sample_;
    window.interval_ns = 5'000;
    window.sample_count = 40;
    if (draw_.percent(15)) window.status = WindowStatus::overflow;
    (void)writer_.add(window);
    writer_.add(store::TierCoverage{process_, Tier::t1, writer_.metric_id("dram__bytes_read.sum"),
                                    sampled_ns_, sampled_ns_ * draw_.between(50, 100) / 100});
    if (draw_.percent(25)) {
      static constexpr ExclusionReason kReasons[] = {ExclusionReason::name, ExclusionReason::user,
                                                     ExclusionReason::concurrent, ExclusionReason::time_out};
      const DrawnOperation& one = draw_.of(program_->operations);
      writer_.add(
          store::ReplayExclusion{process_, writer_.kernel_id(kDrawnKernels[one.kernel]), draw_.of(kReasons)});
    }
  }

  void write_stalls() {
    if (plan_.stalls == 0) return;
    store::StallWindow window;
    window.process_id = process_;
    window.device_id = devices_[first_device_];
    window.first_step_index = window.last_step_index = index_ - 1;
    window.period_cycles = 4096;
    if (draw_.percent(20)) window.dropped_samples = 7;
    if (draw_.percent(15)) window.status = WindowStatus::overflow;
    static constexpr const char* kReasons[] = {
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_barrier",
        "smsp__pcsamp_warps_issue_stalled_selected", "smsp__pcsamp_warps_issue_stalled_not_selected",
        "smsp__pcsamp_warps_issue_stalled_lg_throttle_not_issued"};
    for (const DrawnOperation& one : program_->operations) {
      if (one.kind != Kind::launch || draw_.percent(50)) continue;
      const Id kernel = writer_.kernel_id(kDrawnKernels[one.kernel]);
      const std::int64_t spots = draw_.between(1, 7);
      for (std::int64_t i = 0; i < spots; ++i) {
        const char* reason = draw_.of(kReasons);
        const std::int64_t samples = draw_.between(1, 90);
        writer_.add(store::StallSample{kernel, 16 * i, reason, samples});
        window.samples += samples;
        if (draw_.percent(60))
          writer_.add(store::SourceLine{kernel, 16 * i, writer_.string_id("drawn.cu"), 10 + i / 2});
      }
    }
    (void)writer_.add(window);
  }

  void write_messages() {
    if (plan_.price) {
      const std::int64_t alone = draw_.between(200'000, 3'000'000);
      const std::int64_t more = alone * draw_.between(-1, 8) / 100;
      Reason price(ReasonCode::recording_price, {{"alone_ns", alone},
                                                 {"recorded_ns", alone + more},
                                                 {"error_ns", alone * draw_.between(0, 3) / 100},
                                                 {"steps_alone", 40},
                                                 {"steps_recorded", 41},
                                                 {"launches", launches_ / std::max<std::int64_t>(index_, 1)},
                                                 {"remained_ns", 150}});
      (void)writer_.add(store::Message{
          .process_id = process_, .time_ns = {}, .severity = Severity::info, .what = std::move(price)});
    }
    static constexpr Severity kSeverities[] = {Severity::info, Severity::warning, Severity::error};
    if (draw_.percent(20)) {
      (void)writer_.add(store::Message{.process_id = process_,
                                       .time_ns = {},
                                       .severity = draw_.of(kSeverities),
                                       .what = Reason("something that was drawn")});
    }
  }

  Lots draw_;
  DrawnPlan plan_;
  store::CaptureWriter writer_;
  store::Run run_;
  std::vector<Id> configurations_, devices_;
  std::size_t first_device_ = 0;
  Id process_ = 0;
  std::optional<DrawnProgram> program_;
  /// The machine.
  std::vector<std::int64_t> threads_ns_;
  std::map<StreamKey, std::int64_t> streams_, ready_;
  std::int64_t correlation_ = 1, events_ = 0, last_ns_ = 0;
  /// The step.
  Phase phase_ = Phase::timeline;
  bool alone_ = false;
  std::int64_t slowness_ = 100, ordinal_ = 0, index_ = 0, step_size_ = 0;
  std::vector<Ran> ran_;
  std::vector<store::Memcpy> copies_;
  std::vector<store::Memset> sets_;
  std::vector<store::Synchronisation> waits_;
  std::vector<store::OrderingCall> order_;
  std::vector<std::vector<OpenRange>> open_;
  std::vector<std::pair<store::NvtxRange, std::optional<store::Annotation>>> closed_;
  /// The process.
  std::int64_t launches_ = 0, graph_launches_ = 0, graph_nodes_ = 0;
  std::int64_t first_sample_ = -1, last_sample_ = -1, sampled_ns_ = 0;
};

inline void write_drawn_recording(const std::string& path, std::uint64_t seed) {
  DrawnRecording(path, seed).write();
}

}  // namespace ridgeline::testing
