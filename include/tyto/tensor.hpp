// SPDX-License-Identifier: MIT
// Tensor<Mode>: the one type users work with. `using Tensor = tyto::Tensor<tyto::Lazy>;` or `<tyto::Eager>`.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tyto/dtype.hpp"
#include "tyto/error.hpp"
#include "tyto/index.hpp"
#include "tyto/name.hpp"
#include "tyto/scalar.hpp"
#include "tyto/shape.hpp"
#include "tyto/value.hpp"

// In C++20 `x[0, 1]` is `x[1]`. From C++23 on it is what it says; until then it is an error in whatever includes this,
// unless TYTO_ALLOW_COMMA_SUBSCRIPT is defined before.
#if !defined(__cpp_multidimensional_subscript) && !defined(TYTO_ALLOW_COMMA_SUBSCRIPT)
#if defined(__clang__)
#pragma clang diagnostic error "-Wdeprecated-comma-subscript"
#elif defined(__GNUC__)
#pragma GCC diagnostic error "-Wcomma-subscript"
#endif
#endif

namespace tyto TYTO_API {

namespace detail {
/// False for every template argument: an assertion of it fails only where the template is used.
template <class>
inline constexpr bool always_false = false;
/// A vector, an array of either kind, or what else a std::span of elements can be made of.
template <class R>
concept Elements = requires(const R& data) {
  requires Element<typename decltype(std::span(data))::element_type>;
};
template <class T>
concept AlmostOperand =
    std::is_convertible_v<const T&, std::string_view> || std::is_array_v<T> || std::is_null_pointer_v<T>;
/// What is no operand of a tensor, and says so; an operator of the user's that takes it itself is the better match.
struct NoOperand {
  template <AlmostOperand T>
  NoOperand(const T&) = delete;  // a text is no operand; Tensor(numbers) makes a tensor of an array
  template <Element T>
  NoOperand(const std::vector<T>&) = delete;  // a std::vector is no operand; Tensor(numbers) makes a tensor of it
};
}  // namespace detail

/// Every line is computed at once.
struct Eager {};
/// Every line is recorded; reading evaluates what it needs.
struct Lazy {};
/// For code that serves both, such as layers: works in the mode of what it is given.
struct Any {};

/// Scalars in nested braces, `{{1, 2}, {3, 4}}`.
class NestedList {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || ComplexNumber<T>) NestedList(T value) : scalar_(value) {}
  NestedList(std::initializer_list<NestedList> rows);

  /// Whether it is a single number; that number; the rows otherwise.
  bool is_scalar() const { return rows_ == nullptr; }
  const Scalar& scalar() const { return scalar_; }
  const std::vector<NestedList>& rows() const { return *rows_; }

 private:
  Scalar scalar_;
  std::shared_ptr<const std::vector<NestedList>> rows_;
};

/// A key of random numbers, in place of the sequence of `tyto::seed`: draw `stream` of the sequence of `seed`.
struct Key {
  std::uint64_t seed = 0;    ///< of the sequence of random numbers
  std::uint64_t stream = 0;  ///< number of the draw
  /// An independent key, number `index` of those derived from this one.
  Key split(std::uint64_t index) const;
};

