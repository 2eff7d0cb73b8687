// Results of Nsight Compute drawn by lot: both pages, units with every prefix and none that is known, numbers of each
// locale, cells that are empty or quoted, launches of several processes, names of two demanglers; and what of them is
// joined onto which launch. All of it is held against what was accepted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/foreign_fields.h"
#include "ncu/ncu_csv.h"
#include "ncu/ncu_join.h"
#include "ncu/ncu_metrics.h"
#include "ncu/ncu_names.h"
#include "ncu/ncu_numbers.h"
#include "ncu/ncu_order.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/import/trace_files.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::expect_accepted_import;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;
using ridgeline::testing::printable;
using ridgeline::testing::TemporaryDirectory;

constexpr const char* kBaseUnits[] = {"byte",    "hz",   "Hz",    "cycle",  "inst",     "sector",
                                      "request", "warp", "block", "thread", "register", "sample",
                                      "SM",      "op",   "W",     "C",      "furlong",  ""};
constexpr const char* kPrefixes[] = {"", "K", "k", "M", "G", "T", "P", "m", "x"};
constexpr const char* kTimeUnits[] = {"ns",      "nsecond", "us",  "usecond", "ms",
                                      "msecond", "s",       "sec", "second",  "minute"};

// Every unit with every prefix, over every time and over others.
TEST(DrawnNcuNumbers, UnitsOfEveryForm) {
  for (const char* prefix : kPrefixes) {
    AcceptedCases::expect([&] {
      std::string all;
      for (const char* base : kBaseUnits) {
        const std::string unit = std::string(prefix) + base;
        all += unit + " " + fields(scaled_unit(unit)) + "\n";
        for (const char* below : {"s", "nsecond", "us", "ms", "cycle", "Kbyte", "", "x", "byte/s"})
          all += unit + "/" + below + " " + fields(scaled_unit(unit + "/" + below)) + "\n";
      }
      for (const char* time : kTimeUnits) {
        all += std::string(time) + " " + fields(scaled_unit(prefix + std::string(time))) + "\n";
        all +=
            std::string(time) + " " + fields(scaled_unit(std::string(time) + "/" + prefix + "byte")) + "\n";
      }
      for (const char* other : {"%", "(null)", "%/s", "/", "/s", "byte/"})
        all += std::string(other) + " " + fields(scaled_unit(prefix + std::string(other))) + "\n";
      return all;
    });
  }
}

std::string drawn_number(Lots& lots) {
  const char* pieces[] = {
      "0", "1", "12", "117", "344",      "000",          "1234",         ".",  ",", ".",       ",",
      "-", "+", " ",  "'",   "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99", "e3", "x", " (1; 2)", "%"};
  std::string text;
  for (std::int64_t n = lots.below(6); n >= 0; --n) {
    const std::int64_t piece = lots.percent(80) ? lots.below(11) : lots.below(22);
    text += pieces[piece];
  }
  return text;
}

TEST(DrawnNcuNumbers, OfEveryForm) {
  const char* units[] = {"ns", "%",          "byte", "block", "thread", "sample", "sector", "register/thread",
                         "SM", "byte/block", ""};
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 500; ++i) {
        DecimalMarks marks;
        std::string said;
        for (std::int64_t n = lots.below(3); n >= 0; --n) {
          const std::string text = drawn_number(lots);
          const char* unit = units[lots.below(11)];
          marks.see(text, unit);
          const auto point = printed_number(text, DecimalMark::point);
          const auto comma = printed_number(text, DecimalMark::comma);
          said += "'" + text + "' " + unit + " " + fields(point) + " " + fields(comma) + "; ";
        }
        all += said + fields(marks.decide()) + "\n";
      }
      return printable(all);
    });
  }
}

// How a table goes; shares are of a hundred.
struct TableLot {
  std::uint64_t seed = 1;
  bool details = false, comma = false;
  int launches = 5, processes = 1;
  int odd = 0, empty = 0;
  bool heads = false;  // the head comes again
};

class DrawnTable {
 public:
  explicit DrawnTable(const TableLot& lot) : lot_(lot), lots_(lot.seed) {}

