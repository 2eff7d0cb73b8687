#include "progress.h"

#include <cstdio>

#include "output.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"

namespace ridgeline::cli {

ProgressLine::ProgressLine() : enabled_(standard_error_is_terminal()) {}
ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) return;
  std::fprintf(stderr, "\r\x1b[K%s", reports::elide_end(reports::terminal_safe(text), 79).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace ridgeline::cli
