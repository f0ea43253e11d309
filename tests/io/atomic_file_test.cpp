// Files that appear whole or not at all.
#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST_CASE("a second writer of one file is refused while the first is at work, and may go on when that was killed") {
  const Folder folder;
  const std::string path = folder / "x";
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    io::AtomicFile file(path);
    file.write(bytes_of("half"));
    const char go = 'x';
    if (write(ready[1], &go, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char go = 0;
  REQUIRE(read(ready[0], &go, 1) == 1);
  CHECK_THROWS_WITH_AS(io::AtomicFile second(path), doctest::Contains("x.partial is being written already"), IoError);
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  close(ready[0]);
  close(ready[1]);
  CHECK(!std::filesystem::exists(path));
  io::AtomicFile file(path);
  file.write(bytes_of("whole"));
  file.commit();
  CHECK(text_of_file(path) == "whole");
}

TEST_CASE("a file in a folder that does not exist is refused by name") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(io::AtomicFile file(folder / "none/x"), doctest::Contains("none/x: cannot be written: No such"),
                       IoError);
}

}  // namespace tyto::io_tests
