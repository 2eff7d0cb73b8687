// Documents of recordings by lot, and of analyses whose figures are changed by lot: what is said where a figure is
// nothing, ten times as much or on the other side of a limit.
#include <type_traits>

#include "documents_testing.h"
#include "drawn.h"
#include "ridgeline/comparison/history.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/headline_text.h"
#include "ridgeline/reports/history_documents.h"
#include "ridgeline/reports/roofline_document.h"
#include "support/analysis_fields.h"

namespace ridgeline::reports {
namespace {

using testing::AcceptedCases;
using testing::FabricatedCapture;
using testing::TemporaryCapture;

FabricatedCapture drawn_capture(Drawn& drawn) {
  FabricatedCapture how;
  how.layers = 1;
  how.warmup_steps = static_cast<int>(drawn.below(3));
  how.timeline_steps = 1 + static_cast<int>(drawn.below(5));
  how.replay_steps = static_cast<int>(drawn.below(5));
  how.sample_steps = static_cast<int>(drawn.below(4));
  how.cold_steps = static_cast<int>(drawn.below(3));
  how.after_steps = static_cast<int>(drawn.below(2));
  how.device_peaks = !drawn.one_in(6);
  how.tier_refused = drawn.one_in(6);
  how.exclude_attention = drawn.one_in(4);
  how.losses = drawn.one_in(5);
  how.step_ranges = !drawn.one_in(7);
  how.declared = drawn.one_in(2);
  how.fast = drawn.one_in(6);
  how.unpadded = drawn.one_in(4);
  how.codes = drawn.one_in(2);
  how.copies = drawn.one_in(3) ? 3 : 0;
  how.graphs = drawn.one_in(6);
  how.overlap = drawn.one_in(3);
  how.ranks = drawn.one_in(5) ? 2 : 1;
  if (drawn.one_in(3)) how.t1_outlier = 0.05;
  if (drawn.one_in(4)) how.slow_kernel = "layernorm", how.slow_factor = 4;
  if (drawn.one_in(4))
    how.extra_kernel = "void a_kernel_with_a_long_name<int, 4, (ns::Kind)1>(float*, int) → other";
  return how;
}

std::string all_text(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  using testing::as;
  std::string out;
  const auto add = [&](const Document& document) { out += document.text() + "\n"; };
  DocumentOptions wide = as(Format::text, 160);
  wide.all = true;
  wide.verbose = true;
  wide.stalls = true;
  for (const DocumentOptions& how : {as(Format::text, 80), wide}) {
    add(ranking_document(model, analysis, how));
    add(check_document(model, analysis, how));
    add(advice_document(model, analysis, how));
    add(steps_document(model, analysis, how));
  }
  out += run_line(model) + "\n" + command_line(model) + "\n" + step_line(analysis.steps) + "\n" +
         clock_cost_line(analysis.ranking) + "\n" + energy_line(analysis.ranking) + "\n" +
         roofs_line(analysis.utilisation) + "\n" + verdict_sentence(analysis) + "\n" +
         kernels_verdict_sentence(analysis) + "\n" + saving_text(analysis.ranking) + "\n" +
         saving_notes(analysis.ranking) + "\n" + stalls_line(analysis.stalls) + "\n" +
         completeness_line(analysis.quality) + "\n" + tiers_line(analysis.quality) + "\n" +
         work_line(analysis) + "\n" + throughput_line(analysis.throughput) + "\n";
  for (const HeadlineWords& line : headline_words(model, analysis)) out += sentence_of(line) + "\n";
  for (const std::string& line : tier_lines(model, analysis.quality)) out += line + "\n";
  return out;
}

std::string all_documents(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  using testing::as;
  std::string out;
  const auto add = [&](const Document& document) { out += document.text() + "\n"; };
  for (const Format format : {Format::json, Format::csv, Format::markdown}) {
    add(ranking_document(model, analysis, as(format)));
    add(check_document(model, analysis, as(format)));
    add(advice_document(model, analysis, as(format)));
    add(steps_document(model, analysis, as(format)));
  }
  out += html_report(model, analysis) + markdown_report(model, analysis);
  add(json_report(model, analysis));
  for (const ReportFormat format :
       {ReportFormat::junit, ReportFormat::github, ReportFormat::gitlab_metrics, ReportFormat::bencher})
    add(capture_document(model, analysis, format, {true, true, true}));
  for (const bool time : {false, true}) {
    try {
      out += roofline_svg(model, analysis, {"", time});
    } catch (const Error& error) {
      out += error.message() + "\n";
    }
    out += roofline_document(model, analysis, {"", time}, as(Format::text, 120)).text();
  }
  return out;
}

TEST(DrawnCaptures, HaveTheDocumentsThatTheyHad) {
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(5000 + draw);
      const FabricatedCapture made = drawn_capture(drawn);
      analyzer::AnalysisOptions how;
      static constexpr analyzer::RankingKey kKeys[] = {
          analyzer::RankingKey::kernel, analyzer::RankingKey::kernel_and_grid,
          analyzer::RankingKey::kernel_class, analyzer::RankingKey::family, analyzer::RankingKey::launch};
      how.ranking.key = drawn.of(kKeys);
      if (drawn.one_in(3)) how.ranking.target = how.targets.target = 0.4;
      TemporaryCapture capture(made, how);
      capture.model.path = "capture.ridge";  // where a line ends does not depend on the folder
      return all_text(capture.model, capture.analysis) + all_documents(capture.model, capture.analysis);
    });
  }
}

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = std::is_class_v<T>;

