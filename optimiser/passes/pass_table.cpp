// The order of the passes.
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

std::span<const Pass> pass_table() {
  static constexpr Pass passes[] = {
      {"dead_code", "Removes what no output, update or effect needs.", remove_dead_code},
      {"cse", "Merges nodes that compute the same from the same.", merge_common_subexpressions},
      {"fuse", "Makes one node of element-wise nodes that feed each other.", nullptr, false, fuse_groups},
  };
  return passes;
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
