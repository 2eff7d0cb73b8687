// Counters of other profilers: samples that an Nsight Systems export or a Kineto trace holds, and results of Nsight
// Compute that are joined onto a capture. Small files of ours in their schemas.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ncu/ncu_csv.h"
#include "ncu/ncu_numbers.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/utilisation/replayed_in_situ.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"
#include "support/whole_file.h"

namespace ridgeline::import {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::whole_file;

// --- Numbers ---

TEST(NcuNumbers, TheLocaleIsDecidedByValuesThatSayIt) {
  const auto decided = [](std::initializer_list<std::pair<const char*, const char*>> values) {
    DecimalMarks marks;
    for (const auto& [text, unit] : values) marks.see(text, unit);
    return marks.decide();
  };
  EXPECT_EQ(decided({{"117,344", "ns"}, {"65.77", "%"}}).value(), DecimalMark::point);
  EXPECT_EQ(decided({{"117.344", "ns"}, {"65,77", "%"}}).value(), DecimalMark::comma);
  EXPECT_EQ(decided({{"1.234.567", "ns"}}).value(), DecimalMark::comma) << "thousands come several times";
  EXPECT_EQ(decided({{"1.234,5", "ns"}}).value(), DecimalMark::comma);
  EXPECT_EQ(decided({{"1.024", "byte"}}).value(), DecimalMark::comma) << "bytes are whole";
  EXPECT_EQ(decided({{"0.123", "us"}}).value(), DecimalMark::point) << "no group begins with a zero";
  EXPECT_EQ(decided({{"12.345", "%"}}).value(), DecimalMark::point) << "no thousands of per cent";
  EXPECT_EQ(decided({{"12", "ns"}, {"n/a", ""}, {"CachePreferNone", ""}}).value(), DecimalMark::point);
  EXPECT_EQ(decided({{"1\xE2\x80\xAF"
                      "234,5",
                      "us"}})
                .value(),
            DecimalMark::comma)
      << "a narrow blank";
  for (const auto& refused : {decided({{"117.344", "ns"}}), decided({{"65,77", "%"}, {"65.77", "%"}})}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().kind, ErrorKind::corrupt);
    EXPECT_NE(refused.failure().message.find("--ncu-locale"), std::string::npos) << refused.failure().message;
  }
}

TEST(NcuNumbers, ValuesAndUnitsAreBroughtToThoseOfCaptures) {
  EXPECT_DOUBLE_EQ(printed_number("1,234.5", DecimalMark::point).value(), 1234.5);
  EXPECT_DOUBLE_EQ(printed_number("1.234,5", DecimalMark::comma).value(), 1234.5);
  EXPECT_DOUBLE_EQ(printed_number("12 (3; 4; 5)", DecimalMark::point).value(), 12);
  EXPECT_FALSE(printed_number("No-CC", DecimalMark::point).has_value());
  EXPECT_FALSE(printed_number("", DecimalMark::point).has_value());
  const auto scaled = [](const char* unit) { return scaled_unit(unit).value(); };
  EXPECT_EQ(scaled("usecond").unit, "ns");
  EXPECT_DOUBLE_EQ(scaled("us").factor, 1e3);
  EXPECT_EQ(scaled("Kbyte").unit, "bytes");
  EXPECT_DOUBLE_EQ(scaled("Gbyte/second").factor, 1e9);
  EXPECT_EQ(scaled("Gbyte/s").unit, "bytes/s");
  EXPECT_DOUBLE_EQ(scaled("cycle/nsecond").factor, 1e9);
  EXPECT_EQ(scaled("cycle/nsecond").unit, "Hz");
  EXPECT_EQ(scaled("%").unit, "percent");
  EXPECT_FALSE(scaled_unit("furlong").has_value());
  EXPECT_FALSE(scaled_unit("xbyte").has_value()) << "no prefix that there is";
}

// --- A capture to join onto ---

// Three steps: two products of one configuration, 100 and 120 us, and a sum of 50 us.
std::string trace_of_steps() {
  std::string text =
      R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB",
"computeMajor": 8, "computeMinor": 0, "numSms": 108}], "traceEvents": [)json";
  int id = 1;
  for (int step = 0; step < 3; ++step) {
    const int at = 1000 + step * 1000;
    const auto event = [&](const std::string& rest) {
      text += (text.ends_with('[') ? "\n{" : ",\n{") + rest + "}";
    };
    const auto kernel = [&](const std::string& name, int start, int duration, const std::string& grid) {
      event(R"("ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" +
            std::to_string(at + start) + R"(, "dur": )" + std::to_string(duration) +
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" + std::to_string(id) + R"(, "grid": )" +
            grid + R"(, "block": [256, 1, 1]})");
      event(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": )" +
            std::to_string(at + 1 + start / 10) + R"(, "dur": 1, "args": {"correlation": )" +
            std::to_string(id++) + "}");
    };
    kernel("void (anonymous namespace)::gemm<128>(float*)", 60, 100, "[64, 2, 1]");
    kernel("void (anonymous namespace)::gemm<128>(float*)", 200, 120, "[64, 2, 1]");
    kernel("void add<float>(float*)", 400, 50, "[32, 1, 1]");
    event(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(step) +
          R"(", "pid": 9, "tid": 11, "ts": )" + std::to_string(at) + R"(, "dur": 900, "args": {})");
  }
  return text + "]}";
}

