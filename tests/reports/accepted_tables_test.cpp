// Tables by lot, of many shapes: at every width, in every format, sorted, cut and with columns that are picked.
#include <functional>
#include <set>
#include <span>

#include "drawn.h"
#include "html_table.h"
#include "ridgeline/reports/table.h"
#include "support/accepted_cases.h"

namespace ridgeline::reports {
namespace {

using testing::AcceptedCases;

using Cells = std::vector<Cell>;

Cell drawn_cell(Drawn& drawn, Elide elide, bool numbers) {
  static constexpr Form kForms[] = {Form::plain,   Form::integer,   Form::milliseconds, Form::microseconds,
                                    Form::percent, Form::ratio,     Form::megabytes,    Form::gigabytes,
                                    Form::tera,    Form::megahertz, Form::general};
  static constexpr Style kStyles[] = {Style::plain, Style::good, Style::fair,
                                      Style::bad,   Style::dim,  Style::strong};
  const Style style = drawn.of(kStyles);
  const std::size_t kind = drawn.below(12);
  if (kind == 0) return Cell::missing();
  if (kind == 1) return {};
  if (elide == Elide::kernel_name) return Cell::text(drawn.kernel(), style);
  if (!numbers) {
    std::string text = drawn.text(elide == Elide::never ? 2 : 6);
    if (drawn.one_in(3)) {
      text = "layer " + std::to_string(drawn.below(12));
      text += drawn.one_in(3) ? " / x" : "";
    }
    return Cell::text(std::move(text), style);
  }
  const Form form = drawn.of(kForms);
  const double value = drawn.number();
  if (kind == 2) return Cell::worded("<0.1", value, style);
  if (kind == 3) return Cell::worded("yes", value > 1, style);
  const bool small = value < 1e15 && value > -1e15;
  if (kind < 7 && small) return Cell::number(static_cast<std::int64_t>(value), form, style);
  return Cell::number(value, form, style);
}

// A table and what its page is like.
struct DrawnTable {
  explicit DrawnTable(std::uint64_t seed) : drawn(seed) {
    static constexpr Elide kElide[] = {Elide::never, Elide::kernel_name, Elide::start, Elide::middle,
                                       Elide::end};
    static constexpr Total kTotals[] = {Total::none, Total::all, Total::parts};
    static constexpr const char* kUnits[] = {"", "ms", "%", "GB/s"};
    const std::size_t width = 1 + drawn.below(9), height = drawn.below(9);
    std::vector<Column<Cells>> columns;
    for (std::size_t i = 0; i < width; ++i) {
      ColumnHead head;
      static constexpr const char* kEndings[] = {"", "_ns", "_ratio", "_bytes"};
      head.key = "key" + std::to_string(i) + drawn.of(kEndings);
      head.header = drawn.text(2);
      head.unit = drawn.of(kUnits);
      if (drawn.one_in(2)) head.help = "what it means: " + std::to_string(i);
      if (drawn.one_in(3)) head.title = "a title " + std::to_string(i);
      if (drawn.one_in(4)) head.title_unit = drawn.of(kUnits);
      if (drawn.one_in(2)) head.align = Align::left;
      head.elide = drawn.of(kElide);
      head.min_width = static_cast<int>(3 + drawn.below(24));
      head.drop_order = static_cast<int>(drawn.below(5));
      head.shown = !drawn.one_in(6);
      head.total = drawn.of(kTotals);
      head.repeats = drawn.one_in(6);
      columns.push_back({head, [i](const Cells& row) { return row[i]; }});
    }
    const auto row = [&] {
      Cells cells;
      for (std::size_t i = 0; i < width; ++i)
        cells.push_back(drawn_cell(drawn, columns[i].head.elide, i % 2 == 1));
      return cells;
    };
    for (std::size_t i = 0; i < height; ++i) {
      rows.push_back(row());
      if (drawn.one_in(4)) rows.push_back(rows.back());
    }
    const Cells sums = row();
    const std::vector<Column<Cells>> declared = columns;
    table = Table(std::move(columns), rows.size(), [this](std::size_t i) -> const Cells& { return rows[i]; });
    if (drawn.one_in(2)) table.add_total(total_cells(declared, sums, Total::all));
    if (drawn.one_in(2))
      table.set_rest([declared, sums](std::span<const std::size_t> cut) {
        Table::Cells cells = total_cells(declared, sums, Total::parts);
        cells.front() = Cell::text("and " + std::to_string(cut.size()) + " more, the first " +
                                   std::to_string(cut.front()));
        return cells;
      });
    std::vector<std::string> group;
    for (std::size_t i = 0; i < width; i += 2) group.push_back(table.columns()[i].key);
    const std::size_t fixed = drawn.below(3);
    table.set_groups({{"group", group, fixed}});
  }
  DrawnTable(const DrawnTable&) = delete;
  DrawnTable& operator=(const DrawnTable&) = delete;

