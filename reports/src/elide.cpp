#include "ridgeline/reports/elide.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ridgeline/base/utf8.h"
#include "ridgeline/store/kernel_identity.h"

namespace ridgeline::reports {
namespace {

constexpr std::string_view kEllipsis = "…";
// Marks that take no column of their own, piled on others, would make a line of any length.
constexpr std::size_t kMaxBytesPerColumn = 16;

bool fits(std::string_view text, int columns) {
  return text.size() <=
             kMaxBytesPerColumn * static_cast<std::size_t>(std::max(columns, 0)) + kMaxBytesPerColumn &&
         display_width(text) <= columns;
}

// The longest prefix of at most `columns`.
std::string_view head(std::string_view text, int columns) {
  std::size_t position = 0;
  int used = 0;
  while (position < text.size()) {
    std::size_t next = position;
    used += code_point_width(next_code_point(text, next));
    if (used > columns || next > kMaxBytesPerColumn * static_cast<std::size_t>(std::max(columns, 0))) break;
    position = next;
  }
  return text.substr(0, position);
}

// The longest suffix of at most `columns`.
std::string_view tail(std::string_view text, int columns) {
  std::vector<std::size_t> starts;
  std::vector<int> widths;
  for (std::size_t position = 0; position < text.size();) {
    starts.push_back(position);
    widths.push_back(code_point_width(next_code_point(text, position)));
  }
  std::size_t from = text.size();
  int used = 0;
  for (std::size_t i = starts.size(); i-- > 0;) {
    used += widths[i];
    if (used > columns ||
        text.size() - starts[i] > kMaxBytesPerColumn * static_cast<std::size_t>(std::max(columns, 0)))
      break;
    from = starts[i];
  }
  return text.substr(from);
}

// Position of the bracket that closes the last one, scanning backwards over <> and (); npos if unbalanced.
std::size_t matching_open(std::string_view text, std::size_t close) {
  const char closing = text[close];
  const char opening = closing == ')' ? '(' : '<';
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (closing == '>' && text[i] == '>' && i > 0 && text[i - 1] == '-') continue;  // "->"
    if (text[i] == closing) ++depth;
    if (text[i] == opening && --depth == 0) return i;
  }
  return std::string_view::npos;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// A display name in parts, views into it.
struct NameParts {
  std::string_view qualified;  // "namespaces::function"
  std::string_view function;
  std::string_view arguments;  // "<…>" or empty
};

NameParts split_name(std::string_view full) {
  NameParts parts{full, full, {}};
  if (!full.empty() && full.back() == '>') {
    const std::size_t open = matching_open(full, full.size() - 1);
    if (open != std::string_view::npos && open > 0) {
      parts.qualified = full.substr(0, open);
      parts.arguments = full.substr(open);
    }
  }
  parts.function = parts.qualified;
  int depth = 0;
  for (std::size_t i = parts.qualified.size(); i-- > 1;) {
    const char c = parts.qualified[i];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (depth == 0 && c == ':' && parts.qualified[i - 1] == ':') {
      parts.function = parts.qualified.substr(i + 1);
      break;
    }
  }
  return parts;
}

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

constexpr int kMinName = 8;

// Length of a " [132,1,1]" at the end.
std::size_t grid_length(std::string_view name) {
  const std::size_t open = name.rfind(" [");
  if (open == std::string_view::npos || open == 0 || name.back() != ']') return 0;
  const std::string_view inside = name.substr(open + 2, name.size() - open - 3);
  const bool grid = !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == ',';
  });
  return grid ? name.size() - open : 0;
}

// Length of a " #1a2b3c4d" at the end.
std::size_t code_length(std::string_view name) {
  const std::size_t open = name.rfind(" #");
  if (open == std::string_view::npos || open == 0) return 0;
  const std::string_view code = name.substr(open + 2);
  const bool hash = code == "?" || (code.size() == 8 && std::all_of(code.begin(), code.end(), [](char c) {
                                      return std::isxdigit(static_cast<unsigned char>(c)) != 0;
                                    }));
  return hash ? name.size() - open : 0;
}

