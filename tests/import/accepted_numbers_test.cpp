// Numbers of the import over many inputs, held against tests/golden/tables: the work that operations declare, and what
// samples say of launches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "attribution/pm_attribution.h"
#include "kineto/op_shapes.h"
#include "support/accepted_table.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::expect_accepted;

struct Op {
  const char* name;
  std::vector<std::string> sizes, types, values;
};

const std::vector<Op>& operations() {
  static const std::string kHalf = "c10::Half", kBrain = "c10::BFloat16", kFloat = "float";
  static const std::vector<Op> all = {
      {"aten::mm", {"[64, 128]", "[128, 32]"}, {kBrain, kBrain}, {"", ""}},
      {"aten::addmm",
       {"[32]", "[64, 128]", "[128, 32]", "[]", "[]"},
       {kFloat, kHalf, kHalf, "Scalar", "Scalar"},
       {"", "", "", "1", "1"}},
      {"aten::_addmm_activation",
       {"[32]", "[64, 128]", "[128, 32]", "[]", "[]", "[]"},
       {kBrain, kBrain, kBrain, "Scalar", "Scalar", "Scalar"},
       {"", "", "", "1", "1", "True"}},
      {"aten::_scaled_mm", {"[16, 32]", "[32, 16]"}, {"c10::Float8_e4m3fn", "c10::Float8_e5m2"}, {"", ""}},
      {"aten::_int_mm", {"[16, 32]", "[32, 16]"}, {"signed char", "signed char"}, {"", ""}},
      {"aten::bmm", {"[8, 16, 4]", "[8, 4, 2]"}, {kFloat, "double"}, {"", ""}},
      {"aten::baddbmm",
       {"[8, 16, 2]", "[8, 16, 4]", "[8, 4, 2]", "[]", "[]"},
       {"double", "double", "double", "Scalar", "Scalar"},
       {"", "", "", "1", "1"}},
      {"aten::convolution",
       {"[2, 3, 8, 6]", "[4, 3, 3, 3]", "[4]", "[]", "[]", "[]", "[]", "[]", "[]"},
       {kFloat, kFloat, kFloat, "", "", "", "", "", ""},
       {"", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"}},
      {"aten::convolution",
       {"[2, 4, 8, 6]", "[8, 2, 3, 3]", "[]", "[]", "[]", "[]", "[]", "[]", "[]"},
       {kHalf, kHalf, "", "", "", "", "", "", ""},
       {"", "", "", "[1, 2]", "[2, 1]", "[2, 1]", "False", "[0, 0]", "2"}},
      {"aten::convolution",
       {"[2, 4, 4, 3]", "[4, 3, 3, 3]", "[]", "[]", "[]", "[]", "[]", "[]", "[]"},
       {kFloat, kFloat, kFloat, "", "", "", "", "", ""},
       {"", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 0]", "1"}},
      {"aten::convolution_backward",
       {"[2, 4, 4, 3]", "[2, 3, 8, 6]", "[4, 3, 3, 3]", "[]", "[]", "[]", "[]", "[]", "[]", "[]", "[]"},
       {kFloat, kFloat, kFloat, "", "", "", "", "", "", "", ""},
       {"", "", "", "[4]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]"}},
      {"aten::_scaled_dot_product_flash_attention",
       {"[2, 4, 10, 8]", "[2, 2, 14, 8]", "[2, 2, 14, 16]", "[]", "[]", "[]"},
       {kHalf, kHalf, kHalf, "Scalar", "Scalar", "Scalar"},
       {"", "", "", "0.", "True", "False"}},
      {"aten::_scaled_dot_product_efficient_attention",
       {"[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[]", "[]", "[]", "[]"},
       {kBrain, kBrain, kBrain, "", "Scalar", "Scalar", "Scalar"},
       {"", "", "", "", "True", "0.", "True"}},
      {"aten::_scaled_dot_product_cudnn_attention",
       {"[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[]", "[]", "[]", "[]"},
       {kBrain, kBrain, kBrain, "", "Scalar", "Scalar", "Scalar"},
       {"", "", "", "", "True", "0.", "False"}},
      {"aten::_scaled_dot_product_flash_attention_backward",
       {"[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10]",
        "[]", "[]", "[]", "[]", "[]", "[]"},
       {kHalf, kHalf, kHalf, kHalf, kHalf, kFloat, "", "", "Scalar", "Scalar", "Scalar", "Scalar"},
       {"", "", "", "", "", "", "", "", "10", "10", "0.", "False"}},
      {"aten::_scaled_dot_product_efficient_attention_backward",
       {"[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[2, 4, 10, 8]", "[]", "[2, 4, 10, 8]",
        "[2, 4, 10]", "[]", "[]", "[]", "[]", "[]"},
       {kHalf, kHalf, kHalf, kHalf, "", kHalf, kFloat, "", "", "Scalar", "ScalarList", "Scalar"},
       {"", "", "", "", "", "", "", "", "", "0.", "[True, True, True, False]", "True"}},
      {"aten::add", {"[4]", "[4]"}, {kFloat, kFloat}, {"", ""}},
      {"aten::linear", {"[4, 4]", "[4, 4]"}, {kFloat, kFloat}, {"", ""}}};
  return all;
}

std::string listed(const std::vector<std::string>& items, bool quoted) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ", ";
    text += quoted ? "\"" + item + "\"" : item;
  }
  return text + "]";
}

std::string work_text(const Op& op) {
  const auto arguments =
      op_arguments(listed(op.sizes, false), listed(op.types, true), listed(op.values, true));
  if (!arguments) return "arguments that are none";
  const auto work = work_of_op(op.name, *arguments);
  if (!work) return "nothing";
  const auto number = [](const auto& value) {
    return value ? fmt::format("{:.10g}", static_cast<double>(*value)) : "-";
  };
  return fmt::format("{} flops, {} bytes, {} × {} × {}", number(work->flops), number(work->bytes),
                     number(work->m), number(work->n), number(work->k));
}

TEST(AcceptedTable, WorkOfOperationsWithEachArgumentOtherwise) {
  std::string table;
  for (const Op& op : operations()) {
    const auto add = [&](const std::string& what, const Op& changed) {
      table += fmt::format("{}, {}: {}\n", op.name, what, work_text(changed));
    };
    add("whole", op);
    const auto each = [&](const char* list, std::vector<std::string> Op::*member,
                          std::initializer_list<const char*> others) {
      for (std::size_t i = 0; i < (op.*member).size(); ++i) {
        for (const char* other : others) {
          if ((op.*member)[i].empty()) continue;
          Op changed = op;
          (changed.*member)[i] = other;
          add(fmt::format("{} {} {}", list, i, other), changed);
        }
        Op changed = op;
        (changed.*member).resize(i);
        add(fmt::format("{} {}", i, list), changed);
      }
    };
    each("sizes", &Op::sizes,
         {"[]", "[2]", "[64, 128]", "[2, 3, 4]", "[2, 4, 10, 8]", "[0, 128]", "[4, 3, 3, 5]"});
    each("types", &Op::types, {"", "c10::complex<float>", "float", "long", "unknown", "c10::Float8_e4m3fn"});
    each("values", &Op::values,
         {"", "True", "False", "[1, 1]", "[2]", "[0, 0]", "4", "[True, False, True]", "[False, True, False]",
          "[False, False, False]"});
  }
  expect_accepted("op-shapes.txt", table);
}

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  double next() {  // 0 to 1
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40U) / static_cast<double>(1U << 24U);
  }

 private:
  std::uint64_t state_;
};

