#include "ridgeline/launch/libraries.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "child_process.h"
#include "ridgeline/base/text.h"
#include "ridgeline/spool/environment.h"

namespace ridgeline::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAgentName = "libridgeline_agent.so";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

// A program's file by PATH, as the shell finds it; "" if there is none.
std::string program_file(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_file(name) ? name : "";
  for (const std::string& directory : split(variable("PATH"), ':')) {
    const fs::path candidate = fs::path(directory) / name;
    if (is_file(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return "";
}

class Directories {
 public:
  void add(const fs::path& path) {
    std::error_code code;
    if (!fs::is_directory(path, code)) return;
    std::string text = path.lexically_normal().string();
    if (std::find(found_.begin(), found_.end(), text) == found_.end()) found_.push_back(std::move(text));
  }
  // <environment>/lib/python3.x/site-packages/nvidia/<package>/lib; the newest CUDA first.
  void add_python_environment(const fs::path& root) {
    std::error_code code;
    std::vector<fs::path> packages;
    for (const char* library : {"lib", "lib64"}) {
      for (fs::directory_iterator python(root / library, code), end; !code && python != end;
           python.increment(code)) {
        if (python->path().filename().string().rfind("python3", 0) != 0) continue;
        std::error_code inner;
        for (fs::directory_iterator package(python->path() / "site-packages" / "nvidia", inner);
             !inner && package != end; package.increment(inner)) {
          packages.push_back(package->path() / "lib");
        }
      }
    }
    std::sort(packages.rbegin(), packages.rend());
    for (const fs::path& package : packages) add(package);
  }
  void add_toolkit(const fs::path& root) {
    if (root.empty()) return;
    add(root / "extras/CUPTI/lib64");
    add(root / "lib64");
    add(root / "targets/x86_64-linux/lib");
    add(root / "targets/sbsa-linux/lib");
    add(root / "lib");
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

// The directories of the dynamic linker's cache that hold NVIDIA's libraries.
std::vector<std::string> cached_directories() {
  std::vector<std::string> directories;
  for (const char* ldconfig : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    const auto listing = run_and_capture({ldconfig, "-p"}, std::chrono::seconds(5));
    if (!listing || listing->exit_status != 0) continue;
    std::istringstream lines(listing->output);
    for (std::string line; std::getline(lines, line);) {
      const bool wanted = line.find("libcu") != std::string::npos ||
                          line.find("libnccl") != std::string::npos ||
                          line.find("libnvidia-ml") != std::string::npos;
      const std::size_t arrow = line.find("=> ");
      if (!wanted || arrow == std::string::npos) continue;
      directories.push_back(fs::path(line.substr(arrow + 3)).parent_path().string());
    }
    break;
  }
  return directories;
}

}  // namespace

bool is_shared_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[4] = {};
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) ==
                                               "\x7f"
                                               "ELF";
}

std::optional<std::string> find_agent_library() {
  if (const std::string given = variable("RIDGELINE_AGENT_LIBRARY"); !given.empty()) {
    std::error_code code;
    return is_file(given) ? std::optional(fs::absolute(given, code).string()) : std::nullopt;
  }
  std::error_code code;
  const fs::path executable = fs::read_symlink("/proc/self/exe", code);
  if (code) return std::nullopt;
  for (const char* relative : {"../lib", "../lib64", ".", "../lib/ridgeline"}) {
    const fs::path candidate = (executable.parent_path() / relative / kAgentName).lexically_normal();
    if (is_file(candidate)) return candidate.string();
  }
  return std::nullopt;
}

std::vector<std::string> cuda_library_directories(const std::vector<std::string>& program) {
  Directories directories;
  // A Python program brings its own CUDA: the interpreter's environment, by the file itself (a virtual
  // environment's bin/python is a link to the real one, so the link is not followed).
  if (!program.empty() && base_name(program.front()).rfind("python", 0) == 0) {
    const fs::path interpreter = program_file(program.front());
    if (!interpreter.empty()) {
      std::error_code code;
      directories.add_python_environment(interpreter.parent_path().parent_path());
      directories.add_python_environment(fs::canonical(interpreter, code).parent_path().parent_path());
    }
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string root = variable(name); !root.empty()) directories.add_python_environment(root);
  }
  for (const std::string& directory : split(variable("LD_LIBRARY_PATH"), ':')) directories.add(directory);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) directories.add_toolkit(variable(name));
  if (const fs::path nvcc = program_file("nvcc"); !nvcc.empty()) {
    std::error_code code;
    directories.add_toolkit(fs::canonical(nvcc, code).parent_path().parent_path());
  }
  directories.add_toolkit("/usr/local/cuda");
  std::error_code code;
  std::vector<fs::path> toolkits;
  for (fs::directory_iterator entry("/usr/local", code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().filename().string().rfind("cuda-", 0) == 0) toolkits.push_back(entry->path());
  }
  std::sort(toolkits.rbegin(), toolkits.rend());
  for (const fs::path& toolkit : toolkits) directories.add_toolkit(toolkit);
  for (const std::string& directory : cached_directories()) directories.add(directory);
  for (const char* directory :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    directories.add(directory);
  }
  return directories.take();
}

std::optional<std::string> find_cuda_library(const std::vector<std::string>& names,
                                             const std::vector<std::string>& program) {
  for (const std::string& directory : cuda_library_directories(program)) {
    for (const std::string& name : names) {
      const fs::path candidate = fs::path(directory) / name;
      if (is_file(candidate)) return candidate.string();
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_cupti_library(const std::vector<std::string>& program) {
  if (const std::string given = variable(spool::environment::kCuptiLibrary); !given.empty()) return given;
  return find_cuda_library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, program);
}

}  // namespace ridgeline::launch
