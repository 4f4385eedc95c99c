"""Packages and where they lie: the dashboard is the folder `app`, installed as `xcwork_app`."""

from setuptools import find_packages, setup

app = [f"xcwork_app{name.removeprefix('app')}" for name in find_packages(include=["app", "app.*"])]
setup(packages=[*find_packages(include=["xcwork", "xcwork.*"]), *app], package_dir={"xcwork_app": "app"})
