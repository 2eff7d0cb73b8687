# The agent needs CUPTI's headers; its tests follow it.
ridgeline_test_part(programs programs)
if(programs AND TARGET ridgeline_agent)
  # A machine of two cards: the agent finds these libraries by their names once they are loaded.
  foreach(part driver:libcuda.so.1 nvml:libnvidia-ml.so.1)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 name)
    list(GET part 1 soname)
    add_library(fake_${name} MODULE fake/${name}.cpp)
    target_include_directories(fake_${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_options(fake_${name} PRIVATE -Wl,-soname,${soname})
    set_target_properties(fake_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endforeach()

  # A library whose exit handlers leave a trace.
  add_library(fake_statics MODULE fake/statics.cpp)
  set_target_properties(fake_statics PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  ridgeline_add_tests(collector PROGRAM collector.agent
    FILES agent_agreement agent_alone agent_available_memory agent_call_switch agent_captures agent_code_hash agent_collectives agent_devices agent_exit agent_graph_launches agent_host_waits agent_interventions agent_launch_clock agent_launch_gate agent_memory agent_metrics agent_numbers agent_nvtx agent_order agent_others agent_period agent_replay
      agent_replay_budget agent_replay_exclusion agent_replay_failures agent_replay_graph agent_replay_rounds agent_sampling agent_sampling_start agent_sequence agent_session agent_shared_budget agent_stalls agent_steps agent_stretches agent_thread_state agent_turns agent_waits
      agent_window
    LINK ridgeline::agent_core ridgeline::store
    INCLUDE $<TARGET_PROPERTY:ridgeline_launch,SOURCE_DIR>/src $<TARGET_PROPERTY:ridgeline_launch,SOURCE_DIR>/include
    DEFINE RIDGELINE_TEST_CUPTI="${RIDGELINE_CUPTI_LIBRARY}" RIDGELINE_FAKE_DRIVER="$<TARGET_FILE:fake_driver>"
      RIDGELINE_FAKE_NVML="$<TARGET_FILE:fake_nvml>" RIDGELINE_FAKE_STATICS="$<TARGET_FILE:fake_statics>"
    DEPENDS fake_driver fake_nvml fake_statics
    APART)

  # The library as NCCL loads it, in processes of their own: it reads its settings once.
  ridgeline_add_tests(collector PROGRAM collector.agent_plugin FILES agent_plugin LINK ridgeline::spool ${CMAKE_DL_LIBS}
    DEFINE RIDGELINE_TEST_AGENT="$<TARGET_FILE:ridgeline_agent>" DEPENDS ridgeline_agent APART)
  target_include_directories(test_collector.agent_plugin SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})

  # As much of CUPTI as is asked for, for tests/gpu/launch_cost.py.
  add_library(agent_parts MODULE gpu/parts.cpp)
  set_target_properties(agent_parts PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests PREFIX "")
  target_include_directories(agent_parts SYSTEM PRIVATE ${RIDGELINE_CUPTI_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_parts PRIVATE ${CMAKE_DL_LIBS} ridgeline::options)

  # In which library a program's first thread spends its time, for the same.
  add_library(agent_where MODULE gpu/where.cpp)
  set_target_properties(agent_where PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests PREFIX "")
  target_link_libraries(agent_where PRIVATE ridgeline::options)

  # What the agent does at a launch, in ns.
  if(RIDGELINE_BUILD_BENCHMARKS)
    add_executable(launch_bench launch_bench.cpp)
    set_target_properties(launch_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(launch_bench PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(launch_bench PRIVATE ridgeline::agent_core GTest::gtest ridgeline::options)
  endif()

  add_test(NAME collector.agent_library
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/agent_library_test.sh $<TARGET_FILE:ridgeline_agent>)
  set_tests_properties(collector.agent_library PROPERTIES LABELS cpu)

  # A program with known kernels and steps, for the tests that need a GPU.
  add_executable(agent_exerciser gpu/exerciser.cu)
  set_target_properties(agent_exerciser PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_exerciser SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_exerciser PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

  # One that marks nothing, in several processes and contexts, for tests/gpu/windows.py.
  add_executable(agent_looper gpu/looper.cu)
  set_target_properties(agent_looper PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_looper SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_looper PRIVATE CUDA::cuda_driver)

  # One that ends at a moment and in a way of the tester's choosing, for tests/gpu/exits.py.
  add_executable(agent_exiter gpu/exiter.cu)
  set_target_properties(agent_exiter PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_exiter SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_exiter PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

  # One whose DRAM traffic is known, for tests/gpu/streams.py.
  add_executable(agent_streamer gpu/streamer.cu)
  set_target_properties(agent_streamer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_streamer SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_streamer PRIVATE ${CMAKE_DL_LIBS})

  # One of five kernels whose places on a roofline are known, for tests/gpu/places.py.
  add_executable(agent_places gpu/places.cu)
  set_target_properties(agent_places PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_places SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_places PRIVATE CUDA::cublas ${CMAKE_DL_LIBS})

  # One whose dependencies are known, for tests/gpu/dependencies.py.
  add_executable(agent_orderer gpu/orderer.cu)
  set_target_properties(agent_orderer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_orderer SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_orderer PRIVATE ${CMAKE_DL_LIBS})

  # A program whose critical path and slack are known: tests/gpu/intervene.py delays its kernels.
  add_executable(agent_slacker gpu/slacker.cu)
  set_target_properties(agent_slacker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(agent_slacker SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_slacker PRIVATE ${CMAKE_DL_LIBS})

  # One whose floating-point instructions are known, for tests/gpu/instructions.py.
  add_executable(agent_counted gpu/counted.cu)
  set_target_properties(agent_counted PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(agent_counted PRIVATE -lineinfo)  # the check looks for source lines
  target_include_directories(agent_counted SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_counted PRIVATE ${CMAKE_DL_LIBS})

  # One that does whatever a program may do while its kernels are counted, for tests/gpu/gauntlet.py.
  add_executable(agent_gauntlet gpu/gauntlet/main.cu gpu/gauntlet/graphs.cu gpu/gauntlet/modules.cu gpu/gauntlet/order.cu)
  set_target_properties(agent_gauntlet PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
    CUDA_SEPARABLE_COMPILATION ON)  # graphs that the device launches
  target_include_directories(agent_gauntlet SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(agent_gauntlet PRIVATE CUDA::cublasLt CUDA::cuda_driver Threads::Threads ${CMAKE_DL_LIBS})

  ridgeline_add_tests(collector PROGRAM collector.agent_gpu FILES agent_gpu LINK ridgeline::spool DEPENDS agent_exerciser ridgeline_agent
    TIMEOUT 100 GPU)
endif()
