// SPDX-License-Identifier: MIT
// Recurrent layers, attention and embeddings: continuity, masks in both modes, and what they refuse.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn {
namespace {

template <class M>
bool close(const Tensor<M>& a, const Tensor<M>& b) {
  return allclose(a, b, 1e-5, 1e-6);
}

}  // namespace

TEST_CASE_TEMPLATE("reading in two parts with the state handed on is reading at once", M, Eager, Lazy) {
  using T = Tensor<M>;
  seed(2);
  const T x = T::normal({2, 6, 3});
  const LSTM lstm({.in = 3, .hidden = 4, .layers = 2});
  const Recurrence<M> first = lstm.run(x(all, slice(0, 2)));
  const Recurrence<M> second = lstm.run(x(all, slice(2, 6)), first.state);
  CHECK(close(concat(std::vector<T>{first.output, second.output}, 1), lstm(x)));
  const GRU gru({.in = 3, .hidden = 4});
  const Recurrence<M> half = gru.run(x(all, slice(0, 3)));
  CHECK(!half.state.cell.defined());
  CHECK(close(gru.run(x(all, slice(3, 6)), half.state).output, gru(x)(all, slice(3, 6))));
}

TEST_CASE("a recurrent layer is recorded once, however long the sequence is") {
  const LSTM lstm({.in = 3, .hidden = 4, .layers = 2, .bidirectional = true});
  const auto nodes = [&](std::int64_t length) {
    auto loss = compile([&](Tensor<Lazy> x) { return sum(square(lstm(x))); });
    auto gradient =
        compile([&](Tensor<Lazy> x) { return grad([&](Tensor<Lazy> in) { return sum(square(lstm(in))); })(x); });
    const Tensor<Lazy> x = Tensor<Lazy>::ones({2, length, 3});
    loss(x);
    gradient(x);
    return std::pair(loss.report().passes.nodes_before, gradient.report().passes.nodes_before);
  };
  CHECK(nodes(3) == nodes(30));
}

TEST_CASE_TEMPLATE("dropout between recurrent layers acts in training alone", M, Eager, Lazy) {
  using T = Tensor<M>;
  const GRU gru({.in = 3, .hidden = 8, .layers = 2, .dropout = 0.5});
  const T x = T::ones({2, 3, 3});
  CHECK(array_equal(gru(x), gru(x)));
  CHECK(!array_equal(gru(x, training), gru(x)));
}

TEST_CASE_TEMPLATE("a causal mask hides what comes later, a mask of keys hides padding", M, Eager, Lazy) {
  using T = Tensor<M>;
  seed(4);
  const MultiheadAttention attention({.features = 8, .heads = 2});
  const T x = T::normal({2, 5, 8});
  T other = x;
  other(all, slice(3, 5)) = T::normal({2, 2, 8});
  const T before = attention(x, {.causal = true}), after = attention(other, {.causal = true});
  CHECK(close(before(all, slice(0, 3)), after(all, slice(0, 3))));
  CHECK(!close(before(all, slice(3, 5)), after(all, slice(3, 5))));
  const T keys{{true, true, true, false, false}, {true, true, true, false, false}};
  CHECK(close(attention(x, {.key_mask = keys})(all, slice(0, 3)),
              attention(other, {.key_mask = keys})(all, slice(0, 3))));
}

TEST_CASE_TEMPLATE("a block reads on place by place with a cache, compiled once, as it reads all at once", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  seed(4);
  for (const bool norm_first : {false, true}) {
    const TransformerEncoderLayer block(
        {.features = 8, .heads = 2, .hidden = 16, .dropout = 0.5, .norm_first = norm_first});
    const T x = T::normal({3, 5, 8});
    const T whole = block(x, {.causal = true});
    const AttentionCache cache = block.self_attn.make_cache(3, 7);
    int calls = 0;
    auto next = compile([&](T place, T position) {
      ++calls;
      return block.next(place, position, cache);
    });
    for (const std::int64_t round : {0, 1}) {  // a sequence begun anew writes over what the one before left
      CAPTURE(round);
      for (std::int64_t i = 0; i < 5; ++i) {
        const T y = next(x(all, slice(i, i + 1)), T::full({}, i, DType::i64));
        CHECK(close(y, whole(all, slice(i, i + 1))));
      }
    }
    CHECK(calls == (std::is_same_v<M, Lazy> ? 1 : 10));
  }
}

