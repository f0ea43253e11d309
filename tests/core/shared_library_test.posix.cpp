// SPDX-License-Identifier: MIT
// The file that this code was loaded from is found.
#include "core/system/shared_library.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tyto::core {

TEST_CASE("folder of the program" * doctest::skip(true)) { std::printf("<%s>", folder_of_this_library().c_str()); }

TEST_CASE("folder of the program seen from elsewhere" * doctest::skip(true)) {
  std::filesystem::current_path("/");
  std::printf("<%s>", folder_of_this_library().c_str());
}

TEST_CASE("the folder of a program is found however it was started") {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string folder = program.parent_path().string(), name = program.filename().string();
  const auto told = [&](const std::string& start, const std::string& which = "") {
    std::FILE* pipe = popen((start + " --no-skip --test-case='folder of the program" + which + "'").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
    pclose(pipe);
    const std::size_t begin = output.find('<') + 1;
    return std::filesystem::weakly_canonical(output.substr(begin, output.find('>') - begin)).string();
  };
  CHECK(told("'" + program.string() + "'") == folder);
  CHECK(told("cd '" + folder + "' && ./" + name) == folder);
  CHECK(told("cd '" + folder + "' && ./" + name, " seen from elsewhere") == folder);
  CHECK(told("cd / && PATH='" + folder + "' " + name) == folder);
}

}  // namespace tyto::core
