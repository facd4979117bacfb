"""The parts of compare.py."""
