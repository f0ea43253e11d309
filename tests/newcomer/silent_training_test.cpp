// SPDX-License-Identifier: MIT
// Training that would go wrong without a word: gradients of nothing, calls without a phase, and weights whose axes a
// file does not tell.
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/message.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using tyto_test::contains;
using tyto_test::message_of;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

constexpr const char* reads_none =
    "value_and_grad: the function reads none of the 2 variables that its gradient is asked for, the first of them "
    "'weight'; compute the loss inside of the function, by the model whose parameters() are given, or add "
    "sum(parameter) "
    "* 0.0 where there is none this time";
constexpr const char* without_phase =
    ": a gradient is taken in a call without a phase; write model(x, nn::training), or model(x, nn::inference) where "
    "it is not to train, in the outermost call";

}  // namespace

BOTH_MODES("a loss that was computed before, or by another model, is refused") {
  using T = Tensor<Mode>;
  const nn::Linear model({.in = 2, .out = 1}), other({.in = 2, .out = 1});
  const T x = T::ones({3, 2});
  const T early = mean(square(model(x)));
  const auto before = [&](const T&) { return early; };
  const auto of_other = [&](const T& in) { return T(mean(square(other(in)))); };
  CHECK_THROWS_WITH_AS(value_and_grad(before, model.parameters())(x), reads_none, GraphError);
  CHECK_THROWS_WITH_AS(value_and_grad(of_other, model.parameters())(x), reads_none, GraphError);
  CHECK_THROWS_WITH_AS(grad(of_other, model.parameters())(x), reads_none, GraphError);
  auto step = compile([&](T in) { return value_and_grad(of_other, model.parameters())(in).first; });
  CHECK_THROWS_WITH_AS(step(x), reads_none, GraphError);
}

BOTH_MODES("a loss of some of the parameters, or that is constant in them, has gradients of zeros") {
  using T = Tensor<Mode>;
  const T v = T::variable(2.0, "v"), w = T::variable(3.0, "w");
  const T x = 5.0, minus = -1.0;
  const auto gradients = [](auto f, const std::vector<T>& by, const T& at) {
    Numbers all;
    for (const T& each : value_and_grad(std::move(f), by)(at).second) all.push_back(each.template item<double>());
    return all;
  };
  CHECK(gradients([&](T in) { return v * in; }, {v, w}, x) == Numbers{5, 0});
  CHECK(gradients([&](T in) { return stop_gradient(v) * in; }, {v}, x) == Numbers{0});
  CHECK(gradients([&](T in) { return floor(v * in); }, {v}, x) == Numbers{0});
  // The gradient of a linear function, by the variable that it is linear in.
  const auto linear = [&](T in) { return v * in; };
  CHECK(gradients([&](T in) { return grad(linear, std::vector<T>{v})(in)[0]; }, {v}, x) == Numbers{0});
  CHECK(gradients([&](T in) { return grad(linear)(in) * v; }, {v}, x) == Numbers{4});
  // Which arm runs is decided by data.
  const auto chosen = [&](T in) {
    return cond(
        in > 0.0, [&](T y) { return T(y * w); }, [](T y) { return T(y); }, in);
  };
  CHECK(gradients(chosen, {w}, x) == Numbers{5});
  CHECK(gradients(chosen, {w}, minus) == Numbers{0});
  const auto never = [&](T in) { return fori_loop(0, 0, in, [&](const auto&, const T& y) { return T(y * w); }); };
  CHECK(gradients(never, {w}, x) == Numbers{0});
  // By arguments, as mathematics asks for, nothing is refused.
  CHECK(grad([](T in) { return T(sum(in)) * 0.0 + 1.0; })(x).template item<double>() == 0);
  CHECK(value_and_grad([&](T) { return v * 2.0; })(x).second[0].template item<double>() == 0);
  CHECK(numbers(hessian([](T in) { return T(sum(3.0 * in)); })(T::ones({2}))) == Numbers(4, 0));
  CHECK(value_and_grad([](T in) { return T(sum(in)); }, nn::ReLU().parameters())(x).second.empty());
}

BOTH_MODES("frozen layers, custom gradients and layers in loops are trained around") {
  using T = Tensor<Mode>;
  const nn::Sequential model{nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 1})};
  model.freeze("0");
  const T x = T::ones({3, 2});
  CHECK(value_and_grad([&](T in) { return T(sum(model(in))); }, model.parameters())(x).second.size() == 2);
  const T w = T::variable(2.0, "w");
  auto passed = custom_gradient<T>([](const auto& in) { return T(in[0] * 1.0); },
                                   [](const auto&, const T&, const T&) { return std::vector<T>{T()}; });
  CHECK(value_and_grad([&](T) { return passed({w}); }, {w})(x).second[0].template item<double>() == 0);
  const auto looped = [&](T in) {
    return T(sum(fori_loop(0, 2, in, [&](const auto&, const T& y) { return T(y * w); })));
  };
  CHECK(value_and_grad(looped, {w})(x).second[0].template item<double>() == 24);  // of 6 w^2
}

