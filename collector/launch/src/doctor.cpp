#include "ridgeline/launch/doctor.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "child_process.h"
#include "doctor_probe.h"
#include "mapped_libraries.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/libraries.h"
#include "spool_directory.h"

namespace ridgeline::launch {

namespace {

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}
std::string cupti_version(std::int64_t number) {
  // 130001 is 13.0.1; older releases had a plain count.
  return number >= 100000 ? fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100)
                          : std::to_string(number);
}
double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1ull << 30);
}

DoctorCheck check_gpu(const CudaProbe& cuda) {
  DoctorCheck check{.name = "gpu"};
  if (!cuda.gpus.empty()) {
    for (const ProbedGpu& gpu : cuda.gpus) {
      check.detail +=
          fmt::format("{}{} (compute capability {}, {:.0f} GiB)", check.detail.empty() ? "" : "; ", gpu.name,
                      gpu.compute_capability, gib(static_cast<std::uint64_t>(gpu.memory_bytes)));
    }
    return check;
  }
  check.status = CheckStatus::fail;
  check.detail = "no CUDA GPU on this machine";
  if (!cuda.problem.empty()) check.detail += ": " + cuda.problem;
  check.remedy = cuda.library_found ? "check nvidia-smi; in a container start it with --gpus all"
                                    : "record on a machine with an NVIDIA GPU; captures can be analysed here";
  return check;
}

DoctorCheck check_driver(const CudaProbe& cuda, const std::optional<std::string>& nvml) {
  DoctorCheck check{.name = "driver"};
  if (!cuda.library_found) {
    check.status = CheckStatus::fail;
    check.detail = "no NVIDIA driver: libcuda.so.1 was not found";
    check.remedy = "install NVIDIA's driver; in a container start it with --gpus all";
    return check;
  }
  check.detail =
      fmt::format("driver {}, CUDA {}", nvml.value_or("of unknown version"),
                  cuda.driver_version > 0 ? cuda_version(cuda.driver_version) : "of unknown version");
  if (cuda.driver_version > 0 && cuda.driver_version < 12000) {
    check.status = CheckStatus::warn;
    check.remedy = "Ridgeline is made for CUDA 12 and 13: update the driver";
  }
  return check;
}

DoctorCheck check_cupti(const std::optional<std::string>& path, const std::optional<std::int64_t>& version,
                        int driver_version) {
  DoctorCheck check{.name = "cupti"};
  if (!path) {
    check.status = CheckStatus::fail;
    check.detail =
        "libcupti was not found (looked in the Python environment, LD_LIBRARY_PATH, the CUDA toolkit and "
        "the system's directories)";
    check.remedy = "install it (apt-get install cuda-cupti-13-0) or set RIDGELINE_CUPTI_LIBRARY to its path";
    return check;
  }
  if (!version) {
    check.status = CheckStatus::fail;
    check.detail = fmt::format("{} does not load", *path);
    check.remedy = "set RIDGELINE_CUPTI_LIBRARY to a libcupti.so that fits this machine";
    return check;
  }
  check.detail = fmt::format("CUPTI {} ({})", cupti_version(*version), *path);
  if (driver_version > 0 && *version >= 100000 && *version / 10000 > driver_version / 1000) {
    check.status = CheckStatus::warn;
    check.detail += fmt::format(", newer than the driver's CUDA {}", cuda_version(driver_version));
    check.remedy = "update the driver, or use the CUPTI of its CUDA version";
  }
  return check;
}

