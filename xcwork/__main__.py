"""`python -m xcwork` is the same as `xcwork`."""

from xcwork.cli import main

if __name__ == "__main__":
    main()
