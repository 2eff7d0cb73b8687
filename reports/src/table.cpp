#include "ridgeline/reports/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::reports {

const std::string& title_of(const ColumnHead& head) {
  return head.title.empty() ? head.header : head.title;
}

const std::string& title_unit_of(const ColumnHead& head) {
  return head.title_unit ? *head.title_unit : head.unit;
}

std::string whole_name(const ColumnHead& head) {
  const std::string &title = title_of(head), &unit = title_unit_of(head);
  return unit.empty() ? title : title.empty() ? unit : title + ", " + unit;
}

namespace {

std::string number_words(double value, Form form) {
  switch (form) {
    case Form::plain:
      return fmt::format("{:.10g}", value);
    case Form::integer:
      return fixed(value, 0);
    case Form::milliseconds:
      return milliseconds(value);
    case Form::microseconds:
      return microseconds(value);
    case Form::percent:
      return percent(value);
    case Form::ratio:
      return fixed(value, 2);
    case Form::megabytes:
      return fixed(value * 1e-6, 2);
    case Form::gigabytes:
      return fixed(value * 1e-9, 3);
    case Form::tera:
      return fixed(value * 1e-12, 3);
    case Form::megahertz:
      return fmt::format("{:.0f}", value * 1e-6);
    case Form::general:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "time_ns" without its unit: "time".
std::string_view without_unit(std::string_view key) {
  for (const std::string_view unit : {"_ns", "_ratio", "_bytes", "_hz", "_ops", "_flops"}) {
    if (key.ends_with(unit)) return key.substr(0, key.size() - unit.size());
  }
  return key;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Significant digits of the number at `at`, which goes to its end.
std::string_view digits_at(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t from = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(from, at - from);
}

// "layer 2" before "layer 10": numbers by their value, the rest by its bytes.
bool text_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = digits_at(a, i), y = digits_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i;
    ++j;
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;  // "layer 02" and "layer 2" are two
}

// Numbers by their value, whatever their type, before texts.
bool less(const Scalar& a, const Scalar& b) {
  const auto number = [](const Scalar& value) -> std::optional<double> {
    if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) return *d;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
    return std::nullopt;
  };
  const auto x = number(a), y = number(b);
  if (x && y) return *x < *y;
  if (x || y) return x.has_value();
  return text_less(std::get<std::string>(a), std::get<std::string>(b));
}

}  // namespace

Cell Cell::text(std::string text, Style style) {
  Cell cell;
  cell.value_ = std::move(text);
  cell.style_ = style;
  return cell;
}

Cell Cell::number(std::int64_t value, Form form, Style style) {
  Cell cell;
  cell.value_ = value;
  cell.form_ = form;
  cell.style_ = style;
  return cell;
}

Cell Cell::number(double value, Form form, Style style) {
  if (!std::isfinite(value)) return missing();
  Cell cell;
  cell.value_ = value;
  cell.form_ = form;
  cell.style_ = style;
  return cell;
}

Cell Cell::number(const std::optional<double>& value, Form form, Style style) {
  return value ? number(*value, form, style) : missing();
}

Cell Cell::worded(std::string words, Scalar value, Style style) {
  Cell cell;
  cell.value_ = std::move(value);
  cell.words_ = std::move(words);
  cell.style_ = style;
  return cell;
}

Cell Cell::missing() {
  return worded(kMissing, std::monostate{}, Style::dim);
}

std::string Cell::words() const {
  if (words_) return *words_;
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  if (const auto* value = std::get_if<double>(&value_)) return number_words(*value, form_);
  if (const auto* value = std::get_if<bool>(&value_)) return *value ? "yes" : "no";
  const auto* value = std::get_if<std::int64_t>(&value_);
  if (value == nullptr) return {};
  // Through a double a large number would lose digits.
  if (form_ == Form::integer) return integer(*value);
  if (form_ == Form::plain) return fmt::format("{}", *value);
  return number_words(static_cast<double>(*value), form_);
}

std::size_t Table::column(std::string_view key) const {
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (heads_[i].key == key) return i;
  }
  throw Error(ErrorKind::internal, fmt::format("table has no column '{}'", key));
}

void Table::show(std::string_view key, bool shown) {
  heads_[column(key)].shown = shown;
}

Cell Table::cell(std::size_t row, std::size_t column) const {
  return cell_(source_row(row), source_[column]);
}