  [[nodiscard]] std::string key() { return table.columns()[drawn.below(table.columns().size())].key; }
  [[nodiscard]] HtmlTable page() {
    HtmlTable how;
    for (std::set<std::string>* keys :
         {&how.hidden, &how.optional, &how.wrapping, &how.ratio_bars, &how.largest_bars}) {
      if (!drawn.one_in(3)) keys->insert(key());
    }
    if (drawn.one_in(2)) how.name_key = key();
    if (drawn.one_in(2)) how.note_key = key();
    if (drawn.one_in(3)) how.class_key = key();
    if (drawn.one_in(2)) how.also_shown = {key(), "none"};
    if (drawn.one_in(2)) how.noun = "kernel";
    return how;
  }

  Drawn drawn;
  std::vector<Cells> rows;
  Table table;
};

std::string in_every_format(const Table& table, const HtmlTable& page, int step) {
  std::string out = std::to_string(full_width(table)) + "\n";
  for (int columns = 1; columns <= 200; columns += columns < 90 ? step : 5 * step)
    out += render_text(table, {columns, false}) + "\n";
  out += render_text(table, {80, true}) + render_markdown(table);
  for (const bool with_header : {true, false})
    out += Document([&](const Sink& to) { write_csv(table, to, with_header); }).text();
  for (const int indent : {0, 2})
    out += Document([&](const Sink& to) { write_rows_json(table, to, indent); }).text();
  for (const bool first : {true, false})
    out += Document([&](const Sink& to) { write_row_lines_json(table, to, 1, first); }).text();
  return out + html_table(table, page);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message() + "\n";
  }
  return "taken\n";
}

TEST(DrawnTables, AreRenderedAsBefore) {
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    AcceptedCases::expect([&] {
      std::uint64_t sum = testing::text_sum({});
      std::string out;
      for (std::uint64_t one = 0; one < 12; ++one) {
        DrawnTable drawn(2000 + 40 * draw + one);
        const HtmlTable page = drawn.page();
        const std::string text = in_every_format(drawn.table, page, 1 + static_cast<int>(one % 3));
        sum = testing::text_sum(text, sum);
        out += render_text(drawn.table, {60, false}) + testing::text_sum_in_hex(sum) + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnTables, AreSortedAndCutAsBefore) {
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    AcceptedCases::expect([&] {
      std::string out;
      for (std::uint64_t one = 0; one < 24; ++one) {
        DrawnTable drawn(3000 + 40 * draw + one);
        const std::string key = drawn.key();
        const std::string unitless = key.substr(0, key.find('_'));
        const std::size_t way = drawn.drawn.below(4);
        const std::string by = (way % 2 == 0 ? "-" : "") + (way > 1 ? unitless : " " + key + " ");
        out += by + ": " + refusal([&] { drawn.table.sort(by); });
        const std::size_t kept = drawn.drawn.below(6);
        if (one % 3 != 0) drawn.table.keep(kept);
        if (one % 8 == 5) drawn.table.keep(1);
        out += std::to_string(drawn.table.size()) + " rows, left out " +
               std::to_string(drawn.table.left_out()) + "\n";
        out += render_text(drawn.table, {100, false}) + html_table(drawn.table, {});
      }
      return out;
    });
  }
}

TEST(DrawnTables, HaveTheColumnsThatWereAskedFor) {
  for (std::uint64_t draw = 0; draw < 12; ++draw) {
    AcceptedCases::expect([&] {
      std::string out;
      for (std::uint64_t one = 0; one < 24; ++one) {
        DrawnTable drawn(4000 + 40 * draw + one);
        std::string keys;
        const std::size_t count = 1 + drawn.drawn.below(4);
        for (std::size_t i = 0; i < count; ++i) {
          static constexpr const char* kWords[] = {"default", "all", "group", "key", "k", "", "none"};
          const std::string key = drawn.key(), unitless = key.substr(0, key.find('_'));
          const std::size_t kind = drawn.drawn.below(8);
          keys += (i > 0 ? "," : "") + (kind == 0   ? std::string(drawn.drawn.of(kWords))
                                        : kind == 1 ? "group"
                                        : kind == 2 ? unitless
                                                    : key);
        }
        const bool for_people = drawn.drawn.one_in(2);
        out += keys + ": " + refusal([&] { drawn.table.select(keys, for_people); });
        out += refusal([&] { drawn.table.sort("-" + drawn.key()); });
        drawn.table.keep(4);
        out += render_text(drawn.table, {70, false}) +
               Document([&](const Sink& to) { write_csv(drawn.table, to); }).text();
      }
      return out;
    });
  }
}

// Numbers within texts by their value, whatever stands around them; what is equal stays in its order.
TEST(Sorted, TextsAreReadAsPeopleDo) {
  const std::vector<std::string> texts = {
      "layer 2",    "layer 10", "layer 02", "layer 1", "layer", "",    "a",          "b",         "A",
      "10",         "9",        "010",      "9a",      "a9",    "a10", "ä",          "layer 2 x", "layer 2 a",
      "layer 10 a", "0",        "00",       "1.5",     "1.10",  "-1",  "layer 0002", "layer 20"};
  const Table base(
      std::vector<Column<std::string>>{Column<std::string>{
          {.key = "text", .header = "text"}, [](const std::string& text) { return Cell::text(text); }}},
      texts.size(), [&texts](std::size_t i) -> const std::string& { return texts[i]; });
  for (const char* by : {"text", "-text"}) {
    AcceptedCases::expect([&] {
      Table table = base;
      table.sort(by);
      return render_text(table, {40, false});
    });
  }
}

TEST(Sorted, NumbersStandBeforeTextsAndWhatIsMissingLast) {
  const std::vector<Cell> cells = {Cell::number(std::int64_t{3}),
                                   Cell::text("3"),
                                   Cell::missing(),
                                   Cell::number(2.5, Form::ratio),
                                   Cell::worded("yes", true),
                                   Cell::worded("no", false),
                                   Cell::text("a"),
                                   Cell{},
                                   Cell::number(std::int64_t{3}),
                                   Cell::number(3.0, Form::general),
                                   Cell::number(-1.0, Form::ratio),
                                   Cell::text("b"),
                                   Cell::missing(),
                                   Cell::number(std::int64_t{0})};
  const Table base(std::vector<Column<Cell>>{Column<Cell>{{.key = "cell_ns", .header = "cell"},
                                                          [](const Cell& cell) { return cell; }}},
                   cells.size(), [&cells](std::size_t i) -> const Cell& { return cells[i]; });
  for (const char* by : {"cell_ns", "-cell_ns", "cell", "-cell"}) {
    AcceptedCases::expect([&] {
      Table table = base;
      table.sort(by);
      std::string out = Document([&](const Sink& to) { write_csv(table, to); }).text();
      table.keep(5);
      return out + render_text(table, {30, false});
    });
  }
}

}  // namespace
}  // namespace ridgeline::reports
