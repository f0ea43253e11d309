// SPDX-License-Identifier: MIT
// The main function of every test program, compiled once.
// Either macro alone is read only when doctest comes for the first time, which a precompiled header may have brought.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
