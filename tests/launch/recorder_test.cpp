#include "ridgeline/launch/recorder.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "launch/launch_testing.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/schedule.h"
#include "ridgeline/spool/manifest.h"
#include "spool_directory.h"

namespace ridgeline::launch::testing {
namespace {

// Programs here are shell scripts; one that "used CUDA" copies a fabricated spool where the agent would
// write.
class Recorder : public ::testing::Test {
 protected:
  Recorder() {
    fs::create_directory(directory_ / "spool");
    FakeSpool spool(directory_ / "spool");
    spool.whole_run();
    spool_file_ = spool.file();
    std::ofstream(directory_ / "agent.so") << "\x7f"
                                              "ELF";
    leave_spool_ = "cp '" + spool_file_ + "' \"$RIDGELINE_SPOOL_DIR/$$-1.spool\"\n";
  }
  RecordOptions options(const std::string& program) {
    RecordOptions options;
    options.program = {program};
    options.make_capture = import_capture;
    options.output = directory_ / "out.ridge";
    options.agent_library = directory_ / "agent.so";
    options.cupti_library = "/opt/libcupti.so.13";
    return options;
  }
  std::vector<std::string> spool_directories() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (entry.is_directory() && entry.path().extension() == ".spool")
        found.push_back(entry.path().string());
    }
    return found;
  }
  TemporaryDirectory directory_;
  std::string spool_file_;
  std::string leave_spool_;
};

TEST_F(Recorder, AProgramBecomesACapture) {
  RecordOptions given = options(script(directory_, "train", leave_spool_));
  given.program.push_back("--name=a b");
  std::vector<RecordStage> stages;
  given.progress = [&](const RecordProgress& progress) { stages.push_back(progress.stage); };
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().exit_status, 0);
  EXPECT_EQ(recorded.value().exit_signal, std::nullopt);
  EXPECT_EQ(recorded.value().capture_path, directory_ / "out.ridge");
  EXPECT_TRUE(recorded.value().warnings.empty()) << recorded.value().warnings.front();
  EXPECT_TRUE(spool_directories().empty());
  EXPECT_EQ(stages.front(), RecordStage::starting);
  EXPECT_EQ(stages.back(), RecordStage::done);

  const store::Run run = open_capture(directory_ / "out.ridge").run();
  EXPECT_EQ(run.command_line, directory_ / "train" + " '--name=a b'");
  EXPECT_EQ(run.exit_status, 0);
  EXPECT_LE(run.start_ns.value(), run.end_ns.value());
  EXPECT_FALSE(run.host_name.value().empty());
  EXPECT_NE(run.os.value().find("Linux"), std::string::npos);
}

TEST_F(Recorder, FailingProgramsStillGiveACapture) {
  const Result<RecordSummary> failed =
      record(options(script(directory_, "fails", leave_spool_ + "exit 3\n")));
  ASSERT_TRUE(failed.ok()) << failed.failure().message;
  EXPECT_EQ(failed.value().exit_status, 3);
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().exit_status, 3);

  RecordOptions given = options(script(directory_, "dies", leave_spool_ + "kill -9 $$\n"));
  given.output = directory_ / "killed.ridge";
  const Result<RecordSummary> killed = record(given);
  ASSERT_TRUE(killed.ok()) << killed.failure().message;
  EXPECT_EQ(killed.value().exit_signal, 9);
  EXPECT_EQ(killed.value().exit_status, std::nullopt);
  EXPECT_EQ(open_capture(directory_ / "killed.ridge").run().exit_signal, 9);
  EXPECT_EQ(describe_exit(killed.value().exit_status, killed.value().exit_signal),
            "killed by signal 9 (Killed)");
}

TEST_F(Recorder, ProgramsThatCannotStartAreNamedAndLeaveNothing) {
  std::ofstream(directory_ / "data") << "x";
  chmod((directory_ / "data").c_str(), 0644);
  std::ofstream(directory_ / "lost") << "#!/nowhere/interpreter\n";
  chmod((directory_ / "lost").c_str(), 0755);
  std::ofstream(directory_ / "plain") << "echo hi\n";
  chmod((directory_ / "plain").c_str(), 0755);
  const struct {
    std::string program;
    const char* part;
  } cases[] = {
      {directory_ / "missing", "no such file"}, {"no-such-program-anywhere", "not found in PATH"},
      {directory_ / "data", "not executable"},  {directory_.path(), "is a directory"},
      {directory_ / "lost", "interpreter"},
  };
  for (const auto& each : cases) {
    const Result<RecordSummary> recorded = record(options(each.program));
    ASSERT_FALSE(recorded.ok()) << each.program;
    EXPECT_EQ(recorded.failure().kind, ErrorKind::usage);
    EXPECT_NE(recorded.failure().message.find(each.part), std::string::npos) << recorded.failure().message;
    EXPECT_TRUE(spool_directories().empty());
    EXPECT_FALSE(fs::exists(directory_ / "out.ridge"));
  }
}

