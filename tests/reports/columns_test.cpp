// Every column of the ranking shows the field that it names: a row whose fields all differ, read back from JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/tables.h"
#include "temporary_capture.h"

namespace ridgeline::reports {
namespace {

using analyzer::Measured;
using nlohmann::json;
using testing::TemporaryCapture;

class Columns : public ::testing::Test {
 protected:
  // The first row of the ranking in JSON.
  json shown() {
    DocumentOptions options;
    options.format = Format::json;
    return json::parse(ranking_document(capture_.model, capture_.analysis, options).text())["rows"].at(0);
  }
  static Measured measured(double value, double error) {
    Measured result;
    result.value = value;
    result.error = error;
    return result;
  }
  TemporaryCapture capture_;
  analyzer::RankingRow& row_ = capture_.analysis.ranking.rows.at(0);
};

TEST_F(Columns, OfTheRankingShowTheirFields) {
  row_.kernel = "void k<1>()";
  row_.normalised_name = "family";
  row_.kernel_class = KernelClass::gemm;
  row_.calls = 1000;
  row_.time_ns = 102;
  row_.step_share = 0.103;
  row_.dram = measured(0.104, 0.0104);
  row_.compute = measured(0.105, 0.0105);
  row_.dram_t1 = measured(0.106, 0.0106);
  row_.dram_t2 = measured(0.107, 0.0107);
  row_.compute_t1 = measured(0.108, 0.0108);
  row_.compute_t2 = measured(0.109, 0.0109);
  row_.dram_difference = measured(0.110, 0.0110);
  row_.metrics.set("l2_utilisation_ratio", measured(0.111, 0.0111));
  row_.metrics.set("l2_hit_ratio", measured(0.112, 0.0112));
  row_.metrics.set("l1_hit_ratio", measured(0.113, 0.0113));
  row_.metrics.set("occupancy_ratio", measured(0.114, 0.0114));
  row_.cold_dram = measured(0.115, 0.0115);
  row_.cold_time_ns = 116;
  row_.cold_in_situ_time_ns = 117;
  row_.cold_dram_bytes = 118;
  row_.cold_in_situ_dram_bytes = 119;
  row_.busiest_pipe = analyzer::Roof::kTensor;
  row_.saved_target_ns = 121;
  row_.saved_stretch_ns = 122;
  row_.saved_target_share = 0.123;
  row_.saved_stretch_share = 0.124;
  row_.saved_target_error_ns = 125;
  row_.reached_target_ns = 150;
  row_.reached_stretch_ns = 151;
  row_.dram_bytes = 126;
  row_.tensor_ops = 127;
  row_.metrics.set("dram_read_bytes", Measured{.value = 148});
  row_.metrics.set("dram_write_bytes", Measured{.value = 149});
  row_.metrics.set("l2_bytes", Measured{.value = 128});
  row_.metrics.set("l1_bytes", Measured{.value = 129});
  row_.t1_time_ns = 130;
  row_.t2_time_ns = 131;
  row_.t1_concurrent_time_ns = 132;
  row_.measured_time_ns = 133;
  row_.too_short_time_ns = 134;
  row_.no_roof_time_ns = 135;
  row_.unmeasured_time_ns = 136;
  row_.measured_calls = 137;
  row_.too_short_calls = 138;
  row_.no_roof_calls = 139;
  row_.unmeasured_calls = 140;
  row_.why = {analyzer::Absence{.cause = analyzer::AbsenceCause::no_cold_step}};
  row_.replay_disagreement = 0.141;
  row_.waves = 142;
  row_.wave_waste_ratio = 0.143;
  row_.theoretical_occupancy_ratio = 0.144;
  row_.tile = "128x256x64";
  row_.tile_waste_ratio = 0.145;
  row_.alignment = 8;
  row_.metrics.set("issue_utilisation_ratio", measured(0.146, 0));
  row_.metrics.set("sm_active_ratio", measured(0.147, 0));
  const json row = shown();
  const std::map<std::string, json> expected = {
      {"rank", 1},
      {"kernel", "void k<1>()"},
      {"normalised_name", "family"},
      {"class", "gemm"},
      {"calls", 1000},
      {"time_ns", 102},
      {"step_share_ratio", 0.103},
      {"dram_utilisation_ratio", 0.104},
      {"dram_utilisation_error_ratio", 0.0104},
      {"compute_utilisation_ratio", 0.105},
      {"compute_utilisation_error_ratio", 0.0105},
      {"dram_t1_utilisation_ratio", 0.106},
      {"dram_t1_error_ratio", 0.0106},
      {"dram_t2_utilisation_ratio", 0.107},
      {"dram_t2_error_ratio", 0.0107},
      {"compute_t1_utilisation_ratio", 0.108},
      {"compute_t1_error_ratio", 0.0108},
      {"compute_t2_utilisation_ratio", 0.109},
      {"dram_difference_ratio", 0.110},
      {"dram_difference_error_ratio", 0.0110},
      {"l2_utilisation_ratio", 0.111},
      {"l2_hit_ratio", 0.112},
      {"l1_hit_ratio", 0.113},
      {"occupancy_ratio", 0.114},
      {"cold_dram_utilisation_ratio", 0.115},
      {"cold_time_ns", 116.0},
      {"cold_in_situ_time_ns", 117.0},
      {"cold_dram_bytes", 118.0},
      {"cold_in_situ_dram_bytes", 119.0},
      {"compute_pipe", "tensor"},
      {"saved_target_ns", 121.0},
      {"saved_stretch_ns", 122.0},
      {"saved_target_ratio", 0.123},
      {"saved_stretch_ratio", 0.124},
      {"saved_target_error_ns", 125.0},
      {"reached_target_ns", 150.0},
      {"reached_stretch_ns", 151.0},
      {"dram_bytes", 126.0},
      {"tensor_ops", 127.0},
      {"dram_read_bytes", 148.0},
      {"dram_write_bytes", 149.0},
      {"l2_bytes", 128.0},
      {"l1_bytes", 129.0},
      {"t1_time_ns", 130},
      {"t2_time_ns", 131},
      {"t1_concurrent_time_ns", 132},
      {"measured_time_ns", 133},
      {"launch_bound_time_ns", 134},
      {"no_roof_time_ns", 135},
      {"unmeasured_time_ns", 136},
      {"measured_calls", 137},
      {"launch_bound_calls", 138},
      {"no_roof_calls", 139},
      {"unmeasured_calls", 140},
      {"reason", "the recording has no cold step"},
      {"replay_disagreement_ratio", 0.141},
      {"waves", 142.0},
      {"wave_waste_ratio", 0.143},
      {"theoretical_occupancy_ratio", 0.144},
      {"tile", "128x256x64"},
      {"tile_waste_ratio", 0.145},
      {"alignment_elements", 8},
      {"issue_utilisation_ratio", 0.146},
      {"sm_active_ratio", 0.147},
  };
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_EQ(row[key], value) << key;
  }
}

// A collective has no roof, so that nothing says what it could save; what is too short for one can save nothing.
TEST_F(Columns, OfWhatHasNoRoofNoSavingIsKnown) {
  row_.measured_calls = row_.unmeasured_calls = row_.too_short_calls = 0;
  row_.no_roof_calls = row_.calls;
  EXPECT_TRUE(shown()["saved_target_ns"].is_null());
  EXPECT_TRUE(shown()["reached_target_ns"].is_null());
  row_.no_roof_calls = 0;
  row_.too_short_calls = row_.calls;
  EXPECT_FALSE(shown()["saved_target_ns"].is_null());
}

// None by name: a metric that is added to the registry has its columns.
TEST_F(Columns, OfEveryMetricAreThereAndInAGroup) {
  for (const analyzer::Metric metric : analyzer::kAllMetrics)
    row_.metrics.set(metric, Measured{.value = 0.25 + static_cast<double>(metric.place())});
  const json row = shown();
  for (const analyzer::Metric metric : analyzer::kAllMetrics) {
    const std::string key(metric.entry().key);
    ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_EQ(row[key], 0.25 + static_cast<double>(metric.place())) << key;
    DocumentOptions options;
    options.format = Format::csv;
    const auto in_group = [&](const char* group) {
      options.columns = group;
      const std::string text = ranking_document(capture_.model, capture_.analysis, options).text();
      return text.substr(0, text.find('\n')).find(key) != std::string::npos;
    };
    EXPECT_TRUE(in_group("caches") || in_group("sms")) << key;
  }
}

TEST_F(Columns, OfDeclaredWorkShowTheirFields) {
  analyzer::WorkSum work;
  work.ranges = 201;
  work.launches = 202;
  work.kernels = 203;
  work.time_ns = 204;
  work.declared_bytes = 205;
  work.declared_flops = 206;
  work.measured_bytes = 207;
  work.measured_tensor_ops = 208;
  work.measured_fp_ops = 209;
  work.bytes_ratio = 2.10;
  work.ops_ratio = 2.11;
  work.minimum_ns = 212;
  work.minimum_ratio = 0.213;
  work.undeclared_launches = 214;
  work.gemm = analyzer::GemmShape{215, 216, 217};
  work.gemms = 3;
  row_.work = work;
  const json row = shown();
  const std::map<std::string, json> expected = {
      {"ranges", 201},
      {"range_launches", 202},
      {"range_time_ns", 204},
      {"other_kernels", 202},
      {"declared_bytes", 205.0},
      {"declared_flops", 206.0},
      {"range_dram_bytes", 207.0},
      {"range_tensor_ops", 208.0},
      {"range_fp_ops", 209.0},
      {"bytes_ratio", 2.10},
      {"ops_ratio", 2.11},
      {"minimum_ns", 212.0},
      {"minimum_ratio", 0.213},
      {"undeclared_calls", 214},
      {"product", "215×216×217"},
  };
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_EQ(row[key], value) << key;
  }
}

