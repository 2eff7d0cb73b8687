// What people write of changes and kernels: each text with what it is read as, or why it is not.
#include "ridgeline/queries/job_what_if_query.h"
#include "ridgeline/queries/kernel_query.h"
#include "ridgeline/queries/what_if_query.h"
#include "support/accepted_cases.h"

namespace ridgeline::queries {
namespace {

using testing::AcceptedCases;

TEST(Written, ChangesOfKernelsAreReadAsBefore) {
  std::vector<std::string> texts = {
      "",         "=",     "a",     "a=",   "=1",      "a=1",      "a=b=2",
      "a,b",      "a,b,c", ",",     "a,",   ",b",      "f<1,2>,g", "f<1,2>,g<3,4>",
      "f(a,b),c", "f>,g",  "a<b,c", "a,,b", " a , b ", "*=bf16"};
  for (const char* value : {"0",    "-1",   "1",    "1x",  "x",      "xx",   "1.5x", "2X",   "1e3x", "1e400",
                            "nan",  "inf",  "0x1",  "0.5", "0.85",   "85",   "85%",  "100",  "100%", "100.1",
                            "1.01", "1%",   "0%",   "%",   "0.004%", "101%", "85 %", " 85",  "fp64", "fp32",
                            "tf32", "bf16", "fp16", "fp8", "int8",   "int4", "FP8",  "bf16 "}) {
    texts.emplace_back(value);
    texts.push_back(std::string("gemm*=") + value);
    texts.push_back(std::string("=") + value);
  }
  const auto all = [&](const auto& parse) {
    std::string out;
    for (const std::string& text : texts) out += "'" + text + "' " + testing::fields(parse(text)) + "\n";
    return out;
  };
  AcceptedCases::expect([&] { return all([](const std::string& text) { return parse_faster(text); }); });
  AcceptedCases::expect([&] { return all([](const std::string& text) { return parse_at_roof(text); }); });
  AcceptedCases::expect([&] { return all([](const std::string& text) { return parse_fused(text); }); });
  AcceptedCases::expect([&] { return all([](const std::string& text) { return parse_fused(text, true); }); });
  AcceptedCases::expect(
      [&] { return all([](const std::string& text) { return parse_in_precision(text); }); });
}

TEST(Written, ChangesOfJobsAreReadAsBefore) {
  AcceptedCases::expect([] {
    std::vector<std::string> texts = {"",
                                      ",",
                                      "overlap",
                                      "no-skew",
                                      "buckets",
                                      "overlap,no-skew",
                                      "overlap,links=2",
                                      "overlap,links=1",
                                      "overlap,bucket=1MB",
                                      "links=2,bucket=1MB",
                                      "bucket=1MB,bucket=2MB",
                                      "links=2,links=3",
                                      "buckets,overlap",
                                      "overlap,",
                                      "Overlap",
                                      "no_skew",
                                      "links",
                                      "bucket",
                                      "links=",
                                      "bucket="};
    for (const char* links : {"0", "-1", "1", "1x", "2x", "2xx", "x", "0.001", "1000", "1000.1", "1e3",
                              "1e-9", "nan", "inf", "2 x"})
      texts.push_back(std::string("links=") + links);
    for (const char* unit : {"", "B", "kB", "KB", "kb", "MB", "GB", "TB", "KiB", "MiB", "GiB", " MB"})
      for (const char* size : {"0", "0.4", "1", "1.5", "25", "1000000", "1e6", "1000001", "-1", "1e15",
                               "1000000000000000", "1000000000000001", "x"})
        texts.push_back(std::string("bucket=") + size + unit);
    std::string out;
    for (const std::string& text : texts)
      out += "'" + text + "' " + testing::fields(parse_job_changes(text)) + "\n";
    return out;
  });
}

TEST(Written, KernelsAreFoundAsBefore) {
  const std::vector<std::string> kernels = {"void a::attention_forward<64>(int)",
                                            "void a::attention_backward<64>(int)",
                                            "void b::layernorm<float>(float*)",
                                            "layernorm",
                                            "void c::(anonymous namespace)::gemm<f<1, 2>, (ns::Kind)1>(int)",
                                            "gemm2",
                                            "x",
                                            "void a::attention_forward<128>(int)",
                                            ""};
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, kernels.size()}) {
    AcceptedCases::expect([&] {
      analyzer::Ranking ranking;
      for (std::size_t i = 0; i < count; ++i) {
        analyzer::RankingRow row;
        row.kernel = kernels[i];
        row.key = i % 3 == 2 ? kernels[i] + " [1,1,1]" : kernels[i];
        ranking.rows.push_back(row);
      }
      std::string out;
      for (const char* text : {"",
                               "0",
                               "1",
                               "2",
                               "9",
                               "10",
                               "#1",
                               "#0",
                               "#",
                               "##1",
                               "-1",
                               "1 ",
                               "01",
                               "99999999999999999999",
                               "attention",
                               "ATTENTION",
                               "attention*",
                               "*attention*",
                               "a::attention_forward<64>",
                               "attention_forward",
                               "layernorm",
                               "b::layernorm<float>",
                               "gem?",
                               "gem??",
                               "gemm",
                               "g",
                               "x",
                               "X",
                               "*",
                               "?",
                               "none",
                               "[1,1,1]",
                               "void b::layernorm<float>(float*) [1,1,1]",
                               "b::layernorm<float> [1,1,1]",
                               "(anonymous",
                               "kernel that nobody has"})
        out += std::string("'") + text + "' " + testing::fields(choose_kernel(ranking, text)) + "\n";
      out += testing::fields(choose_kernel(ranking, std::string(300, 'n'))) + "\n";
      return out;
    });
  }
}

TEST(Written, FunctionsAreNamedAsBefore) {
  AcceptedCases::expect([] {
    std::string out;
    for (const char* name : {"",
                             "k",
                             "k(int)",
                             "void k(int)",
                             "void a::k<1>(int)",
                             "a::b::k",
                             "void a::(anonymous namespace)::k<int, (a::K)1>(long)",
                             "(anonymous namespace)::k",
                             "unsigned int k<a b>(c d)",
                             "k<",
                             "k>",
                             "k)",
                             "(k",
                             "a::",
                             "a ",
                             "k[2]",
                             "void k<f(int)::{lambda(int)#1}>(x)",
                             "operator bool",
                             "k<(int)1>::m(int)",
                             "::k"})
      out += std::string("'") + name + "' '" + function_name(name) + "'\n";
    return out;
  });
}

}  // namespace
}  // namespace ridgeline::queries
