#include "ridgeline/reports/replayed_document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_parts.h"
#include "json_values.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"

namespace ridgeline::reports {

namespace {

using analyzer::ReplayedInSitu;
using analyzer::ReplayedKernel;
using ReplayedColumns = std::vector<Column<ReplayedKernel>>;

constexpr double kFarApart = 0.15;  // as the finding about replays that disagree has it

std::string dims_words(const store::Dim3& dim) {
  return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
}

Style difference_style(const std::optional<double>& difference) {
  return difference && std::fabs(*difference) > kFarApart ? Style::bad : Style::plain;
}

std::optional<double> a_launch(const std::optional<double>& of_all, const ReplayedKernel& row) {
  return of_all && row.replayed > 0 ? std::optional(*of_all / static_cast<double>(row.replayed))
                                    : std::nullopt;
}

void add_identity(ReplayedColumns& columns) {
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "demangled name",
                      .align = Align::left,
                      .elide = Elide::kernel_name},
                     [](const ReplayedKernel& row) { return Cell::text(row.kernel); }});
  columns.push_back({{.key = "grid", .header = "grid", .help = "blocks of a launch", .drop_order = 4},
                     [](const ReplayedKernel& row) { return Cell::text(dims_words(row.grid)); }});
  columns.push_back({{.key = "block", .header = "block", .help = "threads of a block", .drop_order = 5},
                     [](const ReplayedKernel& row) { return Cell::text(dims_words(row.block)); }});
  columns.push_back({{.key = "launches", .header = "launches", .help = "in the step", .drop_order = 3},
                     [](const ReplayedKernel& row) { return Cell::number(row.launches); }});
  columns.push_back({{.key = "replayed", .header = "replayed", .help = "of those, with values of a replay"},
                     [](const ReplayedKernel& row) { return Cell::number(row.replayed); }});
}

void add_times(ReplayedColumns& columns) {
  columns.push_back({{.key = "in_situ_ns",
                      .header = "in the run",
                      .unit = "µs",
                      .help = "time of a launch on the timeline (T0), mean of those that were replayed"},
                     [](const ReplayedKernel& row) {
                       return Cell::number(
                           static_cast<double>(row.in_situ_ns) / static_cast<double>(row.replayed),
                           Form::microseconds);
                     }});
  columns.push_back(
      {{.key = "replayed_ns", .header = "replayed", .unit = "µs", .help = "the same in the replay (T2)"},
       [](const ReplayedKernel& row) {
         return Cell::number(row.replayed_ns / static_cast<double>(row.replayed), Form::microseconds);
       }});
  columns.push_back({{.key = "time_difference_ratio",
                      .header = "differs",
                      .unit = "%",
                      .help = "time in the replay ÷ in the run − 1"},
                     [](const ReplayedKernel& row) {
                       const auto difference = row.time_difference();
                       return Cell::number(difference, Form::percent, difference_style(difference));
                     }});
}

void add_bytes(ReplayedColumns& columns) {
  columns.push_back({{.key = "replayed_dram_bytes",
                      .header = "DRAM",
                      .unit = "MB",
                      .help = "DRAM traffic of a launch, as counted in the replay (T2)"},
                     [](const ReplayedKernel& row) {
                       return Cell::number(a_launch(row.counted_dram_bytes, row), Form::megabytes);
                     }});
  columns.push_back(
      {{.key = "dram_difference_ratio",
        .header = "differs",
        .unit = "%",
        .help = "DRAM traffic in the replay (T2) ÷ as sampled in the run (T1) − 1; missing without samples",
        .title = "DRAM traffic differs",
        .drop_order = 1},
       [](const ReplayedKernel& row) {
         const auto difference = row.dram_difference();
         return Cell::number(difference, Form::percent, difference_style(difference));
       }});
  columns.push_back(
      {{.key = "in_situ_clock_hz",
        .header = "clock",
        .unit = "MHz",
        .help = "SM clock in the run; missing if neither samples nor NVML say it",
        .drop_order = 6},
       [](const ReplayedKernel& row) { return Cell::number(row.in_situ_clock_hz, Form::megahertz); }});
  columns.push_back(
      {{.key = "replayed_clock_hz",
        .header = "replayed",
        .unit = "MHz",
        .help = "SM clock in the replay (T2): Nsight Compute holds the base clock unless it is told not to",
        .drop_order = 2},
       [](const ReplayedKernel& row) { return Cell::number(row.replayed_clock_hz, Form::megahertz); }});
}

std::string replayed_sentence(const ReplayedInSitu& replayed) {
  if (replayed.launches == 0) return "No launch of the step has values of a replay.";
  std::string text = fmt::format(
      "{} of {} of the step {} replayed: {} in the run, {} in the replay", replayed.launches,
      counted(replayed.step_launches, "launch", "launches"), replayed.launches == 1 ? "was" : "were",
      time_text(static_cast<double>(replayed.in_situ_ns)), time_text(replayed.replayed_ns));
  if (replayed.in_situ_ns > 0)
    text.append(fmt::format(
        " ({})", signed_percent(replayed.replayed_ns / static_cast<double>(replayed.in_situ_ns) - 1)));
  return text.append(". The time in the run is the one that counts: a replay runs each kernel alone.");
}

}  // namespace

Table replayed_table(const ReplayedInSitu& replayed) {
  ReplayedColumns columns;
  add_identity(columns);
  add_times(columns);
  add_bytes(columns);
  return Table(std::move(columns), replayed.kernels.size(),
               [&replayed](std::size_t i) { return replayed.kernels[i]; });
}

Document replayed_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                           const ReplayedInSitu& replayed, const DocumentOptions& options) {
  const Table table = chosen(replayed_table(replayed), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(markdown_headline(model, analysis) + render_markdown(table) + "\n" +
                      markdown_paragraph(replayed_sentence(replayed)));
    case Format::json:
      return Document([table, &model, &analysis, &replayed](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.replayed");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        const nlohmann::ordered_json summary{{"launches", replayed.launches},
                                             {"step_launches", replayed.step_launches},
                                             {"in_situ_ns", replayed.in_situ_ns},
                                             {"replayed_ns", replayed.replayed_ns}};
        out.value("summary", JsonPart(summary));
        out.finish();
      });
    case Format::text:
      break;
  }
  return Document(headline(model, analysis, options.text) + "\n" + render_text(table, options.text) +
                  cut_line(table, "kernel") + "\n" + paragraph(replayed_sentence(replayed), options.text));
}

}  // namespace ridgeline::reports
