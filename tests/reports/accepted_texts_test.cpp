// Texts, names and numbers by lot: what is left of them at every width, and what they become in every place that they
// are printed to.
#include <cmath>
#include <limits>

#include "charts.h"
#include "drawn.h"
#include "label_places.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/table.h"
#include "ridgeline/reports/why_text.h"
#include "support/accepted_cases.h"

namespace ridgeline::reports {
namespace {

using testing::AcceptedCases;

// Of so many draws; what is held is the first whole and the others' sums.
constexpr std::uint64_t kDraws = 12;

// In letters that every editor shows.
std::string visible(const std::string& text) {
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if ((byte >= 0x20 && byte < 0x7f) || character == '\n')
      out += character;
    else
      out += testing::text_sum_in_hex(byte).substr(14) + "'";
  }
  return out;
}

TEST(DrawnTexts, AreEscapedAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(100 + draw);
      std::string out;
      for (int i = 0; i < 120; ++i) {
        const std::string text = drawn.text(i % 9);
        const std::string valid = valid_utf8(text), safe = terminal_safe(text);
        out += std::to_string(i) + " " + safe + "\n valid " + valid + "\n line " + log_line(safe) +
               "\n html " + html_escape(text) + "\n csv " + csv_field(text) + "\n cell " +
               markdown_cell(text) + "\n code " + markdown_code(text) + "\n json " +
               json_log_safe("{\"a\": \"" + safe + "\"}") + "\n words " + in_words(safe) + "\n wide " +
               std::to_string(display_width(text)) + " " + std::to_string(display_width(valid)) + " " +
               std::to_string(display_width(safe)) + " " + std::to_string(text_width(safe)) + "\n";
      }
      return visible(out);
    });
  }
}

std::string utf8(std::uint32_t c) {
  std::string out;
  if (c < 0x80) {
    out += static_cast<char>(c);
    return out;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xc0U | c >> 6U);
  } else {
    if (c < 0x10000) {
      out += static_cast<char>(0xe0U | c >> 12U);
    } else {
      out += static_cast<char>(0xf0U | c >> 18U);
      out += static_cast<char>(0x80U | (c >> 12U & 0x3fU));
    }
    out += static_cast<char>(0x80U | (c >> 6U & 0x3fU));
  }
  out += static_cast<char>(0x80U | (c & 0x3fU));
  return out;
}

// Where what is wide, what has no width and what must not be printed begins and ends.
TEST(CodePoints, AreAsWideAndAsSafeAsBefore) {
  AcceptedCases::expect([] {
    std::string out;
    for (std::uint32_t block = 0; block < 0x110000; block += 0x400) {
      const bool looked_at = block < 0x3400 || (block >= 0xa000 && block < 0xb000) ||
                             (block >= 0xd400 && block < 0x10800) || (block >= 0x1ec00 && block < 0x20400) ||
                             block == 0x2fc00 || block == 0x30000 || block == 0x3fc00 || block == 0xe0000 ||
                             block == 0x10fc00;
      if (!looked_at) continue;
      std::uint64_t sum = testing::text_sum({});
      int width = 0;
      for (std::uint32_t c = block; c < block + 0x400; ++c) {
        const std::string text = utf8(c);
        const int each = display_width(text);
        width += each;
        sum = testing::text_sum(
            terminal_safe(text) + html_escape(text) + csv_field(text) + std::to_string(each), sum);
      }
      out += testing::text_sum_in_hex(block) + " " + std::to_string(width) + " " +
             testing::text_sum_in_hex(sum) + "\n";
    }
    return out;
  });
}

TEST(DrawnTexts, AreShortenedAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(200 + draw);
      std::string out;
      for (int i = 0; i < 30; ++i) {
        const std::string text = terminal_safe(drawn.text(7));
        for (int columns = -1; columns <= 40; ++columns)
          out += std::to_string(columns) + " " + elide_end(text, columns) + "|" + elide_start(text, columns) +
                 "|" + elide_middle(text, columns) + "\n";
        for (std::size_t bytes = 16; bytes <= 48; bytes += 1 + i % 3) out += bounded(text, bytes) + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnTexts, AreWrappedAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(300 + draw);
      std::string out;
      for (int i = 0; i < 12; ++i) {
        const std::string text = drawn.text(25);
        for (const int columns : {1, 7, 8, 9, 10, 16, 24, 40, 41, 79, 80, 120, 200})
          for (const int indent : {0, 2, 6}) out += wrapped(text, columns, indent) + "\n";
        for (const Style style :
             {Style::plain, Style::good, Style::fair, Style::bad, Style::dim, Style::strong})
          out += terminal_safe(styled(wrapped(text, 30), style, true) + styled(text, style, false)) + "\n";
      }
      return visible(out);
    });
  }
}

