#include "ridgeline/reports/ncu_command_document.h"

#include <fmt/format.h>

#include <cctype>
#include <sstream>

#include "document_parts.h"
#include "json_parts.h"
#include "json_values.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

constexpr const char* kUnknownProgram = "PROGRAM ARGUMENTS";
constexpr std::size_t kMaxFileName = 60;

// Exactly that name, whatever it holds.
std::string exact_pattern(const std::string& name) {
  std::string pattern = "regex:^";
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

std::string file_name(const std::string& function) {
  std::string name = "ncu-";
  for (const char c : function.substr(0, kMaxFileName))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '-';
  return name;
}

std::string program_of(const NcuCommand& command) {
  return command.program.empty() ? kUnknownProgram : one_line(command.program);
}

// Options with their values, a line each.
std::string script(const NcuCommand& command) {
  const std::vector<std::string> words = ncu_words(command);
  std::string out = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool option = words[i].starts_with("-");
    out += option ? " \\\n  " : " ";
    out += shell_quoted({words[i]});
  }
  return out + " \\\n  " + program_of(command) + "\n";
}

// A note as lines of a script's comment.
std::string commented(const std::string& note, int columns) {
  std::istringstream lines(wrapped(terminal_safe(note), columns - 2));
  std::string out;
  for (std::string line; std::getline(lines, line);) out.append("# ").append(line).append("\n");
  return out;
}

struct CommandRow {
  const NcuCommand* command = nullptr;
};

Table command_table(const NcuCommand& command) {
  std::vector<Column<CommandRow>> columns = {
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name},
       [](const CommandRow& r) { return Cell::text(r.command->kernel); }},
      {{.key = "launch_skip", .header = "skip", .help = "launches before the one that is profiled"},
       [](const CommandRow& r) { return Cell::number(r.command->launch_skip); }},
      {{.key = "launch_count", .header = "count", .help = "launches that are profiled"},
       [](const CommandRow& r) { return Cell::number(r.command->launch_count); }},
      {{.key = "command", .header = "command", .help = "as a shell takes it", .align = Align::left},
       [](const CommandRow& r) { return Cell::text(ncu_line(*r.command)); }}};
  return {std::move(columns), 1, [&command](std::size_t) { return CommandRow{&command}; }};
}

Json command_json(const NcuCommand& command) {
  Json out = Json::object();
  out["kernel"] = valid_utf8(command.kernel);
  out["function"] = valid_utf8(command.function);
  out["launch_skip"] = command.launch_skip;
  out["launch_count"] = command.launch_count;
  out["recorded_launches"] = command.recorded_launches;
  out["step_index"] = optional_json(command.step_index);
  out["sections"] = command.sections;
  Json words = Json::array();
  for (const std::string& word : ncu_words(command)) words.push_back(valid_utf8(word));
  out["arguments"] = std::move(words);
  out["program"] = command.program.empty() ? Json(nullptr) : Json(valid_utf8(command.program));
  out["working_directory"] =
      command.working_directory ? Json(valid_utf8(*command.working_directory)) : Json(nullptr);
  out["command"] = valid_utf8(ncu_line(command));
  Json notes = Json::array();
  for (const std::string& note : ncu_notes(command)) notes.push_back(valid_utf8(note));
  out["notes"] = std::move(notes);
  return out;
}

}  // namespace

std::vector<std::string> ncu_words(const NcuCommand& command) {
  std::vector<std::string> words = {
      "ncu", "--target-processes", "all", "--kernel-name-base", "function", "--kernel-name",
      exact_pattern(command.function), "--launch-skip", std::to_string(command.launch_skip), "--launch-count",
      std::to_string(command.launch_count),
      // As in the run: Nsight Compute would flush caches and hold the base clock.
      "--cache-control", "none", "--clock-control", "none"};
  if (command.graph) words.insert(words.end(), {"--graph-profiling", "node"});
  for (const std::string& section : command.sections) words.insert(words.end(), {"--section", section});
  words.insert(words.end(), {"-o", file_name(command.function)});
  return words;
}

std::vector<std::string> ncu_notes(const NcuCommand& command) {
  std::vector<std::string> notes;
  std::string which =
      fmt::format("{}: launch {} of {} that were recorded", elide_kernel_name(command.kernel, 60),
                  command.launch_skip + 1, command.recorded_launches);
  if (command.step_index) which += fmt::format(", the first of step {}", *command.step_index);
  notes.push_back(which + ".");
  if (command.same_function > 1) {
    notes.push_back(
        fmt::format("{} kernels are called {}: ncu counts their launches together, and so does the number "
                    "that is skipped.",
                    command.same_function, command.function));
  }
  if (command.working_directory) notes.push_back("Run it in " + *command.working_directory + ".");
  if (command.program.empty())
    notes.push_back("The recording does not say how the program was started: put that in.");
  if (command.processes > 1) {
    notes.push_back(
        fmt::format("{} processes launched kernels: the number is of the one that was process {}.",
                    command.processes, command.pid));
  }
  if (command.begins_late)
    notes.push_back("The recording began after the program: add the launches before it to --launch-skip.");
  if (command.incomplete)
    notes.push_back("Launches were lost in the recording: the number may be too small.");
  return notes;
}

std::string ncu_line(const NcuCommand& command) {
  return shell_quoted(ncu_words(command)) + " " + program_of(command);
}

Document ncu_command_document(const analyzer::Model& model, const NcuCommand& command,
                              const DocumentOptions& options) {
  switch (options.format) {
    case Format::csv:
      return csv_document(command_table(command));
    case Format::json:
      return Document([&model, &command](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.ncu_command");
        out.value("capture", capture_json(model));
        out.value("ncu", JsonPart(command_json(command)));
        out.finish();
      });
    case Format::markdown: {
      std::string out;
      for (const std::string& note : ncu_notes(command)) out += "- " + markdown_cell(note) + "\n";
      return Document(out + "\n" + markdown_code(ncu_line(command)) + "\n");
    }
    case Format::text:
      break;
  }
  std::string out;
  for (const std::string& note : ncu_notes(command)) out += commented(note, options.text.columns);
  return Document(out + script(command));
}

}  // namespace ridgeline::reports
