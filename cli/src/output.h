// output.h: where a verb's words go. Documents are written as they are made; messages and progress go to
// standard error.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/reports/sink.h"
#include "ridgeline/reports/table.h"
#include "ridgeline/store/kept_file.h"

namespace ridgeline::cli {

/// Width and colour of standard output. A terminal gives its width, at least 80; a pipe has 100 columns;
/// COLUMNS overrides both. Colour only on a terminal, and not with NO_COLOR or TERM=dumb.
[[nodiscard]] reports::TextStyle standard_output_style();

/// Whether progress may be drawn on standard error.
[[nodiscard]] bool standard_error_is_terminal();

/// Writes everything. A reader that has gone away (`| head`) is no error and ends the writing; a full disk
/// throws Error(io).
void write_standard_output(const reports::Document& document);
void write_standard_output(std::string text);

/// One line "ridgeline VERB: message" on standard error.
void write_message(std::string_view verb, std::string_view message);

/// Writes a file, by way of a temporary beside it, so that no half-written file is left. A file that is
/// replaced keeps its mode. Throws Error(io), or Error(usage) if the file is one that is kept (a capture, a history, a
/// project file …) and not of the kind `replaces`.
void write_file(const std::string& path, const reports::Document& document,
                store::KeptKind replaces = store::KeptKind::none);

/// Throws Error(usage) if the file is kept and not of the kind `replaces`. Every verb that writes a file the user names
/// asks this first.
void require_replaceable(const std::string& path, store::KeptKind replaces = store::KeptKind::none);

}  // namespace ridgeline::cli
