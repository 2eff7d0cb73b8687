/// vocabulary.h: the words of a recording, once: from the agent's records over the capture to the screen.
///
/// Each is an enumeration with one word a value. Code compares enumerators; the words are for SQL, JSON, command
/// lines and people: to_string() and parse_word() are the only way there and back. Values that are in spool
/// files have their number written out: these are never changed, and a file may hold others (is_known()).
/// No exceptions, no allocation: the agent uses this inside other people's programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline {

/// What a value was measured with.
enum class Tier : std::uint8_t {
  t0,  ///< timeline
  t1,  ///< in-situ samples
  t2,  ///< counters by step replay
  t3,  ///< on request: cold caches, program-counter samples, instruction counts
};

/// What a step of the recording is for. In spools.
enum class Phase : std::uint32_t {
  warmup = 1,
  timeline = 2,
  sample = 3,  ///< T1: in-situ sampling
  replay = 4,  ///< T2: counters of each kernel, caches as the program left them
  cold = 5,    ///< T3: the same with caches evicted before each kernel
  stalls = 6,  ///< T3: continuous program-counter sampling
  flops = 7,   ///< T3: instrumented count of SASS floating-point operations
  after = 8,   ///< after the schedule: a timeline step that no phase asked for; never in spools
};

/// What became of a step.
enum class StepStatus : std::uint8_t {
  ok,
  mismatch,     ///< ran other launches than the timeline steps: its values were discarded
  failed,       ///< no counters or samples came of it
  interrupted,  ///< the recording ended inside it
};

/// What marks a step.
enum class StepSource : std::uint8_t {
  nvtx,    ///< a range of the program
  period,  ///< the period of its launches
  window,  ///< nothing: the recording window as a whole
};

/// What a device can do so much of a second, at most. In the order of their words.
enum class Quantity : std::uint8_t {
  bf16_flops_per_s,  ///< of the tensor pipe, like all that say nothing else
  dram_bytes_per_s,
  fp16_flops_per_s,
  fp32_flops_per_s,         ///< of the FMA pipe
  fp64_flops_per_s,         ///< of the FP64 pipe
  fp64_tensor_flops_per_s,  ///< of the tensor pipe
  fp8_flops_per_s,
  int8_ops_per_s,
  l2_bytes_per_s,
  tf32_flops_per_s,
};

/// Where the peak of a device comes from.
enum class PeakSource : std::uint8_t {
  spec,       ///< data sheet
  clock,      ///< per-cycle peak times a clock
  measured,   ///< micro-benchmark
  counter,    ///< the counter's own peak_sustained
  burst,      ///< ceiling measured on this device in milliseconds at its highest clock
  sustained,  ///< ceiling measured on this device over seconds, at the clock that power and heat leave
};

/// What a measured ceiling is of.
enum class CeilingLevel : std::uint8_t {
  dram,
  l2,
  l1,
  shared,
  compute,  ///< operations; the kind is the precision
  launch,   ///< time a launch
  pcie,
  nvlink,
  energy,  ///< watts of the device, joules of a byte or an operation
};

/// How long the load was kept up.
enum class CeilingState : std::uint8_t { burst, sustained };

/// In spools.
enum class Severity : std::uint32_t { info = 1, warning = 2, error = 3 };

/// What became of a tier in one process.
enum class TierOutcome : std::uint8_t { ok, partial, refused, failed, not_requested };

/// What became of a window of samples, of counters or of program counters. In spools.
enum class WindowStatus : std::uint32_t {
  ok = 1,
  overflow = 2,  ///< samples end early: the hardware buffer was full or the program ended
  failed = 3,    ///< no samples
};

/// What opened or closed a recording window. In spools.
enum class WindowCause : std::uint32_t { start = 1, delay = 2, duration = 3, signal = 4, exit = 5 };

/// Why replay steps do not measure a kernel that they run. In spools.
enum class ExclusionReason : std::uint32_t {
  unknown = 0,      ///< a spool of another version says something else
  name = 1,         ///< name rule: collectives and the like
  user = 2,         ///< the recording was asked to
  concurrent = 3,   ///< it overlapped a kernel launched later on another stream: it may wait for it
  time_out = 4,     ///< it did not end when run alone
  cooperative = 5,  ///< a cooperative launch over several devices
};