TEST_F(Columns, OfTheTypeShowWhatIsCountedElseWhatTheNameSays) {
  row_.tensor_quantity = Quantity::bf16_flops_per_s;
  row_.name_precision = analyzer::Precision::tf32;
  EXPECT_EQ(shown()["precision"], "bf16");
  row_.tensor_quantity.reset();
  EXPECT_EQ(shown()["precision"], "tf32");
  row_.name_precision = analyzer::Precision::any;
  EXPECT_TRUE(shown()["precision"].is_null());
}

// In a list of columns a word can be one thing only.
TEST(ColumnNames, NoGroupIsCalledAsAColumn) {
  for (const DeclaredTable& declared : declared_tables()) {
    for (const ColumnGroup& group : declared.table.groups()) {
      for (const ColumnHead& column : declared.table.columns())
        EXPECT_NE(group.name, column.key) << declared.name;
    }
  }
}

std::vector<std::string> repeated_names(const Table& table) {
  std::set<std::string> names;
  std::vector<std::string> repeated;
  for (const ColumnHead& column : table.columns()) {
    // A mark beside the rows has none.
    if (const std::string name = whole_name(column); !name.empty() && !names.insert(name).second)
      repeated.push_back(column.key + ": " + name);
  }
  return repeated;
}

// Who chooses columns has nothing but their names before them.
TEST(ColumnNames, TellTheColumnsOfATableApart) {
  for (const DeclaredTable& declared : declared_tables())
    EXPECT_EQ(repeated_names(declared.table), std::vector<std::string>()) << declared.name;
}

