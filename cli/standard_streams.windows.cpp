// SPDX-License-Identifier: MIT
// A standard stream that was closed at the start stays closed: the C runtime gives no opened file its number.
#include "cli/standard_streams.hpp"

#include <cstdio>
#include <iostream>

namespace tyto::cli {

void occupy_closed_streams() {}

bool standard_output_is_written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

}  // namespace tyto::cli
