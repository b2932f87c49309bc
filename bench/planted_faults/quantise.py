#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantises an ONNX model with ONNX Runtime's own quantiser: quantise.py dynamic|qdq MODEL.onnx OUTPUT.onnx

dynamic: quantize_dynamic, 8-bit weights and activations quantised at run time. qdq: quantize_static with QuantizeLinear and
DequantizeLinear around every operator that the quantiser supports, calibrated with four random inputs. Needs the Python
packages onnx, onnxruntime and numpy (ASSAY_DEPS_DIR/onnx, /onnxruntime, /python). Used by campaign.py only.
"""
import logging
import sys
import zlib

import numpy as np
import onnx
from onnxruntime import quantization

EXTENTS = {"sequence": 16, "decoder_sequence": 4}  # of open axes; all others are 1


def random_inputs(model, seed):
    """Values for each input of the graph: tokens below 64, masks of ones, else normal."""
    random = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [d.dim_value or EXTENTS.get(d.dim_param, 1) for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if "mask" in value.name:
            feeds[value.name] = np.ones(shape, dtype)
        elif np.issubdtype(dtype, np.integer):
            high = 2 if "type" in value.name else 64
            feeds[value.name] = random.integers(0, high, shape).astype(dtype)
        else:
            feeds[value.name] = random.normal(size=shape).astype(dtype)
    return feeds


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, path):
        model = onnx.load(path, load_external_data=False)
        self.sets = iter([random_inputs(model, zlib.crc32(b"calibration") + i) for i in range(4)])

    def get_next(self):
        return next(self.sets, None)


def main(kind, source, target):
    logging.disable(logging.WARNING)
    if kind == "dynamic":
        quantization.quantize_dynamic(source, target)
    elif kind == "qdq":
        quantization.quantize_static(source, target, Calibration(source), quant_format=quantization.QuantFormat.QDQ)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
