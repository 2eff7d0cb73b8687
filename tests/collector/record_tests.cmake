foreach(name importer counters recorder doctor schedule text pm_attribution pm_import stalls window)
  ridgeline_add_test(collector.record_${name}
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/record_${name}_test.cpp
    LINK ridgeline::record ridgeline::spool)
  # Parts behind the public interface are tested too.
  target_include_directories(test_collector.record_${name} PRIVATE
    $<TARGET_PROPERTY:ridgeline_record,SOURCE_DIR>/src)
  target_link_libraries(test_collector.record_${name} PRIVATE ridgeline::fmt nlohmann_json::nlohmann_json)
endforeach()
