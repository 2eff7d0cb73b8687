// SQLite exports of Nsight Systems drawn by lot: all tables that are read, in the forms of several versions, with
// columns that are missing and values that are out of the ordinary. What is read and every row that comes of it are
// held against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "import/foreign_fields.h"
#include "nsys/nsys_gpu_metrics.h"
#include "nsys/nsys_import.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/database.h"
#include "support/accepted_cases.h"
#include "support/accepted_import.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::expect_accepted_import;
using ridgeline::testing::Lots;
using ridgeline::testing::read_fields;
using ridgeline::testing::TemporaryDirectory;

// A value of a row of SQL.
struct SqlCell {
  template <typename Number>
  requires std::is_integral_v<Number> SqlCell(Number value)
      : sql(std::to_string(value)) {}            // NOLINT: implicit, for rows to be lists
  SqlCell(const std::string& text) : sql("'") {  // NOLINT
    for (const char c : text) sql.append(c == '\'' ? 2 : 1, c);
    sql += "'";
  }
  SqlCell(const char* text) : SqlCell(std::string(text)) {}  // NOLINT
  SqlCell(std::nullptr_t) : sql("NULL") {}                   // NOLINT
  std::string sql;
};

// Columns that end in '!' are always there.
class SqlTable {
 public:
  SqlTable(std::string name, const std::vector<std::string>& columns, Lots& lots, int without)
      : name_(std::move(name)) {
    for (const std::string& column : columns) {
      const bool needed = column.ends_with('!');
      columns_.push_back(needed ? column.substr(0, column.size() - 1) : column);
      kept_.push_back(needed || !lots.percent(without));
    }
  }
  void row(const std::vector<SqlCell>& cells) {
    ASSERT_EQ(cells.size(), columns_.size()) << name_;
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (kept_[i]) text += (text.empty() ? "(" : ",") + cells[i].sql;
    rows_.push_back(text + ")");
  }
  [[nodiscard]] std::string sql(Lots& lots, bool in_order) {
    std::string columns;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (kept_[i]) columns += (columns.empty() ? "\"" : ",\"") + columns_[i] + "\"";
    if (columns.empty()) return "";
    if (!in_order) lots.shuffle(rows_);
    std::string text = "CREATE TABLE " + name_ + "(" + columns + ");\n";
    for (const std::string& row : rows_) text += "INSERT INTO " + name_ + " VALUES" + row + ";\n";
    return text;
  }

 private:
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<bool> kept_;
  std::vector<std::string> rows_;
};

// How an export goes; shares are of a hundred.
struct ExportLot {
  std::uint64_t seed = 1;
  int processes = 1, threads = 1, devices = 1, steps = 3;
  int odd = 0;      // values that are out of the ordinary
  int without = 0;  // columns that are not there
  int without_tables = 0;
  bool step_ranges = true, samples = false, graphs = false, in_order = true;
  std::int64_t zero_ns = 0;  // of the first step
  std::int64_t max_samples = 30;
};

class DrawnExport {
 public:
  explicit DrawnExport(const ExportLot& lot) : lot_(lot), lots_(lot.seed) {}

  std::string sql() {
    describe();
    for (int process = 0; process < lot_.processes; ++process) record(process);
    if (lot_.samples) sample();
    std::string text = "BEGIN;\n";
    for (SqlTable* table :
         {&runtime_, &kernels_, &graphs_, &copies_, &sets_, &ranges_, &threads_, &strings_, &processes_,
          &gpus_, &cuda_devices_, &environment_, &metric_names_, &metrics_, &session_}) {
      const bool optional = table != &kernels_ && table != &session_;
      if (optional && lots_.percent(lot_.without_tables)) continue;
      if (table == &graphs_ && !lot_.graphs) continue;
      if ((table == &metrics_ || table == &metric_names_) && !lot_.samples) continue;
      text += table->sql(lots_, lot_.in_order);
    }
    return text + meta_ + "COMMIT;";
  }

 private:
  static constexpr std::int64_t kStepNs = 40'000;
  // Of the names in describe().
  static constexpr std::int64_t kCalls = 20, kRanges = 40, kNoSuchText = 99;

