#include "ridgeline/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ridgeline/base/pattern.h"
#include "ridgeline/base/text.h"

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
       {"pass", "pwd", "pw", "passphrase", "auth", "authorization", "bearer", "accesskey", "privatekey",
        "authtoken", "accesstoken", "hftoken", "license", "sas", "signature"}) {
    if (word == whole) return true;
  }
  return false;
}

// What a key of opens something: "--wandb-key", "ACCESS_KEY".
bool opens_something(const std::string& word) {
  for (const std::string_view what :
       {"api",       "access",  "private",     "account", "encryption", "wandb",        "openai",
        "anthropic", "hf",      "huggingface", "aws",     "azure",      "gcp",          "google",
        "storage",   "ssh",     "service",     "signing", "deploy",     "subscription", "datadog",
        "dd",        "neptune", "comet",       "clearml", "mlflow",     "sentry",       "slack",
        "ngc",       "nvidia",  "master",      "client",  "app",        "auth"}) {
    if (word == what) return true;
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
constexpr Mark kMarks[] = {
    {"hf_", 16},      {"sk-", 16},     {"ghp_", 16},        {"gho_", 16},     {"ghs_", 16},
    {"ghu_", 16},     {"ghr_", 16},    {"github_pat_", 16}, {"glpat-", 16},   {"gldt-", 16},
    {"glrt-", 16},    {"xoxa-", 16},   {"xoxb-", 16},       {"xoxp-", 16},    {"xoxr-", 16},
    {"xoxs-", 16},    {"xapp-", 16},   {"sk_live_", 16},    {"sk_test_", 16}, {"rk_live_", 16},
    {"rk_test_", 16}, {"whsec_", 16},  {"npm_", 16},        {"pypi-", 16},    {"dop_v1_", 16},
    {"doo_v1_", 16},  {"dor_v1_", 16}, {"dckr_pat_", 16},   {"shpat_", 16},   {"lin_api_", 16},
    {"rpa_", 16},     {"r8_", 16},     {"gsk_", 16},        {"ya29.", 16},    {"SG.", 16},
    {"hvs.", 16},     {"AKIA", 16},    {"ASIA", 16},        {"AIza", 30},     {"nvapi-", 16},
    {"wandb_v1_", 16}};

// A JSON web token begins with {" in base64; three parts, of which the last may be empty.
constexpr std::string_view kJsonWebToken = "eyJ";
constexpr std::size_t kMinTokenPart = 8;

bool is_token_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-';
}

// Of "Authorization: Bearer TOKEN", as programs take headers.
constexpr std::string_view kSchemes[] = {"bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate "};

bool begins_with(std::string_view value, std::string_view lower_case) {
  return value.size() > lower_case.size() && std::equal(lower_case.begin(), lower_case.end(), value.begin(),
                                                        [](char a, char b) { return a == lower(b); });
}

// The characters of a scheme's name and its blank, 0: none.
std::size_t scheme_of(std::string_view value) {
  for (const std::string_view scheme : kSchemes) {
    if (begins_with(value, scheme)) return scheme.size();
  }
  return 0;
}

// Where a JSON web token that begins here ends; 0: none does.
std::size_t json_web_token(std::string_view value) {
  if (!value.starts_with(kJsonWebToken)) return 0;
  std::size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t begin = at;
    while (at < value.size() && is_token_character(value[at])) ++at;
    if (part < 2 && (at - begin < kMinTokenPart || at == value.size() || value[at++] != '.')) return 0;
  }
  return at;
}

