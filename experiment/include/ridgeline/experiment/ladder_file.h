// ladder_file.h: what a ladder climbs: a program and the changes to it, one rung each. docs/ladder.md lists the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/comparison/ladder.h"

namespace ridgeline::experiment {

/// What a setting stands for in the command: words in the place of a word, or a text within one.
using LadderSettings = std::map<std::string, std::vector<std::string>>;

/// What is done to the program.
struct LadderChange {
  std::string name;
  std::vector<std::string> arguments;              ///< after the command's own
  LadderSettings settings;                         ///< instead of those below
  std::map<std::string, std::string> environment;  ///< "": the variable is taken away
};

struct LadderRung {
  LadderChange change;
  std::string commit;                 ///< "": as below
  std::vector<std::string> patches;   ///< on top of those below; absolute paths
  std::vector<std::size_t> needs;     ///< into LadderFile::rungs, lower ones
  std::vector<LadderChange> choices;  ///< a sweep: the best is taken; else empty
  std::int64_t line = 0;
};

/// Regular expressions (RE2) with one group each, for what a program prints. "": not looked for.
struct LadderPatterns {
  std::string step;         ///< each match is a step
  double step_unit_ns = 0;  ///< of what it finds; 0: steps a second
  std::string loss;         ///< the last match counts, also of those below
  std::string joules_per_step;
  std::string power_w;
  std::string memory;
  double memory_unit_bytes = 1;
};

struct LadderFile {
  std::string path;
  std::string name;
  std::vector<std::string> command;  ///< with {setting} in its words; {seed} is the round's
  std::string directory;             ///< of the program; "": the current one
  LadderSettings settings;
  std::map<std::string, std::string> environment;
  std::vector<std::string> record;  ///< options of `record`
  std::string build;                ///< of a checkout, for the shell
  std::string commit;               ///< that the bottom is of; "": where patches need one, HEAD
  LadderPatterns output;
  std::int64_t skip = 0;     ///< steps that the program prints and that never count
  std::int64_t rounds = 10;  ///< at most
  std::int64_t seeds = 3;
  double margin_ratio = 0.003, loss_margin_ratio = 0.005;
  std::vector<LadderRung> rungs;  ///< the lowest first

  [[nodiscard]] comparison::LadderSource source() const {
    return output.step.empty() ? comparison::LadderSource::recording : comparison::LadderSource::output;
  }
  /// Whether some arm needs a checkout.
  [[nodiscard]] bool has_checkouts() const;
  [[nodiscard]] std::vector<comparison::RungSet> needs() const;
};

/// Failure: usage, "FILE:LINE: what is wrong and what to do".
[[nodiscard]] Result<LadderFile> parse_ladder_file(std::string_view text, const std::string& path);
[[nodiscard]] Result<LadderFile> read_ladder_file(const std::string& path);

/// Another value for a setting of the bottom: "batch=8"; words are separated by blanks. Failure: usage.
[[nodiscard]] Result<void> set_setting(LadderFile& file, const std::string& assignment);
/// Leaves these rungs and what they need. Failure: usage (no such rung).
[[nodiscard]] Result<void> keep_rungs(LadderFile& file, const std::vector<std::string>& names);

/// What one arm runs.
struct LadderCommand {
  std::vector<std::string> program;                ///< {seed} stands where the round's seed goes
  std::map<std::string, std::string> environment;  ///< "": taken away
  std::string commit;                              ///< "": where the program is
  std::vector<std::string> patches;
  friend bool operator==(const LadderCommand&, const LadderCommand&) = default;
};
/// `choices`: of each rung which choice it has (0 for those that are no sweep). Failure: usage, with the rung's line (a
/// word without its setting, a setting of several words within a word).
[[nodiscard]] Result<LadderCommand> command_of(const LadderFile& file, comparison::RungSet rungs,
                                               const std::vector<std::size_t>& choices);
/// The words with {seed} filled in.
[[nodiscard]] std::vector<std::string> with_seed(const std::vector<std::string>& program, std::int64_t seed);
/// For people: variables, checkout, program.
[[nodiscard]] std::string command_text(const LadderCommand& command);

}  // namespace ridgeline::experiment
