// program_model.h: what a recorder would have written down of a program whose behaviour is known: steps of
// program_reference.h as a capture's model.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "analyzer/fabricated_model.h"
#include "analyzer/program_reference.h"

namespace ridgeline::analyzer::testing {

/// `steps` timeline steps of the program, with calls, waits, and what orders its streams.
struct ProgramModel {
  /// `copies`: launches that are copies from the host instead, by their number in the step.
  explicit ProgramModel(const Program& program, std::set<std::size_t> copies = {}, int steps = 6)
      : copies_(std::move(copies)) {
    constexpr int kWarmup = 40;
    made.model.recording_windows.push_back(
        {.id = 1, .process_id = 1, .synchronisation = true, .stream_calls = true});
    for (int i = 0; i < steps; ++i) add(program, ProgramRun(program, kWarmup + i).step());
    for (const std::uint32_t stream : streams_)
      made.model.streams.push_back({1, 0, stream, StreamKind::non_blocking, 0});
  }

  FabricatedModel made;  ///< kernels are called "kernel N" by their number in the step

 private:
  void add(const Program& program, const RecordedStep& recorded) {
    store::Step& step = made.step(Phase::timeline);
    step.host_start_ns = recorded.host_start_ns;
    step.host_end_ns = recorded.host_end_ns;
    std::size_t call = 0, work = 0;
    std::int64_t now_ns = recorded.host_start_ns;
    for (const Program::Operation& operation : program.operations) {
      switch (operation.kind) {
        case Program::Kind::work:
          break;
        case Program::Kind::stream_waits:
          order(StreamCall::event_record, operation.other, now_ns);
          order(StreamCall::event_wait, operation.stream, now_ns);
          break;
        case Program::Kind::wait: {
          const RecordedStep::Call& wait = recorded.calls[call++];
          made.model.synchronisations.push_back({1, wait.thread_id, wait.start_ns,
                                                 wait.end_ns - wait.start_ns, SynchronisationCall::device,
                                                 ++correlation_id_, step.id});
          now_ns = wait.end_ns;
          break;
        }
        case Program::Kind::launch:
        case Program::Kind::graph: {
          const RecordedStep::Call& launch = recorded.calls[call];
          ++correlation_id_;
          for (; work < recorded.works.size() && recorded.works[work].call == call; ++work)
            run(recorded.works[work], launch, operation.kind == Program::Kind::graph, work);
          ++call;
          now_ns = launch.end_ns;
          break;
        }
      }
    }
  }

  void run(const RecordedStep::Work& work, const RecordedStep::Call& call, bool graph, std::size_t number) {
    streams_.insert(work.stream);
    if (copies_.contains(number)) {
      store::Memcpy& copy = made.copy(work.start_ns, work.end_ns, 1000);
      copy.stream_id = work.stream;
      copy.correlation_id = correlation_id_;
      return;
    }
    store::Launch& row = made.launch("kernel " + std::to_string(number), work.start_ns, work.end_ns);
    row.stream_id = work.stream;
    row.correlation_id = correlation_id_;
    row.host_start_ns = call.start_ns;
    row.host_end_ns = call.end_ns;
    row.thread_id = call.thread_id;
    if (graph) row.graph_id = 1;
  }

  /// One event for each stream that is waited for; its newest record is what a wait is for.
  void order(StreamCall call, std::uint32_t stream, std::int64_t time_ns) {
    store::OrderingCall row;
    row.process_id = 1;
    row.correlation_id = ++correlation_id_;
    row.call = call;
    row.time_ns = time_ns;
    row.context_id = 0;
    row.stream_id = stream;
    row.event = 1;
    if (call == StreamCall::event_wait) row.source_id = recorded_by_;
    if (call == StreamCall::event_record) recorded_by_ = row.correlation_id;
    made.model.ordering_calls.push_back(row);
  }

  std::set<std::size_t> copies_;
  std::int64_t correlation_id_ = 0, recorded_by_ = 0;
  std::set<std::uint32_t> streams_;
};

}  // namespace ridgeline::analyzer::testing
