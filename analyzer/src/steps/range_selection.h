// range_selection.h: the launches that an NVTX range means, instance by instance.
#pragma once

#include "steps/selection.h"

namespace ridgeline::analyzer {

/// All instances of Scope::range, in steps and outside of them, in the order of their time on the GPU. What a range
/// launched is in it however late it runs; a part is the time from an instance's first work on the GPU to the end of
/// its last, and instances that run at the same time share one. Of instances that the recorder disturbed in several
/// degrees the least disturbed are taken. `selection` is of the capture's steps.
/// Failure: usage (no instance launched anything).
[[nodiscard]] Result<Selection> select_range(const Model& model, Selection selection, const Scope& scope);

/// What is said if the ranges launched nothing; `where` is " in step 7" or "".
[[nodiscard]] Failure no_range(const Scope& scope, const std::string& where);

}  // namespace ridgeline::analyzer
