// What `info` says of a capture.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "documents_testing.h"

namespace ridgeline::reports {
namespace {

using nlohmann::json;
using testing::all_of;
using testing::as;
using testing::lines_that_begin;
using testing::TemporaryCapture;

TEST(Info, ShowsEverySection) {
  const TemporaryCapture capture;
  const json document = json::parse(info_document(capture.model, {{"launch", 7}}, as(Format::json)).text());
  std::set<std::string> sections;
  for (const json& row : document["rows"]) sections.insert(row["section"].get<std::string>());
  for (const char* section : {"run", "processes", "devices", "peaks", "versions", "environment", "steps",
                              "tiers", "completeness", "messages", "rows"}) {
    EXPECT_EQ(sections.count(section), 1u) << section;
  }
}

TEST(Info, TellsWhatOrdersWorkAndHowMuchMemoryThereWas) {
  TemporaryCapture capture;
  const auto lines = [&] {
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    std::map<std::string, std::string> found;
    for (const json& row : document["rows"]) {
      const auto section = row["section"].get<std::string>();
      if (section == "order" || section == "memory" || section == "left out" || section == "processes")
        found[section + " " + row["name"].get<std::string>()] =
            row["value"].is_string() ? row["value"].get<std::string>() : row["value"].dump();
    }
    return found;
  };
  const store::Id process = capture.model.processes.at(0).id;
  const std::string name = "processes " + std::to_string(process);
  EXPECT_EQ(lines().size(), capture.model.processes.size()) << "nothing was recorded of it: no lines";
  store::OrderSummary order;
  order.calls = {{StreamCall::event_record, 5},   {StreamCall::event_wait, 4},
                 {StreamCall::host_function, 1},  {StreamCall::host_callback, 2},
                 {StreamCall::semaphore_wait, 3}, {StreamCall::event_awaited, 9}};
  order.graph_edges = 7;
  order.memory = {{process, capture.model.devices.at(0).id, 45, 3'000'000'000, 1'000'000'000}};
  order.left_out = {{process, LeftOut::memory_calls, 6}, {process + 1, LeftOut::memory_calls, 2}};
  order.hosts = {{process, "node17"}};
  capture.model.order_summary = order;
  const auto found = lines();
  EXPECT_EQ(found.at("order events recorded"), "5");
  EXPECT_EQ(found.at("order waits of streams for events"), "4");
  EXPECT_EQ(found.at("order host functions"), "3");
  EXPECT_EQ(found.at("order waits of streams for memory"), "3");
  EXPECT_EQ(found.at("order edges of graphs"), "7");
  EXPECT_EQ(found.at("memory device 0"), "at most 3.00 GB, 1.00 GB at the end, in 45 calls");
  EXPECT_EQ(found.at("left out calls for memory"), "8");
  EXPECT_NE(found.at(name).find(", on node17"), std::string::npos) << found.at(name);
  capture.model.run->host_name = "node17";
  EXPECT_EQ(lines().at(name).find("on node17"), std::string::npos)
      << "where the recording was started: said there";
}

// What the program that recorded took for the data sheet's peak is not what reports measure against.
TEST(Info, ShowsThePeaksThatReportsTake) {
  TemporaryCapture capture;
  capture.model.devices.at(0).name = "NVIDIA H200";
  capture.model.device_peaks = {{capture.model.devices[0].id, Quantity::bf16_flops_per_s, PeakSource::spec,
                                 1070.5e12, "highest clock"}};
  const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
  std::string peak;
  for (const json& row : document["rows"]) {
    if (row["section"] == "peaks") peak = row["value"].get<std::string>();
  }
  EXPECT_EQ(peak.find("989.4 TFLOP/s, spec (data sheet of NVIDIA H200"), 0u) << peak;
}

TEST(Info, TellsOfADeviceWhatIsKnownOfIt) {
  TemporaryCapture capture;
  const auto shown = [&](const store::Device& device) {
    capture.model.devices = {device};
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    std::string text;
    for (const json& row : document["rows"]) {
      if (row["section"] == "devices")
        text += row["name"].get<std::string>() + ": " + row["value"].get<std::string>() + "\n";
    }
    return text;
  };
  store::Device device{.id = 1, .device_index = 2, .name = "NVIDIA H200"};
  EXPECT_EQ(shown(device), "2: NVIDIA H200\n");
  device.uuid = "GPU-7";
  device.chip = "GH100";
  device.compute_capability = "9.0";
  device.sm_count = 132;
  device.max_sm_clock_hz = 1'980'000'000;
  device.memory_bytes = 150'000'000'000;
  device.l2_bytes = 62'000'000;
  EXPECT_EQ(shown(device),
            "2: NVIDIA H200, GH100, compute capability 9.0, 132 SMs, up to 1980 MHz, 150.00 GB, L2 62.00 MB\n"
            "2 UUID: GPU-7\n");
}

TEST(Info, ShowsTheEndsOfALongEnvironmentVariableAndJsonAllOfIt) {
  TemporaryCapture capture;
  const std::string value = "begins-here " + std::string(4000, 'x') + " ends-here";
  capture.model.environment["LONG"] = value;
  const std::string text = info_document(capture.model, {}, as(Format::text)).text();
  EXPECT_NE(text.find("begins-here"), std::string::npos);
  EXPECT_NE(text.find("ends-here"), std::string::npos);
  EXPECT_EQ(text.find(std::string(200, 'x')), std::string::npos);
  EXPECT_LE(std::count(text.begin(), text.end(), 'x'), 400);
  const std::string document = info_document(capture.model, {}, as(Format::json)).text();
  EXPECT_NE(document.find(value), std::string::npos);
}

TEST(Info, CutsALongSectionAndSaysSo) {
  TemporaryCapture capture;
  capture.model.environment.clear();
  for (int i = 0; i < 100; ++i) capture.model.environment["VARIABLE_" + std::to_string(100 + i)] = "x";
  const auto variables = [](const std::string& text) { return lines_that_begin(text, "  VARIABLE_"); };
  const std::string text = info_document(capture.model, {}, as(Format::text)).text();
  EXPECT_EQ(variables(text), 40u);
  EXPECT_NE(text.find("60 more: --all shows them"), std::string::npos) << text;
  const std::string all = info_document(capture.model, {}, all_of(as(Format::text))).text();
  EXPECT_EQ(variables(all), 100u);
  EXPECT_EQ(all.find("--all"), std::string::npos);
}

TEST(Info, SeparatesItsSectionsByOneEmptyLine) {
  const TemporaryCapture capture;
  const std::string text = info_document(capture.model, {{"launch", 7}}, as(Format::text)).text();
  EXPECT_NE(text.front(), '\n');
  EXPECT_EQ(text.find("\n\n\n"), std::string::npos) << text;
  std::set<std::string> headings;
  std::size_t begin = 0;
  for (std::size_t end = text.find("\n\n"); begin < text.size(); end = text.find("\n\n", begin)) {
    headings.insert(text.substr(begin, text.find('\n', begin) - begin));
    begin = end == std::string::npos ? text.size() : end + 2;
  }
  for (const char* heading : {"Run", "Devices", "Peaks", "Steps", "Tiers", "Rows"})
    EXPECT_EQ(headings.count(heading), 1u) << heading << " in\n" << text;
}

// Steps that are marked by a range go without saying; those found by their period do not.
TEST(Info, SaysHowStepsWereFoundUnlessByTheirRange) {
  TemporaryCapture capture;
  const auto found_by = [&] {
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    std::string text;
    for (const json& row : document["rows"]) {
      if (row["section"] == "steps" && row["name"] == "found by")
        text += row["value"].get<std::string>() + ";";
    }
    return text;
  };
  EXPECT_EQ(found_by(), "");
  for (auto& step : capture.model.steps) step.step.source = StepSource::period;
  EXPECT_NE(found_by(), "");
}

TEST(Info, CountsWhatGaveWayToOtherStepsApart) {
  TemporaryCapture capture;
  const auto counts = [&] {
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    std::map<std::string, std::int64_t> found;
    for (const json& row : document["rows"])
      if (row["section"] == "steps" && row["value"].is_number_integer()) found[row["name"]] = row["value"];
    return found;
  };
  const auto before = counts();
  ASSERT_FALSE(before.contains("superseded"));
  store::Step& first = capture.model.steps.front().step;
  first.reason = Reason(ReasonCode::step_superseded);
  const auto after = counts();
  ASSERT_TRUE(after.contains("superseded"));
  EXPECT_EQ(after.at("superseded"), 1);
  const std::string phase(to_string(first.phase));
  EXPECT_EQ(after.contains(phase) ? after.at(phase) : 0, before.at(phase) - 1);
}

TEST(Info, TellsOfTheRunWhatIsKnownOfIt) {
  TemporaryCapture capture;
  store::Run& run = *capture.model.run;
  const auto told = [&](const std::string& name) {
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    for (const json& row : document["rows"]) {
      if (row["section"] == "run" && row["name"] == name) return row["value"].get<std::string>();
    }
    return std::string("-");
  };
  run.working_directory = "/home/someone/training";
  run.os = "Linux 6.1";
  run.step_range = "step";
  run.start_ns = 1'000'000'000;
  run.end_ns = 3'500'000'000;
  EXPECT_EQ(told("Directory"), "/home/someone/training");
  EXPECT_EQ(told("System"), "Linux 6.1");
  EXPECT_EQ(told("Step range"), "step");
  EXPECT_EQ(told("Clock"), run.clock);
  EXPECT_EQ(told("Duration"), "2.50 s");
  run.working_directory = run.os = run.step_range = std::nullopt;
  for (const char* name : {"Directory", "System", "Step range"}) EXPECT_EQ(told(name), "-") << name;
  run.end_ns.reset();
  EXPECT_EQ(told("Duration"), "unknown: the recording was interrupted");
}

TEST(Info, TellsAllOfASamplingWindow) {
  TemporaryCapture capture;
  const auto text = [&](const store::PmWindow& window) {
    capture.model.pm_windows = {window};
    const json document = json::parse(info_document(capture.model, {}, as(Format::json)).text());
    for (const json& row : document["rows"]) {
      if (row["value"].is_string() && row["value"].get<std::string>().find(" every ") != std::string::npos)
        return row["value"].get<std::string>();
    }
    return std::string();
  };
  store::PmWindow window;
  window.process_id = window.device_id = 1;
  window.sample_count = 1;
  window.interval_ns = 5000;
  window.status = WindowStatus::ok;
  EXPECT_EQ(text(window), "1 sample every 5.0 µs");
  window.sample_count = 1200;
  window.end_ns = 6'000'000;
  EXPECT_EQ(text(window), "1,200 samples every 5.0 µs") << "without a begin there is no length";
  window.start_ns = 1'000'000;
  window.first_step_index = 4;
  EXPECT_EQ(text(window), "1,200 samples every 5.0 µs, 5.000 ms");
  window.last_step_index = 4;
  EXPECT_EQ(text(window), "1,200 samples every 5.0 µs, 5.000 ms, step 4");
  window.last_step_index = 6;
  window.buffer_bytes = 1 << 20;
  window.clock_shift_ns = 750;
  window.shift_correlation = 0.98765;
  window.overflow = true;
  window.status = WindowStatus::overflow;
  window.reason = "buffer full";
  const std::string all = text(window);
  for (const char* part : {", steps 4 to 6, buffer ", ", clock shifted by +750 ns (correlation 0.988)",
                           ", the buffer overflowed: samples end early; overflow: buffer full"})
    EXPECT_NE(all.find(part), std::string::npos) << all;
  window.clock_shift_ns = -750;
  EXPECT_NE(text(window).find("clock shifted by −750 ns"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::reports
