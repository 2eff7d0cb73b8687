// verb_commits.cpp: what a commit changed: builds both, records in turn, compares. `bisect` finds the commit.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "compare_options.h"
#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/experiment/bisect.h"
#include "ridgeline/experiment/checkout.h"
#include "ridgeline/experiment/measure.h"
#include "ridgeline/experiment/project_file.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/reports/escape.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

using comparison::ComparisonVerdict;
using experiment::Measured;
using experiment::short_name;

// Counters are the same in every run and take most of a recording's time: the first pair has them, with what `record`
// does of itself; the others have the timeline alone.
const std::vector<std::string> kTimelineOnly = {"--tiers", "T0", "--schedule", "warmup=10,timeline=20"};
// With a budget of time and no number of pairs, time decides how many there are.
constexpr std::int64_t kMaxPairs = 40;
constexpr std::int64_t kUsualPairs = 10;

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
  app.add_option(
         "--record", options.record,
         "Options for `record`, in one word (default: record of ridgeline.toml, else the timeline alone: "
         "counters are recorded in the first pair)")
      .type_name("OPTIONS");
  app.add_option(
         "--first-record", options.first_record,
         "The same for the first pair alone: counters take time and are the same in every run "
         "(default: first_record of ridgeline.toml, else as the others, or as `record` does of itself)")
      .type_name("OPTIONS");
  app.add_option("--recorder", options.recorder,
                 "Command that records instead of this program, as srun ridgeline record: it is given "
                 "record's options")
      .type_name("COMMAND");
  app.add_option("--directory", options.directory,
                 "Where captures, logs and checkouts go (default ridgeline-commits)")
      .type_name("DIR");
  app.add_option(
         "--pairs", options.pairs,
         "Pairs of runs at most (default 10; with a budget, what fits in it); three are recorded at least")
      .whole_number(3)
      .type_name("N");
  app.add_option("--budget", options.budget,
                 "Record pairs until it is decided or that time is used: none begins that would not end "
                 "within it (10m)")
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
      : verb_(std::move(verb)), repository_(experiment::GitRepository::open(".").value()), program_(program) {
    if (program.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no program to record: ridgeline {} ... -- PROGRAM ARGS...", verb_));
    check_print(options.print);
    const experiment::ProjectFile project =
        experiment::read_project(options.compare.project, repository_.root()).value();
    plan_.compare = comparison_options(options.compare, project);
    fail_on_ = fail_on(options.compare, project);
    experiment::RecordingPlan& recording = plan_.recording;
    recording.recorder = options.recorder.empty() ? experiment::own_recorder() : split(options.recorder, ' ');
    recording.options = options.record.empty() ? project.record : split(options.record, ' ');
    if (!options.first_record.empty())
      recording.first_options = split(options.first_record, ' ');
    else if (!project.first_record.empty() && options.record.empty())
      recording.first_options = project.first_record;
    if (recording.options.empty()) {
      if (!recording.first_options) recording.first_options.emplace();
      recording.options = kTimelineOnly;
    }
    const std::string budget = options.budget.empty() ? project.budget_time : options.budget;
    if (!budget.empty()) plan_.budget = launch::parse_duration(budget).value();
    plan_.rounds =
        options.pairs > 0 ? options.pairs : project.pairs.value_or(plan_.budget ? kMaxPairs : kUsualPairs);
    plan_.tell = [this](const std::string& line) { write_message(verb_, line); };
    checkouts_ = {.directory = options.directory,
                  .build = options.build.empty() ? project.build : options.build,
                  .keep = options.keep_trees,
                  .tell = plan_.tell};
    base_ = repository_.resolve(options.base).value();
    head_ = repository_.resolve(options.head).value();
    if (repository_.is_dirty() && !options.allow_dirty)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} has changes that are not committed and would not be measured: commit them, or pass "
                      "--allow-dirty",
                      repository_.root()));
    directory_.emplace(options.directory);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] std::unique_ptr<experiment::WorkTree> built(const std::string& commit) {
    return experiment::built_checkout(repository_, commit, checkouts_, &interruption_);
  }

  [[nodiscard]] Measured measured(const experiment::WorkTree& a, const experiment::WorkTree& b) {
    const auto variant = [&](std::string label, const experiment::WorkTree& tree) {
      return experiment::Variant{std::move(label), short_name(tree.commit()), tree.directory(), program_};
    };
    return experiment::measure({variant("a", a), variant("b", b)}, plan_, *directory_, &interruption_)
        .value();
  }

  [[nodiscard]] const std::string& base() const { return base_; }
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] const experiment::GitRepository& repository() const { return repository_; }
  [[nodiscard]] const comparison::FailOn& fails() const { return fail_on_; }

 private:
  std::string verb_;
  // Outlives checkouts and runs: they are gone before a signal takes its effect.
  experiment::Interruption interruption_{[this](const std::string& line) { write_message(verb_, line); }};
  experiment::GitRepository repository_;
  const std::vector<std::string>& program_;
  std::string base_, head_;
  experiment::CheckoutPlan checkouts_;
  experiment::MeasurePlan plan_;
  std::optional<experiment::ExperimentDirectory> directory_;
  comparison::FailOn fail_on_;
};

