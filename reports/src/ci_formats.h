// ci_formats.h: the formats of continuous integration, whatever they tell of: JUnit, workflow commands of GitHub,
// OpenMetrics, Bencher Metric Format. Texts may hold anything; each format escapes them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::reports {

enum class CaseResult { passed, failed, skipped, error };

struct CiCase {
  std::string group;  ///< "step", "kernel", "budget", "finding"
  std::string name;
  CaseResult result = CaseResult::passed;
  std::string type;     ///< of a failure or error: "regressed", "budget"
  std::string message;  ///< of what has not passed
  double seconds = 0;
};

struct CiSuite {
  std::string program;  ///< "ridgeline compare"
  std::string name;
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<CiCase> cases;
  std::string output;
};
/// One suite, its cases in their order.
[[nodiscard]] std::string junit_text(const CiSuite& suite);

enum class AnnotationKind { error, warning, notice };
struct Annotation {
  AnnotationKind kind = AnnotationKind::notice;
  std::string title, message;
};
/// Workflow commands, a line each. GitHub shows ten of a kind a step: where there are more, the tenth counts the rest.
[[nodiscard]] std::string workflow_commands(const std::vector<Annotation>& annotations);

/// Gauges as text. A family's samples follow it.
class OpenMetrics {
 public:
  void family(std::string_view name, std::string_view help);
  /// Of the last family, with a label at most. GitLab compares texts, so that a value is best rounded.
  void sample(std::string_view value, std::string_view label = {}, std::string_view label_value = {});
  [[nodiscard]] std::string finish() const;

 private:
  std::string text_, family_;
};

struct BencherValue {
  std::string name;
  double value_ns = 0;
  std::optional<double> low_ns, high_ns;
};
/// Measure "latency" of each.
[[nodiscard]] std::string bencher_text(const std::vector<BencherValue>& values);

/// Names that no two cases share: two kernels of one name in two ranges, or with two codes, are two cases.
class CaseNames {
 public:
  [[nodiscard]] std::string of(std::string_view path, std::string_view name);

 private:
  std::map<std::string, int> seen_;
};

}  // namespace ridgeline::reports
