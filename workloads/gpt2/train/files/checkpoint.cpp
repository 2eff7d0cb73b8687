#include "gpt2/train/files/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "gpt2/common/durable_file.h"
#include "gpt2/common/errors.h"
#include "gpt2/model/fp8_scaling.h"
#include "gpt2/model/model_file.h"
#include "gpt2/model/parameters.h"
#include "gpt2/train/data/random.h"

namespace ridgeline::gpt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic =
    std::bit_cast<std::uint64_t>(std::array<char, 8>{'R', 'I', 'D', 'G', 'E', 'G', 'P', 'T'});
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kFp8Version = 2;  // of runs in FP8, whose scales changed their places
constexpr std::size_t kHeaderWords = 128;
constexpr std::int64_t kHeaderBytes = kHeaderWords * 8;
constexpr std::size_t kHeaderHash = 25;
constexpr std::int64_t kChunkBytes = std::int64_t{64} << 20;
constexpr std::int64_t kLargestPosition = 1 << 20;
constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kPartial = ".partial";
constexpr const char* kWhat = "checkpoint";

// Of state.bin, after the data position.
constexpr StatePart kBodyParts[] = {StatePart::moment1, StatePart::moment2, StatePart::narrow,
                                    StatePart::scaling};

using Words = std::array<std::uint64_t, kHeaderWords>;

struct StateHeader {
  CheckpointHeader header;
  std::int64_t position_bytes = 0;
  std::int64_t moment_bytes = 0;
  std::int64_t narrow_bytes = 0;
  std::uint64_t model_hash = 0;
  std::uint64_t body_hash = 0;
};

std::int64_t padded(std::int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

std::int64_t scaling_bytes(const RunIdentity& run) {
  return run.precision == 3 ? fp8_scaling_bytes(run.config) : 0;
}

std::uint64_t version_of(std::uint64_t precision) {
  return precision == 3 ? kFp8Version : kVersion;
}

Words to_words(const StateHeader& s) {
  const RunIdentity& run = s.header.run;
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  Words words{kMagic,
              version_of(word(run.precision)),
              word(run.config.max_t),
              word(run.config.vocab),
              word(run.config.layers),
              word(run.config.heads),
              word(run.config.channels),
              word(run.config.padded_vocab),
              word(run.precision),
              word(s.header.steps_done),
              word(run.batch),
              word(run.sequence),
              word(run.grad_accum),
              run.seed,
              word(run.stochastic_rounding),
              word(!run.data.synthetic),
              word(run.data.shuffled),
              word(run.data.shards),
              word(run.data.tokens),
              run.data.hash,
              word(s.position_bytes),
              word(s.moment_bytes),
              word(s.narrow_bytes),
              s.model_hash,
              s.body_hash};
  words[kHeaderHash] = hash_bytes(words.data(), kHeaderHash * 8);
  return words;
}

StateHeader from_words(const Words& w, const std::string& path) {
  if (w[0] != kMagic) throw InputError(fmt::format("{} {}: this is no state file", kWhat, path));
  if (w[1] != version_of(w[8])) {
    throw InputError(
        fmt::format("{} {}: version {}, this program reads version {}", kWhat, path, w[1], version_of(w[8])));
  }
  if (w[kHeaderHash] != hash_bytes(w.data(), kHeaderHash * 8)) {
    throw InputError(
        fmt::format("{} {}: its header is damaged: resume from an earlier checkpoint", kWhat, path));
  }
  const auto number = [&](std::size_t i) { return static_cast<int>(w[i]); };
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(w[i]); };
  StateHeader s;
  s.header.run.config = {.max_t = number(2),
                         .vocab = number(3),
                         .padded_vocab = number(7),
                         .layers = number(4),
                         .heads = number(5),
                         .channels = number(6)};
  s.header.run.precision = number(8);
  s.header.steps_done = count(9);
  s.header.run.batch = number(10);
  s.header.run.sequence = number(11);
  s.header.run.grad_accum = number(12);
  s.header.run.seed = w[13];
  s.header.run.stochastic_rounding = w[14] != 0;
  s.header.run.data = {.synthetic = w[15] == 0,
                       .shuffled = w[16] != 0,
                       .shards = count(17),
                       .tokens = count(18),
                       .hash = w[19]};
  s.position_bytes = count(20);
  s.moment_bytes = count(21);
  s.narrow_bytes = count(22);
  s.model_hash = w[23];
  s.body_hash = w[24];
  return s;
}