BOTH_MODES("a gradient through any layer that differs in training is refused where no phase was given") {
  using T = Tensor<Mode>;
  const T x = T::ones({2, 4, 3});
  const T words = T::zeros({2, 4}, DType::i64);
  const nn::MultiheadAttention attention({.features = 3, .heads = 1, .dropout = 0.5});
  const nn::GRU gru({.in = 3, .hidden = 3, .layers = 2, .dropout = 0.5});
  const nn::SpectralNorm spectral(nn::Linear({.in = 3, .out = 3}));
  const nn::Embedding embedding({.count = 5, .features = 3, .max_norm = 1.0});
  const auto refused = [&](const char* layer, const nn::Module& model, auto call) {
    CAPTURE(layer);
    const auto gradient = [&](auto... phase) {
      auto step = compile([&](T in) {
        return value_and_grad([&](const T& v) { return T(sum(call(v, phase...))); }, model.parameters())(in).first;
      });
      return message_of<ValueError>([&] { step(x); });
    };
    CHECK(contains(gradient(), layer + std::string(without_phase)));
    CHECK(gradient(nn::training).empty());
    CHECK(gradient(nn::inference).empty());
    CHECK_NOTHROW(call(x));  // no gradient: inference
  };
  using Masks = AttentionOptions<Mode>;
  refused("MultiheadAttention", attention, [&]<class... P>(const T& v, P... phase) {
    if constexpr (sizeof...(P) == 0) return attention(v, v, v);
    else return attention(v, v, v, Masks{}, phase...);
  });
  refused("GRU", gru, [&](const T& v, auto... phase) { return gru.run(v, {}, phase...).output; });
  refused("SpectralNorm", spectral, [&](const T& v, auto... phase) { return spectral(v, phase...); });
  refused("Embedding", embedding, [&](const T&, auto... phase) { return embedding(words, phase...); });

  // Layers that do the same in both phases need none.
  const nn::MultiheadAttention plain({.features = 3, .heads = 1});
  const nn::Embedding free({.count = 5, .features = 3});
  CHECK_NOTHROW(value_and_grad([&](const T& v) { return T(sum(plain(v, v, v))); }, plain.parameters())(x));
  CHECK_NOTHROW(value_and_grad([&](const T&) { return T(sum(free(words))); }, free.parameters())(x));
}

BOTH_MODES("square weights of another program are not loaded without saying whose axes they have") {
  using T = Tensor<Mode>;
  const tyto::testing::TemporaryFolder folder;
  const std::string by_tools = folder / "square.safetensors", unmarked = folder / "unmarked.safetensors";
  const float elements[] = {1, 2, 3, 4};
  const auto write = [&](const std::string& path, const std::string& marked) {
    const std::string header = "{" + marked + R"("weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
    const std::uint64_t size = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), 8) << header;
    out.write(reinterpret_cast<const char*>(elements), 16);
  };
  write(by_tools, R"("__metadata__":{"format":"pt"},)");
  write(unmarked, "");
  const nn::Linear model({.in = 2, .out = 2, .bias = false});
  const T x{{1.0, 0.0}};
  // numpy.savez(square.npz, weight=numpy.array([[1, 2], [3, 4]], numpy.float32))
  for (const std::string& file : {std::string("tests/newcomer/data/square.npz"), by_tools}) {
    CHECK(message_of<IoError>([&] { nn::load(model, file); }) ==
          file +
              ": another program wrote it, and 'weight' of shape (2,2), like all of its weights, fits with axes in "
              "PyTorch's order and in Tyto's; say which by {.layout = nn::WeightLayout::pytorch} or {.layout = "
              "nn::WeightLayout::tyto}");
    nn::load(model, file, {.layout = nn::WeightLayout::pytorch});
    CHECK(numbers(model(x)) == Numbers{1, 3});
    nn::load(model, file, {.layout = nn::WeightLayout::tyto});
    CHECK(numbers(model(x)) == Numbers{1, 2});
  }
  nn::load(model, unmarked);
  CHECK(numbers(model(x)) == Numbers{1, 2});
  // Files that Tyto wrote are its own, and where another weight fits in one order only, it tells.
  for (const char* name : {"own.npz", "own.safetensors"}) {
    nn::save(model, folder / name);
    const nn::Linear copy({.in = 2, .out = 2, .bias = false});
    nn::load(copy, folder / name);
    CHECK(numbers(copy(x)) == Numbers{1, 2});
  }
  const nn::Sequential two{nn::Linear({.in = 2, .out = 2}), nn::Linear({.in = 2, .out = 3})};
  nn::load(two, "tests/newcomer/data/tyto_axes.npz");  // the same by NumPy, of weights (2, 2) and (2, 3)
  CHECK(numbers(two.parameters()[0]) == Numbers{1, 2, 3, 4});
  const nn::Embedding table({.count = 2, .features = 2});  // has no axes to exchange
  nn::load(table, "tests/newcomer/data/square.npz");
  CHECK(numbers(table.weight) == Numbers{1, 2, 3, 4});
}

TEST_CASE("a placeholder may have a name that begins as those of arguments do") {
  using T = Tensor<Lazy>;
  const T x = T::placeholder({2}, DType::f32, "argument of the loss");
  CHECK(contains(message_of<GraphError>([&] { sum(x * 2.0).item<double>(); }),
                 "input 'argument of the loss' of shape (2,) is read before a value was assigned to it"));
  std::vector<T> kept;
  auto f = compile([&](T y) {
    kept.push_back(y * 2.0);
    return y;
  });
  f(T{1.0, 2.0});
  CHECK(contains(message_of<GraphError>([&] { sum(kept[0]).item<double>(); }), "is used outside of it; return it"));
}
