#include "ridgeline/reports/advice_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::reports {
namespace {

using analyzer::Advice;
using analyzer::AdviceBasis;
using analyzer::AdviceNeed;
using analyzer::AdviceReport;
using analyzer::AdviceRule;

constexpr int kSubjectColumns = 60;
constexpr std::size_t kLaunchesNamed = 6;

struct RuleWords {
  AdviceRule rule;
  std::string_view meaning;  // what is looked for
  std::string_view action;
  std::string_view look;  // arguments after `ridgeline VERB CAPTURE`
  std::string_view reference;
};

// In the order of AdviceRule. {} in an action is the subject.
constexpr RuleWords kRules[] = {
    {AdviceRule::tail_wave, "a last wave of blocks that leaves SMs idle",
     "Change block size or tile of {}, so that its blocks fill whole waves, or let it fetch its work itself "
     "(persistent blocks).",
     "rank {} --columns shape", "CUDA C++ Best Practices Guide, Execution Configuration Optimizations"},
    {AdviceRule::too_few_blocks, "grids smaller than the device",
     "Give {} more blocks: smaller tiles, or split the dimension that it loops over.",
     "rank {} --columns shape", "CUDA C++ Best Practices Guide, Block Size and Grid Size"},
    {AdviceRule::narrow_access, "loads that move more than their data",
     "Let neighbouring threads of {} read neighbouring addresses, 16 bytes each, and read nothing twice.",
     "rank {} --columns caches", "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory"},
    {AdviceRule::fold_elementwise, "elementwise kernels that hand data on through DRAM",
     "Fuse these elementwise kernels into one (by hand, or torch.compile): {}.", "rank {} --columns caches",
     "PyTorch Performance Tuning Guide, Fuse operations"},
    {AdviceRule::bias_kernel, "biases added by a kernel of their own",
     "Add the bias in the GEMM's epilogue (cublasLt BIAS, torch.addmm) instead of in {}.",
     "rank {} --by launch", "cuBLAS documentation, cublasLtEpilogue_t"},
    {AdviceRule::unfused_attention, "attention in separate kernels",
     "Use a fused attention kernel (FlashAttention, cuDNN, scaled_dot_product_attention) instead of the "
     "GEMMs "
     "around {}.",
     "rank {} --by launch", "FlashAttention, arXiv 2205.14135"},
    {AdviceRule::fp32_gemm, "GEMMs in FP32 on the FMA pipe",
     "Let {} run on the tensor pipe in TF32 or BF16; the numerics change, so check the loss.",
     "rank {} --columns bounds", "cuBLAS documentation, cublasMath_t; torch.set_float32_matmul_precision"},
    {AdviceRule::ugly_dimension, "GEMMs whose rows are not multiples of 16 bytes",
     "Pad the dimension that keeps {} to narrow loads to a multiple of 64 elements.",
     "rank {} --columns shape", "NVIDIA Deep Learning Performance Guide, Matrix Multiplication Background"},
    {AdviceRule::faster_library, "GEMMs of one size that differ in time",
     "Another kernel of this step computes the same GEMM faster than {}: search the library's algorithms.",
     "rank {} --columns shape", "cuBLAS documentation, cublasLtMatmulAlgoGetHeuristic"},
    {AdviceRule::split_k, "sums of split GEMMs that take long",
     "Choose a GEMM without split-K, or with fewer splits, instead of {}.", "rank {} --by launch",
     "cuBLAS documentation, CUBLASLT_ALGO_CONFIG_SPLITK_NUM"},
    {AdviceRule::casts, "conversions in front of GEMMs",
     "Keep a copy in the type that the GEMM reads, or write it in that type at once: {} converts each time.",
     "rank {} --by launch", "PyTorch documentation, Automatic Mixed Precision"},
    {AdviceRule::optimiser, "an optimizer that launches short kernels for each tensor",
     "Use a fused or multi-tensor optimizer (torch.optim …, fused=True): {} is launched once per tensor.",
     "rank {} --by phase", "PyTorch documentation, torch.optim, Algorithms"},
    {AdviceRule::launch_overhead, "gaps in which the GPU waits for launches",
     "Launch the step as a CUDA graph, or fuse kernels: the GPU runs out of work between launches.",
     "steps {}", "CUDA C++ Programming Guide, CUDA Graphs"},
    {AdviceRule::l2_fit, "data that would fit into L2 and is read again",
     "Use what {} reads while it is in L2: change the order of blocks, or set an access policy window.",
     "rank {} --columns caches", "CUDA C++ Programming Guide, Device Memory L2 Access Management"},
    {AdviceRule::occupancy, "too few warps to hide the latency of memory",
     "Let more warps of {} be resident: fewer registers or less shared memory a block.", "rank {} --stalls",
     "CUDA C++ Best Practices Guide, Occupancy"},
    {AdviceRule::sync_in_step, "waits of the CPU for the GPU",
     "Take {} out of the step: keep results on the GPU and read them later, or every so many steps.",
     "steps {}", "PyTorch Performance Tuning Guide, Avoid unnecessary CPU-GPU synchronization"},
    {AdviceRule::pageable_copy, "copies of memory that is not pinned",
     "Copy from pinned memory (pin_memory=True, cudaHostAlloc), asynchronously.", "steps {}",
     "CUDA C++ Best Practices Guide, Pinned Memory"},
    {AdviceRule::copy_exposed, "copies with no kernel beside them",
     "Copy the next batch on a stream of its own while the step runs.", "steps {}",
     "CUDA C++ Best Practices Guide, Asynchronous and Overlapping Transfers with Computation"},
    {AdviceRule::comm_exposed, "collectives with no kernel beside them",
     "Start {} earlier, in smaller buckets, so that it runs beside the backward pass.", "steps {}",
     "PyTorch documentation, DistributedDataParallel, Internal Design"},
    {AdviceRule::loader_wait, "waits for the next batch",
     "Load the next batch while the step runs: more workers, prefetching, cheaper decoding.", "steps {}",
     "PyTorch documentation, torch.utils.data, num_workers and prefetch_factor"},
    {AdviceRule::clock_down, "a clock that is held down and need not be",
     "Find out what holds the SM clock down: {}.", "rank {} --columns clock",
     "nvidia-smi documentation, Clocks Event Reasons"},
    {AdviceRule::cold_start, "launch calls that load or make code",
     "Load or compile kernels before the steps that matter: a launch of {} holds the CPU for a millisecond "
     "or more.",
     "steps {}", "CUDA C++ Programming Guide, Lazy Loading"},
};

const RuleWords& words_of(AdviceRule rule) {
  return kRules[static_cast<std::size_t>(rule)];
}

// Calls and causes are words; kernels may be long.
std::string subject_of(const Advice& advice) {
  if (advice.rule == AdviceRule::sync_in_step) return advice.subject;
  if (advice.rule == AdviceRule::clock_down) return advice.subject;
  return elide_kernel_name(advice.subject, kSubjectColumns);
}

// Figures that count something.
struct CountedThing {
  std::string_view name, one, several;
};
constexpr CountedThing kCounted[] = {
    {"alignment_elements", "element of alignment", "elements of alignment"},
    {"blocks", "block", "blocks"},
    {"blocks_an_sm", "block an SM", "blocks an SM"},
    {"calls", "call", "calls"},
    {"copies", "copy", "copies"},
    {"gaps", "gap", "gaps"},
    {"launches", "launch", "launches"},
    {"ranks", "rank", "ranks"},
    {"registers", "register", "registers"},
    {"sectors_a_request", "sector a request", "sectors a request"},
    {"short_launches", "short launch", "short launches"},
    {"sms", "SM", "SMs"},
    {"waits", "wait", "waits"},
    {"waves", "wave", "waves"},
};

std::string number_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return value == static_cast<double>(whole) ? integer(whole) : fixed(value, 2);
}

