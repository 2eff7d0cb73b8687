#include "message.h"

namespace ridgeline::mcp {

Json parse_json(std::string_view text) {
  // Thrown while it is read: what is deeper is never built.
  const Json::parser_callback_t shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw Refusal(kInvalidRequest, "the message is nested too deeply");
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), shallow);
  } catch (const Json::exception&) {
    throw Refusal(kParseError, "the line is no JSON");
  }
}

Json id_of(const Json& message) {
  if (!message.is_object()) return nullptr;
  const auto id = message.find("id");
  if (id == message.end() || !(id->is_string() || id->is_number_integer())) return nullptr;
  return *id;
}

Message read_message(const Json& message) {
  if (message.is_array()) throw Refusal(kInvalidRequest, "batches are not taken: one message a line");
  if (!message.is_object()) throw Refusal(kInvalidRequest, "a message is an object");
  const auto version = message.find("jsonrpc");
  if (version == message.end() || *version != "2.0")
    throw Refusal(kInvalidRequest, "\"jsonrpc\" must be \"2.0\"");
  Message out;
  const auto method = message.find("method");
  if (method == message.end()) {
    if (!message.contains("result") && !message.contains("error"))
      throw Refusal(kInvalidRequest, "a request has a \"method\"");
    out.kind = Message::Kind::response;
    return out;
  }
  if (!method->is_string()) throw Refusal(kInvalidRequest, "\"method\" must be a string");
  out.method = method->get<std::string>();
  if (!message.contains("id")) {
    out.kind = Message::Kind::notification;
  } else {
    out.id = id_of(message);
    if (out.id.is_null()) throw Refusal(kInvalidRequest, "\"id\" must be a string or a whole number");
  }
  if (const auto params = message.find("params"); params != message.end()) {
    if (!params->is_object()) throw Refusal(kInvalidParams, "\"params\" must be an object");
    out.params = *params;
  }
  return out;
}

std::string result_line(const Json& id, Json result) {
  Json out = Json::object();
  out["jsonrpc"] = "2.0";
  out["id"] = id;
  out["result"] = std::move(result);
  return one_line_json(out);
}

std::string error_line(const Json& id, int code, std::string_view message, const Json& data) {
  Json error = {{"code", code}, {"message", message}};
  if (!data.is_null()) error["data"] = data;
  Json out = Json::object();
  out["jsonrpc"] = "2.0";
  out["id"] = id;
  out["error"] = std::move(error);
  return one_line_json(out);
}

}  // namespace ridgeline::mcp
