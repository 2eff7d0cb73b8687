// Advice on lowered clocks, on both sides of every threshold, held against tests/golden/tables/advice-clocks.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_clocks(AdviceTable& table) {
  const AdviceRule rule = AdviceRule::clock_down;
  const Works works = {
      table_gemm(), table_rows(), {.name = "latency_kernel", .duration_ns = 500'000, .dram_ratio = 0.3}};
  const auto at = [&](const std::string& what, std::int64_t hz, std::int64_t power_mw, std::int64_t reasons,
                      const ModelChange& before = {}) {
    table.one(rule, what, works, before, [&](AdviceModel& model) { model.clocks(hz, power_mw, reasons); });
  };
  for (const std::int64_t mhz : {1200, 1900, 1950, 1960, 1970, 1979, 1980, 1990})
    at(fmt::format("thermal at {} MHz", mhz), mhz * 1'000'000, 480'000, 0x20);
  for (const std::int64_t reason : {0x0, 0x1, 0x2, 0x4, 0x8, 0x20, 0x40, 0x80, 0x100, 0x24})
    at(fmt::format("reason {:#x}", reason), 1'200'000'000, 400'000, reason);
  const auto mixed = [&](int held_of_ten, std::int64_t reason) {
    table.one(rule, fmt::format("reason {:#x} in {} of 10 samples", reason, held_of_ten), works, {},
              [&](AdviceModel& model) {
                model.clocks(1'200'000'000, 400'000, reason);
                int i = 0;
                for (store::ClockSample& sample : model.model.clock_samples) {
                  if (i++ % 10 >= held_of_ten) sample.throttle_reasons = 0;
                }
              });
  };
  for (const int held : {2, 3, 4, 5, 6}) {
    mixed(held, 0x20);
    mixed(held, 0x2);
  }
  const auto lowered = [&](const char* device, std::int64_t power_mw, std::int64_t seconds_ns,
                           std::int64_t between_ns) {
    table.one(
        rule,
        fmt::format("{} limited at {} mW for {} ms, a sample each {} ms", device, power_mw,
                    seconds_ns / 1'000'000, between_ns / 1'000'000),
        works, [&](AdviceModel& model) { model.model.devices.front().name = device; },
        [&](AdviceModel& model) {
          model.clocks(1'300'000'000, power_mw, 0x4);
          store::ClockSample sample = model.model.clock_samples.back();
          const std::int64_t until_ns = model.model.clock_samples.front().time_ns + seconds_ns;
          while (sample.time_ns + between_ns <= until_ns) {
            sample.time_ns += between_ns;
            model.model.clock_samples.push_back(sample);
          }
        });
  };
  for (const std::int64_t power : {400'000, 629'000, 631'000, 690'000})
    lowered("NVIDIA H200", power, 3'000'000'000, 100'000'000);
  for (const std::int64_t between : {999'000'000, 1'000'000'000, 1'001'000'000})
    lowered("NVIDIA H200", 400'000, 8'000'000'000, between);
  for (const std::int64_t length : {1'999'000'000, 2'000'000'000})
    lowered("NVIDIA H200", 400'000, length, 1'000'000);
  for (const auto& [device, watts] : {std::pair("NVIDIA H200 NVL", 600),
                                      {"NVIDIA H100 NVL", 400},
                                      {"NVIDIA H100 PCIe", 350},
                                      {"NVIDIA GH200 480GB", 700},
                                      {"NVIDIA H100 80GB HBM3", 700},
                                      {"NVIDIA A100-PCIE-40GB", 250},
                                      {"NVIDIA A100-SXM4-80GB", 400},
                                      {"NVIDIA B200", 1000},
                                      {"Unheard Of", 500}}) {
    lowered(device, watts * 899, 2'500'000'000, 500'000'000);
    lowered(device, watts * 901, 2'500'000'000, 500'000'000);
  }
  at("no highest clock", 1'200'000'000, 400'000, 0x20,
     [](AdviceModel& model) { model.model.devices.front().max_sm_clock_hz.reset(); });
  table.one(rule, "no samples", works);
}

TEST(AcceptedTable, AdviceOnClocks) {
  AdviceTable table;
  advise_clocks(table);
  ridgeline::testing::expect_accepted("advice-clocks.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