// "gaps_ns" is told as "gaps 3.9 ms", "gaps" as "478 gaps".
std::string figure_text(const analyzer::Evidence& figure) {
  std::string_view name = figure.name;
  for (const CountedThing& thing : kCounted)
    if (thing.name == name)
      return fmt::format("{} {}", number_text(figure.value), figure.value == 1 ? thing.one : thing.several);
  const auto ends = [&](std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    return true;
  };
  std::string value;
  if (ends("_bytes_per_s"))
    value = bandwidth_text(figure.value);
  else if (name == "bytes_per_s")
    return fmt::format("rate {}", bandwidth_text(figure.value));
  else if (name == "launches_vary")
    return "launches differ from step to step";
  else if (ends("_ns"))
    value = time_text(figure.value);
  else if (name == "bytes" || ends("_bytes"))
    value = bytes_text(figure.value);
  else if (ends("_ratio"))
    value = percent_text(figure.value);
  else if (ends("_hz"))
    value = clock_text(figure.value);
  else if (ends("_w"))
    value = fixed(figure.value, 0) + " W";
  else if (name == "flops")
    value = fixed(figure.value * 1e-12, 3) + " TFLOP";
  else
    value = number_text(figure.value);
  return in_words(name) + " " + value;
}

// Idle time that a rule could not judge: a step with it is not healthy.
const analyzer::AdviceUnknown* idle_unknown(const AdviceReport& report) {
  constexpr double kMuch = 0.10;  // of the step
  const analyzer::AdviceUnknown* most = nullptr;
  for (const analyzer::AdviceUnknown& unknown : report.unknown) {
    const bool idle = unknown.need == AdviceNeed::host_waits || unknown.need == AdviceNeed::loader_range ||
                      unknown.need == AdviceNeed::whole_timeline || unknown.need == AdviceNeed::more_steps ||
                      unknown.need == AdviceNeed::recording_price || unknown.need == AdviceNeed::surer_price;
    if (!idle || unknown.max_ns.value_or(0) < kMuch * report.step_ns) continue;
    if (most == nullptr || *unknown.max_ns > *most->max_ns) most = &unknown;
  }
  return most;
}

