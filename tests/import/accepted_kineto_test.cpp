// Traces of torch.profiler and in Chrome's format drawn by lot: numbers in every spelling, strings with escapes, fields
// that are missing, nested arguments, flows, counters, collectives, several devices, files that are cut or damaged.
// What is read and every row that comes of it are held against what was accepted.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "import/foreign_fields.h"
#include "kineto/json_stream.h"
#include "kineto/kineto_import.h"
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
using ridgeline::testing::read_fields;
using ridgeline::testing::TemporaryDirectory;

// How a trace goes; shares are of a hundred.
struct TraceLot {
  std::uint64_t seed = 1;
  int devices = 1, threads = 1, steps = 3;
  int odd = 0;        // values that are out of the ordinary
  int missing = 0;    // fields that are not there
  int malformed = 0;  // events that are not whole
  bool array = false, older = false, own = false, counters = false, collectives = false, shapes = false;
  bool based = true, described = true, step_ranges = true, in_order = true;
  std::int64_t zero_us = 100;
};

class DrawnTrace {
 public:
  explicit DrawnTrace(const TraceLot& lot) : lot_(lot), lots_(lot.seed) {}

  std::string text() {
    events();
    if (!lot_.in_order) lots_.shuffle(events_);
    std::string all;
    for (const std::string& event : events_) {
      std::string written = event;
      if (lots_.percent(lot_.malformed)) written = spoiled(written);
      all += (all.empty() ? "\n  " : lots_.one_of<const char*>({",\n  ", ", ", ",", ",\r\n\t", " ,, "})) +
             written;
    }
    all = "[" + all + "]";
    if (lot_.array) return (lots_.percent(50) ? "\xEF\xBB\xBF" : " \n") + all;
    std::vector<std::string> members = others();
    const std::string trace = "\"traceEvents\": " + all;
    members.insert(members.begin() + lots_.below(static_cast<std::int64_t>(members.size()) + 1), trace);
    std::string whole = lots_.percent(30) ? "\xEF\xBB\xBF{" : "{";
    for (std::size_t i = 0; i < members.size(); ++i) whole += (i == 0 ? "\n" : ",\n") + members[i];
    return whole + "}";
  }

 private:
  bool odd() { return lots_.percent(lot_.odd); }
  bool here() { return !lots_.percent(lot_.missing); }

