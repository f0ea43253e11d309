// SPDX-License-Identifier: MIT
// Matrix products on OpenCL: our own kernels in both styles and CLBlast, any layout, batches, ragged sizes.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/op_ids.hpp"
#include "devices/opencl/products/matrix_product.hpp"
#include "tests/devices/opencl_rig.hpp"

namespace opencl_matmul_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::OpId;
using core::View;

namespace {

struct Product {
  View a, b;
  View c;
};

View dense(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return batch == 0 ? View::dense({rows, columns}) : View::dense({batch, rows, columns});
}

View transposed(View view) {
  const std::size_t rank = view.shape.size();
  std::swap(view.shape[rank - 1], view.shape[rank - 2]);
  std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  return view;
}

// Sizes that fill tiles, miss them by one, and are smaller than any.
std::vector<Product> products() {
  std::vector<Product> out;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {6, 64, 16}, {7, 65, 5}, {13, 130, 70}, {33, 10, 600}}) {
    out.push_back({dense(0, m, k), dense(0, k, n), dense(0, m, n)});
  }
  out.push_back({transposed(dense(0, 9, 20)), dense(0, 9, 31), dense(0, 20, 31)});
  out.push_back({dense(0, 20, 9), transposed(dense(0, 31, 9)), dense(0, 20, 31)});
  out.push_back({transposed(dense(0, 9, 20)), transposed(dense(0, 31, 9)), dense(0, 20, 31)});
  out.push_back({dense(3, 5, 8), transposed(dense(3, 7, 8)), dense(3, 5, 7)});
  // One matrix for all of a batch, and the other way round.
  out.push_back({dense(3, 5, 8), View{{3, 8, 7}, {0, 7, 1}, 4}, dense(3, 5, 7)});
  out.push_back({View{{3, 5, 8}, {0, 8, 1}, 0}, dense(3, 8, 7), dense(3, 5, 7)});
  // Every second element, and an output in columns.
  out.push_back({View{{5, 8}, {40, 2}, 3}, View{{8, 7}, {-1, 20}, 9}, dense(0, 5, 7)});
  out.push_back({dense(0, 5, 8), dense(0, 8, 7), View{{5, 7}, {1, 5}, 0}});
  // Two batch axes that do not merge.
  out.push_back({View{{2, 3, 4, 5}, {20, 40, 5, 1}, 0}, View::dense({2, 3, 5, 6}), View::dense({2, 3, 4, 6})});
  // No inner dimension: zeros.
  out.push_back({dense(0, 4, 0), dense(0, 0, 9), dense(0, 4, 9)});
  return out;
}

// For each tile of the GPU style one, along both sides, and depths that it cuts.
std::vector<Product> tiled_products() {
  std::vector<Product> out;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{300, 10, 70}, {300, 20, 300}, {10, 300, 70}, {20, 300, 257}, {150, 130, 520}}) {
    out.push_back({dense(0, m, k), dense(0, k, n), dense(0, m, n)});
    out.push_back({transposed(dense(0, k, m)), transposed(dense(0, n, k)), View{{m, n}, {1, m}, 0}});
  }
  out.push_back({dense(2, 9, 500), dense(2, 500, 7), dense(2, 9, 7)});
  out.push_back({dense(140, 128, 17), View{{140, 17, 127}, {0, 127, 1}, 0}, dense(140, 128, 127)});
  return out;
}

HostTensor filled(DType dtype, const View& view, double low, double high) {
  HostTensor tensor = spread(dtype, {std::max<std::int64_t>(core::touched(view).past, 1)}, low, high);
  tensor.view = view;
  return tensor;
}

std::size_t place(const View& view, std::int64_t batch, std::int64_t row, std::int64_t column) {
  std::int64_t at = view.offset;
  const std::size_t rank = view.shape.size();
  for (std::size_t axis = rank - 2; axis-- > 0;) {
    at += batch % view.shape[axis] * view.strides[axis];
    batch /= view.shape[axis];
  }
  return static_cast<std::size_t>(at + row * view.strides[rank - 2] + column * view.strides[rank - 1]);
}

