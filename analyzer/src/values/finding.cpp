#include "ridgeline/analyzer/values/finding.h"

#include <algorithm>

#include "values/merge.h"

namespace ridgeline::analyzer {

const Evidence* Finding::find(std::string_view evidence_name) const {
  const auto found = std::find_if(evidence.begin(), evidence.end(),
                                  [&](const Evidence& item) { return item.name == evidence_name; });
  return found == evidence.end() ? nullptr : &*found;
}

double Finding::value(std::string_view evidence_name) const {
  const Evidence* found = find(evidence_name);
  return found == nullptr ? 0 : found->value;
}

std::string code_word(const Finding& finding) {
  std::string word(ridgeline::to_string(finding.code));
  if (finding.code == FindingCode::missing) word.append(".").append(ridgeline::to_string(finding.missing));
  return word;
}

Findings merged(const Findings& findings) {
  Findings out;
  for (const Finding& finding : findings) {
    // What the recording said in other words is another finding.
    const auto same = std::find_if(out.begin(), out.end(), [&](const Finding& known) {
      return known.code == finding.code && known.detail == finding.detail &&
             known.missing == finding.missing && known.subject.tier == finding.subject.tier &&
             known.subject.phase == finding.subject.phase && known.subject.status == finding.subject.status;
    });
    if (same == out.end()) {
      out.push_back(finding);
      continue;
    }
    Finding worst = finding.magnitude_ns.value_or(0) > same->magnitude_ns.value_or(0) ? finding : *same;
    const Finding& other =
        finding.magnitude_ns.value_or(0) > same->magnitude_ns.value_or(0) ? *same : finding;
    worst.severity = std::max(worst.severity, other.severity);
    worst.count += other.count;
    if (!other.subject.name.empty()) worst.also.push_back(other.subject.name);
    for (const std::string& name : other.also) {
      if (std::find(worst.also.begin(), worst.also.end(), name) == worst.also.end())
        worst.also.push_back(name);
    }
    *same = std::move(worst);
  }
  return out;
}

}  // namespace ridgeline::analyzer
