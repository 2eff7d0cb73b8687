#include "whatif/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

#include "model/query_failed.h"
#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "values/value_bytes.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::size_t kLeftReasons = static_cast<std::size_t>(LeftAlone::precision_unknown) + 1;

[[noreturn]] void refuse(std::string message) {
  throw QueryFailed{{ErrorKind::usage, std::move(message)}};
}

void leave(std::vector<std::int64_t>& left, LeftAlone why) {
  ++left[static_cast<std::size_t>(why)];
}

void tell_left(const std::vector<std::int64_t>& left, TransformAnswer& answer) {
  const auto most = std::max_element(left.begin(), left.end());
  if (most == left.end() || *most == 0) return;
  answer.left_alone = static_cast<LeftAlone>(most - left.begin());
  answer.left = *most;
}

std::optional<Quantity> peak_of(Precision precision) {
  return precision == Precision::int8 ? std::optional(Quantity::int8_ops_per_s) : flops_of(precision);
}

// Of the data that a launch works on: of its GEMMs, else of the pipe that is busiest.
Precision values_precision(const LaunchValues& values) {
  if (values.tensor_quantity) return roof_of(*values.tensor_quantity).precision;
  if (!values.busiest_pipe) return Precision::any;
  switch (values.busiest_pipe->pipe) {
    case Pipe::fma:
      return Precision::fp32;
    case Pipe::fp16:
      return Precision::fp16;
    case Pipe::fp64:
      return Precision::fp64;
    default:
      return Precision::any;
  }
}

// The one type of floating-point numbers among a name's template arguments; any if there is none or more than one.
Precision type_among_arguments(std::string_view kernel) {
  struct Word {
    std::string_view text;
    Precision precision;
  };
  static constexpr Word kWords[] = {{"double", Precision::fp64},        {"float", Precision::fp32},
                                    {"__nv_bfloat16", Precision::bf16}, {"BFloat16", Precision::bf16},
                                    {"__half", Precision::fp16},        {"Half", Precision::fp16}};
  const std::size_t arguments = kernel.find('<');
  if (arguments == std::string_view::npos) return Precision::any;
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  Precision found = Precision::any;
  for (const Word& word : kWords) {
    for (std::size_t at = kernel.find(word.text, arguments); at != std::string_view::npos;
         at = kernel.find(word.text, at + 1)) {
      const std::size_t end = at + word.text.size();
      if (in_word(kernel[at - 1]) || (end < kernel.size() && in_word(kernel[end]))) continue;
      if (found != Precision::any && found != word.precision) return Precision::any;
      found = word.precision;
    }
  }
  return found;
}

bool is_gemm(KernelClass kernel_class) {
  return kernel_class == KernelClass::gemm || kernel_class == KernelClass::attention;
}

std::string_view without_namespaces(std::string_view name) {
  const std::size_t last = name.rfind("::");
  return last == std::string_view::npos ? name : name.substr(last + 2);
}

}  // namespace

Transformer::Transformer(const Model& model, const RepresentativeStep& step,
                         const UtilisationAnalysis& utilisation, const PeakPolicy& peaks,
                         const WhatIfRequest& request)
    : model_(model), step_(step), utilisation_(utilisation), peaks_(peaks), request_(request) {}

Transformer::Times Transformer::recorded() const {
  Times times;
  for (const LaunchIndex launch : step_.launches)
    times.push_back(static_cast<double>(duration_ns(model_.launches.row(launch))));
  return times;
}

std::vector<LaunchChange> Transformer::changes(const Times& times) const {
  const Times before = recorded();
  std::vector<LaunchChange> changes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] != before[i]) changes.push_back({i, std::max(times[i], 0.0), times[i] < 0});
  }
  return changes;
}

bool Transformer::means(const std::string& kernels, std::size_t position) const {
  const store::Launch& site = model_.launches.site(step_.launches[position]);
  if (!request_.range.empty() && !RangePattern(request_.range).holds(model_.string(site.nvtx_path_id)))
    return false;
  const std::string_view family = model_.kernel_family(site);
  return name_matches(kernels, family) || name_matches(kernels, without_namespaces(family)) ||
         name_matches(kernels, model_.kernel_name(site));
}

TransformAnswer Transformer::apply(const Transform& transform, Times& times) const {
  TransformAnswer answer;
  answer.transform = transform;
  std::visit([&](const auto& one) { apply_one(one, answer, times); }, transform);
  return answer;
}

