// SPDX-License-Identifier: MIT
// `tyto show` and `tyto run` as a user runs them, on a model file.
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "onnx/write/protobuf_writer.hpp"
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

TEST_CASE("tyto show lists the tensors of a file of weights") {
  const Workplace place;
  const tyto::Tensor<tyto::Eager> weight{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, count{7};
  const std::string listed = "weight f32 (2,3)\ncount i64 (1,)\ntensors 2, 7 numbers in 32 bytes\n";
  write_npz(place.path("run.npz"), {{"weight", weight}, {"count", count}});
  CHECK(run("show " + place.path("run.npz")).output == listed);
  write_safetensors(place.path("run.safetensors"), {{"weight", weight}, {"count", count}});
  CHECK(contains(run("show " + place.path("run.safetensors")).output, "weight f32 (2,3)\n"));
  write_npy(place.path("x.npy"), weight);
  CHECK(run("show " + place.path("x.npy")).output == "f32 (2,3)\ntensors 1, 6 numbers in 24 bytes\n");
  write_npz(place.path("RUN.NPZ"), {{"weight", weight}, {"count", count}});
  CHECK(run("show " + place.path("RUN.NPZ")).output == listed);
  CHECK(run("show " + place.write("broken.npz", "notes")).status != 0);
  const Ran refused = run("show --nodes " + place.path("x.npy"));
  CHECK(refused.status == 2);
  CHECK(refused.output ==
        "tyto: option --nodes is for models; " + place.path("x.npy") + " holds weights; see tyto show --help\n");
}

TEST_CASE("tyto plan says how the memory of a model is planned") {
  const Ran ran = run("plan m.onnx");
  CHECK(ran.status == 2);
  CHECK(ran.output ==
        "tyto: plan takes blocks in a CSV file; for a model: tyto run m.onnx --plan; see tyto plan --help\n");
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
  refused("--input axis=1", "the model has no input 'axis'; it has 'x', 'axes' (did you mean 'axes'?); see tyto run");
  refused("--bind q=1", "the model has no input 'q'; it has 'x', 'axes'");
  refused("--bind axis=1", "the model has no input 'axis'; it has 'x', 'axes' (did you mean 'axes'?); see tyto run");
  refused("--bind axis=1 --output y", "the model has no input 'axis'; it has 'x', 'axes' (did you mean 'axes'?)");
  refused("--output q=" + place.path("q.npy"),
          "the model has no output 'q' and no value of that name inside of it; tyto show --nodes lists them; see");
  refused("--input x=1 --input x=2", "--input names 'x' twice");
  refused("--shape x=1,2 --shape x=3,2", "--shape names 'x' twice");
  refused("--bind axes=0 --bind axes=1", "--bind names 'axes' twice");
  refused("--output y --output y=" + place.path("y.npy"), "--output names 'y' twice");
  refused("--bind axes=x", "--bind axes takes a number or FILE.npy, not 'x'");
  refused("--threads 99999999", "option --threads takes an integer from 1 to 1024, not '99999999'");
  refused("--threads 3x", "option --threads takes an integer from 1 to 1024, not '3x'");
  refused("--time 3x", "option --time takes an integer of at least 1, not '3x'");
  refused("--warm-up 2", "option --warm-up goes with --time");
  refused("--rtol 0.1", "option --rtol goes with --expect");
  refused("--atol 0.1", "option --atol goes with --expect");
  refused("--json --profile", "option --profile prints a table, which --json does not hold; --trace FILE writes");
  refused("--mean nan", "option --mean takes numbers such as 0.485,0.456,0.406, not 'nan'");
  refused("--mean 1e999", "option --mean takes numbers such as 0.485,0.456,0.406, not '1e999'");
  refused("--deviation 0", "option --deviation: colours are divided by it, so 0 is none");
  refused("--mean 1,2", "option --mean is about pictures, but no input is given one");
  refused("--deviation 2", "option --deviation is about pictures, but no input is given one");
  refused("--input x", "--input takes NAME=VALUE, not 'x'");
  refused("--input x=picture",
          "--input x takes a file (.npy, .npz, .pb, .png, .jpg, .wav), random, zeros or a number, not 'picture'");
  refused("--input x=zeroes", "a number, not 'zeroes' (did you mean 'zeros'?)");
  refused("--input x=nan", "a number, not 'nan'");
  refused("--input x=" + place.path("none.npy"), "none.npy: cannot be opened for reading: there is no such file");
  refused("--shape x=1,b", "--shape takes lengths such as 1,3,224,224, not '1,b'");
  refused("--shape x=1,-2", "--shape takes lengths such as 1,3,224,224, not '1,-2'");
  refused("--output =y.npy", "--output takes NAME[=FILE.npy], not '=y.npy'");
  CHECK(run("show").status == 2);
  CHECK(run("show " + place.write("notes.onnx", "notes")).status == 2);
}

TEST_CASE("tyto show lists nodes with the types and shapes of what they give") {
  const Workplace place;
  const Ran ran = run("show " + written(place) + " --nodes --shape x=4,2 --bind axes=1");
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, "nodes with x (4,2)\n  p f32 (4,3) = MatMul(x, w)\n  y f32 (4) = ReduceSum(p, axes)\n"));
  // A shape that depends on elements is open, and so is what follows from it.
  const std::string counts = place.write(
      "n.onnx", model({.nodes = {node("Neg", {"x"}, {"a"}), node("NonZero", {"a"}, {"b"}), node("Neg", {"b"}, {"y"})},
                       .inputs = {value("x", {"2", "3"})},
                       .outputs = {value("y", {"2", "n"}, DType::i64)}}));
  CHECK(contains(run("show --nodes " + counts).output,
                 "nodes with x (2,3)\n  a f32 (2,3) = Neg(x)\n  b ? (...) = NonZero(a)\n  y ? (...) = Neg(b)\n"));
}