  std::string text() {
    std::string all =
        lots_.percent(30) ? "\xEF\xBB\xBF" : "==PROF== Connected to process 5\nsaid, by \"it\"\n";
    if (lots_.percent(20)) all += "==ERROR== something\n";
    columns();
    all += head();
    for (int i = 0; i < lot_.launches; ++i) {
      if (lot_.heads && i == lot_.launches / 2) all += head();
      if (lots_.percent(20)) all += "==PROF== Profiling: 0%....100%\n\n17,5\n";
      all += lot_.details ? sections(i) : row(i);
    }
    return lots_.percent(30) && lot_.odd > 0 ? all.substr(0, all.size() - 1) : all;
  }

 private:
  bool odd() { return lots_.percent(lot_.odd); }
  static std::string cell(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    return out + "\"";
  }

  void columns() {
    fixed_ = {"ID", "Kernel Name", "Block Size", "Grid Size"};
    for (const char* more : {"Process ID", "Process Name", "Host Name", "Context", "Stream", "Device", "CC"})
      if (lots_.percent(80)) fixed_.emplace_back(more);
    std::vector<std::string> rest(fixed_.begin() + 1, fixed_.end());
    lots_.shuffle(rest);
    std::copy(rest.begin(), rest.end(), fixed_.begin() + 1);
    if (odd() && lots_.percent(30))
      fixed_.erase(fixed_.begin() + 1 + lots_.below(static_cast<std::int64_t>(fixed_.size()) - 1));
    const char* metrics[] = {"gpu__time_duration.sum",
                             "dram__bytes_read.sum",
                             "dram__bytes_write.sum",
                             "dram__bytes.sum.per_second",
                             "gpc__cycles_elapsed.max",
                             "sm__cycles_active.avg",
                             "sm__throughput.avg.pct_of_peak_sustained_elapsed",
                             "device__attribute_x",
                             "launch__registers",
                             "profiler__replayer",
                             "numa__cpu",
                             "pmsampling:x__y",
                             "breakdown:a__b",
                             "no counter",
                             "dram__bytes.sum",
                             "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"};
    for (const char* metric : metrics)
      if (lots_.percent(60)) metrics_.emplace_back(metric);
    if (odd()) metrics_.push_back("a__b \"quoted\", of\ntwo lines");
    for (std::size_t i = 0; i < metrics_.size(); ++i) units_.push_back(unit_of(metrics_[i]));
  }
  std::string unit_of(const std::string& metric) {
    if (odd()) return lots_.one_of<const char*>({"furlong", "", "xbyte", "byte/furlong", "(null)"});
    if (metric.find("time") != std::string::npos) return kTimeUnits[lots_.below(9)];
    if (metric.find("per_second") != std::string::npos)
      return std::string(kPrefixes[lots_.below(7)]) + "byte/s";
    if (metric.find("bytes") != std::string::npos) return std::string(kPrefixes[lots_.below(7)]) + "byte";
    if (metric.find("pct") != std::string::npos) return "%";
    if (metric.find("cycles") != std::string::npos) return "cycle";
    return lots_.one_of<const char*>({"inst", "", "register/thread", "Kinst"});
  }

  std::string head() {
    std::string all;
    for (const std::string& column : fixed_) all += (all.empty() ? "" : ",") + cell(column);
    if (lot_.details) {
      if (lots_.percent(80)) {
        all += ",\"Section Name\"";
        section_ = true;
      } else {
        section_ = false;
      }
      all += ",\"Metric Name\",\"Metric Unit\",\"Metric Value\"";
      return all + (lots_.percent(70) ? ",\"Rule Name\",\"Rule Type\",\"Rule Description\"\n" : "\r\n");
    }
    for (const std::string& metric : metrics_) all += "," + cell(metric);
    all += "\n";
    if (odd() && lots_.percent(10)) return all;
    std::string units;
    for (std::size_t i = 0; i < fixed_.size(); ++i) units += units.empty() && i == 0 ? "\"\"" : ",\"\"";
    for (const std::string& unit : units_) units += "," + cell(unit);
    return all + units + (lots_.percent(20) ? "\r\n" : "\n");
  }