constexpr const char* kFixed =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC")";
constexpr const char* kGemm = R"(void <unnamed>::gemm<128>(float *))";

std::string fixed_fields(int id, const std::string& kernel, const std::string& grid) {
  return "\"" + std::to_string(id) + R"x(","5","python","host",")x" + kernel +
         R"x(","1","7","(256, 1, 1)",")x" + grid + R"x(","0","8.0")x";
}

// The page "raw": a line of units below the head, and what stands round a table.
std::string raw_page() {
  std::string text = "==PROF== Connected to process 5\nloss 1.5\n";
  text +=
      std::string(kFixed) +
      R"(,"device__attribute_max_gpu_frequency_khz","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum","launch__func_cache_config","gpc__cycles_elapsed.max")" +
      "\n";
  text += R"("","","","","","","","","","","","","us","Mbyte","Mbyte","","cycle")"
          "\n";
  text += fixed_fields(0, kGemm, "(64, 2, 1)") +
          R"(,"1,410,000","110.00","60.00","4.00","CachePreferNone","154,000")" + "\n";
  text += "==PROF== Profiling gemm: 0%....100%\n";
  text += fixed_fields(1, kGemm, "(64, 2, 1)") +
          R"(,"1,410,000","130.00","80.00","6.00","CachePreferNone","182,000")" + "\n";
  text += fixed_fields(2, "void add<float>(float *)", "(32, 1, 1)") +
          R"(,"1,410,000","60.00","n/a","","CachePreferNone","84,000")" + "\n";
  text += fixed_fields(3, "void other(int)", "(1, 1, 1)") +
          R"(,"1,410,000","1.00","0","0","CachePreferNone","10")" + "\n";
  return text + "==PROF== Disconnected from process 5\n";
}

class Joined : public ::testing::Test {
 protected:
  void SetUp() override {
    write("trace", trace_of_steps());
    (void)accepted(import_traces({directory_ / "trace"}, capture())).value();
  }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  std::string capture() { return directory_ / "run.ridge"; }
  std::string output() { return directory_ / "joined.ridge"; }
  Result<JoinSummary> join(const std::string& name, NcuLocale locale = NcuLocale::decided) {
    return ridgeline::testing::expect_accepted_import(
        join_ncu_results({directory_ / name}, capture(), output(), {.overwrite = true, .locale = locale}),
        output());
  }
  void expect_refused(const std::string& text, ErrorKind kind, const std::string& part) {
    write("bad.csv", text);
    const Result<JoinSummary> result = join("bad.csv");
    ASSERT_FALSE(result.ok()) << part;
    EXPECT_EQ(result.failure().kind, kind) << result.failure().message;
    EXPECT_NE(result.failure().message.find(part), std::string::npos) << result.failure().message;
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(output()));
  }
  static std::string sentences(const JoinSummary& summary) {
    std::string text;
    for (const Reason& message : summary.messages) text += reports::reason_text(message) + "\n";
    return text;
  }

  TemporaryDirectory directory_;
};

