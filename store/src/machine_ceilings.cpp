#include "ridgeline/store/machine_ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/base/file.h"

namespace ridgeline::store {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = 16 << 20;
constexpr int kFileVersion = 1;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::corrupt, what);
}

const Json& member(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end()) refuse(fmt::format("'{}' is missing", key));
  return *found;
}

double number(const Json& from, const char* key) {
  const Json& value = member(from, key);
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    refuse(fmt::format("'{}' is no number", key));
  return value.get<double>();
}

// A rate, a time, a share of the spread: never below 0, and never larger than what a sum can take.
double amount(const Json& from, const char* key) {
  const double value = number(from, key);
  if (value < 0 || value > 1e24) refuse(fmt::format("'{}' is {:g}", key, value));
  return value;
}

std::optional<double> amount_if(const Json& from, const char* key) {
  return from.contains(key) ? std::optional(amount(from, key)) : std::nullopt;
}

std::int64_t whole(const Json& from, const char* key) {
  const Json& value = member(from, key);
  if (!value.is_number_integer()) refuse(fmt::format("'{}' is no whole number", key));
  return value.get<std::int64_t>();
}

std::string text(const Json& from, const char* key) {
  const Json& value = member(from, key);
  if (!value.is_string()) refuse(fmt::format("'{}' is no text", key));
  return value.get<std::string>();
}

std::string text_if(const Json& from, const char* key) {
  return from.contains(key) ? text(from, key) : std::string();
}

const Json& list(const Json& from, const char* key) {
  const Json& value = member(from, key);
  if (!value.is_array()) refuse(fmt::format("'{}' is no list", key));
  for (const Json& each : value) {
    if (!each.is_object() && !each.is_string()) refuse(fmt::format("'{}' holds something else", key));
  }
  return value;
}

template <typename E>
E word(const Json& from, const char* key) {
  const std::string value = text(from, key);
  const std::optional<E> known = parse_word<E>(value);
  if (!known) refuse(fmt::format("'{}' is no {}", value, Vocabulary<E>::kName));
  return *known;
}

CeilingReading reading_of(const Json& json) {
  CeilingReading r;
  r.state = word<CeilingState>(json, "state");
  r.value = amount(json, "value");
  r.spread_ratio = amount(json, "spread_ratio");
  r.seconds = amount(json, "seconds");
  r.sm_clock_hz = amount_if(json, "sm_clock_hz");
  r.per_cycle_sm = amount_if(json, "per_cycle_sm");
  r.power_w = amount_if(json, "power_w");
  r.joules_each = amount_if(json, "joules_each");
  if (json.contains("temperature_c")) r.temperature_c = whole(json, "temperature_c");
  r.configuration = text_if(json, "configuration");
  if (json.contains("throttle")) {
    for (const Json& each : list(json, "throttle")) {
      if (!each.is_string()) refuse("'throttle' holds something else");
      r.throttle.push_back(each.get<std::string>());
    }
  }
  if (json.contains("void")) {
    for (const Json& each : list(json, "void")) r.voids.push_back({text(each, "rule"), text(each, "detail")});
  }
  return r;
}

CeilingRoof roof_of(const Json& json) {
  CeilingRoof roof;
  roof.level = word<CeilingLevel>(json, "level");
  roof.kind = text(json, "kind");
  roof.read_share = amount_if(json, "read_share");
  if (roof.read_share.value_or(0) > 1) refuse("'read_share' is above 1");
  roof.unit = text(json, "unit");
  roof.work = amount_if(json, "work").value_or(0);
  roof.most_per_cycle_sm = amount_if(json, "most_per_cycle_sm");
  roof.configuration = text_if(json, "configuration");
  roof.call_ns = amount_if(json, "call_ns");
  for (const Json& each : list(json, "readings")) roof.readings.push_back(reading_of(each));
  if (json.contains("count")) {
    const Json& count = member(json, "count");
    roof.count = {amount(count, "counted"), amount(count, "declared"), text(count, "counter")};
  }
  return roof;
}