template <typename OfKernels>
void Transformer::apply_one(const OfKernels& transform, TransformAnswer& answer, Times& times) const {
  std::vector<std::int64_t> left(kLeftReasons, 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!means(transform.kernels, i)) continue;
    ++answer.launches;
    if (times[i] <= 0) continue;  // gone, or without a timestamp
    const double before_ns = times[i];
    apply_to(transform, {i, times[i], answer, left});
    if (times[i] == before_ns) continue;
    ++answer.changed;
    answer.before_ns += before_ns;
    answer.after_ns += times[i];
  }
  tell_left(left, answer);
  if (answer.launches > 0) return;
  refuse(
      fmt::format("no kernel of the step{} is called '{}': `ridgeline rank --by family` lists them, and * "
                  "stands for any text",
                  request_.range.empty() ? "" : " in those ranges", transform.kernels));
}

void Transformer::apply_to(const Faster& transform, const Site& at) const {
  at.time_ns /= transform.times;
}

void Transformer::apply_to(const AtRoof& transform, const Site& at) const {
  const LaunchVerdict& verdict = utilisation_.launches.group_of(at.position);
  if (!verdict.nearest_roof_ratio || verdict.status != LaunchStatus::measured)
    return leave(at.left, LeftAlone::not_measured);
  const double recorded_ns = static_cast<double>(utilisation_.launches.row(at.position).duration_ns);
  const double roof_ns = recorded_ns * *verdict.nearest_roof_ratio / transform.ratio;
  const double reached_ns = std::max(roof_ns, std::min(request_.shortest_kernel_ns, recorded_ns));
  if (reached_ns >= at.time_ns) return leave(at.left, LeftAlone::at_goal);
  at.time_ns = reached_ns;
}

// What a roof takes of the launch's time grows with the bytes of a value, or shrinks with the type's peak; how near the
// kernel comes to the nearest roof stays.
void Transformer::apply_to(const InPrecision& transform, const Site& at) const {
  const LaunchVerdict& verdict = utilisation_.launches.group_of(at.position);
  const LaunchValues& values = *verdict.values;
  if (!values.dram_utilisation || !values.compute_utilisation) return leave(at.left, LeftAlone::not_measured);
  const store::Launch& site = model_.launches.site(step_.launches[at.position]);
  const std::string_view name = model_.kernel_name(site);
  Precision from = values_precision(values);
  if (from == Precision::any) from = precision_in_name(name);
  if (from == Precision::any) from = type_among_arguments(name);
  if (from == Precision::any) return leave(at.left, LeftAlone::precision_unknown);
  if (from == transform.precision) return leave(at.left, LeftAlone::at_goal);
  double rates = 1;
  if (values.tensor_quantity || is_gemm(model_.kernel_class(site))) {
    const std::optional<Quantity> to = peak_of(transform.precision);
    const std::optional<Quantity> of = values.tensor_quantity ? values.tensor_quantity : peak_of(from);
    if (!to || !of) return leave(at.left, LeftAlone::precision_unknown);
    const auto old_peak =
        choose_peak(model_, site.device_id, *of, rate_source(model_, site.device_id, peaks_));
    const auto new_peak =
        choose_peak(model_, site.device_id, *to, rate_source(model_, site.device_id, peaks_));
    if (!old_peak || !new_peak || new_peak.value().value <= 0)
      return leave(at.left, LeftAlone::precision_unknown);
    rates = old_peak.value().value / new_peak.value().value;
  }
  const double dram = values.dram_utilisation->value, compute = values.compute_utilisation->value;
  const double now = std::max(dram, compute);
  if (now <= 0) return leave(at.left, LeftAlone::not_measured);
  const double then = std::max(dram * value_bytes(transform.precision) / value_bytes(from), compute * rates);
  at.time_ns = std::max(at.time_ns * then / now, std::min(request_.shortest_kernel_ns, at.time_ns));
}