// "3 ms" stays together, in every unit and behind every sign that may follow it.
TEST(Wrapped, QuantitiesStayWhole) {
  AcceptedCases::expect([] {
    std::string out;
    for (const char* unit : {"%", "ms", "µs", "s", "MHz", "TFLOP", "TFLOP/s", "TB/s", "GB/s", "GB", "MB",
                             "kB", "points", "launches", "tokens", "ns", "kernels", ""}) {
      for (const char* number : {"1", "12.5", "x", "1x", "0", "9", "a9", ":", "/"}) {
        for (const char* after : {"", ".", ",", ";", ":", ")", "s", " end", "/x"})
          for (const int columns : {9, 12, 13})
            out += wrapped(std::string("of them ") + number + " " + unit + after, columns) + "|";
        out += "\n";
      }
    }
    return out;
  });
}

TEST(DrawnNames, OfKernelsAreShortenedAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(400 + draw);
      std::string out;
      for (int i = 0; i < 14; ++i) {
        const std::string name = drawn.kernel();
        out += kernel_display_name(name) + "\n";
        for (int columns = 8; columns <= 100; columns += 1 + columns / 40)
          out += elide_kernel_name(name, columns) + "\n";
      }
      return out;
    });
  }
}

// Several together: some alike, some twice, some that differ in one place only.
TEST(DrawnNames, OfSeveralKernelsAreShortenedAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(500 + draw);
      std::string out;
      for (int i = 0; i < 6; ++i) {
        std::vector<std::string> names;
        const std::size_t count = drawn.below(7);
        for (std::size_t n = 0; n < count; ++n) {
          std::string name = drawn.kernel();
          names.push_back(name);
          const std::size_t again = drawn.below(4);
          if (again == 0) names.push_back(name);
          if (again > 1) {
            const std::size_t at = name.empty() ? 0 : drawn.below(name.size());
            name.insert(at, again == 2 ? "1" : "_other_");
            names.push_back(name);
          }
        }
        for (int columns = 8; columns <= 120; columns += 7)
          for (const std::string& shown : elide_kernel_names(names, columns)) out += shown + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnNames, OfRangesAreShortenedAsBefore) {
  static constexpr std::string_view kComponents[] = {"step",
                                                     "forward",
                                                     "backward",
                                                     "layer 0",
                                                     "layer 1",
                                                     "layer 11",
                                                     "matmul",
                                                     "a_component_of_some_length",
                                                     "Step 260 to 270",
                                                     "aten::convolution_backward",
                                                     "核",
                                                     "x",
                                                     "",
                                                     "residual_layernorm_forward"};
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(600 + draw);
      std::string out;
      for (int i = 0; i < 8; ++i) {
        std::vector<std::string> paths;
        const std::size_t count = drawn.below(6);
        for (std::size_t p = 0; p < count; ++p) {
          std::string path;
          const std::size_t components = drawn.below(5);
          for (std::size_t c = 0; c < components; ++c) {
            path += c > 0 ? " / " : "";
            path += drawn.of(kComponents);
          }
          paths.push_back(path);
          if (drawn.one_in(5)) paths.push_back(path);
        }
        for (int columns = 1; columns <= 70; columns += 1 + columns / 20)
          for (const std::string& shown : elide_paths(paths, columns)) out += shown + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnNumbers, AreReadAsBefore) {
  const auto all_forms = [](const auto& value) {
    std::string out;
    for (const Form form :
         {Form::plain, Form::integer, Form::milliseconds, Form::microseconds, Form::percent, Form::ratio,
          Form::megabytes, Form::gigabytes, Form::tera, Form::megahertz, Form::general})
      out += Cell::number(value, form).words() + " ";
    return out;
  };
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(700 + draw);
      std::string out;
      for (int i = 0; i < 150; ++i) {
        const double value = drawn.number();
        out += all_forms(value);
        if (std::fabs(value) < 9e15) out += all_forms(static_cast<std::int64_t>(value));
        out += target_text(value) + " " + rate_text(value) + " " + time_text(value) + " " +
               bytes_text(value) + " " +
               (value > 0 && value < 1e30 && value > 1e-30 ? fixed(nice_tick(value, 1 + i % 9), 9) : "") +
               "\n";
      }
      return out;
    });
  }
}

TEST(DrawnNumbers, OnALogarithmicAxisStandWhereTheyStood) {
  AcceptedCases::expect([] {
    Drawn drawn(1);
    std::string out;
    for (int i = 0; i < 60; ++i) {
      const double one = std::fabs(drawn.number()) + 1e-12, other = std::fabs(drawn.number()) + 1e-12;
      if (one == other) continue;
      const LogScale scale(std::min(one, other), std::max(one, other), 10, 500);
      out += testing::fields(scale.ticks());
      for (const double at : {scale.low() / 2, scale.low(), std::sqrt(scale.low() * scale.high()),
                              scale.high(), scale.high() * 2})
        out += " " + fixed(scale(at), 3);
      out += "\n";
    }
    return out;
  });
}

TEST(DrawnPictures, HaveTheirNamesWhereTheyWere) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(800 + draw);
      LabelPlaces places({0, 0, 300, 200});
      std::string out;
      for (int i = 0; i < 60; ++i) {
        const auto x = static_cast<double>(drawn.below(301)), y = static_cast<double>(drawn.below(201));
        const double radius = 2.0 + static_cast<double>(drawn.below(7)),
                     width = static_cast<double>(drawn.below(80));
        if (i % 4 == 0) places.block_dot(x, y, radius);
        if (i % 9 == 0) places.block({x, y, x + width, y + 12});
        const auto place = places.beside(x, y, radius, width);
        out += place ? fixed(place->x, 3) + " " + fixed(place->y, 3) + "\n" : "none\n";
      }
      return out;
    });
  }
}

