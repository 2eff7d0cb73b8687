// run_log.h: the log of a run, one JSON object a line, each with a "step".
#pragma once

#include <string>

namespace ridgeline::gpt2 {

/// Removes the lines of step `first_step` and later, which a resumed run is about to write again, and what an
/// interrupted write left of a last line. A log that does not exist is left so. Throws InputError.
void cut_run_log(const std::string& path, long long first_step);

/// Throws InputError when a file of that name could not be written: a missing directory, a directory of that
/// name, no permission. Leaves nothing behind.
void require_writable(const std::string& what, const std::string& path);

/// The same for a file that is written under another name and renamed: nor may the name be a device's.
void require_replaceable(const std::string& what, const std::string& path);

}  // namespace ridgeline::gpt2
