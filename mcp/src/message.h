// message.h: JSON-RPC: what a request must be, and what is answered to one that is not.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "json.h"

namespace ridgeline::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kUnsupportedVersion = -32022;

/// Nothing that clients send is deeper.
inline constexpr int kMaxDepth = 32;

/// A request that is refused.
class Refusal : public std::runtime_error {
 public:
  Refusal(int code, const std::string& message, Json data = nullptr)
      : std::runtime_error(message), code_(code), data_(std::move(data)) {}
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const Json& data() const { return data_; }

 private:
  int code_;
  Json data_;
};

struct Message {
  enum class Kind { request, notification, response };
  Kind kind = Kind::request;
  Json id;  ///< a string or a whole number; of a request
  std::string method;
  Json params = Json::object();
};

/// Throws Refusal: no JSON, too deep.
[[nodiscard]] Json parse_json(std::string_view text);
/// The id of a message as far as it can be said: null else.
[[nodiscard]] Json id_of(const Json& message);
/// Throws Refusal: not a message of JSON-RPC 2.0.
[[nodiscard]] Message read_message(const Json& message);

[[nodiscard]] std::string result_line(const Json& id, Json result);
[[nodiscard]] std::string error_line(const Json& id, int code, std::string_view message,
                                     const Json& data = nullptr);

}  // namespace ridgeline::mcp
