#include "ridgeline/experiment/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "child.h"
#include "ridgeline/base/error.h"
#include "ridgeline/base/text.h"

namespace ridgeline::experiment {
namespace {

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return bounded_text(one_line(last), 300);
}

std::string stem_of(const Variant& variant) {
  return fmt::format("{}-{}-", variant.label, variant.name);
}

comparison::RunProfile profile_of(const std::string& capture) {
  auto profile = comparison::profile_run(capture);
  if (profile) return std::move(profile).value();
  const Failure& failure = profile.failure();
  const bool named = failure.message.find(capture) != std::string::npos;
  throw Error(failure.kind, named ? failure.message : capture + ": " + failure.message);
}

}  // namespace

std::vector<std::size_t> order_of_round(std::size_t variants, std::int64_t round) {
  std::vector<std::size_t> order;
  if (variants == 0) return order;
  const auto number = static_cast<std::size_t>(round);
  // 0, 1, n-1, 2, n-2, …: neighbours differ by each distance once, so that n shifts of it have each pair of neighbours.
  for (std::size_t i = 0; i < variants; ++i)
    order.push_back(((i % 2 == 1 ? (i + 1) / 2 : variants - i / 2) + number) % variants);
  // Of an odd number it takes the mirrored rounds too.
  if (variants % 2 == 1 && number / variants % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

Rounds::Rounds(const std::vector<Variant>& variants, const RecordingPlan& plan,
               ExperimentDirectory& directory, Interruption* interruption)
    : variants_(variants),
      plan_(plan),
      directory_(directory),
      interruption_(interruption),
      captures_(variants.size()),
      profiles_(variants.size()) {
  for (const Variant& variant : variants) directory_.remove_numbered(stem_of(variant));
}

void Rounds::record() {
  for (const std::size_t index : order_of_round(variants_.size(), done_)) {
    const std::string capture = record(variants_[index], done_ + 1);
    captures_[index].push_back(capture);
    profiles_[index].push_back(profile_of(capture));
  }
  ++done_;
}

std::string Rounds::record(const Variant& variant, std::int64_t number) {
  const std::string stem = directory_.claim(fmt::format("{}{:02}", stem_of(variant), number));
  const std::string directory = std::filesystem::absolute(variant.directory).string();
  ChildCommand command{.argv = plan_.recorder, .directory = variant.directory, .log = stem + ".log"};
  const auto add = [&](const std::vector<std::string>& words) {
    command.argv.insert(command.argv.end(), words.begin(), words.end());
  };
  add({"-q", "-f", "-o", stem + ".ridge", "--directory", directory});
  add(number == 1 && plan_.first_options ? *plan_.first_options : plan_.options);
  add({"--"});
  add(variant.program);
  const int status = run_child(command, interruption_).status;
  if (status != 0 || !std::filesystem::exists(stem + ".ridge")) {
    throw Error(ErrorKind::no_data, fmt::format("run {} of {} ended with {}: {} ({}.log)", number,
                                                variant.name, status, last_line(stem + ".log"), stem));
  }
  return stem + ".ridge";
}

std::vector<std::string> own_recorder() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "record"};
}

}  // namespace ridgeline::experiment
