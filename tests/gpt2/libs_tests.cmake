# Tests of the trainer's library wrappers.
ridgeline_add_test(gpt2.libs_matmul_cache
  SOURCES libs_matmul_cache_test.cpp LINK ridgeline::gpt2_libs nlohmann_json::nlohmann_json)
ridgeline_add_test(gpt2.libs_matmul
  SOURCES libs_matmul_test.cpp LINK ridgeline::gpt2_libs nlohmann_json::nlohmann_json LABELS gpu TIMEOUT 300)
ridgeline_add_test(gpt2.libs_matmul_fp8
  SOURCES libs_matmul_fp8_test.cpp LINK ridgeline::gpt2_libs LABELS gpu TIMEOUT 300)
ridgeline_add_test(gpt2.libs_attention_cudnn
  SOURCES libs_attention_cudnn_test.cpp LINK ridgeline::gpt2_libs LABELS gpu TIMEOUT 300)
ridgeline_add_test(gpt2.libs_matmul_cublas
  SOURCES libs_matmul_cublas_test.cpp LINK ridgeline::gpt2_libs LABELS gpu TIMEOUT 300)
