// verb_commits.cpp: what a commit changed: builds both, records in turn, compares. `bisect` finds the commit.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "compare_options.h"
#include "git_tree.h"
#include "measure.h"
#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/duration.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

using analyzer::ComparisonVerdict;

struct CommitsOptions {
  std::string base, head;
  std::string build;
  std::string record;
  std::string first_record;
  std::string recorder;
  std::string directory = "ridgeline-commits";
  std::int64_t pairs = 0;
  std::string budget;
  bool keep_trees = false;
  bool allow_dirty = false;
  CompareArguments compare;
  ComparePrint print;
};

void declare(Command app, CommitsOptions& options) {
  app.add_option("--build", options.build,
                 "Command that builds a checkout, in its root (default: build of ridgeline.toml)")
      .type_name("COMMAND");
  app.add_option("--record", options.record,
                 "Options for `record`, in one word (default: record of ridgeline.toml)")
      .type_name("OPTIONS");
  app.add_option("--first-record", options.first_record,
                 "The same for the first pair alone: counters take time and are the same in every run "
                 "(default: first_record of ridgeline.toml, else as the others)")
      .type_name("OPTIONS");
  app.add_option("--recorder", options.recorder,
                 "Command that records instead of this program, as srun ridgeline record: it is given "
                 "record's options")
      .type_name("COMMAND");
  app.add_option("--directory", options.directory,
                 "Where captures, logs and checkouts go (default ridgeline-commits)")
      .type_name("DIR");
  app.add_option("--pairs", options.pairs, "Pairs of runs at most (default 10); three are recorded at least")
      .whole_number(3)
      .type_name("N");
  app.add_option("--budget", options.budget, "Begin no pair that would not end within that time (10m)")
      .type_name("TIME");
  app.add_flag("--keep-trees", options.keep_trees, "Keep the checkouts");
  app.add_flag("--allow-dirty", options.allow_dirty,
               "Go on although changes are not committed: they are not measured");
  add_compare_options(app, options.compare);
  add_compare_print(app, options.print);
}

// What both verbs do before anything is built.
class Job {
 public:
  Job(const CommitsOptions& options, const std::vector<std::string>& program, std::string verb)
      : options_(options), verb_(std::move(verb)), repository_(GitRepository::open(".").value()) {
    if (program.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no program to record: ridgeline {} ... -- PROGRAM ARGS...", verb_));
    check_print(options.print);
    project_ = read_project(options.compare.project, repository_.root()).value();
    build_ = options.build.empty() ? project_.build : options.build;
    plan_.compare = comparison_options(options.compare, project_);
    fail_on_ = fail_on(options.compare, project_);
    plan_.program = program;
    plan_.recorder = options.recorder.empty() ? own_recorder() : split(options.recorder, ' ');
    plan_.record_options = options.record.empty() ? project_.record : split(options.record, ' ');
    if (!options.first_record.empty())
      plan_.first_record_options = split(options.first_record, ' ');
    else if (!project_.first_record.empty() && options.record.empty())
      plan_.first_record_options = project_.first_record;
    plan_.output_directory = options.directory;
    plan_.pairs = options.pairs > 0 ? options.pairs : project_.pairs.value_or(10);
    const std::string budget = options.budget.empty() ? project_.budget_time : options.budget;
    if (!budget.empty()) plan_.budget = launch::parse_duration(budget).value();
    plan_.tell = [this](const std::string& line) { write_message(verb_, line); };
    base_ = repository_.resolve(options.base).value();
    head_ = repository_.resolve(options.head).value();
    if (repository_.is_dirty() && !options.allow_dirty)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} has changes that are not committed and would not be measured: commit them, or pass "
                      "--allow-dirty",
                      repository_.root()));
    std::filesystem::create_directories(options.directory);
  }

  [[nodiscard]] static std::string name_of(const std::string& commit) { return commit.substr(0, 12); }

  /// A built checkout. Throws Error(environment) that names the log if the build fails.
  [[nodiscard]] std::unique_ptr<WorkTree> built(const std::string& commit) const {
    auto tree = std::make_unique<WorkTree>(
        repository_, commit, options_.directory + "/tree-" + name_of(commit), options_.keep_trees);
    if (build_.empty()) return tree;
    write_message(verb_, "building " + name_of(commit));
    const std::string log = options_.directory + "/build-" + name_of(commit) + ".log";
    const int status = run_logged(build_, tree->directory(), log);
    if (status != 0)
      throw Error(ErrorKind::environment,
                  fmt::format("the build of {} failed with {}: see {}", name_of(commit), status, log));
    return tree;
  }

  [[nodiscard]] Measured measured(const WorkTree& a, const WorkTree& b) const {
    return measure({name_of(a.commit()), a.directory()}, {name_of(b.commit()), b.directory()}, plan_).value();
  }

  [[nodiscard]] const std::string& base() const { return base_; }
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] const GitRepository& repository() const { return repository_; }
  [[nodiscard]] const analyzer::FailOn& fails() const { return fail_on_; }

 private:
  const CommitsOptions& options_;
  std::string verb_;
  GitRepository repository_;
  ProjectFile project_;
  std::string build_, base_, head_;
  MeasurePlan plan_;
  analyzer::FailOn fail_on_;
};

