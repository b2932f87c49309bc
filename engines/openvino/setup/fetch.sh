# SPDX-License-Identifier: Apache-2.0
# OpenVINO: the wheel has libraries and headers.
unpack_wheels openvino.txt openvino
