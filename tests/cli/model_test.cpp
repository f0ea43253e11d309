// `tyto show` and `tyto run` as a user runs them, on a model file.
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "onnx/protobuf_writer.hpp"
#include "tests/cli/program.hpp"
#include "tests/onnx/model_text.hpp"

namespace cli_model_test {

using namespace tyto;
using namespace tyto::cli_tests;
using namespace tyto::onnx_tests;

namespace {

// y = sum over `axes` of x w.
std::string written(const Workplace& place) {
  return place.write(
      "m.onnx", model({.nodes = {node("MatMul", {"x", "w"}, {"p"}),
                                 node("ReduceSum", {"p", "axes"}, {"y"}, {attribute("keepdims", std::int64_t{0})})},
                       .inputs = {value("x", {"rows", "2"}), value("axes", {"1"}, DType::i64)},
                       .outputs = {value("y", {"n"})},
                       .initialisers = {raw_tensor<float>("w", {2, 3}, {1, 2, 3, 4, 5, 6})}}));
}

}  // namespace

TEST_CASE("tyto show says what a model takes, gives, consists of and costs") {
  const Workplace place;
  const Ran ran = run("show " + written(place) + " --shape x=4,2 --bind axes=1");
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, "written by    a test, format 8\n"));
  CHECK(contains(ran.output, "parameters    6 in 24 bytes\n"));
  CHECK(contains(ran.output, "inputs\n  x f32 (rows,2)\noutputs\n  y f32 (n)\n"));
  CHECK(contains(ran.output, "  1  MatMul\n"));
  CHECK(contains(ran.output, "with x (4,2)\n"));
  CHECK(contains(ran.output, "  planned peak  "));
  CHECK(contains(ran.output, "  multiply-adds 24\n"));
  const Ran open = run("show " + place.path("m.onnx"));
  CHECK(contains(open.output, "  not known: " + place.path("m.onnx") + ": node 'y' (ReduceSum): a shape depends on"));
}

TEST_CASE("tyto run runs a model on files and numbers") {
  const Workplace place;
  const std::string path = written(place);
  write_npy(place.path("x.npy"), tyto::Tensor<tyto::Eager>{{1.0, 0.0}, {0.0, 1.0}});
  const Ran ran =
      run("run " + path + " --input x=" + place.path("x.npy") + " --bind axes=1 --output y=" + place.path("y.npy"));
  CHECK(ran.output == "y f32 (2,)  smallest 6, largest 15, mean 10.5\n");
  CHECK(read_npy(place.path("y.npy")).to_vector<float>() == std::vector<float>{6, 15});
  const Ran timed = run("run " + path + " --shape x=3,2 --input axes=0 --time 3 --plan");
  CHECK(timed.status == 0);
  CHECK(contains(timed.output, "y f32 (3,)"));
  CHECK(contains(timed.output, "time of 3 runs: shortest "));
  CHECK(contains(timed.output, "memory plan: "));
  const Ran profiled = run("run " + path + " --bind axes=0 --profile --html " + place.path("m.html"));
  CHECK(contains(profiled.output, "Gop/s  operator"));
  CHECK(place.read("m.html").starts_with("<!doctype html>"));
}

TEST_CASE("tyto run profiles a model with shapes that depend on elements") {
  const Workplace place;
  const std::string path =
      place.write("p.onnx", model({.nodes = {node("Neg", {"x"}, {"h"}), node("NonZero", {"h"}, {"y"})},
                                   .inputs = {value("x", {"n"})},
                                   .outputs = {value("y", {"1", "m"}, DType::i64)}}));
  const Ran profiled = run("run " + path + " --shape x=5 --profile --html " + place.path("p.html"));
  CHECK(profiled.status == 0);
  CHECK(contains(profiled.output, "y i64 (1,5)"));
  CHECK(contains(profiled.output, "Gop/s  operator"));
  CHECK(contains(place.read("p.html"), "(NonZero)"));
}

TEST_CASE("tyto run and show say what is wrong with status 2") {
  const Workplace place;
  const std::string path = written(place);
  const auto refused = [&](const std::string& options, const std::string& message) {
    const Ran ran = run("run " + path + " " + options);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.output, message), ran.output);
  };
  refused("--input q=1", "the model has no input 'q'; it has 'x', 'axes'");
  refused("--output q=" + place.path("q.npy"), "the model has no output 'q'; it has 'y'");
  refused("--input x", "--input takes NAME=VALUE, not 'x'");
  refused("--input x=picture",
          "--input x takes a file (.npy, .png, .jpg, .wav), random, zeros or a number, not 'picture'");
  refused("--shape x=1,b", "--shape takes lengths such as 1,3,224,224, not '1,b'");
  refused("--shape x=1,-2", "--shape takes lengths such as 1,3,224,224, not '1,-2'");
  refused("--output y", "--output takes NAME=FILE.npy, not 'y'");
  CHECK(run("show").status == 2);
  CHECK(run("show " + place.write("notes.onnx", "notes")).status == 2);
}

TEST_CASE("tyto run gives a sequence tensor by tensor, and an optional only where it is named") {
  const Workplace place;
  const std::string path = place.write(
      "s.onnx", model({.nodes = {node("SequenceLength", {"s"}, {"n"}), node("OptionalHasElement", {"o"}, {"has"})},
                       .inputs = {sequence("s"), optional("o")},
                       .outputs = {value("n", {}, DType::i64), value("has", {}, DType::boolean)}}));
  const auto says = [&](const std::string& options, const char* text) {
    const Ran ran = run("run " + path + " " + options);
    CHECK_MESSAGE(contains(ran.output, text), ran.output);
    return ran.status;
  };
  CHECK(says("", "n i64 ()  smallest 0,") == 0);
  CHECK(says("", "has bool ()  smallest 0,") == 0);
  CHECK(says("--input s[0]=1 --input s[1]=random --input o=zeros", "n i64 ()  smallest 2,") == 0);
  CHECK(says("--shape o=2", "has bool ()  smallest 1,") == 0);
  CHECK(says("--input s=1", "the input 's' is a sequence: its tensors are s[0], s[1] and so on") == 2);
  CHECK(says("--input s[1]=1", "the model has no input 's[1]'") == 2);
  CHECK(contains(run("show " + path + " --shape s[0]=2").output, "with s[0] (2,)\n"));
  const Ran wild = run("run " + written(place) + " --input axes=1e30");
  CHECK(wild.status == 2);
  CHECK(contains(wild.output, "--input axes: 1e30 is no number of type i64"));
}

TEST_CASE("tyto run with one thread never has two, however many the system offers") {
  // oneDNN lays these weights out for two threads in a way that it does not read with one.
  const Workplace place;
  const std::int64_t in = 1024, out = 512;
  const std::string path = place.write(
      "m.onnx", model({.nodes = {node("Conv", {"x", "w", "b"}, {"c"}), node("Relu", {"c"}, {"y"})},
                       .inputs = {value("x", {"1", "1024", "14", "14"})},
                       .outputs = {value("y", {})},
                       .initialisers = {raw_tensor<float>("w", {out, in, 1, 1}, std::vector<float>(out * in, 1)),
                                        raw_tensor<float>("b", {out}, std::vector<float>(out, 1))}}));
  // OpenMP tells of every thread that it begins.
  const Ran ran = run("run " + path + " --threads 1",
                      "OMP_NUM_THREADS=2 OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='thread %n'");
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, "y f32 (1,512,14,14)"));
  CHECK_FALSE(contains(ran.output, "thread 1"));
}

}  // namespace cli_model_test
