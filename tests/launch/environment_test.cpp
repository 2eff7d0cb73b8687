#include <gtest/gtest.h>

#include "mapped_libraries.h"
#include "program_environment.h"

namespace ridgeline::launch {
namespace {

TEST(Environment, KeepsTheSwitchesOfLibrariesAndNothingElse) {
  const auto kept = relevant_environment(
      {"CUDA_VISIBLE_DEVICES=0", "NCCL_DEBUG=INFO", "HOME=/root", "PYTORCH_ALLOC_CONF=x",
       "NVIDIA_API_KEY=abc", "CUDA_TOKEN=abc", "OMP_NUM_THREADS=4", "broken",
       "TORCH_LOGS=https://me:geheim@example.org/x?sig=geheim", "NCCL_AUTH=1", "=odd",
       "TF_VAR_db_password=geheim", "CUDA_my_secret=geheim", "SLURM_MYSQL_PASS=geheim", "SLURM_PROCID=3",
       "TORCH_MIRROR=x", "NCCL_NET_PLUGIN=https://TOKEN@host", "nccl_debug=INFO"});
  EXPECT_EQ(kept, (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", "0"},
                                                      {"NCCL_DEBUG", "INFO"},
                                                      {"NCCL_NET_PLUGIN", "https://***@host"},
                                                      {"OMP_NUM_THREADS", "4"},
                                                      {"PYTORCH_ALLOC_CONF", "x"},
                                                      {"SLURM_PROCID", "3"},
                                                      {"TORCH_LOGS", "https://***@example.org/x?***"}}));
}

TEST(Environment, WhatTheUserNamesIsKeptOrReplaced) {
  const std::vector<std::string> variables = {"SITE_MODE=fast", "SITE_TOKEN=abc",
                                              "SITE=acme",      "OMP_NUM_THREADS=4",
                                              "HOME=/root",     "SITE_URL=https://me:x@host"};
  const std::vector<std::string> keep = {"SITE*", "HOME"};
  const std::vector<std::string> redact = {"acme", "OMP_*"};
  EXPECT_EQ(relevant_environment(variables, keep, redact),
            (std::map<std::string, std::string>{{"SITE_MODE", "fast"},
                                                {"SITE", "***"},
                                                {"OMP_NUM_THREADS", "***"},
                                                {"HOME", "/root"},
                                                {"SITE_URL", "https://***@host"}}));
}

TEST(MappedLibraries, AreFoundInAMapsFile) {
  MappedLibraries libraries;
  libraries.look_at_maps(
      "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libc.so.6\n"
      "7f02-7f03 r-xp 00000000 08:01 1 /opt/my libs/libcublas.so.13.1.0.3\n"
      "7f04-7f05 r-xp 00000000 08:01 1 /opt/libcublasLt.so.13.1.0.3\n"
      "7f06-7f07 rw-p 00000000 00:00 0\n"
      "7f08-7f09 r-xp 00000000 08:01 1 /opt/libnccl.so.2.28.7");
  EXPECT_EQ(libraries.paths().at("cublas"), "/opt/my libs/libcublas.so.13.1.0.3");
  // The files are not there: the names alone must do.
  EXPECT_EQ(libraries.versions(), (std::map<std::string, std::string>{
                                      {"cublas", "13.1.0.3"}, {"cublaslt", "13.1.0.3"}, {"nccl", "2.28.7"}}));
  libraries.look_at(-1);
}

}  // namespace
}  // namespace ridgeline::launch
