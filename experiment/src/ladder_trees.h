// ladder_trees.h: checkouts for rungs that are commits or patches, each built once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/experiment/git_tree.h"
#include "ridgeline/experiment/ladder.h"

namespace ridgeline::experiment {

class LadderTrees {
 public:
  /// What is given by reference outlives the object, with which the checkouts go.
  LadderTrees(const LadderFile& file, const LadderPlan& plan, std::string directory,
              Interruption* interruption);

  /// The folder in which that command runs. Makes and builds its checkout if it is the first of it. Throws Error: usage
  /// (no repository, no such commit), environment (a patch does not apply, a build fails), cancelled.
  [[nodiscard]] std::string directory_of(const LadderCommand& command);

 private:
  [[nodiscard]] std::unique_ptr<WorkTree> made(const std::string& commit,
                                               const std::vector<std::string>& patches,
                                               const std::string& name);

  const LadderFile& file_;
  const LadderPlan& plan_;
  std::string directory_;
  Interruption* interruption_;
  std::optional<GitRepository> repository_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::unique_ptr<WorkTree>> trees_;
};

}  // namespace ridgeline::experiment
