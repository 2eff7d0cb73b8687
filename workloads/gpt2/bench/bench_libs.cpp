// bench_libs: what the libraries give for one training step of GPT-2, sustained: every matrix product with
// cuBLASLt's first answer and with the searched algorithm, fused and separate epilogues, and cuDNN's
// attention.
//
// Each pair of variants takes turns in blocks of --block-ms, so that clocks and temperature are the same for
// both; the step loops run all products of a step in step order for --step-s seconds. Contents are random and
// stay so: power, and with it the clock, depends on them. Buffers are those of one layer, used again for all
// layers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpt2/bench/bench_main.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/attention_cudnn.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/libs/matmul.h"

namespace {

using namespace ridgeline::gpt2;

struct Settings {
  std::int64_t batch = 32;
  std::int64_t seq = 1024;
  std::int64_t layers = 12;
  std::int64_t channels = 768;
  std::int64_t heads = 12;
  std::int64_t vocabulary = 50304;
  double block_ms = 100.0;
  double step_s = 3.0;
  bool step_only = false;
  bool loops_only = false;
  std::string search = "full";
  std::string cache;
  std::string json;
};

using Launch = std::function<void(cudaStream_t)>;

double timed_ns(const Launch& launch, int count, cudaStream_t stream) {
  Event start;
  Event stop;
  start.record(stream);
  for (int i = 0; i < count; ++i) launch(stream);
  stop.record(stream);
  stop.synchronize();
  return static_cast<double>(stop.elapsed_ms_since(start)) * 1e6 / count;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Median of blocks that take turns between the variants, in ns a launch. The first 100 ms of a turn, while
// the clock still follows the variant before, are not counted.
std::vector<double> alternate(const std::vector<Launch>& variants, double block_ms, cudaStream_t stream) {
  std::vector<std::vector<double>> blocks(variants.size());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      timed_ns(variants[i], 2, stream);
      const double once_ns = timed_ns(variants[i], 5, stream);
      timed_ns(variants[i], static_cast<int>(100e6 / once_ns) + 1, stream);
      blocks[i].push_back(timed_ns(variants[i], static_cast<int>(block_ms * 1e6 / once_ns) + 1, stream));
    }
  }
  std::vector<double> result;
  for (auto& times : blocks) result.push_back(median(times));
  return result;
}

template <class T>
DeviceBuffer<T> normal(std::int64_t n, float scale, std::uint64_t seed, cudaStream_t stream) {
  DeviceBuffer<T> buffer(n);
  launch_fill_normal(buffer.data(), n, scale, seed, stream);
  return buffer;
}

struct Layer {
  const char* name;
  std::int64_t c;
  std::int64_t oc;
  bool bias;
};

struct Buffers {
  DeviceBuffer<bf16> inp, weight, bias, out, aux, dout, dinp;
  DeviceBuffer<float> dweight, dbias;
};

