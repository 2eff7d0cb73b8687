#include "perfetto/trace_packets.h"

#include <algorithm>

#include "perfetto/proto_fields.h"

namespace ridgeline::import {

namespace {

// Clocks above are a sequence's own and count from what it said last.
constexpr std::uint64_t kFirstSequenceClock = 64;
constexpr std::uint64_t kBootTime = 6, kRealTime = 1;
constexpr std::uint64_t kStateCleared = 1;
constexpr std::uint64_t kComputeCategory = 2;
constexpr std::uint64_t kLatest = std::uint64_t{1} << 61U;

std::string_view name_in(const std::unordered_map<std::uint64_t, std::string>& names, std::uint64_t id) {
  const auto found = names.find(id);
  return found == names.end() ? std::string_view() : std::string_view(found->second);
}

// A message {iid, name}, of kernels {iid, mangled name, name}: the last counts that is there.
bool read_name(std::string_view message, std::unordered_map<std::uint64_t, std::string>& names,
               std::uint32_t last_field = 2) {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint32_t from = 0;
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.field() == 1) {
      id = fields.number();
    } else if (fields.field() <= last_field && fields.field() >= from && !fields.bytes().empty()) {
      name = fields.bytes();
      from = fields.field();
    }
  }
  if (!fields.malformed()) names.insert_or_assign(id, std::string(name));
  return !fields.malformed();
}

std::optional<store::Dim3> dimensions_in(std::string_view message) {
  store::Dim3 dim{1, 1, 1};
  ProtoFields fields(message);
  while (fields.next()) {
    const auto value = static_cast<std::int64_t>(std::min<std::uint64_t>(fields.number(), INT32_MAX));
    if (fields.field() == 1) dim.x = value;
    if (fields.field() == 2) dim.y = value;
    if (fields.field() == 3) dim.z = value;
  }
  return fields.malformed() ? std::nullopt : std::optional(dim);
}

// A debug annotation: its name, and its value as far as it is needed.
struct Annotation {
  std::string_view name, text;
  std::optional<std::int64_t> number;
  std::vector<std::string_view> list;
};

bool read_annotation(std::string_view message, const std::unordered_map<std::uint64_t, std::string>& names,
                     const std::unordered_map<std::uint64_t, std::string>& texts, Annotation& out) {
  ProtoFields fields(message);
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        out.name = name_in(names, fields.number());
        break;
      case 10:
        out.name = fields.bytes();
        break;
      case 2:  // bool, unsigned, signed
      case 3:
      case 4:
        out.number = fields.whole();
        break;
      case 6:
        out.text = fields.bytes();
        break;
      case 17:
        out.text = name_in(texts, fields.number());
        break;
      case 12:
        out.list.push_back(fields.bytes());
        break;
      default:
        break;
    }
  }
  return !fields.malformed();
}

// Sizes of a tensor; nothing of a list of tensors.
std::optional<std::vector<std::int64_t>> sizes_in(const Annotation& argument) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view each : argument.list) {
    Annotation size;
    if (!read_annotation(each, {}, {}, size) || !size.number || *size.number < 0) return std::nullopt;
    sizes.push_back(*size.number);
  }
  return sizes;
}

// `interned`: texts that the sequence has said once and now names by their number.
std::vector<std::string> texts_in(const Annotation& list,
                                  const std::unordered_map<std::uint64_t, std::string>& interned) {
  std::vector<std::string> texts;
  for (const std::string_view each : list.list) {
    Annotation text;
    if (!read_annotation(each, {}, interned, text)) return {};
    texts.emplace_back(text.text);
  }
  return texts;
}

}  // namespace

bool TracePackets::take(std::string_view packet) {
  Envelope envelope;
  ProtoFields fields(packet);
  while (fields.next()) {
    switch (fields.field()) {
      case 6:
        envelope.clocks = fields.bytes();
        break;
      case 8:
        if (fields.number() < kLatest) envelope.time_ns = fields.whole();
        break;
      case 10:
        envelope.sequence = fields.number();
        break;
      case 11:
        envelope.event = fields.bytes();
        break;
      case 12:
        envelope.interned = fields.bytes();
        break;
      case 13:
        envelope.flags = fields.number();
        break;
      case 50:
        handlers_.left_out("compressed packets");
        break;
      case 52:
        handlers_.left_out("GPU counters");
        break;
      case 53:
        envelope.stage = fields.bytes();
        break;
      case 58:
        envelope.clock = fields.number();
        break;
      case 60:
        envelope.track = fields.bytes();
        break;
      default:
        break;
    }
  }
  if (fields.malformed()) return false;
  Sequence& sequence = sequences_[envelope.sequence];
  if ((envelope.flags & kStateCleared) != 0) sequence = {};
  if (!envelope.interned.empty() && !intern(envelope.interned, sequence)) return false;
  if (!envelope.track.empty() && !take_track(envelope.track)) return false;
  if (!envelope.clocks.empty() && !take_clocks(envelope.clocks)) return false;
  if (envelope.event.empty() && envelope.stage.empty()) return true;
  if (!envelope.time_ns) return false;
  if (envelope.clock >= kFirstSequenceClock) {
    handlers_.left_out("events with a clock of their own");
    return true;
  }
  if (!envelope.event.empty()) return take_event(envelope.event, envelope, sequence);
  return take_stage(envelope.stage, envelope, sequence);
}

