#include "tracing_loop.h"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "library_symbol.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::launch {
namespace {

constexpr int kTurns = 10;
constexpr int kSettlingLaunches = 300, kBatches = 11, kLaunchesOfBatch = 100;
// A program works between its launches, and what handles them is no longer in the nearest cache: in a loop that does
// nothing else launches cost half, and not in proportion.
constexpr std::size_t kWorkBytes = 64 << 10, kMemoryBytes = 64 << 20, kLineBytes = 64;
constexpr std::size_t kBufferBytes = 512 << 10;
constexpr std::size_t kNotes = 1 << 16;
constexpr const char* kEmptyKernel =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";

std::int64_t clock_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// As much as is written of a launch when it is recorded.
struct Note {
  std::int64_t enter_ns, exit_ns;
  std::array<std::uint64_t, 12> rest;
};
Note* g_notes = nullptr;
std::size_t g_noted = 0;

// The first member of the data says which side of the call it is.
void note_launch(void*, int, unsigned, const int* data) {
  Note& note = g_notes[g_noted % kNotes];
  if (*data == 0) {
    note.enter_ns = clock_ns();
    note.rest.fill(g_noted);
  } else {
    note.exit_ns = clock_ns();
    ++g_noted;
  }
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kLineBytes, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;
}
void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  std::free(buffer);
}

template <typename Function>
bool resolve(void* library, const char* name, Function* function) {
  *function = symbol<Function>(library, name);
  return *function != nullptr;
}

// The driver: an empty kernel and a stream of its own.
class Launcher {
 public:
  bool begin() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    int (*load)(void**, const void*) = nullptr;
    int (*function)(void**, void*, const char*) = nullptr;
    int (*stream)(void**, unsigned) = nullptr;
    if (driver == nullptr || !resolve(driver, "cuInit", &init) ||
        !resolve(driver, "cuDeviceGet", &device_get) ||
        !resolve(driver, "cuDevicePrimaryCtxRetain", &retain) ||
        !resolve(driver, "cuCtxSetCurrent", &set_current) || !resolve(driver, "cuModuleLoadData", &load) ||
        !resolve(driver, "cuModuleGetFunction", &function) || !resolve(driver, "cuStreamCreate", &stream) ||
        !resolve(driver, "cuLaunchKernel", &launch_) ||
        !resolve(driver, "cuStreamSynchronize", &synchronize_))
      return false;
    constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
    int device = 0;
    void *context = nullptr, *module = nullptr;
    memory_.resize(kMemoryBytes);
    return init(0) == 0 && device_get(&device, 0) == 0 && retain(&context, device) == 0 &&
           set_current(context) == 0 && load(&module, kEmptyKernel) == 0 &&
           function(&kernel_, module, "empty") == 0 && stream(&stream_, kNonBlocking) == 0;
  }
  bool wait() { return synchronize_(stream_) == 0; }
  // Of one, in ns.
  double launches(int count) {
    std::int64_t took_ns = 0;
    for (int i = 0; i < count; ++i) {
      work();
      const std::int64_t since_ns = clock_ns();
      failed_ = launch_(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr) != 0 || failed_;
      took_ns += clock_ns() - since_ns;
    }
    failed_ = !wait() || failed_;
    return static_cast<double>(took_ns) / count;
  }
  double settled() {
    launches(kSettlingLaunches);
    std::vector<double> batches;
    for (int i = 0; i < kBatches; ++i) batches.push_back(launches(kLaunchesOfBatch));
    return median(batches);
  }
  bool failed() const { return failed_; }

 private:
  void work() {
    unsigned sum = 0;
    for (std::size_t i = 0; i < kWorkBytes; i += kLineBytes) {
      sum += memory_[at_];
      at_ = (at_ + kLineBytes) % kMemoryBytes;
    }
    seen_ = sum;
  }

  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = nullptr;
  int (*synchronize_)(void*) = nullptr;
  void *kernel_ = nullptr, *stream_ = nullptr;
  std::vector<unsigned char> memory_;
  std::size_t at_ = 0;
  volatile unsigned seen_ = 0;
  bool failed_ = false;
};

class Tracing {
 public:
  bool begin(const std::string& path) {
    void* cupti = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return cupti != nullptr && resolve(cupti, "cuptiSubscribe", &subscribe_) &&
           resolve(cupti, "cuptiUnsubscribe", &unsubscribe_) &&
           resolve(cupti, "cuptiEnableCallback", &enable_callback_) &&
           resolve(cupti, "cuptiActivityRegisterCallbacks", &register_callbacks_) &&
           resolve(cupti, "cuptiActivityEnable", &enable_) &&
           resolve(cupti, "cuptiActivityDisable", &disable_) &&
           resolve(cupti, "cuptiActivityFlushAll", &flush_) && resolve(cupti, "cuptiFinalize", &finalize_);
  }
  bool on() {
    return subscribe_(&subscriber_, note_launch, nullptr) == 0 &&
           register_callbacks_(give_buffer, take_buffer) == 0 && switch_callback(1) &&
           enable_(cupti_numbers::kConcurrentKernel) == 0;
  }
  bool off() {
    const bool done = disable_(cupti_numbers::kConcurrentKernel) == 0 && switch_callback(0);
    flush_(0);
    return done;
  }
  bool leave() { return unsubscribe_(subscriber_) == 0 && finalize_() == 0; }

 private:
  bool switch_callback(unsigned on) {
    return enable_callback_(on, subscriber_, cupti_numbers::kDriverApi, cupti_numbers::kLaunchKernel) == 0;
  }

  void* subscriber_ = nullptr;
  int (*subscribe_)(void**, void (*)(void*, int, unsigned, const int*), void*) = nullptr;
  int (*unsubscribe_)(void*) = nullptr;
  int (*enable_callback_)(unsigned, void*, int, unsigned) = nullptr;
  int (*register_callbacks_)(void (*)(std::uint8_t**, std::size_t*, std::size_t*),
                             void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t,
                                      std::size_t)) = nullptr;
  int (*enable_)(int) = nullptr;
  int (*disable_)(int) = nullptr;
  int (*flush_)(unsigned) = nullptr;
  int (*finalize_)() = nullptr;
};

}  // namespace

std::vector<TracingTurn> time_tracing(const std::string& cupti_library) {
  // Another tool would be called by each launch, too.
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) unsetenv(name);
  // The driver wakes each GPU that it may see, which takes a second of each where no process keeps it awake.
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  const char* visible = std::getenv(kVisible);
  const std::string first = visible != nullptr ? visible : "0";
  setenv(kVisible, first.substr(0, first.find(',')).c_str(), 1);
  std::vector<Note> notes(kNotes);
  g_notes = notes.data();
  Launcher launcher;
  Tracing tracing;
  if (!launcher.begin() || !tracing.begin(cupti_library)) return {};
  std::vector<TracingTurn> turns;
  for (int i = 0; i < kTurns && !launcher.failed(); ++i) {
    TracingTurn turn;
    turn.without = launcher.settled();
    if (!tracing.on()) return {};
    turn.recorded = launcher.settled();
    if (!tracing.off()) return {};
    turn.off = launcher.settled();
    if (!tracing.leave()) return {};
    turns.push_back(turn);
  }
  return launcher.failed() ? std::vector<TracingTurn>() : turns;
}

}  // namespace ridgeline::launch
