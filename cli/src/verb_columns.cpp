// verb_columns.cpp: the columns that --columns and --sort take, and that JSON and CSV have.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "output.h"
#include "ridgeline/reports/tables.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

using Declared = reports::DeclaredTable;

// A column a paragraph: its key, and its meaning after it.
std::string columns_text(const reports::Table& table, const reports::TextStyle& style) {
  std::size_t width = 0;
  for (const reports::ColumnHead& c : table.columns()) width = std::max(width, c.key.size());
  const int indent = static_cast<int>(width) + 2;
  std::string out;
  for (const reports::ColumnHead& c : table.columns()) {
    const std::string margin(static_cast<std::size_t>(indent) - c.key.size(), ' ');
    out += reports::styled(c.key, reports::Style::strong, style.colour) + margin;
    for (const char letter : reports::wrapped(c.help, style.columns - indent)) {
      out += letter;
      if (letter == '\n') out.append(static_cast<std::size_t>(indent), ' ');
    }
    out += '\n';
  }
  for (const reports::ColumnGroup& group : table.groups()) {
    out += reports::wrapped(fmt::format("{}: a group of {}", group.name, fmt::join(group.keys, ", ")),
                            style.columns, 2) +
           "\n";
  }
  return out;
}

const Declared& declared(const std::string& name) {
  std::string known;
  for (const Declared& table : reports::declared_tables()) {
    if (table.name == name) return table;
    known += (known.empty() ? "" : ", ") + table.name;
  }
  throw Error(ErrorKind::usage, fmt::format("no table '{}': choose from {}", name, known));
}

}  // namespace

Verb add_columns(Command program) {
  struct Options {
    std::string table = "rank";
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("columns", "List the columns of a table: keys, headers, meanings");
  app.add_option("TABLE", options->table,
                 "rank, check, steps, phases, accounting, bounds, gaps, launches, compare, parts, transfers, "
                 "history, ceilings, roofline, ladder "
                 "or work (default rank)")
      .type_name("");
  app.add_flag("--markdown", options->markdown, "As docs/json.md has them");
  return {app, [options] {
            const reports::Table& table = declared(options->table).table;
            write_standard_output(options->markdown ? reports::columns_markdown(table)
                                                    : columns_text(table, standard_output_style()));
            return 0;
          }};
}

}  // namespace ridgeline::cli
