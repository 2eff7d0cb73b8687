// site_key.h: which calls of collectives are of one site, and what is kept of them where they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "ridgeline/store/job.h"

namespace ridgeline::analyzer::ranks {

/// A communicator of the job, function and bytes. None of what follows from how a rank does it: one whose kernel has
/// another name or grid takes part in the same collective.
using SiteKey = std::tuple<store::Id, std::optional<CollectiveFunction>, std::optional<std::int64_t>>;

/// Leaves of what `site` says of its calls' kernels or copies what `other` says as well.
inline void keep_what_agrees(store::JobSite& site, const store::JobSite& other) {
  if (site.element_type != other.element_type) site.element_type.reset();
  if (site.blocks != other.blocks) site.blocks.reset();
  if (site.algorithm != other.algorithm) site.algorithm.reset();
  if (site.protocol != other.protocol) site.protocol.reset();
  if (site.copies != other.copies) site.copies.reset();
}

}  // namespace ridgeline::analyzer::ranks
