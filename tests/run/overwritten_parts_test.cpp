// SPDX-License-Identifier: MIT
// A part of a concat whose place in it is written over while the part is still read: later, or by the very step whose
// result goes there.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>
#include <vector>

namespace overwritten_parts {

namespace {

using tyto::all;
using tyto::slice;
using Numbers = std::vector<float>;

template <class M>
tyto::Tensor<M> given() {
  return {{1.0F, 2.0F, 0.0F, 1.0F}, {3.0F, 5.0F, 1.0F, 0.0F}, {0.0F, 1.0F, 2.0F, 1.0F}, {1.0F, 0.0F, 1.0F, 3.0F}};
}

/// The sums of the rows that the function gives, in eager mode, and compiled with and without passes, over poisoned
/// memory with every plan checked as well as in the way that users run it. Those expected are NumPy's.
template <class F>
void check(const F& function, const Numbers& expected) {
  using L = tyto::Tensor<tyto::Lazy>;
  CHECK(sum(function(given<tyto::Eager>()), 1).template to_vector<float>() == expected);
  for (const char* passes : {"none", ""}) {
    CAPTURE(passes);
    for (const bool watched : {true, false}) {
      CAPTURE(watched);
      auto compiled = tyto::compile([&](const L& x) { return sum(function(x), 1); },
                                    {.check_plan = watched, .poison = watched, .passes = passes});
      CHECK(compiled(given<tyto::Lazy>()).template to_vector<float>() == expected);
    }
  }
}

/// Running sums, which a kernel of their own computes into the part's place.
template <class T>
T sums(const T& x) {
  return cumsum(x, 0);
}

template <class T>
T rows(const std::vector<T>& parts) {
  return concat(parts, 0);
}

}  // namespace

TEST_CASE("a part of a concat is read after its place was written over") {
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = rows<T>({a, b});
        whole(slice(0, 4)) = sums(x * 3.0F);
        return rows<T>({whole, a + sum(whole)});
      },
      {12, 39, 51, 66, 8, 26, 34, 44, 1124, 1133, 1137, 1142});
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = rows<T>({a, b});
        whole(slice(4, 8)) = sums(x * 3.0F);
        return rows<T>({whole, b + sum(whole)});
      },
      {4, 13, 17, 22, 12, 39, 51, 66, 904, 922, 930, 940});
  // One row of a part; the end of one and the beginning of the other; a column.
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = rows<T>({a, b});
        whole(7) = sums(x * 3.0F)(0);
        return rows<T>({whole, b * sum(whole)});
      },
      {4, 13, 17, 22, 8, 26, 34, 12, 1088, 3536, 4624, 5984});
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = rows<T>({a, b});
        whole(slice(2, 6)) = sums(x * 3.0F);
        return rows<T>({whole, b * sum(whole), a});
      },
      {4, 13, 12, 39, 51, 66, 34, 44, 2104, 6838, 8942, 11572, 4, 13, 17, 22});
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = concat(std::vector<T>{a, b}, 1);
        whole(all, slice(6, 7)) = sums(x * 3.0F)(all, slice(1, 2));
        return rows<T>({whole, concat(std::vector<T>{b, a}, 1) + sum(whole)});
      },
      {18, 58, 69, 82, 1828, 1855, 1867, 1882});
}

TEST_CASE("a view of a part of a concat is read before and after its place was written over") {
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F), turned = transpose(a);
        const T largest = max(turned);
        T whole = rows<T>({a, b});
        whole(slice(0, 4)) = sums(x * 3.0F) * largest;
        return rows<T>({whole, turned + sum(whole)});
      },
      {96, 312, 408, 528, 8, 26, 34, 44, 5838, 5849, 5832, 5833});
}

TEST_CASE("a part of a concat is read by the step whose result goes over it, in another order") {
  const auto product = [](bool upper) {
    return [upper]<class T>(const T& x) {
      const T a = sums(x), b = sums(x * 2.0F);
      T whole = upper ? rows<T>({a, b}) : rows<T>({b, a});
      whole(upper ? slice(4, 8) : slice(0, 4)) = matmul(transpose(b), b);
      return whole;
    };
  };
  check(product(true), {4, 13, 17, 22, 936, 1644, 608, 644});
  check(product(false), {936, 1644, 608, 644, 4, 13, 17, 22});
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = rows<T>({a, b});
        whole(slice(4, 8)) = transpose(b) * 10.0F + b;
        return whole;
      },
      {4, 13, 17, 22, 288, 526, 194, 224});
  check(
      []<class T>(const T& x) {
        const T a = sums(x), b = sums(x * 2.0F);
        T whole = concat(std::vector<T>{b, a}, 1);
        whole(all, slice(0, 4)) = flip(b, 0) * 10.0F + flip(b, 1);
        return whole;
      },
      {452, 379, 311, 146});
}

}  // namespace overwritten_parts