// " #1a2b3c4d [132,1,1]" after a name that is ranked with the start of its code hash and its grid, or with one of
// them; empty if there is none.
std::string_view ranked_suffix(std::string_view name) {
  const std::size_t grid = grid_length(name);
  const std::size_t code = code_length(name.substr(0, name.size() - grid));
  return name.substr(name.size() - grid - code);
}

// Template arguments without what only says where a type is declared, or of which type a value is:
//   "<(ns::Kind)1, ns::Config<(bool)1, 2> >" -> "<1, Config<1, 2>>"
std::string brief_arguments(std::string_view arguments) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string out;
  for (std::size_t i = 0; i < arguments.size();) {
    const char c = arguments[i];
    if (arguments.substr(i).substr(0, kAnonymous.size()) == kAnonymous) {
      i += kAnonymous.size();
    } else if (c == '(' && (out.empty() || !is_identifier(out.back()))) {
      const std::size_t close = arguments.find(')', i);
      const std::size_t next = close == std::string_view::npos ? arguments.size() : close + 1;
      const std::string_view type =
          close == std::string_view::npos ? "" : arguments.substr(i + 1, close - i - 1);
      const bool value =
          next < arguments.size() &&
          (std::isdigit(static_cast<unsigned char>(arguments[next])) != 0 || arguments[next] == '-');
      const bool cast = value && !type.empty() && std::all_of(type.begin(), type.end(), [](char t) {
                          return is_identifier(t) || t == ':' || t == ' ';
                        });
      if (cast) {
        i = next;
      } else {
        out += c;
        ++i;
      }
    } else if (is_identifier(c)) {
      std::size_t end = i;
      while (end < arguments.size() && is_identifier(arguments[end])) ++end;
      const std::string_view member = arguments.substr(std::min(end + 2, arguments.size()));
      if (arguments.substr(end).substr(0, 2) == "::" && !member.empty() &&
          (is_identifier(member.front()) || member.substr(0, kAnonymous.size()) == kAnonymous)) {
        i = end + 2;
      } else {
        out += arguments.substr(i, end - i);
        i = end;
      }
    } else {
      if (c == '>' && out.size() > 1 && out.back() == ' ' && out[out.size() - 2] == '>') out.pop_back();
      out += c;
      ++i;
    }
  }
  return out;
}

// kernel_display_name with brief arguments.
std::string brief_name(std::string_view full) {
  const NameParts parts = split_name(full);
  return std::string(parts.qualified) + brief_arguments(parts.arguments);
}

// Of a template that says little by itself, what its arguments say, first: "CUDAFunctor_add<BFloat16> ·
// vectorized_elementwise_kernel", and of CUTLASS's wrapper the kernel that it wraps. "" of all others.
std::string what_arguments_say(const NameParts& brief) {
  const std::string_view arguments = brief.arguments;
  if (arguments.size() < 2) return "";
  if (brief.qualified.substr(0, 9) == "cutlass::") {
    constexpr std::string_view kWrapped = "<cutlass_";
    if (arguments.substr(0, kWrapped.size()) != kWrapped) return "";
    const auto end = std::find_if_not(arguments.begin() + 1, arguments.end(), is_identifier);
    return {arguments.begin() + 1, end};
  }
  if (brief.qualified.substr(0, 12) != "at::native::") return "";
  const std::string_view functor = store::functor_in(arguments);
  if (functor.empty()) return "";
  const auto at = static_cast<std::size_t>(functor.data() - arguments.data());
  std::size_t end = at + functor.size();
  if (end < arguments.size() && arguments[end] == '<') {
    int depth = 0;
    do {
      if (arguments[end] == '<') ++depth;
      if (arguments[end] == '>') --depth;
      ++end;
    } while (end < arguments.size() && depth > 0);
  }
  return std::string(arguments.substr(at, end - at)) + " · " + std::string(brief.function);
}

