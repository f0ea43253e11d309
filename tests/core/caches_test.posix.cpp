// SPDX-License-Identifier: MIT
// The size of the last cache, beside what lscpu prints.
#include <cstdint>
#include <cstdio>

#include <doctest/doctest.h>

#include "core/system/caches.hpp"

TEST_CASE("the last cache has the size that lscpu prints") {
#if defined(__linux__)
  std::FILE* const listing = popen("lscpu -B -C=LEVEL,ONE-SIZE 2>/dev/null", "r");
  REQUIRE(listing != nullptr);
  char heading[256];
  if (std::fgets(heading, sizeof heading, listing) == nullptr) heading[0] = '\0';
  int level = 0, highest = 0;
  long long bytes = 0, of_highest = 0;
  while (std::fscanf(listing, "%d %lld", &level, &bytes) == 2) {
    if (level < highest) continue;
    highest = level;
    of_highest = bytes;
  }
  pclose(listing);
  if (highest == 0) MESSAGE("skipped: lscpu prints no caches here");
  else CHECK(tyto::core::last_cache_bytes() == of_highest);
#else
  CHECK(tyto::core::last_cache_bytes() == 0);
#endif
}
