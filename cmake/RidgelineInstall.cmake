# What `cmake --install` puts where, by component, and the Debian packages of CPack:
#   ridgeline  the program, the agent, manual pages, completion of shells, licence and documents
#   gui        the desktop program
#   ceilings   the benchmarks behind `ridgeline ceilings`: they need cuBLASLt, so no package has them
#   python     the Python module
#   dev        headers and static libraries up to the analyzer, for find_package(Ridgeline)
include_guard()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
# What is to be installed was built before; installing does not build the tests too.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# The agent is no library to link with: it lies in a folder of its own, where the program looks (collector/launch/src/libraries.cpp).
set(RIDGELINE_AGENT_DIR lib/ridgeline CACHE STRING "Where the agent is installed: ../lib or ../lib/ridgeline as seen from the program")
set(RIDGELINE_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python module is installed")
set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc)

install(TARGETS ridgeline RUNTIME COMPONENT ridgeline)
install(FILES README.md CHANGELOG.md DESTINATION ${doc_dir}/ridgeline COMPONENT ridgeline)
# What Debian wants of every package.
install(FILES LICENSE RENAME copyright DESTINATION ${doc_dir}/ridgeline COMPONENT ridgeline)
install(FILES LICENSE RENAME copyright DESTINATION ${doc_dir}/python3-ridgeline COMPONENT python)
if(TARGET ridgeline-gui)
  install(FILES LICENSE RENAME copyright DESTINATION ${doc_dir}/ridgeline-gui COMPONENT gui)
endif()
install(DIRECTORY docs/ DESTINATION ${doc_dir}/ridgeline/docs COMPONENT ridgeline FILES_MATCHING PATTERN "*.md" PATTERN results EXCLUDE
  PATTERN design EXCLUDE PATTERN pictures EXCLUDE)
if(TARGET ridgeline_agent)
  install(TARGETS ridgeline_agent LIBRARY DESTINATION ${RIDGELINE_AGENT_DIR} COMPONENT ridgeline)
endif()
if(TARGET ridgeline_ceilings)
  install(TARGETS ridgeline_ceilings RUNTIME COMPONENT ceilings)
endif()
install(DIRECTORY python/ridgeline DESTINATION ${RIDGELINE_PYTHON_DIR} COMPONENT python FILES_MATCHING PATTERN "*.py"
  PATTERN __pycache__ EXCLUDE)
install(FILES examples/roofline.ipynb DESTINATION ${doc_dir}/python3-ridgeline COMPONENT python)

# Manual pages and completion say what the program's own help says.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND AND NOT RIDGELINE_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(pages ${CMAKE_BINARY_DIR}/share)
  set(desktop)
  if(TARGET ridgeline-gui)
    set(desktop ridgeline-gui)  # whose help `ridgeline gui --help` shows
  endif()
  add_custom_command(OUTPUT ${pages}/stamp
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/scripts/help-pages $<TARGET_FILE:ridgeline> ${pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/stamp
    DEPENDS ridgeline ${desktop} ${CMAKE_SOURCE_DIR}/scripts/help-pages VERBATIM)
  add_custom_target(ridgeline_help_pages ALL DEPENDS ${pages}/stamp)
  install(DIRECTORY ${pages}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ridgeline)
  install(FILES ${pages}/completion/ridgeline DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ridgeline)
  install(FILES ${pages}/completion/_ridgeline DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT ridgeline)
  install(FILES ${pages}/completion/ridgeline.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ridgeline)
endif()

# The analysis library: base, store and analyzer, static.
set(RIDGELINE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Ridgeline)
foreach(module IN ITEMS base store analyzer)
  set_target_properties(ridgeline_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS ridgeline_${module} EXPORT RidgelineTargets ARCHIVE COMPONENT dev)
  install(DIRECTORY ${module}/include/ridgeline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
endforeach()
set_target_properties(ridgeline_fmt PROPERTIES EXPORT_NAME fmt)
install(TARGETS ridgeline_fmt EXPORT RidgelineTargets)
install(EXPORT RidgelineTargets NAMESPACE Ridgeline:: DESTINATION ${RIDGELINE_PACKAGE_DIR} COMPONENT dev)
configure_package_config_file(cmake/RidgelineConfig.cmake.in ${CMAKE_BINARY_DIR}/RidgelineConfig.cmake
  INSTALL_DESTINATION ${RIDGELINE_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/RidgelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/RidgelineConfig.cmake ${CMAKE_BINARY_DIR}/RidgelineConfigVersion.cmake
  DESTINATION ${RIDGELINE_PACKAGE_DIR} COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ridgeline)
set(CPACK_PACKAGE_VENDOR "Ridgeline")
set(CPACK_PACKAGE_CONTACT "Ridgeline developers <ridgeline@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPU performance profiler and roofline toolkit")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ridgeline python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RIDGELINE_PACKAGE_NAME ridgeline)
set(CPACK_DEBIAN_RIDGELINE_DESCRIPTION "GPU performance profiler: the command line and the recording agent
 Ridgeline records an unmodified CUDA program, measures every kernel in place, and ranks what the step would gain from each.
 Recording needs NVIDIA's driver and CUPTI; reading captures needs neither.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-ridgeline)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.8), ridgeline (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-pandas)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "GPU performance profiler: the Python module
 Asks captures of Ridgeline, records steps of a training loop, and declares the work of a model's layers.")
if(TARGET ridgeline-gui)
  list(APPEND CPACK_COMPONENTS_ALL gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_NAME ridgeline-gui)
  set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "ridgeline (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_GUI_DESCRIPTION "GPU performance profiler: the desktop program
 Timeline, roofline and ranking of captures of Ridgeline in a window.")
endif()
include(CPack)