// A library's name ends in its tile, layout and alignment, which tell one kernel from another:
// "cutlass…64x3_nn_align8".
std::string elide_library_name(std::string_view name, int columns) {
  const std::string_view family = name.substr(0, name.find('_'));
  std::string text;
  for (std::size_t at = name.size();
       (at = name.rfind('_', at - 1)) != std::string_view::npos && at > family.size();) {
    std::string longer = std::string(family) + std::string(kEllipsis) + std::string(name.substr(at + 1));
    if (!fits(longer, columns)) break;
    text = std::move(longer);
  }
  return text;
}

// An author's name in whole words, its last one kept: "attention…backward". "" if it has digits in front of a word or
// would use less than half of the columns.
std::string elide_words(std::string_view name, int columns) {
  constexpr std::string_view kKernel = "_kernel";
  if (ends_with(name, kKernel)) {
    name.remove_suffix(kKernel.size());
    if (std::string stem = std::string(name) + std::string(kEllipsis); fits(stem, columns)) return stem;
  }
  const std::size_t last = name.rfind('_');
  if (last == std::string_view::npos) return "";
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    if (at + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[at + 1])) != 0) return "";
  }
  std::string text;
  for (std::size_t at = name.find('_'); at != std::string_view::npos && at < last;
       at = name.find('_', at + 1)) {
    std::string longer =
        std::string(name.substr(0, at)) + std::string(kEllipsis) + std::string(name.substr(last + 1));
    if (!fits(longer, columns)) break;
    text = std::move(longer);
  }
  return 2 * display_width(text) >= columns ? text : "";
}

// The places of each text.
std::map<std::string, std::vector<std::size_t>> places_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < texts.size(); ++i) places[texts[i]].push_back(i);
  return places;
}

std::vector<std::string_view> components_of(std::string_view path) {
  constexpr std::string_view kSeparator = " / ";
  std::vector<std::string_view> components;
  while (true) {
    const std::size_t end = path.find(kSeparator);
    components.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return components;
    path.remove_prefix(end + kSeparator.size());
  }
}

// "(anonymous namespace)" is a name, not a parameter list.
bool is_name_in_parentheses(std::string_view inside) {
  return inside == "anonymous namespace" || inside.rfind("lambda", 0) == 0;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t position = 0; position < text.size();) {
    width += code_point_width(next_code_point(text, position));
  }
  return width;
}

std::string bounded(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80u;
  };
  std::size_t front = bytes / 2;
  while (front > 0 && continues(front)) --front;
  std::size_t back = text.size() - (bytes - bytes / 2);
  while (back < text.size() && continues(back)) ++back;
  return std::string(text.substr(0, front)) + "…" + std::string(text.substr(back));
}

std::string elide_end(std::string_view text, int columns) {
  if (fits(text, columns)) return std::string(text);
  if (columns < 1) return "";
  return std::string(head(text, columns - 1)) + std::string(kEllipsis);
}

std::string elide_start(std::string_view text, int columns) {
  if (fits(text, columns)) return std::string(text);
  if (columns < 1) return "";
  return std::string(kEllipsis) + std::string(tail(text, columns - 1));
}

std::string elide_middle(std::string_view text, int columns) {
  if (fits(text, columns)) return std::string(text);
  if (columns < 3) return elide_end(text, columns);
  const int tail_columns = (columns - 1) / 2;
  return std::string(head(text, columns - 1 - tail_columns)) + std::string(kEllipsis) +
         std::string(tail(text, tail_columns));
}

namespace {

// Several kernels in one text, as a comparison names a group: "a<int, 4>, b → c". No demangled name has a comma or an
// arrow outside its brackets. Each name with the separator before it; of one name alone, nothing.
std::vector<std::pair<std::string_view, std::string_view>> names_of_list(std::string_view text) {
  constexpr std::string_view kArrow = " → ";
  std::vector<std::pair<std::string_view, std::string_view>> names;
  std::string_view separator;
  std::size_t begin = 0;
  int depth = 0;
  const auto end_name = [&](std::size_t i, std::string_view next) {
    names.emplace_back(separator, text.substr(begin, i - begin));
    separator = next;
    begin = i + next.size();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && !(i > 0 && text[i - 1] == '-'))) --depth;
    if (depth != 0) continue;
    if (text.substr(i, 2) == ", ") end_name(i, text.substr(i, 2));
    if (text.substr(i, kArrow.size()) == kArrow) end_name(i, text.substr(i, kArrow.size()));
  }
  if (names.empty()) return {};
  end_name(text.size(), {});
  return names;
}

}  // namespace

