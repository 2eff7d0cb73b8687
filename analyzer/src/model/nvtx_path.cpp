#include "ridgeline/analyzer/model/nvtx_path.h"

#include <algorithm>

namespace ridgeline::analyzer {

namespace {

bool ends_in_number(std::string_view name) {
  return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

}  // namespace

std::vector<std::string_view> parts_of_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = path.find(kPathSeparator);
    parts.push_back(path.substr(0, end));
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + kPathSeparator.size());
  }
  return parts;
}

std::string_view phase_of(std::string_view path) {
  const std::vector<std::string_view> parts = parts_of_path(path);
  return parts.size() > 1 ? parts[1] : kNoRange;
}

std::string_view layer_of(std::string_view path) {
  const std::vector<std::string_view> parts = parts_of_path(path);
  const auto layer = std::find_if(parts.begin(), parts.end(), ends_in_number);
  return layer == parts.end() ? kNoRange : *layer;
}

bool in_subtree(std::string_view path, std::string_view tree) {
  if (!path.starts_with(tree)) return false;
  return path.size() == tree.size() || path.substr(tree.size()).starts_with(kPathSeparator);
}

}  // namespace ridgeline::analyzer
