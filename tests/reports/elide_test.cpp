#include "ridgeline/reports/elide.h"

#include <gtest/gtest.h>

#include <set>

namespace ridgeline::reports {
namespace {

TEST(ElideStart, KeepsTheEndThatTellsPathsApart) {
  EXPECT_EQ(elide_start("step / backward / layer 11 / gelu", 17), "… layer 11 / gelu");
  EXPECT_EQ(display_width(elide_start("step / backward / layer 11 / gelu", 16)), 16);
  EXPECT_EQ(elide_start("short", 5), "short");
  EXPECT_EQ(elide_start("short", 1), "…");
  EXPECT_EQ(elide_start("short", 0), "");
}

TEST(ElidePaths, DifferentPathsStayDifferent) {
  const std::vector<std::string> paths = {"step / forward / layer 0 / residual_layernorm_forward",
                                          "step / forward / layer 1 / residual_layernorm_forward",
                                          "step / forward / layer 11 / residual_layernorm_forward",
                                          "step / forward / layer 11 / matmul",
                                          "step / backward / layer 11 / matmul",
                                          "loss"};
  for (int columns = 20; columns <= 80; ++columns) {
    const auto shown = elide_paths(paths, columns);
    ASSERT_EQ(shown.size(), paths.size());
    EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), paths.size()) << columns;
    for (const std::string& text : shown) EXPECT_LE(display_width(text), columns) << text;
    EXPECT_EQ(shown.back(), "loss");
  }
  EXPECT_EQ(elide_paths(paths, 28)[0], "…layer 0…layernorm_forward");
  EXPECT_EQ(elide_paths(paths, 20)[4], "…backward / …matmul");
  EXPECT_EQ(elide_paths({"step / backward / layer 10 / attention_backward"}, 26)[0], "…attention_backward")
      << "no half of \"layer 10\"";
  // One path twice, and paths whose difference has no room.
  EXPECT_EQ(elide_paths({paths[0], paths[0]}, 28)[0], "…residual_layernorm_forward");
  EXPECT_EQ(elide_paths({"a_long_component / x", "another_component / x"}, 8)[0], "…x");
}

TEST(ElidePaths, AreNeverCutInAWordOrANumber) {
  EXPECT_EQ(elide_paths({"ProfilerStep#12 / Step 260 to 270 / Compute"}, 24)[0], "…260 to 270 / Compute");
  EXPECT_EQ(elide_paths({"Step 260 to 270 / Compute"}, 22)[0], "…260 to 270 / Compute");
  EXPECT_EQ(elide_paths({"Step 260 to 270 / Compute"}, 20)[0], "…to 270 / Compute");
  EXPECT_EQ(elide_paths({"ConvolutionBackward0 / aten::convolution_backward"}, 37)[0],
            "…aten::convolution_backward");
  EXPECT_EQ(elide_paths({"one_word_that_is_long / abcdefghijklmnop"}, 9)[0], "…ijklmnop")
      << "there is no other place";
  const std::vector<std::string> paths = {"Step 260 to 270 / Compute / aten::convolution_backward",
                                          "Step 260 to 270 / Verify / aten::convolution_backward",
                                          "Step 1260 to 1270 / Compute / aten::convolution_backward"};
  const std::set<std::string> words = {"Step",    "260",    "to",   "270",         "1260",    "1270",
                                       "Compute", "Verify", "aten", "convolution", "backward"};
  for (int columns = 22; columns < 60; ++columns) {
    for (const std::string& text : elide_paths(paths, columns)) {
      std::string word;
      for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
          word += c;
        } else if (!word.empty()) {
          EXPECT_TRUE(words.contains(word)) << text << " at " << columns;
          word.clear();
        }
      }
    }
  }
}

// What a comparison fuses: two kernels under one name would be none.
TEST(ElideKernelName, NamesThatAreJoinedStayDifferent) {
  const std::string joined =
      "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT → nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNT";
  for (int columns = 26; columns < 90; ++columns) {
    const std::string shown = elide_kernel_name(joined, columns);
    const std::size_t arrow = shown.find(" → ");
    ASSERT_NE(arrow, std::string::npos) << shown;
    EXPECT_NE(shown.substr(0, arrow), shown.substr(arrow + std::string(" → ").size())) << columns;
    EXPECT_LE(display_width(shown), columns) << shown;
  }
}

