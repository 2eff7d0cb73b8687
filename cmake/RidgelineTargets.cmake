# Helpers every module's CMakeLists.txt uses.
include_guard()

# Warnings and sanitizers, in one interface target. Host C++ only: nvcc's host pass sees -Wall alone.
add_library(ridgeline_options INTERFACE)
add_library(ridgeline::options ALIAS ridgeline_options)
target_compile_options(ridgeline_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Werror=switch -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wno-missing-field-initializers>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall --expt-relaxed-constexpr -lineinfo>)
if(RIDGELINE_SANITIZE)
  # An empty optional that is read is no error of memory: the library's assertions find it.
  target_compile_definitions(ridgeline_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
  # Checks of null and of alignment are a quarter of the compile time: AddressSanitizer meets a null pointer too.
  target_compile_options(ridgeline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${RIDGELINE_SANITIZE} -fno-sanitize=null,alignment -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(ridgeline_options INTERFACE -fsanitize=${RIDGELINE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    # It lacks the builtin that GCC's <source_location> needs.
    target_compile_options(ridgeline_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-isystem${CMAKE_SOURCE_DIR}/cmake/clang-include>)
  endif()
endif()
if(RIDGELINE_PORTABLE)
  target_link_options(ridgeline_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

# Of tests: they are compiled quickly rather than well, for a third of the sources are theirs and each runs once.
add_library(ridgeline_test_options INTERFACE)
target_compile_definitions(ridgeline_test_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
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

# ridgeline_unite(<target>): with RIDGELINE_UNITY its sources are compiled several at a time, which parses what they include once for
# all of them: names in the unnamed namespaces of a module differ (scripts/check-style finds those that do not).
function(ridgeline_unite target)
  if(RIDGELINE_UNITY)
    # Both warnings are about the neighbours of a source there; clang-tidy and a plain build see each by itself.
    set(ignored "#pragma GCC diagnostic ignored \"-Wshadow\"")
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      string(APPEND ignored "\n#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${RIDGELINE_UNITY_BATCH}
      UNITY_BUILD_CODE_BEFORE_INCLUDE "${ignored}")
  endif()
endfunction()

# ridgeline_front_end(<target>): its C++ reads options and prints, once a run; the optimizer's last passes over the parser's templates are
# a third of its compile time and worth nothing.
function(ridgeline_front_end target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# ridgeline_optimise_sanitized(<target>): small and run for long by its tests: optimised under the sanitizers too, which elsewhere costs
# more when it is compiled than it saves when it runs.
function(ridgeline_optimise_sanitized target)
  if(RIDGELINE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # those are compiled at -O0
  endif()
endfunction()

# ridgeline_portable(<target>): of a portable build, takes the place of what is newer than glibc 2.34 (portable_glibc.cpp says what).
function(ridgeline_portable target)
  if(RIDGELINE_PORTABLE AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND NOT RIDGELINE_SANITIZE)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/portable_glibc.cpp)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/cmake/portable_glibc.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_options(${target} PRIVATE -Wl,--wrap=hypot)
  endif()
endfunction()

# ridgeline_add_library(<module> SOURCES ... [LINK ...] [PRIVATE_LINK ...])
# Makes static library ridgeline_<module> with alias ridgeline::<module>; public headers live in
# <dir>/include/ridgeline/<module>/.
function(ridgeline_add_library module)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(ridgeline_${module} STATIC ${ARG_SOURCES})
  add_library(ridgeline::${module} ALIAS ridgeline_${module})
  target_include_directories(ridgeline_${module} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(ridgeline_${module} PUBLIC ${ARG_LINK} PRIVATE $<BUILD_INTERFACE:ridgeline::options> ${ARG_PRIVATE_LINK})
  ridgeline_precompile(ridgeline_${module} library)
  ridgeline_unite(ridgeline_${module})
endfunction()

# Tests of all modules are of two parts, so that CI builds each source of a test once (RIDGELINE_TEST_PARTS):
#   unit      what a module's library does; CI builds these under the sanitizers
#   programs  the built programs, the desktop program, agent, trainer and scripts; CI builds these as they are delivered
# ridgeline_test_part(<variable> <part>): whether the part is built.
function(ridgeline_test_part variable part)
  if(part IN_LIST RIDGELINE_TEST_PARTS)
    set(${variable} ON PARENT_SCOPE)
  else()
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

# What a program of tests is linked by, which nothing is delivered of.
function(ridgeline_test_linker name)
  if(RIDGELINE_TEST_LINKER)
    target_link_options(${name} PRIVATE $<$<LINK_LANGUAGE:CXX>:-fuse-ld=${RIDGELINE_TEST_LINKER}>)
  endif()
endfunction()

# ridgeline_test_headers(): the headers that most tests read, precompiled for a program that has no definitions of its own. GCC takes
# none that were compiled with a definition which a source lacks (it says so only with -Winvalid-pch), or for a library.
function(ridgeline_test_headers)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
  add_executable(ridgeline_test_headers ${source})
  target_link_libraries(ridgeline_test_headers PRIVATE ridgeline::options ridgeline_test_options GTest::gtest)
  ridgeline_precompile(ridgeline_test_headers test <cmath> <fstream> <limits> <random> <gtest/gtest.h>)
endfunction()

# What every test program has.
function(ridgeline_test_program name)
  set_property(GLOBAL APPEND PROPERTY RIDGELINE_TEST_PROGRAMS ${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ridgeline::options ridgeline_test_options ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE RIDGELINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  ridgeline_test_linker(${name})
endfunction()

# One ctest entry for each case of a program, or with RIDGELINE_TEST_ENTRIES=file and of what needs a GPU for each source of it, made
# when it is linked: cmake/list_cases.py.
function(ridgeline_list_cases name module label timeout cost)
  set(cases ${CMAKE_CURRENT_BINARY_DIR}/${name}_cases.cmake)
  set(more)
  if(cost)
    list(APPEND more --cost ${cost})
  endif()
  if(RIDGELINE_TEST_ENTRIES STREQUAL file OR label STREQUAL gpu)
    list(APPEND more --by-file)
  endif()
  if(ARGN)
    list(APPEND more --text ${ARGN})
  endif()
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/cmake/list_cases.py $<TARGET_FILE:${name}> ${cases} --module ${module} --label ${label}
      --timeout ${timeout} ${more}
    BYPRODUCTS ${cases} VERBATIM)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)
  file(WRITE ${include} "if(EXISTS \"${cases}\")\n  include(\"${cases}\")\nelse()\n  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# ridgeline_add_tests(<module> FILES <file>... LINK ... [PROGRAM name] [INCLUDE ...] [DEFINE ...] [DEPENDS ...] [TEXT <file>...]
#                     [TIMEOUT seconds] [COST n] [APART] [GPU])
# One GoogleTest program of all <file>_test.cpp of a module, test_<module> (test_<PROGRAM>), and for each of its cases one
# entry of ctest, `<module>.<file>: Suite.Case`, with label cpu. TEXT: these files compare a document with the source. Their
# label cpu-text matches `ctest -L cpu`; scripts/mutate leaves out what matches `text`. COST: seconds of a case that takes long
# and should begin early. With RIDGELINE_UNITY_TESTS several files are compiled as one, which halves the time of building
# all of them: names in a module's unnamed namespaces differ. APART: each case has a process of its own whatever
# RIDGELINE_TEST_ENTRIES says, for what is once per process. GPU: label gpu, and a process for each file, which keeps start-up cheap and
# a device error in its file; scripts/gpu-verify runs them. TIMEOUT: seconds of a case; a file has three times as long.
function(ridgeline_add_tests module)
  cmake_parse_arguments(ARG "APART;GPU" "PROGRAM;TIMEOUT;COST" "FILES;TEXT;LINK;INCLUDE;DEFINE;DEPENDS" ${ARGN})
  if(NOT ARG_PROGRAM)
    set(ARG_PROGRAM ${module})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(RIDGELINE_SANITIZE)
    set(ARG_TIMEOUT 600)
  endif()
  set(name test_${ARG_PROGRAM})
  list(TRANSFORM ARG_FILES APPEND _test.cpp OUTPUT_VARIABLE sources)
  add_executable(${name} ${sources})
  ridgeline_test_program(${name} ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${ARG_INCLUDE})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINE})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${RIDGELINE_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE ${RIDGELINE_UNITY_BATCH})
  ridgeline_precompile(${name} test)
  if(ARG_APART)
    set(RIDGELINE_TEST_ENTRIES case)
  endif()
  set(label cpu)
  if(ARG_GPU)
    set(label gpu)
    set_property(GLOBAL APPEND PROPERTY RIDGELINE_GPU_TESTS ${name})
  endif()
  ridgeline_list_cases(${name} ${module} ${label} ${ARG_TIMEOUT} "${ARG_COST}" ${ARG_TEXT})
endfunction()

# ridgeline_add_test(<module>.<file> SOURCES ... LINK ... [TIMEOUT seconds] [COST n])
# One GoogleTest program of its own, of a module whose files need programs apart, and for each of its cases one entry of ctest.
function(ridgeline_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  ridgeline_test_program(test_${name} ${ARG_LINK} GTest::gtest GTest::gtest_main)
  ridgeline_precompile(test_${name} test)
  string(REGEX REPLACE "\\..*" "" module ${name})
  ridgeline_list_cases(test_${name} ${module} cpu ${ARG_TIMEOUT} "${ARG_COST}")
endfunction()
