// SPDX-License-Identifier: MIT
// Type promotion of operands, compared with tables from PyTorch (torch.result_type) and NumPy 2.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

constexpr DType types[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                           DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

// torch.result_type(torch.empty(1, dtype=row), torch.empty(1, dtype=column)), PyTorch 2.
constexpr const char* tensors[10][10] = {
    // bool    u8      i8      i16     i32     i64     f16    bf16    f32    f64
    {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},         // bool
    {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},          // u8
    {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},          // i8
    {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},        // i16
    {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},        // i32
    {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},        // i64
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},         // f16
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},  // bf16
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},         // f32
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},         // f64
};

// torch.result_type(torch.empty(1, dtype=row), number) for True, 2 and 2.5.
constexpr const char* with_numbers[10][3] = {
    {"bool", "i64", "f32"}, {"u8", "u8", "f32"},   {"i8", "i8", "f32"},   {"i16", "i16", "f32"},
    {"i32", "i32", "f32"},  {"i64", "i64", "f32"}, {"f16", "f16", "f16"}, {"bf16", "bf16", "bf16"},
    {"f32", "f32", "f32"},  {"f64", "f64", "f64"},
};

template <class T>
T ones(DType type) {
  return T::ones({1}, type);
}

}  // namespace

BOTH_MODES("two tensors meet in PyTorch's type") {
  using T = tyto::Tensor<Mode>;
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < 10; ++j) {
      CAPTURE(tyto::name_of(types[i]));
      CAPTURE(tyto::name_of(types[j]));
      const T product = ones<T>(types[i]) * ones<T>(types[j]);
      CHECK(std::string(tyto::name_of(product.dtype())) == tensors[i][j]);
      CHECK(std::string(tyto::name_of(tyto::promote(types[i], types[j]))) == tensors[i][j]);
      CHECK(numbers(product) == Numbers{1});
      CHECK(std::string(tyto::name_of(where(T{true}, ones<T>(types[i]), ones<T>(types[j])).dtype())) == tensors[i][j]);
      CHECK(less(ones<T>(types[i]), ones<T>(types[j])).dtype() == DType::boolean);
    }
  }
}

