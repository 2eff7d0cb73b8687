// Files of measured ceilings: each field left out or of another kind, versions, which file is of which card, and the
// rows that a capture gets.
#include "ridgeline/store/machine_ceilings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/accepted_table.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using MadeJson = nlohmann::ordered_json;
using ridgeline::testing::expect_accepted;

MadeJson made_ceilings() {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/tests/ceilings/made.json");
  return MadeJson::parse(file);
}

std::string outcome_text(const std::string& text) {
  const Result<MachineCeilings> machine = parse_machine_ceilings(text);
  if (machine) return "read";
  std::string message = machine.failure().message;
  message.resize(std::min(message.find("[json.exception"), message.size()));  // a library's own words
  return fmt::format("{}: {}", static_cast<int>(machine.failure().kind), message);
}

// The first element of each array stands for all of them.
void for_each_place(const MadeJson& json, const MadeJson::json_pointer& at,
                    const std::function<void(const MadeJson::json_pointer&)>& use) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      use(at / key);
      for_each_place(value, at / key, use);
    }
  } else if (json.is_array() && !json.empty()) {
    for_each_place(json.front(), at / 0, use);
  }
}

TEST(AcceptedTable, MachineCeilingsWithEachFieldWrong) {
  const MadeJson whole = made_ceilings();
  std::string table = "whole: " + outcome_text(whole.dump()) + "\n";
  for_each_place(whole, MadeJson::json_pointer(), [&](const MadeJson::json_pointer& at) {
    MadeJson without = whole;
    without.at(at.parent_pointer()).erase(at.back());
    table += fmt::format("without {}: {}\n", at.to_string(), outcome_text(without.dump()));
    for (const MadeJson& wrong :
         {MadeJson("text"), MadeJson(-1), MadeJson(nullptr), MadeJson::array(), MadeJson(0.5)}) {
      MadeJson changed = whole;
      changed[at] = wrong;
      table += fmt::format("{} = {}: {}\n", at.to_string(), wrong.dump(), outcome_text(changed.dump()));
    }
  });
  for (const char* text : {"", "{", "[]", "{}", R"({"format": "ridgeline ceilings"})",
                           R"({"format": "ridgeline ceilings", "version": 2})"})
    table += fmt::format("{}: {}\n", text, outcome_text(text));
  expect_accepted("machine-ceilings.txt", table);
}

TEST(AcceptedTable, RowsThatACaptureGetsOfMachineCeilings) {
  MachineCeilings machine = parse_machine_ceilings(made_ceilings().dump()).value();
  Device device;
  device.id = 7;
  device.name = machine.device;
  std::string table;
  const auto add = [&](const std::string& what) {
    for (const Ceiling& row : ceiling_rows(machine, device)) {
      table += fmt::format("{}: device {} {}.{} {} read {} value {:.10g} {} ± {} at {} Hz, {} W, {} J | {}\n",
                           what, row.device_id, to_string(row.level), row.kind, to_string(row.state),
                           row.read_share ? fmt::format("{}", *row.read_share) : "-", row.value, row.unit,
                           row.spread_ratio.value_or(-1), row.sm_clock_hz.value_or(-1),
                           row.power_w.value_or(-1), row.joules_each.value_or(-1), row.conditions);
    }
  };
  add("another card");
  device.uuid = machine.uuid;
  add("itself");
  machine.power_limit_w.reset();
  machine.roofs.resize(2);
  machine.roofs[0].readings[0].throttle = {"power limit", "thermal"};
  machine.roofs[0].readings[0].configuration = "of its own";
  machine.roofs[0].configuration = {};
  machine.roofs[1].readings[0].value = 0;
  add("some of them");
  machine.energy.reset();
  machine.mode = "thorough";
  add("without energy");
  expect_accepted("ceiling-rows.txt", table);
}

