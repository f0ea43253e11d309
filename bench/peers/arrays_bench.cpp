// Eager array expressions on one thread: reads "EXPRESSION COUNT" lines and answers each with the nanoseconds of the
// processor that one call takes, the least of several. arrays_numpy.py asks, and measures NumPy in between.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include <tyto/tyto.hpp>

namespace {

using namespace tyto;
using T = tyto::Tensor<tyto::Eager>;

double fastest(const std::function<void()>& call) {
  // Of this process' one thread: what else the machine does is not counted.
  const auto seconds = [&](int calls) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < calls; ++i) call();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  call();
  const int calls = static_cast<int>(std::clamp(0.01 / std::max(seconds(1), 1e-9), 1.0, 10000.0));
  double best = seconds(calls);
  for (int round = 0; round < 3; ++round) best = std::min(best, seconds(calls));
  return best / calls;
}

/// The numbers that the script gives NumPy: a shuffled ramp around zero.
T numbers(std::int64_t count) {
  const T i = T::arange(count);
  return ((i * 7919 % count).astype(DType::f32) - static_cast<double>(count) / 2) / 100;
}

std::int64_t side_of(std::int64_t count) { return static_cast<std::int64_t>(std::sqrt(static_cast<double>(count))); }

using Expression = std::function<std::function<void()>(std::int64_t count)>;

/// An expression of a vector, or of a square matrix of as many elements.
template <class F>
Expression of_vector(F f) {
  return [f](std::int64_t count) { return [f, x = numbers(count)] { (void)f(x); }; };
}
template <class F>
Expression of_matrix(F f) {
  return [f](std::int64_t count) {
    const std::int64_t side = side_of(count);
    return [f, x = numbers(side * side).reshape({side, side})] { (void)f(x); };
  };
}

const std::map<std::string, Expression>& expressions() {
  static const std::map<std::string, Expression> list = {
      {"clip", of_vector([](const T& x) { return clip(x, -1.0, 1.0); })},
      {"sort", of_vector([](const T& x) { return sort(x); })},
      {"sort_rows", of_matrix([](const T& x) { return sort(x, 1); })},
      {"argsort", of_vector([](const T& x) { return argsort(x); })},
      {"mask_read", of_vector([](const T& x) { return T(x(x > 0)); })},
      {"mask_write", of_vector([](T x) {
         x(x > 0) = 0.0;
         return x;
       })},
      {"nonzero", of_vector([](const T& x) { return nonzero(x > 0); })},
      {"roll", of_vector([](const T& x) { return roll(x, {5}); })},
      {"roll_rows", of_matrix([](const T& x) { return roll(x, {5}, {1}); })},
      {"median", of_vector([](const T& x) { return median(x); })},
      {"unique", of_vector([](const T& x) { return unique(x); })},
      {"flip_copy", of_vector([](const T& x) { return copy(flip(x)); })},
      {"gram", of_matrix([](const T& x) { return matmul(x.T(), x); })},
      {"matvec", of_matrix([](const T& x) { return matmul(x, x(0)); })},
      {"normal", of_vector([](const T& x) { return T::normal(x.shape()); })},
      {"max_axis0", of_matrix([](const T& x) { return x.max(0); })},
      {"any", of_vector([](const T& x) { return any(x > 1e9); })},
      {"sum", of_vector([](const T& x) { return sum(x); })},
      {"diff", of_vector([](const T& x) { return diff(x); })},
      {"interp", of_vector([](const T& x) { return interp(x, T::arange(100), T::arange(100)); })},
      {"cumsum", of_vector([](const T& x) { return cumsum(x, 0); })},
      {"where", of_vector([](const T& x) { return where(x > 0, x, -x); })},
  };
  return list;
}

}  // namespace

int main() {
  tyto::threads(1);
  std::string name;
  for (std::int64_t count = 0; std::cin >> name >> count;) {
    const auto found = expressions().find(name);
    if (found == expressions().end()) {
      std::cerr << "arrays_bench: there is no expression " << name << '\n';
      return 1;
    }
    std::cout << fastest(found->second(count)) * 1e9 << std::endl;
  }
}