/// What a refusal rests on, where the agent can tell: two refusals of one cause are one. In spools.
enum class RefusalCause : std::uint16_t {
  none_given = 0,
  permission = 1,      ///< counters are for administrators only
  cupti = 2,           ///< CUPTI's result says it
  switched_off = 3,    ///< by whoever records
  stream_capture = 4,  ///< the program captured a stream for too long
  not_available = 5,   ///< this CUPTI or this chip does not have it
};

/// From where to where a copy goes; arrays count as the memory they lie in.
enum class CopyKind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer_to_peer,
  host_to_host,
};

/// A call on which a thread of the host may wait for the device. In spools.
enum class SynchronisationCall : std::uint32_t {
  device = 1,  ///< for everything of a context
  stream = 2,  ///< for a stream
  event = 3,   ///< for an event
  copy = 4,    ///< synchronous copy, of unified addresses or of two or three dimensions
  copy_to_device = 5,
  copy_to_host = 6,
  async_copy_to_device = 7,  ///< waits where the host's memory is pageable
  async_copy_to_host = 8,    ///< the same
  free_device = 9,
  free_host = 10,
};

/// What a kernel does, as far as its name says.
enum class KernelClass : std::uint8_t {
  gemm,
  attention,
  normalisation,
  elementwise,
  reduction,
  copy,
  communication,
  optimiser,
  embedding,
  classifier,
  other,
};

/// What is known of a launch's utilisation.
enum class LaunchStatus : std::uint8_t {
  measured,    ///< DRAM and compute utilisation known
  too_short,   ///< shorter than the launch floor: no roof applies, whatever was measured
  no_roof,     ///< measured, but moves no bytes and uses no pipe; or communication
  unmeasured,  ///< a MissingReason says why
};

/// Why a value is missing.
enum class MissingReason : std::uint8_t {
  none,
  zero_timestamp,  ///< the driver gave no time
  tier_refused,    ///< counters not permitted or not available; text of the collector
  no_replay,       ///< the recording has no replay steps, or none was ok
  graph_node,      ///< CUDA graph nodes are not replayed one by one
  not_replayed,    ///< no replay step has a launch at this ordinal
  mismatch,        ///< another kernel or grid stood at this ordinal
  metric_missing,  ///< replayed, but this counter was not collected for it
  no_peak,         ///< counter known, roof unknown
  excluded,        ///< the kernel must not run alone: replay steps leave it out
  no_sample,       ///< T1 only: no sampled step, or no sample tells this launch from its neighbours
};

template <typename E>
struct Word {
  E value;
  std::string_view text;
};

/// Specialised for each enumeration: `kName` for messages and `kWords`, in the order in which they are listed.
template <typename E>
struct Vocabulary;