// What would be advice if the steps varied less.
const Advice* within_noise(const AdviceReport& report) {
  constexpr double kMuch = 0.01;  // of the step
  const bool found = !report.small.empty() && report.small.front().net.mid_ns >= kMuch * report.step_ns;
  return found ? &report.small.front() : nullptr;
}

// What keeps a rule from judging most of an idle GPU's time.
std::string idle_unknown_line(const AdviceReport& report, const analyzer::AdviceUnknown& idle) {
  if (idle.need == AdviceNeed::loader_range && idle.max_ns)
    return fmt::format(
        "No advice: the GPU waits for the CPU, {} ({} of the {}), and no rule knows what it does then: "
        "ridgeline "
        "steps shows the gaps, and a range called \"dataloader\" round the loading of a batch would be "
        "judged. "
        "ridgeline advise --all has the rest.",
        time_text(*idle.max_ns), percent_text(*idle.max_ns / report.step_ns), scope_noun(report.scope));
  return fmt::format("No advice: {} cannot judge: {}. ridgeline advise --all has the rest.",
                     to_string(idle.rule), need_text(report, idle));
}

std::string nothing_line(const AdviceReport& report, bool idles) {
  const analyzer::AdviceUnknown* idle = idle_unknown(report);
  const Advice* most = report.once ? nullptr : within_noise(report);
  // A small gain in the noise is not what an idle GPU is about.
  if (idle != nullptr && (most == nullptr || most->net.mid_ns < *idle->max_ns))
    return idle_unknown_line(report, *idle);
  if (most != nullptr) {
    return fmt::format(
        "No advice: {} would gain {}, but the median of the {}s is known to ± {} only, and less than three "
        "times "
        "that is not shown: {}, or ridgeline advise --all.",
        to_string(most->rule), gain_text(report, most->net), scope_noun(report.scope),
        time_text(report.noise_ns),
        report.imported ? "profile more steps" : "record more timeline steps (--schedule)");
  }
  if (idles) return "No advice: no rule knows what the GPU waits for: ridgeline advise --all.";
  // Kernels far below their roofs are not healthy because nobody knows what holds them.
  if (report.kernels_ns > 0 && report.kernels_ns >= report.min_ns) {
    const std::size_t silent = report.unknown.size();
    return fmt::format(
        "No advice: none of {} rules knows why{}, but kernels at {} of their nearest roof would save up to "
        "{} "
        "({}) of the {}: ridgeline explain says what holds each.",
        report.rules(), silent > 0 ? fmt::format(" ({} cannot say)", silent) : "",
        target_text(report.kernels_target), time_text(report.kernels_ns),
        percent_text(report.kernels_ns / report.step_ns), scope_noun(report.scope));
  }
  std::string text = fmt::format(
      "Healthy: none of {} rules found anything that would gain {} ({}) of the {} or more", report.rules(),
      time_text(report.min_ns), percent_text(report.min_ns / report.step_ns), scope_noun(report.scope));
  return report.unknown.empty()
             ? text + "."
             : text + fmt::format("; {} cannot say: ridgeline advise --all.",
                                  counted(static_cast<std::int64_t>(report.unknown.size()), "rule"));
}

bool says(const Advice& advice, std::string_view figure) {
  return std::any_of(advice.evidence.begin(), advice.evidence.end(),
                     [&](const analyzer::Evidence& one) { return one.name == figure; });
}