std::string kernel_display_name(std::string_view name) {
  if (const auto list = names_of_list(name); !list.empty()) {
    std::string text;
    for (const auto& [separator, one] : list) text += std::string(separator) + kernel_display_name(one);
    return text;
  }
  if (const std::string_view suffix = ranked_suffix(name); !suffix.empty())
    return kernel_display_name(name.substr(0, name.size() - suffix.size())) + std::string(suffix);
  // Qualifiers and a clone suffix after the parameter list: "f(int) const", "f(int) [clone .1]".
  std::string_view text = name;
  if (const auto clone = text.find(" [clone "); clone != std::string_view::npos) text = text.substr(0, clone);
  if (ends_with(text, " const")) text.remove_suffix(6);

  if (ends_with(text, ")")) {
    const std::size_t open = matching_open(text, text.size() - 1);
    if (open != std::string_view::npos && open > 0) {
      const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
      if (!is_name_in_parentheses(inside)) text = text.substr(0, open);
    }
  }
  // The return type ends at the last space outside all brackets.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    if (text[i] == '>' && !(i > 0 && text[i - 1] == '-')) --depth;
    if (text[i] == ' ' && depth == 0) {
      // "operator bool" and the like: the space is inside the name.
      if (ends_with(text.substr(0, i), "operator")) break;
      start = i + 1;
    }
  }
  text = text.substr(start);
  return text.empty() ? std::string(name) : std::string(text);
}

std::string elide_kernel_name(std::string_view demangled_name, int columns) {
  if (const std::string_view suffix = ranked_suffix(demangled_name);
      !suffix.empty() && columns - display_width(suffix) >= kMinName) {
    return elide_kernel_name(demangled_name.substr(0, demangled_name.size() - suffix.size()),
                             columns - display_width(suffix)) +
           std::string(suffix);
  }
  const std::string full = kernel_display_name(demangled_name);
  if (fits(full, columns)) return full;

  if (const auto list = names_of_list(full); !list.empty()) {
    int left = columns;
    for (const auto& [separator, one] : list) left -= display_width(separator);
    const int each = left / static_cast<int>(list.size());
    if (each < kMinName) return elide_end(full, columns);
    // Beside each other: two kernels under one name would be none.
    std::vector<std::string> whole;
    for (const auto& [separator, one] : list) whole.emplace_back(one);
    const std::vector<std::string> names = elide_kernel_names(whole, each);
    std::string text;
    for (std::size_t i = 0; i < list.size(); ++i) text += std::string(list[i].first) + names[i];
    return text;
  }

  const std::string brief = brief_name(full);
  if (fits(brief, columns)) return brief;

  const NameParts parts = split_name(brief);
  if (const std::string said = what_arguments_say(parts); !said.empty()) {
    if (fits(said, columns)) return said;
    std::string text = said.find(' ') == std::string::npos ? elide_library_name(said, columns) : "";
    return text.empty() ? elide_end(said, columns) : text;
  }
  const auto [qualified, function, arguments] = parts;

  // What is left for the inside of <…> when the rest is printed whole; 9 columns still tell instances apart.
  constexpr int kMinArguments = 9;
  const auto with_arguments = [columns, arguments = arguments](std::string_view prefix,
                                                               std::string_view name) -> std::string {
    if (arguments.empty()) return "";
    const int left = columns - display_width(prefix) - display_width(name) - 2;
    if (left < kMinArguments) return "";
    return std::string(prefix) + std::string(name) + "<" +
           elide_middle(arguments.substr(1, arguments.size() - 2), left) + ">";
  };
  const bool has_namespace = function.size() != qualified.size();
  const std::string_view short_prefix = has_namespace ? "…::" : "";

  if (!arguments.empty()) {
    const std::string whole = std::string(short_prefix) + std::string(function) + std::string(arguments);
    if (fits(whole, columns)) return whole;
  }
  if (std::string text = with_arguments("", qualified); !text.empty()) return text;
  if (std::string text = with_arguments(short_prefix, function); !text.empty()) return text;
  if (std::string text = with_arguments("", function); !text.empty()) return text;
  const std::string bare = std::string(function) + (arguments.empty() ? "" : "<…>");
  if (arguments.empty() && has_namespace) {
    const std::string text = std::string(short_prefix) + bare;
    if (fits(text, columns)) return text;
  }
  if (fits(bare, columns)) return bare;
  // Generated names open with boilerplate and say what they do in the first half.
  std::string name(function);
  for (const std::string_view boilerplate : {"cudnn_generated_fort_native_", "cudnn_generated_"}) {
    if (function.substr(0, boilerplate.size()) == boilerplate) {
      name = "cudnn…" + std::string(function.substr(boilerplate.size()));
      break;
    }
  }
  if (fits(name, columns)) return name;
  if (std::string text = elide_words(name, columns); !text.empty()) return text;
  const int tail_columns = (columns - 1) / 3;
  return std::string(head(name, columns - 1 - tail_columns)) + std::string(kEllipsis) +
         std::string(tail(name, tail_columns));
}

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

