// secrets.h: what must not be kept of a command line or an environment, which often carry passwords.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// Whether something of that name (an option, a variable) holds a password, a key or a token. "--hf-token" and
/// "DB_PASSWORD" do; "--max-tokens", "--tokenizer" and "pad_token" do not.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A value without what looks like a secret in it: the user and password of a URL, a URL's query, tokens of well-known
/// services.
[[nodiscard]] std::string without_secrets(std::string_view value);

/// The words of a command line, the values of secret options and variables ("--token X", "--token=X", "TOKEN=X")
/// replaced by "***", the others without_secrets().
[[nodiscard]] std::vector<std::string> command_without_secrets(const std::vector<std::string>& words);

}  // namespace ridgeline