TEST_F(Recorder, AFolderThatMayNotBeEnteredIsNotTakenForTheProgramsFault) {
  const std::string closed = directory_ / "closed";
  ASSERT_EQ(mkdir(closed.c_str(), 0700), 0);
  std::ofstream(closed + "/train") << "#!/bin/sh\n";
  ASSERT_EQ(chmod((closed + "/train").c_str(), 0755), 0);
  ASSERT_EQ(chmod(closed.c_str(), 0000), 0);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  RecordOptions there = options("/bin/true");
  there.working_directory = closed;
  const int before = setfsuid(65534);  // root may enter everything
  const Result<RecordSummary> in_it = record(there);
  const Result<RecordSummary> from_it = record(options(closed + "/train"));
  setfsuid(static_cast<uid_t>(before));
  chmod(closed.c_str(), 0700);
  ASSERT_FALSE(in_it.ok());
  EXPECT_EQ(in_it.failure().message, "cannot start /bin/true: " + closed + " may not be entered");
  ASSERT_FALSE(from_it.ok());
  EXPECT_EQ(from_it.failure().message,
            "cannot start " + closed + "/train: a folder on the way to it may not be entered");
}

TEST_F(Recorder, StdinStdoutAndStderrAreThePrograms) {
  const std::string program =
      script(directory_, "talks", leave_spool_ + "read line; echo \"out $line\"; echo \"err $line\" >&2\n");
  std::ofstream(directory_ / "in") << "word\n";
  int saved[3];
  for (int file : {0, 1, 2}) saved[file] = dup(file);
  const int in = open((directory_ / "in").c_str(), O_RDONLY);
  const int out = open((directory_ / "stdout").c_str(), O_CREAT | O_WRONLY, 0600);
  const int err = open((directory_ / "stderr").c_str(), O_CREAT | O_WRONLY, 0600);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  const Result<RecordSummary> recorded = record(options(program));
  for (int file : {0, 1, 2}) {
    dup2(saved[file], file);
    close(saved[file]);
  }
  for (int file : {in, out, err}) close(file);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(file_text(directory_ / "stdout"), "out word\n");
  EXPECT_EQ(file_text(directory_ / "stderr"), "err word\n");
}

TEST_F(Recorder, TheAgentIsToldEverythingByEnvironment) {
  RecordOptions given =
      options(script(directory_, "env", leave_spool_ + "env > '" + directory_.path() + "/env.txt'\n"));
  given.schedule = read_schedule("warmup=1,timeline=2,replay=3").value();
  given.step_range = "train step";
  given.counter_configurations = {{"dram__bytes_read.sum", "gpu__time_duration.sum"},
                                  {"sm__cycles_active.avg"}};
  given.sample_interval_ns = 2500;
  given.sample_buffer_bytes = 64u << 20;
  setenv("RIDGELINE_SAMPLE_NS", "stale", 1);
  setenv("RIDGELINE_METRICS_R5", "stale", 1);
  setenv("NCCL_TEST_VALUE", "1", 1);
  setenv("NCCL_SECRET", "geheim", 1);
  const Result<RecordSummary> recorded = record(given);
  for (const char* name : {"RIDGELINE_SAMPLE_NS", "RIDGELINE_METRICS_R5", "NCCL_TEST_VALUE", "NCCL_SECRET"})
    unsetenv(name);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  const std::string environment = "\n" + file_text(directory_ / "env.txt");
  for (const std::string& line :
       {"CUDA_INJECTION64_PATH=" + directory_.path() + "/agent.so",
        "NVTX_INJECTION64_PATH=" + directory_.path() + "/agent.so",
        std::string("RIDGELINE_SCHEDULE=warmup=1,timeline=2,replay=3"),
        std::string("RIDGELINE_STEP_RANGE=train step"), std::string("RIDGELINE_TIERS=T0,T1,T2,T3"),
        std::string("RIDGELINE_SAMPLE_NS=2500"), std::string("RIDGELINE_SAMPLE_BUFFER_BYTES=67108864"),
        std::string("RIDGELINE_CUPTI_LIBRARY=/opt/libcupti.so.13"),
        std::string("RIDGELINE_METRICS_R1=dram__bytes_read.sum,gpu__time_duration.sum"),
        std::string("RIDGELINE_METRICS_R2=sm__cycles_active.avg")}) {
    EXPECT_NE(environment.find("\n" + line + "\n"), std::string::npos) << line;
  }
  EXPECT_EQ(environment.find("stale"), std::string::npos);
  const auto kept = open_capture(directory_ / "out.ridge").environment();
  EXPECT_EQ(kept.at("NCCL_TEST_VALUE"), "1");
  EXPECT_FALSE(kept.contains("NCCL_SECRET"));
  EXPECT_FALSE(kept.contains("CUDA_INJECTION64_PATH"));
}

