// verb_mcp.cpp: serves agents over standard input and output.
#include <unistd.h>

#include <chrono>
#include <memory>

#include "ridgeline/mcp/server.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_mcp(Command program) {
  struct Options {
    std::string root = ".";
    std::int64_t time_limit = 20;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "mcp",
      "Serve captures to agents: the Model Context Protocol over standard input and output, read-only");
  app.add_option("--root", options->root,
                 "Only captures below this folder are read (default: where it is started)")
      .type_name("DIR");
  app.add_option("--time-limit", options->time_limit, "Seconds that one call may take (default 20)")
      .type_name("SECONDS")
      .range(1, 86'400);  // a day
  return {
      app, [options] {
        mcp::serve({options->root, std::chrono::seconds(options->time_limit)}, STDIN_FILENO, STDOUT_FILENO);
        return 0;
      }};
}

}  // namespace ridgeline::cli
