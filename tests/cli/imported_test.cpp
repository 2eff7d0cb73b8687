// imported_test.cpp: what the verbs say of captures that were made of other profilers' traces: nothing that only our
// recorder could do, and no figure of what was not measured.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "program_testing.h"

namespace ridgeline {
namespace {

using testing::Outcome;
using testing::Program;

struct Trace {
  int steps = 1;
  std::string range;     // round each step, with its number; "": none
  bool shapes = false;   // of its products
  bool several = false;  // kernels of several names
};

// As torch.profiler writes: launches with their calls, in steps of a millisecond that the CPU is late for.
std::string trace_of(const Trace& of) {
  std::string events;
  int id = 1;
  const auto event = [&](const std::string& rest) {
    events += (events.empty() ? "\n  {" : ",\n  {") + rest + "}";
  };
  for (int step = 0; step < of.steps; ++step) {
    const int at = 1000 + 1000 * step;
    if (!of.range.empty())
      event(R"("ph": "X", "cat": "user_annotation", "name": ")" + of.range + std::to_string(step) +
            R"(", "pid": 9, "tid": 9, "ts": )" + std::to_string(at) + R"(, "dur": 900)");
    for (int k = 0; k < 4; ++k, ++id) {
      const std::string number = std::to_string(id), call = std::to_string(at + 10 + 100 * k);
      event(R"("ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": )" + call +
            R"(, "dur": 20)" +
            (of.shapes
                 ? R"(, "args": {"Input Dims": [[512, 256], [256, 128]], "Input type": ["float", "float"]})"
                 : ""));
      event(R"("ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": )" +
            call + R"(.5, "dur": 3, "args": {"correlation": )" + number + "}");
      event(R"("ph": "X", "cat": "kernel", "name": "void product)" + std::to_string(of.several ? k % 3 : 0) +
            R"j(<float>(float*)", "pid": 0, "tid": 7, "ts": )j" + std::to_string(at + 30 + 100 * k) +
            R"(.25, "dur": 50.5, "args": {"device": 0, "context": 1, "stream": 7, "correlation": )" + number +
            R"(, "registers per thread": 40, "grid": [64, 1, 1], "block": [256, 1, 1]})");
    }
  }
  return R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"traceEvents": [)" +
         events + "\n]}\n";
}

class Imported : public Program {
 protected:
  void import(const Trace& of, const std::vector<std::string>& more = {}) {
    std::ofstream(file("trace.json")) << trace_of(of);
    std::vector<std::string> words = {"import", "trace.json", "-o", "i.ridge", "-f"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome made = run(words);
    ASSERT_EQ(made.code, 0) << made.err;
    expect_words_of_the_trace("import", made.out + made.err);
  }

  static void expect_words_of_the_trace(const std::string& where, const std::string& text) {
    for (const char* own : {"record --", "--schedule", "--tiers", "ridgeline doctor", "ridgeline record",
                            "record it again", "while the program ran", "Recorded with",
                            "times of the undisturbed run", "he program declares", "nan", "NaN", "inf %"})
      EXPECT_EQ(text.find(own), std::string::npos) << where << " says \"" << own << "\":\n" << text;
  }

  void expect_documents_of_the_trace() {
    const std::vector<std::pair<std::vector<std::string>, int>> verbs = {
        {{"info", "i.ridge"}, 0},
        {{"rank", "i.ridge", "--verbose"}, 0},
        {{"rank", "i.ridge", "--by", "launch"}, 0},
        {{"roofline", "i.ridge"}, 0},
        {{"steps", "i.ridge", "--verbose"}, 0},
        {{"advise", "i.ridge", "--all"}, 0},
        {{"explain", "i.ridge", "1"}, 0},
        {{"check", "i.ridge"}, 3},
        {{"report", "i.ridge", "--format", "markdown"}, 0}};
    for (const auto& [words, code] : verbs) {
      const Outcome said = run(words);
      EXPECT_EQ(said.code, code) << words.front() << ": " << said.err;
      EXPECT_FALSE(said.out.empty()) << words.front();
      expect_words_of_the_trace(words.front(), said.out + said.err);
    }
  }
};

TEST_F(Imported, WithoutStepsTheDocumentsAreOfTheTrace) {
  import({.several = true});
  expect_documents_of_the_trace();
  const std::string steps = run({"steps", "i.ridge"}).out;
  EXPECT_NE(steps.find("ridgeline import --step-range NAME"), std::string::npos) << steps;
  EXPECT_NE(steps.find("\"aten::mm\" (4)"), std::string::npos) << "which ranges there are\n" << steps;
  EXPECT_EQ(steps.find("of the others"), std::string::npos) << "there are none\n" << steps;
}

TEST_F(Imported, OfFewStepsTheDocumentsAreOfTheTrace) {
  import({.steps = 3, .range = "ProfilerStep#"});
  expect_documents_of_the_trace();
  const std::string rank = run({"rank", "i.ridge", "--verbose"}).out;
  EXPECT_NE(rank.find("the median is of 2 steps: profile more steps and import them"), std::string::npos)
      << rank;
  EXPECT_NE(rank.find("times of the trace; 12 launches with their kernels"), std::string::npos) << rank;
}

TEST_F(Imported, StepsThatAreFoundAreSaidToBeFound) {
  import({.steps = 60, .several = true});
  expect_documents_of_the_trace();
  EXPECT_NE(run({"steps", "i.ridge", "--verbose"}).out.find("taken from the period"), std::string::npos);
  import({.steps = 60, .range = "batch ", .several = true});
  expect_documents_of_the_trace();
  EXPECT_NE(run({"info", "i.ridge"}).out.find("steps are the ranges \"batch #\""), std::string::npos);
}

TEST_F(Imported, WorkByShapesIsOfTheTrace) {
  import({.steps = 5, .range = "ProfilerStep#", .shapes = true});
  expect_documents_of_the_trace();
  const std::string rank = run({"rank", "i.ridge"}).out;
  EXPECT_NE(rank.find("shapes in the trace make"), std::string::npos) << rank;
}

TEST_F(Imported, ComparedWithItselfNothingChanged) {
  import({.steps = 5, .range = "ProfilerStep#"});
  const Outcome compared = run({"compare", "i.ridge", "i.ridge"});
  EXPECT_EQ(compared.code, 3) << "one run a side has no verdict";
  expect_words_of_the_trace("compare", compared.out + compared.err);
  EXPECT_EQ(compared.out.find("-0.0"), std::string::npos) << compared.out;
}

}  // namespace
}  // namespace ridgeline