template <>
struct Vocabulary<Tier> {
  static constexpr std::string_view kName = "tier";
  static constexpr Word<Tier> kWords[] = {
      {Tier::t0, "T0"}, {Tier::t1, "T1"}, {Tier::t2, "T2"}, {Tier::t3, "T3"}};
};
template <>
struct Vocabulary<Phase> {
  static constexpr std::string_view kName = "phase";
  static constexpr Word<Phase> kWords[] = {{Phase::warmup, "warmup"}, {Phase::timeline, "timeline"},
                                           {Phase::sample, "sample"}, {Phase::replay, "replay"},
                                           {Phase::cold, "cold"},     {Phase::stalls, "stalls"},
                                           {Phase::flops, "flops"},   {Phase::after, "after"}};
};
template <>
struct Vocabulary<StepStatus> {
  static constexpr std::string_view kName = "status of a step";
  static constexpr Word<StepStatus> kWords[] = {{StepStatus::ok, "ok"},
                                                {StepStatus::mismatch, "mismatch"},
                                                {StepStatus::failed, "failed"},
                                                {StepStatus::interrupted, "interrupted"}};
};
template <>
struct Vocabulary<StepSource> {
  static constexpr std::string_view kName = "source of a step";
  static constexpr Word<StepSource> kWords[] = {
      {StepSource::nvtx, "nvtx"}, {StepSource::period, "period"}, {StepSource::window, "window"}};
};
template <>
struct Vocabulary<Quantity> {
  static constexpr std::string_view kName = "quantity of a peak";
  static constexpr Word<Quantity> kWords[] = {{Quantity::bf16_flops_per_s, "bf16_flops_per_s"},
                                              {Quantity::dram_bytes_per_s, "dram_bytes_per_s"},
                                              {Quantity::fp16_flops_per_s, "fp16_flops_per_s"},
                                              {Quantity::fp32_flops_per_s, "fp32_flops_per_s"},
                                              {Quantity::fp64_flops_per_s, "fp64_flops_per_s"},
                                              {Quantity::fp64_tensor_flops_per_s, "fp64_tensor_flops_per_s"},
                                              {Quantity::fp8_flops_per_s, "fp8_flops_per_s"},
                                              {Quantity::int8_ops_per_s, "int8_ops_per_s"},
                                              {Quantity::l2_bytes_per_s, "l2_bytes_per_s"},
                                              {Quantity::tf32_flops_per_s, "tf32_flops_per_s"}};
};
template <>
struct Vocabulary<PeakSource> {
  static constexpr std::string_view kName = "source of a peak";
  static constexpr Word<PeakSource> kWords[] = {
      {PeakSource::spec, "spec"},       {PeakSource::clock, "clock"}, {PeakSource::measured, "measured"},
      {PeakSource::counter, "counter"}, {PeakSource::burst, "burst"}, {PeakSource::sustained, "sustained"}};
};
template <>
struct Vocabulary<CeilingLevel> {
  static constexpr std::string_view kName = "level of a ceiling";
  static constexpr Word<CeilingLevel> kWords[] = {
      {CeilingLevel::dram, "dram"},     {CeilingLevel::l2, "l2"},           {CeilingLevel::l1, "l1"},
      {CeilingLevel::shared, "shared"}, {CeilingLevel::compute, "compute"}, {CeilingLevel::launch, "launch"},
      {CeilingLevel::pcie, "pcie"},     {CeilingLevel::nvlink, "nvlink"},   {CeilingLevel::energy, "energy"}};
};
template <>
struct Vocabulary<CeilingState> {
  static constexpr std::string_view kName = "state of a ceiling";
  static constexpr Word<CeilingState> kWords[] = {{CeilingState::burst, "burst"},
                                                  {CeilingState::sustained, "sustained"}};
};
template <>
struct Vocabulary<Severity> {
  static constexpr std::string_view kName = "severity";
  static constexpr Word<Severity> kWords[] = {
      {Severity::info, "info"}, {Severity::warning, "warning"}, {Severity::error, "error"}};
};
template <>
struct Vocabulary<TierOutcome> {
  static constexpr std::string_view kName = "status of a tier";
  static constexpr Word<TierOutcome> kWords[] = {{TierOutcome::ok, "ok"},
                                                 {TierOutcome::partial, "partial"},
                                                 {TierOutcome::refused, "refused"},
                                                 {TierOutcome::failed, "failed"},
                                                 {TierOutcome::not_requested, "not_requested"}};
};
template <>
struct Vocabulary<WindowStatus> {
  static constexpr std::string_view kName = "status of a window of samples";
  static constexpr Word<WindowStatus> kWords[] = {
      {WindowStatus::ok, "ok"}, {WindowStatus::overflow, "overflow"}, {WindowStatus::failed, "failed"}};
};
template <>
struct Vocabulary<WindowCause> {
  static constexpr std::string_view kName = "cause of a recording window";
  static constexpr Word<WindowCause> kWords[] = {{WindowCause::start, "start"},
                                                 {WindowCause::delay, "delay"},
                                                 {WindowCause::duration, "duration"},
                                                 {WindowCause::signal, "signal"},
                                                 {WindowCause::exit, "exit"}};
};
template <>
struct Vocabulary<ExclusionReason> {
  static constexpr std::string_view kName = "reason of an exclusion";
  static constexpr Word<ExclusionReason> kWords[] = {
      {ExclusionReason::unknown, "unknown"},   {ExclusionReason::name, "name"},
      {ExclusionReason::user, "user"},         {ExclusionReason::concurrent, "concurrent"},
      {ExclusionReason::time_out, "time-out"}, {ExclusionReason::cooperative, "cooperative"}};
};
template <>
struct Vocabulary<RefusalCause> {
  static constexpr std::string_view kName = "cause of a refusal";
  static constexpr Word<RefusalCause> kWords[] = {{RefusalCause::none_given, "none_given"},
                                                  {RefusalCause::permission, "permission"},
                                                  {RefusalCause::cupti, "cupti"},
                                                  {RefusalCause::switched_off, "switched_off"},
                                                  {RefusalCause::stream_capture, "stream_capture"},
                                                  {RefusalCause::not_available, "not_available"}};
};
template <>
struct Vocabulary<CopyKind> {
  static constexpr std::string_view kName = "kind of a copy";
  static constexpr Word<CopyKind> kWords[] = {
      {CopyKind::unknown, "unknown"},     {CopyKind::host_to_device, "HtoD"},
      {CopyKind::device_to_host, "DtoH"}, {CopyKind::device_to_device, "DtoD"},
      {CopyKind::peer_to_peer, "PtoP"},   {CopyKind::host_to_host, "HtoH"},
  };
};

