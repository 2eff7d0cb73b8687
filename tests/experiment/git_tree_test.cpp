#include "ridgeline/experiment/git_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

class GitTree : public ::testing::Test {
 protected:
  void SetUp() override {
    shell("git init -q repo && cd repo && git config user.email a@b && git config user.name n");
    commit("one");
    commit("two");
  }
  void shell(const std::string& command) const {
    ASSERT_EQ(std::system(("cd '" + folder_.path() + "' && " + command).c_str()), 0) << command;
  }
  void commit(const std::string& text) const {
    shell("cd repo && echo " + text + " > file && git add file && git commit -qm " + text);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] GitRepository repository() const { return GitRepository::open(folder_ / "repo").value(); }
  [[nodiscard]] std::string resolved(const std::string& revision) const {
    return repository().resolve(revision).value();
  }
  testing::TemporaryDirectory folder_;
};

TEST_F(GitTree, HoldsACommitWhileItLives) {
  const GitRepository repository = this->repository();
  {
    const WorkTree tree(repository, resolved("HEAD~1"), folder_ / "tree", false);
    EXPECT_EQ(read("tree/file"), "one\n");
    EXPECT_EQ(tree.directory(), folder_ / "tree");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tree"));
  EXPECT_EQ(repository.git({"worktree", "list"}).value().find("tree"), std::string::npos);
}

TEST_F(GitTree, TakesOverACheckoutThatWasKept) {
  const GitRepository repository = this->repository();
  { const WorkTree tree(repository, resolved("HEAD~1"), folder_ / "tree", true); }
  EXPECT_EQ(read("tree/file"), "one\n");
  { const WorkTree tree(repository, resolved("HEAD"), folder_ / "tree", false); }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tree"));
}

// A folder below the repository is part of it to git: a checkout there would go over the user's own files.
TEST_F(GitTree, NeverChecksOutOverTheUsersOwnFiles) {
  const GitRepository repository = this->repository();
  shell("cd repo && mkdir plain && echo mine > file");
  EXPECT_THROW(WorkTree(repository, resolved("HEAD~1"), folder_ / "repo/plain", false), Error);
  EXPECT_EQ(read("repo/file"), "mine\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "repo/plain"));
  shell(
      "git init -q other && cd other && git config user.email a@b && git config user.name n && git commit -q "
      "--allow-empty -m x");
  EXPECT_THROW(WorkTree(repository, resolved("HEAD"), folder_ / "other", false), Error);
}

TEST_F(GitTree, IsRemovedAlthoughItWasNeverFinished) {
  const GitRepository repository = this->repository();
  EXPECT_THROW(WorkTree(repository, std::string(40, '1'), folder_ / "tree", false), Error);
  // As a checkout is whose git was killed: locked.
  { const WorkTree tree(repository, resolved("HEAD"), folder_ / "tree", true); }
  shell("git -C repo worktree lock ../tree");
  { const WorkTree tree(repository, resolved("HEAD"), folder_ / "tree", false); }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tree"));
}

TEST_F(GitTree, KnowsCommitsBetweenTwo) {
  const GitRepository repository = this->repository();
  commit("three");
  const auto between = repository.between(resolved("HEAD~2"), resolved("HEAD"));
  ASSERT_TRUE(between);
  EXPECT_EQ(between.value(), (std::vector<std::string>{resolved("HEAD~1"), resolved("HEAD")}));
  EXPECT_FALSE(repository.between(resolved("HEAD"), resolved("HEAD~2")));
  EXPECT_EQ(repository.subject("HEAD"), "three");
  EXPECT_FALSE(repository.resolve("--help"));
  EXPECT_FALSE(repository.is_dirty());
  shell("cd repo && echo x >> file");
  EXPECT_TRUE(repository.is_dirty());
  EXPECT_FALSE(GitRepository::open("/"));
}

}  // namespace
}  // namespace ridgeline::experiment
