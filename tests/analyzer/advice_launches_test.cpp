// Advice on many small launches, on both sides of every threshold, held against
// tests/golden/tables/advice-launches.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_launches(AdviceTable& table) {
  const AdviceRule optimiser = AdviceRule::optimiser, overhead = AdviceRule::launch_overhead;
  const auto many = [](int count, std::int64_t time_ns, double dram, const char* name,
                       KernelClass kernel_class, int kernels) {
    Works works = {table_gemm(), table_rows()};
    for (int i = 0; i < count; ++i) {
      works.push_back({.name = kernels > 1 ? fmt::format("{}_{}", name, i % kernels) : name,
                       .kernel_class = kernel_class,
                       .duration_ns = time_ns,
                       .dram_ratio = dram});
    }
    return works;
  };
  const auto tell = [&](const std::string& what, const Works& works, const ModelChange& before = {}) {
    table.one(optimiser, what, works, before);
  };
  for (const int count : {50, 51, 80})
    tell(fmt::format("{} launches", count),
         many(count, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1));
  for (const std::int64_t time_ns : {9'999, 10'000})
    tell(fmt::format("time {}", time_ns), many(60, time_ns, 0.2, "adamw_kernel", KernelClass::optimiser, 1));
  for (const double dram : {0.5, 0.8, 0.95})
    tell(fmt::format("dram {}", dram), many(60, 6000, dram, "adamw_kernel", KernelClass::optimiser, 1));
  tell("uncounted", many(60, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1), uncounted);
  for (const auto& [count, kernels] :
       {std::pair(50, 5), {51, 3}, {60, 1}, {60, 2}, {96, 24}, {100, 25}, {60, 12}})
    tell(fmt::format("{} launches of {} unnamed kernels", count, kernels),
         many(count, 6000, 0.2, "unnamed", KernelClass::elementwise, kernels));
  tell("unnamed of 49 us", many(60, 49'000, 0.2, "unnamed", KernelClass::elementwise, 3));
  Works mixed = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 3);
  for (std::size_t i = 2; i < mixed.size(); i += 10) mixed[i].duration_ns = 50'000;
  tell("unnamed with some of 50 us", mixed);
  Works loops = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 3);
  const Works others = many(60, 6000, 0.2, "others", KernelClass::elementwise, 4);
  loops.insert(loops.end(), others.begin() + 2, others.end());
  tell("two loops", loops);
  Works uneven = many(60, 6000, 0.2, "unnamed", KernelClass::elementwise, 2);
  for (std::size_t i = 2; i < uneven.size() - 4; ++i) uneven[i].name = "often";
  tell("one kernel often, another rarely", uneven);
  Works ranges = many(60, 6000, 0.2, "plain", KernelClass::other, 1);
  for (std::size_t i = 2; i < ranges.size(); ++i) ranges[i].range = "train/optimizer.step";
  tell("by the range's name", ranges);
  Works apart = many(60, 6000, 0.2, "adamw_kernel", KernelClass::optimiser, 1);
  for (std::size_t i = 2; i < apart.size(); ++i) {
    apart[i].gap_ns = 9000;
    apart[i].late_ns = 5000;
  }
  tell("with gaps", apart);

  const auto small = [](std::int64_t gap_ns, std::int64_t late_ns, int count) {
    Works works = {table_gemm(), table_rows()};
    for (int i = 0; i < count; ++i) {
      works.push_back({.name = fmt::format("small_kernel_{}", i),
                       .duration_ns = 8000,
                       .dram_ratio = 0.7,
                       .gap_ns = gap_ns,
                       .late_ns = late_ns});
    }
    return works;
  };
  for (const std::int64_t gap_ns : {1300, 1400, 1401, 2500, 5000, 9000, 40'000})
    table.one(overhead, fmt::format("gap {}", gap_ns),
              small(gap_ns, std::min<std::int64_t>(gap_ns - 1000, 5000), 40));
  for (const std::int64_t late_ns : {3000, 8900, 18'000, 19'100, 25'000})
    table.one(overhead, fmt::format("called {} before", late_ns), small(9000, late_ns, 40));
  table.one(overhead, "gaps of 299 us", small(299'000, 5000, 5));
  table.one(overhead, "gaps of 301 us", small(301'000, 5000, 5));
  Works graph = small(9000, 5000, 40);
  for (AdviceWork& work : graph) work.graph = true;
  table.one(overhead, "nodes of a graph", graph);
  Works waits = small(9000, 5000, 40);
  waits[1].gap_ns = 200'000;
  waits[1].late_ns = 5000;
  waits[1].wait = SynchronisationCall::stream;
  table.one(overhead, "a wait besides", waits);
  table.one(overhead, "records were lost", small(9000, 5000, 40), {}, [](AdviceModel& model) {
    model.model.completeness.front().launches_seen = 2000;
    model.model.completeness.front().kernel_records = 1999;
  });
  table.one(overhead, "records were dropped", small(9000, 5000, 40), {},
            [](AdviceModel& model) { model.model.completeness.front().dropped_records = 1; });
  table.one(overhead, "steps vary", small(9000, 5000, 40), {}, [](AdviceModel& model) {
    for (std::size_t i = 0; i < 40; i += 4) model.launches[i].grid.x = 100;
  });
}

TEST(AcceptedTable, AdviceOnLaunches) {
  AdviceTable table;
  advise_launches(table);
  ridgeline::testing::expect_accepted("advice-launches.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
