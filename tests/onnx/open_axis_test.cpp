// SPDX-License-Identifier: MIT
// Models written with an open batch axis and outputs with names: read again with batches of several sizes.
#include <tyto/nn.hpp>
#include <tyto/onnx.hpp>

#include "tests/onnx/written.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::onnx_tests {
namespace {

using L = Tensor<Lazy>;
using Network = std::function<L(const L&)>;

/// Writes `network` with its first axis open, and compares what both modes read with what it gives, batch by batch.
void check_open(const std::string& name, const Network& network, const Shape& sample) {
  CAPTURE(name);
  const testing::TemporaryFolder folder;
  const auto batch_of = [&](std::int64_t batch) {
    Shape shape = sample;
    shape.insert(0, batch);
    return shape;
  };
  const auto graph_of = [&](std::int64_t batch) {
    const L x = L::placeholder(batch_of(batch), DType::f32, "tokens");
    return Graph{{.inputs = {x}, .outputs = {network(x), x + 1}}};
  };
  const std::string path = folder / (name + ".onnx");
  write_onnx(path, graph_of, {.outputs = {"logits", "next"}, .open_axis = "n"});
  OnnxModel<L> lazy = read_onnx<L>(path);
  OnnxModel<Tensor<Eager>> eager = read_onnx(path);
  REQUIRE(lazy.inputs().size() == 1);
  CHECK(lazy.inputs()[0].name == "tokens");
  CHECK((*lazy.inputs()[0].shape)[0].symbol == "n");
  CHECK(!(*lazy.inputs()[0].shape)[0].length);
  CHECK(lazy.outputs()[0].name == "logits");
  CHECK((*lazy.outputs()[1].shape)[0].symbol == "n");
  for (const std::int64_t batch : {1, 2, 4, 7}) {
    CAPTURE(batch);
    const Tensor<Eager> given = Tensor<Eager>::uniform(batch_of(batch), {.low = -1, .high = 1, .key = Key{7, 0}});
    const L x = L::from_bytes(given.bytes().data(), given.size(), given.shape(), given.dtype());
    const std::vector<float> wanted = network(x).to_vector<float>();
    const auto check = [&](const auto& results) {
      const std::vector<float> got = results["logits"].template to_vector<float>();
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
      CHECK(results["next"].template to_vector<float>() == (given + 1).template to_vector<float>());
    };
    check(lazy({{"tokens", x}}));
    check(eager({{"tokens", given}}));
  }
  if (const char* keep = std::getenv("TYTO_WRITTEN_OPEN")) {
    write_onnx(std::string(keep) + "/" + name + ".onnx", graph_of, {.outputs = {"logits", "next"}});
    for (const std::int64_t batch : {1, 4}) {
      const L x = L::uniform(batch_of(batch), {.low = -1, .high = 1, .key = Key{7, 0}});
      write_npz<Lazy>(core::text(keep, "/", name, ".", batch, ".npz"), {{"tokens", x}, {"logits", network(x)}});
    }
  }
}

}  // namespace

TEST_CASE("networks written with an open batch axis take batches of any size") {
  seed(11);
  const nn::Sequential digits{nn::Conv2d({.in = 1, .out = 4, .window = 3}),
                              nn::ReLU(),
                              nn::MaxPool(2),
                              nn::Flatten(),
                              nn::Linear({.in = 36, .out = 5}),
                              nn::Softmax()};
  check_open("digits", digits, {8, 8, 1});
  const nn::Sequential normalised{nn::Conv2d({.in = 2, .out = 4, .padding = 1}), nn::BatchNorm2d({.channels = 4}),
                                  nn::GlobalAveragePool(), nn::Linear({.in = 4, .out = 3})};
  check_open("normalised", normalised, {6, 6, 2});
  const nn::TransformerEncoderLayer encoder({.features = 8, .heads = 2, .hidden = 16});
  check_open("encoder", [&](const L& x) { return encoder(x); }, {5, 8});
  const nn::LSTM recurrent({.in = 3, .hidden = 4});
  check_open("lstm", [&](const L& x) { return recurrent(x); }, {6, 3});
}

TEST_CASE("lengths, fills and offsets of an open axis are computed in the model") {
  check_open("flat", [](const L& x) { return reshape(x, {-1}); }, {2, 3});
  check_open("halves", [](const L& x) { return concat({x, flip(x, {0})}, 0); }, {3});
  check_open("filled", [](const L& x) { return x + L::full(x.shape(), 2.5); }, {3});
  check_open("last", [](const L& x) { return x(slice(-1, std::nullopt)) * 2; }, {3});
  check_open("outer", [](const L& x) { return sum(x, {0}); }, {3});
  check_open("count", [](const L& x) { return x * L::arange(3, 2 * x.shape()[0] + 3, 2).reshape({-1, 1}); }, {1});
}

