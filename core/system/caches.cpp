// SPDX-License-Identifier: MIT
// Linux describes each cache in a folder of its own. What sysconf says is not asked: in virtual machines it counts the
// caches of processors that the machine does not have.
#include "core/system/caches.hpp"

#include <fstream>
#include <string>

#include "core/value/text.hpp"

namespace tyto::core {

namespace {

constexpr int most_caches = 8;

// "32768K", "1M" or plain bytes; 0 for anything else.
std::int64_t parsed_bytes(const std::string& text) {
  std::int64_t bytes = 0;
  std::size_t at = 0;
  for (; at < text.size() && at < 12 && text[at] >= '0' && text[at] <= '9'; ++at) bytes = 10 * bytes + (text[at] - '0');
  if (at == text.size()) return bytes;
  return text[at] == 'K' ? bytes << 10 : text[at] == 'M' ? bytes << 20 : 0;
}

}  // namespace

std::int64_t last_cache_bytes() {
  int highest = 0;
  std::int64_t bytes = 0;
  for (int i = 0; i < most_caches; ++i) {
    const std::string folder = text("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    int level = 0;
    std::string size;
    if (!(std::ifstream(folder + "level") >> level) || !(std::ifstream(folder + "size") >> size)) break;
    if (level < highest) continue;
    highest = level;
    bytes = parsed_bytes(size);
  }
  return bytes;
}

}  // namespace tyto::core
