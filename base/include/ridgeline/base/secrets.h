// secrets.h: what must not be kept of a command line or an environment, which often carry passwords. docs/cli.md,
// "What is kept of the environment", lists the forms.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

/// Whether something of that name (an option, a variable) holds a password, a key or a token. "--hf-token" and
/// "DB_PASSWORD" do; "--max-tokens", "--tokenizer" and "pad_token" do not.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A value without what looks like a secret in it: the user and password of a URL, a URL's query, what a secret name
/// stands before ("password=X", "X-Api-Key: X", {"api_key": "X"}), JSON web tokens, tokens of well-known services.
[[nodiscard]] std::string without_secrets(std::string_view value);

/// The words of a command line, the values of secret options and variables ("--token X", "--token=X", "TOKEN=X", "-u
/// user:X", "-pX") replaced by "***", the others without_secrets(). `redact`: patterns (* stands for any text) of
/// words, of values and of names whose values are to be replaced too.
[[nodiscard]] std::vector<std::string> command_without_secrets(const std::vector<std::string>& words,
                                                               std::span<const std::string> redact = {});

/// The value of a variable, or "***" if it or its name matches a pattern.
[[nodiscard]] std::string variable_without_secrets(std::string_view name, std::string_view value,
                                                   std::span<const std::string> redact = {});

}  // namespace ridgeline
