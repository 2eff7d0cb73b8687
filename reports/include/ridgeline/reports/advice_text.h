// advice_text.h: advice in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/advice/advice.h"
#include "ridgeline/analyzer/findings/quality.h"

namespace ridgeline::reports {

/// What to do about a case, for people who know their program: "Launch the step as a CUDA graph, …".
[[nodiscard]] std::string advice_action(const analyzer::Advice& advice);
/// "about 3.21 ms of the step (6.6 %), 1.90 to 3.78 ms".
[[nodiscard]] std::string gain_text(const analyzer::AdviceReport& report, const analyzer::AdviceGain& gain);
/// How sure the gain is: what it rests on, and how overlap and power were taken into account.
[[nodiscard]] std::string certainty_text(const analyzer::Advice& advice);
/// The figures after it: "gaps 3.93 ms · launches 1,153".
[[nodiscard]] std::string evidence_text(const std::vector<analyzer::Evidence>& evidence);
/// The launches that it is about, by their ids in the capture: "launches 12, 13, 14 and 40 more".
[[nodiscard]] std::string launches_text(const analyzer::Advice& advice);
/// What a healthy rule looked for: "blocks that leave the last wave empty".
[[nodiscard]] std::string_view rule_meaning(analyzer::AdviceRule rule);
/// What is to be recorded or said so that the rule can judge.
[[nodiscard]] std::string need_text(const analyzer::AdviceReport& report,
                                    const analyzer::AdviceUnknown& unknown);
/// A command line of this program that shows what the rule saw, for the capture of that path.
[[nodiscard]] std::string look_command(analyzer::AdviceRule rule, std::string_view capture);
/// Where the defect and its remedy are described.
[[nodiscard]] std::string_view rule_reference(analyzer::AdviceRule rule);

/// What to do first, what it would give, how sure that is: one to three lines, each a sentence. Where nothing is above
/// the threshold one that says "healthy".
[[nodiscard]] std::vector<std::string> first_lines(const analyzer::AdviceReport& report,
                                                   const analyzer::Quality& quality);

}  // namespace ridgeline::reports
