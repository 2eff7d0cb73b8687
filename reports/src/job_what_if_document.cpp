#include "ridgeline/reports/job_what_if_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using analyzer::InterferenceRefusal;
using analyzer::JobGain;
using analyzer::JobWhatIf;
using analyzer::JobWhatIfRefusal;
using analyzer::JobWhatIfRow;
using analyzer::LinkFit;
using JobWhatIfJson = nlohmann::ordered_json;

constexpr std::size_t kFitsSaid = 3;

std::string refusal_word(JobWhatIfRefusal refusal) {
  switch (refusal) {
    case JobWhatIfRefusal::none:
      return "";
    case JobWhatIfRefusal::replay_departs:
      return "replay_departs";
    case JobWhatIfRefusal::no_buckets:
      return "no_buckets";
    case JobWhatIfRefusal::ready_unknown:
      return "ready_unknown";
    case JobWhatIfRefusal::finer_buckets:
      return "finer_buckets";
    case JobWhatIfRefusal::never_waited:
      return "never_waited";
    case JobWhatIfRefusal::range_too_wide:
      return "range_too_wide";
  }
  return "";
}

std::string refusal_text(JobWhatIfRefusal refusal) {
  switch (refusal) {
    case JobWhatIfRefusal::none:
      return "";
    case JobWhatIfRefusal::replay_departs:
      return "the simulation departs";
    case JobWhatIfRefusal::no_buckets:
      return "no buckets in a row";
    case JobWhatIfRefusal::ready_unknown:
      return "readiness is not known";
    case JobWhatIfRefusal::finer_buckets:
      return "finer than recorded";
    case JobWhatIfRefusal::never_waited:
      return "nothing waited for them";
    case JobWhatIfRefusal::range_too_wide:
      return "too much is not recorded";
  }
  return "";
}

std::function<Cell(const JobWhatIfRow&)> time_of(double JobGain::*field, Style style = Style::plain) {
  return [=](const JobWhatIfRow& row) {
    return row.gain ? Cell::number((*row.gain).*field, Form::milliseconds, style) : Cell::missing();
  };
}

void add_job_gain_columns(bool contended, std::vector<Column<JobWhatIfRow>>& columns) {
  columns.push_back(
      {{.key = "gain_ns",
        .header = "gain",
        .unit = "ms",
        .help = "what a step takes less, simulated over all ranks: median over steps; below 0 it "
                "takes more. Of another bucket size the middle of both places where a bucket may end"},
       time_of(&JobGain::gain_ns, Style::strong)});
  columns.push_back(
      {{.key = "gain_low_ns",
        .header = "from",
        .unit = "ms",
        .help = "of nine of ten steps; of another bucket size the lesser end of both, of slower links "
                "if collectives that were hidden to their end are waited for there",
        .drop_order = 3},
       time_of(&JobGain::low_ns)});
  columns.push_back(
      {{.key = "gain_high_ns", .header = "to", .unit = "ms", .help = "likewise, the most", .drop_order = 4},
       time_of(&JobGain::high_ns)});
  columns.push_back(
      {{.key = "contention_ns",
        .header = "of it beside",
        .unit = "ms",
        .help = "of the gain, what comes of kernels and collectives that are slower beside each "
                "other: less the gain if both stay as fast as they were",
        .drop_order = 2,
        .shown = contended},
       [](const JobWhatIfRow& row) {
         return row.gain && row.gain->contention_ns
                    ? Cell::number(*row.gain->contention_ns, Form::milliseconds)
                    : Cell::missing();
       }});
  columns.push_back({{.key = "bound_ns",
                      .header = "bound",
                      .unit = "ms",
                      .help = "not to be exceeded: what the rank with most of it waits for: transfers, with "
                              "`no-skew` the last rank; and what collectives cost its kernels",
                      .drop_order = 2},
                     time_of(&JobGain::bound_ns)});
  columns.push_back(
      {{.key = "naive_ns",
        .header = "sum",
        .unit = "ms",
        .help = "what the collectives take less, hidden or not; with `no-skew` what the slowest "
                "rank's own part does",
        .drop_order = 5},
       time_of(&JobGain::naive_ns)});
}

std::string times_text(double ratio) {
  return fmt::format("{:.2f} times", ratio);
}

