// Products of two rows with two columns in f32 and f64 whose elements alternate: what dot products of complex numbers
// are made of.
#include "devices/cpu/matmul/matmul_routine.hpp"
#include "devices/cpu/threads.hpp"
#include "devices/cpu/tile/tile.hpp"

namespace tyto::cpu {

namespace {

template <class T>
class PairMatmul final : public MatmulRoutine {
 public:
  PairMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem), set_(choice.set()), threads_(matmul_threads(problem, choice, 10.0)) {}

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t batches = batch_count(problem_);
    run_team(threads_, [&](Team team) {
      const Range mine = share(batches, team.member, team.size);
      for (std::int64_t point = mine.begin; point < mine.end; ++point) multiply(arguments, point);
    });
  }

  const char* name() const noexcept override {
    return set_ == InstructionSet::avx512 ? "own avx512" : set_ == InstructionSet::avx2 ? "own avx2" : "own baseline";
  }

 private:
  void multiply(const MatmulArguments& arguments, std::int64_t point) const noexcept {
    const BatchOffsets offsets = batch_offsets(problem_, point);
    T products[4];
    tiles<T>(set_).pairs(static_cast<const T*>(arguments.a) + offsets.a, static_cast<const T*>(arguments.b) + offsets.b,
                         problem_.k, products);
    T* const c = static_cast<T*>(arguments.c) + offsets.c;
    const T* const bias = static_cast<const T*>(arguments.bias);
    const Limits<T> limits = problem_.limits.as<T>();
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 2; ++column) {
        T& to = c[row * problem_.c.row_stride + column * problem_.c.column_stride];
        T value = products[2 * row + column];
        if (problem_.bias) value += bias[column];
        if (problem_.accumulate) value += to;
        to = limits(value);
      }
    }
  }

  MatmulProblem problem_;
  InstructionSet set_;
  int threads_;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_pair_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  const bool fits = problem.m == 2 && problem.n == 2 && !problem.packed_b && problem.a.row_stride == 1 &&
                    problem.a.column_stride == 2 && problem.b.row_stride == 2 && problem.b.column_stride == 1;
  if (!fits) return nullptr;
  if (problem.dtype == DType::f64) return std::make_unique<PairMatmul<double>>(problem, choice);
  if (problem.dtype == DType::f32) return std::make_unique<PairMatmul<float>>(problem, choice);
  return nullptr;
}

}  // namespace tyto::cpu
