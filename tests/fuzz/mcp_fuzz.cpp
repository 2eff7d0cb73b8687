// mcp_fuzz.cpp: what strangers may say to the server for agents: messages of both eras, changed.
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fuzz.h"
#include "reports/fabricated_capture.h"
#include "ridgeline/mcp/server.h"
#include "support/temporary_directory.h"

namespace ridgeline::fuzz {
namespace {

using nlohmann::json;

// Far above what an answer may have with its copy as text.
constexpr std::size_t kMaxLineBytes = 64'000;
constexpr int kInternalErrorCode = -32603;

std::string message(const std::string& method, json params) {
  params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                     {"io.modelcontextprotocol/clientCapabilities", json::object()}};
  return json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}.dump();
}

std::string call(const std::string& tool, const json& arguments) {
  return message("tools/call", {{"name", tool}, {"arguments", arguments}});
}

std::vector<std::string> messages() {
  const json capture = {{"capture", "c.ridge"}};
  const auto with = [&](const json& more) {
    json all = capture;
    all.update(more);
    return all;
  };
  return {
      R"({"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}})",
      R"({"jsonrpc":"2.0","id":2,"method":"ping"})",
      message("server/discover", json::object()),
      message("tools/list", json::object()),
      call("captures", {{"top", 3}}),
      call("summary", capture),
      call("rank", with({{"by", "layer,phase"}, {"top", 5}, {"range", "forward"}})),
      call("explain", with({{"kernel", "adam*"}, {"step", 3}})),
      call("steps", with({{"step", 4}})),
      call("compare", {{"a", "c.ridge"}, {"b", "../c.ridge"}}),
      call("sql",
           with({{"query", "SELECT kernel, count(*) FROM v_launch GROUP BY 1 ORDER BY 2"}, {"max_rows", 9}})),
      call("sql", with({{"view", "v_step"}})),
      call("ncu_command", with({{"kernel", "2"}, {"launches", 3}}))};
}

void check(const std::string& answer) {
  if (answer.empty()) return;  // a notification, or an answer of the client's
  if (answer.find('\n') != std::string::npos) throw std::logic_error("an answer of several lines");
  if (answer.size() > kMaxLineBytes)
    throw std::logic_error("an answer of " + std::to_string(answer.size()) + " bytes");
  const json read = json::parse(answer);
  if (read.contains("error") && read["error"]["code"] == kInternalErrorCode)
    throw std::logic_error(read["error"]["message"].get<std::string>());
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  const testing::TemporaryDirectory directory;
  testing::FabricatedCapture small;
  small.layers = 1;
  testing::write_fabricated_capture(directory / "c.ridge", small);
  mcp::Server server({directory / "", std::chrono::milliseconds(500)});
  fuzz::Target requests{"mcp", fuzz::messages(),
                        [&](const std::string& input, fuzz::Random&) { fuzz::check(server.answer(input)); }};
  return fuzz::main(argc, argv, {requests});
}