/// Parameters of random draws; `key` left out means the sequence set by `tyto::seed`.
struct UniformOptions {
  double low = 0;               ///< smallest value
  double high = 1;              ///< bound above, not reached
  DType dtype = DType::f32;     ///< element type
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `normal`.
struct NormalOptions {
  double mean = 0;              ///< expected value
  double stddev = 1;            ///< standard deviation
  DType dtype = DType::f32;     ///< element type
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `bernoulli`.
struct BernoulliOptions {
  double probability = 0.5;      ///< of true
  DType dtype = DType::boolean;  ///< element type
  std::optional<Key> key = {};   ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `integers`.
struct IntegersOptions {
  std::int64_t low = 0;         ///< smallest value
  std::int64_t high = 1;        ///< exclusive
  DType dtype = DType::i64;     ///< element type
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `gamma`.
struct GammaOptions {
  double shape = 1;             ///< its form
  double scale = 1;             ///< scale
  DType dtype = DType::f32;     ///< element type
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `exponential`.
struct ExponentialOptions {
  double rate = 1;              ///< events per unit
  DType dtype = DType::f32;     ///< element type
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};
/// Options of `permutation`.
struct DrawOptions {
  std::optional<Key> key = {};  ///< of the random numbers; none: the sequence of tyto::seed
};

/// Starts the sequence of random numbers anew; the same seed gives the same numbers in both modes and on all devices
/// (draws made of logarithms and cosines to their last digits, see docs/semantics.md).
void seed(std::uint64_t value);

/// The state of the random number generator; restoring it repeats what was drawn since.
struct RandomState {
  std::uint64_t seed = 0;   ///< of the sequence of random numbers
  std::uint64_t draws = 0;  ///< made since the seed was set
};
/// Reads the state, and restores one that was read.
RandomState random_state();
void random_state(const RandomState& state);

/// While it is alive, draws of `Tensor<Any>` are computed when they are read; which numbers they are is settled where
/// they stand. Layers draw initial weights in one, so that weights that a file replaces are never drawn:
///
///     const tyto::PostponedDraws postponed;
///     auto w = tyto::Tensor<tyto::Any>::variable(tyto::Tensor<tyto::Any>::normal({784, 300}), "weight");
class PostponedDraws {
 public:
  PostponedDraws();
  ~PostponedDraws();
  PostponedDraws(const PostponedDraws&) = delete;
  PostponedDraws& operator=(const PostponedDraws&) = delete;

 private:
  bool outer_;
};

/// Writes a tensor as NumPy prints it.
std::ostream& print(std::ostream& out, const Value& x);
std::ostream& print(std::ostream& out, const Scalar& x);
/// Writes the number that `x.item()` returns, as C++ prints it. (Nothing else is taken for a Scalar here.)
template <std::same_as<Scalar> S>
std::ostream& operator<<(std::ostream& out, const S& x) {
  return print(out, x);
}

namespace detail {

/// A tensor that serves both modes, such as a gradient of `model.parameters()`, meets one of a mode: the result is of
/// that mode. (As friends of a base only arguments that are tensors find these.)
template <class Mode>
class BesideAny {
  template <class M>
  static Tensor<Mode> other_mode(const Tensor<Mode>& a) {
    static_assert(always_false<M>, "eager and lazy tensors do not mix; Tensor(x) makes one of another mode");
    return a;
  }
#define TYTO_BESIDE_ANY(symbol)                                                    \
  template <std::same_as<Any> A>                                                   \
  friend Tensor<Mode> operator symbol(const Tensor<A>& a, const Tensor<Mode>& b) { \
    return Tensor<Mode>(a.value()) symbol b;                                       \
  }                                                                                \
  template <std::same_as<Any> A>                                                   \
  friend Tensor<Mode> operator symbol(const Tensor<Mode>& a, const Tensor<A>& b) { \
    return a symbol Tensor<Mode>(b.value());                                       \
  }
  TYTO_BESIDE_ANY(+)
  TYTO_BESIDE_ANY(-)
  TYTO_BESIDE_ANY(*)
  TYTO_BESIDE_ANY(/)
  TYTO_BESIDE_ANY(==)
  TYTO_BESIDE_ANY(!=)
  TYTO_BESIDE_ANY(<)
  TYTO_BESIDE_ANY(<=)
  TYTO_BESIDE_ANY(>)
  TYTO_BESIDE_ANY(>=)
#undef TYTO_BESIDE_ANY
// The same of temporaries, whose ordering may be the second comparison of a chain; see Tensor::in_order.
#define TYTO_ORDERED_BESIDE_ANY(symbol)                                       \
  template <std::same_as<Any> A>                                              \
  friend Tensor<Mode> operator symbol(Tensor<A>&& a, const Tensor<Mode>& b) { \
    return Tensor<Mode>(a.value()) symbol b;                                  \
  }                                                                           \
  template <std::same_as<Any> A>                                              \
  friend Tensor<Mode> operator symbol(Tensor<Mode>&& a, const Tensor<A>& b) { \
    return std::move(a) symbol Tensor<Mode>(b.value());                       \
  }
  TYTO_ORDERED_BESIDE_ANY(<)
  TYTO_ORDERED_BESIDE_ANY(<=)
  TYTO_ORDERED_BESIDE_ANY(>)
  TYTO_ORDERED_BESIDE_ANY(>=)
#undef TYTO_ORDERED_BESIDE_ANY
// Operands of unsupported types. (Where a deleted operator is called, clang lists all there are; assertions in a macro
// are told with its lines.)
#define TYTO_NO_OPERAND(symbol)                                                                      \
  template <class M>                                                                                 \
  requires(!std::is_same_v<M, Mode> && !std::is_same_v<M, Any>) friend Tensor<Mode> operator symbol( \
      const Tensor<Mode>& a, const Tensor<M>&) {                                                     \
    return other_mode<M>(a);                                                                         \
  }                                                                                                  \
  template <std::same_as<Mode> M>                                                                    \
  friend Tensor<Mode> operator symbol(const Tensor<M>&, const NoOperand&) {                          \
    return {};                                                                                       \
  }                                                                                                  \
  template <std::same_as<Mode> M>                                                                    \
  friend Tensor<Mode> operator symbol(const NoOperand&, const Tensor<M>&) {                          \
    return {};                                                                                       \
  }
  TYTO_NO_OPERAND(+)
  TYTO_NO_OPERAND(-)
  TYTO_NO_OPERAND(*)
  TYTO_NO_OPERAND(/)
  TYTO_NO_OPERAND(==)
  TYTO_NO_OPERAND(!=)
  TYTO_NO_OPERAND(<)
  TYTO_NO_OPERAND(<=)
  TYTO_NO_OPERAND(>)
  TYTO_NO_OPERAND(>=)
#undef TYTO_NO_OPERAND
};
template <>
class BesideAny<Any> {};

}  // namespace detail

/// An n-dimensional array of numbers: a counted handle, cheap to copy, never an expression holding references.
template <class Mode>
class Tensor : detail::BesideAny<Mode> {
 public:
  /// Eager, Lazy or Any.
  using mode = Mode;