TEST_F(Columns, HaveNamesOfTheirOwnInARankingByAnyKeys) {
  for (const char* keys : {"kernel", "kernel-grid", "family", "class", "nvtx", "phase", "layer", "launch",
                           "layer,phase", "class,phase"}) {
    capture_.analysis.ranking.options.key = analyzer::parse_ranking_keys(keys).value();
    const Table table = ranking_table(capture_.analysis.utilisation, capture_.analysis.ranking);
    EXPECT_EQ(repeated_names(table), std::vector<std::string>()) << keys;
  }
}

// "of it reaches the step, step, ms" was one, of two words for one column.
TEST_F(Columns, HaveANameInPlainWordsWithItsUnitOnce) {
  const Table table = ranking_table(capture_.analysis.utilisation, capture_.analysis.ranking);
  const auto name = [&](const char* key) { return whole_name(table.columns()[table.column(key)]); };
  EXPECT_EQ(name("reached_target_ns"), "saving that reaches the step, ms @70%");
  EXPECT_EQ(name("reached_stretch_ns"), "saving that reaches the step, ms @85%");
  EXPECT_EQ(name("limiter"), "nearest roof");
  EXPECT_EQ(name("kernel"), "full name of the kernel");
  EXPECT_EQ(name("time_ns"), "time, ms");
}

