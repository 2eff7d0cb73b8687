// what_if_query.h: what a step would gain, asked as people write it.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/analyzer/session/session.h"

namespace ridgeline::queries {

/// What a step of the scope gains if some of its work is done otherwise.
struct WhatIfQuery {
  analyzer::WhatIfRequest request;
  analyzer::Scope scope = {};
};

/// Failures: those of Session::what_if().
[[nodiscard]] analyzer::Answer<analyzer::WhatIf> ask(analyzer::Session& session, const WhatIfQuery& query,
                                                     const analyzer::QueryOptions& how = {});

/// "attention*=1.5x", "adamw_kernel=2". Failure: usage.
[[nodiscard]] Result<analyzer::Faster> parse_faster(std::string_view text);
/// "85", "85%" or "0.85"; "attention*=85" for those kernels alone. Failure: usage.
[[nodiscard]] Result<analyzer::AtRoof> parse_at_roof(std::string_view text);
/// "producer,consumer": a comma inside <> or () is part of a name. `kept`: of --fuse-kept. Failure: usage.
[[nodiscard]] Result<analyzer::Fused> parse_fused(std::string_view text, bool kept = false);
/// "attention*=bf16". Failure: usage.
[[nodiscard]] Result<analyzer::InPrecision> parse_in_precision(std::string_view text);

}  // namespace ridgeline::queries