std::string without_tokens(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size();) {
    std::size_t end = i;
    const bool at_start = i == 0 || !is_token_character(value[i - 1]);
    if (at_start && begins_with(value.substr(i), kSchemes[0])) {
      out += value.substr(i, kSchemes[0].size());
      i += kSchemes[0].size();
      end = std::min(value.find_first_of(" \t\"',;", i), value.size());
    } else if (at_start && json_web_token(value.substr(i)) > 0) {
      end = i + json_web_token(value.substr(i));
    } else if (at_start) {
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

// The name that stands before a separator, as in "name": or NAME=; "" if there is none.
std::string_view name_before(std::string_view text, std::size_t separator) {
  std::size_t end = separator;
  while (end > 0 && text[end - 1] == ' ') --end;
  if (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  if (end > 0 && text[end - 1] == '\\') --end;
  std::size_t begin = end;
  while (begin > 0 && (is_token_character(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return text.substr(begin, end - begin);
}

// The end of a value that begins here. A header's value goes on to the end of its line, unless its scheme says where
// the secret stands; that of "password=" in a text to the next separator.
std::size_t value_end(std::string_view text, std::size_t begin, std::string_view name, char separator) {
  const std::vector<std::string> words = words_of(name);
  const bool header =
      separator == ':' && !words.empty() && (words.back() == "authorization" || words.back() == "cookie");
  return std::min(text.find_first_of(header ? "\r\n\"'" : " \t\r\n\"',;&})]", begin), text.size());
}

bool has(std::string_view text, int (*kind)(int)) {
  return std::any_of(text.begin(), text.end(),
                     [kind](char c) { return kind(static_cast<unsigned char>(c)) != 0; });
}

// A value as keys are: long, of letters and digits. Told of an option that is called some key.
bool looks_like_key(std::string_view value) {
  constexpr std::size_t kMin = 20;
  return value.size() >= kMin && has(value, std::isalpha) && has(value, std::isdigit) &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return is_token_character(c) || c == '+' || c == '/' || c == '='; });
}

bool is_called_key(std::string_view option) {
  const std::vector<std::string> words = words_of(option);
  return !words.empty() && words.back() == "key";
}

// What follows a secret name and = or : is replaced, quotes around it stay; after one that is called some key
// only if it looks like one.
std::string without_named_secrets(std::string_view text) {
  std::string out;
  std::size_t kept = 0;  // all before it is in `out`
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char separator = text[i];
    if (i < kept || (separator != '=' && separator != ':')) continue;
    // "ns::name" and "scheme://" name nothing.
    if (separator == ':' && (text.substr(i + 1).starts_with(":") || text.substr(i + 1).starts_with("//") ||
                             (i > 0 && text[i - 1] == ':')))
      continue;
    const std::string_view name = name_before(text, i);
    const bool called_key = is_called_key(name);
    if (name.empty() || (!is_secret_name(name) && !called_key)) continue;
    // A list of folders: "/run/secrets:/usr/lib".
    if (separator == ':' && name.data() > text.data() && *(name.data() - 1) == '/') continue;
    std::size_t begin = i + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    std::size_t end = begin;
    const bool escaped = begin < text.size() && text[begin] == '\\';
    const std::size_t quote = begin + (escaped ? 1 : 0);
    if (quote < text.size() && (text[quote] == '"' || text[quote] == '\'')) {
      begin = quote + 1;
      end = begin;
      while (end < text.size() && text[end] != text[quote]) end += text[end] == '\\' && !escaped ? 2 : 1;
      end = std::min(end, text.size());
      if (escaped && end > begin && text[end - 1] == '\\') --end;
    } else {
      const std::size_t scheme = scheme_of(text.substr(begin));
      begin += scheme;
      end = scheme > 0 ? std::min(text.find_first_of(" \t\r\n\"',;", begin), text.size())
                       : value_end(text, begin, name, separator);
    }
    if (end <= begin) continue;
    if (called_key && !is_secret_name(name) && !looks_like_key(text.substr(begin, end - begin))) continue;
    out += text.substr(kept, begin - kept);
    out += kHidden;
    kept = end;
  }
  return out + std::string(text.substr(kept));
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

std::string_view bare(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  return option;
}

// "user:password" as curl's -u takes it; "1000:1000" is a user's and a group's number. The password's place, or npos.
std::size_t password_of_user(std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size())
    return std::string_view::npos;
  const std::string_view user = value.substr(0, colon);
  const std::string_view password = value.substr(colon + 1);
  if (user.find('/') != std::string_view::npos || password.starts_with("//") || !has(password, std::isalpha))
    return std::string_view::npos;
  return colon + 1;
}

bool takes_user(std::string_view option) {
  for (const std::string_view name : {"-u", "-U", "--user", "--userpwd", "--proxy-user", "--basic-auth"}) {
    if (option == name) return true;
  }
  return false;
}

// "-phunter2", as mysql takes a password. Programs have options of one dash that begin with p as well: words, numbers,
// formats and ports are none.
bool is_attached_password(std::string_view word) {
  constexpr std::size_t kMin = 6;
  if (word.size() < kMin + 2 || !word.starts_with("-p")) return false;
  const std::string_view rest = word.substr(2);
  if (rest.find_first_of("=/:,.") != std::string_view::npos) return false;
  if (!has(rest, std::isalpha) || !has(rest, [](int c) { return std::isalpha(c) != 0 ? 0 : 1; }))
    return false;
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits > 0 && rest.size() - digits <= 3) return false;  // a number with its unit
  std::string letters = "p";                                  // the option's name, if it is one
  for (const char c : rest) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    letters += lower(c);
  }
  for (const std::string_view known :
       {"pad",   "page",  "parallel", "param", "parse",    "part",  "patch",  "path",   "peak",   "per",
        "phase", "pipe",  "place",    "plan",  "platform", "plot",  "plugin", "point",  "policy", "pool",
        "popul", "port",  "pos",      "power", "pre",      "print", "prior",  "pro",    "prune",  "ptx",
        "pull",  "purge", "push",     "pbf",   "pfp",      "pint",  "puint",  "pfloat", "ptf"}) {
    if (letters.starts_with(known)) return false;
  }
  return true;
}

bool matches_any(std::span<const std::string> patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, text); });
}

