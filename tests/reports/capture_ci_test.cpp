// What continuous integration reads of one capture: one case per kernel, and what became of it.
#include <gtest/gtest.h>

#include <map>

#include "ridgeline/reports/documents.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using analyzer::CheckFailOn;
using analyzer::KernelVerdict;
using testing::TemporaryCapture;

class CaptureJunit : public ::testing::Test {
 protected:
  // The case of a kernel with that verdict: "passed", or the element inside with its type.
  std::string result(KernelVerdict verdict, bool with_budget, const CheckFailOn& fail_on) {
    analyzer::TargetCheck& check = capture_.analysis.check;
    check.options.budgets = {{.kernel = "*", .max_time_ns = 1e6, .reason = "agreed"}};
    check.kernels = {{.row = 0,
                      .verdict = verdict,
                      .required = 0.7,
                      .budget = with_budget ? std::optional<std::size_t>(0) : std::nullopt,
                      .utilisation = verdict}};
    const std::string text =
        capture_document(capture_.model, capture_.analysis, ReportFormat::junit, fail_on, {}).text();
    const std::size_t begin = text.find("<testcase classname=\"kernel\"");
    EXPECT_NE(begin, std::string::npos) << text.substr(0, 2000);
    const std::size_t open_end = text.find('>', begin);
    if (text[open_end - 1] == '/') return "passed";
    const std::size_t inner = text.find('<', open_end);
    const std::string element = text.substr(inner, text.find('>', inner) - inner);
    const std::size_t type = element.find("type=\"");
    return element.substr(1, element.find(' ') - 1) +
           (type == std::string::npos
                ? ""
                : " " + element.substr(type + 6, element.find('"', type + 6) - type - 6));
  }
  TemporaryCapture capture_;
};

TEST_F(CaptureJunit, AKernelFailsForWhatIsAskedFor) {
  const CheckFailOn budgets{.budget = true, .target = false, .unmeasured = false};
  const CheckFailOn targets{.budget = false, .target = true, .unmeasured = false};
  const CheckFailOn nothing{.budget = false, .target = false, .unmeasured = false};
  for (const bool with_budget : {false, true}) {
    for (const CheckFailOn& fail_on : {budgets, targets, nothing}) {
      EXPECT_EQ(result(KernelVerdict::met, with_budget, fail_on), "passed");
      EXPECT_EQ(result(KernelVerdict::stretch, with_budget, fail_on), "passed");
      EXPECT_EQ(result(KernelVerdict::too_short, with_budget, fail_on), "skipped");
    }
    EXPECT_EQ(result(KernelVerdict::missed, with_budget, nothing), "skipped");
    EXPECT_EQ(result(KernelVerdict::not_measured, with_budget, nothing), "skipped");
  }
  EXPECT_EQ(result(KernelVerdict::missed, true, budgets), "failure budget");
  EXPECT_EQ(result(KernelVerdict::missed, false, budgets), "skipped");
  EXPECT_EQ(result(KernelVerdict::missed, false, targets), "failure target");
  EXPECT_EQ(result(KernelVerdict::not_measured, true, budgets), "error budget")
      << "it cannot be held against it";
  EXPECT_EQ(result(KernelVerdict::not_measured, false, budgets), "skipped");
}

}  // namespace
}  // namespace ridgeline::reports