// NCCL takes one profiler plugin.
class NcclsProfiler : public Recorder {
 protected:
  NcclsProfiler() {
    fs::create_directory(directory_ / "libraries");
    unsetenv("NCCL_PROFILER_PLUGIN");
    setenv("NCCL_CONF_FILE", (directory_ / "nccl.conf").c_str(), 1);
    setenv("LD_LIBRARY_PATH", (directory_ / "libraries").c_str(), 1);
  }
  ~NcclsProfiler() override {
    for (const char* name : {"NCCL_PROFILER_PLUGIN", "NCCL_CONF_FILE", "LD_LIBRARY_PATH"}) unsetenv(name);
  }
  /// What a recorded program has for it, "-": nothing; then what the manifest says is in the way.
  std::string of_program(const std::optional<std::string>& agent = {}, bool asked = true) {
    RecordOptions given = options(script(
        directory_, "plugin",
        leave_spool_ + "echo \"${NCCL_PROFILER_PLUGIN--}\" > '" + directory_.path() + "/plugin.txt'\n"));
    given.overwrite = true;
    given.keep_spool = true;
    given.nccl_profiler = asked;
    if (agent) given.agent_library = *agent;
    const Result<RecordSummary> recorded = record(given);
    EXPECT_TRUE(recorded.ok()) << (recorded.ok() ? "" : recorded.failure().message);
    if (!recorded.ok()) return "";
    std::string line = file_text(directory_ / "plugin.txt");
    line.pop_back();
    const auto manifest = spool::read_manifest(recorded.value().spool_directory.value());
    return line + " " + manifest.value().value().nccl_profiler;
  }
};

TEST_F(NcclsProfiler, IsTheAgentIfThereIsNone) {
  const std::string agent = directory_ / "agent.so";
  EXPECT_EQ(of_program(), agent + " ");
  setenv("NCCL_PROFILER_PLUGIN", "", 1);
  EXPECT_EQ(of_program(), agent + " ");
  std::ofstream(directory_ / "nccl.conf")
      << "# NCCL_PROFILER_PLUGIN=x\nNCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGINS=x\n";
  EXPECT_EQ(of_program(), agent + " ");
  EXPECT_EQ(open_capture(directory_ / "out.ridge").environment().at("NCCL_PROFILER_PLUGIN"), "")
      << "the agent is none of the user's";
}

TEST_F(NcclsProfiler, IsNothingOfRidgelinesUnlessAsked) {
  EXPECT_EQ(of_program({}, false), "- ");
  setenv("NCCL_PROFILER_PLUGIN", "/opt/theirs.so", 1);
  EXPECT_EQ(of_program({}, false), "/opt/theirs.so ") << "and nobody is told of a conflict that there is not";
}

TEST_F(NcclsProfiler, OfTheUserStays) {
  const std::string library = directory_ / "libraries/libnccl-profiler.so";
  std::ofstream(library) << "x";
  EXPECT_EQ(of_program(), "- " + library);
  const std::string file = directory_ / "nccl.conf";
  std::ofstream(file) << "NCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=theirs\n";
  EXPECT_EQ(of_program(), "- " + file);
  for (const char* value : {"/opt/theirs.so", "none"}) {
    setenv("NCCL_PROFILER_PLUGIN", value, 1);
    EXPECT_EQ(of_program(), std::string(value) + " NCCL_PROFILER_PLUGIN");
  }
}