  std::string fixed(int launch) {
    const char* names[] = {"void <unnamed>::gemm<128>(float *)", "gemm", "void add<float>(float *)",
                           "other \"quoted\", name", "_Z3addIfEvPT_"};
    std::string all;
    for (const std::string& column : fixed_) {
      std::string text = "7";
      if (column == "ID")
        text = odd() && lots_.percent(10) ? "x" : std::to_string(lot_.processes > 1 ? launch / 2 : launch);
      else if (column == "Process ID")
        text = odd() ? "none" : std::to_string(5 + launch % lot_.processes);
      else if (column == "Kernel Name")
        text = names[(launch + static_cast<int>(lot_.seed)) % 5];
      else if (column == "Block Size")
        text = odd() ? size() : "(256, 1, 1)";
      else if (column == "Grid Size")
        text = odd() ? size() : launch % 2 == 0 ? "(64, 2, 1)" : "(32,1,1)";
      all += (all.empty() ? "" : ",") + cell(text);
    }
    return all;
  }
  std::string size() {
    return lots_.one_of<const char*>({"(64, 2, 1)", "( 64,  2,   1)", "(1, 2)", "(0, 1, 1)", "(1, 1, 0)",
                                      "64", "(64, 2, 1", "(2147483647, 1, 1)", "(2147483648, 1, 1)",
                                      "(1, 2, 3, 4)", "(a, 1, 1)", "()"});
  }
  std::string value(const std::string& unit) {
    if (lots_.percent(lot_.empty))
      return lots_.one_of<const char*>(
          {"", "n/a", "N/A", "nan", "-nan", "NaN", "inf", "-inf", "Inf", "(null)", "0x1f", "0"});
    if (odd())
      return lots_.one_of<const char*>(
          {"many", "12 (3; 4)", "1 234", "-5", "+7", "1e400", "CachePreferNone", "1;2"});
    const std::int64_t whole = lots_.below(5000);
    std::string text = std::to_string(whole);
    if (text.size() > 3) text.insert(text.size() - 3, lot_.comma ? "." : ",");
    if (unit == "%" || unit.find('/') != std::string::npos || lots_.percent(50))
      text += (lot_.comma ? "," : ".") + std::to_string(10 + lots_.below(90));
    return text;
  }

  std::string row(int launch) {
    std::string all = fixed(launch);
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      const std::string text = value(units_[i]);
      all += "," + (lots_.percent(15) && text.find(',') == std::string::npos ? text : cell(text));
    }
    if (odd() && lots_.percent(10)) all += ",\"one more\"";
    return all + (lots_.percent(10) ? "\r\n" : "\n");
  }

  std::string sections(int launch) {
    const std::pair<const char*, const char*> details[] = {
        {"GPU Speed Of Light Throughput", "Duration"},
        {"GPU Speed Of Light Throughput", "Elapsed Cycles"},
        {"GPU Speed Of Light Throughput", "SM Active Cycles"},
        {"GPU Speed Of Light Throughput", "SM Frequency"},
        {"GPU Speed Of Light Throughput", "DRAM Frequency"},
        {"GPU Speed Of Light Throughput", "DRAM Throughput"},
        {"GPU Speed Of Light Throughput", "Memory Throughput"},
        {"GPU Speed Of Light Throughput", "Compute (SM) Throughput"},
        {"GPU Speed Of Light Throughput", "L1/TEX Cache Throughput"},
        {"GPU Speed Of Light Throughput", "L2 Cache Throughput"},
        {"Memory Workload Analysis", "Memory Throughput"},
        {"Memory Workload Analysis", "L1/TEX Hit Rate"},
        {"Memory Workload Analysis", "L2 Hit Rate"},
        {"Compute Workload Analysis", "Issue Slots Busy"},
        {"Occupancy", "Achieved Occupancy"},
        {"Occupancy", "Memory Throughput"},
        {"Launch Statistics", "Registers Per Thread"},
        {"Command line profiler metrics", "dram__bytes_read.sum"},
        {"Command line profiler metrics", "device__x"},
        {"SpeedOfLight", ""}};
    std::string all;
    for (const auto& [section, name] : details) {
      if (lots_.percent(25)) continue;
      const std::string what = name;
      std::string unit =
          what.find("Cycles") != std::string::npos      ? "cycle"
          : what == "Duration"                          ? kTimeUnits[lots_.below(9)]
          : what.find("Frequency") != std::string::npos ? lots_.one_of<const char*>({"Ghz", "cycle/nsecond"})
          : section == std::string("Memory Workload Analysis") && what == "Memory Throughput" ? "Gbyte/s"
          : what.find("bytes") != std::string::npos                                           ? "Mbyte"
                                                                                              : "%";
      if (odd()) unit = lots_.one_of<const char*>({"", "furlong", "%", "Gbyte/s"});
      all += fixed(launch);
      if (section_) all += "," + cell(section);
      const std::string text = value(unit);
      all += "," + cell(what) + "," + cell(unit) + "," + cell(text) + "\n";
    }
    return all;
  }

  TableLot lot_;
  Lots lots_;
  std::vector<std::string> fixed_, metrics_, units_;
  bool section_ = true;
};

