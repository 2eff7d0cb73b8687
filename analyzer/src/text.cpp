#include "text.h"

#include <cmath>
#include <cstdio>

namespace ridgeline::analyzer {

std::string number(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, std::fabs(value) < 1e15 ? "%.*f" : "%.*g", decimals, value);
  return buffer;
}

std::string percent(double ratio, int decimals) {
  return number(ratio * 100.0, decimals) + " %";
}

std::string time_text(double ns) {
  const double size = std::fabs(ns);
  if (size < 1e3) return number(ns, 0) + " ns";
  if (size < 1e6) return number(ns / 1e3, 1) + " µs";
  if (size < 1e9) return number(ns / 1e6, 2) + " ms";
  return number(ns / 1e9, 2) + " s";
}

std::string count(std::int64_t n, std::string_view singular, std::string_view plural) {
  return std::to_string(n) + " " + std::string(n == 1 ? singular : plural);
}

namespace {

// A demangled name without return type and parameters: "void ns::f<int>(float*)" -> "ns::f<int>".
std::string_view without_signature(std::string_view name) {
  int angles = 0;
  std::size_t end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++angles;
    if (name[i] == '>') --angles;
    if (name[i] != '(' || angles != 0) continue;
    if (name.substr(i).starts_with("(anonymous namespace)")) continue;
    if (name.substr(0, i).ends_with("operator")) continue;
    end = i;
    break;
  }
  if (end == 0 || end == name.size()) return name;
  name = name.substr(0, end);
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

}  // namespace

std::string short_name(std::string_view name, std::size_t width) {
  name = without_signature(name);
  if (name.size() <= width || width < 8) return std::string(name);
  const std::size_t head = (width - 3) * 2 / 3;
  return std::string(name.substr(0, head)) + "..." +
         std::string(name.substr(name.size() - (width - 3 - head)));
}

}  // namespace ridgeline::analyzer