TEST_F(Joined, CountersBelongToTheLaunchesOfTheirNameSizeAndOrder) {
  write("raw.csv", raw_page());
  const JoinSummary summary = join("raw.csv").value();
  EXPECT_EQ(summary.launches, 4);
  EXPECT_EQ(summary.joined, 3);
  EXPECT_NE(sentences(summary).find("3 launches of 4"), std::string::npos) << sentences(summary);
  EXPECT_NE(sentences(summary).find("void other(int) 1x1x1 256x1x1"), std::string::npos)
      << sentences(summary);
  const store::Capture joined = store::Capture::open(output()).value();
  EXPECT_TRUE(joined.verify().damage.empty());
  analyzer::Session asked = analyzer::Session::open(output()).value();
  const auto analysis = asked.analysis().value();
  const auto model = asked.model().value();
  const auto replayed = analyzer::replayed_in_situ(*model, analysis->utilisation);
  ASSERT_EQ(replayed.kernels.size(), 2u);
  const analyzer::ReplayedKernel& gemm = replayed.kernels[0];
  EXPECT_EQ(gemm.launches, 2);
  EXPECT_EQ(gemm.replayed, 2);
  EXPECT_EQ(gemm.in_situ_ns, 220'000);
  EXPECT_DOUBLE_EQ(gemm.replayed_ns, 240'000);
  EXPECT_NEAR(gemm.time_difference().value(), 240.0 / 220 - 1, 1e-12);
  EXPECT_DOUBLE_EQ(gemm.counted_dram_bytes.value(), 150e6);
  EXPECT_FALSE(gemm.sampled_dram_bytes.has_value());
  EXPECT_NEAR(gemm.replayed_clock_hz.value(), 1.4e9, 1e-3);
  EXPECT_FALSE(replayed.kernels[1].counted_dram_bytes.has_value()) << "n/a is absent, not zero";
  EXPECT_EQ(replayed.launches, 3);
  // The ranking has them: 64 and 86 MB in 100 and 120 us of a device that moves 1555 GB/s.
  const analyzer::RankingRow& row = analysis->ranking.rows[0];
  ASSERT_TRUE(row.dram.has_value());
  EXPECT_NEAR(row.dram->value, 150e6 / 220e-6 / 1.555e12, 0.01);
  EXPECT_EQ(joined.tier_statuses().at(2).status, TierOutcome::partial);
}

// A metric that one launch lacks is taken of its kind; what was counted of it is still its own.
TEST_F(Joined, ALaunchThatLacksAMetricHasItsOwnTimeAndBytes) {
  std::string page = raw_page();
  page.replace(page.find("182,000"), 7, "n/a");
  write("raw.csv", page);
  (void)join("raw.csv").value();
  analyzer::Session asked = analyzer::Session::open(output()).value();
  const auto analysis = asked.analysis().value();
  const auto replayed = analyzer::replayed_in_situ(*asked.model().value(), analysis->utilisation);
  ASSERT_EQ(replayed.kernels.size(), 2u);
  EXPECT_EQ(replayed.kernels[0].replayed, 2);
  EXPECT_DOUBLE_EQ(replayed.kernels[0].replayed_ns, 240'000);
  EXPECT_DOUBLE_EQ(replayed.kernels[0].counted_dram_bytes.value(), 150e6);
  EXPECT_NEAR(replayed.kernels[0].replayed_clock_hz.value(), 1.4e9, 1e-3) << "of the one that has cycles";
}

TEST_F(Joined, TheCaptureItselfStaysAsItIs) {
  write("raw.csv", raw_page());
  const std::string before = whole_file(capture());
  (void)join("raw.csv").value();
  EXPECT_EQ(whole_file(capture()), before);
  const auto refused = join_ncu_results({directory_ / "raw.csv"}, capture(), output(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().kind, ErrorKind::usage) << "nothing is replaced unless it is asked for";
}

// Names for people, units as they please, the same launches; DRAM as a rate.
TEST_F(Joined, ThePageDetailsIsReadByItsSections) {
  const auto line = [](int id, const std::string& kernel, const std::string& grid, const std::string& rest) {
    return fixed_fields(id, kernel, grid) + "," + rest + "\n";
  };
  std::string text =
      std::string(kFixed) +
      R"(,"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description")" +
      "\n";
  for (int id = 0; id < 2; ++id) {
    text += line(id, "gemm", "(64, 2, 1)", R"("GPU Speed Of Light Throughput","Duration","us","110.00")");
    text +=
        line(id, "gemm", "(64, 2, 1)", R"("GPU Speed Of Light Throughput","Memory Throughput","%","61.84")");
    text += line(id, "gemm", "(64, 2, 1)",
                 R"("Memory Workload Analysis","Memory Throughput","Gbyte/s","600.00")");
    text += line(id, "gemm", "(64, 2, 1)",
                 R"("Launch Statistics","Function Cache Configuration","","CachePreferNone")");
    text += line(id, "gemm", "(64, 2, 1)", R"("SpeedOfLight","","","","SOLBottleneck","OPT","a ""rule""
of two lines")");
  }
  write("details.csv", text);
  EXPECT_EQ(join("details.csv").value().joined, 2);
  const store::Capture joined = store::Capture::open(output()).value();
  double bytes = 0;
  for (const store::LaunchMetric& value : joined.launch_metrics())
    for (const store::Metric& metric : joined.metrics())
      if (metric.id == value.metric_id && metric.name == "dram__bytes.sum") bytes += value.value;
  EXPECT_NEAR(bytes, 2 * 600e9 * 110e-6, 1);
}

TEST_F(Joined, MoreOrFewerLaunchesThanTheStepHasStandForTheirKind) {
  const auto text = [](int launches) {
    std::string page =
        std::string(kFixed) +
        ",\"gpu__time_duration.sum\"\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"ns\"\n";
    for (int id = 0; id < launches; ++id)
      page += fixed_fields(id, kGemm, "(64, 2, 1)") + ",\"" + std::to_string(100 + id) + "\"\n";
    return page;
  };
  const auto values = [&](int launches) {
    write("some.csv", text(launches));
    (void)join("some.csv").value();
    std::vector<double> found;
    for (const store::LaunchMetric& value : store::Capture::open(output()).value().launch_metrics())
      found.push_back(value.value);
    return found;
  };
  EXPECT_EQ(values(4), (std::vector<double>{101, 102}))
      << "two passes over the step: means of 100, 102 and 101, 103";
  EXPECT_EQ(values(1), (std::vector<double>{100}));
  EXPECT_EQ(values(3), (std::vector<double>{101})) << "no place is known, so one has the mean";
}

TEST_F(Joined, ANameOfSeveralKernelsIsNotGuessed) {
  std::string trace = trace_of_steps();
  for (std::size_t at = trace.find("gemm<128>"), n = 0; at != std::string::npos;
       at = trace.find("gemm<128>", at + 1))
    if (n++ % 2 == 1) trace.replace(at, 9, "gemm<256>");
  write("trace", trace);
  (void)accepted(import_traces({directory_ / "trace"}, capture(), {.import = {.overwrite = true}})).value();
  std::string page = raw_page();
  for (std::size_t at = page.find(kGemm); at != std::string::npos; at = page.find(kGemm))
    page.replace(at, std::string(kGemm).size(), "gemm");
  write("function.csv", page);
  const JoinSummary summary = join("function.csv").value();
  EXPECT_EQ(summary.joined, 1) << "the sum alone";
  EXPECT_NE(sentences(summary).find("gemm<256>"), std::string::npos) << sentences(summary);
  EXPECT_NE(sentences(summary).find("--kernel-name-base demangled"), std::string::npos);
}

// A file that an editor saved may begin with a byte order mark, and what a program says may stand before the head.
TEST_F(Joined, WhatStandsBeforeTheHeadChangesNothing) {
  const std::string page = raw_page(), table = page.substr(page.find("\"ID\","));
  expect_refused("\xEF\xBB" + table, ErrorKind::not_a_capture, "bad.csv");
  const auto values = [&](const std::string& bytes) {
    write("page.csv", bytes);
    (void)join("page.csv").value();
    std::vector<std::pair<store::Id, double>> found;
    for (const store::LaunchMetric& value : store::Capture::open(output()).value().launch_metrics())
      found.emplace_back(value.launch_id, value.value);
    return found;
  };
  const auto right = values(page);
  EXPECT_GT(right.size(), 5U);
  EXPECT_EQ(values(table), right);
  EXPECT_EQ(values("\xEF\xBB\xBF" + table), right);
  EXPECT_EQ(values("said\n\xEF\xBB\xBF" + table), right);
}

TEST_F(Joined, NumbersOfAnotherLocaleAreTheSameNumbers) {
  std::string page = raw_page();
  for (char& c : page) c = c == '.' ? '\x01' : c;
  for (std::size_t i = 1; i + 1 < page.size(); ++i)
    if (page[i] == ',' && std::isdigit(static_cast<unsigned char>(page[i - 1])) &&
        std::isdigit(static_cast<unsigned char>(page[i + 1])))
      page[i] = '.';
  for (std::size_t i = 1; i + 1 < page.size(); ++i)
    if (page[i] == '\x01')
      page[i] = std::isdigit(static_cast<unsigned char>(page[i - 1])) &&
                        std::isdigit(static_cast<unsigned char>(page[i + 1]))
                    ? ','
                    : '.';
  write("comma.csv", page);
  write("point.csv", raw_page());
  const auto values = [&](const char* name, NcuLocale locale) {
    (void)join(name, locale).value();
    std::vector<std::pair<store::Id, double>> found;
    for (const store::LaunchMetric& value : store::Capture::open(output()).value().launch_metrics())
      found.emplace_back(value.launch_id, value.value);
    return found;
  };
  const auto right = values("point.csv", NcuLocale::decided);
  EXPECT_EQ(values("comma.csv", NcuLocale::decided), right);
  EXPECT_EQ(values("comma.csv", NcuLocale::comma), right);
  EXPECT_NE(values("comma.csv", NcuLocale::point), right) << "what is asked for is what is done";
}

TEST_F(Joined, MutantsAreRefusedInOneLine) {
  const std::string page = raw_page();
  expect_refused(page.substr(0, page.find("CachePreferNone")), ErrorKind::corrupt, "it is cut");
  const auto without = [&](const std::string& part, const std::string& by) {
    std::string text = page;
    text.replace(text.find(part), part.size(), by);
    return text;
  };
  expect_refused(without("\"Grid Size\"", "\"Grid\""), ErrorKind::corrupt, "has no column \"Grid Size\"");
  expect_refused(without("\"110.00\"", "\"soon\""), ErrorKind::corrupt,
                 "'soon' of gpu__time_duration.sum is no number");
  expect_refused(without("(64, 2, 1)", "many"), ErrorKind::corrupt, "'many' is no size of a grid");
  expect_refused(without("\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"Mbyte\","
                         "\"Mbyte\",\"\",\"cycle\"\n",
                         ""),
                 ErrorKind::corrupt, "the line of units");
  expect_refused("==ERROR== Option '--section x' did not match any section.\n==ERROR== y\n",
                 ErrorKind::not_a_capture, "holds errors of Nsight Compute and no result: ==ERROR== Option");
  expect_refused("hello\n", ErrorKind::not_a_capture, "holds no table of Nsight Compute");
  expect_refused(R"("ID","Kernel Name","Block Size","Grid Size","Invocations","Metric Name")"
                 "\n",
                 ErrorKind::not_a_capture, "--print-summary");
  expect_refused(std::string(kFixed) + ",\"gpu__time_duration.sum\"\n", ErrorKind::not_a_capture,
                 "no launch");
  std::string foreign = page;
  for (std::size_t at = foreign.find("(float *)"); at != std::string::npos; at = foreign.find("(float *)"))
    foreign.replace(at, 9, "(int)");
  for (std::size_t at = foreign.find("gemm"); at != std::string::npos; at = foreign.find("gemm"))
    foreign.replace(at, 4, "conv");
  for (std::size_t at = foreign.find("add<"); at != std::string::npos; at = foreign.find("add<"))
    foreign.replace(at, 4, "sub<");
  expect_refused(foreign, ErrorKind::no_data, "none of 4 launches");
}

TEST_F(Joined, AReportNeedsNcuInPath) {
  write("run.ncu-rep", "\x01\x02 of its own");
  const char* before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", (directory_ / "nowhere").c_str(), 1);
  const Result<JoinSummary> refused = join("run.ncu-rep");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().kind, ErrorKind::environment);
  EXPECT_NE(refused.failure().message.find("LC_ALL=C ncu --import"), std::string::npos)
      << refused.failure().message;
  write("page", raw_page());
  std::filesystem::create_directory(directory_ / "bin");
  std::ofstream(directory_ / "bin/ncu")
      << "#!/bin/sh\n[ \"$LC_ALL\" = C ] && [ \"$1\" = --import ] && /bin/cat " << directory_ / "page"
      << "\n";
  std::filesystem::permissions(directory_ / "bin/ncu", std::filesystem::perms::owner_all);
  setenv("PATH", (directory_ / "bin").c_str(), 1);
  const Result<JoinSummary> joined = join("run.ncu-rep");
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(joined.ok()) << joined.failure().message;
  EXPECT_EQ(joined.value().joined, 3);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::string(directory_ / "")), {}), 6)
      << "trace, capture, report, page, bin, output: nothing else is left";
}

