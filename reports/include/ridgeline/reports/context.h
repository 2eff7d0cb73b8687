// context.h: what every report says beside its figures: which run, which step, which roofs, how complete.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

struct Fact {
  std::string key;    // for programs
  std::string label;  // for people
  std::string value;
};

/// Command line, device, versions, date, commit, host; only what the capture knows.
[[nodiscard]] std::vector<Fact> run_facts(const analyzer::Model& model);

/// "NVIDIA H200 · driver 580.159 · 2026-11-21 09:14:02 UTC · commit 1a2b3c4 (modified)".
[[nodiscard]] std::string run_line(const analyzer::Model& model);
/// The program and its arguments; "" if unknown.
[[nodiscard]] std::string command_line(const analyzer::Model& model);
/// "Step 17, median of 20 timeline steps: 57.812 ms (p10 57.601, p90 58.120), 390 launches."
[[nodiscard]] std::string step_line(const analyzer::StepAnalysis& steps);
/// Of a roof that was measured: "4.50 TB/s", "700.0 TFLOP/s", "1.4 µs", "105 W", "100.00 pJ".
[[nodiscard]] std::string ceiling_text(const store::Ceiling& ceiling);

/// What shares are of: "step", "range" (of NVTX or of time), "recording".
[[nodiscard]] std::string_view scope_noun(analyzer::ScopeKind scope);
/// What gets shorter where that was simulated: a part of a step shortens the step.
[[nodiscard]] std::string_view simulated_noun(analyzer::ScopeKind scope);
/// "4.80 TB/s, spec (NVIDIA H200 datasheet)".
[[nodiscard]] std::string peak_text(const analyzer::Peak& peak);
/// "bf16 989.4 TFLOP/s (spec)", "DRAM 4.80 TB/s (spec)".
[[nodiscard]] std::string roof_label(const analyzer::Peak& roof);
/// The roofs that the limiter was measured against, with their sources; one sentence, "" if none was needed.
/// What the clock costs, and the joules of the step; "" of what is not known.
[[nodiscard]] std::string clock_cost_line(const analyzer::Ranking& ranking);
[[nodiscard]] std::string energy_line(const analyzer::Ranking& ranking);
[[nodiscard]] std::string roofs_line(const analyzer::UtilisationAnalysis& utilisation);

/// Are the targets met, by how many kernels, and what would meeting them save. Of a step in which the GPU
/// idles it is the kernels that meet or miss them, and that it idles is said first.
[[nodiscard]] std::string verdict_sentence(const analyzer::Analysis& analysis);
/// The same without what is said of an idle GPU: for the line below its notice.
[[nodiscard]] std::string kernels_verdict_sentence(const analyzer::Analysis& analysis);
/// Whether any launch has a utilisation; if not, what could be saved is unknown, not nothing.
[[nodiscard]] bool anything_measured(const analyzer::Ranking& ranking);
/// "up to 31.2 % of the step (18.043 ms) at 70 %, 41.0 % (23.700 ms) at 85 %"
[[nodiscard]] std::string saving_text(const analyzer::Ranking& ranking);

/// What is to be known of that saving: how much of it is of latency-bound kernels, and how much is exposed, not
/// beside other kernels; each sentence begins with a space, "" if neither matters.
[[nodiscard]] std::string saving_notes(const analyzer::Ranking& ranking);

/// What the stall reasons rest on, how to read them, or why there are none.
[[nodiscard]] std::string stalls_line(const analyzer::StallAnalysis& stalls);

/// Launches seen and recorded, drops, coverage: one sentence that is printed whether good or bad.
[[nodiscard]] std::string completeness_line(const analyzer::Quality& quality);

/// How far samples (T1) and counters (T2) cover the step and how well they agree; "" without samples.
[[nodiscard]] std::string tiers_line(const analyzer::Quality& quality);

/// The declared work of the step, the least time it takes at the roofs, and who moves more than that; "" if
/// nothing is declared.
[[nodiscard]] std::string work_line(const analyzer::Analysis& analysis);

/// What share of the device's peak the whole step used: MFU with its convention where work is declared, and the tensor
/// pipe's operations where they are counted; then tokens and samples a second where the program says how many a step
/// has; "" without any of these.
[[nodiscard]] std::string throughput_line(const analyzer::Throughput& throughput);

/// A count a second: "643,973", "12.35".
[[nodiscard]] std::string rate_text(double per_s);

/// The analyzer's findings of at least that severity, errors first.
[[nodiscard]] analyzer::Findings notices(const analyzer::Quality& quality, Severity least);

/// Of them those that are no line of the headline.
[[nodiscard]] analyzer::Findings other_notices(const analyzer::Quality& quality, Severity least);
/// The GPU idles for a good part of the step.
[[nodiscard]] bool gpu_idles(const analyzer::Quality& quality);

/// One "warning: …" paragraph each, wrapped; "" if there is none.
[[nodiscard]] std::string notices_text(const analyzer::Findings& findings, const TextStyle& style);
[[nodiscard]] std::string notices_markdown(const analyzer::Findings& findings);

/// What a tier is: "T1", "sampled", how its values come about.
struct Term {
  std::string_view term, name, meaning;
};
[[nodiscard]] const std::vector<Term>& tier_glossary();
/// A line of at most 80 columns for each tier that was recorded: what it is, and what of the step it covers.
[[nodiscard]] std::vector<std::string> tier_lines(const analyzer::Model& model,
                                                  const analyzer::Quality& quality);

/// 0.7 -> "70 %", 0.725 -> "72.5 %".
[[nodiscard]] std::string target_text(double ratio);

/// An identifier as words: "launch_bound" -> "launch bound".
[[nodiscard]] std::string in_words(std::string_view identifier);

}  // namespace ridgeline::reports
