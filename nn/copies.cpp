// SPDX-License-Identifier: MIT
// Deep copies of modules: replaces the states that members() of the copy lists, one by one.
#include "tyto/nn/copies.hpp"

#include "core/value/text.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

void Cloning::separate(Module& copy, const Module& original) {
  copy.copy_pointed_to();
  auto common = std::make_shared<Module::Common>();
  common->frozen = original.common_->frozen;
  copy.common_ = std::move(common);
  const Members of_copy = copy.members(), of_original = original.members();
  for (std::size_t i = 0; i < of_copy.size(); ++i) {
    const Member& member = of_copy[i];
    if (member.state().defined()) {
      if (member.place() == nullptr || member.place() == of_original[i].place()) {
        core::throw_error<ValueError>("clone: the module does not hold the state '", member.name(),
                                      "' as a Tensor<Any> of its own, so a copy cannot be given another one");
      }
      Tensor<Any>& made = made_[member.state().value().node()];
      if (!made.defined()) {
        made = member.kind() == StateKind::parameter ? Tensor<Any>::variable(member.state(), member.name())
                                                     : Tensor<Any>::persistent(member.state(), member.name());
      }
      const_cast<Tensor<Any>&>(*member.place()) = made;  // a part of `copy`, which is not const
    }
    for (std::size_t k = 0; k < member.modules().size(); ++k) {
      if (member.modules()[k] == of_original[i].modules()[k]) {
        core::throw_error<ValueError>(
            "clone: the module '", member.name(),
            "' is held by a pointer, which the copy shares; hold it by value or as an nn::Step");
      }
      separate(const_cast<Module&>(*member.modules()[k]), *of_original[i].modules()[k]);
    }
  }
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