  // Microseconds of these nanoseconds, each time written otherwise.
  std::string us(std::int64_t ns) {
    if (odd())
      return lots_.one_of<std::string>({"\"soon\"",
                                        "null",
                                        "{}",
                                        "-1",
                                        "0",
                                        "1e3",
                                        "1.5e3",
                                        "-2.5E2",
                                        "1e400",
                                        "12abc",
                                        "12.",
                                        ".5",
                                        "+7",
                                        "9223372036854775807",
                                        "2305843009213693",
                                        "2305843009213694",
                                        "-0.0005",
                                        "-12.9996",
                                        "1e",
                                        "[1]",
                                        "2305843009213.6939"});
    const std::string sign = ns < 0 ? "-" : "";
    const std::int64_t size = ns < 0 ? -ns : ns;
    std::string part = std::to_string(size % 1000);
    part.insert(0, 3 - part.size(), '0');
    const std::string whole = sign + std::to_string(size / 1000);
    switch (lots_.below(6)) {
      case 0:
        return "\"" + whole + "." + part + "\"";
      case 1:
        return whole + "." + part + std::to_string(lots_.below(1000));
      case 2:
        return size % 1000 == 0 ? whole : whole + "." + part;
      case 3:
        return part[2] == '0' ? whole + "." + part.substr(0, 2) : whole + "." + part + "5";
      case 4:
        return sign + std::to_string(size) + "e-3";
      default:
        return whole + "." + part;
    }
  }
  std::string number(std::int64_t value) {
    if (odd())
      return lots_.one_of<std::string>({"\"" + std::to_string(value) + "\"", std::to_string(value) + ".0",
                                        "null", "-1", "4096", "4097", "true", "18446744073709551616",
                                        "4294967296"});
    return std::to_string(value);
  }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }

  // Fields in any order.
  std::string object(std::vector<std::pair<std::string, std::string>> members) {
    if (lots_.percent(30)) lots_.shuffle(members);
    std::string text;
    for (const auto& [key, value] : members) {
      if (key != "ph" && !here()) continue;
      if (!text.empty()) text += lots_.one_of<const char*>({", ", ",", " , "});
      text += quoted(key);
      text += lots_.one_of<const char*>({": ", ":", " :\n"});
      text += value;
    }
    return "{" + text + (odd() ? ", }" : "}");
  }
  std::string spoiled(const std::string& event) {
    switch (lots_.below(7)) {
      case 0:
        return event.substr(0, event.size() / 2);
      case 1:
        return event.substr(1);
      case 2:
        return "17";
      case 3:
        return "\"text\"";
      case 4: {
        std::string text = event;
        const std::size_t quote = text.find('"', 5);
        return quote == std::string::npos ? text : text.insert(quote, "\"");
      }
      case 5:
        return "[1, {\"a\": 2}]";
      default: {
        std::string text = event;
        const std::size_t colon = text.find(':');
        return colon == std::string::npos ? text : text.replace(colon, 1, " ");
      }
    }
  }

  std::string category(const std::string& today) {
    static const std::map<std::string, std::string> kBefore = {{"kernel", "Kernel"},
                                                               {"gpu_memcpy", "Memcpy"},
                                                               {"gpu_memset", "Memset"},
                                                               {"cuda_runtime", "Runtime"},
                                                               {"cpu_op", "Operator"}};
    const auto before = kBefore.find(today);
    return quoted(lot_.older && before != kBefore.end() ? before->second : today);
  }
  void span(const std::string& of, const std::string& name, const std::string& process,
            const std::string& thread, std::int64_t start_ns, std::int64_t duration_ns,
            const std::string& args) {
    const std::string start = us(start_ns);
    const std::string duration = us(duration_ns);
    const std::string phase = odd() ? lots_.one_of<const char*>({"\"B\"", "\"\"", "\"X\"", "7"}) : "\"X\"";
    events_.push_back(object({{"ph", phase},
                              {"cat", category(of)},
                              {"name", quoted(name)},
                              {"pid", process},
                              {"tid", thread},
                              {"ts", start},
                              {"dur", duration},
                              {"args", odd() ? "\"no object\"" : args}}));
  }

  void events() {
    const std::int64_t zero = lot_.zero_us * 1000;
    std::int64_t id = 10;
    for (const char* what : {"process_name", "thread_name", "process_sort_index"})
      for (const std::int64_t pid : {9, 8, 0})
        events_.push_back(
            object({{"name", quoted(what)},
                    {"ph", "\"M\""},
                    {"pid", std::to_string(pid)},
                    {"tid", std::to_string(11 + pid % 2)},
                    {"args", R"({"name": "python \"x\"\n)" + std::to_string(pid) + R"(", "other": 1})"}}));
    for (int step = 0; step < lot_.steps; ++step) {
      const std::int64_t at = zero + step * 40'000;
      for (std::int64_t thread = 11; thread < 11 + lot_.threads; ++thread) {
        const std::string tid = std::to_string(thread);
        if (lot_.step_ranges && thread == 11)
          span("user_annotation", "ProfilerStep#" + std::to_string(step + 3), "9", tid, at,
               39'000 + lots_.below(1001), "{}");
        ranges(at, tid);
        launches(at + 500 * (thread - 11), tid, id, step);
      }
      flows(at);
      if (lot_.counters) counters(at);
    }
  }

  void ranges(std::int64_t at, const std::string& tid) {
    const char* names[] = {"aten::add",
                           R"(of \"quotes\" and \\ back)",
                           R"(\u00e9\u20ac\ud83d\ude00 \/ \b\f\t\r\n)",
                           R"(ends in \\)",
                           "tokens=64",
                           R"(cut \u12)",
                           "",
                           "nn.Module: Linear_0"};
    const std::int64_t first = lots_.below(8);
    span("cpu_op", names[first], "9", tid, at + 50, 8'000, R"({"a": {"b": [1, "}", {"c": "\""}]}, "d": []})");
    const std::int64_t second = lots_.below(8);
    span("cpu_op", names[second], "9", tid, at + 50, 8'000 - 1000 * lots_.below(2), "{}");
    span("user_annotation", "inner", "9", tid, at + 100, lots_.below(3) * 500, "{}");
    if (!lot_.shapes) return;
    const std::string sizes = lots_.one_of<std::string>(
        {"[[64, 128], [128, 32]]", "[[64, 128], [128, 32], []]", "[[], []]", "[[64, 128], [127, 32]]",
         "[[4, 64, 128], [4, 128, 32]]", "7", "[[64, -1], [128, 32]]", "[[[1], [2]], [128, 32]]", ""});
    const std::string types =
        lots_.one_of<std::string>({R"(["float", "float"])", R"(["c10::Half", "c10::Half"])",
                                   R"(["no type", "float"])", "[]", R"(["c10::complex<float>"])"});
    for (const char* name : {"aten::mm", "aten::bmm", "aten::linear"})
      span("cpu_op", name, "9", tid, at + 200, 300,
           "{" + (sizes.empty() ? std::string() : "\"Input Dims\": " + sizes + ", ") +
               "\"Input type\": " + types + R"(, "Concrete Inputs": ["", "1"]})");
  }

  void launches(std::int64_t at, const std::string& tid, std::int64_t& id, int step) {
    const char* names[] = {"void add<float>(float*)",
                           "_Z4gemmILi4EEvPf",
                           "plain",
                           R"(with \"quotes\" \u00e9)",
                           "add",
                           "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"};
    const char* calls[] = {"cudaLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernelExC",
                           "cudaLaunchCooperativeKernel"};
    std::int64_t gpu_at = at + 2'000;
    for (int k = 0; k < 5; ++k, ++id) {
      const std::int64_t device = odd() ? 4096 : k % lot_.devices;
      const std::int64_t duration = 900 + 650 * ((k + step * lots_.below(2)) % 4);
      const bool node = k == 4 && lots_.percent(40);
      const std::string correlation = number(id);
      std::string args = "{";
      const auto put = [&](const char* key, const std::string& value) {
        if (here()) args += (args.size() > 1 ? ", \"" : "\"") + std::string(key) + "\": " + value;
      };
      put("device", number(device));
      put("context", number(1 + k % 2));
      put("stream", number(7 + k % 3));
      put("correlation", correlation);
      put("registers per thread", number(32 + k));
      put(k % 2 == 0 ? "shared memory" : "dynamic shared memory", number(64 * k));
      put("static shared memory", number(16 * k));
      put("grid", odd() ? lots_.one_of<std::string>({"[1, 2]", "[0, 0, 0]", "[-1, 1, 1]", "7",
                                                     "[2147483648, 1, 1]", "[ 3 ,\n4, 5 ]", "[]"})
                        : "[" + std::to_string(4 + k) + ", 2, 1]");
      put("block", "[128,1,1]");
      if (node) {
        put("graph id", number(3));
        put("graph node id", number(500 + step));
      }
      if (lot_.own) put("process", odd() && odd() ? "43" : "42");
      if (lot_.collectives) collective(args, k);
      args += "}";
      const char* name = names[(k + (lot_.collectives && k % 2 == 1 ? 4 : 0)) % 6];
      const std::string process = lots_.percent(50) ? std::to_string(device) : quoted("GPU");
      const char* written = odd() ? "" : name;
      span("kernel", written, process, number(7 + k % 3), gpu_at, duration, args);
      const std::string graph = node ? "true" : "false";
      if (lot_.own)
        span("launch", "launch", "9", tid, at + 300 * k, 80,
             "{\"correlation\": " + correlation + ", \"graph\": " + graph + "}");
      else
        span(k == 1 ? "cuda_driver" : "cuda_runtime", node ? "cudaGraphLaunch" : calls[k % 4], "9", tid,
             at + 300 * k, 80 + lots_.below(3), "{\"External id\": 5, \"correlation\": " + correlation + "}");
      gpu_at += duration + 150 * (k % 3);
    }
    const char* copies[] = {"Memcpy HtoD (Pinned -> Device)",
                            "Memcpy DtoH (Device -> Pageable)",
                            "Memcpy DtoD (Device -> Device)",
                            "Memcpy HtoH",
                            "Memcpy PtoP",
                            "Memcpy",
                            "Memset (Device)"};
    for (int i = 0; i < 4; ++i, ++id) {
      const std::int64_t which = lots_.below(7);
      const std::string bytes = number(4096 << i);
      const std::string correlation = number(id);
      const std::string node = odd() ? "9" : "0";
      span(which == 6 ? "gpu_memset" : "gpu_memcpy", copies[which], "0", "7", gpu_at + 200 * i, 150,
           "{\"device\": 0, \"stream\": 7, \"correlation\": " + correlation + ", \"bytes\": " + bytes +
               ", \"graph node id\": " + node + "}");
    }
    const char* waits[] = {
        "cudaDeviceSynchronize",  "cudaStreamSynchronize", "cuEventSynchronize",  "cudaMalloc",
        "cudaStreamBeginCapture", "cudaLaunchKernel",      "cudaStreamEndCapture"};
    const char* own_waits[] = {"device", "stream", "event", "no wait"};
    for (int i = 0; i < 7; ++i, ++id) {
      const bool own = lot_.own && i < 4;
      const std::int64_t waited = 1'000 + 100 * lots_.below(6);
      span(own ? "wait" : "cuda_runtime", own ? own_waits[i] : waits[i], "9", tid, at + 10'000 + 1'500 * i,
           waited, "{\"correlation\": " + number(id) + "}");
    }
    for (const char* other :
         {"python_function", "Trace", "ac2g", "overhead", "cuda_sync", "gpu_user_annotation"})
      if (lots_.percent(30)) span(other, "other", "9", tid, at + 5, 5, "{}");
  }

  void collective(std::string& args, int k) {
    const auto put = [&](const char* key, const std::string& value) {
      if (here()) args += ", \"" + std::string(key) + "\": " + value;
    };
    if (k % 3 == 0) {
      put("External id", std::to_string(900 + lots_.below(3)));
      return;
    }
    const char* functions[] = {"allreduce",
                               "_allgather_base",
                               "reduce_scatter_tensor_coalesced",
                               "all_to_all",
                               "broadcast",
                               "reduce",
                               "send",
                               "recv",
                               "barrier",
                               "allreduce_coalesced"};
    const char* types[] = {"Float",         "BFloat16",    "Half",         "Double", "Int",
                           "Long",          "Short",       "Byte",         "Char",   "Bool",
                           "Float8_e4m3fn", "Float8_e5m2", "ComplexFloat", "no type"};
    const std::int64_t function = lots_.below(10);
    const std::int64_t type = lots_.below(14);
    const std::int64_t elements =
        lots_.one_of<std::int64_t>({0, 1, 100, std::int64_t{1} << 50, (std::int64_t{1} << 50) + 1});
    const std::int64_t more = lots_.one_of<std::int64_t>({200, 50, 0});
    put("Collective name", quoted(functions[function]));
    put("dtype", quoted(types[type]));
    put("In msg nelems", std::to_string(elements));
    put("Out msg nelems", std::to_string(more));
    put("Group size", lots_.one_of<std::string>({"2", "0", "16777216", "16777217", "\"2\""}));
    put("Process Group Name", lots_.one_of<std::string>({"\"7\"", "\"0\"", "\"\"", "\"other\""}));
    put("Process Group Ranks", lots_.one_of<std::string>({"\"[1, 3]\"", "\"[0, 1, ...]\"", "\"[]\"",
                                                          "\"1, 3\"", "\"[3,1]\"", "\"[ 2, 3 ]\""}));
    put("Seq", std::to_string(lots_.below(9)));
    events_.push_back(
        object({{"ph", "\"X\""},
                {"cat", category("cpu_op")},
                {"name", "\"record_param_comms\""},
                {"pid", "9"},
                {"tid", "11"},
                {"ts", "150"},
                {"dur", "1"},
                {"args", "{\"External id\": " + std::to_string(900 + lots_.below(3)) +
                             ", \"Collective name\": \"" + functions[(function + 3) % 10] +
                             R"(", "In msg nelems": 10, "Out msg nelems": 20, "dtype": "Long"})"}}));
  }

  void flows(std::int64_t at) {
    for (const char* phase : {"\"s\"", "\"f\"", "\"t\"", "\"i\"", "\"b\"", "\"C\""})
      events_.push_back(object({{"ph", phase},
                                {"id", std::to_string(at % 7)},
                                {"pid", "9"},
                                {"tid", "11"},
                                {"ts", us(at)},
                                {"cat", "\"ac2g\""},
                                {"name", "\"ac2g\""},
                                {"bp", "\"e\""}}));
  }

  void counters(std::int64_t at) {
    const char* metrics[] = {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "dram__bytes_read.sum",
                             "lts__t_sectors.sum", "lts__t_sector_hit_rate.pct",
                             "gpc__cycles_elapsed.avg.per_second"};
    for (int i = 0; i < 8; ++i) {
      for (int metric = 0; metric < 5; ++metric) {
        const std::int64_t value = metric == 4 ? 1'700'000'000 : lots_.below(100);
        const std::string device = lots_.percent(50) ? "\"GPU 0 Counters\"" : lots_.percent(80) ? "0" : "1";
        const std::string time = us(at + 1'000 * i * (odd() ? 3 : 1));
        events_.push_back(object(
            {{"ph", "\"C\""},
             {"cat", "\"hardware_counters\""},
             {"name", quoted(metrics[metric])},
             {"pid", odd() ? lots_.one_of<const char*>({"\"GPU -1\"", "4097", "\"x\"", "4096"}) : device},
             {"tid", "0"},
             {"ts", time},
             {"args", odd() ? lots_.one_of<const char*>(
                                  {"{}", "{\"\": \"x\"}", "{\"\": 1e999}", "{\"a\": null, \"b\": -2.5}", "3"})
                            : "{\"\": " + std::to_string(value) + ".5}"}}));
      }
    }
  }

  std::vector<std::string> others() {
    std::vector<std::string> all = {"\"schemaVersion\": 1", "\"traceName\": \"x.json\"",
                                    "\"displayTimeUnit\": \"ms\""};
    if (lot_.based)
      all.push_back("\"baseTimeNanoseconds\": " +
                    (odd() ? lots_.one_of<std::string>({"0", "-1", "\"1700000000000000000\"", "\"x\"",
                                                        "2017612633061982208", "2017612633061982207", "1.5"})
                           : "1700000000000000000"));
    if (!lot_.described) return all;
    all.push_back("\"cuda_driver_version\": " +
                  lots_.one_of<std::string>({"13000", "\"580.\\\"1\\\"\"", "[1, 2]"}));
    all.push_back("\"cuda_runtime_version\": \"" + std::string(lots_.one_of({10U, 61U, 62U}), 'v') + "\"");
    const std::string devices[] = {
        R"({"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42297524224, "computeMajor": 8, "computeMinor": 0, "numSms": 108})",
        R"({"id": 1, "name": "of two\nlines", "totalGlobalMem": 0, "computeMajor": 9, "numSms": 4294967296})",
        R"({"id": -1, "name": "x"})",
        R"({"id": 4097, "name": "x"})",
        R"({"id": "2", "name": "x"})",
        R"({"id": 2, "name": 7, "computeMajor": 0, "computeMinor": 5})",
        R"({"name": "x"})",
        "7"};
    std::string list;
    for (const std::string& device : devices)
      if (here()) list += (list.empty() ? "" : ", ") + device;
    all.push_back("\"deviceProperties\": [" + list + "]");
    const std::string rank = odd() ? lots_.one_of<std::string>({"-1", "16777216", "16777215", "\"3\""}) : "3";
    const std::string world =
        odd() ? lots_.one_of<std::string>({"0", "2147483648", "2147483647", "\"8\""}) : "8";
    const std::string groups = odd() ? lots_.one_of<std::string>({"7", "[7, {\"pg_name\": 3}, {}]"})
                                     : R"([{"pg_name": "0", "pg_size": 8, "ranks": [0, 1, 2, 3, 4, 5, 6, 7]},
 {"pg_name": "7", "pg_size": 2}, {"pg_name": "9", "ranks": []}, {"pg_name": "8", "ranks": [3]}])";
    all.push_back("\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " + rank +
                  ", \"world_size\": " + world + ", \"pg_config\": " + groups + "}");
    if (odd()) all.push_back("\"deviceProperties\": {\"cut\": [}");
    return all;
  }

  TraceLot lot_;
  Lots lots_;
  std::vector<std::string> events_;
};

class DrawnTraces : public ::testing::Test {
 protected:
  std::string file(const std::string& text, bool packed = false) {
    const std::string path = directory_ / "trace";
    if (packed) {
      const gzFile out = gzopen(path.c_str(), "wb");
      gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
      gzclose(out);
    } else {
      std::ofstream(path, std::ios::binary) << text;
    }
    return path;
  }
  void imported(const TraceLot& lot, const std::string& step_range = "") {
    std::filesystem::remove(directory_ / "out.ridge");
    (void)expect_accepted_import(import_traces({file(DrawnTrace(lot).text())}, directory_ / "out.ridge",
                                               {.import = {.overwrite = true}, .step_range = step_range}),
                                 directory_ / "out.ridge");
  }
  std::string read(const std::string& text, bool packed = false) {
    const std::string path = file(text, packed);
    return read_fields([&] { return read_kineto(path, directory_.path(), {}); });
  }
  // What of so many traces is read, a sum of each batch.
  void read_all(std::uint64_t first, int batches, const std::function<TraceLot(std::uint64_t)>& lot_of) {
    constexpr std::uint64_t kBatch = 10;
    for (int batch = 0; batch < batches; ++batch) {
      AcceptedCases::expect([&] {
        std::string all;
        for (std::uint64_t i = 0; i < kBatch; ++i) {
          const std::uint64_t seed = first + static_cast<std::uint64_t>(batch) * kBatch + i;
          TraceLot lot = lot_of(seed);
          lot.seed = seed;
          all += read(DrawnTrace(lot).text(), seed % 5 == 0) + "\n";
        }
        return all;
      });
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(DrawnTraces, Whole) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    imported({.seed = seed,
              .devices = 1 + static_cast<int>(seed % 3),
              .threads = 1 + static_cast<int>(seed % 2),
              .steps = 1 + static_cast<int>(seed % 4),
              .array = seed % 4 == 0,
              .older = seed % 4 == 1,
              .own = seed % 4 == 2,
              .collectives = seed % 4 == 3,
              .shapes = seed % 2 == 0,
              .step_ranges = seed % 3 != 0,
              .in_order = seed % 2 == 0,
              .zero_us = seed % 5 == 0 ? -30 : 100});
}

TEST_F(DrawnTraces, WithCountersAndCollectives) {
  for (std::uint64_t seed = 21; seed <= 25; ++seed)
    imported({.seed = seed,
              .devices = 1 + static_cast<int>(seed % 2),
              .odd = seed % 2 == 0 ? 3 : 0,
              .missing = seed % 3 == 0 ? 3 : 0,
              .counters = true,
              .collectives = true,
              .step_ranges = seed % 4 != 0});
}

TEST_F(DrawnTraces, WithValuesOutOfTheOrdinary) {
  for (std::uint64_t seed = 41; seed <= 46; ++seed)
    imported({.seed = seed,
              .devices = 1 + static_cast<int>(seed % 3),
              .threads = 1 + static_cast<int>(seed % 2),
              .steps = 2,
              .odd = static_cast<int>(seed % 4) * 3,
              .missing = static_cast<int>(seed % 3) * 3,
              .malformed = static_cast<int>(seed % 2) * 4,
              .collectives = seed % 2 == 0,
              .shapes = true,
              .based = seed % 3 != 0,
              .step_ranges = seed % 3 != 1});
}

TEST_F(DrawnTraces, WhoseStepsAreSearchedOrNamed) {
  for (const int steps : {4, 6, 12})
    imported({.seed = 61, .steps = steps, .step_ranges = false, .in_order = false});
  for (const char* name : {"aten::add", "ProfilerStep#", "ProfilerStep#4", "inner", "none of them"})
    imported({.seed = 62, .steps = 4}, name);
}

TEST_F(DrawnTraces, AreReadAsTheyWereWritten) {
  read_all(1000, 12, [](std::uint64_t seed) {
    return TraceLot{.devices = 1 + static_cast<int>(seed % 3),
                    .threads = 1 + static_cast<int>(seed % 2),
                    .steps = 1,
                    .odd = static_cast<int>(seed % 4) * 4,
                    .missing = static_cast<int>(seed % 3) * 4,
                    .malformed = static_cast<int>(seed % 5),
                    .array = seed % 4 == 0,
                    .older = seed % 4 == 1,
                    .own = seed % 4 == 2,
                    .counters = seed % 6 == 0,
                    .collectives = seed % 3 == 0,
                    .shapes = seed % 2 == 0,
                    .based = seed % 5 != 0,
                    .described = seed % 7 != 0,
                    .in_order = seed % 2 == 0};
  });
}

// Cut at many places, packed and not, and damaged in one byte.
TEST_F(DrawnTraces, ThatAreCutOrDamagedAreReadAsFarAsTheyGo) {
  const std::string text = DrawnTrace({.seed = 71, .steps = 1, .shapes = true}).text();
  for (int batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(80 + static_cast<std::uint64_t>(batch));
      std::string all;
      for (int i = 0; i < 16; ++i) {
        std::string bytes = text;
        const auto at = static_cast<std::size_t>(lots.below(static_cast<std::int64_t>(text.size())));
        if (batch % 2 == 0)
          bytes.resize(at);
        else
          bytes[at] = lots.one_of({'"', '{', '}', '[', ']', ',', ':', '\\', ' ', '\n', '0', 'e', '\0'});
        all += read(bytes) + "\n";
      }
      return all;
    });
  }
  AcceptedCases::expect([&] {
    std::string all;
    const std::string path = file(text, true);
    std::ifstream in(path, std::ios::binary);
    const std::string packed{std::istreambuf_iterator<char>(in), {}};
    for (std::size_t i = 1; i <= 8; ++i) all += read(packed.substr(0, packed.size() * i / 9)) + "\n";
    return all;
  });
}

// Members of an object in every form, and texts with every escape.
TEST(DrawnJson, MembersAndTexts) {
  const char* parts[] = {"{", "}",      "[",          "]",    "\"a\"", ":",  ",", " ",
                         "1", "-2.5e3", "\"b\\\"c\"", "true", "\\",    "\"", "\n"};
  const char* escapes[] = {"\\n",   "\\t",     "\\r",     "\\b",     "\\f",     "\\\\",           "\\\"",
                           "\\/",   "\\u0041", "\\u007f", "\\u0080", "\\u07ff", "\\u0800",        "\\uFfFf",
                           "\\u12", "\\u",     "\\",      "x",       "\\x",     "\\ud83d\\ude00", "\\u000g"};
  for (int batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(static_cast<std::uint64_t>(batch));
      std::string all;
      for (int i = 0; i < 500; ++i) {
        std::string text = lots.percent(80) ? "{" : "";
        for (std::int64_t n = lots.below(12); n >= 0; --n) {
          const std::int64_t part = lots.below(15);
          text += lots.percent(40) ? std::string("\"k\": ") + parts[part] + "," : parts[part];
        }
        if (lots.percent(60)) text += "}";
        all += text + " >";
        JsonMembers members(text);
        while (members.next())
          all += " [" + std::string(members.key()) + "=" + std::string(members.value()) + "]" +
                 (members.is_text() ? "t" : "");
        all += members.malformed() ? " malformed\n" : "\n";
        std::string raw;
        for (std::int64_t n = lots.below(5); n >= 0; --n) {
          const std::int64_t escape = lots.below(21);
          raw += escapes[escape];
        }
        all += raw + " > " + fields(json_text(raw)) + "\n";
      }
      return ridgeline::testing::printable(all);
    });
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
