// Names as drivers, libraries and compilers really give them, with the family and class each must get.
#include "ridgeline/store/kernel_identity.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using ridgeline::KernelClass;
using ridgeline::store::identify_kernel;

struct Expected {
  const char* mangled;
  const char* normalised;
  KernelClass kernel_class;
};

constexpr Expected kNames[] = {
    // cuBLAS and cuBLASLt on Hopper
    {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "nvjet_tst_TNT", KernelClass::gemm},
    {"nvjet_tst_192x192_64x3_2x1_v_bz_coopB_NNT", "nvjet_tst_NNT", KernelClass::gemm},
    {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_bias_TNT", "nvjet_tst_bias_TNT", KernelClass::gemm},
    {"nvjet_hsh_128x64_64x9_1x2_h_bz_TNN", "nvjet_hsh_TNN", KernelClass::gemm},
    {"nvjet_tss_256x128_64x4_1x2_h_bz_coopA_splitK_NTT", "nvjet_tss_NTT", KernelClass::gemm},
    {"nvjet_qqtst_128x256_128x6_2x1_v_bz_coopA_TNT", "nvjet_qqtst_TNT", KernelClass::gemm},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
     "kernel__"
     "5x_cublas",
     "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", KernelClass::gemm},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_"
     "execute_kernel__"
     "51_cublas",
     "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_warpsize1x2x1_ffma_aligna4_alignc4", KernelClass::gemm},
    {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn", "ampere_bf16_s16816gemm_bf16_tn",
     KernelClass::gemm},
    {"ampere_sgemm_128x64_nn", "ampere_sgemm_nn", KernelClass::gemm},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8>("
     "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8::Params)",
     "cutlass_tensorop_bf16_s16816gemm_relu_bf16_nn", KernelClass::gemm},
    {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
     "cutlass::gemm::collective::CollectiveMma<>>>(cutlass::gemm::kernel::GemmUniversal<>::Params)",
     "cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal>", KernelClass::gemm},
    // Of several arguments the first runs, whatever commas it holds.
    {"void cutlass::Kernel<made::gemm_body, 4>(int)", "cutlass::Kernel<made::gemm_body>", KernelClass::gemm},
    {"void cutlass::Kernel<made::Gemm<cutlass::Shape<1, 2>, (made::Layout)3>, float>(int)",
     "cutlass::Kernel<made::Gemm>", KernelClass::gemm},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, "
     "false, "
     "false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*)",
     "cublasLt::splitKreduce_kernel", KernelClass::gemm},
    {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifLb1EEEvPKT2_", "cublasLt::splitKreduce_kernel",
     KernelClass::gemm},
    {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int)",
     "cudnn::detail::dgrad_engine", KernelClass::gemm},
    {"void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int, int, int, float const*)",
     "wgrad_alg0_engine", KernelClass::gemm},
    {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float)",
     "cudnn::bn_bw_1C11_kernel_new", KernelClass::normalisation},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(int)",
     "gemv2T_kernel_val", KernelClass::gemm},
    {"void gemmSN_TN_kernel<float, 128, 16, 2, 4, 2, 2, true>(float)", "gemmSN_TN_kernel", KernelClass::gemm},
    {"void dot_kernel<float, 128, 0, cublasDotParams<float> >(cublasDotParams<float>)", "dot_kernel",
     KernelClass::reduction},
    // cuDNN and FlashAttention
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x64_4x1x1_cga1x1x1_kernel0_0",
     "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", KernelClass::attention},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_bf16_knob_7_64x64x64_4x1x1_cga1x1x1_kernel0_0",
     "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_bf16", KernelClass::attention},
    {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
     "false, "
     "cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)",
     "pytorch_flash::flash_fwd_kernel", KernelClass::attention},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64> "
     ">(Flash_bwd_params)",
     "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", KernelClass::attention},
    {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::"
     "Params)",
     "fmha_cutlassF_bf16_aligned_sm80", KernelClass::attention},
    {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2> > >(int)",
     "cutlass::device_kernel<flash::FlashAttnFwdSm90>", KernelClass::attention},
    // Begins as a library's does, but has a scope
    {"void ridgeline::gpt2::hopper::hopper_matmul_kernel<(ridgeline::gpt2::hopper::Product)1, 64>(int)",
     "ridgeline::gpt2::hopper::hopper_matmul_kernel", KernelClass::gemm},
    // PyTorch
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "std::array<char*, 3ul> "
     ">(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
     "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>", KernelClass::elementwise},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "
     "1ul> >(int)",
     "at::native::vectorized_elementwise_kernel<FillFunctor>", KernelClass::copy},
    {"void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char*, "
     "3ul>, 4, "
     "TrivialOffsetCalculator<2, unsigned int>, at::native::memory::LoadWithCast<2>, "
     "at::native::memory::StoreWithCast<1> >(int)",
     "at::native::unrolled_elementwise_kernel<CUDAFunctor_add>", KernelClass::elementwise},
    {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
     "const::{lambda()#7}>(int)>(int)",
     "at::native::elementwise_kernel<direct_copy_kernel_cuda>", KernelClass::copy},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
     "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, "
     "float)#1}>, "
     "unsigned int, float, 4> >(int)",
     "at::native::reduce_kernel<sum_functor>", KernelClass::reduction},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
     "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(int)",
     "at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", KernelClass::optimiser},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)",
     "at::native::vectorized_layer_norm_kernel", KernelClass::normalisation},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, "
     "at::native::(anonymous "
     "namespace)::LogSoftMaxForwardEpilogue>(float*)",
     "at::native::cunn_SoftMaxForward", KernelClass::classifier},
    {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, "
     "long>(float*)",
     "at::native::nll_loss_forward_reduce_cuda_kernel_2d", KernelClass::classifier},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<int, unsigned int, 2, "
     "128, 1>(int*)",
     "at::native::CatArrayBatchedCopy_aligned16_contig", KernelClass::copy},
    {"void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long "
     "const*)",
     "at::native::embedding_backward_feature_kernel", KernelClass::embedding},
    // Apex: an acronym ends where the next word begins
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, SGDFunctor<4, float, float>, float, "
     "float>(int, int volatile*)",
     "multi_tensor_apply_kernel", KernelClass::optimiser},
    {"void fused::MHAForwardKernel<float>(float*)", "fused::MHAForwardKernel", KernelClass::attention},
    // Inductor
    {"triton_poi_fused_add_gelu_3", "triton_poi_fused_add_gelu", KernelClass::elementwise},
    {"triton_poi_fused__to_copy_0", "triton_poi_fused__to_copy", KernelClass::elementwise},
    {"triton_red_fused__to_copy_add_native_layer_norm_12", "triton_red_fused__to_copy_add_native_layer_norm",
     KernelClass::normalisation},
    {"triton_per_fused_sum_7", "triton_per_fused_sum", KernelClass::reduction},
    {"triton_red_fused__log_softmax_nll_loss_forward_5", "triton_red_fused__log_softmax_nll_loss_forward",
     KernelClass::classifier},
    {"triton_tem_fused_mm_4", "triton_tem_fused_mm", KernelClass::gemm},
    // NCCL
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "ncclDevKernel_AllReduce_Sum_bf16", KernelClass::communication},
    {"ncclDevKernel_ReduceScatter_Sum_f32_NVLS_LL128(ncclDevKernelArgsStorage<4096ul>)",
     "ncclDevKernel_ReduceScatter_Sum_f32", KernelClass::communication},
    {"void deep_ep::internode::dispatch<7>(int*)", "deep_ep::internode::dispatch",
     KernelClass::communication},
    {"mscclpp::allreduceAdapter(int*)", "mscclpp::allreduceAdapter", KernelClass::communication},
    {"userbuffers_fp16_sum_inplace_gpu_rr(int*)", "userbuffers_fp16_sum_inplace_gpu_rr",
     KernelClass::communication},
    {"ncclDevKernel_AllGather_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllGather",
     KernelClass::communication},
    // llm.c
    {"_Z19adamw_kernel3_stuffPfi", "adamw_kernel3_stuff", KernelClass::optimiser},
    {"void adamw_kernel3<float, __nv_bfloat16>(float*, float*, __nv_bfloat16*)", "adamw_kernel",
     KernelClass::optimiser},
    {"encoder_forward_kernel3(__nv_bfloat16*, int const*, __nv_bfloat16 const*)", "encoder_forward_kernel",
     KernelClass::embedding},
    {"void wte_backward_kernel<256>(__nv_bfloat16*, int4 const*)", "wte_backward_kernel",
     KernelClass::embedding},
    {"layernorm_backward_kernel10(__nv_bfloat16*, __nv_bfloat16*)", "layernorm_backward_kernel",
     KernelClass::normalisation},
    {"fused_residual_forward_kernel5(__nv_bfloat16*, __nv_bfloat16*)", "fused_residual_forward_kernel",
     KernelClass::normalisation},
    {"void matmul_backward_bias_kernel9<__nv_bfloat16, false>(__nv_bfloat16*)", "matmul_backward_bias_kernel",
     KernelClass::reduction},
    {"reduce_add_sum_kernel(float*, float const*, unsigned long)", "reduce_add_sum_kernel",
     KernelClass::reduction},
    {"gelu_forward_kernel2(__nv_bfloat16*, __nv_bfloat16 const*)", "gelu_forward_kernel",
     KernelClass::elementwise},
    {"void fused_classifier_kernel5<__nv_bfloat16, true>(__nv_bfloat16*)", "fused_classifier_kernel",
     KernelClass::classifier},
    {"void global_norm_squared_kernel<__nv_bfloat16>(float*, __nv_bfloat16 const*)",
     "global_norm_squared_kernel", KernelClass::reduction},
    // This project's trainer: kernels in an anonymous namespace
    {"void ridgeline::gpt2::(anonymous namespace)::residual_layernorm_forward_kernel<__nv_bfloat16, "
     "3>(float*)",
     "ridgeline::gpt2::residual_layernorm_forward_kernel", KernelClass::normalisation},
    {"void ridgeline::gpt2::(anonymous namespace)::bias_gradient_kernel<__nv_bfloat16>(float*)",
     "ridgeline::gpt2::bias_gradient_kernel", KernelClass::reduction},
    {"ridgeline::gpt2::(anonymous namespace)::squared_sum_kernel(double*, float const*, long, bool)",
     "ridgeline::gpt2::squared_sum_kernel", KernelClass::reduction},
    {"ridgeline::gpt2::(anonymous namespace)::norm_from_partials_kernel(ridgeline::gpt2::GradientNorm*)",
     "ridgeline::gpt2::norm_from_partials_kernel", KernelClass::reduction},
    {"ridgeline::gpt2::(anonymous namespace)::loss_sum_kernel(float*, float const*, long, float, bool)",
     "ridgeline::gpt2::loss_sum_kernel", KernelClass::reduction},
    {"void ridgeline::gpt2::(anonymous namespace)::residual_kernel<float>(float*, float const*, float "
     "const*, long)",
     "ridgeline::gpt2::residual_kernel", KernelClass::elementwise},
    {"void ridgeline::gpt2::(anonymous namespace)::convert_kernel<__nv_bfloat16>(__nv_bfloat16*, float "
     "const*, long)",
     "ridgeline::gpt2::convert_kernel", KernelClass::copy},
    {"void ridgeline::gpt2::(anonymous namespace)::fill_kernel<float>(float*, float, long)",
     "ridgeline::gpt2::fill_kernel", KernelClass::copy},
    {"void ridgeline::gpt2::(anonymous namespace)::attention_backward_kernel<__nv_bfloat16, "
     "64>(__nv_bfloat16*)",
     "ridgeline::gpt2::attention_backward_kernel", KernelClass::attention},
    {"void ridgeline::gpt2::detail::(anonymous namespace)::query_gradient_kernel<64>(__nv_bfloat16*)",
     "ridgeline::gpt2::detail::query_gradient_kernel", KernelClass::attention},
    {"void ridgeline::gpt2::(anonymous namespace)::position_gradient_kernel<float>(float*)",
     "ridgeline::gpt2::position_gradient_kernel", KernelClass::embedding},
    {"ridgeline::gpt2::(anonymous namespace)::add_partials_kernel(float*, float*, float*)",
     "ridgeline::gpt2::add_partials_kernel", KernelClass::reduction},
    // Odd ones
    {"f", "f", KernelClass::other},
    {"", "", KernelClass::other},
    {"_Z", "_Z", KernelClass::other},
    {"my_kernel(int)::{lambda(float)#2}::operator()(float) const", "my_kernel::{lambda}::operator()",
     KernelClass::other},
    {"unsigned int _INTERNAL_1a2b_4_x_cu_77::walk<3>(int)", "walk", KernelClass::other},
    {"k<<<", "k", KernelClass::other},
    {"a(b(c", "a", KernelClass::other},
};

