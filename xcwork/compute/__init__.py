"""Where work is done: cores, threads, devices, memory, a Dask cluster, several ranks."""
