#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ridgeline/base/file.h"
#include "ridgeline/base/json_field.h"
#include "ridgeline/comparison/ladder.h"

namespace ridgeline::comparison {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr std::string_view kRunsFormat = "ridgeline.ladder-runs";
constexpr double kMaxNumber = 1e30, kMaxChoiceNs = 1e18;
constexpr int kRecordVersion = 1;
constexpr std::size_t kMaxRecordBytes = 64u << 20;

[[noreturn]] void refuse_record(const std::string& what) {
  throw Error(ErrorKind::corrupt, what);
}

// Sums and squares of larger ones would be none.
double bounded_number(const RecordJson& from, const char* key) {
  const double value = field::number(from, key);
  if (std::abs(value) > kMaxNumber) field::refuse(key, "is too large");
  return value;
}

double ratio_of(const RecordJson& from, const char* key) {
  const double value = field::amount(from, key, 1);
  if (value <= 0 || value >= 1) field::refuse(key, "is no ratio between 0 and 1");
  return value;
}

// A position in a list of that many, which the lists of a record never reach.
std::size_t index_of(const RecordJson& from, const char* key) {
  const std::int64_t value = field::whole(from, key);
  if (value < 0) field::refuse(key, "is no position in a list");
  return static_cast<std::size_t>(value);
}

std::vector<std::size_t> rungs_of(const RecordJson& from, const char* key) {
  std::vector<std::size_t> rungs;
  for (const double value : field::numbers(from, key)) {
    if (!(value >= 0 && value < static_cast<double>(kMaxRungs)) || value != std::trunc(value))
      field::refuse(key, "holds a rung that cannot be");
    rungs.push_back(static_cast<std::size_t>(value));
  }
  return rungs;
}

// What a run may lack, by key.
constexpr std::pair<const char*, std::optional<double> LadderRun::*> kRunFacts[] = {
    {"sm_clock_hz", &LadderRun::sm_clock_hz},
    {"power_w", &LadderRun::power_w},
    {"joules_per_step", &LadderRun::joules_per_step},
    {"peak_memory_bytes", &LadderRun::peak_memory_bytes},
    {"loss", &LadderRun::loss},
    {"launches", &LadderRun::launches}};

RecordJson run_json(const LadderRun& run) {
  RecordJson out = {{"program", run.program}, {"round", run.round}, {"seed", run.seed},
                    {"step_ns", run.step_ns}, {"steps", run.steps}, {"discarded", run.discarded},
                    {"settled", run.settled}};
  for (const auto& [key, member] : kRunFacts) {
    if (run.*member) out[key] = *(run.*member);
  }
  if (!run.device.empty()) out["device"] = run.device;
  return out;
}

LadderRun run_of(const RecordJson& from) {
  LadderRun run;
  run.program = index_of(from, "program");
  run.round = field::whole(from, "round");
  run.seed = field::whole(from, "seed");
  run.step_ns = field::number(from, "step_ns");
  run.steps = field::whole(from, "steps");
  run.discarded = field::whole(from, "discarded");
  run.settled = field::flag(from, "settled");
  for (const auto& [key, member] : kRunFacts) {
    if (from.contains(key)) run.*member = bounded_number(from, key);
  }
  run.device = field::text_if(from, "device");
  return run;
}

RecordJson rung_json(const LadderRungFacts& rung) {
  RecordJson out = {{"name", rung.name}, {"change", rung.change}, {"needs", rung.needs}};
  for (const LadderChoiceTimes& choice : rung.choices)
    out["choices"].push_back({{"name", choice.name}, {"step_ns", choice.step_ns}});
  if (rung.chosen) out["chosen"] = *rung.chosen;
  return out;
}

LadderRungFacts rung_of(const RecordJson& from) {
  LadderRungFacts rung;
  rung.name = field::text(from, "name");
  rung.change = field::text(from, "change");
  rung.needs = rungs_of(from, "needs");
  if (from.contains("choices")) {
    for (const RecordJson& choice : field::objects(from, "choices")) {
      rung.choices.push_back({field::text(choice, "name"), field::numbers(choice, "step_ns")});
      for (const double ns : rung.choices.back().step_ns) {
        if (!(ns > 0 && ns <= kMaxChoiceNs)) field::refuse("step_ns", "holds something that is no time");
      }
    }
  }
  if (from.contains("chosen")) {
    rung.chosen = index_of(from, "chosen");
    if (*rung.chosen >= rung.choices.size()) field::refuse("chosen", "is none of the choices");
  }
  return rung;
}

RecordJson program_json(const LadderProgram& program) {
  RecordJson out = {{"command", program.command}};
  if (!program.failure.empty()) out["failure"] = program.failure;
  if (!program.kernels.empty()) out["kernels"] = program.kernels;
  return out;
}

LadderProgram program_of(const RecordJson& from) {
  LadderProgram program{field::text(from, "command"), field::text_if(from, "failure"), {}};
  if (from.contains("kernels")) {
    const RecordJson& kernels = from["kernels"];
    if (!kernels.is_object()) field::refuse("kernels", "is not an object");
    for (const auto& [name, calls] : kernels.items())
      program.kernels[name] = bounded_number(kernels, name.c_str());
  }
  return program;
}

LadderRecord record_of(const RecordJson& from) {
  if (!from.is_object() || field::text_if(from, "format") != kRunsFormat)
    refuse_record("not the runs of a ladder");
  if (field::whole(from, "version") != kRecordVersion)
    refuse_record("of another version: use the Ridgeline that wrote it");
  LadderRecord record;
  record.name = field::text(from, "name");
  record.begun = field::text(from, "begun");
  record.source = field::word<LadderSource>(from, "source");
  record.end = field::word<LadderEnd>(from, "end");
  record.order_seed = field::whole(from, "order_seed");
  record.rounds = field::whole(from, "rounds");
  record.seconds = bounded_number(from, "seconds");
  LadderOptions& o = record.options;
  o.alpha = ratio_of(from, "alpha");
  o.equivalence_alpha = ratio_of(from, "equivalence_alpha");
  o.margin_ratio = ratio_of(from, "margin_ratio");
  o.loss_margin_ratio = ratio_of(from, "loss_margin_ratio");
  o.min_rounds = field::whole(from, "least_rounds");
  record.look_alpha = field::amount(from, "look_alpha", 1);
  record.look_equivalence_alpha = field::amount(from, "look_equivalence_alpha", 1);
  record.questions = {field::flag(from, "alone"), field::flag(from, "left_out"),
                      field::flag(from, "shapley")};
  for (const RecordJson& rung : field::objects(from, "rungs")) record.rungs.push_back(rung_of(rung));
  for (const RecordJson& arm : field::objects(from, "arms")) {
    RungSet set = 0;
    for (const std::size_t rung : rungs_of(arm, "rungs")) set |= RungSet{1} << rung;
    record.arms.push_back(set);
    record.program_of_arm.push_back(index_of(arm, "program"));
  }
  for (const RecordJson& program : field::objects(from, "programs"))
    record.programs.push_back(program_of(program));
  for (const RecordJson& run : field::objects(from, "runs")) record.runs.push_back(run_of(run));
  return record;
}

RecordJson arms_json(const LadderRecord& record) {
  RecordJson arms = RecordJson::array();
  for (std::size_t i = 0; i < record.arms.size(); ++i) {
    RecordJson rungs = RecordJson::array();
    for (std::size_t rung = 0; rung < record.rungs.size(); ++rung) {
      if ((record.arms[i] >> rung & 1) != 0) rungs.push_back(rung);
    }
    arms.push_back({{"rungs", std::move(rungs)}, {"program", record.program_of_arm[i]}});
  }
  return arms;
}

}  // namespace

