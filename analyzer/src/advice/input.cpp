#include "advice/input.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

namespace ridgeline::analyzer {

namespace {

// Of floating-point work: below one operation a byte no pipe matters.
constexpr double kLittleArithmetic = 0.35;  // of any pipe's peak

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_cast_name(std::string_view kernel, KernelClass kernel_class) {
  if (kernel_class != KernelClass::copy && kernel_class != KernelClass::elementwise) return false;
  // Parts of a library's fused operations, which no program converts by itself.
  if (names_one_of(kernel, {"cudnn", "convert_dq", "convert_dkv"})) return false;
  return names_one_of(
      kernel, {"loadwithcast", "storewithcast", "bfloat16_copy", "float16_copy", "float8_copy", "cast_kernel",
               "convert_", "_cast", "cast_", "to_bf16", "to_fp16", "to_fp8"});
}

bool is_elementwise_name(std::string_view kernel, KernelClass kernel_class, bool cast) {
  // What a compiler fused is fused as far as its data flow lets it.
  if (kernel.starts_with("triton_") || (kernel_class != KernelClass::elementwise && !cast)) return false;
  return !names_one_of(kernel, {"reduce", "softmax", "norm", "transpose", "permute", "gather", "scatter"});
}

bool is_softmax_name(std::string_view kernel) {
  return names_one_of(kernel, {"softmax", "soft_max"}) &&
         !names_one_of(kernel, {"log_softmax", "logsoftmax", "loss", "entropy", "nll", "classifier", "flash",
                                "fmha", "sdpa"});
}

std::uint32_t gemm_bits(std::string_view kernel) {
  using T = LaunchTraits;
  if (names_one_of(kernel, {"splitkreduce", "split_k_reduce", "splitk_reduce"})) return T::kSplitSum;
  const bool fp32 =
      precision_in_name(kernel) == Precision::fp32 && !names_one_of(kernel, {"tensorop", "tf32"});
  const bool library =
      names_one_of(kernel, {"nvjet", "cutlass", "xmma", "sgemm", "hgemm", "s16816gemm", "s1688gemm", "cublas",
                            "cudnn", "winograd", "implicit_convolve", "convolve_"});
  return T::kGemm | (fp32 ? T::kFp32Name : 0U) | (library ? T::kLibrary : 0U);
}

std::uint32_t elementwise_bits(std::string_view kernel) {
  using T = LaunchTraits;
  if (names_one_of(kernel, {"grad", "backward", "bprop", "dropout", "residual", "norm", "softmax"})) return 0;
  const bool add = names_one_of(kernel, {"functor_add", "add_kernel", "addfunctor"});
  return (names_one_of(kernel, {"bias"}) ? T::kBias : 0U) | (add ? T::kAdd : 0U);
}

LaunchTraits traits_of(const Model& model, const store::Launch& site) {
  using T = LaunchTraits;
  const std::string_view kernel = model.kernel_name(site);
  const KernelClass kernel_class = model.kernel_class(site);
  LaunchTraits traits{.kernel = kernel, .kernel_class = kernel_class};
  const auto note = [&](std::uint32_t trait, bool has) { traits.bits |= has ? trait : 0U; };
  const bool cast = is_cast_name(kernel, kernel_class);
  note(T::kCast, cast);
  note(T::kElementwise, is_elementwise_name(kernel, kernel_class, cast));
  note(T::kFetchesWork,
       names_one_of(kernel, {"persistent", "stream_k", "streamk", "nvjet", "hopper_matmul"}));
  note(T::kSoftmax, is_softmax_name(kernel));
  note(T::kOptimizer, kernel_class == KernelClass::optimiser ||
                          names_one_of(model.string(site.nvtx_path_id), {"optim", "adam", "sgd"}));
  if (kernel_class == KernelClass::gemm) {
    traits.bits |= gemm_bits(kernel);
    traits.precision = precision_in_name(kernel);
  }
  if (kernel_class == KernelClass::elementwise) traits.bits |= elementwise_bits(kernel);
  if (const store::Device* device = model.device(site.device_id); device != nullptr)
    traits.shape = launch_shape(*device, site);
  return traits;
}

}  // namespace

std::optional<double> LaunchView::dram_bytes() const {
  const auto& bytes = values().dram_bytes;
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

std::optional<double> LaunchView::metric(Metric metric) const {
  const std::optional<Measured> value = values().metrics.of(metric);
  return value ? std::optional(value->value) : std::nullopt;
}

AdviceLaunches::AdviceLaunches(const AdviceInput& input) : input_(input) {
  const LaunchUtilisations& launches = input.utilisation.launches;
  const Launches& all = input.model.launches;
  for (const store::Launch& site : all.sites()) traits_.push_back(traits_of(input.model, site));
  site_.reserve(launches.size());
  for (const LaunchUtilisations::Row& row : launches.rows()) site_.push_back(all.row(row.launch).site);
  number_streams();
  order_by_stream();
}

void AdviceLaunches::number_streams() {
  const auto key = [](const store::Launch& site) {
    return std::tuple(site.device_id, site.context_id, site.stream_id);
  };
  const std::vector<store::Launch>& sites = input_.model.launches.sites();
  std::map<decltype(key(sites.front())), std::uint32_t> numbers;
  for (const store::Launch& site : sites) numbers[key(site)];
  std::uint32_t next = 0;
  for (auto& [stream, number] : numbers) number = next++;
  for (const store::Launch& site : sites) stream_.push_back(numbers[key(site)]);
}

// Stream by stream as they come, which is nearly always in order of their start already.
void AdviceLaunches::order_by_stream() {
  const auto start_ns = [&](std::uint32_t i) {
    return input_.model.launches.row(input_.utilisation.launches.row(i).launch).start_ns;
  };
  const auto timed = [&](std::uint32_t i) {
    return has_time(input_.model.launches.row(input_.utilisation.launches.row(i).launch));
  };
  const std::uint32_t streams = stream_.empty() ? 0 : 1 + *std::max_element(stream_.begin(), stream_.end());
  std::vector<std::size_t> begin(streams + 1);
  for (std::uint32_t i = 0; i < size(); ++i) begin[stream_[site_[i]] + 1] += timed(i) ? 1 : 0;
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  by_stream_.resize(begin.back());
  std::vector<std::size_t> next = begin;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (timed(i)) by_stream_[next[stream_[site_[i]]]++] = i;
  }
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return start_ns(a) < start_ns(b); };
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    const auto first = by_stream_.begin() + static_cast<std::ptrdiff_t>(begin[stream]);
    const auto last = by_stream_.begin() + static_cast<std::ptrdiff_t>(begin[stream + 1]);
    if (!std::is_sorted(first, last, earlier)) std::stable_sort(first, last, earlier);
  }
}

