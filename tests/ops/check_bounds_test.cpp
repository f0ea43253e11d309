// SPDX-License-Identifier: MIT
// check_bounds, and the functions that check arguments by it: each error names its function.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace check_bounds_test {

using namespace tyto;

namespace {

template <class M>
std::vector<std::int64_t> numbers(const Tensor<M>& x) {
  return cast(x, DType::i64).template to_vector<std::int64_t>();
}

/// The message of the error that reading the result throws; empty when it throws none.
template <class F>
std::string told(const F& result) {
  try {
    (void)result().to_string();
  } catch (const IndexError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE_TEMPLATE("integers within bounds are what they were, in their type and shape", M, Eager, Lazy) {
  using T = Tensor<M>;
  const IntegerBounds bounds{.low = 0, .high = 5};
  for (const DType type :
       {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64, DType::i64}) {
    const T x = cast(T{{0, 1, 2}, {3, 4, 5}}, type);
    const T checked = check_bounds(x, bounds);
    CHECK(checked.dtype() == type);
    CHECK(numbers(checked) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
    CHECK(numbers(check_bounds(transpose(x), bounds)) == std::vector<std::int64_t>{0, 3, 1, 4, 2, 5});
    CHECK(numbers(check_bounds(flip(x, {1}), bounds)) == std::vector<std::int64_t>{2, 1, 0, 5, 4, 3});
  }
  CHECK(check_bounds(T::zeros({0, 3}, DType::i32), {.low = 0, .high = -1}).shape() == Shape{0, 3});
  CHECK(numbers(check_bounds(T(7), {.low = 7, .high = 7})) == std::vector<std::int64_t>{7});
}

TEST_CASE_TEMPLATE("the first integer out of bounds is named in the words that were given", M, Eager, Lazy) {
  using T = Tensor<M>;
  const IntegerBounds bounds{-2, 4, "my_layer", "label", "classes"};
  CHECK(told([&] {
          return check_bounds(T{4, 5, -3}, bounds);
        }) == "my_layer: label 5 is out of range; the classes are -2 to 4");
  CHECK(told([&] {
          return check_bounds(T{{4, -3}, {9, 0}}, bounds);
        }) == "my_layer: label -3 is out of range; the classes are -2 to 4");
  CHECK(told([&] { return check_bounds(T{7}, {.high = 6}); }) ==
        "check_bounds: value 7 is out of range; the values are 0 to 6");
  const T large = cast(T{std::numeric_limits<std::int64_t>::min()}, DType::u64);
  CHECK(told([&] { return check_bounds(large, bounds); }) ==
        "my_layer: label 9223372036854775808 is out of range; the classes are -2 to 4");
  for (const std::int64_t extreme :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CHECK(told([&] { return check_bounds(T{extreme}, bounds); }) ==
          "my_layer: label " + std::to_string(extreme) + " is out of range; the classes are -2 to 4");
  }
  CHECK_THROWS_WITH_AS(check_bounds(T{1, 2}, {0, -1, "my_layer", "label", "classes"}),
                       "my_layer: no label is in range; there are no classes", IndexError);
  CHECK_THROWS_WITH_AS(check_bounds(T{0.5}, bounds), "my_layer: a label is an integer, not f32", TypeError);
}

TEST_CASE("vmap checks the examples together, and a saved graph keeps the words") {
  using L = Tensor<Lazy>;
  const auto checked = [](const L& x) { return check_bounds(x, {0, 3, "my_layer", "label", "classes"}) * 2; };
  CHECK(numbers(vmap(checked)(L{{0, 1}, {2, 3}})) == std::vector<std::int64_t>{0, 2, 4, 6});
  CHECK(told([&] {
          return vmap(checked)(L{{0, 1}, {2, 4}});
        }) == "my_layer: label 4 is out of range; the classes are 0 to 3");
  const L x = L::placeholder({2}, DType::i64, "x");
  Graph graph{{.inputs = {x}, .outputs = {checked(x)}}};
  Graph loaded = Graph::from_bytes(graph.to_bytes());
  loaded.set(loaded.inputs()[0], L{1, 9});
  CHECK_THROWS_WITH_AS(loaded.run(), "my_layer: label 9 is out of range; the classes are 0 to 3", IndexError);
}

TEST_CASE_TEMPLATE("functions that take numbers of things say which is out of range under their own name", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T x = T{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  CHECK(told([&] {
          return choose<M>(T{0, 2}, {T{1, 2}, T{3, 4}});
        }) == "choose: number 2 is out of range; the choices are 0 to 1");
  CHECK(told([&] {
          return choose<M>(T{0, -1}, {T{1, 2}, T{3, 4}});
        }) == "choose: number -1 is out of range; the choices are 0 to 1");
  CHECK(told([&] { return put(x, T{0, 6}, T{7.0, 8.0}); }) == "put: index 6 is out of range; the places are -6 to 5");
  CHECK(told([&] {
          return put_along_axis(x, T{{3}, {0}}, T{{7.0}, {8.0}}, 1);
        }) == "put_along_axis: index 3 is out of range; the places along axis 1 are -3 to 2");
  const T images = T::ones({2, 4, 4, 1}), boxes = T{{0.0, 0.0, 2.0, 2.0}};
  CHECK(told([&] {
          return roi_align(images, boxes, T{7}, {.size = {1, 1}});
        }) == "roi_align: image number 7 is out of range; the images are 0 to 1");
  CHECK(told([&] {
          return roi_align(images, boxes, T{-1}, {.size = {1, 1}});
        }) == "roi_align: image number -1 is out of range; the images are 0 to 1");
  // Results of indices in range are unchanged.
  CHECK(numbers(choose<M>(T{1, 0}, {T{1, 2}, T{3, 4}})) == std::vector<std::int64_t>{3, 2});
  CHECK(numbers(put(x, T{0, -1}, T{7.0, 8.0})) == std::vector<std::int64_t>{7, 2, 3, 4, 5, 8});
  CHECK(numbers(roi_align(images, boxes, T{1}, {.size = {1, 1}})) == std::vector<std::int64_t>{1});
}

TEST_CASE_TEMPLATE("layers and losses say which index or label is out of range under their own name", M, Eager, Lazy) {
  using T = Tensor<M>;
  const nn::Embedding embedding({.count = 5, .features = 2});
  const nn::EmbeddingBag bag({.count = 5, .features = 2});
  CHECK(told([&] {
          return embedding(T{1, 7});
        }) == "Embedding: index 7 is out of range; the rows of the weight are -5 to 4");
  CHECK(told([&] { return embedding(T{-6}); }) ==
        "Embedding: index -6 is out of range; the rows of the weight are -5 to 4");
  CHECK(told([&] {
          return bag(T{{1, 5}});
        }) == "EmbeddingBag: index 5 is out of range; the rows of the weight are -5 to 4");
  CHECK(told([&] {
          return nn::multi_label_margin(T::ones({1, 3}), T{{0, 3, -1}});
        }) == "multi_label_margin: label 3 is out of range; the classes are 0 to 2");
  CHECK(told([&] {
          return nn::max_unpool(T::ones({1, 1, 1, 1}), T{{{{4}}}}, 2);
        }) == "max_unpool: index 4 is out of range; the places of size (2,2) are 0 to 3");
}

TEST_CASE_TEMPLATE("attention that reads on refuses a position behind its cache", M, Eager, Lazy) {
  using T = Tensor<M>;
  const nn::MultiheadAttention attention({.features = 4, .heads = 2});
  const nn::AttentionCache cache = attention.make_cache(1, 3);
  const T x = T::ones({1, 1, 4});
  CHECK(attention.next(x, T(2), cache).shape() == Shape{1, 1, 4});
  CHECK(told([&] { return attention.next(x, T(3), cache); }) ==
        "MultiheadAttention: position 3 is out of range; the places of the cache are 0 to 2");
}

TEST_CASE_TEMPLATE("ctc holds labels to the classes and lengths to the axes that they are of", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T log_p = log_softmax(T::zeros({1, 3, 4}));
  const auto loss = [&](const T& targets, const T& times, const T& lengths) {
    return nn::ctc(log_p, targets, times, lengths, {.reduction = nn::Reduction::none});
  };
  CHECK(told([&] { return loss(T{{1, 7}}, T{3}, T{2}); }) == "ctc: label 7 is out of range; the classes are 0 to 3");
  CHECK(told([&] { return loss(T{{-1, 1}}, T{3}, T{2}); }) == "ctc: label -1 is out of range; the classes are 0 to 3");
  CHECK(told([&] {
          return loss(T{{1, 2}}, T{9}, T{2});
        }) == "ctc: input length 9 is out of range; the lengths within the time axis are 0 to 3");
  CHECK(told([&] {
          return loss(T{{1, 2}}, T{-1}, T{2});
        }) == "ctc: input length -1 is out of range; the lengths within the time axis are 0 to 3");
  CHECK(told([&] {
          return loss(T{{1, 2}}, T{3}, T{3});
        }) == "ctc: target length 3 is out of range; the lengths within the targets are 0 to 2");
  // PyTorch's values for four classes of one chance each. Behind a target's length there may be anything.
  const auto value = [&](const T& targets, const T& times, const T& lengths) {
    return loss(targets, times, lengths).template to_vector<float>()[0];
  };
  CHECK(value(T{{1, -7}}, T{3}, T{1}) == doctest::Approx(2.3671236));
  CHECK(value(T{{1, 2}}, T{3}, T{2}) == doctest::Approx(2.5494452));
  CHECK(value(T{{1, 2}}, T{3}, T{0}) == doctest::Approx(4.1588831));
  CHECK(value(T{{1, 2}}, T{0}, T{0}) == 0.0F);
  CHECK(value(T{{1, 2}}, T{0}, T{1}) == std::numeric_limits<float>::infinity());
}

}  // namespace check_bounds_test
