# Several processes as one job, and what they share: included by CMakeLists.txt of this folder.
ridgeline_add_test(gpt2.ranks_roll SOURCES ranks_roll_test.cpp LINK ridgeline::gpt2_ranks)
ridgeline_add_test(gpt2.ranks_place SOURCES ranks_place_test.cpp LINK ridgeline::gpt2_ranks)
ridgeline_add_test(gpt2.ranks_launch SOURCES ranks_launch_test.cpp LINK ridgeline::gpt2_ranks TIMEOUT 120)
ridgeline_add_test(gpt2.ranks_buckets SOURCES ranks_buckets_test.cpp LINK ridgeline::gpt2_data)