/// The names by which programs call them: those of the runtime, which call the driver's.
template <>
struct Vocabulary<SynchronisationCall> {
  static constexpr std::string_view kName = "synchronising call";
  static constexpr Word<SynchronisationCall> kWords[] = {
      {SynchronisationCall::device, "cudaDeviceSynchronize"},
      {SynchronisationCall::stream, "cudaStreamSynchronize"},
      {SynchronisationCall::event, "cudaEventSynchronize"},
      {SynchronisationCall::copy, "cudaMemcpy"},
      {SynchronisationCall::copy_to_device, "cudaMemcpy HtoD"},
      {SynchronisationCall::copy_to_host, "cudaMemcpy DtoH"},
      {SynchronisationCall::async_copy_to_device, "cudaMemcpyAsync HtoD"},
      {SynchronisationCall::async_copy_to_host, "cudaMemcpyAsync DtoH"},
      {SynchronisationCall::free_device, "cudaFree"},
      {SynchronisationCall::free_host, "cudaFreeHost"},
  };
};

template <>
struct Vocabulary<KernelClass> {
  static constexpr std::string_view kName = "kernel class";
  static constexpr Word<KernelClass> kWords[] = {{KernelClass::gemm, "gemm"},
                                                 {KernelClass::attention, "attention"},
                                                 {KernelClass::normalisation, "normalisation"},
                                                 {KernelClass::elementwise, "elementwise"},
                                                 {KernelClass::reduction, "reduction"},
                                                 {KernelClass::copy, "copy"},
                                                 {KernelClass::communication, "communication"},
                                                 {KernelClass::optimiser, "optimiser"},
                                                 {KernelClass::embedding, "embedding"},
                                                 {KernelClass::classifier, "classifier"},
                                                 {KernelClass::other, "other"}};
};
template <>
struct Vocabulary<LaunchStatus> {
  static constexpr std::string_view kName = "status of a launch";
  static constexpr Word<LaunchStatus> kWords[] = {{LaunchStatus::measured, "measured"},
                                                  {LaunchStatus::too_short, "launch_bound"},
                                                  {LaunchStatus::no_roof, "no_roof"},
                                                  {LaunchStatus::unmeasured, "unmeasured"}};
};
template <>
struct Vocabulary<MissingReason> {
  static constexpr std::string_view kName = "reason why a value is missing";
  static constexpr Word<MissingReason> kWords[] = {{MissingReason::none, "none"},
                                                   {MissingReason::zero_timestamp, "zero_timestamp"},
                                                   {MissingReason::tier_refused, "tier_refused"},
                                                   {MissingReason::no_replay, "no_replay"},
                                                   {MissingReason::graph_node, "graph_node"},
                                                   {MissingReason::not_replayed, "not_replayed"},
                                                   {MissingReason::mismatch, "mismatch"},
                                                   {MissingReason::metric_missing, "metric_missing"},
                                                   {MissingReason::no_peak, "no_peak"},
                                                   {MissingReason::excluded, "excluded"},
                                                   {MissingReason::no_sample, "no_sample"}};
};

/// An enumeration that has words.
template <typename E>
concept Worded = requires {
  Vocabulary<E>::kWords;
};

/// The word of a value; "unknown" for a number that a file holds and no enumerator has.
template <Worded E>
[[nodiscard]] constexpr std::string_view to_string(E value) noexcept {
  for (const Word<E>& word : Vocabulary<E>::kWords) {
    if (word.value == value) return word.text;
  }
  return "unknown";
}

/// The value of exactly that word.
template <Worded E>
[[nodiscard]] constexpr std::optional<E> parse_word(std::string_view text) noexcept {
  for (const Word<E>& word : Vocabulary<E>::kWords) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

/// Whether a number read from a file is one of the enumerators.
template <Worded E>
[[nodiscard]] constexpr bool is_known(E value) noexcept {
  for (const Word<E>& word : Vocabulary<E>::kWords) {
    if (word.value == value) return true;
  }
  return false;
}

}  // namespace ridgeline
