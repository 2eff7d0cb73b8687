// in_process.h: the command line within the test's own process: what it prints, what it says, what it ends with.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "command_line.h"
#include "support/temporary_directory.h"

namespace ridgeline::cli {

using Words = std::vector<std::string>;

/// Verbs that record start this program as `ridgeline`, if a case lets them: it ends at once then, for it would run the
/// case again.
inline const bool kIsNotStartedByItself = [] {
  constexpr const char* kMark = "RIDGELINE_COMMAND_LINE_UNDER_TEST";
  if (::getenv(kMark) != nullptr) ::_exit(97);
  ::setenv(kMark, "1", 1);
  return true;
}();

/// A descriptor of the process that is another file while this lives.
class Redirected {
 public:
  Redirected(int descriptor, int file) : descriptor_(descriptor), before_(::dup(descriptor)) {
    std::fflush(nullptr);
    ::dup2(file, descriptor);
  }
  ~Redirected() {
    std::fflush(nullptr);
    ::dup2(before_, descriptor_);
    ::close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_, before_;
};

/// What is written to it is read back.
class Written {
 public:
  Written() : file_(::memfd_create("written", MFD_CLOEXEC)) {}
  ~Written() { ::close(file_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::string out;
    std::array<char, 1 << 14> piece{};
    ::lseek(file_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = ::read(file_, piece.data(), piece.size())) > 0;)
      out.append(piece.data(), static_cast<std::size_t>(got));
    return out;
  }

 private:
  int file_;
};

struct Ended {
  int code = 0;
  std::string out, err;
};

/// `call` returns an exit code.
template <typename Call>
Ended ended(const Call& call) {
  const Written out, err;
  Ended end;
  {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const Redirected in_is(STDIN_FILENO, nothing), out_is(STDOUT_FILENO, out.file()),
        err_is(STDERR_FILENO, err.file());
    ::close(nothing);
    end.code = call();
  }
  end.out = out.text();
  end.err = err.text();
  return end;
}

inline Ended run(const Words& arguments) {
  return ended([&] { return run_command_line(arguments); });
}

/// The same environment everywhere.
inline void work_in(const std::string& folder) {
  std::filesystem::current_path(folder);
  for (const char* name : {"COLUMNS", "NO_COLOR", "TERM", "XDG_DATA_HOME"}) ::unsetenv(name);
  ::setenv("HOME", folder.c_str(), 1);
  ::setenv("TZ", "UTC", 1);
  ::setenv("SOURCE_DATE_EPOCH", "1795222442", 1);
}

/// A folder of its own, which the test runs in.
class InProcess : public ::testing::Test {
 protected:
  InProcess() : before_(std::filesystem::current_path()) { work_in(folder_.path()); }
  ~InProcess() override { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
  testing::TemporaryDirectory folder_;
};

}  // namespace ridgeline::cli
