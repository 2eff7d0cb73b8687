# Tests of the trainer's own kernels and of their CPU references.
ridgeline_add_test(gpt2.ops_reference SOURCES ops_reference_test.cpp ops_unfused_reference_test.cpp
    ops_value_bias_reference_test.cpp LINK ridgeline::gpt2_ops)
ridgeline_add_test(gpt2.ops_attention_order SOURCES ops_attention_order_test.cpp LINK ridgeline::gpt2_common)
ridgeline_add_test(gpt2.ops_attention_protocol SOURCES ops_attention_protocol_test.cpp LINK ridgeline::gpt2_common)
ridgeline_add_test(gpt2.ops_fp8_reference SOURCES ops_fp8_reference_test.cpp LINK ridgeline::gpt2_ops)
ridgeline_add_test(gpt2.ops_rounding SOURCES ops_rounding_test.cpp LINK ridgeline::gpt2_ops)
ridgeline_add_test(gpt2.ops_gelu_slope SOURCES ops_gelu_slope_test.cpp LINK ridgeline::gpt2_ops)
foreach(op add_bias elementwise gelu_bias encoder layernorm classifier cross_entropy optimizer optimizer_variants
    kernel_width large_offsets attention attention_hopper attention_unfused partial_sums hopper_matmul
    value_bias fp8_cast fp8_scaling layernorm_fp8 classifier_fp8)
  ridgeline_add_test(gpt2.ops_${op} SOURCES ops_${op}_test.cpp LINK ridgeline::gpt2_ops LABELS gpu TIMEOUT 300)
endforeach()
