// SPDX-License-Identifier: MIT
// Help, the manual page and completions: all three know every command and option.
#include <set>
#include <vector>

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
  REQUIRE(names.size() == 11);
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

/// Bash's completions of the last of these words, in the test's own folder.
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
  CHECK(completed(place, "tyto help sh") == "show\n");
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

TEST_CASE("zsh and fish complete commands, options and files") {
  const Workplace place;
  const std::string zsh = run("completion zsh").output, fish = run("completion fish").output;
  CHECK(zsh.starts_with("#compdef tyto\n"));
  for (const std::string& command : commands()) {
    CHECK_MESSAGE(contains(zsh, "    '" + command + ":"), command);
    CHECK_MESSAGE(contains(fish, "complete -c tyto -n __fish_use_subcommand -a " + command + " -d '"), command);
    for (const std::string& option : options_of(command)) {
      CHECK_MESSAGE((contains(zsh, "'" + option + "[") || contains(zsh, option + "=[")), option);
      CHECK_MESSAGE(contains(fish, "__fish_seen_subcommand_from " + command + "' -l " + option.substr(2) + " "),
                    option);
    }
  }
  CHECK(contains(zsh, "'*--input=["));
  CHECK(contains(zsh, ":FILE.npz:_files' \\\n"));
  CHECK(contains(zsh, "--threads=[threads of the CPU]:N:' \\\n"));
  CHECK(contains(fish, " -l outputs -r -d "));
  CHECK(contains(fish, " -l threads -x -d "));
  // Each shell reads its own, where it is installed.
  if (has_program("zsh")) CHECK(std::system(("zsh -n '" + place.write("_tyto", zsh) + "'").c_str()) == 0);
  else MESSAGE("zsh is not installed: its completions are not read");
  if (has_program("fish")) CHECK(std::system(("fish -n '" + place.write("tyto.fish", fish) + "'").c_str()) == 0);
  else MESSAGE("fish is not installed: its completions are not read");
}

TEST_CASE("help of a command comes by three ways, and -h is --help") {
  for (const std::string& command : commands()) {
    const std::string text = run(command + " --help").output;
    CHECK(text.starts_with("usage: tyto " + command));
    CHECK(run("help " + command).output == text);
    CHECK(run(command + " -h").output == text);
  }
  CHECK(run("-h").output == run("--help").output);
  CHECK(run("help").output == run("--help").output);
  CHECK(run("help run show").output == "tyto: help takes one command, not 2; see tyto help --help\n");
  CHECK(run("help rum").output == "tyto: unknown command 'rum' (did you mean 'run'?); see tyto help --help\n");
  CHECK(run("plan -- -h").output.starts_with("tyto: -h: cannot be opened for reading"));
}

TEST_CASE("the version comes with what was built in") {
  const Ran ran = run("--version");
  CHECK(ran.status == 0);
  CHECK(ran.output.starts_with("tyto "));
  for (const char* part : {"instruction sets", "JIT", "oneDNN", "OpenCL", "CLBlast", "Cbc", "PNG", "JPEG"}) {
    CHECK_MESSAGE(contains(ran.output, "\n  " + std::string(part) + " "), part);
  }
}

TEST_CASE("the version says why loops are not machine code") {
  const std::string line = "\n  JIT               ", ending = "): loops over elements are interpreted\n";
  const bool built_in = contains(run("--version").output, line + "built in");
  CHECK(contains(run("--version", "TYTO_JIT=0").output,
                 built_in ? line + "built in, not used here (TYTO_JIT is 0" + ending : line + "not built in ("));
#if defined(__x86_64__)
  // Without effect in a build for one set.
  const std::string narrow = run("--version", "TYTO_ISA=baseline TYTO_JIT=").output;
  if (built_in && contains(narrow, "; baseline is used here")) {
    CHECK(contains(narrow, line + "built in, not used here (there is none for the instruction set baseline" + ending));
  }
#endif
}

TEST_CASE("names that are nearly right are guessed") {
  const auto says = [](const std::string& arguments, const std::string& message) {
    const Ran ran = run(arguments);
    CHECK(ran.status == 2);
    CHECK(ran.output == "tyto: " + message + "\n");
  };
  says("shwo m.onnx", "unknown command 'shwo' (did you mean 'show'?); see tyto --help");
  says("Plan x", "unknown command 'Plan' (did you mean 'plan'?); see tyto --help");
  says("comp bash", "unknown command 'comp' (did you mean 'completion'?); see tyto --help");
  says("zebra", "unknown command 'zebra'; see tyto --help");
  says("run --treads 2 m.onnx", "unknown option --treads (did you mean '--threads'?); see tyto run --help");
  says("show --hlep", "unknown option --hlep (did you mean '--help'?); see tyto show --help");
  says("completion fihs",
       "completion is written for bash, zsh and fish, not for 'fihs' (did you mean 'fish'?); see tyto completion "
       "--help");
  const Workplace place;
  place.write("resnet.onnx", "");
  for (const char* command : {"run", "show", "graph", "plan"}) {
    const std::string path = place.path("resnet.onx");
    says(command + (" " + path), path + ": cannot be opened for reading: there is no such file (did you mean '" +
                                     place.path("resnet.onnx") + "'?)");
  }
}

TEST_CASE("the environment is listed with its values, and nonsense in it is refused") {
  const Ran listed = run("environment", "TYTO_THREADS=2 TYTO_JIT=");
  CHECK(listed.status == 0);
  CHECK(contains(listed.output, "TYTO_THREADS=2\n  threads of the CPU device"));
  CHECK(contains(run("manual").output, ".B TYTO_VERIFY\n"));
  const Ran wrong = run("environment", "TYTO_POISON=banana");
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.output, "TYTO_POISON=banana\n"));
  CHECK(contains(wrong.output, "  this value is not accepted\n"));
  CHECK(run("devices", "TYTO_THREADS=banana").output ==
        "tyto: the environment has TYTO_THREADS=banana; it takes 1 to 1024\n");
  const std::string told = run("devices", "TYTO_TRHEADS=2").output;
  CHECK(told.starts_with("tyto: nothing reads the environment variable TYTO_TRHEADS (did you mean TYTO_THREADS?)\n"));
  CHECK(told.find("TYTO_TRHEADS") == told.rfind("TYTO_TRHEADS"));
}

TEST_CASE("manual and completion say what they take") {
  CHECK(run("completion").output ==
        "tyto: completion takes the name of one shell, not 0; see tyto completion --help\n");
  CHECK(run("completion tcsh").output ==
        "tyto: completion is written for bash, zsh and fish, not for 'tcsh'; see tyto completion --help\n");
  CHECK(run("manual run").output == "tyto: manual takes no operands; see tyto manual --help\n");
}

}  // namespace cli_help_test
