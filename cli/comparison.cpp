// SPDX-License-Identifier: MIT
// Compares outputs with expected ones element by element, in f64 or, of integers, as they are.
#include "cli/comparison.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>
#include <type_traits>

#include <tyto/complex.hpp>
#include <tyto/shaping.hpp>

#include "cli/input_files.hpp"
#include "cli/model_inputs.hpp"

namespace tyto::cli {

namespace {

bool same_kind(DType a, DType b) {
  if (is_floating(a) || is_complex(a)) return is_floating(a) == is_floating(b) && is_complex(a) == is_complex(b);
  return (a == DType::boolean) == (b == DType::boolean) && is_integer(a) == is_integer(b);
}

Shape place_of(std::int64_t number, const Shape& shape) {
  Shape place = shape;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return place;
}

/// Fills in what differs; `allowed` is what a difference from an expected element may be.
template <class T, class Allowed>
void compare_elements(Comparison& comparison, const Tensor<Lazy>& value, const Tensor<Lazy>& expected,
                      const Allowed& allowed) {
  const std::vector<T> a = value.to_vector<T>(), b = expected.to_vector<T>();
  double worst = -1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double got = static_cast<double>(a[i]), wanted = static_cast<double>(b[i]);
    if (a[i] == b[i] || (std::isnan(got) && std::isnan(wanted))) continue;
    const double apart = std::isnan(got - wanted) ? std::numeric_limits<double>::infinity() : std::abs(got - wanted);
    comparison.largest = std::max(comparison.largest, apart);
    const double most = std::isfinite(wanted) ? allowed(wanted) : 0;
    if (std::is_floating_point_v<T> && apart <= most) continue;
    ++comparison.differing;
    // The difference over the tolerance, or the difference itself where the tolerance is 0.
    const double excess = most > 0 ? apart / most : apart;
    if (excess <= worst) continue;
    worst = excess;
    comparison.place = place_of(static_cast<std::int64_t>(i), value.shape());
    comparison.value = got;
    comparison.expected = wanted;
    comparison.allowed = most;
  }
}

/// The shortest decimal text that is read back as the same number.
std::string shortest(double number) {
  char digits[32];
  return {digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr};
}

}  // namespace

Tolerance tolerance_of(const Arguments& arguments) {
  Tolerance tolerance;
  tolerance.relative = arguments.real("--rtol").value_or(tolerance.relative);
  tolerance.absolute = arguments.real("--atol").value_or(tolerance.absolute);
  for (const char* option : {"--rtol", "--atol"}) {
    if (arguments.has(option) && !arguments.has("--expect")) {
      throw_error<UsageError>("option ", option, " goes with --expect");
    }
  }
  return tolerance;
}

NamedList<Tensor<Lazy>> expected_values(const std::vector<ModelTensor>& outputs, const Arguments& arguments) {
  NamedList<Tensor<Lazy>> values;
  const auto add = [&](const std::string& name, const Tensor<Lazy>& value) {
    if (values.contains(name)) throw_error<UsageError>("--expect names '", name, "' twice");
    values.push_back({name, value});
  };
  for (const std::string& word : arguments.texts("--expect")) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && equals > 0) {
      const auto [name, file] = name_and_value(word, "--expect", "NAME=FILE");
      const auto named = [&name = name](const ModelTensor& each) {
        return each.sequence ? name.starts_with(each.name + "[") : each.name == name;
      };
      const auto output = std::find_if(outputs.begin(), outputs.end(), named);
      if (output == outputs.end()) refuse_name("output", name, outputs);
      if (!is_array_file(file))
        throw_error<UsageError>("--expect takes FILE.npy, .npz or .pb, or a folder, not '", file, "'");
      ModelTensor one = *output;
      one.name = name;
      add(name, array_in(file, one));
    } else if (is_array_file(word) && !word.ends_with(".npz")) {
      if (outputs.size() != 1) {
        throw_error<UsageError>("--expect takes NAME=", word, ", the model having ", outputs.size(), " outputs");
      }
      add(outputs.front().name, array_in(word, outputs.front()));
    } else {
      for (const Named<Tensor<Lazy>>& each : values_in(word, outputs, "output")) add(each.name, each.value);
    }
  }
  return values;
}

Comparison compared(const std::string& name, const Tensor<Lazy>& value, const Tensor<Lazy>& expected,
                    const Tolerance& tolerance) {
  Comparison comparison{.name = name};
  comparison.elements = value.size();
  if (value.shape() != expected.shape()) {
    comparison.other_kind = "has shape " + to_string(value.shape()) + ", expected " + to_string(expected.shape());
  } else if (!same_kind(value.dtype(), expected.dtype())) {
    comparison.other_kind = std::string("is of ") + name_of(value.dtype()) + ", expected " + name_of(expected.dtype());
  } else if (is_complex(value.dtype())) {
    return compared(name, view_as_real(value), view_as_real(expected), tolerance);
  } else if (is_floating(value.dtype())) {
    compare_elements<double>(comparison, cast(value, DType::f64), cast(expected, DType::f64),
                             [&](double wanted) { return tolerance.absolute + tolerance.relative * std::abs(wanted); });
  } else {
    const DType type = value.dtype() == DType::u64 && expected.dtype() == DType::u64 ? DType::u64 : DType::i64;
    const auto none = [](double) { return 0.0; };
    if (type == DType::u64) {
      compare_elements<std::uint64_t>(comparison, value, expected, none);
    } else {
      compare_elements<std::int64_t>(comparison, cast(value, type), cast(expected, type), none);
    }
  }
  return comparison;
}

std::string in_words(const Comparison& comparison) {
  std::ostringstream words;
  words << comparison.name;
  if (!comparison.other_kind.empty()) {
    words << " " << comparison.other_kind;
  } else if (comparison.agrees()) {
    words << " agrees in " << comparison.elements << " elements; the largest difference is "
          << shortest(comparison.largest);
  } else {
    words << ": " << comparison.differing << " of " << comparison.elements << " elements differ; the worst is [";
    for (std::size_t i = 0; i < comparison.place.size(); ++i) words << (i == 0 ? "" : ",") << comparison.place[i];
    words << "]: " << shortest(comparison.value) << ", expected " << shortest(comparison.expected)
          << " (a difference of " << shortest(comparison.allowed) << " is allowed)";
  }
  return words.str();
}

}  // namespace tyto::cli
