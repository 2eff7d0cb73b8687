#include "ci_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kAnnotations = 10;
constexpr std::size_t kNameBytes = 300;
constexpr std::size_t kMessageBytes = 2000;

// XML 1.0 has no other control characters than tab and line breaks; html_escape() writes them as text.
std::string xml(std::string_view text, std::size_t bytes = kMessageBytes) {
  return html_escape(one_line(bounded(text, bytes)));
}

std::string_view element_of(CaseResult result) {
  switch (result) {
    case CaseResult::failed:
      return "failure";
    case CaseResult::skipped:
      return "skipped";
    case CaseResult::error:
      return "error";
    case CaseResult::passed:
      break;
  }
  return {};
}

std::string escaped_data(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(one_line(text))) {
    if (c == '%')
      out += "%25";
    else
      out += c;
  }
  return out;
}

std::string escaped_property(std::string_view text) {
  std::string out;
  for (const char c : escaped_data(text)) {
    if (c == ':')
      out += "%3A";
    else if (c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

std::string command(const Annotation& annotation) {
  const std::string_view kind = annotation.kind == AnnotationKind::error     ? "error"
                                : annotation.kind == AnnotationKind::warning ? "warning"
                                                                             : "notice";
  return fmt::format("::{} title={}::{}\n", kind, escaped_property(bounded(annotation.title, kNameBytes)),
                     escaped_data(bounded(annotation.message, kMessageBytes)));
}

std::string label_text(std::string_view text) {
  std::string out;
  for (const char c : terminal_safe(one_line(bounded(text, kNameBytes)))) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string junit_text(const CiSuite& suite) {
  std::map<CaseResult, int> count;
  std::string body;
  for (const CiCase& one : suite.cases) {
    ++count[one.result];
    body += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\"", xml(one.group),
                        xml(one.name, 3 * kNameBytes), one.seconds);
    if (one.result == CaseResult::passed) {
      body += "/>\n";
      continue;
    }
    const std::string type = one.type.empty() ? "" : fmt::format(" type=\"{}\"", xml(one.type));
    body += fmt::format(">\n      <{}{} message=\"{}\"/>\n    </testcase>\n", element_of(one.result), type,
                        xml(one.message));
  }
  // Of suites the schemas of some years of Jenkins' plugin take three decimals at most.
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\"", suite.cases.size(),
                  count[CaseResult::failed], count[CaseResult::error], suite.seconds);
  // Nor do they have this attribute of all suites together.
  const std::string skipped = fmt::format(" skipped=\"{}\"", count[CaseResult::skipped]);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"{}\" {}>\n  <testsuite name=\"{}\" {}{}>\n    <properties>\n",
                     xml(suite.program), counts, xml(suite.name), counts, skipped);
  for (const auto& [name, value] : suite.properties)
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml(name), xml(value));
  out += "    </properties>\n" + body;
  out += fmt::format("    <system-out>{}</system-out>\n", xml(suite.output));
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string workflow_commands(const std::vector<Annotation>& annotations) {
  std::string out;
  for (const AnnotationKind kind : {AnnotationKind::error, AnnotationKind::warning, AnnotationKind::notice}) {
    const auto total = static_cast<std::size_t>(
        std::count_if(annotations.begin(), annotations.end(),
                      [&](const Annotation& annotation) { return annotation.kind == kind; }));
    const std::size_t most = total > kAnnotations ? kAnnotations - 1 : total;
    std::size_t shown = 0;
    for (const Annotation& annotation : annotations) {
      if (annotation.kind == kind && shown++ < most) out += command(annotation);
    }
    if (most < total)
      out += command({kind, "Ridgeline",
                      fmt::format("{} more of this kind are not shown here",
                                  integer(static_cast<std::int64_t>(total - most)))});
  }
  return out;
}

void OpenMetrics::family(std::string_view name, std::string_view help) {
  family_ = name;
  text_ += fmt::format("# TYPE {} gauge\n# HELP {} {}\n", name, name, help);
}

void OpenMetrics::sample(std::string_view value, std::string_view label, std::string_view label_value) {
  text_ += family_;
  if (!label.empty()) text_ += fmt::format("{{{}=\"{}\"}}", label, label_text(label_value));
  text_ += fmt::format(" {}\n", value);
}

std::string OpenMetrics::finish() const {
  return text_ + "# EOF\n";
}

std::string bencher_text(const std::vector<BencherValue>& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const BencherValue& one : values) {
    nlohmann::ordered_json latency;
    latency["value"] = one.value_ns;
    if (one.low_ns) latency["lower_value"] = *one.low_ns;
    if (one.high_ns) latency["upper_value"] = *one.high_ns;
    json[valid_utf8(one.name)]["latency"] = latency;
  }
  return json_log_safe(json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

std::string CaseNames::of(std::string_view path, std::string_view name) {
  std::string text = bounded(name, kNameBytes);
  if (!path.empty()) text = bounded(path, kNameBytes) + " / " + text;
  const int count = ++seen_[text];
  return count == 1 ? text : fmt::format("{} #{}", text, count);
}

}  // namespace ridgeline::reports
