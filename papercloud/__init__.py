"""A simulated AWS for tests and demonstrations: nothing in it is real, and it says so."""
