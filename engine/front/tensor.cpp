// SPDX-License-Identifier: MIT
// The members of Tensor<Mode>: creation, reading, and what NumPy users chain.
#include "tyto/tensor.hpp"
#include "core/graph/op_ids.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <mutex>
#include <sstream>

#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/text.hpp"
#include "engine/front/element_conversion.hpp"
#include "engine/front/literal.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/graph/function_scope.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/packed_weights.hpp"
#include "ops/define.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/complex.hpp"
#include "tyto/host_array.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

using core::emit;
using core::mode_tag;
using core::OpId;

namespace {

void check_shape(std::string_view function, const Shape& shape) {
  for (const std::int64_t length : shape) {
    if (length < 0) core::throw_error<ShapeError>(function, ": shape ", shape, " has a negative length");
  }
  // Counted for the widest element; an axis of length zero makes any shape small.
  std::int64_t bytes = std::count(shape.begin(), shape.end(), 0) != 0 ? 0 : 16;
  for (const std::int64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) {
      core::throw_error<ShapeError>(function, ": a tensor of shape ", shape, " has more bytes than 63 bits can count");
    }
  }
}

Value filled(std::string_view function, core::Mode mode, const Shape& shape, const Scalar& value, DType dtype) {
  check_shape(function, shape);
  core::check_holds(function, dtype, value);
  return emit(mode, OpId::fill, core::RangeAttributes{shape, dtype, value, 0});
}

/// The largest half below x.
double below(double x, DType dtype) {
  const auto single = static_cast<float>(x);
  const std::uint16_t bits = dtype == DType::f16 ? Half(single).bits : BFloat16(single).bits;
  const auto value = [&](std::uint16_t of) {
    if (dtype == DType::bf16) return static_cast<double>(std::bit_cast<float>(std::uint32_t{of} << 16));
    Half half;
    half.bits = of;
    return static_cast<double>(static_cast<float>(half));
  };
  if (value(bits) < x) return value(bits);
  if ((bits & 0x7fff) == 0) return value(0x8001);  // the negative number next to zero
  return value(static_cast<std::uint16_t>((bits & 0x8000) == 0 ? bits - 1 : bits + 1));
}

core::Array host_array(const void* data, const Shape& shape, DType dtype) {
  core::Array array = run::new_array(run::cpu_device(), dtype, shape);
  const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
  core::copy_bytes(array.buffer->memory(), data, bytes);
  return run::to_device(array, run::current_device());
}

Value draw(core::Mode mode, OpId op, const Shape& shape, DType dtype, const std::optional<Key>& key, double first,
           double second) {
  check_shape(core::definition(op).name, shape);
  return core::draw(mode, op, {shape, dtype, 0, first, second}, key);
}

// The bodies of functions that make tensors, in the mode that the caller names, and of those that read them.

Value counted(core::Mode mode, const Scalar& start, const Scalar& stop, const Scalar& step,
              std::optional<DType> dtype) {
  if (step.as_double() == 0) throw ValueError("arange: the step is 0");
  const bool whole = !start.is_floating() && !stop.is_floating() && !step.is_floating();
  const double span = (stop.as_double() - start.as_double()) / step.as_double();
  if (!std::isfinite(span)) throw ValueError("arange: start, stop and step must be finite");
  const double count = std::max(0.0, std::ceil(span));
  if (count > 0x1p60) core::throw_error<ShapeError>("arange: ", count, " elements are more than memory can hold");
  const DType type = dtype.value_or(whole ? DType::i64 : DType::f32);
  check_shape("arange", {static_cast<std::int64_t>(count)});
  return emit(mode, OpId::arange, core::RangeAttributes{{static_cast<std::int64_t>(count)}, type, start, step});
}

Value spaced(core::Mode mode, double start, double stop, std::int64_t count, DType dtype) {
  if (count < 0) core::throw_error<ValueError>("linspace: count ", count, " is negative");
  check_shape("linspace", {count});
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  const bool whole = is_integer(dtype);
  if (dtype != DType::f64 && !whole)
    return emit(mode, OpId::arange, core::RangeAttributes{{count}, dtype, start, step});
  // The end is met exactly, and integers are rounded down, as in NumPy.
  core::AnyTensor numbers = emit(mode, OpId::arange, core::RangeAttributes{{count}, DType::f64, start, step});
  if (count > 1) numbers = set(numbers, {count - 1}, core::AnyTensor(stop));
  return whole ? cast(floor(numbers), dtype) : numbers;
}

