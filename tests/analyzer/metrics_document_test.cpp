// docs/metrics.md must describe every metric that is stored or used.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ridgeline/analyzer/utilisation.h"
#include "ridgeline/store/metric_catalog.h"

namespace ridgeline::analyzer {
namespace {

std::string document() {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/docs/metrics.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MetricsDocument, DescribesEveryMetricOfTheCatalogue) {
  const std::string text = document();
  ASSERT_FALSE(text.empty());
  for (const auto& metric : store::metric_catalog()) {
    EXPECT_NE(text.find("`" + std::string(metric.name) + "`"), std::string::npos) << metric.name;
  }
}

TEST(MetricsDocument, DescribesEveryPipeMetricAndReason) {
  const std::string text = document();
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    EXPECT_NE(text.find("`" + std::string(pipe.metric) + "`"), std::string::npos) << pipe.metric;
  }
  for (int reason = 1; reason <= static_cast<int>(MissingReason::no_peak); ++reason) {
    const std::string name(to_string(static_cast<MissingReason>(reason)));
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