int compare_commits(const CommitsOptions& options, const std::vector<std::string>& program) {
  const Job job(options, program, "commits");
  if (job.base() == job.head())
    throw Error(ErrorKind::usage,
                "base and head are the same commit: `calibrate` measures a program against itself");
  const auto a = job.built(job.base());
  const auto b = job.built(job.head());
  const Measured measured = job.measured(*a, *b);
  print_comparison(options.print, measured.comparison);
  write_message("commits", fmt::format("captures are in {}", options.directory));
  return analyzer::exit_code(measured.comparison, job.fails());
}

int bisect(const CommitsOptions& options, const std::vector<std::string>& program) {
  const Job job(options, program, "bisect");
  std::vector<std::string> commits = job.repository().between(job.base(), job.head()).value();
  if (commits.empty()) throw Error(ErrorKind::usage, "good and bad are the same commit");
  const auto good = job.built(job.base());
  Measured last = job.measured(*good, *job.built(job.head()));
  if (last.comparison.verdict != ComparisonVerdict::regressed) {
    print_comparison(options.print, last.comparison);
    throw Error(ErrorKind::no_data,
                fmt::format("{} is not shown to be slower than {}: there is nothing to look for",
                            Job::name_of(job.head()), Job::name_of(job.base())));
  }
  // Invariant: everything before `first` is good, commits[bad] is bad. What cannot be built is left out.
  std::size_t first = 0;
  std::size_t bad = commits.size() - 1;
  std::vector<std::string> skipped;
  while (first < bad) {
    const std::size_t middle = first + (bad - first) / 2;
    write_message("bisect",
                  fmt::format("{} commits left, trying {} ({})", bad - first + 1,
                              Job::name_of(commits[middle]), job.repository().subject(commits[middle])));
    std::unique_ptr<WorkTree> tree;
    try {
      tree = job.built(commits[middle]);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment) throw;
      write_message("bisect", error.message() + "; it is left out");
      skipped.push_back(Job::name_of(commits[middle]));
      commits.erase(commits.begin() + static_cast<std::ptrdiff_t>(middle));
      --bad;
      continue;
    }
    Measured measured = job.measured(*good, *tree);
    if (measured.comparison.verdict == ComparisonVerdict::regressed) {
      bad = middle;
      last = std::move(measured);
    } else if (measured.comparison.verdict == ComparisonVerdict::inconclusive ||
               measured.comparison.verdict == ComparisonVerdict::invalid_environment) {
      print_comparison(options.print, measured.comparison);
      throw Error(ErrorKind::no_data,
                  fmt::format("no verdict on {}: the commit is one of {} to {}; more --pairs may tell",
                              Job::name_of(commits[middle]), Job::name_of(commits[first]),
                              Job::name_of(commits[bad])));
    } else {
      first = middle + 1;
    }
  }
  print_comparison(options.print, last.comparison);
  std::string line =
      fmt::format("first slower commit: {} ({})", commits[bad], job.repository().subject(commits[bad]));
  if (!skipped.empty())
    line += fmt::format("; or one of those that could not be built: {}", fmt::join(skipped, ", "));
  write_standard_output(line + "\n");
  return 0;
}

}  // namespace

Verb add_commits(Command program, const std::vector<std::string>& command) {
  auto options = std::make_shared<CommitsOptions>();
  const Command app = program.add_subcommand(
      "commits",
      "What changed between two commits: ridgeline commits BASE HEAD [OPTIONS] -- PROGRAM ARGS...");
  app.add_option("BASE", options->base, "Commit that was").required().type_name("");
  app.add_option("HEAD", options->head, "Commit that is").required().type_name("");
  declare(app, *options);
  return {app, [options, &command] { return compare_commits(*options, command); }};
}

Verb add_bisect(Command program, const std::vector<std::string>& command) {
  auto options = std::make_shared<CommitsOptions>();
  const Command app = program.add_subcommand(
      "bisect", "Which commit made a program slower: ridgeline bisect GOOD BAD [OPTIONS] -- PROGRAM ARGS...");
  app.add_option("GOOD", options->base, "Commit that was fast").required().type_name("");
  app.add_option("BAD", options->head, "Commit that is slow").required().type_name("");
  declare(app, *options);
  return {app, [options, &command] { return bisect(*options, command); }};
}

}  // namespace ridgeline::cli