  /// No tensor at all; using it throws.
  Tensor() = default;
  /// A scalar, weakly typed: it takes on the element type of what it meets.
  template <class T>
  requires(std::is_arithmetic_v<T> || ComplexNumber<T>) Tensor(T number) : Tensor(Scalar(number)) {}
  Tensor(const Scalar& number);
  /// Data in nested braces: integers give i64, any with a point gives f32, any complex one c64, true/false
  /// gives bool. Ragged rows throw.
  Tensor(std::initializer_list<NestedList> data);
  /// The numbers of a vector, an array or a span, as a tensor of one axis; a text is none.
  template <class R>
  requires(!requires { typename R::mode; } && !std::is_convertible_v<const R&, std::string_view> &&
           detail::Elements<R>) explicit Tensor(const R& numbers)
      : Tensor(from(numbers, {static_cast<std::int64_t>(std::span(numbers).size())})) {}
  /// The truths of a vector, which lie there as single bits.
  template <std::same_as<bool> T>
  explicit Tensor(const std::vector<T>& truths)
      : Tensor(Tensor(std::vector<std::uint8_t>(truths.begin(), truths.end())).astype(DType::boolean)) {}
  template <class R>
  requires(std::rank_v<R> > 1) explicit Tensor(const R&) = delete;  // Tensor::from(numbers in one array, {2, 3})
  template <class T>
  Tensor(const std::vector<std::vector<T>>&) = delete;  // Tensor::from(numbers in one vector, {rows, columns})
  template <Element T>
  Tensor(const std::vector<T>&, const Shape&) = delete;  // Tensor::from(numbers, shape)
  template <std::same_as<DType> D>
  Tensor(std::initializer_list<NestedList>, D) = delete;  // Tensor(std::vector<double>{...}) is of type f64
  template <Element T>
  Tensor(const T*, const Shape&) = delete;  // Tensor::from(std::span(p, n), shape), or Tensor::borrow(p, shape)
  template <std::integral N, std::integral M, std::integral... More>
  Tensor(N, M, More...) = delete;  // Tensor{3, 4} holds these numbers, Tensor::zeros({3, 4}) has this shape
  /// Engine's own: a value of any mode as a tensor of this one.
  Tensor(Value value) : value_(std::move(value)) {}
  Tensor(const Tensor& other) : value_(other.value()) {}
  /// Where `other` is a part, this one no longer is, so that nothing writes through it to what may be gone.
  Tensor(Tensor&& other) noexcept;
  /// Converts a tensor of the other mode, or one that serves both, to this mode: explicit, never implicit.
  template <class M>
  requires(!std::is_same_v<M, Mode>) explicit Tensor(const Tensor<M>& other) : Tensor(other.value()) {}
  template <class M>
  Tensor(const Tensor<M>&) = delete;  // of another mode: write Tensor w(x); in a layer all are Tensor<Any>
  ~Tensor() = default;
  Tensor& operator=(const Tensor& other) & { return *this = Tensor(other); }
  Tensor& operator=(Tensor&& other) &;
  /// `x(index) = v`: x gets a copy with that part replaced; a variable or persistent tensor is assigned to. Throws
  /// GraphError for any other temporary, and where x is gone: nobody would see the new value.
  void operator=(const Tensor& replacement) &&;
  void operator=(const Tensor&) const& = delete;   // the name is const
  void operator=(const Tensor&) const&& = delete;  // a part of a const name, or of a part