// A kernel's name stands once, and a reason in words; for programs all columns are there.
TEST_F(Columns, AllOfThemForPeopleRepeatNothing) {
  DocumentOptions options;
  options.columns = "all";
  options.format = Format::markdown;
  const auto heads = [&] {
    const std::string text = ranking_document(capture_.model, capture_.analysis, options).text();
    const std::size_t at = text.find("| place in the ranking |");
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::string words = heads();
  EXPECT_NE(words.find("| why there is no utilisation |"), std::string::npos) << words;
  EXPECT_EQ(words.find("as an identifier"), std::string::npos);
  EXPECT_NE(words.find("| kernel |"), std::string::npos);
  EXPECT_EQ(words.find("full name of the kernel"), std::string::npos);
  options.format = Format::csv;
  const std::string csv = ranking_document(capture_.model, capture_.analysis, options).text();
  EXPECT_NE(csv.find(",kernel,"), std::string::npos);
  EXPECT_NE(csv.find(",missing,"), std::string::npos);
  // Rows that mix kernels say which is the longest.
  capture_.analysis.ranking.options.key = analyzer::RankingKey::kernel_class;
  options.format = Format::markdown;
  EXPECT_NE(heads().find("| full name of the kernel |"), std::string::npos);
}

// The first object in a document that holds `value` under `key`, wherever it is.
const json* find_object(const json& document, const std::string& key, const json& value) {
  if (document.is_object() && document.contains(key) && document[key] == value) return &document;
  if (!document.is_structured()) return nullptr;
  for (const json& part : document) {
    if (const json* found = find_object(part, key, value)) return found;
  }
  return nullptr;
}

TEST_F(Columns, OfStepsShowTheirFields) {
  analyzer::StepSummary& step = capture_.analysis.steps.steps.at(2);
  step.step_index = 9001;
  step.configuration = "R9";
  step.reason = "because";
  step.gpu_duration_ns = 301;
  step.host_duration_ns = 302;
  step.kernel_time_ns = 303;
  step.launches = 304;
  step.launches_without_time = 305;
  step.kind = 2;
  step.closed = false;
  DocumentOptions options;
  options.format = Format::json;
  const json document = json::parse(steps_document(capture_.model, capture_.analysis, options).text());
  const json* row = find_object(document, "step_index", 9001);
  ASSERT_NE(row, nullptr);
  const std::map<std::string, json> expected = {
      {"configuration", "R9"},
      {"reason", "because"},
      {"gpu_duration_ns", 301},
      {"host_duration_ns", 302},
      {"kernel_time_ns", 303},
      {"launches", 304},
      {"launches_without_time", 305},
      {"kind", 3},
      {"closed", false},
  };
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(row->contains(key)) << key;
    EXPECT_EQ((*row)[key], value) << key;
  }
}

