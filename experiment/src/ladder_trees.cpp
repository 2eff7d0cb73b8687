#include "ladder_trees.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/base/text.h"
#include "ridgeline/experiment/checkout.h"

namespace ridgeline::experiment {

LadderTrees::LadderTrees(const LadderFile& file, const LadderPlan& plan, std::string directory,
                         Interruption* interruption)
    : file_(file), plan_(plan), directory_(std::move(directory)), interruption_(interruption) {
  if (!file.has_checkouts()) return;
  repository_.emplace(GitRepository::open(".").value());
  if (repository_->is_dirty() && plan.tell)
    plan.tell("changes that are not committed are not measured: every rung runs in a checkout");
}

std::string LadderTrees::directory_of(const LadderCommand& command) {
  if (command.commit.empty())
    return std::filesystem::absolute(file_.directory.empty() ? "." : file_.directory).string();
  const std::string commit = repository_->resolve(command.commit).value();
  auto& tree = trees_[{commit, command.patches}];
  if (!tree) {
    const std::string patched = command.patches.empty() ? "" : fmt::format("-patched-{}", trees_.size());
    tree = made(commit, command.patches, short_name(commit) + patched);
  }
  return tree->directory();
}

std::unique_ptr<WorkTree> LadderTrees::made(const std::string& commit,
                                            const std::vector<std::string>& patches,
                                            const std::string& name) {
  auto tree = std::make_unique<WorkTree>(*repository_, commit, directory_ + "/tree-" + name, plan_.keep_trees,
                                         interruption_);
  // A checkout that is taken over may have the patches of another time.
  static_cast<void>(
      repository_->git({"-C", tree->directory(), "reset", "--quiet", "--hard", commit}, interruption_)
          .value());
  for (const std::string& patch : patches) {
    const auto applied =
        repository_->git({"-C", tree->directory(), "apply", "--whitespace=nowarn", patch}, interruption_);
    if (!applied)
      throw Error(ErrorKind::environment,
                  fmt::format("{} does not apply to {}: {}", patch, short_name(commit),
                              one_line(applied.failure().message)));
  }
  build_checkout(
      *tree, name,
      {.directory = directory_, .build = file_.build, .keep = plan_.keep_trees, .tell = plan_.tell},
      interruption_);
  return tree;
}

}  // namespace ridgeline::experiment
