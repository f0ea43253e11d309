// The one way to turn a file down: IoError naming the file, what was found and what was expected.
#pragma once

#include <sstream>
#include <string>

#include "tyto/error.hpp"

namespace tyto::io {

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  std::ostringstream out;
  out << file << ": ";
  (out << ... << parts);
  throw IoError(out.str());
}

}  // namespace tyto::io