// Where a word begins: behind what joins words, and in "convolutionBackward0" at the capital.
bool begins_word(std::string_view text, std::size_t i) {
  if (!is_word(text[i])) return false;
  if (i == 0 || !is_word(text[i - 1])) return true;
  return std::isupper(static_cast<unsigned char>(text[i])) != 0 &&
         std::islower(static_cast<unsigned char>(text[i - 1])) != 0;
}

// The longest end of whole words that fits; "" if not even the last word does.
std::string_view tail_of_words(std::string_view text, int columns) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_word(text, i) && fits(text.substr(i), columns)) return text.substr(i);
  }
  return {};
}

// Likewise the longest beginning.
std::string_view head_of_words(std::string_view text, int columns) {
  for (std::size_t i = text.size(); i > 0; --i) {
    const bool ends = is_word(text[i - 1]) && (i == text.size() || !is_word(text[i]) || begins_word(text, i));
    if (ends && fits(text.substr(0, i), columns)) return text.substr(0, i);
  }
  return {};
}

// elide_start() at the beginning of a word, and of a component if half of the columns are used then.
std::string elide_path(std::string_view path, int columns) {
  if (fits(path, columns)) return std::string(path);
  const std::string_view end = tail_of_words(path, columns - 1);
  if (end.empty()) return elide_start(path, columns);  // one word that is longer than that
  const std::size_t cut = path.size() - end.size();
  for (const std::string_view component : components_of(path)) {
    const auto from = static_cast<std::size_t>(component.data() - path.data());
    const std::size_t next = from + component.size() + 3;  // after " / "
    if (cut <= from || cut >= from + component.size() || next >= path.size()) continue;
    const std::string whole = std::string(kEllipsis) + std::string(path.substr(next));
    if (2 * display_width(whole) >= columns) return whole;
  }
  return std::string(kEllipsis) + std::string(end);
}

// elide_middle() between words, where there are any to be cut between.
std::string elide_middle_words(std::string_view text, int columns) {
  if (fits(text, columns)) return std::string(text);
  const int room = columns - 1;
  const std::string_view half = head_of_words(text, room / 2);
  const std::string_view end = tail_of_words(text, room - display_width(half));
  std::string_view begin = head_of_words(text, room - display_width(end));
  // What joins the components says that something is left out behind it.
  constexpr std::string_view kSeparator = " / ";
  if (begin.empty() && text.starts_with(kSeparator) && display_width(end) + 3 <= room) begin = kSeparator;
  if (begin.empty() && end.empty()) return elide_middle(text, columns);
  return std::string(begin) + std::string(kEllipsis) + std::string(end);
}

}  // namespace

