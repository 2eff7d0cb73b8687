// step_corpus: how often the search for steps is right, as a table. Each kind of program is met at 20 moments and
// from its start.
// usage: step_corpus [--sequences DIRECTORY] [--only NAME] [--moments N]
// DIRECTORY: of recorded sequences; sequences/ beside this file.
// STEP_CORPUS_VERBOSE=1 shows each period as it is found.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "corpus.h"

using namespace ridgeline::steps::corpus;

int main(int argc, char** argv) {
  std::string directory = RIDGELINE_STEP_SEQUENCES, only;
  int moments = 20;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--sequences") == 0) directory = argv[i + 1];
    if (std::strcmp(argv[i], "--moments") == 0) moments = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  std::vector<Kind> all = kinds();
  for (Kind& kind : recorded(directory)) all.push_back(std::move(kind));
  std::printf("%-40s %9s %9s %9s %7s %8s %8s  %s\n", "program", "in time", "at end", "never", "at",
              "replaced", "found", "launches a step");
  std::printf("%-40s %9s %9s %9s %7s %8s %8s\n", "", "", "", "wrong", "import", "", "(steps)");
  int cases = 0, in_time = 0, in_the_end = 0, never_wrong = 0, imports = 0, import_cases = 0;
  for (const Kind& kind : all) {
    if (!only.empty() && kind.name.find(only) == std::string::npos) continue;
    int own_cases = 0, own_in_time = 0, own_end = 0, own_never_wrong = 0, own_imports = 0, own_replaced = 0;
    std::vector<double> found;
    std::uint32_t launches = 0;
    for (int moment = 0; moment < 2 * moments; ++moment) {
      Sequence s = kind.make(static_cast<std::uint32_t>(1 + moment % moments));
      if (moment >= moments) {  // without its start
        const std::size_t step = s.steady + static_cast<std::size_t>(moment - moments) %
                                                std::max<std::size_t>(1, s.steps.size() / 4);
        s = from(s, step, (moment - moments) / static_cast<double>(moments));
      }
      const Verdict v = judge(s);
      ++own_cases;
      own_in_time += v.in_time;
      own_end += v.in_the_end;
      own_never_wrong += !v.ever_wrong;
      own_replaced += v.replaced;
      if (v.found_steps >= 0) found.push_back(v.found_steps);
      launches = v.launches;
      if (moment % moments < 2) {
        ++import_cases;
        own_imports += right_at_import(s);
      }
    }
    std::sort(found.begin(), found.end());
    std::printf("%-40s %5d/%-3d %5d/%-3d %5d/%-3d %5d/4 %8d %8.0f  %u\n", kind.name.c_str(), own_in_time,
                own_cases, own_end, own_cases, own_never_wrong, own_cases, own_imports, own_replaced,
                found.empty() ? -1.0 : found[found.size() / 2], launches);
    std::fflush(stdout);
    cases += own_cases;
    in_time += own_in_time;
    in_the_end += own_end;
    never_wrong += own_never_wrong;
    imports += own_imports;
  }
  const auto percent = [](int part, int of) { return of == 0 ? 0.0 : 100.0 * part / of; };
  std::printf("all: in time %.2f %%, at the end %.2f %%, never wrong %.2f %%, at import %.2f %% (%d cases)\n",
              percent(in_time, cases), percent(in_the_end, cases), percent(never_wrong, cases),
              percent(imports, import_cases), cases);
  return percent(in_time, cases) >= 99 && percent(in_the_end, cases) >= 99 ? 0 : 1;
}
