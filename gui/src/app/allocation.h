// allocation.h: how the C library takes memory from the kernel.
#pragma once

namespace ridgeline::gui {

/// In pieces of 64 MiB instead of 128 KiB: a thread that reads millions of rows asks the kernel some hundred times less
/// often, and a page that is never touched takes nothing. Of glibc; elsewhere nothing changes. Before the first thread.
void take_memory_in_large_pieces();

}  // namespace ridgeline::gui
