// SPDX-License-Identifier: MIT
// Sections of OpenCL C, some written once for all types that they serve; see mathematics.cpp for the notation.
#pragma once

namespace tyto::opencl {

// Each section is a run of `static` function definitions; a function calls only those before it, in its own section or
// in one that mathematics.cpp puts before.
extern const char* const narrow_section;         // f16 and bf16 within f32
extern const char* const index_section;          // positions that index tensors name
extern const char* const integer_section;        // for i32, i64 and u64
extern const char* const signed_section;         // for i32 and i64: what the sign takes part in
extern const char* const natural_section;        // the same for u64
extern const char* const builtin_section;        // for f32 and f64: the driver's functions
extern const char* const real_section;           // for f32 and f64: what builds on them
extern const char* const ordering_section;       // keys of f32
extern const char* const wide_ordering_section;  // and of f64
extern const char* const resizing_section;       // for f32 and f64
extern const char* const widening_section;       // from f64 to f32
extern const char* const random_section;         // Philox
extern const char* const wide_random_section;    // its f64 values

}  // namespace tyto::opencl
