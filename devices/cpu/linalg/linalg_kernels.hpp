// SPDX-License-Identifier: MIT
// The makers of the kernels of linear algebra, each in the source that holds its work.
#pragma once

#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu::linalg {

KernelRef prepare_lu_factor(const core::Step& step);
KernelRef prepare_lu_solve(const core::Step& step);
KernelRef prepare_solve(const core::Step& step);
KernelRef prepare_inv(const core::Step& step);
KernelRef prepare_det(const core::Step& step);
KernelRef prepare_cholesky(const core::Step& step);
KernelRef prepare_triangular_solve(const core::Step& step);
KernelRef prepare_qr(const core::Step& step);
KernelRef prepare_eigh(const core::Step& step);
KernelRef prepare_svd(const core::Step& step);
KernelRef prepare_pinv(const core::Step& step);
KernelRef prepare_eig(const core::Step& step);
KernelRef prepare_expm(const core::Step& step);

}  // namespace tyto::cpu::linalg
