// mapped_libraries.h: which of CUDA's libraries a program really used, and of which version, by the files it
// has mapped. Looked at while it runs; the files are asked for their version afterwards.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::launch {

class MappedLibraries {
 public:
  /// Looks at /proc/<pid>/maps; a process that is gone or not ours is passed over.
  void look_at(pid_t pid);
  /// The same from the text of a maps file.
  void look_at_maps(std::string_view maps);
  /// Component (cublas, cublaslt, cudnn, nccl, cuda_runtime) to version. Loads libraries in a child process.
  [[nodiscard]] std::map<std::string, std::string> versions() const;
  [[nodiscard]] const std::map<std::string, std::string>& paths() const { return paths_; }

 private:
  std::map<std::string, std::string> paths_;  // by component; the first one seen
};

/// Version of a library of that component: by its file name, else by asking the library, else by the soname's
/// number. nullopt: none of these says anything.
[[nodiscard]] std::optional<std::string> library_version(const std::string& component,
                                                         const std::string& path);

/// Rank of a distributed job by the environment a process was started with.
[[nodiscard]] std::optional<int> rank_of(pid_t pid);

}  // namespace ridgeline::launch
