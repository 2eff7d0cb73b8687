// verb_sql.cpp: one SELECT over a capture, read-only.
#include <fmt/format.h>

#include <memory>

#include "output.h"
#include "ridgeline/queries/gap_view.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_sql(Command program) {
  struct Options {
    std::string capture;
    std::string query;
    PrintOptions print;
    std::int64_t max_rows = 10000;
    bool schema = false;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("sql", "Run one SELECT over a capture; --schema lists the documented views");
  app.add_option("CAPTURE", options->capture, "Capture file (*.ridge)").type_name("");
  app.add_option("SELECT", options->query, "The query, quoted as one argument").type_name("");
  app.add_flag("--schema", options->schema, "Print the views, each column with its meaning");
  app.add_option("--max-rows", options->max_rows, "Stop after N rows; 0: all (default 10000)")
      .whole_number(0)
      .type_name("N");
  add_print_options(app, options->print, false);
  return {app, [options] {
            if (options->schema) {
              std::string views = queries::all_views_sql();
              views.erase(0, views.find_first_not_of('\n'));
              print(options->print, reports::Document(views));
              return 0;
            }
            if (options->capture.empty() || options->query.empty()) {
              throw Error(ErrorKind::usage,
                          "give a capture and a query: ridgeline sql FILE.ridge \"SELECT * FROM v_rank\"; "
                          "ridgeline sql --schema lists the views");
            }
            if (options->max_rows == 0) {
              answer(options->capture, {}, queries::SqlStreamQuery{options->query}, options->print);
              return 0;
            }
            const queries::SqlQuery query{options->query, options->max_rows};
            if (answer(options->capture, {}, query, options->print).cut && options->print.format != "text") {
              write_message("sql",
                            fmt::format("stopped after {} rows: --max-rows 0 prints all", options->max_rows));
            }
            return 0;
          }};
}

}  // namespace ridgeline::cli