// Calls take(bytes) with a part, chunk by chunk. All ranks do, in the same order.
template <class Take>
void download_part(const TrainingState& state, StatePart part, const Take& take) {
  const std::int64_t total = state.state_bytes(part);
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(total, kChunkBytes)));
  for (std::int64_t begin = 0; begin < total; begin += kChunkBytes) {
    const auto piece = std::span(chunk).first(static_cast<std::size_t>(std::min(total - begin, kChunkBytes)));
    state.download_state(part, begin, piece);
    take(piece);
  }
}

// Copies a part to a file; returns the hash continued over its bytes.
std::uint64_t write_part(DurableFile& file, const TrainingState& state, StatePart part, std::uint64_t hash) {
  const std::int64_t total = state.state_bytes(part);
  download_part(state, part, [&](std::span<const std::byte> piece) {
    file.write(piece.data(), static_cast<std::int64_t>(piece.size()));
    hash = hash_bytes(piece.data(), piece.size(), hash);
  });
  const std::array<std::byte, 8> zeros{};
  file.write(zeros.data(), padded(total) - total);
  return hash;
}

std::uint64_t read_part(std::ifstream& in, const std::string& path, TrainingState& state, StatePart part,
                        std::uint64_t hash) {
  const std::int64_t total = state.state_bytes(part);
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(total, kChunkBytes)));
  for (std::int64_t begin = 0; begin < total; begin += kChunkBytes) {
    const auto piece = std::span(chunk).first(static_cast<std::size_t>(std::min(total - begin, kChunkBytes)));
    if (!in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()))) {
      throw InputError(fmt::format("{} {}: reading failed before its end", kWhat, path));
    }
    hash = hash_bytes(piece.data(), piece.size(), hash);
    state.upload_state(part, begin, piece);
  }
  in.ignore(padded(total) - total);
  return hash;
}

std::string model_path(const std::string& checkpoint) {
  return (fs::path(checkpoint) / "model.bin").string();
}
std::string state_path(const std::string& checkpoint) {
  return (fs::path(checkpoint) / "state.bin").string();
}

std::ifstream open_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(fmt::format("{} {}: {}", kWhat, path, std::strerror(errno)));
  return in;
}

StateHeader read_state_header(std::ifstream& in, const std::string& path) {
  Words words{};
  if (!in.read(reinterpret_cast<char*>(words.data()), kHeaderBytes)) {
    throw InputError(fmt::format("{} {}: shorter than its {}-byte header", kWhat, path, kHeaderBytes));
  }
  return from_words(words, path);
}

// The step in the name of a directory "step_N"; nothing for another name.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, failed] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (failed != std::errc() || stop != end || step < 0) return std::nullopt;
  return step;
}

// Oldest first.
std::vector<std::pair<std::int64_t, fs::path>> checkpoints_in(const std::string& directory) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && fs::exists(entry.path() / "state.bin", failed)) found.emplace_back(*step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

[[noreturn]] void fail(const fs::path& path, const std::error_code& reason) {
  throw InputError(fmt::format("{} {}: {}", kWhat, path.string(), reason.message()));
}

}  // namespace

void prepare_checkpoint_directory(const std::string& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) fail(directory, failed);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kPartial)) continue;
    if (!step_of(name.substr(0, name.size() - kPartial.size()))) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
  if (failed) fail(directory, failed);
  // Destroyed unclosed, the file is gone again.
  const DurableFile probe(kWhat, (fs::path(directory) / ".writable").string());
}