LaunchView AdviceLaunches::at(std::uint32_t position) const {
  const LaunchUtilisations& launches = input_.utilisation.launches;
  const LaunchUtilisations::Row& row = launches.row(position);
  LaunchView view;
  view.position = position;
  view.launch = row.launch;
  view.row = &input_.model.launches.row(row.launch);
  view.site = &input_.model.launches.site(row.launch);
  view.verdict = &launches.groups()[row.group];
  view.traits = &traits_[view.row->site];
  view.kernel = view.traits->kernel;
  view.kernel_class = view.traits->kernel_class;
  view.duration_ns = row.duration_ns;
  return view;
}

std::optional<double> advice_peak(const AdviceInput& input, store::Id device_id, Quantity quantity) {
  const PeakSource source = is_flops(quantity) ? rate_source(input.model, device_id, input.peaks)
                                               : dram_source(input.model, device_id, input.peaks);
  const Result<Peak> peak = choose_peak(input.model, device_id, quantity, source);
  return peak ? std::optional(peak.value().value) : std::nullopt;
}

bool names_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  const std::string lower = lower_case(text);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

bool is_elementwise(const LaunchView& launch) {
  if (!launch.is(LaunchTraits::kElementwise)) return false;
  const auto& compute = launch.values().compute_utilisation;
  return !compute || compute->value < kLittleArithmetic ||
         (launch.values().dram_utilisation && launch.values().dram_utilisation->value >= compute->value);
}

Precision precision_of(const LaunchView& launch) {
  const auto& quantity = launch.values().tensor_quantity;
  if (quantity) return roof_of(*quantity).precision;
  return launch.traits->precision;
}

bool launches_lost(const AdviceInput& input) {
  return (input.quality.completeness_known && (input.quality.launches_seen > input.quality.kernel_records ||
                                               input.quality.dropped_records > 0)) ||
         !input.model.lost_rows.empty() || input.accounting.launches_without_time > 0;
}

bool has_own_pace(const AdviceInput& input) {
  const RepresentativeStep& step = input.steps.representative;
  const Phase phase = step.summary.phase;
  return step.whole_recording || step.scope != ScopeKind::step || phase == Phase::timeline ||
         phase == Phase::sample || phase == Phase::after || phase == Phase::warmup;
}

}  // namespace ridgeline::analyzer
