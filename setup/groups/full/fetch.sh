# SPDX-License-Identifier: Apache-2.0
# What only ./test --full needs: clang for the fuzzers (Debian's packages, apt.txt), and clang-tidy, whose newer versions
# need half the time because they do not search system headers.
unpack_wheels clang-tidy.txt clang-tidy
chmod +x "$deps/clang-tidy/clang_tidy/data/bin/clang-tidy"
