// The program writes the machine file, the store reads it: neither knows the other, so made.json stands between them.
#include "ceilings/core/machine_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/store/machine_ceilings.h"
#include "support/temporary_directory.h"

namespace ridgeline::ceilings {
namespace {

const std::string kMade = std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json";

Reading reading(State state, double value, double clock_hz, std::optional<double> power_w) {
  Reading r;
  r.state = state;
  r.value = value;
  r.spread_ratio = 0.003;
  r.rounds = state == State::burst ? 5 : 3;
  r.seconds = state == State::burst ? 0.02 : 1;
  r.sm_clock_hz = clock_hz;
  r.power_w = power_w;
  if (power_w) r.joules = *power_w;
  r.temperature_c = 41;
  return r;
}

Roof roof(Level level, const std::string& kind, std::optional<double> share, const char* unit, double burst,
          double sustained, double clock_hz, double power_w) {
  Roof r;
  r.name = {level, kind, share};
  r.unit = unit;
  r.work = 1e9;
  r.configuration = "as made";
  r.readings = {reading(State::burst, burst, 1.98e9, {}),
                reading(State::sustained, sustained, clock_hz, power_w)};
  return r;
}

// Figures of no machine: round ones.
Findings made() {
  Findings f;
  f.device = {.name = "NVIDIA H200",
              .uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff",
              .compute_capability = "9.0",
              .sm_count = 132,
              .max_sm_clock_hz = 1.98e9,
              .application_sm_clock_hz = 1.98e9,
              .max_memory_clock_hz = 3.201e9,
              .memory_bus_bits = 6144,
              .memory_bytes = std::int64_t{150} << 30,
              .l2_bytes = 60 << 20,
              .power_limit_w = 700,
              .ecc = true,
              .driver = "580.159"};
  f.mode = "quick";
  f.measured = "2026-11-25T14:00:00Z";
  f.seconds = 50;
  f.roofs = {roof(Level::dram, "read", 1.0, "bytes_per_s", 4.5e12, 4.5e12, 1.98e9, 560),
             roof(Level::dram, "write", 0.0, "bytes_per_s", 4.3e12, 4.3e12, 1.98e9, 540),
             roof(Level::dram, "copy", 0.5, "bytes_per_s", 4e12, 4e12, 1.98e9, 530),
             roof(Level::dram, "triad", 2.0 / 3, "bytes_per_s", 4.1e12, 4.1e12, 1.98e9, 535),
             roof(Level::dram, "3:1", 0.75, "bytes_per_s", 4.2e12, 4.2e12, 1.98e9, 540),
             roof(Level::l2, "read", {}, "bytes_per_s", 1e13, 9.8e12, 1.98e9, 480),
             roof(Level::compute, "bf16", {}, "ops_per_s", 7.6e14, 7e14, 1.32e9, 699),
             roof(Level::compute, "int8", {}, "ops_per_s", 1.4e15, 1.3e15, 1.4e9, 698),
             roof(Level::compute, "fp32", {}, "ops_per_s", 6.5e13, 6.4e13, 1.95e9, 600)};
  f.roofs[6].per_cycle_sm = 4096;
  f.roofs[6].readings[1].throttle = {"power limit"};
  f.roofs[6].readings[1].configuration = "8192x8192x4096, cuBLASLt's proposal 2";
  f.roofs[7].per_cycle_sm = 8192;
  f.roofs[8].per_cycle_sm = 256;
  f.roofs[8].readings[0].voids = {
      {VoidRule::rounds_disagree, "5 rounds of 6e+13 to 6.5e+13 are 5.0 % apart"}};
  Roof launch;
  launch.name = {Level::launch, "graph", {}};
  launch.unit = "ns";
  launch.call_ns = 900;
  launch.readings = {reading(State::burst, 1360, 1.98e9, {})};
  launch.readings[0].sm_clock_hz.reset();
  f.roofs.push_back(launch);
  f.sweeps = {{Level::l2,
               {{4 << 20, 1e13}, {8 << 20, 1e13}, {64 << 20, 4e12}},
               Plateau{.bytes_per_s = 1e13, .knee_bytes = 8 << 20}}};
  f.shapes = {{"bf16", "8192x8192x8192", 7.6e14, 7e14}, {"bf16", "4096x4096x4096", 7e14, {}}};
  f.energy = EnergyModel{.idle_w = 105,
                         .idle_error_w = 4,
                         .terms = {{"bf16_op", 8e-13, 2e-14}, {"dram_byte", 1e-10, 2e-12}},
                         .points = 15,
                         .rms_w = 3.5,
                         .max_w = 8};
  return f;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CeilingMachineFile, IsWrittenAsTheReadersTestHasIt) {
  const std::string text = machine_file_text(made());
  if (std::getenv("RIDGELINE_RECORD_CEILINGS") != nullptr) std::ofstream(kMade) << text;
  EXPECT_EQ(text, content(kMade)) << "RIDGELINE_RECORD_CEILINGS=1 writes it anew";
}

TEST(CeilingMachineFile, TheStoreReadsWhatWasWritten) {
  const auto read = store::read_machine_ceilings(kMade);
  ASSERT_TRUE(read) << read.failure().message;
  const store::MachineCeilings& m = read.value();
  const Findings f = made();
  EXPECT_EQ(m.uuid, f.device.uuid);
  EXPECT_EQ(m.device, f.device.name);
  EXPECT_EQ(m.power_limit_w, 700);
  EXPECT_EQ(m.ecc, true);
  EXPECT_EQ(m.mode, "quick");
  ASSERT_EQ(m.roofs.size(), f.roofs.size());
  for (std::size_t i = 0; i < f.roofs.size(); ++i) {
    EXPECT_EQ(m.roofs[i].name(), f.roofs[i].name.text());
    EXPECT_EQ(m.roofs[i].read_share, f.roofs[i].name.read_share);
    ASSERT_EQ(m.roofs[i].readings.size(), f.roofs[i].readings.size());
    for (std::size_t r = 0; r < f.roofs[i].readings.size(); ++r) {
      EXPECT_EQ(m.roofs[i].readings[r].value, f.roofs[i].readings[r].value);
      EXPECT_EQ(m.roofs[i].readings[r].power_w, f.roofs[i].readings[r].power_w);
      EXPECT_EQ(m.roofs[i].readings[r].voids.size(), f.roofs[i].readings[r].voids.size());
    }
  }
  EXPECT_NEAR(*m.roofs[6].readings[1].per_cycle_sm, 7e14 / 1.32e9 / 132, 1e-6);
  EXPECT_NEAR(*m.roofs[0].readings[1].joules_each, 560 / 4.5e12, 1e-18);
  EXPECT_EQ(m.roofs[6].readings[1].throttle, std::vector<std::string>{"power limit"});
  EXPECT_EQ(m.roofs[9].call_ns, 900);
  EXPECT_EQ(m.sweeps[0].knee_bytes, 8 << 20);
  EXPECT_EQ(m.shapes[0].sustained_ops_per_s, 7e14);
  ASSERT_TRUE(m.energy);
  EXPECT_EQ(m.energy->terms[1].joules, 1e-10);
}

TEST(CeilingMachineFile, WhatTheTimeDidNotSufficeForIsNamed) {
  Findings f = made();
  EXPECT_EQ(machine_file_text(f).find("left_out"), std::string::npos);
  f.left_out = {"compute.fp8 sustained", "energy of dram.read at a part of its rate"};
  const auto read = store::parse_machine_ceilings(machine_file_text(f));
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(read.value().left_out, f.left_out);
  EXPECT_EQ(read.value().roofs.size(), f.roofs.size());
}

store::Device card() {
  store::Device device;
  device.id = 7;
  device.name = made().device.name;
  device.uuid = made().device.uuid;
  return device;
}

TEST(CeilingMachineFile, RowsOfACaptureAreTheReadingsThatAreRoofsAndTheEnergyModel) {
  const auto rows = store::ceiling_rows(store::read_machine_ceilings(kMade).value(), card());
  ASSERT_EQ(rows.size(), 9 * 2 + 1 - 1 + 3u) << "one reading is void; three terms of energy";
  EXPECT_EQ(rows[0].device_id, 7);
  EXPECT_EQ(rows[0].kind, "read");
  EXPECT_EQ(rows[0].state, CeilingState::burst);
  EXPECT_NE(rows[1].conditions.find("power limit 700 W"), std::string::npos) << rows[1].conditions;
  EXPECT_NE(rows[13].conditions.find("held by power limit"), std::string::npos) << rows[13].conditions;
  for (const store::Ceiling& row : rows) {
    EXPECT_FALSE(row.kind == "fp32" && row.state == CeilingState::burst) << "void";
  }
  EXPECT_EQ(rows.back().level, CeilingLevel::energy);
  EXPECT_EQ(rows.back().unit, "J");
}

TEST(CeilingMachineFile, RoofsOfAnotherCardOfTheModelSayThatTheyAre) {
  const store::MachineCeilings machine = store::read_machine_ceilings(kMade).value();
  store::Device other = card();
  EXPECT_TRUE(store::measures(machine, other));
  for (const store::Ceiling& row : store::ceiling_rows(machine, other))
    EXPECT_EQ(row.conditions.find("another card"), std::string::npos) << row.conditions;
  other.uuid = "GPU-other";
  EXPECT_TRUE(store::measures(machine, other));
  for (const store::Ceiling& row : store::ceiling_rows(machine, other))
    EXPECT_NE(row.conditions.find("measured on another card of the model"), std::string::npos)
        << row.conditions;
  other.name = "NVIDIA A100";
  EXPECT_FALSE(store::measures(machine, other));
}

TEST(CeilingMachineFile, CountersThatDisagreeVoidTheRoofAndOthersAreNoted) {
  const std::string text = content(kMade);
  const std::string counted =
      store::with_counts(text, {{"dram.read", {.counted = 1.01e9, .declared = 1e9, .counter = "dram"}},
                                {"compute.bf16", {.counted = 2e9, .declared = 1e9, .counter = "tensor"}},
                                {"no.such", {.counted = 1, .declared = 1, .counter = ""}}});
  const store::MachineCeilings m = store::parse_machine_ceilings(counted).value();
  ASSERT_TRUE(m.roofs[0].count);
  EXPECT_EQ(m.roofs[0].count->counted, 1.01e9);
  EXPECT_TRUE(m.roofs[0].readings[0].voids.empty());
  for (const store::CeilingReading& r : m.roofs[6].readings) {
    ASSERT_EQ(r.voids.size(), 1u);
    EXPECT_EQ(r.voids[0].rule, "counters_disagree");
    EXPECT_NE(r.voids[0].detail.find("200.0 %"), std::string::npos) << r.voids[0].detail;
  }
  EXPECT_FALSE(m.roofs[1].count);
}

TEST(CeilingMachineFile, DamagedFilesAreRefusedWithWhatIsWrong) {
  const std::string text = content(kMade);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return store::parse_machine_ceilings(changed);
  };
  EXPECT_EQ(store::parse_machine_ceilings("").failure().kind, ErrorKind::corrupt);
  EXPECT_EQ(store::parse_machine_ceilings("[]").failure().kind, ErrorKind::corrupt);
  EXPECT_EQ(store::parse_machine_ceilings(text.substr(0, text.size() / 2)).failure().kind,
            ErrorKind::corrupt);
  EXPECT_EQ(with("\"version\": 1", "\"version\": 2").failure().kind, ErrorKind::newer_capture);
  EXPECT_NE(with("\"level\": \"dram\"", "\"level\": \"moon\"")
                .failure()
                .message.find("'level' is 'moon', which is not a known level"),
            std::string::npos);
  EXPECT_NE(with("\"value\": 4500000000000.0", "\"value\": -1")
                .failure()
                .message.find("'value' is out of range: -1"),
            std::string::npos);
  EXPECT_NE(with("\"value\": 4500000000000.0", "\"value\": \"4\"")
                .failure()
                .message.find("'value' is not a number"),
            std::string::npos);
  EXPECT_NE(with("\"read_share\": 1.0", "\"read_share\": 1.5")
                .failure()
                .message.find("'read_share' is out of range: 1.5"),
            std::string::npos);
  EXPECT_NE(with("\"uuid\"", "\"id\"").failure().message.find("'uuid' is missing"), std::string::npos);
  EXPECT_NE(with("\"readings\": [", "\"readings\": [3,").failure().message.find("'readings'"),
            std::string::npos);
}

TEST(CeilingMachineFile, OfSeveralFilesOfADeviceTheNewestCounts) {
  const testing::TemporaryDirectory directory;
  const std::string folder = directory.path();
  std::string older = machine_file_text(made());
  Findings other = made();
  other.measured = "2026-11-26T09:00:00Z";
  other.device.power_limit_w = 500;
  std::ofstream(folder + "/" + made().device.uuid + "-700W.json") << older;
  std::ofstream(folder + "/" + made().device.uuid + "-500W.json") << machine_file_text(other);
  std::ofstream(folder + "/" + made().device.uuid + "-1W.json") << "damaged";
  const store::CeilingsWanted itself{.uuid = made().device.uuid, .device = "", .power_limit_w = {}};
  const auto found = store::find_machine_ceilings(folder, itself);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->power_limit_w, 500);
  EXPECT_FALSE(
      store::find_machine_ceilings(folder, {.uuid = "GPU-other", .device = "", .power_limit_w = {}}));
  EXPECT_FALSE(store::find_machine_ceilings(folder + "/none", itself));
  EXPECT_FALSE(store::find_machine_ceilings("", itself));
  EXPECT_EQ(store::ceilings_path("/d", *found), "/d/GPU-00112233-4455-6677-8899-aabbccddeeff-500W.json");
  store::MachineCeilings hostile = *found;
  hostile.uuid = "../../etc";
  hostile.power_limit_w.reset();
  EXPECT_EQ(store::ceilings_path("/d", hostile), "/d/______etc.json");
}

