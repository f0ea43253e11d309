// SPDX-License-Identifier: MIT
// `tyto run`: inputs, expected outputs, values inside of models, times, limits, and its JSON.
#include <filesystem>

#include <nlohmann/json.hpp>

#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "onnx/write/protobuf_writer.hpp"
#include "tests/cli/program.hpp"
#include "tests/onnx/model_text.hpp"

namespace cli_run_test {

using namespace tyto;
using namespace tyto::cli_tests;
using namespace tyto::onnx_tests;

namespace {

using T = tyto::Tensor<Eager>;

// m = a b, y = m + a, n = the integers k.
std::string written(const Workplace& place) {
  return place.write(
      "m.onnx",
      model({.nodes = {node("Mul", {"a", "b"}, {"m"}), node("Add", {"m", "a"}, {"y"}), node("Identity", {"k"}, {"n"})},
             .inputs = {value("a", {"2", "3"}), value("b", {"2", "3"}), value("k", {"2"}, DType::i64)},
             .outputs = {value("y", {"2", "3"}), value("n", {"2"}, DType::i64)}}));
}

const T a{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, b{{2.0, 2.0, 2.0}, {3.0, 3.0, 3.0}};
const T y{{3.0, 6.0, 9.0}, {16.0, 20.0, 24.0}};
const T k{std::int64_t{5}, std::int64_t{-7}};

/// Inputs, and what they make, in archives.
std::string given(const Workplace& place) {
  write_npz(place.path("in.npz"), NamedList<T>{{"a", a}, {"b", b}, {"k", k}});
  return " --inputs " + place.path("in.npz");
}
std::string expected(const Workplace& place, const T& wanted, const T& integers = k) {
  write_npz(place.path("out.npz"), NamedList<T>{{"y", wanted}, {"n", integers}});
  return " --expect " + place.path("out.npz");
}

}  // namespace

TEST_CASE("tyto run takes inputs from archives and files, and shows and writes values inside of the model") {
  const Workplace place;
  const std::string model = "run " + written(place);
  const Ran all = run(model + given(place) + " --output m --outputs " + place.path("all.npz"));
  CHECK(all.status == 0);
  CHECK(all.output ==
        "y f32 (2,3)  smallest 3, largest 24, mean 13\nn i64 (2,)  smallest -7, largest 5, mean -1\n"
        "m f32 (2,3)  smallest 2, largest 18, mean 9.5\n");
  const NamedList<T> read = read_npz(place.path("all.npz"));
  CHECK(read.size() == 3);
  CHECK(read["m"].to_vector<float>() == std::vector<float>{2, 4, 6, 12, 15, 18});
  CHECK(read["n"].to_vector<std::int64_t>() == std::vector<std::int64_t>{5, -7});
  write_npy(place.path("b.npy"), b);
  const std::string archive = place.path("in.npz");
  CHECK(run(model + " --input a=" + archive + " --input b=" + place.path("b.npy") + " --input k=" + archive +
            " --output m=" + place.path("m.npy"))
            .status == 0);
  CHECK(read_npy(place.path("m.npy")).to_vector<float>() == std::vector<float>{2, 4, 6, 12, 15, 18});
}

TEST_CASE("tyto run takes inputs from and compares outputs with a folder of ONNX's test data") {
  const Workplace place;
  const std::string model = "run " + written(place);
  std::filesystem::create_directory(place.path("test_data_set_0"));
  const auto put = [&](const std::string& file, const Message& tensor) {
    place.write("test_data_set_0/" + file, std::string(tensor.bytes()));
  };
  put("input_0.pb", raw_tensor<float>("a", {2, 3}, {1, 2, 3, 4, 5, 6}));
  put("input_1.pb", raw_tensor<float>("b", {2, 3}, {2, 2, 2, 3, 3, 3}));
  put("input_2.pb", raw_tensor<std::int64_t>("k", {2}, {5, -7}));
  put("output_0.pb", raw_tensor<float>("y", {2, 3}, {3, 6, 9, 16, 20, 24}));
  put("output_1.pb", raw_tensor<std::int64_t>("n", {2}, {5, -7}));
  const std::string folder = place.path("test_data_set_0");
  const Ran right = run(model + " --inputs " + folder + " --expect " + folder);
  CHECK(right.status == 0);
  CHECK(contains(right.output, "\ny agrees in 6 elements; the largest difference is 0\nn agrees in 2 elements"));
  put("output_1.pb", raw_tensor<std::int64_t>("n", {2}, {5, -8}));
  const Ran wrong = run(model + " --inputs " + folder + " --expect " + folder);
  CHECK(wrong.status == 1);
  CHECK(
      contains(wrong.output, "tyto: n: 1 of 2 elements differ; the worst is [1]: -7, expected -8 (a difference of 0"));
  const std::string one = folder + "/input_0.pb";
  CHECK(run(model + given(place) + " --expect y=" + folder + "/output_0.pb").status == 0);
  CHECK(contains(run(model + " --input a=" + one + " --input b=1 --input k=0").output, "y f32 (2,3)  smallest 2, "));
  put("input_3.pb", raw_tensor<float>("c", {1}, {1}));
  const Ran many = run(model + " --inputs " + folder);
  CHECK(many.status == 2);
  CHECK(many.output == "tyto: " + folder + ": holds input_3.pb, but the model has 3 inputs\n");
  std::filesystem::create_directory(place.path("empty"));
  CHECK(run(model + " --inputs " + place.path("empty")).output ==
        "tyto: " + place.path("empty") + ": holds no input_0.pb\n");
  const Ran broken = run(model + " --input b=1 --input k=0 --input a=" + place.write("rubbish.pb", "rubbish"));
  CHECK(broken.status == 2);
  CHECK(contains(broken.output, "rubbish.pb"));
}

TEST_CASE("tyto run --expect names the worst element, with status 1") {
  const Workplace place;
  const std::string model = "run " + written(place) + given(place);
  CHECK(run(model + expected(place, y)).status == 0);
  // 0.1 % of 24 is allowed, of 3 it is not.
  const T close{{3.0, 6.0, 9.0}, {16.0, 20.0, 24.02}}, off{{3.01, 6.0, 9.0}, {16.0, 20.0, 24.1}};
  const Ran near = run(model + expected(place, close));
  CHECK(near.status == 0);
  CHECK(contains(near.output, "y agrees in 6 elements; the largest difference is 0.02"));
  const Ran far = run(model + expected(place, off));
  CHECK(far.status == 1);
  CHECK_MESSAGE(contains(far.output, "tyto: y: 2 of 6 elements differ; the worst is [1,2]: 24, expected 24.1"),
                far.output);
  CHECK(contains(far.output, " is allowed)\n"));
  CHECK(run(model + expected(place, off) + " --rtol 0.01").status == 0);
  CHECK(run(model + expected(place, off) + " --rtol 0 --atol 0.2").status == 0);
  CHECK(run(model + expected(place, close) + " --rtol 0 --atol 0").status == 1);
  // Integers must be equal, NaN is NaN, an infinity is no other number.
  CHECK(run(model + expected(place, y, T{std::int64_t{5}, std::int64_t{-6}}) + " --rtol 1 --atol 9").status == 1);
  const T nothing{{NAN, 6.0, 9.0}, {16.0, 20.0, 24.0}}, endless{{INFINITY, 6.0, 9.0}, {16.0, 20.0, 24.0}};
  CHECK(contains(run(model + expected(place, nothing)).output, "the worst is [0,0]: 3, expected nan"));
  CHECK(contains(run(model + expected(place, endless)).output, "the worst is [0,0]: 3, expected inf"));
  write_npz(place.path("in.npz"), NamedList<T>{{"a", nothing}, {"b", b}, {"k", k}});
  CHECK(contains(run("run " + written(place) + " --inputs " + place.path("in.npz") +
                     expected(place, T{{NAN, 18.0, 27.0}, {64.0, 80.0, 96.0}}))
                     .output,
                 "y agrees in 6 elements"));
  // Shapes and kinds.
  given(place);
  CHECK(contains(run(model + expected(place, T{1.0, 2.0})).output, "tyto: y has shape (2,3), expected (2,)\n"));
  CHECK(contains(run(model + expected(place, y, T{5.0, -7.0})).output, "tyto: n is of i64, expected f32\n"));
  CHECK(run(model + expected(place, y.astype(DType::f64))).status == 0);
}

TEST_CASE("integers beyond what f64 tells apart are told apart") {
  const Workplace place;
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  write_npz(place.path("in.npz"), NamedList<T>{{"a", a}, {"b", b}, {"k", T{large, std::int64_t{0}}}});
  write_npz(place.path("out.npz"), NamedList<T>{{"n", T{large - 1, std::int64_t{0}}}});
  const Ran ran =
      run("run " + written(place) + " --inputs " + place.path("in.npz") + " --expect " + place.path("out.npz"));
  CHECK(ran.status == 1);
  CHECK(contains(ran.output, "tyto: n: 1 of 2 elements differ; the worst is [0]: "));
}

TEST_CASE("inputs and expectations that make no sense are refused with status 2") {
  const Workplace place;
  const std::string model = "run " + written(place);
  const auto refused = [&](const std::string& options, const std::string& message) {
    const Ran ran = run(model + " " + options);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(contains(ran.output, message), ran.output);
  };
  const std::string in = given(place), archive = place.path("in.npz");
  refused(in + " --input a=1", "the input 'a' is given by --input and by --inputs");
  refused("--inputs " + place.path("out.npz"), "out.npz: cannot be opened for reading: there is no such file");
  refused("--inputs " + place.path("m.onnx"), "m.onnx' is neither a folder of ONNX's test data nor an archive .npz");
  write_npz(place.path("other.npz"), NamedList<T>{{"aa", a}, {"b", b}});
  refused("--inputs " + place.path("other.npz"),
          "the model has no input 'aa'; it has 'a', 'b', 'k' (did you mean 'a'?); see tyto run --help");
  refused("--input a=" + place.path("other.npz"), "other.npz: has no array 'a' among 'aa', 'b' (did you mean 'aa'?)");
  refused(in + " --expect " + archive, "the model has no output 'a'; it has 'y', 'n'");
  refused(in + " --expect q=" + archive, "the model has no output 'q'; it has 'y', 'n'");
  write_npy(place.path("y.npy"), y);
  refused(in + " --expect " + place.path("y.npy"),
          "--expect takes NAME=" + place.path("y.npy") + ", the model having 2");
  refused(in + " --expect y=" + place.path("m.onnx"), "--expect takes FILE.npy, .npz or .pb, or a folder, not '");
  refused(in + " --expect y=" + place.path("y.npy") + " --expect y=" + place.path("y.npy"), "--expect names 'y' twice");
  refused(in + " --expect y=" + place.path("y.npy") + " --rtol -1",
          "option --rtol takes a number of at least 0, not '-1'");
  refused(in + " --expect y=" + place.path("y.npy") + " --atol nan",
          "option --atol takes a number of at least 0, not 'nan'");
  refused(in + " --output mm",
          "the model has no output 'mm' and no value of that name inside of it; tyto show --nodes lists them (did you "
          "mean 'm'?)");
}

TEST_CASE("tyto run --json says all in one object") {
  const Workplace place;
  const T off{{3.0, 6.0, 9.0}, {16.0, 21.0, 24.0}};
  const Ran ran =
      run("run " + written(place) + given(place) + expected(place, off) + " --json --time 5 --plan", "", "");
  CHECK(ran.status == 1);
  const nlohmann::json json = nlohmann::json::parse(ran.output);
  CHECK(json["device"] == "cpu");
  CHECK(json["outputs"][0]["name"] == "y");
  CHECK(json["outputs"][0]["dtype"] == "f32");
  CHECK(json["outputs"][0]["shape"] == nlohmann::json{2, 3});
  CHECK(json["outputs"][0]["largest"] == 24);
  CHECK(json["expected"][0]["agrees"] == false);
  CHECK(json["expected"][0]["differing"] == 1);
  CHECK(json["expected"][0]["worst"]["index"] == nlohmann::json{1, 1});
  CHECK(json["expected"][0]["worst"]["expected"] == 21);
  CHECK(json["expected"][1]["agrees"] == true);
  const nlohmann::json& times = json["milliseconds"];
  CHECK(times["runs"] == 5);
  CHECK(times["warm_up"] == 1);
  CHECK(times["shortest"] <= times["median"]);
  CHECK(times["median"] <= times["percentile_90"]);
  CHECK(times["percentile_99"] <= times["longest"]);
  CHECK(json["memory"]["peak"] >= json["memory"]["bound"]);
}

TEST_CASE("tyto run times runs after those that warm up, and writes a trace") {
  const Workplace place;
  const Ran ran = run("run " + written(place) + " --time 4 --warm-up 0 --trace " + place.path("trace.json"));
  CHECK(ran.status == 0);
  CHECK(contains(ran.output, "time of 4 runs: shortest "));
  CHECK(contains(ran.output, " ms, median "));
  CHECK(contains(ran.output, ", 90 % within "));
  CHECK(contains(ran.output, ", 99 % within "));
  CHECK(contains(ran.output, ", longest "));
  CHECK_FALSE(nlohmann::json::parse(place.read("trace.json")).empty());
  const Ran lost = run("run " + written(place) + " --trace " + place.path("no/such/folder.json"));
  CHECK(lost.status == 2);
  CHECK(contains(lost.output, "folder.json: cannot be written"));
}

TEST_CASE("tyto run and show refuse models beyond the limits that they are given, with status 1") {
  const Workplace place;
  const std::string path =
      place.write("large.onnx", model({.nodes = {node("Tile", {"x", "n"}, {"y"})},
                                       .inputs = {value("x", {"1024"})},
                                       .outputs = {value("y", {"k"})},
                                       .initialisers = {raw_tensor<std::int64_t>("n", {1}, {1 << 20})}}));
  for (const char* command : {"run ", "show "}) {
    const Ran ran = run(command + path + " --max-memory 64M");
    CAPTURE(ran.output);
    CHECK(ran.status == 1);
    CHECK(contains(ran.output, "; --max-memory is 67108864\n"));
  }
  CHECK(run("run " + written(place) + given(place) + " --max-memory 64M --max-iterations 10").status == 0);
  CHECK(contains(run("run " + path + " --max-memory lots").output,
                 "option --max-memory takes a number of bytes such as 4096, 64K, 512M or 2G, not 'lots'"));
  CHECK(contains(run("run " + path + " --max-memory 9000000000G").output, "not '9000000000G'"));
  CHECK(contains(run("run " + path + " --max-iterations 0").output,
                 "option --max-iterations takes an integer of at least 1, not '0'"));
}

}  // namespace cli_run_test
