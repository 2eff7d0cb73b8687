#include "ridgeline/store/machine_ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/base/file.h"
#include "ridgeline/base/json_field.h"

namespace ridgeline::store {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 16 << 20;
constexpr int kFileVersion = 1;

// A rate, a time, a share of the spread: never larger than what a sum can take.
constexpr double kMaxAmount = 1e24;

double amount(const Json& from, const char* key) {
  return field::amount(from, key, kMaxAmount);
}

std::optional<double> amount_if(const Json& from, const char* key) {
  return field::amount_if(from, key, kMaxAmount);
}

CeilingReading reading_of(const Json& json) {
  CeilingReading r;
  r.state = field::word<CeilingState>(json, "state");
  r.value = amount(json, "value");
  r.spread_ratio = amount(json, "spread_ratio");
  r.seconds = amount(json, "seconds");
  r.sm_clock_hz = amount_if(json, "sm_clock_hz");
  r.per_cycle_sm = amount_if(json, "per_cycle_sm");
  r.power_w = amount_if(json, "power_w");
  r.joules_each = amount_if(json, "joules_each");
  r.temperature_c = field::whole_if(json, "temperature_c");
  r.configuration = field::text_if(json, "configuration");
  if (json.contains("throttle")) r.throttle = field::texts(json, "throttle");
  if (json.contains("void")) {
    for (const Json& each : field::objects(json, "void"))
      r.voids.push_back({field::text(each, "rule"), field::text(each, "detail")});
  }
  return r;
}

CeilingRoof roof_of(const Json& json) {
  CeilingRoof roof;
  roof.level = field::word<CeilingLevel>(json, "level");
  roof.kind = field::text(json, "kind");
  roof.read_share = field::amount_if(json, "read_share", 1);
  roof.unit = field::text(json, "unit");
  roof.work = amount_if(json, "work").value_or(0);
  roof.max_per_cycle_sm = amount_if(json, "most_per_cycle_sm");
  roof.configuration = field::text_if(json, "configuration");
  roof.call_ns = amount_if(json, "call_ns");
  for (const Json& each : field::objects(json, "readings")) roof.readings.push_back(reading_of(each));
  if (json.contains("count")) {
    const Json& count = field::member(json, "count");
    roof.count = {amount(count, "counted"), amount(count, "declared"), field::text(count, "counter")};
  }
  return roof;
}

CeilingSweep sweep_of(const Json& json) {
  CeilingSweep sweep;
  sweep.level = field::word<CeilingLevel>(json, "level");
  for (const Json& each : field::objects(json, "points"))
    sweep.points.push_back({field::whole(each, "bytes"), amount(each, "bytes_per_s")});
  sweep.plateau_bytes_per_s = amount_if(json, "plateau_bytes_per_s");
  sweep.knee_bytes = field::whole_if(json, "knee_bytes");
  return sweep;
}

CeilingEnergy energy_of(const Json& json) {
  CeilingEnergy energy{.idle_w = field::number(json, "idle_w"),
                       .idle_error_w = amount(json, "idle_error_w"),
                       .points = field::whole(json, "points"),
                       .rms_w = amount(json, "rms_w"),
                       .max_w = amount(json, "max_w"),
                       .terms = {}};
  for (const Json& each : field::objects(json, "terms"))
    energy.terms.push_back({field::text(each, "name"), field::number(each, "joules"), amount(each, "error")});
  return energy;
}

MachineCeilings machine_of(const Json& json) {
  MachineCeilings machine;
  machine.measured = field::text(json, "measured");
  machine.mode = field::text(json, "mode");
  machine.seconds = amount(json, "seconds");
  const Json& device = field::member(json, "device");
  machine.device = field::text(device, "name");
  machine.uuid = field::text(device, "uuid");
  machine.driver = field::text(device, "driver");
  machine.sm_count = field::whole(device, "sm_count");
  machine.max_sm_clock_hz = amount(device, "max_sm_clock_hz");
  machine.power_limit_w = amount_if(device, "power_limit_w");
  if (device.contains("ecc") && device["ecc"].is_boolean()) machine.ecc = device["ecc"].get<bool>();
  if (json.contains("left_out")) machine.left_out = field::texts(json, "left_out");
  for (const Json& each : field::objects(json, "roofs")) machine.roofs.push_back(roof_of(each));
  for (const Json& each : field::objects(json, "sweeps")) machine.sweeps.push_back(sweep_of(each));
  for (const Json& each : field::objects(json, "shapes")) {
    machine.shapes.push_back({field::text(each, "precision"), field::text(each, "shape"),
                              amount(each, "burst_ops_per_s"), amount_if(each, "sustained_ops_per_s")});
  }
  if (json.contains("energy")) machine.energy = energy_of(field::member(json, "energy"));
  return machine;
}

// A file name's worth of a UUID: it comes from a file.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool usual = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    out += usual ? c : '_';
  }
  return out;
}

