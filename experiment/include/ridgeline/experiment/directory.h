// directory.h: where an experiment keeps its captures and logs, and which of the files there are its own.
#pragma once

#include <set>
#include <string>

namespace ridgeline::experiment {

/// A folder that holds the captures of one experiment. `captures.txt` in it names them in the order in which they were
/// recorded: what an older experiment left there is removed when a new one begins, other files stay.
class ExperimentDirectory {
 public:
  /// Makes the folder and removes the captures and logs of the experiment before. Throws Error(io).
  explicit ExperimentDirectory(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }  ///< absolute
  /// Removes captures and logs whose names are `stem` and a number: "a-3f2a91c04d11-" before a variant is
  /// measured again.
  void remove_numbered(const std::string& stem) const;
  /// Path without suffix of the next recording of that name, which now counts as the experiment's. Throws Error(io).
  [[nodiscard]] std::string claim(const std::string& name);

 private:
  std::string path_;
  std::set<std::string> claimed_;
};

}  // namespace ridgeline::experiment
