#include "ridgeline/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "deadline.h"
#include "fit.h"
#include "message.h"
#include "resources.h"
#include "ridgeline/base/text.h"
#include "ridgeline/reports/version.h"
#include "ridgeline/store/statement_stop.h"
#include "tools.h"

namespace ridgeline::mcp {
namespace {

constexpr const char* kStateless = "2026-07-28";
// With a handshake, newest first.
constexpr std::array kWithHandshake = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr int kNoSuchResource = -32002;  // of the eras with a handshake
constexpr std::int64_t kToolsLastMs = 3'600'000;
constexpr std::int64_t kStatementMemory = std::int64_t{1} << 30U;

constexpr const char* kInstructions =
    "Ridgeline says which GPU kernels of a recorded training step to improve and what that would give. Ask "
    "captures, "
    "then summary, then explain for the kernel that could gain most; each answer has `next`, the calls worth "
    "making, "
    "and `left_out` where a list was cut. Times are in ns, ratios 0 to 1. A figure is worth what its error, "
    "tier (T0 "
    "timed, T1 sampled, T2 counted in replay, T3 with cold caches) and coverage say; what is null was not "
    "measured, "
    "which is not zero. Nothing can be changed: all tools only read. The resource ridgeline://guide is one "
    "page on how to "
    "go about it.";

Json server_info() {
  return {{"name", "ridgeline"}, {"version", reports::kVersion}};
}

Json capabilities() {
  return {{"tools", Json::object()}, {"resources", Json::object()}};
}

Json tool_list() {
  Json list = Json::array();
  for (const Tool& tool : tools()) {
    list.push_back(
        {{"name", tool.name},
         {"title", tool.title},
         {"description", tool.description},
         {"inputSchema", input_schema(tool)},
         {"annotations", {{"readOnlyHint", true}, {"idempotentHint", true}, {"openWorldHint", false}}}});
  }
  return list;
}

Json content(const Json& answer, bool failed) {
  Json out = Json::object();
  const std::string text = failed ? answer.value("error", "") : one_line_json(answer);
  out["content"] = Json::array({{{"type", "text"}, {"text", text}}});
  out["structuredContent"] = answer;
  out["isError"] = failed;
  return out;
}

Json failure(const std::string& message) {
  return content({{"error", bounded_text(one_line(message), 2000)}}, true);
}

}  // namespace

class Server::State {
 public:
  explicit State(const ServerOptions& options) : captures_(options.root), time_limit_(options.time_limit) {}

  Json result_of(const Message& message, const std::stop_token& stop) {
    if (message.method == "initialize") return initialise(message.params);
    const bool stateless = check_version(message);
    Json result = by_method(message, stateless, stop);
    if (stateless) {
      result["resultType"] = "complete";
      result["_meta"][kServerKey] = server_info();
    }
    return result;
  }

 private:
  Json initialise(const Json& params) {
    const auto version = params.find("protocolVersion");
    if (version == params.end() || !version->is_string())
      throw Refusal(kInvalidParams, "initialize: \"protocolVersion\" must be a string");
    handshake_ = true;
    const bool known = std::find(kWithHandshake.begin(), kWithHandshake.end(), version->get<std::string>()) !=
                       kWithHandshake.end();
    return {{"protocolVersion", known ? *version : Json(kWithHandshake.front())},
            {"capabilities", capabilities()},
            {"serverInfo", server_info()},
            {"instructions", kInstructions}};
  }

  // True: of the era without a handshake. Throws Refusal for a request of neither.
  bool check_version(const Message& message) const {
    const auto meta = message.params.find("_meta");
    const bool has_meta = meta != message.params.end();
    if (has_meta && !meta->is_object()) throw Refusal(kInvalidParams, "\"_meta\" must be an object");
    const auto version = has_meta ? meta->find(kVersionKey) : Json::const_iterator();
    if (!has_meta || version == meta->end()) {
      if (handshake_ || message.method == "ping") return false;
      throw Refusal(kInvalidParams,
                    fmt::format("params._meta lacks \"{}\"; or begin with initialize", kVersionKey));
    }
    if (!version->is_string())
      throw Refusal(kInvalidParams, fmt::format("\"{}\" must be a string", kVersionKey));
    if (*version != kStateless) {
      const Json data = {{"supported", Json::array({kStateless})}, {"requested", *version}};
      throw Refusal(kUnsupportedVersion, "this version of the protocol is not spoken here", data);
    }
    const auto client = meta->find(kCapabilitiesKey);
    if (client == meta->end() || !client->is_object())
      throw Refusal(kInvalidParams, fmt::format("params._meta lacks the object \"{}\"", kCapabilitiesKey));
    return true;
  }