int compare_commits(const CommitsOptions& options, const std::vector<std::string>& program) {
  Job job(options, program, "commits");
  if (job.base() == job.head())
    throw Error(ErrorKind::usage,
                "base and head are the same commit: `calibrate` measures a program against itself");
  const auto a = job.built(job.base());
  const auto b = job.built(job.head());
  const comparison::Comparison comparison = job.measured(*a, *b).comparisons.front();
  print_comparison(options.print, comparison);
  write_message("commits", fmt::format("captures are in {}", options.directory));
  return comparison::exit_code(comparison, job.fails());
}

int bisect(const CommitsOptions& options, const std::vector<std::string>& program) {
  Job job(options, program, "bisect");
  const std::vector<std::string> commits = job.repository().between(job.base(), job.head()).value();
  if (commits.empty()) throw Error(ErrorKind::usage, "good and bad are the same commit");
  const auto good = job.built(job.base());
  comparison::Comparison last = job.measured(*good, *job.built(job.head())).comparisons.front();
  if (last.verdict != ComparisonVerdict::regressed) {
    print_comparison(options.print, last);
    throw Error(ErrorKind::no_data,
                fmt::format("{} is not shown to be slower than {}: there is nothing to look for",
                            short_name(job.head()), short_name(job.base())));
  }
  const auto try_commit = [&](std::size_t candidate, const std::vector<std::size_t>& left) {
    const std::string& commit = commits[candidate];
    write_message("bisect", fmt::format("{} commits left, trying {} ({})", left.size(), short_name(commit),
                                        job.repository().subject(commit)));
    std::unique_ptr<experiment::WorkTree> tree;
    try {
      tree = job.built(commit);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment) throw;
      write_message("bisect", error.message() + "; it is left out");
      return experiment::Trial::untestable;
    }
    comparison::Comparison comparison = job.measured(*good, *tree).comparisons.front();
    if (comparison.verdict == ComparisonVerdict::inconclusive ||
        comparison.verdict == ComparisonVerdict::invalid_environment) {
      print_comparison(options.print, comparison);
      throw Error(ErrorKind::no_data,
                  fmt::format("no verdict on {}: the commit is one of {} to {}; more --pairs may tell",
                              short_name(commit), short_name(commits[left.front()]),
                              short_name(commits[left.back()])));
    }
    if (comparison.verdict != ComparisonVerdict::regressed) return experiment::Trial::good;
    last = std::move(comparison);
    return experiment::Trial::bad;
  };
  const experiment::Bisected found = experiment::bisect(commits.size(), try_commit);
  print_comparison(options.print, last);
  const std::string& first = commits[found.first_bad];
  std::string line = fmt::format("first slower commit: {} ({})", first, job.repository().subject(first));
  if (!found.untestable.empty()) {
    std::vector<std::string> names;
    for (const std::size_t commit : found.untestable) names.push_back(short_name(commits[commit]));
    line += fmt::format("; or one of those that could not be built: {}", fmt::join(names, ", "));
  }
  write_standard_output(reports::log_line(reports::terminal_safe(line)) + "\n");
  return 0;
}

}  // namespace

Verb add_commits(Command program, const std::vector<std::string>& command) {
  auto options = std::make_shared<CommitsOptions>();
  const Command app = program.add_subcommand(
      "commits",
      "What changed between two commits: ridgeline commits BASE HEAD [OPTIONS] -- PROGRAM ARGS...");
  app.add_option("BASE", options->base, "Baseline commit").required().type_name("");
  app.add_option("HEAD", options->head, "Candidate commit").required().type_name("");
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