std::string ladder_text(const LadderRecord& record) {
  const LadderOptions& o = record.options;
  RecordJson out = {{"format", kRunsFormat},
                    {"version", kRecordVersion},
                    {"name", record.name},
                    {"begun", record.begun},
                    {"source", to_string(record.source)},
                    {"end", to_string(record.end)},
                    {"order_seed", record.order_seed},
                    {"rounds", record.rounds},
                    {"seconds", record.seconds},
                    {"alpha", o.alpha},
                    {"equivalence_alpha", o.equivalence_alpha},
                    {"margin_ratio", o.margin_ratio},
                    {"loss_margin_ratio", o.loss_margin_ratio},
                    {"least_rounds", o.min_rounds},
                    {"look_alpha", record.look_alpha},
                    {"look_equivalence_alpha", record.look_equivalence_alpha},
                    {"alone", record.questions.alone},
                    {"left_out", record.questions.left_out},
                    {"shapley", record.questions.shapley}};
  for (const char* key : {"rungs", "arms", "programs", "runs"}) out[key] = RecordJson::array();
  for (const LadderRungFacts& rung : record.rungs) out["rungs"].push_back(rung_json(rung));
  out["arms"] = arms_json(record);
  for (const LadderProgram& program : record.programs) out["programs"].push_back(program_json(program));
  for (const LadderRun& run : record.runs) out["runs"].push_back(run_json(run));
  return out.dump(1, ' ', true, RecordJson::error_handler_t::replace) + "\n";
}

Result<LadderRecord> parse_ladder(std::string_view text) {
  try {
    return record_of(RecordJson::parse(text));
  } catch (const RecordJson::exception&) {
    return Failure{ErrorKind::corrupt, "not the runs of a ladder: no JSON of theirs"};
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

Result<LadderRecord> read_ladder(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxRecordBytes);
  if (!text) return Failure{text.failure().kind, path + ": " + text.failure().message};
  auto record = parse_ladder(text.value());
  if (!record) return Failure{record.failure().kind, path + ": " + record.failure().message};
  return record;
}

}  // namespace ridgeline::comparison