  // Creation, shapes by name: Tensor::zeros({2, 3}).
  /// Every element 0, or 1.
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);  // Tensor::zeros({2, 3})
  static Tensor ones(const Shape& shape, DType dtype = DType::f32);   // Tensor::ones({2, 3})
  /// Every element `value`; without a dtype: bool, i64 or f32 by the value.
  static Tensor full(const Shape& shape, const Scalar& value, std::optional<DType> dtype = {});
  /// 0, 1, ... below `stop`.
  static Tensor arange(const Scalar& stop);
  /// start, start + step, ... short of stop; without a dtype i64 for integers, else f32.
  static Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1,
                       std::optional<DType> dtype = {});
  /// `count` numbers from start to stop, both included.
  static Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::f32);
  /// base to the powers linspace(start, stop, count).
  static Tensor logspace(double start, double stop, std::int64_t count, double base = 10, DType dtype = DType::f32);
  /// Ones on diagonal `k`, zeros elsewhere; square when `columns` is left out.
  static Tensor eye(std::int64_t rows, std::int64_t columns = -1, std::int64_t k = 0, DType dtype = DType::f32);
  /// Ones at and below diagonal `k`.
  static Tensor tri(std::int64_t rows, std::int64_t columns = -1, std::int64_t k = 0, DType dtype = DType::f32);
  /// Element at each index computed by `f(index)`.
  static Tensor from_function(const Shape& shape, const std::function<double(std::span<const std::int64_t>)>& f,
                              DType dtype = DType::f32);
  /// A copy of a span, or of what one can be made of, such as a vector or an array, in row-major order.
  template <Element T>
  static Tensor from(std::span<const T> data, const Shape& shape) {
    return from_bytes(data.data(), static_cast<std::int64_t>(data.size()), shape, dtype_of<T>);
  }
  template <detail::Elements R>
  static Tensor from(const R& data, const Shape& shape) {
    return from(std::span<const typename decltype(std::span(data))::value_type>(data), shape);
  }
  template <Element T>
  requires(!std::is_same_v<T, bool>) static Tensor from(std::initializer_list<T> data, const Shape& shape) {
    return from(std::span<const T>(data.begin(), data.size()), shape);
  }
  /// Host memory itself, not a copy. It must hold still until `release` is called; Tyto never writes to it.
  template <Element T>
  static Tensor borrow(const T* data, const Shape& shape, std::function<void()> release = {}) {
    return borrow_bytes(data, shape, dtype_of<T>, std::move(release));
  }
  /// The same where it lies with strides, in elements, from its first element at `data` on: parts of another library's
  /// arrays, or a column-major matrix, `borrow_strided(m, {rows, columns}, {1, rows})`. Strides may be negative, or 0.
  template <Element T>
  static Tensor borrow_strided(const T* data, const Shape& shape, const IntList& strides,
                               std::function<void()> release = {}) {
    return borrow_bytes(data, shape, strides, dtype_of<T>, std::move(release));
  }
  /// As `from`, the element type given at run time: `count` elements of `dtype` at `data`.
  static Tensor from_bytes(const void* data, std::int64_t count, const Shape& shape, DType dtype);
  /// As `borrow`, the element type given at run time.
  static Tensor borrow_bytes(const void* data, const Shape& shape, DType dtype, std::function<void()> release);
  static Tensor borrow_bytes(const void* data, const Shape& shape, const IntList& strides, DType dtype,
                             std::function<void()> release);

