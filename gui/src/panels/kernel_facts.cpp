#include "panels/kernel_facts.h"

#include <algorithm>

#include "models/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/error_text.h"
#include "ridgeline/reports/tables.h"
#include "ridgeline/reports/why_text.h"
#include "style/theme.h"

namespace ridgeline::gui {
namespace {

using analyzer::KernelBound;
using analyzer::Measured;
using analyzer::Metric;
using analyzer::RankingRow;

// Lines of metrics that have a place of their own.
constexpr std::string_view kTraffic = "Traffic";
constexpr std::string_view kCacheHits = "Cache hits";

QString share(double ratio) {
  return plain(percent_text(ratio));
}
QString bytes_of(double bytes) {
  return plain(bytes_text(bytes));
}

QString measured(const std::optional<Measured>& value) {
  if (!value) return {};
  return share(value->value) + (value->error ? " ± " + plain(reports::error_text(*value->error)) : QString());
}

QString dims(const store::Dim3& dim) {
  QString text = QString::number(dim.x);
  if (dim.y > 1 || dim.z > 1) text += QString(" × %1").arg(dim.y);
  if (dim.z > 1) text += QString(" × %1").arg(dim.z);
  return text;
}

QString tiers(const std::optional<Measured>& sampled, const std::optional<Measured>& replayed,
              const std::optional<Measured>& cold) {
  QStringList parts;
  if (sampled) parts << QString("sampled %1 (T1)").arg(measured(sampled));
  if (replayed) parts << QString("counted %1 (T2)").arg(measured(replayed));
  if (cold) parts << QString("cold caches %1 (T3)").arg(measured(cold));
  return parts.join(", ");
}

// What the metrics of one line say, each after its label.
QStringList metrics_of(const RankingRow& row, std::string_view line) {
  QStringList parts;
  for (const Metric metric : analyzer::kAllMetrics) {
    const analyzer::MetricEntry& entry = metric.entry();
    const auto value = row.metrics.of(metric);
    if (!value || entry.fact.line != line) continue;
    const QString text =
        entry.unit == analyzer::MetricUnit::bytes ? bytes_of(value->value) : share(value->value);
    parts << (entry.fact.label.empty() ? text : plain(entry.fact.label) + " " + text);
  }
  return parts;
}

// The lines that metrics have to themselves.
void add_metrics(const RankingRow& row, Facts& facts) {
  std::vector<std::string_view> done = {"", kTraffic, kCacheHits};
  for (const Metric metric : analyzer::kAllMetrics) {
    const std::string_view line = metric.entry().fact.line;
    if (std::find(done.begin(), done.end(), line) != done.end()) continue;
    done.push_back(line);
    if (const QStringList parts = metrics_of(row, line); !parts.isEmpty())
      facts.emplace_back(plain(line), parts.join(", "));
  }
}

void add_work(const RankingRow& row, const QString& noun, Facts& facts) {
  QStringList bytes;
  if (row.dram_bytes) {
    QString text = "DRAM " + bytes_of(*row.dram_bytes);
    const auto read = row.metrics.of("dram_read_bytes");
    const auto written = row.metrics.of("dram_write_bytes");
    if (read && written)
      text += QString(" (%1 read, %2 written)").arg(bytes_of(read->value), bytes_of(written->value));
    bytes << text;
  }
  bytes << metrics_of(row, kTraffic);
  if (!bytes.isEmpty()) facts.emplace_back(plain(kTraffic), bytes.join(", "));
  if (const QStringList hits = metrics_of(row, kCacheHits); !hits.isEmpty())
    facts.emplace_back(plain(kCacheHits), hits.join(", "));
  if (row.tensor_ops && *row.tensor_ops > 0) {
    QString text = plain(fixed(*row.tensor_ops / 1e12, 3)) + " TFLOP";
    if (row.tensor_ops_per_s) text += ", " + plain(operations_text(*row.tensor_ops_per_s));
    if (row.tensor_spec_ratio) text += ", " + share(*row.tensor_spec_ratio) + " of the data sheet's peak";
    facts.emplace_back("Tensor operations", text);
  }
  if (row.work && row.work->declared_bytes) {
    QString text = "minimum traffic " + bytes_of(*row.work->declared_bytes);
    if (row.work->measured_bytes) text += ", measured " + bytes_of(*row.work->measured_bytes);
    if (row.work->bytes_ratio) text += QString(" (%1 ×)").arg(plain(fixed(*row.work->bytes_ratio, 2)));
    facts.emplace_back("Declared", text);
  }
  if (row.work && row.work->minimum_ns && row.work->minimum_ratio) {
    facts.emplace_back("Roofline time", time_words(*row.work->minimum_ns) + " at the roofs, " +
                                            share(*row.work->minimum_ratio) + " of what its ranges take");
  }
  if (row.cold_time_ns && row.cold_in_situ_time_ns && *row.cold_in_situ_time_ns > 0) {
    facts.emplace_back("Cold caches", time_words(*row.cold_time_ns) + " for " +
                                          time_words(*row.cold_in_situ_time_ns) + " in the " + noun + " (" +
                                          plain(fixed(*row.cold_time_ns / *row.cold_in_situ_time_ns, 2)) +
                                          " ×)");
  }
}

// The way of launching it that takes most of its time.
// What a library's name says of a GEMM, and what follows from it.
void add_name(const RankingRow& row, Facts& facts) {
  QStringList parts;
  if (row.name_precision != analyzer::Precision::any)
    parts << plain(std::string(to_string(row.name_precision)));
  if (!row.tile.empty()) parts << "tiles of " + plain(row.tile);
  if (row.alignment == 1) {
    parts << "one element a load: a dimension of the GEMM is odd";
  } else if (row.alignment) {
    parts << QString("%1 elements a load").arg(*row.alignment);
  }
  if (!parts.isEmpty()) facts.emplace_back("By its name", parts.join(", "));
}

void add_launches(const analyzer::KernelHold& hold, const RankingRow& row, Facts& facts) {
  if (hold.configurations.empty()) return;
  const analyzer::LaunchConfiguration& first = hold.configurations.front();
  QString text = QString("grid %1, block %2").arg(dims(first.grid), dims(first.block));
  if (first.cluster) text += ", cluster " + dims(*first.cluster);
  if (const auto others = static_cast<std::int64_t>(hold.configurations.size()) - 1; others > 0)
    text += "; " + plain(counted(others, "other way", "other ways"));
  facts.emplace_back("Launch", text);
  facts.emplace_back("Resources", QString("%1 registers, %2 of shared memory")
                                      .arg(first.registers_per_thread)
                                      .arg(bytes_of(static_cast<double>(first.static_smem_bytes) +
                                                    static_cast<double>(first.dynamic_smem_bytes))));
  QStringList occupancy;
  if (const auto achieved = row.metrics.of("occupancy_ratio"))
    occupancy << share(achieved->value) + " achieved";
  if (first.occupancy)
    occupancy << QString("%1 possible (%2 of %3 warps), limited by %4")
                     .arg(share(first.occupancy->ratio()))
                     .arg(first.occupancy->warps)
                     .arg(first.occupancy->max_warps)
                     .arg(plain(reports::limiters_words(*first.occupancy)));
  if (!occupancy.isEmpty()) facts.emplace_back("Occupancy", occupancy.join(", "));
  if (first.waves) facts.emplace_back("Waves", plain(fixed(*first.waves, 2)) + " of the device");
}

}  // namespace

Facts kernel_facts(const ScopeAnswer& answer, std::size_t ranking_row, const analyzer::KernelHold& hold) {
  const RankingRow& row = answer.ranking->rows.at(ranking_row);
  const analyzer::RankingOptions& options = answer.ranking->options;
  Facts facts;
  const QString noun = plain(reports::scope_noun(answer.ranking->scope));
  facts.emplace_back("Time", QString("%1 in %2, %3 of the %4")
                                 .arg(time_words(row.time_ns), plain(counted(row.calls, "call")),
                                      share(row.step_share), noun));
  // Of what is too short for a roof, or was not measured, how near a roof is says nothing.
  const bool has_roof = row.bound != KernelBound::too_short && row.bound != KernelBound::no_roof &&
                        row.bound != KernelBound::unmeasured;
  QString bound =
      row.bound == KernelBound::too_short
          ? QString(row.measured_calls > 0 ? "nothing, for most of its time: too short for any roof"
                                           : "nothing: too short for any roof")
      : row.bound == KernelBound::no_roof    ? QString("no roof that is known")
      : row.bound == KernelBound::unmeasured ? QString("not known: it was not measured")
                                             : plain(reports::bound_word(row));
  if (has_roof && row.nearest_roof_ratio)
    bound += QString(", %1 of its nearest roof (%2)")
                 .arg(share(*row.nearest_roof_ratio), plain(reports::nearest_word(row)));
  facts.emplace_back("Bound by", bound);
  if (row.measured_calls > 0) {
    // All its launches together may be at the target, and some of them below it.
    const bool some_below = row.nearest_roof_ratio.value_or(0) >= options.target && row.saved_target_ns > 0;
    facts.emplace_back("Could save", QString("%1 at %2, %3 at %4%5")
                                         .arg(time_words(row.saved_target_ns), share(options.target),
                                              time_words(row.saved_stretch_ns), share(options.stretch),
                                              some_below ? ", in its launches that are below that" : ""));
    if (row.reached_target_ns && row.reached_stretch_ns)
      facts.emplace_back("Reaches the " + plain(reports::simulated_noun(answer.ranking->scope)),
                         is_no_time(*row.reached_stretch_ns)
                             ? QString("nothing: the %1 waits for the CPU or for another stream")
                                   .arg(plain(reports::simulated_noun(answer.ranking->scope)))
                             : QString("%1 at %2, %3 at %4")
                                   .arg(time_words(*row.reached_target_ns), share(options.target),
                                        time_words(*row.reached_stretch_ns), share(options.stretch)));
  } else if (!row.why.empty() && row.bound != KernelBound::unmeasured) {  // else the sentence above says it
    facts.emplace_back("Not measured", shown(reports::absence_text(row.why)));
  }
  if (const QString text = tiers(row.dram_t1, row.dram_t2, row.cold_dram); !text.isEmpty())
    facts.emplace_back("DRAM", text);
  if (const QString text = tiers(row.compute_t1, row.compute_t2, std::nullopt); !text.isEmpty())
    facts.emplace_back(
        "Busiest pipe",
        (row.busiest_pipe ? plain(std::string(to_string(*row.busiest_pipe))) + ": " : QString()) + text);
  add_metrics(row, facts);
  add_work(row, noun, facts);
  add_name(row, facts);
  add_launches(hold, row, facts);
  if (row.sm_clock_hz) {
    QString clock = plain(clock_text(*row.sm_clock_hz));
    if (!row.clock_limit.empty()) clock += ", held by " + shown(row.clock_limit);
    facts.emplace_back("SM clock", clock);
  }
  return facts;
}

Facts launch_facts(const queries::LaunchFacts& launch, bool has_steps) {
  Facts facts;
  QString where;
  if (has_steps)
    where = launch.step_index ? QString(", step %1").arg(*launch.step_index) : QString(", between steps");
  if (has_steps && launch.step_index && launch.launch.ordinal_in_step)
    where += QString(", number %1 of its launches").arg(*launch.launch.ordinal_in_step + 1);
  facts.emplace_back("This launch", time_words(launch.launch.end_ns - launch.launch.start_ns) + where);
  facts.emplace_back("NVTX ranges", launch.nvtx_path.empty() ? "none" : shown(launch.nvtx_path));
  QString from = QString("stream %1").arg(launch.launch.stream_id);
  const bool graph = launch.launch.graph_node_id.has_value();
  if (!launch.thread.empty()) from = QString("thread %1 on %2").arg(shown(launch.thread), from);
  if (graph) from += ", a node of a CUDA graph";
  facts.emplace_back("Launched by", from);
  QString queued = "not known: its launch call was not recorded";
  if (launch.queued_ns && launch.call_ns) {
    queued = *launch.queued_ns > 0 ? QString("%1 after its launch call, which took %2")
                                         .arg(time_words(*launch.queued_ns), time_words(*launch.call_ns))
                                   : QString("not at all: it started within its launch call, which took %1")
                                         .arg(time_words(*launch.call_ns));
    if (graph) queued += " and was that of the whole graph";
  }
  facts.emplace_back("Waited", queued);
  return facts;
}

QString facts_html(const Facts& facts) {
  QString html = "<table cellspacing='0' cellpadding='2'>";
  for (const auto& [name, value] : facts) {
    html += QString("<tr><td style='color:%1;white-space:nowrap'>%2&nbsp;&nbsp;</td><td>%3</td></tr>")
                .arg(theme().faint.name(), name.toHtmlEscaped(), with_whole_numbers(value).toHtmlEscaped());
  }
  return html + "</table>";
}

}  // namespace ridgeline::gui
