// SPDX-License-Identifier: MIT
// Succeeds if the headers and the library of Tyto are found and belong together.
#include <cstdio>
#include <cstring>
#include <tyto/version.hpp>

int main() {
  if (std::strcmp(tyto::version(), tyto::header_version) != 0) {
    std::fprintf(stderr, "headers of %s, library of %s\n", tyto::header_version, tyto::version());
    return 1;
  }
  std::printf("tyto %s\n", tyto::version());
  return 0;
}
