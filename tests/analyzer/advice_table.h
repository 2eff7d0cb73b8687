// advice_table.h: rules of advice over a range of what they look at: a line a case, with its gains and figures, what
// came nearest, or what is lacking.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "advice_model.h"
#include "ridgeline/analyzer/advice/advice.h"

namespace ridgeline::analyzer::testing {

using ridgeline::to_string;
using Works = std::vector<AdviceWork>;
using ModelChange = std::function<void(AdviceModel&)>;

inline std::string text_of(const std::vector<Evidence>& evidence) {
  std::string text;
  for (const Evidence& one : evidence) text += fmt::format(" {}={:.7g}", one.name, one.value);
  return text;
}

inline std::string text_of(const AdviceGain& gain) {
  return fmt::format("{:.0f}/{:.0f}/{:.0f}", gain.low_ns, gain.mid_ns, gain.high_ns);
}

inline std::string text_of(const Advice& advice, const char* what) {
  return fmt::format("{} {} [{}] alone {} net {} claimed {:.0f} launches {}{}", what, to_string(advice.basis),
                     advice.subject, text_of(advice.alone), text_of(advice.net), advice.claimed_ns,
                     advice.launch_count, text_of(advice.evidence));
}

/// All that the report says of one rule.
inline std::string verdict_text(const AdviceReport& report, AdviceRule rule) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  for (const Advice& advice : report.advice) {
    if (advice.rule == rule) add(text_of(advice, "case"));
  }
  for (const Advice& advice : report.small) {
    if (advice.rule == rule) add(text_of(advice, "small"));
  }
  for (const AdviceUnknown& one : report.unknown) {
    if (one.rule != rule) continue;
    add(fmt::format("lacks {} [{}] {:.0f}", to_string(one.need), one.subject, one.max_ns.value_or(-1)));
  }
  for (const AdviceHealthy& one : report.healthy) {
    if (one.rule == rule) add("healthy" + text_of(one.evidence));
  }
  return text.empty() ? "nothing" : text;
}

class AdviceTable {
 public:
  void one(AdviceRule rule, const std::string& what, const Works& works, const ModelChange& before = {},
           const ModelChange& after = {}) {
    AdviceModel model;
    if (before) before(model);
    model.program(works);
    if (after) after(model);
    text_ += fmt::format("{} {}: {}\n", to_string(rule), what, verdict_text(model.advised(), rule));
  }

  /// One field of the work at `at` over some values.
  template <typename Field>
  void sweep(AdviceRule rule, const std::string& what, const Works& works, std::size_t at,
             Field AdviceWork::*field, std::initializer_list<Field> values, const ModelChange& before = {},
             const ModelChange& after = {}) {
    for (const Field& value : values) {
      Works changed = works;
      changed[at].*field = value;
      one(rule, fmt::format("{} {}", what, shown(value)), changed, before, after);
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string shown(double value) { return fmt::format("{:.7g}", value); }
  static std::string shown(std::int64_t value) { return std::to_string(value); }
  static std::string shown(const std::string& value) { return value; }
  static std::string shown(KernelClass value) { return std::string(to_string(value)); }
  static std::string shown(SynchronisationCall value) { return std::string(to_string(value)); }
  template <typename T>
  static std::string shown(const std::optional<T>& value) {
    return value ? shown(*value) : "none";
  }

  std::string text_;
};

inline AdviceWork table_gemm() {
  return {.name = "nvjet_tst_256x128_64x4_TNT",
          .kernel_class = KernelClass::gemm,
          .duration_ns = 1'000'000,
          .blocks = 132,
          .threads = 384,
          .registers = 168,
          .dram_ratio = 0.3,
          .tensor_pct = 90,
          .tensor_ops = 6e11};
}

inline AdviceWork table_rows() {
  return {.name = "rows_kernel", .duration_ns = 1'000'000, .dram_ratio = 0.9};
}

inline Works after_good(Works more) {
  Works all = {table_gemm(), table_rows()};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline void uncounted(AdviceModel& model) {
  model.with_counters = model.with_samples = false;
}

}  // namespace ridgeline::analyzer::testing
