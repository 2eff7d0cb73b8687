// verb_doctor.cpp: what a recording on this machine will be able to measure.
#include <memory>

#include "doctor_document.h"
#include "ridgeline/launch/doctor.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_doctor(Command program, const std::vector<std::string>& command) {
  struct Options {
    PrintOptions print;
    std::string directory = ".";
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("doctor", "Say what a recording on this machine can measure: exit 4 if nothing");
  app.add_option("--directory", options->directory, "Where captures would go (default: here)")
      .type_name("DIR");
  add_print_options(app, options->print, false);
  app.footer(
      "ridgeline doctor [OPTIONS] [-- PROGRAM ARGS...]   also looks at the CUPTI of that program's Python");
  return {app, [options, &command] {
            launch::DoctorOptions doctor;
            doctor.output_directory = options->directory;
            doctor.program = command;
            const launch::DoctorReport report = launch::run_doctor(doctor);
            const reports::DocumentOptions how = document_options(options->print);
            print(options->print, doctor_document(report, how));
            return report.can_record() ? 0 : exit_code(ErrorKind::environment);
          }};
}

}  // namespace ridgeline::cli
