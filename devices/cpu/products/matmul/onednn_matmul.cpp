// SPDX-License-Identifier: MIT
// Matrix products in bf16, and of bytes with sums of i32, by oneDNN where the processor multiplies them.
#include "devices/cpu/products/matmul/matmul_routine.hpp"

#if defined(TYTO_HAVE_ONEDNN)

#include <optional>

#include "devices/cpu/products/onednn/primitive.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using Description = dnnl::memory::desc;

using Type = dnnl::memory::data_type;

// oneDNN takes matrices of which one axis is contiguous and the other steps over whole runs of it.
bool plain(const MatrixLayout& layout, std::int64_t rows, std::int64_t columns, bool row_major_only) {
  const bool by_rows = layout.column_stride == 1 && layout.row_stride >= columns;
  const bool by_columns = layout.row_stride == 1 && layout.column_stride >= rows;
  bool forward = true;
  for (const std::int64_t stride : layout.batch_strides) forward = forward && stride >= 0;
  return forward && (by_rows || (by_columns && !row_major_only));
}

// oneDNN 3.7 takes a step of one element for that of the only row of a and the only column of c.
bool vectors_are_dense(const MatmulProblem& p) {
  return (p.m != 1 || p.k == 1 || p.a.column_stride == 1) && (p.n != 1 || p.m == 1 || p.c.row_stride == 1);
}

bool takes(const MatmulProblem& p, const KernelChoice& choice) {
  return (p.bytes || (p.dtype == DType::bf16 && has_bf16_products())) && !choice.instructions.has_value() && p.m > 0 &&
         p.n > 0 && p.k > 0 && batch_count(p) > 0 && p.batch.size() <= 8 && plain(p.a, p.m, p.k, false) &&
         plain(p.b, p.k, p.n, false) && plain(p.c, p.m, p.n, true) && vectors_are_dense(p);
}

// A broadcast axis has extent 1 in its operand's description.
Description describe(const MatmulProblem& p, Type type, const MatrixLayout& layout, std::int64_t rows,
                     std::int64_t columns, bool any_layout = false) {
  dnnl::memory::dims extents, strides;
  for (std::size_t axis = 0; axis < p.batch.size(); ++axis) {
    const bool broadcast = layout.batch_strides[axis] == 0;
    extents.push_back(broadcast ? 1 : p.batch[axis]);
    strides.push_back(broadcast ? rows * columns : layout.batch_strides[axis]);
  }
  extents.insert(extents.end(), {rows, columns});
  strides.insert(strides.end(), {layout.row_stride, layout.column_stride});
  if (any_layout) return Description(extents, type, dnnl::memory::format_tag::any);
  return Description(extents, type, strides);
}

class OnednnMatmul final : public MatmulRoutine {
 public:
  OnednnMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : threads_(matmul_threads(problem, choice, speed_of(problem))) {
    const Type left = !problem.bytes ? Type::bf16 : problem.bytes == DType::u8 ? Type::u8 : Type::s8;
    const Type right = problem.bytes ? Type::s8 : left, sums = problem.bytes ? Type::s32 : left;
    const Description a = describe(problem, left, problem.a, problem.m, problem.k);
    const Description b = describe(problem, right, problem.b, problem.k, problem.n);
    const Description any = describe(problem, right, problem.b, problem.k, problem.n, true);
    const Description c = describe(problem, sums, problem.c, problem.m, problem.n);
    const auto describe_by = [&](const Description& weights, int threads) {
      const onednn::ThreadCount guard(threads);
      return std::vector{onednn::describe<dnnl::matmul>(onednn::attributes_with_scratchpad(), a, weights, c)};
    };
    const int layout_threads = matmul_layout_threads(problem, speed_of(problem));
    const auto description = (problem.packed_b ? onednn::describe_packed(describe_by, any, layout_threads, threads_)
                                               : describe_by(b, threads_))
                                 .front();
    is_right_ = !problem.bytes || onednn::is_exact_in_bytes(description);
    const Description weights = description.weights_desc();
    const onednn::ThreadCount guard(threads_);
    product_.emplace(
        dnnl::matmul(description), description.scratchpad_desc(),
        std::initializer_list<onednn::Binding>{{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, c}},
        threads_);
    space_.reserve(product_->scratchpad_bytes());
    if (problem.packed_b) packing_.emplace(b, weights, threads_, layout_threads, packed_space_);
  }

  bool is_right() const noexcept { return is_right_; }

  void pack(const void* b, void* packed) const override { packing_->run(b, packed); }
  std::string packed_layout() const override { return packing_ ? packing_->layout() : std::string(); }

  void run(const MatmulArguments& arguments) const override {
    // oneDNN's interface has no const addresses; it does not write to sources.
    product_->run({const_cast<void*>(arguments.a), const_cast<void*>(arguments.b), arguments.c}, arguments.workspace);
  }

  bool order_depends_on_strides() const noexcept override { return true; }
  const char* name() const noexcept override { return "onednn"; }

 private:
  static double speed_of(const MatmulProblem& problem) noexcept {
    return problem.bytes ? machine::byte_operations : machine::bf16_operations;
  }

  int threads_;
  bool is_right_ = true;
  std::optional<onednn::Primitive> product_;
  std::optional<onednn::Packing> packing_;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_onednn_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  if (!takes(problem, choice)) return nullptr;
  try {
    auto product = std::make_unique<OnednnMatmul>(without_epilogue(problem), choice);
    if (!product->is_right()) return nullptr;
    // oneDNN would round once where separate operators round after each.
    return add_half_epilogue(problem, choice, std::move(product));
  } catch (const dnnl::error&) {
    return nullptr;  // a layout or type that this version does not know
  }
}

}  // namespace tyto::cpu

#else

namespace tyto::cpu {

std::unique_ptr<MatmulRoutine> prepare_onednn_matmul(const MatmulProblem&, const KernelChoice&) { return nullptr; }

}  // namespace tyto::cpu

#endif
