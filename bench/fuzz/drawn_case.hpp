// SPDX-License-Identifier: MIT
// A layer, loss, rule or schedule with options that layers_oracle.py drew, and where its results go.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto::oracle {

/// One line of the list: NAME KIND option=value ...; lists are separated by commas. What is not said has a fallback.
class DrawnCase {
 public:
  DrawnCase(const std::string& folder, const std::string& line);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }
  DType dtype() const { return text("dtype") == "f32" ? DType::f32 : DType::f64; }
  bool has(const std::string& option) const { return options_.count(option) != 0; }
  std::string text(const std::string& option) const { return has(option) ? options_.at(option) : ""; }
  double real(const std::string& option, double fallback) const {
    return has(option) ? std::stod(options_.at(option)) : fallback;
  }
  std::int64_t integer(const std::string& option, std::int64_t fallback = 0) const {
    return has(option) ? std::stoll(options_.at(option)) : fallback;
  }
  bool flag(const std::string& option, bool fallback = false) const { return integer(option, fallback) != 0; }
  PerAxis each(const std::string& option, int fallback) const;
  /// "valid", "same", counts for both sides, or "BEFORE:AFTER".
  Padding padding() const;

  std::string states_path() const { return folder_ + "/" + name_ + ".states.npz"; }
  std::string file(const std::string& ending) const { return folder_ + "/" + name_ + ending; }
  bool has_array(const std::string& what) const { return arrays_.contains(what); }
  /// An array of the case, numbers with a fraction in the case's type.
  template <class M>
  Tensor<M> array(const std::string& what) const {
    const Tensor<Eager>& x = arrays_[what];
    const Tensor<M> copied = Tensor<M>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype());
    return is_floating(x.dtype()) ? copied.astype(dtype()) : copied;
  }
  template <class M>
  void keep(const std::string& what, const Tensor<M>& value) {
    const Tensor<M> wide = value.astype(DType::f64);
    results_.push_back({what, Tensor<Eager>::from(wide.template to_vector<double>(), value.shape())});
  }
  /// Writes what was kept to NAME.MODE.npz.
  void write(const char* mode);

 private:
  std::string folder_, name_, kind_;
  std::map<std::string, std::string> options_;
  NamedList<Tensor<Eager>> arrays_;
  NamedList<Tensor<Eager>> results_;
};

/// Runs the checks of a case in a mode; false where the case is of another kind.
template <class M>
bool run_layer(DrawnCase& drawn);
template <class M>
bool run_loss(DrawnCase& drawn);
template <class M>
bool run_rule(DrawnCase& drawn);

/// The rule and the rate that the options name.
nn::Descent rule_of(const DrawnCase& drawn);
nn::LearningRate rate_of(const DrawnCase& drawn);

}  // namespace tyto::oracle
