// elide.h: shortens text to a number of terminal columns, losing what a reader needs least. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::reports {

/// Columns that UTF-8 text takes on a terminal; control characters count as one.
[[nodiscard]] int display_width(std::string_view text);

/// Head and tail with "…" between, cut at whole characters, if the text is longer than `bytes` (>= 16): names of
/// megabytes occur, and nobody reads them whole.
[[nodiscard]] std::string bounded(std::string_view text, std::size_t bytes = 4096);

/// The first columns, then "…"; unchanged if it fits.
[[nodiscard]] std::string elide_end(std::string_view text, int columns);

/// "…", then the last columns: for paths, which differ at their end; unchanged if it fits.
[[nodiscard]] std::string elide_start(std::string_view text, int columns);

/// Head and tail with "…" between; unchanged if it fits.
[[nodiscard]] std::string elide_middle(std::string_view text, int columns);

/// Each of these "a / b / c" as elide_start would have it, but cut between words only, of which a number is one, and
/// without half a component at its start where there is room; except that different ones stay different where the
/// component in which they part has room: it is kept whole and what follows it loses its middle. A word that is longer
/// than all the columns is cut.
[[nodiscard]] std::vector<std::string> elide_paths(const std::vector<std::string>& paths, int columns);

/// A demangled kernel name as people say it: without return type and parameter list.
///   "void ns::add<float>(float*, int)" -> "ns::add<float>"
/// Of several ("void a(int), void b() → void c()") each likewise, here and below.
/// A grid after it stays, here and below: "void ns::add<float>(float*, int) [132,1,1]" -> "ns::add<float>
/// [132,1,1]"
[[nodiscard]] std::string kernel_display_name(std::string_view demangled_name);

/// kernel_display_name in at most `columns` (>= 8) columns. What goes first: namespaces and casts inside the
/// template arguments ("(ns::Kind)1" -> "1"), then the namespaces if that saves the arguments, then the middle
/// of the arguments, the namespaces, the arguments whole, last the middle of the function's own name. Function
/// name and tail, which tell two instances apart, stay as long as they can.
[[nodiscard]] std::string elide_kernel_name(std::string_view demangled_name, int columns);

/// Each name as elide_kernel_name would have it, except that different names stay different: those that would
/// look alike show where they part instead of their tail.
[[nodiscard]] std::vector<std::string> elide_kernel_names(const std::vector<std::string>& demangled_names,
                                                          int columns);

}  // namespace ridgeline::reports
