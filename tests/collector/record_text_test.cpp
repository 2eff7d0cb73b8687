#include <gtest/gtest.h>

#include "device_peaks.h"
#include "mapped_libraries.h"
#include "program_environment.h"
#include "text.h"

namespace ridgeline::record {
namespace {

TEST(Text, valid_utf8_stays_and_the_rest_is_replaced) {
  EXPECT_EQ(clean_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(clean_text("a\xff"), "a" + bad);
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(clean_text("\xc0\xaf"), bad + bad);            // overlong
  EXPECT_EQ(clean_text("\xed\xa0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(clean_text("\xe2\x82"), bad + bad);            // cut off
  EXPECT_EQ(clean_text("\xf5\x80\x80\x80"), bad + bad + bad + bad);
}

TEST(Text, one_line_has_no_controls) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[0m \n"), "a b c [0m");
}

TEST(Text, shell_quoting_survives_a_shell) {
  EXPECT_EQ(shell_quoted({"./a", "--x=1", "two words", "it's", ""}), "./a --x=1 'two words' 'it'\\''s' ''");
}

TEST(Text, split_leaves_empty_parts_out) {
  EXPECT_EQ(split(":a::b:", ':'), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(split("", ':').empty());
}

TEST(Environment, keeps_what_matters_and_no_secrets) {
  const auto kept =
      relevant_environment({"CUDA_VISIBLE_DEVICES=0", "NCCL_DEBUG=INFO", "HOME=/root", "PYTORCH_ALLOC_CONF=x",
                            "NVIDIA_API_KEY=abc", "CUDA_TOKEN=abc", "OMP_NUM_THREADS=4", "broken",
                            "TORCH_MIRROR=https://me:geheim@example.org/x", "NCCL_AUTH=1", "=odd"});
  EXPECT_EQ(kept, (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", "0"},
                                                      {"NCCL_DEBUG", "INFO"},
                                                      {"OMP_NUM_THREADS", "4"},
                                                      {"PYTORCH_ALLOC_CONF", "x"},
                                                      {"TORCH_MIRROR", "https://me:***@example.org/x"}}));
}

TEST(MappedLibraries, are_found_in_a_maps_file) {
  MappedLibraries libraries;
  libraries.look_at_maps(
      "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libc.so.6\n"
      "7f02-7f03 r-xp 00000000 08:01 1 /opt/my libs/libcublas.so.13.1.0.3\n"
      "7f04-7f05 r-xp 00000000 08:01 1 /opt/libcublasLt.so.13.1.0.3\n"
      "7f06-7f07 rw-p 00000000 00:00 0\n"
      "7f08-7f09 r-xp 00000000 08:01 1 /opt/libnccl.so.2.28.7");
  EXPECT_EQ(libraries.paths().at("cublas"), "/opt/my libs/libcublas.so.13.1.0.3");
  // The files are not there: the names alone must do.
  EXPECT_EQ(libraries.versions(), (std::map<std::string, std::string>{
                                      {"cublas", "13.1.0.3"}, {"cublaslt", "13.1.0.3"}, {"nccl", "2.28.7"}}));
  libraries.look_at(-1);
}

store::Device h100() {
  store::Device device;
  device.id = 1;
  device.name = "NVIDIA H100 80GB HBM3";
  device.compute_capability = "9.0";
  device.sm_count = 132;
  device.max_sm_clock_hz = 1'830'000'000;
  device.max_memory_clock_hz = 2'619'000'000;
  device.memory_bus_bits = 5120;
  return device;
}

double peak(const std::vector<store::DevicePeak>& peaks, const std::string& quantity,
            const std::string& source) {
  for (const store::DevicePeak& each : peaks) {
    if (each.quantity == quantity && each.source == source) return each.value;
  }
  return 0;
}

TEST(DevicePeaks, agree_with_published_figures) {
  const auto peaks = device_peaks(h100(), std::nullopt);
  EXPECT_DOUBLE_EQ(peak(peaks, "dram_bytes_per_s", "spec"), 3.35e12);
  EXPECT_NEAR(peak(peaks, "bf16_flops_per_s", "spec"), 989.4e12, 0.2e12);
  EXPECT_NEAR(peak(peaks, "fp8_flops_per_s", "spec"), 1978.9e12, 0.3e12);
  EXPECT_NEAR(peak(peaks, "tf32_flops_per_s", "spec"), 494.7e12, 0.1e12);
  store::Device a100 = h100();
  a100.name = "NVIDIA A100-SXM4-80GB";
  a100.compute_capability = "8.0";
  a100.sm_count = 108;
  a100.max_sm_clock_hz = 1'410'000'000;
  const auto older = device_peaks(a100, std::nullopt);
  EXPECT_NEAR(peak(older, "bf16_flops_per_s", "spec"), 312e12, 0.2e12);
  EXPECT_NEAR(peak(older, "fp32_flops_per_s", "spec"), 19.5e12, 0.05e12);
  EXPECT_EQ(peak(older, "fp8_flops_per_s", "spec"), 0);
  EXPECT_DOUBLE_EQ(peak(older, "dram_bytes_per_s", "spec"), 2.039e12);
}

TEST(DevicePeaks, unknown_devices_get_what_their_clocks_say) {
  store::Device device = h100();
  device.name = "NVIDIA Something New";
  device.compute_capability = "99.0";
  const auto peaks = device_peaks(device, 1'000'000'000);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_DOUBLE_EQ(peaks[0].value, 2.619e9 * 5120 / 8 * 2);
  device.max_memory_clock_hz.reset();
  EXPECT_TRUE(device_peaks(device, std::nullopt).empty());
}

TEST(DevicePeaks, the_measured_clock_gives_a_peak_of_its_own) {
  const auto peaks = device_peaks(h100(), 915'000'000);
  EXPECT_DOUBLE_EQ(peak(peaks, "bf16_flops_per_s", "clock") * 2, peak(peaks, "bf16_flops_per_s", "spec"));
}

}  // namespace
}  // namespace ridgeline::record
