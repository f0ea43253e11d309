// SPDX-License-Identifier: MIT
// The one way to refuse a file: IoError naming the file, what was found and what was expected.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::io {

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  core::throw_error<IoError>(file, ": ", parts...);
}

/// Returns `make()`, made of a file's contents; when there is no memory for it, the file is refused.
template <class Make>
auto within_memory(const std::string& file, const char* what, std::uint64_t bytes, const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    refuse(file, what, " needs ", bytes, " bytes, more than there is memory for");
  }
}

}  // namespace tyto::io