Value filled_by(core::Mode mode, const Shape& shape, const std::function<double(std::span<const std::int64_t>)>& f,
                DType dtype) {
  check_shape("from_function", shape);
  if (!f) throw ValueError("from_function: the function is empty");
  const core::Array array = run::new_array(run::cpu_device(), DType::f64, shape);
  auto* const data = static_cast<double*>(array.buffer->memory());
  IntList index(shape.size(), 0);
  for (double& element : std::span(data, static_cast<std::size_t>(element_count(shape)))) {
    element = f(index);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
  return core::cast_to(core::constant(mode, run::to_device(array, run::current_device())), dtype);
}

/// Elements that lie as `view` says, whose offset is 0: what is borrowed begins at the lowest of them.
core::Array borrowed(const void* data, core::View view, DType dtype, std::function<void()> release) {
  if (data == nullptr && view.count() != 0) throw ValueError("borrow: there is no memory to borrow");
  std::int64_t reach = 0;
  for (std::size_t axis = 0; axis < view.shape.size() && view.count() != 0; ++axis) {
    std::int64_t along = 0;
    if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &along) || along == INT64_MIN ||
        __builtin_add_overflow(reach, along < 0 ? -along : along, &reach) ||
        reach > INT64_MAX / static_cast<std::int64_t>(2 * size_of(dtype))) {
      core::throw_error<ShapeError>("borrow_strided: strides ", view.strides, " of shape ", view.shape,
                                    " reach further than memory");
    }
  }
  const core::ElementRange range = core::touched(view);
  const std::size_t bytes = static_cast<std::size_t>(range.past - range.first) * size_of(dtype);
  const auto* first = static_cast<const std::byte*>(data);
  if (bytes != 0) first += range.first * static_cast<std::int64_t>(size_of(dtype));
  view.offset = -range.first;
  auto* context = release ? new std::function<void()>(std::move(release)) : nullptr;
  core::Array array{std::make_shared<core::Buffer>(
                        &run::cpu_device(), const_cast<std::byte*>(first), bytes,
                        [](core::Device*, void*, std::size_t, void* held) {
                          if (held == nullptr) return;
                          const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(held));
                          (*call)();
                        },
                        context),
                    dtype, std::move(view)};
  array.buffer->set_read_only();
  return array;
}

Value uniform_draw(core::Mode mode, const Shape& shape, const UniformOptions& o) {
  if (!is_floating(o.dtype)) core::throw_error<TypeError>("uniform: a floating type is needed, not ", o.dtype);
  const double widest = o.dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (!(std::abs(o.low) <= widest && std::abs(o.high) <= widest && std::abs(o.high - o.low) <= widest)) {
    core::throw_error<ValueError>("uniform: the range [", o.low, ", ", o.high, ") is too wide, or has no end");
  }
  const core::AnyTensor drawn = draw(mode, OpId::random_uniform, shape, o.dtype, o.key, o.low, o.high);
  // Rounded to a half, one number in a thousand would be `high` itself, at which a logarithm of what is left is
  // infinite.
  if (size_of(o.dtype) > 2 || !(o.low < o.high)) return drawn;
  return minimum(drawn, std::max(below(o.high, o.dtype), o.low));
}

Value integer_draw(core::Mode mode, const Shape& shape, const IntegersOptions& o) {
  if (o.high <= o.low) core::throw_error<ValueError>("integers: the range [", o.low, ", ", o.high, ") is empty");
  if (!is_integer(o.dtype)) core::throw_error<TypeError>("integers: an integer type is needed, not ", o.dtype);
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (o.low < -exact || o.low > exact || o.high < -exact || o.high > exact) {
    core::throw_error<ValueError>("integers: bounds ", o.low, " and ", o.high, " must lie within 2^53");
  }
  const int bits = static_cast<int>(8 * size_of(o.dtype)) - (is_unsigned(o.dtype) ? 0 : 1);
  const double past = std::ldexp(1.0, bits);
  const double least = is_unsigned(o.dtype) ? 0 : -past;
  if (static_cast<double>(o.low) < least || static_cast<double>(o.high) > past) {
    core::throw_error<ValueError>("integers: the range [", o.low, ", ", o.high, ") does not fit the elements' type ",
                                  o.dtype);
  }
  return draw(mode, OpId::random_integers, shape, o.dtype, o.key, static_cast<double>(o.low),
              static_cast<double>(o.high));
}

