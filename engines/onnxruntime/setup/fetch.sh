# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime: the library from PyPI's wheel; the headers, which no wheel has, from Debian testing's package, unpacked and
# not installed. Testing moves, so they are pinned by suite and signature; the C API only grows, so any newer library fits.
unpack_wheels onnxruntime.txt onnxruntime
testing_package libonnxruntime-dev "$work/headers"
rm -rf "$deps/onnxruntime-headers"
mkdir -p "$deps/onnxruntime-headers"
mv "$work/headers/usr/include" "$deps/onnxruntime-headers/include"
