// SPDX-License-Identifier: MIT
// Tensors that share memory, on graphs small enough to see.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "optimiser/storage/storages.hpp"

using namespace tyto;
using core::GraphBuilder;
using core::OpId;
using core::Port;
using optimiser::StorageKind;
using optimiser::Storages;

namespace {

Port input(GraphBuilder& builder, Shape shape, DType dtype = DType::f32) {
  return builder.add_input({dtype, std::move(shape), false}, {});
}

}  // namespace

TEST_CASE("a view has the storage of what it looks at and its own place there") {
  GraphBuilder builder;
  const Port x = input(builder, {4, 6});
  const Port y = builder.add(OpId::exp, core::NoAttributes(), {x});
  const Port rows = builder.add(OpId::slice, core::SliceAttributes{{1, 0}, {2, 6}, {1, 1}}, {y});
  const Port transposed = builder.add(OpId::transpose, core::ListAttributes{{1, 0}}, {rows});
  builder.add_output(transposed);
  const core::Graph graph = builder.finish();
  const Storages storages(graph);
  CHECK(storages.of(rows) == storages.of(y));
  CHECK(storages.of(transposed) == storages.of(y));
  CHECK(storages.of(x) != storages.of(y));
  CHECK(storages.kind(storages.of(x)) == StorageKind::input);
  CHECK(storages.kind(storages.of(y)) == StorageKind::planned);
  CHECK(storages.bytes(storages.of(y)) == 96);
  CHECK(storages.view(transposed) == core::View{{6, 2}, {1, 6}, 6});
  CHECK(storages.is_free(graph.producer(rows)));
  CHECK_FALSE(storages.is_free(graph.producer(y)));
}

TEST_CASE("a reshape that strides cannot express has a storage of its own") {
  GraphBuilder builder;
  const Port x = input(builder, {2, 3});
  const Port transposed = builder.add(OpId::transpose, core::ListAttributes{{1, 0}}, {x});
  const Port flat = builder.add(OpId::reshape, core::ListAttributes{{6}}, {transposed});
  builder.add_output(flat);
  const core::Graph graph = builder.finish();
  const Storages storages(graph);
  CHECK(storages.of(transposed) == storages.of(x));
  CHECK(storages.of(flat) != storages.of(x));
  CHECK(storages.kind(storages.of(flat)) == StorageKind::planned);
  CHECK_FALSE(storages.is_free(graph.producer(flat)));
}

TEST_CASE("an output that a kernel computes lies in the output's buffer, one listed twice only once") {
  GraphBuilder builder;
  const Port x = input(builder, {8});
  const Port y = builder.add(OpId::exp, core::NoAttributes(), {x});
  builder.add_output(y);
  builder.add_output(y);
  builder.add_output(x);
  const core::Graph graph = builder.finish();
  CHECK(Storages(graph).kind(Storages(graph).of(y)) == StorageKind::output);
  CHECK(Storages(graph).targets().output_of[y] == 0);
  CHECK(Storages(graph).targets().output_of[x] == optimiser::nothing);
  CHECK(Storages(graph, false).kind(Storages(graph, false).of(y)) == StorageKind::planned);
}

TEST_CASE("a result may be written over an input of its size that it reads element by element, and no other") {
  GraphBuilder builder;
  const Port x = input(builder, {4, 4});
  const Port row = input(builder, {4});
  const Port wide = input(builder, {4, 4}, DType::f64);
  const Port sum = builder.add(OpId::add, core::NoAttributes(), {x, row});
  const Port transposed = builder.add(OpId::transpose, core::ListAttributes{{1, 0}}, {x});
  const Port twisted = builder.add(OpId::add, core::NoAttributes(), {transposed, x});
  const Port narrow = builder.add(OpId::cast, core::CastAttributes{DType::f32}, {wide});
  const Port product = builder.add(OpId::matmul, core::NoAttributes(), {x, x});
  for (const Port port : {sum, twisted, narrow, product}) builder.add_output(port);
  const core::Graph graph = builder.finish();
  const Storages storages(graph);
  const auto may = [&](Port result, std::size_t slot) {
    const core::GraphNode& node = graph.nodes()[graph.producer(result)];
    const Port from = graph.inputs_of(node)[slot];
    return optimiser::InPlaceRule(graph, node, node.first_result)
        .allows(slot, storages.view(from), storages.bytes(storages.of(from)));
  };
  CHECK(may(sum, 0));
  CHECK_FALSE(may(sum, 1));      // broadcast: read four times
  CHECK_FALSE(may(twisted, 0));  // transposed: element (i, j) needs (j, i)
  CHECK(may(twisted, 1));
  CHECK_FALSE(may(narrow, 0));   // eight bytes read, four written
  CHECK_FALSE(may(product, 0));  // every element needs a row
}
