#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes resize.json: how much of each element of an axis belongs to each element of the resized axis, by ONNX's reference
implementation. PYTHONPATH must have the package onnx: PYTHONPATH=.deps/onnx:.deps/python src/models/lower/testdata/record_resize.py"""
import itertools
import json
import pathlib

import numpy as np
import onnx
import onnx.reference

OUTSIDE = 7.0  # what tf_crop_and_resize has beyond the input
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]


def cases():
    """The attributes of a Resize of one axis, with its extent, and the new one or the scale."""
    for coordinates, mode, (extent, change) in itertools.product(
            COORDINATES, ["linear", "cubic"], [(4, {"size": 7}), (7, {"size": 3}), (5, {"size": 1}), (6, {"scale": 0.6}), (3, {"scale": 2.4})]):
        yield {"extent": extent, **change, "mode": mode, "coordinate_transformation_mode": coordinates}
    for coordinates, rounding, (extent, change) in itertools.product(
            COORDINATES, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"], [(4, {"size": 8}), (8, {"size": 3}), (5, {"scale": 0.6})]):
        yield {"extent": extent, **change, "mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    for mode, (extent, change), region in itertools.product(
            ["linear", "cubic", "nearest"], [(6, {"size": 4}), (5, {"size": 1}), (6, {"scale": 0.6})], [[0.25, 0.75], [-0.25, 1.25]]):
        yield {"extent": extent, **change, "mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "roi": region,
               "extrapolation_value": OUTSIDE}
    for mode, change, excluded in itertools.product(["linear", "cubic"], [{"size": 4}, {"size": 20}, {"scale": 0.3}], [0, 1]):
        yield {"extent": 11, **change, "mode": mode, "coordinate_transformation_mode": "half_pixel", "antialias": 1, "exclude_outside": excluded}
    for mode, change in itertools.product(["linear", "cubic"], [{"size": 4}, {"size": 9}]):
        yield {"extent": 6, **change, "mode": mode, "coordinate_transformation_mode": "half_pixel", "exclude_outside": 1, "cubic_coeff_a": -0.5}


def matrix(case):
    """[new extent, extent]"""
    given = dict(case)
    extent, size, scale, region = given.pop("extent"), given.pop("size", None), given.pop("scale", None), given.pop("roi", None)
    constants = [onnx.numpy_helper.from_array(np.array([size], np.int64), "sizes") if scale is None
                 else onnx.numpy_helper.from_array(np.array([scale], np.float32), "scales")]
    if region is not None:
        constants.append(onnx.numpy_helper.from_array(np.array(region, np.float32), "roi"))
    node = onnx.helper.make_node("Resize", ["x", "roi" if region else "", "" if scale is None else "scales", "sizes" if scale is None else ""], ["y"],
                                 axes=[1], **given)
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in "xy")
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y], constants), opset_imports=[onnx.helper.make_opsetid("", 19)])
    return onnx.reference.ReferenceEvaluator(model).run(None, {"x": np.eye(extent)})[0].T


def main():
    lines = []
    for case in cases():
        case["matrix"] = [[round(float(each), 12) for each in row] for row in matrix(case)]
        lines.append(json.dumps(case))
    (pathlib.Path(__file__).parent / "resize.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
