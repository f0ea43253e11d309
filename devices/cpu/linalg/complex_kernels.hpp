// SPDX-License-Identifier: MIT
// The makers of kernels for matrices of complex numbers: the same operators as in linalg_kernels.hpp.
#pragma once

#include "devices/cpu/device/kernels.hpp"

namespace tyto::cpu::linalg {

std::shared_ptr<const core::Kernel> prepare_complex_lu_factor(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_lu_solve(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_solve(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_inv(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_det(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_cholesky(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_triangular_solve(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_qr(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_eigh(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_svd(const core::Step& step);
std::shared_ptr<const core::Kernel> prepare_complex_pinv(const core::Step& step);

}  // namespace tyto::cpu::linalg
