# SPDX-License-Identifier: Apache-2.0
# What building the program needs: compilers and libraries of the system, ONNX's message definition, DuckDB.
unpack_wheels onnx.txt onnx

# DuckDB: the library is npm's, the header PyPI's source archive's. pip asks an archive for its name and version before it
# hands it over, which takes the archive's own build tools, pinned too (and no newer cmake than Debian's).
npm_packages "$work/npm"
install_file "$work/npm/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so" duckdb/lib
unpack_to "$work/build-tools" duckdb-build.txt
PYTHONPATH=$work/build-tools SKBUILD_CMAKE_VERSION='>=3.15' \
  logged "duckdb.h" pip download --no-binary :all: --no-build-isolation --dest "$work/sdist" -r duckdb.txt
tar -xzf "$work"/sdist/duckdb-*.tar.gz -C "$work" --wildcards --strip-components=5 '*/external/duckdb/src/include/duckdb.h'
install_file "$work/duckdb.h" duckdb/include