Value ones_along(core::Mode mode, std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype) {
  if (is_complex(dtype)) return core::cast_to(ones_along(mode, rows, columns, k, real_type(dtype)), dtype);
  const Shape shape{rows, columns < 0 ? rows : columns};
  check_shape("eye", shape);
  const std::int64_t diagonal = std::clamp(k, -shape[0], shape[1]);  // beyond the corners there is none
  return emit(mode, OpId::eye, core::RangeAttributes{shape, dtype, diagonal, 0});
}

const void* elements_of(const Value& value, DType wanted) {
  core::require("data", value);
  if (value.dtype() != wanted) {
    core::throw_error<TypeError>("data: the elements are ", value.dtype(), ", read as ", wanted,
                                 "; cast first with astype");
  }
  const core::Array contents = run::contents(value);
  static std::mutex mutex;  // of what readers were given, in several threads perhaps
  const std::lock_guard lock(mutex);
  core::BufferRef& host = value.node()->result(value.output()).host;
  // The pointer of an earlier call points into the copy that it made, which is dense.
  if (host != nullptr && host != contents.buffer && !run::is_kept_state(value)) return host->memory();
  const core::Array array = run::contiguous(run::to_device(contents, run::cpu_device()));
  // A reference to the buffer keeps the pointer valid, and keeps a later run from writing there.
  host = array.buffer;
  return static_cast<const std::byte*>(array.buffer->memory()) +
         static_cast<std::size_t>(array.view.offset) * size_of(array.dtype);
}

std::string printed(const Value& value) {
  core::require("to_string", value);
  std::ostringstream out;
  print(out, value);
  return out.str();
}

}  // namespace

Value detail::to_read(const Value& x) {
  if (!x) return x;
  std::shared_ptr<core::State> state = core::holder_of(*x.node());
  // While a function is recorded nobody reads states: what they hold then is known to later runs alone.
  if (run::is_kept_state(x) && !run::trace_in_progress()) state = run::state_behind(x, "data");
  if (state == nullptr && x.node()->is_version()) return core::constant(x.node()->mode(), core::contents_of(x));
  if (state == nullptr) return x;
  const core::Array lent = run::PackedWeights::unpacked_contents(*state);
  return core::constant(x.node()->mode(), lent ? lent : run::contents(x));
}

NestedList::NestedList(std::initializer_list<NestedList> rows)
    : rows_(std::make_shared<const std::vector<NestedList>>(rows)) {}

template <class M>
Tensor<M>::Tensor(const Scalar& number) : value_(core::weak_scalar(number)) {}

template <class M>
Tensor<M>::Tensor(std::initializer_list<NestedList> data) {
  const run::Literal literal = run::read_literal({data.begin(), data.size()});
  value_ = core::constant(mode_tag<M>, host_array(literal.bytes.data(), literal.shape, literal.dtype));
}

// A function that is being traced must not leave a tensor from outside with a value that later calls would not see; see
// docs/adr/0161.
template <class M>
Tensor<M>::Tensor(Tensor&& other) noexcept {
  if (run::FunctionScope* const trace = run::FunctionScope::innermost())
    trace->note_new_value(other.name_, &other, other.value_, Value());
  value_ = std::move(other.value_);
  if (other.is_unread()) name_.take(other.name_, this, &value_);
}
template <class M>
Tensor<M>& Tensor<M>::operator=(Tensor&& other) & {
  if (run::FunctionScope* const trace = run::FunctionScope::innermost()) {
    trace->note_new_value(name_, this, value_, other.value_);
    trace->note_new_value(other.name_, &other, other.value_, Value());
  }
  value_ = std::move(other).value();
  name_.forget_whole();
  return *this;
}

template <class M>
Tensor<M> Tensor<M>::full(const Shape& shape, const Scalar& value, std::optional<DType> dtype) {
  return filled("full", mode_tag<M>, shape, value, dtype.value_or(value.default_dtype()));
}
template <class M>
Tensor<M> Tensor<M>::zeros(const Shape& shape, DType dtype) {
  return filled("zeros", mode_tag<M>, shape, 0, dtype);
}
template <class M>
Tensor<M> Tensor<M>::ones(const Shape& shape, DType dtype) {
  return filled("ones", mode_tag<M>, shape, 1, dtype);
}