TEST_CASE_TEMPLATE("attention that adds keys reads on with a cache as it reads all at once", M, Eager, Lazy) {
  using T = Tensor<M>;
  seed(5);
  const MultiheadAttention attention({.features = 6, .heads = 3, .extra_key = true, .zero_key = true});
  const T x = T::normal({2, 4, 6});
  const T whole = attention(x, {.mask = T::ones({4, 1}, DType::boolean), .causal = true});
  const AttentionCache cache = attention.make_cache(2, 5);
  auto next = compile([&](T place, T position) { return attention.next(place, position, cache); });
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(close(next(x(all, slice(i, i + 1)), T::full({}, i, DType::i64)), whole(all, slice(i, i + 1))));
  }
}

TEST_CASE_TEMPLATE("a query that may look nowhere gives zeros and finite gradients", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T q = T::ones({1, 2, 3});
  const T mask{{false, false}, {true, false}};
  const auto attend = [&](const T& x) { return scaled_dot_product_attention(x, x, x, {.mask = mask}); };
  CHECK(attend(q).template to_vector<float>() == std::vector<float>{0, 0, 0, 1, 1, 1});
  const T gradient = grad([&](const T& x) { return sum(square(attend(x))); })(q);
  CHECK(bool(all(isfinite(gradient))));
}

TEST_CASE_TEMPLATE("the row of the padding index is not trained", M, Eager, Lazy) {
  using T = Tensor<M>;
  const Embedding embedding({.count = 3, .features = 2, .padding = 1});
  Descent descent = sgd({.rate = 1});
  const T indices{{0, 1}, {1, 2}};
  auto [loss, gradients] =
      value_and_grad([&](const T& i) { return sum(embedding(i)); }, embedding.parameters())(indices);
  descent.update(embedding.parameters(), gradients);
  const std::vector<float> rows = gradients[0].template to_vector<float>();
  CHECK(rows == std::vector<float>{1, 1, 0, 0, 1, 1});
}

TEST_CASE_TEMPLATE("long rows of an embedding are shortened for good in training, and read short in inference", M,
                   Eager, Lazy) {
  using T = Tensor<M>;
  const Embedding embedding({.count = 3, .features = 2, .max_norm = 5, .initial = constant_weights(30)});
  assign(embedding.weight, Tensor<Any>(T{{30.0, 40.0}, {3.0, 4.0}, {60.0, 80.0}}.value()));
  const auto rows = [&] { return embedding.weight.to_vector<float>(); };
  const auto near = [](const std::vector<float>& found, const std::vector<float>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  };
  near(embedding(T{0, 1, 0}).template to_vector<float>(), {3, 4, 3, 4, 3, 4});
  near(rows(), {30, 40, 3, 4, 60, 80});
  near(embedding(T{0, 1, 0}, training).template to_vector<float>(), {3, 4, 3, 4, 3, 4});
  near(rows(), {3, 4, 3, 4, 60, 80});
  // Looked up twice in one objective, the second time from what the first one left.
  const auto twice = [&](const T& i) { return sum(embedding(i, training)) + sum(embedding(i, training)); };
  const std::vector<Tensor<M>> gradients = [&] {
    std::vector<Tensor<M>> list;
    for (const auto& each : value_and_grad(twice, embedding.parameters())(T{2}).second) list.emplace_back(each.value());
    return list;
  }();
  CHECK(gradients[0].template to_vector<float>() == std::vector<float>{0, 0, 0, 0, 2, 2});
  near(rows(), {3, 4, 3, 4, 3, 4});
}

