"""Fault injection for runs: workers that die or meet a failing world at a chosen moment, and what must hold then."""
