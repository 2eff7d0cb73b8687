// Both sides of the limits of imports: how many categories, members, parents, paths and kernels are told apart, how
// long names and spans may be. All of it is held against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "import/foreign_fields.h"
#include "import/import_testing.h"
#include "kineto/kineto_import.h"
#include "perfetto/perfetto_import.h"
#include "recording/launch_join.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/import/trace_files.h"
#include "spool/spool_scan.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"
#include "traces/range_nesting.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::expect_accepted_import;
using ridgeline::testing::fields;
using ridgeline::testing::read_fields;
using ridgeline::testing::TemporaryDirectory;

class Limits : public ::testing::Test {
 protected:
  std::string limited(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  void imported(const std::string& bytes) {
    const std::string output = directory_ / "out.ridge";
    std::filesystem::remove(output);
    (void)expect_accepted_import(import_traces({limited("trace", bytes)}, output), output);
  }
  // What is read of each, without a capture made of it.
  void read_each(const std::vector<std::string>& traces) {
    for (const std::string& trace : traces) {
      const std::string path = limited("trace", trace);
      AcceptedCases::expect(
          [&] { return read_fields([&] { return read_kineto(path, directory_.path(), {}); }); });
    }
  }
  static std::string span_of(const std::string& category, const std::string& name, const std::string& start,
                             const std::string& duration, const std::string& args = "{}") {
    return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
           R"(", "pid": 9, "tid": 11, "ts": )" + start + R"(, "dur": )" + duration + R"(, "args": )" + args +
           "}";
  }
  static std::string kernel_of(const std::string& name, int at) {
    return span_of("kernel", name, std::to_string(at), "2",
                   R"({"device": 0, "stream": 7, "grid": [1, 1, 1], "block": [1, 1, 1], "correlation": )" +
                       std::to_string(at) + "}");
  }
  static std::string launch_of(int at) {
    return span_of("cuda_runtime", "cudaLaunchKernel", std::to_string(at - 5), "1",
                   "{\"correlation\": " + std::to_string(at) + "}");
  }

  TemporaryDirectory directory_;
};

TEST_F(Limits, OfCategoriesThatAreSaidToBeLeftOut) {
  for (const int categories : {31, 32, 33, 40}) {
    std::string text = "[" + kernel_of("k", 10);
    for (int i = 0; i < categories; ++i)
      for (int n = 0; n <= i % 2; ++n)
        text += ",\n" + span_of("category " + std::to_string(i), "x", "1", "1");
    text +=
        ",\n" + span_of(std::string(41, 'l'), "x", "1", "1") + ",\n" + span_of("category 0", "x", "1", "1");
    read_each({text + "]"});
  }
}

TEST_F(Limits, OfSpansAndTimes) {
  std::vector<std::string> traces;
  for (const char* duration :
       {"36028797018963.967", "36028797018963.968", "36028797018963.969", "0", "-0.001"})
    traces.push_back("[" + kernel_of("k", 10) + "," + span_of("kernel", "j", "20", duration) + "]");
  for (const char* start :
       {"2305843009213693.951", "2305843009213693.952", "-1125899906842.623", "-1125899906842.624",
        "-1125899906842.625", "2304717109306851.327", "2304717109306851.328"})
    traces.push_back("[" + kernel_of("k", 10) + "," + span_of("kernel", "j", start, "1") + "]");
  read_each(traces);
}

TEST_F(Limits, OfMembersBesideTheEvents) {
  for (const int before : {6, 7, 8, 9}) {
    std::string text = "{";
    for (int i = 0; i < before; ++i)
      text += "\"member " + std::to_string(i) + "\": " + std::to_string(i) + ",\n";
    read_each({text + "\"rocprofiler\": []}", text + "\"traceEvents\": [" + kernel_of("k", 10) + "]}"});
  }
}

// Quotes and braces that nothing closes, up to where the reader gives up; and one event that is too long.
TEST_F(Limits, OfEventsThatDoNotEnd) {
  for (const int unclosed : {3, 1000, 1001}) {
    std::string text = "[" + kernel_of("k", 10) + ",\n";
    for (int i = 0; i < unclosed; ++i) text += "{\"ph\": 1, \n";
    read_each({text + kernel_of("last", 50)});
  }
  for (const std::size_t bytes :
       {(std::size_t{1} << 20) - 400, (std::size_t{1} << 20) + 400, std::size_t{5} << 19}) {
    read_each({"[" + kernel_of("k", 10) + "," +
               span_of("cpu_op", "x", "1", "1", "{\"a\": \"" + std::string(bytes, 'a') + "\"}") + "," +
               kernel_of("last", 50) + "]"});
  }
}