TEST(KernelDisplayName, DropsReturnTypeAndParameters) {
  const struct {
    const char* demangled;
    const char* shown;
  } kCases[] = {
      {"void ns::add<float>(float*, int)", "ns::add<float>"},
      {"add(float*, int)", "add"},
      {"nvjet_tst_256x128", "nvjet_tst_256x128"},
      {"void ns::(anonymous namespace)::f<int>(int)", "ns::(anonymous namespace)::f<int>"},
      {"void f<std::array<char*, 3ul> >(int, std::array<char*, 3ul>)", "f<std::array<char*, 3ul> >"},
      {"unsigned long long f(int)", "f"},
      {"f(int) const", "f"},
      {"f(int) [clone .1]", "f"},
      {"void f<(lambda at x.cu:1)>(int)", "f<(lambda at x.cu:1)>"},
      {"void ns::add<float>(float*, int) [132,1,1]", "ns::add<float> [132,1,1]"},
      {"f(int) [clone .1] [2,2,1]", "f [2,2,1]"},
      {" [1,1,1]", "[1,1,1]"},
      {"ns::operator bool", "ns::operator bool"},
      {"void g<&ns::member, (a->b)>(int)", "g<&ns::member, (a->b)>"},
      {"", ""},
      {")", ")"},
      {"(((", "((("},
      {"f)", "f)"},
  };
  for (const auto& c : kCases) EXPECT_EQ(kernel_display_name(c.demangled), c.shown) << c.demangled;
}

TEST(ElideKernelName, KeepsFunctionNameAndTail) {
  const std::string cutlass =
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>(Params)";
  EXPECT_EQ(elide_kernel_name(cutlass, 200),
            "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_64x3_nn_align8>");
  EXPECT_EQ(elide_kernel_name(cutlass, 40), "cutlass…relu_bf16_128x128_64x3_nn_align8");
  // Namespaces go before the function's own name does.
  const std::string deep = "void a::very::deep::name_space::of_the::program::compute<float, 4, true>(int)";
  EXPECT_EQ(elide_kernel_name(deep, 28), "…::compute<float, 4, true>");
  EXPECT_EQ(elide_kernel_name(deep, 21), "…::compute<floa…true>");
  EXPECT_EQ(elide_kernel_name(deep, 10), "compute<…>");
  EXPECT_EQ(elide_kernel_name("void a_function_with_a_long_name<int>(int)", 33),
            "a_function_with_a_long_name<int>");
  EXPECT_EQ(elide_kernel_name("void a_function_with_a_long_name<int>(int)", 31),
            "a_function_with_a_long_name<…>");
}

TEST(ElideKernelName, ArgumentsLoseWhereTheirTypesComeFrom) {
  const std::string product =
      "void ns::product_kernel<(ns::Kind)1, ns::Config<(ns::Kind)1, 64, (bool)1, (int)-2> >(ns::Maps, int)";
  EXPECT_EQ(elide_kernel_name(product, 83),
            "ns::product_kernel<(ns::Kind)1, ns::Config<(ns::Kind)1, 64, (bool)1, (int)-2> >");
  EXPECT_EQ(elide_kernel_name(product, 70), "ns::product_kernel<1, Config<1, 64, 1, -2>>");
  EXPECT_EQ(elide_kernel_name(product, 42), "…::product_kernel<1, Config<1, 64, 1, -2>>");
  // No casts: lambdas, calls, members of a template.
  EXPECT_EQ(elide_kernel_name(
                "void f<g(int)::{lambda(int)#1}, a::(anonymous namespace)::B<c::D>::E, &a::b>(int)", 50),
            "f<g(int)::{lambda(int)#1}, B<D>::E, &b>");
  EXPECT_EQ(elide_kernel_name("void f<(lambda at a::b.cu:1), a::b::c>(int)", 32), "f<(lambda at b.cu:1), c>");
}