DoctorCheck check_counters(const CounterPermission& permission, bool has_gpu) {
  DoctorCheck check{.name = "counters"};
  const char* basis = "by RmProfilingAdminOnly in /proc/driver/nvidia/params";
  const char* remedy =
      "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root; in a container "
      "start it with --cap-add SYS_ADMIN";
  if (!has_gpu) {
    check.status = CheckStatus::fail;
    check.detail = "no GPU, no counters";
    check.remedy = "see the check of the GPU";
    return check;
  }
  if (permission.admin_only == false) {
    check.detail = fmt::format("open to every user, {} = 0", basis);
  } else if (permission.has_sys_admin) {
    check.detail = permission.admin_only
                       ? fmt::format("for administrators, {} = 1; this process has CAP_SYS_ADMIN", basis)
                       : "the driver's parameters cannot be read; this process has CAP_SYS_ADMIN";
  } else if (!permission.admin_only) {
    check.status = CheckStatus::warn;
    check.detail = "unknown: the driver's parameters cannot be read and this process lacks CAP_SYS_ADMIN";
    check.remedy = remedy;
  } else if (permission.is_root) {
    check.status = CheckStatus::warn;
    check.detail =
        fmt::format("for administrators, {} = 1; this process is root without CAP_SYS_ADMIN", basis);
    check.remedy = remedy;
  } else {
    check.status = CheckStatus::fail;
    check.detail = fmt::format("refused to this user, {} = 1", basis);
    check.remedy = remedy;
  }
  return check;
}

DoctorCheck check_other_tools(const std::vector<OtherTool>& tools) {
  DoctorCheck check{.name = "other_tools"};
  if (tools.empty()) check.detail = "none seen";
  for (const OtherTool& tool : tools) {
    check.detail += (check.detail.empty() ? "" : "; ") + tool.text;
    check.status = std::max(check.status, tool.exclusive ? CheckStatus::fail : CheckStatus::warn);
  }
  if (check.status == CheckStatus::fail) check.remedy = "end the other profiler: CUDA takes one at a time";
  if (check.status == CheckStatus::warn) check.remedy = "if counters are refused: dcgmi profile --pause";
  return check;
}

DoctorCheck check_library(const char* name, const std::vector<std::string>& files,
                          const DoctorOptions& options) {
  DoctorCheck check{.name = name};
  const auto path = find_cuda_library(files, options.program);
  if (path) {
    check.detail =
        fmt::format("{} {} ({})", name, library_version(name, *path).value_or("of unknown version"), *path);
  } else {
    check.status = CheckStatus::warn;
    check.detail = fmt::format("{} was not found", files.front());
    check.remedy = "only programs that use it need it, the bundled trainer among them";
  }
  return check;
}

DoctorCheck check_spool(const std::string& directory) {
  DoctorCheck check{.name = "spool"};
  Result<SpoolDirectory> made = SpoolDirectory::create(directory, "ridgeline-doctor", true);
  if (!made.ok()) {
    check.status = CheckStatus::fail;
    check.detail = made.failure().message;
    check.remedy = "write the capture elsewhere (-o), or set TMPDIR to a directory that can be written";
    return check;
  }
  SpoolDirectory spool = std::move(made).value();
  const std::string parent = std::filesystem::path(spool.path()).parent_path().string();
  struct statvfs disk {};
  const bool known = statvfs(spool.path().c_str(), &disk) == 0;
  spool.remove();
  const std::uint64_t free_bytes = known ? static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize : 0;
  check.detail = known ? fmt::format("{} can be written, {:.1f} GiB free", parent, gib(free_bytes))
                       : fmt::format("{} can be written, free space unknown", parent);
  // A million launches take about 200 MB.
  if (known && free_bytes < (1ull << 30)) {
    check.status = CheckStatus::warn;
    check.remedy = "a long recording needs more than 1 GiB: free some, or write elsewhere (-o)";
  }
  return check;
}

DoctorCheck check_agent(const std::optional<std::string>& path) {
  DoctorCheck check{.name = "agent"};
  if (path && access(path->c_str(), R_OK) == 0) {
    check.detail = *path;
    return check;
  }
  check.status = CheckStatus::fail;
  check.detail = path ? fmt::format("{} cannot be read", *path)
                      : "libridgeline_agent.so is not beside this program: it was not built";
  check.remedy =
      "cmake --build build --target ridgeline_agent, where the CUDA toolkit with CUPTI is installed";
  return check;
}

}  // namespace

