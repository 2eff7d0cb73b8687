// Pairs of sides drawn by lot: programs whose kernels were renamed, moved, launched otherwise, added and taken away,
// runs that are noisy, in two modes, on other cards and clocks, one or many, in turn or not. All that a comparison says
// of them is held.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/comparison/sequential.h"
#include "ridgeline/store/kernel_identity.h"
#include "support/accepted_cases.h"
#include "support/lots.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

// Once in how many times something is otherwise; 0: never.
struct Odds {
  const char* name;
  // Of a kernel of B against A's.
  int renamed = 12, recoded = 8, moved = 15, reshaped = 12, slower = 4, recalled = 12, removed = 15,
      added = 15, split = 20, restreamed = 0;
  // Of a program.
  int no_code = 12, no_path = 8, no_shape = 12, many_ranges = 12, few_kernels = 8, brief = 2, few_paths = 8,
      few_codes = 0;
  // Of runs.
  double noise = 0.003;
  int clock = 6, modes = 10, missing = 0, turned = 10, unmeasured = 0;
  // Of sides.
  int single = 0, two = 0, unpaired = 8, confirmed = 6, blocks = 12, no_begins = 8, other_machine = 0,
      wild_options = 4, state = 0;
};

void PrintTo(const Odds& odds, std::ostream* out) {
  *out << odds.name;
}

constexpr Odds kOdds[] = {
    {.name = "Mixed"},
    {.name = "Renamed", .renamed = 2, .recoded = 3, .moved = 4, .split = 5, .few_paths = 1, .few_codes = 2},
    {.name = "Launched",
     .recoded = 0,
     .reshaped = 2,
     .recalled = 3,
     .removed = 4,
     .split = 4,
     .restreamed = 4,
     .few_paths = 1},
    {.name = "OtherBatch", .renamed = 0, .recoded = 20, .reshaped = 1, .added = 0, .few_kernels = 3},
    {.name = "Timed",
     .renamed = 0,
     .recoded = 3,
     .slower = 2,
     .few_codes = 4,
     .noise = 0.0015,
     .confirmed = 3},
    {.name = "Equal", .renamed = 0, .recoded = 0, .reshaped = 0, .slower = 9, .noise = 0, .clock = 2},
    {.name = "Noisy", .noise = 0.06, .modes = 4, .missing = 15, .wild_options = 2},
    {.name = "TwoModes", .recoded = 12, .slower = 6, .noise = 0.0008, .modes = 2},
    {.name = "Clocked", .recoded = 20, .reshaped = 0, .slower = 5, .noise = 0.0005, .clock = 1, .modes = 0},
    {.name = "OneRun", .missing = 10, .single = 1},
    {.name = "FewRuns", .noise = 0.002, .missing = 20, .single = 6, .two = 2, .unpaired = 2},
    {.name = "OtherMachines", .other_machine = 1, .state = 1},
    {.name = "Unmeasured", .no_code = 3, .no_path = 3, .no_shape = 3, .many_ranges = 2, .unmeasured = 4},
    {.name = "Options", .noise = 0.004, .confirmed = 2, .blocks = 4, .wild_options = 1, .state = 3},
};

struct PlannedKernel {
  std::string path, kernel, code;
  std::optional<LaunchConfiguration> shape;
  int stream = 0;
  double calls = 1, each_ns = 100'000, mode = 0;
  std::optional<double> dram_bytes, dram_ratio, compute_ratio;
  analyzer::KernelBound bound = analyzer::KernelBound::unmeasured;
  std::map<std::string, double> counts;
};

struct PlannedTransfer {
  std::string path;
  TransferKind kind = TransferKind::copy;
  CopyKind direction = CopyKind::unknown;
  double calls = 1, bytes = 0, time_ns = 0, exposed_ns = 0;
};

struct PlannedProgram {
  std::vector<PlannedKernel> kernels;
  std::vector<PlannedTransfer> transfers;
  StepParts parts;
  double gap_ns = 0, unexplained_ns = 0;
};

