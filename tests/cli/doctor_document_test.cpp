// What `doctor` says of machines that are not at hand, in every format and at several widths.
#include "doctor_document.h"

#include "support/accepted_cases.h"

namespace ridgeline::cli {
namespace {

using launch::CheckStatus;
using testing::AcceptedCases;

launch::DoctorReport a_machine() {
  launch::DoctorReport report;
  report.checks = {
      {"gpu", CheckStatus::ok, "NVIDIA H200, compute capability 9.0, 132 multiprocessors", ""},
      {"driver", CheckStatus::warn, "570.1, older than CUPTI 12.9 wants", "update it to 575 or newer"},
      {"other_tools", CheckStatus::fail,
       "a profiler is injected into this shell already: CUDA_INJECTION64_PATH=/opt/other/lib.so, which would "
       "be loaded into every program that it starts",
       "unset CUDA_INJECTION64_PATH, which some modules of clusters set, and start a new shell, or ask who "
       "set it: \x1b[31mred\x1b[0m, \"quoted, with a comma\""},
      {"核", CheckStatus::ok, "", "nothing"}};
  report.tiers = {{Tier::t0, true, "the timeline needs no permission"},
                  {Tier::t1, false,
                   "counters are not permitted for this user: ask for NVreg_RestrictProfilingToAdminUsers=0"},
                  {Tier::t2, false, "likewise"}};
  report.overall =
      "Only the timeline will be recorded: counters are refused by the driver, which an administrator can "
      "change";
  return report;
}

TEST(DoctorDocument, IsTheSameInEveryFormat) {
  const launch::DoctorReport all = a_machine();
  launch::DoctorReport none;
  none.overall = "Nothing can be recorded";
  none.tiers = {{Tier::t0, false, "no driver"}};
  launch::DoctorReport one = all;
  one.checks.resize(1);
  one.tiers.resize(1);
  for (const launch::DoctorReport* report : {&all, static_cast<const launch::DoctorReport*>(&none),
                                             static_cast<const launch::DoctorReport*>(&one)}) {
    AcceptedCases::expect([&] {
      std::string text;
      for (const reports::Format format :
           {reports::Format::json, reports::Format::csv, reports::Format::markdown, reports::Format::text})
        text += doctor_document(*report, {.format = format, .text = {100, false}}).text() + "\n";
      for (int columns = 40; columns <= 200; columns += 7) {
        text += doctor_document(*report, {.text = {columns, false}}).text() + "\n";
        text += doctor_document(*report, {.text = {columns, true}}).text() + "\n";
      }
      return text;
    });
  }
}

}  // namespace
}  // namespace ridgeline::cli
