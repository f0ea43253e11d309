// SPDX-License-Identifier: MIT
// Saved graphs: a loaded one computes the same, what cannot be saved is named, damaged files are refused.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace saved_graph_test {

namespace {

using Tensor = tyto::Tensor<tyto::Lazy>;
using tyto::Graph;
using tyto::slice;

/// Window, index, view, reduction and ordering operators, a state that is updated, constants, and one input.
struct Model {
  Tensor x = Tensor::placeholder({2, 6, 6, 1}, tyto::DType::f32, "x");
  Tensor weight = Tensor::variable(Tensor::linspace(-1, 1, 18).reshape({3, 3, 1, 2}), "weight");
  Tensor total = Tensor::persistent(Tensor::zeros({2}), "total");
  Graph graph = make();

  Graph make() {
    const Tensor features = relu(convolution(x, weight));
    const Tensor pooled = max_pool(features, {2});
    const Tensor rows = pooled.reshape({2, -1});
    const Tensor part = rows(tyto::all, slice(1, 7, 2));
    const Tensor padded = pad(part, {0, 1}, {0, 1});
    const Tensor sorted = sort(concat(std::vector<Tensor>{padded, -padded}, 1), 1);
    const Tensor picked = take(sorted, Tensor{2, 0, 1}, 1);
    const Tensor sums = sum(picked, 1);
    return Graph{
        {.inputs = {x}, .outputs = {softmax(sorted), sums, argmax(rows, 1)}, .updates = {{total, total + sums}}}};
  }
};

Tensor picture(float offset) { return Tensor::linspace(-1, 1, 72).reshape({2, 6, 6, 1}) + offset; }

// The hash that stands behind the magic and the version, as FNV-1a is published: so that tampering gets past it.
void seal(std::vector<std::byte>& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 20; i < bytes.size(); ++i)
    hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 1099511628211u;
  std::memcpy(bytes.data() + 12, &hash, sizeof hash);
}

// The types of all nodes, without operators and attributes.
std::string types_of(const Graph& graph) {
  std::string out;
  const std::string text = graph.text();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::size_t colon = text.find(" : ", at);
    const std::size_t end = text.find('\n', at);
    if (colon < end) out += text.substr(colon, end - colon);
  }
  return out;
}

}  // namespace

TEST_CASE("a saved graph computes what the graph computed, its states as they were when it was saved") {
  Model model;
  model.graph.set(model.x, picture(0));
  model.graph.run();
  const tyto::testing::TemporaryFolder folder;
  const std::string path = folder / "model.graph";
  tyto::save_graph(path, model.graph);
  Graph loaded = tyto::load_graph(path);

  REQUIRE(loaded.inputs().size() == 1);
  REQUIRE(loaded.output_count() == 3);
  REQUIRE(loaded.variables().size() == 1);
  CHECK(loaded.variables()[0].to_vector<float>() == model.weight.to_vector<float>());
  for (const float offset : {0.25f, -0.5f}) {
    model.graph.set(model.x, picture(offset));
    loaded.set(loaded.inputs()[0], picture(offset));
    model.graph.run();
    loaded.run();
    CHECK(loaded.output(0).to_vector<float>() == model.graph.output(0).to_vector<float>());
    CHECK(loaded.output(1).to_vector<float>() == model.graph.output(1).to_vector<float>());
    CHECK(loaded.output(2).to_vector<std::int64_t>() == model.graph.output(2).to_vector<std::int64_t>());
  }
  // total was saved after one run, so the loaded graph's own copy saw all three.
  CHECK(loaded.text() == model.graph.text());
}

TEST_CASE("a loaded graph and the graph it was saved from keep separate states") {
  const Tensor counter = Tensor::variable(Tensor{1.0}, "counter");
  Graph graph{{.outputs = {counter * 1.0f}, .updates = {{counter, counter + 1.0f}}}};
  Graph loaded = Graph::from_bytes(graph.to_bytes());
  for (int i = 0; i < 3; ++i) loaded.run();
  CHECK(loaded.output(0).item<float>() == 3.0f);
  CHECK(counter.item<float>() == 1.0f);
}

TEST_CASE("random numbers of a loaded graph are drawn anew at each run, and repeat after the seed is set") {
  Graph graph{{.outputs = {Tensor::uniform({8})}}};
  Graph loaded = Graph::from_bytes(graph.to_bytes());
  tyto::seed(7);
  loaded.run();
  const std::vector<float> first = loaded.output(0).to_vector<float>();
  loaded.run();
  CHECK(loaded.output(0).to_vector<float>() != first);
  tyto::seed(7);
  loaded.run();
  CHECK(loaded.output(0).to_vector<float>() == first);
}

TEST_CASE("labels, user gradients already taken and every element type survive saving") {
  std::vector<Tensor> outputs;
  for (int type = 0; type < tyto::dtype_count; ++type)
    outputs.push_back(Tensor{0.0, 1.0, 1.0}.astype(static_cast<tyto::DType>(type)));
  Graph graph{{.outputs = outputs}};
  Graph loaded = Graph::from_bytes(graph.to_bytes());
  loaded.run();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CHECK(loaded.output(i).dtype() == static_cast<tyto::DType>(i));
    CHECK(loaded.output(i).astype(tyto::DType::i64).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 1});
  }
}

