#include "ridgeline/analyzer/model/nvtx_path.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace ridgeline::analyzer {

namespace {

bool ends_in_number(std::string_view name) {
  return !name.empty() && name.back() >= '0' && name.back() <= '9';
}

// "Train step 64", "iteration_3": the outermost range of a program that counts its steps is no layer.
bool counts_steps(std::string_view name) {
  name = name.substr(0, name.find_last_not_of("0123456789") + 1);
  name = name.substr(0, name.find_last_not_of(" _-:#=") + 1);
  std::string word;
  for (std::size_t i = name.size(); i > 0 && std::isalpha(static_cast<unsigned char>(name[i - 1])) != 0; --i)
    word.insert(word.begin(), static_cast<char>(std::tolower(static_cast<unsigned char>(name[i - 1]))));
  return word == "step" || word == "iteration" || word == "iter" || word == "batch" || word == "epoch";
}

}  // namespace

// Where a * took too little it is taken up again, one further.
bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0;
  std::size_t star = std::string_view::npos, taken_up_to = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken_up_to = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken_up_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

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
  const auto first = parts.begin() + (!parts.empty() && counts_steps(parts.front()) ? 1 : 0);
  const auto layer = std::find_if(first, parts.end(), ends_in_number);
  return layer == parts.end() ? kNoRange : *layer;
}

RangePattern::RangePattern(std::string_view pattern) {
  for (const std::string_view name : parts_of_path(pattern)) names_.emplace_back(name);
}

std::optional<std::string_view> RangePattern::outermost(std::string_view path) const {
  const std::vector<std::string_view> parts = parts_of_path(path);
  for (std::size_t first = 0; !names_.empty() && first + names_.size() <= parts.size(); ++first) {
    const auto here = parts.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::equal(names_.begin(), names_.end(), here, name_matches)) continue;
    const std::string_view last = parts[first + names_.size() - 1];
    return path.substr(0, static_cast<std::size_t>(last.data() - path.data()) + last.size());
  }
  return std::nullopt;
}

bool loads_data(std::string_view range_name) {
  constexpr std::array<std::string_view, 9> kWords = {"dataload",   "data load",  "loader",
                                                      "next batch", "next_batch", "load batch",
                                                      "load_batch", "get_batch",  "fetch batch"};
  std::string lower(range_name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace ridgeline::analyzer
