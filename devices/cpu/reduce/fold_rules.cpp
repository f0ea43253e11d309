// SPDX-License-Identifier: MIT
// The rules of each fold, for each element type.
#include "devices/cpu/reduce/fold_rules.hpp"

#include <cmath>
#include <limits>

#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
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

// One component, joined by Op.
template <class P, class Op>
void join_single(void* first, void*, std::int64_t, const void* other, const void*, std::int64_t, std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) {
    P& mine = static_cast<P*>(first)[j];
    mine = Op::apply(mine, static_cast<const P*>(other)[j]);
  }
}

struct Plus {
  template <class P>
  static P apply(P a, P b) {
    return a + b;
  }
};
struct Times {
  template <class P>
  static P apply(P a, P b) {
    return a * b;
  }
};
struct Either {
  static std::uint8_t apply(std::uint8_t a, std::uint8_t b) { return a | b; }
};
struct Lower {
  template <class P>
  static bool beats(P b, P a) {
    return b < a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? std::numeric_limits<P>::infinity() : std::numeric_limits<P>::max();
  }
};
struct Higher {
  template <class P>
  static bool beats(P b, P a) {
    return b > a;
  }
  template <class P>
  static P worst() {
    return std::numeric_limits<P>::has_infinity ? -std::numeric_limits<P>::infinity()
                                                : std::numeric_limits<P>::lowest();
  }
};
template <class Order>
struct Extreme {
  template <class P>
  static P apply(P a, P b) {
    return Order::beats(b, a) || b != b ? b : a;
  }
};

template <class T, bool Product>
FoldRules sum_rules(Finish finish, DType out) {
  using P = SumPartial<T>;
  FoldRules rules;
  rules.first_size = sizeof(P);
  rules.start = [](void* first, void*, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) static_cast<P*>(first)[j] = Product ? P(1) : P(0);
  };
  rules.join = join_single<P, std::conditional_t<Product, Times, Plus>>;
  if (finish == Finish::mean) {
    rules.finish = [](const void* first, const void*, std::int64_t width, FoldExtent extent, void* to,
                      std::int64_t stride) {
      const double count = static_cast<double>(extent.count);
      for (std::int64_t j = 0; j < width; ++j) {
        static_cast<T*>(to)[j * stride] = rounded<T>(static_cast<double>(static_cast<const P*>(first)[j]) / count);
      }
    };
    return rules;
  }
  // Integers are summed to i64, the floating-point types to themselves; the type rule decides, the width follows it.
  with_element(out, [&]<class U>(std::type_identity<U>) {
    rules.finish = [](const void* first, const void*, std::int64_t width, FoldExtent, void* to, std::int64_t stride) {
      for (std::int64_t j = 0; j < width; ++j) {
        const P value = static_cast<const P*>(first)[j];
        if constexpr (std::is_floating_point_v<Compute<U>>) {
          static_cast<U*>(to)[j * stride] = rounded<U>(static_cast<double>(value));
        } else {
          static_cast<U*>(to)[j * stride] = static_cast<U>(value);
        }
      }
    };
  });
  return rules;
}

template <class T, class Order>
FoldRules extreme_rules() {
  using P = Compute<T>;
  FoldRules rules;
  rules.first_size = sizeof(P);
  rules.start = [](void* first, void*, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) static_cast<P*>(first)[j] = Order::template worst<P>();
  };
  rules.join = join_single<P, Extreme<Order>>;
  rules.finish = [](const void* first, const void*, std::int64_t width, FoldExtent, void* to, std::int64_t stride) {
    for (std::int64_t j = 0; j < width; ++j) {
      static_cast<T*>(to)[j * stride] = StoreElement<T>::from(static_cast<const P*>(first)[j]);
    }
  };
  return rules;
}

template <class T, class Order>
FoldRules first_extreme_rules() {
  using P = Compute<T>;
  FoldRules rules;
  rules.first_size = sizeof(P);
  rules.second_size = sizeof(std::int64_t);
  rules.start = [](void* first, void* second, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) {
      static_cast<P*>(first)[j] = Order::template worst<P>();
      static_cast<std::int64_t*>(second)[j] = -1;
    }
  };
  rules.join = [](void* first, void* second, std::int64_t, const void* other_first, const void* other_second,
                  std::int64_t, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) {
      P& mine = static_cast<P*>(first)[j];
      const P other = static_cast<const P*>(other_first)[j];
      if (mine != mine || !(Order::beats(other, mine) || other != other)) continue;
      mine = other;
      static_cast<std::int64_t*>(second)[j] = static_cast<const std::int64_t*>(other_second)[j];
    }
  };
  rules.finish = [](const void*, const void* second, std::int64_t width, FoldExtent, void* to, std::int64_t stride) {
    for (std::int64_t j = 0; j < width; ++j) {
      // Nothing beat the worst value there is: every element equals it, the first included.
      const std::int64_t index = static_cast<const std::int64_t*>(second)[j];
      static_cast<std::int64_t*>(to)[j * stride] = index < 0 ? 0 : index;
    }
  };
  return rules;
}