void write_checkpoint(const std::string& directory, int keep, const CheckpointHeader& header,
                      std::span<const std::byte> data_position, const TrainingState& state) {
  const fs::path target = fs::path(directory) / fmt::format("{}{:08}", kPrefix, header.steps_done);
  const fs::path partial = target.string() + std::string(kPartial);
  std::error_code failed;
  fs::remove_all(partial, failed);
  if (!fs::create_directories(partial, failed) && failed) fail(partial, failed);

  StateHeader s{.header = header,
                .position_bytes = static_cast<std::int64_t>(data_position.size()),
                .moment_bytes = state.state_bytes(StatePart::moment1),
                .narrow_bytes = state.state_bytes(StatePart::narrow)};
  {
    DurableFile model(kWhat, model_path(partial.string()));
    const ModelFileHeader words = model_file_header(header.run.config, ModelFileType::fp32);
    model.write(words.data(), kModelFileHeaderBytes);
    s.model_hash = write_part(model, state, StatePart::master, 0);
    model.close();
  }
  {
    DurableFile file(kWhat, state_path(partial.string()));
    const Words nothing{};
    file.write(nothing.data(), kHeaderBytes);
    std::vector<std::byte> position(data_position.begin(), data_position.end());
    position.resize(static_cast<std::size_t>(padded(s.position_bytes)));
    file.write(position.data(), static_cast<std::int64_t>(position.size()));
    s.body_hash = hash_bytes(position.data(), position.size());
    for (const StatePart part : kBodyParts) {
      s.body_hash = write_part(file, state, part, s.body_hash);
    }
    const Words words = to_words(s);
    file.rewrite(0, words.data(), kHeaderBytes);
    file.close();
  }
  sync_directory(kWhat, partial.string());
  // An earlier run of these steps may have left one of that name, and a plain rename replaces no directory.
  const bool exchanged =
      ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0;
  if (!exchanged) {  // there was none, or the file system cannot
    fs::remove_all(target, failed);
    if (failed) fail(target, failed);
    durable_rename(kWhat, partial.string(), target.string());
  } else {
    sync_directory(kWhat, directory);
    fs::remove_all(partial, failed);
    if (failed) fail(partial, failed);
  }

  auto found = checkpoints_in(directory);
  // The run may have started again before later checkpoints of an earlier run: the one just written stays.
  std::erase_if(found, [&](const auto& each) { return each.first == header.steps_done; });
  const std::size_t others = static_cast<std::size_t>(keep) - 1;
  for (std::size_t i = 0; i + others < found.size(); ++i) {
    fs::remove_all(found[i].second, failed);
    if (failed) fail(found[i].second, failed);
  }
}

void follow_checkpoint(const TrainingState& state) {
  const auto follow = [&](StatePart part) {
    if (state.is_shared_out(part)) download_part(state, part, [](std::span<const std::byte>) {});
  };
  follow(StatePart::master);
  for (const StatePart part : kBodyParts) follow(part);
}

std::string find_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    const fs::path parent = fs::path(path).parent_path();
    return find_checkpoint(parent.empty() ? "." : parent.string());
  }
  if (!fs::is_directory(path, ignored)) {
    throw InputError(fmt::format("{} {}: no such file or directory", kWhat, path));
  }
  if (fs::exists(state_path(path), ignored)) return path;
  const auto found = checkpoints_in(path);
  if (found.empty()) {
    throw InputError(
        fmt::format("{} {}: neither a checkpoint nor a directory with any (step_N/state.bin)", kWhat, path));
  }
  return found.back().second.string();
}

CheckpointHeader read_checkpoint_header(const std::string& checkpoint) {
  const std::string path = state_path(checkpoint);
  std::ifstream in = open_file(path);
  const StateHeader s = read_state_header(in, path);
  const ModelFile model = read_model_header(model_path(checkpoint));
  if (model.type != ModelFileType::fp32 || model.config != s.header.run.config) {
    throw InputError(
        fmt::format("{} {}: model.bin and state.bin are of different models", kWhat, checkpoint));
  }
  const std::int64_t n = ParameterLayout(model.config).total();
  if (s.header.steps_done < 0 || s.position_bytes < 0 || s.position_bytes > kLargestPosition ||
      s.moment_bytes != 4 * n ||
      s.narrow_bytes != (s.header.run.precision == 0 || s.header.run.precision == 3 ? 2 * n : 0)) {
    throw InputError(fmt::format("{} {}: its header contradicts itself", kWhat, path));
  }
  const std::int64_t want = kHeaderBytes + padded(s.position_bytes) + 2 * padded(s.moment_bytes) +
                            padded(s.narrow_bytes) + padded(scaling_bytes(s.header.run));
  const auto have = static_cast<std::int64_t>(fs::file_size(path));
  if (have != want) {
    throw InputError(fmt::format("{} {}: {} bytes, its header needs {}", kWhat, path, have, want));
  }
  return s.header;
}

