// git_tree.h: commits of a repository and clean checkouts of them, through the program `git`.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::experiment {

class Interruption;

class GitRepository {
 public:
  /// The repository around a directory. Failure: usage (there is none, or no git).
  [[nodiscard]] static Result<GitRepository> open(const std::string& directory);

  /// The full id of a commit. Failure: usage (no such commit).
  [[nodiscard]] Result<std::string> resolve(const std::string& revision) const;
  /// Whether tracked files differ from the commit that is checked out.
  [[nodiscard]] bool is_dirty() const;
  /// Commits after `good` up to `bad`, oldest first, along first parents. Failure: usage (good is no ancestor).
  [[nodiscard]] Result<std::vector<std::string>> between(const std::string& good,
                                                         const std::string& bad) const;
  [[nodiscard]] std::string subject(const std::string& commit) const;
  [[nodiscard]] const std::string& root() const { return root_; }

  /// Runs git with these arguments; its output. Failure: environment, with git's words. Throws Error(cancelled).
  [[nodiscard]] Result<std::string> git(const std::vector<std::string>& arguments,
                                        Interruption* interruption = nullptr) const;

 private:
  explicit GitRepository(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

/// A clean checkout of one commit in a directory of its own; removed with its object unless it is to be kept.
class WorkTree {
 public:
  /// A checkout of the repository that is there already is taken over. Throws Error: environment (git cannot, or the
  /// directory is something else), cancelled.
  WorkTree(const GitRepository& repository, std::string commit, const std::string& directory, bool keep,
           Interruption* interruption = nullptr);
  ~WorkTree();
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& commit() const { return commit_; }

 private:
  [[nodiscard]] bool is_checkout() const;
  void remove() const noexcept;

  const GitRepository& repository_;
  std::string commit_, directory_;
  bool keep_;
};

}  // namespace ridgeline::experiment