TEST_CASE("limits and rounding that show at large lengths only are refused") {
  const testing::TemporaryFolder folder;
  const auto refused = [&](const auto& f, const char* message) {
    CHECK_THROWS_WITH_AS(write_onnx(folder / "m.onnx",
                                    [&](std::int64_t n) {
                                      const L x = L::placeholder({n, 2}, DType::f32, "x");
                                      return Graph{{.inputs = {x}, .outputs = {f(x, n)}}};
                                    }),
                         doctest::Contains(message), GraphError);
  };
  refused([](const L& x, std::int64_t) { return x(slice(0, 5)) * 2; }, "the graphs of lengths 2 and 67 differ at node");
  refused([](const L& x, std::int64_t) { return x(slice(1, 5)) * 2; }, "a constant of 'slice', of type i64");
  refused([](const L& x, std::int64_t n) { return topk(x, std::min<std::int64_t>(n, 5), 0).values; },
          "write_onnx: the axis cannot be left open");
  refused([](const L& x, std::int64_t n) { return topk(x, std::min<std::int64_t>(n, 100), 0).values; },
          "write_onnx: the axis cannot be left open");
  const auto blocks = [](const L& x, std::int64_t n) {
    const std::int64_t whole = (n + 7) / 8 * 8;
    return sum(pad(x, {0, 0}, {whole - n, 0}).reshape({whole / 8, 8, 2}), {1});
  };
  refused(blocks, "write_onnx: the axis cannot be left open");
  CHECK(!std::filesystem::exists(folder / "m.onnx"));
}

TEST_CASE("what an open axis cannot be is refused, and so are names that are no names") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "m.onnx";
  const auto writes = [&](const auto& f, const OnnxNames& names = {}) {
    write_onnx(
        path,
        [&](std::int64_t n) {
          const L x = L::placeholder({n, 2}, DType::f32, "x");
          return Graph{{.inputs = {x}, .outputs = {f(x, n)}}};
        },
        names);
  };
  CHECK_THROWS_WITH_AS(
      writes([](const L& x, std::int64_t n) { return x * (1.0 / double(n)); }),
      doctest::Contains("write_onnx: the axis cannot be left open: a constant of 'multiply', of type f32 and shape () "
                        "with length 2, is neither the same for the lengths 2, 3, 5, 67, 1031 nor linear in them"),
      GraphError);
  CHECK_THROWS_WITH_AS(writes([](const L& x, std::int64_t n) { return n == 2 ? sin(x) : cos(x); }),
                       doctest::Contains("the graphs of lengths 2 and 3 differ at node 0, Sin and Cos"), GraphError);
  CHECK_THROWS_WITH_AS(
      write_onnx(path,
                 [](std::int64_t) {
                   const L x = L::placeholder({4, 2}, DType::f32, "x");
                   return Graph{{.inputs = {x}, .outputs = {x + 1}}};
                 }),
      "write_onnx: no input has an axis of the length with which the graph is made, so it cannot be open", GraphError);

  const L x = L::placeholder({4}, DType::f32, "x"), t = L::placeholder({4}, DType::f32, "t3");
  const Graph graph{{.inputs = {x, t}, .outputs = {x + t, x - t}}};
  CHECK_THROWS_WITH_AS(write_onnx(path, graph, {.outputs = {"sum"}}), "write_onnx: 1 names for 2 outputs", ValueError);
  CHECK_THROWS_WITH_AS(write_onnx(path, graph, {.outputs = {"sum", "sum"}}),
                       "write_onnx: 'sum' is the name of two inputs or outputs", ValueError);
  CHECK_THROWS_WITH_AS(write_onnx(path, graph, {.outputs = {"sum", "x"}}),
                       "write_onnx: 'x' is the name of two inputs or outputs", ValueError);
  CHECK_THROWS_WITH_AS(write_onnx(path, graph, {.outputs = {"sum", ""}}), "write_onnx: an output must have a name",
                       ValueError);
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("two inputs or outputs of one name are refused, those that are called so by default included") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "m.onnx";
  const auto named = [](const char* name) { return L::placeholder({4}, DType::f32, name); };
  const auto writes = [&](const char* first, const char* second, const OnnxNames& names = {}) {
    const L x = named(first), y = named(second);
    write_onnx(path, Graph{{.inputs = {x, y}, .outputs = {x + y, x - y}}}, names);
  };
  CHECK_THROWS_WITH_AS(writes("x", "x"), "write_onnx: 'x' is the name of two inputs or outputs", ValueError);
  CHECK_THROWS_WITH_AS(writes("x", "output:1"), "write_onnx: 'output:1' is the name of two inputs or outputs",
                       ValueError);
  CHECK(!std::filesystem::exists(path));
  writes("x", "output:1", {.outputs = {"output:0", "input:0"}});
  CHECK(read_onnx(path).inputs()[1].name == "output:1");
}

BOTH_MODES("inputs and outputs keep names that tensors inside of a written model would have") {
  using T = Tensor<Mode>;
  const testing::TemporaryFolder folder;
  const std::string path = folder / "m.onnx";
  const L x = L::placeholder({4}, DType::f32, "t3"), y = L::placeholder({4}, DType::f32, "t2");
  const L z = L::placeholder({4}, DType::f32, "t4_");
  const L sum = x * 2 + y * 3 + z * 4;
  write_onnx(path, Graph{{.inputs = {x, y, z}, .outputs = {sum, sum - x, sum}}}, {.outputs = {"t", "t5", "t4"}});
  OnnxModel<T> model = read_onnx<T>(path);
  CHECK(model.inputs()[0].name == "t3");
  CHECK(model.inputs()[1].name == "t2");
  const T a{1.0F, 2.0F, 3.0F, 4.0F}, b{1.0F, 1.0F, 1.0F, 2.0F}, c{0.0F, 1.0F, 0.0F, 1.0F};
  const NamedList<T> results = model({{"t3", a}, {"t2", b}, {"t4_", c}});
  CHECK(results["t"].template to_vector<float>() == std::vector<float>{5, 11, 9, 18});
  CHECK(results["t5"].template to_vector<float>() == std::vector<float>{4, 9, 6, 14});
  CHECK(results["t4"].template to_vector<float>() == std::vector<float>{5, 11, 9, 18});
}

}  // namespace tyto::onnx_tests