// NumPy 2: np.promote_types(row, column) of unsigned integers, which PyTorch has no rules for. A floating-point type
// that meets them is kept, as it is where it meets any other integer.
BOTH_MODES("unsigned integers meet others in NumPy's type") {
  using T = tyto::Tensor<Mode>;
  constexpr DType with[] = {DType::boolean, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::i8,  DType::i16,
                            DType::i32,     DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64};
  constexpr const char* meets[3][14] = {
      // bool  u8     u16    u32    u64    i8     i16    i32    i64    f16    bf16    f32    f64    c64
      {"u16", "u16", "u16", "u32", "u64", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64", "c64"},   // u16
      {"u32", "u32", "u32", "u32", "u64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "c64"},   // u32
      {"u64", "u64", "u64", "u64", "u64", "f64", "f64", "f64", "f64", "f16", "bf16", "f32", "f64", "c64"}};  // u64
  for (std::size_t i = 0; i < 3; ++i) {
    const DType type = i == 0 ? DType::u16 : i == 1 ? DType::u32 : DType::u64;
    const double most = std::ldexp(1.0, 8 * static_cast<int>(tyto::size_of(type))) - (type == DType::u64 ? 0 : 1);
    for (std::size_t j = 0; j < 14; ++j) {
      CAPTURE(tyto::name_of(type));
      CAPTURE(tyto::name_of(with[j]));
      CHECK(std::string(tyto::name_of(tyto::promote(type, with[j]))) == meets[i][j]);
      CHECK(std::string(tyto::name_of((ones<T>(with[j]) * ones<T>(type)).dtype())) == meets[i][j]);
    }
    CHECK((ones<T>(type) + 2).dtype() == type);
    CHECK((ones<T>(type) + 2.5).dtype() == DType::f32);
    CHECK(numbers((ones<T>(type) - 2) - 0) == Numbers{most});
    if (type != DType::u64) CHECK(numbers(sum(T{-1, -1, -1}.astype(type))) == Numbers{3 * most});
    CHECK(numbers(ones<T>(type) > -1) == Numbers{1});
    CHECK_THROWS_AS(ones<T>(type) + -1, tyto::ValueError);
    if (type != DType::u64) CHECK_THROWS_AS(ones<T>(type) + (std::int64_t{1} << 32), tyto::ValueError);
  }
}

BOTH_MODES("a number yields to the tensor it meets, on either side") {
  using T = tyto::Tensor<Mode>;
  for (std::size_t i = 0; i < 10; ++i) {
    CAPTURE(tyto::name_of(types[i]));
    const T x = ones<T>(types[i]);
    const T results[3][4] = {{x * true, true * x, maximum(x, true), maximum(true, x)},
                             {x * 2, 2 * x, maximum(x, 2), maximum(2, x)},
                             {x * 2.5, 2.5 * x, maximum(x, 2.5), maximum(2.5, x)}};
    for (std::size_t k = 0; k < 3; ++k) {
      for (const T& result : results[k]) CHECK(std::string(tyto::name_of(result.dtype())) == with_numbers[i][k]);
    }
    CHECK(numbers(results[2][0]) == Numbers{2.5});
    CHECK(std::string(tyto::name_of(T::full({}, 2.5, DType::f64).dtype())) == "f64");
  }
  // A tensor of rank 0 is a tensor, as in NumPy 2.
  CHECK((T{1.0}.astype(DType::f16) * T::full({}, 2.0, DType::f32)).dtype() == DType::f32);
  // Numbers alone take the default types.
  CHECK((T(2) + T(3)).dtype() == DType::i64);
  CHECK((T(2) + T(3.5)).dtype() == DType::f32);
  CHECK((T(true) + T(2)).dtype() == DType::i64);
}

BOTH_MODES("operators with types of their own") {
  using T = tyto::Tensor<Mode>;
  std::vector<DType> every(std::begin(types), std::end(types));
  every.insert(every.end(), {DType::u16, DType::u32, DType::u64});
  for (const DType type : every) {
    CAPTURE(tyto::name_of(type));
    const T x = ones<T>(type);
    const bool floating = tyto::is_floating(type);
    // torch: true division and the transcendental functions give the default float for integers.
    CHECK((x / x).dtype() == (floating ? type : DType::f32));
    CHECK(exp(x).dtype() == (floating ? type : DType::f32));
    CHECK(x.mean().dtype() == (floating ? type : DType::f32));
    // torch: sums and products of integers and bool are int64.
    const DType summed = floating || type == DType::u64 ? type : DType::i64;
    CHECK(x.sum().dtype() == summed);
    CHECK(prod(x).dtype() == summed);
    CHECK(cumsum(x, 0).dtype() == summed);
    CHECK(x.max().dtype() == type);
    CHECK(argmax(x).dtype() == DType::i64);
    CHECK(logical_and(x, x).dtype() == DType::boolean);
    CHECK(isnan(x).dtype() == DType::boolean);
    CHECK(x(0).dtype() == type);
    CHECK(concat(std::vector<T>{x, ones<T>(DType::f32)}, 0).dtype() == tyto::promote(type, DType::f32));
    if (type == DType::boolean) CHECK_THROWS_AS(x - x, tyto::TypeError);
    else CHECK((x - x).dtype() == type);
    if (floating) CHECK_THROWS_AS(x & x, tyto::TypeError);
    else CHECK((x & x).dtype() == type);
  }
}

BOTH_MODES("a literal's type follows its numbers") {
  using T = tyto::Tensor<Mode>;
  CHECK(T{1, 2}.dtype() == DType::i64);
  CHECK(T{1, 2.5}.dtype() == DType::f32);
  CHECK(T{true, false}.dtype() == DType::boolean);
  CHECK(T{true, 2}.dtype() == DType::i64);
  CHECK(T{{1}, {2.0f}}.dtype() == DType::f32);
  CHECK(T::arange(3).dtype() == DType::i64);
  CHECK(T::arange(0, 1, 0.25).dtype() == DType::f32);
  CHECK(T::full({2}, 3).dtype() == DType::i64);
  CHECK(T::full({2}, 3.0).dtype() == DType::f32);
  CHECK(T::zeros({2}).dtype() == DType::f32);
}

BOTH_MODES("writing a part casts to the tensor's type") {
  using T = tyto::Tensor<Mode>;
  T x{1, 2, 3};
  x(0) = 7.9;
  CHECK(x.dtype() == DType::i64);
  CHECK(numbers(x) == Numbers{7, 2, 3});
  T half = T{1.0, 2.0}.astype(DType::f16);
  half(1) = T{3.25}.astype(DType::f64);
  half *= 2.0;
  CHECK(half.dtype() == DType::f16);
  CHECK(numbers(half) == Numbers{2, 6.5});
}

BOTH_MODES("integers wrap round as in NumPy and arithmetic in halves is rounded once") {
  using T = tyto::Tensor<Mode>;
  CHECK(numbers(T{200}.astype(DType::u8) + T{100}.astype(DType::u8)) == Numbers{44});
  CHECK(numbers(T{127}.astype(DType::i8) + 1) == Numbers{-128});
  CHECK(numbers(T{1 << 20}.astype(DType::i32) * (1 << 12)) == Numbers{0});
  CHECK(numbers(T{2049.0}.astype(DType::f16)) == Numbers{2048});
  CHECK(numbers(T{2048.0}.astype(DType::f16) + 1.0) == Numbers{2048});
  CHECK(numbers(T{256.0}.astype(DType::bf16) + 1.0) == Numbers{256});
}

BOTH_MODES("an integer scalar operand that the elements cannot hold is compared as it is and refused elsewhere") {
  using T = tyto::Tensor<Mode>;
  const T x = T{1, 44, 255}.astype(DType::u8);
  // NumPy 2: Python integers outside of the type compare exactly.
  CHECK(numbers(x < 300) == Numbers{1, 1, 1});
  CHECK(numbers(x <= 256) == Numbers{1, 1, 1});
  CHECK(numbers(x == 300) == Numbers{0, 0, 0});
  CHECK(numbers(-1 < x) == Numbers{1, 1, 1});
  CHECK(numbers(x > -1) == Numbers{1, 1, 1});
  CHECK(numbers(T{5}.astype(DType::i32) < (std::int64_t{1} << 40)) == Numbers{1});
  CHECK(searchsorted(T{1, 2}.astype(DType::u8), 300).template item<std::int64_t>() == 2);
  // Its bounds are limits, which need not be within reach.
  CHECK(numbers(clip(x, -1, 300)) == Numbers{1, 44, 255});
  CHECK(numbers(clip(x, -1, 50)) == Numbers{1, 44, 50});
  CHECK(clip(x, -1, 300).dtype() == DType::u8);
  CHECK_THROWS_WITH_AS(x + 300, "add: the number 300 does not fit elements of type u8; cast to a wider type first",
                       tyto::ValueError);
  CHECK_THROWS_AS(x * -1, tyto::ValueError);
  CHECK_THROWS_AS(maximum(x, -1), tyto::ValueError);
  CHECK_THROWS_AS(x << 256, tyto::ValueError);
  CHECK_THROWS_AS(where(x > 2, x, 300), tyto::ValueError);
  CHECK_THROWS_AS(T::full({2}, 300, DType::u8), tyto::ValueError);
  CHECK_THROWS_AS(full_like(x, -1), tyto::ValueError);
  CHECK_THROWS_AS(pad(x, {1}, {0}, tyto::PaddingMode::constant, 256), tyto::ValueError);
  T y = x;
  CHECK_THROWS_AS(y(0) = 300, tyto::ValueError);
  CHECK_THROWS_AS(y(y > 2) = -1, tyto::ValueError);
  // Whoever casts says what he wants.
  CHECK(numbers(T(300).astype(DType::u8)) == Numbers{44});
  CHECK(numbers(x + 255) == Numbers{0, 43, 254});
  CHECK(numbers(T{1.0}.astype(DType::f16) < 100000) == Numbers{1});
}

BOTH_MODES("norms and deviations leave the range of integers and of halves on the way only") {
  using T = tyto::Tensor<Mode>;
  CHECK(numbers(l2_norm(T{100, 240}.astype(DType::u8))) == Numbers{260});
  CHECK(numbers(l2_norm_sqr(T{100, 240}.astype(DType::u8))) == Numbers{67600});
  CHECK(numbers(l1_norm(T{-128, 127}.astype(DType::i8))) == Numbers{255});
  CHECK(l1_norm(T{1}).dtype() == DType::f32);
  CHECK(numbers(l2_norm(T{3000.0, 4000.0}.astype(DType::f16))) == Numbers{5000});
  CHECK(l2_norm(T{3.0}.astype(DType::f16)).dtype() == DType::f16);
  CHECK(numbers(stddev(T{-1000.0, 1000.0}.astype(DType::f16))) == Numbers{1000});
  CHECK(numbers(mean_squared_error(T{200}.astype(DType::u8), T{100}.astype(DType::u8))) == Numbers{10000});
}

// What NumPy gives for np.clip(number, least, most).astype(type), and np.float16(1 + 2**-11 + 2**-40) is 1 + 2**-10:
// one rounding, where a detour through float32 would meet a tie and fall back to 1.
BOTH_MODES(
    "floating-point numbers that fill tensors stop at the end of the range and round once, in compiled functions too") {
  using T = tyto::Tensor<Mode>;
  const double above_tie = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  const auto check = [&](const std::vector<T>& made) {
    CHECK(numbers(made[0]) == Numbers{255, 255});
    CHECK(numbers(made[1]) == Numbers{-128, -128});
    CHECK(numbers(made[2]) == Numbers{32767, 32767});
    CHECK(numbers(made[3]) == Numbers{-2147483648.0, -2147483648.0});
    CHECK(numbers(made[4]) == Numbers{0, 0});
    CHECK(numbers(made[5]) == Numbers{44, 255});
    CHECK(numbers(made[6]) == Numbers{0, 0});
    CHECK(numbers(made[7]) == Numbers{1 + std::ldexp(1.0, -10), 1 + std::ldexp(1.0, -10)});
    CHECK(numbers(made[8]) == Numbers{1 + std::ldexp(1.0, -7), 1 + std::ldexp(1.0, -7)});
  };
  const auto make = [&](const T& x) {
    return std::vector<T>{T::full({2}, 300.0, DType::u8),
                          T::full({2}, -1e10, DType::i8),
                          T::full({2}, std::numeric_limits<double>::infinity(), DType::i16),
                          T::full({2}, -1e300, DType::i32),
                          T::full({2}, std::nan(""), DType::i8),
                          pad(x, {0}, {1}, tyto::PaddingMode::constant, 256.0),
                          full_like(T::zeros({2}, DType::u8), -1.0),
                          T::full({2}, above_tie, DType::f16),
                          T::full({2}, 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40), DType::bf16)};
  };
  const T x = T{44}.astype(DType::u8);
  check(make(x));
  check(tyto::compile(make)(x));
}

BOTH_MODES("einsum of small integers adds up in their own type, as NumPy's does") {
  using T = tyto::Tensor<Mode>;
  const T x = T{{100, 27}, {-100, -28}}.astype(DType::i8);
  const T rows = tyto::einsum("ij->i", std::vector{x}),
          whole = tyto::einsum("ij,k->k", std::vector{x, T{1, 2}.astype(DType::i8)});
  CHECK(rows.dtype() == DType::i8);
  CHECK(numbers(rows) == Numbers{127, -128});
  CHECK(whole.dtype() == DType::i8);
  CHECK(numbers(whole) == Numbers{-1, -2});
}
