#include "gap_text.h"

#include <gtest/gtest.h>

#include "json_values.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/tables.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using analyzer::Gap;
using analyzer::GapKind;
using testing::TemporaryCapture;

analyzer::Model named_threads() {
  analyzer::Model model;
  model.threads = {{1, 7, "main"}, {2, 8, "of another process"}};
  return model;
}

Gap gap_of(GapKind kind, std::int64_t thread_id = 7) {
  Gap gap{.start_ns = 1000, .end_ns = 4'021'000, .kind = kind};
  gap.thread_id = thread_id;
  return gap;
}

Gap waited(GapKind kind, std::int64_t in_gap_ns) {
  Gap gap = gap_of(kind);
  gap.synchronisation_ns = in_gap_ns;
  gap.wait = analyzer::Wait{SynchronisationCall::stream, 4'100'000};
  return gap;
}

// Of process 1, with waits recorded.
analyzer::Accounting recorded() {
  analyzer::Accounting accounting;
  accounting.process_id = 1;
  accounting.gap_synchronisation_ns = 0;
  return accounting;
}

TEST(GapText, ASynchronisationIsItsCallThreadAndLength) {
  EXPECT_EQ(gap_cause(named_threads(), recorded(), waited(GapKind::synchronisation, 3'000'000)),
            "cudaStreamSynchronize in thread main, 4.100 ms");
}