// What launches other things each time cannot be captured as a whole, nor what waits for its own results.
std::string parts_as_graphs(bool vary, bool waits) {
  if (!vary) {
    return "Launch the step as CUDA graphs from one wait of the CPU to the next, or fuse kernels: the GPU "
           "runs out of work between launches.";
  }
  return fmt::format(
      "Fuse kernels, or launch what is the same each time as CUDA graphs: the GPU runs out of work between "
      "launches, which differ from step to step{}.",
      waits ? ", and the CPU waits in between" : "");
}

}  // namespace

std::string advice_action(const Advice& advice) {
  if (advice.rule == AdviceRule::launch_overhead) {
    const bool vary = says(advice, "launches_vary"), waits = says(advice, "waits_ns");
    if (vary || waits) return parts_as_graphs(vary, waits);
  }
  const std::string_view action = words_of(advice.rule).action;
  const std::size_t at = action.find("{}");
  if (at == std::string_view::npos) return std::string(action);
  const std::string subject = advice.subject.empty() ? "the kernel" : subject_of(advice);
  return std::string(action.substr(0, at)) + subject + std::string(action.substr(at + 2));
}

std::string gain_text(const AdviceReport& report, const analyzer::AdviceGain& gain) {
  std::string text = fmt::format("about {}", time_text(gain.mid_ns));
  if (report.step_ns > 0)
    text +=
        fmt::format(" of the {} ({})", scope_noun(report.scope), percent_text(gain.mid_ns / report.step_ns));
  const std::string low = time_text(gain.low_ns), high = time_text(gain.high_ns);
  return low == high ? text : text + fmt::format(", {} to {}", low, high);
}

std::string certainty_text(const Advice& advice) {
  std::string text;
  switch (advice.basis) {
    case AdviceBasis::measured:
      text = "from what was measured";
      break;
    case AdviceBasis::modelled:
      text = "from what was measured and the usual efficiency of what would take its place";
      break;
    case AdviceBasis::estimated:
      text = "an estimate: not all that it rests on was recorded";
      break;
  }
  text += advice.simulated ? "; overlap simulated" : "; overlap by what ran beside it, not simulated";
  if (advice.power_factor < 1)
    text += fmt::format("; the power limit takes {} of it back", percent_text(1 - advice.power_factor, 0));
  if (advice.claimed_ns > 0 && advice.alone.mid_ns > 0 && advice.claimed_ns >= 0.05 * advice.alone.mid_ns)
    text += fmt::format("; {} of it is in advice above", time_text(advice.claimed_ns));
  return text;
}

std::string evidence_text(const std::vector<analyzer::Evidence>& evidence) {
  std::string text;
  for (const analyzer::Evidence& figure : evidence) text += (text.empty() ? "" : " · ") + figure_text(figure);
  return text;
}

std::string launches_text(const Advice& advice) {
  if (advice.launches.empty()) return "";
  std::string text = advice.launch_count == 1 ? "launch " : "launches ";
  const std::size_t named = std::min(advice.launches.size(), kLaunchesNamed);
  for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + std::to_string(advice.launches[i]);
  const std::int64_t more = advice.launch_count - static_cast<std::int64_t>(named);
  return more > 0 ? text + " and " + integer(more) + " more" : text;
}

std::string_view rule_meaning(AdviceRule rule) {
  return words_of(rule).meaning;
}