// The module beside the ncu in PATH, in the words of NVIDIA's Python Report Interface.
constexpr const char* kReportModule = R"py(
class Metric:
    def __init__(self, of): self.of = of
    def value(self): return self.of[0]
    def unit(self): return self.of[1]
class Action:
    NameBase_DEMANGLED = 1
    def __init__(self, kernel, blocks, metrics):
        self.kernel, self.all = kernel, dict(metrics)
        for axis, of_grid, of_block in zip("xyz", blocks, (256, 1, 1)):
            self.all["launch__grid_dim_" + axis] = (of_grid, "")
            self.all["launch__block_dim_" + axis] = (of_block, "")
    def name(self, base=0): return self.kernel if base else "short"
    def metric_names(self): return tuple(self.all)
    def metric_by_name(self, name): return Metric(self.all[name]) if name in self.all else None
class Range:
    def __init__(self, of): self.of = of
    def num_actions(self): return len(self.of)
    def action_by_idx(self, at): return self.of[at]
class Context:
    def __init__(self, of): self.of = of
    def num_ranges(self): return len(self.of)
    def range_by_idx(self, at): return self.of[at]
def load_report(path):
    assert open(path, "rb").read(2) == b"\x01\x02"
    def counted(read): return {"dram__bytes_read.sum": (read, "byte"), "gpu__time_duration.sum": (110000, "nsecond"),
        "launch__func_cache_config": ("CachePreferNone", "")}
    return Context([Range([Action("void <unnamed>::gemm<128>(float *)", (64, 2, 1), counted(60000001)),
                           Action("void <unnamed>::gemm<128>(float *)", (64, 2, 1), counted(80000003))]),
                    Range([Action("void add<float>(float *)", (32, 1, 1), counted(1.25))])])
)py";

