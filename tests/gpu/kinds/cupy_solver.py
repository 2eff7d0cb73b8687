"""Conjugate gradients in CuPy on a dense symmetric matrix, and a Fourier transform between two rounds."""
import cupy

from loop import count, steps

n = 8192
cupy.random.seed(1)
a = cupy.random.rand(n, n, dtype=cupy.float32)
a = a + a.T + n * cupy.eye(n, dtype=cupy.float32)
b = cupy.random.rand(n, dtype=cupy.float32)
for step in steps(count(1500), cupy.cuda.Device().synchronize):
    x = cupy.zeros_like(b)
    r = b - a @ x
    p, rr = r, r @ r
    for _ in range(10):
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        rr, before = r @ r, rr
        p = r + (rr / before) * p
    b = cupy.fft.irfft(cupy.fft.rfft(x)).astype(cupy.float32) + 1
print("result", float(b.astype(cupy.float64).sum()).hex())
