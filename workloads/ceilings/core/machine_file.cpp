#include "ceilings/core/machine_file.h"

#include <nlohmann/json.hpp>

namespace ridgeline::ceilings {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

template <typename T>
void put(Json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}

Json device_json(const DeviceFacts& d) {
  Json out = {{"name", d.name},
              {"uuid", d.uuid},
              {"compute_capability", d.compute_capability},
              {"sm_count", d.sm_count},
              {"max_sm_clock_hz", d.max_sm_clock_hz},
              {"max_memory_clock_hz", d.max_memory_clock_hz},
              {"memory_bus_bits", d.memory_bus_bits},
              {"memory_bytes", d.memory_bytes},
              {"l2_bytes", d.l2_bytes},
              {"driver", d.driver}};
  if (d.power_limit_w > 0) out["power_limit_w"] = d.power_limit_w;
  if (d.application_sm_clock_hz > 0) out["application_sm_clock_hz"] = d.application_sm_clock_hz;
  put(out, "ecc", d.ecc);
  return out;
}

Json reading_json(const Roof& roof, const Reading& r, int sm_count) {
  Json out = {{"state", to_string(r.state)},
              {"value", r.value},
              {"spread_ratio", r.spread_ratio},
              {"rounds", r.rounds},
              {"seconds", r.seconds}};
  put(out, "sm_clock_hz", r.sm_clock_hz);
  if (r.sm_clock_hz && *r.sm_clock_hz > 0 && sm_count > 0 && roof.unit != "ns")
    out["per_cycle_sm"] = r.value / *r.sm_clock_hz / sm_count;
  put(out, "power_w", r.power_w);
  put(out, "joules", r.joules);
  if (r.power_w && r.value > 0 && roof.unit != "ns") out["joules_each"] = *r.power_w / r.value;
  put(out, "temperature_c", r.temperature_c);
  put(out, "memory_temperature_c", r.memory_temperature_c);
  if (!r.throttle.empty()) out["throttle"] = r.throttle;
  if (!r.configuration.empty()) out["configuration"] = r.configuration;
  if (!r.voids.empty()) {
    out["void"] = Json::array();
    for (const Void& v : r.voids) out["void"].push_back({{"rule", to_string(v.rule)}, {"detail", v.detail}});
  }
  return out;
}

Json roof_json(const Roof& roof, int sm_count) {
  Json out = {{"level", to_string(roof.name.level)}, {"kind", roof.name.kind}};
  put(out, "read_share", roof.name.read_share);
  out["unit"] = roof.unit;
  if (roof.work > 0) out["work"] = roof.work;
  if (roof.per_cycle_sm > 0) out["most_per_cycle_sm"] = roof.per_cycle_sm;
  if (!roof.configuration.empty()) out["configuration"] = roof.configuration;
  put(out, "call_ns", roof.call_ns);
  out["readings"] = Json::array();
  for (const Reading& r : roof.readings) out["readings"].push_back(reading_json(roof, r, sm_count));
  return out;
}

Json sweep_json(const Sweep& sweep) {
  Json out = {{"level", to_string(sweep.level)}, {"points", Json::array()}};
  for (const SweepPoint& p : sweep.points)
    out["points"].push_back({{"bytes", p.bytes}, {"bytes_per_s", p.bytes_per_s}});
  if (sweep.plateau) {
    out["plateau_bytes_per_s"] = sweep.plateau->bytes_per_s;
    put(out, "knee_bytes", sweep.plateau->knee_bytes);
  }
  return out;
}

Json energy_json(const EnergyModel& model) {
  Json out = {{"idle_w", model.idle_w}, {"idle_error_w", model.idle_error_w},
              {"points", model.points}, {"rms_w", model.rms_w},
              {"max_w", model.max_w},   {"terms", Json::array()}};
  for (const EnergyTerm& t : model.terms)
    out["terms"].push_back({{"name", t.name}, {"joules", t.joules}, {"error", t.error}});
  return out;
}

// What a roof's work is called in the energy model; "": it is no work.
std::string energy_term(const RoofName& name) {
  switch (name.level) {
    case Level::dram:
      return "dram_byte";
    case Level::l2:
      return "l2_byte";
    case Level::l1:
    case Level::shared:
      return "l1_byte";
    case Level::compute:
      return name.kind + "_op";
    default:
      return "";
  }
}

}  // namespace

std::string machine_file_text(const Findings& findings) {
  Json out = {{"format", "ridgeline ceilings"}, {"version", kVersion},
              {"measured", findings.measured},  {"mode", findings.mode},
              {"seconds", findings.seconds},    {"device", device_json(findings.device)},
              {"roofs", Json::array()},         {"sweeps", Json::array()},
              {"shapes", Json::array()}};
  for (const Roof& roof : findings.roofs) out["roofs"].push_back(roof_json(roof, findings.device.sm_count));
  for (const Sweep& sweep : findings.sweeps) out["sweeps"].push_back(sweep_json(sweep));
  for (const ShapeRate& shape : findings.shapes) {
    Json each = {
        {"precision", shape.precision}, {"shape", shape.shape}, {"burst_ops_per_s", shape.burst_ops_per_s}};
    put(each, "sustained_ops_per_s", shape.sustained_ops_per_s);
    out["shapes"].push_back(std::move(each));
  }
  if (!findings.left_out.empty()) out["left_out"] = findings.left_out;
  if (findings.energy) out["energy"] = energy_json(*findings.energy);
  return out.dump(1) + "\n";
}

std::optional<EnergyPoint> energy_point(const RoofName& name, const Reading& r) {
  const std::string term = energy_term(name);
  if (term.empty() || r.state != State::sustained || !r.power_w || !r.voids.empty()) return std::nullopt;
  return EnergyPoint{*r.power_w, {{term, r.value}}};
}

std::vector<EnergyPoint> energy_points(const std::vector<Roof>& roofs) {
  std::vector<EnergyPoint> points;
  for (const Roof& roof : roofs) {
    for (const Reading& r : roof.readings) {
      if (auto point = energy_point(roof.name, r)) points.push_back(*std::move(point));
    }
  }
  return points;
}

}  // namespace ridgeline::ceilings