TEST_CASE("a length that counts as 1 and does not fit is told with the option that says it") {
  const Workplace place;
  const std::string path =
      place.write("m.onnx", model({.nodes = {node("MatMul", {"x", "w"}, {"y"})},
                                   .inputs = {value("x", {"2", "width"})},
                                   .outputs = {value("y", {"2", "3"})},
                                   .initialisers = {raw_tensor<float>("w", {4, 3}, std::vector<float>(12, 1))}}));
  const std::string hint = "; lengths that the file leaves open count as 1, unless said: --shape x=2,width";
  const Ran ran = run("run " + path);
  CHECK(ran.status == 2);
  CHECK_MESSAGE(contains(ran.output, hint + "; see tyto run --help\n"), ran.output);
  const Ran shown = run("show --nodes " + path);
  CHECK(contains(shown.output, "  shapes are not known: "));
  CHECK(contains(shown.output, hint + "\n"));
  CHECK(run("run " + path + " --shape x=2,4").output.starts_with("y f32 (2,3)  smallest "));
  // A shape that was given is not replaced by a guess.
  const Ran said = run("run " + path + " --shape x=2,5");
  CHECK(said.status == 1);
  CHECK_FALSE(contains(said.output, "count as 1"));
  // An operator that refuses what it is given.
  const std::string windows = place.write(
      "p.onnx",
      model({.nodes = {node("MaxPool", {"x"}, {"y"}, {attribute("kernel_shape", std::vector<std::int64_t>{3})})},
             .inputs = {value("x", {"1", "2", "n"})},
             .outputs = {value("y", {"1", "2", "m"})}}));
  const Ran refused = run("run " + windows);
  CHECK(refused.status == 2);
  CHECK_MESSAGE(contains(refused.output, "unless said: --shape x=1,2,n"), refused.output);
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

TEST_CASE("tyto run prints outputs of text as words") {
  const Workplace place;
  Message keys, words, labels;
  keys.text(1, "keys_int64s");
  for (const std::int64_t key : {0, 1, 2}) keys.integer(8, key);
  keys.integer(20, 7);
  words.text(1, "values_strings");
  for (const char* word : {"cat", "a \"dog\"", "caf\xc3\xa9"}) words.text(9, word);
  words.integer(20, 8);
  labels.message(8, operator_set("ai.onnx.ml", 4));
  Message tensor, type;
  tensor.integer(1, onnx::text_type);
  type.message(1, tensor);
  const GraphParts parts{.nodes = {node("LabelEncoder", {"x"}, {"y"}, {keys, words}, "ai.onnx.ml")},
                         .inputs = {value("x", {"n"}, DType::i64)},
                         .outputs = {typed("y", type)}};
  const std::string path = place.write("labels.onnx", model(parts, 19) + labels.bytes());
  const auto printed = [&](const std::vector<std::int64_t>& x, const std::string& options = "") {
    write_npy(place.path("x.npy"), tyto::Tensor<tyto::Eager>::from(x, {std::ssize(x)}));
    return run("run " + path + " --input x=" + place.path("x.npy") + options);
  };
  CHECK(printed({2, 0, 1}).output == "y string (3,)  \"caf\xc3\xa9\", \"cat\", \"a \\\"dog\\\"\"\n");
  CHECK(printed({}).output == "y string (0,)\n");
  const std::vector<std::int64_t> twelve(12, 0);
  CHECK(contains(printed(twelve).output, "\"cat\", \"cat\" and 2 more\n"));
  CHECK(contains(printed({2, 0}, " --json").output,
                 "{\"name\":\"y\",\"dtype\":\"string\",\"shape\":[2],\"words\":[\"caf\xc3\xa9\",\"cat\"]}"));

  // Files and comparisons take numbers, and those of words mean nothing.
  const auto refused = [&](const std::string& option, const std::string& why) {
    const Ran ran = printed({2, 0}, " " + option);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.output, "the output 'y' is text, which " + why + " --json prints its words"),
                  ran.output);
  };
  refused("--output y=" + place.path("y.npy"), ".npy files of numbers do not hold:");
  refused("--outputs " + place.path("all.npz"),
          ".npz files of numbers do not hold: --output NAME=FILE.npy writes the other outputs,");
  refused("--expect y=" + place.path("x.npy"), "--expect does not compare:");
  CHECK_FALSE(std::filesystem::exists(place.path("y.npy")));
  CHECK_FALSE(std::filesystem::exists(place.path("all.npz")));
  CHECK(printed({2}, " --output y").output == "y string (1,)  \"caf\xc3\xa9\"\n");
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
