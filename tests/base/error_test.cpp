// Exit codes are an interface: scripts and CI act on them.
#include "ridgeline/base/error.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

TEST(ExitCode, EveryKindOfFailureHasItsOwn) {
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  for (const ErrorKind kind :
       {ErrorKind::no_data, ErrorKind::not_a_capture, ErrorKind::newer_capture, ErrorKind::corrupt})
    EXPECT_EQ(exit_code(kind), 3);
  for (const ErrorKind kind : {ErrorKind::environment, ErrorKind::io}) EXPECT_EQ(exit_code(kind), 4);
  for (const ErrorKind kind : {ErrorKind::cancelled, ErrorKind::internal}) EXPECT_EQ(exit_code(kind), 5);
}

}  // namespace
}  // namespace ridgeline
