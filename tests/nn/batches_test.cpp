// SPDX-License-Identifier: MIT
// Batches: every sample once an epoch, in an order of its own, from any place on.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <tyto/elementwise.hpp>
#include <tyto/nn/batches.hpp>

namespace tyto::nn {
namespace {

using Data = Tensor<Eager>;

Batches<Data> ten(const BatchOptions& options) { return {Data::arange(10), Data::arange(10) * 2, options}; }

std::vector<std::int64_t> rest_of_epoch(Batches<Data>& batches) {
  std::vector<std::int64_t> all;
  for (const auto& [x, t] : batches) {
    const auto inputs = x.to_vector<std::int64_t>();
    const auto targets = t.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(targets[i] == 2 * inputs[i]);
    all.insert(all.end(), inputs.begin(), inputs.end());
  }
  return all;
}

}  // namespace

TEST_CASE("without shuffling, samples come in their order and the last batch may be short") {
  Batches<Data> batches = ten({.size = 4, .shuffle = false});
  CHECK(batches.batches_per_epoch() == 3);
  CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{4, 5, 6, 7});
  CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{8, 9});
  CHECK(!batches.next());
  CHECK(batches.position().epoch == 1);
  CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a short last batch can be left out") {
  Batches<Data> batches = ten({.size = 4, .shuffle = false, .drop_last = true});
  CHECK(batches.batches_per_epoch() == 2);
  CHECK(rest_of_epoch(batches) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("the parts of a batch are its samples, once each, and the position counts whole batches") {
  for (const std::int64_t parts : {1, 2, 3, 4}) {
    Batches<Data> whole = ten({.size = 4, .seed = 3});
    std::vector<Batches<Data>> each;
    for (std::int64_t part = 0; part < parts; ++part) {
      each.push_back(ten({.size = 4, .seed = 3, .part = part, .parts = parts}));
      CHECK(each.back().batches_per_epoch() == (parts > 2 ? 2 : 3));  // the last batch has two samples
    }
    while (const auto batch = whole.next()) {
      std::vector<std::int64_t> joined;
      for (Batches<Data>& part : each) {
        const std::int64_t left = part.batches_left();
        const auto own = part.next();
        CHECK(own.has_value() == (batch->first.shape()[0] >= parts));
        if (!own) continue;
        CHECK(part.batches_left() == left - 1);
        CHECK(part.position().sample == whole.position().sample);
        CHECK(own->first.shape()[0] >= batch->first.shape()[0] / parts);
        const auto samples = own->first.to_vector<std::int64_t>();
        joined.insert(joined.end(), samples.begin(), samples.end());
      }
      if (batch->first.shape()[0] >= parts) CHECK(joined == batch->first.to_vector<std::int64_t>());
    }
  }
}

TEST_CASE("parts that there are not, and batches too small for them, are refused") {
  CHECK_THROWS_WITH_AS(ten({.part = 2, .parts = 2}), "Batches: there is no part 2 of 2", ValueError);
  CHECK_THROWS_WITH_AS(ten({.part = -1}), "Batches: there is no part -1 of 1", ValueError);
  CHECK_THROWS_WITH_AS(ten({.size = 3, .parts = 4}), "Batches: batches of 3 have no sample for each of 4 parts",
                       ValueError);
  CHECK_THROWS_WITH_AS(ten({.size = 30, .parts = 11}), "Batches: batches of 10 have no sample for each of 11 parts",
                       ValueError);
}

TEST_CASE("batches left are those that come before the epoch ends") {
  for (const bool drop_last : {false, true}) {
    for (const std::int64_t start : {0, 3, 4, 8, 10}) {
      Batches<Data> batches(Data::zeros({10}), Data::zeros({10}), {.size = 4, .drop_last = drop_last});
      batches.seek({2, start});
      const std::int64_t left = batches.batches_left();
      std::int64_t came = 0;
      while (batches.next()) ++came;
      CHECK(left == came);
    }
  }
}

TEST_CASE("a batch without limit is the whole data set") {
  Batches<Data> batches = ten({.size = std::numeric_limits<std::int64_t>::max(), .shuffle = false});
  CHECK(batches.batches_per_epoch() == 1);
  CHECK(rest_of_epoch(batches).size() == 10);
}

TEST_CASE("shuffled, every epoch has every sample once in an order of its own, the same for the same seed") {
  Batches<Data> batches = ten({.size = 3, .seed = 5});
  const auto first = rest_of_epoch(batches);
  const auto second = rest_of_epoch(batches);
  CHECK(first != second);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  Batches<Data> alike = ten({.size = 3, .seed = 5});
  CHECK(rest_of_epoch(alike) == first);
  Batches<Data> other = ten({.size = 3, .seed = 6});
  CHECK(rest_of_epoch(other) != first);
}

TEST_CASE("going on from a position gives what would have come") {
  Batches<Data> batches = ten({.size = 3, .seed = 5});
  (void)rest_of_epoch(batches);
  (void)batches.next();
  const BatchPosition position = batches.position();
  CHECK(position.epoch == 1);
  CHECK(position.sample == 3);
  const auto rest = rest_of_epoch(batches);
  Batches<Data> fresh = ten({.size = 3, .seed = 5});
  fresh.seek(position);
  CHECK(rest_of_epoch(fresh) == rest);
}

TEST_CASE("batches made ahead are those that are made when they are asked for, from any place on") {
  for (const std::int64_t ahead : {1, 2, 7}) {
    Batches<Data> plain = ten({.size = 3, .seed = 5});
    Batches<Data> early = ten({.size = 3, .seed = 5, .ahead = ahead});
    CHECK(rest_of_epoch(early) == rest_of_epoch(plain));
    CHECK(early.position().epoch == 1);
    (void)plain.next();
    (void)early.next();
    CHECK(early.position().sample == 3);
    CHECK(early.batches_left() == 3);
    early.seek({4, 6});
    plain.seek({4, 6});
    CHECK(rest_of_epoch(early) == rest_of_epoch(plain));
    Batches<Data> moved = std::move(early);
    CHECK(rest_of_epoch(moved) == rest_of_epoch(plain));
  }
}

namespace {

/// Ten samples, of which one cannot be read.
struct Broken final : Samples {
  std::int64_t count() const override { return 10; }
  HostBatch read(std::span<const std::int64_t> samples, const Key&) const override {
    HostBatch batch{{DType::i64, {static_cast<std::int64_t>(samples.size())}, {}}, {}};
    for (const std::int64_t sample : samples) {
      if (sample == 5) throw IoError("sample 5 cannot be read");
      const auto* bytes = reinterpret_cast<const std::byte*>(&sample);
      batch.inputs.bytes.insert(batch.inputs.bytes.end(), bytes, bytes + sizeof sample);
    }
    batch.targets = batch.inputs;
    return batch;
  }
};

}  // namespace

TEST_CASE("what reading a sample throws reaches the reader, who stays before that batch") {
  for (const std::int64_t ahead : {0, 2}) {
    Batches<Data> batches(Broken(), {.size = 2, .shuffle = false, .ahead = ahead});
    CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1});
    (void)batches.next();
    for (int again = 0; again < 2; ++again) {
      CHECK_THROWS_WITH_AS(batches.next(), "sample 5 cannot be read", IoError);
      CHECK(batches.position().sample == 4);
    }
    batches.seek({0, 6});
    CHECK(batches.next()->first.to_vector<std::int64_t>() == std::vector<std::int64_t>{6, 7});
  }
}

