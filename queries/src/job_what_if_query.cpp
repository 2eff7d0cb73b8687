#include "ridgeline/queries/job_what_if_query.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "job_capture_query.h"
#include "naming.h"
#include "ridgeline/reports/job_what_if_document.h"

namespace ridgeline::queries {
namespace {

using analyzer::JobChange;

constexpr std::array<int, 9> kSweepMegabytes = {1, 2, 5, 10, 25, 50, 100, 200, 500};
constexpr double kMaxLinks = 1000;
constexpr double kMaxChangeBytes = 1e15;

Failure misread(std::string_view text, std::string_view why) {
  return {ErrorKind::usage,
          fmt::format("--what-if: '{}' {}: write overlap, links=2, bucket=25MB, no-skew or buckets, with "
                      "commas between what is to be together",
                      text, why)};
}

// A number and what follows it.
std::optional<std::pair<double, std::string_view>> number_at(std::string_view text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return std::pair{value, text.substr(static_cast<std::size_t>(at - text.data()))};
}

std::optional<std::int64_t> bytes_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1},    {"kB", 1e3},   {"KB", 1e3},        {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  const auto number = number_at(text);
  if (!number) return std::nullopt;
  for (const auto& [unit, times] : kUnits) {
    if (number->second != unit) continue;
    const double bytes = number->first * times;
    if (bytes < 1 || bytes > kMaxChangeBytes) return std::nullopt;
    return std::llround(bytes);
  }
  return std::nullopt;
}

std::optional<double> links_in(std::string_view text) {
  const auto number = number_at(text);
  if (!number || (!number->second.empty() && number->second != "x")) return std::nullopt;
  if (number->first <= 0 || number->first > kMaxLinks) return std::nullopt;
  return number->first;
}

// Adds one word to the change. Failure: what is wrong with it.
std::optional<std::string_view> add_word(std::string_view word, JobChange& change) {
  constexpr std::string_view kLinks = "links=";
  constexpr std::string_view kBucket = "bucket=";
  if (word == "overlap") {
    change.perfect_overlap = true;
  } else if (word == "no-skew") {
    change.no_skew = true;
  } else if (word.starts_with(kLinks)) {
    const auto links = links_in(word.substr(kLinks.size()));
    if (!links) return "does not say how many times as fast";
    change.links = *links;
  } else if (word.starts_with(kBucket)) {
    change.bucket_bytes = bytes_in(word.substr(kBucket.size()));
    if (!change.bucket_bytes) return "does not say a size with its unit";
  } else {
    return "is no change";
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<JobChange>> parse_job_changes(std::string_view text) {
  if (text == "buckets") {
    std::vector<JobChange> sweep;
    for (const int megabytes : kSweepMegabytes) {
      JobChange change;
      change.text = fmt::format("bucket={}MB", megabytes);
      change.bucket_bytes = std::int64_t{megabytes} * 1'000'000;
      sweep.push_back(std::move(change));
    }
    return sweep;
  }
  JobChange change;
  change.text = text;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (const auto wrong = add_word(text.substr(at, comma - at), change)) return misread(text, *wrong);
    at = comma + 1;
  }
  if (change.perfect_overlap && (change.bucket_bytes || change.links != 1))
    return misread(text, "asks for more than perfect overlap, which already leaves no transfer");
  return std::vector{std::move(change)};
}

Result<DocumentAnswer> ask_job_what_if(const std::string& path, const std::vector<std::string>& changes,
                                       const reports::DocumentOptions& how) {
  try {
    std::vector<JobChange> all;
    for (const std::string& text : changes) {
      Result<std::vector<JobChange>> some = parse_job_changes(text);
      if (!some.ok()) return some.failure();
      for (JobChange& change : some.value()) all.push_back(std::move(change));
    }
    const Result<store::Job> job = job_of(path);
    if (!job.ok()) return naming(path, job.failure());
    Result<analyzer::JobWhatIf> answered = analyzer::what_if_job(job.value(), all);
    if (!answered.ok()) return naming(path, answered.failure());
    const auto answer = std::make_shared<const analyzer::JobWhatIf>(std::move(answered).value());
    reports::Document document = reports::job_what_if_document(*answer, how);
    return DocumentAnswer{reports::Document(
        [answer, document = std::move(document)](const reports::Sink& out) { document.write(out); })};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return naming(path, {error.kind(), error.message()});
  }
}

}  // namespace ridgeline::queries
