// What sets the pace of a step comes first in every document of a program that the CPU paces.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "documents_testing.h"
#include "generate/generate.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/report_format.h"
#include "support/temporary_directory.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::as;
using testing::expect_width;
using testing::in_one_line;

struct Eager {
  Eager() {
    generate::Options options;
    options.shape = generate::Shape::eager;
    options.launches = 1153 * 14;
    const std::string path = directory.file("eager.ridge");
    generate::generate(options, *generate::make_capture_sink(path));
    analyzer::Session session = analyzer::Session::open(path).value();
    analysis = session.analysis().value();
    model = session.model().value();
  }
  [[nodiscard]] std::string document(ReportFormat format) const {
    return capture_document(*model, *analysis, format, {}, {}).text();
  }

  testing::TemporaryDirectory directory;
  std::shared_ptr<const analyzer::Analysis> analysis;
  std::shared_ptr<const analyzer::Model> model;
};

// Where in `text` it stands; fails if it does not.
std::size_t place(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << "\nin\n" << text.substr(0, 3000);
  return at;
}

TEST(PaceDocuments, TheGpuIdlesComesBeforeAnythingAboutKernels) {
  const Eager eager;
  const std::string idle = "The GPU is idle for";
  const std::string held = "reach the step: the CPU needs";
  for (const int columns : {80, 100, 160}) {
    const std::string text =
        ranking_document(*eager.model, *eager.analysis, as(Format::text, columns)).text();
    expect_width(text, columns);
    const std::string line = in_one_line(text);
    EXPECT_LT(place(line, idle), place(line, "kernel   "));
    EXPECT_LT(place(line, idle), place(line, "Saving: up"));
    EXPECT_EQ(line.find(idle), line.rfind(idle)) << "once";
  }
  const std::string check =
      in_one_line(check_document(*eager.model, *eager.analysis, as(Format::text, 200)).text());
  EXPECT_LT(place(check, idle), place(check, "The step's kernels miss their target"));
  EXPECT_LT(place(check, held), place(check, "The step's kernels miss their target"));
  EXPECT_NE(check.find("would shorten the step of"), std::string::npos);
  const std::string markdown = eager.document(ReportFormat::markdown);
  EXPECT_LT(place(markdown, idle), place(markdown, "The step's kernels miss their target"));
  const std::string html = eager.document(ReportFormat::html);
  EXPECT_LT(place(html, idle), place(html, "class=\"verdict"));
}

TEST(PaceDocuments, ContinuousIntegrationReadsItFirst) {
  const Eager eager;
  const std::string junit = eager.document(ReportFormat::junit);
  EXPECT_LT(place(junit, "pace.gpu_idle"), place(junit, "classname=\"kernel\""));
  EXPECT_LT(place(junit, "pace.saving_held_back"), place(junit, "classname=\"kernel\""));
  const std::string github = eager.document(ReportFormat::github);
  EXPECT_EQ(github.find("pace.gpu_idle"), github.find("pace.")) << github.substr(0, 500);
  EXPECT_LT(place(github, "pace.saving_held_back"), place(github, "Below its target"));
  const std::string metrics = eager.document(ReportFormat::gitlab_metrics);
  const double idle = 100.0 * static_cast<double>(eager.analysis->accounting.gap_total_ns) /
                      static_cast<double>(eager.analysis->accounting.step_ns);
  EXPECT_NE(metrics.find("ridgeline_step_idle_percent " + std::to_string(std::lround(idle)) + "\n"),
            std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find("ridgeline_step_saving_milliseconds 0."), std::string::npos) << metrics;
}

TEST(PaceDocuments, ProgramsReadWhatWasSimulated) {
  const Eager eager;
  const json rank = json::parse(ranking_document(*eager.model, *eager.analysis, as(Format::json)).text());
  const analyzer::StepReach& reach = *eager.analysis->ranking.reach;
  const json& shown = rank["totals"]["reach"];
  EXPECT_EQ(shown["known"], true);
  EXPECT_EQ(shown["measured_ns"], reach.measured_ns);
  EXPECT_DOUBLE_EQ(shown["target_ns"].get<double>(), reach.target_ns);
  EXPECT_DOUBLE_EQ(shown["without_gpu_ns"].get<double>(), reach.without_gpu_ns);
  EXPECT_EQ(shown["launches"], shown["launches_with_call"]);
  EXPECT_EQ(rank["quality"]["findings"][0]["code"], "pace.gpu_idle");
  EXPECT_EQ(rank["quality"]["findings"][1]["code"], "pace.saving_held_back");
  EXPECT_EQ(rank["quality"]["findings"][0]["remedy"], "launch_less");
  EXPECT_DOUBLE_EQ(rank["rows"][0]["reached_target_ns"].get<double>(),
                   *eager.analysis->ranking.rows[0].reached_target_ns);
  const json check = json::parse(check_document(*eager.model, *eager.analysis, as(Format::json)).text());
  EXPECT_DOUBLE_EQ(check["verdict"]["missed_reached_ns"].get<double>(),
                   *eager.analysis->check.missed_reached_ns);
}

}  // namespace
}  // namespace ridgeline::reports