TEST_F(Joined, AReportIsReadByTheModuleBesideNcuFirst) {
  write("run.ncu-rep", "\x01\x02 of its own");
  for (const char* folder : {"nsight", "nsight/bin", "nsight/extras", "nsight/extras/python"})
    std::filesystem::create_directory(directory_ / folder);
  write("nsight/extras/python/ncu_report.py", kReportModule);
  const std::string ncu = directory_ / "nsight/bin/ncu";
  write("nsight/bin/ncu", "#!/bin/sh\nexit 1\n");
  std::filesystem::permissions(ncu, std::filesystem::perms::owner_all);
  const char* before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", (directory_ / "nsight/bin:" + path).c_str(), 1);
  const Result<JoinSummary> joined = join("run.ncu-rep");
  write("other.ncu-rep", "is no report");
  const Result<JoinSummary> refused = join("other.ncu-rep");
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(joined.ok()) << joined.failure().message;
  EXPECT_EQ(joined.value().launches, 3);
  EXPECT_EQ(joined.value().joined, 3);
  ASSERT_FALSE(refused.ok()) << "neither the module nor ncu reads it";
  EXPECT_EQ(refused.failure().kind, ErrorKind::environment);
  EXPECT_EQ(refused.failure().message.find('\n'), std::string::npos);
  const store::Capture capture = std::move(store::Capture::open(output())).value();
  double bytes = 0;
  std::map<store::Id, std::string> names;
  for (const store::Metric& metric : capture.metrics()) names[metric.id] = metric.name;
  for (const store::LaunchMetric& value : capture.launch_metrics())
    if (names[value.metric_id] == "dram__bytes_read.sum") bytes += value.value;
  EXPECT_DOUBLE_EQ(bytes, 60000001 + 80000003 + 1.25) << "to the byte: ncu's own table rounds";
}

// --- Samples along the timeline ---

constexpr std::int64_t kSampledPid = 77, kSampledGlobalPid = (std::int64_t{1} << 48) | (kSampledPid << 24);
constexpr std::int64_t kUs = 1000;

