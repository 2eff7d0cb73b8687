#include "git_tree.h"

#include <fmt/format.h>
#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <memory>

#include "ridgeline/base/text.h"

namespace ridgeline::cli {
namespace {

struct Output {
  int status = 0;
  std::string text;
};

Output run(const std::string& root, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"git", "-C", root};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string line = shell_quoted(words) + " 2>&1 </dev/null";
  FILE* pipe = popen(line.c_str(), "re");
  if (pipe == nullptr) throw Error(ErrorKind::environment, "git cannot be started");
  Output output;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return output;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<GitRepository> GitRepository::open(const std::string& directory) {
  const Output output = run(directory, {"rev-parse", "--show-toplevel"});
  if (output.status != 0)
    return Failure{ErrorKind::usage,
                   fmt::format("{} is in no git repository: {}", directory, one_line(trimmed(output.text)))};
  return GitRepository(trimmed(output.text));
}

Result<std::string> GitRepository::git(const std::vector<std::string>& arguments) const {
  Output output = run(root_, arguments);
  if (output.status != 0)
    return Failure{ErrorKind::environment, fmt::format("git {}: {}", arguments.front(),
                                                       bounded_text(one_line(trimmed(output.text)), 300))};
  return std::move(output.text);
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
                   bool keep)
    : repository_(repository),
      commit_(std::move(commit)),
      directory_(std::filesystem::absolute(directory).string()),
      keep_(keep) {
  std::error_code ignored;
  const auto checked_out =
      std::filesystem::exists(directory_, ignored)
          ? repository.git({"-C", directory_, "checkout", "--quiet", "--force", "--detach", commit_})
          : repository.git({"worktree", "add", "--quiet", "--force", "--detach", directory_, commit_});
  static_cast<void>(checked_out.value());
}

WorkTree::~WorkTree() {
  if (keep_) return;
  try {
    static_cast<void>(repository_.git({"worktree", "remove", "--force", directory_}));
  } catch (...) {  // a checkout that stays is no reason to end the program
  }
}

}  // namespace ridgeline::cli
