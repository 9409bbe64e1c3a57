"""The parts of load.py: each file says what it is for."""
