// SPDX-License-Identifier: MIT
// Opens /dev/null in the place of closed standard streams, so that no file opened later takes their numbers.
#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace tyto::cli {

void occupy_closed_streams() {
  constexpr int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // The lowest number that is free, which is this one, those before it being taken.
    if (fcntl(stream, F_GETFD) == -1) static_cast<void>(open("/dev/null", useless[stream]));
  }
}

bool standard_output_is_written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

}  // namespace tyto::cli