class DrawnTables : public ::testing::Test {
 protected:
  std::string file(const std::string& text, const std::string& name = "table.csv") {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }
  std::string read(const std::string& text) {
    const std::string path = file(text);
    std::string all;
    for (const std::optional<DecimalMark> mark :
         {std::optional<DecimalMark>(), std::optional(DecimalMark::point), std::optional(DecimalMark::comma)})
      all += printable(fields(read_ncu_csv(path, mark))) + "\n";
    return all;
  }

  TemporaryDirectory directory_;
};

TEST_F(DrawnTables, AreReadAsTheyWereWritten) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t seed = 20 * batch + i;
        all += read(DrawnTable({.seed = seed,
                                .details = batch % 2 == 1,
                                .comma = i % 3 == 0,
                                .launches = static_cast<int>(seed % 6),
                                .processes = 1 + static_cast<int>(seed % 2),
                                .odd = static_cast<int>(batch % 4) * 2,
                                .empty = static_cast<int>(i % 2) * 15,
                                .heads = i % 5 == 0})
                        .text());
      }
      return all;
    });
  }
}

TEST_F(DrawnTables, ThatAreCutOrDamagedAreRefusedOrReadAsFarAsTheyGo) {
  for (std::uint64_t batch = 0; batch < 4; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      const std::string text =
          DrawnTable({.seed = 300 + batch, .details = batch % 2 == 1, .launches = 3}).text();
      std::string all;
      for (int i = 0; i < 20; ++i) {
        std::string changed = text;
        const auto at = static_cast<std::size_t>(lots.below(static_cast<std::int64_t>(text.size())));
        if (i % 2 == 0)
          changed.resize(at);
        else
          changed[at] = lots.one_of({'"', ',', '\n', ' ', '0', '(', 'x', '='});
        all += read(changed);
      }
      return all;
    });
  }
}

// The metric of each name of each section, with each unit.
TEST(DrawnNcuNames, MetricsOfDetails) {
  AcceptedCases::expect([] {
    std::string all;
    for (const char* section :
         {"GPU Speed Of Light Throughput", "Memory Workload Analysis", "Compute Workload Analysis",
          "Occupancy", "Command line profiler metrics", ""})
      for (const char* name : {"Duration",
                               "Elapsed Cycles",
                               "SM Active Cycles",
                               "SM Frequency",
                               "DRAM Frequency",
                               "DRAM Throughput",
                               "Memory Throughput",
                               "Compute (SM) Throughput",
                               "L1/TEX Cache Throughput",
                               "L2 Cache Throughput",
                               "L1/TEX Hit Rate",
                               "L2 Hit Rate",
                               "Issue Slots Busy",
                               "Achieved Occupancy",
                               "a__b",
                               "device__b",
                               "launch__b",
                               "profiler__b",
                               "numa__b",
                               "pmsampling:a__b",
                               "breakdown:a__b",
                               "a_b",
                               ""})
        for (const char* unit : {"%", "Gbyte/s", "byte/second", "", "us"})
          all += std::string(section) + "|" + name + "|" + unit + "|" +
                 std::string(metric_of_detail(section, name, unit)) + (is_counter(name) ? "+\n" : "\n");
    return all;
  });
}

