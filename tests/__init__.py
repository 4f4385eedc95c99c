"""The tests, which mirror the package; what several of them share is in `tests.support`."""