namespace {

/// Ten samples, of which read() gives these instead.
struct Given final : Samples {
  explicit Given(HostBatch batch) : given(std::move(batch)) {}
  std::int64_t count() const override { return 10; }
  HostBatch read(std::span<const std::int64_t>, const Key&) const override { return given; }

  HostBatch given;
};

}  // namespace

TEST_CASE_TEMPLATE("a data set that reads other samples than it was asked for is refused", T, tyto::Tensor<tyto::Eager>,
                   tyto::Tensor<tyto::Lazy>) {
  const HostArray four = host_array(std::vector<float>(8), {4, 2}), one = host_array(std::vector<float>(1), {1}),
                  number = host_array(std::vector<float>(1), {}), short_of_bytes{DType::f32, {4}, {}};
  const std::string asked = "Batches: read() of the data set was asked for 4 samples and gave ",
                    rule = "; the first axis must have one for each";
  const std::pair<HostBatch, std::string> cases[] = {
      {{four, one}, asked + "targets of shape (1,)" + rule},
      {{one, four}, asked + "inputs of shape (1,)" + rule},
      {{four, number}, asked + "targets of shape ()" + rule},
      {{four, {}}, asked + "targets of shape ()" + rule},
      {{four, short_of_bytes},
       "Batches: read() of the data set gave targets of 0 bytes, which are 16 in f32 of shape (4,)"},
  };
  for (const std::int64_t ahead : {0, 2}) {
    for (const auto& [given, message] : cases) {
      Batches<T> batches(Given(given), {.size = 4, .ahead = ahead});
      CHECK_THROWS_WITH_AS(batches.next(), message.c_str(), ShapeError);
    }
    Batches<T> right(Given({four, four}), {.size = 4, .ahead = ahead});
    CHECK(right.next()->second.shape() == Shape{4, 2});
  }
}

