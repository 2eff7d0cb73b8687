#include "gpt2/train/files/run_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpt2/common/durable_file.h"
#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {

void cut_run_log(const std::string& path, long long first_step) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;  // none yet, or a pipe
  std::ifstream in(path);
  if (!in) throw InputError(fmt::format("log file {}: {}", path, std::strerror(errno)));
  std::string kept, line;
  bool cut = false;
  while (std::getline(in, line)) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    const bool torn = object.is_discarded() || in.eof();  // a whole line ends with a newline
    const auto* step = object.is_object() && object.contains("step") ? &object.at("step") : nullptr;
    if (torn || (step != nullptr && step->is_number_integer() && step->get<long long>() >= first_step)) {
      cut = true;
    } else {
      kept += line + '\n';
    }
  }
  in.close();
  if (!cut) return;
  const std::string partial = path + ".partial";
  DurableFile out("log file", partial);
  out.write(kept.data(), static_cast<std::int64_t>(kept.size()));
  out.close();
  durable_rename("log file", partial, path);
}

void require_writable(const std::string& what, const std::string& path) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* reason) {
    throw InputError(fmt::format("{} {}: {}", what, path, reason));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("is a directory");
  const fs::path given = fs::path(path).parent_path();
  const std::string parent = given.empty() ? "." : given.string();
  if (!fs::is_directory(parent, ignored)) refuse("its directory does not exist");
  const std::string asked = fs::exists(path, ignored) ? path : parent;
  if (::access(asked.c_str(), W_OK) != 0) refuse(std::strerror(errno));
}

void require_replaceable(const std::string& what, const std::string& path) {
  require_writable(what, path);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(fmt::format("{} {}: is no regular file", what, path));
  }
}

}  // namespace ridgeline::gpt2