// Why kernels are taken to be as fast beside collectives as they were.
const char* no_factor_reason(InterferenceRefusal refusal) {
  switch (refusal) {
    case InterferenceRefusal::none:
      return "they take no longer than others, as far as can be told";
    case InterferenceRefusal::not_kept:
      return "the job was merged without what they cost, merge the ranks' captures again";
    case InterferenceRefusal::none_beside:
      return "there were none";
    case InterferenceRefusal::no_controls:
      return "on some rank no launch of the same kinds ran beside none";
    case InterferenceRefusal::few_steps:
      return "there are too few steps to say what they cost";
  }
  return "";
}

// What kernels and collectives cost each other, as it is in the gains.
std::vector<std::string> contention_sentences(const JobWhatIf& of) {
  std::vector<std::string> all;
  const analyzer::KernelContention& kernels = of.contention;
  if (kernels.factor_ratio)
    all.push_back(fmt::format(
        "Kernels take {} as long beside collectives, {} of a step: of {} beside them {} have launches of the "
        "same kind beside none, and the rest is taken to be as slow.",
        times_text(*kernels.factor_ratio), time_text(kernels.cost_ns), time_text(kernels.beside_ns),
        time_text(kernels.controlled_ns)));
  else
    all.push_back(fmt::format("Kernels beside collectives stay as fast as they were: {}.",
                              no_factor_reason(kernels.refusal)));
  bool slowed = false;
  for (const LinkFit& fit : of.fits) {
    if (!fit.beside_factor_ratio) continue;
    slowed = true;
    all.push_back(fmt::format(
        "{} takes {} as long while kernels run beside it; its latency and rate are of those alone.",
        to_string(fit.function), times_text(*fit.beside_factor_ratio)));
  }
  if (!slowed)
    all.emplace_back(
        "Collectives beside kernels stay as fast as they were: they take no longer than those alone, or none "
        "of "
        "a size near theirs ran alone.");
  return all;
}

void add_job_then_columns(std::vector<Column<JobWhatIfRow>>& columns) {
  columns.push_back(
      {{.key = "step_ns", .header = "step", .unit = "ms", .help = "then: the recorded median less the gain"},
       time_of(&JobGain::step_ns)});
  columns.push_back(
      {{.key = "exposed_wait_ns",
        .header = "wait",
        .unit = "ms",
        .help = "then: waits for collectives that the last rank has not entered, mean over ranks",
        .drop_order = 6},
       time_of(&JobGain::exposed_wait_ns)});
  columns.push_back({{.key = "exposed_transfer_ns",
                      .header = "transfer",
                      .unit = "ms",
                      .help = "then: for those that all have entered",
                      .drop_order = 7},
                     time_of(&JobGain::exposed_transfer_ns)});
  columns.push_back({{.key = "buckets",
                      .header = "buckets",
                      .help = "reductions of gradients in a step, then; none in a row: missing",
                      .drop_order = 8},
                     [](const JobWhatIfRow& row) {
                       return row.gain && row.gain->buckets > 0 ? Cell::number(row.gain->buckets)
                                                                : Cell::missing();
                     }});
  columns.push_back(
      {{.key = "largest_bucket_bytes", .header = "largest", .unit = "MB", .help = "of these", .shown = false},
       [](const JobWhatIfRow& row) {
         return row.gain && row.gain->largest_bucket_bytes
                    ? Cell::number(*row.gain->largest_bucket_bytes, Form::megabytes)
                    : Cell::missing();
       }});
  columns.push_back(
      {{.key = "refusal",
        .header = "why not",
        .help =
            "`replay_departs`: the unchanged simulation is more than 1 % off; `no_buckets`: no "
            "reductions in a row whose bytes are known; `ready_unknown`: when they were ready "
            "is not recorded; `finer_buckets`: smaller ones than recorded, of which it is not known what "
            "they "
            "would hold; `never_waited`: no rank waited for the reductions, so that where it would is not "
            "known; `range_too_wide`: what is not recorded makes more than 5 % of the step",
        .align = Align::left},
       [](const JobWhatIfRow& row) {
         return row.refusal == JobWhatIfRefusal::none
                    ? Cell()
                    : Cell::worded(refusal_text(row.refusal), refusal_word(row.refusal));
       }});
}