TEST(DrawnPictures, OfSharesAreAsBefore) {
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(900 + draw);
      std::string out;
      for (int i = 0; i < 20; ++i) {
        std::vector<Share> shares;
        const std::size_t count = drawn.below(8);
        for (std::size_t s = 0; s < count; ++s) {
          const std::string label = drawn.text(3);
          static constexpr double kNs[] = {0, 0.4, 0.5, -0.5, -3e6, 1e6, 5e6, 2e7, 1.5e5, 0.49};
          const double ns = drawn.of(kNs);
          shares.push_back({label, "k-" + std::to_string(s), ns});
        }
        static constexpr double kWhole[] = {0, -1, 1e6, 2e7, 5e7};
        const double whole = drawn.of(kWhole);
        out += stacked_bar(shares, whole, "a bar") + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnPictures, OfStepsAreAsBefore) {
  static constexpr Phase kPhases[] = {Phase::warmup, Phase::timeline, Phase::replay, Phase::sample,
                                      Phase::after};
  for (const std::size_t count : {0, 1, 2, 3, 7, 40, 199, 200, 201, 399, 401, 900}) {
    AcceptedCases::expect([&] {
      Drawn drawn(1000 + count);
      std::string out;
      for (int lot = 0; lot < (count > 100 ? 2 : 5); ++lot) {
        analyzer::StepAnalysis steps;
        steps.process_id = 1;
        std::size_t phase = 0;
        for (std::size_t i = 0; i < count; ++i) {
          analyzer::StepSummary step;
          step.step_id = static_cast<store::Id>(i + 1);
          step.step_index = static_cast<std::int64_t>(i);
          step.process_id = drawn.one_in(30) ? 2 : 1;
          if (drawn.one_in(count / 4 + 1)) phase = drawn.below(std::size(kPhases));
          step.phase = kPhases[phase];
          if (drawn.one_in(12)) step.status = StepStatus::mismatch;
          const auto more = static_cast<std::int64_t>(drawn.below(1000));
          step.gpu_duration_ns = 20'000'000 + 1000 * more;
          const std::size_t kind = drawn.below(40);
          if (kind == 0) step.gpu_duration_ns = 0;
          if (kind == 1) step.gpu_duration_ns *= 2 + lot;
          if (kind == 2) step.gpu_duration_ns *= 40;
          if (kind == 3) step.gpu_duration_ns = step.gpu_duration_ns * 8 / 5;
          steps.steps.push_back(step);
        }
        steps.representative.whole_recording = lot == 1;
        if (count > 0) steps.representative.summary.step_id = static_cast<store::Id>(1 + drawn.below(count));
        out += step_chart(steps) + "\n";
      }
      return out;
    });
  }
}

TEST(DrawnPictures, OfSamplesAreAsBefore) {
  static constexpr KernelClass kClasses[] = {KernelClass::gemm, KernelClass::attention,
                                             KernelClass::elementwise, KernelClass::other};
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    AcceptedCases::expect([&] {
      Drawn drawn(1100 + draw);
      std::string out;
      for (int lot = 0; lot < 4; ++lot) {
        analyzer::SampledStep step;
        step.step_index = lot;
        static constexpr std::int64_t kLengths[] = {1000, 950'000, 12'345'678, 65'000'000, 8'000'000'000};
        const std::int64_t length = drawn.of(kLengths);
        step.window = {5000, 5000 + length};
        step.samples = static_cast<std::int64_t>(drawn.below(5000));
        step.interval_ns = std::fabs(drawn.number());
        const std::size_t bins = 1 + drawn.below(30);
        for (std::size_t i = 0; i < bins; ++i) {
          const double dram = static_cast<double>(drawn.below(130)) / 100 - 0.1,
                       tensor = static_cast<double>(drawn.below(100)) / 100;
          step.dram_ratio.push_back(dram);
          if (lot != 2) step.tensor_ratio.push_back(tensor);
        }
        std::int64_t at = step.window.start_ns;
        for (int run = 0; run < 40 && at < step.window.end_ns; ++run) {
          const auto each = static_cast<std::int64_t>(
              drawn.below(static_cast<std::size_t>(length / (lot == 3 ? 2000 : 20) + 1)));
          const auto gap = static_cast<std::int64_t>(drawn.below(3)) * each / 4;
          step.classes.push_back({drawn.of(kClasses), at, at + each});
          at += each + gap;
        }
        const SampleChart chart = sample_chart(step);
        out += chart.svg + "\n" + chart.note + "\n";
      }
      return out;
    });
  }
}

TEST(ListedWords, AreJoinedByHowManyTheyAre) {
  AcceptedCases::expect([] {
    std::string out;
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"", "b"}, {"a", "b", "c", "d"}})
      out += listed_words(words) + "\n";
    return out;
  });
}

}  // namespace
}  // namespace ridgeline::reports