TEST_F(Columns, OfStallsShowTheirFields) {
  analyzer::KernelStalls kernel;
  kernel.ranking_row = 6;
  kernel.kernel = "void stalled<1>()";
  kernel.samples = 401;
  kernel.issuing_share = 0.402;
  kernel.ready_share = 0.403;
  kernel.stalled_share = 0.404;
  kernel.idle_share = 0.405;
  kernel.reasons = {{"vendor_a", "long scoreboard", 406, 0.407}, {"vendor_b", "barrier", 408, 0.409}};
  analyzer::HotSpot spot;
  spot.pc_offset = 0x1a0;
  spot.file = "/src/a.cu";
  spot.line = 411;
  spot.samples = 412;
  spot.share = 0.413;
  spot.main_reason = "wait";
  spot.main_reason_share = 0.414;
  kernel.instructions = {spot};
  analyzer::StallAnalysis& stalls = capture_.analysis.stalls;
  stalls = {};
  stalls.requested = true;
  stalls.samples = 421;
  stalls.steps = 2;
  stalls.period_cycles = 1024;
  stalls.kernels = {kernel};
  DocumentOptions options;
  options.format = Format::json;
  options.stalls = true;
  const json document = json::parse(ranking_document(capture_.model, capture_.analysis, options).text());
  const json* row = find_object(document, "issuing_ratio", 0.402);
  ASSERT_NE(row, nullptr);
  const std::map<std::string, json> expected = {{"rank", 7},
                                                {"kernel", "void stalled<1>()"},
                                                {"samples", 401},
                                                {"ready_ratio", 0.403},
                                                {"stalled_ratio", 0.404},
                                                {"idle_ratio", 0.405}};
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(row->contains(key)) << key;
    EXPECT_EQ((*row)[key], value) << key;
  }
  const json* place = find_object(document, "pc_offset", 0x1a0);
  ASSERT_NE(place, nullptr);
  const std::map<std::string, json> of_place = {{"file", "/src/a.cu"},   {"line", 411},
                                                {"samples", 412},        {"share_ratio", 0.413},
                                                {"main_reason", "wait"}, {"main_reason_ratio", 0.414}};
  for (const auto& [key, value] : of_place) {
    ASSERT_TRUE(place->contains(key)) << key << " of " << *place;
    EXPECT_EQ((*place)[key], value) << key;
  }
  const Table spots = hot_spots_table(stalls);
  EXPECT_EQ(spots.cell(0, "rank").words(), "7");
  EXPECT_EQ(spots.cell(0, "kernel").value(), Scalar("void stalled<1>()"));
  EXPECT_EQ(spots.cell(0, "kind").words(), "instruction");
  options.format = Format::text;
  options.text.columns = 200;
  const std::string text = ranking_document(capture_.model, capture_.analysis, options).text();
  EXPECT_NE(text.find("long scoreboard 41 %, barrier 41 %"), std::string::npos) << text;
  EXPECT_NE(text.find("a.cu:411"), std::string::npos);
  EXPECT_NE(text.find("+0x1a0"), std::string::npos);
  options.format = Format::markdown;
  const std::string markdown = ranking_document(capture_.model, capture_.analysis, options).text();
  EXPECT_NE(markdown.find("long scoreboard 41 %"), std::string::npos) << markdown;
  stalls.kernels.clear();
  EXPECT_EQ(ranking_document(capture_.model, capture_.analysis, options).text().find("stalled on"),
            std::string::npos);
}

