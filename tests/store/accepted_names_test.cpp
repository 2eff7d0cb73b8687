// What names of kernels say, of whole names and of pieces of them, held against tests/golden/tables/kernel-names.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "ridgeline/store/kernel_identity.h"
#include "support/accepted_table.h"

namespace ridgeline::store {
namespace {

constexpr const char* kNames[] = {
    "void "
    "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>(cutlass_80_"
    "tensorop_bf16_"
    "s16816gemm_relu_bf16_128x128_64x3_nn_align8::Params)",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int>, float> "
    ">(cutlass::Params)",
    "void cutlass::Kernel<cutlass::Other<std::pair<int, (anonymous namespace)::Inner>, 3> >(int)",
    "nvjet_tst_192x192_64x4_1x2_h_bz_coopB_bias_TNN",
    "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas",
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    "ampere_sgemm_128x64_nn",
    "volta_dgemm_64x64_nt",
    "void gemmk1_kernel<int, float, 256, 5, false, false>(cublasGemmk1Params<float>)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, "
    "true>(cublasLt::cublasSplitKParams<float>)",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3i_64x128x64_4x1x1_kernel0_0",
    "void cudnn::fusion::compute_dot_do_o_specialized<true, 64, 128, "
    "cutlass::bfloat16_t>(cudnn::fusion::dot_do_o_params_t)",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(cudnnTensorStruct)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)",
    "void "
    "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{"
    "lambda()#3}, "
    "at::native::memory::LoadWithCast<1> >(int)",
    "void at::native::elementwise_kernel<128, 2, "
    "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, bool, "
    "at::native::(anonymous namespace)::CompareEqFunctor<float> > > >(int)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
    "namespace)::FusedAdamMathFunctor<float, 4> >(int)",
    "void at::native::(anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, float, 10, false, "
    "false>(c10::BFloat16*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, "
    "float, float>, unsigned int> >(int)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int)",
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 64u, "
    "1u>(long)",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
    "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, "
    "long>(float*)",
    "void "
    "at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortHistogramKernel<at_cuda_detail::cub::Policy1000,"
    " false>(unsigned*)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false>, true>(Flash_fwd_params)",
    "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64> "
    ">(Flash_bwd_params)",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::"
    "Params)",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_ReduceScatter_TREE_LL128_Sum_float(ncclDevComm*)",
    "void nvshmem_barrier_kernel(int)",
    "triton_poi_fused_add_mul_native_layer_norm_0",
    "triton_per_fused__softmax_div_3",
    "triton_mm",
    "_attn_fwd",
    "loop_multiply_fusion",
    "input_reduce_fusion_12",
    "gemm_fusion_dot_7",
    "wrapped_slice_3",
    "MemcpyD2D",
    "void ridgeline::gpt2::(anonymous namespace)::gelu_backward_kernel<__nv_bfloat16>(__nv_bfloat16*, "
    "__nv_bfloat16 const*, int)",
    "void ridgeline::gpt2::adamw_kernel<__nv_bfloat16, float>(__nv_bfloat16*, float*)",
    "void ridgeline::gpt2::fused_classifier_kernel<__nv_bfloat16, true>(__nv_bfloat16*, float*)",
    "void ridgeline::gpt2::bias_gradient_kernel<__nv_bfloat16, float, false>(float*, __nv_bfloat16 const*)",
    "ridgeline::gpt2::global_norm_squared_kernel(float*)",
    "ridgeline::gpt2::embedding_backward_kernel(float*, int const*)",
    "void layernorm_forward_kernel3<256>(float*)",
    "transpose_kernel",
    "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar "
    "const&)::{lambda(long)#1}>(int)",
    "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<int> "
    ">(int)",
    "dropout_kernel_vec",
    "RMSNormKernel",
    "rotary_embedding_kernel",
    "CUDAGraphKernel_1234567",
    "_ZN6hash179a9f0c1e2d3b45678E6kernelEv",
    "h1234567890abcdef::kernel<3>(int)",
    "operator()",
    "a",
    "",
    "<>",
    "::",
    "void f<(int)3, &g>(std::vector<int, std::allocator<int> >)::{lambda(auto)#1}::operator()<float>(float) "
    "const",
};

TEST(AcceptedTable, KernelNames) {
  std::string table;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (!seen.insert(name).second) return;
    const KernelIdentity identity = identify_kernel(name);
    table +=
        fmt::format("{}\n  {} | {}{}\n", name, identity.normalised_name, to_string(identity.kernel_class),
                    identity.demangled_name == name ? "" : " | " + identity.demangled_name);
  };
  for (const std::string name : kNames) {
    add(name);
    add("void other::" + name);
    add(name + "_2");
    for (std::size_t cut = 9; cut < name.size(); cut += 11) {
      add(name.substr(0, cut));
      add(name.substr(cut));
    }
  }
  ridgeline::testing::expect_accepted("kernel-names.txt", table);
}

}  // namespace
}  // namespace ridgeline::store
