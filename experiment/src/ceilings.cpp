#include "ridgeline/experiment/ceilings.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "child.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"

namespace ridgeline::experiment {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 16 << 20;
constexpr int kDeclaredSteps = 100;  // a recording's usual schedule, its steps alone, and some more
constexpr int kNotStarted = 127;

// A folder that is removed with its object.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ridgeline-ceilings-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorKind::io, fmt::format("{} cannot be made", pattern));
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string end_of_output(const std::string& output) {
  std::string last;
  for (const std::string& line : split(output, '\n')) {
    if (!line.empty()) last = line;
  }
  return one_line(last);
}

std::vector<std::string> arguments(const CeilingsPlan& plan) {
  std::vector<std::string> words = {"--device", std::to_string(plan.device)};
  if (plan.thorough) words.emplace_back("--thorough");
  if (plan.seconds > 0) words.insert(words.end(), {"--seconds", fmt::format("{}", plan.seconds)});
  if (!plan.only.empty()) words.insert(words.end(), {"--only", fmt::format("{}", fmt::join(plan.only, ","))});
  words.insert(words.end(), plan.more.begin(), plan.more.end());
  return words;
}

// What counters saw; empty if nothing was recorded.
std::vector<store::NamedCount> verify(const CeilingsPlan& plan, const Folder& folder,
                                      Interruption* interruption) {
  const std::string capture = folder.file("declared.ridge");
  ChildCommand record{.argv = plan.recorder, .directory = "", .log = ""};
  record.argv.insert(record.argv.end(),
                     {"--force", "--quiet", "--step-range", "step", "--sass-flops", "-o", capture, "--",
                      plan.program, "--declare", std::to_string(kDeclaredSteps)});
  const std::vector<std::string> handed = arguments(plan);
  record.argv.insert(record.argv.end(), handed.begin(), handed.end());
  const ChildEnd end = run_child(record, interruption);
  if (end.status != 0) {
    plan.tell(fmt::format("not verified by counters: the recording ended with {}: {}", end.status,
                          end_of_output(end.output)));
    return {};
  }
  auto session = analyzer::Session::open(capture);
  if (!session) {
    plan.tell("not verified by counters: " + session.failure().message);
    return {};
  }
  const auto analysis = session.value().analysis({}, analyzer::Session::kDeclared);
  if (!analysis) {
    plan.tell("not verified by counters: " + analysis.failure().message);
    return {};
  }
  std::vector<store::NamedCount> counts = counts_of(analysis.value()->declared_operations);
  if (counts.empty()) plan.tell("not verified by counters: `ridgeline doctor` says what they need");
  return counts;
}

}  // namespace

std::vector<store::NamedCount> counts_of(const std::vector<analyzer::DeclaredWork>& operations) {
  std::vector<store::NamedCount> counts;
  for (const analyzer::DeclaredWork& work : operations) {
    const bool dram = work.operation.starts_with("dram.");
    if (dram && work.measured_bytes && work.declared_bytes.value_or(0) > 0) {
      counts.push_back(
          {work.operation,
           {*work.measured_bytes, *work.declared_bytes, "dram__bytes_read.sum + dram__bytes_write.sum"}});
    }
    if (!work.operation.starts_with("compute.") || work.declared_flops.value_or(0) <= 0) continue;
    if (work.measured_tensor_ops.value_or(0) > 0) {
      counts.push_back(
          {work.operation, {*work.measured_tensor_ops, *work.declared_flops, "sm__ops_path_tensor_*.sum"}});
    } else if (work.measured_fp_ops.value_or(0) > 0) {
      counts.push_back({work.operation,
                        {*work.measured_fp_ops, *work.declared_flops,
                         "smsp__sass_thread_inst_executed_op_*_pred_on.sum"}});
    }
  }
  return counts;
}

Result<std::string> measure_ceilings(const CeilingsPlan& plan, Interruption* interruption) {
  const Folder folder;
  const std::string output = folder.file("ceilings.json");
  ChildCommand command{.argv = {plan.program}, .directory = "", .log = ""};
  command.keeps_errors = plan.show_progress;
  const std::vector<std::string> handed = arguments(plan);
  command.argv.insert(command.argv.end(), handed.begin(), handed.end());
  command.argv.insert(command.argv.end(), {"-o", output});
  const ChildEnd end = run_child(command, interruption);
  if (end.status != 0) {
    const std::string why = end_of_output(end.output);
    return Failure{end.status == 2 ? ErrorKind::usage : ErrorKind::environment,
                   end.status == kNotStarted && !why.empty() ? why
                   : why.empty() ? fmt::format("{} ended with {}", plan.program, end.status)
                                 : why};
  }
  const Result<std::string> text = read_file(output, kMaxBytes);
  if (!text) return Failure{text.failure().kind, output + ": " + text.failure().message};
  const auto machine = store::parse_machine_ceilings(text.value());
  if (!machine)
    return Failure{machine.failure().kind, plan.program + " wrote a " + machine.failure().message};
  if (!plan.verify) return text;
  return store::with_counts(text.value(), verify(plan, folder, interruption));
}

}  // namespace ridgeline::experiment
