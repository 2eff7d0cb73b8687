#include "ridgeline/reports/ceilings_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using store::CeilingReading;
using store::CeilingRoof;
using store::MachineCeilings;
using CeilingsJson = nlohmann::ordered_json;

struct Row {
  const CeilingRoof* roof = nullptr;
  const CeilingReading* reading = nullptr;
};

std::vector<Row> rows_of(const MachineCeilings& machine) {
  std::vector<Row> rows;
  for (const CeilingRoof& roof : machine.roofs) {
    for (const CeilingReading& reading : roof.readings) rows.push_back({&roof, &reading});
  }
  return rows;
}

std::string roof_rate_text(const CeilingRoof& roof, double value) {
  store::Ceiling ceiling;
  ceiling.kind = roof.kind;
  ceiling.unit = roof.unit;
  ceiling.value = value;
  return ceiling_text(ceiling);
}

std::string verdict(const CeilingReading& reading) {
  std::string text;
  for (const store::CeilingVoid& v : reading.voids) text += (text.empty() ? "" : ", ") + v.rule;
  return text.empty() ? "roof" : "void: " + text;
}

std::optional<double> pipe_ratio(const Row& row) {
  if (!row.roof->max_per_cycle_sm || !row.reading->per_cycle_sm || *row.roof->max_per_cycle_sm <= 0)
    return std::nullopt;
  return *row.reading->per_cycle_sm / *row.roof->max_per_cycle_sm;
}

std::optional<double> counted_ratio(const CeilingRoof& roof) {
  if (!roof.count || roof.count->declared <= 0) return std::nullopt;
  return roof.count->counted / roof.count->declared;
}

// A cell of one of the reading's numbers.
template <typename Member>
auto reading_cell(Member member, Form form) {
  return [member, form](const Row& r) { return Cell::number(r.reading->*member, form); };
}

// Which roof, and what it is.
std::vector<Column<Row>> roof_columns() {
  return {
      {{.key = "roof",
        .header = "roof",
        .help = "level and kind: `dram.read`, `compute.bf16`",
        .align = Align::left},
       [](const Row& r) { return Cell::text(r.roof->name(), Style::strong); }},
      {{.key = "read_share_ratio",
        .header = "reads",
        .unit = "%",
        .help = "of device memory: bytes read, of the bytes moved",
        .drop_order = 4},
       [](const Row& r) { return Cell::number(r.roof->read_share, Form::percent); }},
      {{.key = "state",
        .header = "state",
        .help = "`burst`: milliseconds at the highest clock; `sustained`: seconds at the clock that power "
                "and heat leave",
        .align = Align::left},
       [](const Row& r) { return Cell::text(std::string(to_string(r.reading->state))); }},
      {{.key = "value", .header = "value", .help = "in `unit`; of launches less is better"},
       [](const Row& r) {
         return Cell::worded(roof_rate_text(*r.roof, r.reading->value), r.reading->value,
                             r.reading->voids.empty() ? Style::plain : Style::dim);
       }},
      {{.key = "unit",
        .header = "unit",
        .help = "of `value`: `bytes_per_s`, `ops_per_s` or `ns`",
        .align = Align::left,
        .shown = false},
       [](const Row& r) { return Cell::text(r.roof->unit); }},
      {{.key = "spread_ratio",
        .header = "±",
        .unit = "%",
        .help = "how far rounds, or parts of the time, are apart, of the value",
        .drop_order = 3},
       reading_cell(&CeilingReading::spread_ratio, Form::percent)},
  };
}

// What it ran at, and what that took.
std::vector<Column<Row>> machine_columns() {
  return {
      {{.key = "sm_clock_hz",
        .header = "SM clock",
        .unit = "MHz",
        .help = "of the SMs while it ran, by their own counters",
        .drop_order = 2},
       reading_cell(&CeilingReading::sm_clock_hz, Form::megahertz)},
      {{.key = "per_cycle_sm",
        .header = "a cycle and SM",
        .help = "operations or bytes of one SM in a cycle: value ÷ clock ÷ SMs",
        .drop_order = 5},
       reading_cell(&CeilingReading::per_cycle_sm, Form::general)},
      {{.key = "of_most_ratio",
        .header = "of most",
        .unit = "%",
        .help = "of what an SM can do in a cycle by its architecture",
        .drop_order = 6},
       [](const Row& r) { return Cell::number(pipe_ratio(r), Form::percent); }},
      {{.key = "power_w",
        .header = "power",
        .unit = "W",
        .help = "mean by the energy counter",
        .drop_order = 1},
       [](const Row& r) {
         return r.reading->power_w ? Cell::worded(fixed(*r.reading->power_w, 0), *r.reading->power_w)
                                   : Cell::missing();
       }},
      {{.key = "joules_each",
        .header = "energy each",
        .unit = "pJ",
        .help = "joules of a byte or an operation, all that the device draws included",
        .drop_order = 7},
       [](const Row& r) {
         return r.reading->joules_each
                    ? Cell::worded(fixed(*r.reading->joules_each * 1e12, 2), *r.reading->joules_each)
                    : Cell::missing();
       }},
      {{.key = "counted_ratio",
        .header = "counted",
        .unit = "%",
        .help = "bytes or operations that counters saw, of those that the figure rests on",
        .drop_order = 8},
       [](const Row& r) { return Cell::number(counted_ratio(*r.roof), Form::percent); }},
  };
}

