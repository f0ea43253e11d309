// SPDX-License-Identifier: MIT
// Elements of u64, and numbers from 2^63 on, which no other integer type holds. Expected values are NumPy 2's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

using tyto::DType;
using Naturals = std::vector<std::uint64_t>;
using Truths = std::vector<bool>;

constexpr std::uint64_t last = UINT64_MAX, middle = std::uint64_t{1} << 63;

template <class T>
Truths truths(const T& x) {
  return x.template to_vector<bool>();
}
template <class T>
Naturals naturals(const T& x) {
  return x.template to_vector<std::uint64_t>();
}
}  // namespace

BOTH_MODES("numbers from 2^63 on make tensors of u64") {
  using T = tyto::Tensor<Mode>;
  CHECK(T{last, 7}.dtype() == DType::u64);
  CHECK(naturals(T{last, 7}) == Naturals{last, 7});
  CHECK(T{last, -7}.dtype() == DType::f64);  // as numpy.array([2**64 - 1, -7])
  CHECK(naturals(T::full({2}, last, DType::u64)) == Naturals{last, last});
  CHECK(naturals(T::arange(middle, middle + 4096, 2048, DType::u64)) == Naturals{middle, middle + 2048});
  CHECK(T(last).template item<std::uint64_t>() == last);
  CHECK((T{last, 7}.to_string()) == "[18446744073709551615                    7] dtype=u64");
  CHECK_THROWS_WITH_AS((T{last}.template to_vector<std::int64_t>()), doctest::Contains("18446744073709551615 (u64)"),
                       tyto::TypeError);
}

BOTH_MODES("numbers that elements of u64 meet are fitted or refused") {
  using T = tyto::Tensor<Mode>;
  const T x{last, middle, 3};
  CHECK(naturals(x + 2) == Naturals{1, middle + 2, 5});
  CHECK(naturals(x - last) == Naturals{0, middle + 1, 4});
  CHECK(naturals(floor_divide(x, 10)) == Naturals{last / 10, middle / 10, 0});
  CHECK(naturals(clip(x, -5, middle)) == Naturals{middle, middle, 3});
  CHECK_THROWS_WITH_AS(x + -1, doctest::Contains("the number -1 does not fit elements of type u64"), tyto::ValueError);
  CHECK_THROWS_WITH_AS((T{1, 2} + last), doctest::Contains("18446744073709551615 does not fit elements of type i64"),
                       tyto::ValueError);
  CHECK(naturals(T{-1, 2}.astype(DType::u64)) == Naturals{last, 2});
  CHECK(naturals(pad(x, {0}, {1}, tyto::PaddingMode::constant, last)) == Naturals{last, middle, 3, last});
}

BOTH_MODES("natural numbers compare with negative ones exactly") {
  using T = tyto::Tensor<Mode>;
  const T x{last, middle, 0}, y = T{-1, INT64_MAX, 0};
  CHECK(truths(x > y) == Truths{true, true, false});
  CHECK(truths(y < x) == Truths{true, true, false});
  CHECK(truths(x == y) == Truths{false, false, true});
  CHECK(truths(x <= y) == Truths{false, false, true});
  CHECK(truths(x != -1) == Truths{true, true, true});
  CHECK(truths(y < last) == Truths{true, true, true});
  CHECK((x + y).dtype() == DType::f64);
}

BOTH_MODES("fused arithmetic of u64 wraps round, and its reductions keep all digits") {
  using T = tyto::Tensor<Mode>;
  const T x = T::arange(1000).astype(DType::u64) * 0x9e3779b97f4a7c15u;
  const T mixed = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  std::uint64_t total = 0, most = 0, least = last;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t word = i * 0x9e3779b97f4a7c15u, found = (word ^ (word >> 33)) * 0xff51afd7ed558ccdu;
    total += found;
    most = std::max(most, found);
    least = std::min(least, found);
  }
  CHECK(sum(mixed).template item<std::uint64_t>() == total);
  CHECK(max(mixed).template item<std::uint64_t>() == most);
  CHECK(min(mixed).template item<std::uint64_t>() == least);
  const Naturals sorted = naturals(sort(mixed));
  CHECK(sorted.front() == least);
  CHECK(sorted.back() == most);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
}

TEST_CASE("a saved graph keeps numbers from 2^63 on") {
  using T = tyto::Tensor<tyto::Lazy>;
  const T x = T::placeholder({2}, DType::u64, "x");
  const tyto::Graph graph{{.inputs = {x}, .outputs = {(x ^ last) + T::full({2}, middle, DType::u64)}}};
  const tyto::testing::TemporaryFolder folder;
  tyto::save_graph(folder / "naturals.graph", graph);
  tyto::Graph loaded = tyto::load_graph(folder / "naturals.graph");
  loaded.set(loaded.inputs()[0], T{last, 0});
  loaded.run();
  CHECK(naturals(loaded.output(0)) == Naturals{middle, middle - 1});
}
