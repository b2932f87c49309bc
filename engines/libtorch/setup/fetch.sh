# SPDX-License-Identifier: Apache-2.0
# libtorch: headers and the libraries for the processor, from the wheel of PyTorch. libtorch_cpu.so needs two libraries of
# CUDA, which two more wheels have. The rest (libraries for GPUs, 600 MB; Python's modules) is not kept.
unpack_to "$work/whole" libtorch.txt
kept=$work/libtorch
for file in torch/include torch/version.py torch-*.dist-info torch/lib/lib{torch_cpu,c10}.so torch/lib/libgomp.so.1 \
            nvidia/cu13/lib/lib{cudart,cupti}.so.13; do
  for found in "$work/whole"/$file; do
    [[ -e $found ]] || die "the wheels of $group have no $file"
    to=$kept/${found#"$work/whole/"}
    mkdir -p "${to%/*}"
    mv "$found" "$to"
  done
done
rm -rf "$work/whole" "${deps:?}/libtorch"
mv "$kept" "$deps/libtorch"
