// doctor.h: says in advance what a recording on this machine can measure. Needs no CUDA to build or to run;
// the driver's libraries are loaded in a child process, so that a broken driver cannot take the caller down.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::launch {

enum class CheckStatus { ok, warn, fail };
[[nodiscard]] std::string_view check_status_name(CheckStatus status);  // "ok", "warn", "fail"

struct DoctorCheck {
  std::string name;  // gpu, driver, cupti, counters, other_tools, nvml, cublas, cudnn, spool, agent
  CheckStatus status = CheckStatus::ok;
  std::string detail;  // one line: what was found, and what that rests on
  std::string remedy;  // one line: what to do; empty if ok
};

struct TierForecast {
  Tier tier = Tier::t0;
  bool available = false;
  std::string reason;  // why not, or what it rests on
};

struct DoctorOptions {
  std::string output_directory = ".";        // where captures and spools would go
  std::vector<std::string> program;          // the program meant, if known: its Python's CUPTI is looked at
  std::optional<std::string> agent_library;  // default: find_agent_library()
  std::optional<std::string> cupti_library;  // default: find_cupti_library()
};

struct DoctorReport {
  std::vector<DoctorCheck> checks;
  std::vector<TierForecast> tiers;
  std::string overall;                       // one line: which tiers will work
  [[nodiscard]] CheckStatus status() const;  // the worst of the checks
  [[nodiscard]] bool can_record() const;     // T0 is available
};

[[nodiscard]] DoctorReport run_doctor(const DoctorOptions& options = {});

}  // namespace ridgeline::launch
