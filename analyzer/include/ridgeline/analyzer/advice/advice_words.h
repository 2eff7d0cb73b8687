// advice_words.h: the words of advice: which rules there are, what a gain rests on, what a recording lacks.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

/// In the order in which they are listed. The words are stable: programs compare them.
enum class AdviceRule : std::uint8_t {
  tail_wave,          ///< the last wave of blocks leaves most of the device idle
  too_few_blocks,     ///< fewer blocks than the device has SMs
  narrow_access,      ///< more sectors or bytes are moved than the data needs
  fold_elementwise,   ///< elementwise kernels hand their data on through DRAM
  bias_kernel,        ///< a bias is added by a kernel of its own after a GEMM
  unfused_attention,  ///< GEMM, softmax, GEMM, with a matrix of T × T between them
  fp32_gemm,          ///< GEMMs on the FMA pipe
  ugly_dimension,     ///< a dimension that allows no wide load
  faster_library,     ///< the library has a faster kernel for this GEMM
  split_k,            ///< the sum of a split GEMM takes a good part of its time
  casts,              ///< conversions between types
  optimiser,          ///< one short launch a tensor
  launch_overhead,    ///< the GPU waits for launches
  l2_fit,             ///< data that fits into L2 is read from DRAM again
  occupancy,          ///< too few warps to hide the latency of memory
  sync_in_step,       ///< the CPU waits for the GPU in the middle of a step
  pageable_copy,      ///< copies from or to memory that is not pinned
  copy_exposed,       ///< copies with no kernel beside them
  comm_exposed,       ///< collectives with no kernel beside them
  loader_wait,        ///< the GPU waits for the next batch
  clock_down,         ///< something holds the clock down that need not
  cold_start,         ///< the analysed step pays for what only first steps need
};

/// What the gain rests on, best first.
enum class AdviceBasis : std::uint8_t {
  measured,   ///< counted or timed in this recording
  modelled,   ///< measured, with an assumed efficiency of what would take its place
  estimated,  ///< neither counters nor what the data flow is are known; times are
};

/// What there is to be recorded or said so that a rule can judge.
enum class AdviceNeed : std::uint8_t {
  counters,         ///< T2
  samples,          ///< T1
  stalls,           ///< samples of program counters
  sectors,          ///< sectors and requests of global loads, as Nsight Compute counts them
  declared_work,    ///< bytes and FLOPs of the program's ranges
  ceilings,         ///< measured roofs and GEMMs of the device
  host_waits,       ///< what the CPU waited for
  clock_samples,    ///< clocks, power and what holds them down
  device_facts,     ///< SM count, compute capability or a peak of the device
  all_ranks,        ///< the other ranks, for what a collective waited for
  loader_range,     ///< an NVTX range round the loading of a batch
  whole_timeline,   ///< launches were lost
  more_steps,       ///< steps after the first
  recording_price,  ///< what the recording adds to the CPU's time
  surer_price,      ///< the same with a smaller error
};

}  // namespace ridgeline::analyzer

namespace ridgeline {

template <>
struct Vocabulary<analyzer::AdviceRule> {
  using Rule = analyzer::AdviceRule;
  static constexpr std::string_view kName = "rule of advice";
  static constexpr Word<Rule> kWords[] = {
      {Rule::tail_wave, "tail-wave"},
      {Rule::too_few_blocks, "too-few-blocks"},
      {Rule::narrow_access, "narrow-access"},
      {Rule::fold_elementwise, "fold-elementwise"},
      {Rule::bias_kernel, "bias-kernel"},
      {Rule::unfused_attention, "unfused-attention"},
      {Rule::fp32_gemm, "fp32-gemm"},
      {Rule::ugly_dimension, "ugly-dimension"},
      {Rule::faster_library, "faster-library"},
      {Rule::split_k, "split-k"},
      {Rule::casts, "casts"},
      {Rule::optimiser, "optimiser"},
      {Rule::launch_overhead, "launch-overhead"},
      {Rule::l2_fit, "l2-fit"},
      {Rule::occupancy, "occupancy"},
      {Rule::sync_in_step, "sync-in-step"},
      {Rule::pageable_copy, "pageable-copy"},
      {Rule::copy_exposed, "copy-exposed"},
      {Rule::comm_exposed, "comm-exposed"},
      {Rule::loader_wait, "loader-wait"},
      {Rule::clock_down, "clock-down"},
      {Rule::cold_start, "cold-start"},
  };
};

template <>
struct Vocabulary<analyzer::AdviceBasis> {
  using Basis = analyzer::AdviceBasis;
  static constexpr std::string_view kName = "basis of a gain";
  static constexpr Word<Basis> kWords[] = {
      {Basis::measured, "measured"}, {Basis::modelled, "modelled"}, {Basis::estimated, "estimated"}};
};

template <>
struct Vocabulary<analyzer::AdviceNeed> {
  using Need = analyzer::AdviceNeed;
  static constexpr std::string_view kName = "need of a rule";
  static constexpr Word<Need> kWords[] = {
      {Need::counters, "counters"},
      {Need::samples, "samples"},
      {Need::stalls, "stalls"},
      {Need::sectors, "sectors"},
      {Need::declared_work, "declared_work"},
      {Need::ceilings, "ceilings"},
      {Need::host_waits, "host_waits"},
      {Need::clock_samples, "clock_samples"},
      {Need::device_facts, "device_facts"},
      {Need::all_ranks, "all_ranks"},
      {Need::loader_range, "loader_range"},
      {Need::whole_timeline, "whole_timeline"},
      {Need::more_steps, "more_steps"},
      {Need::recording_price, "recording_price"},
      {Need::surer_price, "surer_price"},
  };
};

}  // namespace ridgeline
