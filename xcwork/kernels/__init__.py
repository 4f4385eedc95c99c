"""The few loops that numpy cannot express well, compiled with numba; each has a plain twin in its test."""
