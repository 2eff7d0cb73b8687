// Advice on what the GPU waits for (the CPU, a loader, copies, collectives), on both sides of every threshold, held
// against tests/golden/tables/advice-waits.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "advice_table.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer::testing {
namespace {

void advise_idle(AdviceTable& table) {
  const AdviceRule sync = AdviceRule::sync_in_step, cold = AdviceRule::cold_start;
  Works wait = {table_gemm(), table_rows()};
  wait[1].gap_ns = 200'000;
  wait[1].late_ns = 5000;
  wait[1].wait = SynchronisationCall::stream;
  table.sweep<std::int64_t>(sync, "gap", wait, 1, &AdviceWork::gap_ns, {3'000, 50'000, 200'000, 900'000});
  table.sweep<std::optional<SynchronisationCall>>(
      sync, "call", wait, 1, &AdviceWork::wait,
      {SynchronisationCall::stream, SynchronisationCall::device, SynchronisationCall::event,
       SynchronisationCall::copy_to_host, SynchronisationCall::copy_to_device,
       SynchronisationCall::async_copy_to_device, SynchronisationCall::async_copy_to_host, std::nullopt});
  Works waits = wait;
  waits.push_back(wait[1]);
  waits.back().wait = SynchronisationCall::device;
  waits.back().gap_ns = 100'000;
  table.one(sync, "of two kinds", waits);
  table.one(sync, "waits not recorded", wait, [](AdviceModel& model) { model.with_waits = false; });

  Works loading = {table_gemm(), table_rows()};
  loading[1].gap_ns = 3'000'000;
  loading[1].late_ns = 2'990'000;
  const auto later = [](AdviceModel& model) { model.first_index = 40; };
  table.sweep<std::int64_t>(cold, "call", loading, 1, &AdviceWork::call_ns,
                            {900'000, 999'999, 1'000'000, 1'499'000, 1'501'000, 2'900'000}, later);
  loading[1].call_ns = 2'900'000;
  for (const std::int64_t first : {-5, -4, -3, -2, -1, 0, 1})
    table.one(cold, fmt::format("steps from {}", first), loading,
              [first](AdviceModel& model) { model.first_index = first; });
  Works twice = loading;
  twice.push_back(loading[1]);
  twice.back().name = "second_kernel";
  twice.back().gap_ns = 3'400'000;
  twice.back().late_ns = 3'390'000;
  table.one(cold, "two", twice, later);
  loading[1].graph = true;
  table.one(cold, "a graph", loading, later);

  const AdviceRule loader = AdviceRule::loader_wait;
  const auto loaded = [&](std::int64_t gap_ns, const char* name, std::int64_t from_ns, std::int64_t to_ns) {
    AdviceWork copy{
        .name = "copy", .duration_ns = 30'000, .gap_ns = gap_ns, .stream = 8, .copy_bytes = 1'000'000};
    Works works = {copy, table_gemm(), table_rows()};
    works[1].late_ns = 40'000;
    table.one(loader, fmt::format("gap {}, {} for {}", gap_ns, name, from_ns - to_ns), works, {},
              [&](AdviceModel& model) {
                model.model.strings[900] = name;
                std::int64_t id = 1;
                for (const store::Memcpy& one : model.model.memcpys) {
                  store::NvtxRange range;
                  range.id = id++;
                  range.process_id = range.thread_id = 1;
                  range.name_id = range.path_id = 900;
                  range.start_ns = one.start_ns - from_ns;
                  range.end_ns = one.start_ns - to_ns;
                  model.model.nvtx_ranges.push_back(range);
                }
              });
  };
  const char* const next = "enumerate(DataLoader)#_Single.__next__";
  for (const std::int64_t gap_ns : {30'000, 40'000, 42'000, 99'000, 101'000, 600'000}) {
    loaded(gap_ns, next, gap_ns, 0);
    loaded(gap_ns, "evaluate", gap_ns, 0);
  }
  for (const std::int64_t from_ns : {290'000, 299'999, 300'000, 300'001, 301'000, 310'000})
    loaded(600'000, next, from_ns, 0);
  loaded(600'000, next, 600'000, 290'000);
  loaded(600'000, next, 600'000, 310'000);
}

void advise_copies(AdviceTable& table) {
  const AdviceRule pageable = AdviceRule::pageable_copy, exposed = AdviceRule::copy_exposed;
  const auto copied = [](std::int64_t bytes, std::int64_t time_ns) {
    AdviceWork copy{.name = "copy", .duration_ns = time_ns, .stream = 8, .copy_bytes = bytes};
    return Works{copy, table_gemm(), table_rows()};
  };
  Works held = copied(8'000'000, 1'000'000);
  held[0].wait = SynchronisationCall::async_copy_to_device;
  for (const std::string capability : {"9.0", "8.0"}) {
    table.sweep<std::int64_t>(
        pageable, capability + " bytes", held, 0, &AdviceWork::copy_bytes,
        {65'535, 65'536, 8'000'000, 14'390'000, 14'410'000, 29'900'000, 30'100'000, 45'000'000},
        [&](AdviceModel& model) { model.model.devices.front().compute_capability = capability; });
  }
  table.sweep<std::optional<std::int64_t>>(pageable, "held", held, 0, &AdviceWork::held_ns,
                                           {100'000, 499'000, 500'000, 800'000});
  table.sweep<std::optional<SynchronisationCall>>(
      pageable, "call", held, 0, &AdviceWork::wait,
      {SynchronisationCall::copy_to_device, SynchronisationCall::async_copy_to_host,
       SynchronisationCall::copy_to_host, SynchronisationCall::stream, std::nullopt});
  table.one(pageable, "waits not recorded", held, [](AdviceModel& model) { model.with_waits = false; });
  Works behind = held;
  behind[1].late_ns = 5000;
  behind[1].gap_ns = 100'000;
  table.one(pageable, "a gap behind", behind);

  const Works pinned = copied(45'000'000, 1'000'000);
  table.sweep<std::int64_t>(exposed, "time", pinned, 0, &AdviceWork::duration_ns,
                            {10'000, 20'000, 20'300, 26'000, 60'000, 1'000'000, 1'990'000, 2'010'000});
  table.sweep<std::int64_t>(exposed, "next kernel", pinned, 1, &AdviceWork::gap_ns,
                            {-700'000, 0, 5000, 400'000});
  table.sweep<std::optional<std::int64_t>>(exposed, "next call before", pinned, 1, &AdviceWork::late_ns,
                                           {-1000, 100, 2900, 3100, 20'000});
  for (const std::int64_t over : {-200'000, -790'000, -810'000, -1'000'000}) {
    Works beside = {table_gemm(), pinned[0], table_rows()};
    beside[1].gap_ns = over;
    table.one(exposed, fmt::format("beside a kernel for {}", -over), beside);
  }
  Works others = pinned;
  others.push_back(pinned[0]);
  others.push_back(table_rows());
  others[3].duration_ns = 300'000;
  table.one(exposed, "two copies", others);
  table.one(exposed, "pageable", held);
  table.one(exposed, "to the host", pinned, {}, [](AdviceModel& model) {
    for (store::Memcpy& copy : model.model.memcpys) copy.kind = CopyKind::device_to_host;
  });
  table.one(exposed, "on the device", pinned, {}, [](AdviceModel& model) {
    for (store::Memcpy& copy : model.model.memcpys) copy.kind = CopyKind::device_to_device;
  });

  const AdviceRule comm = AdviceRule::comm_exposed;
  const Works reduce = after_good({{.name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                    .kernel_class = KernelClass::communication,
                                    .duration_ns = 500'000,
                                    .blocks = 24,
                                    .threads = 512,
                                    .dram_ratio = 0.1}});
  table.sweep<std::int64_t>(comm, "time", reduce, 2, &AdviceWork::duration_ns,
                            {10'000, 20'000, 20'500, 40'000, 500'000});
  for (const std::int64_t over : {-100'000, -260'000, -490'000}) {
    Works beside = reduce;
    beside[2].stream = 9;
    beside[2].gap_ns = over;
    table.one(comm, fmt::format("beside a kernel for {}", -over), beside);
  }
  Works more = reduce;
  more.push_back(reduce[2]);
  more.back().name = "ncclDevKernel_AllGather";
  more.back().duration_ns = 700'000;
  more.back().stream = 9;
  more.back().gap_ns = -200'000;
  more.push_back(reduce[2]);
  table.one(comm, "three, two beside each other", more);
}

TEST(AcceptedTable, AdviceOnWaits) {
  AdviceTable table;
  advise_idle(table);
  advise_copies(table);
  ridgeline::testing::expect_accepted("advice-waits.txt", table.text());
}

}  // namespace
}  // namespace ridgeline::analyzer::testing
