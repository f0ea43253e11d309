// SPDX-License-Identifier: MIT
// The order of the passes.
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

std::span<const Pass> pass_table() {
  static constexpr Pass passes[] = {
      {"dead_code", "Removes what no output, update or effect needs.", remove_dead_code},
      {"views", "Collapses chains of views and stretches numbers instead of storing them.", apply_rules<view_rules>},
      {"transposes",
       "Cancels transposes that element-wise operators, joining, padding or cutting part, and has products compute "
       "transposed results.",
       apply_rules<transpose_rules>},
      {"reshapes", "Lets reshapes sink through element-wise operators, where they join or part operators.",
       apply_rules<reshape_rules>},
      {"bytes", "Multiplies integers of 8 bits as they are, and adds them up in 32.", multiply_bytes},
      {"constants", "Computes what depends on constants only.", fold_constants},
      {"stability", "Replaces compositions that lose digits or overflow.", apply_rules<stability_rules>},
      {"algebra", "Applies identities that hold bit for bit, and others under fast_math.", apply_rules<algebra_rules>},
      {"padding", "Leaves the zeros around an image to the convolution that reads it.", apply_rules<padding_rules>},
      {"reductions", "Avoids, shortens and joins reductions.", apply_rules<reduction_rules>},
      {"scaling", "Moves the factors of frozen normalisations into constant weights.", apply_rules<scaling_rules>},
      {"cse", "Merges nodes that compute the same from the same.", merge_common_subexpressions},
      {"regions", "Takes what nobody reads out of loops and branches, and chooses arms that are known.",
       simplify_regions},
      {"hoist", "Computes before a loop what is the same in every iteration.", hoist_invariants},
      {"fma", "Makes one multiply-add of a product and a sum.", apply_rules<contraction_rules>, false},
      {"epilogues", "Adds bias and residual and applies limits (ReLU, clip) where products store their sums.",
       absorb_epilogues, true, Pass::Phase::settled},
      {"packing", "Lays weights that stay out as their kernel reads them.", pack_weights, true, Pass::Phase::settled},
      {"buckets", "Makes one sum over processes of those that follow one another.", form_buckets, true,
       Pass::Phase::settled},
      {"fuse", "Makes one node of element-wise nodes that feed each other.", nullptr, true, Pass::Phase::settled,
       fuse_groups},
  };
  return passes;
}

std::span<const RuleFamily> rule_families() {
  static const RuleFamily families[] = {{"views", view_rules()},           {"stability", stability_rules()},
                                        {"algebra", algebra_rules()},      {"reductions", reduction_rules()},
                                        {"transposes", transpose_rules()}, {"reshapes", reshape_rules()},
                                        {"padding", padding_rules()},      {"scaling", scaling_rules()},
                                        {"fma", contraction_rules()},      {"epilogues", epilogue_rules()}};
  return families;
}

}  // namespace tyto::optimiser

namespace tyto TYTO_API {

std::vector<PassDescription> graph_passes() {
  std::vector<PassDescription> list;
  for (const optimiser::Pass& pass : optimiser::pass_table()) {
    list.push_back({std::string(pass.name), std::string(pass.doc), pass.on});
  }
  list.push_back({"fast_math", "Allows rules that change rounding, the sign of zero, NaN or infinity.", false});
  return list;
}

}  // namespace TYTO_API
