"""Experiments of the papers as functions that give plain tables, for notebooks, the dashboard and benchmarks."""