// Names put together of what demanglers write.
std::string drawn_name(Lots& lots, int depth = 0) {
  const char* words[] = {"f",
                         "gemm",
                         "ns::g",
                         "(anonymous namespace)::h",
                         "<unnamed>::h",
                         "{anonymous}::k",
                         "`anonymous namespace'::k",
                         "std::array",
                         "float",
                         "const float",
                         "float const",
                         "void",
                         "int"};
  const char* values[] = {"4", "4ul", "0x1u", "(int)4", "true", "false", "-1", "(ns::E)1", "2U", "16"};
  const std::int64_t word = lots.below(13);
  std::string name = words[word];
  if (depth < 3 && lots.percent(55)) {
    name += "<";
    for (std::int64_t n = lots.below(3); n >= 0; --n) {
      const std::int64_t value = lots.below(10);
      name += lots.percent(50) ? std::string(values[value]) : drawn_name(lots, depth + 1);
      if (n > 0) name += lots.percent(50) ? ", " : ",";
    }
    name += lots.percent(30) ? " >" : ">";
  }
  if (lots.percent(15))
    name += lots.one_of<const char*>({"::{lambda(float)#1}", "::[lambda(float) (instance 1)]",
                                      "::{lambda()#2}::operator()() const", " *", "&", " [3]"});
  if (depth == 0) {
    if (lots.percent(40)) name.insert(0, "void ");
    if (lots.percent(70))
      name += lots.one_of<const char*>({"(int)", "(float *, T1)", "()", "(f(int), g<(int)2>)"});
    if (lots.percent(5)) name.resize(name.size() / 2);
  }
  return name;
}

TEST(DrawnNcuNames, InThreeForms) {
  for (std::uint64_t batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 250; ++i) {
        const std::string name = drawn_name(lots);
        all += name + " | " + comparable_name(name) + " | " + plain_function_name(name) + " | " +
               template_text(name) + "\n";
      }
      return all;
    });
  }
}

// Steps of few names, profiled under other names, with launches left out and put in.
TEST(DrawnNcuJoins, OfLaunchesByNameSizeAndOrder) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 60; ++i) {
        Lots lots(100 * batch + i);
        std::map<store::Id, store::Kernel> kernels;
        std::vector<std::string> names;
        for (store::Id id = 1; id <= 7; ++id) {
          store::Kernel kernel;
          kernel.id = id;
          kernel.demangled_name =
              lots.percent(40) ? "void f<" + std::to_string(lots.below(3)) + ">(int)" : drawn_name(lots);
          if (lots.percent(30)) kernel.mangled_name = "_Z1fv" + std::to_string(id % 3);
          names.push_back(kernel.demangled_name);
          kernels[id] = kernel;
        }
        std::vector<store::Launch> launches;
        const std::int64_t count = lots.below(14);
        for (std::int64_t n = 0; n < count; ++n) {
          store::Launch launch;
          launch.id = n + 1;
          launch.kernel_id = lots.between(1, lots.percent(10) ? 9 : 6);
          launch.grid = {lots.between(1, 2), 1, 1};
          launch.block = {128, lots.percent(10) ? 2 : 1, 1};
          launches.push_back(launch);
        }
        NcuResults results;
        const int passes = static_cast<int>(lots.below(3)) + 1;
        for (int pass = 0; pass < passes; ++pass) {
          for (const store::Launch& ran : launches) {
            if (lots.percent(static_cast<std::int64_t>(batch % 3) * 8)) continue;
            NcuLaunch launch;
            launch.id = static_cast<std::int64_t>(results.launches.size()) * (lots.percent(2) ? -1 : 1);
            launch.pid = lots.percent(5) ? 6 : 5;
            const auto kernel = kernels.find(ran.kernel_id);
            const std::string& name = kernel == kernels.end() ? names[0] : kernel->second.demangled_name;
            launch.kernel = batch % 4 == 0   ? name
                            : batch % 4 == 1 ? plain_function_name(name)
                            : batch % 4 == 2
                                ? (lots.percent(50) ? name : plain_function_name(name))
                                : (lots.percent(85) ? name : plain_function_name(name) + "<99>(int)");
            launch.grid = ran.grid;
            launch.block = ran.block;
            if (lots.percent(3)) launch.grid.y = 7;
            results.launches.push_back(launch);
          }
        }
        all += fields(join_ncu(results, kernels, launches, lots.percent(60))) + "\n";
      }
      return all;
    });
  }
}

TEST(DrawnNcuJoins, OfOrderAlone) {
  for (std::uint64_t batch = 0; batch < 10; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 150; ++i) {
        Lots lots(1000 * batch + i);
        LaunchOrder order;
        order.repeats = lots.percent(50);
        const auto kinds = static_cast<std::size_t>(lots.between(1, 4));
        const auto classes = static_cast<std::size_t>(lots.between(1, 3));
        for (std::size_t c = 0; c < classes; ++c) {
          std::vector<bool> fits;
          for (std::size_t k = 0; k < kinds; ++k) fits.push_back(k % classes == c || lots.percent(20));
          order.fits.push_back(fits);
          order.asked.push_back(lots.percent(80));
        }
        const std::int64_t ran = lots.below(16);
        for (std::int64_t n = 0; n < ran; ++n)
          order.ran.push_back(static_cast<std::size_t>(lots.below(static_cast<std::int64_t>(kinds))));
        const std::int64_t from = ran == 0 ? 0 : lots.below(ran);
        for (std::int64_t n = 0; n < ran + lots.below(6); ++n) {
          const std::size_t kind =
              order.ran.empty() ? 0 : order.ran[static_cast<std::size_t>((from + n) % ran)];
          order.profiled.push_back(lots.percent(5) ? 0 : kind % classes);
        }
        all += fields(kinds_by_order(order)) + "\n";
      }
      return all;
    });
  }
}

