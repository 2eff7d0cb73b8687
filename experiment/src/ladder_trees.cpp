#include "ladder_trees.h"

#include <fmt/format.h>

#include <filesystem>

#include "child.h"
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
  if (file_.build.empty()) return tree;
  if (plan_.tell) plan_.tell("building " + name);
  const std::string log = directory_ + "/build-" + name + ".log";
  const int status =
      run_child({.argv = {"/bin/sh", "-c", file_.build}, .directory = tree->directory(), .log = log},
                interruption_)
          .status;
  if (status != 0)
    throw Error(ErrorKind::environment,
                fmt::format("the build of {} failed with {}: see {}", name, status, log));
  return tree;
}

}  // namespace ridgeline::experiment
