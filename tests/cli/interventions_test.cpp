// interventions_test.cpp: `ridgeline interventions` of the built program, and what `record` takes and refuses of it.
#include <gtest/gtest.h>

#include <string>

#include "program_testing.h"

namespace ridgeline {
namespace {

using testing::Outcome;
using testing::Program;

TEST_F(Program, InterventionsWithoutDelaysSayHowToRecordThem) {
  expect_error({"interventions", "c.ridge"}, 3,
               "no launch was delayed in this recording: record it with --intervene");
}

TEST_F(Program, InterventionsRefuseAPlaceThatIsNotThere) {
  expect_error({"interventions", "missing.ridge"}, 4, "missing.ridge");
}

TEST_F(Program, RecordRefusesDelaysThatAreNone) {
  expect_error({"record", "--intervene-kernel", "gemm=5,x", "--", "true"}, 2,
               "'x' is no delay from 0 to 100000 microseconds");
  expect_error({"record", "--intervene-kernel", "=5", "--", "true"}, 2, "'=5' names no kernel");
  expect_error({"record", "--intervene", "--intervene-steps", "3", "--", "true"}, 2, "--intervene-steps");
  expect_error({"record", "--intervene-blocks", "2", "--", "true"}, 2, "--intervene-blocks");
  expect_error({"record", "--intervene-blocks", "8", "--intervene-block-seconds", "0", "--", "true"}, 2,
               "--intervene-block-seconds");
}

}  // namespace
}  // namespace ridgeline