TEST(ElideKernelName, AGenericTemplateIsNamedByItsFunctor) {
  const char* kAdd =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
      "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
  EXPECT_EQ(elide_kernel_name(kAdd, 60), "CUDAFunctor_add<BFloat16> · vectorized_elementwise_kernel");
  EXPECT_EQ(elide_kernel_name(kAdd, 30), "CUDAFunctor_add<BFloat16> · v…");
  EXPECT_EQ(elide_kernel_name("void at::native::f<512, 1>(int)", 60), "at::native::f<512, 1>");
}

TEST(ElideKernelName, OfCutlassTheKernelThatIsWrappedIsNamedWithTileAndAlignment) {
  const char* kGemm =
      "void "
      "cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(cutlass_75_tensorop_bf16_"
      "s1688gemm_bf16_128x128_nn_align1::Params)";
  EXPECT_EQ(elide_kernel_name(kGemm, 60), "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1");
  EXPECT_EQ(elide_kernel_name(kGemm, 40), "cutlass…s1688gemm_bf16_128x128_nn_align1");
  EXPECT_EQ(elide_kernel_name(kGemm, 30), "cutlass…bf16_128x128_nn_align1");
  EXPECT_EQ(elide_kernel_name(kGemm, 26), "cutlass…128x128_nn_align1");
}

TEST(ElideKernelName, WholeWordsAreLeftOutOfAName) {
  EXPECT_EQ(elide_kernel_name("attention_hopper_backward_kernel", 31), "attention_hopper_backward…");
  EXPECT_EQ(elide_kernel_name("attention_hopper_backward_kernel", 24), "attention…backward");
  EXPECT_EQ(elide_kernel_name("attention_hopper_forward_kernel", 25), "attention_hopper_forward…");
}

TEST(ElideKernelName, FitsAnyWidthAndText) {
  const char* kNames[] = {
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)",
      "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x64x64_1x4x1_kernel0_0",
      "<<<<<<>>>>>>",
      "a<b",
      "a>b::c<",
      "ääääääääääääääääääääääääääääää<öööööööööööööööööö>",
      "核核核核核核核核核核核核核核核核核核核核",
      "::::::::::::::::::::",
      "x<>",
      " [1,2,3]",
      "name_of_some_length<int> [1,2,3]",
      "[,]",
      "x<(y",
      "x<(y)",
      "x<(y)1",
      "x<::::>",
      "x<(a::b)-(c::d)2 > > >",
      "                              "};
  for (const char* name : kNames) {
    for (int columns = 8; columns < 120; ++columns) {
      EXPECT_LE(display_width(elide_kernel_name(name, columns)), columns) << name << " in " << columns;
    }
  }
}

// Overloads part in what is not shown, and names of one pattern in more places than there is room for.
TEST(ElideKernelNames, WhatStillLooksAlikeIsNumbered) {
  EXPECT_EQ(elide_kernel_names({"void a(int)", "void a(float)", "void b(int)", "void a(int)"}, 24),
            (std::vector<std::string>{"a #1", "a #2", "b", "a #1"}));
  std::vector<std::string> names;
  for (const char* tile : {"64x64", "64x128", "128x64"})
    for (const char* stages : {"3", "4"})
      for (const char* layout : {"nn", "nt", "tn"})
        names.push_back(
            std::string("sm80_xmma_wgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize") + tile +
            "x32_stage" + stages + "_warpsize2x2x1_g1_tensor16x8x8_alignc4_" + layout + "_execute_kernel");
  for (int columns = 16; columns <= 120; ++columns) {
    const auto shown = elide_kernel_names(names, columns);
    const std::set<std::string> different(shown.begin(), shown.end());
    EXPECT_EQ(different.size(), names.size()) << columns;
    for (const std::string& text : shown) EXPECT_LE(display_width(text), columns) << text;
  }
}