// --- Onto captures ---

// Steps of two processes; two kernels have one function, one has no name of its own.
std::string trace_to_join(std::uint64_t seed, int steps) {
  Lots lots(seed);
  std::string text = R"({"traceEvents": [)";
  int id = 1;
  const auto event = [&](const std::string& rest) {
    text += (text.ends_with('[') ? "\n{" : ",\n{") + rest + "}";
  };
  for (int step = 0; step < std::max(steps, 1); ++step) {
    const std::int64_t at = 1000 + step * 1000;
    std::int64_t gpu_at = at + 60;
    const char* names[] = {"void (anonymous namespace)::gemm<128>(float*)", "void add<float>(float*)",
                           "_Z3addIdEvPT_", "void (anonymous namespace)::gemm<64>(float*)"};
    for (int k = 0; k < 5; ++k, ++id) {
      const std::int64_t duration = 20 + 10 * (k % 3) + lots.below(4);
      const std::int64_t name = k == 3 && steps > 3 ? lots.below(4) : k % 4;
      const std::string number = std::to_string(id);
      event(R"("ph": "X", "cat": "kernel", "name": ")" + std::string(names[name]) +
            R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(gpu_at) + R"(, "dur": )" +
            std::to_string(duration) + R"(, "args": {"device": 0, "stream": 7, "correlation": )" + number +
            R"(, "grid": )" + (k % 2 == 0 ? "[64, 2, 1]" : "[32, 1, 1]") + R"(, "block": [256, 1, 1]})");
      event(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 11, "ts": )" +
            std::to_string(at + 1 + 5 * k) + R"(, "dur": 1, "args": {"correlation": )" + number + "}");
      gpu_at += duration + 5;
    }
    if (steps > 0)
      event(R"("ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(step) +
            R"(", "pid": 9, "tid": 11, "ts": )" + std::to_string(at) + R"(, "dur": 900, "args": {})");
  }
  return text + "]}";
}

class DrawnJoins : public DrawnTables {
 protected:
  void joined(std::uint64_t seed, int steps, const std::vector<TableLot>& tables,
              NcuLocale locale = NcuLocale::decided) {
    const std::string capture = directory_ / "run.ridge", output = directory_ / "joined.ridge";
    for (const std::string& old : {capture, output}) std::filesystem::remove(old);
    ASSERT_TRUE(import_traces({file(trace_to_join(seed, steps), "trace")}, capture).ok());
    std::vector<std::string> paths;
    for (const TableLot& table : tables)
      paths.push_back(file(DrawnTable(table).text(), "table" + std::to_string(paths.size()) + ".csv"));
    (void)expect_accepted_import(
        join_ncu_results(paths, capture, output, {.overwrite = true, .locale = locale}), output);
  }
};

TEST_F(DrawnJoins, OntoStepsAndWithoutSteps) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    joined(seed, static_cast<int>(seed % 5),
           {{.seed = 400 + seed,
             .details = seed % 3 == 0,
             .launches = 3 + static_cast<int>(seed),
             .processes = 1 + static_cast<int>(seed % 2),
             .empty = seed % 2 == 0 ? 15 : 0}},
           seed % 3 == 1 ? NcuLocale::point : NcuLocale::decided);
}

TEST_F(DrawnJoins, OfSeveralTables) {
  for (std::uint64_t seed = 21; seed <= 23; ++seed)
    joined(seed, 3,
           {{.seed = 430 + seed, .launches = 5, .odd = seed % 2 == 0 ? 2 : 0},
            {.seed = 460 + seed, .details = seed % 2 == 1, .launches = 10}},
           NcuLocale::point);
}

}  // namespace
}  // namespace ridgeline::import::testing
