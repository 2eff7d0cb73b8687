// draft.h: the file in which a capture is made before it has its name.
#pragma once

#include <string>

#include "ridgeline/base/error.h"
#include "ridgeline/base/file.h"

namespace ridgeline::import {

/// The draft of a capture: gone unless it was given its final name.
class Draft {
 public:
  explicit Draft(const std::string& output);
  ~Draft() { files_.remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The folder that it is in; "": the working directory.
  [[nodiscard]] std::string directory() const;

  /// Without overwrite it never replaces a file, not even one made a moment ago.
  [[nodiscard]] Result<void> publish(bool overwrite);

 private:
  std::string output_;
  std::string path_;
  UnfinishedFiles files_;
};

/// Whether a capture may be written there. Failure: usage.
[[nodiscard]] Result<void> check_output(const std::string& output, bool overwrite);

}  // namespace ridgeline::import
