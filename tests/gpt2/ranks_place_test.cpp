// Which rank a process is by the variables of its launcher, its GPU and its share of the batch.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gpt2/common/errors.h"
#include "gpt2/ranks/place.h"

namespace ridgeline::gpt2 {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankPlace> place(const Variables& values) {
  return place_from_environment([&](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  });
}

void refused(const Variables& values, const std::string& says) {
  try {
    (void)place(values);
    FAIL() << says;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(RanksPlace, WithoutALauncherThereIsNone) {
  EXPECT_FALSE(place({}));
  EXPECT_FALSE(place({{"RANK", "0"}}));
  EXPECT_FALSE(place({{"RANK", ""}, {"WORLD_SIZE", ""}}));
  // A batch script of Slurm is no step of it.
  EXPECT_FALSE(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "17"}}));
}

TEST(RanksPlace, OfTorchrun) {
  const auto p = place({{"RANK", "5"},
                        {"WORLD_SIZE", "8"},
                        {"LOCAL_RANK", "1"},
                        {"MASTER_ADDR", "node0"},
                        {"MASTER_PORT", "29400"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rank, 5);
  EXPECT_EQ(p->size, 8);
  EXPECT_EQ(p->local_rank, 1);
  EXPECT_EQ(p->host, "node0");
  EXPECT_EQ(p->port, 29401) << "torchrun itself listens at the port it names";
  EXPECT_EQ(p->launcher, "torchrun");
}

TEST(RanksPlace, OfSlurm) {
  const auto p = place({{"SLURM_PROCID", "3"},
                        {"SLURM_STEP_NUM_TASKS", "4"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.7"},
                        {"RIDGELINE_PORT", "4000"}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rank, 3);
  EXPECT_EQ(p->size, 4);
  EXPECT_EQ(p->local_rank, 1);
  EXPECT_EQ(p->host, "10.0.0.7");
  EXPECT_EQ(p->port, 4000);
}

TEST(RanksPlace, OfMpi) {
  const auto open = place({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->host, "127.0.0.1") << "all on this host";
  EXPECT_EQ(open->port, 29501);
  const auto other = place({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "a"}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->rank, 2);
  EXPECT_EQ(other->local_rank, 2) << "nothing else is known";
}

TEST(RanksPlace, WhatCannotBeIsRefused) {
  refused({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}}, "RANK=8: must be a number from 0 to 7");
  refused({{"RANK", "x"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}}, "RANK=x");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE=0");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "2x"}, {"MASTER_ADDR", "a"}}, "WORLD_SIZE=2x");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}},
          "MASTER_PORT=70000");
  refused({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "set MASTER_ADDR");
}

TEST(RanksPlace, DeviceOfARank) {
  EXPECT_EQ(device_of({.rank = 5, .size = 8, .local_rank = 1, .launcher = "torchrun"}, 4), 1);
  EXPECT_EQ(device_of({.rank = 1, .size = 2, .local_rank = 1, .launcher = "Slurm"}, 1), 0)
      << "each task sees a GPU of its own";
  EXPECT_THROW(device_of({.rank = 1, .size = 2, .local_rank = 1}, 1), EnvironmentError)
      << "forked: all see the same";
  EXPECT_THROW(device_of({.rank = 4, .size = 8, .local_rank = 4, .launcher = "torchrun"}, 2),
               EnvironmentError);
}

TEST(RanksPlace, SlicesAreTheBatch) {
  for (const int size : {1, 2, 3, 4, 6, 12}) {
    int next = 0;
    for (int rank = 0; rank < size; ++rank) {
      const BatchSlice slice = slice_of_batch(12, rank, size);
      EXPECT_EQ(slice.begin, next);
      EXPECT_EQ(slice.count, 12 / size);
      next += slice.count;
    }
    EXPECT_EQ(next, 12);
  }
  try {
    (void)slice_of_batch(12, 0, 8);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("-B 12 cannot be divided among 8 ranks"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline::gpt2
