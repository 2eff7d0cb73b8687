#include "fit.h"

#include <fmt/format.h>

#include <string>

#include "ridgeline/base/text.h"

namespace ridgeline::mcp {
namespace {

std::size_t bytes_of(const Json& value) {
  return one_line_json(value).size();
}

void bound_texts(Json& value, std::size_t max_bytes) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > max_bytes) value = bounded_text(text, max_bytes);
  } else if (value.is_structured()) {
    for (Json& part : value) bound_texts(part, max_bytes);
  }
}

struct Longest {
  Json* list = nullptr;
  std::string path;
  std::size_t bytes = 0;
};

// The list that takes most room, of those that can lose an entry.
void find_longest(Json& value, const std::string& path, Longest& longest) {
  if (value.is_array() && value.size() > 1) {
    const std::size_t bytes = bytes_of(value);
    if (bytes > longest.bytes) longest = {&value, path, bytes};
  }
  if (value.is_object()) {
    for (auto& [key, part] : value.items())
      find_longest(part, path.empty() ? key : fmt::format("{}.{}", path, key), longest);
  } else if (value.is_array() && !value.empty() && value.front().is_structured()) {
    for (Json& part : value) find_longest(part, path + "[]", longest);
  }
}

}  // namespace

void fit(Json& answer, std::size_t max_bytes) {
  bound_texts(answer, kMaxTextBytes);
  Json left_out = Json::object();
  constexpr std::size_t kRoomToSay = 400;
  std::size_t text_bytes = kMaxTextBytes;
  while (bytes_of(answer) + kRoomToSay > max_bytes) {
    Longest longest;
    find_longest(answer, "", longest);
    if (longest.list == nullptr) {
      // One entry each: only texts are left to cut.
      text_bytes /= 2;
      if (text_bytes < 16) break;
      bound_texts(answer, text_bytes);
      continue;
    }
    const std::size_t keep = longest.list->size() / 2;
    left_out[longest.path] = left_out.value(longest.path, std::size_t{0}) + (longest.list->size() - keep);
    longest.list->erase(longest.list->begin() + static_cast<std::ptrdiff_t>(keep), longest.list->end());
  }
  if (!left_out.empty()) answer["left_out"] = std::move(left_out);
}

}  // namespace ridgeline::mcp