// Steps of two kernels of 2 ms each, the first of which moves 60 % of 360 GB/s and the second 10 %; a sample each
// 20 us.
std::string sampled_export(const std::string& samples_schema) {
  std::string sql = R"sql(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES(1, 'void read_much(float*)'), (2, 'void read_little(float*)'), (3, 'cudaLaunchKernel_v7000'), (5, 'step');
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);
CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, uuid TEXT, smCount INTEGER, memoryBandwidth INTEGER, cuDevice INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES(0, 'Test GPU', 'abcd', 28, 360000000000, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, domainId INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS(typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES(256, 0, 'GA106', 1, 'SMs Active [Throughput %]'), (256, 0, 'GA106', 2, 'DRAM Read Bandwidth [Throughput %]'),
  (256, 0, 'GA106', 3, 'DRAM Write Bandwidth [Throughput %]'), (256, 0, 'GA106', 4, 'GPC Clock Frequency [MHz]'), (256, 0, 'GA106', 9, 'GR Active [Throughput %]');
)sql" + samples_schema;
  const auto insert = [&](const std::string& table, std::initializer_list<std::int64_t> values) {
    sql += "INSERT INTO " + table + " VALUES(";
    for (const std::int64_t value : values) sql += std::to_string(value) + ",";
    sql.back() = ')';
    sql += ";\n";
  };
  std::int64_t id = 1;
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t at = step * 5000 * kUs;
    for (std::int64_t k = 0; k < 2; ++k, ++id) {
      const std::int64_t start = at + 100 * kUs + k * 2300 * kUs;
      insert("CUPTI_ACTIVITY_KIND_RUNTIME",
             {at + 10 * kUs * (k + 1), at + 10 * kUs * (k + 1) + 500, kSampledGlobalPid + 5, id, 3});
      insert("CUPTI_ACTIVITY_KIND_KERNEL",
             {start, start + 2000 * kUs, 0, 7, id, kSampledGlobalPid, k + 1, 64, 1, 1, 128, 1, 1});
    }
    sql += "INSERT INTO NVTX_EVENTS VALUES(" + std::to_string(at) + "," + std::to_string(at + 4900 * kUs) +
           ",59,NULL,5,0," + std::to_string(kSampledGlobalPid + 5) + ");\n";
  }
  return sql;
}