  // Random numbers.
  /// Numbers in [low, high), all equally likely.
  static Tensor uniform(const Shape& shape, const UniformOptions& options = {});
  /// Normal numbers.
  static Tensor normal(const Shape& shape, const NormalOptions& options = {});
  /// Normal, but never more than two standard deviations off.
  static Tensor truncated_normal(const Shape& shape, const NormalOptions& options = {});
  /// True with the given probability.
  static Tensor bernoulli(const Shape& shape, const BernoulliOptions& options = {});
  /// Integers in [low, high).
  static Tensor integers(const Shape& shape, const IntegersOptions& options);
  /// Gamma or exponential numbers.
  static Tensor gamma(const Shape& shape, const GammaOptions& options = {});
  static Tensor exponential(const Shape& shape, const ExponentialOptions& options = {});
  /// 0 ... count-1 in random order.
  static Tensor permutation(std::int64_t count, const DrawOptions& options = {});

  // State that outlives a run; see also assign().
  /// Fed each run; reading it before it was given a value is an error that names it.
  static Tensor placeholder(const Shape& shape, DType dtype = DType::f32, std::string name = {});
  /// Kept between runs and trained: `Graph::variables()` lists it.
  static Tensor variable(const Tensor& initial, std::string name = {});
  /// Kept between runs, not trained.
  static Tensor persistent(const Tensor& initial, std::string name = {});
  /// A value that the optimiser may fold and inline.
  static Tensor constant(const Tensor& value);

  // Properties.
  /// Element type, shape, number of axes, number of elements.
  DType dtype() const { return checked().dtype(); }
  const Shape& shape() const { return checked().shape(); }
  int ndim() const { return shape().rank(); }
  std::int64_t size() const { return element_count(shape()); }
  /// The only element as a truth value.
  explicit operator bool() const;
  /// False of a default-constructed or moved-from handle.
  bool defined() const { return static_cast<bool>(value_); }

  void backward() const = delete;  // gradients are results: tyto::value_and_grad(f, parameters)(x)
  void grad() const = delete;      // gradients are results: tyto::value_and_grad(f, parameters)(x)
  void size(int) const = delete;   // x.shape()[0]

