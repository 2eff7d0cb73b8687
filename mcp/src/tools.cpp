#include "tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/text.h"

namespace ridgeline::mcp {
namespace {

using Type = Argument::Type;

constexpr std::int64_t kMaxName = 4096;
constexpr Argument kCapture = {
    .name = "capture", .meaning = "a name or handle that `captures` gave", .required = true, .max = kMaxName};
constexpr Argument kStep = {.name = "step",
                            .type = Type::number,
                            .meaning = "index of a step; without it the median timeline step",
                            .min = 0,
                            .max = INT64_MAX};
constexpr Argument kRange = {.name = "range",
                             .meaning = "NVTX ranges: a name or a pattern with * and ?, as 'forward'",
                             .max = kMaxName};
constexpr Argument kTop = {
    .name = "top", .type = Type::number, .meaning = "rows, most important first (default 20)"};
constexpr Argument kKernel = {.name = "kernel",
                              .meaning = "its number in `rank` (\"1\"), its name, a part of it, or a pattern",
                              .required = true,
                              .max = 1'000'000};

std::vector<Tool> all_tools() {
  return {
      {"captures",
       "List captures",
       "Recordings below the root, newest first, with program, device and date. Ask this first.",
       {kTop},
       answer_captures},
      {"summary",
       "Summarise a capture",
       "Where the time of a step went, what to do first and what that would give, the kernels that could "
       "save "
       "most, and how far the figures can be trusted. Ask this second.",
       {kCapture, kStep, kRange},
       answer_summary},
      {"rank",
       "Rank kernels",
       "Kernels of a step by what the step would gain if each reached 70 % of its nearest roof, with "
       "utilisations, "
       "errors and tiers. Not the longest first: most to gain first.",
       {kCapture,
        kStep,
        kRange,
        kTop,
        {.name = "by",
         .meaning =
             "what makes a row: kernel (default), family, class, nvtx, phase, layer, launch, kernel-grid",
         .max = 200}},
       answer_rank},
      {"explain",
       "Explain a kernel",
       "One kernel: every limit that holds it, the evidence with tier and error, launch configurations, "
       "spread, "
       "stalls, and what to do.",
       {kCapture, kKernel, kStep, kRange},
       answer_explain},
      {"steps",
       "Where the steps' time went",
       "Steps by phase and one by one, the accounting of one step, and its longest gaps.",
       {kCapture, kStep, kRange, kTop},
       answer_steps},
      {"compare",
       "Compare two captures",
       "What changed from one capture to another, by how much and how sure that is, with what to blame.",
       {{.name = "a", .meaning = "capture before", .required = true, .max = kMaxName},
        {.name = "b", .meaning = "capture after", .required = true, .max = kMaxName},
        kTop},
       answer_compare},
      {"sql",
       "Query a capture",
       "One SELECT over the views of a capture (SQLite, read-only, with a limit of time). Without a query: "
       "the views; "
       "with `view`: the columns of one.",
       {kCapture,
        {.name = "query", .meaning = "one SELECT", .max = 20'000},
        {.name = "view", .meaning = "a view to describe, as v_launch", .max = 200},
        {.name = "max_rows", .type = Type::number, .meaning = "rows (default 50)", .max = 1000}},
       answer_sql},
      {"ncu_command",
       "Command for Nsight Compute",
       "The ncu command line that profiles one launch of that kernel in the step, to be run by whoever has "
       "the "
       "program.",
       {kCapture,
        kKernel,
        kStep,
        {.name = "launches", .type = Type::number, .meaning = "launches to profile (default 1)"}},
       answer_ncu_command},
  };
}

Error bad_argument(const Tool& tool, std::string_view what) {
  std::string known;
  for (const Argument& argument : tool.arguments)
    known.append(known.empty() ? "" : ", ")
        .append(argument.name)
        .append(argument.required ? " (required)" : "");
  return {ErrorKind::usage, fmt::format("{}: {}; its arguments are {}", tool.name, what, known)};
}

void check_argument(const Tool& tool, const Argument& argument, const Json& value) {
  if (argument.type == Type::text) {
    if (!value.is_string()) throw bad_argument(tool, fmt::format("'{}' must be a string", argument.name));
    if (value.get_ref<const std::string&>().size() > static_cast<std::size_t>(argument.max)) {
      throw bad_argument(tool, fmt::format("'{}' is longer than {} bytes", argument.name, argument.max));
    }
    return;
  }
  const bool whole = value.is_number_integer() &&
                     !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  if (!whole || value.get<std::int64_t>() < argument.min || value.get<std::int64_t>() > argument.max) {
    throw bad_argument(tool, fmt::format("'{}' must be a whole number of {} to {}", argument.name,
                                         argument.min, argument.max));
  }
}

}  // namespace

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kTools = all_tools();
  return kTools;
}

Json input_schema(const Tool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Argument& argument : tool.arguments) {
    Json one = {{"type", argument.type == Type::text ? "string" : "integer"},
                {"description", argument.meaning}};
    if (argument.type == Type::number) {
      one["minimum"] = argument.min;
      if (argument.max < INT64_MAX) one["maximum"] = argument.max;
    }
    properties[std::string(argument.name)] = std::move(one);
    if (argument.required) required.push_back(argument.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

void check_arguments(const Tool& tool, const Json& arguments) {
  for (const auto& [name, value] : arguments.items()) {
    const auto known = std::find_if(tool.arguments.begin(), tool.arguments.end(),
                                    [&, &key = name](const Argument& a) { return a.name == key; });
    if (known == tool.arguments.end())
      throw bad_argument(tool, fmt::format("no argument '{}'", bounded_text(one_line(name), 100)));
    check_argument(tool, *known, value);
  }
  for (const Argument& argument : tool.arguments) {
    if (argument.required && !arguments.contains(std::string(argument.name)))
      throw bad_argument(tool, fmt::format("'{}' is missing", argument.name));
  }
}

std::string Call::text(std::string_view name) const {
  const auto value = arguments.find(std::string(name));
  return value == arguments.end() ? "" : value->get<std::string>();
}

std::int64_t Call::number(std::string_view name, std::int64_t otherwise) const {
  const auto value = arguments.find(std::string(name));
  return value == arguments.end() ? otherwise : value->get<std::int64_t>();
}

analyzer::Scope Call::scope() const {
  analyzer::Scope scope;
  scope.range = text("range");
  if (const std::int64_t step = number("step", -1); step >= 0) {
    scope.steps = analyzer::StepSelection::one(step);
  } else if (!scope.range.empty()) {
    scope.steps = analyzer::StepSelection::everything();
  }
  return scope;
}

Json Call::document(const CaptureFile& file, const queries::CaptureQuery& query, const std::string& columns,
                    std::int64_t top) const {
  reports::DocumentOptions how;
  how.format = reports::Format::json;
  how.columns = columns;
  how.top = top;
  analyzer::QueryOptions asked;
  asked.stop = stop;
  return Json::parse(captures.queries(file).ask(query, how, asked).value().document.text());
}

}  // namespace ridgeline::mcp