bool TracePackets::intern(std::string_view message, Sequence& sequence) const {
  ProtoFields fields(message);
  bool whole = true;
  while (whole && fields.next()) {
    const std::string_view one = fields.bytes();
    switch (fields.field()) {
      case 1:
        whole = read_name(one, sequence.categories);
        break;
      case 2:
        whole = read_name(one, sequence.events);
        break;
      case 3:
        whole = read_name(one, sequence.annotations);
        break;
      case 29:
        whole = read_name(one, sequence.texts);
        break;
      case 1000:
        whole = read_name(one, sequence.kernels, 3);
        break;
      case 1001:
        whole = read_name(one, sequence.arguments);
        break;
      case 23: {
        std::uint64_t id = 0;
        std::int64_t pid = 0;
        ProtoFields context(one);
        while (context.next()) {
          if (context.field() == 1) id = context.number();
          if (context.field() == 2) pid = context.whole();
        }
        whole = !context.malformed();
        sequence.contexts[id] = pid;
        break;
      }
      case 24: {
        std::uint64_t id = 0;
        Specification specification;
        ProtoFields each(one);
        while (each.next()) {
          if (each.field() == 1) id = each.number();
          if (each.field() == 2) specification.name = std::string(each.bytes());
          if (each.field() == 4) specification.compute = each.number() == kComputeCategory;
        }
        whole = !each.malformed();
        sequence.specifications[id] = std::move(specification);
        break;
      }
      default:
        break;
    }
  }
  return whole && !fields.malformed();
}

bool TracePackets::take_track(std::string_view message) const {
  PerfettoTrack track;
  ProtoFields fields(message);
  bool whole = true;
  while (fields.next()) {
    if (fields.field() == 1) track.uuid = fields.number();
    if (fields.field() == 2) track.name = std::string(fields.bytes());
    if (fields.field() == 5) track.parent = fields.number();
    if (fields.field() == 3) {
      ProtoFields process(fields.bytes());
      while (process.next()) {
        if (process.field() == 1) track.pid = process.whole();
        if (process.field() == 6) track.process_name = std::string(process.bytes());
      }
      whole = whole && !process.malformed();
    }
    if (fields.field() == 4) {
      ProtoFields thread(fields.bytes());
      while (thread.next()) {
        if (thread.field() == 1) track.pid = thread.whole();
        if (thread.field() == 2) track.tid = thread.whole();
        if (thread.field() == 5) track.thread_name = std::string(thread.bytes());
      }
      whole = whole && !thread.malformed();
    }
  }
  if (!whole || fields.malformed()) return false;
  handlers_.track(track);
  return true;
}

// Of the first that says it: from the clock that events are on by default to UTC.
bool TracePackets::take_clocks(std::string_view message) {
  std::optional<std::int64_t> boot, real;
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.field() != 1) continue;
    std::uint64_t id = 0;
    std::optional<std::int64_t> time;
    ProtoFields clock(fields.bytes());
    while (clock.next()) {
      if (clock.field() == 1) id = clock.number();
      if (clock.field() == 2 && clock.number() < kLatest) time = clock.whole();
    }
    if (clock.malformed()) return false;
    if (id == kBootTime) boot = time;
    if (id == kRealTime) real = time;
  }
  if (fields.malformed()) return false;
  if (boot && real && !has_utc_) {
    has_utc_ = true;
    handlers_.utc(*real - *boot);
  }
  return true;
}

bool TracePackets::take_annotations(const std::vector<std::string_view>& messages, const Sequence& sequence,
                                    PerfettoSlice& slice) const {
  const bool shapes = declares_work(slice.name);
  OpArguments arguments;
  for (const std::string_view message : messages) {
    Annotation annotation;
    if (!read_annotation(message, sequence.annotations, sequence.texts, annotation)) return false;
    if (annotation.name == "correlation") slice.correlation = annotation.number;
    if (!shapes) continue;
    if (annotation.name == "Input Dims") {
      for (const std::string_view each : annotation.list) {
        Annotation argument;
        if (!read_annotation(each, {}, {}, argument)) return false;
        arguments.sizes.push_back(sizes_in(argument));
      }
    } else if (annotation.name == "Input type") {
      arguments.types = texts_in(annotation, sequence.texts);
    } else if (annotation.name == "Concrete Inputs") {
      arguments.values = texts_in(annotation, sequence.texts);
    }
  }
  if (!arguments.sizes.empty()) slice.arguments = std::move(arguments);
  return true;
}

