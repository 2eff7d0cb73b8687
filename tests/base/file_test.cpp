#include "ridgeline/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "support/temporary_directory.h"
#include "support/usual_signals.h"

namespace ridgeline {
namespace {

using ridgeline::testing::TemporaryDirectory;

TEST(File, IsReadUpToItsLimit) {
  const TemporaryDirectory directory;
  std::ofstream(directory.file("a"), std::ios::binary) << std::string("12\0 4", 5);
  EXPECT_EQ(read_file(directory.file("a"), 5).value(), std::string("12\0 4", 5));
  const auto large = read_file(directory.file("a"), 4);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.failure().kind, ErrorKind::corrupt);
  EXPECT_NE(large.failure().message.find("larger than 4 bytes"), std::string::npos);
  EXPECT_EQ(read_file(directory.file("none"), 5).failure().kind, ErrorKind::io);
  EXPECT_EQ(read_file(directory.path(), 5).failure().kind, ErrorKind::io);
}

TEST(File, PipesAndDevicesAreNotWaitedFor) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo(directory.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(directory.file("pipe"), 5).failure().kind, ErrorKind::io);
  EXPECT_EQ(read_file("/dev/zero", 5).failure().kind, ErrorKind::io);
  EXPECT_EQ(read_file(directory.file("pipe"), 5, FileKind::handed_over).failure().kind, ErrorKind::io);
  EXPECT_EQ(read_file("/dev/zero", 5, FileKind::handed_over).failure().kind, ErrorKind::io);
  // What a shell hands over is read, and an endless one still has an end.
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const std::string name = "/dev/fd/" + std::to_string(zero);
  EXPECT_EQ(read_file(name, 5).failure().kind, ErrorKind::io);
  EXPECT_EQ(read_file(name, 5, FileKind::handed_over).failure().kind, ErrorKind::corrupt);
  close(zero);
}

// Runs in a child: what the signal does to it is what is tested.
int status_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    testing::take_usual_signals();
    work();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(UnfinishedFiles, AreRemovedByASignalThatEndsTheProcess) {
  const TemporaryDirectory directory;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) {
    for (const char* name : {"outer", "inner"}) std::ofstream(directory.file(name)) << "half";
    const int status = status_of([&] {
      const UnfinishedFiles outer({directory.file("outer"), directory.file("none")});
      const UnfinishedFiles inner({directory.file("inner")});
      raise(signal);
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(std::filesystem::exists(directory.file("outer")));
    EXPECT_FALSE(std::filesystem::exists(directory.file("inner")));
  }
}

TEST(UnfinishedFiles, StayIfTheSignalIsIgnoredOrComesLater) {
  const TemporaryDirectory directory;
  std::ofstream(directory.file("a")) << "half";
  int status = status_of([&] {
    std::signal(SIGHUP, SIG_IGN);
    const UnfinishedFiles files({directory.file("a")});
    raise(SIGHUP);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(std::filesystem::exists(directory.file("a")));
  status = status_of([&] {
    { const UnfinishedFiles files({directory.file("a")}); }
    raise(SIGTERM);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::exists(directory.file("a")));
}

TEST(FileSizeSignal, IsAnErrorOfTheWriteWhileIgnored) {
  const TemporaryDirectory directory;
  const auto write_much = [&] {
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text(2000, 'x');
    const int file = creat(directory.file("a").c_str(), 0600);
    (void)!write(file, text.data(), text.size());
    (void)!write(file, text.data(), text.size());
  };
  EXPECT_TRUE(WIFSIGNALED(status_of(write_much)));
  EXPECT_TRUE(WIFEXITED(status_of([&] {
    const FileSizeSignalIgnored ignored;
    write_much();
  })));
}

}  // namespace
}  // namespace ridgeline
