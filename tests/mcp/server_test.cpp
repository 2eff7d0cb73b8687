// The server of the Model Context Protocol: both eras, what it answers, and what it refuses.
#include "ridgeline/mcp/server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/fabricated_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::mcp {
namespace {

using nlohmann::json;

constexpr const char* kVersion = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilities = "io.modelcontextprotocol/clientCapabilities";

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ + "/runs");
    testing::write_fabricated_capture(root_ + "/runs/a.ridge");
    testing::write_fabricated_capture(folder_ / "outside.ridge");
    std::filesystem::create_symlink(folder_ / "outside.ridge", root_ + "/link.ridge");
    std::ofstream(root_ + "/text.ridge") << "no capture\n";
    server_.emplace(ServerOptions{root_, std::chrono::milliseconds(20'000)});
  }
  // What the server says to that line.
  json said(const std::string& line) { return json::parse(server_->answer(line)); }
  json request(const std::string& method, json params = json::object()) {
    params["_meta"] = {{kVersion, "2026-07-28"}, {kCapabilities, json::object()}};
    return said(json{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}}.dump());
  }
  json call(const std::string& tool, const json& arguments = json::object()) {
    const json answer = request("tools/call", {{"name", tool}, {"arguments", arguments}});
    EXPECT_TRUE(answer.contains("result")) << answer;
    const json& result = answer["result"];
    if (!result["isError"].get<bool>()) {
      EXPECT_EQ(json::parse(result["content"][0]["text"].get<std::string>()), result["structuredContent"]);
    }
    // Three bytes are a token or more of one: both copies together are below 10,000.
    EXPECT_LT(answer.dump().size(), 36'000U);
    EXPECT_LT(result["content"][0]["text"].get<std::string>().size(), 14'001U);
    return result["structuredContent"];
  }
  std::string refused(const std::string& tool, const json& arguments) {
    const json answer = request("tools/call", {{"name", tool}, {"arguments", arguments}});
    EXPECT_TRUE(answer["result"]["isError"].get<bool>()) << answer;
    return answer["result"]["structuredContent"].value("error", "");
  }
  void expect_alive() { EXPECT_EQ(call("captures")["rows_total"], 1); }

  testing::TemporaryDirectory folder_;
  std::string root_ = folder_ / "root";
  std::optional<Server> server_;
};

TEST_F(ServerTest, TheEraWithoutAHandshakeAsksEachRequestForItsVersion) {
  const json discovered = request("server/discover")["result"];
  EXPECT_EQ(discovered["resultType"], "complete");
  EXPECT_EQ(discovered["supportedVersions"], json::array({"2026-07-28"}));
  EXPECT_EQ(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ridgeline");
  EXPECT_TRUE(discovered.contains("ttlMs") && discovered.contains("cacheScope"));
  const json tools = request("tools/list")["result"];
  EXPECT_EQ(tools["resultType"], "complete");
  EXPECT_EQ(tools["tools"].size(), 8U);
  for (const json& tool : tools["tools"]) {
    EXPECT_TRUE(tool["annotations"]["readOnlyHint"].get<bool>());
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_FALSE(tool["inputSchema"]["additionalProperties"].get<bool>());
  }
  EXPECT_EQ(request("ping")["error"]["code"], -32601) << "this era has none";
  const json other = said(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}})");
  EXPECT_EQ(other["error"]["code"], -32022);
  EXPECT_EQ(other["error"]["data"]["requested"], "2031-01-01");
  EXPECT_EQ(other["error"]["data"]["supported"], json::array({"2026-07-28"}));
  const json without = said(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  EXPECT_EQ(without["error"]["code"], -32602) << "the client's capabilities are required";
  EXPECT_EQ(said(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["error"]["code"], -32602);
}

TEST_F(ServerTest, TheEraWithAHandshakeIsForTheWholeConnection) {
  const json begun = said(
      R"({"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
  EXPECT_EQ(begun["id"], "a");
  EXPECT_EQ(begun["result"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(begun["result"]["serverInfo"]["name"], "ridgeline");
  EXPECT_EQ(server_->answer(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), "");
  const json tools = said(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})")["result"];
  EXPECT_EQ(tools["tools"].size(), 8U);
  EXPECT_FALSE(tools.contains("resultType"));
  EXPECT_EQ(said(R"({"jsonrpc":"2.0","id":3,"method":"ping"})")["result"], json::object());
  const json newer = said(
      R"({"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2030-01-01","capabilities":{}}})");
  EXPECT_EQ(newer["result"]["protocolVersion"], "2025-11-25") << "the newest that it speaks";
}

TEST_F(ServerTest, MalformedMessagesAreRefusedAndTheServerGoesOn) {
  const auto code = [&](const std::string& line) { return said(line)["error"]["code"].get<int>(); };
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code("\xff\xfe"), -32700);
  EXPECT_EQ(code("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code("7"), -32600);
  EXPECT_EQ(code(R"({"id":1,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":{},"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":7})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":3}})"), -32602);
  EXPECT_EQ(code(std::string(1 << 20, '[')), -32600) << "nested too deeply";
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":)" + std::string(500'000, '[')), -32600);
  EXPECT_EQ(request("tools/call", {{"name", "no_such"}})["error"]["code"], -32602);
  EXPECT_EQ(request("tools/call", {{"name", 7}})["error"]["code"], -32602);
  EXPECT_EQ(request("tools/call", {{"name", "rank"}, {"arguments", json::array()}})["error"]["code"], -32602);
  EXPECT_EQ(request("prompts/list")["error"]["code"], -32601);
  EXPECT_EQ(server_->answer(R"({"jsonrpc":"2.0","id":1,"result":{}})"), "") << "an answer to nothing";
  expect_alive();
}

TEST_F(ServerTest, ArgumentsThatAToolDoesNotTakeAreNamed) {
  EXPECT_NE(refused("rank", json::object()).find("'capture' is missing"), std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", 7}}).find("'capture' must be a string"), std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"top", 0}}).find("1 to 200"), std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"top", 1e30}}).find("whole number"),
            std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"top", UINT64_MAX}}).find("whole number"),
            std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"colour", "red"}}).find("no argument 'colour'"),
            std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"by", "colour"}}).find("colour"),
            std::string::npos);
  EXPECT_NE(
      refused("explain", {{"capture", "runs/a.ridge"}, {"kernel", "no_such"}}).find("no kernel is called"),
      std::string::npos);
  EXPECT_NE(refused("rank", {{"capture", "runs/a.ridge"}, {"step", 100000}}).find("step"), std::string::npos);
  expect_alive();
}