  // Functions that NumPy users chain.
  /// The functions of the same names (`T` is `transpose`, `astype` is `cast`), with this tensor as the first argument.
  [[nodiscard]] Tensor reshape(const Shape& target) const;
  template <std::integral N, std::integral M, std::integral... More>
  Tensor reshape(N, M, More...) const = delete;  // lengths are a list: x.reshape({2, 3})
  [[nodiscard]] Tensor transpose(const IntList& order = {}) const;
  [[nodiscard]] Tensor T() const { return transpose(); }
  [[nodiscard]] Tensor astype(DType dtype) const;
  [[nodiscard]] Tensor sum(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor mean(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor min(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor max(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor prod(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor var(const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0) const;
  [[nodiscard]] Tensor std(const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0) const;
  [[nodiscard]] Tensor any(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor all(const Axes& axes = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor argmin(std::optional<std::int64_t> axis = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor argmax(std::optional<std::int64_t> axis = {}, KeepDims keepdims = false) const;
  [[nodiscard]] Tensor cumsum(std::optional<std::int64_t> axis = {}) const;
  [[nodiscard]] Tensor clip(const Tensor& low, const Tensor& high) const;
  [[nodiscard]] Tensor round() const;
  [[nodiscard]] Tensor dot(const Tensor& b) const;
  [[nodiscard]] Tensor ravel() const;
  [[nodiscard]] Tensor real() const;
  [[nodiscard]] Tensor imag() const;
  [[nodiscard]] Tensor conj() const;

  /// Part of the tensor: `x(0, slice(1, 5), all, newaxis, ellipsis, tensor)`. Of what cannot be assigned to it is
  /// const, so that `x(0)(1) = v` does not compile.
  template <class... I>
  const Tensor operator()(const I&... entries) const& {
    return get(detail::index_list(entries...));
  }
  /// The same; in addition `x(index) = v` gives x a copy with that part replaced.
  template <class... I>
  Tensor operator()(const I&... entries) & {
    return part(detail::index_list(entries...));
  }
  Tensor get(const std::vector<Index>& entries) const;
  /// `x[i]` is `x(i)`: one index, of the first axis.
  const Tensor operator[](const Index& entry) const& { return get({entry}); }
  Tensor operator[](const Index& entry) & { return part({entry}); }
#if defined(__cpp_multidimensional_subscript)
  template <class... I>
  requires(sizeof...(I) > 1) const Tensor operator[](const I&... entries) const& {
    return get(detail::index_list(entries...));
  }
  template <class... I>
  requires(sizeof...(I) > 1) Tensor operator[](const I&... entries) & { return part(detail::index_list(entries...)); }
#endif

  /// The parts along the first axis, one after the other: `for (const Tensor& row : x)`.
  class Rows {
   public:
    Rows(const Tensor* of, std::int64_t position) : of_(of), position_(position) {}
    /// This part, and on to the next.
    Tensor operator*() const { return of_->get({position_}); }
    Rows& operator++() {
      ++position_;
      return *this;
    }
    friend bool operator!=(const Rows& a, const Rows& b) { return a.position_ != b.position_; }

   private:
    const Tensor* of_;
    std::int64_t position_;
  };
  Rows begin() const { return {this, 0}; }
  Rows end() const { return {this, row_count()}; }

  // Reading: evaluates first, never exposes memory that a later run changes.
  /// The only element. It may be read as any type that holds it, floating-point numbers rounded: an f32 as double, an
  /// i64 of 3 as int; TypeError otherwise, as for 2.5 read as int.
  template <Element T>
  T item() const {
    T value;
    read_item(&value, dtype_of<T>);
    return value;
  }
  /// The only element, of whatever type it is.
  Scalar item() const;
  /// The elements, row-major, on the host. Valid as long as this handle (or a copy of it) lives; of a variable, until
  /// it is read again.
  template <Element T>
  std::span<const T> data() const& {
    return {static_cast<const T*>(read_data(dtype_of<T>)), static_cast<std::size_t>(size())};
  }
  template <Element T>
  void data() const&& = delete;  // a temporary would be gone: give the tensor a name, or take to_vector<T>()
  /// A copy of the elements, row-major, in any type that holds each of them; see item().
  template <Element T>
  std::vector<T> to_vector() const {
    const Tensor read = read_as(dtype_of<T>);
    const std::span<const T> elements = read.template data<T>();
    return std::vector<T>(elements.begin(), elements.end());
  }
  /// The elements of any type as they lie in memory; for how long, see data().
  std::span<const std::byte> bytes() const& {
    return {static_cast<const std::byte*>(read_data(dtype())), static_cast<std::size_t>(size()) * size_of(dtype())};
  }
  void bytes() const&& = delete;  // a temporary would be gone: give the tensor a name
  /// As NumPy prints it, with shape and type when they do not show.
  std::string to_string() const;

  friend std::ostream& operator<<(std::ostream& out, const Tensor& x) { return print(out, x.value()); }

  // Arithmetic, element by element with broadcasting. For the matrix product see matmul.
  friend Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
  friend Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
  friend Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
  friend Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
  friend Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
  friend Tensor operator-(const Tensor& a) { return negate(a); }
  friend Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
  friend Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }
  friend Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
  friend Tensor operator<(Tensor&& a, const Tensor& b) { return less(in_order(a, b), b); }
  friend Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
  friend Tensor operator<=(Tensor&& a, const Tensor& b) { return less_equal(in_order(a, b), b); }
  friend Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
  friend Tensor operator>(Tensor&& a, const Tensor& b) { return greater(in_order(a, b), b); }
  friend Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
  friend Tensor operator>=(Tensor&& a, const Tensor& b) { return greater_equal(in_order(a, b), b); }
  friend Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
  friend Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
  friend Tensor operator!(const Tensor& a) { return logical_not(a); }
  friend Tensor operator&(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
  friend Tensor operator|(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
  friend Tensor operator^(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }
  friend Tensor operator~(const Tensor& a) { return bitwise_not(a); }
  friend Tensor operator<<(const Tensor& a, const Tensor& b) { return left_shift(a, b); }
  friend Tensor operator>>(const Tensor& a, const Tensor& b) { return right_shift(a, b); }
  /// These give the name its new value. A variable or persistent tensor is assigned to, as by assign().
  Tensor& operator+=(const Tensor& b) & { return renew(add(*this, b)); }
  Tensor& operator-=(const Tensor& b) & { return renew(subtract(*this, b)); }
  Tensor& operator*=(const Tensor& b) & { return renew(multiply(*this, b)); }
  Tensor& operator/=(const Tensor& b) & { return renew(divide(*this, b)); }
  /// `x(index) += v`, as `x(index) = v`.
  void operator+=(const Tensor& b) && { std::move(*this) = add(*this, b); }
  void operator-=(const Tensor& b) && { std::move(*this) = subtract(*this, b); }
  void operator*=(const Tensor& b) && { std::move(*this) = multiply(*this, b); }
  void operator/=(const Tensor& b) && { std::move(*this) = divide(*this, b); }

  /// Not of a const name.
  template <class T = Mode>
  void operator+=(const Tensor&) const& {
    static_assert(detail::always_false<T>, "the name on the left is const");
  }
  template <class T = Mode>
  void operator-=(const Tensor&) const& {
    static_assert(detail::always_false<T>, "the name on the left is const");
  }
  template <class T = Mode>
  void operator*=(const Tensor&) const& {
    static_assert(detail::always_false<T>, "the name on the left is const");
  }
  template <class T = Mode>
  void operator/=(const Tensor&) const& {
    static_assert(detail::always_false<T>, "the name on the left is const");
  }

  /// Engine's own: the value behind the handle.
  operator const Value&() const { return value(); }
  const Value& value() const& {
    if (is_unread()) refuse_unread();
    return value_;
  }
  Value value() && {
    if (is_unread()) refuse_unread();
    return std::move(value_);
  }

 private:
  Tensor(Value value, detail::Name* whole, std::vector<Index> entries, Value unread) : value_(std::move(value)) {
    name_.make_part(this, &value_, whole, std::move(entries), std::move(unread));
  }
  /// In lazy mode a mask can be assigned through but not read: such a part has no value, and throws when asked for one.
  bool is_unread() const {
    const detail::Name* name = name_.get();
    return name != nullptr && name->unread;
  }

  Tensor part(std::vector<Index> entries);
  [[noreturn]] void refuse_unread() const;
  static const Tensor& in_order(const Tensor& a, const Tensor& b);
  const Value& checked() const;
  Tensor& renew(Tensor value);
  std::int64_t row_count() const;
  Tensor read_as(DType dtype) const;
  void read_item(void* target, DType dtype) const;
  const void* read_data(DType dtype) const;

  Value value_;
  detail::OwnName name_;  // nobody's in most tensors
};

/// `x` with the part at `index` replaced by `v`, which is broadcast to that part's shape. `x` itself stays as it is.
template <class M>
[[nodiscard]] Tensor<M> set(const Tensor<M>& x, const std::vector<Index>& index,
                            const std::type_identity_t<Tensor<M>>& v);

/// Gives a variable, persistent tensor or placeholder its next value. Reads made before keep the old one.
template <class M>
void assign(const Tensor<M>& state, const std::type_identity_t<Tensor<M>>& value);

/// Computes everything listed now (lazy mode; eager tensors are computed already).
template <class M>
void eval(std::initializer_list<Tensor<M>> tensors);

extern template class Tensor<Eager>;
extern template class Tensor<Lazy>;
extern template class Tensor<Any>;

}  // namespace TYTO_API

// The functions that the operators above call; at the end, since they take tensors.
#include "tyto/elementwise.hpp"