// The functor says what the kernel does, so it stays where two kernels have it, and what parts them stands after it.
TEST(ElideKernelNames, WhoHasOneFunctorKeepsIt) {
  const auto vectorized = [](const char* arguments) {
    return std::string("void at::native::vectorized_elementwise_kernel<") + arguments +
           ", std::array<char*, 2ul> >(int, " + arguments + ", std::array<char*, 2ul>)";
  };
  const auto legacy = [](const char* times, const char* type) {
    const std::string functor = std::string("at::native::BinaryFunctor<") + type + ", " + type + ", " + type +
                                ", at::native::binary_internal::MulFunctor<float> >";
    const std::string body = "at::native::gpu_kernel_impl_nocast<" + functor +
                             " >(at::TensorIteratorBase&, " + functor + " const&)::{lambda(int)#1}";
    return std::string("void at::native::elementwise_kernel<128, ") + times + ", " + body + ">(int, " + body +
           ")";
  };
  const std::vector<std::string> two = {legacy("4", "c10::BFloat16"), legacy("2", "float"), "other"};
  EXPECT_EQ(elide_kernel_names(two, 60),
            (std::vector<std::string>{"MulFunctor<float> · elementwise_kernel<…4…>",
                                      "MulFunctor<float> · elementwise_kernel<…2…>", "other"}));
  EXPECT_EQ(elide_kernel_names(two, 30)[0], "MulFunctor<float> · elem…<…4…>");
  // Three, which differ in no argument all at once but in the kind of the functor.
  const std::vector<std::string> three = {
      vectorized("8, at::native::BinaryFunctor<float, float, float, at::native::MulFunctor<float> >"),
      vectorized("4, at::native::AUnaryFunctor<float, float, float, at::native::MulFunctor<float> >"),
      vectorized("4, at::native::BUnaryFunctor<float, float, float, at::native::MulFunctor<float> >")};
  EXPECT_EQ(elide_kernel_names(three, 72)[1],
            "MulFunctor<float> · vectorized_elementwise_kernel<…AUnaryFunctor…>");
  for (int columns = 30; columns <= 110; ++columns) {
    for (const auto& names : {two, three}) {
      const auto shown = elide_kernel_names(names, columns);
      EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), names.size()) << columns;
      for (const std::string& text : shown) {
        EXPECT_LE(display_width(text), columns) << text;
        EXPECT_TRUE(text == "other" || text.starts_with("MulFunctor")) << text << " at " << columns;
      }
    }
  }
}

TEST(ElideKernelNames, DifferentNamesStayDifferent) {
  const std::vector<std::string> names = {
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "
      "3ul> >(int)",
      "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernel, std::array<char*, 3ul> "
      ">(int)",
      "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x64x64_1x4x1_kernel0_0",
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x64x64_1x4x1_kernel0_0",
      "other"};
  for (int columns = 24; columns <= 120; ++columns) {
    const auto shown = elide_kernel_names(names, columns);
    ASSERT_EQ(shown.size(), names.size());
    EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), names.size()) << columns;
    for (const std::string& text : shown) EXPECT_LE(display_width(text), columns) << text;
    EXPECT_EQ(shown.back(), "other");
  }
  // With grids, which stay whole.
  std::vector<std::string> with_grids = names;
  for (std::string& name : with_grids) name += " [132,64,1]";
  with_grids.push_back(names[0] + " [2,66,1]");
  for (int columns = 36; columns <= 120; ++columns) {
    const auto shown = elide_kernel_names(with_grids, columns);
    EXPECT_EQ(std::set<std::string>(shown.begin(), shown.end()).size(), with_grids.size()) << columns;
    for (const std::string& text : shown) {
      EXPECT_LE(display_width(text), columns) << text;
      EXPECT_EQ(text.substr(text.size() - 3), ",1]") << text;
    }
  }
  // Where only a namespace or a cast tells them apart, it is shown.
  const auto told = elide_kernel_names(
      {"void f<one::Functor<float, 4> >(int)", "void f<two::Functor<float, 4> >(int)"}, 27);
  EXPECT_NE(told[0], told[1]);
  // The same kernel twice stays the same.
  const auto twice = elide_kernel_names({names[0], names[0]}, 40);
  EXPECT_EQ(twice[0], twice[1]);
}

