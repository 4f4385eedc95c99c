"""Data, measurements and helper programs that several tests share."""