std::vector<std::string> elide_paths(const std::vector<std::string>& paths, int columns) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(elide_path(path, columns));
  // Each round parts a group at the last component in which its members differ.
  constexpr int kRounds = 4;
  constexpr int kMinRest = 8;
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (const auto& [shown, members] : places_of(out)) {
      const auto first = components_of(paths[members.front()]);
      std::size_t same = first.size();
      for (const std::size_t i : members) {
        if (paths[i] == paths[members.front()]) continue;
        const auto other = components_of(paths[i]);
        const auto parted = std::mismatch(first.rbegin(), first.rend(), other.rbegin(), other.rend());
        same = std::min(same, static_cast<std::size_t>(parted.first - first.rbegin()));
      }
      if (same == 0 || same == first.size()) continue;
      for (const std::size_t i : members) {
        const auto components = components_of(paths[i]);
        if (components.size() <= same) continue;
        const std::string_view parting = components[components.size() - 1 - same];
        const auto after = static_cast<std::size_t>(parting.data() + parting.size() - paths[i].data());
        const std::string_view rest = std::string_view(paths[i]).substr(after);
        const int left = columns - 1 - display_width(parting);
        if (left < kMinRest) continue;
        std::string text = std::string(kEllipsis) + std::string(parting) + elide_middle_words(rest, left);
        changed = changed || text != out[i];
        out[i] = std::move(text);
      }
    }
    if (!changed) break;
  }
  return out;
}

namespace {

// Names that part in more places than there is room for, or in what people are not shown, as overloads do in their
// parameters: the first that is listed is #1.
void number_what_looks_alike(const std::vector<std::string>& names, int columns,
                             std::vector<std::string>& out) {
  std::map<std::string, std::vector<std::size_t>> alike;  // by what is left of them beside a number
  for (const auto& [shown, members] : places_of(out)) {
    std::set<std::string_view> different;
    for (const std::size_t i : members) different.insert(names[i]);
    if (different.size() < 2) continue;
    const int number_columns = 2 + static_cast<int>(std::to_string(names.size()).size());
    std::vector<std::size_t>& with = alike[elide_end(shown, columns - number_columns)];
    with.insert(with.end(), members.begin(), members.end());
  }
  for (auto& [head, members] : alike) {
    std::sort(members.begin(), members.end());
    std::map<std::string_view, std::size_t> number_of;
    for (const std::size_t i : members) {
      const std::size_t next = number_of.size() + 1;
      const std::size_t number = number_of.try_emplace(names[i], next).first->second;
      out[i] = head + " #" + std::to_string(number);
    }
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_identifier(text[end])) ++end;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

// Of names that say the same of their functor the first word of each at which all of them differ; empty: there is none.
std::map<std::string, std::string> words_that_part(const std::set<std::string>& names) {
  constexpr std::size_t kMaxWord = 16;
  std::vector<std::vector<std::string_view>> words;
  std::size_t least = SIZE_MAX;
  for (const std::string& name : names) {
    words.push_back(words_of(name));
    least = std::min(least, words.back().size());
  }
  for (std::size_t at = 0; at < least; ++at) {
    std::set<std::string_view> different;
    for (const auto& each : words) different.insert(each[at].substr(0, kMaxWord));
    if (different.size() != names.size()) continue;
    std::map<std::string, std::string> of;
    std::size_t i = 0;
    for (const std::string& name : names) of[name] = words[i++][at].substr(0, kMaxWord);
    return of;
  }
  return {};
}

// Names that begin with what their functor is keep that beginning: of those that say the same there, what else parts
// them is put behind it, "MulFunctor<float> · elementwise_kernel<…4…>". `full` becomes what is to be told apart.
void name_by_functors(std::vector<std::string>& full, int columns, std::vector<std::string>& out) {
  std::map<std::string, std::set<std::string>> names_of;
  std::vector<std::string> said;
  for (const std::string& name : full) {
    const std::string brief = brief_name(name);
    said.push_back(what_arguments_say(split_name(brief)));
    if (said.back().find(' ') == std::string::npos) said.back().clear();
    if (!said.back().empty()) names_of[said.back()].insert(name);
  }
  std::map<std::string, std::string> words;  // by name, which has one functor
  for (const auto& [functor, names] : names_of) {
    if (names.size() > 1) words.merge(words_that_part(names));
  }
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (said[i].empty()) continue;
    const bool is_cut = out[i] == elide_end(said[i], columns);
    std::string mark;
    if (const auto word = words.find(full[i]); word != words.end())
      mark = "<" + std::string(kEllipsis) + word->second + std::string(kEllipsis) + ">";
    if (is_cut && !mark.empty() && columns - display_width(mark) >= kMinName)
      out[i] = elide_end(said[i], columns - display_width(mark)) + mark;
    full[i] = said[i] + mark;
  }
}

}  // namespace