TEST(CeilingMachineFile, AFileOfAnotherPowerLimitIsNotTakenAndTheCardsOwnComesBeforeItsModels) {
  const testing::TemporaryDirectory directory;
  const std::string folder = directory.path();
  Findings other = made();
  other.measured = "2026-12-26T09:00:00Z";
  other.device.uuid = "GPU-of-another";
  std::ofstream(folder + "/own.json") << machine_file_text(made());
  std::ofstream(folder + "/another.json") << machine_file_text(other);
  store::CeilingsWanted wanted{
      .uuid = made().device.uuid, .device = made().device.name, .power_limit_w = 700.2};
  EXPECT_EQ(store::find_machine_ceilings(folder, wanted)->uuid, made().device.uuid);
  wanted.uuid = "GPU-without-a-file";
  EXPECT_EQ(store::find_machine_ceilings(folder, wanted)->uuid, "GPU-of-another")
      << "of its model, the newest";
  wanted.power_limit_w = 500;
  EXPECT_FALSE(store::find_machine_ceilings(folder, wanted));
  wanted.power_limit_w.reset();
  wanted.device = "NVIDIA A100";
  EXPECT_FALSE(store::find_machine_ceilings(folder, wanted));
}

TEST(CeilingMachineFile, EnergyPointsAreSustainedReadingsWithPowerThatAreRoofs) {
  Findings f = made();
  EXPECT_EQ(energy_points(f.roofs).size(), 9u);
  f.roofs[0].readings[1].voids = {{VoidRule::foreign_process, "seen"}};
  f.roofs[1].readings[1].power_w.reset();
  const auto points = energy_points(f.roofs);
  ASSERT_EQ(points.size(), 7u);
  EXPECT_EQ(points[0].per_s.at("dram_byte"), 4e12);
  EXPECT_EQ(points[4].per_s.at("bf16_op"), 7e14);
}

}  // namespace
}  // namespace ridgeline::ceilings
