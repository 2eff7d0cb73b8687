#include "gpt2/ranks/message.h"

#include <algorithm>

namespace ridgeline::gpt2 {

std::string Message::words() const {
  return {text.begin(), std::find(text.begin(), text.end() - 1, '\0')};
}

void Message::say(const std::string& words) {
  text.fill('\0');
  std::copy_n(words.begin(), std::min(words.size(), kTextBytes - 1), text.begin());
}

}  // namespace ridgeline::gpt2
