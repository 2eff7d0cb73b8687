// added_counters.h: counters of another run into a finished capture: values of its launches (T2), the steps that have
// them, and what is to be said of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

struct AddedCounters {
  struct Metric {
    std::string name, unit;
  };
  struct Value {
    Id launch_id = 0;
    std::size_t metric = 0;  ///< index into `metrics`
    double value = 0;        ///< finite
  };
  std::string configuration;  ///< name of the counter configuration that the steps get
  std::vector<Metric> metrics;
  std::vector<Value> values;  ///< the same (launch, metric) again replaces, also what the capture has at T2
  std::vector<Id> steps;      ///< of the launches
  TierStatus status;          ///< of a process whose tier did not run
  std::vector<Message> messages;
  std::vector<std::pair<std::string, std::string>> versions;  ///< component, version
};

/// Brings a copy of a capture to the current schema, so that counters can be added to it: ids are those of the copy
/// then. Throws Error: newer_capture, corrupt, io.
void prepare_for_counters(const std::string& path);

/// Adds them in one transaction, and notes the new rows. The file is prepared. Throws Error(io).
void add_counters(const std::string& path, const AddedCounters& added);

}  // namespace ridgeline::store
