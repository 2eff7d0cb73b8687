# Model, data and trainer: included by CMakeLists.txt of this folder.
ridgeline_add_test(gpt2.model_layout SOURCES model_layout_test.cpp LINK ridgeline::gpt2_model)
ridgeline_add_test(gpt2.model_scratch SOURCES model_scratch_test.cpp LINK ridgeline::gpt2_model)
ridgeline_add_test(gpt2.model_file SOURCES model_file_test.cpp LINK ridgeline::gpt2_model)
ridgeline_add_test(gpt2.model_reference SOURCES model_reference_test.cpp LINK ridgeline::gpt2_model TIMEOUT 300)
ridgeline_add_test(gpt2.model_data SOURCES model_data_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.model_gpu SOURCES model_gpu_test.cpp LINK ridgeline::gpt2_gpu_model ridgeline::gpt2_data
  LABELS gpu TIMEOUT 600)
ridgeline_add_test(gpt2.model_memory SOURCES model_memory_test.cpp LINK ridgeline::gpt2_gpu_model)
ridgeline_add_test(gpt2.model_switches_libs SOURCES model_switches_libs_gpu_test.cpp
  LINK ridgeline::gpt2_gpu_model LABELS gpu TIMEOUT 600)
ridgeline_add_test(gpt2.model_switches_ops SOURCES model_switches_ops_gpu_test.cpp
  LINK ridgeline::gpt2_gpu_model LABELS gpu TIMEOUT 600)
ridgeline_add_test(gpt2.model_repeat SOURCES model_repeat_gpu_test.cpp LINK ridgeline::gpt2_gpu_model
  LABELS gpu TIMEOUT 300)
ridgeline_add_test(gpt2.model_fp8 SOURCES model_fp8_gpu_test.cpp LINK ridgeline::gpt2_gpu_model ridgeline::gpt2_data
  LABELS gpu TIMEOUT 300)
ridgeline_add_test(gpt2.step_graph SOURCES step_graph_test.cpp LINK ridgeline::gpt2_gpu_model
  LABELS gpu TIMEOUT 300)
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME gpt2.model_command_line
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/model_command_line_test.py $<TARGET_FILE:gpt2_train>)
  set_tests_properties(gpt2.model_command_line PROPERTIES LABELS cpu TIMEOUT 120)
endif()
