// ncu_names.h: names of kernels as several demanglers write them, made comparable.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::import {

/// A demangled name as all demanglers would write it: without blanks, "void" and the several names of the unnamed
/// namespace.
[[nodiscard]] std::string comparable_name(std::string_view name);

/// The function alone: without namespaces, template arguments and parameters.
[[nodiscard]] std::string plain_function_name(std::string_view name);

/// The function with its template arguments, less all that demanglers differ in: namespaces (Nsight Compute prints the
/// last one), lists of parameters (it prints T1, T2), types of constants, where "const" stands, and how a lambda is
/// numbered. Of a name without template arguments: empty. Two kernels may have one such text.
[[nodiscard]] std::string template_text(std::string_view name);

}  // namespace ridgeline::import
