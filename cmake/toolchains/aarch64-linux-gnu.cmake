# SPDX-License-Identifier: MIT
# AArch64 from another Linux: the cross compiler of Debian and Ubuntu, libraries of their architecture arm64, programs run by
# qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Where the cross compiler's own libraries lie; others are found in the system, by the name of the architecture.
# Libraries of which Debian has one architecture at a time are unpacked here by ./dev.
set(unpacked "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64/usr")
list(APPEND CMAKE_PREFIX_PATH "${unpacked}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} "${unpacked}/lib/aarch64-linux-gnu/pkgconfig:/usr/lib/aarch64-linux-gnu/pkgconfig")
# The loader is the cross compiler's, and so must the C library be: with that of libc6:arm64, which the loader would find first,
# programs hang when they start a thread.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib)