FoldRules truth_rules(bool all) {
  FoldRules rules;
  rules.first_size = 1;
  rules.short_circuits = true;
  rules.start = [](void* first, void*, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) static_cast<std::uint8_t*>(first)[j] = 0;
  };
  rules.join = join_single<std::uint8_t, Either>;
  rules.finish = all ? [](const void* first, const void*, std::int64_t width, FoldExtent, void* to, std::int64_t stride) {
    for (std::int64_t j = 0; j < width; ++j) {
      static_cast<std::uint8_t*>(to)[j * stride] = static_cast<const std::uint8_t*>(first)[j] == 0 ? 1 : 0;
    }
  }
  : [](const void* first, const void*, std::int64_t width, FoldExtent, void* to, std::int64_t stride) {
      for (std::int64_t j = 0; j < width; ++j) {
        static_cast<std::uint8_t*>(to)[j * stride] = static_cast<const std::uint8_t*>(first)[j] != 0 ? 1 : 0;
      }
    };
  return rules;
}

template <class T>
FoldRules moment_rules() {
  FoldRules rules;
  rules.first_size = rules.second_size = sizeof(double);
  rules.start = [](void* first, void* second, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) static_cast<double*>(first)[j] = static_cast<double*>(second)[j] = 0;
  };
  rules.join = [](void* first, void* second, std::int64_t count, const void* other_first, const void* other_second,
                  std::int64_t other_count, std::int64_t width) {
    const double a = static_cast<double>(count), b = static_cast<double>(other_count), share = b / (a + b);
    for (std::int64_t j = 0; j < width; ++j) {
      double& mean = static_cast<double*>(first)[j];
      const double difference = static_cast<const double*>(other_first)[j] - mean;
      mean += difference * share;
      static_cast<double*>(second)[j] +=
          static_cast<const double*>(other_second)[j] + difference * difference * a * share;
    }
  };
  rules.finish = [](const void*, const void* second, std::int64_t width, FoldExtent extent, void* to,
                    std::int64_t stride) {
    // As NumPy: too few elements give NaN or infinity, whichever the quotient is.
    const double divisor = std::max(static_cast<double>(extent.count - extent.ddof), 0.0);
    const double empty = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t j = 0; j < width; ++j) {
      const double squares = static_cast<const double*>(second)[j];
      static_cast<T*>(to)[j * stride] = rounded<T>(extent.count == 0 ? empty : squares / divisor);
    }
  };
  return rules;
}

double reference_of(double largest) { return std::isfinite(largest) ? largest : 0.0; }

template <class T>
FoldRules exponential_rules() {
  FoldRules rules;
  rules.first_size = rules.second_size = sizeof(double);
  rules.start = [](void* first, void* second, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) {
      static_cast<double*>(first)[j] = -std::numeric_limits<double>::infinity();
      static_cast<double*>(second)[j] = 0;
    }
  };
  rules.join = [](void* first, void* second, std::int64_t, const void* other_first, const void* other_second,
                  std::int64_t, std::int64_t width) {
    for (std::int64_t j = 0; j < width; ++j) {
      double& largest = static_cast<double*>(first)[j];
      double& sum = static_cast<double*>(second)[j];
      const double other = static_cast<const double*>(other_first)[j];
      const double other_sum = static_cast<const double*>(other_second)[j];
      const double peak = Extreme<Higher>::apply(largest, other), reference = reference_of(peak);
      // An empty sum must not meet an infinite factor.
      const double mine = sum == 0 ? 0 : sum * std::exp(reference_of(largest) - reference);
      sum = mine + (other_sum == 0 ? 0 : other_sum * std::exp(reference_of(other) - reference));
      largest = peak;
    }
  };
  rules.finish = [](const void* first, const void* second, std::int64_t width, FoldExtent, void* to,
                    std::int64_t stride) {
    for (std::int64_t j = 0; j < width; ++j) {
      const double largest = static_cast<const double*>(first)[j], sum = static_cast<const double*>(second)[j];
      static_cast<T*>(to)[j * stride] = rounded<T>(std::isfinite(largest) ? std::log(sum) + largest : largest);
    }
  };
  return rules;
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
