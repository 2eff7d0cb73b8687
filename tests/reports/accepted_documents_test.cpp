// Documents of answers that no capture at hand gives: every refusal, verdict and missing figure, held against
// tests/golden/tables/answers.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "documents_testing.h"
#include "ridgeline/analyzer/ranks/job_what_if.h"
#include "ridgeline/analyzer/whatif/interventions.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/analyzer/whatif/power_blocks.h"
#include "ridgeline/analyzer/whatif/replay.h"
#include "ridgeline/reports/interventions_document.h"
#include "ridgeline/reports/job_what_if_document.h"
#include "support/accepted_table.h"

namespace ridgeline::reports {
namespace {

using analyzer::JobChange;
using analyzer::JobGain;
using analyzer::JobWhatIf;
using analyzer::JobWhatIfRefusal;
using ridgeline::testing::as;

JobWhatIf whole_answer() {
  JobWhatIf answer{.ranks = 4,
                   .missing = 1,
                   .steps = 6,
                   .step_ns = 40e6,
                   .replayed_ns = 40.1e6,
                   .replay_error_ratio = 0.0025,
                   .exposed_wait_ns = 1.1e6,
                   .exposed_transfer_ns = 2.3e6,
                   .calls = 120,
                   .calls_without_ready = 7,
                   .calls_hidden = 5};
  const auto fit = [&](CollectiveFunction function, bool assumed, double rate, std::int64_t sizes) {
    answer.fits.push_back({.communicator = "0 [0, 1]",
                           .function = function,
                           .latency_ns = 8100,
                           .latency_assumed = assumed,
                           .bytes_per_s = rate,
                           .sizes = sizes,
                           .smallest_bytes = 8,
                           .largest_bytes = 28'310'000});
  };
  fit(CollectiveFunction::all_reduce, false, 218.4e9, 2);
  fit(CollectiveFunction::all_gather, true, 100.26e9, 1);
  fit(CollectiveFunction::reduce_scatter, false, 0, 3);
  fit(CollectiveFunction::broadcast, false, 5e9, 4);
  const auto row = [&](const char* text, double gain_ns, std::optional<std::int64_t> bucket_bytes) {
    JobChange change;
    change.text = text;
    change.bucket_bytes = bucket_bytes;
    answer.rows.push_back({change, JobWhatIfRefusal::none,
                           JobGain{.bound_ns = 3e6,
                                   .naive_ns = 4e6,
                                   .gain_ns = gain_ns,
                                   .low_ns = gain_ns - 1e5,
                                   .high_ns = gain_ns + 1e5,
                                   .step_ns = answer.step_ns - gain_ns,
                                   .exposed_wait_ns = 9e5,
                                   .exposed_transfer_ns = 2e5,
                                   .buckets = bucket_bytes ? 3 : 0,
                                   .largest_bucket_bytes = bucket_bytes}});
  };
  row("overlap", 2.1e6, {});
  row("links=0.5", -1.7e6, {});
  row("bucket=25MB", 4e5, 25'000'000);
  row("bucket=50MB", 7e5, 50'000'000);
  for (const JobWhatIfRefusal refusal :
       {JobWhatIfRefusal::replay_departs, JobWhatIfRefusal::no_buckets, JobWhatIfRefusal::ready_unknown,
        JobWhatIfRefusal::finer_buckets, JobWhatIfRefusal::never_waited, JobWhatIfRefusal::range_too_wide}) {
    answer.rows.push_back({{.text = fmt::format("refused={}", static_cast<int>(refusal))}, refusal, {}});
  }
  return answer;
}

std::string shown(const std::string& what, const JobWhatIf& answer) {
  std::string text = "== job what-if, " + what + "\n";
  for (const std::string& sentence : job_what_if_sentences(answer)) text += sentence + "\n";
  return text;
}

std::string job_answers() {
  const JobWhatIf whole = whole_answer();
  std::string text = shown("whole", whole);
  for (const Format format : {Format::text, Format::csv, Format::json, Format::markdown})
    text += job_what_if_document(whole, as(format, 160)).text() + "\n";
  DocumentOptions options = as(Format::text, 80);
  text += job_what_if_document(whole, options).text();
  options.sort = "-gain_ns";
  options.columns = "all";
  text += job_what_if_document(whole, options).text();
  const auto changed = [&](const std::string& what, const auto& change) {
    JobWhatIf answer = whole;
    change(answer);
    text += shown(what, answer);
  };
  changed("none missing", [](JobWhatIf& a) { a.missing = 0; });
  changed("two missing", [](JobWhatIf& a) { a.missing = 2; });
  changed("one rank, step and call", [](JobWhatIf& a) { a.ranks = a.steps = a.calls = 1; });
  changed("all calls ready", [](JobWhatIf& a) { a.calls_without_ready = 0; });
  changed("none hidden", [](JobWhatIf& a) { a.calls_hidden = 0; });
  changed("departs", [](JobWhatIf& a) { a.replay_error_ratio = 0.02; });
  changed("nothing exposed", [](JobWhatIf& a) { a.exposed_wait_ns = a.exposed_transfer_ns = 0; });
  changed("no fits", [](JobWhatIf& a) { a.fits.clear(); });
  changed("no refusals", [](JobWhatIf& a) { a.rows.resize(4); });
  changed("one bucket size", [](JobWhatIf& a) { a.rows.resize(3); });
  changed("no better bucket", [](JobWhatIf& a) {
    for (auto& row : a.rows) {
      if (row.gain && row.change.bucket_bytes) row.gain->gain_ns = row.gain->high_ns = -1e5;
    }
  });
  changed("a worse bucket that may be better", [](JobWhatIf& a) {
    for (auto& row : a.rows) {
      if (row.gain && row.change.bucket_bytes) row.gain->gain_ns = -1e5;
    }
  });
  changed("a bucket with faster links", [](JobWhatIf& a) { a.rows[3].change.links = 2; });
  changed("a bucket without skew", [](JobWhatIf& a) { a.rows[3].change.no_skew = true; });
  changed("no step", [](JobWhatIf& a) { a.step_ns = 0; });
  return text;
}

std::string intervention_answers() {
  ridgeline::testing::FabricatedCapture small;
  small.layers = 1;
  const ridgeline::testing::TemporaryCapture made(small);
  analyzer::InterventionAnalysis answer{
      .seed = "abc", .drawn_steps = 40, .usable_steps = 38, .sham_step_ns = 10e6};
  answer.sham_cost = analyzer::InterventionEstimate{2100, 1800, 2500};
  const store::Id kernel = made.model.kernels.begin()->first;
  for (const analyzer::SlopeVerdict verdict :
       {analyzer::SlopeVerdict::agree, analyzer::SlopeVerdict::differ, analyzer::SlopeVerdict::not_simulated,
        analyzer::SlopeVerdict::too_few_steps, analyzer::SlopeVerdict::too_uncertain,
        analyzer::SlopeVerdict::no_delays}) {
    analyzer::LaunchIntervention launch{.process_id = 1,
                                        .target = static_cast<std::int64_t>(verdict),
                                        .kernel_id = kernel,
                                        .ordinal = 3 + static_cast<std::int64_t>(verdict),
                                        .delayed_steps = 20,
                                        .sham_steps = 10,
                                        .sham_ns = 2000};
    launch.verdict = verdict;
    launch.levels = {
        {.level_ns = 100'000, .steps = 5, .delay_ns = 101'000, .longer_ns = 99'000, .simulated_ns = 98'000},
        {.level_ns = 400'000, .steps = 6, .delay_ns = 404'000, .longer_ns = -9'000}};
    if (verdict <= analyzer::SlopeVerdict::not_simulated)
      launch.slope = analyzer::InterventionEstimate{0.97, 0.91, 1.03};
    if (verdict == analyzer::SlopeVerdict::differ)
      launch.slack = analyzer::InterventionEstimate{150'000, 120'000, 180'000};
    launch.slack_reached = verdict == analyzer::SlopeVerdict::differ;
    if (verdict == analyzer::SlopeVerdict::agree) {
      launch.slack = analyzer::InterventionEstimate{800'000, 0, 0};
      launch.simulated_slope = 0.99;
    }
    answer.launches.push_back(launch);
  }
  std::string text;
  const auto add = [&](const std::string& what, const analyzer::ReplayCheck& check,
                       const std::optional<analyzer::PowerBlocks>& blocks,
                       const std::optional<analyzer::Interval>& expected, Format format) {
    const analyzer::ReplayCheck& of = check;
    text += "== interventions, " + what + "\n" +
            interventions_document(made.model, made.analysis, {answer, of, blocks, expected}, as(format, 160))
                .text() +
            "\n";
  };
  const analyzer::ReplayCheck known{.steps = 3, .measured_ns = 10e6, .simulated_ns = 10.1e6};
  const analyzer::ReplayCheck unknown{.why = {{.cause = analyzer::AbsenceCause::not_reproduced},
                                              {.cause = analyzer::AbsenceCause::waits_not_recorded}}};
  analyzer::PowerBlocks blocks{.process_id = 1,
                               .kernel_id = kernel,
                               .ordinal = 4,
                               .level_ns = 500'000,
                               .delay_ns = 501'000,
                               .block_ns = 4e9,
                               .settling_ns = 1e9};
  blocks.delayed = {
      .blocks = 5, .steps = 400, .step_ns = 10.4e6, .clock_hz = 1.7e9, .power_w = 690, .limited_ratio = 0.9};
  blocks.alone = {
      .blocks = 1, .steps = 390, .step_ns = 10e6, .clock_hz = {}, .power_w = {}, .limited_ratio = {}};
  blocks.slope = analyzer::InterventionEstimate{0.81, 0.7, 0.9};
  blocks.left = analyzer::InterventionEstimate{0.83, 0.72, 0.95};
  const std::optional<analyzer::Interval> expected = analyzer::Interval{0.7, 0.8, 0.9};
  for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown})
    add("known", known, {}, {}, format);
  add("not simulated", unknown, {}, {}, Format::text);
  for (const analyzer::BlockVerdict verdict :
       {analyzer::BlockVerdict::known, analyzer::BlockVerdict::too_few_blocks,
        analyzer::BlockVerdict::too_uncertain, analyzer::BlockVerdict::no_slope}) {
    blocks.verdict = verdict;
    for (const Format format : {Format::text, Format::json})
      add(fmt::format("blocks {}", static_cast<int>(verdict)), known, blocks,
          verdict == analyzer::BlockVerdict::too_uncertain ? std::nullopt : expected, format);
  }
  answer.sham_cost.reset();
  answer.sham_step_ns = 0;
  answer.drawn_steps = 1;
  answer.launches.resize(1);
  blocks.kernel_id = 999'999;
  add("little known", known, blocks, {}, Format::json);
  add("little known", known, blocks, {}, Format::text);
  for (std::size_t at = text.find(made.path); at != std::string::npos; at = text.find(made.path))
    text.replace(at, made.path.size(), "capture.ridge");
  return text;
}

TEST(AcceptedTable, AnswersThatNoCaptureGives) {
  ridgeline::testing::expect_accepted("answers.txt", job_answers() + intervention_answers());
}

}  // namespace
}  // namespace ridgeline::reports