TEST(GapText, TheCpusOwnCodeHasTheRestAndWhatItCameBehind) {
  EXPECT_EQ(gap_cause(named_threads(), recorded(), gap_of(GapKind::host_bound)), "CPU code in thread main");
  EXPECT_EQ(gap_cause(named_threads(), recorded(), waited(GapKind::host_bound, 20'000)),
            "CPU code in thread main, 4.000 ms, behind cudaStreamSynchronize");
}

TEST(GapText, WithoutRecordedWaitsTheCpuMayHaveWaited) {
  analyzer::Accounting accounting = recorded();
  accounting.gap_synchronisation_ns.reset();
  EXPECT_EQ(gap_cause(named_threads(), accounting, gap_of(GapKind::host_bound)),
            "CPU code or a wait in thread main");
}

TEST(GapText, AThreadWithoutANameGoesByItsNumber) {
  const analyzer::Model model = named_threads();
  EXPECT_EQ(thread_words(model, 1, 7), "thread main");
  EXPECT_EQ(thread_words(model, 1, 8), "thread 8");
  EXPECT_EQ(thread_words(model, 2, 8), "thread of another process");
  EXPECT_EQ(thread_words(model, 3, 7), "thread 7");
  EXPECT_EQ(thread_words(model, 1, std::nullopt), "the CPU");
}

TEST(GapText, OtherKindsSayWhatIsKnown) {
  const analyzer::Model model = named_threads();
  EXPECT_EQ(gap_cause(model, recorded(), gap_of(GapKind::launch_bound)), "launch call in thread main");
  EXPECT_NE(gap_cause(model, recorded(), gap_of(GapKind::queued)), "");
  EXPECT_EQ(gap_cause(model, recorded(), gap_of(GapKind::unknown)), "");
  EXPECT_EQ(gap_cause(model, recorded(), gap_of(GapKind::tail)), "");
}

analyzer::Accounting with_gap(const Gap& gap, std::int64_t step_ns) {
  analyzer::Accounting accounting;
  accounting.process_id = 1;
  accounting.step_ns = step_ns;
  accounting.gaps = {{.start_ns = 0, .end_ns = 10}, gap};
  return accounting;
}

TEST(GapText, TheLongestGapIsOneLineIfItMatters) {
  const analyzer::Model model = named_threads();
  const Gap gap = waited(GapKind::synchronisation, 3'000'000);
  EXPECT_EQ(longest_gap_line(model, with_gap(gap, 11'928'783)),
            "Longest gap: 4.020 ms, 33.7 % of the step: cudaStreamSynchronize in thread main, 4.100 ms.");
  EXPECT_NE(longest_gap_line(model, with_gap(gap, 402'000'000)), "") << "one per cent";
  EXPECT_EQ(longest_gap_line(model, with_gap(gap, 402'000'001)), "") << "less";
  EXPECT_EQ(longest_gap_line(model, {}), "");
  EXPECT_NE(longest_gap_line(model, with_gap(gap_of(GapKind::tail), 11'928'783)).find("is not known"),
            std::string::npos);
}

TEST(GapText, JsonHasTheGapInParts) {
  const analyzer::Model model = named_threads();
  EXPECT_TRUE(longest_gap_json(model, {}).value().is_null());
  Json gap =
      longest_gap_json(model, with_gap(waited(GapKind::synchronisation, 3'000'000), 8'040'000)).value();
  EXPECT_EQ(gap["duration_ns"], 4'020'000);
  EXPECT_EQ(gap["step_share_ratio"], 0.5);
  EXPECT_EQ(gap["kind"], "synchronisation");
  EXPECT_EQ(gap["cause"], "cudaStreamSynchronize in thread main, 4.100 ms");
  EXPECT_EQ(gap["thread_id"], 7);
  EXPECT_EQ(gap["synchronisation_ns"], 3'000'000);
  EXPECT_EQ(gap["call"], "cudaStreamSynchronize");
  EXPECT_EQ(gap["call_ns"], 4'100'000);
  Gap unknown = gap_of(GapKind::unknown);
  unknown.thread_id.reset();
  gap = longest_gap_json(model, with_gap(unknown, 8'040'000)).value();
  EXPECT_TRUE(gap["thread_id"].is_null());
  EXPECT_TRUE(gap["call"].is_null());
  EXPECT_TRUE(gap["call_ns"].is_null());
}

DocumentOptions rendered_as(Format format) {
  DocumentOptions options;
  options.format = format;
  options.text.columns = 160;
  return options;
}

// A recorded step with one gap that matters.
struct Waiting : TemporaryCapture {
  Waiting() {
    model.threads = {{analysis.accounting.process_id, 7, "trainer"}};
    analyzer::Accounting& a = analysis.accounting;
    a.gaps = {waited(GapKind::synchronisation, 3'000'000)};
    a.step_ns = 8'040'000;
    a.gap_synchronisation_ns = 3'000'000;
  }
};

TEST(GapText, EveryDocumentSaysTheLongestGapsCause) {
  Waiting capture;
  const std::string line =
      "Longest gap: 4.020 ms, 50.0 % of the step: cudaStreamSynchronize in thread trainer, 4.100 ms.";
  for (const Format format : {Format::text, Format::markdown}) {
    EXPECT_NE(ranking_document(capture.model, capture.analysis, rendered_as(format)).text().find(line),
              std::string::npos);
    EXPECT_NE(steps_document(capture.model, capture.analysis, rendered_as(format)).text().find(line),
              std::string::npos);
  }
  EXPECT_NE(markdown_report(capture.model, capture.analysis).find(line), std::string::npos);
  for (const std::string& text :
       {ranking_document(capture.model, capture.analysis, rendered_as(Format::json)).text(),
        json_report(capture.model, capture.analysis).text(),
        steps_document(capture.model, capture.analysis, rendered_as(Format::json)).text()}) {
    const Json document = Json::parse(text);
    const Json& gap =
        document.contains("accounting") ? document["accounting"]["longest_gap"] : document["longest_gap"];
    EXPECT_EQ(gap["cause"], "cudaStreamSynchronize in thread trainer, 4.100 ms");
  }
}

// No launch stands there: people are told what does, programs have no kernel.
TEST(GapText, CopiesAndMemsetsRoundAGapAreNamed) {
  Waiting capture;
  analyzer::Accounting& accounting = capture.analysis.accounting;
  Gap gap = waited(GapKind::synchronisation, 3'000'000);
  gap.before.reset();
  gap.after.reset();
  accounting.gaps = {gap};
  store::Memcpy copy{.process_id = accounting.process_id, .device_id = accounting.device_id};
  copy.kind = CopyKind::host_to_device;
  copy.start_ns = gap.end_ns;
  copy.end_ns = gap.end_ns + 100;
  capture.model.memcpys = {copy};
  store::Memset set{.process_id = accounting.process_id, .device_id = accounting.device_id};
  set.start_ns = gap.start_ns - 100;
  set.end_ns = gap.start_ns;
  capture.model.memsets = {set};
  const auto row = [&] {
    const std::string text =
        steps_document(capture.model, capture.analysis, rendered_as(Format::text)).text();
    return text.substr(text.find("Longest gaps"));
  };
  EXPECT_LT(row().find("memset"), row().find("copy, HtoD")) << row();
  EXPECT_NE(row().find("copy, HtoD"), std::string::npos) << row();
  const Json json = Json::parse(
      steps_document(capture.model, capture.analysis, rendered_as(Format::json)).text())["gaps"][0];
  EXPECT_EQ(json["after_kernel"], "");
  EXPECT_EQ(json["before_kernel"], "");
  EXPECT_TRUE(json["nvtx_path"].is_null());
  capture.model.memcpys[0].device_id = accounting.device_id + 1;
  EXPECT_EQ(row().find("copy, HtoD"), std::string::npos) << "of another device";
}

// "65960.9 µs" is read by nobody; a column has one unit, that of its longest gap, and programs have nanoseconds.
TEST(GapText, LongGapsAreListedInMilliseconds) {
  Waiting capture;
  analyzer::Accounting& accounting = capture.analysis.accounting;
  const auto lengths_below = [&](std::int64_t longest_ns) {
    Gap longest = waited(GapKind::synchronisation, 3'000'000);
    longest.end_ns = longest.start_ns + longest_ns;
    accounting.gaps = {{.start_ns = 0, .end_ns = 900}, longest};
    const Table table = gaps_table(capture.model, accounting);
    return table.cell(0, "duration_ns").words() + "; " + table.cell(1, "duration_ns").words() + " " +
           table.columns()[table.column("duration_ns")].unit + ", " + table.cell(0, "call_ns").words() + " " +
           table.columns()[table.column("call_ns")].unit;
  };
  EXPECT_EQ(lengths_below(9'999'949), "9999.9; 0.9 µs, 4100.0 µs");
  EXPECT_EQ(lengths_below(10'000'000), "10.000; 0.001 ms, 4.100 ms");
  EXPECT_EQ(lengths_below(65'960'900), "65.961; 0.001 ms, 4.100 ms");
  const Json document =
      Json::parse(steps_document(capture.model, capture.analysis, rendered_as(Format::json)).text());
  EXPECT_EQ(document["gaps"][0]["duration_ns"], 65'960'900);
}

TEST(GapText, TheListOfGapsAndTheAccountingHaveTheWaits) {
  Waiting capture;
  const Json document =
      Json::parse(steps_document(capture.model, capture.analysis, rendered_as(Format::json)).text());
  ASSERT_EQ(document["gaps"].size(), 1u);
  const Json& gap = document["gaps"][0];
  EXPECT_EQ(gap["kind"], "synchronisation");
  EXPECT_EQ(gap["cause"], "cudaStreamSynchronize in thread trainer, 4.100 ms");
  EXPECT_EQ(gap["call"], "cudaStreamSynchronize");
  EXPECT_EQ(gap["call_ns"], 4'100'000);
  EXPECT_EQ(gap["synchronisation_ns"], 3'000'000);
  EXPECT_EQ(gap["thread_id"], 7);
  EXPECT_EQ(document["accounting"]["gap_synchronisation_ns"], 3'000'000);
  const auto text = [&] {
    return steps_document(capture.model, capture.analysis, rendered_as(Format::text)).text();
  };
  EXPECT_NE(text().find("gaps: synchronisation"), std::string::npos);
  capture.analysis.accounting.gap_synchronisation_ns.reset();
  EXPECT_EQ(text().find("gaps: synchronisation"), std::string::npos) << "not recorded is not zero";
}

}  // namespace
}  // namespace ridgeline::reports
