// SPDX-License-Identifier: MIT
// The bytes of attributes that were one struct of an axis and two switches in files written before they had names.
#include <doctest/doctest.h>

#include "core/graph/op_ids.hpp"
#include "engine/graph/attribute_bytes.hpp"

namespace tyto::run {

namespace {

using core::OpId;

/// The kind's name with its length, the axis, and the two switches.
std::vector<std::byte> axis_record(std::int64_t axis, bool first, bool second) {
  std::vector<std::byte> bytes{std::byte{4},  {}, {}, {}, std::byte{'a'}, std::byte{'x'}, std::byte{'i'},
                               std::byte{'s'}};
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::byte>(axis >> shift & 255));
  bytes.push_back(static_cast<std::byte>(first));
  bytes.push_back(static_cast<std::byte>(second));
  return bytes;
}

void check(OpId op, const core::Attributes& attributes, const std::vector<std::byte>& bytes) {
  const core::OpDef& def = core::definition(op);
  CAPTURE(def.name);
  CHECK(attributes.index() == def.attributes);
  ByteWriter out;
  write_attributes(out, attributes, def.name);
  CHECK(out.bytes() == bytes);
  ByteReader in("file", bytes);
  CHECK(read_attributes(in, def) == attributes);
  CHECK(in.left() == 0);
}

}  // namespace

TEST_CASE("attributes with named switches keep the bytes of an axis and two switches") {
  check(OpId::concat, core::AxisAttributes{2}, axis_record(2, false, false));
  check(OpId::softmax, core::AxisAttributes{-1}, axis_record(-1, false, false));
  check(OpId::cumsum, core::ScanAttributes{1, true, false}, axis_record(1, true, false));
  check(OpId::cummax, core::ScanAttributes{300, false, true}, axis_record(300, false, true));
  check(OpId::argmax, core::ArgAttributes{3, true}, axis_record(3, true, false));
  check(OpId::argsort, core::SortAttributes{0, true}, axis_record(0, true, false));
  check(OpId::searchsorted, core::SearchAttributes{true}, axis_record(0, true, false));
  check(OpId::triangular_solve, core::TriangularAttributes{true, false}, axis_record(0, true, false));
  check(OpId::triangular_solve, core::TriangularAttributes{false, true}, axis_record(0, false, true));
  check(OpId::lu_solve, core::FactoredAttributes{true}, axis_record(0, true, false));
  check(OpId::svd, core::OrthogonalAttributes{true}, axis_record(0, true, false));
}

TEST_CASE("attributes of another kind than the operator takes are read as they are") {
  const std::vector<std::byte> bytes = axis_record(1, true, true);
  ByteReader in("file", bytes);
  CHECK(read_attributes(in, core::definition(OpId::sum)) == core::Attributes(core::AxisAttributes{1}));
}

}  // namespace tyto::run
