#include "ridgeline/experiment/checkout.h"

#include <fmt/format.h>

#include "child.h"
#include "ridgeline/base/error.h"

namespace ridgeline::experiment {

std::string short_name(const std::string& commit) {
  return commit.substr(0, 12);
}

void build_checkout(const WorkTree& tree, const std::string& name, const CheckoutPlan& plan,
                    Interruption* interruption) {
  if (plan.build.empty()) return;
  if (plan.tell) plan.tell("building " + name);
  const std::string log = plan.directory + "/build-" + name + ".log";
  const int status =
      run_child({.argv = {"/bin/sh", "-c", plan.build}, .directory = tree.directory(), .log = log},
                interruption)
          .status;
  if (status != 0)
    throw Error(ErrorKind::environment,
                fmt::format("the build of {} failed with {}: see {}", name, status, log));
}

std::unique_ptr<WorkTree> built_checkout(const GitRepository& repository, const std::string& commit,
                                         const CheckoutPlan& plan, Interruption* interruption) {
  const std::string name = short_name(commit);
  auto tree = std::make_unique<WorkTree>(repository, commit, plan.directory + "/tree-" + name, plan.keep,
                                         interruption);
  build_checkout(*tree, name, plan, interruption);
  return tree;
}

}  // namespace ridgeline::experiment
