#include "captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ridgeline/base/text.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::mcp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOpen = 4;
constexpr int kMaxFolderDepth = 12;
constexpr std::int64_t kMaxEntries = 20'000;

Error refused(std::string_view text, std::string_view why) {
  return Error(ErrorKind::usage, fmt::format("'{}': {}", bounded_text(one_line(text), 200), why));
}

bool is_below(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// FNV-1a.
std::string stamp_of(std::uintmax_t bytes, std::int64_t modified_ns) {
  std::uint32_t hash = 2166136261U;
  const std::string text = fmt::format("{} {}", bytes, modified_ns);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

// "name@1a2b3c4d" into both; without a stamp the second is empty.
std::pair<std::string, std::string> name_and_stamp(std::string_view text) {
  constexpr std::size_t kStamp = 8;
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos && text.size() - at - 1 == kStamp &&
      text.find_first_not_of("0123456789abcdef", at + 1) == std::string_view::npos)
    return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
  return {std::string(text), ""};
}

}  // namespace

Captures::Captures(const std::string& root) {
  std::error_code failed;
  root_ = fs::canonical(root, failed);
  if (failed || !fs::is_directory(root_, failed))
    throw Error(ErrorKind::io, root + ": no folder: give one that holds captures");
}

CaptureFile Captures::described(const fs::path& canonical) const {
  CaptureFile file;
  file.path = canonical;
  file.name = canonical.lexically_relative(root_).string();
  std::error_code failed;
  file.bytes = fs::file_size(canonical, failed);
  if (failed) file.bytes = 0;
  const auto modified = fs::last_write_time(canonical, failed);
  if (!failed) {
    file.modified_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(modified.time_since_epoch()).count();
  }
  file.stamp = stamp_of(file.bytes, file.modified_ns);
  return file;
}

std::vector<CaptureFile> Captures::all(std::int64_t& left_out) const {
  std::vector<CaptureFile> files;
  left_out = 0;
  std::int64_t seen = 0;
  std::error_code failed;
  // Links are not followed: what they lead to may be outside.
  fs::recursive_directory_iterator at(root_, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (++seen > kMaxEntries) {
      ++left_out;
      break;
    }
    std::error_code unreadable;
    if (at->is_directory(unreadable) && at.depth() >= kMaxFolderDepth) {
      ++left_out;
      at.disable_recursion_pending();
    }
    if (at->is_symlink(unreadable) || !at->is_regular_file(unreadable)) continue;
    if (store::is_capture_file(at->path().string())) files.push_back(described(at->path()));
  }
  std::sort(files.begin(), files.end(), [](const CaptureFile& a, const CaptureFile& b) {
    return a.modified_ns != b.modified_ns ? a.modified_ns > b.modified_ns : a.name < b.name;
  });
  return files;
}

CaptureFile Captures::find(std::string_view text) const {
  const auto [name, stamp] = name_and_stamp(text);
  if (name.empty() || name.find('\0') != std::string::npos)
    throw refused(text, "no name of a capture: the tool captures lists them");
  std::error_code failed;
  const fs::path canonical = fs::canonical(root_ / name, failed);
  // The same words whether there is such a file outside or not.
  if (failed || !is_below(canonical, root_))
    throw refused(text, "no such file below the root: the tool captures lists them");
  if (!fs::is_regular_file(canonical, failed))
    throw refused(text, "no file: the tool captures lists what there is");
  CaptureFile file = described(canonical);
  if (!stamp.empty() && stamp != file.stamp) {
    throw refused(text, fmt::format("the file was replaced since: it is {} now; ask for its summary again",
                                    file.handle()));
  }
  return file;
}

queries::CaptureQueries& Captures::queries(const CaptureFile& file) {
  const auto known =
      std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.handle == file.handle(); });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
  } else {
    open_.push_front(
        {file.handle(), std::make_unique<queries::CaptureQueries>(file.path.string(), agent_options())});
    if (open_.size() > kMaxOpen) open_.pop_back();
  }
  return *open_.front().queries;
}

analyzer::AnalysisOptions agent_options() {
  constexpr std::size_t kEveryKernel = 100'000;
  analyzer::AnalysisOptions options;
  options.window_key = options.ranking.key;
  options.stalls.kernels = kEveryKernel;
  return options;
}

}  // namespace ridgeline::mcp
