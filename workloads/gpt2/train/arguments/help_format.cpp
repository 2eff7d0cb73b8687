#include "gpt2/train/arguments/help_format.h"

#include <sstream>

namespace ridgeline::gpt2 {
namespace {

constexpr std::size_t kLeft = 27;
constexpr std::size_t kWidth = 80;

std::string value_name(const CLI::Option* option) {
  if (option->get_items_expected_max() == 0) return {};  // a flag
  const std::string type = option->get_type_name().substr(0, option->get_type_name().find(':'));
  std::string name = type == "INT" || type == "UINT" ? " N" : type == "FLOAT" ? " X" : " NAME";
  if (option->get_expected_max() > 1) name += "...";
  return name;
}

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool) const {
  std::string names = option->get_name(false, true);
  // The value that a negated flag sets is no news to a reader.
  for (std::size_t at = names.find("{false}"); at != std::string::npos; at = names.find("{false}")) {
    names.erase(at, std::string_view("{false}").size());
  }
  std::string out = "  " + names + value_name(option);
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";

  std::size_t column = out.size();
  const auto indent = [&] {
    if (column + 1 > kLeft) {
      out += '\n';
      column = 0;
    }
    out += std::string(kLeft - column, ' ');
    column = kLeft;
  };
  indent();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > kLeft && column + 1 + word.size() > kWidth) indent();
    if (column > kLeft) out += ' ', ++column;
    out += word;
    column += word.size();
  }
  return out + '\n';
}

}  // namespace ridgeline::gpt2
