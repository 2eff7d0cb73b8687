// verb_info.cpp: what a capture says about its recording.
#include <memory>

#include "verb.h"

namespace ridgeline::cli {

Verb add_info(Command program) {
  struct Options {
    std::string capture;
    PrintOptions print;
    bool verify = false;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("info", "Show what was recorded: run, devices, versions, tiers, completeness");
  app.add_option("CAPTURE", options->capture, "Capture file (*.ridge)").required().type_name("");
  app.add_flag("--all", options->print.all, "Print every line: long sections are cut otherwise");
  app.add_flag("--verify", options->verify,
               "Read everything and say whether it still is what was written: exit 0 it is, 3 it is not");
  add_print_options(app, options->print, false);
  return {app, [options] {
            if (options->verify)
              return answer(options->capture, {}, queries::VerifyQuery{}, options->print).exit_code;
            answer(options->capture, {}, queries::InfoQuery{}, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
