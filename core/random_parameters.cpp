// What gamma distributions and ranges of integers ask of their parameters.
#include "core/random_parameters.hpp"

#include "core/op_ids.hpp"
#include "core/text.hpp"
#include "tyto/error.hpp"

namespace tyto::core {

void check_parameters(OpId op, const RandomAttributes& draw) {
  if (op == OpId::random_gamma && !(draw.first > 0 && draw.first < 1e300)) {
    throw ValueError(text("random_gamma: the shape must be positive and finite, got ", draw.first));
  }
  if (op == OpId::random_integers && !(draw.first < draw.second)) {
    throw ValueError(text("random_integers: low must be below high, got ", draw.first, " and ", draw.second));
  }
}

}  // namespace tyto::core
