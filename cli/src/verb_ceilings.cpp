// verb_ceilings.cpp: measures the roofs of this machine's GPU, keeps them in its machine file, and prints them.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/experiment/ceilings.h"
#include "ridgeline/experiment/rounds.h"
#include "ridgeline/reports/ceilings_document.h"
#include "ridgeline/store/machine_ceilings.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBenchmarks = "ridgeline_ceilings";

struct CeilingsOptions {
  PrintOptions print;
  std::string show;
  bool thorough = false;
  std::int64_t seconds = 0;
  bool verify = false;
  std::int64_t device = 0;
  std::string only;
  std::string save;
  bool no_save = false;
  std::string program;
  std::vector<std::string> plants;
};

std::string benchmarks_program() {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / kBenchmarks).string();
}

void declare(const Command& app, CeilingsOptions& o) {
  app.add_option("--show", o.show, "Print a machine file that is there, and measure nothing")
      .type_name("FILE");
  app.add_flag("--thorough", o.thorough, "Take minutes: long pauses and loads, more sizes, more shapes");
  app.add_option(
         "--seconds", o.seconds,
         "Begin no benchmark after S seconds and keep what was measured by then (default: measure all)")
      .whole_number(1)
      .type_name("S");
  app.add_flag(
      "--verify", o.verify,
      "Record the benchmarks too: a roof whose counters differ by more than 2 % from what it says it does "
      "is void");
  app.add_option("--device", o.device, "CUDA's number of the GPU (default 0)").whole_number(0).type_name("N");
  app.add_option(
         "--only", o.only,
         "Measure these, comma-separated: levels (dram, l2, l1, shared, compute, launch, pcie, nvlink) or "
         "roofs (dram.read, compute.bf16); kept only with --save")
      .type_name("NAMES");
  app.add_option("--save", o.save, "The machine file (default: docs/ceilings.md)").type_name("FILE");
  app.add_flag("--no-save", o.no_save, "Keep nothing");
  app.add_option("--program", o.program, "The benchmarks' program, if not beside this one").type_name("FILE");
  app.add_option("--plant", o.plants, "A fault that shall be found").group("");
  add_print_options(app, o.print);
}

std::string measured_text(const CeilingsOptions& o) {
  experiment::CeilingsPlan plan;
  plan.program = o.program.empty() ? benchmarks_program() : o.program;
  if (access(plan.program.c_str(), X_OK) != 0) {
    throw Error(ErrorKind::environment,
                fmt::format("{} was not built: it needs the CUDA toolkit, then build again", plan.program));
  }
  plan.recorder = experiment::own_recorder();
  plan.thorough = o.thorough;
  plan.seconds = static_cast<double>(o.seconds);
  plan.verify = o.verify;
  plan.device = o.device;
  plan.only = split(o.only, ',');
  for (const std::string& plant : o.plants) plan.more.insert(plan.more.end(), {"--plant", plant});
  plan.show_progress = standard_error_is_terminal();
  plan.tell = [](const std::string& line) { write_message("ceilings", line); };
  experiment::Interruption interruption(plan.tell);
  return experiment::measure_ceilings(plan, &interruption).value();
}

bool any_roof(const store::MachineCeilings& machine) {
  for (const store::CeilingRoof& roof : machine.roofs) {
    for (const store::CeilingReading& reading : roof.readings) {
      if (reading.voids.empty()) return true;
    }
  }
  return false;
}

// Where the figures were kept; "": nowhere.
std::string keep(const CeilingsOptions& o, const store::MachineCeilings& machine, const std::string& text) {
  if (o.no_save || (o.save.empty() && !o.only.empty())) return "";
  if (!any_roof(machine)) {
    write_message("ceilings", "not kept: no figure is a roof");
    return "";
  }
  std::string path = o.save;
  if (path.empty()) {
    const std::string directory = store::ceilings_directory();
    if (directory.empty()) {
      write_message("ceilings", "not kept: neither XDG_DATA_HOME nor HOME is set; --save FILE says where");
      return "";
    }
    std::error_code failed;
    fs::create_directories(directory, failed);
    if (failed) throw Error(ErrorKind::io, fmt::format("{}: {}", directory, failed.message()));
    path = store::ceilings_path(directory, machine);
  }
  write_file(path, reports::Document(text));
  return path;
}

}  // namespace

Verb add_ceilings(Command program) {
  auto options = std::make_shared<CeilingsOptions>();
  const Command app = program.add_subcommand(
      "ceilings", "Measure the roofs of this machine's GPU: memory, caches, arithmetic, launches, links");
  declare(app, *options);
  return {app, [options] {
            if (!options->save.empty()) require_replaceable(options->save);
            std::string text, path;
            store::MachineCeilings machine;
            if (!options->show.empty()) {
              machine = store::read_machine_ceilings(options->show).value();
            } else {
              text = measured_text(*options);
              machine = store::parse_machine_ceilings(text).value();
              path = keep(*options, machine, text);
            }
            print(options->print, reports::ceilings_document(machine, document_options(options->print)));
            if (!path.empty()) write_message("ceilings", "kept in " + path);
            return any_roof(machine) ? 0 : exit_code(ErrorKind::no_data);
          }};
}

}  // namespace ridgeline::cli