  bool odd() { return lots_.percent(lot_.odd); }
  std::int64_t odd_time(std::int64_t usual) {
    if (!odd()) return usual;
    return lots_.one_of<std::int64_t>({0, -1, 1, -lot_.zero_ns - 700, kLatestNs / 4, kLatestNs / 4 + 1,
                                       -kLatestNs / 4, -kLatestNs / 4 - 1, -(std::int64_t{1} << 50),
                                       usual - 100'000});
  }
  SqlCell odd_id(std::int64_t usual) {
    if (!odd()) return usual;
    return lots_.one_of<SqlCell>({nullptr, 0, usual + 1, std::int64_t{1} << 33, -1});
  }

  void describe() {
    const std::pair<std::int64_t, const char*> texts[] = {{1, "void add<float>(float*)"},
                                                          {2, "_Z3addIfEvPT_"},
                                                          {3, "add"},
                                                          {4, "void gemm<4>(float *, int)"},
                                                          {5, "_Z4gemmILi4EEvPfi"},
                                                          {6, "plain_name"},
                                                          {7, "_Z9unmangledv"},
                                                          {8, "of two (words"},
                                                          {9, "template<int>"},
                                                          {10, ""},
                                                          {kCalls, "cudaLaunchKernel_v7000"},
                                                          {kCalls + 1, "cuLaunchKernelEx"},
                                                          {kCalls + 2, "cudaGraphLaunch_v10000_ptsz"},
                                                          {kCalls + 3, "cudaStreamBeginCapture_v10000"},
                                                          {kCalls + 4, "cudaStreamEndCapture_v10000"},
                                                          {kCalls + 5, "cudaDeviceSynchronize_v3020"},
                                                          {kCalls + 6, "cuStreamSynchronize"},
                                                          {kCalls + 7, "cudaEventSynchronize_v3020"},
                                                          {kCalls + 8, "cudaMemcpyAsync_v3020"},
                                                          {kRanges, "step"},
                                                          {kRanges + 1, "epoch 7"},
                                                          {kRanges + 2, "forward"},
                                                          {kRanges + 3, "tokens=64 samples=2"},
                                                          {kRanges + 4, "of two\nlines"},
                                                          {kRanges + 5, "a domain"},
                                                          {kRanges + 6, "batch 3 of 9"},
                                                          {50, "worker thread"}};
    for (const auto& [id, text] : texts) strings_.row({id, text});
    session_.row({lots_.one_of<std::int64_t>({1'700'000'000'000'000'000, 1'700'000'000'000'000'000, 0, -5,
                                              kLatestNs / 8 * 7, kLatestNs / 8 * 7 - 1, 1})});
    const std::string meta = lots_.percent(50) ? "META_DATA_EXPORT" : "EXPORT_META_DATA";
    if (!lots_.percent(20)) {
      meta_ = "CREATE TABLE " + meta + "(name TEXT, value TEXT);\nINSERT INTO " + meta +
              " VALUES('EXPORT_SCHEMA_VERSION','3.20." + std::to_string(lots_.below(9)) +
              "'),('EXPORT_PRODUCT_VERSION','2025.1\nof two lines'),('OTHER','x'),(NULL,NULL);\n";
    }
    const char* names[] = {"NVIDIA H200", "no such card", "NVIDIA A100-SXM4-80GB"};
    for (int i = 0; i < lot_.devices; ++i) {
      const std::int64_t bandwidth = lots_.one_of<std::int64_t>({0, -1, 360'048'000'000});
      const std::int64_t count = lots_.one_of<std::int64_t>({0, -3, 132});
      const std::int64_t major = lots_.one_of<std::int64_t>({0, 8, 9});
      const SqlCell uuid = lots_.one_of<SqlCell>({"GPU-aa", "bb", "", nullptr});
      const SqlCell chip = lots_.one_of<SqlCell>({"GH100", nullptr, "of two\nlines"});
      const SqlCell ordinal = odd_id(i);
      gpus_.row({i, odd() ? SqlCell(nullptr) : SqlCell(names[i % 3]), uuid, chip, count,
                 1'980'000'000 * (i % 2), bandwidth, 1024 * i, 512 * (i % 2), major, i, ordinal});
    }
    for (const char* name : {"Hostname", "Other"})
      environment_.row({name, std::string("a host\nof ") + name});
  }

  std::int64_t key_of(int process) const {
    // Two processes may have one number, on two machines of one.
    const std::int64_t pid = process == 2 ? 70 : 70 + process;
    return (std::int64_t{1} + process / 2) << 48 | pid << 24;
  }

  void range(std::int64_t start, SqlCell end, int type, std::int64_t text_id, SqlCell domain,
             std::int64_t thread) {
    const bool written = lots_.percent(30);
    const bool none = odd();
    ranges_.row({start, std::move(end), type, written ? SqlCell("written here") : SqlCell(nullptr),
                 none ? SqlCell(nullptr) : SqlCell(odd() ? kNoSuchText : text_id), std::move(domain),
                 thread});
  }

  void record(int process) {
    const std::int64_t key = key_of(process);
    const SqlCell name = odd() ? SqlCell(nullptr) : SqlCell("./train of\n" + std::to_string(process));
    const SqlCell key_cell = odd() ? SqlCell(nullptr) : SqlCell(key + 1);
    processes_.row({key_cell, name});
    for (std::int64_t thread = 5; thread < 5 + lot_.threads; ++thread) {
      const SqlCell thread_name = odd() ? SqlCell(nullptr) : SqlCell(50);
      threads_.row({thread_name, key + thread});
    }
    threads_.row({50, 12345});
    for (int device = 0; device < lot_.devices; ++device) {
      if (lots_.percent(40)) continue;
      const std::int64_t gpu = lot_.devices - 1 - device;
      const SqlCell gpu_cell = odd() ? SqlCell(nullptr) : SqlCell(gpu);
      cuda_devices_.row({70 + process, device, gpu_cell});
    }
    range(0, nullptr, 75, kRanges + 5, 3, key + 5);
    std::int64_t correlation = 100 + process;
    for (int step = 0; step < lot_.steps; ++step) {
      const std::int64_t at = lot_.zero_ns + step * kStepNs + 700 * process;
      for (std::int64_t thread = 5; thread < 5 + lot_.threads; ++thread) {
        const std::int64_t tid = key + thread;
        const bool main = thread == 5;
        if (lot_.step_ranges && main) range(at, at + kStepNs - lots_.below(3), 59, kRanges, 0, tid);
        range(at + 10, at + 9'000, 59, kRanges + 1 + step % 2, odd_id(3), tid);
        range(at + 10, at + 9'000 - 10 * lots_.below(2), 59, kRanges + 2, 0, tid);
        range(at + 20, odd() ? SqlCell(nullptr) : SqlCell(at + 20 + 100 * lots_.below(3)), 59, kRanges + 3,
              nullptr, tid);
        const std::int64_t begin = odd_time(at + 2'000);
        const std::int64_t end = odd_time(at + 30'000);
        const int type = lots_.one_of({60, 60, 34, 33, 70});
        const std::int64_t name_id = kRanges + 4 + 2 * lots_.below(2);
        range(begin, end, type, name_id, 3, tid);
        launches(process, at + 300 * (thread - 5), tid, correlation, step);
      }
    }
  }

  void call(std::int64_t start, std::int64_t end, std::int64_t tid, const SqlCell& correlation,
            std::int64_t name) {
    const SqlCell failed = odd() ? lots_.one_of<SqlCell>({nullptr, SqlCell(0), 2}) : SqlCell(0);
    const SqlCell thread = odd() ? SqlCell(nullptr) : SqlCell(tid);
    const std::int64_t name_id = odd() ? kNoSuchText : name;
    runtime_.row({start, end, thread, correlation, name_id, failed});
  }

  void launches(int process, std::int64_t at, std::int64_t tid, std::int64_t& correlation, int step) {
    const std::int64_t key = key_of(process);
    std::int64_t gpu_at = at + 3'000;
    for (int k = 0; k < 5; ++k, correlation += 3) {
      const std::int64_t enter = odd_time(at + 400 * k);
      const std::int64_t name = kCalls + k % 2;
      const std::int64_t exit = odd_time(enter + 90);
      call(enter, exit, tid, odd_id(correlation), name);
      const std::int64_t duration = 900 + 700 * ((k + step * lots_.below(2)) % 4);
      // Of samples one process is to be seen: each has a device that is mostly its own.
      const int place = lot_.samples && lot_.processes > 1 ? process + k / 4 : k;
      const std::int64_t device = odd() ? 7 : place % lot_.devices;
      const SqlCell mangled =
          odd() ? lots_.one_of<SqlCell>({nullptr, 8, 9, 10, kNoSuchText, 7}) : SqlCell(k % 2 == 0 ? 2 : 5);
      const SqlCell demangled =
          odd() ? lots_.one_of<SqlCell>({6, 7, kNoSuchText}) : SqlCell(k % 2 == 0 ? 1 : 4);
      const bool node = lot_.graphs && k == 4;
      const SqlCell context = odd_id(1);
      const SqlCell stream = odd_id(7 + k % 2);
      const SqlCell correlated = odd_id(correlation);
      const SqlCell owner = odd() ? SqlCell(nullptr) : SqlCell(key);
      const std::int64_t start = odd_time(gpu_at);
      const std::int64_t end = odd_time(gpu_at + duration);
      const std::int64_t cluster = odd() ? lots_.one_of<std::int64_t>({0, -1}) : 2;
      kernels_.row({start,      end,     device,  context,   stream,
                    correlated, owner,   mangled, demangled, 3,
                    4 + k,      2,       1,       128,       1,
                    1,          32 + k,  16 * k,  64 * k,    node ? 900 + step : 0,
                    5,          cluster, 1,       k % 2});
      if (start > 0 && end > start && end < kLatestNs / 4) busy_.emplace_back(device, start, end);
      gpu_at += duration + 200 * (k % 3);
    }
    if (lot_.graphs) {
      call(at + 2'300, at + 2'500, tid, correlation, kCalls + 2);
      const std::int64_t start = odd_time(gpu_at);
      const SqlCell owner = odd() ? SqlCell(nullptr) : SqlCell(key);
      const std::int64_t end = odd_time(gpu_at + 1'500);
      graphs_.row({start, end, 0, 1, 7, odd_id(correlation), owner, 40 + step % 2});
      gpu_at += 1'700;
      correlation += 3;
      call(at + 2'600, at + 2'610, tid, correlation, kCalls + 3);
      call(at + 2'620, at + 2'630, tid, correlation + 1, kCalls);
      call(at + 2'640, at + 2'650, tid, correlation + 2, kCalls + 4);
      correlation += 3;
    }
    for (int i = 0; i < 3; ++i, correlation += 3) {
      const std::int64_t kind = lots_.below(15);
      const SqlCell bytes = odd() ? lots_.one_of<SqlCell>({0, -1, 1}) : SqlCell(4096 << i);
      const SqlCell correlated = odd_id(correlation);
      const SqlCell node = odd() ? SqlCell(77) : SqlCell(0);
      const std::int64_t end = odd_time(gpu_at + 150);
      copies_.row({gpu_at, end, i % lot_.devices, 1, 7 + i, correlated, key, bytes, kind, node});
      gpu_at += 300;
    }
    const std::int64_t memory = lots_.below(4);
    const SqlCell node = odd() ? SqlCell(78) : SqlCell(nullptr);
    sets_.row({gpu_at, gpu_at + 40, 0, 1, 7, correlation++, key, 512, memory, node});
    for (int i = 0; i < 4; ++i, ++correlation) {
      const std::int64_t enter = at + 12'000 + 4'000 * i;
      call(enter, enter + 1'000 * (i + lots_.below(3)), tid, correlation, kCalls + 5 + i);
    }
  }

  // A name of each kind for each unit, of two GPUs; the first metric is true to what ran.
  void sample() {
    const char* units[] = {" [Throughput %]", " [GB/s]", " [MHz]", "", " [other]", " [B/s]"};
    const char* names[] = {"SMs Active",          "DRAM Read Bandwidth",  "DRAM Write Throughput",
                           "GPC Clock Frequency", "Tensor Active",        "GR Active",
                           "SM Active",           "DRAM Read Throughput", "DRAM Write Bandwidth"};
    for (std::int64_t gpu = 0; gpu < 2; ++gpu) {
      const std::int64_t type = 256 * (1 + lots_.below(3)) + gpu;
      std::vector<std::int64_t> taken;
      for (std::int64_t metric = 0; metric < 6; ++metric) {
        const bool whole = metric == 0;
        const std::int64_t name = whole ? 0 : lots_.below(9);
        const std::int64_t unit = whole ? 0 : name == 3 ? lots_.one_of({2, 2, 0, 1}) : lots_.below(6);
        metric_names_.row({type, metric, std::string(names[name]) + units[unit]});
        taken.push_back(name * 10 + unit);
      }
      const std::int64_t interval = 1'500 + 100 * lots_.below(9);
      const std::int64_t from = lot_.zero_ns - 3'000;
      const std::int64_t to = lot_.zero_ns + lot_.steps * kStepNs;
      for (std::int64_t end = from; end < to && end < from + lot_.max_samples * interval; end += interval) {
        std::int64_t busy = 0;
        for (const auto& [device, start, last] : busy_)
          if (device == gpu)
            busy += std::max<std::int64_t>(0, std::min(last, end) - std::max(start, end - interval));
        if (odd()) end += lots_.one_of<std::int64_t>({interval / 2, interval / 2 + 1, 3 * interval, 1});
        for (std::int64_t metric = 0; metric < 6; ++metric) {
          const std::int64_t unit = taken[static_cast<std::size_t>(metric)] % 10;
          const std::int64_t share = std::min<std::int64_t>(100, 100 * busy / interval);
          const std::int64_t usual = unit == 2                ? 1'700'000'000
                                     : unit == 1 || unit == 5 ? share * 1'000'000'000
                                                              : share;
          const std::int64_t value = odd() ? lots_.one_of<std::int64_t>({-1, 0, 100, 101, 99}) : usual;
          if (odd()) continue;
          metrics_.row({odd_time(end), type, metric, value});
        }
      }
    }
  }

  ExportLot lot_;
  Lots lots_;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> busy_;  // device, start, end
  std::string meta_;
  SqlTable made(const char* name, const std::vector<std::string>& columns) {
    return {name, columns, lots_, lot_.without};
  }
  SqlTable runtime_ = made("CUPTI_ACTIVITY_KIND_RUNTIME",
                           {"start!", "end!", "globalTid", "correlationId", "nameId!", "returnValue"});
  SqlTable kernels_ = made("CUPTI_ACTIVITY_KIND_KERNEL", {"start!",
                                                          "end!",
                                                          "deviceId!",
                                                          "contextId",
                                                          "streamId",
                                                          "correlationId",
                                                          "globalPid",
                                                          "mangledName",
                                                          "demangledName",
                                                          "shortName!",
                                                          "gridX",
                                                          "gridY",
                                                          "gridZ",
                                                          "blockX",
                                                          "blockY",
                                                          "blockZ",
                                                          "registersPerThread",
                                                          "staticSharedMemory",
                                                          "dynamicSharedMemory",
                                                          "graphNodeId",
                                                          "graphId",
                                                          "clusterX",
                                                          "clusterY",
                                                          "clusterZ"});
  SqlTable graphs_ =
      made("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
           {"start!", "end!", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId"});
  SqlTable copies_ =
      made("CUPTI_ACTIVITY_KIND_MEMCPY", {"start!", "end!", "deviceId", "contextId", "streamId",
                                          "correlationId", "globalPid", "bytes!", "copyKind", "graphNodeId"});
  SqlTable sets_ =
      made("CUPTI_ACTIVITY_KIND_MEMSET", {"start!", "end!", "deviceId", "contextId", "streamId",
                                          "correlationId", "globalPid", "bytes!", "memKind", "graphNodeId"});
  SqlTable ranges_ =
      made("NVTX_EVENTS", {"start!", "end", "eventType!", "text", "textId", "domainId", "globalTid"});
  SqlTable threads_ = made("ThreadNames", {"nameId", "globalTid"});
  SqlTable strings_ = made("StringIds", {"id!", "value!"});
  SqlTable processes_ = made("PROCESSES", {"globalPid", "name"});
  SqlTable gpus_ = made(lot_.seed % 3 == 0 ? "TARGET_INFO_CUDA_GPU" : "TARGET_INFO_GPU",
                        {"id", "name", "uuid", "chipName", "smCount", "clockRate", "memoryBandwidth",
                         "totalMemory", "l2CacheSize", "computeMajor", "computeMinor", "cuDevice"});
  SqlTable cuda_devices_ = made("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"});
  SqlTable environment_ = made("TARGET_INFO_SYSTEM_ENV", {"name", "value"});
  SqlTable metric_names_ = made("TARGET_INFO_GPU_METRICS", {"typeId!", "metricId!", "metricName!"});
  SqlTable metrics_ = made("GPU_METRICS", {"timestamp!", "typeId!", "metricId!", "value!"});
  SqlTable session_ = made("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
};

class DrawnExports : public ::testing::Test {
 protected:
  std::string file(const std::string& sql) {
    std::filesystem::remove(directory_ / "run");
    store::Database made(directory_ / "run", store::OpenMode::create);
    made.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    made.execute(sql);
    return directory_ / "run";
  }
  void imported(const ExportLot& lot, const std::string& step_range = "") {
    std::filesystem::remove(directory_ / "out.ridge");
    (void)expect_accepted_import(import_traces({file(DrawnExport(lot).sql())}, directory_ / "out.ridge",
                                               {.import = {.overwrite = true}, .step_range = step_range}),
                                 directory_ / "out.ridge");
  }
  // What is read, without a capture made of it.
  std::string read(const std::string& sql) {
    const std::string path = file(sql);
    return read_fields([&] { return read_nsys(path, directory_.path()); });
  }

  TemporaryDirectory directory_;
};

TEST_F(DrawnExports, Whole) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 3),
              .threads = 1 + static_cast<int>(seed % 2),
              .devices = 1 + static_cast<int>(seed / 2 % 3),
              .steps = static_cast<int>(seed % 4) + 1,
              .step_ranges = seed % 3 != 0,
              .graphs = seed % 2 == 0,
              .in_order = seed % 2 == 1,
              .zero_ns = seed % 4 == 0 ? -20'000 : 0});
}

TEST_F(DrawnExports, WithValuesOutOfTheOrdinary) {
  for (std::uint64_t seed = 11; seed <= 16; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 3),
              .threads = 1 + static_cast<int>(seed % 2),
              .devices = 1 + static_cast<int>(seed / 2 % 3),
              .steps = 2,
              .odd = static_cast<int>(seed % 5) * 4,
              .step_ranges = seed % 3 != 0,
              .graphs = seed % 2 == 0,
              .in_order = false});
}

TEST_F(DrawnExports, WithoutColumnsAndTables) {
  for (std::uint64_t seed = 31; seed <= 36; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 2),
              .devices = 2,
              .steps = 2,
              .odd = seed % 2 == 0 ? 3 : 0,
              .without = 25,
              .without_tables = 20,
              .samples = seed % 3 == 0,
              .graphs = seed % 2 == 0});
}

TEST_F(DrawnExports, WithSamples) {
  for (std::uint64_t seed = 51; seed <= 55; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 2),
              .devices = 1 + static_cast<int>(seed % 2),
              .steps = seed % 4 == 0 ? 1 : 3,
              .odd = seed % 2 == 0 ? 3 : 0,
              .step_ranges = seed % 3 != 0,
              .samples = true});
}

// Steps that nobody marks, few and many, and those of a name that is asked for.
TEST_F(DrawnExports, WhoseStepsAreSearchedOrNamed) {
  for (const int steps : {2, 6, 12})
    imported({.seed = 61, .steps = steps, .step_ranges = false, .in_order = false});
  for (const char* name : {"epoch 7", "forward", "none of them"}) imported({.seed = 62, .steps = 4}, name);
}

TEST_F(DrawnExports, AreReadAsTheyWereWritten) {
  for (int batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const auto lot = static_cast<int>(seed);
        all += read(DrawnExport({.seed = 100 + 10 * static_cast<std::uint64_t>(batch) + seed,
                                 .processes = 1 + lot % 3,
                                 .threads = 1 + lot % 2,
                                 .devices = 1 + (lot + batch) % 3,
                                 .steps = 1 + lot % 2,
                                 .odd = 3 * batch,
                                 .without = batch % 3 * 8,
                                 .without_tables = batch % 2 * 10,
                                 .samples = lot == 5,
                                 .graphs = lot % 2 == 0,
                                 .in_order = lot % 3 == 0})
                        .sql()) +
               "\n";
      }
      return all;
    });
  }
}

// Each column of each table: gone, empty in a row, and of another type in one.
TEST_F(DrawnExports, WithEachColumnOtherwise) {
  const std::string whole =
      file(DrawnExport({.seed = 71, .steps = 1, .odd = 1, .samples = true, .graphs = true, .max_samples = 3})
               .sql());
  const std::string other = directory_ / "other";
  std::map<std::string, std::vector<std::string>> columns;
  {
    const store::Database made(whole, store::OpenMode::read_only);
    store::Statement row = made.prepare(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' "
        "ORDER BY 1, c.cid");
    while (row.step()) columns[row.text(0)].push_back(row.text(1));
  }
  EXPECT_GE(columns.size(), 15U);
  for (const char* change :
       {"ALTER TABLE {t} DROP COLUMN \"{c}\"", "UPDATE {t} SET \"{c}\" = NULL WHERE rowid = 1",
        "UPDATE {t} SET \"{c}\" = 'text' WHERE rowid = 1"}) {
    AcceptedCases::expect([&] {
      std::string all;
      for (const auto& [table, of_table] : columns) {
        for (const std::string& column : of_table) {
          if (of_table.size() == 1 && std::string_view(change).starts_with("ALTER")) continue;
          std::string text = change;
          text.replace(text.find("{t}"), 3, table);
          text.replace(text.find("{c}"), 3, column);
          std::filesystem::copy_file(whole, other, std::filesystem::copy_options::overwrite_existing);
          store::Database(other, store::OpenMode::read_write)
              .execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; " + text);
          const std::string found = read_fields([&] { return read_nsys(other, directory_.path()); });
          const bool refused = found.starts_with("refused");
          all +=
              text + ": " +
              (refused ? found : ridgeline::testing::text_sum_in_hex(ridgeline::testing::text_sum(found))) +
              "\n";
        }
      }
      return all;
    });
  }
}

// Which process is the first must not hang on where in memory the reader keeps them.
TEST_F(DrawnExports, SamplesAreOfTheFirstOfTwoProcessesThatLaunchedAsMuch) {
  const std::string path =
      file(DrawnExport({.seed = 3, .processes = 2, .devices = 1, .steps = 2, .samples = true}).sql());
  std::vector<std::unique_ptr<ForeignProcess>> between;  // so that memory is handed out in another order
  for (int i = 0; i < 16; ++i) {
    const ForeignRecording recording = read_nsys(path, directory_.path());
    ASSERT_EQ(recording.processes.size(), 2U);
    EXPECT_EQ(recording.processes[0]->executions, recording.processes[1]->executions);
    EXPECT_FALSE(recording.processes[0]->samples.empty());
    EXPECT_TRUE(recording.processes[1]->samples.empty());
    between.push_back(std::make_unique<ForeignProcess>(directory_.path()));
    if (i % 3 == 2) between.erase(between.begin());
  }
}

// Samples alone: the units of each name, rates and shares, with a peak and without.
TEST_F(DrawnExports, HaveSamplesInTheUnitsOfCaptures) {
  for (std::uint64_t seed = 81; seed <= 86; ++seed) {
    const NsysExport made(file(DrawnExport({.seed = seed,
                                            .devices = 2,
                                            .steps = 2,
                                            .odd = static_cast<int>(seed % 3) * 5,
                                            .samples = true,
                                            .in_order = seed % 2 == 0})
                                   .sql()));
    for (const std::map<std::uint32_t, double>& peaks :
         {std::map<std::uint32_t, double>{}, {{0, 360e9}}, {{0, 360e9}, {1, 4.8e12}}}) {
      if (seed < 84 && peaks.size() == 1) continue;
      AcceptedCases::expect([&] {
        return read_fields([&] {
          return read_gpu_metrics(made, peaks, [](std::int64_t time_ns) { return time_ns + 1'000'000'000; });
        });
      });
    }
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