TEST_CASE("samples of several axes and of any type stay whole") {
  Batches<Data> batches(Data::arange(12).reshape({3, 2, 2}).astype(DType::u8), Data{true, false, true},
                        {.size = 2, .shuffle = false});
  const auto batch = batches.next();
  CHECK(batch->first.shape() == Shape{2, 2, 2});
  CHECK(batch->first.dtype() == DType::u8);
  CHECK(batches.next()->first.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{8, 9, 10, 11});
}

TEST_CASE("batches of tensors that are read again, strided ones too, stay what they were") {
  using T = tyto::Tensor<tyto::Eager>;
  const T x = T::arange(20).reshape({2, 10}).transpose();
  const T targets = T::arange(10);
  tyto::nn::Batches<T> batches(x, targets, {.size = 5, .shuffle = false, .ahead = 2});
  tyto::nn::Batches<T> others(x, targets, {.size = 5, .shuffle = false});
  for (int i = 0; i < 20; ++i) (void)x.to_vector<std::int64_t>();
  std::vector<std::int64_t> seen;
  for (const auto& [inputs, labels] : batches) {
    for (const std::int64_t value : inputs.to_vector<std::int64_t>()) seen.push_back(value);
  }
  CHECK(seen == std::vector<std::int64_t>{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16, 7, 17, 8, 18, 9, 19});
}

TEST_CASE("data sets that make no batches are refused") {
  CHECK_THROWS_WITH_AS(Batches<Data>(Data::zeros({3, 2}), Data::zeros({4})),
                       "Batches: inputs (3,2) and targets (4,) must have equally many samples along the first axis",
                       ShapeError);
  CHECK_THROWS_WITH_AS(Batches<Data>(Data::zeros({0, 2}), Data::zeros({0})), "Batches: there are no samples",
                       ValueError);
  CHECK_THROWS_WITH_AS(ten({.size = 0}), "Batches: the size 0 must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(ten({.ahead = -1}), "Batches: ahead = -1 must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(ten({.size = 11, .drop_last = true}), "Batches: 10 samples do not fill a batch of 11",
                       ValueError);
  Batches<Data> batches = ten({});
  CHECK_THROWS_WITH_AS(batches.seek({0, 11}), "Batches: there is no sample 11 of epoch 0; an epoch has 10 samples",
                       IndexError);
}

}  // namespace tyto::nn