TEST_F(Columns, OfTheClocksShowTheirFields) {
  analyzer::ClockSummary clock;
  clock.device_id = 9;
  clock.samples = 11;
  clock.sm_clock_min_hz = 12;
  clock.sm_clock_median_hz = 13;
  clock.sm_clock_max_hz = 14;
  clock.memory_clock_median_hz = 15;
  clock.power_median_w = 16;
  clock.power_max_w = 17;
  clock.temperature_max_c = 18;
  clock.throttle_reasons = {"power limit"};
  clock.throttled_share = 0.19;
  capture_.analysis.quality.clocks = {clock};
  const json report = json::parse(json_report(capture_.model, capture_.analysis).text());
  const json* found = nullptr;
  for (const auto& [name, part] : report.items()) {
    if (part.is_object() && part.contains("clocks")) found = &part["clocks"];
  }
  ASSERT_NE(found, nullptr) << "no part of the report holds clocks";
  const json expected = {{"device_id", 9},
                         {"samples", 11},
                         {"sm_clock_min_hz", 12.0},
                         {"sm_clock_median_hz", 13.0},
                         {"sm_clock_max_hz", 14.0},
                         {"memory_clock_median_hz", 15.0},
                         {"power_median_w", 16.0},
                         {"power_max_w", 17.0},
                         {"temperature_max_c", 18.0},
                         {"throttle_reasons", {"power limit"}},
                         {"throttled_ratio", 0.19}};
  EXPECT_EQ(found->at(0), expected);
}

// A verdict is coloured for what it asks of the reader.
TEST_F(Columns, OfTheCheckColourTheirVerdict) {
  using analyzer::KernelVerdict;
  for (const auto& [verdict, style] :
       {std::pair(KernelVerdict::stretch, Style::good), std::pair(KernelVerdict::missed, Style::bad),
        std::pair(KernelVerdict::not_measured, Style::fair), std::pair(KernelVerdict::met, Style::plain),
        std::pair(KernelVerdict::too_short, Style::plain)}) {
    capture_.analysis.check.kernels.resize(1);
    capture_.analysis.check.kernels[0].verdict = verdict;
    const Table table = check_table(capture_.analysis.check, capture_.analysis.check_ranking, true);
    EXPECT_EQ(table.cell(0, "verdict").style(), style) << to_string(verdict);
  }
}

