#include "gpt2/train/loop/failure.h"

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InputError& e) {
    return {2, e.what()};
  } catch (const DivergedError& e) {
    return {1, e.what()};
  } catch (const EnvironmentError& e) {
    return {4, e.what()};
  } catch (const std::exception& e) {
    return {5, e.what()};
  } catch (...) {
    return {5, "an error without a name"};
  }
}

}  // namespace ridgeline::gpt2
