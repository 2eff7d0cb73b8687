# What the trainer program does around the model: checkpoints, sampling.
ridgeline_add_test(gpt2.train_checkpoint SOURCES train_checkpoint_test.cpp LINK ridgeline::gpt2_data)
ridgeline_add_test(gpt2.train_sampling SOURCES train_sampling_test.cpp LINK ridgeline::gpt2_data)
