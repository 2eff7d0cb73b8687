// counter_import.h: the values of counters, joined with the launches that were written before, and the kernels that
// replay steps leave out.
#pragma once

#include "spool/kernel_ids.h"
#include "spool/process_rows.h"

namespace ridgeline::import {

class CounterImport {
 public:
  CounterImport(ProcessRows& rows, KernelIds& kernels)
      : rows_(rows), kernels_(kernels), writer_(rows.writer), spool_(rows.spool) {}

  /// One pass over the spool.
  void write(const OffsetProgress& progress);

 private:
  void write_graph_value(const spool::GraphCounterValueRecord& value, store::Id metric);

  ProcessRows& rows_;
  KernelIds& kernels_;
  store::CaptureWriter& writer_;
  ScannedSpool& spool_;
};

}  // namespace ridgeline::import
