// Memory that is wanted soon and brought into the cache while something else is computed.
#pragma once

#include <cstddef>

namespace tyto::cpu {

/// `width` bytes for each element that is computed meanwhile.
struct Stream {
  const std::byte* from;
  std::size_t width;
};

}  // namespace tyto::cpu
