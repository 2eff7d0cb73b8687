#include "ncu/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "ncu/ncu_metrics.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxQuoted = 60;  // characters of the file in a message

std::string quoted_part(std::string_view text) {
  return "'" + one_line(bounded_text(text, kMaxQuoted)) + "'";
}

[[noreturn]] void refuse_ncu(ErrorKind kind, const std::string& what) {
  throw Error(kind, what);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// "(1024, 1, 1)".
std::optional<store::Dim3> dims_in(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  store::Dim3 dim;
  std::array<std::int64_t*, 3> parts = {&dim.x, &dim.y, &dim.z};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
    const std::size_t end = i + 1 < parts.size() ? text.find(',') : text.size();
    if (end == std::string_view::npos) return std::nullopt;
    const auto value = whole_number(text.substr(0, end));
    if (!value || *value <= 0 || *value > INT32_MAX) return std::nullopt;
    *parts[i] = *value;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return dim;
}

bool says_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 10> kNothing = {"",    "n/a", "N/A",  "nan", "-nan",
                                                         "NaN", "inf", "-inf", "Inf", "(null)"};
  return std::find(kNothing.begin(), kNothing.end(), text) != kNothing.end() || text.starts_with("0x");
}

// Lines of the file, and records of several.
class CsvText {
 public:
  explicit CsvText(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::string_view peek() const { return rest_.substr(0, rest_.find('\n')); }
  void skip_line() { take(rest_.find('\n')); }

  // The fields up to the end of the line that is in no quotes. Empty: the file ends inside quotes.
  std::optional<std::vector<std::string>> record() {
    std::vector<std::string> fields(1);
    bool in_quotes = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (in_quotes) {
        if (c != '"') {
          fields.back() += c;
        } else if (i + 1 < rest_.size() && rest_[i + 1] == '"') {
          fields.back() += '"';
          ++i;
        } else {
          in_quotes = false;
        }
      } else if (c == '"') {
        in_quotes = true;
      } else if (c == ',') {
        fields.emplace_back();
      } else if (c == '\n') {
        take(i);
        return fields;
      } else if (c != '\r') {
        fields.back() += c;
      }
    }
    if (in_quotes) return std::nullopt;
    rest_ = {};
    return fields;
  }

 private:
  void take(std::size_t end) {
    const std::size_t count = end == std::string_view::npos ? rest_.size() : end + 1;
    line_ += static_cast<std::size_t>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  std::size_t line_ = 1;
};

// A value as it stands in the file.
struct PrintedValue {
  std::uint32_t launch, metric, unit;
  std::string text;
};

class NcuCsvReader {
 public:
  explicit NcuCsvReader(std::string_view text) : csv_(text) {}

  NcuResults read(std::optional<DecimalMark> mark) {
    while (!csv_.at_end()) {
      const std::string_view line = csv_.peek();
      if (is_head(line)) {
        take_head(next_record());
      } else if (!columns_.empty() && is_row(line)) {
        const std::size_t at = csv_.line();
        take_row(next_record(), at);
      } else {
        note(line);
        csv_.skip_line();
      }
    }
    if (columns_.empty()) refuse_without_table();
    if (results_.launches.empty())
      refuse_ncu(ErrorKind::not_a_capture,
                 "has the head of a table of Nsight Compute and no launch: run ncu again");
    if (!mark) mark = marks_.decide().value();
    evaluate(*mark);
    return std::move(results_);
  }

 private:
  enum class Page { details, raw };

  static bool is_head(std::string_view line) {
    return line.starts_with("\"ID\",") || line.starts_with("\xEF\xBB\xBF\"ID\",");
  }
  static bool is_row(std::string_view line) {
    return line.size() > 2 && line.front() == '"' && (line[1] == '"' || (line[1] >= '0' && line[1] <= '9'));
  }

  void note(std::string_view line) {
    ++lines_beside_;
    if (first_error_.empty() && line.starts_with("==ERROR==")) first_error_ = line;
  }

  std::vector<std::string> next_record() {
    const std::size_t at = csv_.line();
    auto fields = csv_.record();
    if (!fields)
      refuse_ncu(ErrorKind::corrupt,
                 fmt::format("ends inside the row that begins in line {}: it is cut, export it again", at));
    return std::move(*fields);
  }