void require_same_run(const std::string& checkpoint, const RunIdentity& written, const RunIdentity& now) {
  const auto differ = [&](const std::string& then, const std::string& today) {
    throw InputError(
        fmt::format("{} {}: written with {}, this run has {}: resume with the same, or start a new run from "
                    "its model.bin with --init",
                    kWhat, checkpoint, then, today));
  };
  const auto same = [&](const char* option, auto then, auto today) {
    if (then != today) differ(fmt::format("{} {}", option, then), fmt::format("{}", today));
  };
  const auto same_switch = [&](const char* option, bool then, bool today) {
    if (then != today) differ(then ? option : fmt::format("no {}", option), today ? "it" : "not");
  };
  const auto model = [](const ModelConfig& c) {
    return fmt::format("a model of L={} NH={} C={} T={} V={} (padded {})", c.layers, c.heads, c.channels,
                       c.max_t, c.vocab, c.padded_vocab);
  };
  const auto precision = [](int code) {
    return std::string(code == 0 ? "bf16" : code == 1 ? "tf32" : code == 2 ? "fp32" : "fp8");
  };
  const auto vocabulary = [](const ModelConfig& c) {
    return std::string(c.padded_vocab == c.vocab ? "plain" : "padded");
  };
  ModelConfig same_rows = now.config;
  same_rows.padded_vocab = written.config.padded_vocab;
  if (written.config == same_rows) same("--vocabulary", vocabulary(written.config), vocabulary(now.config));
  if (!(written.config == now.config)) differ(model(written.config), model(now.config));
  same("--precision", precision(written.precision), precision(now.precision));
  same("-B", written.batch, now.batch);
  same("-T", written.sequence, now.sequence);
  same("--grad-accum", written.grad_accum, now.grad_accum);
  same("--seed", written.seed, now.seed);
  same_switch("--stochastic-rounding", written.stochastic_rounding, now.stochastic_rounding);
  const auto kind = [](const DataIdentity& data) {
    return std::string(data.synthetic ? "synthetic" : "token files");
  };
  same("--data", kind(written.data), kind(now.data));
  same_switch("--shuffle", written.data.shuffled, now.data.shuffled);
  const auto shards = [](const DataIdentity& data) {
    return fmt::format("{} token files of {} tokens", data.shards, data.tokens);
  };
  if (written.data.shards != now.data.shards || written.data.tokens != now.data.tokens) {
    differ(shards(written.data), shards(now.data));
  }
  if (written.data.hash != now.data.hash) {
    differ("token files of the same size", "others, or the same in another order");
  }
}

std::vector<std::byte> load_checkpoint(const std::string& checkpoint, TrainingState& state) {
  (void)read_checkpoint_header(checkpoint);
  const std::string path = state_path(checkpoint);
  std::ifstream in = open_file(path);
  const StateHeader s = read_state_header(in, path);
  const auto damaged = [](const std::string& file) {
    return InputError(
        fmt::format("{} {}: its contents are damaged: resume from an earlier checkpoint", kWhat, file));
  };
  if (state.state_bytes(StatePart::moment1) != s.moment_bytes ||
      state.state_bytes(StatePart::narrow) != s.narrow_bytes ||
      state.state_bytes(StatePart::scaling) != scaling_bytes(s.header.run)) {
    throw std::invalid_argument("load_checkpoint: the state has other sizes");
  }
  std::vector<std::byte> position(static_cast<std::size_t>(padded(s.position_bytes)));
  if (!in.read(reinterpret_cast<char*>(position.data()), static_cast<std::streamsize>(position.size()))) {
    throw damaged(path);
  }
  std::uint64_t hash = hash_bytes(position.data(), position.size());
  for (const StatePart part : kBodyParts) {
    hash = read_part(in, path, state, part, hash);
  }
  if (hash != s.body_hash) throw damaged(path);
  std::ifstream model = open_file(model_path(checkpoint));
  model.ignore(kModelFileHeaderBytes);
  if (read_part(model, model_path(checkpoint), state, StatePart::master, 0) != s.model_hash) {
    throw damaged(model_path(checkpoint));
  }
  position.resize(static_cast<std::size_t>(s.position_bytes));
  return position;
}

}  // namespace ridgeline::gpt2