TEST_F(NcclsProfiler, IsNotLookedForWhereNcclWouldNotFindTheAgent) {
  std::string deep = directory_.path();
  for (int i = 0; i < 5; ++i) {
    deep += "/" + std::string(60, 'd');
    fs::create_directory(deep);
  }
  const std::string agent = deep + "/agent.so";
  fs::copy_file(directory_ / "agent.so", agent);
  EXPECT_EQ(of_program(agent), "- ");
}

TEST_F(Recorder, AProgramWithoutCudaIsNoData) {
  const Result<RecordSummary> recorded = record(options(script(directory_, "idle", "exit 7\n")));
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::no_data);
  EXPECT_NE(recorded.failure().message.find("never used CUDA (exit status 7)"), std::string::npos)
      << recorded.failure().message;
  EXPECT_TRUE(spool_directories().empty());
  EXPECT_FALSE(fs::exists(directory_ / "out.ridge"));
}

TEST_F(Recorder, OutputsAreCheckedBeforeTheProgramStarts) {
  const std::string ran = directory_ / "ran";
  const std::string program = script(directory_, "train", "touch '" + ran + "'\n" + leave_spool_);
  std::ofstream(directory_ / "out.ridge") << "precious";
  Result<RecordSummary> recorded = record(options(program));
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::usage);
  EXPECT_NE(recorded.failure().message.find("exists"), std::string::npos);

  RecordOptions given = options(program);
  given.output = directory_ / "no/such/out.ridge";
  EXPECT_EQ(record(given).failure().kind, ErrorKind::usage);
  given.output = directory_.path();
  EXPECT_EQ(record(given).failure().kind, ErrorKind::usage);
  given.output = "/proc/out.ridge";
  EXPECT_EQ(record(given).failure().kind, ErrorKind::io);
  EXPECT_FALSE(fs::exists(ran));
  EXPECT_EQ(file_text(directory_ / "out.ridge"), "precious");

  given = options(program);
  given.overwrite = true;
  ASSERT_TRUE(record(given).ok());
  EXPECT_EQ(open_capture(directory_ / "out.ridge").launches().size(), 30u);
}

TEST_F(Recorder, AnOutputMadeMeanwhileIsKeptAndTheCaptureGetsAnotherName) {
  const std::string program =
      script(directory_, "train", leave_spool_ + "echo precious > '" + directory_.path() + "/out.ridge'\n");
  const Result<RecordSummary> recorded = record(options(program));
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().capture_path, directory_ / "out-2.ridge");
  EXPECT_EQ(file_text(directory_ / "out.ridge"), "precious\n");
  EXPECT_FALSE(recorded.value().warnings.empty());
}

TEST_F(Recorder, ContradictingOptionsAreUsageErrors) {
  const std::string program = script(directory_, "train", leave_spool_);
  const auto kind = [&](auto&& change) {
    RecordOptions given = options(program);
    change(given);
    const Result<RecordSummary> recorded = record(given);
    return recorded.ok() ? ErrorKind::internal : recorded.failure().kind;
  };
  EXPECT_EQ(kind([](RecordOptions& o) { o.program.clear(); }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.tiers = Tier::t2; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.tiers = TierSet(Tier::t1) | Tier::t2; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.tiers = {}; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.step_range.clear(); }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.schedule.phase_count = 0; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.counter_configurations = {{}}; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.counter_configurations.assign(9, {"m"}); }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.working_directory = "/nowhere"; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.spool_parent = "/nowhere"; }), ErrorKind::usage);
  EXPECT_EQ(kind([](RecordOptions& o) { o.agent_library = "/nowhere/agent.so"; }), ErrorKind::environment);
}

TEST_F(Recorder, AnythingButALibraryIsNoAgent) {
  std::ofstream(directory_ / "agent.so") << "root:x:0:0:root:/root:/bin/bash\n";
  const Result<RecordSummary> recorded = record(options(script(directory_, "train", leave_spool_)));
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::usage);
  EXPECT_NE(recorded.failure().message.find("is no shared library"), std::string::npos);
}