// A file of the limit that the card has: watts are set in whole ones.
bool is_of_limit(const MachineCeilings& machine, const std::optional<double>& power_limit_w) {
  return !power_limit_w || !machine.power_limit_w || std::fabs(*machine.power_limit_w - *power_limit_w) < 1;
}

std::string conditions_of(const MachineCeilings& machine, const CeilingRoof& roof, const CeilingReading& r) {
  std::string out = r.configuration.empty() ? roof.configuration : r.configuration;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : "; ") + part; };
  add(fmt::format("{:.3g} s, {} of {}", r.seconds, machine.mode, machine.measured));
  if (machine.power_limit_w) add(fmt::format("power limit {:g} W", *machine.power_limit_w));
  if (!r.throttle.empty()) add(fmt::format("held by {}", fmt::join(r.throttle, ", ")));
  return out;
}

}  // namespace

std::string CeilingRoof::name() const {
  return std::string(to_string(level)) + "." + kind;
}

Result<MachineCeilings> parse_machine_ceilings(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != "ridgeline ceilings")
    return Failure{ErrorKind::corrupt, "not a file of measured ceilings"};
  if (json.value("version", Json()) != kFileVersion)
    return Failure{ErrorKind::newer_capture,
                   fmt::format("measured ceilings of version {}, this program knows {}: measure them again",
                               json.value("version", Json()).dump(), kFileVersion)};
  try {
    return machine_of(json);
  } catch (const Error& error) {
    return Failure{ErrorKind::corrupt, std::string("damaged file of measured ceilings: ") + error.message()};
  } catch (const Json::exception& error) {
    return Failure{ErrorKind::corrupt, std::string("damaged file of measured ceilings: ") + error.what()};
  }
}

Result<MachineCeilings> read_machine_ceilings(const std::string& path) {
  const Result<std::string> bytes = read_file(path, kMaxFileBytes);
  if (!bytes) return Failure{bytes.failure().kind, path + ": " + bytes.failure().message};
  Result<MachineCeilings> machine = parse_machine_ceilings(bytes.value());
  if (!machine) return Failure{machine.failure().kind, path + ": " + machine.failure().message};
  return machine;
}

std::string with_counts(std::string_view text, const std::vector<NamedCount>& counts,
                        double max_difference_ratio) {
  Json json = Json::parse(text);
  for (Json& roof : json["roofs"]) {
    const std::string name = roof["level"].get<std::string>() + "." + roof["kind"].get<std::string>();
    const auto seen =
        std::find_if(counts.begin(), counts.end(), [&](const NamedCount& each) { return each.roof == name; });
    if (seen == counts.end()) continue;
    const CeilingCount& count = seen->count;
    roof["count"] = {{"counted", count.counted}, {"declared", count.declared}, {"counter", count.counter}};
    const double ratio = count.declared > 0 ? count.counted / count.declared : 0;
    if (std::fabs(ratio - 1) <= max_difference_ratio) continue;
    const Json found = {
        {"rule", "counters_disagree"},
        {"detail", fmt::format("{} counted {:.4g}, {:.1f} % of the {:.4g} that are said to be done",
                               count.counter, count.counted, ratio * 100, count.declared)}};
    for (Json& reading : roof["readings"]) {
      if (!reading.contains("void")) reading["void"] = Json::array();
      reading["void"].push_back(found);
    }
  }
  return json.dump(1) + "\n";
}

