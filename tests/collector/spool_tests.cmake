ridgeline_test_part(unit unit)
if(unit)
  ridgeline_add_tests(collector PROGRAM collector.spool FILES spool_damage spool_file LINK ridgeline::spool)
endif()