TEST_CASE_TEMPLATE("of equal largest elements of a bag the first is trained", M, Eager, Lazy) {
  using T = Tensor<M>;
  const EmbeddingBag bag({.count = 3, .features = 2, .mode = BagMode::max});
  assign(bag.weight, Tensor<Any>(T{{1.0, 5.0}, {1.0, 3.0}, {0.0, 5.0}}.value()));
  const auto gradient = [&](const auto& objective, const T& indices) {
    return value_and_grad(objective, bag.parameters())(indices).second[0].template to_vector<float>();
  };
  CHECK(gradient([&](const T& i) { return sum(bag(i)); }, T{{1, 0, 2}, {2, 0, 1}}) ==
        std::vector<float>{1, 1, 1, 0, 0, 1});
  CHECK(gradient(
            [&](const T& i) {
              return sum(bag(i, {.offsets = T{0, 3, 3}}));
            },
            T{1, 0, 2, 2, 0, 1}) == std::vector<float>{1, 1, 1, 0, 0, 1});
}

TEST_CASE_TEMPLATE("bags of embeddings of half width count and add up beyond what their type counts to", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const BagMode mode : {BagMode::sum, BagMode::mean}) {
      const EmbeddingBag bag({.count = 2, .features = 1, .mode = mode, .dtype = type});
      assign(bag.weight, Tensor<Any>(T{{16.0}, {4.0}}.astype(type).value()));
      // 4096 places of 16 and 2048 of 4: their sum, 73728, is infinite in f16, and their mean 12.
      const T indices = floor_divide(T::arange(6144), 4096);
      const float expected = mode == BagMode::mean ? 12 : type == DType::bf16 ? 73728 : INFINITY;
      CHECK(bag(indices.reshape({1, -1})).template to_vector<float>() == std::vector{expected});
      CHECK(bag(indices, {.offsets = T{0}}).template to_vector<float>() == std::vector{expected});
    }
  }
}

TEST_CASE("places before the first of offsets that only a run tells are in no bag") {
  using T = Tensor<Lazy>;
  for (const BagMode mode : {BagMode::sum, BagMode::max}) {
    const EmbeddingBag bag({.count = 6, .features = 1, .mode = mode});
    assign(bag.weight, Tensor<Any>(T{{0.0}, {1.0}, {2.0}, {3.0}, {4.0}, {5.0}}.value()));
    auto compiled = compile([&](T offsets) { return bag(T::arange(6), {.offsets = offsets}); });
    const std::vector<float> expected = mode == BagMode::sum ? std::vector{5.0f, 9.0f} : std::vector{3.0f, 5.0f};
    CHECK(compiled(T{2, 4}).to_vector<float>() == expected);
  }
}