// The largest error, in units of the type's spacing at the sum of the terms' sizes.
double worst_error(const HostTensor& a, const HostTensor& b, const HostTensor& c) {
  const std::size_t rank = c.view.shape.size();
  const std::int64_t m = c.view.shape[rank - 2], n = c.view.shape[rank - 1], k = a.view.shape[rank - 1];
  const std::int64_t batches = c.view.count() / (m * n);
  const double spacing = c.dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
  // Of large products a share of the rows, each of another remainder.
  const std::int64_t step = 1 + c.view.count() * k / 2'000'000;
  double worst = 0;
  for (std::int64_t row = 0; row < batches * m; row += step) {
    const std::int64_t batch = row / m, i = row % m;
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const long double term = static_cast<long double>(a.values[place(a.view, batch, i, p)]) *
                                 static_cast<long double>(b.values[place(b.view, batch, p, j)]);
        sum += term;
        size += std::fabs(term);
      }
      const long double found = c.values[place(c.view, batch, i, j)];
      const long double unit = static_cast<long double>(spacing) * (size + 1e-30L);
      const auto error = static_cast<double>(std::fabs(found - sum) / unit);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

double worst_error(OpenClDevice& device, const core::Kernel& kernel, DType dtype, const Product& product) {
  const std::vector<HostTensor> inputs = {filled(dtype, product.a, -1, 1.1), filled(dtype, product.b, 1.2, -1)};
  const core::Operand output{dtype, product.c};
  return worst_error(inputs[0], inputs[1], run(device, kernel, inputs, {&output, 1})[0]);
}

std::vector<core::Operand> operands(DType dtype, const Product& product) {
  return {{dtype, product.a}, {dtype, product.b}};
}

}  // namespace

TEST_CASE("our own kernels multiply matrices of any layout") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64})) {
      std::vector<Product> all = products();
      for (const Product& product : tiled_products()) all.push_back(product);
      std::vector<LaunchPlan> plans;
      for (const Product& product : all) {
        const std::vector<core::Operand> inputs = operands(dtype, product);
        const core::Operand output{dtype, product.c};
        const core::Attributes none;
        plans.push_back(
            matrix_launch_plan(device->context(), matrix_product({OpId::matmul, &none, inputs, {&output, 1}})));
      }
      const auto kernels = device->build(plans);
      for (std::size_t i = 0; i < plans.size(); ++i) {
        CAPTURE(i);
        CHECK(worst_error(*device, *kernels[i], dtype, all[i]) <= 32);
      }
    }
  }
}

TEST_CASE("a product of more depth than a block adds the blocks up") {
  OpenClDevice* const cl = cpu_style();
  if (cl == nullptr) return;
  const Product deep{dense(0, 8, 1300), dense(0, 1300, 70), dense(0, 8, 70)};
  const std::vector<core::Operand> inputs = operands(DType::f32, deep);
  const core::Operand output{DType::f32, deep.c};
  const core::Attributes none;
  const auto kernel = cl->prepare({OpId::matmul, &none, inputs, {&output, 1}});
  // Two items have a panel of 64 columns each, of which a block of the depth is copied at a time.
  CHECK(kernel->workspace() == 2 * 512 * 64 * sizeof(float));
  CHECK(worst_error(*cl, *kernel, DType::f32, deep) <= 64);
}

#if defined(TYTO_HAVE_CLBLAST)
TEST_CASE("CLBlast multiplies where it can read the operands, with planned workspace") {
  OpenClDevice* const cl = device(Style::gpu);
  if (cl == nullptr) return;
  std::vector<Product> some = products();
  const std::vector<bool> taken = {true, true, true, true,  true,  true, true, true,
                                   true, true, true, false, false, true, false};
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::vector<core::Operand> inputs = operands(DType::f32, some[i]);
    const core::Operand output{DType::f32, some[i].c};
    const core::Attributes none;
    const auto kernel = clblast_kernel(cl->context(), matrix_product({OpId::matmul, &none, inputs, {&output, 1}}));
    CAPTURE(i);
    REQUIRE((kernel != nullptr) == taken[i]);
    if (kernel != nullptr) CHECK(worst_error(*cl, *kernel, DType::f32, some[i]) <= 32);
  }
}
#endif

}  // namespace opencl_matmul_test

#endif
