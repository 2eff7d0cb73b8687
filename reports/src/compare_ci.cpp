// compare_ci.cpp: a comparison as continuous integration reads it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "compare_parts.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

using analyzer::Comparison;
using analyzer::ComparisonVerdict;
using analyzer::Endpoint;
using analyzer::KernelChange;
using analyzer::Outcome;

// GitHub shows ten annotations of a kind a step.
constexpr std::size_t kAnnotations = 10;
constexpr std::size_t kNameBytes = 300;

// XML 1.0 has no other control characters than tab and line breaks; html_escape() writes them as text.
std::string xml(std::string_view text) {
  return html_escape(one_line(bounded(text, kNameBytes)));
}

// Two kernels of one name in two ranges, or with two codes, are two cases.
class Names {
 public:
  std::string of(const KernelChange& change) {
    std::string name = bounded(change_name(change), kNameBytes);
    if (!change.path.empty()) name = bounded(change.path, kNameBytes) + " / " + name;
    const int count = ++seen_[name];
    return count == 1 ? name : fmt::format("{} #{}", name, count);
  }

 private:
  std::map<std::string, int> seen_;
};

std::string change_line(const KernelChange& change) {
  std::string text = fmt::format("{} → {} a step ({})", time_text(change.time.a), time_text(change.time.b),
                                 signed_percent(change.adjusted.ratio));
  if (change.adjusted.interval)
    text += fmt::format(", interval {} to {}", signed_percent(change.adjusted.interval->low),
                        signed_percent(change.adjusted.interval->high));
  const std::string cause = cause_text(change.cause);
  if (!cause.empty()) text += "; " + cause;
  return text;
}

struct Case {
  std::string class_name, name, message;
  double seconds = 0;
  Outcome outcome = Outcome::same;
};

std::string escaped_data(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
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

std::string command(std::string_view kind, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", kind, escaped_property(bounded(title, kNameBytes)),
                     escaped_data(terminal_safe(message)));
}

std::string label(std::string_view text) {
  std::string out;
  for (const char c : one_line(bounded(text, kNameBytes))) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return valid_utf8(out);
}

}  // namespace

std::string compare_junit(const Comparison& comparison) {
  std::vector<Case> cases;
  const bool incomparable = comparison.verdict == ComparisonVerdict::invalid_environment;
  for (const Endpoint& part : comparison.endpoints) {
    cases.push_back({"step", part.name,
                     fmt::format("{} → {} ({})", time_text(part.time.a), time_text(part.time.b),
                                 signed_percent(part.time.ratio, 2)),
                     part.time.b * 1e-9, part.outcome});
    if (part.outcome == Outcome::inconclusive)
      cases.back().message += ": " + outcome_reason_text(part.reason);
  }
  Names names;
  for (const KernelChange& change : comparison.kernels) {
    cases.push_back({"kernel", names.of(change), change_line(change), change.time.b * 1e-9, change.outcome});
    if (change.outcome == Outcome::inconclusive)
      cases.back().message += ": " + outcome_reason_text(change.reason);
    if (change.outcome == Outcome::added) cases.back().message = "only in B";
    if (change.outcome == Outcome::removed) cases.back().message = "only in A";
  }
  std::int64_t failures = 0;
  std::int64_t skipped = 0;
  std::string body;
  for (const Case& one : cases) {
    body += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\"", one.class_name,
                        xml(one.name), one.seconds);
    const bool judged = !incomparable;
    if (one.outcome == Outcome::regressed && judged) {
      ++failures;
      body += fmt::format(">\n      <failure type=\"regressed\" message=\"{}\"/>\n    </testcase>\n",
                          xml(one.message));
    } else if (!judged || (one.outcome != Outcome::same && one.outcome != Outcome::improved)) {
      ++skipped;
      body += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                          xml(judged ? one.message : "not comparable: " + one.message));
    } else {
      body += "/>\n";
    }
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.9f}\"", cases.size(),
                  failures, skipped, comparison.step().time.b * 1e-9);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out +=
      fmt::format("<testsuites name=\"ridgeline compare\" {}>\n  <testsuite name=\"{}\" {}>\n", counts,
                  xml(comparison.b.command_line.empty() ? "comparison" : comparison.b.command_line), counts);
  out += "    <properties>\n";
  const auto property = [&](std::string_view name, std::string_view value) {
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(value));
  };
  property("verdict", to_string(comparison.verdict));
  property("commit_a", comparison.a.git_commit);
  property("commit_b", comparison.b.git_commit);
  property("device", comparison.b.device);
  property("pairs", std::to_string(comparison.pairs));
  out += "    </properties>\n" + body;
  out += fmt::format("    <system-out>{}</system-out>\n", xml(compare_verdict_sentence(comparison)));
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string compare_github(const Comparison& comparison) {
  std::string out;
  const std::string verdict = compare_verdict_sentence(comparison);
  const bool worse = comparison.verdict == ComparisonVerdict::regressed;
  const bool incomparable = comparison.verdict == ComparisonVerdict::invalid_environment;
  out += command(worse ? "error" : incomparable ? "warning" : "notice", "Ridgeline: step", verdict);
  std::size_t errors = worse ? 1 : 0;
  std::size_t left_out = 0;
  for (const KernelChange& change : comparison.kernels) {
    if (change.outcome != Outcome::regressed || incomparable) continue;
    // One place is kept for the line that counts the rest.
    if (errors + 1 >= kAnnotations) {
      ++left_out;
      continue;
    }
    ++errors;
    out += command("error", "Slower: " + change_name(change), change_line(change));
  }
  if (left_out > 0)
    out += command("error", "Slower kernels",
                   fmt::format("{} not shown here", counted(static_cast<std::int64_t>(left_out),
                                                            "more kernel is", "more kernels are")));
  std::size_t warnings = incomparable ? 1 : 0;
  for (const std::string& note : compare_notes(comparison)) {
    if (note.starts_with("Not the code") || note.starts_with("May explain")) {
      if (warnings++ < kAnnotations) out += command("warning", "Ridgeline: environment", note);
    }
  }
  return out;
}

