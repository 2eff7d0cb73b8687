# What the trainer program does around the model: checkpoints, sampling.
ridgeline_add_test(gpt2.train_checkpoint SOURCES train_checkpoint_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.train_energy SOURCES train_energy_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.train_files SOURCES train_files_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.train_sampling SOURCES train_sampling_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.train_resume SOURCES train_resume_test.cpp LINK ridgeline::gpt2_gpu_model ridgeline::gpt2_data
  LABELS gpu TIMEOUT 300)
if(Python3_FOUND)
  add_test(NAME gpt2.train_command_line
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/train_command_line_test.py $<TARGET_FILE:gpt2_train>)
  set_tests_properties(gpt2.train_command_line PROPERTIES LABELS cpu TIMEOUT 120)
endif()