TEST_CASE("a graph that holds a function of this program is refused by the function's name") {
  const Tensor x = Tensor::placeholder({2}, tyto::DType::f32, "x");
  const Tensor y = tyto::delay<tyto::Lazy>({2}, tyto::DType::f32,
                                           [](const std::vector<tyto::Tensor<tyto::Eager>>& in) { return in[0]; }, {x});
  const Graph graph{{.inputs = {x}, .outputs = {y}}};
  CHECK_THROWS_WITH_AS(graph.to_bytes(),
                       "save: the graph holds 'delay', a function of this program, which no file can hold; compose "
                       "it of Tyto's operators",
                       tyto::GraphError);
}

TEST_CASE("the text of a graph has a line a node") {
  const Tensor x = Tensor::placeholder({2, 3}, tyto::DType::f32, "x");
  const Graph graph{{.inputs = {x}, .outputs = {sum(x * x, 1)}}};
  CHECK(graph.text() ==
        "%0 = read : f32(2,3) \"x\"\n"
        "%1 = multiply %0 %0 : f32(2,3)\n"
        "%2 = sum %1 {axes=(1,) keepdims=false} : f32(2,)\n"
        "outputs %2\n");
}

TEST_CASE("files that are no graphs are refused with the place and the reason") {
  Model model;
  const std::vector<std::byte> whole = model.graph.to_bytes();
  const std::span<const std::byte> bytes(whole);
  CHECK_THROWS_WITH_AS(Graph::from_bytes({}, "empty.graph"),
                       "empty.graph: at byte 0: the mark of a graph file takes 8 bytes, 0 are left", tyto::IoError);
  std::vector<std::byte> other(64, std::byte{'x'});
  CHECK_THROWS_WITH_AS(Graph::from_bytes(other, "other.graph"), "other.graph: at byte 8: this is no graph file of Tyto",
                       tyto::IoError);
  std::vector<std::byte> later = whole;
  later[8] = std::byte{9};
  CHECK_THROWS_WITH_AS(Graph::from_bytes(later, "later.graph"),
                       "later.graph: at byte 12: version 9 of the format; versions 1 and 2 are known", tyto::IoError);
  std::vector<std::byte> damaged = whole;
  damaged[whole.size() / 2] ^= std::byte{1};
  CHECK_THROWS_WITH_AS(Graph::from_bytes(damaged, "damaged.graph"),
                       "damaged.graph: at byte 20: the file is damaged: its hash differs", tyto::IoError);
  CHECK_THROWS_AS(tyto::load_graph("/nowhere/at.all"), tyto::IoError);
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    CHECK_THROWS_AS(Graph::from_bytes(bytes.first(length)), tyto::IoError);
  }
  // Cut off and sealed anew, so that the hash agrees with what is left.
  for (std::size_t length = 20; length < whole.size(); length += 11) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    seal(cut);
    CHECK_THROWS_AS(Graph::from_bytes(cut), tyto::IoError);
  }
}

TEST_CASE("a file whose graph updates one state twice is refused") {
  const Tensor a = Tensor::variable(Tensor::ones({2}), "a"), b = Tensor::variable(Tensor::ones({3}), "b");
  const std::vector<std::byte> whole =
      Graph{{.inputs = {}, .outputs = {}, .updates = {{a, a + 1}, {b, b * 2}}}}.to_bytes();
  int refused = 0;
  // The count of updates stands before pairs of an input and its new value, all numbers of four bytes.
  for (std::size_t at = 20; at + 20 <= whole.size(); ++at) {
    std::uint32_t numbers[5];
    std::memcpy(numbers, whole.data() + at, sizeof numbers);
    if (numbers[0] != 2 || numbers[1] + numbers[3] != 1) continue;
    std::vector<std::byte> bytes = whole;
    std::memcpy(bytes.data() + at + 12, &numbers[1], 4);
    seal(bytes);
    try {
      (void)Graph::from_bytes(bytes, "twice.graph");
    } catch (const tyto::IoError& error) {
      refused += std::string(error.what()).find("' is updated twice") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(refused == 1);
}

TEST_CASE("tampered files are refused or give a graph that runs within its memory") {
  Model model;
  const std::vector<std::byte> whole = model.graph.to_bytes();
  const std::string types = types_of(model.graph);
  std::mt19937 random(1);
  int refused = 0;
  int ran = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (int change = 0; change < 1 + round % 3; ++change) {
      const std::size_t place = 20 + random() % (bytes.size() - 20);
      bytes[place] = round % 2 == 0 ? static_cast<std::byte>(random()) : bytes[place] ^ std::byte{1};
    }
    seal(bytes);
    try {
      Graph graph = Graph::from_bytes(bytes);
      // Other shapes may ask for any amount of memory; with the shapes that it had it must run or say why not.
      if (types_of(graph) != types || graph.inputs().size() != 1) continue;
      graph.set(graph.inputs()[0], picture(0));
      graph.run();
      ++ran;
    } catch (const tyto::Error&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
  CHECK(ran > 100);
}

}  // namespace saved_graph_test
