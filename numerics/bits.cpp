// SPDX-License-Identifier: MIT
// Bits of bytes as an axis of their own: shifted out one by one, and summed up by their weights.
#include "tyto/bits.hpp"

#include "ops/define.hpp"
#include "ops/planned.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// How far each bit of a byte is shifted, along the axis after `axis` of `rank` ones.
template <class M>
Tensor<M> shifts(BitOrder order, std::size_t axis, std::size_t rank, DType dtype) {
  Shape shape(rank + 1, 1);
  shape[axis + 1] = 8;
  const Tensor<M> ascending = Tensor<M>::arange(0, 8, 1, dtype);
  return reshape(order == BitOrder::big ? 7 - ascending : ascending, shape);
}

}  // namespace

template <class M>
Tensor<M> packbits(const Tensor<M>& x, std::optional<std::int64_t> axis, BitOrder order) {
  TYTO_ONCE(packbits, x, axis, order);
  const Tensor<M> given = core::given("packbits", x);
  if (!is_integer(given.dtype()) && given.dtype() != DType::boolean) {
    core::throw_error<TypeError>("packbits: bool or integers are packed, not ", given.dtype());
  }
  if (const Value planned = core::planned(&packbits<Any>, given, axis, order)) return planned;
  const Tensor<M> source = axis ? given : ravel(given);
  const auto along = static_cast<std::size_t>(core::normalise_axis("packbits", axis.value_or(0), source.ndim()));
  IntList none(source.shape().size(), 0), fill = none;
  const std::int64_t length = source.shape()[along], bytes = length / 8 + (length % 8 != 0 ? 1 : 0);
  fill[along] = bytes * 8 - length;
  Shape shape = source.shape();
  shape[along] = 8;
  shape.insert(along, bytes);
  const Tensor<M> set = reshape(pad(not_equal(source, 0), none, fill), shape).astype(DType::i32);
  const Tensor<M> weighed = left_shift(set, shifts<M>(order, along, source.shape().size(), DType::i32));
  return sum(weighed, static_cast<std::int64_t>(along) + 1).astype(DType::u8);
}

template <class M>
Tensor<M> unpackbits(const Tensor<M>& x, std::optional<std::int64_t> axis, std::optional<std::int64_t> count,
                     BitOrder order) {
  TYTO_ONCE(unpackbits, x, axis, count, order);
  const Tensor<M> given = core::given("unpackbits", x);
  if (given.dtype() != DType::u8) core::throw_error<TypeError>("unpackbits: u8 is needed, not ", given.dtype());
  if (const Value planned = core::planned(&unpackbits<Any>, given, axis, count, order)) return planned;
  const Tensor<M> source = axis ? given : ravel(given);
  const auto along = static_cast<std::size_t>(core::normalise_axis("unpackbits", axis.value_or(0), source.ndim()));
  const auto place = static_cast<std::int64_t>(along);
  const std::int64_t length = source.shape()[along] * 8;
  const Tensor<M> shifted =
      right_shift(expand_dims(source, place + 1), shifts<M>(order, along, source.shape().size(), DType::u8));
  Shape shape = source.shape();
  shape[along] = length;
  const Tensor<M> bits = reshape(bitwise_and(shifted, 1), shape);
  const std::int64_t kept = count.value_or(length) < 0 ? length + *count : count.value_or(length);
  if (kept < 0) core::throw_error<ValueError>("unpackbits: ", -*count, " bits are left out of ", length);
  if (kept <= length) return narrow(bits, place, 0, kept);
  IntList none(shape.size(), 0), fill = none;
  fill[along] = kept - length;
  return pad(bits, none, fill);
}

TYTO_INSTANTIATE(packbits)
TYTO_INSTANTIATE(unpackbits)

}  // namespace TYTO_API