// The kernel's name keeps 26 columns and its class 8; where both have no room, the class goes.
TEST_F(Columns, OfLaunchesAreCutBeforeTheyGo) {
  Table table = launches_table(capture_.model, capture_.analysis);
  for (const ColumnHead& column : std::vector<ColumnHead>(table.columns()))
    table.show(column.key, column.key == "kernel" || column.key == "class");
  const auto head = [&](int columns) {
    const std::string text = render_text(table, {.columns = columns, .colour = false});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(head(26 + 1 + 8), "kernel" + std::string(20 + 1, ' ') + "class");
  EXPECT_EQ(head(26 + 1 + 8 - 1), "kernel");
}

// What people see without asking: the other columns are for machines, or for who names them.
TEST(DefaultColumns, OfEveryTableAreThese) {
  std::string shown;
  for (const DeclaredTable& declared : declared_tables()) {
    shown += declared.name + ":";
    for (const ColumnHead& column : declared.table.columns()) {
      if (column.shown) shown += " " + column.key;
    }
    shown += "\n";
  }
  EXPECT_EQ(
      shown,
      "rank: ordinal key calls time_ns step_share_ratio dram_utilisation_ratio dram_t1_utilisation_ratio "
      "compute_utilisation_ratio limiter bound limiter_error_ratio saved_target_ns reached_target_ns "
      "saved_stretch_ns tier\n"
      "advise: rule verdict subject net_mid_ns net_mid_ratio net_low_ns net_high_ns basis launches\n"
      "explain: figure value error tier\n"
      "limits: roof utilisation_ratio error_ratio tier mark\n"
      "configurations: grid block cluster registers static_smem_bytes dynamic_smem_bytes calls time_ns waves "
      "idle_ratio occupancy_ratio occupancy_limiter\n"
      "check: key verdict step_share_ratio time_ns utilisation_ratio required_ratio limiter bound "
      "saved_target_ns\n"
      "steps: step_index representative phase status gpu_duration_ns host_duration_ns kernel_time_ns "
      "launches kind\n"
      "phases: phase steps median_ns p10_ns p90_ns min_ns max_ns outliers not_ok\n"
      "accounting: part time_ns step_share_ratio meaning\n"
      "bounds: part launches time_ns step_share_ratio memory_ns compute_ns latency_ns launch_bound_ns\n"
      "gaps: duration_ns kind cause after_kernel before_kernel\n"
      "what-if: what launches before_ns after_ns bound_ns naive_ns simulated_ns simulated_low_ns "
      "simulated_high_ns after_power_ns\n"
      "replayed: kernel grid block launches replayed in_situ_ns replayed_ns time_difference_ratio "
      "replayed_dram_bytes dram_difference_ratio in_situ_clock_hz replayed_clock_hz\n"
      "interventions: kernel ordinal slope slope_low slope_high simulated_slope verdict slack_ns "
      "slack_reached "
      "delayed_steps sham_steps sham_ns\n"
      "delays: kernel ordinal level_ns delay_ns longer_ns simulated_ns steps\n"
      "ranks: rank host duration_ns own_ns compute_ns copy_ns idle_ns exposed_wait_ns exposed_transfer_ns "
      "lateness_ns late_steps cause last_share sm_clock_hz clock_error_ns\n"
      "job-steps: step_index duration_ns exposed_ns exposed_wait_ns exposed_transfer_ns slowest_rank "
      "lateness_ns cause\n"
      "collectives: place function bytes duration_ns wait_ns transfer_ns hidden_ns exposed_ns skew_ns "
      "wait_error_ns bus_bytes_per_s class last_rank last_share\n"
      "kernels-over-ranks: kernel launches median_ns best_ns worst_ns worst_rank spread_ratio ranks\n"
      "kernels-beside: kernel function factor_ratio cost_ns beside_ns controlled_ns launches compared "
      "controls\n"
      "job-account: part time_ns alone_ns difference_ns\n"
      "job-what-if: what gain_ns gain_low_ns gain_high_ns contention_ns bound_ns naive_ns gain_ratio step_ns "
      "exposed_wait_ns "
      "exposed_transfer_ns buckets refusal\n"
      "launches: ordinal kernel class nvtx_path start_offset_ns duration_ns grid block stream_id "
      "dram_utilisation_ratio compute_utilisation_ratio status reason\n"
      "compare: kernel outcome time_a_ns time_b_ns delta_ns measured_ratio change_ratio interval adjusted_p "
      "dram compute "
      "bound "
      "cause match\n"
      "parts: part outcome time_a_ns time_b_ns delta_ns change_ratio step_share_ratio interval p\n"
      "transfers: kind direction path outcome calls_a calls_b bytes_a bytes_b time_a_ns time_b_ns "
      "exposed_delta_ns\n"
      "history: series runs latest_ns commit before_ns after_ns change_ratio p accepted\n"
      "ceilings: roof read_share_ratio state value spread_ratio sm_clock_hz per_cycle_sm of_most_ratio "
      "power_w "
      "joules_each counted_ratio verdict\n"
      "roofline: kernel calls time_ns step_share_ratio sol_ns headroom_ns sol_ratio filled_ratio bound "
      "dram_ratio "
      "l2_ratio l1_ratio pipe_ratio issue_ratio intensity_flop_per_byte flops_per_s operations\n"
      "ladder: rung step_ns saved_ns saved_ratio half_width_ratio verdict alone_ratio left_out_ratio "
      "kernels launches "
      "sm_clock_hz power_w joules_per_step peak_memory_bytes loss_verdict\n"
      "work: operation ranges launches kernels time_ns declared_bytes measured_bytes bytes_ratio "
      "declared_flops measured_tensor_ops ops_ratio minimum_ns minimum_limiter minimum_ratio\n");
}

// Which columns go where the width does not suffice, the first to go first; columns of equal rank are many only where
// they are shown if they are asked for.
TEST(DefaultColumns, GoInThisOrder) {
  std::string order;
  for (const DeclaredTable& declared : declared_tables()) {
    std::map<int, std::vector<std::string>> by_rank;
    for (const ColumnHead& column : declared.table.columns()) {
      if (column.drop_order > 0) by_rank[column.drop_order].push_back(column.key);
    }
    order += declared.name + ":";
    for (auto rank = by_rank.rbegin(); rank != by_rank.rend(); ++rank) {
      order += rank == by_rank.rbegin() ? "" : " >";
      if (rank->second.size() > 12) order += " " + std::to_string(rank->second.size()) + " columns";
      if (rank->second.size() > 12) continue;
      for (const std::string& key : rank->second) order += " " + key;
    }
    order += "\n";
  }
  EXPECT_EQ(
      order,
      "rank: 96 columns > calls > saved_stretch_ns saved_stretch_ns_per_s > dram_t1_utilisation_ratio "
      "> tier > "
      "limiter_error_ratio > limiter bound\n"
      "advise: net_mid_ratio > basis > launches\n"
      "explain:\n"
      "limits:\n"
      "configurations: idle_ratio > static_smem_bytes > cluster > occupancy_limiter\n"
      "check: saved_target_exposed_ns text budget budget_reason > saved_target_ns > time_ns > limiter "
      "reached_target_ns > bound\n"
      "steps: launches_without_time steps_per_s closed > nvlink_sent_bytes nvlink_received_bytes "
      "pcie_received_bytes pcie_sent_bytes > "
      "samples_per_s > tokens_per_s > allocated_bytes > "
      "kind > configuration > host_duration_ns source > reason\n"
      "phases: min_ns\n"
      "accounting: meaning\n"
      "bounds: launches > no_roof_ns unmeasured_ns > launch_bound_ns\n"
      "gaps: nvtx_path start_ns synchronisation_ns call call_ns thread_id > after_kernel\n"
      "what-if: changed > launches > after_ns > before_ns > simulated_high_ns > simulated_low_ns\n"
      "replayed: in_situ_clock_hz > block > grid > launches > replayed_clock_hz > dram_difference_ratio\n"
      "interventions: sham_steps > delayed_steps > slope_high > slope_low > slack_reached > sham_ns\n"
      "delays:\n"
      "ranks: nvlink_sent_bytes nvlink_received_bytes pcie_received_bytes pcie_sent_bytes > "
      "duration_ns > idle_ns > copy_ns > compute_ns > last_share > host exposed_transfer_ns > late_steps "
      "sm_clock_hz > "
      "clock_error_ns\n"
      "job-steps:\n"
      "collectives: link_ratio > nvlink_sent_bytes nvlink_received_bytes pcie_received_bytes pcie_sent_bytes "
      "nvlink_ratio > "
      "hidden_ns > skew_ns > wait_error_ns > last_share\n"
      "kernels-over-ranks: spread_ratio > launches > ranks\n"
      "kernels-beside: controls > compared > controlled_ns > launches\n"
      "job-account:\n"
      "job-what-if: buckets > exposed_transfer_ns > exposed_wait_ns > naive_ns > gain_high_ns > gain_low_ns "
      "> "
      "contention_ns bound_ns\n"
      "launches: 22 columns > reason > stream_id tier > nvtx_path dram_t1_utilisation_ratio "
      "dram_t1_error_ratio > class > grid block\n"
      "compare: bound > compute > dram > match > adjusted_p > interval\n"
      "parts: step_share_ratio\n"
      "transfers: calls_a calls_b > bytes_a bytes_b\n"
      "history: kind > runs\n"
      "ceilings: counted_ratio > joules_each > of_most_ratio > per_cycle_sm > read_share_ratio > "
      "spread_ratio > sm_clock_hz > power_w\n"
      "roofline: class > calls > issue_ratio precision > step_share_ratio operations > filled_ratio > "
      "l1_ratio > l2_ratio "
      "> intensity_flop_per_byte flops_per_s\n"
      "ladder: peak_memory_bytes > power_w > joules_per_step > sm_clock_hz > launches > kernels > "
      "alone_ratio > left_out_ratio > loss_verdict\n"
      "work: name measured_fp_ops > measured_tensor_ops > declared_flops > launches kernels > "
      "declared_bytes measured_bytes > ranges > minimum_limiter\n");
}

}  // namespace
}  // namespace ridgeline::reports
