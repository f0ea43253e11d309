// SPDX-License-Identifier: MIT
// The goldens themselves: the committed files can be read, and differences are reported clearly.
#include "tests/golden/golden.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>

#include "tests/support/temporary_folder.hpp"

using namespace tyto::golden;

namespace {

Array floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  Array array{"f32", std::move(shape), std::vector<std::byte>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

Array bits16(const std::string& dtype, std::uint16_t bits) {
  Array array{dtype, {}, std::vector<std::byte>(2)};
  std::memcpy(array.bytes.data(), &bits, 2);
  return array;
}

/// A copy of a committed archive with one byte changed, or cut short.
std::string damaged_copy(const tyto::testing::TemporaryFolder& folder, std::size_t keep, std::size_t flip) {
  std::ifstream file("tests/golden/softmax.npz", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(std::min(keep, bytes.size()));
  if (flip < bytes.size()) bytes[flip] = static_cast<char>(bytes[flip] ^ 0x55);
  const std::string path = folder / "damaged.npz";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

}  // namespace

TEST_CASE("the committed goldens hold cases of every family, each with its arrays") {
  std::set<std::string> identifiers;
  for (const Case& one : committed().cases()) {
    CAPTURE(one.id);
    CHECK(identifiers.insert(one.id).second);
    CHECK_FALSE(one.outputs.empty());
    if (!one.gradients.empty()) CHECK(one.gradients.size() == one.inputs.size());
    for (const Array* gradient : one.gradients) {
      if (gradient != nullptr) CHECK(gradient->dtype[0] != 'i');
    }
  }
  CHECK(committed().families().size() == 15);
  CHECK(identifiers.size() > 4000);
}

TEST_CASE("a golden of add reads as NumPy wrote it") {
  for (const Case& one : committed().cases()) {
    if (one.id != "add.promotion_bf16.f16") continue;
    REQUIRE(one.inputs.size() == 2);
    CHECK(one.inputs[0]->dtype == "f16");
    CHECK(one.inputs[1]->dtype == "bf16");
    CHECK(one.outputs[0]->dtype == "f32");
    CHECK(one.outputs[0]->shape == std::vector<std::int64_t>{3});
    CHECK(element(*one.inputs[0], 1) == 5);
    CHECK(element(*one.inputs[1], 1) == 4);
    CHECK(element(*one.outputs[0], 1) == 9);
    return;
  }
  FAIL("the case is gone");
}

TEST_CASE("16-bit elements read as the numbers they stand for") {
  CHECK(element(bits16("f16", 0x3c00), 0) == 1);
  CHECK(element(bits16("f16", 0xc500), 0) == -5);
  CHECK(element(bits16("f16", 0x0001), 0) == std::ldexp(1.0, -24));
  CHECK(element(bits16("f16", 0x7bff), 0) == 65504);
  CHECK(element(bits16("f16", 0xfc00), 0) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(element(bits16("f16", 0x7e00), 0)));
  CHECK(element(bits16("bf16", 0x3f80), 0) == 1);
  CHECK(element(bits16("bf16", 0xc0a0), 0) == -5);
}

TEST_CASE("a difference names the worst element, both values and what was allowed") {
  const Array want = floats({2, 2}, {1, 2, 3, 4});
  CHECK(difference(want, want, {}).empty());
  CHECK(difference(floats({2, 2}, {1, 2.5F, 3, 8}), want, {0.25, 0, "sum"}) ==
        "at (1,1) got 8, want 4, allowed 0.25 (sum); 2 of 4 wrong");
  CHECK(difference(floats({2, 2}, {1.25F, 2, 3, 4}), want, {0, 0.25, "sum"}).empty());
  CHECK(difference(floats({4}, {1, 2, 3, 4}), want, {}) == "got shape (4,), want (2,2)");
  CHECK(difference(Array{"i32", {2, 2}, want.bytes}, want, {}) == "got type i32, want f32");
}

TEST_CASE("NaN equals only NaN, and no tolerance reaches an infinity") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tolerance wide{1e30, 1, "exact"};
  CHECK(difference(floats({1}, {-nan}), floats({1}, {nan}), wide).empty());
  CHECK_FALSE(difference(floats({1}, {0}), floats({1}, {nan}), wide).empty());
  CHECK_FALSE(difference(floats({1}, {nan}), floats({1}, {0}), wide).empty());
  CHECK_FALSE(difference(floats({1}, {-infinity}), floats({1}, {infinity}), wide).empty());
  CHECK_FALSE(difference(floats({1}, {3e38F}), floats({1}, {infinity}), wide).empty());
  CHECK(difference(floats({1}, {-0.0F}), floats({1}, {0.0F}), {}).empty());
}

TEST_CASE("a damaged archive is refused, whatever is damaged") {
  const std::size_t size = std::filesystem::file_size("tests/golden/softmax.npz");
  CHECK_THROWS_AS(read_npz("tests/golden/no_such_file.npz"), std::runtime_error);
  const tyto::testing::TemporaryFolder folder;
  for (const std::size_t keep : {std::size_t{0}, std::size_t{21}, size / 2, size - 1}) {
    const auto path = damaged_copy(folder, keep, everything);
    CHECK_THROWS_AS(read_npz(path), std::runtime_error);
  }
  // Bytes of a local header that no one reads may change; those of contents and directory may not.
  for (const std::size_t flip : {std::size_t{60}, size - 22, size - 6}) {
    const auto path = damaged_copy(folder, everything, flip);
    CHECK_THROWS_AS(read_npz(path), std::runtime_error);
  }
}
