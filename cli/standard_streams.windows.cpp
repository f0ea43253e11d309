// SPDX-License-Identifier: MIT
// Streams that a program was started without are none to the C runtime: no file that is opened takes their place.
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