  Json by_method(const Message& message, bool stateless, const std::stop_token& stop) {
    if (message.method == "server/discover" && stateless) {
      return {{"supportedVersions", Json::array({kStateless})},
              {"capabilities", capabilities()},
              {"instructions", kInstructions},
              {"ttlMs", kToolsLastMs},
              {"cacheScope", "public"}};
    }
    if (message.method == "tools/list") return page("tools", tool_list(), message, stateless);
    if (message.method == "resources/list") return page("resources", resource_list(), message, stateless);
    if (message.method == "resources/templates/list")
      return page("resourceTemplates", resource_templates(), message, stateless);
    if (message.method == "resources/read") return read_resource(message.params, stateless);
    if (message.method == "tools/call") return call_tool(message.params, stop);
    if (message.method == "ping" && !stateless) return Json::object();
    throw Refusal(kMethodNotFound,
                  fmt::format("no method '{}'", bounded_text(one_line(message.method), 100)));
  }

  // What does not change while the program runs, all at once.
  static Json page(const char* what, Json list, const Message& message, bool stateless) {
    if (message.params.contains("cursor"))
      throw Refusal(kInvalidParams, fmt::format("there is one page of {}", what));
    Json out = Json::object();
    out[what] = std::move(list);
    return stateless ? lasting(std::move(out)) : out;
  }
  static Json lasting(Json result) {
    result["ttlMs"] = kToolsLastMs;
    result["cacheScope"] = "public";
    return result;
  }

  static Json read_resource(const Json& params, bool stateless) {
    const auto uri = params.find("uri");
    if (uri == params.end() || !uri->is_string())
      throw Refusal(kInvalidParams, "resources/read: \"uri\" must be a string");
    std::optional<Json> found = resource(uri->get_ref<const std::string&>());
    if (!found) {
      throw Refusal(stateless ? kInvalidParams : kNoSuchResource,
                    fmt::format("no resource '{}': resources/list has them",
                                bounded_text(one_line(uri->get<std::string>()), 200)),
                    {{"uri", bounded_text(clean_text(uri->get<std::string>()), 200)}});
    }
    Json out = {{"contents", Json::array({std::move(*found)})}};
    return stateless ? lasting(std::move(out)) : out;
  }

  Json call_tool(const Json& params, const std::stop_token& stop) {
    const auto name = params.find("name");
    if (name == params.end() || !name->is_string())
      throw Refusal(kInvalidParams, "tools/call: \"name\" must be a string");
    const auto tool =
        std::find_if(tools().begin(), tools().end(), [&](const Tool& t) { return *name == t.name; });
    if (tool == tools().end()) {
      throw Refusal(kInvalidParams,
                    fmt::format("no tool '{}'", bounded_text(one_line(name->get<std::string>()), 100)));
    }
    const Json arguments = params.value("arguments", Json::object());
    if (!arguments.is_object()) throw Refusal(kInvalidParams, "tools/call: \"arguments\" must be an object");
    Deadline deadline(time_limit_, stop);
    const store::StatementStop statements(deadline.token());
    try {
      check_arguments(*tool, arguments);
      Json answer = tool->answer({captures_, arguments, deadline.token()});
      fit(answer);
      return content(answer, false);
    } catch (const Error& error) {
      if (deadline.passed()) return failure(too_long(*tool));
      if (error.kind() == ErrorKind::internal) throw;
      return failure(error.message());
    } catch (const std::bad_alloc&) {
      return failure(fmt::format("{}: not enough memory for the answer: ask for less", tool->name));
    }
  }

  [[nodiscard]] std::string too_long(const Tool& tool) const {
    return fmt::format(
        "{}: stopped after {} s, the limit of a call: ask for less, as for one step, a range, or fewer "
        "rows",
        tool.name, static_cast<double>(time_limit_.count()) / 1000);
  }

  Captures captures_;
  std::chrono::milliseconds time_limit_;
  bool handshake_ = false;
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {
  store::limit_statement_memory(kStatementMemory);
}
Server::~Server() = default;

std::string Server::answer(std::string_view message, const std::stop_token& stop) {
  Json id;
  try {
    const Json parsed = parse_json(message);
    id = id_of(parsed);
    const Message read = read_message(parsed);
    if (read.kind != Message::Kind::request) return "";
    std::string line = result_line(id, state_->result_of(read, stop));
    return stop.stop_requested() ? "" : line;
  } catch (const Refusal& refusal) {
    return error_line(id, refusal.code(), refusal.what(), refusal.data());
  } catch (const std::bad_alloc&) {
    return error_line(id, kInternalError, "out of memory");
  } catch (const std::exception& error) {
    return error_line(id, kInternalError, bounded_text(one_line(error.what()), 500));
  }
}

}  // namespace ridgeline::mcp
