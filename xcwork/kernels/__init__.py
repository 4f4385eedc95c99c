"""The few loops that numpy cannot express well, compiled with numba; each has a plain twin in its test.

A kernel that uses several threads is called under `one_at_a_time`: where numba finds neither OpenMP nor TBB, its own
threading layer ends the whole process when two Python threads, such as two sessions of a dashboard, meet in it.
Nothing is lost by waiting, because each call uses all cores.
"""

from threading import Lock

one_at_a_time = Lock()
