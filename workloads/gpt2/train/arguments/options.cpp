#include "gpt2/train/arguments/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>

#include "gpt2/common/errors.h"
#include "gpt2/train/arguments/help_format.h"
#include "gpt2/train/arguments/switch_options.h"

namespace ridgeline::gpt2 {
namespace {

template <typename Enum>
CLI::Validator choice(std::map<std::string, Enum> names) {
  return CLI::CheckedTransformer(std::move(names), CLI::ignore_case).description("");
}

// What the trainer had and never won by.
struct Retired {
  std::string_view option;
  std::string_view value;  // empty: any
  const char* instead;
};
constexpr Retired kRetired[] = {
    {"--gelu", "mixed", "use --gelu own or separate"},
    {"--matmul-search", "fast", "use --matmul-search off or full"},
    {"--fp8-classifier", "forward", "use --fp8-classifier all or none"},
    {"--fp8-fast-accumulation", "", "sums stay in the tensor cores in forward GEMMs only"},
    {"--l2-persist", "weights", "use --l2-persist residual or none"},
    {"--l2-persist", "gradient", "use --l2-persist residual or none"},
    {"--residual", "product", "use --residual gemm"},
    {"--slow-kernel", "", "tests/gpu/compare_runs.py builds a trainer with a slow-down planted"},
};

void refuse_retired(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string_view option = argument.substr(0, equals);
    const std::string_view value = equals != argument.npos ? argument.substr(equals + 1)
                                   : i + 1 < argc          ? std::string_view(argv[i + 1])
                                                           : std::string_view();
    for (const Retired& retired : kRetired) {
      if (option != retired.option || (!retired.value.empty() && value != retired.value)) continue;
      throw InputError(fmt::format("{}{}{} is gone: {}", option, retired.value.empty() ? "" : " ",
                                   retired.value, retired.instead));
    }
  }
}

// "5:9" -> steps 5 to 9.
void parse_profile_steps(const std::string& text, Options& options) {
  int first = 0, last = 0, used = 0;
  const int fields = std::sscanf(text.c_str(), "%d:%d%n", &first, &last, &used);
  if (fields != 2 || used != static_cast<int>(text.size()) || first < 0 || last < first) {
    throw InputError(fmt::format("--profile-steps {}: expected FIRST:LAST with 0 <= FIRST <= LAST", text));
  }
  options.profile_first = first;
  options.profile_last = last;
}

void check_numbers(const Options& o) {
  const auto positive = [](const char* name, double value) {
    // The GPU computes in float: 1e300 would be infinite there.
    if (!(value >= 0) || !std::isfinite(static_cast<float>(value)))
      throw InputError(fmt::format("{} {}: must be 0 or more", name, value));
  };
  positive("--lr", o.schedule.peak);
  positive("--min-lr", o.schedule.floor);
  positive("--weight-decay", o.weight_decay);
  positive("--clip", o.clip);
  positive("--temperature", o.sampling.temperature);
  if (o.schedule.floor > o.schedule.peak) {
    throw InputError(fmt::format("--min-lr {} is above --lr {}", o.schedule.floor, o.schedule.peak));
  }
  if (o.steps > 0 && o.schedule.warmup > o.steps) {
    throw InputError(
        fmt::format("--warmup {} is longer than the run of {} steps", o.schedule.warmup, o.steps));
  }
  if (o.steps > 0 && o.schedule.kind == ScheduleKind::wsd && o.schedule.warmup + o.schedule.decay > o.steps) {
    throw InputError(fmt::format("--warmup {} and --decay-steps {} are longer than the run of {} steps",
                                 o.schedule.warmup, o.schedule.decay, o.steps));
  }
  if (o.profile_last >= o.steps) {
    throw InputError(
        fmt::format("--profile-steps ends at step {}, the run at step {}", o.profile_last, o.steps - 1));
  }
}

// Options that need one another or rule each other out.
void check_together(const CLI::App& app, const Options& o) {
  const auto given = [&](const char* option) { return app.get_option(option)->count() > 0; };
  const auto needs = [&](const char* option, bool met, const char* other) {
    if (given(option) && !met) throw InputError(fmt::format("{} needs {}", option, other));
  };
  const bool files = o.data.front() != "synthetic";
  if (o.data.size() > 1 && std::find(o.data.begin(), o.data.end(), "synthetic") != o.data.end()) {
    throw InputError("--data takes either 'synthetic' or token files, not both");
  }
  if (o.val_every > 0 && o.val_data.empty() && files) {
    throw InputError("--val-every needs --val-data FILE when the training data are files");
  }
  needs("--val-data", o.val_every > 0, "--val-every N");
  needs("--shuffle", files, "--data FILES: the bundled stream has no shards to shuffle");
  needs("--decay-steps", o.schedule.kind == ScheduleKind::wsd, "--schedule wsd");
  needs("--checkpoint-every", !o.checkpoint_dir.empty(), "--checkpoint-dir DIR");
  needs("--keep", !o.checkpoint_dir.empty(), "--checkpoint-dir DIR");
  if (!o.resume.empty() && given("--init")) {
    throw InputError("--resume takes the parameters from the checkpoint: leave --init out");
  }
  const bool samples = o.sample_every > 0 || o.steps == 0;
  for (const char* option :
       {"--sample-tokens", "--sample-prompt", "--sample-text", "--temperature", "--top-k", "--tokenizer"}) {
    needs(option, samples, "--sample-every N, or --steps 0");
  }
  needs("--sample-text", !o.tokenizer.empty(), "--tokenizer FILE: without it give ids to --sample-prompt");
  if (given("--sample-text") && given("--sample-prompt")) {
    throw InputError("--sample-text and --sample-prompt are two ways to say the same: give one");
  }
}

// Options whose text says more than one value; they are read when all are there.
struct Texts {
  std::string profile_steps;
};

void add_model(CLI::App& app, Options& o) {
  app.add_option("--model", o.model,
                 "124M, 355M, 774M, 1558M or tiny; a model file given to --init decides by itself")
      ->capture_default_str()
      ->group("Model");
  app.add_option("--init", o.init, "'random' or a public model file (fp32 or bf16)")
      ->capture_default_str()
      ->group("Model");
  app.add_option("--save", o.save, "Write the final parameters as a public model file")->group("Model");
  app.add_option("--save-type", o.save_type, "fp32 or bf16 [fp32]")
      ->transform(choice<ModelFileType>({{"fp32", ModelFileType::fp32}, {"bf16", ModelFileType::bf16}}))
      ->group("Model");
}

void add_batch(CLI::App& app, Options& o) {
  app.add_option("-B,--batch", o.batch, "Sequences of one micro-batch, of all ranks together")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536))
      ->group("Batch");
  app.add_option("-T,--sequence", o.sequence, "Tokens of a sequence [the model's longest]")
      ->check(CLI::Range(1, 65536))
      ->group("Batch");
  app.add_option("--grad-accum", o.grad_accum, "Micro-batches of one optimizer step: it sees B*T*K tokens")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536))
      ->group("Batch");
}