// " (dram_bytes?)": keys that hold what was asked for.
std::vector<ColumnHead>::const_iterator Table::head_named(std::string_view name) const {
  const auto found =
      std::find_if(heads_.begin(), heads_.end(), [&](const ColumnHead& c) { return c.key == name; });
  if (found != heads_.end()) return found;
  return std::find_if(heads_.begin(), heads_.end(),
                      [&](const ColumnHead& c) { return without_unit(c.key) == name; });
}

std::string Table::suggestion(std::string_view asked) const {
  constexpr std::size_t kMax = 4;
  std::string like;
  std::size_t count = 0;
  for (const ColumnHead& c : heads_) {
    if (asked.size() < 2 || c.key.find(asked) == std::string::npos || count == kMax) continue;
    like += (like.empty() ? "" : ", ") + c.key;
    ++count;
  }
  return like.empty() ? "" : " (" + like + "?)";
}

const Cell& Table::total(std::size_t line, std::size_t column) const {
  return totals_[line][source_[column]];
}

void Table::keep(std::size_t rows) {
  if (count_ <= rows) return;
  if (rest_) {
    std::vector<std::size_t> cut;
    cut.reserve(count_ - rows);
    for (std::size_t i = rows; i < count_; ++i) cut.push_back(source_row(i));
    totals_.insert(totals_.begin(), rest_(cut));
  }
  left_out_ += count_ - rows;
  count_ = rows;
}

void Table::sort(std::string_view key) {
  std::string_view name = trimmed(key);
  const bool downward = name.starts_with('-');
  if (downward) name.remove_prefix(1);
  const auto found = head_named(name);
  if (found == heads_.end()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--sort: no column '{}'{}: `ridgeline columns` lists them; - before one sorts the "
                    "largest first",
                    terminal_safe(name), suggestion(name)));
  }
  const std::size_t column = static_cast<std::size_t>(found - heads_.begin());
  std::vector<std::size_t> rows(count_);
  std::vector<Scalar> values(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    rows[i] = source_row(i);
    values[i] = cell(i, column).value();
  }
  std::vector<std::size_t> order(count_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool known_a = !std::holds_alternative<std::monostate>(values[a]);
    const bool known_b = !std::holds_alternative<std::monostate>(values[b]);
    if (!known_a || !known_b) return known_a && !known_b;
    return downward ? less(values[b], values[a]) : less(values[a], values[b]);
  });
  for (std::size_t& i : order) i = rows[i];
  order_ = std::move(order);
}

void Table::pick(std::vector<std::size_t> rows) {
  count_ = rows.size();
  order_ = std::move(rows);
}

void Table::select(std::string_view keys, bool for_people) {
  struct Picked {
    std::size_t column;
    bool fixed;  // stays whatever the width
  };
  std::vector<Picked> picked;
  const auto pick = [&](std::size_t column, bool fixed) {
    for (Picked& have : picked) {
      if (have.column != column) continue;
      have.fixed = have.fixed || fixed;
      return;
    }
    picked.push_back({column, fixed});
  };
  for (std::size_t from = 0; from <= keys.size();) {
    const std::size_t comma = std::min(keys.find(',', from), keys.size());
    const std::string_view key = trimmed(keys.substr(from, comma - from));
    from = comma + 1;
    if (key == "default" || key == "all") {
      for (std::size_t i = 0; i < heads_.size(); ++i) {
        if (key == "all" ? !for_people || !heads_[i].repeats : heads_[i].shown) pick(i, key == "all");
      }
      continue;
    }
    const auto group =
        std::find_if(groups_.begin(), groups_.end(), [&](const ColumnGroup& g) { return g.name == key; });
    if (group != groups_.end()) {
      for (std::size_t i = 0; i < group->keys.size(); ++i) pick(column(group->keys[i]), i < group->fixed);
      continue;
    }
    const auto found = head_named(key);
    if (found == heads_.end()) {
      std::string groups = "default, all";
      for (const ColumnGroup& g : groups_) groups += ", " + g.name;
      throw Error(ErrorKind::usage,
                  fmt::format("no column '{}'{}: use {} or keys, which `ridgeline columns` lists",
                              terminal_safe(key), suggestion(key), groups));
    }
    pick(static_cast<std::size_t>(found - heads_.begin()), true);
  }
  std::vector<ColumnHead> heads;
  std::vector<std::size_t> source;
  for (const auto& [i, fixed] : picked) {
    heads.push_back(heads_[i]);
    heads.back().shown = true;
    if (fixed) heads.back().drop_order = 0;
    source.push_back(source_[i]);
  }
  heads_ = std::move(heads);
  source_ = std::move(source);
}

}  // namespace ridgeline::reports
