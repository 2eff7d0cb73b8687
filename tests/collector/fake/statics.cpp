// A library with a static that is made when it is loaded and one that is made at its function's first call;
// each tells of its end.
#include <cstdio>

namespace {

struct Traced {
  explicit Traced(const char* which) : name(which) {}
  ~Traced() { std::fprintf(stderr, "%s ended\n", name); }
  const char* name;
};

const Traced made_at_load("made at load");

}  // namespace

extern "C" const char* use_late_static() {
  static const Traced made_late("made late");
  return made_late.name;
}