void add_matmul_search(CLI::App& app, Options& o) {
  app.add_option("--matmul-search", o.matmul_search,
                 "off: cuBLASLt's first choice; full: the one that is fastest here, searched for once (a "
                 "minute) and kept [off]")
      ->transform(choice<MatmulSearch>({{"off", MatmulSearch::off}, {"full", MatmulSearch::full}}))
      ->group("Computation");
  app.add_option("--matmul-cache", o.matmul_cache,
                 "File that keeps what the search found, or 'none' [in the user's cache directory]")
      ->group("Computation");
}

void add_optimizer(CLI::App& app, Options& o) {
  app.add_option("--steps", o.steps, "Optimizer steps of the whole run; 0: only sample")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Optimizer");
  app.add_option("--lr", o.schedule.peak, "Peak learning rate")->capture_default_str()->group("Optimizer");
  app.add_option("--min-lr", o.schedule.floor, "Learning rate of the last step [a tenth of --lr]")
      ->group("Optimizer");
  app.add_option("--warmup", o.schedule.warmup, "Steps of linear warmup")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Optimizer");
  app.add_option("--schedule", o.schedule.kind, "cosine, linear, constant or wsd [cosine]")
      ->transform(choice<ScheduleKind>({{"cosine", ScheduleKind::cosine},
                                        {"linear", ScheduleKind::linear},
                                        {"constant", ScheduleKind::constant},
                                        {"wsd", ScheduleKind::wsd}}))
      ->group("Optimizer");
  app.add_option("--decay-steps", o.schedule.decay, "wsd: the last steps, which fall [a fifth of --steps]")
      ->check(CLI::Range(0, 100000000))
      ->group("Optimizer");
  app.add_option("--weight-decay", o.weight_decay, "AdamW decay of the matrices")
      ->capture_default_str()
      ->group("Optimizer");
  app.add_flag("!--no-decay-embeddings", o.decay_embeddings, "No decay of token and position embedding")
      ->group("Optimizer");
  app.add_option("--clip", o.clip, "Largest global gradient norm; 0: no clipping")
      ->capture_default_str()
      ->group("Optimizer");
  app.add_option("--seed", o.seed, "Of the initialisation and of the bundled stream")
      ->capture_default_str()
      ->group("Optimizer");
}

