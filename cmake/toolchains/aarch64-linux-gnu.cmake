# SPDX-License-Identifier: MIT
# AArch64 from another Linux: the cross compiler of Debian and Ubuntu, libraries of their architecture arm64, programs run by
# qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Where the cross compiler's own libraries lie; others are found in the system, by the name of the architecture.
# Libraries of which Debian has one architecture at a time are unpacked here by ./dev.
list(APPEND CMAKE_PREFIX_PATH "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64/usr")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
