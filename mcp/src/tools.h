// tools.h: what the server can be asked: eight tools, their arguments, and how a call is answered.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "captures.h"
#include "json.h"

namespace ridgeline::mcp {

/// One argument of a tool.
struct Argument {
  enum class Type { text, number };
  std::string_view name;
  Type type = Type::text;
  std::string_view meaning;
  bool required = false;
  std::int64_t min = 1, max = 200;  ///< of a number; of a text the bytes that it may have
};

/// What a tool has to answer with.
struct Call {
  Captures& captures;
  const Json& arguments;  ///< checked against the tool's own
  std::stop_token stop;

  /// "": not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  /// The step, range or process that the arguments mean.
  [[nodiscard]] analyzer::Scope scope() const;
  /// A document of the capture, as JSON. Throws Error.
  [[nodiscard]] Json document(const CaptureFile& file, const queries::CaptureQuery& query,
                              const std::string& columns = "", std::int64_t top = 0) const;
};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<Argument> arguments;
  Json (*answer)(const Call& call);  ///< throws Error
};

/// In the order in which they are listed.
[[nodiscard]] const std::vector<Tool>& tools();
[[nodiscard]] Json input_schema(const Tool& tool);
/// Throws Error(usage) for an argument that the tool does not have, lacks, or has of another kind.
void check_arguments(const Tool& tool, const Json& arguments);

[[nodiscard]] Json answer_captures(const Call& call);
[[nodiscard]] Json answer_summary(const Call& call);
[[nodiscard]] Json answer_rank(const Call& call);
[[nodiscard]] Json answer_explain(const Call& call);
[[nodiscard]] Json answer_steps(const Call& call);
[[nodiscard]] Json answer_compare(const Call& call);
[[nodiscard]] Json answer_sql(const Call& call);
[[nodiscard]] Json answer_ncu_command(const Call& call);

}  // namespace ridgeline::mcp
