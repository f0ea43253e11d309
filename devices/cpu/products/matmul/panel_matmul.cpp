// SPDX-License-Identifier: MIT
// Matrix products in f32 and f64 by register tiles over packed panels, for any strides.
#include <type_traits>

#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t longest_row_part = 512;

// Tiles read rows of a: columns that lie side by side are transposed once where each row meets enough columns of b.
constexpr std::int64_t columns_worth_transposing = 128;

template <class T>
class PanelMatmul final : public MatmulRoutine {
 public:
  PanelMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem), set_(choice.set()), threads_(matmul_threads(problem, choice, machine::tile_operations)) {
    const auto element = static_cast<std::int64_t>(sizeof(T));
    by_batch_ = batch_count(problem) >= 2 * threads_ && threads_ > 1;
    // A chunk reads a long row by one block of the inner dimension at a time.
    const std::int64_t row_bytes = std::min<std::int64_t>(problem.k, longest_row_part) * element;
    transposes_ = problem.a.column_stride != 1 && problem.m > tile_rows && problem.n >= columns_worth_transposing &&
                  problem.m * problem.k * element <= 64 * machine::second_level_cache;
    if (transposes_) {
      const core::View columns{{problem.m, problem.k}, {problem.a.row_stride, problem.a.column_stride}, 0};
      transpose_ = StridedCopy(columns, core::View::dense({problem.m, problem.k}), sizeof(T));
      left_ = space_.reserve_each(by_batch_ ? static_cast<std::size_t>(threads_) : 1,
                                  static_cast<std::size_t>(problem.m * problem.k * element), left_stride_);
    }
    const std::int64_t step = transposes_ ? 1 : problem.a.column_stride;
    product_ = plan_panel_product<T>(set_, problem.m, problem.n, 1, problem.k, step, row_bytes, problem.packed_b,
                                     by_batch_ ? 1 : threads_);
    in_place_ = !problem.packed_b && problem.b.column_stride == 1 && problem.m <= machine::few_rows;
    scattered_ = problem.c.column_stride != 1;

    const PanelLayout& layout = product_.layout;
    const bool whole_panels = layout.columns % layout.width == 0;
    std::int64_t right = 0;
    if (in_place_) {
      right = whole_panels ? 0 : problem.k * layout.pitch_of(layout.count() - 1);
    } else if (product_.packs_on_the_fly) {
      right = product_.panel_elements();
    } else if (!problem.packed_b) {
      right = product_.packed_elements();
    }
    const auto members = static_cast<std::size_t>(threads_);
    const bool each = by_batch_ || (product_.packs_on_the_fly && !in_place_);
    right_ = space_.reserve_each(each ? members : 1, static_cast<std::size_t>(right * element), right_stride_);
    tables_ = space_.reserve_each(members, product_.table_bytes(), tables_stride_);
    if (scattered_) {
      dense_ = space_.reserve_each(by_batch_ ? members : 1, static_cast<std::size_t>(problem.m * problem.n * element),
                                   dense_stride_);
    }
    if (problem.packed_b) packed_space_.reserve(static_cast<std::size_t>(product_.packed_elements()) * sizeof(T));
  }

  std::string packed_layout() const override { return name(); }
  void pack(const void* b, void* packed) const override {
    run_team(threads_, [&](Team team) {
      pack_panels(product_, source(static_cast<const T*>(b)), static_cast<T*>(packed), team);
    });
  }

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t batches = batch_count(problem_);
    if (batches == 0 || problem_.m == 0 || problem_.n == 0) return;
    run_team(threads_, [&](Team team) {
      with_part_loop(arguments.loop, [&](const PartLoop& loop) {
        if (by_batch_) {
          const Range mine = share(batches, team.member, team.size);
          for (std::int64_t point = mine.begin; point < mine.end; ++point) {
            multiply(arguments, point, Team{}, static_cast<std::size_t>(team.member), loop);
          }
        } else {
          for (std::int64_t point = 0; point < batches; ++point) {
            if (point > 0) team.barrier();
            multiply(arguments, point, team, 0, loop);
          }
        }
      });
    });
  }

  bool takes_loop() const noexcept override {
    return problem_.batch.empty() && problem_.c.row_stride == problem_.n && !scattered_;
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  PanelSource<T> source(const T* b) const noexcept {
    return {b, nullptr, problem_.b.row_stride, problem_.b.column_stride};
  }

  // One point of the batch by a team; `slot` says which right operand and dense result in the workspace are theirs.
  void multiply(const MatmulArguments& arguments, std::int64_t point, Team team, std::size_t slot,
                const PartLoop& loop) const noexcept {
    const BatchOffsets offsets = batch_offsets(problem_, point);
    const T* a = static_cast<const T*>(arguments.a) + offsets.a;
    const T* b = static_cast<const T*>(arguments.b) + offsets.b;
    T* c = static_cast<T*>(arguments.c) + offsets.c;
    T* right = at<T>(arguments.workspace, right_ + slot * right_stride_);
    const std::size_t own_slot = team.size > 1 ? static_cast<std::size_t>(team.member) : slot;
    const PanelLayout& layout = product_.layout;

    const PanelSource<T> whole = source(b);
    PanelOperand<T> operand;
    if (problem_.packed_b) {
      operand.packed = static_cast<const T*>(arguments.b);
    } else if (in_place_) {
      operand.in_place = b;
      operand.in_place_pitch = problem_.b.row_stride;
      if (layout.columns % layout.width != 0) {
        operand.packed_tail = right;
        const std::int64_t last = layout.count() - 1;
        if (team.member == 0) {
          const InnerBlock all{0, 1, 0, problem_.k, 0};
          pack_panel(layout, all, last, whole, right);
        }
        team.barrier();
      }
    } else if (product_.packs_on_the_fly) {
      operand.source = &whole;
      operand.scratch = at<T>(arguments.workspace, right_ + own_slot * right_stride_);
    } else {
      operand.packed = right;
      pack_panels(product_, whole, right, team);
      team.barrier();
    }

    std::int64_t a_pitch = problem_.a.row_stride;
    if (transposes_) {
      T* rows = at<T>(arguments.workspace, left_ + slot * left_stride_);
      transpose_.run(reinterpret_cast<const std::byte*>(a), reinterpret_cast<std::byte*>(rows),
                     share(transpose_.units(), team.member, team.size));
      team.barrier();
      a = rows;
      a_pitch = problem_.k;
    }

    T* target = scattered_ ? at<T>(arguments.workspace, dense_ + slot * dense_stride_) : c;
    const std::int64_t target_pitch = scattered_ ? problem_.n : problem_.c.row_stride;
    // The contents of c are added last where c does not hold partial sums.
    const bool adds = problem_.accumulate && !scattered_, at_once = product_.blocks.size() == 1;
    const Epilogue<T> epilogue{.bias = problem_.bias ? static_cast<const T*>(arguments.bias) : nullptr,
                               .residual = adds && at_once ? target : nullptr,
                               .accumulate = adds && !at_once,
                               .limits = scattered_ ? Limits<T>{} : problem_.limits.as<T>(),
                               .loop = loop};
    const auto tables =
        RowTables<T>::in(at<std::byte>(arguments.workspace, tables_ + own_slot * tables_stride_), product_);
    const MemberShare mine = member_share(product_, team);
    multiply_panels(product_, mine, operand, target, epilogue, tables,
                    [&](std::int64_t first, std::int64_t count, const RowTables<T>& to) {
                      for (std::int64_t i = 0; i < count; ++i) {
                        if (product_.taps > 0) to.rows[i] = a + (first + i) * a_pitch;
                        to.c_offsets[i] = (first + i) * target_pitch;
                      }
                    });
    if (scattered_) scatter(mine, target, c);
  }

  void scatter(const MemberShare& mine, const T* dense, T* c) const noexcept {
    const Limits<T> limits = problem_.limits.as<T>();
    const std::int64_t first = mine.panels.begin * product_.layout.width;
    const std::int64_t last = std::min(mine.panels.end * product_.layout.width, problem_.n);
    for (std::int64_t row = mine.rows.begin; row < mine.rows.end; ++row) {
      for (std::int64_t column = first; column < last; ++column) {
        T& to = c[row * problem_.c.row_stride + column * problem_.c.column_stride];
        T value = dense[row * problem_.n + column];
        if (problem_.accumulate) value += to;
        to = limits(value);
      }
    }
  }

  MatmulProblem problem_;
  InstructionSet set_;
  int threads_;
  PanelProduct<T> product_;
  bool in_place_ = false;    // b is read where it lies
  bool scattered_ = false;   // c has no unit stride along n: computed densely, then spread
  bool transposes_ = false;  // a is copied so that its rows lie side by side
  StridedCopy transpose_;
  bool by_batch_ = false;  // members take points of the batch instead of parts of each
  std::size_t left_ = 0, left_stride_ = 0, right_ = 0, right_stride_ = 0, tables_ = 0, tables_stride_ = 0, dense_ = 0,
              dense_stride_ = 0;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_panel_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<PanelMatmul<double>>(problem, choice);
  return std::make_unique<PanelMatmul<float>>(problem, choice);
}

}  // namespace tyto::cpu