std::vector<std::string> elide_kernel_names(const std::vector<std::string>& demangled_names, int columns) {
  // Code and grid stay whole: what is shortened is the names before them.
  std::vector<std::string> names;
  std::vector<std::string_view> suffixes;
  int suffix_columns = 0;
  for (const std::string& name : demangled_names) {
    suffixes.push_back(ranked_suffix(name));
    names.push_back(name.substr(0, name.size() - suffixes.back().size()));
    suffix_columns = std::max(suffix_columns, display_width(suffixes.back()));
  }
  if (suffix_columns > 0 && columns - suffix_columns >= kMinName) {
    std::vector<std::string> shown = elide_kernel_names(names, columns - suffix_columns);
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] += suffixes[i];
    return shown;
  }
  std::vector<std::string> full;
  std::vector<std::string> out;
  std::map<std::string, std::set<std::string>> wholes;  // of each brief name
  for (const std::string& name : demangled_names) {
    full.push_back(kernel_display_name(name));
    wholes[brief_name(full.back())].insert(full.back());
    out.push_back(elide_kernel_name(name, columns));
  }
  // Brief as they are shown, unless that takes away what tells two of them apart.
  for (const auto& [brief, names_of_it] : wholes) {
    if (names_of_it.size() == 1) std::replace(full.begin(), full.end(), *names_of_it.begin(), brief);
  }
  name_by_functors(full, columns, out);
  // Each round parts a group at its members' first difference; a group of n needs at most n - 1.
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (const auto& [shown, members] : places_of(out)) {
      std::set<std::string> distinct;
      for (const std::size_t i : members) distinct.insert(full[i]);
      if (distinct.size() < 2) continue;
      const std::string& first = *distinct.begin();
      const std::string& last = *distinct.rbegin();  // sorted: what these two share, all share
      const auto split = std::mismatch(
          first.begin(), first.begin() + static_cast<std::ptrdiff_t>(std::min(first.size(), last.size())),
          last.begin());
      auto part = static_cast<std::size_t>(split.first - first.begin());
      while (part > 0 && part < first.size() && (static_cast<unsigned char>(first[part]) & 0xc0u) == 0x80u)
        --part;
      // The word that differs is read from its beginning.
      std::size_t word = part;
      while (word > 0 && part - word < 12 && (std::isalnum(static_cast<unsigned char>(first[word - 1])) != 0))
        --word;
      if (word > 0 && std::isalnum(static_cast<unsigned char>(first[word - 1])) != 0) word = part;
      for (const std::size_t i : members) {
        const std::string_view name = full[i];
        const std::string_view function = split_name(name).function;
        const auto begin = static_cast<std::size_t>(function.data() - name.data());
        // The whole function name and its bracket, if that leaves room for what differs.
        const int head_columns =
            std::max((columns - 2) / 2, std::min(display_width(function) + 1, columns - 14));
        const std::string_view opening =
            begin < word ? head(name.substr(begin, word - begin), head_columns) : std::string_view();
        const bool gap = begin + opening.size() < word;
        const std::string_view rest = name.substr(
            std::min(opening.empty() ? word : std::max(word, begin + opening.size()), name.size()));
        std::string text = std::string(opening) + (gap || opening.empty() ? std::string(kEllipsis) : "");
        text += elide_end(rest, columns - display_width(text));
        changed = changed || text != out[i];
        out[i] = std::move(text);
      }
    }
    if (!changed) break;
  }
  number_what_looks_alike(demangled_names, columns, out);
  return out;
}

}  // namespace ridgeline::reports