// Whether it holds, and for what.
std::vector<Column<Row>> verdict_columns() {
  return {
      {{.key = "verdict",
        .header = "verdict",
        .help = "`roof`, or `void` with the rules that it breaks",
        .align = Align::left},
       [](const Row& r) {
         return Cell::text(verdict(*r.reading), r.reading->voids.empty() ? Style::good : Style::bad);
       }},
      {{.key = "configuration",
        .header = "configuration",
        .help = "sizes and threads, or shape and algorithm",
        .align = Align::left,
        .shown = false},
       [](const Row& r) {
         return Cell::text(r.reading->configuration.empty() ? r.roof->configuration
                                                            : r.reading->configuration);
       }},
      {{.key = "seconds", .header = "seconds", .help = "of work that the value is of", .shown = false},
       reading_cell(&CeilingReading::seconds, Form::general)},
      {{.key = "temperature_c", .header = "GPU", .unit = "°C", .help = "at the end", .shown = false},
       [](const Row& r) {
         return r.reading->temperature_c ? Cell::number(*r.reading->temperature_c, Form::plain)
                                         : Cell::missing();
       }},
      {{.key = "held_by",
        .header = "held by",
        .help = "what held the clock, by the driver",
        .align = Align::left,
        .shown = false},
       [](const Row& r) { return Cell::text(fmt::format("{}", fmt::join(r.reading->throttle, ", "))); }},
  };
}

std::vector<std::string> facts(const MachineCeilings& machine) {
  std::vector<std::string> lines;
  std::string first = machine.device;
  if (machine.power_limit_w) first += fmt::format(", power limit {:g} W", *machine.power_limit_w);
  first += fmt::format(", {} SMs, up to {}", machine.sm_count, clock_text(machine.max_sm_clock_hz));
  if (machine.ecc) first += *machine.ecc ? ", ECC on" : ", ECC off";
  if (!machine.driver.empty()) first += ", driver " + machine.driver;
  lines.push_back(first + ".");
  lines.push_back(fmt::format("Measured {} in {} ({}).", machine.measured, time_text(machine.seconds * 1e9),
                              machine.mode));
  return lines;
}

std::string sweep_line(const store::CeilingSweep& sweep) {
  if (!sweep.plateau_bytes_per_s) return "";
  std::string line =
      fmt::format("{} by working set: {} on the plateau", sweep.level == CeilingLevel::l2 ? "L2" : "L1",
                  bandwidth_text(*sweep.plateau_bytes_per_s));
  if (sweep.knee_bytes)
    line += fmt::format(", below 95 % of it beyond {}", bytes_text(static_cast<double>(*sweep.knee_bytes)));
  return line + ".";
}

std::string ceiling_energy_line(const store::CeilingEnergy& energy) {
  std::string line = fmt::format("Energy: {:.0f} W at work on nothing", energy.idle_w);
  for (const store::CeilingEnergy::Term& term : energy.terms) {
    std::string name = term.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    line += fmt::format(", {:.3g} ± {:.2g} pJ a {}", term.joules * 1e12, term.error * 1e12, name);
  }
  return line + fmt::format(" (fit over {} loads, residuals {:.1f} W rms, {:.1f} W at most).", energy.points,
                            energy.rms_w, energy.max_w);
}

std::vector<std::string> notes(const MachineCeilings& machine) {
  std::vector<std::string> lines;
  for (const store::CeilingSweep& sweep : machine.sweeps) {
    if (std::string line = sweep_line(sweep); !line.empty()) lines.push_back(std::move(line));
  }
  if (machine.energy) lines.push_back(ceiling_energy_line(*machine.energy));
  if (!machine.left_out.empty())
    lines.push_back(
        fmt::format("Not measured, for the time was over: {}.", fmt::join(machine.left_out, ", ")));
  bool counted = false;
  for (const CeilingRoof& roof : machine.roofs) {
    counted = counted || roof.count;
    for (const CeilingReading& reading : roof.readings) {
      for (const store::CeilingVoid& v : reading.voids)
        lines.push_back(fmt::format("{} {} is void: {}.", roof.name(), to_string(reading.state), v.detail));
    }
  }
  if (!counted) lines.emplace_back("Not held against counters: --verify does so.");
  return lines;
}