TEST(ElideKernelName, CodeAndGridStay) {
  EXPECT_EQ(kernel_display_name("void f<int>(int*) #1a2b3c4d [2,66,1]"), "f<int> #1a2b3c4d [2,66,1]");
  EXPECT_EQ(kernel_display_name("void f<int>(int*) #?"), "f<int> #?");
  // What only looks like a code or a grid is a part of the name.
  EXPECT_FALSE(elide_kernel_name("a_kernel_with_a_long_name #1a2b3cxy", 22).ends_with(" #1a2b3cxy"));
  EXPECT_FALSE(elide_kernel_name("a_kernel_with_a_long_name #1a2b3c4", 22).ends_with(" #1a2b3c4"));
  EXPECT_FALSE(elide_kernel_name("a_kernel_with_a_long_name [1,x,1,1]", 22).ends_with(" [1,x,1,1]"));
  EXPECT_EQ(elide_kernel_name("a_kernel_with_a_long_name(int) #1a2b3c4d", 22), "a…name #1a2b3c4d");
  const auto shown = elide_kernel_names(
      {"a_kernel_with_a_long_name(int) #1a2b3c4d [1,1,1]", "a_kernel_with_a_long_name(int) #1a2b3c4d [2,1,1]",
       "a_kernel_with_a_long_name(int) #ffffffff"},
      30);
  EXPECT_TRUE(shown[0].ends_with(" #1a2b3c4d [1,1,1]")) << shown[0];
  EXPECT_TRUE(shown[1].ends_with(" #1a2b3c4d [2,1,1]")) << shown[1];
  EXPECT_TRUE(shown[2].ends_with(" #ffffffff")) << shown[2];
}

TEST(Elide, CutsByColumnsNotBytes) {
  EXPECT_EQ(elide_end("größer", 6), "größer");
  EXPECT_EQ(elide_end("größer", 4), "grö…");
  EXPECT_EQ(elide_middle("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(elide_middle("核核核核", 5), "核…核");
  EXPECT_EQ(elide_end("abc", 0), "");
  EXPECT_EQ(display_width("核"), 2);
  EXPECT_EQ(display_width("e\xcc\x81"), 1);  // a combining accent takes no column
  EXPECT_EQ(display_width("\xff\xfe"), 2);   // bytes that are no UTF-8
}

TEST(Bounded, KeepsHeadAndTailOfWholeCharacters) {
  EXPECT_EQ(bounded("short"), "short");
  EXPECT_EQ(bounded(std::string(20, 'x'), 20), std::string(20, 'x'));
  EXPECT_EQ(bounded("aaaaaaaa--------bbbbbbbb", 16), "aaaaaaaa…bbbbbbbb");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  for (std::size_t bytes = 16; bytes < 40; ++bytes) {
    const std::string cut = bounded(umlauts, bytes);
    EXPECT_LE(cut.size(), bytes + 3) << bytes;
    EXPECT_EQ(cut.find("\xef\xbf\xbd"), std::string::npos);
    for (std::size_t i = 0; i < cut.size();) {
      const auto byte = static_cast<unsigned char>(cut[i]);
      ASSERT_TRUE(byte == 0xc3 || byte == 0xe2) << "cut inside a character at " << i;
      i += byte == 0xc3 ? 2 : 3;
    }
  }
}

// They take no column, so that a line of one letter can be as long as a book.
TEST(Elide, PiledCombiningMarksAreCut) {
  std::string piled = "a";
  for (int i = 0; i < 100'000; ++i) piled += "\u0301";
  for (const std::string& shown : {elide_end(piled, 20), elide_start(piled, 20), elide_middle(piled, 20),
                                   elide_kernel_name(piled, 20)}) {
    EXPECT_LT(shown.size(), 700u);
    EXPECT_LE(display_width(shown), 20);
  }
  EXPECT_EQ(elide_end("e\u0301t\u0301e\u0301", 3), "e\u0301t\u0301e\u0301");
}

}  // namespace
}  // namespace ridgeline::reports
