// main.cpp: the program `ridgeline`: docs/cli.md.
#include <string>
#include <vector>

#include "command_line.h"

int main(int argc, char** argv) {
  return ridgeline::cli::run_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
