// SPDX-License-Identifier: MIT
// Files that appear whole or not at all, where processes fork and files are links, pipes or private.
#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/io/bytes.hpp"

namespace tyto::io_tests {

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

TEST_CASE("a symbolic link stays one and leads to the new file, whether or not there was an old one") {
  const Folder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink("elsewhere/x", folder / "link");
  std::filesystem::create_symlink("link", folder / "outer");
  for (const char* content : {"first", "second"}) {
    io::AtomicFile file(folder / "outer");
    file.write(bytes_of(content));
    file.commit();
    CHECK(std::filesystem::is_symlink(folder / "outer"));
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(text_of_file(folder / "elsewhere/x") == content);
  }
  std::filesystem::create_symlink("round", folder / "round");
  CHECK_THROWS_WITH_AS(io::AtomicFile file(folder / "round"), doctest::Contains("round: cannot be written: too many"),
                       IoError);
}

TEST_CASE("what is there and is no regular file is refused and stays") {
  const Folder folder;
  const std::string pipe_path = folder / "pipe";
  REQUIRE(mkfifo(pipe_path.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(io::AtomicFile file(pipe_path), doctest::Contains("pipe: cannot be written: it is no regular"),
                       IoError);
  CHECK(std::filesystem::is_fifo(pipe_path));
  CHECK_THROWS_WITH_AS(io::AtomicFile file("/dev/full"), doctest::Contains("it is no regular file"), IoError);
  std::filesystem::create_directory(folder / "inner");
  CHECK_THROWS_WITH_AS(io::AtomicFile file(folder / "inner"), doctest::Contains("it is no regular file"), IoError);
}

TEST_CASE("a new file has the permissions of the one that it replaces, and no others meanwhile but to write") {
  const Folder folder;
  const std::string path = folder / "x";
  write_file(path, "secret");
  using std::filesystem::perms;
  for (const perms wanted : {perms::owner_read | perms::owner_write, perms::owner_read | perms::group_read}) {
    std::filesystem::permissions(path, wanted);
    io::AtomicFile file(path);
    file.write(bytes_of("new"));
    CHECK(std::filesystem::status(path + ".partial").permissions() == (wanted | perms::owner_write));
    file.commit();
    CHECK(std::filesystem::status(path).permissions() == wanted);
  }
}

}  // namespace tyto::io_tests
