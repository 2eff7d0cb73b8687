# Helpers every module's CMakeLists.txt uses.
include_guard()

# Warnings and sanitizers, in one interface target. Host C++ only: nvcc's host pass sees -Wall alone.
add_library(ridgeline_options INTERFACE)
add_library(ridgeline::options ALIAS ridgeline_options)
target_compile_options(ridgeline_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wno-missing-field-initializers>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall --expt-relaxed-constexpr -lineinfo>)
if(RIDGELINE_SANITIZE)
  # Checks of null and of alignment are a quarter of the compile time: AddressSanitizer meets a null pointer too.
  target_compile_options(ridgeline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${RIDGELINE_SANITIZE} -fno-sanitize=null,alignment -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(ridgeline_options INTERFACE -fsanitize=${RIDGELINE_SANITIZE})
endif()
if(RIDGELINE_PORTABLE)
  target_link_options(ridgeline_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

# Of tests: they are compiled quickly rather than well, for a third of the sources are theirs and each runs once.
add_library(ridgeline_test_options INTERFACE)
target_compile_options(ridgeline_test_options INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
if(RIDGELINE_SANITIZE MATCHES undefined)
  # Checks of the tests' own arithmetic would take a third of their compile time; what they call has them.
  target_compile_options(ridgeline_test_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
endif()

# Headers that most sources read are parsed once for all: a tenth of the time of a source of a library, a fifth of a test's,
# a quarter of the desktop program's. The cache behind a compiler launcher cannot see into them, so a build with one does without.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(ridgeline_common_headers
  <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <sstream> <string> <string_view>
  <utility> <variant> <vector>)

# ridgeline_precompile(<target> <kind> <header>...)
# The common headers and these. The first target of a kind compiles them, the others of its kind take what it compiled:
# all of one kind have the same compiler options.
function(ridgeline_precompile target kind)
  get_property(first GLOBAL PROPERTY RIDGELINE_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY RIDGELINE_PRECOMPILED_${kind} ${target})
  foreach(header IN LISTS ridgeline_common_headers ARGN)
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${header}>)
  endforeach()
endfunction()

# ridgeline_add_library(<module> SOURCES ... [LINK ...] [PRIVATE_LINK ...])
# Makes static library ridgeline_<module> with alias ridgeline::<module>; public headers live in
# <dir>/include/ridgeline/<module>/.
function(ridgeline_add_library module)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(ridgeline_${module} STATIC ${ARG_SOURCES})
  add_library(ridgeline::${module} ALIAS ridgeline_${module})
  target_include_directories(ridgeline_${module} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(ridgeline_${module} PUBLIC ${ARG_LINK} PRIVATE ridgeline::options ${ARG_PRIVATE_LINK})
  ridgeline_precompile(ridgeline_${module} library)
endfunction()

# ridgeline_add_test(<module>.<file> SOURCES ... LINK ... [LABELS cpu|gpu] [TIMEOUT seconds] [COST n] [TEXT])
# One GoogleTest program, one ctest entry for each of its cases. Label cpu unless told. TEXT: the test compares a
# document with the source. Its label cpu-text matches `ctest -L cpu`; scripts/mutate leaves out what matches `text`.
# COST: seconds that all of it takes under the sanitizers, where a long program should begin early.
function(ridgeline_add_test name)
  cmake_parse_arguments(ARG "TEXT" "LABELS;TIMEOUT;COST" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  if(ARG_TEXT)
    set(ARG_LABELS cpu-text)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE ridgeline::options ridgeline_test_options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE RIDGELINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  ridgeline_precompile(test_${name} test <gtest/gtest.h>)
  if(ARG_LABELS STREQUAL gpu)
    # Not discovered case by case: listing cases must not need a GPU, and one process a file keeps start-up cheap.
    add_test(NAME ${name} COMMAND test_${name})
    set_property(GLOBAL APPEND PROPERTY RIDGELINE_GPU_TESTS test_${name})
    set_tests_properties(${name} PROPERTIES LABELS gpu TIMEOUT ${ARG_TIMEOUT})
  elseif(RIDGELINE_SANITIZE)
    # Starting a process takes AddressSanitizer longer than most cases.
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABELS} TIMEOUT 600)
    if(ARG_COST)
      set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
    endif()
  else()
    include(GoogleTest)
    gtest_discover_tests(test_${name} TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
      PROPERTIES LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()