TEST_CASE("bags of embeddings refuse what does not fit") {
  using T = Tensor<Eager>;
  const EmbeddingBag bag({.count = 3, .features = 2});
  CHECK_THROWS_WITH_AS(EmbeddingBag({.count = 3}), "EmbeddingBag: count = 3 and features = 0 must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(EmbeddingBag({.count = 3, .features = 2, .max_norm = 0}),
                       "EmbeddingBag: max_norm = 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(Embedding({.count = 3, .features = 2, .p = -1}), "Embedding: p = -1 must be positive",
                       ValueError);
  CHECK_THROWS_WITH_AS(bag(T{0, 1}), "EmbeddingBag: indices (2,) must be (bags, length), or (places,) with offsets",
                       ShapeError);
  CHECK_THROWS_WITH_AS(bag(T{{0, 1}}, {.offsets = T{0}}),
                       "EmbeddingBag: indices (1,2) must be (bags, length), or (places,) with offsets", ShapeError);
  CHECK_THROWS_WITH_AS(bag(T{0, 1}, {.offsets = T{0.0}}), "EmbeddingBag: offsets (1,) of f32 must be integers (bags,)",
                       ShapeError);
  for (const auto& [offsets, what] : {std::pair(T{1, 2}, "offset 0 is 1"), std::pair(T{0, 2, 1}, "offset 2 is 1"),
                                      std::pair(T{0, 3}, "offset 1 is 3")}) {
    CHECK_THROWS_WITH_AS(bag(T{0, 1}, {.offsets = offsets}),
                         (std::string("EmbeddingBag: ") + what +
                          "; the first is 0, none is below the one before it or above the 2 places")
                             .c_str(),
                         ValueError);
  }
  CHECK_THROWS_WITH_AS(bag(T{0, 1}, {.offsets = T::zeros({0}, DType::i64)}),
                       "EmbeddingBag: 2 places are in no bag: there are no offsets", ShapeError);
  CHECK_THROWS_WITH_AS(bag(T{{0, 1}}, {.weights = T{{1.0, 2.0}}}),
                       "EmbeddingBag: weights (1,2) are of the indices (1,2) of a sum, BagMode::sum", ShapeError);
  CHECK(bag(T::zeros({2, 0}, DType::i64)).to_vector<float>() == std::vector<float>{0, 0, 0, 0});
}