const char* const kPairNames[] = {
    "void gemm_main<float, 128, 64>(float const*, float*, int)",
    "void gemm_main<float, 256, 64>(float const*, float*, int)",
    "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_bias_TNT",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
    "layernorm_forward",
    "layernorm_backward",
    "gelu_forward",
    "gelu_backward",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
    "3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(float)",
    "adamw_kernel",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false>(Flash_fwd_params)",
    "softmax_warp_forward",
    "embedding_lookup",
    "fused_classifier_kernel3",
    "a",
    "b_forward",
    "c_forward",
};

const char* const kPairPaths[] = {
    "step / forward / embedding",
    "step / forward / layer * / attention",
    "step / forward / layer * / mlp",
    "step / forward / loss",
    "step / backward / layer * / mlp",
    "step / backward / layer * / attention",
    "step / backward / layer * / mlp / *",
    "step / optimizer",
    "step",
};

std::string drawn_path(Lots& lots, const Odds& odds, bool many, bool few = false) {
  if (lots.one_in(odds.no_path)) return "";
  const std::int64_t part = lots.between(1, 14);
  const std::string usual = few ? kPairPaths[lots.below(2)] : lots.of(kPairPaths);
  return many ? "step / part " + std::string(1, static_cast<char>('a' + part)) + " / rest" : usual;
}

LaunchConfiguration drawn_shape(Lots& lots) {
  LaunchConfiguration shape;
  shape.grid.x = lots.between(1, 400);
  shape.grid.y = lots.between(1, 3);
  shape.block.x = 64 * lots.between(1, 8);
  if (lots.one_in(4)) shape.cluster = store::Dim3{lots.between(1, 2), 1, 1};
  shape.registers_per_thread = 8 * lots.between(2, 30);
  shape.static_smem_bytes = 1024 * lots.between(0, 4);
  shape.dynamic_smem_bytes = 1024 * lots.between(0, 200);
  return shape;
}

PlannedKernel drawn_kernel(Lots& lots, const Odds& odds, bool many_ranges, bool few_paths = false) {
  PlannedKernel kernel;
  kernel.path = drawn_path(lots, odds, many_ranges, few_paths);
  kernel.kernel = lots.of(kPairNames);
  const std::int64_t codes = lots.one_in(odds.few_codes) ? 3 : 1000;
  if (!lots.one_in(odds.no_code)) kernel.code = "code" + std::to_string(lots.below(codes));
  if (!lots.one_in(odds.no_shape)) kernel.shape = drawn_shape(lots);
  kernel.stream = lots.one_in(5) ? 1 : 0;
  kernel.calls = static_cast<double>(lots.one_of({1, 1, 2, 12, 24}));
  kernel.each_ns = lots.one_in(odds.brief) ? static_cast<double>(lots.between(1'000, 40'000))
                                           : static_cast<double>(lots.between(20'000, 900'000));
  if (lots.one_in(9)) kernel.each_ns = 20'000;
  if (lots.one_in(odds.modes)) kernel.mode = 0.02 + 0.08 * lots.part();
  if (!lots.one_in(3)) kernel.dram_bytes = 1e5 * static_cast<double>(lots.between(1, 5000));
  if (!lots.one_in(3)) kernel.dram_ratio = lots.part();
  if (!lots.one_in(3)) kernel.compute_ratio = lots.part();
  kernel.bound = static_cast<analyzer::KernelBound>(lots.below(6));
  if (lots.one_in(2)) kernel.counts["sm__inst_executed.sum"] = static_cast<double>(lots.between(1000, 9000));
  if (lots.one_in(3)) kernel.counts["sm__ops_path_tensor_src_bf16.sum"] = 4096;
  if (lots.one_in(6)) kernel.counts["smsp__inst_executed.avg"] = 300;
  return kernel;
}

PlannedTransfer drawn_transfer(Lots& lots, const Odds& odds) {
  PlannedTransfer transfer;
  transfer.path = drawn_path(lots, odds, false);
  transfer.kind = lots.one_in(3) ? TransferKind::memset : TransferKind::copy;
  if (transfer.kind == TransferKind::copy) transfer.direction = static_cast<CopyKind>(lots.between(1, 4));
  transfer.calls = static_cast<double>(lots.between(1, 4));
  transfer.bytes = static_cast<double>(lots.between(1, 1 << 24));
  transfer.time_ns = static_cast<double>(lots.between(1'000, 200'000));
  transfer.exposed_ns = lots.one_in(3) ? 0 : std::floor(transfer.time_ns * lots.part());
  return transfer;
}

