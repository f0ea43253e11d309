// How a device that works in the host's memory takes and gives buffers without copying them.
#pragma once

#include <cstddef>

#include "core/value/storage.hpp"

namespace tyto::core {

/// Beside core::Device. What is shared is read-only on both sides: whoever has a share may rely on its contents.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  /// Bytes of a buffer of the host as a buffer of this device, which keeps the host's for as long as the device may
  /// read it. Null where they are better copied.
  virtual BufferRef take_in(const BufferRef& host, std::size_t offset, std::size_t bytes) = 0;
  /// Bytes of a buffer of this device as a buffer of the host, once what was enqueued has run. Null where they are
  /// better copied.
  virtual BufferRef show(const BufferRef& buffer, std::size_t offset, std::size_t bytes, Device& host) = 0;
};

}  // namespace tyto::core