TEST_CASE_TEMPLATE("noise is drawn in training alone, with the mean of what it disturbs", M, Eager, Lazy) {
  using T = Tensor<M>;
  seed(6);
  const T x = T::ones({4, 50, 50, 2});
  for (const Step& step :
       {Step(ChannelDropout(0.5)), Step(AlphaDropout(0.3)), Step(GaussianNoise(0.5)), Step(GaussianDropout(0.3))}) {
    CHECK(array_equal(step.layer()(x), x));
  }
  CHECK(mean(GaussianNoise(0.5)(x, training)).template item<float>() == doctest::Approx(1).epsilon(0.02));
  CHECK(stddev(GaussianDropout(0.2)(x, training)).template item<float>() == doctest::Approx(0.5).epsilon(0.02));
  // Whole channels of a sample are dropped.
  const T dropped = ChannelDropout(0.5)(x, training);
  CHECK(array_equal(max(dropped, {1, 2}), min(dropped, {1, 2})));
  // Mean 0 and variance 1 are kept.
  const T normal = T::normal({100000});
  const T alpha = AlphaDropout(0.3)(normal, training);
  CHECK(std::abs(mean(alpha).template item<float>()) < 0.02f);
  CHECK(stddev(alpha).template item<float>() == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("recurrent layers, attention and embeddings refuse what does not fit, by name and shape") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(LSTM({.in = 3}), "LSTM: in = 3, hidden = 0 and layers = 1 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(GRU({.in = 3, .hidden = 2, .dropout = 1}), "GRU: the dropout 1 must be in [0, 1)", ValueError);
  const LSTM lstm({.in = 3, .hidden = 2});
  CHECK_THROWS_WITH_AS(lstm(T::zeros({2, 3})), "LSTM: x (2,3) must be (batch, time, 3) with at least one time step",
                       ShapeError);
  CHECK_THROWS_WITH_AS(lstm(T::zeros({2, 5, 3}, DType::i64)), "LSTM: x is i64; a floating type is expected", TypeError);
  CHECK_THROWS_WITH_AS(lstm.run(T::zeros({2, 5, 3}), {.hidden = T::zeros({2, 2})}),
                       "LSTM: the initial hidden state (2,2) must be (1,2,2)", ShapeError);
  CHECK_THROWS_WITH_AS(GRU({.in = 3, .hidden = 2}).run(T::zeros({2, 5, 3}), {.cell = T::zeros({1, 2, 2})}),
                       "GRU: it has no cell state; only the hidden state can be given", ValueError);
  CHECK_THROWS_WITH_AS(MultiheadAttention({.features = 4, .heads = 3}),
                       "MultiheadAttention: heads = 3 must divide features = 4", ValueError);
  const MultiheadAttention attention({.features = 4});
  CHECK_THROWS_WITH_AS(attention(T::zeros({2, 5, 3})),
                       "MultiheadAttention: the query (2,5,3) must be (batch, length, 4)", ShapeError);
  const T q = T::zeros({2, 5, 4});
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, T::zeros({2, 5, 3}), q),
                       "scaled_dot_product_attention: queries (2,5,4) and keys (2,5,3) must have equally many features",
                       ShapeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, q, T::zeros({2, 3, 4})),
                       "scaled_dot_product_attention: there must be as many keys (2,5,4) as values (2,3,4)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(T::zeros({4}), q, q),
                       "scaled_dot_product_attention: (4,) must be (..., length, features)", ShapeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(T::zeros({2, 5, 4}, DType::i32), q, q),
                       "scaled_dot_product_attention: given is i32; a floating type is expected", TypeError);
  CHECK_THROWS_WITH_AS(
      scaled_dot_product_attention(q, q, q, {.mask = T::zeros({5, 5}, DType::i64)}),
      "scaled_dot_product_attention: the mask is i64; bool (true: may look) or a floating type (added) "
      "is expected",
      TypeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, q, q, {.key_mask = T::ones({2, 5})}),
                       "scaled_dot_product_attention: the key mask is f32; bool is expected, true where a key is no "
                       "padding",
                       TypeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, q, q, {.key_mask = T{{true, false}}}),
                       "scaled_dot_product_attention: the key mask is (1,2), it must be (batch, keys) of queries "
                       "(2,5,4) and keys (2,5,4)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, q, q, {.dropout = 1}),
                       "scaled_dot_product_attention: the dropout 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(Embedding({.count = 3, .features = 2})(q), "Embedding: indices are f32; integers are expected",
                       TypeError);
  CHECK_THROWS_WITH_AS(Embedding({.count = 3}), "Embedding: count = 3 and features = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(Embedding({.count = 3, .features = 2, .padding = 3}),
                       "Embedding: the padding index 3 is not below the count 3", IndexError);
  CHECK_THROWS_WITH_AS(Bilinear({.left = 2}), "Bilinear: left = 2, right = 0 and out = 0 must be at least 1",
                       ValueError);
  CHECK_THROWS_WITH_AS(Bilinear({.left = 2, .right = 3, .out = 1})(T::zeros({1, 3}), T::zeros({1, 2})),
                       "Bilinear: the last axes of (1,3) and (1,2) must be 2 and 3, the others equal", ShapeError);
}

TEST_CASE("caches of attention refuse what does not fit") {
  using T = Tensor<Eager>;
  const MultiheadAttention attention({.features = 4, .heads = 2});
  CHECK_THROWS_WITH_AS(attention.make_cache(0, 3),
                       "MultiheadAttention: a cache for 0 sequences of 3 places; both must be at least 1", ValueError);
  const AttentionCache cache = attention.make_cache(2, 3);
  CHECK_THROWS_WITH_AS(attention.next(T::zeros({2, 2, 4}), T(0), cache),
                       "MultiheadAttention: x (2,2,4) must be (2, 1, features), a place of each sequence of the cache",
                       ShapeError);
  CHECK_THROWS_AS(attention.next(T::zeros({1, 1, 4}), T(0), cache), ShapeError);
  const MultiheadAttention across({.features = 4, .heads = 2, .key_features = 3});
  CHECK_THROWS_WITH_AS(across.make_cache(1, 1),
                       "MultiheadAttention: a cache is for self-attention; keys have 3 features and values 4, not 4",
                       ValueError);
}

