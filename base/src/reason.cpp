#include "ridgeline/base/reason.h"

#include <algorithm>

namespace ridgeline {

namespace {

// Numbers that are no number stand after all others: an order that holds for any file.
std::weak_ordering order(double a, double b) {
  if (a < b) return std::weak_ordering::less;
  if (b < a) return std::weak_ordering::greater;
  return (a != a) <=> (b != b);
}

std::weak_ordering order(const ReasonValue& a, const ReasonValue& b) {
  if (const auto names = a.name <=> b.name; names != 0) return names;
  if (const auto kinds = a.value.index() <=> b.value.index(); kinds != 0) return kinds;
  if (const double* number = std::get_if<double>(&a.value)) return order(*number, std::get<double>(b.value));
  if (const std::int64_t* count = std::get_if<std::int64_t>(&a.value))
    return *count <=> std::get<std::int64_t>(b.value);
  return std::get<std::string>(a.value) <=> std::get<std::string>(b.value);
}

template <typename T, typename Order>
std::weak_ordering order_each(const std::vector<T>& a, const std::vector<T>& b, Order compare) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (const std::weak_ordering each = compare(a[i], b[i]); each != 0) return each;
  }
  return a.size() <=> b.size();
}

}  // namespace

Reason Reason::said(ReasonCode code, std::string text, std::vector<ReasonValue> values) {
  Reason reason(code, std::move(values));
  reason.text = std::move(text);
  return reason;
}

Reason Reason::together(std::vector<Reason> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return parts.empty() ? Reason() : Reason(ReasonCode::several, {}, std::move(parts));
}

const ReasonValue* Reason::find(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const ReasonValue& value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

std::int64_t Reason::number(std::string_view name) const {
  const ReasonValue* value = find(name);
  const std::int64_t* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->value);
  return number == nullptr ? 0 : *number;
}

double Reason::real(std::string_view name) const {
  const ReasonValue* value = find(name);
  const double* number = value == nullptr ? nullptr : std::get_if<double>(&value->value);
  return number == nullptr ? 0 : *number;
}

std::string_view Reason::word(std::string_view name) const {
  const ReasonValue* value = find(name);
  const std::string* text_of = value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
  return text_of == nullptr ? std::string_view() : *text_of;
}

bool Reason::holds(const Reason& part) const {
  return *this == part ||
         std::any_of(because.begin(), because.end(), [&](const Reason& below) { return below.holds(part); });
}

std::weak_ordering operator<=>(const Reason& a, const Reason& b) {
  if (const auto codes = a.code <=> b.code; codes != 0) return codes;
  if (const auto texts = a.text <=> b.text; texts != 0) return texts;
  const auto values =
      order_each(a.values, b.values, [](const ReasonValue& x, const ReasonValue& y) { return order(x, y); });
  if (values != 0) return values;
  return order_each(a.because, b.because, [](const Reason& x, const Reason& y) { return x <=> y; });
}

bool operator==(const Reason& a, const Reason& b) {
  return (a <=> b) == 0;
}

}  // namespace ridgeline