void add_data(CLI::App& app, Options& o) {
  app.add_option("--data", o.data, "'synthetic', or token files and patterns [synthetic]")->group("Data");
  app.add_flag("--shuffle", o.shuffle, "Another order of shards and sequences every epoch")->group("Data");
  app.add_option("--val-data", o.val_data, "Validation token files [synthetic when --data is]")
      ->group("Data");
  app.add_option("--val-every", o.val_every, "Steps between validations; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Data");
  app.add_option("--val-batches", o.val_batches, "Batches of one validation")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->group("Data");
}

void add_ranks(CLI::App& app, RankOptions& o) {
  app.add_option(
         "--ranks", o.count,
         "Processes to start, each on a GPU of its own and with its share of -B; 0: one process, or as "
         "many as torchrun, srun or mpirun has started")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024))
      ->group("Ranks");
  app.add_option(
         "--zero", o.zero,
         "0: every rank keeps all master weights and moments; 1: each a part of them, which it updates and "
         "hands on; 2: and the gradients of that part alone")
      ->capture_default_str()
      ->check(CLI::Range(0, 2))
      ->group("Ranks");
  app.add_flag("--overlap,!--no-overlap", o.overlap, "Add up gradients beside the backward pass, or after it")
      ->group("Ranks");
  app.add_option("--wire", o.wire, "What gradients travel and are added up as: fp32 or bf16 [fp32]")
      ->transform(choice<WireType>({{"fp32", WireType::fp32}, {"bf16", WireType::bf16}}))
      ->group("Ranks");
  app.add_option("--gather", o.gather,
                 "With --zero: hand on the layers' matrices beside the update of others, or beside the next "
                 "forward pass: update or forward [forward]")
      ->transform(choice<GatherPlace>({{"update", GatherPlace::update}, {"forward", GatherPlace::forward}}))
      ->group("Ranks");
  app.add_option("--bucket-mib", o.bucket_mib, "MiB of FP32 gradients that are added up at a time, at least")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group("Ranks");
  app.add_option("--nccl-ctas", o.ctas, "Most blocks of a collective's kernel; 0: as NCCL chooses")
      ->capture_default_str()
      ->check(CLI::Range(0, 64))
      ->group("Ranks");
  app.add_option("--nccl-library", o.nccl_library, "NCCL's library [libnccl.so.2, as the loader finds it]")
      ->group("Ranks");
  app.add_option("--rank-timeout", o.timeout_s,
                 "Seconds after which a rank that keeps the others waiting ends the run")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 86400.0))
      ->group("Ranks");
}