// Launches of `positions` in each of `steps`, of `length_ns` and more, with samples of 2 us over all of them.
struct SampledRun {
  std::vector<PmActivity> activities;
  PmSamples samples;
  std::vector<double> amounts, active;
};

SampledRun sampled_run(int steps, int positions, double length_ns, bool overlapping, double hidden) {
  SampledRun run;
  Noise noise(static_cast<std::uint64_t>(steps * 100 + positions) + (overlapping ? 7 : 0));
  double now = 1000;
  std::vector<double> rates;
  for (int step = 0; step < steps; ++step) {
    for (int position = 0; position < positions; ++position) {
      const double length = length_ns * (1 + position) * (0.95 + 0.1 * noise.next());
      PmActivity activity;
      activity.start_ns = static_cast<std::int64_t>(now);
      activity.end_ns = static_cast<std::int64_t>(now + length);
      activity.position = static_cast<std::uint32_t>(position);
      activity.family = static_cast<std::uint32_t>(position / 2);
      run.activities.push_back(activity);
      rates.push_back(0.5 + position);
      now += overlapping && position == 1 ? length * 0.6 : length + 400 + 900 * noise.next();
    }
    now += 3000;
  }
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(now); at += 2000) {
    if (noise.next() < hidden) continue;
    run.samples.start_ns.push_back(at);
    run.samples.end_ns.push_back(at + 2000);
    double amount = 0, busy = 0;
    for (std::size_t i = 0; i < run.activities.size(); ++i) {
      const double inside = static_cast<double>(std::min(run.activities[i].end_ns, at + 2000) -
                                                std::max(run.activities[i].start_ns, at));
      if (inside <= 0) continue;
      amount += rates[i] * inside;
      busy += inside;
    }
    run.amounts.push_back(amount * (0.98 + 0.04 * noise.next()));
    run.active.push_back(std::min(busy / 2000, 1.0) + 0.02 * noise.next());
  }
  return run;
}