template <class M>
Tensor<M> Tensor<M>::arange(const Scalar& stop) {
  return arange(0, stop, 1);
}
template <class M>
Tensor<M> Tensor<M>::arange(const Scalar& start, const Scalar& stop, const Scalar& step, std::optional<DType> dtype) {
  return counted(mode_tag<M>, start, stop, step, dtype);
}
template <class M>
Tensor<M> Tensor<M>::linspace(double start, double stop, std::int64_t count, DType dtype) {
  return spaced(mode_tag<M>, start, stop, count, dtype);
}
template <class M>
Tensor<M> Tensor<M>::logspace(double start, double stop, std::int64_t count, double base, DType dtype) {
  return power(Tensor(base), linspace(start, stop, count, DType::f64)).astype(dtype);
}
template <class M>
Tensor<M> Tensor<M>::eye(std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype) {
  return ones_along(mode_tag<M>, rows, columns, k, dtype);
}
template <class M>
Tensor<M> Tensor<M>::tri(std::int64_t rows, std::int64_t columns, std::int64_t k, DType dtype) {
  return tril(Tensor(filled("tri", mode_tag<M>, {rows, columns < 0 ? rows : columns}, 1, dtype)), k);
}

template <class M>
Tensor<M> Tensor<M>::from_function(const Shape& shape, const std::function<double(std::span<const std::int64_t>)>& f,
                                   DType dtype) {
  return filled_by(mode_tag<M>, shape, f, dtype);
}

template <class M>
Tensor<M> Tensor<M>::from_bytes(const void* data, std::int64_t count, const Shape& shape, DType dtype) {
  check_shape("from", shape);
  if (count != element_count(shape)) {
    core::throw_error<ShapeError>("from: ", count, " elements do not fill shape ", shape, " of ", element_count(shape));
  }
  if (data == nullptr && count != 0) throw ValueError("from: there is no memory to copy from");
  return run::make_constant(mode_tag<M>, host_array(data, shape, dtype));
}

template <class M>
Tensor<M> Tensor<M>::borrow_bytes(const void* data, const Shape& shape, DType dtype, std::function<void()> release) {
  check_shape("borrow", shape);
  return core::constant(mode_tag<M>, borrowed(data, core::View::dense(shape), dtype, std::move(release)));
}
template <class M>
Tensor<M> Tensor<M>::borrow_bytes(const void* data, const Shape& shape, const IntList& strides, DType dtype,
                                  std::function<void()> release) {
  check_shape("borrow_strided", shape);
  if (strides.size() != shape.size()) {
    core::throw_error<ShapeError>("borrow_strided: strides ", strides, " for shape ", shape,
                                  "; there is one for each axis");
  }
  return core::constant(mode_tag<M>, borrowed(data, {shape, strides, 0}, dtype, std::move(release)));
}

template <class M>
Tensor<M> Tensor<M>::uniform(const Shape& shape, const UniformOptions& o) {
  return uniform_draw(mode_tag<M>, shape, o);
}
template <class M>
Tensor<M> Tensor<M>::normal(const Shape& shape, const NormalOptions& o) {
  if (!is_floating(o.dtype)) core::throw_error<TypeError>("normal: a floating type is needed, not ", o.dtype);
  return draw(mode_tag<M>, OpId::random_normal, shape, o.dtype, o.key, o.mean, o.stddev);
}
template <class M>
Tensor<M> Tensor<M>::truncated_normal(const Shape& shape, const NormalOptions& o) {
  if (!is_floating(o.dtype)) core::throw_error<TypeError>("truncated_normal: a floating type is needed, not ", o.dtype);
  return draw(mode_tag<M>, OpId::random_truncated_normal, shape, o.dtype, o.key, o.mean, o.stddev);
}
template <class M>
Tensor<M> Tensor<M>::bernoulli(const Shape& shape, const BernoulliOptions& o) {
  return draw(mode_tag<M>, OpId::random_bernoulli, shape, o.dtype, o.key, o.probability, 0);
}
template <class M>
Tensor<M> Tensor<M>::integers(const Shape& shape, const IntegersOptions& o) {
  return integer_draw(mode_tag<M>, shape, o);
}
template <class M>
Tensor<M> Tensor<M>::gamma(const Shape& shape, const GammaOptions& o) {
  return draw(mode_tag<M>, OpId::random_gamma, shape, o.dtype, o.key, o.shape, o.scale);
}
template <class M>
Tensor<M> Tensor<M>::exponential(const Shape& shape, const ExponentialOptions& o) {
  return draw(mode_tag<M>, OpId::random_exponential, shape, o.dtype, o.key, o.rate, 0);
}
template <class M>
Tensor<M> Tensor<M>::permutation(std::int64_t count, const DrawOptions& o) {
  return draw(mode_tag<M>, OpId::random_permutation, {count}, DType::i64, o.key, 0, 0);
}

