// checkout.h: commits as programs that can be run: each in a clean checkout of its own, built there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ridgeline/experiment/git_tree.h"
#include "ridgeline/experiment/interruption.h"

namespace ridgeline::experiment {

struct CheckoutPlan {
  std::string directory;  ///< gets tree-COMMIT and build-COMMIT.log
  std::string build;  ///< command line for the shell, run in the root of the checkout; "": nothing is built
  bool keep = false;  ///< the checkouts stay
  std::function<void(const std::string&)> tell;  ///< a line about what is done now
};

/// The first twelve digits of a commit: what files and messages call it.
[[nodiscard]] std::string short_name(const std::string& commit);

/// Runs plan.build in a checkout, with its output in plan.directory/build-NAME.log; nothing if there is no command.
/// Throws Error: environment (the build fails; names its log), cancelled.
void build_checkout(const WorkTree& tree, const std::string& name, const CheckoutPlan& plan,
                    Interruption* interruption);

/// Throws Error: environment (git cannot, or the build fails; names its log), cancelled.
[[nodiscard]] std::unique_ptr<WorkTree> built_checkout(const GitRepository& repository,
                                                       const std::string& commit, const CheckoutPlan& plan,
                                                       Interruption* interruption);

}  // namespace ridgeline::experiment