// What the GPU did in a sample: per cent of the time, of the DRAM's peak read and written.
std::string samples_of_export() {
  std::string sql = "INSERT INTO GPU_METRICS VALUES";
  const std::int64_t interval = 20 * kUs;
  for (std::int64_t end = interval; end <= 20'000 * kUs; end += interval) {
    std::int64_t busy_ns = 0, read_ns = 0;
    for (std::int64_t step = 0; step < 4; ++step)
      for (std::int64_t k = 0; k < 2; ++k) {
        const std::int64_t start = step * 5000 * kUs + 100 * kUs + k * 2300 * kUs;
        const std::int64_t overlap = std::min(end, start + 2000 * kUs) - std::max(end - interval, start);
        if (overlap <= 0) continue;
        busy_ns += overlap;
        read_ns += overlap * (k == 0 ? 60 : 10) / 100;
      }
    const auto value = [&](int metric, std::int64_t number) {
      sql += (sql.ends_with("VALUES") ? "(" : ",(") + std::to_string(end) + ",256," + std::to_string(metric) +
             "," + std::to_string(number) + ")";
    };
    value(1, 100 * busy_ns / interval);
    value(2, 100 * read_ns / interval);
    value(3, end == interval ? -7 : 0);  // broken values are below zero
    value(4, 1'500'000'000);
    value(9, 100);
  }
  return sql + ";";
}

constexpr const char* kSampleTable =
    "CREATE TABLE GPU_METRICS(timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);\n";

class SampledByOthers : public ::testing::Test {
 protected:
  Result<ImportSummary> import_export(const std::string& sql) {
    std::filesystem::remove(directory_ / "export");
    {
      store::Database made(directory_ / "export", store::OpenMode::create);
      made.execute(sql);
    }
    return ridgeline::testing::expect_accepted_import(
        accepted(import_traces({directory_ / "export"}, output(), {.import = {.overwrite = true}})),
        output());
  }
  std::string output() { return directory_ / "out.ridge"; }
  std::string warnings(const ImportSummary& summary) {
    std::string text;
    for (const Reason& warning : summary.warnings) text += reports::reason_text(warning) + "\n";
    return text;
  }
  TemporaryDirectory directory_;
};

TEST_F(SampledByOthers, SamplesOfAnExportAreOfTheKernelsThatRan) {
  const ImportSummary summary = import_export(sampled_export(kSampleTable) + samples_of_export()).value();
  EXPECT_NE(warnings(summary).find("GR Active"), std::string::npos)
      << "said to be left out: " << warnings(summary);
  const store::Capture capture = store::Capture::open(output()).value();
  ASSERT_EQ(capture.pm_windows().size(), 1u);
  EXPECT_EQ(capture.pm_windows()[0].interval_ns, 20 * kUs);
  for (const store::TierStatus& status : capture.tier_statuses())
    EXPECT_EQ(status.status, status.tier <= Tier::t1 ? TierOutcome::ok : TierOutcome::not_requested);
  analyzer::Session session = analyzer::Session::open(output()).value();
  const auto analysis = session.analysis().value();
  ASSERT_EQ(analysis->ranking.rows.size(), 2u);
  for (const analyzer::RankingRow& row : analysis->ranking.rows) {
    const bool much = row.kernel.find("read_much") != std::string::npos;
    ASSERT_TRUE(row.dram.has_value()) << row.kernel;
    EXPECT_NEAR(row.dram->value, much ? 0.6 : 0.1, 0.02) << row.kernel;
    EXPECT_TRUE(row.tier.has(Tier::t1) && !row.tier.has(Tier::t2));
    const auto active = row.metrics.of("sm_active_ratio");
    ASSERT_TRUE(active.has_value());
    EXPECT_NEAR(active->value, 1, 0.02);
  }
}

// Samples that are missing within a step's kernels, in each step. Each has one from 100 to 2,100 us and one from 2,400
// to 4,400; one with a hole that is long has no values at all.
TEST_F(SampledByOthers, SamplesOfAPartAreAPartOfTheTier) {
  struct Hole {
    std::int64_t from_us, to_us;
    double covered_ratio;
  };
  for (const Hole hole : {Hole{2500, 2600, 1}, Hole{3000, 3100, 1}, Hole{2500, 3000, 0.5},
                          Hole{2500, 4500, 0.5}, Hole{0, 1000, 0.5}, Hole{0, 2200, 0.5}}) {
    (void)import_export(sampled_export(kSampleTable) + samples_of_export() +
                        "DELETE FROM GPU_METRICS WHERE timestamp % 5000000 > " +
                        std::to_string(hole.from_us * kUs) +
                        " AND timestamp % 5000000 <= " + std::to_string(hole.to_us * kUs) + ";")
        .value();
    const store::Capture capture = store::Capture::open(output()).value();
    const auto statuses = capture.tier_statuses();
    const auto status = std::find_if(statuses.begin(), statuses.end(),
                                     [](const store::TierStatus& of) { return of.tier == Tier::t1; });
    ASSERT_NE(status, statuses.end());
    if (hole.covered_ratio >= 0.95) {
      EXPECT_EQ(status->status, TierOutcome::ok) << hole.from_us;
    } else {
      EXPECT_EQ(status->status, TierOutcome::partial) << hole.from_us;
      ASSERT_TRUE(status->reason.has_value());
      EXPECT_EQ(status->reason->code, ReasonCode::samples_of_part);
      EXPECT_NEAR(status->reason->real("covered_ratio"), hole.covered_ratio, 1e-9) << hole.from_us;
    }
  }
}

TEST_F(SampledByOthers, WithoutSamplesNothingIsSaidOfThem) {
  const ImportSummary without = import_export(sampled_export("")).value();
  EXPECT_EQ(warnings(without).find("sample"), std::string::npos) << warnings(without);
  const store::Capture capture = store::Capture::open(output()).value();
  EXPECT_TRUE(capture.launch_metrics().empty());
  EXPECT_TRUE(capture.pm_windows().empty());
}

TEST_F(SampledByOthers, SamplesThatCannotBePlacedAreSaid) {
  std::string elsewhere = samples_of_export();
  for (std::size_t at = elsewhere.find(",256,"); at != std::string::npos; at = elsewhere.find(",256,"))
    elsewhere.replace(at, 5, ",259,");
  std::string schema = sampled_export(kSampleTable);
  for (std::size_t at = schema.find("(256,"); at != std::string::npos; at = schema.find("(256,"))
    schema.replace(at, 5, "(259,");
  const ImportSummary other_gpu = import_export(schema + elsewhere).value();
  EXPECT_NE(warnings(other_gpu).find("a GPU on which nothing that is recorded ran"), std::string::npos)
      << warnings(other_gpu);
  const ImportSummary unnamed = import_export(sampled_export(kSampleTable) + samples_of_export() +
                                              "DROP TABLE TARGET_INFO_GPU_METRICS;")
                                    .value();
  EXPECT_NE(warnings(unnamed).find("none of their metrics has a meaning"), std::string::npos)
      << warnings(unnamed);
  const ImportSummary no_peak = import_export(sampled_export(kSampleTable) + samples_of_export() +
                                              "UPDATE TARGET_INFO_GPU SET memoryBandwidth = NULL;")
                                    .value();
  EXPECT_NE(warnings(no_peak).find("per cent of a peak that the file does not state"), std::string::npos)
      << warnings(no_peak);
  const store::Capture capture = store::Capture::open(output()).value();
  for (const store::Metric& metric : capture.metrics())
    EXPECT_EQ(metric.name.find("dram"), std::string::npos);
}

TEST_F(SampledByOthers, MutantsOfTheTableOfSamplesAreRefused) {
  const auto refused = [&](const std::string& change, const std::string& part) {
    const Result<ImportSummary> result =
        import_export(sampled_export(kSampleTable) + samples_of_export() + change);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure().kind, ErrorKind::corrupt);
    EXPECT_NE(result.failure().message.find(part), std::string::npos) << result.failure().message;
  };
  refused("ALTER TABLE GPU_METRICS DROP COLUMN value;", "table GPU_METRICS has no column value");
  refused("UPDATE GPU_METRICS SET value = 'high' WHERE rowid = 9;",
          "column value of table GPU_METRICS holds a value of type text");
}

