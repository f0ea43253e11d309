// SPDX-License-Identifier: MIT
// Headers and library agree on the version.
#include <doctest/doctest.h>

#include <string>
#include <tyto/version.hpp>

TEST_CASE("the library's version is that of its headers") {
  CHECK(std::string(tyto::version()) == tyto::header_version);
  CHECK(std::string(tyto::version()) == std::to_string(tyto::version_major) + "." +
                                            std::to_string(tyto::version_minor) + "." +
                                            std::to_string(tyto::version_patch));
}
