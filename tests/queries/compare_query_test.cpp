#include "ridgeline/queries/compare_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/queries/sql_query.h"

namespace ridgeline::queries {
namespace {

const std::string kBundled = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";

// Of what SQL says took so long, the value below which `share` of them lie, between neighbours in proportion.
double between_neighbours(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] * (1 - (at - static_cast<double>(below))) +
         sorted[below + 1] * (at - static_cast<double>(below));
}

TEST(RunDurations, AreThoseOfTheComparedStepsByName) {
  const store::Capture capture = store::Capture::open(kBundled).value();
  analyzer::Session session = analyzer::Session::open(kBundled).value();
  const auto steps = session.steps().value();
  const auto& peers = steps->representative.peers;
  std::string ids;
  std::vector<double> step_ns;
  for (const analyzer::StepSummary& summary : steps->steps) {
    if (std::find(peers.begin(), peers.end(), summary.index) == peers.end()) continue;
    ids += (ids.empty() ? "" : ", ") + std::to_string(summary.step_id);
    step_ns.push_back(static_cast<double>(summary.gpu_duration_ns));
  }
  std::sort(step_ns.begin(), step_ns.end());
  const auto rows = ask(capture, {.sql = "SELECT k.demangled_name, l.end_ns - l.start_ns FROM launch l "
                                         "JOIN kernel k ON k.id = l.kernel_id WHERE l.step_id IN (" +
                                         ids + ") ORDER BY 1, 2",
                                  .max_rows = 1'000'000})
                        .value();
  ASSERT_FALSE(rows.cut);
  std::map<std::string, std::vector<double>> by_kernel;
  for (const auto& row : rows.table.rows)
    by_kernel[std::get<std::string>(row[0])].push_back(static_cast<double>(std::get<std::int64_t>(row[1])));
  ASSERT_GT(by_kernel.size(), 10U);
  const auto expect = [](const std::vector<std::string>& kernels, const std::vector<double>& sorted) {
    const auto spread = ask(RunDurationsQuery{kBundled, kernels});
    ASSERT_TRUE(spread.ok());
    EXPECT_EQ(spread.value().count, static_cast<std::int64_t>(sorted.size()));
    EXPECT_NEAR(spread.value().low_ns, between_neighbours(sorted, 0.05), 1e-6);
    EXPECT_NEAR(spread.value().quarter_ns, between_neighbours(sorted, 0.25), 1e-6);
    EXPECT_NEAR(spread.value().median_ns, between_neighbours(sorted, 0.5), 1e-6);
    EXPECT_NEAR(spread.value().three_quarters_ns, between_neighbours(sorted, 0.75), 1e-6);
    EXPECT_NEAR(spread.value().high_ns, between_neighbours(sorted, 0.95), 1e-6);
  };
  int number = 0;
  for (const auto& [kernel, sorted] : by_kernel)
    if (number++ % 6 == 0) expect({kernel}, sorted);
  expect({}, step_ns);
  // Of two that stand for one kernel together.
  std::vector<double> both = by_kernel.begin()->second;
  both.insert(both.end(), std::next(by_kernel.begin())->second.begin(),
              std::next(by_kernel.begin())->second.end());
  std::sort(both.begin(), both.end());
  expect({by_kernel.begin()->first, std::next(by_kernel.begin())->first}, both);
}

TEST(RunDurations, OfWhatIsNotThereAreNone) {
  const auto unknown = ask(RunDurationsQuery{kBundled, {"no such kernel"}});
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown.value().count, 0);
  EXPECT_EQ(unknown.value().median_ns, 0);
  const auto missing = ask(RunDurationsQuery{"/no/such.ridge", {"k"}});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.failure().message.find("/no/such.ridge"), std::string::npos);
}

TEST(RunDurations, EndWhenTheyAreStopped) {
  std::stop_source stop;
  stop.request_stop();
  const auto spread = ask(RunDurationsQuery{kBundled, {"k"}}, {stop.get_token(), {}});
  ASSERT_FALSE(spread.ok());
  EXPECT_EQ(spread.failure().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace ridgeline::queries
