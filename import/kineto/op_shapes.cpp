#include "kineto/op_shapes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace ridgeline::import {

namespace {

using Json = nlohmann::json;
using TensorSizes = std::vector<std::int64_t>;

constexpr const char* kShapesName = "shapes";
constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
constexpr std::size_t kMaxArguments = 64;

// What PyTorch calls an element's type, and its bytes.
constexpr std::array<std::pair<std::string_view, int>, 15> kElementBytes = {{{"float", 4},
                                                                             {"double", 8},
                                                                             {"c10::Half", 2},
                                                                             {"c10::BFloat16", 2},
                                                                             {"signed char", 1},
                                                                             {"unsigned char", 1},
                                                                             {"bool", 1},
                                                                             {"short int", 2},
                                                                             {"short", 2},
                                                                             {"int", 4},
                                                                             {"long int", 8},
                                                                             {"long", 8},
                                                                             {"long long", 8},
                                                                             {"c10::Float8_e4m3fn", 1},
                                                                             {"c10::Float8_e5m2", 1}}};

std::optional<double> element_bytes(std::string_view type) {
  for (const auto& [name, bytes] : kElementBytes)
    if (type == name) return bytes;
  return std::nullopt;
}

double product(std::span<const std::int64_t> sizes) {
  double all = 1;
  for (const std::int64_t size : sizes) all *= static_cast<double>(size);
  return all;
}

class Operation {
 public:
  explicit Operation(const OpArguments& arguments) : arguments_(arguments) {}

  [[nodiscard]] const TensorSizes* tensor(std::size_t at, std::size_t dimensions) const {
    const TensorSizes* sizes = tensor(at);
    return sizes != nullptr && sizes->size() == dimensions ? sizes : nullptr;
  }
  [[nodiscard]] const TensorSizes* tensor(std::size_t at) const {
    if (at >= arguments_.sizes.size() || !arguments_.sizes[at] || arguments_.sizes[at]->empty())
      return nullptr;
    return &*arguments_.sizes[at];
  }
  [[nodiscard]] std::string_view value(std::size_t at) const {
    return at < arguments_.values.size() ? std::string_view(arguments_.values[at]) : std::string_view();
  }
  [[nodiscard]] std::optional<bool> flag(std::size_t at) const {
    const std::string_view text = value(at);
    if (text == "True" || text == "true" || text == "1") return true;
    if (text == "False" || text == "false" || text == "0") return false;
    return std::nullopt;
  }
  // "[2, 2]", or "[2]" for all.
  [[nodiscard]] std::optional<TensorSizes> numbers(std::size_t at, std::size_t count) const {
    const Json list = Json::parse(value(at), nullptr, false);
    if (!list.is_array() || (list.size() != count && list.size() != 1)) return std::nullopt;
    TensorSizes all;
    for (std::size_t i = 0; i < count; ++i) {
      const Json& each = list[list.size() == 1 ? 0 : i];
      if (!each.is_number_integer()) return std::nullopt;
      const auto number = each.get<std::int64_t>();
      if (number < 0 || number > kLargestSize) return std::nullopt;
      all.push_back(number);
    }
    return all;
  }
  [[nodiscard]] bool is_complex(std::size_t at) const {
    return at < arguments_.types.size() && arguments_.types[at].find("complex") != std::string::npos;
  }
  // Of a tensor of that argument's type; none if the type is not known.
  [[nodiscard]] std::optional<double> bytes(std::size_t type_of, double elements) const {
    if (type_of >= arguments_.types.size()) return std::nullopt;
    const auto each = element_bytes(arguments_.types[type_of]);
    return each ? std::optional(*each * elements) : std::nullopt;
  }

