// The views that stand for a launch and for a range: under the name of each column stands what it says.
#include <map>

#include "store/round_trip_testing.h"

namespace ridgeline::store::testing {
namespace {

using Named = std::map<std::string, std::string>;

// Each column of the only row by its name, as text; "-": NULL.
Named only_row(const Capture& capture, const std::string& sql) {
  const auto answer = capture.query(sql);
  EXPECT_TRUE(answer.ok()) << answer.failure().message;
  Named named;
  if (!answer.ok() || answer.value().rows.size() != 1) return named;
  for (std::size_t i = 0; i < answer.value().columns.size(); ++i) {
    const Value& value = answer.value().rows[0][i];
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    const auto* text = std::get_if<std::string>(&value);
    named[answer.value().columns[i]] = integer != nullptr ? std::to_string(*integer)
                                       : real != nullptr
                                           ? std::to_string(static_cast<std::int64_t>(*real * 10))
                                       : text != nullptr ? *text
                                                         : "-";
  }
  return named;
}

// Under the name of each column stands what it says.
TEST_F(RoundTrip, TheViewsOfALaunchHaveEachFieldUnderItsName) {
  Launch launch = some_launch(50'000);
  launch.end_ns = 50'321;
  launch.context_id = 61;
  launch.stream_id = 62;
  launch.correlation_id = 63;
  launch.graph_id = 64;
  launch.graph_node_id = 65;
  launch.host_start_ns = 49'000;
  launch.host_end_ns = 49'500;
  launch.thread_id = 66;
  launch.grid = {67, 68, 69};
  launch.block = {70, 71, 72};
  launch.cluster = Dim3{73, 74, 75};
  launch.registers_per_thread = 76;
  launch.static_smem_bytes = 77;
  launch.dynamic_smem_bytes = 78;
  launch.step_id = add_step(3);
  launch.ordinal_in_step = 79;
  launch.nvtx_path_id = writer_->string_id("step / forward");
  launch.id = writer_->add(launch);
  writer_->add(LaunchMetric{launch.id, writer_->metric_id("own__metric", "bytes", "meaning"), Tier::t1, 12.5,
                            0.5, 81});
  const Capture capture = finished();
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const Named shape = {{"process_id", text(launch.process_id)},
                       {"device_id", text(launch.device_id)},
                       {"context_id", "61"},
                       {"stream_id", "62"},
                       {"correlation_id", "63"},
                       {"graph_id", "64"},
                       {"graph_node_id", "65"},
                       {"kernel_id", text(launch.kernel_id)},
                       {"start_ns", "50000"},
                       {"end_ns", "50321"},
                       {"host_start_ns", "49000"},
                       {"host_end_ns", "49500"},
                       {"grid_x", "67"},
                       {"grid_y", "68"},
                       {"grid_z", "69"},
                       {"block_x", "70"},
                       {"block_y", "71"},
                       {"block_z", "72"},
                       {"cluster_x", "73"},
                       {"cluster_y", "74"},
                       {"cluster_z", "75"},
                       {"registers_per_thread", "76"},
                       {"static_smem_bytes", "77"},
                       {"dynamic_smem_bytes", "78"},
                       {"ordinal_in_step", "79"}};
  Named row = shape;
  row.merge(Named{{"id", text(launch.id)},
                  {"thread_id", "66"},
                  {"step_id", text(*launch.step_id)},
                  {"nvtx_path_id", text(*launch.nvtx_path_id)}});
  EXPECT_EQ(only_row(capture, "SELECT * FROM launch"), row);
  const Kernel kernel = capture.kernels().at(0);
  Named resolved = shape;
  resolved.merge(Named{{"launch_id", text(launch.id)},
                       {"kernel", kernel.demangled_name},
                       {"normalised_name", kernel.normalised_name},
                       {"class", std::string(to_string(kernel.kernel_class))},
                       {"step_index", "3"},
                       {"phase", "timeline"},
                       {"nvtx_path", "step / forward"},
                       {"duration_ns", "321"}});
  EXPECT_EQ(only_row(capture, "SELECT * FROM v_launch"), resolved);
  EXPECT_EQ(only_row(capture, "SELECT * FROM v_launch_metric"), (Named{{"launch_id", text(launch.id)},
                                                                       {"step_index", "3"},
                                                                       {"phase", "timeline"},
                                                                       {"ordinal_in_step", "79"},
                                                                       {"kernel", kernel.demangled_name},
                                                                       {"metric", "own__metric"},
                                                                       {"label", "own__metric"},
                                                                       {"unit", "bytes"},
                                                                       {"tier", "T1"},
                                                                       {"value", "125"},
                                                                       {"error", "5"},
                                                                       {"sample_count", "81"},
                                                                       {"concurrent", "0"}}));
}

TEST_F(RoundTrip, TheViewsOfARangeHaveEachFieldUnderItsName) {
  NvtxRange range;
  range.process_id = process_;
  range.thread_id = 81;
  range.depth = 82;
  range.name_id = writer_->string_id("forward");
  range.path_id = writer_->string_id("step / forward");
  range.domain_id = writer_->string_id("torch");
  range.step_id = add_step(1);
  range.start_ns = 83;
  range.end_ns = 184;
  range.id = writer_->add(range);
  Annotation work{0, range.id, "attention", 85.5, 86.5};
  work.tokens = 87;
  work.samples = 88;
  work.m = 89;
  work.n = 90;
  work.k = 91;
  writer_->add(work);
  const Capture capture = finished();
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  EXPECT_EQ(only_row(capture, "SELECT * FROM nvtx_range"), (Named{{"id", text(range.id)},
                                                                  {"process_id", text(process_)},
                                                                  {"thread_id", "81"},
                                                                  {"parent_id", "-"},
                                                                  {"depth", "82"},
                                                                  {"name_id", text(range.name_id)},
                                                                  {"path_id", text(range.path_id)},
                                                                  {"domain_id", text(*range.domain_id)},
                                                                  {"step_id", text(*range.step_id)},
                                                                  {"start_ns", "83"},
                                                                  {"end_ns", "184"}}));
  EXPECT_EQ(only_row(capture, "SELECT * FROM annotation"), (Named{{"nvtx_range_id", text(range.id)},
                                                                  {"name", "attention"},
                                                                  {"bytes", "855"},
                                                                  {"flops", "865"},
                                                                  {"tokens", "870"},
                                                                  {"samples", "880"},
                                                                  {"m", "89"},
                                                                  {"n", "90"},
                                                                  {"k", "91"}}));
}

}  // namespace
}  // namespace ridgeline::store::testing
