// docs/metrics.md must describe every metric that is stored or used.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/store/metric_catalog.h"

namespace ridgeline::analyzer {
namespace {

std::string document() {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/docs/metrics.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string quoted(std::string_view name) {
  return std::string(1, '`').append(name).append(1, '`');
}

TEST(MetricsDocument, DescribesEveryMetricOfTheCatalogue) {
  const std::string text = document();
  ASSERT_FALSE(text.empty());
  for (const auto& metric : store::metric_catalog()) {
    EXPECT_NE(text.find(quoted(metric.name)), std::string::npos) << metric.name;
  }
}

TEST(MetricsDocument, DescribesEveryPipeMetricAndReason) {
  const std::string text = document();
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    EXPECT_NE(text.find(quoted(pipe.metric)), std::string::npos) << pipe.metric;
  }
  for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
    EXPECT_NE(text.find(quoted(pipe.metric)), std::string::npos) << pipe.metric;
  }
  for (int reason = 1; reason <= static_cast<int>(MissingReason::no_sample); ++reason) {
    const std::string_view name = to_string(static_cast<MissingReason>(reason));
    EXPECT_NE(text.find(quoted(name)), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
