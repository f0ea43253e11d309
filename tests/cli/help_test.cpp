// Help, the manual page and completions: all three know every command and option.
#include <set>

#include "tests/cli/program.hpp"

namespace cli_help_test {

using namespace tyto::cli_tests;

namespace {

std::set<std::string> words_that_begin(const std::string& text, const std::string& beginning) {
  std::set<std::string> found;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.starts_with(beginning)) found.insert(word);
  }
  return found;
}

/// The first words of the indented lines of an overview.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::istringstream lines(run("--help").output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  REQUIRE(names.size() == 7);
  return names;
}

/// The options at the beginning of the lines of a command's help.
std::vector<std::string> options_of(const std::string& command) {
  std::vector<std::string> names;
  std::istringstream lines(run(command + " --help").output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  --")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

bool has_program(const std::string& name) { return std::system(("command -v " + name + " >/dev/null").c_str()) == 0; }

/// What bash offers for the last of these words, in the test's own folder.
std::string completed(const Workplace& place, const std::string& words) {
  const std::string script = place.write("complete.bash", run("completion bash").output);
  place.write("ask.bash", "cd '" + place.path("") + "'\n. '" + script + "'\nCOMP_WORDS=(" + words +
                              ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_tyto\necho \"${COMPREPLY[*]}\"\n");
  std::FILE* pipe = popen(("bash '" + place.path("ask.bash") + "' 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  pclose(pipe);
  return said;
}

}  // namespace

TEST_CASE("the manual page describes every command and option, and man can set it") {
  const Workplace place;
  const std::string page = run("manual").output;
  CHECK(page.starts_with(".TH TYTO 1 \"\" \"Tyto "));
  for (const std::string& command : commands()) {
    CHECK(contains(page, ".SS \"tyto " + command + " "));
    for (const std::string& option : options_of(command)) {
      std::string escaped;
      for (const char c : option) escaped += c == '-' ? "\\-" : std::string(1, c);
      CHECK_MESSAGE(contains(page, "\n.B " + escaped), option);
    }
  }
  if (!has_program("groff")) {
    MESSAGE("groff is not installed: the page is not set");
    return;
  }
  place.write("tyto.1", page);
  CHECK(std::system(("groff -man -ww -z '" + place.path("tyto.1") + "' 2>'" + place.path("said") + "'").c_str()) == 0);
  CHECK(place.read("said").empty());
}

TEST_CASE("bash completes commands, options and files") {
  const Workplace place;
  place.write("model.onnx", "");
  if (!has_program("bash")) {
    MESSAGE("bash is not installed: nothing is completed");
    return;
  }
  CHECK(completed(place, "tyto ru") == "run\n");
  CHECK(completed(place, "tyto run --th") == "--threads\n");
  CHECK(completed(place, "tyto run mod") == "model.onnx\n");
  CHECK(completed(place, "tyto run model.onnx --html mod") == "model.onnx\n");
  CHECK(completed(place, "tyto run model.onnx --input x = mod") == "model.onnx\n");
  CHECK(completed(place, "tyto run model.onnx --threads mod") == "\n");
  for (const std::string& command : commands()) {
    const std::set<std::string> offered = words_that_begin(completed(place, "tyto " + command + " --"), "--");
    for (const std::string& option : options_of(command)) CHECK_MESSAGE(offered.contains(option), option);
  }
}

TEST_CASE("manual and completion say what they take") {
  CHECK(run("completion fish").output == "tyto: completion takes the name of the shell: bash; see tyto --help\n");
  CHECK(run("completion").status == 2);
  CHECK(run("manual run").output == "tyto: manual takes no operands; see tyto --help\n");
}

}  // namespace cli_help_test
