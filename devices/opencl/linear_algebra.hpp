// Factorisations of matrices and what is made of them; a team a matrix.
#pragma once

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/launch_plan.hpp"

namespace tyto::opencl {

/// Systems of equations: LU, Cholesky, triangles.
bool is_linear_system(core::OpId op);
LaunchPlan linear_system_launch_plan(const Context& context, const core::Step& step);

/// Orthogonal factors, eigenvalues, singular values, pseudo-inverses and, of real matrices, exponentials.
bool is_spectrum(core::OpId op);
LaunchPlan spectrum_launch_plan(const Context& context, const core::Step& step);

}  // namespace tyto::opencl