std::string replay_sentence(const JobWhatIf& of) {
  const std::string steps = counted(of.steps, "step");
  if (of.replay_error_ratio > analyzer::kMaxReplayErrorRatio)
    return fmt::format(
        "Unchanged, the simulated step of {} takes {} where {} recorded {}: {} off, more than {}, so that "
        "nothing is "
        "said.",
        counted(of.ranks, "rank"), time_text(of.replayed_ns), steps, time_text(of.step_ns),
        percent_text(of.replay_error_ratio, 2), percent_text(analyzer::kMaxReplayErrorRatio, 0));
  return fmt::format(
      "Unchanged, the simulated step of {} takes {} where {} recorded {} ({} off); {} of it wait for the "
      "last rank, {} "
      "for transfers.",
      counted(of.ranks, "rank"), time_text(of.replayed_ns), steps, time_text(of.step_ns),
      percent_text(of.replay_error_ratio, 2), time_text(of.exposed_wait_ns),
      time_text(of.exposed_transfer_ns));
}

// What is to be done about the first refusal of each kind.
std::vector<std::string> refusal_sentences(const JobWhatIf& of) {
  std::vector<std::string> all;
  const auto any = [&](JobWhatIfRefusal refusal) {
    return std::any_of(of.rows.begin(), of.rows.end(),
                       [&](const JobWhatIfRow& row) { return row.refusal == refusal; });
  };
  if (any(JobWhatIfRefusal::finer_buckets))
    all.emplace_back(
        "Which gradients smaller buckets would hold is not in a recording of larger ones: record once with "
        "small "
        "buckets, which tells all larger sizes.");
  if (any(JobWhatIfRefusal::ready_unknown))
    all.emplace_back(
        "When buckets were ready is in captures merged by this version from recordings with the calls of "
        "launches: merge "
        "the ranks' captures again.");
  if (any(JobWhatIfRefusal::never_waited))
    all.emplace_back(
        "Kernels ran beside the reductions to their end in most steps: where a rank would wait for slower "
        "ones is not in "
        "the recording.");
  return all;
}

std::string fit_sentence(const LinkFit& fit) {
  if (fit.bytes_per_s <= 0)
    return fmt::format("How {} takes its time is not known from its size.", to_string(fit.function));
  const std::string rate = fmt::format("{:.1f} GB/s", fit.bytes_per_s / 1e9);
  if (fit.latency_assumed)
    return fmt::format(
        "{} takes {} and its bytes at {}: there are no two sizes apart, so that the first is assumed.",
        to_string(fit.function), time_text(fit.latency_ns), rate);
  return fmt::format("{} takes {} and its bytes at {}, by {} from {} to {}.", to_string(fit.function),
                     time_text(fit.latency_ns), rate, counted(fit.sizes, "size"),
                     bytes_text(static_cast<double>(fit.smallest_bytes)),
                     bytes_text(static_cast<double>(fit.largest_bytes)));
}

// Of several bucket sizes the one with the shortest step.
std::string best_bucket(const JobWhatIf& of) {
  const JobWhatIfRow* best = nullptr;
  std::size_t sizes = 0;
  for (const JobWhatIfRow& row : of.rows) {
    if (!row.gain || !row.change.bucket_bytes || row.change.links != 1 || row.change.no_skew) continue;
    ++sizes;
    if (best == nullptr || row.gain->gain_ns > best->gain->gain_ns) best = &row;
  }
  if (sizes < 2) return "";
  if (best->gain->high_ns <= 0)
    return "No bucket size that was asked about is better than the recorded ones.";
  return fmt::format(
      "Of the bucket sizes that were asked about {} gives the shortest step, {} ({}{} against the "
      "recorded buckets).",
      best->change.text.substr(best->change.text.find('=') + 1), time_text(best->gain->step_ns),
      best->gain->gain_ns < 0 ? "+" : "−", time_text(std::abs(best->gain->gain_ns)));
}

template <typename T>
JobWhatIfJson json_value(const std::optional<T>& value) {
  return value ? JobWhatIfJson(*value) : JobWhatIfJson(nullptr);
}

JobWhatIfJson replay_json(const JobWhatIf& of) {
  return {{"ranks", of.ranks},
          {"missing", of.missing},
          {"steps", of.steps},
          {"step_ns", of.step_ns},
          {"replayed_ns", of.replayed_ns},
          {"replay_error_ratio", of.replay_error_ratio},
          {"exposed_wait_ns", of.exposed_wait_ns},
          {"exposed_transfer_ns", of.exposed_transfer_ns},
          {"calls", of.calls},
          {"calls_without_ready", of.calls_without_ready},
          {"calls_hidden", of.calls_hidden}};
}

