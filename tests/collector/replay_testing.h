// replay_testing.h: programs whose steps are replayed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "agent_testing.h"

namespace ridgeline::agent::testing {

inline const std::map<std::string, std::string> kTwoSets = {{"RIDGELINE_SCHEDULE", "timeline=2,replay=3"},
                                                            {"RIDGELINE_METRICS_R1", "a,b"},
                                                            {"RIDGELINE_METRICS_R2", "a,c,d"}};

inline void step(FakeProgram& program, int launches = 3, const char* last = "k2") {
  program.push("step");
  for (int i = 0; i < launches; ++i)
    program.launch(i + 1 == launches ? last : "k1", static_cast<unsigned>(i) + 1);
  program.pop();
}

/// What the spool holds once the agent's thread has evaluated everything.
inline FakeProgram::Contents measured(FakeProgram& program) {
  program.tick();
  return program.contents();
}

/// A program whose counters are ready: two timeline steps are through.
struct Ready {
  explicit Ready(FakeCupti& cupti, const std::map<std::string, std::string>& environment = kTwoSets)
      : program(cupti, environment) {
    EXPECT_TRUE(program.start());
    program.create_context();
    step(program);
    program.tick();
    step(program);
  }
  FakeProgram program;
};

}  // namespace ridgeline::agent::testing
