// info_documents.cpp: what a capture says about its recording, and the result of a query.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

JsonPart keys_json(const Table& table) {
  std::vector<std::string> keys;
  for (const ColumnHead& column : table.columns()) keys.push_back(column.key);
  return texts_json(keys);
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 32);
  return text;
}

}  // namespace

Document info_document(const analyzer::Model& model, const std::map<std::string, std::int64_t>& rows,
                       const DocumentOptions& options) {
  DocumentOptions whole = options;
  whole.all = true;  // it is cut section by section
  const Table table = chosen(info_table(model, rows), whole);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(render_markdown(table));
    case Format::json:
      return Document([table, &model](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.info");
        out.value("capture", capture_json(model));
        out.rows("rows", table);
        out.finish();
      });
    case Format::text:
      break;
  }
  if (!options.columns.empty()) return Document(render_text(table, options.text));
  // Sections as headings; long values wrap after their name.
  int label_width = 0;
  for (std::size_t row = 0; row < table.size(); ++row)
    label_width = std::max(label_width, display_width(terminal_safe(table.cell(row, 1).words())));
  label_width = std::min(label_width, 28);
  std::string out;
  std::string section;
  std::size_t in_section = 0;
  const auto end_section = [&] {
    if (in_section <= kRowsShown || options.all) return;
    out += fmt::format("  {} more: --all shows them\n",
                       integer(static_cast<std::int64_t>(in_section - kRowsShown)));
  };
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (std::string of = table.cell(row, std::size_t{0}).words(); of != section) {
      end_section();
      in_section = 0;
      section = std::move(of);
      if (!out.empty()) out += '\n';
      out += styled(capitalised(section), Style::strong, options.text.colour) + "\n";
    }
    if (++in_section > kRowsShown && !options.all) continue;
    const std::string label = elide_middle(terminal_safe(table.cell(row, 1).words()), label_width);
    const std::string fill(static_cast<std::size_t>(label_width - display_width(label)), ' ');
    const int indent = label_width + 4;
    const std::string value =
        wrapped(terminal_safe(bounded(table.cell(row, 2).words())), options.text.columns - indent);
    out += "  " + styled(label, Style::dim, options.text.colour) + fill + "  ";
    for (const char c : value) {
      out += c;
      if (c == '\n') out.append(static_cast<std::size_t>(indent), ' ');
    }
    out += '\n';
  }
  end_section();
  return Document(std::move(out));
}

Document query_document(const store::Capture::Table& result, bool truncated, const DocumentOptions& options) {
  DocumentOptions whole = options;
  whole.all = true;  // --max-rows has cut it
  const Table table = chosen(query_table(result), whole);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(render_markdown(table));
    case Format::json:
      return Document([table, truncated](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.sql");
        out.value("columns", keys_json(table));
        out.value("truncated", truncated);
        out.rows("rows", table);
        out.finish();
      });
    case Format::text:
      break;
  }
  std::string out = render_text(table, options.text);
  out += styled(counted(static_cast<std::int64_t>(table.size()), "row") +
                    (truncated ? ", and more: --max-rows 0 prints all" : ""),
                Style::dim, options.text.colour);
  return Document(out + "\n");
}

Document query_document(const store::Capture& capture, std::string sql, const DocumentOptions& options) {
  return Document([&capture, sql = std::move(sql), options](const Sink& sink) {
    const bool for_people = options.format == Format::text || options.format == Format::markdown;
    const std::size_t block_rows = for_people ? 10'000 : 1'000;
    store::Capture::Table block;
    std::int64_t rows = 0;
    bool first = true;
    std::optional<JsonWriter> json;
    const auto write_block = [&] {
      const Table table = query_table(block);
      switch (options.format) {
        case Format::csv:
          write_csv(table, sink, first);
          break;
        case Format::markdown:
          sink((first ? "" : "\n") + render_markdown(table));
          break;
        case Format::json:
          if (first) {
            json.emplace(sink, "ridgeline.sql");
            json->value("columns", keys_json(table));
            json->value("truncated", false);
            json->begin_rows("rows");
          }
          json->more_rows(table);
          break;
        case Format::text:
          sink((first ? "" : "\n") + render_text(table, options.text));
          break;
      }
      rows += static_cast<std::int64_t>(block.rows.size());
      block.rows.clear();
      first = false;
    };
    capture
        .query(
            sql,
            [&](std::vector<std::string>&& columns) {
              block.columns = std::move(columns);
              return true;
            },
            [&](std::vector<store::Value>&& row) {
              block.rows.push_back(std::move(row));
              if (block.rows.size() == block_rows) write_block();
              return true;
            })
        .value();
    if (first || !block.rows.empty()) write_block();
    if (json) {
      json->end_rows();
      json->finish();
    }
    if (options.format == Format::text)
      sink(styled(counted(rows, "row"), Style::dim, options.text.colour) + "\n");
  });
}

Document verification_document(const std::string& path, const store::Verification& found,
                               const DocumentOptions& options) {
  struct Fault {
    std::string text;
  };
  const std::vector<Column<Fault>> columns = {{{.key = "damage",
                                                .header = "damage",
                                                .help = "what is not as it was written",
                                                .align = Align::left,
                                                .elide = Elide::end},
                                               [](const Fault& fault) { return Cell::text(fault.text); }}};
  auto faults = std::make_shared<std::vector<Fault>>();
  for (const std::string& line : found.damage) faults->push_back({line});
  const Table table{columns, faults->size(),
                    [faults](std::size_t i) -> const Fault& { return (*faults)[i]; }};
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::json:
      return Document([table, found](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.verify");
        out.value("noted", found.noted);
        out.rows("damage", table);
        out.finish();
      });
    case Format::text:
    case Format::markdown:
      break;
  }
  std::string out;
  for (const std::string& line : found.damage) {
    out += options.format == Format::markdown ? "- " + markdown_cell(line) + "\n"
                                              : log_line(terminal_safe(line)) + "\n";
  }
  const std::string name = terminal_safe(path);
  const char* against = found.noted ? "the rows and values noted when it was made, and the sums of its steps"
                                    : "the sums of its steps (it was made before tables were noted)";
  out += paragraph(found.damage.empty()
                       ? fmt::format("{} is whole: it was held against {}.", name, against)
                       : fmt::format("{} is damaged: {}.", name,
                                     counted(static_cast<std::int64_t>(found.damage.size()), "fault")),
                   options.text);
  return Document(std::move(out));
}

}  // namespace ridgeline::reports
