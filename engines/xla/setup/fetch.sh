# SPDX-License-Identifier: Apache-2.0
# XLA: jaxlib's wheel has the library and its Python modules, SciPy's has the LAPACK that they call; jax is what
# bench/xla_lowering.py compares with and what tests make modules with. They are unpacked, not installed: the plug-in's interpreter gets the folder.
unpack_wheels xla.txt xla
# Without its bytecode a module is compiled again by each worker, which writes nothing there.
logged xla-bytecode /usr/bin/python3 -m compileall -q "$deps"/xla/{jaxlib,numpy,ml_dtypes}