  [[noreturn]] void refuse_without_table() const {
    if (!first_error_.empty())
      refuse_ncu(ErrorKind::not_a_capture, fmt::format("holds errors of Nsight Compute and no result: {}",
                                                       one_line(bounded_text(first_error_, 200))));
    refuse_ncu(ErrorKind::not_a_capture,
               "holds no table of Nsight Compute: export one with ncu --import REPORT --csv --page raw");
  }

  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    return found == columns_.end() ? std::nullopt
                                   : std::optional(static_cast<std::size_t>(found - columns_.begin()));
  }
  [[nodiscard]] std::size_t required(std::string_view name) const {
    const auto found = column(name);
    if (!found)
      refuse_ncu(ErrorKind::corrupt, fmt::format("has no column \"{}\": export it with ncu --import REPORT "
                                                 "--csv --page raw",
                                                 name));
    return *found;
  }

  void take_head(std::vector<std::string> fields) {
    if (fields.front().starts_with("\xEF\xBB\xBF")) fields.front().erase(0, 3);
    columns_ = std::move(fields);
    if (column("Invocations"))
      refuse_ncu(
          ErrorKind::not_a_capture,
          "is a summary over launches, which belongs to none of them: export it without --print-summary");
    id_ = required("ID");
    kernel_ = required("Kernel Name");
    block_ = required("Block Size");
    grid_ = required("Grid Size");
    pid_ = column("Process ID");
    units_.clear();
    page_ =
        column("Metric Name") || column("Metric Value") || column("Section Name") ? Page::details : Page::raw;
    if (page_ == Page::details) {
      section_ = column("Section Name");
      name_ = required("Metric Name");
      unit_ = required("Metric Unit");
      value_ = required("Metric Value");
      return;
    }
    counters_.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (is_counter(columns_[i])) counters_.emplace_back(i, metric_number(columns_[i]));
  }

