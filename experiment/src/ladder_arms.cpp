#include "ladder_arms.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/text.h"
#include "ridgeline/experiment/ladder.h"

namespace ridgeline::experiment {
namespace {

// "precision=bf16, --compile, TF32=1".
std::string change_text(const LadderChange& change) {
  std::vector<std::string> parts;
  for (const auto& [name, words] : change.settings)
    parts.push_back(fmt::format("{}={}", name, fmt::join(words, " ")));
  if (!change.arguments.empty()) parts.push_back(fmt::format("{}", fmt::join(change.arguments, " ")));
  for (const auto& [name, value] : change.environment)
    parts.push_back(value.empty() ? "without " + name : fmt::format("{}={}", name, value));
  return one_line(fmt::format("{}", fmt::join(parts, ", ")));
}

std::string change_text(const LadderRung& rung) {
  std::vector<std::string> parts;
  if (std::string text = change_text(rung.change); !text.empty()) parts.push_back(std::move(text));
  if (!rung.commit.empty()) parts.push_back("commit " + rung.commit);
  for (const std::string& patch : rung.patches) parts.push_back(fmt::format("patch {}", base_name(patch)));
  if (!rung.choices.empty()) parts.push_back(fmt::format("the best of {} settings", rung.choices.size()));
  return one_line(fmt::format("{}", fmt::join(parts, ", ")));
}

}  // namespace

PlannedLadder plan_ladder(const LadderFile& file, const comparison::LadderQuestions& questions,
                          const std::vector<std::size_t>& choices) {
  PlannedLadder planned;
  comparison::LadderRecord& record = planned.record;
  record.name = file.name;
  record.source = file.source();
  record.questions = questions;
  record.options.margin_ratio = file.margin_ratio;
  record.options.loss_margin_ratio = file.loss_margin_ratio;
  for (const LadderRung& rung : file.rungs) {
    comparison::LadderRungFacts facts{rung.change.name, change_text(rung), rung.needs, {}, {}};
    for (const LadderChange& choice : rung.choices) facts.choices.push_back({choice.name, {}});
    record.rungs.push_back(std::move(facts));
  }
  record.arms = comparison::ladder_design(file.needs(), questions).value().arms;
  const std::vector<std::size_t> chosen =
      choices.empty() ? std::vector<std::size_t>(file.rungs.size()) : choices;
  for (const comparison::RungSet arm : record.arms) {
    LadderCommand command = command_of(file, arm, chosen).value();
    const auto known = std::find(planned.commands.begin(), planned.commands.end(), command);
    record.program_of_arm.push_back(static_cast<std::size_t>(known - planned.commands.begin()));
    if (known != planned.commands.end()) continue;
    record.programs.push_back({command_text(command), "", {}});
    planned.commands.push_back(std::move(command));
  }
  return planned;
}

Result<comparison::LadderRecord> planned_ladder(const LadderFile& file,
                                                const comparison::LadderQuestions& questions) {
  try {
    return plan_ladder(file, questions, {}).record;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::experiment
