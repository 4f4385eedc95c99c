"""Files that survive a crash and never execute anything when they are read."""