TEST_F(ServerTest, NothingOutsideTheRootIsRead) {
  for (const char* name : {"../outside.ridge", "link.ridge", "/etc/passwd", "runs/../../outside.ridge",
                           "runs", "", "no_such.ridge", "."}) {
    const std::string why = refused("summary", {{"capture", name}});
    EXPECT_NE(why.find("the tool captures lists"), std::string::npos) << name << ": " << why;
  }
  EXPECT_NE(
      refused("compare", {{"a", "runs/a.ridge"}, {"b", folder_ / "outside.ridge"}}).find("below the root"),
      std::string::npos);
  refused("summary", {{"capture", std::string("runs/a.ridge\0x", 14)}});
  EXPECT_NE(refused("summary", {{"capture", "text.ridge"}}).find("not"), std::string::npos) << "no capture";
  // A name that is inside, whichever way it is said.
  EXPECT_TRUE(call("summary", {{"capture", root_ + "/runs/../runs/a.ridge"}}).contains("step"));
}

TEST_F(ServerTest, AHandleKnowsThatItsFileWasReplaced) {
  const std::string handle = call("captures")["rows"][0]["capture"];
  EXPECT_TRUE(call("summary", {{"capture", handle}}).contains("step"));
  testing::FabricatedCapture other;
  other.timeline_steps = 9;
  std::filesystem::remove(root_ + "/runs/a.ridge");
  testing::write_fabricated_capture(root_ + "/runs/a.ridge", other);
  EXPECT_NE(refused("summary", {{"capture", handle}}).find("was replaced"), std::string::npos);
  EXPECT_TRUE(call("summary", {{"capture", "runs/a.ridge"}}).contains("step"));
}

