// Traces in Perfetto's format drawn by lot: names that a sequence interned and those that stand in the event, state
// that is cleared, annotations, slices and stages in any order, packets that are damaged. What is read and every row
// that comes of it are held against what was accepted.
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "import/foreign_fields.h"
#include "perfetto/perfetto_import.h"
#include "perfetto/slice_pairs.h"
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

// A message in the wire format.
class DrawnMessage {
 public:
  DrawnMessage& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  DrawnMessage& text(std::uint32_t field, const std::string& value) {
    varint(std::uint64_t{field} << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  DrawnMessage& in(std::uint32_t field, const DrawnMessage& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// How a trace goes; shares are of a hundred.
struct PacketLot {
  std::uint64_t seed = 1;
  int processes = 1, threads = 1, devices = 1, steps = 3;
  int odd = 0;      // values that are out of the ordinary
  int missing = 0;  // fields that are not there
  int damaged = 0;  // packets
  int cleared = 0;  // packets that clear what their sequence has interned
  bool by_event_id = false, clocks = true, collectives = false, shapes = false, in_order = true,
       step_ranges = true;
  std::uint64_t base = 1'700'000'000'000'000'000;
};

class DrawnPackets {
 public:
  explicit DrawnPackets(const PacketLot& lot) : lot_(lot), lots_(lot.seed) {}

  std::string bytes() {
    std::vector<std::string> packets = tracks();
    std::vector<std::string> events = recorded();
    if (!lot_.in_order) lots_.shuffle(events);
    std::string all;
    const auto put = [&](const std::string& packet) {
      std::string written = packet;
      if (lots_.percent(lot_.damaged) && !written.empty()) {
        if (lots_.percent(50))
          written.resize(written.size() - 1);
        else
          written[static_cast<std::size_t>(lots_.below(static_cast<std::int64_t>(written.size())))] = '\x15';
      }
      all += DrawnMessage().text(1, written).bytes();
    };
    for (const std::string& packet : packets) put(packet);
    for (const std::uint64_t sequence : {1U, 2U}) put(interned(sequence).bytes());
    for (const std::string& event : events) {
      put(event);
      if (lots_.percent(lot_.cleared)) put(interned(1 + static_cast<std::uint64_t>(lots_.below(2))).bytes());
    }
    return all;
  }

 private:
  bool odd() { return lots_.percent(lot_.odd); }
  bool here() { return !lots_.percent(lot_.missing); }
  std::uint64_t pid_of(int process) const { return 40 + 2 * static_cast<std::uint64_t>(process); }
  std::uint64_t track_of(int process, int thread) const {
    return 100 + 10 * static_cast<std::uint64_t>(process) + static_cast<std::uint64_t>(thread);
  }

  static DrawnMessage named(std::uint64_t id, const std::string& name, std::uint32_t field = 2) {
    return DrawnMessage().number(1, id).text(field, name);
  }

  static constexpr const char* kSlices[] = {"step",
                                            "aten::mm",
                                            "aten::add",
                                            "cudaLaunchKernel",
                                            "cuLaunchKernel",
                                            "cudaGraphLaunch",
                                            "cudaDeviceSynchronize",
                                            "cudaStreamSynchronize",
                                            "cudaStreamBeginCapture",
                                            "cudaStreamEndCapture",
                                            "ProfilerStep#4",
                                            "stream",
                                            "cudaMalloc",
                                            ""};
  static constexpr const char* kCategories[] = {
      "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "python_function", "overhead", ""};
  static constexpr const char* kArguments[] = {"registers_per_thread", "shared_mem_dynamic",
                                               "shared_mem_static"};
  static constexpr const char* kKernelNames[] = {"void gemm<float>(float*)", "_Z3addIfEvPT_", "plain", "",
                                                 "ncclDevKernel_AllReduce"};

  // Names have the number of their place plus one, of the second sequence plus 50.
  DrawnMessage interned(std::uint64_t sequence) {
    const std::uint64_t more = sequence == 2 ? 50 : 1;
    DrawnMessage all;
    for (std::uint64_t i = 0; i < std::size(kSlices); ++i)
      if (here()) all.in(2, named(i + more, kSlices[i]));
    for (std::uint64_t i = 0; i < std::size(kCategories); ++i)
      if (here()) all.in(1, named(i + more, kCategories[i]));
    for (std::uint64_t i = 0; i < std::size(kArguments); ++i) all.in(1001, named(i + more, kArguments[i]));
    for (std::uint64_t i = 0; i < std::size(kKernelNames); ++i) {
      DrawnMessage kernel = named(i + more, kKernelNames[i], 2 + static_cast<std::uint32_t>(i % 2));
      if (i == 2) kernel.text(3, "demangled(int)");
      all.in(1000, kernel);
    }
    all.in(3, named(more, "correlation"))
        .in(3, named(1 + more, "Input Dims"))
        .in(3, named(2 + more, "Input type"));
    all.in(3, named(3 + more, "Concrete Inputs"));
    all.in(29, named(more, "float")).in(29, named(1 + more, "c10::Half"));
    for (int process = 0; process < lot_.processes; ++process)
      all.in(23,
             DrawnMessage().number(1, static_cast<std::uint64_t>(process) + more).number(2, pid_of(process)));
    const char* stages[] = {"Kernel", "Memcpy", "Memset", "Annotation", "stream 7", "Copy", "other", "queue"};
    for (std::uint64_t i = 0; i < std::size(stages); ++i) {
      DrawnMessage stage = named(i + more, stages[i]);
      if (i == 0 || i == 6) stage.number(4, i == 0 ? 2 : 1);
      all.in(24, stage);
    }
    DrawnMessage packet;
    packet.number(10, sequence).number(13, lots_.percent(80) ? 1 : 0).in(12, all);
    return packet;
  }

  std::vector<std::string> tracks() {
    std::vector<std::string> all;
    if (lot_.clocks) {
      DrawnMessage clocks;
      const std::uint64_t real = odd() ? std::uint64_t{1} << 61U : lot_.base + 5'000;
      for (const auto& [clock, time] :
           {std::pair<std::uint64_t, std::uint64_t>{6, lot_.base}, {3, 7}, {1, real}})
        if (here()) clocks.in(1, DrawnMessage().number(1, clock).number(2, time));
      all.push_back(DrawnMessage().number(8, lot_.base).in(6, clocks).bytes());
      all.push_back(DrawnMessage()
                        .in(6, DrawnMessage()
                                   .in(1, DrawnMessage().number(1, 6).number(2, 10))
                                   .in(1, DrawnMessage().number(1, 1).number(2, 99)))
                        .bytes());
    }
    for (int process = 0; process < lot_.processes; ++process) {
      const std::string name = process == 0 ? "rank 3: python" : process == 1 ? "of two\nlines" : "rank x";
      DrawnMessage of_process;
      of_process.number(1, pid_of(process));
      if (here()) of_process.text(6, name);
      DrawnMessage track;
      track.number(1, 10 + static_cast<std::uint64_t>(process)).in(3, of_process);
      all.push_back(DrawnMessage().in(60, track).bytes());
      for (int thread = 0; thread < lot_.threads; ++thread) {
        DrawnMessage of_thread;
        of_thread.number(1, pid_of(process));
        if (here()) of_thread.number(2, pid_of(process) + 1 + static_cast<std::uint64_t>(thread));
        if (here()) of_thread.text(5, "thread\n" + std::to_string(thread));
        DrawnMessage own;
        own.number(1, track_of(process, thread)).in(4, of_thread);
        if (here()) own.number(5, 10 + static_cast<std::uint64_t>(process));
        all.push_back(DrawnMessage().in(60, own).bytes());
        // Below it the waits of our own export, and one that hangs in a circle.
        DrawnMessage waits;
        waits.number(1, 1000 + track_of(process, thread)).text(2, "Waits for the GPU");
        waits.number(5, track_of(process, thread));
        all.push_back(DrawnMessage().in(60, waits).bytes());
      }
    }
    all.push_back(DrawnMessage().in(60, DrawnMessage().number(1, 5).number(5, 5).text(2, "circle")).bytes());
    return all;
  }

  std::uint64_t time(std::int64_t ns) {
    if (odd())
      return lots_.one_of<std::uint64_t>({0, 1, lot_.base - 1, std::uint64_t{1} << 61U,
                                          (std::uint64_t{1} << 61U) - 1, UINT64_MAX,
                                          lot_.base + static_cast<std::uint64_t>(ns) + 100'000});
    return lot_.base + static_cast<std::uint64_t>(ns);
  }
  DrawnMessage packet(std::int64_t ns, std::uint64_t sequence) {
    DrawnMessage made;
    if (here()) made.number(8, time(ns));
    made.number(10, sequence);
    if (lots_.percent(30)) made.number(13, 2);
    if (odd()) made.number(58, lots_.one_of<std::uint64_t>({6, 63, 64, 65}));
    return made;
  }

  void begin(std::vector<std::string>& into, std::int64_t ns, std::uint64_t track, std::uint64_t name,
             std::uint64_t category, const std::vector<DrawnMessage>& annotations,
             const std::vector<std::uint64_t>& launched = {}) {
    const std::uint64_t sequence = 1 + static_cast<std::uint64_t>(lots_.below(2));
    const std::uint64_t more = sequence == 2 ? 50 : 1;
    DrawnMessage event;
    event.number(9, odd() ? lots_.one_of<std::uint64_t>({0, 3, 4, 1}) : 1);
    if (here()) event.number(11, track);
    if (here()) {
      if (lots_.percent(60))
        event.number(10, name + more);
      else
        event.text(23, kSlices[name]);
    }
    if (here()) {
      if (lots_.percent(60))
        event.number(3, category + more);
      else
        event.text(22, kCategories[category]);
    }
    for (const DrawnMessage& annotation : annotations) event.in(4, annotation);
    if (!launched.empty()) {
      DrawnMessage stages;
      for (const std::uint64_t id : launched) stages.number(1, id);
      event.in(3000, stages);
    }
    into.push_back(packet(ns, sequence).in(11, event).bytes());
  }
  void end(std::vector<std::string>& into, std::int64_t ns, std::uint64_t track) {
    if (odd()) return;
    into.push_back(packet(ns, 1).in(11, DrawnMessage().number(9, 2).number(11, track)).bytes());
  }
  DrawnMessage correlation(std::uint64_t id) {
    DrawnMessage annotation;
    if (lots_.percent(60))
      annotation.text(10, "correlation");
    else
      annotation.number(1, lots_.one_of<std::uint64_t>({1, 50}));
    return annotation.number(lots_.one_of<std::uint32_t>({2, 3, 4}), id);
  }
  static DrawnMessage list(const std::vector<std::uint64_t>& numbers) {
    DrawnMessage all;
    for (const std::uint64_t number : numbers) all.in(12, DrawnMessage().number(4, number));
    return all;
  }
  std::vector<DrawnMessage> shapes() {
    DrawnMessage dims = DrawnMessage().text(10, "Input Dims");
    dims.in(12, list({64, lots_.one_of<std::uint64_t>({128, 127})})).in(12, list({128, 32}));
    if (odd()) dims.in(12, list({UINT64_MAX}));
    DrawnMessage types = DrawnMessage().text(10, "Input type");
    types.in(12, DrawnMessage().text(6, "float"))
        .in(12, DrawnMessage().number(17, lots_.one_of<std::uint64_t>({1, 2, 9})));
    DrawnMessage values = DrawnMessage().text(10, "Concrete Inputs");
    values.in(12, DrawnMessage().text(6, "1"));
    return {dims, types, values};
  }
  static DrawnMessage extra(const std::string& name, const std::string& value) {
    return DrawnMessage().text(1, name).text(2, value);
  }

  std::vector<std::string> recorded() {
    std::vector<std::string> all;
    std::uint64_t id = 10, stage_id = 500;
    for (int step = 0; step < lot_.steps; ++step) {
      for (int process = 0; process < lot_.processes; ++process) {
        for (int thread = 0; thread < lot_.threads; ++thread) {
          const std::int64_t at = 1'000 + step * 40'000 + 300 * process + 100 * thread;
          const std::uint64_t track = track_of(process, thread);
          // As torch.profiler writes: begins of a kind, then their ends.
          if (lot_.step_ranges && thread == 0) begin(all, at, track, step % 2 == 0 ? 0 : 10, 1, {});
          begin(all, at + 50, track, 1, 0, lot_.shapes ? shapes() : std::vector<DrawnMessage>{});
          begin(all, at + 60, track, 2, odd() ? 4 : 0, {});
          end(all, at + 60 + 500 * lots_.below(2), track);
          end(all, at + 5'000, track);
          launches(all, at, process, track, id, stage_id, step);
          if (lot_.step_ranges && thread == 0) end(all, at + 39'000, track);
          begin(all, at + 20'000, 1000 + track, 11, 6, {});
          end(all, at + 22'000, 1000 + track);
          if (odd()) begin(all, at, 5, 2, 0, {});
          if (odd()) begin(all, at, 0, 2, 0, {});
          if (odd()) end(all, at + 30'000, 77);
        }
      }
    }
    for (const std::uint32_t field : {50U, 52U, 77U}) all.push_back(DrawnMessage().text(field, "x").bytes());
    return all;
  }

  void launches(std::vector<std::string>& all, std::int64_t at, int process, std::uint64_t track,
                std::uint64_t& id, std::uint64_t& stage_id, int step) {
    std::int64_t gpu_at = at + 2'500;
    for (int k = 0; k < 5; ++k, ++id) {
      const bool graph = k == 4;
      std::vector<std::uint64_t> launched;
      for (int node = 0; node < (graph ? 2 : 1); ++node) {
        ++stage_id;
        launched.push_back(stage_id);
        const std::int64_t duration = 900 + 650 * ((k + step * lots_.below(2)) % 4);
        kernel(all, gpu_at, duration, process, k, lot_.by_event_id ? 0 : id, stage_id, graph ? 5 + node : 0);
        gpu_at += duration + 150 * (k % 3);
      }
      const std::uint64_t name = graph ? 5 : 3 + static_cast<std::uint64_t>(k % 2);
      std::vector<DrawnMessage> annotations;
      if (!lot_.by_event_id) annotations.push_back(correlation(odd() ? 0 : id));
      if (!lot_.by_event_id) launched.clear();
      const std::uint64_t called = odd() ? 12 : name;
      begin(all, at + 6'000 + 300 * k, track, called, 2 + static_cast<std::uint64_t>(k % 2), annotations,
            launched);
      end(all, at + 6'000 + 300 * k + 90, track);
    }
    for (int i = 0; i < 5; ++i, ++id) {
      begin(all, at + 12'000 + 1'500 * i, track, 6 + static_cast<std::uint64_t>(i % 4), 2, {correlation(id)});
      end(all, at + 12'000 + 1'500 * i + 1'000 + 100 * lots_.below(6), track);
    }
    const char* copies[] = {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH", "Memcpy DtoD", "copy",
                            "Memset (Device)"};
    for (int i = 0; i < 4; ++i, ++id) {
      ++stage_id;
      const std::int64_t which = lots_.below(5);
      DrawnMessage stage;
      stage.number(1, stage_id).number(2, 150).number(11, 0);
      stage.number(14, lots_.one_of<std::uint64_t>({2, 2, 3, 6, 4, 7, 8}));
      if (here()) stage.text(17, copies[which]);
      if (here()) stage.in(6, extra("bytes", odd() ? lots_.one_of<const char*>({"-1", "x", ""}) : "4096"));
      if (here()) stage.in(6, extra("stream", "8"));
      if (here()) stage.in(6, extra("process_id", std::to_string(pid_of(process))));
      if (here()) stage.in(6, extra("correlation", std::to_string(id)));
      if (odd()) stage.in(6, extra("graph node id", "4"));
      all.push_back(packet(gpu_at + 200 * i, 1).in(53, stage).bytes());
    }
  }

  void kernel(std::vector<std::string>& all, std::int64_t at, std::int64_t duration, int process, int k,
              std::uint64_t id, std::uint64_t stage_id, int node) {
    const std::uint64_t sequence = 1 + static_cast<std::uint64_t>(lots_.below(2));
    const std::uint64_t more = sequence == 2 ? 50 : 1;
    DrawnMessage stage;
    if (here()) stage.number(1, stage_id);
    stage.number(
        2, odd() ? lots_.one_of<std::uint64_t>({0, std::uint64_t{1} << 61U, (std::uint64_t{1} << 61U) - 1})
                 : static_cast<std::uint64_t>(duration));
    stage.number(11, odd() ? lots_.one_of<std::uint64_t>({4096, 4097, UINT64_MAX})
                           : static_cast<std::uint64_t>(k % lot_.devices));
    if (here()) stage.number(14, more);
    if (lots_.percent(50)) stage.number(13, 4 + more);
    const std::uint64_t kernel_name = static_cast<std::uint64_t>(k % 5);
    switch (lots_.below(4)) {
      case 0:
        stage.text(17, "void in_the_event(int)");
        break;
      case 1:
        stage.number(20, 2 + more);
        break;
      default:
        stage.number(19, kernel_name + more);
    }
    DrawnMessage launch;
    const auto size = [&](std::uint64_t x) {
      DrawnMessage all_of;
      all_of.number(1, odd() ? UINT64_MAX : x);
      if (here()) all_of.number(2, 2);
      return lots_.percent(70) ? all_of.number(3, 1) : all_of;
    };
    if (here()) launch.in(1, size(static_cast<std::uint64_t>(4 + k)));
    if (here()) launch.in(2, size(128));
    for (std::uint64_t argument = 0; argument < 3; ++argument) {
      DrawnMessage one;
      if (lots_.percent(60))
        one.number(1, argument + more);
      else
        one.text(2, kArguments[argument]);
      if (lots_.percent(70))
        one.number(lots_.one_of<std::uint32_t>({3, 4}), 32 * (argument + 1));
      else
        one.text(6, std::to_string(64 * argument));
      if (here()) launch.in(3, one);
    }
    if (here()) stage.in(21, launch);
    // The owner by its context, or said with the stage.
    if (lots_.percent(50))
      stage.number(5, static_cast<std::uint64_t>(process) + more);
    else
      stage.in(6, extra("process_id", std::to_string(pid_of(process))));
    if (lots_.percent(60)) stage.in(6, extra("stream id", std::to_string(7 + k % 2)));
    if (here()) stage.in(6, extra("context id", "1"));
    if (id != 0 && here()) stage.in(6, extra("correlation", std::to_string(id)));
    if (node != 0 && here()) {
      stage.in(6, extra("graph node id", std::to_string(node)));
      stage.in(6, extra("graph id", "3"));
    }
    if (lot_.collectives && lots_.percent(40)) {
      stage.in(6,
               extra("Collective name", lots_.one_of<const char*>({"allreduce", "all_gather", "barrier"})));
      stage.in(6, extra("In msg nelems", "100"))
          .in(6, extra("dtype", "Half"))
          .in(6, extra("Process Group Name", "7"));
      stage.in(6, extra("Out msg nelems", "200")).in(6, extra("Process Group Ranks", "[1, 3]"));
    }
    all.push_back(packet(at, sequence).in(53, stage).bytes());
  }

  PacketLot lot_;
  Lots lots_;
};

class DrawnPerfetto : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes, bool packed = false) {
    const std::string path = directory_ / "trace";
    if (packed) {
      const gzFile out = gzopen(path.c_str(), "wb");
      gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
      gzclose(out);
    } else {
      std::ofstream(path, std::ios::binary) << bytes;
    }
    return path;
  }
  void imported(const PacketLot& lot, const std::string& step_range = "") {
    std::filesystem::remove(directory_ / "out.ridge");
    (void)expect_accepted_import(import_traces({file(DrawnPackets(lot).bytes())}, directory_ / "out.ridge",
                                               {.import = {.overwrite = true}, .step_range = step_range}),
                                 directory_ / "out.ridge");
  }
  std::string read(const std::string& bytes, bool packed = false) {
    const std::string path = file(bytes, packed);
    return read_fields([&] { return read_perfetto(path, directory_.path(), {}); });
  }

  TemporaryDirectory directory_;
};

TEST_F(DrawnPerfetto, Whole) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 3),
              .threads = 1 + static_cast<int>(seed % 2),
              .devices = 1 + static_cast<int>(seed / 2 % 3),
              .steps = 1 + static_cast<int>(seed % 3),
              .cleared = seed % 4 == 0 ? 5 : 0,
              .by_event_id = seed % 2 == 0,
              .clocks = seed % 3 != 0,
              .collectives = seed % 4 == 1,
              .shapes = seed % 2 == 1,
              .in_order = seed % 2 == 0,
              .step_ranges = seed % 5 != 0,
              .base = seed == 6 ? 5'000ULL : 1'700'000'000'000'000'000ULL});
}

TEST_F(DrawnPerfetto, WithValuesOutOfTheOrdinary) {
  for (std::uint64_t seed = 21; seed <= 26; ++seed)
    imported({.seed = seed,
              .processes = 1 + static_cast<int>(seed % 2),
              .devices = 2,
              .steps = 2,
              .odd = static_cast<int>(seed % 4) * 2,
              .missing = static_cast<int>(seed % 3) * 2,
              .damaged = static_cast<int>(seed % 2) * 2,
              .by_event_id = seed % 2 == 0,
              .collectives = true,
              .shapes = true,
              .in_order = seed % 3 != 0});
}

TEST_F(DrawnPerfetto, WhoseStepsAreSearchedOrNamed) {
  for (const int steps : {6, 12}) imported({.seed = 41, .steps = steps, .step_ranges = false});
  for (const char* name : {"aten::mm", "none of them"}) imported({.seed = 42, .steps = 4}, name);
}

TEST_F(DrawnPerfetto, AreReadAsTheyWereWritten) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 6; ++i) {
        const std::uint64_t seed = 100 + 6 * batch + i;
        all += read(DrawnPackets({.seed = seed,
                                  .processes = 1 + static_cast<int>(seed % 3),
                                  .threads = 1 + static_cast<int>(seed % 2),
                                  .devices = 1 + static_cast<int>(seed % 2),
                                  .steps = 1,
                                  .odd = static_cast<int>(batch % 4) * 3,
                                  .missing = static_cast<int>(batch % 3) * 3,
                                  .damaged = static_cast<int>(batch % 2) * 3,
                                  .cleared = static_cast<int>(i % 3) * 3,
                                  .by_event_id = seed % 2 == 0,
                                  .clocks = seed % 4 != 0,
                                  .collectives = seed % 3 == 0,
                                  .shapes = seed % 3 == 1,
                                  .in_order = seed % 2 == 0,
                                  .base = seed % 5 == 0 ? 3'000U : 1'700'000'000'000'000'000U})
                        .bytes(),
                    seed % 4 == 0) +
               "\n";
      }
      return all;
    });
  }
}

TEST_F(DrawnPerfetto, ThatAreCutOrDamagedAreReadAsFarAsTheyGo) {
  const std::string bytes = DrawnPackets({.seed = 51, .steps = 1}).bytes();
  for (std::uint64_t batch = 0; batch < 4; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(60 + batch);
      std::string all;
      for (int i = 0; i < 16; ++i) {
        std::string changed = bytes;
        const auto at = static_cast<std::size_t>(lots.below(static_cast<std::int64_t>(bytes.size())));
        if (batch % 2 == 0)
          changed.resize(at);
        else
          changed[at] = static_cast<char>(lots.below(256));
        all += read(changed) + "\n";
      }
      return all;
    });
  }
}

// Edges with many at one time, in order and not.
TEST(DrawnSlices, ArePaired) {
  for (std::uint64_t batch = 0; batch < 6; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 400; ++i) {
        std::vector<SliceEdge> edges;
        std::uint32_t slices = 0;
        std::int64_t now = 0;
        for (std::int64_t n = lots.below(10); n > 0; --n) {
          now = batch % 2 == 0 ? now + lots.below(2) : lots.below(6);
          const bool begins = lots.percent(50);
          edges.push_back({now, begins ? slices++ : SliceEdge::kEnd});
        }
        std::vector<std::int64_t> ends(slices, -1);
        const std::int64_t unmatched = pair_slices(edges, ends);
        all += fields(ends) + " " + fields(unmatched) + "\n";
      }
      return all;
    });
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
