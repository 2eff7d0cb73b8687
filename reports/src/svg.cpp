#include "ridgeline/reports/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {
namespace {

// At most two decimals, no trailing zeros: a chart of a thousand shapes stays small.
std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string closed(std::string_view element, std::string_view title) {
  if (title.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", html_escape(title), element);
}

}  // namespace

Svg::Svg(double width, double height, std::string_view label, std::string_view style,
         std::string_view background)
    : width_(width), height_(height), label_(label), style_(style), background_(background) {}

void Svg::extend(double above, double below) {
  above_ += above;
  below_ += below;
}

void Svg::rect(double x, double y, double width, double height, std::string_view css, std::string_view title,
               double radius) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", coordinate(x),
                       coordinate(y), coordinate(std::max(width, 0.0)), coordinate(std::max(height, 0.0)),
                       html_escape(css));
  if (radius > 0) body_ += fmt::format(" rx=\"{}\"", coordinate(radius));
  body_ += closed("rect", title);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", coordinate(x1),
                       coordinate(y1), coordinate(x2), coordinate(y2), html_escape(css));
}

void Svg::area(const std::vector<std::pair<double, double>>& points, std::string_view css) {
  std::string list;
  for (const auto& [x, y] : points) list += fmt::format("{}{:.1f},{:.1f}", list.empty() ? "" : " ", x, y);
  body_ += fmt::format("<polygon class=\"{}\" points=\"{}\"/>\n", css, list);
}

void Svg::circle(double x, double y, double radius, std::string_view css, std::string_view title) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"", coordinate(x), coordinate(y),
                       coordinate(radius), html_escape(css));
  body_ += closed("circle", title);
}

void Svg::text(double x, double y, std::string_view content, std::string_view css, Anchor anchor,
               std::string_view title) {
  const char* where = anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">", coordinate(x),
                       coordinate(y), where, html_escape(css));
  if (!title.empty()) body_ += "<title>" + html_escape(title) + "</title>";
  body_ += html_escape(content) + "</text>\n";
}

std::string Svg::finish() const {
  const double height = height_ + above_ + below_;
  std::string head = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} {} {}\" role=\"img\" aria-label=\"{}\">\n",
      coordinate(-above_), coordinate(width_), coordinate(height), html_escape(label_));
  if (!style_.empty()) head += fmt::format("<style>{}</style>\n", style_);
  if (!background_.empty())
    head += fmt::format("<rect y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", coordinate(-above_),
                        coordinate(width_), coordinate(height), html_escape(background_));
  return head + body_ + "</svg>\n";
}

namespace {

// Of what a logarithmic axis shows. A capture may hold any number, and each decade is a line of the grid.
constexpr double kMin = 1e-12;
constexpr double kMax = 1e24;

}  // namespace

LogScale::LogScale(double low, double high, double at_low, double at_high)
    : low_(std::isfinite(low) ? std::clamp(low, kMin, kMax / 10) : kMin),
      high_(std::isfinite(high) ? std::clamp(high, low_ * 1.001, kMax) : kMax),
      at_low_(at_low),
      at_high_(at_high) {}

double LogScale::operator()(double value) const {
  const double clamped = std::isnan(value) ? low_ : std::clamp(value, low_, high_);
  const double share = std::log(clamped / low_) / std::log(high_ / low_);
  return at_low_ + share * (at_high_ - at_low_);
}

std::vector<double> LogScale::ticks() const {
  const bool fine = high_ / low_ < 1000.0;
  std::vector<double> out;
  for (int e = static_cast<int>(std::floor(std::log10(low_))); std::pow(10.0, e) <= high_ * (1 + 1e-9); ++e) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, e);
      if (digit > 1.0 && !fine) continue;
      if (value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9)) out.push_back(value);
    }
  }
  return out;
}

double nice_tick(double limit, int count) {
  if (!std::isfinite(limit) || limit <= 0) return 1.0;
  const double raw = limit / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= raw * (1 - 1e-9)) return step * power;
  }
  return 10.0 * power;
}

}  // namespace ridgeline::reports