template <class M>
Tensor<M> Tensor<M>::placeholder(const Shape& shape, DType dtype, std::string name) {
  check_shape("placeholder", shape);
  const Value handle =
      run::make_state(mode_tag<M>, core::State::Kind::placeholder, std::move(name), {dtype, shape, false});
  const auto state = run::state_behind(handle, "placeholder");
  // Recorded nodes do not hold the state, only this symbol, which therefore stores its name.
  if (const Value symbol = state->held().version) {
    symbol.node()->set_label(std::make_shared<const std::string>(state->name()));
  }
  return handle;
}

namespace {
Value stateful(core::Mode mode, core::State::Kind kind, const Value& initial, std::string name) {
  core::require(kind == core::State::Kind::variable ? "variable" : "persistent", initial);
  Value value = core::resolve(initial);
  const Value handle = run::make_state(mode, kind, std::move(name), {value.dtype(), value.shape(), false});
  const auto state = run::state_behind(handle, "variable");
  // Pending draws are computed when they are read: weights that a file replaces never are.
  if (run::is_pending_draw(value)) {
    core::Device& device = run::current_device();
    state->defer({mode, [value, &device] { return run::to_device(run::contents(value), device); }, 0});
  } else {
    // Shared until a run is to write to it, which takes a copy of what anybody else holds.
    core::Array own = run::contents(value);
    if (!run::is_a_buffer_of_its_own(own)) {
      const core::Array array = std::exchange(own, run::new_array(*own.buffer->device(), own.dtype, own.view.shape));
      run::copy_elements(array, own);
    }
    state->set_current(core::version(mode, state, run::to_device(own, run::current_device())));
  }
  return handle;
}
}  // namespace

template <class M>
Tensor<M> Tensor<M>::variable(const Tensor& initial, std::string name) {
  return stateful(mode_tag<M>, core::State::Kind::variable, initial, std::move(name));
}
template <class M>
Tensor<M> Tensor<M>::persistent(const Tensor& initial, std::string name) {
  return stateful(mode_tag<M>, core::State::Kind::persistent, initial, std::move(name));
}
template <class M>
Tensor<M> Tensor<M>::constant(const Tensor& value) {
  core::require("constant", value);
  return run::make_constant(mode_tag<M>, run::contents(value));
}

template <class M>
const Value& Tensor<M>::checked() const {
  if (!value()) core::throw_error<GraphError>(core::empty_tensor, " is used");
  return value_;
}

// In `0 < x < 1` the left operand of the second comparison is the result of the first.
template <class M>
const Tensor<M>& Tensor<M>::in_order(const Tensor& a, const Tensor& b) {
  constexpr OpId orderings[] = {OpId::less, OpId::less_equal, OpId::greater, OpId::greater_equal};
  const bool is_ordering = a.defined() && std::ranges::find(orderings, a.value().node()->op()) != std::end(orderings);
  if (is_ordering && b.defined() && b.dtype() != DType::boolean) {
    throw TypeError(
        "a comparison of truths with numbers, as in 0 < x < 1: write (0 < x) & (x < 1); of truths as numbers less(a, "
        "b)");
  }
  return a;
}

template <class M>
Tensor<M>::operator bool() const {
  core::require("bool", value());
  if (size() != 1)
    core::throw_error<ValueError>("bool: the truth of a tensor of shape ", shape(),
                                  " is ambiguous; use any() or all()");
  return cast(*this, DType::boolean).template item<bool>();
}

