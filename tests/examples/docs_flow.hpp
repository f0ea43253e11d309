// SPDX-License-Identifier: MIT
// Definitions for the examples of docs/flow.md: weights, data, a loss, a model.
#pragma once

#include <tyto/tyto.hpp>

namespace context {
using Lazily = tyto::Tensor<tyto::Lazy>;
extern const std::int64_t batch, cells, longest;
extern const Lazily w, u, b, inputs, x, start, first, end, memory;
extern const double h;
extern const std::vector<Lazily> parameters;
Lazily f(const Lazily& s);
Lazily objective(const Lazily& in, const Lazily& out);
Lazily model(const Lazily& token, const Lazily& memory);
Lazily embed(const Lazily& token);
}  // namespace context
