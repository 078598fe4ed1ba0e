"""What makes fractions come out the same on every machine; imported before anything imports numpy or torch."""

import os
import platform

# One thread each: tests run side by side, their arrays are small, and sums by several threads differ in the last bits.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same matrix kernels on every x86 processor with AVX2: which ones OpenBLAS takes by itself depends on the
# processor, and with it the last digits of what is fitted.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"
