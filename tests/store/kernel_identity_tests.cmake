ridgeline_add_test(store.kernel_identity SOURCES kernel_identity_test.cpp LINK ridgeline::store)