template <class M>
Tensor<M> Tensor<M>::reshape(const Shape& target) const {
  return tyto::reshape(*this, target);
}
template <class M>
Tensor<M> Tensor<M>::transpose(const IntList& order) const {
  return tyto::transpose(*this, order);
}
template <class M>
Tensor<M> Tensor<M>::astype(DType dtype) const {
  return cast(*this, dtype);
}
template <class M>
Tensor<M> Tensor<M>::sum(const Axes& axes, KeepDims keepdims) const {
  return tyto::sum(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::mean(const Axes& axes, KeepDims keepdims) const {
  return tyto::mean(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::min(const Axes& axes, KeepDims keepdims) const {
  return tyto::min(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::max(const Axes& axes, KeepDims keepdims) const {
  return tyto::max(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::prod(const Axes& axes, KeepDims keepdims) const {
  return tyto::prod(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::var(const Axes& axes, KeepDims keepdims, std::int64_t ddof) const {
  return tyto::var(*this, axes, keepdims, ddof);
}
template <class M>
Tensor<M> Tensor<M>::std(const Axes& axes, KeepDims keepdims, std::int64_t ddof) const {
  return tyto::stddev(*this, axes, keepdims, ddof);
}
template <class M>
Tensor<M> Tensor<M>::any(const Axes& axes, KeepDims keepdims) const {
  return tyto::any(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::all(const Axes& axes, KeepDims keepdims) const {
  return tyto::all(*this, axes, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::argmin(std::optional<std::int64_t> axis, KeepDims keepdims) const {
  return tyto::argmin(*this, axis, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::argmax(std::optional<std::int64_t> axis, KeepDims keepdims) const {
  return tyto::argmax(*this, axis, keepdims);
}
template <class M>
Tensor<M> Tensor<M>::cumsum(std::optional<std::int64_t> axis) const {
  return tyto::cumsum(*this, axis);
}
template <class M>
Tensor<M> Tensor<M>::clip(const Tensor& low, const Tensor& high) const {
  return tyto::clip(*this, low, high);
}
template <class M>
Tensor<M> Tensor<M>::round() const {
  return tyto::round(*this);
}
template <class M>
Tensor<M> Tensor<M>::dot(const Tensor& b) const {
  return tyto::dot(*this, b);
}
template <class M>
Tensor<M> Tensor<M>::ravel() const {
  return tyto::ravel(*this);
}
template <class M>
Tensor<M> Tensor<M>::real() const {
  return tyto::real(*this);
}
template <class M>
Tensor<M> Tensor<M>::imag() const {
  return tyto::imag(*this);
}
template <class M>
Tensor<M> Tensor<M>::conj() const {
  return tyto::conj(*this);
}

template <class M>
Tensor<M>& Tensor<M>::renew(Tensor value) {
  if (!run::is_kept_state(this->value())) return *this = std::move(value);
  run::assign_state(value_, core::fitted_to("assign", value, dtype()));
  return *this;
}

template <class M>
std::int64_t Tensor<M>::row_count() const {
  if (ndim() == 0) throw IndexError("for: a tensor of shape () has no rows to go through");
  return shape()[0];
}

template <class M>
void Tensor<M>::read_item(void* target, DType wanted) const {
  core::require("item", value());
  if (size() != 1)
    core::throw_error<ShapeError>("item: a tensor of shape ", shape(), " has ", size(), " elements, not one");
  if (dtype() != wanted) {
    run::convert_elements("item", read_data(dtype()), dtype(), 1, target, wanted);
  } else {
    std::memcpy(target, read_data(wanted), size_of(wanted));
  }
}

template <class M>
Scalar Tensor<M>::item() const {
  core::require("item", value());
  if (dtype() == DType::boolean) return item<bool>();
  if (dtype() == DType::u64) return item<std::uint64_t>();
  if (is_integer(dtype())) return item<std::int64_t>();
  if (is_complex(dtype())) return item<std::complex<double>>();
  return item<double>();
}

template <class M>
Tensor<M> Tensor<M>::read_as(DType wanted) const {
  core::require("to_vector", value());
  const Value copied = detail::to_read(value());
  if (dtype() == wanted) return copied;
  const core::Array array = run::new_array(run::cpu_device(), wanted, shape());
  run::convert_elements("to_vector", elements_of(copied, dtype()), dtype(), size(), array.buffer->memory(), wanted);
  return core::constant(mode_tag<M>, array);
}

template <class M>
const void* Tensor<M>::read_data(DType wanted) const {
  return elements_of(value(), wanted);
}

template <class M>
std::string Tensor<M>::to_string() const {
  return printed(value());
}

template <class M>
void assign(const Tensor<M>& state, const std::type_identity_t<Tensor<M>>& value) {
  core::require("assign", state, value);
  run::assign_state(state, core::fitted_to("assign", value, state.dtype()));
}
template <class M>
void eval(std::initializer_list<Tensor<M>> tensors) {
  std::vector<Value> values(tensors.begin(), tensors.end());
  for (const Value& value : values) core::require("eval", value);
  run::evaluate(values);
}
TYTO_INSTANTIATE(assign)
TYTO_INSTANTIATE(eval)

template class Tensor<Eager>;
template class Tensor<Lazy>;
template class Tensor<Any>;

}  // namespace TYTO_API
