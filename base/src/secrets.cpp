#include "ridgeline/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ridgeline {

namespace {

constexpr std::string_view kHidden = "***";

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}
bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// "--hfToken", "HF_TOKEN" and "hf-token" are hf, token.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_alphanumeric(c)) {
      inside = false;
      continue;
    }
    const bool hump = i > 0 && std::isupper(static_cast<unsigned char>(c)) != 0 &&
                      std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (!inside || hump) words.emplace_back();
    words.back() += lower(c);
    inside = true;
  }
  return words;
}

bool contains(const std::string& word, std::string_view part) {
  return word.find(part) != std::string::npos;
}

// Parts that stand in the middle of words too: "dbpassword".
bool is_secret_word(const std::string& word) {
  for (const std::string_view part : {"passw", "secret", "credential", "apikey", "cookie", "jwt"}) {
    if (contains(word, part)) return true;
  }
  for (const std::string_view whole :
       {"pass", "pwd", "passphrase", "auth", "authorization", "bearer", "accesskey", "privatekey",
        "authtoken", "accesstoken", "hftoken", "license", "sas", "signature"}) {
    if (word == whole) return true;
  }
  return false;
}

// Tokens of a text have names too.
bool names_text_token(const std::string& word) {
  for (const std::string_view kind : {"pad", "eos", "bos", "unk", "sep", "cls", "mask", "max", "min", "num",
                                      "per", "special", "stop", "start", "end", "prefix", "image", "each"}) {
    if (word == kind) return true;
  }
  return false;
}

// Prefixes by which services mark their tokens, and how many characters follow at least.
struct Mark {
  std::string_view text;
  std::size_t least;
};
constexpr Mark kMarks[] = {{"hf_", 16},         {"sk-", 16},    {"ghp_", 16},  {"gho_", 16},  {"ghs_", 16},
                           {"github_pat_", 16}, {"glpat-", 16}, {"xoxb-", 16}, {"xoxp-", 16}, {"AKIA", 16},
                           {"ASIA", 16},        {"AIza", 30},   {"nvapi-", 16}};

bool is_token_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-';
}

// Of "Authorization: Bearer TOKEN", as programs take headers.
constexpr std::string_view kBearer = "bearer ";

bool begins_with_bearer(std::string_view value) {
  return value.size() > kBearer.size() && std::equal(kBearer.begin(), kBearer.end(), value.begin(),
                                                     [](char a, char b) { return a == lower(b); });
}

std::string without_tokens(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size();) {
    std::size_t end = i;
    const bool at_begin = i == 0 || !is_token_character(value[i - 1]);
    if (at_begin && begins_with_bearer(value.substr(i))) {
      out += value.substr(i, kBearer.size());
      i += kBearer.size();
      end = std::min(value.find_first_of(" \t\"',;", i), value.size());
    } else if (at_begin) {
      for (const Mark& mark : kMarks) {
        if (value.substr(i, mark.text.size()) != mark.text) continue;
        std::size_t at = i + mark.text.size();
        while (at < value.size() && is_token_character(value[at])) ++at;
        if (at - i - mark.text.size() >= mark.least) end = std::max(end, at);
      }
    }
    if (end > i) {
      out += kHidden;
      i = end;
    } else {
      out += value[i++];
    }
  }
  return out;
}

// "scheme://user:password@host/path?query" keeps the host and the path.
std::string without_url_secrets(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const std::size_t scheme = value.find("://");
    if (scheme == std::string_view::npos) break;
    const std::size_t host = scheme + 3;
    // One of several URLs ends at a blank, a quote or a comma.
    const std::size_t end = std::min(value.find_first_of(" \t\"',;", host), value.size());
    std::string_view rest = value.substr(host, end - host);
    out += value.substr(0, host);
    const std::size_t authority = std::min(rest.find_first_of("/?#"), rest.size());
    if (const std::size_t at = rest.substr(0, authority).rfind('@'); at != std::string_view::npos) {
      out += kHidden;
      rest.remove_prefix(at);
    }
    const std::size_t query = rest.find('?');
    out += rest.substr(0, query);
    if (query != std::string_view::npos) (out += '?') += kHidden;
    value.remove_prefix(end);
  }
  return out + std::string(value);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_secret_word(words[i])) return true;
    const bool key_of =
        i > 0 && (words[i - 1] == "api" || words[i - 1] == "access" || words[i - 1] == "private" ||
                  words[i - 1] == "account" || words[i - 1] == "encryption");
    if (key_of && words[i] == "key") return true;
    if (words[i] == "token" && (i == 0 || !names_text_token(words[i - 1])) &&
        (i + 1 == words.size() || words[i + 1] == "value"))
      return true;
  }
  return false;
}

std::string without_secrets(std::string_view value) {
  return without_tokens(without_url_secrets(value));
}

std::vector<std::string> command_without_secrets(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool hide = false;  // the value of the option before
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    const bool option = word.starts_with("-");
    if (hide && !option) {
      out.emplace_back(kHidden);
    } else if (equal != std::string::npos && is_secret_name(std::string_view(word).substr(0, equal))) {
      out.push_back(word.substr(0, equal + 1) + std::string(kHidden));
    } else {
      out.push_back(without_secrets(word));
    }
    hide = option && equal == std::string::npos && is_secret_name(word);
  }
  return out;
}

}  // namespace ridgeline
