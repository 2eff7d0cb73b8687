#include "ncu/ncu_names.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace ridgeline::import {

namespace {

// The unnamed namespace, as each demangler calls it.
std::string without_unnamed(std::string_view name) {
  std::string text(name);
  for (const std::string_view unnamed :
       {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::", "`anonymous namespace'::"})
    for (std::size_t at = text.find(unnamed); at != std::string::npos; at = text.find(unnamed))
      text.erase(at, unnamed.size());
  return text;
}

// Where the function stands with its template arguments: behind namespaces and the type that it returns, before its
// parameters.
std::string_view called_function(std::string_view text) {
  std::size_t begin = 0, depth = 0, end = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '[') ++depth;
    if ((c == '>' || c == ']') && depth > 0) --depth;
    if (depth > 0) continue;
    if (c == '(') {
      end = i;
      break;
    }
    if (c == ':' || c == ' ') begin = i + 1;
  }
  return text.substr(begin, end - begin);
}

bool of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}
bool is_number(std::string_view token) {
  return !token.empty() && std::isdigit(static_cast<unsigned char>(token.front())) != 0;
}
bool is_word(std::string_view token) {
  return !token.empty() && of_word(token.front()) && !is_number(token);
}

// Words, numbers, "::" and single characters.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = 1;
    if (of_word(text[i]))
      while (i + length < text.size() && of_word(text[i + length])) ++length;
    else if (text.substr(i).starts_with("::"))
      length = 2;
    if (text[i] != ' ') tokens.push_back(text.substr(i, length));
    i += length;
  }
  return tokens;
}

class TemplateText {
 public:
  explicit TemplateText(std::string_view function) : tokens_(tokens_of(function)) {}

  std::string written() {
    while (at_ < tokens_.size()) take();
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::string_view token(std::size_t ahead) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : std::string_view();
  }
  [[nodiscard]] std::string_view before() const { return at_ == 0 ? std::string_view() : tokens_[at_ - 1]; }

  void take() {
    const std::string_view now = token(0);
    if (now == "(") return take_parenthesis();
    if (is_number(now)) return take_number();
    if (is_word(now)) return take_word();
    // Lambdas stand in either bracket; "::" is behind a name that is kept, for its namespaces are not.
    const bool kept = now != "::" && now != "{" && now != "}" && now != "[" && now != "]";
    if (now == ")" && lambdas_ > 0) --lambdas_;
    if (kept) text_.append(now);
    ++at_;
  }

  void take_word() {
    const std::string_view now = token(0);
    if (token(1) == "::") {
      at_ += 2;  // a namespace
      return;
    }
    if (now == "true" || now == "false")
      text_.append(now == "true" ? "1" : "0");
    else if (now != "const" && (now != "void" || !is_word(token(1))))  // "void f<int>" as an argument
      text_.append(now);
    ++at_;
  }

  void take_number() {
    std::string_view digits = token(0);
    if (!digits.starts_with("0x"))
      while (digits.size() > 1 && std::string_view("uUlL").find(digits.back()) != std::string_view::npos)
        digits.remove_suffix(1);
    text_.append(digits);
    ++at_;
  }

  void take_parenthesis() {
    if (token(1) == "instance" && is_number(token(2)) && token(3) == ")") {
      text_.append("#").append(token(2));  // {lambda()#3} of others
      at_ += 4;
      return;
    }
    if (before() == "lambda") {
      text_.append("(");
      ++lambdas_;
      ++at_;
      return;
    }
    // Parameters of a function, the type of a constant, or the call operator's name.
    std::size_t depth = 0;
    do {
      if (token(0) == "(") ++depth;
      if (token(0) == ")") --depth;
      ++at_;
    } while (depth > 0 && at_ < tokens_.size());
  }

  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0, lambdas_ = 0;
  std::string text_;
};

}  // namespace

std::string comparable_name(std::string_view name) {
  std::string text = without_unnamed(name);
  if (text.starts_with("void ")) text.erase(0, 5);
  std::erase(text, ' ');
  return text;
}

std::string plain_function_name(std::string_view name) {
  const std::string text = without_unnamed(name);
  const std::string_view function = called_function(text);
  return std::string(function.substr(0, function.find_first_of("<[")));
}

std::string template_text(std::string_view name) {
  const std::string text = without_unnamed(name);
  const std::string_view function = called_function(text);
  return function.find('<') == std::string_view::npos ? std::string() : TemplateText(function).written();
}

}  // namespace ridgeline::import
