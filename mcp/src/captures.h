// captures.h: the captures below a root, and nothing else of the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/queries/capture_queries.h"

namespace ridgeline::mcp {

/// A file below the root.
struct CaptureFile {
  std::filesystem::path path;  ///< canonical
  std::string name;            ///< from the root
  std::string stamp;           ///< of size and time: another one is another file of that name
  std::uintmax_t bytes = 0;
  std::int64_t modified_ns = 0;
  /// "runs/a.ridge@1a2b3c4d": what clients pass on.
  [[nodiscard]] std::string handle() const { return name + "@" + stamp; }
};

class Captures {
 public:
  /// Throws Error(io) if it is no folder.
  explicit Captures(const std::string& root);

  /// Newest first. `left_out`: folders that were too many or too deep to look into, and files that were not looked at.
  [[nodiscard]] std::vector<CaptureFile> all(std::int64_t& left_out) const;
  /// A name or a handle. Throws Error(usage): outside the root, no file, replaced since the handle was given.
  [[nodiscard]] CaptureFile find(std::string_view text) const;
  /// The same object for the same file as long as it is among those asked last.
  [[nodiscard]] queries::CaptureQueries& queries(const CaptureFile& file);

 private:
  struct Open {
    std::string handle;
    std::unique_ptr<queries::CaptureQueries> queries;
  };
  [[nodiscard]] CaptureFile described(const std::filesystem::path& canonical) const;

  std::filesystem::path root_;
  std::list<Open> open_;  // asked last first
};

/// Of explanations: rows are kernels whatever the scope, with every kernel's stalls.
[[nodiscard]] analyzer::AnalysisOptions agent_options();

}  // namespace ridgeline::mcp
