// Advice on blocks, waves and occupancy, on both sides of every threshold, held against
// tests/golden/tables/advice-shapes.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_shapes(AdviceTable& table) {
  const AdviceRule tail = AdviceRule::tail_wave, few = AdviceRule::too_few_blocks;
  // 264 blocks fit.
  const AdviceWork work{
      .name = "tail_kernel", .duration_ns = 400'000, .blocks = 330, .threads = 1024, .sm_active_pct = 60};
  const Works works = after_good({work});
  table.sweep<std::int64_t>(tail, "blocks", works, 2, &AdviceWork::blocks,
                            {264, 265, 500, 510, 528, 529, 1399, 1583, 1584, 1663});
  table.sweep<double>(tail, "SMs active", works, 2, &AdviceWork::sm_active_pct, {68, 94.9, 95.1, 97, 99});
  table.sweep<double>(tail, "dram", works, 2, &AdviceWork::dram_ratio, {0.05, 0.8, 0.95});
  table.sweep<std::int64_t>(tail, "time", works, 2, &AdviceWork::duration_ns, {1'000, 40'000});
  table.sweep<KernelClass>(tail, "class", works, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::reduction});
  table.sweep<std::string>(
      tail, "name", works, 2, &AdviceWork::name,
      {"persistent_kernel", "gemm_stream_k", "gemm_streamk", "nvjet_x", "hopper_matmul"});
  table.one(tail, "no samples", works, [](AdviceModel& model) { model.with_samples = false; });
  AdviceWork other = work;
  other.name = "other_tail_kernel";
  other.blocks = 400;
  other.duration_ns = 700'000;
  table.one(tail, "two kernels", after_good({work, other, work}));
  table.one(tail, "two kernels, no samples", after_good({work, other}),
            [](AdviceModel& model) { model.with_samples = false; });

  const Works small =
      after_good({{.name = "few_kernel", .duration_ns = 300'000, .blocks = 8, .dram_ratio = 0.05}});
  table.sweep<std::int64_t>(few, "blocks", small, 2, &AdviceWork::blocks, {1, 8, 50, 98, 99, 100, 132});
  table.sweep<double>(few, "dram", small, 2, &AdviceWork::dram_ratio, {0.4, 0.8, 0.84, 0.86, 0.97});
  table.sweep<std::int64_t>(few, "time", small, 2, &AdviceWork::duration_ns, {1'000, 9'000, 60'000});
  table.sweep<KernelClass>(few, "class", small, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::attention});
  table.one(few, "no SMs known", small,
            [](AdviceModel& model) { model.model.devices.front().sm_count.reset(); });
  Works beside = small;
  beside[2].stream = 9;
  for (const std::int64_t earlier : {-100'000, -299'000}) {
    beside[2].gap_ns = earlier;
    table.one(few, fmt::format("beside another for {}", -earlier), beside);
  }
  Works twice = small;
  twice.push_back(small[2]);
  twice.back().blocks = 16;
  twice.back().duration_ns = 100'000;
  table.one(few, "two launches", twice);
}

void advise_occupancies(AdviceTable& table) {
  const AdviceRule rule = AdviceRule::occupancy;
  const AdviceWork slow{.name = "latency_kernel",
                        .duration_ns = 500'000,
                        .blocks = 2640,
                        .threads = 256,
                        .registers = 128,
                        .dram_ratio = 0.3};
  const auto stalled = [](double scoreboard) {
    return [scoreboard](AdviceModel& model) {
      store::StallWindow window;
      window.process_id = window.device_id = 1;
      window.first_step_index = 3;
      window.last_step_index = 6;
      window.period_cycles = 16384;
      window.samples = 1000;
      model.model.stall_windows = {window};
      const auto sample = [&](const std::string& reason, double count) {
        model.model.stall_samples.push_back({model.kernel("latency_kernel"), 16,
                                             "smsp__pcsamp_warps_issue_stalled_" + reason,
                                             static_cast<std::int64_t>(count)});
      };
      sample("long_scoreboard", 1000 * scoreboard);
      sample("math_pipe_throttle", 700 - 1000 * scoreboard);
      sample("selected", 300);
    };
  };
  const Works works = after_good({slow});
  for (const double share : {0.1, 0.29, 0.3, 0.31, 0.7})
    table.one(rule, fmt::format("scoreboard {}", share), works, {}, stalled(share));
  table.sweep<std::int64_t>(rule, "registers", works, 2, &AdviceWork::registers,
                            {32, 56, 64, 72, 80, 96, 168, 255}, {}, stalled(0.7));
  table.sweep<double>(rule, "dram", works, 2, &AdviceWork::dram_ratio, {0.05, 0.5, 0.58, 0.62, 0.9}, {},
                      stalled(0.7));
  table.sweep<double>(rule, "tensor", works, 2, &AdviceWork::tensor_pct, {10, 29, 31, 50}, {}, stalled(0.7));
  table.sweep<std::int64_t>(rule, "blocks", works, 2, &AdviceWork::blocks, {132, 264, 265, 1000}, {},
                            stalled(0.7));
  table.sweep<std::int64_t>(rule, "threads", works, 2, &AdviceWork::threads, {32, 64, 512, 1024}, {},
                            stalled(0.7));
  table.sweep<KernelClass>(rule, "class", works, 2, &AdviceWork::kernel_class,
                           {KernelClass::communication, KernelClass::gemm, KernelClass::attention}, {},
                           stalled(0.7));
  table.one(rule, "no stalls", works);
  AdviceWork other = slow;
  other.name = "longer_latency_kernel";
  other.duration_ns = 800'000;
  AdviceWork brief = slow;
  brief.name = "shorter_latency_kernel";
  brief.duration_ns = 200'000;
  table.one(rule, "three without stalls", after_good({slow, other, brief}));
  table.one(rule, "three uncounted", after_good({slow, other, brief}), uncounted);
  for (const KernelClass kernel_class : {KernelClass::gemm, KernelClass::attention}) {
    other.kernel_class = kernel_class;
    table.one(rule, "uncounted " + std::string(to_string(kernel_class)), after_good({slow, other}),
              uncounted);
  }
}

TEST(AcceptedTable, AdviceOnShapes) {
  AdviceTable table;
  advise_shapes(table);
  advise_occupancies(table);
  ridgeline::testing::expect_accepted("advice-shapes.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
