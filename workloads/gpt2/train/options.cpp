#include "gpt2/train/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>

#include "gpt2/model/errors.h"
#include "gpt2/train/switch_options.h"

namespace ridgeline::gpt2 {
namespace {

template <typename Enum>
CLI::Validator choice(std::map<std::string, Enum> names) {
  return CLI::CheckedTransformer(std::move(names), CLI::ignore_case).description("");
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

void check(const Options& o) {
  const auto positive = [](const char* name, double value) {
    if (!(value >= 0) || !std::isfinite(value))
      throw InputError(fmt::format("{} {}: must be 0 or more", name, value));
  };
  positive("--lr", o.schedule.peak);
  positive("--min-lr", o.schedule.floor);
  positive("--weight-decay", o.weight_decay);
  positive("--clip", o.clip);
  if (o.schedule.floor > o.schedule.peak) {
    throw InputError(fmt::format("--min-lr {} is above --lr {}", o.schedule.floor, o.schedule.peak));
  }
  if (o.schedule.warmup > o.steps) {
    throw InputError(
        fmt::format("--warmup {} is longer than the run of {} steps", o.schedule.warmup, o.steps));
  }
  if (o.val_every > 0 && o.val_data.empty() && o.data.front() != "synthetic") {
    throw InputError("--val-every needs --val-data FILE when the training data are files");
  }
  if (o.data.size() > 1) {
    for (const std::string& path : o.data) {
      if (path == "synthetic") throw InputError("--data takes either 'synthetic' or token files, not both");
    }
  }
  if (o.profile_last >= o.steps) {
    throw InputError(
        fmt::format("--profile-steps ends at step {}, the run at step {}", o.profile_last, o.steps - 1));
  }
}

}  // namespace

int parse_options(int argc, char** argv, Options& o) {
  CLI::App app("Trains a GPT-2 on one GPU. Without data of your own it trains on a bundled token stream.",
               "gpt2_train");
  app.get_formatter()->column_width(34);
  app.set_help_flag("-h,--help", "Print this and exit");

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

  app.add_option("-B,--batch", o.batch, "Sequences of one micro-batch")
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

  SwitchOptions switches(app, argc, argv, o.switches);
  app.add_option("--matmul-search", o.matmul_search,
                 "off, fast or full: how the algorithm of each product is found [fast]")
      ->transform(choice<MatmulSearch>(
          {{"off", MatmulSearch::off}, {"fast", MatmulSearch::fast}, {"full", MatmulSearch::full}}))
      ->group("Computation");
  app.add_option("--matmul-cache", o.matmul_cache,
                 "File that keeps what the search found, or 'none' [in the user's cache directory]")
      ->group("Computation");

  app.add_option("--steps", o.steps, "Optimizer steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000))
      ->group("Optimizer");
  app.add_option("--lr", o.schedule.peak, "Peak learning rate")->capture_default_str()->group("Optimizer");
  CLI::Option* min_lr =
      app.add_option("--min-lr", o.schedule.floor, "Learning rate of the last step [a tenth of --lr]")
          ->group("Optimizer");
  app.add_option("--warmup", o.schedule.warmup, "Steps of linear warmup")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000000))
      ->group("Optimizer");
  app.add_option("--schedule", o.schedule.kind, "cosine, linear or constant [cosine]")
      ->transform(choice<ScheduleKind>({{"cosine", ScheduleKind::cosine},
                                        {"linear", ScheduleKind::linear},
                                        {"constant", ScheduleKind::constant}}))
      ->group("Optimizer");
  app.add_option("--weight-decay", o.weight_decay, "AdamW decay of the matrices")
      ->capture_default_str()
      ->group("Optimizer");
  app.add_option("--clip", o.clip, "Largest global gradient norm; 0: no clipping")
      ->capture_default_str()
      ->group("Optimizer");
  app.add_option("--seed", o.seed, "Of the initialisation and of the bundled stream")
      ->capture_default_str()
      ->group("Optimizer");

  app.add_option("--data", o.data, "'synthetic' or token files, in reading order [synthetic]")->group("Data");
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

  app.add_option("--log", o.log, "Append one JSON object a step to this file")->group("Output");
  app.add_flag("--json", o.json, "Print one JSON line with the summary at the end")->group("Output");
  app.add_flag("--matmul-report", o.matmul_report, "Print the algorithm chosen for each product")
      ->group("Output");
  std::string profile_steps;
  app.add_option("--profile-steps", profile_steps,
                 "FIRST:LAST: cudaProfilerStart before step FIRST, Stop after step LAST")
      ->group("Output");

  try {
    app.parse(argc, argv);
    switches.settle();
    if (min_lr->empty()) o.schedule.floor = o.schedule.peak / 10;
    if (o.schedule.kind == ScheduleKind::constant) o.schedule.floor = o.schedule.peak;
    if (!profile_steps.empty()) parse_profile_steps(profile_steps, o);
    check(o);
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
