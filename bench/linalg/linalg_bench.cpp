// SPDX-License-Identifier: MIT
// Times linear algebra on square matrices in milliseconds: eager calls in f64 and f32, and Eigen's in f64.
//
// Usage: linalg_bench [SIZE...] — 100, 300 and 1000 where none is given, on one thread. `linalg_numpy.py` beside it
// prints NumPy's times of the same functions.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/linalg/eigen_yardstick.hpp"
#include "bench/measurement.hpp"
#include "tyto/device.hpp"
#include "tyto/linalg.hpp"

using namespace tyto;
using T = Tensor<Eager>;

namespace {

struct Matrices {
  T general, symmetric, definite, right;

  Matrices(std::int64_t size, DType type)
      : general(T::normal({size, size}, {.dtype = type, .key = Key{1, 1}})),
        symmetric(general + general.T()),
        definite(matmul(general, general.T()) + static_cast<double>(size) * T::eye(size, size, 0, type)),
        right(T::normal({size}, {.dtype = type, .key = Key{1, 2}})) {}
};

struct Row {
  std::string name;
  std::function<void(const Matrices&)> run;
};

const std::vector<Row> rows = {
    {"lu", [](const Matrices& m) { linalg::lu_factor(m.general); }},
    {"solve", [](const Matrices& m) { linalg::solve(m.general, m.right); }},
    {"inv", [](const Matrices& m) { linalg::inv(m.general); }},
    {"det", [](const Matrices& m) { linalg::det(m.general); }},
    {"cholesky", [](const Matrices& m) { linalg::cholesky(m.definite); }},
    {"qr", [](const Matrices& m) { linalg::qr(m.general); }},
    {"eigh", [](const Matrices& m) { linalg::eigh(m.symmetric); }},
    {"eigvalsh", [](const Matrices& m) { linalg::eigvalsh(m.symmetric); }},
    {"eig", [](const Matrices& m) { linalg::eig(m.general); }},
    {"eigvals", [](const Matrices& m) { linalg::eigvals(m.general); }},
    {"svd", [](const Matrices& m) { linalg::svd(m.general); }},
    {"svdvals", [](const Matrices& m) { linalg::svdvals(m.general); }},
    {"pinv", [](const Matrices& m) { linalg::pinv(m.general); }},
    {"expm", [](const Matrices& m) { linalg::expm(m.general); }},
};

void measure(std::int64_t size) {
  const Matrices wide(size, DType::f64), narrow(size, DType::f32);
  const double *general = wide.general.data<double>().data(), *symmetric = wide.symmetric.data<double>().data(),
               *definite = wide.definite.data<double>().data();
  std::printf("%lld rows      f64      f32    Eigen  portable Eigen\n", static_cast<long long>(size));
  for (const Row& row : rows) {
    std::printf("%-10s", row.name.c_str());
    for (const Matrices* matrices : {&wide, &narrow}) {
      std::printf(" %8.2f", 1e3 * bench::fastest(1, [&] { row.run(*matrices); }));
    }
    if (bench::native_eigen(row.name, size, general, symmetric, definite)) {
      std::printf(" %8.2f",
                  1e3 * bench::fastest(1, [&] { bench::native_eigen(row.name, size, general, symmetric, definite); }));
      std::printf(" %8.2f", 1e3 * bench::fastest(
                                      1, [&] { bench::portable_eigen(row.name, size, general, symmetric, definite); }));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  threads(1);
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::strtoll(arguments[i], nullptr, 10));
  if (sizes.empty()) sizes = {100, 300, 1000};
  for (const std::int64_t size : sizes) measure(size);
  return 0;
}
