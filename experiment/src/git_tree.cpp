#include "ridgeline/experiment/git_tree.h"

#include <fmt/format.h>

#include <filesystem>

#include "child.h"
#include "ridgeline/base/text.h"

namespace ridgeline::experiment {
namespace {

ChildEnd run(const std::string& root, const std::vector<std::string>& arguments, Interruption* interruption) {
  std::vector<std::string> words = {"git", "-C", root};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_child({.argv = words}, interruption);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<GitRepository> GitRepository::open(const std::string& directory) {
  const ChildEnd end = run(directory, {"rev-parse", "--show-toplevel"}, nullptr);
  if (end.status != 0)
    return Failure{ErrorKind::usage,
                   fmt::format("{} is in no git repository: {}", directory, one_line(trimmed(end.output)))};
  return GitRepository(trimmed(end.output));
}

Result<std::string> GitRepository::git(const std::vector<std::string>& arguments,
                                       Interruption* interruption) const {
  ChildEnd end = run(root_, arguments, interruption);
  if (end.status != 0)
    return Failure{ErrorKind::environment, fmt::format("git {}: {}", arguments.front(),
                                                       bounded_text(one_line(trimmed(end.output)), 300))};
  return std::move(end.output);
}

Result<std::string> GitRepository::resolve(const std::string& revision) const {
  const auto id = git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!id) return Failure{ErrorKind::usage, fmt::format("no commit '{}' in {}", revision, root_)};
  return trimmed(id.value());
}

bool GitRepository::is_dirty() const {
  return !trimmed(git({"status", "--porcelain", "--untracked-files=no"}).value()).empty();
}

Result<std::vector<std::string>> GitRepository::between(const std::string& good,
                                                        const std::string& bad) const {
  if (!git({"merge-base", "--is-ancestor", good, bad}))
    return Failure{ErrorKind::usage, fmt::format("{} is no ancestor of {}", good, bad)};
  const auto list = git({"rev-list", "--first-parent", "--reverse", good + ".." + bad});
  if (!list) return list.failure();
  return split(list.value(), '\n');
}

std::string GitRepository::subject(const std::string& commit) const {
  const auto text = git({"log", "-1", "--format=%s", commit});
  return text ? one_line(trimmed(text.value())) : "";
}

WorkTree::WorkTree(const GitRepository& repository, std::string commit, const std::string& directory,
                   bool keep, Interruption* interruption)
    : repository_(repository),
      commit_(std::move(commit)),
      directory_(std::filesystem::absolute(directory).lexically_normal().string()),
      keep_(keep) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(directory_, ignored);
  // Below the repository git would take any other folder for a part of it, and check out over the user's own files.
  if (exists && !is_checkout())
    throw Error(ErrorKind::environment,
                fmt::format("{} is no checkout of {}: remove it, or name another --directory", directory_,
                            repository.root()));
  try {
    const auto checked_out =
        exists ? repository.git({"-C", directory_, "checkout", "--quiet", "--force", "--detach", commit_},
                                interruption)
               : repository.git({"worktree", "add", "--quiet", "--force", "--detach", directory_, commit_},
                                interruption);
    static_cast<void>(checked_out.value());
  } catch (...) {
    if (!keep_) remove();
    throw;
  }
}

WorkTree::~WorkTree() {
  if (!keep_) remove();
}

bool WorkTree::is_checkout() const {
  const auto top = repository_.git({"-C", directory_, "rev-parse", "--show-toplevel"});
  const auto common =
      repository_.git({"-C", directory_, "rev-parse", "--path-format=absolute", "--git-common-dir"});
  const auto own = repository_.git({"rev-parse", "--path-format=absolute", "--git-common-dir"});
  if (!top || !common || !own || common.value() != own.value()) return false;
  std::error_code error;
  return std::filesystem::equivalent(trimmed(top.value()), directory_, error);
}

void WorkTree::remove() const noexcept {
  try {
    // To the end, whatever signal comes.
    static_cast<void>(repository_.git({"worktree", "remove", "--force", "--force", directory_}));
  } catch (...) {  // a checkout that stays is no reason to end the program
  }
}

}  // namespace ridgeline::experiment