void add_checkpoints(CLI::App& app, Options& o) {
  app.add_option("--checkpoint-dir", o.checkpoint_dir, "Write checkpoints here, the last at the end")
      ->group("Checkpoints");
  app.add_option("--checkpoint-every", o.checkpoint_every, "Steps between checkpoints; 0: only the last")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Checkpoints");
  app.add_option("--keep", o.keep, "Latest checkpoints to keep")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->group("Checkpoints");
  app.add_option("--resume", o.resume, "Go on from a checkpoint, or from the latest of a directory")
      ->group("Checkpoints");
}

void add_sampling(CLI::App& app, Options& o) {
  app.add_option("--sample-every", o.sample_every, "Steps between samples; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Sampling");
  app.add_option("--sample-tokens", o.sample_tokens, "Tokens of a sample")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->group("Sampling");
  app.add_option("--sample-prompt", o.sample_prompt, "Token ids, as 15496,11 [the end-of-text token]")
      ->group("Sampling");
  app.add_option("--sample-text", o.sample_text, "A prompt as text; split greedily: see the README")
      ->group("Sampling");
  app.add_option("--temperature", o.sampling.temperature, "0: always the likeliest token")
      ->capture_default_str()
      ->group("Sampling");
  app.add_option("--top-k", o.sampling.top_k, "Draw from the K likeliest tokens; 0: from all")
      ->capture_default_str()
      ->check(CLI::Range(0, 65536))
      ->group("Sampling");
  app.add_option("--tokenizer", o.tokenizer, "Public tokenizer file: samples are printed as text")
      ->group("Sampling");
}

void add_output(CLI::App& app, Options& o, Texts& texts) {
  app.add_option("--log", o.log, "Append one JSON object a step to this file")->group("Output");
  app.add_flag("--json", o.json, "Print one JSON line with the summary at the end")->group("Output");
  app.add_flag("--matmul-report", o.matmul_report, "Print the algorithm chosen for each GEMM")
      ->group("Output");
  app.add_option("--profile-steps", texts.profile_steps,
                 "FIRST:LAST: cudaProfilerStart before step FIRST, Stop after step LAST")
      ->group("Output");
}

}  // namespace

int parse_options(int argc, char** argv, Options& o) {
  refuse_retired(argc, argv);
  CLI::App app(
      "Trains a GPT-2 on one GPU or several. Without data of your own it trains on a\nbundled token stream. "
      "The "
      "default of an option is in brackets.",
      "gpt2_train");
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "Print this and exit");

  // Help lists groups and options in this order.
  Texts texts;
  add_model(app, o);
  add_batch(app, o);
  SwitchOptions switches(app, argc, argv, o.switches);
  add_matmul_search(app, o);
  add_optimizer(app, o);
  add_ranks(app, o.ranks);
  add_data(app, o);
  add_checkpoints(app, o);
  add_sampling(app, o);
  add_output(app, o, texts);

  try {
    app.parse(argc, argv);
    switches.settle();
    if (app.get_option("--min-lr")->empty()) o.schedule.floor = o.schedule.peak / 10;
    if (o.schedule.kind == ScheduleKind::constant) o.schedule.floor = o.schedule.peak;
    if (!texts.profile_steps.empty()) parse_profile_steps(texts.profile_steps, o);
    o.model_given = app.get_option("--model")->count() > 0;
    if (app.get_option("--decay-steps")->empty()) o.schedule.decay = o.steps / 5;
    check_numbers(o);
    check_together(app, o);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "gpt2_train: {} (see --help)\n", error.what());
    return 2;
  }
  o.schedule.total = o.steps;
  return -1;
}

}  // namespace ridgeline::gpt2