 private:
  const OpArguments& arguments_;
};

using Work = std::optional<store::Annotation>;

Work work(double flops, std::initializer_list<std::optional<double>> bytes) {
  if (!(flops > 0)) return std::nullopt;
  store::Annotation made{.name = kShapesName, .bytes = 0, .flops = flops};
  for (const std::optional<double>& each : bytes)
    made.bytes = made.bytes && each ? std::optional(*made.bytes + *each) : std::nullopt;
  return made;
}

// [m, k] × [k, n] at positions `a` and a + 1; what is added to it is argument 0 if a is 1. `same_type`: the result has
// the type of what is multiplied.
Work matrix_product(const Operation& op, std::size_t a, bool same_type) {
  const TensorSizes* left = op.tensor(a, 2);
  const TensorSizes* right = op.tensor(a + 1, 2);
  if (left == nullptr || right == nullptr || (*left)[1] != (*right)[0] || op.is_complex(a))
    return std::nullopt;
  const double m = static_cast<double>((*left)[0]), k = static_cast<double>((*left)[1]),
               n = static_cast<double>((*right)[1]);
  std::optional<double> added = 0;
  if (a == 1 && op.tensor(0) != nullptr) added = op.bytes(0, product(*op.tensor(0)));
  Work made = work(2 * m * n * k, {op.bytes(a, m * k), op.bytes(a + 1, k * n), added,
                                   same_type ? op.bytes(a, m * n) : std::nullopt});
  if (!made) return made;
  made->m = (*left)[0];
  made->n = (*right)[1];
  made->k = (*left)[1];
  return made;
}

// [b, m, k] × [b, k, n].
Work batched_product(const Operation& op, std::size_t a) {
  const TensorSizes* left = op.tensor(a, 3);
  const TensorSizes* right = op.tensor(a + 1, 3);
  if (left == nullptr || right == nullptr || (*left)[0] != (*right)[0] || (*left)[2] != (*right)[1] ||
      op.is_complex(a))
    return std::nullopt;
  const double out = product(std::array{(*left)[0], (*left)[1], (*right)[2]});
  std::optional<double> added = 0;
  if (a == 1 && op.tensor(0) != nullptr) added = op.bytes(0, product(*op.tensor(0)));
  return work(2 * out * static_cast<double>((*left)[2]),
              {op.bytes(a, product(*left)), op.bytes(a + 1, product(*right)), added, op.bytes(a, out)});
}

// Multiply-adds of a convolution: each output (transposed: each input) element takes one kernel's worth of one group.
double convolution_flops(const TensorSizes& elements, const TensorSizes& weight) {
  return 2 * product(elements) * product(std::span(weight).subspan(1));
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
Work convolution(const Operation& op) {
  const TensorSizes* input = op.tensor(0);
  const TensorSizes* weight = op.tensor(1);
  if (input == nullptr || weight == nullptr || input->size() != weight->size() || input->size() < 3 ||
      op.is_complex(0))
    return std::nullopt;
  const std::size_t dimensions = input->size() - 2;
  const auto stride = op.numbers(3, dimensions), padding = op.numbers(4, dimensions),
             dilation = op.numbers(5, dimensions);
  const auto transposed = op.flag(6);
  if (!stride || !padding || !dilation || !transposed) return std::nullopt;
  std::optional<double> added = 0;
  if (op.tensor(2) != nullptr) added = op.bytes(2, product(*op.tensor(2)));
  if (*transposed)  // of its output the size is not needed for the FLOPs, and not known for the bytes
    return work(convolution_flops(*input, *weight), {std::nullopt});
  TensorSizes output = {(*input)[0], (*weight)[0]};
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t reach = (*dilation)[i] * ((*weight)[i + 2] - 1) + 1;
    const std::int64_t room = (*input)[i + 2] + 2 * (*padding)[i] - reach;
    if ((*stride)[i] < 1 || room < 0) return std::nullopt;
    output.push_back(room / (*stride)[i] + 1);
  }
  return work(
      convolution_flops(output, *weight),
      {op.bytes(0, product(*input)), op.bytes(1, product(*weight)), added, op.bytes(0, product(output))});
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
// groups, output_mask): as much again for each of the two gradients that are asked for.
Work convolution_backward(const Operation& op) {
  const TensorSizes* gradient = op.tensor(0);
  const TensorSizes* input = op.tensor(1);
  const TensorSizes* weight = op.tensor(2);
  const auto transposed = op.flag(7);
  const std::string_view mask = op.value(10);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->size() < 3 || !transposed ||
      mask.empty() || op.is_complex(0))
    return std::nullopt;
  const bool of_input = mask.starts_with("[True") || mask.starts_with("[true");
  const std::size_t comma = std::min(mask.find(','), mask.size());
  const std::string_view rest = mask.substr(comma);
  const bool of_weight = rest.starts_with(", True") || rest.starts_with(", true");
  const double each = convolution_flops(*transposed ? *input : *gradient, *weight);
  const double passes = (of_input ? 1 : 0) + (of_weight ? 1 : 0);
  const double touched = product(*input) + product(*weight);  // the one is read and the other written
  return work(passes * each, {op.bytes(0, product(*gradient)), op.bytes(1, passes * touched)});
}

// Scaled dot-product attention: query [b, h, s, d], key [b, g, t, d], value [b, g, t, e] from `first` on; `causal` is
// the position of is_causal. `backward`: five products in place of two, for the scores are computed anew.
Work attention(const Operation& op, std::size_t first, std::size_t causal, bool backward) {
  const TensorSizes* query = op.tensor(first, 4);
  const TensorSizes* key = op.tensor(first + 1, 4);
  const TensorSizes* value = op.tensor(first + 2, 4);
  const auto is_causal = op.flag(causal);
  if (query == nullptr || key == nullptr || value == nullptr || !is_causal || (*query)[3] != (*key)[3] ||
      (*key)[2] != (*value)[2] || op.is_complex(first))
    return std::nullopt;
  const double s = static_cast<double>((*query)[2]), t = static_cast<double>((*key)[2]);
  if (*is_causal && (*query)[2] != (*key)[2]) return std::nullopt;  // which corner is masked differs
  const double pairs = static_cast<double>((*query)[0]) * static_cast<double>((*query)[1]) *
                       (*is_causal ? s * (s + 1) / 2 : s * t);
  const double d = static_cast<double>((*query)[3]), e = static_cast<double>((*value)[3]);
  const double output = static_cast<double>((*query)[0]) * static_cast<double>((*query)[1]) * s * e;
  const double tensors = product(*query) + product(*key) + product(*value);
  if (!backward) return work(2 * pairs * (d + e), {op.bytes(first, tensors + output)});
  // Read: the output and its gradient; written: the gradients of the three.
  return work(2 * pairs * (3 * d + 2 * e), {op.bytes(first, 2 * tensors + 2 * output)});
}

struct Known {
  std::string_view name;
  Work (*work)(const Operation&);
};

// The operations that launch the kernels: what calls them (linear, matmul, conv2d) would declare the same work again.
constexpr std::array kOperations = {
    Known{"aten::mm", [](const Operation& op) { return matrix_product(op, 0, true); }},
    Known{"aten::addmm", [](const Operation& op) { return matrix_product(op, 1, true); }},
    Known{"aten::_addmm_activation", [](const Operation& op) { return matrix_product(op, 1, true); }},
    Known{"aten::_scaled_mm", [](const Operation& op) { return matrix_product(op, 0, false); }},
    Known{"aten::_int_mm", [](const Operation& op) { return matrix_product(op, 0, false); }},
    Known{"aten::bmm", [](const Operation& op) { return batched_product(op, 0); }},
    Known{"aten::baddbmm", [](const Operation& op) { return batched_product(op, 1); }},
    Known{"aten::convolution", convolution},
    Known{"aten::convolution_backward", convolution_backward},
    Known{"aten::_scaled_dot_product_flash_attention",
          [](const Operation& op) { return attention(op, 0, 4, false); }},
    Known{"aten::_scaled_dot_product_efficient_attention",
          [](const Operation& op) { return attention(op, 0, 6, false); }},
    Known{"aten::_scaled_dot_product_cudnn_attention",
          [](const Operation& op) { return attention(op, 0, 6, false); }},
    Known{"aten::_scaled_dot_product_flash_attention_backward",
          [](const Operation& op) { return attention(op, 1, 11, true); }},
    Known{"aten::_scaled_dot_product_efficient_attention_backward",
          [](const Operation& op) { return attention(op, 1, 11, true); }},
    Known{"aten::_scaled_dot_product_cudnn_attention_backward",
          [](const Operation& op) { return attention(op, 1, 14, true); }},
};

const Known* known(std::string_view name) {
  if (!name.starts_with("aten::")) return nullptr;
  const auto* found = std::find_if(kOperations.begin(), kOperations.end(),
                                   [&](const Known& each) { return each.name == name; });
  return found == kOperations.end() ? nullptr : found;
}

// TensorSizes of a tensor; nothing for a list of tensors.
std::optional<std::optional<TensorSizes>> sizes_in(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  TensorSizes sizes;
  for (const Json& each : list) {
    if (each.is_array()) return std::optional<TensorSizes>();
    if (!each.is_number_integer()) return std::nullopt;
    const auto size = each.get<std::int64_t>();
    if (size < 0 || size > kLargestSize) return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

std::optional<std::vector<std::string>> texts_in(std::string_view text) {
  std::vector<std::string> texts;
  if (text.empty()) return texts;
  const Json list = Json::parse(text, nullptr, false);
  if (!list.is_array() || list.size() > kMaxArguments) return std::nullopt;
  for (const Json& each : list) texts.push_back(each.is_string() ? each.get<std::string>() : std::string());
  return texts;
}

}  // namespace

bool declares_work(std::string_view name) {
  return known(name) != nullptr;
}

Work work_of_op(std::string_view name, const OpArguments& arguments) {
  const Known* operation = known(name);
  return operation == nullptr ? std::nullopt : operation->work(Operation(arguments));
}

std::optional<OpArguments> op_arguments(std::string_view sizes, std::string_view types,
                                        std::string_view values) {
  const Json list = Json::parse(sizes, nullptr, false);
  if (!list.is_array() || list.size() > kMaxArguments) return std::nullopt;
  OpArguments arguments;
  for (const Json& each : list) {
    const auto argument = sizes_in(each);
    if (!argument) return std::nullopt;
    arguments.sizes.push_back(*argument);
  }
  auto type_names = texts_in(types);
  auto value_texts = texts_in(values);
  if (!type_names || !value_texts) return std::nullopt;
  arguments.types = std::move(*type_names);
  arguments.values = std::move(*value_texts);
  return arguments;
}

}  // namespace ridgeline::import
