"""Measurements, run from a checkout as `python -m benchmarks.NAME` or `xcwork bench NAME`."""
