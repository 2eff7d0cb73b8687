// made_runs.h: runs written down by hand, as profile_run() would read them from captures.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/store/kernel_identity.h"

namespace ridgeline::comparison::testing {

struct MadeKernel {
  std::string path;
  std::string kernel;
  double time_us = 100;  // of all calls of a step
  double calls = 1;
  std::string code;
  std::int64_t grid = 132;
  std::int64_t block = 256;
  int stream = 0;
};

struct MadeRun {
  std::vector<MadeKernel> kernels;
  double factor = 1;  // on every time: the clock
  double noise = 0;   // standard deviation of ln(time) of each kernel
  std::uint64_t seed = 1;
  std::string device = "NVIDIA H200";
  double clock_hz = 1.7e9;
};

inline RunProfile made(const MadeRun& how) {
  RunProfile run;
  std::mt19937_64 random(how.seed);
  std::normal_distribution<double> normal;
  run.path = "run" + std::to_string(how.seed) + ".ridge";
  run.command_line = "./train";
  run.devices = {{how.device, "GPU-1", 132}};
  run.versions = {{"driver", "580"}};
  run.sm_clock_hz = how.clock_hz / how.factor;
  for (const MadeKernel& kernel : how.kernels) {
    const store::KernelIdentity identity = store::identify_kernel(kernel.kernel);
    KernelSite site;
    site.path = kernel.path;
    site.kernel = kernel.kernel;
    site.family = identity.normalised_name;
    site.kernel_class = identity.kernel_class;
    site.code = kernel.code;
    site.shape = LaunchConfiguration{.grid = {kernel.grid, 1, 1}, .block = {kernel.block, 1, 1}};
    site.stream = kernel.stream;
    site.calls = kernel.calls;
    site.time_ns = kernel.time_us * 1000 * how.factor * std::exp(how.noise * normal(random));
    site.time_deviation_ns = site.time_ns * 0.002;
    site.cycles = site.time_ns * 1e-9 * *run.sm_clock_hz;
    run.order.push_back(static_cast<std::uint32_t>(run.sites.size()));
    run.sites.push_back(site);
    run.kernel_ns += site.time_ns;
  }
  run.step.count = 10;
  run.step.median_ns = run.kernel_ns * 1.02;
  run.step.mad_ns = run.step.median_ns * 0.001;
  run.gap_ns = run.kernel_ns * 0.02;
  run.busy_ns = run.kernel_ns;
  return run;
}

/// Two sides of `count` runs each, with another seed for every run.
inline std::vector<RunProfile> made_side(MadeRun how, std::size_t count, std::uint64_t first_seed) {
  std::vector<RunProfile> runs;
  for (std::size_t i = 0; i < count; ++i) {
    how.seed = first_seed + i;
    runs.push_back(made(how));
  }
  return runs;
}

/// A step of a training program: `layers` layers of eight operations, forward and backward.
inline std::vector<MadeKernel> training_step(double layers = 12) {
  const std::string forward = "step / forward / layer * / ";
  const std::string backward = "step / backward / layer * / ";
  return {
      {"step / forward / embedding", "encoder_forward", 60, 1, "c1"},
      {forward + "layernorm", "layernorm_forward", 25 * layers, 2 * layers, "c2"},
      {forward + "qkv", "nvjet_sm90_tst_128x160_64x5_2x1_v_bz_bias_TNT", 110 * layers, layers, "c3"},
      {forward + "attention", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128",
       130 * layers, layers, "c4"},
      {forward + "mlp", "nvjet_sm90_tst_128x256_64x4_2x1_h_bz_coopA_bias_TNT", 230 * layers, layers, "c5"},
      {forward + "gelu", "gelu_forward", 60 * layers, layers, "c6"},
      {"step / forward / loss", "classifier_kernel", 900, 1, "c7"},
      {backward + "gelu", "gelu_backward", 80 * layers, layers, "c8"},
      {backward + "attention", "compute_dot_do_o", 12 * layers, layers, "c9"},
      {backward + "attention", "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128",
       300 * layers, layers, "c10"},
      {backward + "attention", "convert_dq_to_16bits", 9 * layers, layers, "c11"},
      {backward + "layernorm", "layernorm_backward", 45 * layers, 2 * layers, "c12"},
      {"step / optimizer", "adamw_kernel", 1200, 1, "c13"},
  };
}

}  // namespace ridgeline::comparison::testing
