#include "resources.h"

#include <fmt/format.h>

#include <array>

#include "ridgeline/base/text.h"
#include "ridgeline/queries/gap_view.h"
#include "ridgeline/reports/table.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::mcp {
namespace {

constexpr std::string_view kScheme = "ridgeline://";
constexpr const char* kMarkdown = "text/markdown";
constexpr const char* kSql = "application/sql";

struct Listed {
  std::string_view uri, name, description;
};
constexpr std::array kListed = {
    Listed{"ridgeline://guide", "guide",
           "How to find the kernel to improve, and what the figures are worth: one page"},
    Listed{"ridgeline://metrics", "metrics", "What each column of a ranking means, with its unit"},
    Listed{"ridgeline://schema", "schema", "The views that the tool sql can ask, and what a row of each is"}};
constexpr std::array kTemplates = {
    Listed{"ridgeline://schema/{view}", "view",
           "The definition of a view, whose comments say what its columns mean"},
    Listed{"ridgeline://columns/{table}", "columns",
           "What each column of a table means: rank, steps, compare, …"}};

constexpr const char* kGuide = R"md(# Which kernel to improve

1. `captures` lists the recordings. Pass on a row's `capture`; it stops working when the file is replaced.
2. `summary` says where the time of a step went, what to do first and what that would give. Look at `quality` first: if
   `complete` is false, launches are missing, and `findings` say which.
3. `explain` takes the first row of `summary` or `rank`: every limit that holds the kernel, with the evidence.
4. `ncu_command` is what somebody with the program runs to see inside it.

`next` of each answer has the call that is worth making, with its arguments.

## What the figures are
- Lists are in the order of what the step would gain, not of time: the longest kernel may have nothing left to give.
  `saved_target_ns` is what the step gets shorter by if the kernel reaches 70 % of its nearest roof.
- Gains of several rows do not add up where kernels run side by side, and nothing is gained by kernels that the CPU or a
  collective is waiting beside. `steps` has the accounting.
- Tiers: T0 timed, T1 sampled in the run, T2 counted in a replay, T3 with cold caches. T2 is exact in bytes and has the time of
  T0; T1 has an error beside it (`*_error_ratio`, one standard error ÷ the value).
- `coverage_ratio` is the share of the kernel time that a tier has values of. Below 0.9 a missing figure may be the one that matters.
- null is not measured, which is not zero. A recording of another profiler has times and no counters: then no roof is
  claimed, and `rank` is by time.
- Several `near_roofs`: they are within three points of each other, and relieving one meets the next.
- `left_out` says which list was cut and by how much; `rows_total` how long it is. A cut list is not the whole step.

## Before a conclusion
- Is the CPU the pace? `steps`: idle time marked as CPU-bound is not gained by faster kernels.
- Does the kernel differ between launches? `explain` has configurations and spread; a mean of two kinds describes neither.
- Is a change real? `compare` says how sure a difference is; two runs always differ.

## SQL
`sql` without a query lists the views, with `view` it describes one. Start with `v_rank` and `v_launch`; filter by `phase =
'timeline'`, for sampled and replayed steps take longer. Times are ns, ratios 0 to 1.
)md";

Json described(const Listed& one, const char* key) {
  const bool sql = one.name == "view";
  return {{key, one.uri},
          {"name", one.name},
          {"description", one.description},
          {"mimeType", sql ? kSql : kMarkdown}};
}

// "- `key` (unit): meaning", one line per column.
std::string columns_text(const reports::DeclaredTable& declared) {
  std::string text = fmt::format("# {}\n{}\n\n", declared.name, declared.what);
  for (const reports::ColumnHead& head : declared.table.columns())
    text += fmt::format("- `{}`: {}\n", head.key, head.help.empty() ? head.header : head.help);
  return text;
}

std::string schema_text() {
  std::string text = "# Views\n`ridgeline://schema/NAME` has the columns of one.\n\n";
  for (const queries::ViewDescription& view : queries::described_views())
    text += fmt::format("- `{}`: {}\n", view.name, view.rows);
  return text;
}

std::optional<std::string> text_of(std::string_view path) {
  if (path == "guide") return kGuide;
  if (path == "schema") return schema_text();
  const std::size_t slash = path.find('/');
  const std::string_view folder = path.substr(0, slash);
  const std::string_view name = path == "metrics"                 ? std::string_view("rank")
                                : slash == std::string_view::npos ? std::string_view()
                                                                  : path.substr(slash + 1);
  if (folder == "schema") {
    for (const queries::ViewDescription& view : queries::described_views())
      if (view.name == name) return view.definition;
  }
  if (folder == "columns" || path == "metrics") {
    for (const reports::DeclaredTable& table : reports::declared_tables())
      if (table.name == name) return columns_text(table);
  }
  return std::nullopt;
}

}  // namespace

Json resource_list() {
  Json list = Json::array();
  for (const Listed& one : kListed) list.push_back(described(one, "uri"));
  return list;
}

Json resource_templates() {
  Json list = Json::array();
  for (const Listed& one : kTemplates) list.push_back(described(one, "uriTemplate"));
  return list;
}

std::optional<Json> resource(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  const std::string_view path = uri.substr(kScheme.size());
  const auto text = text_of(path);
  if (!text) return std::nullopt;
  return Json{{"uri", uri},
              {"mimeType", path.starts_with("schema/") ? kSql : kMarkdown},
              {"text", bounded_text(*text, kMaxResourceBytes)}};
}

}  // namespace ridgeline::mcp
