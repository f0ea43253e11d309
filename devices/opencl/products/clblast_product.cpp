// SPDX-License-Identifier: MIT
// Matrix products by CLBlast, whose own temporary memory is planned with everything else. The library is loaded when
// the first of them is made.
#include "devices/opencl/products/matrix_product.hpp"

#if defined(TYTO_HAVE_CLBLAST)

#include <clblast_c.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/system/shared_library.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

void check_blast(CLBlastStatusCode status, const std::string& what) {
  if (status == CLBlastSuccess) return;
  // Its own codes lie beyond those of OpenCL.
  if (static_cast<int>(status) <= -1000) {
    core::throw_error<DeviceError>(what, ": CLBlast: clblast::StatusCode ", static_cast<int>(status));
  }
  core::throw_error<DeviceError>(what, ": ", failure("CLBlast", static_cast<cl_int>(status)));
}

template <class T>
struct Functions {
  decltype(&CLBlastSgemmWithTempBuffer) multiply = nullptr;
  decltype(&CLBlastSGemmTempBufferSize) workspace = nullptr;
};
template <>
struct Functions<double> {
  decltype(&CLBlastDgemmWithTempBuffer) multiply = nullptr;
  decltype(&CLBlastDGemmTempBufferSize) workspace = nullptr;
};

struct Blast {
  core::SharedLibrary library{"libclblast.so.1", "libclblast.so"};
  Functions<float> of_floats;
  Functions<double> of_doubles;
  bool complete = false;

  Blast() {
    library.find(of_floats.multiply, "CLBlastSgemmWithTempBuffer");
    library.find(of_floats.workspace, "CLBlastSGemmTempBufferSize");
    library.find(of_doubles.multiply, "CLBlastDgemmWithTempBuffer");
    library.find(of_doubles.workspace, "CLBlastDGemmTempBufferSize");
    complete = of_floats.multiply != nullptr && of_floats.workspace != nullptr && of_doubles.multiply != nullptr &&
               of_doubles.workspace != nullptr;
  }
  template <class T>
  const Functions<T>& functions() const {
    if constexpr (std::is_same_v<T, float>) return of_floats;
    else return of_doubles;
  }
};

const Blast& blast() {
  static const Blast loaded;
  return loaded;
}

// How BLAS reads a matrix: rows follow each other with a leading dimension, or columns do.
struct Layout {
  bool readable = false;
  CLBlastTranspose transpose = CLBlastTransposeNo;
  std::size_t leading = 0;
};

Layout layout_of(const ProductOperand& operand) {
  const std::int64_t rows = operand.rows.count(), columns = operand.columns.count();
  const std::int64_t row = operand.rows.strides[0], column = operand.columns.strides[0];
  const bool row_major = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  if (row_major)
    return {true, CLBlastTransposeNo, static_cast<std::size_t>(std::max(rows == 1 ? columns : row, columns))};
  const bool column_major = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  if (column_major)
    return {true, CLBlastTransposeYes, static_cast<std::size_t>(std::max(columns == 1 ? rows : column, rows))};
  return {};
}

template <class T>
class ClblastKernel final : public core::Kernel {
 public:
  ClblastKernel(const Context& context, const MatrixProduct& product, const Layout& a, const Layout& b, const Layout& c)
      : context_(context), product_(product), a_(a), b_(b), c_(c), what_(context.name + ": matmul") {
    const std::int64_t batches = product.a.batch.count();
    for (std::int64_t i = 0; i < batches; ++i) {
      const auto start = [i](const ProductOperand& operand) {
        return static_cast<std::size_t>(place(operand.batch, i) + operand.offset);
      };
      starts_.push_back({start(product.a), start(product.b), start(product.c)});
    }
    context.queue.give(what_, [&](cl_command_queue queue) {
      check_blast(blast().functions<T>().workspace(CLBlastLayoutRowMajor, a.transpose, b.transpose, size(product.m),
                                                   size(product.n), size(product.k), 0, a.leading, 0, b.leading, 0,
                                                   c.leading, &queue, &workspace_),
                  what_);
    });
  }

  std::size_t workspace() const override { return workspace_; }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    const core::Address addresses[3] = {inputs[0], inputs[1], outputs[0]};
    const MemoryHandle temporary = scratch(workspace);
    context_.queue.give(what_, [&](cl_command_queue queue) { multiply(addresses, temporary, queue); });
  }

 private:
  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

  void multiply(const core::Address (&addresses)[3], const MemoryHandle& temporary, cl_command_queue queue) const {
    for (const std::array<std::size_t, 3>& start : starts_) {
      const auto at = [&](std::size_t o) { return addresses[o].offset / sizeof(T) + start[o]; };
      const auto memory = [&](std::size_t o) { return static_cast<cl_mem>(addresses[o].memory); };
      check_blast(blast().functions<T>().multiply(CLBlastLayoutRowMajor, a_.transpose, b_.transpose, size(product_.m),
                                                  size(product_.n), size(product_.k), T(1), memory(0), at(0),
                                                  a_.leading, memory(1), at(1), b_.leading, T(0), memory(2), at(2),
                                                  c_.leading, &queue, nullptr, temporary.get()),
                  what_);
    }
  }

  static std::int64_t place(const core::View& batch, std::int64_t index) {
    std::int64_t at = 0;
    for (std::size_t axis = batch.shape.size(); axis-- > 0;) {
      at += index % batch.shape[axis] * batch.strides[axis];
      index /= batch.shape[axis];
    }
    return at;
  }

  // CLBlast takes its temporary memory as a buffer without an offset.
  MemoryHandle scratch(const core::Address& workspace) const {
    if (workspace_ == 0) return {};
    const cl_buffer_region region{workspace.offset, workspace_};
    cl_int status = CL_SUCCESS;
    MemoryHandle part(clCreateSubBuffer(static_cast<cl_mem>(workspace.memory), CL_MEM_READ_WRITE,
                                        CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    check(status, "clCreateSubBuffer", what_ + ": its workspace");
    return part;
  }

  const Context& context_;
  MatrixProduct product_;
  Layout a_, b_, c_;
  std::string what_;
  std::vector<std::array<std::size_t, 3>> starts_;  // elements, of a, b and c
  std::size_t workspace_ = 0;
};

}  // namespace

std::shared_ptr<const core::Kernel> clblast_kernel(const Context& context, const MatrixProduct& product) {
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.c.batch.count() == 0) return nullptr;
  if (product.epilogue) return nullptr;
  const Layout a = layout_of(product.a), b = layout_of(product.b), c = layout_of(product.c);
  if (!blast().complete) return nullptr;
  if (!a.readable || !b.readable || !c.readable || c.transpose == CLBlastTransposeYes) return nullptr;
  if (product.c.dtype == DType::f32) return std::make_shared<ClblastKernel<float>>(context, product, a, b, c);
  if (product.c.dtype == DType::f64) return std::make_shared<ClblastKernel<double>>(context, product, a, b, c);
  return nullptr;
}

}  // namespace tyto::opencl

#else

namespace tyto::opencl {

std::shared_ptr<const core::Kernel> clblast_kernel(const Context&, const MatrixProduct&) { return nullptr; }

}  // namespace tyto::opencl

#endif
