// SPDX-License-Identifier: MIT
// Output that cannot be written is an error, of every command.
#include <sys/wait.h>

#include <filesystem>

#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "onnx/write/protobuf_writer.hpp"
#include "tests/cli/program.hpp"
#include "tests/onnx/model_text.hpp"

namespace lost_output_test {

using namespace tyto;
using namespace tyto::cli_tests;
using namespace tyto::onnx_tests;

namespace {

constexpr const char* message = "tyto: standard output cannot be written: what was to be printed is lost\n";

std::string doubling(const Workplace& place) {
  return place.write("m.onnx", model({.nodes = {node("Add", {"x", "x"}, {"y"})},
                                      .inputs = {value("x", {"3"})},
                                      .outputs = {value("y", {"3"})}}));
}

/// A command of each kind, all of which succeed where they are heard.
std::vector<std::string> all_commands(const Workplace& place) {
  using L = tyto::Tensor<Lazy>;
  const L x = L::placeholder({3}, DType::f32, "x");
  save_graph(place.path("m.graph"), Graph{{.inputs = {x}, .outputs = {x * 2}}});
  const std::string blocks = place.write("blocks.csv", "id,lower,upper,size\n0,0,2,4\n1,1,3,4\n");
  const std::string network = doubling(place);
  return {"--help",
          "-h",
          "help",
          "help run",
          "run --help",
          "--version",
          "manual",
          "completion bash",
          "completion zsh",
          "completion fish",
          "devices --list",
          "graph " + place.path("m.graph"),
          "graph --html " + place.path("m.graph"),
          "plan --list",
          "plan " + blocks,
          "plan --strategy all " + blocks,
          "plan --json " + blocks,
          "show " + network,
          "run " + network,
          "run --json " + network};
}

}  // namespace

TEST_CASE("output to a full device is an error with status 1") {
  if (!std::filesystem::exists("/dev/full")) {
    MESSAGE("there is no /dev/full");
    return;
  }
  const Workplace place;
  for (const std::string& command : all_commands(place)) {
    CAPTURE(command);
    CHECK(run(command).status == 0);
    const Ran ran = run(command, "", "2>&1 >/dev/full");
    CHECK(ran.status == 1);
    CHECK(ran.output == message);
  }
}

TEST_CASE("output to a stream that is closed is an error with status 1, and goes into no file") {
  const Workplace place;
  for (const std::string& command : all_commands(place)) {
    CAPTURE(command);
    const Ran ran = run(command, "", "2>&1 >&-");
    CHECK(ran.status == 1);
    CHECK(ran.output == message);
  }
  const std::string file = place.path("y.npy");
  const Ran ran = run("run " + doubling(place) + " --input x=2 --output y=" + file, "", "2>&1 >&- <&-");
  CHECK(ran.status == 1);
  CHECK(read_npy(file).to_vector<float>() == std::vector<float>{4, 4, 4});
}

TEST_CASE("a mistake stays a mistake where nobody hears the output") {
  CHECK(run("run", "", "2>&1 >&-").output == "tyto: run takes one model, not 0; see tyto run --help\n");
  CHECK(run("run", "", ">&- 2>&-").status == 2);
}

}  // namespace lost_output_test
