#include "measure.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compare_options.h"
#include "ridgeline/analyzer/comparison_sequential.h"
#include "ridgeline/base/text.h"

namespace ridgeline::cli {
namespace {

using analyzer::Comparison;
using Clock = std::chrono::steady_clock;

constexpr int kFirstLook = 3;

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return bounded_text(one_line(last), 300);
}

class Measurement {
 public:
  Measurement(const MeasuredSide& a, const MeasuredSide& b, const MeasurePlan& plan)
      : a_(a), b_(b), plan_(plan) {
    if (plan.look && plan.pairs >= kFirstLook) spend_until(plan.pairs);
  }

  Measured run() {
    std::filesystem::create_directories(plan_.output_directory);
    bool settled = false;
    while (!settled && pairs() < plan_.pairs && (pairs() < plan_.compare.least_pairs || in_budget())) {
      record_pair();
      if (!plan_.look || pairs() < kFirstLook) continue;
      out_.comparison = compare(0);
      settled = analyzer::is_settled(out_.comparison, plan_.compare);
    }
    if (!plan_.look || pairs() < kFirstLook) {
      out_.comparison = compare(0);
    } else if (!settled && pairs() < plan_.pairs) {
      // The time is up: this look is the last, and what error the later ones would have spent is its own.
      spend_until(pairs());
      out_.comparison = compare(0);
    }
    if (plan_.look && plan_.confirm && found(out_.comparison)) {
      tell("found a difference: one more pair must show it again");
      const auto looked = pairs();
      record_pair();
      out_.comparison = compare(pairs() - looked);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t pairs() const { return static_cast<std::int64_t>(profiles_b_.size()); }
  void tell(const std::string& line) const {
    if (plan_.tell) plan_.tell(line);
  }

  // Nominal levels of the looks if that many pairs are the last.
  void spend_until(std::int64_t pairs) {
    const int last = static_cast<int>(pairs);
    different_ =
        analyzer::nominal_levels(analyzer::Spending::obrien_fleming, plan_.compare.alpha, kFirstLook, last);
    same_ = analyzer::nominal_levels(analyzer::Spending::pocock, plan_.compare.equivalence_alpha, kFirstLook,
                                     last);
  }

  static bool found(const Comparison& comparison) {
    const auto outcome = comparison.step().outcome;
    return comparison.regressed + comparison.improved > 0 || outcome == analyzer::Outcome::regressed ||
           outcome == analyzer::Outcome::improved;
  }

  [[nodiscard]] bool in_budget() const {
    if (!plan_.budget) return true;
    // The confirming pair is kept free.
    return Clock::now() - begin_ + 2 * longest_pair_ <= *plan_.budget;
  }

  void record_pair() {
    const auto begin = Clock::now();
    tell(fmt::format("pair {} of at most {}", pairs() + 1, plan_.pairs));
    // A B, B A: a drift falls on both alike.
    const bool a_first = pairs() % 2 == 0;
    const auto number = pairs() + 1;
    for (const bool of_a : {a_first, !a_first}) {
      const MeasuredSide& side = of_a ? a_ : b_;
      const std::string capture = record(side, of_a ? "a" : "b", number);
      (of_a ? out_.captures_a : out_.captures_b).push_back(capture);
      (of_a ? profiles_a_ : profiles_b_).push_back(read_profiles({capture}).front());
    }
    longest_pair_ = std::max(longest_pair_, Clock::now() - begin);
  }

  std::string record(const MeasuredSide& side, const std::string& letter, std::int64_t number) const {
    const std::string stem = std::filesystem::absolute(plan_.output_directory) /
                             fmt::format("{}-{}-{:02}", letter, side.name, number);
    std::vector<std::string> command = plan_.recorder;
    const auto add = [&](const std::vector<std::string>& words) {
      command.insert(command.end(), words.begin(), words.end());
    };
    add({"-q", "-f", "-o", stem + ".ridge", "--directory", std::filesystem::absolute(side.directory)});
    add(number == 1 && plan_.first_record_options ? *plan_.first_record_options : plan_.record_options);
    add({"--"});
    add(plan_.program);
    std::error_code ignored;
    std::filesystem::remove(stem + ".ridge", ignored);
    const int status = run_logged(shell_quoted(command), side.directory, stem + ".log");
    if (status != 0 || !std::filesystem::exists(stem + ".ridge")) {
      throw Error(ErrorKind::no_data, fmt::format("run {} of {} ended with {}: {} ({}.log)", number,
                                                  side.name, status, last_line(stem + ".log"), stem));
    }
    return stem + ".ridge";
  }

  [[nodiscard]] Comparison compare(std::int64_t confirmation) const {
    analyzer::ComparisonOptions options = plan_.compare;
    options.paired = true;
    options.confirmation_pairs = confirmation;
    const auto look = pairs() - confirmation - kFirstLook;
    if (plan_.look && look >= 0) {
      const double level = different_.at(static_cast<std::size_t>(look));
      options.false_discovery_rate *= level / options.alpha;
      options.alpha = level;
      options.equivalence_alpha = same_.at(static_cast<std::size_t>(look));
    }
    return analyzer::compare(profiles_a_, profiles_b_, options).value();
  }

  const MeasuredSide& a_;
  const MeasuredSide& b_;
  const MeasurePlan& plan_;
  Clock::time_point begin_ = Clock::now();
  Clock::duration longest_pair_{0};
  std::vector<double> different_, same_;  // nominal levels of the looks
  std::vector<analyzer::RunProfile> profiles_a_, profiles_b_;
  Measured out_;
};

}  // namespace

Result<Measured> measure(const MeasuredSide& a, const MeasuredSide& b, const MeasurePlan& plan) {
  try {
    return Measurement(a, b, plan).run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

std::vector<std::string> own_recorder() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "record"};
}

int run_logged(const std::string& command, const std::string& directory, const std::string& log) {
  const std::string line = fmt::format("cd {} && ( {}\n) >{} 2>&1 </dev/null", shell_quoted({directory}),
                                       command, shell_quoted({std::filesystem::absolute(log).string()}));
  const int status = std::system(line.c_str());
  if (status == -1) throw Error(ErrorKind::environment, "no shell to run a command with");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace ridgeline::cli
