# SPDX-License-Identifier: Apache-2.0
"""Operators on the engines that do not read ONNX, beyond ONNX's own tests: what the two lowerings must compute alike. The expected
numbers are those of onnx.reference, computed in float64."""
import pathlib
import unittest

import tool

try:
    import numpy as np
    import onnx
    import onnx.reference
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

ENGINES = [name for name in ("libtorch", "xla") if (pathlib.Path(tool.DEPS) / name).is_dir()]


@unittest.skipUnless(onnx is not None, "the Python package onnx is not installed: setup/fetch dev")
@unittest.skipUnless(ENGINES, "no engine that models are lowered for is installed")
class LoweredOperators(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.tests = self.folder / "tests"
        self.random = np.random.default_rng(7)

    def add(self, name, nodes, inputs, constants=(), expected=None, opset=19):
        """A test of the form of ONNX's own: the nodes read `inputs` and `constants`, by name, and make y."""
        inputs, constants = dict(inputs), dict(constants)
        values = [helper.make_tensor_value_info(each, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for each, x in inputs.items()]
        stored = [numpy_helper.from_array(np.asarray(x), each) for each, x in constants.items()]

        def model(types, y):
            graph = helper.make_graph(nodes, "g", types, [y], stored)
            return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])

        if expected is None:
            expected = onnx.reference.ReferenceEvaluator(model(values, helper.make_empty_tensor_value_info("y"))).run(None, inputs)[0]
        expected = np.asarray(expected)
        folder = self.tests / name
        (folder / "test_data_set_0").mkdir(parents=True)
        y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)
        (folder / "model.onnx").write_bytes(model(values, y).SerializeToString())
        for kind, arrays in (("input", inputs), ("output", {"y": expected})):
            for i, (each, x) in enumerate(arrays.items()):
                (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(x, each).SerializeToString())

    def check(self):
        """Every test passes on every engine."""
        result = self.run_tool("conform", "--engines", ",".join(ENGINES), self.tests, "--output-format", "json")
        document = tool.json.loads(result.stdout)
        for test in document["tests"]:
            for engine in ENGINES:
                with self.subTest(test=test["name"], engine=engine):
                    self.assertEqual(test["engines"][engine], "passed", test)
        self.assertEqual(len(document["tests"]), len(list(self.tests.iterdir())))

    def resize(self, name, x, constants, **attributes):
        names = ["x", *(each if each in constants else "" for each in ("roi", "scales", "sizes"))]
        constants = {each: np.array(value, np.int64 if each == "sizes" else np.float32) for each, value in constants.items()}
        self.add(name, [helper.make_node("Resize", names, ["y"], **attributes)], {"x": x}, constants)

    def test_resize_of_integers_rounds_to_even_and_stays_in_the_range(self):
        for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64):
            info = np.iinfo(dtype)
            # The reference computes in float64.
            low, high = max(info.min, -2**50), min(info.max, 2**50)
            x = self.random.choice(np.array([low, low + 3, high - 2, high], dtype), (1, 1, 5, 6))
            for mode in ("linear", "cubic"):
                self.resize(f"{mode}_{np.dtype(dtype)}", x, {"sizes": [1, 1, 8, 12]}, mode=mode)
            self.resize(f"crop_{np.dtype(dtype)}", x, {"roi": [0, 0, -0.5, 0.25, 1, 1, 1.5, 0.75], "sizes": [1, 1, 6, 4]}, mode="nearest",
                        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=11.5)
        self.check()

    def test_resize_reads_the_same_places_on_both(self):
        for mode in ("linear", "cubic", "nearest"):
            for coordinates in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
                for name, change in (("smaller", {"sizes": [1, 2, 4, 1]}), ("scaled", {"scales": [1, 1, 0.6, 2.3]})):
                    x = self.random.normal(size=(1, 2, 7, 5)).astype(np.float32)
                    self.resize(f"{mode}_{coordinates}_{name}", x, change, mode=mode, coordinate_transformation_mode=coordinates)
        x = self.random.normal(size=(1, 1, 6, 7))
        self.resize("float64", x, {"sizes": [1, 1, 9, 4]}, mode="cubic")
        self.resize("float16", x.astype(np.float16), {"sizes": [1, 1, 9, 4]}, mode="linear", coordinate_transformation_mode="asymmetric")
        self.resize("crop", x.astype(np.float32), {"roi": [0, 0, 0.1, -0.3, 1, 1, 1.2, 0.8], "scales": [1, 1, 0.7, 1.9]}, mode="linear",
                    coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.25)
        for excluded in (0, 1):
            self.resize(f"antialiased_{excluded}", x.astype(np.float32), {"sizes": [1, 1, 2, 9]}, mode="cubic", antialias=1, exclude_outside=excluded)
        self.check()

    def test_resize_of_a_long_axis(self):
        def numbers(*shape):  # none is near 0, where a relative error says little
            return self.random.uniform(0.5, 1.5, shape).astype(np.float32)

        for mode in ("linear", "cubic"):
            self.resize(f"{mode}_last", numbers(1, 2, 1500), {"sizes": [1, 2, 4500]}, mode=mode)
            self.resize(f"{mode}_middle", numbers(2, 4000, 3), {"sizes": [2, 1000, 3]}, mode=mode, antialias=1)
        # Behind a convolution XLA has channels last.
        nodes = [helper.make_node("Conv", ["x", "w"], ["made"]), helper.make_node("Resize", ["made", "", "", "sizes"], ["y"], mode="cubic")]
        self.add("behind_a_convolution", nodes, {"x": numbers(1, 2, 3, 1200)}, {"w": numbers(3, 2, 1, 1), "sizes": np.array([1, 3, 3, 3600])})
        self.check()

    def test_einsum_repeats_extents_of_1_and_keeps_ellipses(self):
        for name, equation, shapes in (
                ("one_contracted", "ij,jk->ik", [(2, 1), (3, 4)]), ("one_kept", "bij,bjk->bik", [(1, 2, 3), (5, 3, 4)]),
                ("implicit", "...ij,...jk", [(7, 2, 3), (7, 3, 4)]), ("implicit_one_sided", "...ij,jk", [(7, 2, 3), (3, 4)]),
                ("ellipsis_repeated", "...ij,...jk->...ik", [(1, 2, 3), (5, 3, 4)]), ("ellipsis_of_other_rank", "...i,...i->...", [(6, 5, 3), (5, 3)]),
                ("diagonal", "...ii->...i", [(2, 3, 3)]), ("trace", "ii", [(3, 3)]), ("outer", "i,j", [(3,), (4,)]), ("order", "ba", [(2, 3)]),
                ("three", "bij,bjk,kl->il", [(2, 3, 4), (2, 4, 5), (5, 6)]), ("scalar", ",i->i", [(), (3,)])):
            inputs = {f"x{i}": self.random.normal(size=shape).astype(np.float32) for i, shape in enumerate(shapes)}
            expected = np.einsum(equation, *(x.astype(np.float64) for x in inputs.values())).astype(np.float32)
            self.add(name, [helper.make_node("Einsum", list(inputs), ["y"], equation=equation)], inputs, expected=expected)
        self.check()

    def test_integers_of_64_bits_are_exact(self):
        largest = np.iinfo(np.int64).max
        nodes = [helper.make_node("ConstantOfShape", ["shape"], ["made"], value=helper.make_tensor("value", TensorProto.INT64, [1], [largest])),
                 helper.make_node("Sub", ["made", "x"], ["y"])]
        self.add("filled", nodes, {"x": np.arange(70000)}, {"shape": np.array([70000])})
        self.add("constant", [helper.make_node("Constant", [], ["made"], value_int=largest - 1), helper.make_node("Sub", ["made", "x"], ["y"])],
                 {"x": np.arange(5)})
        self.check()

    def test_slices_are_those_of_numpy(self):
        least = np.iinfo(np.int64).min
        for name, (start, end, step) in {"back": (7, -11, -3), "from_the_end": (-2, least, -4), "beyond": (-100, 100, 3), "one": (9, least, least),
                                         "none": (-11, least, -1)}.items():
            constants = {each: np.array([value]) for each, value in (("starts", start), ("ends", end), ("axes", 1), ("steps", step))}
            self.add(name, [helper.make_node("Slice", ["x", *constants], ["y"])], {"x": np.arange(30, dtype=np.float32).reshape(3, 10)}, constants)
        self.check()

    def test_mean_variance_normalisation_of_numbers_far_from_0(self):
        distance = self.random.uniform(0.5, 1.5, (2, 3, 8, 8)) * self.random.choice([-1, 1], (2, 3, 8, 8))
        x = (1000 + distance).astype(np.float32)
        wide = x.astype(np.float64)
        centred = wide - wide.mean((0, 2, 3), keepdims=True)
        expected = centred / (np.sqrt((centred**2).mean((0, 2, 3), keepdims=True)) + 1e-9)
        self.add("far", [helper.make_node("MeanVarianceNormalization", ["x"], ["y"])], {"x": x}, expected=expected.astype(np.float32))
        self.check()

    def test_activations_of_recurrent_layers(self):
        x = (self.random.integers(-12, 13, size=(16, 2, 3)) / 4).astype(np.float32)  # sums are exact, and some are alpha
        weights = {"w": np.array([[[1, 0, 0], [0, 1, -1]]], np.float32), "r": np.zeros((1, 2, 2), np.float32)}
        sums = np.einsum("tbi,hi->tbh", x.astype(np.float64), weights["w"][0].astype(np.float64))[:, None]
        functions = {"Affine": lambda v: 1.5 * v + 0.25, "LeakyRelu": lambda v: np.where(v >= 0, v, 1.5 * v), "Elu": lambda v: np.where(v >= 0, v, 1.5 * np.expm1(v)),
                     "ThresholdedRelu": lambda v: np.where(v >= 1.5, v, 0), "ScaledTanh": lambda v: 1.5 * np.tanh(0.25 * v),
                     "HardSigmoid": lambda v: np.clip(1.5 * v + 0.25, 0, 1), "Softsign": lambda v: v / (1 + np.abs(v)), "Softplus": lambda v: np.log1p(np.exp(v))}
        for name, function in functions.items():
            node = helper.make_node("RNN", ["x", "w", "r"], ["y"], hidden_size=2, activations=[name], activation_alpha=[1.5], activation_beta=[0.25])
            self.add(name, [node], {"x": x}, weights, expected=function(sums).astype(np.float32))
        self.check()


if __name__ == "__main__":
    tool.main()
