#include "fuzz.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "support/whole_file.h"

// GCC says it by a macro, Clang by a feature.
#if defined(__SANITIZE_ADDRESS__)
#define RIDGELINE_FUZZ_WITH_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RIDGELINE_FUZZ_WITH_ADDRESS_SANITIZER
#endif
#endif

namespace ridgeline::fuzz {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using ridgeline::testing::whole_file;

constexpr unsigned kLongestInputS = 20;  // a sanitized build on a busy machine is slow
constexpr rlim_t kMaxMemoryBytes = rlim_t{4} << 30;

// What a signal handler writes out: which input it was.
struct Running {
  char path[256];     // of the file that the input is saved to when it fails
  char command[512];  // that repeats it
  const char* bytes;
  std::size_t size;
  pid_t process;  // the fuzzer's: a child that a target starts and gives little memory may end as it likes
} running;

void say(const char* text) {
  (void)!write(STDERR_FILENO, text, std::strlen(text));
}

void save_input() {
  const int file = open(running.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) {
    (void)!write(file, running.bytes, running.size);
    close(file);
  }
  say("\nFAILED; the input is saved, repeat it with: ");
  say(running.command);
  say("\n");
}

void failed_at(int signal) {
  if (getpid() != running.process) {
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  say(signal == SIGALRM ? "\nan input takes too long" : "\na signal ended an input");
  save_input();
  std::signal(signal == SIGALRM ? SIGABRT : signal, SIG_DFL);
  raise(signal == SIGALRM ? SIGABRT : signal);
}

template <typename T>
void put_number(std::string& bytes, std::size_t at, std::int64_t number) {
  const auto value = static_cast<T>(number);
  if (at + sizeof value <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Options {
  double seconds = 5;
  std::uint64_t seed = 1;
  std::string only, corpus, input;
};

// One input. False: it failed, and is saved.
bool run_one(const Target& target, const std::string& input, std::uint64_t seed) {
  running.bytes = input.data();
  running.size = input.size();
  Random random(seed);
  alarm(kLongestInputS);
  try {
    target.run(input, random);
    alarm(0);
    return true;
  } catch (const std::exception& error) {
    alarm(0);
    say("\nan input ended in an exception: ");
    say(error.what());
  }
  save_input();
  return false;
}

bool run_target(const Target& target, const Options& options, const char* program, double seconds) {
  std::vector<std::string> corpus = target.corpus;
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(options.corpus) / target.name, ignored))
    files.push_back(entry);
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) corpus.push_back(whole_file(file));
  std::snprintf(running.path, sizeof running.path, "failed-%s", target.name.c_str());
  std::snprintf(running.command, sizeof running.command, "%s --only %s --seed %llu --input %s", program,
                target.name.c_str(), static_cast<unsigned long long>(options.seed), running.path);
  if (!options.input.empty()) return run_one(target, whole_file(options.input), options.seed);
  for (const std::string& input : corpus) {
    if (!run_one(target, input, options.seed)) return false;
  }
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t inputs = 0;
  for (; Clock::now() < end; ++inputs) {
    Random random(options.seed * 1'000'003 + inputs);
    const std::string input = mutated(random.of(corpus), corpus, random);
    // The target's own choices depend on the seed alone, so that a saved input is repeated as it was.
    if (!run_one(target, input, options.seed)) return false;
  }
  std::printf("%-12s %llu inputs of %zu seeds\n", target.name.c_str(),
              static_cast<unsigned long long>(inputs), corpus.size());
  std::fflush(stdout);
  return true;
}

}  // namespace

std::int64_t Random::odd_number() {
  static const std::vector<std::int64_t> kOdd = {0,
                                                 1,
                                                 -1,
                                                 2,
                                                 7,
                                                 8,
                                                 127,
                                                 128,
                                                 255,
                                                 256,
                                                 1000,
                                                 4095,
                                                 65535,
                                                 65536,
                                                 1'000'000,
                                                 std::numeric_limits<std::int32_t>::max(),
                                                 std::numeric_limits<std::int32_t>::min(),
                                                 std::int64_t{1} << 32,
                                                 std::int64_t{1} << 53,
                                                 std::int64_t{1} << 62,
                                                 1'700'000'000'000'000'000,
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 std::numeric_limits<std::int64_t>::min()};
  if (one_in(4)) return static_cast<std::int64_t>(engine_());
  if (one_in(3)) return static_cast<std::int64_t>(below(100'000));
  return of(kOdd);
}

std::string mutated(std::string bytes, const std::vector<std::string>& corpus, Random& random) {
  const std::size_t changes = 1 + random.below(4);
  for (std::size_t change = 0; change < changes; ++change) {
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(bytes.size() - at + 1, 256));
    switch (random.below(9)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random.odd_number());
        break;
      case 2:
        put_number<std::int32_t>(bytes, at / 4 * 4, random.odd_number());
        break;
      case 3:
        put_number<std::int64_t>(bytes, at / 8 * 8, random.odd_number());
        break;
      case 4:
        bytes.resize(random.below(bytes.size() + 1));
        break;
      case 5:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 6:
        bytes.erase(at, length);
        break;
      case 7: {
        const std::string& other = random.of(corpus);
        const std::size_t from = random.below(other.size());
        bytes.replace(at, std::min(length, bytes.size() - at), other.substr(from, length));
        break;
      }
      default: {
        const std::size_t to = random.below(bytes.size());
        const std::string part = bytes.substr(at, length);
        bytes.replace(to, std::min(part.size(), bytes.size() - to), part);
        break;
      }
    }
  }
  return bytes;
}

int main(int argc, char** argv, std::vector<Target> targets) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--seconds") options.seconds = std::stod(value);
    if (name == "--seed") options.seed = std::stoull(value);
    if (name == "--only") options.only = value;
    if (name == "--corpus") options.corpus = value;
    if (name == "--input") options.input = value;
  }
  std::erase_if(targets,
                [&](const Target& target) { return !options.only.empty() && target.name != options.only; });
  if (targets.empty()) {
    std::fprintf(stderr, "no target %s\n", options.only.c_str());
    return 2;
  }
#if !defined(RIDGELINE_FUZZ_WITH_ADDRESS_SANITIZER)
  const rlimit memory{kMaxMemoryBytes, kMaxMemoryBytes};
  setrlimit(RLIMIT_AS, &memory);  // an AddressSanitizer reserves terabytes
#endif
  running.process = getpid();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, failed_at);
  bool all = true;
  for (const Target& target : targets)
    all = run_target(target, options, argv[0], options.seconds / static_cast<double>(targets.size())) && all;
  return all ? 0 : 1;
}

}  // namespace ridgeline::fuzz
