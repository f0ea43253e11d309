// SPDX-License-Identifier: MIT
// Fusion groups give the bits of their members, whatever they are, and long chains are fused in time.
#include <doctest/doctest.h>

#include <random>

#include "core/graph/op_ids.hpp"
#include "tests/passes/fused_program.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::OpId;
using core::Port;

namespace {

/// Programs that hit every operator and element type: each operand is brought to the type its operator asks for.
class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, const Shape& shape) : random_(seed), shape_(shape) {}

  core::Graph make(std::size_t nodes) {
    const std::size_t rank = shape_.size();
    for (const DType type :
         {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8, DType::u16, DType::u32, DType::u64}) {
      ports_.push_back(input(shape_, type));
    }
    Shape row = shape_, column = shape_;
    row[0] = 1;
    column[rank - 1] = 1;
    ports_.push_back(input(row, any_type()));
    ports_.push_back(input(column, any_type()));
    ports_.push_back(input({shape_[rank - 1]}, any_type()));
    ports_.push_back(input({}, any_type()));
    // The same shape along other strides.
    IntList order, transposed;
    for (std::size_t i = rank; i-- > 0;) {
      order.push_back(static_cast<std::int64_t>(i));
      transposed.push_back(shape_[i]);
    }
    const Port crossed = input(transposed, any_type());
    ports_.push_back(builder_.add(OpId::transpose, core::ListAttributes{order}, {crossed}));
    for (std::size_t i = 0; i < nodes; ++i) ports_.push_back(node());
    for (std::size_t i = 0; i < 3; ++i) builder_.add_output(pick());
    builder_.add_output(ports_.back());
    return builder_.finish();
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  DType any_type() { return static_cast<DType>(below(dtype_count)); }
  Port pick() { return ports_[below(ports_.size())]; }
  Port input(const Shape& shape, DType type) {
    return builder_.add_input({type, shape, false}, {.port = 0, .name = "x", .state = nullptr, .generator = false});
  }
  DType type_of(Port port) const { return builder_.graph().type(port).dtype; }
  Port as(Port port, DType type) {
    return type_of(port) == type ? port : builder_.add(OpId::cast, core::CastAttributes{type}, {port});
  }
  Port number(DType type) {
    const auto value = static_cast<std::int64_t>(below(5));
    const Scalar scalar = is_complex(type)    ? Scalar::complex(static_cast<double>(value) * 0.5, 1.5)
                          : is_floating(type) ? Scalar(static_cast<double>(value) * 0.5)
                                              : Scalar(value);
    return builder_.add(OpId::fill, core::RangeAttributes{{}, type, scalar, 0}, {});
  }

  Port node() {
    if (below(8) == 0) return as(pick(), any_type());
    const core::OpDef& def = core::op_table()[below(elementwise_count())];
    const Port leader = pick();
    DType type = type_of(leader);
    if (!def.is(core::Traits::takes_complex)) type = real_type(type);
    switch (def.domain) {
      case core::Domain::floating: type = is_inexact(type) ? type : DType::f32; break;
      case core::Domain::arithmetic: type = type == DType::boolean ? DType::i16 : type; break;
      case core::Domain::logical: type = DType::boolean; break;
      case core::Domain::bitwise: type = is_floating(type) ? DType::i64 : type; break;
      case core::Domain::integer: type = is_integer(type) ? type : DType::i32; break;
      default: break;
    }
    std::vector<Port> operands{as(leader, type)};
    while (operands.size() < static_cast<std::size_t>(def.max_inputs)) {
      operands.push_back(below(4) == 0 ? number(type) : as(pick(), type));
    }
    if (def.domain == core::Domain::selection) operands[0] = as(pick(), DType::boolean);
    return builder_.add(def.id, nullptr, operands);
  }

  static std::size_t elementwise_count() {
    std::size_t count = 0;
    for (const core::OpDef& def : core::op_table()) count += def.is(core::Traits::elementwise) ? 1 : 0;
    return count;
  }

  std::mt19937_64 random_;
  Shape shape_;
  core::GraphBuilder builder_;
  std::vector<Port> ports_;
};

}  // namespace

TEST_CASE("groups of any operators on any types give the bits of the operators one by one") {
  std::vector<bool> met(core::op_count, false);
  std::size_t groups = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Shape shapes[] = {{5, 7}, {3, 300}, {2, 3, 19}, {40, 9}, {1, 1}, {0, 4}};
    const core::Graph plain = RandomGraph(seed, shapes[seed % 6]).make(2 + seed % 40);
    optimiser::FuseCounts counts;
    const core::Graph fused = optimiser::fuse(plain, {}, &counts);
    groups += counts.groups;
    for (std::size_t i = 0; i < counts.groups; ++i) {
      for (const core::LoopInstruction& step : program_of(fused, i).instructions)
        met[static_cast<std::size_t>(step.op)] = true;
    }
    // No negative inputs: some are of unsigned types.
    CHECK(agree(results_of(plain, 0, 3), results_of(fused, 0, 3)));
  }
  CHECK(groups > 300);
  for (const core::OpDef& def : core::op_table()) {
    if (!def.is(core::Traits::elementwise)) continue;
    CAPTURE(def.name);
    CHECK(met[static_cast<std::size_t>(def.id)]);
  }
}

// np.float32(2**53 + 2**29 + 1): by way of a double, which drops the 1, it would be a tie and fall back to 2**53.
TEST_CASE("an integer that fills floats in a group is rounded once") {
  Sketch s;
  const Port number = s.number((std::int64_t{1} << 53) + (1 << 29) + 1);
  const core::Graph plain = s.graph({s.add(OpId::add, {s.add(OpId::tanh, {s.input({3})}), number})});
  const core::Graph fused = optimiser::fuse(plain);
  CHECK(count(fused, OpId::fill) == 0);
  CHECK(results_of(fused)[0] == std::vector<double>(3, 9007200328482816.0));
  check_same(plain, fused);
}

TEST_CASE("a chain of a hundred thousand nodes is fused") {
  Sketch s;
  Port x = s.input({2});
  for (int i = 0; i < 100'000; ++i) x = s.add(i % 3 == 0 ? OpId::sin : OpId::negate, {x});
  optimiser::FuseCounts counts;
  const core::Graph fused = optimiser::fuse(s.graph({x}), {}, &counts);
  CHECK(counts.members == 100'000);
  CHECK(fused.nodes().size() < 2'200);
}