TEST_F(Limits, OfNestedRangesAndTheirPaths) {
  const auto nested = [](int ranges, std::size_t letters) {
    std::string text = "[" + kernel_of("k", 5'000) + "," + launch_of(5'000);
    for (int i = 0; i < ranges; ++i)
      text += ",\n" + span_of("user_annotation", std::string(letters, static_cast<char>('a' + i % 26)),
                              std::to_string(1'000 + i), std::to_string(9'000 - 2 * i));
    return text + "]";
  };
  imported(nested(3, 1'023));
  for (const int ranges : {256, 257}) imported(nested(ranges, 1));
  imported(nested(8, 1'020));
  imported(nested(9, 1'024));
  imported(nested(9, 1'025));
}

TEST_F(Limits, OfNamesOfKernels) {
  for (const std::size_t letters :
       {std::size_t{10}, (std::size_t{32} << 10) - 1, std::size_t{32} << 10, (std::size_t{32} << 10) + 1})
    imported("[" + kernel_of(std::string(letters, 'k'), 10) + "," + launch_of(10) + "," +
             kernel_of(std::string(letters, 'k') + "x", 20) + "]");
}

TEST_F(Limits, OfNestingsAndDepths) {
  const TemporaryDirectory directory;
  for (const int ranges : {999, 1'000, 1'001, 1'002}) {
    ForeignProcess process(directory.path());
    for (int i = 0; i < ranges; ++i) {
      ForeignRange range;
      range.start_ns = 100 + i;
      range.end_ns = 100'000 - i;
      range.name = process.names.number_of("n" + std::to_string(i % 3));
      process.ranges.push_back(range);
    }
    const std::vector<Path> paths = nest(process);
    AcceptedCases::expect([&] {
      return fields(paths.size()) + fields(paths.back()) + fields(process.ranges.back()) +
             fields(process.ranges[process.ranges.size() - 2]);
    });
  }
  ForeignProcess process(directory.path());
  constexpr int kPaths = 1 << 16;
  for (int i = 0; i < kPaths + 2; ++i) {
    ForeignRange range;
    range.start_ns = 100 + 2 * i;
    range.end_ns = range.start_ns + 1;
    range.name = process.names.number_of("n" + std::to_string(i));
    process.ranges.push_back(range);
  }
  EXPECT_EQ(nest(process).size(), std::size_t{kPaths});
  EXPECT_EQ(process.ranges[kPaths - 1].path, std::uint32_t{kPaths});
  EXPECT_EQ(process.ranges[kPaths].path, 0U);
}

// A call launches so many kernels at most, one on each device; above, the source is wrong about it.
TEST_F(Limits, OfKernelsOfOneCall) {
  for (const std::size_t kernels :
       {std::size_t{1}, LaunchJoin::kMaxKernelsOfCall, LaunchJoin::kMaxKernelsOfCall + 1}) {
    for (const std::uint32_t id : {0U, 7U}) {
      LaunchJoin join;
      int alone = 0;
      const auto emit = [&](const Execution&, const Call* call) { alone += call == nullptr ? 1 : 0; };
      for (std::size_t i = 0; i < kernels; ++i) join.add(Execution{.correlation_id = id}, emit);
      join.add(Execution{.correlation_id = id, .graph_node = 3}, emit);
      join.finish(emit);
      EXPECT_EQ(alone, static_cast<int>(kernels) + 1);
      const bool many = id != 0 && kernels > LaunchJoin::kMaxKernelsOfCall;
      EXPECT_EQ(join.kernels_of_one_call(), many ? static_cast<std::int64_t>(kernels) : 0) << id;
    }
  }
}

TEST_F(Limits, OfColumnsOfSamples) {
  FakeSpool written(directory_.path());
  for (const std::uint32_t position : {0U, 3U, 254U}) written.pm_metric(1, position, 5);
  written.pm_metric(2, 255, 6);
  written.pm_metric(2, 256, 7);
  written.pm_metric(3, 256, 8);
  std::string error;
  const auto reader = spool::Reader::open(written.file(), &error);
  ASSERT_TRUE(reader.has_value()) << error;
  const ScannedSpool scanned = scan_definitions(*reader, {});
  EXPECT_EQ(scanned.pm_windows.at(1).metrics.size(), 255U);
  EXPECT_EQ(scanned.pm_windows.at(2).metrics.size(), 256U);
  EXPECT_EQ(scanned.pm_windows.at(2).metrics.back(), 6U);
  EXPECT_TRUE(scanned.pm_windows.at(3).metrics.empty());
}

// Tracks that hang below each other: a thread is looked for so far up.
TEST_F(Limits, OfTracksBelowTracks) {
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    return bytes + static_cast<char>(value);
  };
  const auto number = [&](std::uint64_t field, std::uint64_t value) {
    return varint(field << 3U) + varint(value);
  };
  const auto text = [&](std::uint64_t field, const std::string& value) {
    return varint(field << 3U | 2U) + varint(value.size()) + value;
  };
  std::string trace = text(1, text(60, number(1, 100) + text(4, number(1, 42) + number(2, 43))));
  for (std::uint64_t i = 1; i <= 20; ++i) trace += text(1, text(60, number(1, 100 + i) + number(5, 99 + i)));
  trace += text(1, number(8, 9'000) + text(53, number(1, 1) + number(2, 50) + text(17, "kernel") +
                                                   text(21, text(1, number(1, 4))) +
                                                   text(6, text(1, "process_id") + text(2, "42"))));
  for (std::uint64_t i = 0; i <= 20; ++i) {
    trace += text(1, number(8, 5'000 + 10 * i) + text(11, number(9, 1) + number(11, 100 + i) +
                                                              text(23, "range " + std::to_string(i))));
    trace += text(1, number(8, 5'005 + 10 * i) + text(11, number(9, 2) + number(11, 100 + i)));
  }
  for (int i = 0; i < 40; ++i)
    for (int n = 0; n <= i % 2; ++n)
      trace += text(1, number(8, 6'000) +
                           text(53, number(2, 5) + text(6, text(1, "x") + text(2, "y")) + number(14, 7)));
  const std::string path = limited("trace", trace);
  AcceptedCases::expect(
      [&] { return read_fields([&] { return read_perfetto(path, directory_.path(), {}); }); });
}

// More kernels that are nobody's than are named, with names that are too long; and many metrics that cannot be read.
TEST_F(Limits, OfWhatIsNotJoined) {
  const std::string capture = directory_ / "run.ridge", output = directory_ / "joined.ridge";
  ASSERT_TRUE(
      import_traces({limited("trace", "[" + kernel_of("known", 10) + "," + launch_of(10) + "]")}, capture)
          .ok());
  for (const bool known : {true, false}) {
    for (const int kernels : {8, 9}) {
      std::string table = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\"";
      for (int i = 0; i < kernels; ++i)
        table += ",\"metric__of_a_name_that_is_long_enough_" + std::to_string(i) + "\"";
      table += "\n\"\",\"\",\"\",\"\",\"ns\"";
      for (int i = 0; i < kernels; ++i) table += ",\"furlong\"";
      table += "\n";
      const auto row = [&](int id, const std::string& name, const std::string& grid) {
        table += "\"" + std::to_string(id) + "\",\"" + name + "\",\"(1, 1, 1)\",\"" + grid + "\",\"100\"";
        for (int i = 0; i < kernels; ++i) table += ",\"5\"";
        table += "\n";
      };
      for (int i = 0; i < kernels; ++i)
        row(i, std::string(static_cast<std::size_t>(60 + 4 * i), 'k'), "(1, 1, 1)");
      if (known) row(99, "known", "(1, 1, 1)");
      std::filesystem::remove(output);
      (void)expect_accepted_import(
          join_ncu_results({limited("table.csv", table)}, capture, output, {.overwrite = true}), output);
    }
  }
}

// A name of more kernels than are said to be meant.
TEST_F(Limits, OfKernelsThatMayBeMeant) {
  const std::string capture = directory_ / "run.ridge", output = directory_ / "joined.ridge";
  for (const int kernels : {4, 5}) {
    std::string trace = "[" + kernel_of("known", 10) + "," + launch_of(10);
    for (int i = 0; i < kernels; ++i) {
      const int at = 100 + 10 * i;
      trace += "," + kernel_of("void f<" + std::to_string(i) + ">(int)", at) + "," + launch_of(at);
    }
    const std::string table = limited(
        "table.csv",
        "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"a__b\"\n\"\",\"\",\"\",\"\",\"ns\"\n"
        "\"0\",\"known\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"1\"\n\"1\",\"f\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"2\"\n");
    for (const std::string& old : {capture, output}) std::filesystem::remove(old);
    ASSERT_TRUE(import_traces({limited("trace", trace + "]")}, capture).ok());
    (void)expect_accepted_import(join_ncu_results({table}, capture, output), output);
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
