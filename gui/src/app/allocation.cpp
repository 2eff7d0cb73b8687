#include "app/allocation.h"

#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ridgeline::gui {

void take_memory_in_large_pieces() {
#ifdef __GLIBC__
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace ridgeline::gui
