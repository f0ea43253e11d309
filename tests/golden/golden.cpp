// SPDX-License-Identifier: MIT
// Reads the manifest of the goldens and compares arrays element by element.
#include "tests/golden/golden.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace tyto::golden {
namespace {

Tolerance tolerance_of(const nlohmann::json& entry) {
  return {entry.at("abs").get<double>(), entry.at("rel").get<double>(), entry.at("why").get<std::string>()};
}

/// Arrays named by a list of keys; `null` stays null.
std::vector<const Array*> look_up(const nlohmann::json& keys, const std::map<std::string, Array>& arrays,
                                  const std::string& id) {
  std::vector<const Array*> found;
  for (const auto& key : keys) {
    if (key.is_null()) {
      found.push_back(nullptr);
      continue;
    }
    const auto at = arrays.find(key.get<std::string>());
    if (at == arrays.end()) throw std::runtime_error(id + ": no array is called " + key.dump());
    found.push_back(&at->second);
  }
  return found;
}

Case case_of(const nlohmann::json& entry, const std::map<std::string, Array>& arrays) {
  Case result;
  entry.at("id").get_to(result.id);
  entry.at("op").get_to(result.op);
  entry.at("family").get_to(result.family);
  entry.at("dtype").get_to(result.dtype);
  result.arguments = entry.at("args");
  result.inputs = look_up(entry.at("inputs"), arrays, result.id);
  result.outputs = look_up(entry.at("outputs"), arrays, result.id);
  result.tolerance = tolerance_of(entry.at("tolerance"));
  if (entry.contains("gradients")) {
    result.cotangents = look_up(entry.at("cotangents"), arrays, result.id);
    result.gradients = look_up(entry.at("gradients"), arrays, result.id);
    result.gradient_tolerance = tolerance_of(entry.at("gradient_tolerance"));
  }
  if (entry.contains("second_gradients")) {
    result.second_gradients = look_up(entry.at("second_gradients"), arrays, result.id);
    result.second_tolerance = tolerance_of(entry.at("second_tolerance"));
  }
  return result;
}

template <class T>
T load(const Array& array, std::int64_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

bool is_integer(const std::string& dtype) { return dtype == "bool" || dtype[0] == 'i' || dtype[0] == 'u'; }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return shape_text(index);
}

/// The error of `got` over the tolerance: at most one passes; infinity where no tolerance applies.
double excess(double got, double want, const Tolerance& tolerance) {
  constexpr double hopeless = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : hopeless;
  if (got == want) return 0;
  if (std::isinf(want) || std::isinf(got)) return hopeless;
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(want);
  return allowed > 0 ? std::abs(got - want) / allowed : hopeless;
}

}  // namespace

Suite::Suite(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cases.json");
  if (!file) throw std::runtime_error((folder / "cases.json").string() + ": cannot be opened");
  const nlohmann::json manifest = nlohmann::json::parse(file);
  if (manifest.at("format") != 1) throw std::runtime_error("the manifest of the goldens is not of format 1");
  for (const auto& entry : manifest.at("cases")) {
    const auto family = entry.at("family").get<std::string>();
    if (!families_.contains(family)) families_.emplace(family, read_npz(folder / (family + ".npz")));
    cases_.push_back(case_of(entry, families_.at(family)));
  }
}

const Suite& committed() {
  static const Suite suite("tests/golden");
  return suite;
}

double element(const Array& array, std::int64_t index) {
  const std::string& dtype = array.dtype;
  if (dtype == "f32") return load<float>(array, index);
  if (dtype == "f64") return load<double>(array, index);
  if (dtype == "f16") return half_to_double(load<std::uint16_t>(array, index));
  if (dtype == "bf16") return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(array, index)} << 16);
  if (dtype == "bool" || dtype == "u8") return load<std::uint8_t>(array, index);
  if (dtype == "i8") return load<std::int8_t>(array, index);
  if (dtype == "i16") return load<std::int16_t>(array, index);
  if (dtype == "u16") return load<std::uint16_t>(array, index);
  if (dtype == "u32") return load<std::uint32_t>(array, index);
  if (dtype == "u64") return static_cast<double>(load<std::uint64_t>(array, index));
  if (dtype == "i32") return load<std::int32_t>(array, index);
  if (dtype == "i64") return static_cast<double>(load<std::int64_t>(array, index));
  throw std::runtime_error("no element type is called '" + dtype + "'");
}

std::string difference(const Array& got, const Array& want, const Tolerance& tolerance) {
  if (got.dtype != want.dtype) return "got type " + got.dtype + ", want " + want.dtype;
  if (got.shape != want.shape) return "got shape " + shape_text(got.shape) + ", want " + shape_text(want.shape);
  const std::size_t size = element_size(want.dtype);
  const std::int64_t count = want.count();
  if (got.bytes.size() != want.bytes.size()) return "got " + std::to_string(got.bytes.size()) + " bytes";
  double worst = 0;
  std::int64_t where = 0;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t offset = static_cast<std::size_t>(i) * size;
    if (std::memcmp(got.bytes.data() + offset, want.bytes.data() + offset, size) == 0) continue;
    const double off = is_integer(want.dtype) ? std::numeric_limits<double>::infinity()
                                              : excess(element(got, i), element(want, i), tolerance);
    if (off <= 1) continue;
    ++wrong;
    if (off > worst) {
      worst = off;
      where = i;
    }
  }
  if (wrong == 0) return {};
  std::ostringstream text;
  text.precision(want.dtype == "f64" ? 17 : 9);
  text << "at " << index_text(where, want.shape) << " got ";
  if (want.dtype == "i64") {
    text << load<std::int64_t>(got, where) << ", want " << load<std::int64_t>(want, where);
  } else {
    const double expected = element(want, where);
    text << element(got, where) << ", want " << expected;
    if (!is_integer(want.dtype)) {
      text.precision(3);
      text << ", allowed " << tolerance.absolute + tolerance.relative * std::abs(expected) << " (" << tolerance.why
           << ")";
    }
  }
  text << "; " << wrong << " of " << count << " wrong";
  return text.str();
}

}  // namespace tyto::golden
