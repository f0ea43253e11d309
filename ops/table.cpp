// SPDX-License-Identifier: MIT
// The operator table: every family's rows in the order of the ids, complete or the build's tests fail.
#include <array>

#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"

namespace tyto::core {

namespace {

/// The line of an operator in ops/ops.def.
struct Listed {
  std::string_view name;
  std::size_t attributes;
  Domain types;
};
template <class A = NoAttributes, Domain types = Domain::numeric>
constexpr Listed takes(std::string_view name) {
  return {name, kind_of_attributes<A>, types};
}

constexpr Listed listed[] = {
#define TYTO_OP(name, ...) takes<__VA_ARGS__>(#name),
#include "tyto/ops/ops.def"
#undef TYTO_OP
};

std::array<OpDef, op_count> assemble() {
  std::array<OpDef, op_count> table;
  for (const auto family : {elementwise_operators,   control_operators,         region_operators,
                            create_operators,        random_operators,          view_operators,
                            complex_operators,       reduce_operators,          scan_operators,
                            join_operators,          repeat_operators,          pad_operators,
                            triangle_operators,      index_operators,           bounds_operators,
                            sort_operators,          matmul_operators,          quantised_operators,
                            linalg_system_operators, linalg_triangle_operators, linalg_spectrum_operators,
                            linalg_power_operators,  linalg_eigen_operators,    fft_operators,
                            softmax_operators,       attention_operators,       convolution_operators,
                            pool_operators,          resampling_operators,      collective_operators,
                            fused_operators,         epilogue_operators}) {
    for (const OpDef& def : family()) table[static_cast<std::size_t>(def.id)] = def;
  }
  for (std::size_t i = 0; i < op_count; ++i) {
    if (table[i].id != static_cast<OpId>(i)) throw_error<GraphError>("operator ", i, " of the lists has no definition");
    if (i < elementwise_count) continue;
    table[i].name = listed[i - elementwise_count].name;
    table[i].attributes = listed[i - elementwise_count].attributes;
    table[i].domain = listed[i - elementwise_count].types;
  }
  return table;
}

}  // namespace

std::span<const OpDef> op_table() {
  static const std::array<OpDef, op_count> table = assemble();
  return table;
}

void refuse_operator(std::string_view where, OpId op) {
  throw_error<DeviceError>(where, " do not know ", definition(op).name);
}

const OpDef* find_operator(std::string_view name) {
  for (const OpDef& def : op_table()) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

std::vector<TensorType> infer_same(const Attributes&, std::span<const TensorType> inputs) {
  return one(inputs[0].dtype, inputs[0].shape);
}

}  // namespace tyto::core