TEST_F(Recorder, DevicesPipesAndTheStandardOutputAreNoCaptures) {
  const std::string ran = directory_ / "ran";
  RecordOptions given = options(script(directory_, "train", "touch '" + ran + "'\n" + leave_spool_));
  given.overwrite = true;
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/null", (directory_ / "link").c_str()), 0);
  for (const std::string& output : {directory_ / "pipe", directory_ / "link", std::string("-")}) {
    given.output = output;
    const Result<RecordSummary> recorded = record(given);
    ASSERT_FALSE(recorded.ok()) << output;
    EXPECT_EQ(recorded.failure().kind, ErrorKind::usage) << output;
  }
  EXPECT_FALSE(fs::exists(ran));
  EXPECT_TRUE(fs::is_fifo(directory_ / "pipe"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
}

TEST_F(Recorder, SecretsOfTheCommandLineAreNotKept) {
  RecordOptions given = options(script(directory_, "train", leave_spool_));
  given.program.insert(given.program.end(), {"--hf-token", "geheim", "--lr", "0.1"});
  ASSERT_TRUE(record(given).ok());
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().command_line,
            directory_ / "train" + " --hf-token '***' --lr 0.1");
}

// Job schedulers send these shortly before a limit; a launcher that dies of them leaves the program unrecorded.
TEST_F(Recorder, SignalsOfJobSchedulersReachTheProgramAndDoNotEndTheLauncher) {
  for (const auto& [signal, name] :
       {std::pair(SIGUSR1, "USR1"), std::pair(SIGALRM, "ALRM"), std::pair(SIGPROF, "PROF"),
        std::pair(SIGXCPU, "XCPU"), std::pair(SIGPIPE, "PIPE")}) {
    const std::string seen = directory_ / (std::string("seen-") + name);
    RecordOptions given =
        options(script(directory_, "train",
                       std::string("trap 'touch ") + seen + "' " + name + "\n" + leave_spool_ + "touch '" +
                           directory_.path() + "/ready'\n" + "for i in 1 2 3 4 5 6 7 8 9 10; do [ -e '" +
                           seen + "' ] || sleep 0.2; done\n"));
    given.output = directory_ / (std::string(name) + ".ridge");
    fs::remove(directory_ / "ready");
    const pid_t launcher = fork();
    if (launcher == 0) _exit(record(given).ok() ? 0 : 1);
    for (int i = 0; i < 200 && !fs::exists(directory_ / "ready"); ++i) usleep(20'000);
    kill(launcher, signal);
    int status = 0;
    waitpid(launcher, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << name << " status " << status;
    EXPECT_TRUE(fs::exists(seen)) << name;
    EXPECT_TRUE(fs::exists(*given.output)) << name;
  }
}

TEST_F(Recorder, AnotherProfilerIsNotPushedAside) {
  setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  const Result<RecordSummary> recorded = record(options(script(directory_, "train", leave_spool_)));
  unsetenv("CUDA_INJECTION64_PATH");
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::environment);
  EXPECT_NE(recorded.failure().message.find("/opt/other.so"), std::string::npos);
}

TEST_F(Recorder, AProfilerIsNotRecorded) {
  const Result<RecordSummary> recorded = record(options(script(directory_, "ncu", leave_spool_)));
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::environment);
  EXPECT_NE(recorded.failure().message.find("is a profiler itself"), std::string::npos)
      << recorded.failure().message;
  EXPECT_TRUE(spool_directories().empty());
}

TEST_F(Recorder, NothingIsRecordedUnderAProfiler) {
  const RecordOptions given = options(script(directory_, "train", leave_spool_));
  const auto outcome_under = [&](const char* name) {
    const pid_t above = fork();
    if (above == 0) {
      prctl(PR_SET_NAME, name);
      const pid_t launcher = fork();
      if (launcher == 0) {
        const Result<RecordSummary> recorded = record(given);
        _exit(recorded.ok()                                                                   ? 0
              : recorded.failure().message.find("under compute-sanitiz") != std::string::npos ? 1
                                                                                              : 2);
      }
      int status = 0;
      waitpid(launcher, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
    }
    int status = 0;
    waitpid(above, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(outcome_under("compute-sanitizer"), 1);
  fs::remove(directory_ / "out.ridge");
  EXPECT_EQ(outcome_under("a) ncu"), 0) << "a name that only looks like it";
}

TEST_F(Recorder, TwoRecordingsAtOnceDoNotMeet) {
  const std::string program = script(directory_, "train", leave_spool_ + "sleep 0.3\n");
  RecordOptions first = options(program);
  RecordOptions second = options(program);
  second.output = directory_ / "second.ridge";
  std::optional<Result<RecordSummary>> of_first;
  std::thread other([&] { of_first.emplace(record(first)); });
  const Result<RecordSummary> of_second = record(second);
  other.join();
  ASSERT_TRUE(of_first->ok()) << of_first->failure().message;
  ASSERT_TRUE(of_second.ok()) << of_second.failure().message;
  EXPECT_EQ(open_capture(directory_ / "out.ridge").launches().size(), 30u);
  EXPECT_EQ(open_capture(directory_ / "second.ridge").launches().size(), 30u);
  EXPECT_TRUE(spool_directories().empty());
}

TEST_F(Recorder, TheWorkingTreeIsRecorded) {
  const std::string tree = directory_ / "tree";
  fs::create_directory(tree);
  const std::string git = "cd '" + tree +
                          "' && git -c init.defaultBranch=main init -q && echo a > f && git add f && "
                          "git -c user.name=t -c user.email=t@example.org commit -q -m x";
  if (std::system(git.c_str()) != 0) GTEST_SKIP() << "no git here";
  const std::string program =
      script(directory_, "train", leave_spool_ + "pwd > '" + directory_.path() + "/pwd'\n");
  RecordOptions given = options(program);
  given.working_directory = tree;
  ASSERT_TRUE(record(given).ok());
  store::Run run = open_capture(directory_ / "out.ridge").run();
  EXPECT_EQ(file_text(directory_ / "pwd"), fs::canonical(tree).string() + "\n");
  EXPECT_EQ(run.git_commit.value_or("").size(), 40u);
  EXPECT_EQ(run.git_dirty, false);
  // A repository's configuration may name programs to run: it is somebody else's.
  const std::string hook = script(directory_, "hook", "touch '" + directory_.path() + "/hook-ran'\n");
  ASSERT_EQ(std::system(("git -C '" + tree + "' config core.fsmonitor '" + hook + "'").c_str()), 0);
  std::ofstream(tree + "/untracked") << "x";
  std::ofstream(tree + "/f") << "changed";
  given.overwrite = true;
  ASSERT_TRUE(record(given).ok());
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().git_dirty, true);
  EXPECT_FALSE(fs::exists(directory_ / "hook-ran"));
}

TEST_F(Recorder, TheSpoolIsKeptOnRequest) {
  RecordOptions given = options(script(directory_, "train", leave_spool_));
  given.keep_spool = true;
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok());
  ASSERT_TRUE(recorded.value().spool_directory.has_value());
  EXPECT_EQ(spool_directories(), std::vector<std::string>{*recorded.value().spool_directory});
  EXPECT_EQ(import::planned_output(*recorded.value().spool_directory), directory_ / "out.ridge");
  EXPECT_TRUE(import::import_spools(*recorded.value().spool_directory, directory_ / "again.ridge").ok());
}

// Runs record() in a process of its own and returns its pid.
pid_t launcher(const RecordOptions& options) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const Result<RecordSummary> recorded = record(options);
  _exit(recorded.ok() ? recorded.value().exit_status.value_or(99) : 98);
}

void wait_for_file(const std::string& path) {
  for (int i = 0; i < 500 && !fs::exists(path); ++i) usleep(10'000);
  ASSERT_TRUE(fs::exists(path)) << path;
}

TEST_F(Recorder, SignalsReachTheProgramAndTheCaptureIsMade) {
  const std::string ready = directory_ / "ready";
  const std::string program = script(
      directory_, "train",
      leave_spool_ + "trap 'exit 7' TERM\ntouch '" + ready +
          "'\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.2; done\nexit 1\n");
  const pid_t pid = launcher(options(program));
  wait_for_file(ready);
  ASSERT_EQ(kill(pid, SIGTERM), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "the launcher died of the signal";
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().exit_status, 7);
}

TEST_F(Recorder, TheSpoolOfAKilledLauncherCanBeImported) {
  const std::string ready = directory_ / "ready";
  const std::string finished = directory_ / "finished";
  const std::string program = script(
      directory_, "train", leave_spool_ + "touch '" + ready + "'\nsleep 0.5\ntouch '" + finished + "'\n");
  const pid_t pid = launcher(options(program));
  wait_for_file(ready);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  wait_for_file(finished);  // the program itself goes on
  const auto spools = spool_directories();
  ASSERT_EQ(spools.size(), 1u);
  EXPECT_EQ(import::planned_output(spools[0]), directory_ / "out.ridge");
  const Result<import::ImportSummary> imported =
      import::import_spools(spools[0], import::planned_output(spools[0]));
  ASSERT_TRUE(imported.ok()) << imported.failure().message;
  const store::Run run = open_capture(directory_ / "out.ridge").run();
  EXPECT_EQ(run.command_line, program);
  EXPECT_EQ(run.end_ns, std::nullopt);
  EXPECT_EQ(run.exit_status, std::nullopt);
}

TEST_F(Recorder, AProcessLeftBehindIsNamed) {
  // The program ends at once; what it left behind still has a spool.
  const std::string child =
      script(directory_, "child", leave_spool_ + "touch '" + directory_.path() + "/ready'\nexec sleep 8\n");
  const std::string program = script(directory_, "train",
                                     leave_spool_ + "'" + child + "' > /dev/null 2>&1 &\nwhile [ ! -e '" +
                                         directory_.path() + "/ready' ]; do sleep 0.05; done\n");
  RecordOptions impatient = options(program);
  impatient.straggler_grace = std::chrono::milliseconds(60);
  const Result<RecordSummary> recorded = record(impatient);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  bool named = false;
  for (const std::string& warning : recorded.value().warnings) {
    named = named || warning.find("still ran when the program had ended") != std::string::npos;
  }
  EXPECT_TRUE(named);
}

TEST(SpoolDirectory, FallsBackToTheTemporaryDirectory) {
  TemporaryDirectory directory;
  setenv("TMPDIR", directory.path().c_str(), 1);
  Result<SpoolDirectory> made = SpoolDirectory::create("/proc", "x", true);
  unsetenv("TMPDIR");
  ASSERT_TRUE(made.ok()) << made.failure().message;
  EXPECT_EQ(fs::path(made.value().path()).parent_path(), directory.path());
  EXPECT_EQ(SpoolDirectory::create("/proc", "x", false).failure().kind, ErrorKind::io);
}

TEST(Manifest, SurvivesARoundTripWithBadText) {
  TemporaryDirectory directory;
  spool::LaunchManifest manifest;
  manifest.program = {"./a", "\xff"};
  manifest.environment = {{"CUDA_X", "\xfe"}};
  manifest.exit_signal = 11;
  manifest.ranks = {{5, 3}};
  ASSERT_TRUE(spool::write_manifest(directory.path(), manifest).ok());
  const auto read = spool::read_manifest(directory.path());
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read.value()->program, (std::vector<std::string>{"./a", "\xef\xbf\xbd"}));
  EXPECT_EQ(read.value()->exit_signal, 11);
  EXPECT_EQ(read.value()->ranks.at(5), 3);
  EXPECT_EQ(spool::write_manifest(directory / "nowhere", manifest).failure().kind, ErrorKind::io);
}

TEST(Manifest, HasWholeNumbersOnly) {
  TemporaryDirectory directory;
  for (const char* text : {R"({"manifest_version": 1, "ranks": [{"pid": 1e300, "rank": 0}]})",
                           R"({"manifest_version": 1, "start_ns": 0.5})", R"({"manifest_version": 1.0})"}) {
    std::ofstream(directory / spool::kManifestName) << text;
    const auto read = spool::read_manifest(directory.path());
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.failure().kind, ErrorKind::corrupt);
    EXPECT_NE(read.failure().message.find("a number of it is not whole"), std::string::npos)
        << read.failure().message;
  }
}

TEST(OutputName, SpeaksOfTheProgram) {
  EXPECT_EQ(default_output_name({"./bin/gpt2_train", "-x"}).rfind("gpt2_train-", 0), 0u);
  EXPECT_EQ(default_output_name({"python3", "-u", "dir/train.py"}).rfind("train-", 0), 0u);
  EXPECT_EQ(default_output_name({"/opt/env/bin/python3.12"}).rfind("python3.12-", 0), 0u);
  EXPECT_EQ(default_output_name({"x"}).substr(default_output_name({"x"}).size() - 6), ".ridge");
}

}  // namespace
}  // namespace ridgeline::launch::testing