std::string values_text(const std::vector<std::optional<PmValue>>& values) {
  std::string text;
  for (const auto& value : values) {
    if (!value) {
      text += " -";
      continue;
    }
    // What is left of a difference of equal values is no error.
    const bool none = value->error && *value->error < 1e-6 * std::fabs(value->total);
    text += fmt::format(" {:.6g}±{}/{}{}{}", value->total,
                        none           ? "0"
                        : value->error ? fmt::format("{:.4g}", *value->error)
                                       : "?",
                        value->samples, value->concurrent ? "c" : "", value->pooled ? "p" : "");
  }
  return text;
}

TEST(AcceptedTable, WhatSamplesSayOfLaunches) {
  std::string table;
  for (const int steps : {1, 3}) {
    for (const double length_ns : {600.0, 2500.0, 9000.0}) {
      for (const bool overlapping : {false, true}) {
        for (const double hidden : {0.0, 0.3}) {
          const SampledRun run = sampled_run(steps, 4, length_ns, overlapping, hidden);
          const Attribution attribution(run.activities, run.samples);
          const std::string what =
              fmt::format("{} steps of {} ns{}{}", steps, length_ns, overlapping ? ", overlapping" : "",
                          hidden > 0 ? ", with holes" : "");
          table += fmt::format("{}: interval {} values{}\n", what, attribution.interval_ns(),
                               values_text(attribution.values(run.amounts)));
          table += fmt::format("{}: means{}\n", what, values_text(attribution.means(run.active)));
          for (const std::int64_t off_ns : {-12'000, -4'300, -350, 0, 350, 4'300, 12'000}) {
            PmSamples moved = run.samples;
            for (std::size_t i = 0; i < moved.size(); ++i) {
              moved.start_ns[i] += off_ns;
              moved.end_ns[i] += off_ns;
            }
            const PmShift shift = calibrate_shift(run.activities, moved, run.active);
            table += fmt::format("{}: moved by {} is {} at {}\n", what, off_ns, shift.shift_ns,
                                 shift.correlation ? fmt::format("{:.6f}", *shift.correlation) : "-");
          }
        }
      }
    }
  }
  expect_accepted("sampled-launches.txt", table);
}

}  // namespace
}  // namespace ridgeline::import