// One word, whatever stood before it.
std::string word_without_secrets(std::string_view word, std::span<const std::string> redact) {
  if (matches_any(redact, word)) return std::string(kHidden);
  const std::size_t equal = word.find('=');
  if (equal != std::string_view::npos) {
    const std::string_view name = word.substr(0, equal);
    const std::string_view value = word.substr(equal + 1);
    const bool plain =
        name.find_first_of(" \t\"'{:") == std::string_view::npos;  // else a text, not NAME=VALUE
    if (plain && (is_secret_name(name) || matches_any(redact, bare(name)) || matches_any(redact, value) ||
                  (is_called_key(name) && looks_like_key(value))))
      return std::string(word.substr(0, equal + 1)) + std::string(kHidden);
    if (const std::size_t at = password_of_user(value); takes_user(name) && at != std::string_view::npos)
      return std::string(word.substr(0, equal + 1 + at)) + std::string(kHidden);
  }
  if (is_attached_password(word)) return "-p" + std::string(kHidden);
  if (word.starts_with("-u") && word.size() > 2) {
    if (const std::size_t at = password_of_user(word.substr(2)); at != std::string_view::npos)
      return std::string(word.substr(0, 2 + at)) + std::string(kHidden);
  }
  return without_secrets(word);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_secret_word(words[i])) return true;
    if (i > 0 && words[i] == "key" && opens_something(words[i - 1])) return true;
    if (words[i] == "token" && (i == 0 || !names_text_token(words[i - 1])) &&
        (i + 1 == words.size() || words[i + 1] == "value"))
      return true;
  }
  return false;
}

std::string without_secrets(std::string_view value) {
  return without_tokens(without_named_secrets(without_url_secrets(value)));
}

std::vector<std::string> command_without_secrets(const std::vector<std::string>& words,
                                                 std::span<const std::string> redact) {
  std::vector<std::string> out;
  std::string_view before;  // the option that the word may be the value of
  for (const std::string& word : words) {
    const bool option = is_option(word);
    // A token may begin with a dash; what begins with two, or is a single letter, is the next option.
    const bool value = !before.empty() && (!option || (word.size() > 2 && !word.starts_with("--")));
    const std::size_t password = takes_user(before) ? password_of_user(word) : std::string::npos;
    const bool is_key = !option && is_called_key(before) && looks_like_key(word);
    if (value && (is_key || is_secret_name(before) || matches_any(redact, bare(before)))) {
      out.emplace_back(kHidden);
    } else if (password != std::string::npos && !option) {
      out.push_back(word.substr(0, password) + std::string(kHidden));
    } else if (word.find(' ') != std::string::npos && word.find(" -") != std::string::npos) {
      // A line for a shell, as `sh -c` takes it: its words are options as well.
      const std::string line = word_without_secrets(word, redact);
      std::string joined;
      for (const std::string& part : command_without_secrets(split(line, ' '), redact))
        joined += (joined.empty() ? "" : " ") + part;
      out.push_back(std::move(joined));
    } else {
      out.push_back(word_without_secrets(word, redact));
    }
    before = option && word.find('=') == std::string::npos ? std::string_view(word) : std::string_view();
  }
  return out;
}

std::string variable_without_secrets(std::string_view name, std::string_view value,
                                     std::span<const std::string> redact) {
  if (matches_any(redact, name) || matches_any(redact, value)) return std::string(kHidden);
  return without_secrets(value);
}

}  // namespace ridgeline