// Figures only: what says which thing is meant, how many there are, or that something is known, stays as it is.
class Changed {
 public:
  Changed(std::uint64_t seed, std::size_t one_in) : drawn_(seed), one_in_(one_in) {}

  template <typename T>
  void change(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      static constexpr double kTimes[] = {0, 0.02, 0.3, 0.7, 0.9, 1.1, 3, 40, 1000};
      if (drawn_.one_in(one_in_)) value *= drawn_.of(kTimes);
    } else if constexpr (kIsOptional<T>) {
      if (value) change(*value);
    } else if constexpr (kIsList<T>) {
      for (auto& element : value) change(element);
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> &&
                         !requires { testing::ShownParts<T>::of(value); }) {
      testing::shown::each_field(value, [&](const auto&... parts) {
        (change(const_cast<std::remove_cvref_t<decltype(parts)>&>(parts)), ...);
      });
    }
  }

 private:
  Drawn drawn_;
  std::size_t one_in_;
};

TEST(ChangedAnalyses, AreSaidAsBefore) {
  FabricatedCapture made;
  made.layers = 1;
  made.timeline_steps = 4;
  made.sample_steps = 3;
  made.cold_steps = 1;
  made.declared = true;
  made.codes = true;
  made.copies = 2;
  made.overlap = true;
  for (int kind = 0; kind < 4; ++kind) {
    if (kind == 1) made.exclude_attention = true, made.t1_outlier = 0.08;
    if (kind == 2) made.fast = true;
    if (kind == 3) made.graphs = true, made.ranks = 2;
    TemporaryCapture capture(made);
    capture.model.path = "capture.ridge";
    for (std::uint64_t part = 0; part < 3; ++part) {
      AcceptedCases::expect([&] {
        std::uint64_t sum = testing::text_sum({});
        std::string out;
        for (std::uint64_t draw = 0; draw < 4; ++draw) {
          analyzer::Analysis analysis = capture.analysis;
          static constexpr std::size_t kOneIn[] = {3, 8, 25, 1};
          Changed(6000 + 100 * part + draw, kOneIn[draw % 4]).change(analysis);
          const std::string text = all_text(capture.model, analysis);
          sum = testing::text_sum(text, sum);
          if (draw == 1) sum = testing::text_sum(all_documents(capture.model, analysis), sum);
          out += testing::text_sum_in_hex(sum) + "\n" + text;
        }
        return out;
      });
    }
  }
}

TEST(DrawnHistories, AreShownAsBefore) {
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(7000 + draw);
      comparison::HistoryReport report;
      const std::size_t count = drawn.below(4);
      for (std::size_t s = 0; s < count; ++s) {
        comparison::HistorySeries series;
        series.name = s == 0 ? "step" : drawn.kernel();
        const std::size_t values = drawn.below(20);
        for (std::size_t v = 0; v < values; ++v) {
          const auto noise = static_cast<double>(drawn.below(1000));
          series.values.push_back(
              {1'700'000'000'000'000'000 + static_cast<std::int64_t>(v) * 3'600'000'000'000,
               std::string(40, static_cast<char>('a' + v % 6)), "GPU-" + std::to_string(v % 2),
               (v > 9 ? 150e6 : 100e6) + noise * 1e3});
        }
        if (values > 10)
          series.changes.push_back({{10, 100e6, 150e6, 0.001},
                                    std::string(40, 'e'),
                                    drawn.one_in(2),
                                    drawn.one_in(2) ? "meant" : ""});
        if (values > 14) series.changes.push_back({{14, 150e6, 120e6, 0.04}, "", false, ""});
        report.series.push_back(series);
      }
      const std::size_t newest = drawn.below(3);
      for (std::size_t n = 0; n < newest; ++n) {
        comparison::NewestRun run;
        run.kind = "./train, 1153 launches a step";
        run.start_ns = 1'700'000'000'000'000'000;
        run.commit = n == 0 ? std::string(40, 'f') : "";
        run.runs_before = drawn.below(4);
        run.other_cards = drawn.one_in(3);
        run.spread_ratio = static_cast<double>(drawn.below(40)) / 1000;
        run.spread_guessed = drawn.one_in(2);
        static constexpr comparison::NewestVerdict kVerdicts[] = {comparison::NewestVerdict::undecided,
                                                                  comparison::NewestVerdict::slower,
                                                                  comparison::NewestVerdict::faster};
        run.verdict = drawn.of(kVerdicts);
        if (run.runs_before > 0) run.step = {"step", 1.1e8, 1e8, 0.1, 0.05, 0.15, 0.999};
        const std::size_t kernels = drawn.below(5);
        for (std::size_t k = 0; k < kernels; ++k) {
          const std::string name = drawn.kernel();
          const double ratio = (static_cast<double>(drawn.below(60)) - 30) / 100;
          run.kernels.push_back({name, 1e6 * (1 + ratio), 1e6, ratio, ratio - 0.02, ratio + 0.02, 0.98});
        }
        report.newest.push_back(run);
      }
      std::string out = history_html(report);
      for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown})
        out += history_document(report, testing::as(format, 90)).text() + "\n";
      return out;
    });
  }
}

}  // namespace
}  // namespace ridgeline::reports