std::string compare_gitlab_metrics(const Comparison& comparison) {
  std::string out;
  const auto family = [&](std::string_view name, std::string_view help) {
    out += fmt::format("# TYPE {} gauge\n# HELP {} {}\n", name, name, help);
  };
  family("ridgeline_step_milliseconds", "Time of the step, three figures.");
  out += fmt::format("ridgeline_step_milliseconds {:.3g}\n", comparison.step().time.b * 1e-6);
  family("ridgeline_step_verdict", "1 regressed, -1 improved, 0 the same or not known.");
  const auto gauge = [](Outcome outcome) {
    return outcome == Outcome::regressed ? 1 : outcome == Outcome::improved ? -1 : 0;
  };
  out += fmt::format("ridgeline_step_verdict {}\n", gauge(comparison.step().outcome));
  family("ridgeline_kernels", "Kernels by outcome.");
  const std::pair<std::string_view, std::int64_t> counts[] = {{"regressed", comparison.regressed},
                                                              {"improved", comparison.improved},
                                                              {"added", comparison.added},
                                                              {"removed", comparison.removed}};
  for (const auto& [word, count] : counts)
    out += fmt::format("ridgeline_kernels{{outcome=\"{}\"}} {}\n", word, count);
  family("ridgeline_kernel_verdict", "Kernels that changed: 1 regressed, -1 improved.");
  Names names;
  for (const KernelChange& change : comparison.kernels) {
    const std::string name = names.of(change);
    if (gauge(change.outcome) != 0)
      out +=
          fmt::format("ridgeline_kernel_verdict{{kernel=\"{}\"}} {}\n", label(name), gauge(change.outcome));
  }
  return out + "# EOF\n";
}

std::string compare_bencher(const Comparison& comparison) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const auto add = [&](const std::string& name, const analyzer::Change& time) {
    nlohmann::ordered_json latency;
    latency["value"] = time.b;
    if (time.interval) {
      latency["lower_value"] = time.a * (1 + time.interval->low);
      latency["upper_value"] = time.a * (1 + time.interval->high);
    }
    json[valid_utf8(name)]["latency"] = latency;
  };
  for (const Endpoint& part : comparison.endpoints) {
    if (part.time.b > 0) add("step / " + part.name, part.time);
  }
  Names names;
  for (const KernelChange& change : comparison.kernels) {
    const std::string name = names.of(change);
    if (change.time.b > 0) add("kernel / " + name, change.time);
  }
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::reports