  std::uint32_t metric_number(std::string_view name) {
    const auto [found, fresh] =
        metric_numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(results_.metrics.size()));
    if (fresh) results_.metrics.push_back({.name = one_line(name), .unit = {}});
    return found->second;
  }
  std::uint32_t unit_number(const std::string& text) {
    const auto [found, fresh] =
        unit_numbers_.try_emplace(text, static_cast<std::uint32_t>(unit_texts_.size()));
    if (fresh) unit_texts_.push_back(text);
    return found->second;
  }

  std::uint32_t launch_of(const std::vector<std::string>& row, std::size_t line) {
    const auto id = whole_number(row[id_]);
    if (!id)
      refuse_ncu(ErrorKind::corrupt,
                 fmt::format("line {}: {} is no ID of a launch", line, quoted_part(row[id_])));
    const std::int64_t pid = pid_ ? whole_number(row[*pid_]).value_or(0) : 0;
    const auto [found, fresh] =
        launch_numbers_.try_emplace({pid, *id}, static_cast<std::uint32_t>(results_.launches.size()));
    if (!fresh) return found->second;
    const auto grid = dims_in(row[grid_]);
    const auto block = dims_in(row[block_]);
    if (!grid || !block)
      refuse_ncu(ErrorKind::corrupt,
                 fmt::format("line {}: {} is no size of a {}", line,
                             quoted_part(!grid ? row[grid_] : row[block_]), !grid ? "grid" : "block"));
    results_.launches.push_back(
        {.id = *id, .pid = pid, .kernel = row[kernel_], .grid = *grid, .block = *block, .values = {}});
    return found->second;
  }

  void add_value(std::uint32_t launch, std::uint32_t metric, const std::string& unit,
                 const std::string& text) {
    if (says_nothing(text)) return;
    // Of a metric with instances the value comes first.
    marks_.see(std::string_view(text).substr(0, text.find(" (")), unit);
    values_.push_back({launch, metric, unit_number(unit), text});
  }

  void take_row(const std::vector<std::string>& row, std::size_t line) {
    const std::size_t needed = page_ == Page::raw ? columns_.size() : value_ + 1;
    if (row.size() < needed || row.size() > columns_.size())
      refuse_ncu(ErrorKind::corrupt,
                 fmt::format("line {} has {} fields, where the head of the table has {}: the "
                             "file is cut or damaged, export it again",
                             line, row.size(), columns_.size()));
    if (page_ == Page::details) {
      if (row[name_].empty()) return;  // of a rule
      const std::string_view metric =
          metric_of_detail(section_ ? std::string_view(row[*section_]) : "Command line profiler metrics",
                           row[name_], row[unit_]);
      const std::uint32_t launch = launch_of(row, line);
      if (metric.empty())
        marks_.see(row[value_], row[unit_]);
      else
        add_value(launch, metric_number(metric), row[unit_], row[value_]);
      return;
    }
    if (row[id_].empty()) {  // of the units, below the head
      units_ = row;
      return;
    }
    if (units_.empty())
      refuse_ncu(ErrorKind::corrupt,
                 fmt::format("line {}: the line of units below the head of the table is missing", line));
    const std::uint32_t launch = launch_of(row, line);
    for (const auto& [place, metric] : counters_) add_value(launch, metric, units_[place], row[place]);
  }

  void evaluate(DecimalMark mark) {
    std::vector<std::optional<ScaledUnit>> units;
    units.reserve(unit_texts_.size());
    for (const std::string& text : unit_texts_) units.push_back(scaled_unit(text));
    std::set<std::string> unreadable;
    for (const PrintedValue& printed : values_) {
      NcuMetric& metric = results_.metrics[printed.metric];
      const std::optional<ScaledUnit>& unit = units[printed.unit];
      const auto value = printed_number(printed.text, mark);
      if (!value && unit && !unit_texts_[printed.unit].empty())
        refuse_ncu(ErrorKind::corrupt,
                   fmt::format("launch {}: {} of {} is no number", results_.launches[printed.launch].id,
                               quoted_part(printed.text), bounded_text(metric.name, kMaxQuoted)));
      if (!value || !unit || (!metric.unit.empty() && metric.unit != unit->unit)) {
        unreadable.insert(metric.name);
        continue;
      }
      metric.unit = unit->unit;
      results_.launches[printed.launch].values.push_back({printed.metric, *value * unit->factor});
    }
    results_.unreadable.assign(unreadable.begin(), unreadable.end());
    std::sort(results_.launches.begin(), results_.launches.end(), [](const NcuLaunch& a, const NcuLaunch& b) {
      return std::tie(a.pid, a.id) < std::tie(b.pid, b.id);
    });
    add_dram_bytes();
  }

  // The page "details" says the rate alone, which over the launch's time is what was moved.
  void add_dram_bytes() {
    const auto number = [&](std::string_view name) {
      const auto found = metric_numbers_.find(std::string(name));
      return found == metric_numbers_.end() ? UINT32_MAX : found->second;
    };
    const std::uint32_t rate = number("dram__bytes.sum.per_second"), time = number("gpu__time_duration.sum");
    if (rate == UINT32_MAX || time == UINT32_MAX || number("dram__bytes.sum") != UINT32_MAX ||
        number("dram__bytes_read.sum") != UINT32_MAX)
      return;
    const std::uint32_t bytes = metric_number("dram__bytes.sum");
    results_.metrics[bytes].unit = "bytes";
    for (NcuLaunch& launch : results_.launches) {
      std::optional<double> bytes_per_s, time_ns;
      for (const NcuValue& value : launch.values) {
        if (value.metric == rate) bytes_per_s = value.value;
        if (value.metric == time) time_ns = value.value;
      }
      if (bytes_per_s && time_ns) launch.values.push_back({bytes, *bytes_per_s * *time_ns * 1e-9});
    }
  }

  CsvText csv_;
  Page page_ = Page::raw;
  std::vector<std::string> columns_, units_;
  std::size_t id_ = 0, kernel_ = 0, block_ = 0, grid_ = 0, name_ = 0, unit_ = 0, value_ = 0;
  std::optional<std::size_t> pid_, section_;
  std::vector<std::pair<std::size_t, std::uint32_t>> counters_;  // column, metric
  std::map<std::string, std::uint32_t> metric_numbers_, unit_numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> launch_numbers_;
  std::vector<std::string> unit_texts_;
  std::vector<PrintedValue> values_;
  DecimalMarks marks_;
  NcuResults results_;
  std::int64_t lines_beside_ = 0;
  std::string_view first_error_;
};

}  // namespace

Result<NcuResults> read_ncu_csv(const std::string& path, std::optional<DecimalMark> mark) {
  try {
    const Result<std::string> text = read_file(path, kMaxFileBytes);
    if (!text.ok()) return Failure{text.failure().kind, fmt::format("{}: {}", path, text.failure().message)};
    return NcuCsvReader(text.value()).read(mark);
  } catch (const Error& error) {
    return Failure{error.kind(), fmt::format("{} {}", path, error.message())};
  }
}

}  // namespace ridgeline::import
