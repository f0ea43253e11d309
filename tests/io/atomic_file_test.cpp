// SPDX-License-Identifier: MIT
// Files that appear whole or not at all.
#include "io/atomic_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/io/bytes.hpp"

namespace tyto::io_tests {

TEST_CASE("the old file stays until the new one is committed") {
  const Folder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  {
    io::AtomicFile file(path);
    file.write(bytes_of("new"));
    CHECK(text_of_file(path) == "old");
    file.commit();
    CHECK(text_of_file(path) == "new");
  }
  CHECK(text_of_file(path) == "new");
  CHECK(!std::filesystem::exists(path + ".partial"));
}

TEST_CASE("a file that was not committed leaves nothing behind") {
  const Folder folder;
  const std::string path = folder / "x";
  write_file(path, "old");
  { io::AtomicFile(path).write(bytes_of("new")); }
  CHECK(text_of_file(path) == "old");
  CHECK(!std::filesystem::exists(path + ".partial"));
}

TEST_CASE("what a killed writer left behind is written over") {
  const Folder folder;
  const std::string path = folder / "x";
  write_file(path + ".partial", "something much longer than what comes");
  io::AtomicFile file(path);
  file.write(bytes_of("new"));
  file.commit();
  CHECK(text_of_file(path) == "new");
}

TEST_CASE("a second writer in the same process is refused by name, and what is there stays") {
  const Folder folder;
  const std::string path = folder / "x";
  io::AtomicFile first(path);
  first.write(bytes_of("first"));
  CHECK_THROWS_WITH_AS(io::AtomicFile second(path), doctest::Contains("x.partial is being written already"), IoError);
  first.commit();
  CHECK(text_of_file(path) == "first");
  std::filesystem::create_directory(folder / "inner");
  CHECK_THROWS_WITH_AS(io::AtomicFile file(folder / "inner"), doctest::Contains("it is no regular file"), IoError);
}

TEST_CASE("a file in a folder that does not exist is refused by name") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(io::AtomicFile file(folder / "none/x"), doctest::Contains("none/x: cannot be written: No such"),
                       IoError);
}

}  // namespace tyto::io_tests
