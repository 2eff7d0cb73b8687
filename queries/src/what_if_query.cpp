#include "ridgeline/queries/what_if_query.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace ridgeline::queries {
namespace {

using analyzer::Precision;

Failure usage(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// What stands before and after the last "="; the pattern is "" where there is none.
std::pair<std::string, std::string_view> pattern_and_value(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return {"", text};
  return {std::string(text.substr(0, equals)), text.substr(equals + 1)};
}

std::optional<Precision> precision_in(std::string_view word) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32, Precision::fp64,
                                    Precision::fp8, Precision::int8, Precision::tf32}) {
    if (to_string(precision) == word) return precision;
  }
  return std::nullopt;
}

}  // namespace

analyzer::Answer<analyzer::WhatIf> ask(analyzer::Session& session, const WhatIfQuery& query,
                                       const analyzer::QueryOptions& how) {
  return session.what_if(query.scope, query.request, how);
}

Result<analyzer::Faster> parse_faster(std::string_view text) {
  auto [kernels, value] = pattern_and_value(text);
  if (!value.empty() && value.back() == 'x') value.remove_suffix(1);
  const auto times = number_in(value);
  if (kernels.empty() || !times || *times <= 0)
    return usage(
        fmt::format("'{}' says neither which kernels nor how much faster: write PATTERN=TIMES, as "
                    "'attention*=1.5x'",
                    text));
  return analyzer::Faster{std::move(kernels), *times};
}

Result<analyzer::AtRoof> parse_at_roof(std::string_view text) {
  auto [kernels, value] = pattern_and_value(text);
  const bool percent = !value.empty() && value.back() == '%';
  if (percent) value.remove_suffix(1);
  const auto number = number_in(value);
  const double ratio = !number ? 0 : percent || *number > 1 ? *number / 100 : *number;
  if (!number || ratio <= 0 || ratio > 1)
    return usage(
        fmt::format("--at-roof: '{}' is no share of a roof: write 85, 85% or 0.85, or PATTERN=85", text));
  return analyzer::AtRoof{ratio, kernels.empty() ? "*" : std::move(kernels)};
}

Result<analyzer::Fused> parse_fused(std::string_view text, bool kept) {
  std::array<std::string, 2> names;
  std::size_t commas = 0;
  int depth = 0;
  for (const char c : text) {
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c == ',' && depth <= 0) {
      ++commas;
      continue;
    }
    if (commas < names.size()) names[commas] += c;
  }
  if (commas != 1 || names[0].empty() || names[1].empty())
    return usage(
        fmt::format("--fuse{}: '{}' is no pair: write PRODUCER,CONSUMER, two patterns of kernels that follow "
                    "each other",
                    kept ? "-kept" : "", text));
  return analyzer::Fused{names[0], names[1], kept};
}

Result<analyzer::InPrecision> parse_in_precision(std::string_view text) {
  auto [kernels, value] = pattern_and_value(text);
  const auto precision = precision_in(value);
  if (kernels.empty() || !precision)
    return usage(fmt::format(
        "--precision: '{}': write PATTERN=TYPE, with fp64, fp32, tf32, bf16, fp16, fp8 or int8", text));
  return analyzer::InPrecision{std::move(kernels), *precision};
}

}  // namespace ridgeline::queries