CeilingSweep sweep_of(const Json& json) {
  CeilingSweep sweep;
  sweep.level = word<CeilingLevel>(json, "level");
  for (const Json& each : list(json, "points"))
    sweep.points.push_back({whole(each, "bytes"), amount(each, "bytes_per_s")});
  sweep.plateau_bytes_per_s = amount_if(json, "plateau_bytes_per_s");
  if (json.contains("knee_bytes")) sweep.knee_bytes = whole(json, "knee_bytes");
  return sweep;
}

CeilingEnergy energy_of(const Json& json) {
  CeilingEnergy energy{.idle_w = number(json, "idle_w"),
                       .idle_error_w = amount(json, "idle_error_w"),
                       .points = whole(json, "points"),
                       .rms_w = amount(json, "rms_w"),
                       .max_w = amount(json, "max_w"),
                       .terms = {}};
  for (const Json& each : list(json, "terms"))
    energy.terms.push_back({text(each, "name"), number(each, "joules"), amount(each, "error")});
  return energy;
}

MachineCeilings machine_of(const Json& json) {
  MachineCeilings machine;
  machine.measured = text(json, "measured");
  machine.mode = text(json, "mode");
  machine.seconds = amount(json, "seconds");
  const Json& device = member(json, "device");
  machine.device = text(device, "name");
  machine.uuid = text(device, "uuid");
  machine.driver = text(device, "driver");
  machine.sm_count = whole(device, "sm_count");
  machine.max_sm_clock_hz = amount(device, "max_sm_clock_hz");
  machine.power_limit_w = amount_if(device, "power_limit_w");
  if (device.contains("ecc") && device["ecc"].is_boolean()) machine.ecc = device["ecc"].get<bool>();
  for (const Json& each : list(json, "roofs")) machine.roofs.push_back(roof_of(each));
  for (const Json& each : list(json, "sweeps")) machine.sweeps.push_back(sweep_of(each));
  for (const Json& each : list(json, "shapes")) {
    machine.shapes.push_back({text(each, "precision"), text(each, "shape"), amount(each, "burst_ops_per_s"),
                              amount_if(each, "sustained_ops_per_s")});
  }
  if (json.contains("energy")) machine.energy = energy_of(member(json, "energy"));
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
  const Result<std::string> bytes = read_file(path, kMostFileBytes);
  if (!bytes) return Failure{bytes.failure().kind, path + ": " + bytes.failure().message};
  Result<MachineCeilings> machine = parse_machine_ceilings(bytes.value());
  if (!machine) return Failure{machine.failure().kind, path + ": " + machine.failure().message};
  return machine;
}

std::string with_counts(std::string_view text, const std::vector<NamedCount>& counts,
                        double most_apart_ratio) {
  Json json = Json::parse(text);
  for (Json& roof : json["roofs"]) {
    const std::string name = roof["level"].get<std::string>() + "." + roof["kind"].get<std::string>();
    const auto seen =
        std::find_if(counts.begin(), counts.end(), [&](const NamedCount& each) { return each.roof == name; });
    if (seen == counts.end()) continue;
    const CeilingCount& count = seen->count;
    roof["count"] = {{"counted", count.counted}, {"declared", count.declared}, {"counter", count.counter}};
    const double ratio = count.declared > 0 ? count.counted / count.declared : 0;
    if (std::fabs(ratio - 1) <= most_apart_ratio) continue;
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

std::vector<Ceiling> ceiling_rows(const MachineCeilings& machine, Id device_id) {
  std::vector<Ceiling> rows;
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
                      .conditions = conditions_of(machine, roof, reading)});
    }
  }
  if (!machine.energy) return rows;
  const std::string conditions =
      fmt::format("fit over {} loads, {}; residuals {:.1f} W rms, {:.1f} W at most", machine.energy->points,
                  machine.measured, machine.energy->rms_w, machine.energy->max_w);
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

std::optional<MachineCeilings> find_machine_ceilings(const std::string& directory, const std::string& uuid) {
  std::optional<MachineCeilings> newest;
  if (directory.empty() || uuid.empty()) return newest;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(plain(uuid)) || !name.ends_with(".json")) continue;
    Result<MachineCeilings> read = read_machine_ceilings(entry.path().string());
    if (!read || read.value().uuid != uuid) continue;
    if (!newest || read.value().measured > newest->measured) newest = std::move(read).value();
  }
  return newest;
}

}  // namespace ridgeline::store
