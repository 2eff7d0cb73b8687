ridgeline_add_test(collector.spool_file SOURCES spool_file_test.cpp LINK ridgeline::spool)
ridgeline_add_test(collector.spool_damage SOURCES spool_damage_test.cpp LINK ridgeline::spool)