TEST_CASE("layers without weights refuse what they cannot take, by name and shape") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS(ConvTranspose2d({.in = 3, .out = 4})(T::zeros({1, 8, 8, 2})),
                       "ConvTranspose2d: x (1,8,8,2) must have 4 axes, the last of 3 channels", ShapeError);
  CHECK_THROWS_WITH_AS(Conv1d({.in = 3, .out = 4, .window = 0}), "Conv1d: the window (0,) must have lengths from 1 on",
                       ValueError);
  CHECK_THROWS_WITH_AS(GRU({.in = 2, .hidden = 3, .projection = 2}), "GRU: the projection 2 must be 0; an LSTM has one",
                       ValueError);
  CHECK_THROWS_WITH_AS(LSTM({.in = 2, .hidden = 3, .projection = 3}),
                       "LSTM: the projection 3 must be 0 (none), or from 1 to below hidden = 3", ValueError);
  CHECK_THROWS_WITH_AS(GlobalAveragePool()(T::zeros({2, 3})),
                       "GlobalAveragePool: x (2,3) must be (batch, spatial..., channels)", ShapeError);
  const T cubes = T::arange(16).astype(tyto::DType::f32).reshape({1, 2, 2, 2, 2, 1});
  CHECK(GlobalMaxPool()(cubes).to_vector<double>() == std::vector<double>{15});
  CHECK(AdaptiveMaxPool({2, 1, 1, 2})(cubes).to_vector<double>() == std::vector<double>{6, 7, 14, 15});
  CHECK_THROWS_WITH_AS(AdaptiveMaxPool({2, 2, 2})(T::zeros({2, 4, 4, 3})),
                       "AdaptiveMaxPool: the size (2,2,2) must have 1 or 2 lengths", ShapeError);
  CHECK_THROWS_WITH_AS(AdaptiveMaxPool(0)(T::zeros({2, 4, 4, 3})),
                       "AdaptiveMaxPool: the size (0,) must have lengths from 1 on", ValueError);
  CHECK_THROWS_WITH_AS(Pad(Padding(same))(T::zeros({2, 4, 4, 3})), "Pad: counts of elements are expected", ValueError);
  CHECK_THROWS_WITH_AS(PixelShuffle(2)(T::zeros({1, 4, 4, 3})),
                       "PixelShuffle: x (1,4,4,3) must have 4 axes, the last a multiple of 4", ShapeError);
  CHECK_THROWS_WITH_AS(PixelShuffle(0), "PixelShuffle: the factor 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(PixelUnshuffle(2)(T::zeros({1, 3, 4, 3})),
                       "PixelUnshuffle: x (1,3,4,3) must have 4 axes, rows and columns multiples of 2", ShapeError);
  CHECK_THROWS_WITH_AS(ChannelDropout(0.5)(T::zeros({2, 3})),
                       "ChannelDropout: x (2,3) must be (batch, spatial..., channels)", ShapeError);
  CHECK_THROWS_WITH_AS(GaussianNoise(-1), "GaussianNoise: the deviation -1 must be finite and at least 0", ValueError);
  CHECK_THROWS_WITH_AS(AlphaDropout(1), "AlphaDropout: the rate 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(PReLU({.channels = 3})(T::zeros({2, 2})),
                       "PReLU: the last axis of x (2,2) must be of 3 channels", ShapeError);
  CHECK_THROWS_WITH_AS(PReLU({.channels = 0}), "PReLU: channels = 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(RReLU({.low = 2, .high = 1}), "RReLU: low = 2 must not be above high = 1", ValueError);
  CHECK_THROWS_WITH_AS(CELU(0), "CELU: alpha = 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(Softplus(0), "Softplus: beta = 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(Hardtanh(1, 1)(T::zeros({1})), "hard_tanh: low = 1 must be below high = 1", ValueError);
  CHECK_THROWS_WITH_AS(Softshrink(-1)(T::zeros({1})), "soft_shrink: the limit -1 must be at least 0", ValueError);
}

}  // namespace tyto::nn