std::string_view check_status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok:
      return "ok";
    case CheckStatus::warn:
      return "warn";
    case CheckStatus::fail:
      return "fail";
  }
  return "fail";
}

CheckStatus DoctorReport::status() const {
  CheckStatus worst = CheckStatus::ok;
  for (const DoctorCheck& check : checks) worst = std::max(worst, check.status);
  return worst;
}

bool DoctorReport::can_record() const {
  return std::any_of(tiers.begin(), tiers.end(),
                     [](const TierForecast& tier) { return tier.tier == Tier::t0 && tier.available; });
}

DoctorReport run_doctor(const DoctorOptions& options) {
  DoctorReport report;
  const CudaProbe cuda = probe_cuda();
  const std::optional<std::string> nvml = probe_nvml();
  const auto cupti = options.cupti_library ? options.cupti_library : find_cupti_library(options.program);
  const auto cupti_number = cupti ? probe_cupti(*cupti) : std::nullopt;
  const auto agent = options.agent_library ? options.agent_library : find_agent_library();

  report.checks.push_back(check_gpu(cuda));
  report.checks.push_back(check_driver(cuda, nvml));
  report.checks.push_back(check_cupti(cupti, cupti_number, cuda.driver_version));
  report.checks.push_back(check_counters(probe_counter_permission(), !cuda.gpus.empty()));
  report.checks.push_back(check_other_tools(probe_other_tools()));
  DoctorCheck clocks{.name = "nvml"};
  if (nvml) {
    clocks.detail = "NVML of driver " + *nvml;
  } else {
    clocks.status = CheckStatus::warn;
    clocks.detail = "libnvidia-ml.so.1 is missing or refuses: clocks, power and temperature will be absent";
    clocks.remedy = "it comes with the driver; in a container ask for the utility capability";
  }
  report.checks.push_back(clocks);
  report.checks.push_back(
      check_library("cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}, options));
  report.checks.push_back(check_library("cudnn", {"libcudnn.so.9", "libcudnn.so"}, options));
  report.checks.push_back(check_spool(options.output_directory));
  report.checks.push_back(check_agent(agent));

  const auto find = [&](std::string_view name) -> const DoctorCheck& {
    return *std::find_if(report.checks.begin(), report.checks.end(),
                         [&](const DoctorCheck& check) { return check.name == name; });
  };
  TierForecast timeline{.tier = Tier::t0, .available = true, .reason = "the timeline needs no permission"};
  for (const char* needed : {"gpu", "driver", "cupti", "other_tools", "spool", "agent"}) {
    if (find(needed).status != CheckStatus::fail) continue;
    timeline.available = false;
    timeline.reason = find(needed).detail;
    break;
  }
  // In-situ samples and counters need the same permission; whether the device samples shows when it is tried.
  TierForecast counters{.tier = Tier::t2, .available = timeline.available, .reason = timeline.reason};
  const DoctorCheck& permission = find("counters");
  if (timeline.available) {
    counters.available = permission.status != CheckStatus::fail;
    counters.reason = permission.detail;
  }
  TierForecast samples = counters;
  samples.tier = Tier::t1;
  report.tiers = {timeline, samples, counters};
  if (!timeline.available) {
    report.overall = "nothing can be recorded here: " + timeline.reason;
  } else if (!counters.available) {
    report.overall = "timeline only (T0): counters are " + counters.reason;
  } else if (permission.status == CheckStatus::warn) {
    report.overall = "timeline (T0) will work; samples (T1) and counters (T2) if the driver allows them: " +
                     counters.reason;
  } else {
    report.overall = "timeline (T0), samples (T1) and counters by step replay (T2) will work";
  }
  return report;
}

}  // namespace ridgeline::launch