namespace {

// Of what another profiler recorded: it is asked for what the agent would have. "": as of a recording.
std::string_view imported_need(AdviceNeed need) {
  switch (need) {
    case AdviceNeed::counters:
      return "the trace has no counters: ridgeline import --onto joins results of Nsight Compute";
    case AdviceNeed::samples:
      return "the trace has no samples of how busy the SMs were: nsys profile --gpu-metrics-devices takes "
             "them";
    case AdviceNeed::stalls:
      return "the trace has no stall reasons: Nsight Compute has them";
    case AdviceNeed::declared_work:
      return "the trace has no shapes of what these do: torch.profiler with record_shapes=True has them";
    case AdviceNeed::host_waits:
      return "what the CPU waited for is not in the trace";
    case AdviceNeed::clock_samples:
      return "the trace has no clocks of the GPU";
    case AdviceNeed::all_ranks:
      return "other ranks are missing: import the traces of all of them into one capture";
    case AdviceNeed::loader_range:
      return "the CPU was busy with something: open a range, \"dataloader\" (NVTX or record_function), round "
             "the "
             "loading of a batch";
    case AdviceNeed::whole_timeline:
      return "launches are missing in the trace: profile it again";
    case AdviceNeed::more_steps:
      return "it is one of the first steps: profile more of them";
    case AdviceNeed::recording_price:
      return "profiling may be what makes the CPU late, and the trace does not say by how much: time the "
             "program alone";
    case AdviceNeed::surer_price:
      return "profiling may be what makes the CPU late, and by how much is known too roughly: profile more "
             "steps";
    default:
      return "";
  }
}

std::string recorded_need(AdviceNeed need) {
  std::string text;
  switch (need) {
    case AdviceNeed::counters:
      text = "no counters: record with --tiers T0,T1,T2 where ridgeline doctor says that they can be read";
      break;
    case AdviceNeed::samples:
      text =
          "how busy the SMs were was not sampled: record with --tiers T0,T1,T2 where ridgeline doctor says "
          "so";
      break;
    case AdviceNeed::stalls:
      text = "no stall reasons: record with --stalls";
      break;
    case AdviceNeed::sectors:
      text = "sectors and requests of loads are not recorded: Nsight Compute's source counters have them";
      break;
    case AdviceNeed::declared_work:
      text = "the program declares no bytes: docs/cli.md, \"Declared work\", says how";
      break;
    case AdviceNeed::ceilings:
      text = "no other kernel of the step does the same GEMM: ridgeline ceilings measures the device's GEMMs";
      break;
    case AdviceNeed::host_waits:
      text = "what the CPU waited for was not recorded: record it again with this version";
      break;
    case AdviceNeed::clock_samples:
      text = "no clock was sampled while these steps ran: record more timeline steps";
      break;
    case AdviceNeed::device_facts:
      text = "a limit or a peak of the device is not known";
      break;
    case AdviceNeed::all_ranks:
      text = "other ranks are missing: record all of them";
      break;
    case AdviceNeed::loader_range:
      text =
          "the CPU was busy with something: open an NVTX range, \"dataloader\", round the loading of a batch";
      break;
    case AdviceNeed::whole_timeline:
      text = "launches were lost: record it again";
      break;
    case AdviceNeed::more_steps:
      text = "it is one of the first steps: record more of them";
      break;
    case AdviceNeed::recording_price:
      text =
          "the recording may be what makes the CPU late, and its price was not measured: record 20 timeline "
          "steps or "
          "more, of a program without CUDA graphs";
      break;
    case AdviceNeed::surer_price:
      text =
          "the recording may be what makes the CPU late, and its price is known too roughly, for the steps "
          "vary: "
          "record more timeline steps, as with --schedule warmup=10,timeline=300";
      break;
  }
  return text;
}

}  // namespace

std::string need_text(const AdviceReport& report, const analyzer::AdviceUnknown& unknown) {
  std::string text(report.imported ? imported_need(unknown.need) : "");
  if (text.empty()) text = recorded_need(unknown.need);
  if (!unknown.subject.empty()) text += ", for " + elide_kernel_name(unknown.subject, kSubjectColumns);
  if (unknown.max_ns && report.step_ns > 0) {
    text += fmt::format(" ({}, {} of the {})", time_text(*unknown.max_ns),
                        percent_text(*unknown.max_ns / report.step_ns), scope_noun(report.scope));
  }
  return text;
}

std::string look_command(AdviceRule rule, std::string_view capture) {
  return fmt::format("ridgeline {}", fmt::format(fmt::runtime(words_of(rule).look), capture));
}

std::string_view rule_reference(AdviceRule rule) {
  return words_of(rule).reference;
}

std::vector<std::string> first_lines(const AdviceReport& report, const analyzer::Quality& quality) {
  if (report.step_ns <= 0) return {};
  if (report.advice.empty()) return {nothing_line(report, gpu_idles(quality))};
  const Advice& first = report.advice.front();
  std::vector<std::string> lines = {
      fmt::format("First: {}", advice_action(first)),
      fmt::format("It would give {}; {}.", gain_text(report, first.net), certainty_text(first))};
  const analyzer::AdviceUnknown* idle = idle_unknown(report);
  if (idle != nullptr && idle->need == AdviceNeed::loader_range && *idle->max_ns > first.net.mid_ns)
    lines.back() += fmt::format(
        " For longer, {} ({}), the GPU waits for the CPU, and no rule knows what it does then: ridgeline "
        "steps "
        "shows the gaps.",
        time_text(*idle->max_ns), percent_text(*idle->max_ns / report.step_ns));
  if (report.advice.size() > 1) {
    lines.push_back(fmt::format("With {} more: {}: ridgeline advise.", report.advice.size() - 1,
                                gain_text(report, report.together)));
  }
  return lines;
}

}  // namespace ridgeline::reports