TEST_F(SampledByOthers, HardwareCountersOfATraceAreSamples) {
  std::string trace = trace_of_steps();
  trace.erase(trace.size() - 2);
  // Products from 60 to 160 and 200 to 320 us of each step, the sum from 400 to 450; a sample each 10 us.
  for (int end = 1010; end <= 4000; end += 10) {
    const int in_step = end % 1000;
    const bool gemm = (in_step > 60 && in_step <= 160) || (in_step > 200 && in_step <= 320);
    const bool add = in_step > 400 && in_step <= 450;
    const auto counter = [&](const std::string& metric, double value) {
      trace += R"(,{"ph": "C", "cat": "hardware_counters", "name": ")" + metric +
               R"(", "pid": "GPU 0 Counters", "tid": 0, "ts": )" + std::to_string(end) +
               R"(, "args": {"": )" + std::to_string(value) + "}}";
    };
    counter("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", gemm || add ? 100 : 0);
    counter("dram__bytes_read.sum", gemm ? 5e6 : add ? 1e6 : 0);
    counter("dram__bytes_write.sum", 0);
  }
  std::ofstream(directory_ / "trace", std::ios::binary) << trace << "]}";
  (void)accepted(import_traces({directory_ / "trace"}, output())).value();
  analyzer::Session session = analyzer::Session::open(output()).value();
  const auto analysis = session.analysis().value();
  ASSERT_EQ(analysis->ranking.rows.size(), 2u);
  for (const analyzer::RankingRow& row : analysis->ranking.rows) {
    const bool gemm = row.kernel.find("gemm") != std::string::npos;
    ASSERT_TRUE(row.dram_bytes.has_value()) << row.kernel;
    EXPECT_NEAR(*row.dram_bytes, gemm ? 110e6 : 5e6, gemm ? 5e6 : 1e6) << row.kernel;
    EXPECT_TRUE(row.tier.has(Tier::t1));
  }
}

// --- Files of others ---

TEST(NcuSamples, ARealPageOfDetailsIsRead) {
  const char* folder = std::getenv("RIDGELINE_TRACE_SAMPLES");
  if (folder == nullptr) GTEST_SKIP() << "no folder of samples";
  const std::string path = std::string(folder) + "/ncu_details_cc75_copy_blocked.csv";
  const NcuResults results = accepted(read_ncu_csv(path, std::nullopt)).value();
  ASSERT_EQ(results.launches.size(), 1u);
  const NcuLaunch& launch = results.launches[0];
  EXPECT_EQ(launch.grid, (store::Dim3{1024, 1, 1}));
  EXPECT_EQ(launch.block, (store::Dim3{256, 1, 1}));
  const auto value = [&](const std::string& name) {
    for (const NcuValue& each : launch.values)
      if (results.metrics[each.metric].name == name) return each.value;
    return std::nan("");
  };
  EXPECT_DOUBLE_EQ(value("gpu__time_duration.sum"), 21'058'944);
  EXPECT_DOUBLE_EQ(value("gpc__cycles_elapsed.max"), 12'319'469);
  EXPECT_DOUBLE_EQ(value("dram__bytes.sum.per_second"), 196'456'177'859.63);
  EXPECT_DOUBLE_EQ(value("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"), 61.84);
  const auto error =
      accepted(read_ncu_csv(std::string(folder) + "/ncu_hostile_error_only.csv", std::nullopt));
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.failure().kind, ErrorKind::not_a_capture);
  EXPECT_NE(error.failure().message.find("did not match any section"), std::string::npos);
}

TEST(NcuSamples, MutantsOfARealPageEndInOneClearLine) {
  const char* folder = std::getenv("RIDGELINE_TRACE_SAMPLES");
  if (folder == nullptr) GTEST_SKIP() << "no folder of samples";
  std::ifstream file(std::string(folder) + "/ncu_details_cc75_copy_blocked.csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const TemporaryDirectory directory;
  const auto refused = [&](const std::string& mutant) {
    std::ofstream(directory / "mutant.csv", std::ios::binary) << mutant;
    const auto result = accepted(read_ncu_csv(directory / "mutant.csv", std::nullopt));
    EXPECT_FALSE(result.ok());
    if (result.ok()) return std::string();
    EXPECT_EQ(result.failure().message.find('\n'), std::string::npos) << result.failure().message;
    return result.failure().message;
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string mutant = text;
    const std::size_t at = mutant.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? mutant : mutant.replace(at, from.size(), to);
  };
  EXPECT_FALSE(refused(text.substr(0, text.size() / 2)).empty());
  EXPECT_NE(refused(changed(",\"Metric Value\"", "")).find("Metric Value"), std::string::npos);
  EXPECT_FALSE(refused(changed("\"Duration\",\"ns\",\"", "\"Duration\",\"ns\",\"soon ")).empty());
}

}  // namespace
}  // namespace ridgeline::import
