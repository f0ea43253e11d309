// The MNIST example, killed at random moments while it trains and saves: its checkpoint is always whole.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

/// The example is built beside the tests.
fs::path example() { return fs::read_symlink("/proc/self/exe").parent_path() / "mnist"; }

struct Child {
  pid_t id;

  Child(std::vector<std::string> words, const fs::path& output) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id = fork();
    if (id != 0) return;
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int wait() const {
    int status = 0;
    waitpid(id, &status, 0);
    return status;
  }
};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The number behind "going on after step ", or 0.
long steps_seen(const std::string& text) {
  const std::string words = "going on after step ";
  const std::size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::stol(text.substr(at + words.size()));
}

}  // namespace

TEST_CASE("a run killed at random moments always resumes from a whole checkpoint") {
  if (!fs::exists(example())) {
    MESSAGE("skipped: the example mnist is not built");
    return;
  }
  const tyto::testing::TemporaryFolder folder;
  const fs::path checkpoint = folder / "run.npz";
  const fs::path output = folder / "output";
  const std::vector<std::string> words{example(),  "--samples",    "80",           "--batch", "8",
                                       "--epochs", "100000",       "--save-every", "1",       "--mode",
                                       "eager",    "--checkpoint", checkpoint};
  // As many kills as the environment asks for; few in the suite.
  const char* asked = getenv("TYTO_KILLS");
  const int kills = asked != nullptr ? std::stoi(asked) : 4;
  std::mt19937 random(1);
  long seen = 0;
  for (int round = 0; round < kills; ++round) {
    CAPTURE(round);
    const Child child(words, output);
    // The first file must be there, else nothing is resumed; then any moment will do.
    for (int waited = 0; !fs::exists(checkpoint) && waited < 600; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 2500));
    kill(child.id, SIGKILL);
    CHECK(WIFSIGNALED(child.wait()));
    REQUIRE(fs::exists(checkpoint));

    std::vector<std::string> look = words;
    look.insert(look.end(), {"--steps", "0"});
    const int status = Child(look, output).wait();
    const std::string text = text_of(output);
    CAPTURE(text);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(steps_seen(text) >= std::max(seen, 1L));
    seen = steps_seen(text);
  }
}