bool measures(const MachineCeilings& machine, const Device& device) {
  return (device.uuid && machine.uuid == *device.uuid) || machine.device == device.name;
}

std::vector<Ceiling> ceiling_rows(const MachineCeilings& machine, const Device& device) {
  std::vector<Ceiling> rows;
  const Id device_id = device.id;
  const std::string other =
      device.uuid && machine.uuid == *device.uuid ? "" : "; measured on another card of the model";
  for (const CeilingRoof& roof : machine.roofs) {
    for (const CeilingReading& reading : roof.readings) {
      if (!reading.voids.empty() || !(reading.value > 0)) continue;
      rows.push_back({.device_id = device_id,
                      .level = roof.level,
                      .kind = roof.kind,
                      .state = reading.state,
                      .read_share = roof.read_share,
                      .value = reading.value,
                      .unit = roof.unit,
                      .spread_ratio = reading.spread_ratio,
                      .sm_clock_hz = reading.sm_clock_hz,
                      .power_w = reading.power_w,
                      .joules_each = reading.joules_each,
                      .conditions = conditions_of(machine, roof, reading) + other});
    }
  }
  if (!machine.energy) return rows;
  const std::string conditions =
      fmt::format("fit over {} loads, {}; residuals {:.1f} W rms, {:.1f} W at most{}", machine.energy->points,
                  machine.measured, machine.energy->rms_w, machine.energy->max_w, other);
  const auto add = [&](const std::string& kind, double value, double error, const char* unit) {
    rows.push_back({.device_id = device_id,
                    .level = CeilingLevel::energy,
                    .kind = kind,
                    .state = CeilingState::sustained,
                    .read_share = {},
                    .value = value,
                    .unit = unit,
                    .spread_ratio = value != 0 ? std::optional(std::fabs(error / value)) : std::nullopt,
                    .sm_clock_hz = {},
                    .power_w = {},
                    .joules_each = {},
                    .conditions = conditions});
  };
  add("idle", machine.energy->idle_w, machine.energy->idle_error_w, "W");
  for (const CeilingEnergy::Term& term : machine.energy->terms) add(term.name, term.joules, term.error, "J");
  return rows;
}

std::string ceilings_directory() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/ridgeline/ceilings";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/ridgeline/ceilings"
                                         : std::string();
}

std::string ceilings_path(const std::string& directory, const MachineCeilings& machine) {
  const std::string limit =
      machine.power_limit_w ? fmt::format("-{:.0f}W", *machine.power_limit_w) : std::string();
  return directory + "/" + plain(machine.uuid) + limit + ".json";
}

std::optional<MachineCeilings> find_machine_ceilings(const std::string& directory,
                                                     const CeilingsWanted& wanted) {
  std::optional<MachineCeilings> own, alike;
  if (directory.empty()) return own;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().extension() != ".json") continue;
    Result<MachineCeilings> read = read_machine_ceilings(entry.path().string());
    if (!read || !is_of_limit(read.value(), wanted.power_limit_w)) continue;
    const bool itself = !wanted.uuid.empty() && read.value().uuid == wanted.uuid;
    if (!itself && (wanted.device.empty() || read.value().device != wanted.device)) continue;
    std::optional<MachineCeilings>& newest = itself ? own : alike;
    if (!newest || read.value().measured > newest->measured) newest = std::move(read).value();
  }
  return own ? own : alike;
}

}  // namespace ridgeline::store