// Pairs that follow each other on their stream, nothing between them; a launch is in one at most.
std::vector<std::pair<std::size_t, std::size_t>> Transformer::neighbours(const Fused& transform) const {
  struct OnStream {
    std::int64_t start_ns = 0;
    std::size_t position = 0;  // SIZE_MAX: no kernel
  };
  std::map<std::tuple<store::Id, std::int64_t, std::int64_t>, std::vector<OnStream>> streams;
  const auto add = [&](const auto& row, std::int64_t start_ns, std::size_t position) {
    streams[{row.device_id, row.context_id, row.stream_id}].push_back({start_ns, position});
  };
  for (std::size_t i = 0; i < step_.launches.size(); ++i) {
    const Launches::Row& row = model_.launches.row(step_.launches[i]);
    if (has_time(row)) add(model_.launches.site(step_.launches[i]), row.start_ns, i);
  }
  for (const std::size_t i : step_.memcpys) add(model_.memcpys[i], model_.memcpys[i].start_ns, SIZE_MAX);
  for (const std::size_t i : step_.memsets) add(model_.memsets[i], model_.memsets[i].start_ns, SIZE_MAX);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (auto& [stream, work] : streams) {
    std::stable_sort(work.begin(), work.end(),
                     [](const OnStream& a, const OnStream& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i + 1 < work.size(); ++i) {
      const std::size_t first = work[i].position, second = work[i + 1].position;
      if (first == SIZE_MAX || second == SIZE_MAX || !means(transform.producer, first) ||
          !means(transform.consumer, second))
        continue;
      pairs.emplace_back(first, second);
      ++i;
    }
  }
  return pairs;
}

std::optional<double> Transformer::fused_ns(std::size_t producer, std::size_t consumer, bool kept,
                                            const Times& times, double& shared_bytes) const {
  const LaunchVerdict& p = utilisation_.launches.group_of(producer);
  const LaunchVerdict& c = utilisation_.launches.group_of(consumer);
  const auto written = p.values->metrics.of("dram_write_bytes");
  const auto read = c.values->metrics.of("dram_read_bytes");
  const auto known = [](const LaunchVerdict& v) {
    return v.values->dram_bytes && v.values->dram_utilisation && v.values->compute_utilisation;
  };
  if (!written || !read || !known(p) || !known(c)) return std::nullopt;
  // What is shared is both, and no more than either. What is kept is still written.
  const double shared = std::max(std::min(written->value, read->value), 0.0);
  const double unmoved = kept ? shared : 2 * shared;
  const double bytes = p.values->dram_bytes->value + c.values->dram_bytes->value;
  const double apart_ns = times[producer] + times[consumer];
  if (bytes <= 0 || c.values->dram_bytes->value <= 0 || apart_ns <= 0) return std::nullopt;
  const double traffic_ns = times[producer] * p.values->dram_utilisation->value +
                            times[consumer] * c.values->dram_utilisation->value;
  const double pipes_ns = times[producer] * p.values->compute_utilisation->value +
                          times[consumer] * c.values->compute_utilisation->value;
  const double roof_ns = std::max(traffic_ns * std::max(bytes - unmoved, 0.0) / bytes, pipes_ns);
  // As near to its roof as the better of the two is today.
  const double nearest = std::max({p.values->dram_utilisation->value, p.values->compute_utilisation->value,
                                   c.values->dram_utilisation->value, c.values->compute_utilisation->value});
  if (nearest <= 0) return std::nullopt;
  shared_bytes += unmoved;
  double fused = roof_ns / std::min(nearest, 1.0);
  // What a product's last part moves besides comes after its operations, not beside them, as fast as the consumer does.
  if (is_gemm(model_.kernel_class(model_.launches.site(step_.launches[producer])))) {
    const double more_bytes = std::max(c.values->dram_bytes->value - unmoved, 0.0);
    fused = std::max(fused, times[producer] + more_bytes * times[consumer] / c.values->dram_bytes->value);
  }
  const double min_ns = std::min(request_.shortest_kernel_ns, apart_ns);
  return std::clamp(fused, min_ns, apart_ns);
}

void Transformer::apply_one(const Fused& transform, TransformAnswer& answer, Times& times) const {
  std::vector<std::int64_t> left(kLeftReasons, 0);
  for (const auto& [producer, consumer] : neighbours(transform)) {
    if (times[producer] <= 0 || times[consumer] <= 0) continue;
    ++answer.launches;
    ++answer.changed;
    const double apart_ns = times[producer] + times[consumer];
    const std::optional<double> fused =
        fused_ns(producer, consumer, transform.kept, times, answer.shared_bytes);
    if (!fused) leave(left, LeftAlone::traffic_unknown);
    times[producer] = fused.value_or(apart_ns);
    times[consumer] = -1;
    answer.before_ns += apart_ns;
    answer.after_ns += times[producer];
  }
  tell_left(left, answer);
  if (answer.launches > 0) return;
  refuse(fmt::format(
      "--fuse{} {},{}: no launch of the second follows one of the first on its stream, with nothing "
      "between them",
      transform.kept ? "-kept" : "", transform.producer, transform.consumer));
}

void Transformer::apply_one(const AsGraph&, TransformAnswer& answer, Times& times) const {
  for (const LaunchIndex launch : step_.launches) {
    if (!model_.launches.site(launch).graph_id) ++answer.launches;
  }
  answer.changed = answer.launches;
  if (answer.launches == 0 && !times.empty())
    refuse("--graph: every kernel of the step is a node of a graph already");
}

void Transformer::apply_one(const HiddenCopies&, TransformAnswer& answer, Times&) const {
  for (const std::size_t i : step_.memcpys) {
    const store::Memcpy& copy = model_.memcpys[i];
    if (copy.kind != CopyKind::host_to_device && copy.kind != CopyKind::device_to_host) continue;
    ++answer.launches;
    answer.before_ns += static_cast<double>(std::max<std::int64_t>(copy.end_ns - copy.start_ns, 0));
  }
  answer.changed = answer.launches;
  if (answer.launches == 0) refuse("--hide-copies: the step copies nothing between the host and the device");
}

}  // namespace ridgeline::analyzer