bool TracePackets::take_event(std::string_view message, const Envelope& envelope,
                              const Sequence& sequence) const {
  constexpr std::uint64_t kBegin = 1, kEnd = 2;
  PerfettoSlice slice{.time_ns = *envelope.time_ns};
  std::uint64_t type = 0;
  std::vector<std::string_view> annotations;
  ProtoFields fields(message);
  while (fields.next()) {
    switch (fields.field()) {
      case 3:
        slice.category = name_in(sequence.categories, fields.number());
        break;
      case 4:
        annotations.push_back(fields.bytes());
        break;
      case 9:
        type = fields.number();
        break;
      case 10:
        slice.name = name_in(sequence.events, fields.number());
        break;
      case 11:
        slice.track = fields.number();
        break;
      case 22:
        slice.category = fields.bytes();
        break;
      case 23:
        slice.name = fields.bytes();
        break;
      case 3000: {
        ProtoFields stages(fields.bytes());
        while (stages.next())
          if (stages.field() == 1) slice.launched.push_back(stages.number());
        if (stages.malformed()) return false;
        break;
      }
      default:
        break;
    }
  }
  if (fields.malformed()) return false;
  if (type == kEnd) {
    handlers_.end(slice.track, slice.time_ns);
    return true;
  }
  if (type != kBegin) {
    handlers_.left_out("instants and counters of tracks");
    return true;
  }
  if (slice.track == 0) {
    handlers_.left_out("slices without a track");
    return true;
  }
  if (!take_annotations(annotations, sequence, slice)) return false;
  handlers_.begin(slice);
  return true;
}

namespace {

// Arguments of a launch, by name, as text.
bool read_launch(std::string_view message, const std::unordered_map<std::uint64_t, std::string>& names,
                 PerfettoStage& stage) {
  ProtoFields fields(message);
  while (fields.next()) {
    if (fields.field() == 1) stage.grid = dimensions_in(fields.bytes());
    if (fields.field() == 2) stage.block = dimensions_in(fields.bytes());
    if (fields.field() != 3) continue;
    std::string_view name, text;
    std::optional<std::int64_t> number;
    ProtoFields argument(fields.bytes());
    while (argument.next()) {
      if (argument.field() == 1) name = name_in(names, argument.number());
      if (argument.field() == 2) name = argument.bytes();
      if (argument.field() == 3 || argument.field() == 4) number = argument.whole();
      if (argument.field() == 6) text = argument.bytes();
    }
    if (argument.malformed()) return false;
    if (!name.empty() && (number || !text.empty()))
      stage.extra.insert_or_assign(std::string(name), number ? std::to_string(*number) : std::string(text));
  }
  return !fields.malformed();
}

}  // namespace

bool TracePackets::take_stage(std::string_view message, const Envelope& envelope,
                              const Sequence& sequence) const {
  PerfettoStage stage{.time_ns = *envelope.time_ns};
  std::string_view kernel;
  ProtoFields fields(message);
  while (fields.next()) {
    switch (fields.field()) {
      case 1:
        stage.event_id = fields.number();
        break;
      case 2:
        if (fields.number() >= kLatest) return false;
        stage.duration_ns = fields.whole();
        break;
      case 5:
        if (const auto context = sequence.contexts.find(fields.number()); context != sequence.contexts.end())
          stage.pid = context->second;
        break;
      case 6: {
        std::string_view name, value;
        ProtoFields extra(fields.bytes());
        while (extra.next()) {
          if (extra.field() == 1) name = extra.bytes();
          if (extra.field() == 2) value = extra.bytes();
        }
        if (extra.malformed()) return false;
        stage.extra.insert_or_assign(std::string(name), std::string(value));
        break;
      }
      case 11:
        stage.device = fields.whole();
        break;
      case 13:
        if (const auto queue = sequence.specifications.find(fields.number());
            queue != sequence.specifications.end())
          stage.extra.try_emplace("hardware queue", queue->second.name);
        break;
      case 14:
        if (const auto of = sequence.specifications.find(fields.number());
            of != sequence.specifications.end()) {
          stage.stage = of->second.name;
          stage.is_kernel = stage.is_kernel || of->second.compute;
        }
        break;
      case 17:
        stage.name = fields.bytes();
        break;
      case 19:
        kernel = name_in(sequence.kernels, fields.number());
        stage.is_kernel = true;
        break;
      case 20:
        stage.name = name_in(sequence.events, fields.number());
        break;
      case 21:
        stage.is_kernel = true;
        if (!read_launch(fields.bytes(), sequence.arguments, stage)) return false;
        break;
      default:
        break;
    }
  }
  if (fields.malformed()) return false;
  if (!kernel.empty()) stage.name = kernel;
  handlers_.stage(stage);
  return true;
}

}  // namespace ridgeline::import
