// temporary_directory.h: a directory of its own for each test, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace ridgeline::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return file(name); }

 private:
  std::string path_;
};

/// FOLDER stands for the names of such directories, which are others each time, SOURCE for `source` if it is named.
inline std::string without_folders(std::string text, const std::string& source = {}) {
  const std::string begin = (std::filesystem::temp_directory_path() / "ridgeline-test-").string();
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at))
    text.replace(at, begin.size() + 6, "FOLDER");
  for (std::size_t at = 0; !source.empty() && (at = text.find(source)) != std::string::npos;)
    text.replace(at, source.size(), "SOURCE");
  return text;
}

}  // namespace ridgeline::testing
