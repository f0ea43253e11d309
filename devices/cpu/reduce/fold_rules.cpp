// SPDX-License-Identifier: MIT
// Tables of folds by element type: how partial results begin, join and become elements.
#include "devices/cpu/reduce/fold_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/reduce/extremes.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

namespace {

template <class T>
using SumPartial = std::conditional_t<std::is_floating_point_v<Compute<T>>, double, std::uint64_t>;

template <class T>
T rounded(double value) {
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    return StoreElement<T>::from(static_cast<Compute<T>>(value));
  } else {
    return static_cast<T>(value);
  }
}

struct Nothing {};

/// A partial result, whose components lie in arrays of their own.
template <class A, class B = Nothing>
struct Partial {
  static constexpr bool has_second = !std::is_same_v<B, Nothing>;

  A first;
  B second = {};

  static Partial at(const void* firsts, const void* seconds, std::int64_t j) {
    Partial partial{static_cast<const A*>(firsts)[j]};
    if constexpr (has_second) partial.second = static_cast<const B*>(seconds)[j];
    return partial;
  }
  void put(void* firsts, void* seconds, std::int64_t j) const {
    static_cast<A*>(firsts)[j] = first;
    if constexpr (has_second) static_cast<B*>(seconds)[j] = second;
  }
  static void set_sizes(FoldRules& rules) {
    rules.first_size = sizeof(A);
    if constexpr (has_second) rules.second_size = sizeof(B);
  }
};

/// A fold R says how one partial result begins, and how it joins another that comes after it: R::start(), R::join(mine,
/// other, elements of mine, elements of other).
template <class R>
void start_columns(void* first, void* second, std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) R::start().put(first, second, j);
}
template <class R>
void join_columns(void* first, void* second, std::int64_t count, const void* other_first, const void* other_second,
                  std::int64_t other_count, std::int64_t width) {
  using P = typename R::P;
  const double before = static_cast<double>(count), behind = static_cast<double>(other_count);
  for (std::int64_t j = 0; j < width; ++j) {
    const P joined = R::join(P::at(first, second, j), P::at(other_first, other_second, j), before, behind);
    joined.put(first, second, j);
  }
}

/// Its rules, where Finished()(partial, extent) makes an element of a partial result.
template <class R, class Out, class Finished>
FoldRules rules_of(Finished) {
  using P = typename R::P;
  FoldRules rules;
  P::set_sizes(rules);
  rules.start = start_columns<R>;
  rules.join = join_columns<R>;
  rules.finish = [](const void* first, const void* second, std::int64_t width, FoldExtent extent, void* to,
                    std::int64_t stride) {
    for (std::int64_t j = 0; j < width; ++j) {
      static_cast<Out*>(to)[j * stride] = Finished()(P::at(first, second, j), extent);
    }
  };
  return rules;
}

template <class T, bool product>
struct SumFold {
  using P = Partial<SumPartial<T>>;
  static P start() { return {SumPartial<T>(product)}; }
  static P join(P a, P b, double, double) { return {product ? a.first * b.first : a.first + b.first}; }
};

template <class T, bool product>
FoldRules sum_rules(Finish finish, DType out) {
  using R = SumFold<T, product>;
  using P = typename R::P;
  if (finish == Finish::mean) {
    return rules_of<R, T>([](P sum, FoldExtent extent) {
      return rounded<T>(static_cast<double>(sum.first) / static_cast<double>(extent.count));
    });
  }
  // Integers are summed to i64, the floating-point types to themselves; the type rule decides, the width follows it.
  return with_element(out, []<class U>(std::type_identity<U>) {
    return rules_of<R, U>([](P sum, FoldExtent) {
      if constexpr (std::is_floating_point_v<Compute<U>>) return rounded<U>(static_cast<double>(sum.first));
      else return static_cast<U>(sum.first);
    });
  });
}

template <class T, class Order>
struct ExtremeFold {
  using P = Partial<Compute<T>>;
  static P start() { return {Order::template worst<Compute<T>>()}; }
  static P join(P a, P b, double, double) { return {extreme<Order>(a.first, b.first)}; }
};

/// The extreme and its place; -1 where nothing beat the worst value there is.
template <class T, class Order>
struct FirstExtremeFold {
  using P = Partial<Compute<T>, std::int64_t>;
  static P start() { return {Order::template worst<Compute<T>>(), -1}; }
  static P join(P a, P b, double, double) {
    const bool stays = a.first != a.first || !(Order::beats(b.first, a.first) || b.first != b.first);
    return stays ? a : b;
  }
};

