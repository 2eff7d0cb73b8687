#include "ridgeline/launch/doctor.h"

#include <set>

#include "child_process.h"
#include "doctor_probe.h"
#include "launch/launch_testing.h"
#include "ridgeline/launch/libraries.h"

namespace ridgeline::launch::testing {
namespace {

const DoctorCheck& find(const DoctorReport& report, const std::string& name) {
  for (const DoctorCheck& check : report.checks) {
    if (check.name == name) return check;
  }
  throw std::runtime_error("no check " + name);
}

TEST(Doctor, AnswersEveryQuestionOnAnyMachine) {
  TemporaryDirectory directory;
  const DoctorReport report = run_doctor({.output_directory = directory.path()});
  std::set<std::string> names;
  for (const DoctorCheck& check : report.checks) {
    names.insert(check.name);
    EXPECT_FALSE(check.detail.empty()) << check.name;
    EXPECT_EQ(check.detail.find('\n'), std::string::npos) << check.name;
    EXPECT_EQ(check.remedy.empty(), check.status == CheckStatus::ok) << check.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"agent", "counters", "cublas", "cudnn", "cupti", "driver", "gpu",
                                          "nvml", "other_tools", "spool"}));
  ASSERT_EQ(report.tiers.size(), 3u);
  EXPECT_EQ(report.tiers[0].tier, Tier::t0);
  EXPECT_EQ(report.tiers[1].tier, Tier::t1);
  EXPECT_EQ(report.tiers[2].tier, Tier::t2);
  EXPECT_FALSE(report.overall.empty());
  EXPECT_TRUE(fs::is_empty(directory.path())) << "the doctor left something behind";
}

TEST(Doctor, SaysPlainlyThatThereIsNoGpu) {
  if (!probe_cuda().gpus.empty()) GTEST_SKIP() << "this machine has a GPU";
  const DoctorReport report = run_doctor();
  EXPECT_EQ(find(report, "gpu").status, CheckStatus::fail);
  EXPECT_NE(find(report, "gpu").detail.find("no CUDA GPU"), std::string::npos);
  EXPECT_EQ(report.status(), CheckStatus::fail);
  EXPECT_FALSE(report.can_record());
  EXPECT_EQ(report.overall.find("nothing can be recorded here: no CUDA GPU"), 0u) << report.overall;
}

TEST(Doctor, AMissingAgentStopsAllTiers) {
  const DoctorReport report = run_doctor({.agent_library = "/nowhere/agent.so"});
  EXPECT_EQ(find(report, "agent").status, CheckStatus::fail);
  EXPECT_FALSE(report.can_record());
}

TEST(Doctor, ACuptiThatDoesNotLoadIsNamed) {
  TemporaryDirectory directory;
  std::ofstream(directory / "libcupti.so") << "no library";
  const DoctorReport report = run_doctor({.cupti_library = directory / "libcupti.so"});
  EXPECT_EQ(find(report, "cupti").status, CheckStatus::fail);
  EXPECT_NE(find(report, "cupti").detail.find("does not load"), std::string::npos);
}

TEST(Doctor, AnInjectionOfSomebodyElseIsAConflict) {
  setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  const DoctorReport report = run_doctor();
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_EQ(find(report, "other_tools").status, CheckStatus::fail);
  EXPECT_NE(find(report, "other_tools").detail.find("/opt/other.so"), std::string::npos);
}

TEST(CounterPermission, IsReadFromDriverAndProcess) {
  const std::string admin_status = "Name:\tx\nCapEff:\t000001ffffffffff\n";
  const std::string plain_status = "CapEff:\t0000000000000000\n";
  const std::string container_status = "CapEff:\t00000000a80425fb\n";  // root in a container, no SYS_ADMIN
  EXPECT_EQ(counter_permission_from("A: 1\nRmProfilingAdminOnly: 1\n", plain_status, false).admin_only, true);
  EXPECT_EQ(counter_permission_from("RmProfilingAdminOnly: 0\n", plain_status, false).admin_only, false);
  EXPECT_EQ(counter_permission_from("Other: 1\n", plain_status, false).admin_only, std::nullopt);
  EXPECT_EQ(counter_permission_from(std::nullopt, plain_status, false).admin_only, std::nullopt);
  EXPECT_TRUE(counter_permission_from(std::nullopt, admin_status, true).has_sys_admin);
  EXPECT_FALSE(counter_permission_from(std::nullopt, container_status, true).has_sys_admin);
  EXPECT_FALSE(counter_permission_from(std::nullopt, "", true).has_sys_admin);
}

TEST(Isolation, SurvivesWhatHappensInside) {
  using std::chrono::milliseconds;
  EXPECT_EQ(run_isolated([] { return std::string("fine"); }, milliseconds(5000)), "fine");
  EXPECT_EQ(run_isolated([] { return std::string(); }, milliseconds(5000)), "");
  EXPECT_EQ(run_isolated(
                []() -> std::string {
                  raise(SIGKILL);
                  return "";
                },
                milliseconds(5000)),
            std::nullopt);
  EXPECT_EQ(run_isolated([]() -> std::string { throw 1; }, milliseconds(5000)), std::nullopt);
  EXPECT_EQ(run_isolated(
                []() -> std::string {
                  sleep(60);
                  return "late";
                },
                milliseconds(100)),
            std::nullopt);
  EXPECT_EQ(run_isolated([] { return std::string(200'000, 'x'); }, milliseconds(5000)).value_or("").size(),
            200'000u);
}

TEST(RunAndCapture, TakesOutputAndStatusAndDoesNotWaitForEver) {
  using std::chrono::milliseconds;
  const auto run =
      run_and_capture({"sh", "-c", "echo hello; echo noise >&2; exit 4"}, milliseconds(5000), "/tmp");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->output, "hello\n");
  EXPECT_EQ(run->exit_status, 4);
  EXPECT_FALSE(run_and_capture({"sleep", "60"}, milliseconds(100)).has_value());
  EXPECT_FALSE(run_and_capture({"/nowhere/tool"}, milliseconds(100)).has_value());
}

TEST(Libraries, ThePythonEnvironmentOfTheProgramComesFirst) {
  TemporaryDirectory directory;
  const std::string library = "/lib/python3.12/site-packages/nvidia/cu13/lib";
  fs::create_directories(directory.path() + "/env" + library);
  fs::create_directories(directory / "env/bin");
  fs::create_directories(directory / "linker");
  std::ofstream(directory.path() + "/env" + library + "/libcupti.so.13") << "x";
  std::ofstream(directory / "linker/libcupti.so.13") << "x";
  script(directory, "env/bin/python3", "exit 0\n");
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string saved = before == nullptr ? "" : before;
  setenv("LD_LIBRARY_PATH", (directory / "linker").c_str(), 1);
  const auto of_python = find_cupti_library({directory / "env/bin/python3", "train.py"});
  const auto of_program = find_cuda_library({"libcupti.so.13"}, {"./train"});
  setenv("LD_LIBRARY_PATH", saved.c_str(), 1);
  EXPECT_EQ(of_python, directory.path() + "/env" + library + "/libcupti.so.13");
  // A virtual environment that is active here may come before the linker's path; never the program's python.
  ASSERT_TRUE(of_program.has_value());
  if (std::getenv("VIRTUAL_ENV") == nullptr && std::getenv("CONDA_PREFIX") == nullptr) {
    EXPECT_EQ(*of_program, directory / "linker/libcupti.so.13");
  }
}

}  // namespace
}  // namespace ridgeline::launch::testing
