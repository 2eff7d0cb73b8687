// op_shapes.h: what an operation of PyTorch must compute and move, from the shapes of its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/store/records.h"

namespace ridgeline::import {

/// Arguments of an operation as record_shapes=True writes them, by position in its schema.
struct OpArguments {
  /// Sizes of tensors; nothing where an argument is none, or a list of tensors. A number has no sizes: {}.
  std::vector<std::optional<std::vector<std::int64_t>>> sizes;
  std::vector<std::string> types;  ///< "float", "c10::BFloat16", "Scalar"; "": not said
  std::vector<std::string>
      values;  ///< of what is no tensor: "1", "[1, 1]", "False"; "": not said. May be shorter.
};

/// Whether operations of that name are known, so that their arguments are worth reading.
[[nodiscard]] bool declares_work(std::string_view name);

/// FLOPs (2 a multiply-add) and, where the types are known, the least bytes: each tensor read or written once. Of
/// products of two matrices also M, N, K. Nothing for other operations, and where an argument that it depends on is not
/// there: an attention without its `is_causal` could be off by two.
[[nodiscard]] std::optional<store::Annotation> work_of_op(std::string_view name,
                                                          const OpArguments& arguments);

/// "[[2, 3], [], [[1], [2]]]" and the lists of texts beside it, as they stand in JSON. Nothing if they are none.
[[nodiscard]] std::optional<OpArguments> op_arguments(std::string_view sizes, std::string_view types,
                                                      std::string_view values);

}  // namespace ridgeline::import