template <class T, class Order>
FoldRules extreme_rules() {
  using R = ExtremeFold<T, Order>;
  return rules_of<R, T>([](typename R::P p, FoldExtent) { return StoreElement<T>::from(p.first); });
}

template <class T, class Order>
FoldRules first_extreme_rules() {
  using R = FirstExtremeFold<T, Order>;
  // Where nothing beat the worst value every element equals it, the first included.
  return rules_of<R, std::int64_t>([](typename R::P p, FoldExtent) { return p.second < 0 ? 0 : p.second; });
}

struct TruthFold {
  using P = Partial<std::uint8_t>;
  static P start() { return {0}; }
  static P join(P a, P b, double, double) { return {static_cast<std::uint8_t>(a.first | b.first)}; }
};

FoldRules truth_rules(bool all) {
  using P = TruthFold::P;
  FoldRules rules = all ? rules_of<TruthFold, std::uint8_t>([](P p, FoldExtent) { return std::uint8_t(p.first == 0); })
                        : rules_of<TruthFold, std::uint8_t>([](P p, FoldExtent) { return std::uint8_t(p.first != 0); });
  rules.short_circuits = true;
  return rules;
}

/// The mean and the sum of squared deviations from it.
struct MomentsFold {
  using P = Partial<double, double>;
  static P start() { return {0, 0}; }
  static P join(P a, P b, double before, double behind) {
    const double share = behind / (before + behind), difference = b.first - a.first;
    return {a.first + difference * share, a.second + (b.second + difference * difference * before * share)};
  }
};

template <class T>
FoldRules moment_rules() {
  return rules_of<MomentsFold, T>([](MomentsFold::P p, FoldExtent extent) {
    // As in NumPy, too few elements give NaN or infinity, by division by zero.
    const double divisor = std::max(static_cast<double>(extent.count - extent.ddof), 0.0);
    return rounded<T>(extent.count == 0 ? std::numeric_limits<double>::quiet_NaN() : p.second / divisor);
  });
}

double reference_of(double largest) { return std::isfinite(largest) ? largest : 0.0; }

/// The largest element and the sum of exponentials.
struct ExponentialsFold {
  using P = Partial<double, double>;
  static P start() { return {-std::numeric_limits<double>::infinity(), 0}; }
  static P join(P a, P b, double, double) {
    const double peak = extreme<Higher>(a.first, b.first), reference = reference_of(peak);
    // An empty sum must not meet an infinite factor.
    const double mine = a.second == 0 ? 0 : a.second * std::exp(reference_of(a.first) - reference);
    return {peak, mine + (b.second == 0 ? 0 : b.second * std::exp(reference_of(b.first) - reference))};
  }
};

template <class T>
FoldRules exponential_rules() {
  return rules_of<ExponentialsFold, T>([](ExponentialsFold::P p, FoldExtent) {
    return rounded<T>(std::isfinite(p.first) ? std::log(p.second) + p.first : p.first);
  });
}

}  // namespace

FoldRules fold_rules(Fold fold, Finish finish, DType in, DType out) {
  if (fold == Fold::any || fold == Fold::all) return truth_rules(fold == Fold::all);
  return with_element(in, [&]<class T>(std::type_identity<T>) -> FoldRules {
    switch (fold) {
      case Fold::sum: return sum_rules<T, false>(finish, out);
      case Fold::product: return sum_rules<T, true>(finish, out);
      case Fold::minimum: return extreme_rules<T, Lower>();
      case Fold::maximum: return extreme_rules<T, Higher>();
      case Fold::first_minimum: return first_extreme_rules<T, Lower>();
      case Fold::first_maximum: return first_extreme_rules<T, Higher>();
      default: break;
    }
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      return fold == Fold::moments ? moment_rules<T>() : exponential_rules<T>();
    } else {
      return {};
    }
  });
}

FoldLoops fold_loops(Fold fold, DType dtype) {
  const InstructionSet set = instruction_set();
  switch (fold) {
    case Fold::sum:
    case Fold::product:
    case Fold::any:
    case Fold::all: return sum_loops(set, fold, dtype);
    case Fold::moments:
    case Fold::exponentials: return moment_loops(set, fold, dtype);
    default: return extreme_loops(set, fold, dtype);
  }
}

}  // namespace tyto::cpu