TEST_F(ServerTest, EndlessAndGreedyQueriesEnd) {
  server_.emplace(ServerOptions{root_, std::chrono::milliseconds(300)});
  const auto sql = [&](const std::string& query) {
    return json{{"capture", "runs/a.ridge"}, {"query", query}};
  };
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_NE(refused("sql",
                    sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT sum(i) FROM n"))
                .find("stopped after 0.3 s"),
            std::string::npos);
  EXPECT_NE(
      refused("sql",
              sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n WHERE i = 2"))
          .find("stopped after 0.3 s"),
      std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  server_.emplace(ServerOptions{root_, std::chrono::milliseconds(20'000)});
  std::string wide = "SELECT hex(zeroblob(30000000))";
  for (int i = 0; i < 40; ++i) wide += ", hex(zeroblob(30000000))";
  refused("sql", sql(wide));
  EXPECT_NE(refused("sql", sql("DELETE FROM run")).find("only SELECT"), std::string::npos);
  EXPECT_NE(refused("sql", sql("SELECT 1; SELECT 2")).find("one statement"), std::string::npos);
  EXPECT_NE(refused("sql", sql("ATTACH '/etc/passwd' AS p")).find("only SELECT"), std::string::npos);
  EXPECT_NE(refused("sql", sql("SELEKT")).find("syntax error"), std::string::npos);
  expect_alive();
}

TEST_F(ServerTest, SqlAnswersRowsAndSaysWhenThereAreMore) {
  const json all = call("sql", {{"capture", "runs/a.ridge"}, {"query", "SELECT 1 AS one, 'a' AS two, NULL"}});
  EXPECT_EQ(all["columns"], json::array({"one", "two", "NULL"}));
  EXPECT_EQ(all["rows"], json::array({json::array({1, "a", nullptr})}));
  EXPECT_FALSE(all["more_rows"].get<bool>());
  const json some =
      call("sql", {{"capture", "runs/a.ridge"}, {"query", "SELECT * FROM v_launch"}, {"max_rows", 1000}});
  EXPECT_TRUE(some["more_rows"].get<bool>());
  EXPECT_EQ(some["left_out"]["rows"].get<std::size_t>() + some["rows"].size(), 1000U);
  const json views = call("sql", {{"capture", "runs/a.ridge"}})["views"];
  EXPECT_TRUE(std::any_of(views.begin(), views.end(), [](const json& v) { return v["view"] == "v_launch"; }));
  EXPECT_NE(
      call("sql", {{"capture", "runs/a.ridge"}, {"view", "v_launch"}})["definition"].get<std::string>().find(
          "duration_ns"),
      std::string::npos);
}

TEST_F(ServerTest, EachAnswerHasCoverageErrorsAndWhatToAskNext) {
  const json capture = {{"capture", "runs/a.ridge"}};
  for (const char* tool : {"summary", "rank", "steps"}) {
    const json answer = call(tool, capture);
    EXPECT_TRUE(answer["quality"].contains("coverage_ratio")) << tool;
    EXPECT_TRUE(answer["quality"]["tiers"].is_array()) << tool;
    ASSERT_FALSE(answer["next"].empty()) << tool;
    EXPECT_EQ(answer["capture"].get<std::string>().find(root_), std::string::npos)
        << "no path of the machine";
  }
  const json ranked = call("rank", {{"capture", "runs/a.ridge"}, {"top", 3}});
  EXPECT_EQ(ranked["rows"].size(), 3U);
  EXPECT_GT(ranked["rows_total"].get<int>(), 3);
  for (const json& row : ranked["rows"])
    EXPECT_TRUE(row.contains("limiter_error_ratio") && row.contains("tier"));
  const json layers = call("rank", {{"capture", "runs/a.ridge"}, {"by", "layer"}});
  EXPECT_FALSE(layers["rows"].empty());
  const json explained = call("explain", {{"capture", "runs/a.ridge"}, {"kernel", "1"}});
  EXPECT_EQ(explained["kernel"]["rank"], 1);
  EXPECT_FALSE(explained["limits"].empty());
  const json ncu = call("ncu_command", {{"capture", "runs/a.ridge"}, {"kernel", "1"}});
  EXPECT_TRUE(ncu["command"].get<std::string>().starts_with("ncu "));
  const json compared = call("compare", {{"a", "runs/a.ridge"}, {"b", "runs/a.ridge"}});
  EXPECT_TRUE(compared.contains("verdict"));
}

TEST_F(ServerTest, ResourcesAreListedAndReadInBothEras) {
  const json listed = request("resources/list")["result"];
  EXPECT_TRUE(listed.contains("ttlMs") && listed.contains("cacheScope"));
  ASSERT_EQ(listed["resources"].size(), 3U);
  const auto read = [&](const std::string& uri) {
    const json result = request("resources/read", {{"uri", uri}})["result"];
    EXPECT_EQ(result["resultType"], "complete");
    EXPECT_EQ(result["contents"][0]["uri"], uri);
    const std::string text = result["contents"][0]["text"];
    EXPECT_LT(text.size(), 27'900U) << uri << " is whole";
    return text;
  };
  for (const json& each : listed["resources"]) EXPECT_FALSE(read(each["uri"]).empty()) << each;
  EXPECT_EQ(request("resources/templates/list")["result"]["resourceTemplates"].size(), 2U);
  EXPECT_NE(read("ridgeline://guide").find("70 % of its nearest roof"), std::string::npos);
  EXPECT_NE(read("ridgeline://metrics").find("`saved_target_ns`"), std::string::npos);
  EXPECT_EQ(read("ridgeline://metrics"), read("ridgeline://columns/rank"));
  // Every view that is named is there.
  const json views = call("sql", {{"capture", "runs/a.ridge"}})["views"];
  for (const json& view : views)
    EXPECT_NE(read("ridgeline://schema/" + view["view"].get<std::string>()).find("CREATE"),
              std::string::npos);
  for (const char* uri : {"ridgeline://", "ridgeline://schema/", "ridgeline://schema/run",
                          "ridgeline://guide/", "file:///etc/passwd", "ridgeline://../outside.ridge", ""})
    EXPECT_EQ(request("resources/read", {{"uri", uri}})["error"]["code"], -32602) << uri;
  EXPECT_EQ(request("resources/read", {{"uri", 7}})["error"]["code"], -32602);
  EXPECT_EQ(request("resources/list", {{"cursor", "x"}})["error"]["code"], -32602);
  EXPECT_TRUE(request("server/discover")["result"]["capabilities"].contains("resources"));
  said(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}})");
  const json older =
      said(R"({"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ridgeline://guide"}})");
  EXPECT_FALSE(older["result"].contains("ttlMs"));
  EXPECT_EQ(older["result"]["contents"][0]["mimeType"], "text/markdown");
  EXPECT_EQ(
      said(R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"x"}})")["error"]["code"],
      -32002);
}

TEST_F(ServerTest, HostileNamesAnswerInOneLine) {
  testing::FabricatedCapture hostile;
  hostile.extra_kernel = std::string(100'000, 'x') + "\x1b]0;owned\x07\r\n\xff";
  testing::write_fabricated_capture(root_ + "/hostile.ridge", hostile);
  for (const char* tool : {"summary", "rank"}) {
    const json answer = call(tool, {{"capture", "hostile.ridge"}});
    EXPECT_TRUE(answer.contains("rows")) << tool;
  }
  const std::string line = server_->answer(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rank","arguments":{"capture":"hostile.ridge"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::mcp
