// SPDX-License-Identifier: MIT
// Lists the operators that round, and perturbs their results at random.
#include "tests/fuzz/rounding_errors.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "core/value/floating_format.hpp"
#include "engine/front/eager_substitute.hpp"
#include "tyto/tyto.hpp"

namespace tyto::fuzz {

namespace {

using core::OpId;
using T = Tensor<Eager>;

enum class Errors {
  none,      // exact
  results,   // made from no operands
  elements,  // of each element
  sums,      // of so many terms
  norms,     // of a whole matrix
};

Errors errors_of(OpId op) {
  using enum OpId;
  switch (op) {
    case negate:
    case abs:
    case sign:
    case conj:
    case relu:
    case floor:
    case ceil:
    case round:
    case trunc:
    case frexp_mantissa:
    case frexp_exponent:
    case maximum:
    case minimum:
    case fmax:
    case fmin:
    case copysign:
    case ldexp:
    case where:
    case clip: return Errors::none;
    case arange:
    case random_uniform:
    case random_normal:
    case random_truncated_normal:
    case random_gamma:
    case random_exponential: return Errors::results;
    case sum:
    case prod:
    case mean:
    case var:
    case logsumexp:
    case cumsum:
    case cumprod:
    case scatter_add:
    case scatter_multiply:
    case order_statistics:
    case matmul:
    case quantised_matmul:
    case softmax:
    case log_softmax:
    case attention:
    case attention_gradient:
    case convolution:
    case convolution_input_gradient:
    case convolution_kernel_gradient:
    case max_pool_gradient:
    case average_pool:
    case average_pool_gradient:
    case upsample_nearest_gradient:
    case upsample_bilinear:
    case upsample_bilinear_gradient: return Errors::sums;
    case lu_factor:
    case lu_solve:
    case solve:
    case inv:
    case det:
    case cholesky:
    case triangular_solve:
    case qr:
    case eigh:
    case eigvalsh:
    case svd:
    case svdvals:
    case pinv:
    case eig:
    case eigvals:
    case expm:
    case fft:
    case rfft:
    case irfft: return Errors::norms;
    default: return core::definition(op).is(core::Traits::elementwise) ? Errors::elements : Errors::none;
  }
}

/// Zeros stand around images, and between the elements of what is spread over them. Whether a kernel multiplies with
/// those is open, and so is what becomes of an infinite factor there: nothing, or NaN.
bool multiplies_open_zeros(OpId op, const core::Attributes& attributes) {
  const bool is_input_gradient = op == OpId::convolution_input_gradient;
  if (!is_input_gradient && op != OpId::convolution && op != OpId::convolution_kernel_gradient) return false;
  const auto& window = std::get<core::WindowAttributes>(attributes);
  const auto any = [](const IntList& list) { return std::ranges::any_of(list, [](std::int64_t n) { return n != 0; }); };
  return is_input_gradient || any(window.before) || any(window.after);
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
bool rounds(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

/// Elements off by up to `reach`, as a part of their own absolute value or of the largest one of their matrix.
T moved(const T& x, double reach, bool by_matrix, Key key) {
  const T parts = cast(is_complex(x.dtype()) ? view_as_real(copy(x)) : x, DType::f64);
  T size = cast(abs(x), DType::f64);
  if (by_matrix && size.ndim() > 0 && size.size() > 0) {
    const Axes last = size.ndim() == 1 ? Axes(-1) : Axes(IntList{-2, -1});
    size = max(where(isfinite(size), size, 0.0), last, true);
  }
  if (is_complex(x.dtype())) size = expand_dims(size, -1);
  const T chance = T::uniform(parts.shape(), {.low = -1, .high = 1, .dtype = DType::f64, .key = key});
  const T all = where(isfinite(parts), parts + size * (chance * reach), parts);
  if (!is_complex(x.dtype())) return cast(all, x.dtype());
  return view_as_complex(copy(cast(all, real_type(x.dtype()))));
}

class RoundingBuilder final : public core::Builder {
 public:
  RoundingBuilder(core::Mode mode, double places, std::uint64_t seed)
      : own_(core::builder_of(mode)), places_(places), seed_(seed) {}

  Value emit(OpId op, std::shared_ptr<const core::Attributes> attributes, std::span<Value> inputs) override {
    std::vector<Value> operands(inputs.begin(), inputs.end());
    Value value = own_.emit(op, attributes, inputs);
    const Errors errors = errors_of(op);
    const auto results = value.node()->results();
    if (errors == Errors::none || !value.node()->evaluated() ||
        std::ranges::none_of(results, [](const core::Result& result) { return rounds(result.type.dtype); })) {
      return value;
    }
    core::Builder* const eager = core::exchange_substitute(core::Mode::eager, nullptr);
    core::Builder* const neutral = core::exchange_substitute(core::Mode::neutral, nullptr);
    try {
      move(op, attributes, operands, errors, *value.node());
    } catch (const Error&) {
      // Some operands have no result any more: what remains is that of those that were given.
    }
    core::exchange_substitute(core::Mode::eager, eager);
    core::exchange_substitute(core::Mode::neutral, neutral);
    return value;
  }

  bool overwrite(const Value&, OpId, const core::Attributes&, std::span<const Value>) override { return false; }

 private:
  void move(OpId op, const std::shared_ptr<const core::Attributes>& attributes, std::vector<Value>& operands,
            Errors errors, core::Node& node) {
    const double terms = errors == Errors::elements ? 0 : terms_of(operands, node);
    const bool open = seed_ % 2 == 1 && attributes != nullptr && multiplies_open_zeros(op, *attributes) &&
                      std::ranges::any_of(operands, [](const Value& operand) { return !is_finite(operand); });
    Value again;
    if (errors != Errors::results) {
      for (Value& operand : operands) operand = moved_operand(operand, terms, errors == Errors::norms);
      again = own_.emit(op, attributes, operands);
    }
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      core::Result& result = node.result(i);
      if (again.node() != nullptr) result.array = again.node()->result(i).array;
      const DType dtype = result.type.dtype;
      if (!rounds(dtype) || result.type.weak) continue;
      const double reach = (is_half(dtype) ? 1 : places_) * core::format_of(real_type(dtype)).epsilon();
      const T given = T(core::constant(core::Mode::eager, result.array));
      const T off = open ? T::full(given.shape(), std::numeric_limits<double>::quiet_NaN(), dtype)
                         : moved(given, reach, false, {seed_, ++drawn_});
      result.array = core::result_of(off.value()).array;
    }
  }

  Value moved_operand(const Value& operand, double terms, bool by_matrix) {
    const core::Result& given = core::result_of(operand);
    const DType dtype = given.type.dtype;
    if (given.type.weak || !rounds(dtype) || is_half(dtype) || !operand.node()->evaluated()) return operand;
    const double reach = (places_ + terms) * core::format_of(real_type(dtype)).epsilon();
    return moved(T(core::constant(core::Mode::eager, given.array)), reach, by_matrix, {seed_, ++drawn_}).value();
  }

  static bool is_finite(const Value& operand) {
    const core::Result& given = core::result_of(operand);
    if (!rounds(given.type.dtype)) return true;
    return all(isfinite(T(core::constant(core::Mode::eager, given.array)))).item<bool>();
  }

  static double terms_of(const std::vector<Value>& operands, const core::Node& node) {
    std::int64_t longest = 1, largest = 1;
    for (const Value& operand : operands) {
      for (const std::int64_t length : operand.shape()) longest = std::max(longest, length);
      largest = std::max(largest, element_count(operand.shape()));
    }
    const std::int64_t made = std::max<std::int64_t>(element_count(node.results()[0].type.shape), 1);
    return static_cast<double>(std::max(longest, largest / made));
  }

  core::Builder& own_;
  double places_;
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

RoundingErrors::RoundingErrors(double places, std::uint64_t seed)
    : eager_(std::make_unique<RoundingBuilder>(core::Mode::eager, places, seed)),
      neutral_(std::make_unique<RoundingBuilder>(core::Mode::neutral, places, ~seed)),
      outer_eager_(core::exchange_substitute(core::Mode::eager, eager_.get())),
      outer_neutral_(core::exchange_substitute(core::Mode::neutral, neutral_.get())) {}

RoundingErrors::~RoundingErrors() {
  core::exchange_substitute(core::Mode::eager, outer_eager_);
  core::exchange_substitute(core::Mode::neutral, outer_neutral_);
}

}  // namespace tyto::fuzz