CeilingsJson device_json(const MachineCeilings& machine) {
  CeilingsJson out = {{"name", valid_utf8(machine.device)}, {"uuid", valid_utf8(machine.uuid)}};
  out["power_limit_w"] = machine.power_limit_w ? CeilingsJson(*machine.power_limit_w) : CeilingsJson();
  out["sm_count"] = machine.sm_count;
  out["max_sm_clock_hz"] = machine.max_sm_clock_hz;
  out["driver"] = valid_utf8(machine.driver);
  out["ecc"] = machine.ecc ? CeilingsJson(*machine.ecc) : CeilingsJson();
  return out;
}

CeilingsJson left_out_json(const MachineCeilings& machine) {
  CeilingsJson out = CeilingsJson::array();
  for (const std::string& name : machine.left_out) out.push_back(valid_utf8(name));
  return out;
}

CeilingsJson sweeps_json(const MachineCeilings& machine) {
  CeilingsJson out = CeilingsJson::array();
  for (const store::CeilingSweep& sweep : machine.sweeps) {
    CeilingsJson points = CeilingsJson::array();
    for (const auto& p : sweep.points) points.push_back({{"bytes", p.bytes}, {"bytes_per_s", p.bytes_per_s}});
    out.push_back({{"level", std::string(to_string(sweep.level))},
                   {"plateau_bytes_per_s",
                    sweep.plateau_bytes_per_s ? CeilingsJson(*sweep.plateau_bytes_per_s) : CeilingsJson()},
                   {"knee_bytes", sweep.knee_bytes ? CeilingsJson(*sweep.knee_bytes) : CeilingsJson()},
                   {"points", std::move(points)}});
  }
  return out;
}

CeilingsJson shapes_json(const MachineCeilings& machine) {
  CeilingsJson out = CeilingsJson::array();
  for (const store::CeilingShape& shape : machine.shapes) {
    out.push_back({{"precision", valid_utf8(shape.precision)},
                   {"shape", valid_utf8(shape.shape)},
                   {"burst_ops_per_s", shape.burst_ops_per_s},
                   {"sustained_ops_per_s",
                    shape.sustained_ops_per_s ? CeilingsJson(*shape.sustained_ops_per_s) : CeilingsJson()}});
  }
  return out;
}

CeilingsJson energy_json(const store::CeilingEnergy& energy) {
  CeilingsJson terms = CeilingsJson::array();
  for (const auto& term : energy.terms)
    terms.push_back({{"name", valid_utf8(term.name)}, {"joules", term.joules}, {"error", term.error}});
  return {{"idle_w", energy.idle_w}, {"idle_error_w", energy.idle_error_w},
          {"points", energy.points}, {"rms_w", energy.rms_w},
          {"max_w", energy.max_w},   {"terms", std::move(terms)}};
}

CeilingsJson voids_json(const MachineCeilings& machine) {
  CeilingsJson out = CeilingsJson::array();
  for (const CeilingRoof& roof : machine.roofs) {
    for (const CeilingReading& reading : roof.readings) {
      for (const store::CeilingVoid& v : reading.voids) {
        out.push_back({{"roof", valid_utf8(roof.name())},
                       {"state", std::string(to_string(reading.state))},
                       {"rule", valid_utf8(v.rule)},
                       {"detail", valid_utf8(v.detail)}});
      }
    }
  }
  return out;
}

}  // namespace

Table ceilings_table(const MachineCeilings& machine) {
  const auto rows = std::make_shared<const std::vector<Row>>(rows_of(machine));
  std::vector<Column<Row>> columns = roof_columns();
  for (auto part : {machine_columns, verdict_columns}) {
    for (Column<Row>& column : part()) columns.push_back(std::move(column));
  }
  return {std::move(columns), rows->size(), [rows](std::size_t i) -> const Row& { return (*rows)[i]; }};
}

Document ceilings_document(const MachineCeilings& machine, const DocumentOptions& options) {
  const Table table = chosen(ceilings_table(machine), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::json:
      return Document([table, &machine](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.ceilings");
        out.value("measured", valid_utf8(machine.measured));
        out.value("mode", valid_utf8(machine.mode));
        out.value("duration_s", CeilingsJson(machine.seconds));
        out.value("device", device_json(machine));
        out.rows("rows", table);
        out.value("voids", voids_json(machine));
        out.value("left_out", left_out_json(machine));
        out.value("sweeps", sweeps_json(machine));
        out.value("shapes", shapes_json(machine));
        out.value("energy", machine.energy ? energy_json(*machine.energy) : CeilingsJson());
        out.finish();
      });
    case Format::markdown: {
      std::string out;
      for (const std::string& line : facts(machine)) out += markdown_paragraph(line);
      out += render_markdown(table) + "\n";
      for (const std::string& line : notes(machine)) out += markdown_paragraph(line);
      return Document(std::move(out));
    }
    case Format::text:
      break;
  }
  std::string out;
  for (const std::string& line : facts(machine)) out += paragraph(line, options.text);
  out += "\n" + render_text(table, options.text) + "\n";
  for (const std::string& line : notes(machine)) out += paragraph(line, options.text);
  return Document(std::move(out));
}

}  // namespace ridgeline::reports