int run(const Settings& s) {
  Stream owned;
  cudaStream_t stream = owned.get();
  const std::int64_t n = s.batch * s.seq;
  const std::int64_t c = s.channels;
  const std::vector<Layer> kinds = {{"qkv", c, 3 * c, true},
                                    {"attproj", c, c, true},
                                    {"fc", c, 4 * c, true},
                                    {"fcproj", 4 * c, c, true},
                                    {"lm_head", c, s.vocabulary, false}};
  std::vector<Buffers> buffers;
  for (const Layer& k : kinds) {
    Buffers b;
    b.inp = normal<bf16>(n * k.c, 1.0F, 1, stream);
    b.weight = normal<bf16>(k.oc * k.c, 0.02F, 2, stream);
    b.bias = normal<bf16>(k.oc, 0.02F, 3, stream);
    b.out = DeviceBuffer<bf16>(n * k.oc);
    b.dout = normal<bf16>(n * k.oc, 1.0F, 4, stream);
    b.dinp = DeviceBuffer<bf16>(n * k.c);
    if (k.oc == 4 * c) b.aux = normal<bf16>(n * k.oc, 1.0F, 5, stream);
    b.dweight = normal<float>(k.oc * k.c, 0.02F, 6, stream);
    b.dbias = normal<float>(k.oc, 0.02F, 7, stream);
    buffers.push_back(std::move(b));
  }
  Matmul first({MatmulSearch::off, Fp32Math::fp32, std::size_t{64} << 20, ""});
  Matmul searched({matmul_search_from_name(s.search), Fp32Math::fp32, std::size_t{64} << 20, s.cache});

  struct Item {
    std::string name;
    std::int64_t count;  // launches a step; 0: a variant that the step does not use
    std::int64_t flops;
    std::function<void(Matmul&, cudaStream_t)> launch;
  };
  std::vector<Item> items;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Layer& k = kinds[i];
    Buffers& b = buffers[i];
    const std::string name = k.name;
    const std::int64_t count = name == "lm_head" ? 1 : s.layers;
    const std::int64_t flops = matmul_flops(n, k.c, k.oc);
    const bf16* bias = k.bias ? b.bias.data() : nullptr;
    const auto forward = [&b, bias, n, k](MatmulEpilogue epilogue, bool aux) {
      return [&b, bias, n, k, epilogue, aux](Matmul& m, cudaStream_t st) {
        m.forward(b.out.data(), b.inp.data(), b.weight.data(), bias, n, k.c, k.oc, st, epilogue,
                  aux ? b.aux.data() : nullptr);
      };
    };
    const auto input = [&b, n, k](const bf16* aux) {
      return [&b, n, k, aux](Matmul& m, cudaStream_t st) {
        m.backward_input(b.dinp.data(), b.dout.data(), b.weight.data(), n, k.c, k.oc, st, aux);
      };
    };
    const auto weight = [&b, n, k](bool accumulate, bool bias_gradient) {
      return [&b, n, k, accumulate, bias_gradient](Matmul& m, cudaStream_t st) {
        m.backward_weight(b.dweight.data(), b.dout.data(), b.inp.data(), n, k.c, k.oc, st, accumulate,
                          bias_gradient ? b.dbias.data() : nullptr);
      };
    };
    const bool adds_residual = k.oc == c;  // attproj and fcproj
    items.push_back({name + " forward" + (k.bias ? " bias" : ""), adds_residual ? 0 : count, flops,
                     forward(MatmulEpilogue::none, false)});
    if (adds_residual) {
      items.push_back(
          {name + " forward bias+residual", count, flops, [&b, bias, n, k](Matmul& m, cudaStream_t st) {
             m.forward_residual(b.out.data(), static_cast<const bf16*>(b.dout.data()),
                                static_cast<const bf16*>(b.inp.data()),
                                static_cast<const bf16*>(b.weight.data()), bias, n, k.c, k.oc, st);
           }});
    }
    if (name == "fc") {
      items.push_back({"fc forward bias+gelu+aux", 0, flops, forward(MatmulEpilogue::gelu, true)});
      if (!s.step_only)
        items.push_back({"fc forward bias+gelu", 0, flops, forward(MatmulEpilogue::gelu, false)});
    }
    items.push_back({name + " dinp", count, flops, input(nullptr)});
    if (name == "fcproj") items.push_back({"fcproj dinp dgelu", 0, flops, input(buffers[2].aux.data())});
    items.push_back({name + " dweight", count, flops, weight(false, false)});
    if (k.bias && !s.step_only) {
      items.push_back({name + " dweight add", 0, flops, weight(true, false)});
      if (searched.bias_gradient_fused<bf16>(n, k.c, k.oc, false)) {
        items.push_back({name + " dweight bgrad", 0, flops, weight(false, true)});
      } else {
        fmt::print("{} dweight bgrad: cuBLASLt has no algorithm for it\n", name);
      }
    }
  }

  nlohmann::json report = {{"batch", s.batch}, {"seq", s.seq}, {"search", s.search}};
  fmt::print("{:<28}{:>5}{:>12}{:>12}{:>9}{:>9}{:>8}\n", "product", "calls", "first us", "searched us",
             "TFLOP/s", "TFLOP/s", "gain");
  double sum_first_ns = 0.0;
  double sum_searched_ns = 0.0;
  const auto begin = std::chrono::steady_clock::now();
  for (const Item& item : items) {
    item.launch(first, stream);
    item.launch(searched, stream);
    owned.synchronize();
  }
  const double search_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const Item& item : items) {
    if (s.loops_only) break;
    const std::vector<double> times = alternate({[&](cudaStream_t st) { item.launch(first, st); },
                                                 [&](cudaStream_t st) { item.launch(searched, st); }},
                                                s.block_ms, stream);
    sum_first_ns += static_cast<double>(item.count) * times[0];
    sum_searched_ns += static_cast<double>(item.count) * times[1];
    fmt::print("{:<28}{:>5}{:>12.1f}{:>12.1f}{:>9.0f}{:>9.0f}{:>7.1f}%\n", item.name, item.count,
               times[0] / 1e3, times[1] / 1e3, static_cast<double>(item.flops) / times[0] / 1e3,
               static_cast<double>(item.flops) / times[1] / 1e3, 100.0 * (times[0] / times[1] - 1.0));
    report["products"].push_back({{"name", item.name},
                                  {"calls_a_step", item.count},
                                  {"flops", item.flops},
                                  {"first_time_ns", times[0]},
                                  {"searched_time_ns", times[1]}});
  }
  if (!s.loops_only) {
    fmt::print("{:<28}{:>5}{:>12.1f}{:>12.1f}   (sum a step)\n", "all", "", sum_first_ns / 1e3,
               sum_searched_ns / 1e3);
  }
  fmt::print("search {} of {} problems took {:.1f} s\n", s.search, items.size(), search_s);

  // All products of a step in step order.
  std::int64_t step_flops = 0;
  for (const Item& item : items) step_flops += item.count * item.flops;
  const auto item_named = [&](const std::string& name) -> const Item& {
    return *std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.name == name; });
  };
  const auto step = [&](Matmul& m, bool fused, cudaStream_t st) {
    const auto launch = [&](const std::string& name) { item_named(name).launch(m, st); };
    for (std::int64_t l = 0; l < s.layers; ++l) {
      launch("qkv forward bias");
      launch("attproj forward bias");
      launch(fused ? "fc forward bias+gelu+aux" : "fc forward bias");
      launch("fcproj forward bias");
    }
    launch("lm_head forward");
    launch("lm_head dweight");
    launch("lm_head dinp");
    for (std::int64_t l = 0; l < s.layers; ++l) {
      launch(fused ? "fcproj dinp dgelu" : "fcproj dinp");
      launch("fcproj dweight");
      launch("fc dinp");
      launch("fc dweight");
      launch("attproj dinp");
      launch("attproj dweight");
      launch("qkv dinp");
      launch("qkv dweight");
    }
  };
  struct StepVariant {
    const char* name;
    Matmul* matmul;
    bool fused;
  };
  const std::vector<StepVariant> step_variants = {{"first answers", &first, false},
                                                  {"first answers, fused gelu", &first, true},
                                                  {"searched", &searched, false},
                                                  {"searched, fused gelu", &searched, true}};
  std::vector<Launch> step_launches;
  for (const StepVariant& v : step_variants) {
    step_launches.push_back([&step, v](cudaStream_t st) { step(*v.matmul, v.fused, st); });
  }
  const std::vector<double> step_times = alternate(step_launches, s.step_s * 1e3 / 3.0, stream);
  for (std::size_t i = 0; i < step_variants.size(); ++i) {
    fmt::print("step loop, {:<28}{:>9.3f} ms{:>9.0f} TFLOP/s\n", step_variants[i].name, step_times[i] / 1e6,
               static_cast<double>(step_flops) / step_times[i] / 1e3);
    report["step_loops"].push_back(
        {{"name", step_variants[i].name}, {"time_ns", step_times[i]}, {"flops", step_flops}});
  }
  for (const MatmulChoice& choice : searched.choices()) {
    fmt::print(
        "choice {:<16}{:<14} C {:>5} OC {:>5} {} {:>4} tried, {:>8.1f} us, first {:>8.1f} us: {} ({})\n",
        choice.op, choice.epilogue, choice.c, choice.oc, choice.accumulate ? "add" : "set", choice.candidates,
        choice.time_ns / 1e3, choice.default_time_ns / 1e3, choice.algorithm, choice.source);
  }

  if (cudnn_attention_available()) {
    const std::int64_t hs = c / s.heads;
    const DeviceBuffer<bf16> qkv = normal<bf16>(n * 3 * c, 1.0F, 8, stream);
    const DeviceBuffer<bf16> dout = normal<bf16>(n * c, 1.0F, 9, stream);
    DeviceBuffer<bf16> out(n * c);
    DeviceBuffer<bf16> dqkv(n * 3 * c);
    DeviceBuffer<float> lse(s.batch * s.heads * s.seq);
    for (const bool deterministic : {false, true}) {
      CudnnAttention attention(deterministic);
      attention.prepare(s.batch, s.seq, s.heads, hs);
      const std::vector<double> times =
          alternate({[&](cudaStream_t st) {
                       attention.forward(out.data(), lse.data(), qkv.data(), s.batch, s.seq, s.heads, hs, st);
                     },
                     [&](cudaStream_t st) {
                       attention.backward(dqkv.data(), dout.data(), qkv.data(), out.data(), lse.data(),
                                          s.batch, s.seq, s.heads, hs, st);
                     }},
                    s.block_ms, stream);
      fmt::print(
          "attention cuDNN {}{}: forward {:.1f} us, backward {:.1f} us, {} layers {:.3f} ms, workspace "
          "{:.0f} MiB\n",
          cudnn_version(), deterministic ? " deterministic" : "", times[0] / 1e3, times[1] / 1e3, s.layers,
          static_cast<double>(s.layers) * (times[0] + times[1]) / 1e6,
          static_cast<double>(attention.workspace_bytes()) / 1048576.0);
      report["attention"].push_back({{"deterministic", deterministic},
                                     {"forward_time_ns", times[0]},
                                     {"backward_time_ns", times[1]},
                                     {"cudnn", cudnn_version()}});
    }
  }
  if (!s.json.empty()) {
    std::ofstream file(s.json);
    file << report.dump(1) << '\n';
    if (!file) throw std::runtime_error("cannot write " + s.json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Times the matrix products and the cuDNN attention of one GPT-2 training step in bf16");
  app.add_option("--batch", s.batch, "sequences")->check(CLI::PositiveNumber);
  app.add_option("--seq", s.seq, "tokens of a sequence")->check(CLI::PositiveNumber);
  app.add_option("--layers", s.layers, "layers")->check(CLI::PositiveNumber);
  app.add_option("--channels", s.channels, "channels")->check(CLI::PositiveNumber);
  app.add_option("--heads", s.heads, "heads")->check(CLI::PositiveNumber);
  app.add_option("--search", s.search, "off, fast or full")->check(CLI::IsMember({"off", "fast", "full"}));
  app.add_flag("--step-only", s.step_only, "leave out the variants that the step loops do not use");
  app.add_flag("--loops-only", s.loops_only, "time the step loops, not the single products");
  app.add_option("--cache", s.cache, "matmul cache file");
  app.add_option("--block-ms", s.block_ms, "length of one timed block")->check(CLI::PositiveNumber);
  app.add_option("--step-s", s.step_s, "length of one step loop")->check(CLI::PositiveNumber);
  app.add_option("--json", s.json, "also write the figures to this file");
  CLI11_PARSE(app, argc, argv);
  return bench_main("bench_libs", [&] { return run(s); });
}
