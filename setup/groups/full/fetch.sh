# SPDX-License-Identifier: Apache-2.0
# What only ./test --full needs: clang for the fuzzers, clang-tidy. Both are system packages: apt.txt.
