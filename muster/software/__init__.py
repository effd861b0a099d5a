"""Node software: which versions belong together, and which roles a node needs."""
