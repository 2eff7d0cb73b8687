// progress.h: one line on standard error that is drawn over itself; nothing where that is no terminal.
#pragma once

#include <string>

namespace ridgeline::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);  // at most one line; cut to 79 columns
  void clear();

 private:
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace ridgeline::cli