constexpr double StepParts::*kParts[] = {
    &StepParts::overlap_ns,
    &StepParts::copy_exposed_ns,
    &StepParts::copy_hidden_ns,
    &StepParts::memset_exposed_ns,
    &StepParts::communication_exposed_ns,
    &StepParts::communication_hidden_ns,
    &StepParts::gap_launch_bound_ns,
    &StepParts::gap_host_bound_ns,
    &StepParts::gap_synchronisation_ns,
    &StepParts::gap_queued_ns,
    &StepParts::gap_other_ns,
};

PlannedProgram drawn_program(Lots& lots, const Odds& odds) {
  PlannedProgram program;
  const bool many_ranges = lots.one_in(odds.many_ranges), few_paths = lots.one_in(odds.few_paths);
  const std::int64_t kernels = lots.one_in(odds.few_kernels) ? lots.between(1, 6) : lots.between(7, 24);
  for (std::int64_t i = 0; i < kernels; ++i)
    program.kernels.push_back(drawn_kernel(lots, odds, many_ranges, few_paths));
  if (many_ranges && lots.one_in(2))  // exactly as many as are shown, or one more
    for (int i = 0; i < 13; ++i)
      program.kernels[static_cast<std::size_t>(lots.below(kernels))].path =
          "step / part " + std::string(1, static_cast<char>('a' + i));
  const std::int64_t transfers = lots.below(6);
  for (std::int64_t i = 0; i < transfers; ++i) program.transfers.push_back(drawn_transfer(lots, odds));
  for (const auto part : kParts) {
    const std::int64_t ns = lots.between(0, 200'000);
    program.parts.*part = lots.one_in(3) ? 0 : static_cast<double>(ns);
  }
  if (!lots.one_in(4)) program.parts.cpu_ns = static_cast<double>(lots.between(0, 3'000'000));
  if (program.parts.cpu_ns || lots.one_in(6))
    program.parts.wait_ns = static_cast<double>(lots.between(0, 900'000));
  program.gap_ns = static_cast<double>(lots.between(0, 300'000));
  program.unexplained_ns = lots.one_in(2) ? 0 : static_cast<double>(lots.between(-30'000, 90'000));
  return program;
}

std::string renamed(Lots& lots, const std::string& name) {
  const std::size_t forward = name.find("_forward");
  if (forward != std::string::npos && lots.one_in(2)) return name.substr(0, forward) + "_fwd";
  const std::string& other = lots.of(kPairNames);
  return lots.one_in(2) ? other : name + (lots.one_in(2) ? "_v2" : "2");
}

// What B's program is: A's with something otherwise here and there.
PlannedProgram changed_program(Lots& lots, const Odds& odds, const PlannedProgram& a) {
  PlannedProgram b;
  b.parts = a.parts;
  b.gap_ns = a.gap_ns * (lots.one_in(4) ? 1.2 : 1);
  b.unexplained_ns = a.unexplained_ns;
  for (const PlannedKernel& of_a : a.kernels) {
    if (lots.one_in(odds.removed)) continue;
    PlannedKernel kernel = of_a;
    if (lots.one_in(odds.renamed)) kernel.kernel = renamed(lots, kernel.kernel);
    if (lots.one_in(odds.recoded)) kernel.code += lots.one_in(4) ? "" : "x";
    if (lots.one_in(odds.moved)) kernel.path = drawn_path(lots, odds, false);
    if (lots.one_in(odds.restreamed)) kernel.stream = 1 - kernel.stream;
    if (kernel.shape && lots.one_in(odds.reshaped)) {
      switch (lots.below(5)) {
        case 0:
          kernel.shape->block.x *= 2;
          break;
        case 1:
          kernel.shape->dynamic_smem_bytes += 1024;
          break;
        case 2:
          kernel.shape->registers_per_thread += 8;
          break;
        default:
          kernel.shape->grid.x *= 2;
          kernel.each_ns *= 1.5;
      }
    }
    if (lots.one_in(3 * odds.reshaped)) kernel.shape.reset();
    if (lots.one_in(odds.slower))
      kernel.each_ns = std::floor(kernel.each_ns *
                                  lots.one_of({0.5, 0.9, 0.97, 0.985, 1.01, 1.021, 1.05, 1.08, 1.3, 2.0}));
    if (lots.one_in(odds.recalled)) kernel.calls = lots.one_in(2) ? 2 * kernel.calls : kernel.calls + 1;
    if (lots.one_in(6) && !kernel.counts.empty())
      kernel.counts.begin()->second *= lots.one_of({1.004, 1.006, 0.996, 0.994, 1.3});
    if (lots.one_in(6) && kernel.dram_bytes) *kernel.dram_bytes *= lots.one_of({1.004, 1.006, 0.9});
    if (lots.one_in(25)) kernel.dram_bytes.reset();
    const bool split = lots.one_in(odds.split);
    if (split) {
      PlannedKernel half = kernel;
      half.each_ns = std::floor(half.each_ns / 2);
      half.kernel += "_epilogue";
      half.code += "e";
      kernel.each_ns -= half.each_ns;
      kernel.code += "h";
      b.kernels.push_back(half);
    }
    b.kernels.push_back(kernel);
    if (lots.one_in(odds.added)) b.kernels.push_back(drawn_kernel(lots, odds, false));
  }
  if (b.kernels.empty()) b.kernels.push_back(a.kernels.front());
  for (const PlannedTransfer& of_a : a.transfers) {
    PlannedTransfer transfer = of_a;
    switch (lots.below(8)) {
      case 0:
        continue;
      case 1:
        transfer.path += " / again";
        break;
      case 2:
        transfer.bytes *= 2;
        break;
      case 3:
        transfer.time_ns *= 1.5;
        transfer.exposed_ns *= 1.5;
        break;
      case 4:
        transfer.exposed_ns = lots.one_in(2) ? 0 : transfer.time_ns;
        break;
      default:
        break;
    }
    b.transfers.push_back(transfer);
  }
  if (lots.one_in(4)) b.transfers.push_back(drawn_transfer(lots, odds));
  for (const auto part : kParts) {
    if (lots.one_in(5)) b.parts.*part = lots.one_in(2) ? 0 : b.parts.*part * 1.4 + 9'000;
  }
  if (lots.one_in(8)) b.parts.cpu_ns.reset();
  return b;
}

// What is the same for all runs of a side, and what is not.
struct PlannedSide {
  std::string device = "NVIDIA H200", uuid = "GPU-1", command_line = "./train --fast", host = "box",
              commit = "c0ffee", roof;
  std::size_t devices = 1;
  std::map<std::string, std::string> versions = {{"driver", "580"}, {"cuda_driver", "13.0"}}, environment;
  double clock_hz = 1.7e9, throttled_share = 0;
  std::vector<std::string> throttle_reasons;
  std::optional<int> temperature_c = 60;
  std::int64_t processes = 1;
};

PlannedSide drawn_side(Lots& lots, const Odds& odds) {
  PlannedSide side;
  if (lots.one_in(2 * odds.other_machine)) side.device = "NVIDIA H100";
  if (lots.one_in(4 * odds.other_machine)) side.devices = 2;
  if (lots.one_in(3 * odds.other_machine)) side.uuid = "GPU-2";
  if (lots.one_in(4 * odds.other_machine)) side.versions["driver"] = "590";
  if (lots.one_in(4 * odds.other_machine)) side.versions.erase("cuda_driver");
  if (lots.one_in(4 * odds.other_machine)) side.versions[lots.one_in(2) ? "cublas" : "cupti"] = "1";
  if (lots.one_in(4 * odds.other_machine)) side.command_line = "/other/train --fast";
  if (lots.one_in(4 * odds.other_machine)) side.processes = 2;
  if (lots.one_in(4 * odds.other_machine)) side.environment["NCCL_ALGO"] = "Ring";
  if (lots.one_in(4 * odds.other_machine)) side.environment["CUDA_HOME"] = "/usr";
  if (lots.one_in(4 * odds.other_machine)) side.host = "rack";
  if (lots.one_in(4 * odds.other_machine)) side.roof = "4.80 TB/s, spec";
  if (lots.one_in(3 * odds.state)) side.clock_hz = lots.one_of({1.683e9, 1.682e9, 1.717e9, 1.718e9, 1.2e9});
  if (lots.one_in(3 * odds.state)) side.temperature_c = lots.one_of({50, 49, 70, 71});
  if (lots.one_in(6 * odds.state)) side.temperature_c.reset();
  if (lots.one_in(4 * odds.state)) {
    side.throttled_share = lots.one_of({0.09, 0.1, 0.25, 0.26, 0.6});
    side.throttle_reasons = {lots.one_in(2) ? "power limit" : "thermal (software)"};
    if (lots.one_in(3)) side.throttle_reasons.emplace_back("hardware slowdown");
  }
  return side;
}

struct PlannedRun {
  double factor = 1;
  std::optional<std::int64_t> start_ns;
  std::int64_t number = 0;
};

RunProfile drawn_run(Lots& lots, const Odds& odds, const PlannedProgram& program, const PlannedSide& side,
                     const PlannedRun& how) {
  RunProfile run;
  run.path = "run" + std::to_string(how.number) + ".ridge";
  run.command_line = side.command_line;
  run.git_commit = side.commit;
  if (lots.one_in(9)) run.git_dirty = true;
  run.host_name = side.host;
  run.start_ns = how.start_ns;
  run.versions = side.versions;
  run.environment = side.environment;
  for (std::size_t i = 0; i < side.devices; ++i)
    run.devices.push_back({side.device, side.uuid, i == 0 ? 132 : 114});
  run.sm_clock_hz = std::round(side.clock_hz / how.factor);
  if (lots.one_in(odds.unmeasured)) run.sm_clock_hz.reset();
  if (!lots.one_in(4)) run.power_w = 500 + std::round(50 * lots.around());
  run.temperature_c = side.temperature_c;
  run.throttled_share = side.throttled_share;
  run.throttle_reasons = side.throttle_reasons;
  run.dram_roof = side.roof;
  run.processes = side.processes;
  std::vector<const PlannedKernel*> kernels;
  for (const PlannedKernel& kernel : program.kernels) {
    if (!lots.one_in(odds.missing)) kernels.push_back(&kernel);
  }
  if (kernels.empty()) kernels.push_back(&program.kernels.front());
  if (lots.one_in(odds.turned)) std::reverse(kernels.begin(), kernels.end());
  for (const PlannedKernel* kernel : kernels) {
    const store::KernelIdentity identity = store::identify_kernel(kernel->kernel);
    KernelSite site;
    site.path = kernel->path;
    site.kernel = kernel->kernel;
    site.family = identity.normalised_name;
    site.kernel_class = identity.kernel_class;
    site.code = kernel->code;
    site.shape = kernel->shape;
    site.stream = kernel->stream;
    site.calls = kernel->calls;
    const double mode = lots.one_in(2) ? 1 + kernel->mode : 1;
    const double noise = 1 + odds.noise * lots.around();
    site.time_ns = std::round(kernel->each_ns * kernel->calls * mode * noise * how.factor);
    if (lots.one_in(4 * odds.unmeasured)) site.time_ns = 0;
    if (!lots.one_in(5)) site.time_deviation_ns = std::round(site.time_ns * 0.03 * lots.part());
    if (run.sm_clock_hz && !lots.one_in(4 * odds.unmeasured))
      site.cycles = site.time_ns * 1e-9 * *run.sm_clock_hz;
    site.dram_bytes = kernel->dram_bytes;
    site.dram_bytes_counted = kernel->dram_bytes.has_value();
    site.dram_ratio = kernel->dram_ratio;
    site.compute_ratio = kernel->compute_ratio;
    site.bound = kernel->bound;
    site.counts = kernel->counts;
    for (int call = 0; call < site.calls; ++call)
      run.order.push_back(static_cast<std::uint32_t>(run.sites.size()));
    run.sites.push_back(site);
    run.kernel_ns += site.time_ns;
  }
  for (const PlannedTransfer& of : program.transfers) {
    if (lots.one_in(2 * odds.missing)) continue;
    const double noise = 1 + odds.noise * lots.around();
    run.transfers.push_back({of.path, of.kind, of.direction, of.calls, of.bytes,
                             std::round(of.time_ns * noise), std::round(of.exposed_ns * noise)});
  }
  run.parts = program.parts;
  for (const auto part : kParts) {
    const double noise = 1 + odds.noise * lots.around();
    run.parts.*part = std::round(run.parts.*part * noise);
  }
  run.gap_ns = std::round(program.gap_ns * (1 + odds.noise * lots.around()));
  run.busy_ns = run.kernel_ns - run.parts.overlap_ns;
  run.step.count = lots.between(1, 30);
  run.step.median_ns = run.busy_ns + run.parts.copy_exposed_ns + run.parts.memset_exposed_ns + run.gap_ns +
                       program.unexplained_ns;
  run.step.mad_ns = std::round(run.step.median_ns * 0.01 * lots.part());
  return run;
}

struct DrawnPair {
  std::vector<RunProfile> a, b;
  ComparisonOptions options;
};

void draw_options(Lots& lots, const Odds& odds, std::size_t runs_a, std::size_t runs_b,
                  ComparisonOptions& options) {
  const std::size_t pairs = std::min(runs_a, runs_b);
  if (runs_a == runs_b && pairs > 1 && lots.one_in(odds.confirmed))
    options.confirmation_pairs = lots.between(1, std::min<std::int64_t>(2, static_cast<std::int64_t>(pairs)));
  if (lots.one_in(2 * odds.unpaired)) options.paired = false;
  if (!lots.one_in(odds.wild_options)) return;
  options.min_pairs = lots.between(1, 5);
  options.alpha = lots.one_of({0.05, 0.01, 0.2});
  options.equivalence_alpha = lots.one_of({0.05, 0.01, 0.2});
  options.false_discovery_rate = lots.one_of({0.05, 0.2, 0.001});
  options.step_ratio = lots.one_of({0.01, 0.002, 0.05});
  options.part_step_share = lots.one_of({0.005, 0.0005, 0.05});
  options.kernel_ratio = lots.one_of({0.02, 0.005, 0.1});
  options.kernel_ns = lots.one_of({1000.0, 0.0, 50'000.0});
  options.kernel_step_share = lots.one_of({0.001, 0.0, 0.02});
  options.strict = lots.one_in(2);
  options.any_environment = lots.one_in(2);
  options.any_order = lots.one_in(2);
  options.min_matched_share = lots.one_of({0.9, 0.5, 1.0});
  options.match.families_only = lots.one_in(5);
  if (lots.one_in(3)) options.match.rules.push_back({"(.*)_forward", "$1_fwd", "forward"});
  if (lots.one_in(4)) options.match.rules.push_back({"(gelu|layernorm)_(.*)", "$1_$22", ""});
  if (lots.one_in(12)) options.match.rules.push_back({"(", "x", ""});
  if (lots.one_in(3)) {
    NoiseFloor floor;
    floor.pairs = lots.one_of<std::int64_t>({2, 3, 10});
    floor.step_ratio = lots.one_of({0.0005, 0.003, 0.02});
    floor.class_ratio[KernelClass::gemm] = 0.004;
    floor.class_ratio[KernelClass::normalisation] = 0.03;
    floor.class_ratio[KernelClass::elementwise] = 0.007;
    options.floor = floor;
  }
  const std::int64_t budgets = lots.below(4);
  for (std::int64_t i = 0; i < budgets; ++i) {
    analyzer::KernelBudget budget;
    budget.kernel = lots.one_of({"*gemm*", "*", "layernorm_forward", "nothing", "*nvjet*"});
    if (lots.one_in(2)) budget.max_time_ns = static_cast<double>(lots.between(10'000, 3'000'000));
    if (lots.one_in(2)) budget.max_dram_bytes = 1e5 * static_cast<double>(lots.between(1, 5000));
    if (lots.one_in(2)) budget.min_utilisation_ratio = lots.part();
    options.budgets.push_back(budget);
  }
}

// When run i of either side began.
std::optional<std::int64_t> begin_of(std::int64_t order, std::size_t i, bool of_b) {
  const auto at = static_cast<std::int64_t>(i);
  switch (order) {
    case 0:
      return std::nullopt;
    case 1:
      return 1'000'000 * (of_b ? 100 + at : at);
    case 2:
      return 1'000'000 * (of_b ? at : 100 + at);
    case 3:
      return 1'000'000 * (at / 2);
    case 4:  // A B B A
      return 1'000'000 * (2 * at + (of_b == (at % 2 == 0) ? 1 : 0));
    default:
      return 1'000'000 * (2 * at + (of_b ? 1 : 0));
  }
}

DrawnPair drawn_pair(std::uint64_t seed, const Odds& odds) {
  Lots lots(seed);
  DrawnPair pair;
  const PlannedProgram program_a = drawn_program(lots, odds);
  const PlannedProgram program_b = changed_program(lots, odds, program_a);
  const PlannedSide side_a = drawn_side(lots, odds), side_b = drawn_side(lots, odds);
  const std::int64_t runs_a = lots.one_in(odds.single) ? 1 : lots.one_in(odds.two) ? 2 : lots.between(3, 7);
  std::int64_t runs_b = runs_a;
  if (lots.one_in(odds.unpaired)) runs_b = lots.between(1, 6);
  const std::int64_t order = lots.one_in(odds.no_begins) ? 0
                             : lots.one_in(odds.blocks)  ? lots.between(1, 3)
                                                         : lots.between(4, 5);
  const double clock = lots.one_in(odds.clock) ? lots.one_of({1.004, 1.02, 0.96, 1.1}) : 1;
  std::vector<double> drift;
  for (std::int64_t i = 0; i < std::max(runs_a, runs_b); ++i)
    drift.push_back(1 + (odds.noise > 0 ? 0.01 * lots.around() : 0));
  for (std::int64_t i = 0; i < runs_a; ++i) {
    const auto place = static_cast<std::size_t>(i);
    pair.a.push_back(
        drawn_run(lots, odds, program_a, side_a, {drift[place], begin_of(order, place, false), i}));
  }
  for (std::int64_t i = 0; i < runs_b; ++i) {
    const auto place = static_cast<std::size_t>(i);
    pair.b.push_back(drawn_run(lots, odds, program_b, side_b,
                               {drift[place] * clock, begin_of(order, place, true), 100 + i}));
  }
  if (lots.one_in(25)) pair.b.back() = pair.a.back();
  if (lots.one_in(40)) pair.b.back().command_line = "./other";
  draw_options(lots, odds, pair.a.size(), pair.b.size(), pair.options);
  return pair;
}

std::string pair_text(std::uint64_t seed, const Odds& odds) {
  const DrawnPair pair = drawn_pair(seed, odds);
  const auto compared = compare(pair.a, pair.b, pair.options);
  std::string text = fields(compared) + "\n";
  text += "matched: " + fields(match_kernels(pair.a[0], pair.b[0], pair.options.match)) + "\n";
  std::vector<double> alike;
  for (const KernelSite& site : pair.b[0].sites)
    alike.push_back(site_similarity(pair.a[0].sites.front(), site));
  text += "alike: " + fields(alike) + "\n";
  if (!compared) return text;
  const Comparison& comparison = compared.value();
  text += "codes:";
  for (const bool regression : {false, true}) {
    for (const bool inconclusive : {false, true}) {
      for (const bool unmatched : {false, true})
        text += " " + std::to_string(exit_code(comparison, {regression, inconclusive, unmatched}));
    }
  }
  text += "\nsettled: " + fields(is_settled(comparison, pair.options)) + " " +
          fields(is_settled(comparison, {})) + "\nother work: " + fields(comparison.other_work());
  for (const TransferChange& change : comparison.transfers) text += " " + fields(change.other_work());
  return text + "\nfloor: " + fields(noise_floor(comparison)) + "\n";
}

class DrawnPairs : public ::testing::TestWithParam<Odds> {};

TEST_P(DrawnPairs, AreHeldWhole) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    AcceptedCases::expect([&] { return pair_text(seed, GetParam()); });
}
INSTANTIATE_TEST_SUITE_P(Kinds, DrawnPairs, ::testing::ValuesIn(kOdds),
                         [](const auto& parameters) { return std::string(parameters.param.name); });

}  // namespace
}  // namespace ridgeline::comparison
