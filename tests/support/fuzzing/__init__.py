"""A fuzzer that knows the formats: valid samples, mutations that respect their structure, and what may come of them.

Every input is drawn with a `random.Random`. With a seeded one, an input is a number that anybody can draw again; with
hypothesis' or atheris' generator in its place, the same mutations are shrunk or guided by coverage. `scripts/fuzz.py`
hunts for long; the tests beside this folder take a short walk and replay everything that was ever found.
"""