TEST(KernelIdentity, EveryNameGetsItsFamilyAndClass) {
  for (const Expected& expected : kNames) {
    const auto identity = identify_kernel(expected.mangled);
    EXPECT_EQ(identity.normalised_name, expected.normalised) << expected.mangled;
    EXPECT_EQ(identity.kernel_class, expected.kernel_class)
        << expected.mangled << " -> " << identity.normalised_name;
  }
}

std::string component(const std::string& name) {
  return std::to_string(name.size()) + name;
}

// What nvcc makes of a kernel in an anonymous namespace; the hash changes with the file's name.
std::string anonymous_kernel(const std::string& hash) {
  return "_ZN" + component("ridgeline") + component("gpt2") + component("_GLOBAL__N__" + hash) +
         component("layernorm_forward_kernel") + "IfEEvPT_";
}

TEST(KernelIdentity, AnonymousNamespaceHashesDoNotMatter) {
  const auto a = identify_kernel(anonymous_kernel("bd75d3de_12_layernorm_cu_0f3a1c77_123"));
  const auto b = identify_kernel(anonymous_kernel("11111111_10_renamed_cu_22222222_9"));
  EXPECT_EQ(a.demangled_name,
            "void ridgeline::gpt2::(anonymous namespace)::layernorm_forward_kernel<float>(float*)");
  EXPECT_EQ(a.demangled_name, b.demangled_name);
  EXPECT_EQ(a.normalised_name, "ridgeline::gpt2::layernorm_forward_kernel");
  EXPECT_EQ(a.kernel_class, KernelClass::normalisation);
}