JobWhatIfJson fits_json(const JobWhatIf& of) {
  JobWhatIfJson all = JobWhatIfJson::array();
  for (const LinkFit& fit : of.fits)
    all.push_back(
        {{"communicator", fit.communicator},
         {"function", to_string(fit.function)},
         {"latency_ns", fit.latency_ns},
         {"latency_assumed", fit.latency_assumed},
         {"bytes_per_s", fit.bytes_per_s > 0 ? JobWhatIfJson(fit.bytes_per_s) : JobWhatIfJson(nullptr)},
         {"sizes", fit.sizes},
         {"smallest_bytes", fit.smallest_bytes},
         {"largest_bytes", fit.largest_bytes},
         {"beside_factor_ratio", json_value(fit.beside_factor_ratio)}});
  return all;
}

JobWhatIfJson contention_json(const analyzer::KernelContention& of) {
  return {{"beside_factor_ratio", json_value(of.factor_ratio)},
          {"beside_ns", of.beside_ns},
          {"controlled_ns", of.controlled_ns},
          {"cost_ns", of.cost_ns}};
}

}  // namespace

Table job_what_if_table(const JobWhatIf& answer) {
  std::vector<Column<JobWhatIfRow>> columns;
  columns.push_back(
      {{.key = "what", .header = "what", .help = "what is otherwise, as it was asked", .align = Align::left},
       [](const JobWhatIfRow& row) { return Cell::text(row.change.text); }});
  const bool contended = std::any_of(answer.rows.begin(), answer.rows.end(), [](const JobWhatIfRow& row) {
    return row.gain && row.gain->contention_ns;
  });
  add_job_gain_columns(contended || answer.rows.empty(), columns);
  columns.push_back(
      {{.key = "gain_ratio", .header = "", .unit = "%", .help = "the gain, of the recorded step"},
       [step = answer.step_ns](const JobWhatIfRow& row) {
         return row.gain && step > 0 ? Cell::number(row.gain->gain_ns / step, Form::percent)
                                     : Cell::missing();
       }});
  add_job_then_columns(columns);
  return Table(std::move(columns), answer.rows.size(),
               [&answer](std::size_t i) -> const JobWhatIfRow& { return answer.rows[i]; });
}

std::vector<std::string> job_what_if_sentences(const JobWhatIf& of) {
  std::vector<std::string> all = {replay_sentence(of)};
  if (of.missing > 0)
    all.push_back(
        fmt::format("{} missing: transfers may hold waits for them, so that faster links and perfect overlap "
                    "gain at most what is said.",
                    of.missing == 1 ? "One rank is" : fmt::format("{} ranks are", of.missing)));
  for (std::size_t i = 0; i < of.fits.size() && i < kFitsSaid; ++i) all.push_back(fit_sentence(of.fits[i]));
  if (of.fits.size() > kFitsSaid)
    all.push_back(counted(static_cast<std::int64_t>(of.fits.size() - kFitsSaid),
                          "more communicator or function is", "more communicators and functions are") +
                  " in the JSON document.");
  if (of.calls_without_ready > 0)
    all.push_back(
        fmt::format("Of {} calls {} have no time from which they could have begun: they are left to begin "
                    "where they did.",
                    of.calls, of.calls_without_ready));
  for (std::string& sentence : refusal_sentences(of)) all.push_back(std::move(sentence));
  if (const std::string best = best_bucket(of); !best.empty()) all.push_back(best);
  for (std::string& sentence : contention_sentences(of)) all.push_back(std::move(sentence));
  return all;
}

Document job_what_if_document(const JobWhatIf& answer, const DocumentOptions& options) {
  const Table table = chosen(job_what_if_table(answer), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::json:
      return Document([table, &answer](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.job_what_if");
        out.value("replay", replay_json(answer));
        out.value("said", texts_json(job_what_if_sentences(answer)));
        out.rows("rows", table);
        out.value("contention", contention_json(answer.contention));
        out.value("fits", fits_json(answer));
        out.finish();
      });
    case Format::markdown: {
      std::string out;
      for (const std::string& sentence : job_what_if_sentences(answer))
        out.append(markdown_paragraph(markdown_cell(sentence)));
      return Document(out.append(render_markdown(table)));
    }
    case Format::text:
      break;
  }
  std::string out;
  for (const std::string& sentence : job_what_if_sentences(answer))
    out.append(paragraph(terminal_safe(sentence), options.text));
  out.append("\n").append(render_text(table, options.text));
  if (const std::string cut = cut_line(table, "change"); !cut.empty())
    out.append(paragraph(cut, options.text));
  return Document(std::move(out));
}

}  // namespace ridgeline::reports