TEST(MachineCeilingsFiles, TheCardItselfComesFirstThenTheLatestOfItsModelAndLimit) {
  const ridgeline::testing::TemporaryDirectory directory;
  MadeJson json = made_ceilings();
  const auto write = [&](const char* name, const char* uuid, const char* measured,
                         std::optional<double> limit_w) {
    json["device"]["uuid"] = uuid;
    json["measured"] = measured;
    json["device"]["power_limit_w"] = limit_w ? MadeJson(*limit_w) : MadeJson(nullptr);
    if (!limit_w) json["device"].erase("power_limit_w");
    std::ofstream(directory.file(name)) << json.dump();
  };
  write("a.json", "GPU-a", "2026-01-01T00:00:00Z", 700);
  write("b.json", "GPU-b", "2026-01-03T00:00:00Z", 700);
  write("c.json", "GPU-c", "2026-01-02T00:00:00Z", 500);
  std::ofstream(directory.file("broken.json")) << "{";
  const auto found = [&](const char* uuid, const char* device, std::optional<double> limit_w) -> std::string {
    const auto machine = find_machine_ceilings(directory.path(), {uuid, device, limit_w});
    return machine ? machine->uuid : "none";
  };
  EXPECT_EQ(found("GPU-a", "NVIDIA H200", 700), "GPU-a") << "another was measured later";
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", 700), "GPU-b") << "the latest of the model";
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", 500), "GPU-c");
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", 500.9), "GPU-c") << "watts are whole";
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", 501), "none") << "of another limit";
  EXPECT_EQ(found("GPU-a", "NVIDIA H200", 500), "GPU-c") << "the card's own file is of another limit";
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", {}), "GPU-b") << "any limit will do";
  EXPECT_EQ(found("GPU-x", "NVIDIA H100", 700), "none");
  EXPECT_EQ(found("GPU-b", "", 700), "GPU-b");
  EXPECT_EQ(found("GPU-x", "", 700), "none") << "the card itself was asked for";
  write("d.json", "GPU-d", "2026-01-04T00:00:00Z", {});
  EXPECT_EQ(found("GPU-x", "NVIDIA H200", 321), "GPU-d") << "a file that says no limit is of any";
  EXPECT_FALSE(find_machine_ceilings(directory.file("nowhere"), {"GPU-a", "", {}}).has_value());
  const auto named = [&](const char* uuid, std::optional<double> limit_w) {
    MachineCeilings machine = parse_machine_ceilings(made_ceilings().dump()).value();
    machine.uuid = uuid;
    machine.power_limit_w = limit_w;
    return ceilings_path("folder", machine);
  };
  EXPECT_EQ(named("GPU-0a/..9Z", 700), "folder/GPU-0a___9Z-700W.json");
  EXPECT_EQ(named("GPU-1", {}), "folder/GPU-1.json");
}

TEST(MachineCeilingsFiles, CountsThatDisagreeMakeReadingsVoid) {
  const std::string text = made_ceilings().dump();
  const auto with = [&](double counted, double declared) {
    return parse_machine_ceilings(
               with_counts(text, {{"dram.read", {counted, declared, "dram__bytes_read.sum"}}}))
        .value();
  };
  for (const double counted : {98.1, 99.0, 100.0, 101.9}) {
    const MachineCeilings machine = with(counted, 100);
    ASSERT_TRUE(machine.roofs[0].count.has_value());
    EXPECT_EQ(machine.roofs[0].count->counted, counted);
    EXPECT_EQ(machine.roofs[0].count->declared, 100);
    EXPECT_EQ(machine.roofs[0].count->counter, "dram__bytes_read.sum");
    EXPECT_TRUE(machine.roofs[0].readings[0].voids.empty()) << counted;
    EXPECT_FALSE(machine.roofs[1].count.has_value());
  }
  for (const double counted : {0.0, 97.9, 102.1, 200.0}) {
    const MachineCeilings machine = with(counted, 100);
    for (const auto& reading : machine.roofs[0].readings) EXPECT_FALSE(reading.voids.empty()) << counted;
    EXPECT_TRUE(machine.roofs[1].readings[0].voids.empty());
  }
  EXPECT_FALSE(with(100, 0).roofs[0].readings[0].voids.empty()) << "nothing was declared";
}

TEST(MachineCeilingsFiles, AnotherCardOfTheModelMayStandForOne) {
  const MachineCeilings machine = parse_machine_ceilings(made_ceilings().dump()).value();
  Device device;
  EXPECT_FALSE(measures(machine, device));
  device.name = machine.device;
  EXPECT_TRUE(measures(machine, device));
  device.name = "NVIDIA H100";
  device.uuid = machine.uuid;
  EXPECT_TRUE(measures(machine, device));
  device.uuid = "GPU-other";
  EXPECT_FALSE(measures(machine, device));
}

}  // namespace
}  // namespace ridgeline::store