TEST(KernelIdentity, DemanglesOnlyMangledNames) {
  EXPECT_EQ(identify_kernel("f").demangled_name, "f");
  EXPECT_EQ(identify_kernel("_Z5gemm3IfEvPT_").demangled_name, "void gemm3<float>(float*)");
  EXPECT_EQ(identify_kernel("_Znot").demangled_name, "_Znot");
}

TEST(KernelIdentity, TileAndStagesDoNotMakeAnotherFamilyButTypeAndLayoutDo) {
  const auto family = [](const char* name) { return identify_kernel(name).normalised_name; };
  EXPECT_EQ(family("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"), family("nvjet_tst_64x64_64x8_4x1_v_bz_TNT"));
  EXPECT_NE(family("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"),
            family("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"));
  EXPECT_NE(family("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"),
            family("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT"));
}

TEST(KernelIdentity, HostileNamesComeBackWhole) {
  for (const char c : {'<', '(', '{', ':', '_', ' ', '>', '\0'}) {
    const std::string name(300'000, c);
    EXPECT_EQ(identify_kernel(name).demangled_name, name);
  }
  const std::string deep = "_Z1fI" + std::string(20'000, 'P') + "iEvT_";
  EXPECT_FALSE(identify_kernel(deep).demangled_name.empty());
}

// Each template argument names the one before twice: 30 of them would stand for some gigabytes.
TEST(KernelIdentity, ANameThatWouldGrowWithoutBoundStaysAsItIs) {
  const auto reference = [](int place) {
    constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string text;
    for (; place > 0; place /= 36) text.insert(text.begin(), kDigits[place % 36]);
    return "S" + text + "_";
  };
  std::string name = "_Z1fI1aIiE";
  for (int i = 0; i < 30; ++i) name += "1bI" + reference(2 * i + 1) + reference(2 * i + 1) + "E";
  name += "EvT_";
  EXPECT_EQ(identify_kernel(name).demangled_name, name);
}

TEST(KernelIdentity, ManyReferencesAloneAreNoReasonToGiveUp) {
  std::string name = "_Z1fI1aIiE";
  std::string arguments;
  for (int i = 0; i < 50; ++i) {
    name += "S1_";
    arguments += ", a<int>";
  }
  EXPECT_EQ(identify_kernel(name + "EvT_").demangled_name, "void f<a<int>" + arguments + " >(a<int>)");
}

// The demangler of libstdc++ refuses names of more than 1024 bytes, which those of CUTLASS often are.
TEST(KernelIdentity, LongNamesAreDemangled) {
  const std::string name =
      "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22Implicit"
      "GemmMultistageINS_4gemm9GemmShapeILi128ELi128ELi32EEENS4_52Conv2dWgradOutputGradientTileAccessIterat"
      "orOptimizedINS_11MatrixShapeILi128ELi32EEENS_10tfloat32_tENS_9transform29PitchLinearWarpRakedThreadM"
      "apINS_16PitchLinearShapeILi128ELi32EEELi128ENSF_ILi8ELi4EEELi4EEENS_12AlignedArrayISC_Li4ELi16EEEEEN"
      "SD_11threadblock25RegularTileAccessIteratorISB_SC_NS_6layout40ColumnMajorTensorOpMultiplicandCongruo"
      "usILi32ELi32EEELi1ESI_Li16EEELNS_4arch14CacheOperation4KindE0ENS4_48Conv2dWgradActivationTileAccessI"
      "teratorOptimizedINSA_ILi32ELi128EEESC_SI_SK_EENSN_ISW_SC_NSO_37RowMajorTensorOpMultiplicandCongruous"
      "ILi32ELi32EEELi0ESI_Li16EEELSU_0ENS6_11threadblock9MmaPolicyINS6_4warp11MmaTensorOpINS7_ILi64ELi64EL"
      "i32EEESC_SQ_SC_SZ_fNSO_8RowMajorENS13_17MmaTensorOpPolicyINSS_3MmaINS7_ILi16ELi8ELi8EEELi32ESC_S16_S"
      "C_NSO_11ColumnMajorEfS16_NSS_13OpMultiplyAddEEENSA_ILi1ELi1EEEEELi1ELb0EbEENSA_ILi0ELi0EEES1G_Li1EEE"
      "Li4EbEENS_8epilogue11threadblock8EpilogueIS8_S1F_Li1ENS1K_22PredicatedTileIteratorINS1K_26OutputTile"
      "OptimalThreadMapINS1K_15OutputTileShapeILi128ELi8ELi2ELi1ELi1EEENS1O_ILi1ELi8ELi1ELi1ELi8EEELi128ELi"
      "4ELi32EEEfLb0ENSO_9NoPermuteELb0EEENS1J_4warp24FragmentIteratorTensorOpIS15_S19_fNS_5ArrayIfLi4ELb1E"
      "EES16_EENS1U_20TileIteratorTensorOpIS15_S19_fS16_EENS1K_18SharedLoadIteratorINS1R_18CompactedThreadM"
      "apEfLi16EEENS1J_6thread17LinearCombinationIfLi4EffLNS24_9ScaleType4KindE0ELNS_15FloatRoundStyleE2EEE"
      "NSA_ILi0ELi8EEELi2ELi1EEENS11_30GemmIdentityThreadblockSwizzleILi4EEELNS1_8OperatorE2ENS1_17Conv2dPr"
      "oblemSizeELNS1_9GroupModeE0EEEEEvNT_6ParamsE";
  ASSERT_GT(name.size(), 1024U);
  const std::string plain = identify_kernel(name).demangled_name;
  EXPECT_TRUE(
      plain.starts_with("void cutlass_cudnn_train::Kernel<cutlass_cudnn_train::conv::kernel::"
                        "ImplicitGemmConvolution<cutlass_cudnn_train::conv::threadblock::"
                        "ImplicitGemmMultistage<cutlass_cudnn_train::gemm::GemmShape<128, 128, 32>, "))
      << plain;
  EXPECT_NE(plain.find("(cutlass_cudnn_train::arch::CacheOperation::Kind)0"), std::string::npos) << plain;
  EXPECT_TRUE(plain.ends_with("::Params)")) << plain;
  const std::string cut = name.substr(0, name.size() - 9);
  EXPECT_EQ(identify_kernel(cut).demangled_name, cut) << "what is cut stays as it is";
}

// Whatever stands in a name, a longer namespace changes nothing but the namespace. Of expressions and what is local to
// a function a long name stays as it is.
TEST(KernelIdentity, LongNamesReadAsShortOnes) {
  const std::string longer = "L" + std::string(1099, 'x');
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  for (const char* name :
       {"_ZN2ns1fILb1ELi42ELin3EEEvv", "_ZN2ns1fERA3_Ki", "_ZN2ns1fEPFviE", "_ZN2nsC1ERKS_", "_ZN2nsD2Ev",
        "_ZN2ns1fIJiPKcdEEEvDpT_", "_ZNK2nsplERKS_", "_ZN2ns1fEM2nsFivE", "_ZN2ns12_GLOBAL__N_11fEv",
        "_ZN2ns1fILNS_1eE3EEEvv", "_ZN2nsUlvE_clEv", "_ZN2nsUliE0_clEi", "_ZNK2nsUlvE_clEv",
        "_ZN2ns1fINS_Ut_EEEvT_", "_ZN2ns1fINS_UlvE_EEEvT_", "_ZN2nsUt_1fEv", "_ZN2nsUt0_1fEv"}) {
    const std::string plain = identify_kernel(replaced(name, "2ns", "2ZQ")).demangled_name;
    EXPECT_NE(plain.find("ZQ::"), std::string::npos) << plain;
    EXPECT_EQ(identify_kernel(replaced(name, "2ns", "1100" + longer)).demangled_name,
              replaced(plain, "ZQ", longer))
        << name;
  }
  for (const char* name :
       {"_ZN2ns1fIZNS_1gEvEUlvE_EEvT_", "_ZN2ns1fIiEEDTplfp_fp_ET_", "_ZN2ns1fIXadL_ZNS_1gEvEEEEvv"}) {
    const std::string mangled = replaced(name, "2ns", "1100" + longer);
    EXPECT_EQ(identify_kernel(mangled).demangled_name, mangled);
  }
}

}  // namespace
