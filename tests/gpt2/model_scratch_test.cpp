// Memory that tensors have in turn: who asks for one that is not there is told which are.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpt2/model/scratch.h"

namespace ridgeline::gpt2 {
namespace {

TEST(Scratch, GivesWhatWasBegunWithItsShape) {
  alignas(8) std::array<std::byte, 96> memory;
  Scratch scratch(memory.data(), memory.size());
  const Matrix<float> begun = scratch.begin<float>(live::gelu, 4, 6);
  EXPECT_EQ(static_cast<void*>(begun.data), memory.data());
  const Matrix<const float> got = scratch.get<float>(live::gelu);
  EXPECT_EQ(got.data, begun.data);
  EXPECT_EQ(got.rows, 4);
  EXPECT_EQ(got.columns, 6);
  EXPECT_EQ(got.elements(), 24);
}

TEST(Scratch, RefusesWhatIsOverOrOfAnotherType) {
  alignas(8) std::array<std::byte, 96> memory;
  Scratch scratch(memory.data(), memory.size());
  EXPECT_THROW(scratch.get<float>(live::gelu), std::logic_error);
  scratch.begin<float>(live::gelu, 4, 6);
  EXPECT_THROW(scratch.get<std::uint8_t>(live::gelu), std::logic_error);
  scratch.begin<float>(live::gelu_gradient, 2, 6);
  try {
    scratch.get<float>(live::gelu);
    FAIL() << "no error";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find(live::gelu_gradient), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(live::gelu), std::string::npos) << error.what();
  }
  scratch.become(live::gelu_gradient, live::hidden_gradient);
  EXPECT_EQ(scratch.get<float>(live::hidden_gradient).rows, 2);
  EXPECT_THROW(scratch.become(live::gelu_gradient, live::hidden_gradient), std::logic_error);
}

TEST(Scratch, RefusesWhatIsTooLarge) {
  alignas(8) std::array<std::byte, 96> memory;
  Scratch scratch(memory.data(), memory.size());
  EXPECT_NO_THROW(scratch.begin<float>(live::gelu, 4, 6));
  EXPECT_THROW(scratch.begin<float>(live::gelu, 5, 5), std::logic_error);
}

}  // namespace
}  // namespace ridgeline::gpt2
