// SPDX-License-Identifier: MIT
// Loops and branches: part of the graph in lazy mode, recorded once however often they run; plain C++ in eager mode. A
// plain number that a body changes (`n += 1`) changes once then: make it a tensor that is carried, or returned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Options of `while_loop`.
struct LoopOptions {
  /// while_loop and fori_loop: the loop ends after so many iterations; 0: without a bound. Gradients of loops whose
  /// count is not known when they are recorded need it.
  std::int64_t most = 0;
  bool reverse = false;  ///< scan: from the last row to the first; results lie in the order of the rows all the same
};

/// A bound of fori_loop: a number, or an integer tensor of one element.
class Count {
 public:
  Count(std::int64_t number) : number_(number) {}  // NOLINT: 10 is a count
  Count(int number) : number_(number) {}           // NOLINT
  template <class M>
  Count(const Tensor<M>& tensor) : tensor_(tensor) {}  // NOLINT

  /// The number, where it is known.
  std::int64_t number() const { return number_; }
  /// Empty where the number is known.
  const Value& tensor() const { return tensor_; }

 private:
  std::int64_t number_ = 0;
  Value tensor_;
};

namespace detail {

/// Whether a loop or branch runs as C++, is recorded, or follows the mode of its operands.
enum class RegionMode : std::uint8_t { as_operands, eager, lazy };

using RegionFunction = std::function<std::vector<Value>(const std::vector<Value>&)>;

/// A loop as the engine sees it: flat lists of tensors.
struct LoopCall {
  const char* name;
  RegionMode mode = RegionMode::as_operands;
  std::vector<Value> carries = {};
  std::vector<Value> stacks = {};                                  // of rows, along their first axis
  std::optional<std::pair<Count, Count>> range = {};               // fori_loop: from, to
  std::function<Value(const std::vector<Value>&)> condition = {};  // while_loop: of the carries
  bool stops = false;                                              // scan_until: the body yields whether to stop
  /// In eager mode carries may change their shapes, and stacks have as many rows as were done. A loop that is recorded
  /// keeps shapes all the same.
  bool flexible = false;
  /// From carries, the number (with a range) and rows to carries, whether to stop (where it stops), results.
  RegionFunction body = {};
  LoopOptions options = {};
};

struct LoopResults {
  std::vector<Value> carries, stacks;
  Value count;  // how often it ran, where the data decided that
};

LoopResults run_loop(const LoopCall& call);

/// One of the functions runs: number `index`, or, where `is_truth`, the first for true.
std::vector<Value> run_branch(const char* name, RegionMode mode, const Value& index, bool is_truth,
                              const std::vector<std::function<std::vector<Value>()>>& arms);

template <class T>
inline constexpr RegionMode region_mode = RegionMode::as_operands;
template <>
inline constexpr RegionMode region_mode<Tensor<Eager>> = RegionMode::eager;
template <>
inline constexpr RegionMode region_mode<Tensor<Lazy>> = RegionMode::lazy;
template <class T>
inline constexpr RegionMode region_mode<std::vector<T>> = region_mode<T>;
template <class... T>
inline constexpr RegionMode region_mode<std::tuple<T...>> = std::max({RegionMode::as_operands, region_mode<T>...});
template <class A, class B>
inline constexpr RegionMode region_mode<std::pair<A, B>> = std::max(region_mode<A>, region_mode<B>);

template <class T>
std::vector<Value> flattened(const T& structure) {
  std::vector<Value> values;
  flatten(structure, values);
  return values;
}

/// Values that loops carry and branches return: a tensor or a class derived from one, or a list, tuple or pair of such.
template <class T>
inline constexpr bool is_structure = requires(const T& x) {
  []<class M>(const Tensor<M>&) {}(x);
};
template <class M>
inline constexpr bool is_structure<std::vector<Tensor<M>>> = true;
template <class... T>
inline constexpr bool is_structure<std::tuple<T...>> = (is_structure<T> && ...);
template <class A, class B>
inline constexpr bool is_structure<std::pair<A, B>> = is_structure<A>&& is_structure<B>;

/// The type of a loop's result; Value where C is no structure, so that the static_assert is the only error.
template <class C>
using Carried = std::conditional_t<is_structure<C>, C, Value>;

/// The result of a function of these operands; void for a function that does not take them.
template <class F, class... T>
struct ResultOf {
  using type = void;
};
template <class F, class... T>
requires std::is_invocable_v<F&, T...>
struct ResultOf<F, T...> {
  using type = std::decay_t<std::invoke_result_t<F&, T...>>;
};
template <class F, class... T>
using result_of = typename ResultOf<F, T...>::type;

/// The number of an iteration as a body takes it.
template <class C>
using IterationNumber =
    std::conditional_t<region_mode<C> == RegionMode::lazy, Tensor<Lazy>,
                       std::conditional_t<region_mode<C> == RegionMode::eager, Tensor<Eager>, Tensor<Any>>>;

// Static assertions on the functions of loops and branches; nothing else is compiled where one fails.

template <class C, class P, class B>
consteval bool is_while_loop() {
  static_assert(is_structure<C>,
                "while_loop(init, go_on, body): init is a tensor, or a list, tuple or pair of tensors");
  if constexpr (is_structure<C>) {
    static_assert(std::is_convertible_v<result_of<P, C>, Value>,
                  "while_loop(init, go_on, body): go_on takes what is carried and gives a tensor of one bool");
    static_assert(std::is_convertible_v<result_of<B, C>, C>,
                  "while_loop(init, go_on, body): the body takes what is carried and returns the next, of init's type");
    return std::is_convertible_v<result_of<P, C>, Value> && std::is_convertible_v<result_of<B, C>, C>;
  }
  return false;
}

template <class C, class B>
consteval bool is_fori_loop() {
  static_assert(is_structure<C>,
                "fori_loop(lower, upper, init, body): init, which stands before the body, is a tensor, "
                "or a list, tuple or pair of tensors");
  if constexpr (is_structure<C>) {
    static_assert(std::is_convertible_v<result_of<B, IterationNumber<C>, C>, C>,
                  "fori_loop(lower, upper, init, body): the body takes the iteration's number, a tensor, and what is "
                  "carried, and returns the next, of init's type");
    return std::is_convertible_v<result_of<B, IterationNumber<C>, C>, C>;
  }
  return false;
}

template <class T, std::size_t size>
consteval bool gives_results() {
  if constexpr (requires { std::tuple_size<T>::value; }) return std::tuple_size_v<T> == size;
  return false;
}
template <class F, class C, class X, std::size_t results>
consteval bool is_scan() {
  constexpr bool fits = gives_results<result_of<F, C, X>, results>();
  constexpr bool is_pair = results != 2 || fits, is_triple = results != 3 || fits;
  static_assert(
      is_pair,
      "scan(f, init, xs): f takes what is carried and a row, and returns std::pair(the next carries, a result)");
  static_assert(
      is_triple,
      "scan_until(f, init, xs): f takes what is carried and a row, and returns std::tuple(the next carries, a "
      "result, a tensor of one bool that says whether to stop)");
  if constexpr (fits) {
    using Next = std::tuple_element_t<0, result_of<F, C, X>>;
    static_assert(std::is_convertible_v<Next, C>, "scan: the next carries are of the type of init");
    return std::is_convertible_v<Next, C>;
  }
  return false;
}

template <class F, class G, class... T>
consteval bool is_cond() {
  using First = result_of<F, const T&...>;
  constexpr bool fits = is_structure<First>;
  constexpr bool same = std::is_constructible_v<First, result_of<G, const T&...>>;
  static_assert(fits,
                "cond(condition, then, otherwise, operands...): `then` takes the operands and returns a tensor, or a "
                "list, tuple or pair of tensors");
  constexpr bool are_alike = !fits || same;
  static_assert(
      are_alike,
      "cond(condition, then, otherwise, operands...): both functions take the operands and return the same type");
  return fits && same;
}

/// The structure with `count` of the values, from number `first` on.
template <class T>
T restored(T structure, const std::vector<Value>& values, std::size_t first) {
  std::vector<Value> own(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  Value* next = own.data();
  restore(structure, next);
  return structure;
}

}  // namespace detail

/// `then(operands...)` where the condition holds, else `otherwise(operands...)`; only that one is computed. The
/// condition is one bool. What the functions use otherwise they capture. In lazy mode both are recorded: a plain
/// number that they change (`n += 1`) changes in both; return a tensor instead.
///
///     Tensor y = cond(norm > 1.0, [&](Tensor v) { return v / norm; }, [](Tensor v) { return v; }, x);
template <class P, class F, class G, class... T>
auto cond(const Tensor<P>& condition, F then, G otherwise, const T&... operands) {
  if constexpr (detail::is_cond<F, G, T...>()) {
    using Result = std::decay_t<std::invoke_result_t<F&, const T&...>>;
    std::optional<Result> structure;
    const auto arm = [&](auto& function) {
      return [&] {
        structure.emplace(function(operands...));
        return detail::flattened(*structure);
      };
    };
    constexpr detail::RegionMode mode = std::max(detail::region_mode<Tensor<P>>, detail::region_mode<Result>);
    const std::vector<Value> values = detail::run_branch("cond", mode, condition, true, {arm(then), arm(otherwise)});
    return detail::restored(std::move(*structure), values, 0);
  }
}
/// Fails to compile, with an error that asks for a tensor as the condition.
template <class F, class G, class... T>
void cond(bool, F, G, const T&...) {
  static_assert(detail::always_false<F>, "cond: the condition is a tensor of one bool; of a bool of C++, `if` decides");
}

/// `arms[index](operands...)`; an index beyond the ends chooses the first or the last.
template <class I, class F, class... T>
auto switch_case(const Tensor<I>& index, std::vector<F> arms, const T&... operands) {
  using Result = std::decay_t<std::invoke_result_t<F&, const T&...>>;
  std::optional<Result> structure;
  std::vector<std::function<std::vector<Value>()>> functions;
  for (F& arm : arms) {
    functions.push_back([&] {
      structure.emplace(arm(operands...));
      return detail::flattened(*structure);
    });
  }
  constexpr detail::RegionMode mode = std::max(detail::region_mode<Tensor<I>>, detail::region_mode<Result>);
  const std::vector<Value> values = detail::run_branch("switch_case", mode, index, false, functions);
  return detail::restored(std::move(*structure), values, 0);
}

/// Fails to compile, with an error that asks for a tensor as the index.
template <class F, class... T>
void switch_case(std::int64_t, std::vector<F>, const T&...) {
  static_assert(detail::always_false<F>,
                "switch_case: the index is an integer tensor; of a number of C++, arms[i](...) is the result");
}

/// Applies `body` to the carries while `go_on` of them holds. Carries are a tensor, or a tuple, pair or vector of them,
/// and keep their shapes and types. Recorded once in lazy mode: what changes is a carry, no plain number (`n += 1`).
///
///     Tensor root = while_loop(x, [&](Tensor y) { return abs(y * y - x) > 1e-6; },
///                              [&](Tensor y) { return (y + x / y) * 0.5; }, {.most = 50});
template <class C, class P, class B>
detail::Carried<C> while_loop(const C& init, P go_on, B body, const LoopOptions& options = {}) {
  if constexpr (detail::is_while_loop<C, P, B>()) {
    detail::LoopCall call{.name = "while_loop", .mode = detail::region_mode<C>, .carries = detail::flattened(init)};
    call.condition = [&](const std::vector<Value>& carries) -> Value {
      return go_on(detail::restored(init, carries, 0));
    };
    call.body = [&](const std::vector<Value>& given) {
      return detail::flattened(static_cast<C>(body(detail::restored(init, given, 0))));
    };
    call.options = options;
    return detail::restored(init, detail::run_loop(call).carries, 0);
  } else {
    return {};
  }
}

/// `carries = body(i, carries)` for i from `lower` to `upper`, which is not reached. Recorded once in lazy mode: what
/// changes from one iteration to the next is a carry, not a plain number (`n += 1`).
///
///     Tensor factorial = fori_loop(1, 6, one, [](Tensor i, Tensor product) { return product * i; });
template <class C, class B>
detail::Carried<C> fori_loop(const Count& lower, const Count& upper, const C& init, B body,
                             const LoopOptions& options = {}) {
  if constexpr (detail::is_fori_loop<C, B>()) {
    detail::LoopCall call{.name = "fori_loop", .mode = detail::region_mode<C>, .carries = detail::flattened(init)};
    const std::size_t count = call.carries.size();
    call.range.emplace(lower, upper);
    call.body = [&, count](const std::vector<Value>& given) {
      return detail::flattened(
          static_cast<C>(body(detail::IterationNumber<C>(given[count]), detail::restored(init, given, 0))));
    };
    call.options = options;
    return detail::restored(init, detail::run_loop(call).carries, 0);
  } else {
    return {};
  }
}

/// `[carries, y] = f(carries, row)` for each row of `xs` along its first axis; yields the last carries and the stack of
/// all y. Recorded once in lazy mode: what changes is a carry, not a plain number (`n += 1`).
///
///     auto [last, sums] = scan([](Tensor sum, Tensor x) { return std::pair(sum + x, sum + x); }, zero, xs);
template <class F, class C, class X>
requires(!std::is_convertible_v<const F&, const Value&>)  // scan(x, axis, f) of tyto/reduce.hpp
    auto scan(F f, const C& init, const X& xs, const LoopOptions& options = {}) {
  if constexpr (detail::is_scan<F, C, X, 2>()) {
    using Y = std::decay_t<decltype(std::get<1>(f(init, xs)))>;
    detail::LoopCall call{.name = "scan",
                          .mode = std::max(detail::region_mode<C>, detail::region_mode<X>),
                          .carries = detail::flattened(init),
                          .stacks = detail::flattened(xs)};
    const std::size_t count = call.carries.size();
    std::optional<Y> structure;
    call.body = [&, count](const std::vector<Value>& given) {
      auto results = f(detail::restored(init, given, 0), detail::restored(xs, given, count));
      std::vector<Value> values = detail::flattened(static_cast<C>(std::get<0>(results)));
      structure.emplace(std::get<1>(results));
      detail::flatten(*structure, values);
      return values;
    };
    call.options = options;
    detail::LoopResults results = detail::run_loop(call);
    return std::pair(detail::restored(init, results.carries, 0),
                     detail::restored(std::move(*structure), results.stacks, 0));
  }
}

/// Fails to compile, with an error that asks for the function as the first argument.
template <class C, class F, class X>
requires(!std::is_convertible_v<F, std::int64_t> && detail::is_structure<X>) void scan(const Tensor<C>&, F, const X&,
                                                                                       const LoopOptions& = {}) {
  static_assert(detail::always_false<F>, "scan(f, init, xs): the function comes first");
}

/// The same until the third thing that `f` yields, one bool, holds: that row is the last. Yields the carries, the
/// stacks, in which later rows are zeros, and how many rows were done.
template <class F, class C, class X>
auto scan_until(F f, const C& init, const X& xs, const LoopOptions& options = {}) {
  if constexpr (detail::is_scan<F, C, X, 3>()) {
    using Y = std::decay_t<decltype(std::get<1>(f(init, xs)))>;
    using Stop = std::decay_t<decltype(std::get<2>(f(init, xs)))>;
    detail::LoopCall call{.name = "scan_until",
                          .mode = std::max(detail::region_mode<C>, detail::region_mode<X>),
                          .carries = detail::flattened(init),
                          .stacks = detail::flattened(xs)};
    const std::size_t count = call.carries.size();
    std::optional<Y> structure;
    call.stops = true;
    call.body = [&, count](const std::vector<Value>& given) {
      auto results = f(detail::restored(init, given, 0), detail::restored(xs, given, count));
      std::vector<Value> values = detail::flattened(static_cast<C>(std::get<0>(results)));
      values.push_back(std::get<2>(results));
      structure.emplace(std::get<1>(results));
      detail::flatten(*structure, values);
      return values;
    };
    call.options = options;
    detail::LoopResults results = detail::run_loop(call);
    return std::tuple(detail::restored(init, results.carries, 0),
                      detail::restored(std::move(*structure), results.stacks, 0), Stop(results.count));
  }
}

}  // namespace TYTO_API
